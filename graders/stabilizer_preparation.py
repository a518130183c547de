"""Grader of `stabilizer_preparation`: a circuit whose output every generator stabilises with sign plus."""

from __future__ import annotations

from typing import ClassVar

from graders.kit.checks import Check
from graders.kit.stabilizer import Attempt, StabilizerGrader, valid


class StabilizerPreparation(StabilizerGrader):
    """Success is all or nothing; how many generators hold is in the quantities."""

    task: ClassVar[str] = "stabilizer_preparation"
    oracle: ClassVar[str] = "check_stabilizers"
    trap_fails: ClassVar[tuple[str, ...]] = ("every generator is +1 on the output",)
    trap_meets: ClassVar[tuple[str, ...]] = ("the circuit handed in was judged in this session",)

    def criteria(self, attempt: Attempt, drawn: bool) -> list[Check]:
        return [valid(attempt)]


GRADER = StabilizerPreparation()
