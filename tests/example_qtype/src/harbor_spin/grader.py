"""Grader of `spin_calibration`: fits the cited jobs itself, compares the answer with its fit and with the truth."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.optimize import least_squares

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below
from harbor_spin.device import MAX_OFFSET_KHZ
from harbor_spin.physics import flip_probability

LARMOR_TOLERANCE_KHZ = 6.0
RABI_TOLERANCE = 0.05
MIN_SHOTS = 10_000
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)


class Answer(AnswerModel):
    """Both frequencies and the jobs they rest on."""

    larmor_khz: float = Field(ge=-MAX_OFFSET_KHZ, le=MAX_OFFSET_KHZ, description="Larmor minus nominal frequency at the end, kHz")
    rabi_khz: float = Field(gt=0, le=1000, description="Rabi frequency of the pulse, kHz")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=40, description="jobs the two values rest on")


def fit(jobs: list[Job]) -> tuple[float, float]:
    """Larmor offset and Rabi frequency in kHz by least squares of the click rates, with spread and readout errors as nuisance."""
    pulse = np.concatenate([j.request.pulse_us for j in jobs])
    drive = np.concatenate([np.full(len(j.request.pulse_us), j.request.drive_offset_khz) for j in jobs])
    shots = np.concatenate([np.full(len(j.request.pulse_us), j.request.shots) for j in jobs])
    rate = np.concatenate([j.arrays()["clicks"].mean(axis=1) for j in jobs])

    def residual(p: np.ndarray) -> np.ndarray:
        larmor, rabi, spread, dark, missed = p
        up = flip_probability(pulse[:, None], rabi, (drive - larmor)[:, None] + spread * NODES) @ (WEIGHTS / WEIGHTS.sum())
        return (rate - dark - (1 - missed - dark) * up) * np.sqrt(shots)

    starts = [(float(larmor), rabi, 15.0, 0.05, 0.1) for larmor in np.arange(-180.0, 181.0, 30.0) for rabi in (80.0, 100.0, 120.0, 140.0)]
    bounds = ([-MAX_OFFSET_KHZ, 20.0, 0.0, 0.0, 0.0], [MAX_OFFSET_KHZ, 400.0, 60.0, 0.4, 0.4])
    best = sorted(starts, key=lambda s: float(np.sum(residual(np.array(s)) ** 2)))[:4]
    fits = [least_squares(residual, s, bounds=bounds, x_scale=(10.0, 10.0, 5.0, 0.05, 0.05)) for s in best]
    found = min(fits, key=lambda f: float(f.cost))
    return float(found.x[0]), float(found.x[1])


class SpinCalibration(Grader):
    """Both frequencies must agree with the cited jobs and with the device."""

    task: ClassVar[str] = "spin_calibration"
    Answer: ClassVar[type[AnswerModel]] = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        return {"shots": sum(j.request.shots * len(j.request.pulse_us) for j in session.jobs)}

    def bind(self, answer: Any, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        shots = sum(j.request.shots * len(j.request.pulse_us) for j in cited)
        checks = [
            self.jobs_exist(answer.job_ids, session, {"run_pulse"}),
            above("shots of the cited jobs", Stage.BIND, shots, MIN_SHOTS, category=Category.MISSING_EVIDENCE),
        ]
        if not all(c.passed for c in checks):
            return checks
        larmor, rabi = fit(cited)
        q.update(larmor_khz=larmor, rabi_khz=rabi)
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": tuple(j.job_id for j in cited)}
        return [
            *checks,
            below("|Larmor - refitted Larmor|", Stage.BIND, abs(answer.larmor_khz - larmor), LARMOR_TOLERANCE_KHZ, unit="kHz", **more),
            below("|Rabi / refitted Rabi - 1|", Stage.BIND, abs(answer.rabi_khz / rabi - 1.0), RABI_TOLERANCE, **more),
        ]

    def score(self, answer: Any, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        true = float(hidden.larmor_at(max((j.lab_end_s for j in session.jobs), default=0.0)))
        return Score([
            below("|Larmor - true Larmor|", Stage.SCORE, abs(answer.larmor_khz - true), LARMOR_TOLERANCE_KHZ, unit="kHz"),
            below("|Rabi / true Rabi - 1|", Stage.SCORE, abs(answer.rabi_khz / hidden.rabi_khz - 1.0), RABI_TOLERANCE),
        ])  # fmt: skip


GRADER = SpinCalibration()
