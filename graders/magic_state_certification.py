"""Grader of `magic_state_certification`: error budget of a supply of T states with a batch-common failure.

The regrade fits all cited chains at once by weighted least squares (one contrast of preparation and readout, one decay per step and kind),
and the cited single states by a two-component mixture of batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.optimize import least_squares

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.logical_magic_factory import physics
from qtypes.logical_magic_factory.device import SUPPLY_LEVEL

SPEC_LINE = 5e-3
"""Largest mean error of a batch that meets the specification."""
T_LENGTHS = 4
OTHER_LENGTHS = 3
LONG = 16
BATCHES = 20_000
PER_BATCH = 3
RESOLUTION_Z = 0.10
RESOLUTION_XY = 1.8e-4
AGREEMENT = 3.0
"""A claim lies within this many standard errors of the regrade."""
CONFIDENCE = 1.64
"""Standard errors of the regrade between its mean error and a bound at 95 %."""
ACCEPTANCE_TOLERANCE = 0.01
Z_TOLERANCE = 0.15
XY_TOLERANCE = (0.30, 4e-4)
R_TOLERANCE = 5e-4
UPPER_LIMIT = 1.5
_GROUPS = {("T", "+"): 1, ("T", "0"): 2}


class Answer(AnswerModel):
    """What the supply is certified to be."""

    p_z: float = Field(ge=0, le=0.5, description="probability of a Z error of a delivered state")
    p_xy: float = Field(ge=0, le=0.5, description="probability of an X or Y error of a delivered state")
    acceptance: float = Field(gt=0, le=1, description="accepted share of preparations")
    p_batch_upper95: float = Field(gt=0, le=1, description="upper bound of the mean error of a batch, confidence 95 % or more")
    r_common: float = Field(ge=0, le=1, description="probability that all states of a batch carry one more Z")
    meets_spec: bool = Field(description="whether the mean error of a batch is at most 5e-3")
    jobs: tuple[JobId, ...] = Field(min_length=1, max_length=100, description="jobs that the values rest on")


@dataclass(frozen=True)
class Chains:
    """Fit of all chains: step errors with their covariance."""

    e: float
    """p_z + p_xy / 2, the phase flip of a state in use."""
    p_xy: float
    covariance: np.ndarray
    """Of (e, p_xy), float64 `(2, 2)`."""

    @property
    def p_z(self) -> float:
        return self.e - self.p_xy / 2

    def sigma(self, weight_e: float, weight_xy: float) -> float:
        w = np.array([weight_e, weight_xy])
        return float(np.sqrt(w @ self.covariance @ w))


@dataclass(frozen=True)
class Batches:
    """Fit of the single states: share of slipped batches."""

    r: float
    sigma: float
    count: int


def fit_chains(chains: Sequence[tuple[int, int, int, int]]) -> Chains | None:
    """Chains as (group, length, ones, shots), group 0 Clifford, 1 T read in X, 2 T read in Z; None where the fit is not determined.

    Contrast A exp(-length (k_c + k_group)); shot noise of the fitted contrast as weight, in two passes.
    """
    if {g for g, *_ in chains} != {0, 1, 2}:
        return None
    group, length, ones, shots = np.array(chains, dtype=float).T
    seen = 1 - 2 * ones / shots
    sigma = np.sqrt((1 - seen**2 + 1 / shots) / shots)

    def model(x: np.ndarray) -> np.ndarray:
        return np.asarray(x[0] * np.exp(-length * (x[1] + np.where(group == 1, x[2], 0.0) + np.where(group == 2, x[3], 0.0))))

    x = np.array([0.97, 2e-3, 1e-2, 1e-3])
    for _ in range(2):
        fit = least_squares(lambda x, s=sigma: (model(x) - seen) / s, x, x_scale=[1.0, 1e-3, 1e-3, 1e-3])
        x = fit.x
        sigma = np.sqrt(np.clip(1 - model(x) ** 2, 1 / shots, 1.0) / shots)
    curvature = fit.jac.T @ fit.jac
    if not np.isfinite(curvature).all() or np.linalg.cond(curvature * np.outer([1, 1e-3, 1e-3, 1e-3], [1, 1e-3, 1e-3, 1e-3])) > 1e10:
        return None
    error = (1 - np.exp(-x[2:])) / 2
    slope = np.diag(np.exp(-x[2:]) / 2)
    return Chains(float(error[0]), float(error[1]), slope @ np.linalg.inv(curvature)[2:, 2:] @ slope)


def fit_batches(ones: np.ndarray, size: np.ndarray) -> Batches:
    """Mixture of batches with `ones` of `size` states found wrong, each `(n,)`: flip q, or 1 - q where the batch slipped.

    Expectation maximisation; the standard error is that of the count of slipped batches, which few of the others resemble, and at least
    that of four.
    """
    kinds, count = np.unique(np.stack([ones, size]), axis=1, return_counts=True)
    k, n = kinds
    r, q = 1e-3, 0.02
    for _ in range(60):
        log_odds = (2 * k - n) * np.log((1 - q) / q) + np.log(r / (1 - r))
        slipped = 1 / (1 + np.exp(-np.clip(log_odds, -60, 60)))
        r = float(np.clip((count * slipped).sum() / len(ones), 1e-9, 0.5))
        q = float(np.clip((count * (slipped * (n - k) + (1 - slipped) * k)).sum() / size.sum(), 1e-6, 0.45))
    return Batches(r, float(np.sqrt(max(r * len(ones), 4.0)) / len(ones)), len(ones))


def batches_of(jobs: Sequence[Job]) -> tuple[np.ndarray, np.ndarray]:
    """Wrong outcomes and measured states of every batch with enough states measured along T, each int `(n,)`."""
    ones, size = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    for job in jobs:
        arrays = job.arrays()
        n = np.bincount(arrays["batch"])
        k = np.bincount(arrays["batch"], weights=arrays["bits"]).astype(int)
        ones.append(k[n >= PER_BATCH])
        size.append(n[n >= PER_BATCH])
    return np.concatenate(ones), np.concatenate(size)


def chain_of(job: Job) -> tuple[int, int, int, int]:
    """(group, length, ones, shots) of a chain job."""
    r = job.request
    return _GROUPS.get((r.kind, r.prep), 0), r.length, int(job.arrays()["bits"].sum()), r.shots  # type: ignore[attr-defined]


def accepted_share(jobs: Sequence[Job]) -> tuple[float, int]:
    """Accepted states over preparations, and the number of states."""
    states = attempts = 0
    for job in jobs:
        arrays = job.arrays()
        if "attempts" in arrays:
            states += arrays["attempts"].size * getattr(job.request, "length", 1)
            attempts += int(arrays["attempts"].sum())
    return (states / attempts if attempts else 0.0), states


class MagicStateCertification(Grader):
    """See `docs/tasks/magic_state_certification.md`."""

    task: ClassVar[str] = "magic_state_certification"
    Answer: ClassVar[type[AnswerModel]] = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        chains = session.of("run_teleport_chain")
        return {"jobs": len(session.jobs), "chain_jobs": len(chains), "single_jobs": len(session.of("run_inject_tomography"))}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        own = self.jobs_exist(answer.jobs, session, {"run_teleport_chain", "run_inject_tomography", "run_distill"})
        cited = [j for j in session.jobs if j.job_id in set(answer.jobs)]
        chains = [chain_of(j) for j in cited if j.tool == "run_teleport_chain"]
        lengths = [{length for g, length, *_ in chains if g == group} for group in (0, 1, 2)]
        singles = [j for j in cited if j.tool == "run_inject_tomography"]
        ones, size = batches_of([j for j in singles if j.request.axis == "T"])  # type: ignore[attr-defined]
        missing = {"category": Category.MISSING_EVIDENCE}
        checks = [
            own,
            above("lengths of T chains read in X", Stage.BIND, len(lengths[1]), T_LENGTHS, **missing),
            above("longest T chain read in X", Stage.BIND, max(lengths[1], default=0), LONG, **missing),
            above("lengths of T chains read in Z", Stage.BIND, len(lengths[2]), OTHER_LENGTHS, **missing),
            above("lengths of Clifford chains", Stage.BIND, len(lengths[0]), OTHER_LENGTHS, **missing),
            above("batches of single states along T", Stage.BIND, len(ones), BATCHES, **missing),
        ]
        if not all(c.passed for c in checks):
            return checks
        fit = fit_chains(chains)
        if fit is None:
            return [*checks, holds("the cited chains determine the fit", Stage.BIND, False, **missing)]
        batch = fit_batches(ones, size)
        share, states = accepted_share([*singles, *(j for j in cited if j.tool == "run_teleport_chain")])
        return checks + self._agreement(answer, fit, batch, (share, states), q)

    def _agreement(self, answer: Answer, fit: Chains, batch: Batches, accepted: tuple[float, int], q: dict[str, Any]) -> list[Check]:
        share, states = accepted
        sigma_z, sigma_xy = fit.sigma(1.0, -0.5), fit.sigma(0.0, 1.0)
        sigma_a = share * np.sqrt((1 - share) / states)
        mean = physics.any_error(fit.p_z, fit.p_xy, batch.r)
        sigma_mean = float(np.hypot(fit.sigma(1.0, 0.5), batch.sigma))
        q.update(
            p_z=fit.p_z, p_z_sigma=sigma_z, p_xy=fit.p_xy, p_xy_sigma=sigma_xy, acceptance=share, r_common=batch.r, r_sigma=batch.sigma,
            mean_error=mean, mean_error_sigma=sigma_mean, batches=batch.count,
        )  # fmt: skip
        more = {"category": Category.UNSUPPORTED}
        checks = [
            below("recomputed sigma / recomputed p_z", Stage.BIND, sigma_z / max(fit.p_z, 1e-9), RESOLUTION_Z,
                  category=Category.MISSING_EVIDENCE),
            below("recomputed sigma of p_xy", Stage.BIND, sigma_xy, RESOLUTION_XY, category=Category.MISSING_EVIDENCE),
        ]  # fmt: skip
        for name, claim, found, sigma in (
            ("p_z", answer.p_z, fit.p_z, sigma_z), ("p_xy", answer.p_xy, fit.p_xy, sigma_xy),
            ("acceptance", answer.acceptance, share, float(sigma_a)), ("r_common", answer.r_common, batch.r, batch.sigma),
        ):  # fmt: skip
            away = abs(claim - found) / sigma
            checks.append(below(f"|{name} - recomputed| / its sigma", Stage.BIND, away, AGREEMENT, unit="sigma", **more))
        distance = (answer.p_batch_upper95 - mean) / sigma_mean
        checks.append(above("(bound - recomputed mean error) / its sigma", Stage.BIND, distance, CONFIDENCE, unit="sigma", **more))
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        p_z, p_xy = hidden.delivered(0, SUPPLY_LEVEL)
        mean = physics.any_error(p_z, p_xy, hidden.r_common)
        room = max(XY_TOLERANCE[0] * p_xy, XY_TOLERANCE[1])
        return Score([
            below("|p_z / truth - 1|", Stage.SCORE, abs(answer.p_z / p_z - 1), Z_TOLERANCE),
            below("|p_xy - truth|", Stage.SCORE, abs(answer.p_xy - p_xy), room),
            below("|acceptance - truth|", Stage.SCORE, abs(answer.acceptance - hidden.accepted(0, SUPPLY_LEVEL)), ACCEPTANCE_TOLERANCE),
            below("|r_common - truth|", Stage.SCORE, abs(answer.r_common - hidden.r_common), R_TOLERANCE),
            above("bound on the mean error of a batch", Stage.SCORE, answer.p_batch_upper95, mean),
            below("bound / mean error of a batch", Stage.SCORE, answer.p_batch_upper95 / mean, UPPER_LIMIT),
            holds("the verdict is right", Stage.SCORE, answer.meets_spec == (mean <= SPEC_LINE), value=mean, threshold=SPEC_LINE),
        ])  # fmt: skip

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """A better supply than it is: errors lowered by twice their tolerance, the bound with them."""
        p_z = answer["p_z"] * (1 - 2 * Z_TOLERANCE)
        return {**answer, "p_z": p_z, "r_common": 0.0, "p_batch_upper95": p_z + answer["p_xy"], "meets_spec": True}


GRADER = MagicStateCertification()
