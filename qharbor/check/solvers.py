"""The solvers of a check: the task's reference and trap, and cheats that every task must withstand.

Cheats that need a right answer take it from the reference's run of the same number: `replayed` and `fabricate` carry it to a fresh session,
and so to another device; `stale` and `overclaim` give the reference's own session another ending (`sessions.before_the_answer`). The
reference works once per device, whatever client it uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import graders
import qtypes
import tasks
from evidence import Bundle
from graders.kit import GradedSession
from qharbor import embedded
from qharbor.check import answers, sessions

GENUINE = ("reference",)
CHEATS = ("trap", "nop", "stale", "fabricate", "replayed", "overclaim")
SOLVERS = (*GENUINE, *CHEATS)
OWN_JOBS = 8
"""How many jobs `fabricate` runs at most to have ids that it can cite."""


class NotApplicable(Exception):
    """A cheat that has no meaning for this task or this run; the text says why. It is not counted."""


@dataclass(frozen=True)
class Kept:
    """A finished run of the reference."""

    bundle: Path
    passed: bool

    def answer(self) -> str:
        """The text of a passing answer."""
        text = Bundle(self.bundle).answer_text() if self.passed else None
        if text is None:
            raise NotApplicable("the reference's run that it starts from did not pass")
        return text


def script(task: str, solver: str, folder: Path) -> embedded.Trial:
    """A solver that is a script of the task, or `nop`."""
    return embedded.run(task, solver, out=folder, suite_secret=sessions.instance(task))


def replayed(task: str, kept: Kept, folder: Path) -> embedded.Trial:
    """The passing answer of another session with its job ids; no experiment."""
    answer = kept.answer()

    def act(lab: sessions.Visitor) -> None:
        lab.lock()
        lab.submit(answer)

    return sessions.visit(task, folder, act)


def fabricate(task: str, kept: Kept, folder: Path) -> embedded.Trial:
    """The passing answer of another device, on job ids of cheap experiments of this session that have nothing to do with it."""
    answer: dict[str, Any] = json.loads(kept.answer())
    foreign = answers.cited(answer, sessions.job_ids(kept.bundle))
    qtype = qtypes.load(tasks.load(task).qtype)
    # the examples fit every device of a profile: they depend on what is public
    spec = GradedSession(Bundle(kept.bundle)).device.spec
    experiments = [e for model in qtype.experiments for e in model.examples(spec)]
    queries = [q for model in qtype.queries if model.record_field is None for q in model.examples(spec)]

    def act(lab: sessions.Visitor) -> None:
        wanted = max(1, min(OWN_JOBS, len(foreign)))
        own: list[str] = []
        for k in range(wanted if experiments else 0):
            job = lab.run(experiments[k % len(experiments)])
            own += [job] if job is not None else []
        for query in queries[:2]:
            lab.ask(query)
        lab.lock()
        names = {f: own[k % len(own)] for k, f in enumerate(foreign)} if own else {}
        lab.submit(json.dumps(answers.renamed(answer, names)))

    return sessions.visit(task, folder, act)


def stale(task: str, kept: Kept, folder: Path) -> embedded.Trial:
    """The task's `solution/stale.py`; without one, the reference's experiments with the notebook's numbers in the answer."""
    if (tasks.load(task).folder / "solution" / "stale.py").is_file():
        return script(task, "stale", folder)
    answer = json.loads(kept.answer())
    changed, names = answers.stale(answer, sessions.notebook(kept.bundle))
    if not names:
        raise NotApplicable("no number of the notebook bears the name of a field of the answer, and there is no solution/stale.py")
    return _other_ending(task, kept, changed, folder)


def overclaim(task: str, kept: Kept, folder: Path) -> embedded.Trial:
    """The reference's experiments, and its answer with the numbers moved just past tolerance (`Grader.overclaim`)."""
    answer = json.loads(kept.answer())
    spec = GradedSession(Bundle(kept.bundle)).device.spec.model_dump(mode="json")
    changed = graders.load(task).overclaim(answer, spec)
    if changed is None:
        raise NotApplicable("the answer makes no claim that could be moved: the grader's overclaim() gives none")
    return _other_ending(task, kept, changed, folder)


def _other_ending(task: str, kept: Kept, answer: dict[str, Any], folder: Path) -> embedded.Trial:
    text = json.dumps(answer)
    try:
        graders.load(task).Answer.model_validate_json(text)
    except ValidationError as exc:
        raise NotApplicable(f"the changed answer does not fit the answer's schema: {exc.errors()[0]['msg']}") from exc
    nonce = sessions.before_the_answer(kept.bundle, folder)
    return sessions.visit(task, folder, lambda lab: lab.submit(text), nonce=nonce)


DERIVED: dict[str, Callable[[str, Kept, Path], embedded.Trial]] = {
    "replayed": replayed, "fabricate": fabricate, "stale": stale, "overclaim": overclaim,
}  # fmt: skip
"""Cheats that start from a run of the reference."""
