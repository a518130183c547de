"""`qharbor contract`: the rules on one qtype or task, for a person or as JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qtypes
import tasks
from qharbor.contract import QTYPE_RULES, TASK_RULES, Finding, NotApplicable, QTypeSubject, TaskSubject
from qharbor.contract.outside import NothingThere, exposed

Listener = Callable[[str, str], None]


@dataclass
class Result:
    """One rule on one subject; `skipped` says why it could not be applied."""

    subject: str
    rule: str
    about: str
    seconds: float
    findings: list[Finding] = field(default_factory=list)
    skipped: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject, "rule": self.rule, "about": self.about, "seconds": round(self.seconds, 2), "skipped": self.skipped,
            "findings": [f.to_json() for f in self.findings],
        }  # fmt: skip


def apply(subject: Any, rules: tuple[Callable[[Any], list[Finding]], ...], listen: Listener = lambda *_: None) -> list[Result]:
    """Every rule on one subject. A rule that raises is a finding: the qtype or task broke where a session would."""
    results = []
    for rule in rules:
        listen(subject.name, rule.__name__)
        started = time.monotonic()
        result = Result(subject.name, rule.__name__, " ".join((rule.__doc__ or "").split()), 0.0)
        try:
            result.findings = rule(subject)
        except NotApplicable as exc:
            result.skipped = str(exc)
        except Exception as exc:  # noqa: BLE001  (an outsider's code may raise anything)
            result.findings = [Finding(rule.__name__, subject.name, "(raised)", f"{type(exc).__name__}: {exc}")]
        result.seconds = time.monotonic() - started
        results.append(result)
    return results


def check(target: str, listen: Listener = lambda *_: None) -> list[Result]:
    """All rules on a qtype or task by name, or on everything in a folder. :class:`NothingThere` where there is neither."""
    path = Path(target)
    if path.is_dir() and (target not in (*qtypes.names(), *tasks.names()) or "/" in target):
        with exposed(path) as (kinds, found):
            return _check(kinds, found, listen)
    kinds, found = [n for n in qtypes.names() if n == target], [n for n in tasks.names() if n == target]
    if not kinds and not found:
        known = ", ".join((*qtypes.names(), *tasks.names()))
        raise NothingThere(f"{target!r} is no folder, qtype or task; known: {known}")
    return _check(kinds, found, listen)


def _check(kinds: list[str], found: list[str], listen: Listener) -> list[Result]:
    results: list[Result] = []
    subjects = {name: QTypeSubject(qtypes.load(name)) for name in kinds}
    for subject in subjects.values():
        results += apply(subject, QTYPE_RULES, listen)
    for name in found:
        card = tasks.load(name)
        results += apply(TaskSubject(card, devices=subjects.get(card.qtype)), TASK_RULES, listen)
    return results


def show(out: Any, results: list[Result]) -> None:
    """One line a rule, and its findings below it."""
    for subject in dict.fromkeys(r.subject for r in results):
        out.print(f"[bold]{subject}[/]")
        for r in (r for r in results if r.subject == subject):
            state = "[yellow]skipped[/]" if r.skipped is not None else "[red]found[/]  " if r.findings else "[green]holds[/]  "
            out.print(f"  {state} {r.rule}")
            if r.skipped is not None:
                out.print(f"            {r.skipped}", style="dim", markup=False, highlight=False)
            for f in r.findings:
                out.print(f"            {str(f).removeprefix(f'{f.rule}: {f.subject}: ')}", markup=False, highlight=False)
    bad, skipped = sum(len(r.findings) for r in results), sum(r.skipped is not None for r in results)
    out.print(f"{len(results)} rules, {bad} findings, {skipped} skipped", style="red" if bad else "green")
