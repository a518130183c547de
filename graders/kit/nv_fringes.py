"""What graders of the qtype `nv_sensor_network` share: fringes from photon counts, with errors that know of slow noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graders.kit.session import Job

BATCH_S = 4e-3
"""Length of a batch: much longer than the correlation time of the local noise, so that batches are independent of each other."""
LEAST_BATCHES = 8
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """Counts of one setting, `(points, shots)`, at the analysis phases `(points,)`; shots of a point are `period_s` apart."""

    tau_us: float
    phase_rad: Floats
    counts: NDArray[np.uint8]
    period_s: float
    job_id: str = ""

    def batches(self) -> Floats:
        """Mean counts in consecutive batches, `(points, batches)`; a rest that fills no batch is left out."""
        shots = self.counts.shape[1]
        size = max(1, min(int(np.ceil(BATCH_S / self.period_s)), shots // LEAST_BATCHES))
        whole = shots // size
        return self.counts[:, : whole * size].reshape(-1, whole, size).mean(axis=2)


@dataclass(frozen=True)
class Fringe:
    """`mean = level + Re(z exp(-i phase_rad))` of all runs of one delay; `cov` is the covariance of (Re z, Im z)."""

    tau_us: float
    z: complex
    cov: Floats
    level: float
    shots: int

    @property
    def phase(self) -> float:
        return float(np.angle(self.z))

    @property
    def phase_sigma(self) -> float:
        """First order in the noise, rad; infinite where there is no fringe."""
        across = np.array([-self.z.imag, self.z.real])
        size = abs(self.z)
        return float(np.sqrt(across @ self.cov @ across)) / size**2 if size else np.inf

    def along(self, phase: float) -> tuple[float, float]:
        """Amplitude at a known phase, and its standard error."""
        unit = np.array([np.cos(phase), np.sin(phase)])
        return float(unit @ (self.z.real, self.z.imag)), float(np.sqrt(unit @ self.cov @ unit))


def runs_of(job: Job) -> list[Run]:
    """The counts of a job by delay; visits of `run_ramsey` are runs of their own."""
    request = job.request
    tau, phase, shots = request.tau_us(), request.phase_rad(), job.arrays()["counts"]  # type: ignore[attr-defined]
    period_s = float(request.shot_us().sum()) * 1e-6  # type: ignore[attr-defined]
    stacked = shots if shots.ndim == 3 else shots[None]
    return [Run(float(t), phase[tau == t], counts[tau == t], period_s, job.job_id) for counts in stacked for t in np.unique(tau)]


def fit_fringe(runs: Sequence[Run]) -> Fringe | None:
    """Least squares over all runs (of one delay), weighted by shots; None where the phases do not determine level and both quadratures.

    The estimate is linear in the counts. Its covariance is that of its batches, so correlations between shots and points are in it.
    """
    phases = np.concatenate([r.phase_rad for r in runs])
    shots = np.concatenate([np.full(r.phase_rad.size, r.counts.shape[1]) for r in runs])
    design = np.column_stack([np.ones(phases.size), np.cos(phases), np.sin(phases)])
    weighted = design * shots[:, None]
    normal = design.T @ weighted
    if np.linalg.cond(normal) > 1e6:
        return None
    estimator = np.linalg.solve(normal, weighted.T)
    value, cov, at = np.zeros(3), np.zeros((3, 3)), 0
    for run in runs:
        part = estimator[:, at : at + run.phase_rad.size]
        at += run.phase_rad.size
        value += part @ run.counts.mean(axis=1)
        batches = part @ run.batches()
        if batches.shape[1] > 1:
            cov += np.cov(batches) / batches.shape[1]
    return Fringe(runs[0].tau_us, complex(value[1], value[2]), cov[1:, 1:], float(value[0]), int(shots.sum()))


def unwrapped(slopes: Floats, fringes: Sequence[Fringe], low: float, high: float, apart: float) -> tuple[float, float]:
    """The value x in `[low, high]` that fits all phases `slope x` best, and how much worse chi^2 of the best rival beyond `apart` is.

    The misfit of a phase is `2 (1 - cos(difference)) / sigma^2`: a chi^2 near its minimum, periodic, bounded for phases that mean little.
    """
    weight = np.array([min(1.0 / max(f.phase_sigma, 1e-6) ** 2, 1e8) for f in fringes])
    phase = np.array([f.phase for f in fringes])
    step = 0.05 / max(float(np.abs(slopes).max() * np.sqrt(weight.max())), 1e-9)
    x = np.linspace(low, high, int(np.clip((high - low) / step, 200, 400_000)))
    misfit = np.zeros(x.size)
    for s, p, w in zip(slopes, phase, weight, strict=True):
        misfit += w * 2.0 * (1.0 - np.cos(s * x - p))
    best = int(np.argmin(misfit))
    far = np.abs(x - x[best]) > apart
    return float(x[best]), float(misfit[far].min() - misfit[best]) if far.any() else np.inf
