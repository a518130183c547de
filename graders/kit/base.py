"""The grader's base class: recompute from raw records, bind claims to logged jobs, score on fresh draws.

A grader module `graders/<task>.py` binds `GRADER` to an instance. `grade_bundle` (in `graders.kit.grade`) runs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from graders.kit.checks import Category, Check, Score, Stage
from graders.kit.claims import exaggerate
from graders.kit.session import GradedSession, Job
from qtypes.schemas import flat_schema

ANSWER = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
JobId = Annotated[str, Field(min_length=1, max_length=64)]
"""A job id in an answer: `job_ids: tuple[JobId, ...] = Field(max_length=...)`."""


class AnswerModel(BaseModel):
    """Base of every answer schema and its nested parts: strict, frozen, finite, no unknown fields."""

    model_config = ANSWER


class Grader(ABC):
    """One per task.

    Each method is a pure function of its arguments. Failing checks are returned, never raised; an exception is a fault of the
    laboratory. Time and memory are bounded by the grader itself.
    """

    task: ClassVar[str]
    Answer: ClassVar[type[AnswerModel]]
    trap_fails: ClassVar[tuple[str, ...]] = ()
    """Signature of the task's trap, for the failure taxonomy: names of gates that all fail where it was taken. Decides no verdict."""
    trap_meets: ClassVar[tuple[str, ...]] = ()
    """Gates that hold where the trap was taken, if `trap_fails` alone would fit other failures too."""

    @abstractmethod
    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Quantities from raw records only. JSON-able entries whose key does not begin with an underscore enter `score.json`."""

    @abstractmethod
    def bind(self, answer: Any, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        """Which logged jobs support which claim."""

    @abstractmethod
    def score(self, answer: Any, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        """Comparison with the truth or replay on fresh draws."""

    def standing(self, session: GradedSession, q: dict[str, Any]) -> AnswerModel | None:
        """The answer that counts for a session which ended without one, None (as a rule) where nothing counts. Only a task that says
        in its instruction that verified work stands may give one; it is graded as if it had been submitted."""
        return None

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any] | None:
        """For `qharbor check`: a right `answer` (JSON) whose claims are moved just past what is tolerated; None where that has no meaning.

        The default multiplies every real number by 1.5 and divides uncertainties by 3 (`graders.kit.claims`). Override it where the
        tolerance is wider or some numbers are no claims; an answer that is an artefact (circuit, decoder model) has nothing to overclaim.
        The move must lead past the tolerance from anywhere within it: by twice the tolerance. `spec` is the public spec as JSON.
        """
        return exaggerate(answer, flat_schema(self.Answer))

    def jobs_exist(self, ids: tuple[str, ...], session: GradedSession, tools: set[str] | None = None) -> Check:
        """All `ids` are completed jobs of this session (before lock and seal), and of one of `tools`."""
        known = {j.job_id: j for j in session.jobs}
        wrong = [i for i in ids if i not in known or (tools is not None and known[i].tool not in tools)]
        note = "" if not wrong else "not completed jobs of this session and kind: " + ", ".join(w[:32] for w in wrong[:5])
        return Check("cited jobs are completed jobs of this session", Stage.BIND, not wrong and bool(ids), category=Category.FOREIGN_JOB,
                     jobs=tuple(i for i in ids if i in known), note=note or ("" if ids else "no job is cited"))  # fmt: skip


__all__ = ["AnswerModel", "GradedSession", "Grader", "Job", "JobId"]
