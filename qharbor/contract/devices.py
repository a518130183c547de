"""Rules on drawing devices and on what is public of them."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import Any

from pydantic import BaseModel, ValidationError

from qharbor.contract.findings import Finding, Findings
from qharbor.contract.subject import QTypeSubject
from qharbor.contract.values import dotted, is_number, leaves, number_leaves
from qtypes import seeds
from qtypes.contract import Device


def draws_vary(subject: QTypeSubject) -> list[Finding]:
    """Two seeds give two devices, and every drawn number that the profile does not fix differs between them and is finite."""
    found = Findings("draws_vary", subject.name)
    for label, profile in subject.profiles.items():
        devices = subject.devices(label)
        texts = [d.hidden.model_dump_json() for d in devices]
        if len(set(texts)) < len(texts):
            found.add(label, "two seeds gave the same device")
        fixed = set(number_leaves(profile).values())
        series: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        for device in devices:
            groups: dict[str, list[float]] = defaultdict(list)
            for path, leaf in leaves(device.hidden.model_dump()):
                if isinstance(leaf, float):
                    groups[dotted(path)].append(leaf)
                    if not math.isfinite(leaf):
                        found.add(f"{label}: Hidden.{dotted(path)}", "not finite", leaf)
            for name, values in groups.items():
                series[name].append(tuple(values))
        for name, drawn in series.items():
            if len(drawn) == len(devices) and len(set(drawn)) == 1 and not set(drawn[0]) <= fixed:
                found.add(f"{label}: Hidden.{name}", "the same number on every device; it belongs in the code or the profile", drawn[0])
    return found


def draws_repeat(subject: QTypeSubject) -> list[Finding]:
    """The same seed gives the same device, notebook and challenge: a session must be recoverable from its seed."""
    found = Findings("draws_repeat", subject.name)
    label = subject.first
    first, again = subject.devices(label)[0], subject.draw(label, 0)
    if first.hidden != again.hidden:
        found.add("draw", "the same seed gave another device")
    if subject.notebook(label, 0) != subject.notebook(label, 0):
        found.add("notebook", "the same seed gave another notebook")
    challenges = [
        subject.qtype.challenge(first.hidden, seeds.generator(subject.seed(label, 0), "challenge"), first.profile) for _ in range(2)
    ]
    try:
        if len({json.dumps(c, allow_nan=False) for c in challenges}) > 1:
            found.add("challenge", "the same seed gave another challenge")
    except (TypeError, ValueError) as exc:
        found.add("challenge", f"not finite JSON: {exc}")
    return found


def models_survive_json(subject: QTypeSubject) -> list[Finding]:
    """Hidden, Spec and Profile come back from JSON unchanged: the evidence holds them as JSON, and a spec is sent as JSON."""
    found = Findings("models_survive_json", subject.name)
    for label in subject.profiles:
        for device in subject.devices(label):
            parts: dict[str, BaseModel] = {"Hidden": device.hidden, "Spec": device.spec, "Profile": device.profile}
            for name, part in parts.items():
                try:
                    if type(part).model_validate_json(part.model_dump_json()) != part:
                        found.add(f"{label}: {name}", "JSON does not give the same values back")
                except (ValidationError, ValueError) as exc:
                    found.add(f"{label}: {name}", f"its own JSON is refused: {exc}")
            if found:
                return found
    return found


def spec_hides_the_device(subject: QTypeSubject) -> list[Finding]:
    """Nothing in the public spec varies with the hidden parameters or bears their name, unless `QType.public` lists it."""
    found = Findings("spec_hides_the_device", subject.name)
    told: set[str] = set()
    for label in subject.profiles:
        devices = subject.devices(label)
        specs = [dict(leaves(d.spec)) for d in devices]
        for path in {p: None for s in specs for p in s}:
            name = dotted(path)
            values = [s.get(path) for s in specs]
            if any(v != values[0] for v in values) and not _declared(name, subject.qtype.public) and name not in told:
                told.add(name)
                message = "differs from device to device; QType.public does not list it"
                if any(_equals_hidden(v, d.hidden) for v, d in zip(values, devices, strict=True)):
                    message += ", and it is a hidden value"
                found.add(f"{label}: Spec.{name}", message, values[0])
        drawn = _drawn_scalars(devices)
        for path, leaf in leaves(devices[0].spec):
            name = dotted(path)
            if path[-1] in drawn and is_number(leaf) and not _declared(name, subject.qtype.public) and name not in told:
                told.add(name)
                found.add(f"{label}: Spec.{name}", "a hidden parameter has this name", leaf)
    return found


def _drawn_scalars(devices: tuple[Device[Any, Any], ...]) -> set[str | int]:
    """Last names of the single hidden numbers (not elements of tables) that differ between devices."""
    rows = [{p: v for p, v in leaves(d.hidden) if is_number(v) and not any(isinstance(s, int) for s in p)} for d in devices]
    return {p[-1] for p in rows[0] if any(r.get(p) != rows[0][p] for r in rows)}


def _declared(name: str, public: frozenset[str]) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:n]) in public for n in range(1, len(parts) + 1))


def _equals_hidden(value: Any, hidden: BaseModel) -> bool:
    if not is_number(value):
        return False
    return any(is_number(leaf) and leaf and math.isclose(leaf, value, rel_tol=1e-6) for _, leaf in leaves(hidden))
