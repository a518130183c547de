"""Gradients recomputed from counts of `nv_sensor_network`: from entangled blocks, camera frames, or one node after the other.

Estimates use the nominal positions; :func:`position_sigma` is what their uncertainty adds. The common field is an Ornstein-Uhlenbeck
process whose rms and correlation time are fitted to the structure function of a record of one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize_scalar

from graders.kit.nv_fringes import Fringe, Run, fit_fringe, runs_of
from graders.kit.session import Job
from qtypes.nv_sensor_network.device import B0_LIMIT_NT, POSITION_UNCERTAINTY
from qtypes.nv_sensor_network.physics import GAMMA

WANDER_LAG_S = 5.0
FIELD_SPAN_NT = B0_LIMIT_NT + 2500.0
"""Fields of single visits are sought within plus or minus this: the uniform field, the gradient and 4.5 rms of the common field."""
FRAME_GROUPS = 20
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A gradient in nT/mm, its error without the positions', and the weights `(nodes,)` with which the fields of the nodes enter."""

    value: float
    sigma: float
    weights: Floats


@dataclass(frozen=True)
class Record:
    """Visits: lab clock in s, node, field in nT, its error from counting."""

    time_s: Floats
    node: NDArray[np.int64]
    field_nt: Floats
    error_nt: Floats
    job_ids: frozenset[str]

    @property
    def span_s(self) -> float:
        return float(np.ptp(self.time_s)) if self.time_s.size else 0.0


@dataclass(frozen=True)
class Wander:
    """The common field as a fitted Ornstein-Uhlenbeck process; `measured` is the rms change over `WANDER_LAG_S`, noise taken out."""

    rms_nt: float
    correlation_s: float
    measured: float

    def rms(self, lag_s: float) -> float:
        """rms change over a lag, nT."""
        return self.measured if lag_s == WANDER_LAG_S else float(self.change(np.array([lag_s]))[0] ** 0.5)

    def change(self, lag_s: Floats) -> Floats:
        """Mean square change over lags, nT^2."""
        return np.asarray(-2.0 * self.rms_nt**2 * np.expm1(-lag_s / self.correlation_s))


def position_sigma(found: Estimate, positions_mm: Floats) -> float:
    """Error of a gradient from positions that are uniform within the stated fraction of the nominal ones, nT/mm."""
    return float(abs(found.value) * POSITION_UNCERTAINTY / np.sqrt(3.0) * np.sqrt(np.sum((found.weights * positions_mm) ** 2)))


def from_blocks(jobs: Sequence[Job], tau_us: float, positions_mm: Floats, limit: float) -> Estimate | None:
    """From blocks whose signs cancel: the common field drops out of the phase `gamma tau G d`, d the signed sum of the positions.

    None where the phases leave a quadrature open or where the gradient within the limits is not determined but for turns.
    """
    kinds: dict[tuple[tuple[int, ...], tuple[str, ...]], list[Job]] = {}
    for job in jobs:
        if job.request.sign().sum() == 0:  # type: ignore[attr-defined]
            kinds.setdefault((job.request.nodes, job.request.signs), []).append(job)  # type: ignore[attr-defined]
    value, weight, pull = [], [], np.zeros(positions_mm.size)
    for (nodes, signs), members in kinds.items():
        fringe = fit_at([r for j in members for r in runs_of(j)], tau_us)
        numbers = np.array([1.0 if s == "+" else -1.0 for s in signs])
        arm = float(numbers @ positions_mm[list(nodes)])
        slope = GAMMA * tau_us * arm
        if fringe is None or arm == 0.0 or abs(slope) * limit > np.pi:
            continue
        value.append(fringe.phase / slope)
        weight.append((slope / fringe.phase_sigma) ** 2)
        np.add.at(pull, list(nodes), weight[-1] * numbers / arm)
    if not value or not np.sum(weight) > 0:
        return None
    return Estimate(float(np.average(value, weights=weight)), float(np.sum(weight) ** -0.5), pull / np.sum(weight))


def fit_at(runs: Sequence[Run], tau_us: float) -> Fringe | None:
    """Fringe of all runs of one delay."""
    chosen = [r for r in runs if r.tau_us == tau_us]
    return fit_fringe(chosen) if chosen else None


