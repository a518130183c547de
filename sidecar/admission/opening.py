"""Opening a session: draw the device, seal the truth, write the first event; or recover all of it from the log."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import importlib.metadata
import platform
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import qtypes
import tasks
from evidence import EvidenceError, LogWriter, Truth, read_payload, store_payload
from qtypes import seeds
from qtypes.contract import Device, Notebook, QType
from sidecar.admission.state import State
from sidecar.settings import Settings
from tasks import TaskCard

SCHEMA = "quantum-harbor/session-1"
_PACKAGES = ("quantum-harbor", "quantum-harbor-lab", "numpy", "scipy", "stim", "pymatching", "pydantic")
_FLAGS = ("sse4_2", "avx", "avx2", "avx512f", "fma", "asimd", "sve")


@dataclass
class OpenSession:
    """Everything a `Lab` stands on."""

    card: TaskCard
    qtype: QType[Any, Any]
    device: Device[Any, Any]
    truth: Truth
    writer: LogWriter
    state: State
    folder: Path
    recovered: bool


def versions() -> dict[str, str]:
    """Versions of what a record depends on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "source tree"
    return found


def machine() -> dict[str, Any]:
    """Processor and its features: a seed of a sampler is not portable between them."""
    flags: list[str] = []
    try:
        text = Path("/proc/cpuinfo").read_text()
        present = set(text.split())
        flags = [f for f in _FLAGS if f in present]
    except OSError:
        pass
    return {"machine": platform.machine(), "system": platform.system(), "byteorder": sys.byteorder, "cpu_features": flags}


def _root(settings: Settings, card: TaskCard) -> tuple[np.random.SeedSequence, str]:
    """Root seed and kind of instance: `seeded`, `suite`, `practice` or `fresh`."""
    if settings.seed is not None:
        return seeds.root_from(f"developer/{card.name}/{settings.seed}".encode()), "seeded"
    if settings.suite_secret:
        # a race has one instance for all systems; other tasks one per instance id
        name = card.name if card.mode == "race" else f"{card.name}/{settings.instance or secrets.token_hex(16)}"
        return seeds.root_from(hmac.new(settings.suite_secret.encode(), name.encode(), hashlib.sha256).digest()), "suite"
    return seeds.fresh_root(), "practice" if card.mode == "race" else "fresh"


def open_session(settings: Settings) -> OpenSession:
    """Open `settings.out`, fresh or recovered. :class:`EvidenceError` where what is there does not hold or is another task's."""
    card = tasks.load(settings.task)
    qtype = qtypes.load(card.qtype)
    profile = qtype.read_profile(card.profile)
    writer = LogWriter(settings.out)
    state = State()
    if writer.recovered:
        return _recover(settings, card, qtype, profile, writer, state)
    root, instance = _root(settings, card)
    hidden = qtype.practice(profile) if instance == "practice" else qtype.draw(seeds.generator(root, "device"), profile)
    if instance == "suite" and card.mode == "race":
        # the device follows from the secret; everything else of the session is fresh
        root = seeds.fresh_root()
    device = Device(spec=qtype.spec(hidden, profile), hidden=hidden, profile=profile)
    today = dt.datetime.now(dt.UTC).date()
    notebook = qtype.notebook(hidden, seeds.generator(root, "notebook"), profile, today)
    truth = Truth.seal(
        qtype=card.qtype,
        hidden_json=hidden.model_dump_json(),
        seed=seeds.to_json(root),
        challenge=qtype.challenge(hidden, seeds.generator(root, "challenge"), profile),
        nonce=settings.nonce or secrets.token_hex(32),
    )
    truth.write(settings.out)
    event = writer.append("session_opened", {
        "schema": SCHEMA, "task": card.name, "task_version": card.version, "qtype": card.qtype,
        "session": hashlib.sha256(truth.nonce.encode()).hexdigest()[:16], "nonce": truth.nonce,
        "commitment": truth.commitment, "challenge_commitment": truth.challenge_commitment,
        "budget": card.budget, "limits": card.limits.model_dump(), "profile": card.profile,
        "instance": instance, "reproducible": instance == "seeded", "versions": versions(), "machine": machine(),
        "notebook": store_payload(settings.out, notebook.model_dump(mode="json")),
    })  # fmt: skip
    writer.sync()
    state.apply(event)
    return OpenSession(card, qtype, device, truth, writer, state, settings.out, recovered=False)


def _recover(settings: Settings, card: TaskCard, qtype: QType[Any, Any], profile: Any, writer: LogWriter, state: State) -> OpenSession:
    try:
        for event in writer.recovered:
            state.apply(event)
        if state.opened.get("task") != card.name:
            raise EvidenceError(f"the bundle belongs to task {state.opened.get('task')!r}, not {card.name!r}", 0)
        truth = Truth.read(settings.out)
        if truth.commitment != state.opened["commitment"]:
            raise EvidenceError("the sealed truth does not match the commitment of the first event", 0)
        hidden = qtype.Hidden.model_validate_json(truth.hidden_json)
    except BaseException:
        writer.close()
        raise
    writer.recovered.clear()
    device = Device(spec=qtype.spec(hidden, profile), hidden=hidden, profile=profile)
    return OpenSession(card, qtype, device, truth, writer, state, settings.out, recovered=True)


def notebook_entries(session: OpenSession) -> list[dict[str, Any]]:
    """The opening notebook's entries as JSON, oldest first."""
    text = read_payload(session.folder, session.state.opened["notebook"])
    return list(Notebook.model_validate_json(text).model_dump(mode="json")["entries"])
