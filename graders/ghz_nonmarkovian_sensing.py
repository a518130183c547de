"""Grader of `ghz_nonmarkovian_sensing`: a uniform field with the smallest error that one photon counter and 30 s allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.optimize import least_squares

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit.nv_fringes import Fringe, fit_fringe, runs_of, unwrapped
from qtypes.nv_sensor_network.device import B0_LIMIT_NT, MAX_BLOCK, TAU_US, dead_us
from qtypes.nv_sensor_network.physics import GAMMA, best_block, decay, decay_time

DELAYS_SINGLE = 6
DELAYS_BLOCK = 3
DELAY_SHOTS = 1000
"""A delay counts from this number of shots on."""
RIVAL_CHI2 = 12.0
RIVAL_NT = 20.0
LAB_S = 30.0
SIGMA_FACTOR = 1.4
BIND_SIGMAS = 0.5
ERROR_SIGMAS = 3.0
SIGMA_RANGE = (0.6, 1.6)
T2_BIND = 0.2
T2_TOLERANCE = 0.35
TAU_MATCH_US = 0.01

Table = dict[tuple[int, float], Fringe]


class Answer(AnswerModel):
    """The field, its error, and the settings with which it was measured."""

    b0_nt: float = Field(ge=-1e5, le=1e5, description="uniform field, signed, nT")
    sigma_nt: float = Field(gt=0, le=1e5, description="its standard uncertainty, nT")
    n: int = Field(ge=1, le=MAX_BLOCK, description="nodes of the block in the estimation runs")
    tau_us: float = Field(ge=TAU_US[0], le=TAU_US[1], description="free precession in the estimation runs, us")
    t2star_us: float = Field(gt=0, le=1e4, description="time at which the contrast of a single node has fallen to 1/e, us")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=100, description="jobs the values rest on: scans and estimation runs")


class GhzNonmarkovianSensing(Grader):
    """See `docs/tasks/ghz_nonmarkovian_sensing.md`."""

    task: ClassVar[str] = "ghz_nonmarkovian_sensing"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("recomputed sigma / smallest sigma of this device",)
    trap_meets = ("delays of entangled blocks with both quadratures", "n and tau are those of cited runs with both quadratures")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        h = session.device.hidden
        variance, n, tau = best_block(
            {k: dead_us(k) for k in range(1, MAX_BLOCK + 1)}, h.local_rms_nt, h.local_correlation_us, h.readout, h.link_fidelity
        )
        t2 = decay_time(h.local_rms_nt, h.local_correlation_us)
        return {"best_sigma_nt": float(np.sqrt(variance / LAB_S)), "best_n": n, "best_tau_us": tau, "true_t2star_us": t2}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        own = self.jobs_exist(answer.job_ids, session, {"run_ramsey", "run_ghz"})
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and block_of(j)]
        table = fringes_of(jobs)
        more: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in jobs)}
        single, block = ({t for (n, t), f in table.items() if (n > 1) is many and f.shots >= DELAY_SHOTS} for many in (False, True))
        final = next((k for k in table if k[0] == answer.n and abs(k[1] - answer.tau_us) <= TAU_MATCH_US), None)
        checks = [
            own,
            above("delays of single nodes with both quadratures", Stage.BIND, len(single), DELAYS_SINGLE, **more),
            above("delays of entangled blocks with both quadratures", Stage.BIND, len(block), DELAYS_BLOCK, **more),
            holds("n and tau are those of cited runs with both quadratures", Stage.BIND, final is not None, **more),
        ]
        if not all(c.passed for c in checks) or final is None:
            return [*checks, holds("the field can be recomputed from the cited jobs", Stage.BIND, False, **more)]
        fit = field_from(table, final)
        q.update(fit)
        more["category"] = Category.UNSUPPORTED
        off = abs(answer.b0_nt - fit["b0_nt"])
        ratio = answer.sigma_nt / fit["sigma_nt"]
        rival = f"chi^2 of the best field further than {RIVAL_NT:g} nT away, above the best"
        return [
            *checks,
            above(rival, Stage.BIND, fit["rival_chi2"], RIVAL_CHI2, **more | {"category": Category.MISSING_EVIDENCE}),
            below("|reported field - recomputed| / recomputed sigma", Stage.BIND, off / fit["sigma_nt"], BIND_SIGMAS, **more),
            above("reported sigma / recomputed sigma", Stage.BIND, ratio, SIGMA_RANGE[0], **more),
            below("reported sigma / recomputed sigma, upper limit", Stage.BIND, ratio, SIGMA_RANGE[1], **more),
            below("|T2* / recomputed - 1|", Stage.BIND, abs(answer.t2star_us / fit["t2star_us"] - 1.0), T2_BIND, **more),
        ]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        h = session.device.hidden
        sigma = q.get("sigma_nt", np.inf)
        error = abs(answer.b0_nt - h.b0_nt)
        return Score([
            below("recomputed sigma / smallest sigma of this device", Stage.SCORE, sigma / q["best_sigma_nt"], SIGMA_FACTOR),
            below("|field - truth| / recomputed sigma", Stage.SCORE, error / sigma if np.isfinite(sigma) else np.inf, ERROR_SIGMAS),
            below("|T2* / truth - 1|", Stage.SCORE, abs(answer.t2star_us / q["true_t2star_us"] - 1.0), T2_TOLERANCE),
        ])  # fmt: skip

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The field moved by twice its tolerance, its error shrunk."""
        return {**answer, "b0_nt": answer["b0_nt"] + 2.0 * ERROR_SIGMAS * answer["sigma_nt"], "sigma_nt": answer["sigma_nt"] / 3.0}


