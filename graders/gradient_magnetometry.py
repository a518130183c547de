"""Grader of `gradient_magnetometry`: a field gradient, with an error that knows of the wandering common field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, JobId, Score, Stage, above, below, holds
from graders.kit.nv_gradient import (
    WANDER_LAG_S,
    Estimate,
    from_blocks,
    from_frames,
    from_visits,
    one_node_record,
    position_sigma,
    wander,
)  # fmt: skip
from qtypes.nv_sensor_network.device import TAU_US

RECORD_VISITS = 40
RECORD_S = 15.0
DELAYS = 2
DELAY_SHOTS = 2000
"""A delay counts from this number of shots on."""
SIGMA_LIMIT = 1.3
ERROR_LIMIT = 3.5
ERROR_SIGMAS = 3.0
BIND_SIGMAS = 0.5
SIGMA_RANGE = (0.6, 1.6)
WANDER_FACTOR = 2.0
TAU_MATCH_US = 0.01
TOOL = {"signed_block": "run_ghz", "parallel": "run_camera", "sequential": "run_ramsey"}


class Answer(AnswerModel):
    """The gradient, its error, and how it was measured."""

    gradient_nt_per_mm: float = Field(ge=-1e4, le=1e4, description="field gradient along the line, signed, nT/mm")
    sigma_nt_per_mm: float = Field(gt=0, le=1e4, description="its standard uncertainty, nT/mm")
    mode: Literal["signed_block", "parallel", "sequential"] = Field(
        description="how the estimation runs were taken: entangled blocks whose signs cancel, camera frames, or one node after the other"
    )
    tau_us: float = Field(ge=TAU_US[0], le=TAU_US[1], description="free precession in the estimation runs, us")
    wander_nt: float = Field(gt=0, le=1e5, description="rms change of the common field over 5 s, nT")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=80, description="jobs the values rest on: one-node record, estimation")


class GradientMagnetometry(Grader):
    """See `docs/tasks/gradient_magnetometry.md`."""

    task: ClassVar[str] = "gradient_magnetometry"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("recomputed sigma",)
    trap_meets = ("visits of one node in the record of the common field", "mode and tau are those of cited runs")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """The estimate uses the cited jobs and is made in `bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        own = self.jobs_exist(answer.job_ids, session, {"run_ramsey", "run_ghz", "run_camera"})
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and not getattr(j.request, "echo", True)]
        record = one_node_record(jobs)
        positions = np.array(session.device.spec.nominal_positions_mm)
        more: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in jobs)}
        checks = [
            own,
            above("visits of one node in the record of the common field", Stage.BIND, record.time_s.size, RECORD_VISITS, **more),
            above("span of the record of the common field", Stage.BIND, record.span_s, RECORD_S, unit="s", **more),
        ]
        chosen = [j for j in jobs if j.tool == TOOL[answer.mode] and j.job_id not in record.job_ids]
        shots: dict[float, int] = {}
        for job in chosen:
            taus = job.request.tau_us()  # type: ignore[attr-defined]
            counts = job.arrays()["counts"]
            each = counts.shape[-1] * (counts.shape[0] if answer.mode == "sequential" else 1)
            for t in taus:
                shots[float(t)] = shots.get(float(t), 0) + each
        delays = sum(n >= DELAY_SHOTS for n in shots.values())
        tau = next((t for t in shots if abs(t - answer.tau_us) <= TAU_MATCH_US), None)
        checks += [
            above("delays of the estimation mode", Stage.BIND, delays, DELAYS, **more),
            holds("mode and tau are those of cited runs", Stage.BIND, tau is not None, **more),
        ]
        if not all(c.passed for c in checks) or tau is None:
            return [*checks, holds("the gradient can be recomputed from the cited jobs", Stage.BIND, False, **more)]
        limit = session.device.spec.gradient_limit_nt_per_mm
        drift = wander(record)
        found: Estimate | None
        if answer.mode == "signed_block":
            found = from_blocks(chosen, tau, positions, limit)
        elif answer.mode == "parallel":
            found = from_frames(chosen, tau, positions, limit, drift)
        else:
            found = from_visits(chosen, record, positions, drift)
        if found is None:
            return [*checks, holds("the gradient can be recomputed from the cited jobs", Stage.BIND, False, **more)]
        sigma = float(np.hypot(found.sigma, position_sigma(found, positions)))
        q.update(gradient=found.value, sigma=sigma, counting_sigma=found.sigma, wander_nt=drift.rms(WANDER_LAG_S), _record=record)
        more["category"] = Category.UNSUPPORTED
        ratio, change = answer.sigma_nt_per_mm / sigma, answer.wander_nt / q["wander_nt"]
        off = abs(answer.gradient_nt_per_mm - found.value) / sigma
        return [
            *checks,
            below("|reported gradient - recomputed| / recomputed sigma", Stage.BIND, off, BIND_SIGMAS, **more),
            above("reported sigma / recomputed sigma", Stage.BIND, ratio, SIGMA_RANGE[0], **more),
            below("reported sigma / recomputed sigma, upper limit", Stage.BIND, ratio, SIGMA_RANGE[1], **more),
            below("change of the common field, ratio to recomputed", Stage.BIND, max(change, 1 / change), WANDER_FACTOR, **more),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        h = session.device.hidden
        sigma = q.get("sigma", np.inf)
        error = abs(answer.gradient_nt_per_mm - h.gradient_nt_per_mm)
        checks = [
            below("recomputed sigma", Stage.SCORE, sigma, SIGMA_LIMIT, unit="nT/mm"),
            below("|gradient - truth|", Stage.SCORE, error, ERROR_LIMIT, unit="nT/mm"),
            below("|gradient - truth| / recomputed sigma", Stage.SCORE, error / sigma if np.isfinite(sigma) else np.inf, ERROR_SIGMAS),
        ]
        if "_record" in q:
            true = true_wander(session, q["_record"].time_s)
            ratio = answer.wander_nt / true
            checks.append(below("change of the common field, ratio to truth", Stage.SCORE, max(ratio, 1 / ratio), WANDER_FACTOR))
        return Score(checks)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The gradient moved by twice its tolerance, its error shrunk."""
        moved = answer["gradient_nt_per_mm"] + 2.0 * ERROR_LIMIT
        return {**answer, "gradient_nt_per_mm": moved, "sigma_nt_per_mm": answer["sigma_nt_per_mm"] / 3.0}


def true_wander(session: GradedSession, time_s: np.ndarray) -> float:
    """rms change of the common field over 5 s while the record was taken, nT."""
    starts = np.linspace(time_s.min(), max(time_s.max() - WANDER_LAG_S, time_s.min() + 1.0), 400)
    hidden = session.device.hidden
    return float(np.sqrt(np.mean((hidden.common_nt(starts + WANDER_LAG_S) - hidden.common_nt(starts)) ** 2)))


GRADER = GradientMagnetometry()
