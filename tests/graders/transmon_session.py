"""A finished session of the qtype `transmon_pulse` as its graders read it, made in this process."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np

from graders.kit import Category, Grader
from qtypes import load
from qtypes.contract import Clock, Device

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
        experiment = QTYPE.tools()[tool].model_validate_json(json.dumps(request))
        rng = np.random.default_rng(self._stream + len(self.jobs))
        arrays = {k: a.values for k, a in experiment.run(self.device, Clock(self.clock_s), rng).arrays.items()}
        end_s = self.clock_s + float(experiment.cost().lab_s)
        self.jobs.append(
            SimpleNamespace(job_id=job_id, tool=tool, request=experiment, lab_start_s=self.clock_s, lab_end_s=end_s, arrays=lambda: arrays)
        )
        self.clock_s = end_s

    def only(self, *ids: str) -> list[Any]:
        return [j for j in self.jobs if j.job_id in ids]


def failures(grader: Grader, session: Any, answer: dict[str, Any]) -> dict[str, Category]:
    """Category of each failed check by its name."""
    parsed = grader.Answer.model_validate_json(json.dumps(answer))
    q = grader.recompute(session)
    checks = [*grader.bind(parsed, session, q), *grader.score(parsed, session, q, np.random.default_rng(0)).checks]
    return {c.name: c.category for c in checks if not c.passed and c.gate}
