"""Grader of `resource_estimation_race`: a feasible design with few qubit-seconds, counted anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Score, Stage, below, holds
from qtypes.ftqc_resource_estimation import cost
from qtypes.ftqc_resource_estimation.experiments import fault

METRIC_UNIT = "qubit-seconds"
EVALUATED = "the design was evaluated in this session"
IS_DESIGN = "distances are odd, and the last level has one unit"
VALID = "inputs of every level are good enough for the leading order"
ERROR = "total error"
VOLUME = "qubit-seconds"

Distance = Annotated[int, Field(ge=3, le=61)]


class LevelOfUnits(AnswerModel):
    """One level of a factory."""

    dx: Distance = Field(description="distance against output errors, odd")
    dz: Distance = Field(description="distance against errors that the checks see, odd")
    dm: Distance = Field(description="rounds of a measurement, odd")
    count: int = Field(ge=1, le=100, description="units of this level in a factory; 1 in the last level")


class Answer(AnswerModel):
    """A design, in the terms of `evaluate`."""

    d: Distance = Field(description="code distance of the data block, odd")
    levels: tuple[LevelOfUnits, ...] = Field(min_length=1, max_length=3, description="levels of a factory, that of injected states first")
    eps_synthesis: float = Field(ge=1e-12, le=0.5, description="summed error of all rotations by their synthesis")
    routing: Literal["compact", "intermediate", "fast"] = Field(description="layout of the data block")
    factories: int = Field(ge=1, le=100, description="equal factories")

    def design(self) -> cost.Design:
        levels = tuple(cost.Level(u.dx, u.dz, u.dm, u.count) for u in self.levels)
        return cost.Design(self.d, levels, self.eps_synthesis, self.routing, self.factories)


def passes(design: cost.Design, spec: Any) -> bool:
    """Whether a design clears the gates of the score."""
    found = cost.evaluate(design, spec.problem())
    return fault(design) is None and found.feasible and found.qubit_seconds <= spec.limit_qubit_s


class ResourceEstimationRace(Grader):
    """See `docs/tasks/resource_estimation_race.md`."""

    task: ClassVar[str] = "resource_estimation_race"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails: ClassVar[tuple[str, ...]] = (VOLUME,)
    trap_meets: ClassVar[tuple[str, ...]] = (EVALUATED, ERROR)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        designs = [q.request.design() for q in session.queries if q.tool == "evaluate"]  # type: ignore[attr-defined]
        return {"evaluate_calls": len(designs), "_designs": designs}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        return [holds(EVALUATED, Stage.BIND, answer.design() in q["_designs"], category=Category.MISSING_EVIDENCE,
                      note=f"{len(q['_designs'])} designs were evaluated")]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        spec, design = session.device.spec, answer.design()
        wrong = fault(design)
        checks = [holds(IS_DESIGN, Stage.SCORE, wrong is None, category=Category.SCHEMA, note="" if wrong is None else str(wrong))]
        if wrong is not None:
            return Score(checks)
        found = cost.evaluate(design, spec.problem())
        checks += [
            holds(VALID, Stage.SCORE, found.factory.valid),
            below(ERROR, Stage.SCORE, found.total_error, spec.algorithm.error_budget),
            below(VOLUME, Stage.SCORE, found.qubit_seconds, spec.limit_qubit_s, unit="s"),
        ]
        parts = {k: v for k, v in dataclasses.asdict(found).items() if k not in ("factory", "feasible")}
        return Score(checks, found.qubit_seconds, METRIC_UNIT, parts)

    def standing(self, session: GradedSession, q: dict[str, Any]) -> AnswerModel | None:
        """The cheapest design evaluated that passes; the instruction says so."""
        spec = session.device.spec
        good = [x for x in q["_designs"] if passes(x, spec)]
        if not good:
            return None
        best = min(good, key=lambda x: cost.evaluate(x, spec.problem()).qubit_seconds)
        levels = tuple(LevelOfUnits(**dataclasses.asdict(u)) for u in best.levels)
        return Answer(d=best.d, levels=levels, eps_synthesis=best.eps_synthesis, routing=best.routing, factories=best.factories)  # type: ignore[arg-type]

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is a design: it is counted, and claims nothing."""


GRADER = ResourceEstimationRace()