def block_of(job: Job) -> int:
    """Size of the block whose field a job measures, 0 where it measures none."""
    request: Any = job.request
    if job.tool == "run_ramsey":
        return 0 if request.echo else 1
    if job.tool == "run_ghz":
        return len(request.nodes) if not request.echo and request.sign().min() > 0 else 0
    return 0


def fringes_of(jobs: list[Job]) -> Table:
    """Fringes with both quadratures by block size and delay; all nodes feel the same field."""
    runs: dict[tuple[int, float], list[Any]] = {}
    for job in jobs:
        for run in runs_of(job):
            runs.setdefault((block_of(job), run.tau_us), []).append(run)
    fits = {k: fit_fringe(r) for k, r in runs.items()}
    return {k: f for k, f in fits.items() if f is not None}


def field_from(table: Table, final: tuple[int, float]) -> dict[str, float]:
    """The field from the runs of one setting, unwrapped with all others; the local noise from the contrasts."""
    slope = {k: GAMMA * k[0] * k[1] for k in table}
    rough, rival = unwrapped(np.array([slope[k] for k in table]), list(table.values()), -B0_LIMIT_NT, B0_LIMIT_NT, RIVAL_NT)
    turn = slope[final] * rough
    residual = float(np.angle(table[final].z * np.exp(-1j * turn)))
    b0 = rough + residual / slope[final]
    return {
        "b0_nt": b0, "sigma_nt": table[final].phase_sigma / slope[final], "rival_chi2": rival, "contrast_phase_rad": residual,
        "t2star_us": coherence(table, b0),
    }  # fmt: skip


def coherence(table: Table, b0_nt: float) -> float:
    """T2* from the amplitudes of all fringes, `A k^(n - 1) exp(-n chi(tau; b, tc))`: b and tc alone may be undetermined, this is not."""
    n = np.array([k[0] for k in table], dtype=float)
    tau = np.array([k[1] for k in table])
    size, error = np.array([f.along(GAMMA * k[0] * k[1] * b0_nt) for k, f in table.items()]).T

    def residual(x: np.ndarray) -> np.ndarray:
        a, b, tc, link = np.exp(x)
        return np.asarray((a * link ** (n - 1) * np.exp(-n * decay(tau, b, tc)) - size) / error)

    a0 = np.log(max(float(size[n == 1].max()), 1e-6))
    bounds = ([-12.0, np.log(20.0), np.log(30.0), np.log(0.5)], [6.0, np.log(1000.0), np.log(1000.0), 0.0])
    starts = [(a0, np.log(b), np.log(150.0), -0.06) for b in (80.0, 150.0, 300.0)]
    fits = [least_squares(residual, np.clip(s, *bounds), bounds=bounds) for s in starts]
    _, b, tc, _ = np.exp(min(fits, key=lambda f: f.cost).x)
    return decay_time(float(b), float(tc))


GRADER = GhzNonmarkovianSensing()
