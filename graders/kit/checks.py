"""Checks, outcomes and verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """Which part of grading a check belongs to."""

    RECOMPUTE = "recompute"
    BIND = "bind"
    SCORE = "score"


class Outcome(StrEnum):
    """How a session ended."""

    PASS = "pass"
    SCIENCE_FAILURE = "science_failure"
    CONTRACT_FAILURE = "contract_failure"
    NO_SUBMISSION = "no_submission"
    INFRASTRUCTURE_FAULT = "infrastructure_fault"


class Category(StrEnum):
    """Why a check failed."""

    TOLERANCE = "out_of_tolerance"
    UNSUPPORTED = "claim_not_supported_by_records"
    MISSING_EVIDENCE = "missing_evidence"
    FOREIGN_JOB = "job_not_of_this_session"
    SCHEMA = "answer_schema"
    RESOURCE = "answer_exceeds_bounds"
    ORDER = "evidence_after_lock"


CONTRACT = frozenset({Category.MISSING_EVIDENCE, Category.FOREIGN_JOB, Category.SCHEMA, Category.RESOURCE, Category.ORDER})


@dataclass(frozen=True)
class Check:
    """One line of a verdict.

    `value` and `threshold` are in `unit`; `margin` is the distance to the threshold in the passing direction divided by the
    threshold's scale, so that it is positive where the check passes. `stderr` is the standard error of a sampled value.
    `jobs` are the ids of the jobs behind it. An informative check (`gate=False`) never decides.
    """

    name: str
    stage: Stage
    passed: bool
    value: float | bool | str | None = None
    threshold: float | str | None = None
    margin: float | None = None
    unit: str = "1"
    stderr: float | None = None
    category: Category = Category.TOLERANCE
    gate: bool = True
    jobs: tuple[str, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "stage": self.stage.value, "passed": bool(self.passed), "value": _finite(self.value),
            "threshold": _finite(self.threshold), "margin": _finite(self.margin), "unit": self.unit, "stderr": _finite(self.stderr),
            "category": None if self.passed else self.category.value, "gate": self.gate, "jobs": list(self.jobs), "note": self.note,
        }  # fmt: skip


def _finite(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


GUARD = 1e-9
"""Relative guard band of thresholds: a last-bit difference between processors never flips a verdict."""


def below(name: str, stage: Stage, value: float, limit: float, **more: Any) -> Check:
    """Passes if `value <= limit`, with the guard band in favour of the agent; a value that is not finite fails."""
    passed = math.isfinite(value) and value <= limit + GUARD * max(abs(limit), 1e-12)
    margin = (limit - value) / abs(limit) if limit else limit - value
    return Check(name, stage, passed, value, limit, margin, **more)


def above(name: str, stage: Stage, value: float, limit: float, **more: Any) -> Check:
    """Passes if `value >= limit`, with the guard band in favour of the agent; a value that is not finite fails."""
    passed = math.isfinite(value) and value >= limit - GUARD * max(abs(limit), 1e-12)
    margin = (value - limit) / abs(limit) if limit else value - limit
    return Check(name, stage, passed, value, limit, margin, **more)


def holds(name: str, stage: Stage, passed: bool, **more: Any) -> Check:
    """A yes-or-no check."""
    return Check(name, stage, bool(passed), **more)


@dataclass(frozen=True)
class Score:
    """What `Grader.score` returns: gates, for a race the metric (lower is better), and replayed quantities for `score.json`."""

    checks: list[Check]
    metric: float | None = None
    metric_unit: str = "1"
    quantities: dict[str, Any] = field(default_factory=dict)
    """Replayed quantities, JSON-able; they enter `score.json` beside the recomputed ones."""


@dataclass(frozen=True)
class Verdict:
    """The content of `score.json`."""

    task: str
    task_version: str
    outcome: Outcome
    reward: int
    checks: tuple[Check, ...] = ()
    race_metric: float | None = None
    metric_unit: str = "1"
    instance: str = "fresh"
    reproducible: bool = False
    session: str | None = None
    commitment: str | None = None
    reason: str = ""
    quantities: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "quantum-harbor/score-1", "task": self.task, "task_version": self.task_version, "outcome": self.outcome.value,
            "reward": self.reward, "race_metric": _finite(self.race_metric), "metric_unit": self.metric_unit,
            "instance": self.instance, "reproducible": self.reproducible, "session": self.session, "commitment": self.commitment,
            "reason": self.reason, "checks": [c.to_json() for c in self.checks], "quantities": self.quantities,
        }  # fmt: skip
