"""Grader of `stabilizer_fault_tolerance`: a valid circuit with flags that hides no dangerous single fault, at a low price."""

from __future__ import annotations

from typing import ClassVar

from graders.kit.checks import Check, Stage, above, below, holds
from graders.kit.stabilizer import Attempt, StabilizerGrader, valid

FT_NEEDED = 0.9
"""Share of the dangerous faults that raise a flag, corrected scoring."""
UNSEEN_ALLOWED = 0
"""Dangerous faults that no flag shows."""
QUALITY_NEEDED = 0.85
"""FT / (1 + overhead / 4), overhead relative to the baseline's two-qubit gates."""


class StabilizerFaultTolerance(StabilizerGrader):
    """A success of the corrected scoring; a drawn code also asks that nothing dangerous goes unseen, and for quality."""

    task: ClassVar[str] = "stabilizer_fault_tolerance"
    oracle: ClassVar[str] = "check_fault_tolerance"
    trap_fails: ClassVar[tuple[str, ...]] = ("dangerous faults that no flag shows", "quality")
    trap_meets: ClassVar[tuple[str, ...]] = ("every generator is +1 on the output",)

    def criteria(self, attempt: Attempt, drawn: bool) -> list[Check]:
        mark, found = attempt.mark("corrected"), attempt.verdict.details.get("corrected")
        if found is None:
            return [valid(attempt)]
        return [
            valid(attempt),
            above("share of dangerous faults that raise a flag", Stage.SCORE, found["ft"], FT_NEEDED),
            holds(
                "a success of the corrected scoring", Stage.SCORE, mark.success, note="fewer unseen faults than the baseline, within caps"
            ),
            below("dangerous faults that no flag shows", Stage.SCORE, found["undetected"], UNSEEN_ALLOWED, unit="faults", gate=drawn),
            above("quality", Stage.SCORE, mark.quality, QUALITY_NEEDED, gate=drawn),
        ]


GRADER = StabilizerFaultTolerance()
