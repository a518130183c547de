"""Grader of `magic_factory_race`: expected block-cycles per accepted 15-to-1 output under the true errors of the slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Score, Stage, above, below, holds
from qtypes.logical_magic_factory import physics

ERROR_LIMIT = 7e-7
"""Largest error of an accepted output, without the floor q_out."""
EVIDENCE_SHOTS = 4000
METRIC_UNIT = "block-cycles per accepted output"
_INPUTS = physics.INPUTS["15-to-1"]

Slot = Annotated[int, Field(ge=0, le=23)]
Level = Annotated[int, Field(ge=0, le=3)]


class Answer(AnswerModel):
    """One 15-to-1 batch, by columns of the protocol."""

    slots: tuple[Slot, ...] = Field(min_length=_INPUTS, max_length=_INPUTS, description="slot of each input, by column 1 to 15")
    levels: tuple[Level, ...] = Field(min_length=_INPUTS, max_length=_INPUTS, description="verification level of each input, same order")
    syndrome_repeats: int = Field(ge=1, le=3, description="how often all checks are read")


def measured(session: GradedSession) -> Counter[tuple[int, int]]:
    """Shots of single states and of T chains by (slot, level)."""
    shots: Counter[tuple[int, int]] = Counter()
    for job in session.of("run_inject_tomography", "run_teleport_chain"):
        r: Any = job.request
        if getattr(r, "kind", "T") == "T":
            shots[r.slot, r.level] += r.shots
    return shots


class MagicFactoryRace(Grader):
    """See `docs/tasks/magic_factory_race.md`."""

    task: ClassVar[str] = "magic_factory_race"
    Answer: ClassVar[type[AnswerModel]] = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        shots = measured(session)
        states: Counter[int] = Counter()
        tries: Counter[int] = Counter()
        for job in session.of("run_inject_tomography", "run_teleport_chain"):
            r: Any = job.request
            if r.level == 1 and getattr(r, "kind", "T") == "T":
                states[r.slot] += r.shots * getattr(r, "length", 1)
                tries[r.slot] += int(job.arrays()["attempts"].sum())
        return {
            "shots": {f"slot {s} level {v}": n for (s, v), n in sorted(shots.items())},
            "accepted_per_level": {f"slot {s}": states[s] / tries[s] for s in sorted(states)}, "_shots": shots,
        }  # fmt: skip

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        least = min(q["_shots"][s, v] for s, v in zip(answer.slots, answer.levels, strict=True))
        note = "single states or T chains of each used slot at the level used"
        return [
            above("fewest shots of a used slot at its level", Stage.BIND, least, EVIDENCE_SHOTS, unit="shots", note=note,
                  category=Category.MISSING_EVIDENCE),
        ]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        distinct = len(set(answer.slots)) == _INPUTS
        checks = [holds("the slots differ", Stage.SCORE, distinct, category=Category.SCHEMA)]
        if not distinct:
            return Score(checks)
        levels, accept = np.array(answer.levels), np.array(hidden.accept)[list(answer.slots)]
        errors = np.array([physics.dephasing(*hidden.delivered(s, v)) for s, v in zip(answer.slots, answer.levels, strict=True)])
        acceptance, error = physics.distilled(errors, hidden.q_m, answer.syndrome_repeats)
        checks.append(below("error of an accepted output", Stage.SCORE, error, ERROR_LIMIT))
        metric = physics.cycles_per_output(levels, accept, answer.syndrome_repeats, acceptance)
        return Score(checks, metric, METRIC_UNIT, {"output_error": error, "acceptance": acceptance})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is a setting: it is evaluated, and claims nothing."""


GRADER = MagicFactoryRace()