def from_frames(jobs: Sequence[Job], tau_us: float, positions_mm: Floats, limit: float, drift: Wander) -> Estimate | None:
    """From camera frames: `|sum_nodes z exp(-i gamma tau G x)|^2`, summed over windows in which the common field hardly turns the phases,
    is largest at the gradient, whatever the common phase. The error is a jackknife over consecutive groups of windows."""
    rate = GAMMA * tau_us
    longest_s = sum(j.request.stay_s() for j in jobs) / (3 * FRAME_GROUPS)  # type: ignore[attr-defined]
    window_s = float(np.clip(0.25 * drift.correlation_s / (rate * drift.rms_nt) ** 2, 0.01, max(min(longest_s, 0.2), 0.01)))
    rows = []
    for job in jobs:
        tau, phase = job.request.tau_us(), job.request.phase_rad()  # type: ignore[attr-defined]
        used = tau == tau_us
        design = np.column_stack([np.ones(used.sum()), np.cos(phase[used]), np.sin(phase[used])])
        if np.linalg.matrix_rank(design, tol=1e-3) < 3:
            continue
        size = max(1, round(window_s / (float(job.request.shot_us().sum()) * 1e-6)))  # type: ignore[attr-defined]
        counts = job.arrays()["counts"][:, used]
        whole = counts.shape[2] // size
        if whole:
            means = counts[:, :, : whole * size].reshape(*counts.shape[:2], whole, size).mean(axis=3)
            fit = np.einsum("qp,npw->qnw", np.linalg.pinv(design), means)
            rows.append((fit[1] + 1j * fit[2]) * np.sqrt(size))
    if not rows or sum(r.shape[1] for r in rows) < 2 * FRAME_GROUPS:
        return None
    z = np.concatenate(rows, axis=1)
    # only products of two nodes in the same window enter: their sums by group are all that is needed
    pairs = np.array([z[:, g] @ z[:, g].conj().T for g in np.array_split(np.arange(z.shape[1]), FRAME_GROUPS)])
    apart = positions_mm[:, None] - positions_mm[None, :]

    def best(m: NDArray[np.complex128]) -> float:
        def loss(g: float) -> float:
            return -float(np.sum(m * np.exp(-1j * rate * g * apart)).real)

        grid = np.linspace(-1.1 * limit, 1.1 * limit, 400)
        at = grid[int(np.argmin([loss(g) for g in grid]))]
        step = grid[1] - grid[0]
        return float(minimize_scalar(loss, bounds=(at - step, at + step), method="bounded").x)

    total = pairs.sum(axis=0)
    left_out = np.array([best(total - p) for p in pairs])
    spread = np.sqrt((FRAME_GROUPS - 1) / FRAME_GROUPS * np.sum((left_out - left_out.mean()) ** 2))
    centred = positions_mm - positions_mm.mean()
    return Estimate(best(total), float(spread), centred / np.sum(centred**2))


def from_visits(jobs: Sequence[Job], record: Record, positions_mm: Floats, drift: Wander) -> Estimate | None:
    """From visits of one node after the other: generalised least squares for B0 and G, the common field a correlated error."""
    visits = visits_of(jobs)
    if np.unique(visits.node).size < 2:
        return None
    lag = np.abs(visits.time_s[:, None] - visits.time_s[None, :])
    cov = drift.rms_nt**2 * np.exp(-lag / drift.correlation_s) + np.diag(visits.error_nt**2)
    design = np.column_stack([np.ones(visits.node.size), positions_mm[visits.node]])
    solved = np.linalg.solve(cov, design)
    inverse = np.linalg.inv(design.T @ solved)
    row = inverse[1] @ solved.T
    weights = np.zeros(positions_mm.size)
    np.add.at(weights, visits.node, row)
    return Estimate(float(row @ visits.field_nt), float(np.sqrt(inverse[1, 1])), weights)


def one_node_record(jobs: Sequence[Job]) -> Record:
    """All visits of the longest series of visits of one node in a cited `run_ramsey`; empty where there is none."""
    series = [j for j in jobs if j.tool == "run_ramsey" and len(set(j.request.nodes)) == 1]  # type: ignore[attr-defined]
    most = max(series, key=lambda j: len(j.request.nodes), default=None)  # type: ignore[attr-defined]
    return visits_of([most] if most is not None else [], follow=True)


