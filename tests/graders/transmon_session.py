"""A finished session of the qtype `transmon_pulse` as its graders read it, made in this process."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graders.kit import Category, Grader
from qtypes import load
from qtypes.contract import Device
from tests.graders.in_process import completed, failed, graded

QTYPE = load("transmon_pulse")


class Session:
    """A device drawn with `seed` from a card's profile, and the jobs run on it; their shots are those of `first_stream` and after."""

    def __init__(self, profile: dict[str, Any], seed: int, first_stream: int) -> None:
        whole = QTYPE.Profile.model_validate(profile)
        hidden = QTYPE.draw(np.random.default_rng(seed), whole)
        self.device = Device(QTYPE.spec(hidden, whole), hidden, whole)
        self.jobs: list[Any] = []
        self.clock_s = 0.0
        self._stream = first_stream

    def run(self, job_id: str, tool: str, **request: Any) -> None:
        rng = np.random.default_rng(self._stream + len(self.jobs))
        self.jobs.append(completed(QTYPE, self.device, job_id, tool, json.dumps(request), rng, self.clock_s))
        self.clock_s = self.jobs[-1].lab_end_s

    def only(self, *ids: str) -> list[Any]:
        return [j for j in self.jobs if j.job_id in ids]


def failures(grader: Grader, session: Any, answer: dict[str, Any]) -> dict[str, Category]:
    """Category of each failed check by its name."""
    checks, _ = graded(grader, session, grader.Answer.model_validate_json(json.dumps(answer)))
    return {n: checks[n].category for n in checks if n in failed(checks)}
