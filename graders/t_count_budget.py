"""Grader of `t_count_budget`: an equivalent circuit within a published T-count.

Circuit, binding, equivalence and counts are those of the race; with 8 qubits the images of all basis states are compared, which is the full
unitary. There is no metric: T-depth and CX gates do not matter here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from graders.kit import GradedSession, Score
from graders.t_count_race import TCountRace


class TCountBudget(TCountRace):
    task: ClassVar[str] = "t_count_budget"
    trap_fails: ClassVar[tuple[str, ...]] = ("T-count",)
    trap_meets: ClassVar[tuple[str, ...]] = (
        "the final circuit was evaluated in this session", "equivalent by state vectors", "equivalent in a finite field",
    )  # fmt: skip

    def score(self, answer: Any, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        return Score(super().score(answer, session, q, rng).checks)


GRADER = TCountBudget()
