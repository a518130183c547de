"""Tasks on circuits for stabilizer codes: every logged call of the task's oracle is judged anew, and the best of them counts.

The answer names one of the circuits that were judged; what a circuit is worth is never read from an answer. A session that ended without an
answer keeps what it had verified.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from graders.kit.base import AnswerModel, Grader
from graders.kit.checks import Category, Check, Score, Stage, holds
from graders.kit.session import GradedSession
from qtypes.stabilizer_codes.scoring import Mark, Verdict

SCORINGS: tuple[Literal["published", "corrected"], ...] = ("published", "corrected")
DRAWS = ("listed", "extended", "random")
"""Values of the profile's `code` with which a code is drawn; any other names one."""
NONE_JUDGED = "a circuit was judged in this session"


class Answer(AnswerModel):
    """Which circuit is handed in."""

    circuit_sha256: str = Field(
        min_length=64, max_length=64, pattern="^[0-9a-f]{64}$",
        description="SHA-256 of the text of a circuit that the oracle has judged in this session (its `sha256`)",
    )  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """An answered call of the task's oracle, judged anew."""

    sha256: str
    verdict: Verdict
    told: Mapping[str, Any]
    """What the agent was told."""

    def mark(self, name: Literal["published", "corrected"]) -> Mark:
        """Of one scoring; of a code that is scored as published only, that one."""
        return (self.verdict.corrected if name == "corrected" else None) or self.verdict.published


def best(attempts: Sequence[Attempt], name: Literal["published", "corrected"]) -> Attempt | None:
    """The best attempt in one scoring; among equals the one with the larger `Verdict.key`, then the first."""
    return max(attempts, key=lambda a: (a.mark(name).success, a.mark(name).quality, a.verdict.key), default=None)


class StabilizerGrader(Grader):
    """A task of the family; `oracle` is the tool whose calls are its attempts."""

    Answer: ClassVar[type[AnswerModel]] = Answer
    oracle: ClassVar[str]

    @abstractmethod
    def criteria(self, attempt: Attempt, drawn: bool) -> list[Check]:
        """The checks of the best attempt. `drawn`: the code was drawn for this session, not named by the task."""

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Every attempt judged anew, and the best in both scorings."""
        attempts = [judged(q.request, session, q.result) for q in session.queries if q.tool == self.oracle]
        found: dict[str, Any] = {
            "code": session.device.spec.code, "attempts": len(attempts), "valid_attempts": sum(a.verdict.valid for a in attempts),
            "_attempts": attempts,
        }  # fmt: skip
        for name in SCORINGS:
            attempt = best(attempts, name)
            found[f"_{name}"] = attempt
            found[name] = None if attempt is None else shown(attempt, name)
        return found

    def bind(self, answer: Any, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        known = {a.sha256 for a in q["_attempts"]}
        return [
            holds("the circuit handed in was judged in this session", Stage.BIND, answer.circuit_sha256 in known,
                  category=Category.MISSING_EVIDENCE, note=f"{len(known)} circuits were judged by {self.oracle}"),
            holds("the oracle told what the regrade finds", Stage.BIND, all(agrees(a) for a in q["_attempts"]), gate=False),
        ]  # fmt: skip

    def score(self, answer: Any, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        attempt: Attempt | None = q["_corrected"]
        if attempt is None:
            return Score([holds(NONE_JUDGED, Stage.SCORE, False, category=Category.MISSING_EVIDENCE)])
        profile: Any = session.device.profile
        return Score(self.criteria(attempt, profile.code in DRAWS))

    def standing(self, session: GradedSession, q: dict[str, Any]) -> AnswerModel | None:
        """The best valid circuit that was judged."""
        attempt: Attempt | None = q["_corrected"]
        return Answer(circuit_sha256=attempt.sha256) if attempt is not None and attempt.verdict.valid else None

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer names a circuit, which is judged: it claims nothing."""


def judged(request: Any, session: GradedSession, told: Mapping[str, Any]) -> Attempt:
    """A logged call, judged anew."""
    return Attempt(hashlib.sha256(request.circuit.encode()).hexdigest(), request.verdict(session.device), told)


def valid(attempt: Attempt) -> Check:
    """Every generator +1, and every flag 0 without a fault."""
    v = attempt.verdict
    return holds("every generator is +1 on the output", Stage.SCORE, v.valid, value=float(v.satisfied), threshold=float(v.listed),
                 unit="generators", note=f"circuit {attempt.sha256}")  # fmt: skip


def agrees(attempt: Attempt) -> bool:
    """Whether the logged answer of the oracle holds the marks found now."""
    marks = {"published": attempt.verdict.published, "corrected": attempt.verdict.corrected}
    return all(_same(mark, attempt.told.get(name)) for name, mark in marks.items())


def _same(mark: Mark | None, told: Any) -> bool:
    if mark is None:
        return told is None
    return isinstance(told, Mapping) and told.get("success") == mark.success and abs(float(told.get("quality", -1)) - mark.quality) < 1e-9


def shown(attempt: Attempt, name: Literal["published", "corrected"]) -> dict[str, Any]:
    """An attempt as `score.json` has it: the mark in one scoring, what every generator gave, and the numbers behind it."""
    v, mark = attempt.verdict, attempt.mark(name)
    return {
        "circuit_sha256": attempt.sha256, **asdict(mark), "capability": mark.capability, "score": mark.score, "valid": v.valid,
        "satisfied": v.satisfied, "listed": v.listed, "expectations": list(v.expectations), "details": dict(v.details),
    }  # fmt: skip


__all__ = ["Answer", "Attempt", "StabilizerGrader", "agrees", "best", "shown", "valid"]
