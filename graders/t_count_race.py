"""Grader of `t_count_race`: an equivalent circuit with fewer T gates, T-depth and CX gates.

Equivalence is decided twice by unrelated code: amplitudes of random product states in floating point, and random vectors of a finite field
in exact arithmetic. Counts are taken twice too. Numbers claimed elsewhere are not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Score, Stage, below, holds
from graders.kit import finite_field as ff
from lab.conventions import tcount
from qtypes.logical_circuit_optimizer import physics

METRIC_UNIT = "1e8 T-count + 1e4 T-depth + CX count"


class Answer(AnswerModel):
    circuit: str = Field(min_length=1, max_length=tcount.MAX_BYTES, description="OpenQASM 2 text of the final circuit")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class TCountRace(Grader):
    task: ClassVar[str] = "t_count_race"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails: ClassVar[tuple[str, ...]] = ("T-count",)
    trap_meets: ClassVar[tuple[str, ...]] = ("the final circuit was evaluated in this session", "equivalent by state vectors")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        texts = [q.request.circuit for q in session.queries if q.tool == "evaluate"]
        return {"evaluate_calls": len(texts), "_evaluated": {digest(t) for t in texts}}

    def bind(self, answer: Any, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        return [holds("the final circuit was evaluated in this session", Stage.BIND, digest(answer.circuit) in q["_evaluated"],
                      category=Category.MISSING_EVIDENCE, note=f"sha256 {digest(answer.circuit)}")]  # fmt: skip

    def score(self, answer: Any, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        spec, hidden = session.device.spec, session.device.hidden
        try:
            candidate = tcount.parse(answer.circuit, spec.n_qubits)
        except tcount.QasmError as fault:
            return Score([holds("the circuit is in the grammar", Stage.SCORE, False, category=Category.SCHEMA, note=str(fault))])
        cost = tcount.counts(candidate)
        first = physics.compare(candidate, tcount.parse(hidden.baseline), rng)
        checks = [
            holds("the circuit is in the grammar", Stage.SCORE, True, value=float(cost.gates), unit="gates"),
            holds("equivalent by state vectors", Stage.SCORE, first.equivalent, value=first.min_overlap,
                  threshold=1 - physics.OVERLAP_TOLERANCE, note=f"phase spread {first.phase_spread:.2e}"),
            holds("equivalent in a finite field", Stage.SCORE, _second_opinion(answer.circuit, hidden.baseline, cost, rng)),
            below("T-count", Stage.SCORE, cost.t_count, spec.t_count_limit, unit="T gates"),
            holds("T-depth and CX count", Stage.SCORE, True, value=f"{cost.t_depth}, {cost.cx_count}", gate=False),
        ]  # fmt: skip
        return Score(checks, metric=float(tcount.metric(cost)), metric_unit=METRIC_UNIT)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is a circuit: it is counted, and claims nothing."""


def _second_opinion(text: str, baseline: str, cost: tcount.Counts, rng: np.random.Generator) -> bool:
    """Equivalence and counts by the second reader."""
    candidate, reference = ff.read(text), ff.read(baseline)
    if candidate is None or reference is None:
        return False
    same_counts = (candidate.t_count, candidate.t_depth, candidate.cx_count) == (cost.t_count, cost.t_depth, cost.cx_count)
    return same_counts and ff.equal(candidate, reference, rng)


GRADER = TCountRace()
