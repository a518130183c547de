"""Score a folder of circuits offline, `<folder>/<task>/<code>.stim` or `.qasm`, by the code that grades sessions."""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib.metadata
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from qharbor.stabilizer import instances
from qharbor.stabilizer.solving import history
from qtypes.errors import AgentError
from qtypes.stabilizer_codes import circuits, codes, scoring
from qtypes.stabilizer_codes.scoring import Mark, Verdict

SCHEMA = "quantum-harbor/stabilizer-1"
ENDINGS = (".stim", ".qasm")
SCORINGS = ("published", "corrected")


def judged(short: str, name: str, text: str) -> Verdict | str:
    """The verdict on a circuit, or why it is not admissible."""
    code, task = codes.load(name), scoring.SHORT[short]
    try:
        circuit = circuits.parse(text, code.n, flags=scoring.admits_flags(task))
    except AgentError as refusal:
        return refusal.detail
    return scoring.judge(task, circuit, code)


def _judge_file(job: tuple[str, str, str]) -> tuple[str, str, dict[str, Any]]:
    """One instance of the results, in a process of its own where there are several."""
    short, name, path = job
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    entry: dict[str, Any] = {"file": path, "sha256": hashlib.sha256(text.encode()).hexdigest(), "circuit": text}
    found = judged(short, name, text)
    entry |= {"refused": found} if isinstance(found, str) else {"refused": None, **_shown(found)}
    return short, name, entry


def _shown(v: Verdict) -> dict[str, Any]:
    marks = {n: None if (m := getattr(v, n)) is None else asdict(m) | {"capability": m.capability, "score": m.score} for n in SCORINGS}
    return {"valid": v.valid, "satisfied": v.satisfied, "listed": v.listed, "expectations": list(v.expectations), **marks,
            "details": dict(v.details)}  # fmt: skip


def files(folder: Path, shorts: Sequence[str]) -> Iterator[tuple[str, str, Path]]:
    """`(task, code, file)` of every circuit of a known code; :class:`instances.Unknown` for a file of no code."""
    known = {*codes.ids("all"), *codes.ids("extended"), *codes.ids("published")}
    for short in shorts:
        for place in dict.fromkeys((folder / short, folder / instances.TASKS[short])):
            for file in sorted(place.iterdir()) if place.is_dir() else ():
                if file.suffix not in ENDINGS:
                    continue
                if file.stem not in known:
                    raise instances.Unknown(f"{file}: there is no code {file.stem!r}")
                yield short, file.stem, file


def score(folder: Path, shorts: Sequence[str] = tuple(instances.TASKS), *, jobs: int = 1,
          told: Callable[[str, str], None] = lambda *_: None) -> dict[str, Any]:  # fmt: skip
    """The results: run metadata, and for each task its totals, curves and instances with circuit and verdict. The totals are over all 192
    codes, one without a circuit counts 0; circuits of other codes are judged beside them."""
    wanted = [(short, name, str(path)) for short, name, path in files(folder, shorts)]
    found: dict[str, dict[str, Any]] = {}

    def take(result: tuple[str, str, dict[str, Any]]) -> None:
        short, name, entry = result
        notes = history(folder / short).get(name, {})
        entry["file"] = str(Path(entry["file"]).relative_to(folder))
        entry["solver"] = {k: notes[k] for k in ("cpu_s", "seconds", "seed", "aim") if k in notes} or None
        found.setdefault(short, {})[name] = entry
        told(short, name)

    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            for result in pool.map(_judge_file, wanted, chunksize=1):
                take(result)
    else:
        for job in wanted:
            take(_judge_file(job))
    return {"schema": SCHEMA, "run": metadata(), "tasks": {s: summary(s, entries) for s, entries in found.items()}}


def metadata() -> dict[str, Any]:
    """When, where and with what the scores were made."""
    versions = {"python": platform.python_version()}
    for package in ("quantum-harbor", "stim", "numpy"):
        versions[package] = importlib.metadata.version(package)
    return {"made": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "codes": codes.VERSION, "versions": versions,
            "machine": platform.machine(), "system": platform.system()}  # fmt: skip


def summary(short: str, entries: dict[str, Any]) -> dict[str, Any]:
    """Totals, curves and instances of one task."""
    names = codes.ids("all")
    verdicts = [v for n, e in entries.items() if (v := verdict_of(short, n, e)) is not None and n in set(names)]
    out: dict[str, Any] = {"task": instances.TASKS[short], "totals": {}, "curves": {}}
    for name in SCORINGS:
        out["totals"][name] = asdict(scoring.totals(verdicts, names, name))  # type: ignore[arg-type]
        out["curves"][name] = [list(p) for p in scoring.difficulty_curve(verdicts, names, name)]  # type: ignore[arg-type]
    if short == "b3":
        parts = [e["details"].get("corrected") for n, e in entries.items() if n in set(names) and e.get("valid")]
        out["fault_tolerant"] = sum(bool(p and p["fault_tolerant"]) for p in parts)
    out["instances"] = dict(sorted(entries.items()))
    return out


def verdict_of(short: str, name: str, entry: dict[str, Any]) -> Verdict | None:
    """The verdict that an entry shows, None for a refused circuit."""
    if entry["refused"] is not None:
        return None
    marks = [None if (m := entry[s]) is None else Mark(m["success"], m["quality"], m["weight"]) for s in SCORINGS]
    assert marks[0] is not None
    return Verdict(scoring.SHORT[short], name, entry["valid"], entry["satisfied"], entry["listed"], tuple(entry["expectations"]),
                   marks[0], marks[1], entry["details"])  # fmt: skip
