"""Grader of `stabilizer_optimization`: a valid circuit that is cheaper than the baseline, by far where the code was drawn."""

from __future__ import annotations

from typing import ClassVar

from graders.kit.checks import Check, Stage, above, holds
from graders.kit.stabilizer import Attempt, StabilizerGrader, valid

QUALITY_NEEDED = 0.76
"""0.75 of the share of two-qubit gates saved and 0.25 of the share of depth. Graph states stay below, states chosen for it lie above."""


class StabilizerOptimization(StabilizerGrader):
    """Cheaper than the baseline; a drawn code also asks for quality, which a named code reports."""

    task: ClassVar[str] = "stabilizer_optimization"
    oracle: ClassVar[str] = "evaluate_optimization"
    trap_fails: ClassVar[tuple[str, ...]] = ("quality",)
    trap_meets: ClassVar[tuple[str, ...]] = ("every generator is +1 on the output",)

    def criteria(self, attempt: Attempt, drawn: bool) -> list[Check]:
        mark, d = attempt.mark("corrected"), attempt.verdict.details
        costs = {name: f"{d[name]['entangling']} CX, depth {d[name]['depth']}" for name in ("candidate", "baseline")}
        return [
            valid(attempt),
            holds("cheaper than the baseline", Stage.SCORE, mark.success, value=costs["candidate"], threshold=costs["baseline"]),
            above("quality", Stage.SCORE, mark.quality, QUALITY_NEEDED, gate=drawn),
        ]


GRADER = StabilizerOptimization()