def visits_of(jobs: Sequence[Job], follow: bool = False) -> Record:
    """The field of each visit from all its delays; with `follow`, on the branch next to the visit before."""
    time, node, field, error = [np.zeros(0)], [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0)]
    for job in jobs:
        counts, tau, phase = job.arrays()["counts"], job.request.tau_us(), job.request.phase_rad()  # type: ignore[attr-defined]
        kept, z, noise = [], [], []
        for t in np.unique(tau):
            used = tau == t
            design = np.column_stack([np.ones(used.sum()), np.cos(phase[used]), np.sin(phase[used])])
            if np.linalg.matrix_rank(design, tol=1e-3) == 3:
                fit = np.linalg.pinv(design) @ counts[:, used].mean(axis=2).T
                kept.append(t)
                z.append(fit[1] + 1j * fit[2])
                scale = np.linalg.inv(design.T @ design)
                noise.append(counts[:, used].var() / counts.shape[2] * (scale[1, 1] + scale[2, 2]) / 2.0)
        if not kept:
            continue
        y, e = _fields(np.array(kept), np.array(z), np.array(noise), follow)
        time.append(job.arrays()["time_s"])
        node.append(np.array(job.request.nodes))  # type: ignore[attr-defined]
        field.append(y)
        error.append(e)
    ids = frozenset(j.job_id for j in jobs)
    return Record(np.concatenate(time), np.concatenate(node), np.concatenate(field), np.concatenate(error), ids)


def _fields(tau: Floats, z: NDArray[np.complex128], noise: Floats, follow: bool) -> tuple[Floats, Floats]:
    """Matched filter of each visit: the field that turns all its fringes `(delays, visits)` best, and its error."""
    size = np.sqrt(np.maximum((np.abs(z) ** 2).mean(axis=1) - 2.0 * noise, 0.05 * noise))
    weight = size / noise
    grid = np.arange(-FIELD_SPAN_NT, FIELD_SPAN_NT, 4.0)
    turned = np.exp(-1j * GAMMA * np.outer(grid, tau)) * weight
    likelihood = (turned @ z).real
    y = np.empty(z.shape[1])
    for k in range(y.size):
        allowed = likelihood[:, k]
        if follow and k:
            allowed = np.where(np.abs(grid - y[k - 1]) < np.pi / (GAMMA * tau.max()), allowed, -np.inf)
        y[k] = grid[int(np.argmax(allowed))]
    error = 1.0 / np.sqrt(np.sum((GAMMA * tau) ** 2 * size**2 / noise))
    return y, np.full(y.size, error)


def wander(record: Record) -> Wander:
    """Ornstein-Uhlenbeck process that fits the mean squared changes of the record over lags up to half its span."""
    i, j = np.triu_indices(record.time_s.size, 1)
    lag = record.time_s[j] - record.time_s[i]
    change = (record.field_nt[j] - record.field_nt[i]) ** 2
    error2 = float(np.mean(record.error_nt**2))
    edges = np.geomspace(max(lag.min(), 1e-3) * 0.99, record.span_s / 2.0, 13)
    bins = [(lag >= a) & (lag < b) for a, b in pairwise(edges)]
    rows = np.array([(lag[b].mean(), change[b].mean(), np.sqrt(b.sum())) for b in bins if b.sum() >= 5])
    near = np.abs(lag - WANDER_LAG_S) < 1.0
    floor = 0.1 * error2

    def residual(x: Floats) -> Floats:
        rms, tc, noise = np.exp(x)
        model = Wander(rms, tc, 0.0).change(rows[:, 0]) + 2.0 * noise
        return np.asarray([*np.log(rows[:, 1] / model), 10.0 * np.log(noise / error2)])

    start = np.log((max(np.sqrt(rows[-1, 1] / 2.0), 50.0), 10.0, error2))
    bounds = [np.log((20.0, 0.5, 0.05 * error2)), np.log((2000.0, 300.0, 20.0 * error2))]
    fit = np.exp(least_squares(residual, np.clip(start, *bounds), bounds=bounds).x)
    measured = np.sqrt(max(float(change[near].mean()) - 2.0 * error2, floor)) if near.any() else 0.0
    return Wander(float(fit[0]), float(fit[1]), float(measured))
