"""Two-state relaxation from a stream of IQ points: clouds that rotate slowly, a common floor, and a hidden Markov chain for T1.

The excited weight after a delay d in state k is floor + amplitude exp(-d / T1_k). Everything is estimated from the points themselves;
readout references fix which cloud is |0> and contribute their share to the floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from graders.kit import hmm
from graders.kit.iq import fit_clouds

Floats = NDArray[np.float64]
BIN_S = 0.2
SEGMENT_S = 1200.0
"""Length over which the clouds are taken as constant: a rotation of 1.5 deg/h moves them by less than a tenth of their width."""
GRID = np.geomspace(3.0, 400.0, 120)
_LOGIT = 5.0  # excited weights are kept between 0.7 and 99.3 %


@dataclass(frozen=True)
class Stream:
    """Shots of relaxation sweeps in time order, each `(n,)`: lab clock in s, delay in us, IQ point."""

    time_s: Floats
    delay_us: Floats
    iq: NDArray[np.complexfloating]


@dataclass(frozen=True)
class References:
    """Reference jobs: mean time in s, whether the pulse was played, and their IQ points."""

    time_s: Floats
    excited: NDArray[np.bool_]
    iq: list[NDArray[np.complexfloating]]


@dataclass(frozen=True)
class TelegraphFit:
    """State 0 has the longer T1. `sigma_log` are the standard errors of (ln T1_0, ln T1_1, ln dwell_0, ln dwell_1)."""

    t1_us: Floats
    dwell_s: Floats
    sigma_log: Floats
    floor: float
    amplitude: float
    bin_time_s: Floats
    share1: Floats
    """Posterior probability of state 1 in each bin."""

    def window_rate(self, starts_s: Floats) -> Floats:
        """Mean relaxation rate in 1/us in windows of 1 s that start at integer times `starts_s`."""
        base = np.floor(self.bin_time_s).astype(np.int64)
        low = int(base.min())
        n = np.bincount(base - low)
        share = np.bincount(base - low, weights=self.share1) / np.maximum(n, 1)
        s = share[starts_s.astype(np.int64) - low]
        rate: Floats = (1.0 - s) / self.t1_us[0] + s / self.t1_us[1]
        return rate


def excess_ratio(stream: Stream, references: References) -> tuple[Floats, float, float]:
    """f1/f0 - 1 of each shot, the thermal weight of the |0> references and the weight at the shortest delay.

    The clouds are fitted anew in each segment of the lab clock.
    """
    edges = np.arange(stream.time_s[0], stream.time_s[-1] + SEGMENT_S, SEGMENT_S)
    segment = np.clip(np.searchsorted(edges, stream.time_s, side="right") - 1, 0, len(edges) - 1)
    c0, c1 = (complex(np.concatenate([z for z, e in zip(references.iq, references.excited, strict=True) if e == k]).mean()) for k in (0, 1))
    used = np.unique(segment)
    middle = np.array([stream.time_s[segment == s].mean() for s in used])
    owner = used[np.abs(references.time_s[:, None] - middle[None, :]).argmin(axis=1)]
    excess = np.empty(stream.time_s.size)
    thermal, n_thermal, early = 0.0, 0, []
    delays = np.unique(stream.delay_us)
    for s in used:
        mine = segment == s
        own = [i for i in range(len(references.iq)) if owner[i] == s]
        sets = [stream.iq[mine & (stream.delay_us == d)] for d in delays] + [references.iq[i] for i in own]
        kept = [z for z in sets if z.size]
        clouds = fit_clouds(kept, c0, c1)
        excess[mine] = np.expm1(clouds.log_ratio(stream.iq[mine]))
        for weight, i in zip(clouds.weights[len(kept) - len(own) :], own, strict=True):
            if not references.excited[i]:
                thermal, n_thermal = thermal + float(weight) * references.iq[i].size, n_thermal + references.iq[i].size
        early.append(float(clouds.weights[0]))
    return excess, thermal / max(n_thermal, 1), float(np.mean(early))


class _Model:
    """Log likelihood of the bins of a stream under a relaxation time.

    The log likelihood of the shots of one bin and delay is a smooth function of the excited weight w: it is computed once at Chebyshev
    nodes in log(w / (1 - w)), where it is analytic up to a distance of pi, and interpolated from there to 1e-6 (barycentric; Trefethen
    2013, ch. 5). A new T1 then costs no pass over the shots.
    """

    def __init__(self, stream: Stream, excess: Floats, nodes: int = 20) -> None:
        number = np.floor(stream.time_s / BIN_S).astype(np.int64)
        kept, bins = np.unique(number, return_inverse=True)
        self.time_s: Floats = (kept.astype(np.float64) + 0.5) * BIN_S
        self.gap_s = np.diff(self.time_s)
        self.delays, which = np.unique(stream.delay_us, return_inverse=True)
        pairs, row = np.unique(which * kept.size + bins, return_inverse=True)
        self.pair_bin = pairs % kept.size
        edges = np.searchsorted(pairs // kept.size, np.arange(self.delays.size + 1))
        self.of_delay = [slice(int(a), int(b)) for a, b in pairwise(edges)]
        angle = np.pi * (np.arange(nodes) + 0.5) / nodes
        self.nodes = _LOGIT * np.cos(angle)
        self.bary = (-1.0) ** np.arange(nodes) * np.sin(angle)
        inside = [np.log1p(np.maximum(w * excess, -1.0 + 1e-12)) for w in expit(self.nodes)]
        self.values = np.stack([np.bincount(row, weights=v, minlength=pairs.size) for v in inside], axis=1)

    def _lagrange(self, weight: Floats) -> Floats:
        """Values at `weight` `(n,)` of the basis polynomials of the nodes, `(n, n_nodes)`."""
        gap = logit(weight)[:, None] - self.nodes
        terms = self.bary / np.where(np.abs(gap) < 1e-13, 1e-13, gap)
        return terms / terms.sum(axis=1, keepdims=True)

    def weights(self, t1_us: float, floor: float, amplitude: float) -> Floats:
        """Excited weight at each delay."""
        return np.clip(floor + amplitude * np.exp(-self.delays / t1_us), expit(-_LOGIT), expit(_LOGIT))

    def emission(self, t1_us: Floats, floor: float, amplitude: float) -> Floats:
        """Log likelihood of each bin under each T1: `(n_t1, n_bins)`."""
        weight = np.stack([self.weights(float(t), floor, amplitude) for t in np.atleast_1d(t1_us)])
        out = np.zeros((len(weight), self.time_s.size))
        for d, rows in enumerate(self.of_delay):  # a bin occurs once per delay
            out[:, self.pair_bin[rows]] += self._lagrange(weight[:, d]) @ self.values[rows].T
        return out

    def level(self, share1: Floats, t1_us: Floats, floor: float, amplitude: float) -> tuple[float, float]:
        """Floor and amplitude that maximise the likelihood given the posterior of the states."""
        share = (1.0 - share1, share1)
        sums = np.array([[p[self.pair_bin[rows]] @ self.values[rows] for rows in self.of_delay] for p in share])

        def loss(x: Floats) -> float:
            return -sum(float((sums[k] * self._lagrange(self.weights(t, x[0], x[1]))).sum()) for k, t in enumerate(t1_us))

        start = np.array([floor, amplitude])
        simplex = start + np.array([[0.0, 0.0], [0.01, 0.0], [0.0, 0.01]])
        options = {"xatol": 1e-4, "fatol": 1e-3, "maxiter": 100, "initial_simplex": simplex}
        fit = minimize(loss, start, method="Nelder-Mead", options=options)
        return float(fit.x[0]), float(fit.x[1])


def fit_telegraph(stream: Stream, references: References) -> TelegraphFit:
    """Baum-Welch on a grid of T1, twice, with the levels refitted between; then a local refinement and the curvature."""
    excess, floor, early = excess_ratio(stream, references)
    model = _Model(stream, excess)
    amplitude = (early - floor) * float(np.exp(model.delays[0] / 50.0))
    table = model.emission(GRID, floor, amplitude)
    fit = hmm.baum_welch(table, model.gap_s, BIN_S, _start(table))
    floor, amplitude = model.level(fit.posterior.gamma[:, 1], GRID[list(fit.index)], floor, amplitude)
    table = model.emission(GRID, floor, amplitude)
    fit = hmm.baum_welch(table, model.gap_s, BIN_S, fit.index, (float(fit.dwell_s[0]), float(fit.dwell_s[1])))
    t1 = GRID[list(fit.index)]
    floor, amplitude = model.level(fit.posterior.gamma[:, 1], t1, floor, amplitude)
    return _refine(model, np.log(np.concatenate((t1, fit.dwell_s))), floor, amplitude)


def _start(table: Floats) -> tuple[int, int]:
    """Upper and lower T1 of a first guess: quantiles of the best grid value of 2 s blocks."""
    block = max(1, round(2.0 / BIN_S))
    n = table.shape[1] // block * block
    best = table[:, :n].reshape(len(table), -1, block).sum(axis=2).argmax(axis=0)
    low, high = np.percentile(best, (12, 75))
    return int(min(max(high, low + 4), len(table) - 1)), int(low)


def _curvature(model: _Model, x: Floats, h: Floats, floor: float, amplitude: float) -> tuple[Floats, Floats]:
    """Gradient `(4,)` and Hessian `(4, 4)` of the log likelihood of x = (ln T1, ln T1, ln dwell, ln dwell) by central differences."""
    emissions: dict[tuple[int, int], Floats] = {}

    def value(step: NDArray[np.int64]) -> float:
        y = x + h * step
        rows = []
        for k in (0, 1):
            key = (k, int(step[k]))
            if key not in emissions:
                emissions[key] = model.emission(np.exp(y[k]), floor, amplitude)[0]
            rows.append(emissions[key])
        return hmm.log_likelihood(np.stack(rows, axis=1), np.exp(y[2:]), model.gap_s)

    unit = np.eye(4, dtype=np.int64)
    centre = value(np.zeros(4, dtype=np.int64))
    up, down = np.array([value(u) for u in unit]), np.array([value(-u) for u in unit])
    hess = np.diag((up + down - 2 * centre) / h**2)
    for i in range(4):
        for j in range(i):
            cross = value(unit[i] + unit[j]) - value(unit[i] - unit[j]) - value(unit[j] - unit[i]) + value(-unit[i] - unit[j])
            hess[i, j] = hess[j, i] = cross / (4 * h[i] * h[j])
    return (up - down) / (2 * h), hess


def _refine(model: _Model, x: Floats, floor: float, amplitude: float) -> TelegraphFit:
    """Two Newton steps; the errors are infinite where the likelihood has no maximum nearby: the data do not show two states."""
    h = np.array([0.01, 0.01, 0.05, 0.05])
    sigma: Floats = np.full(4, np.inf)
    for _ in range(2):
        grad, hess = _curvature(model, x, h, floor, amplitude)
        if not np.isfinite(hess).all() or (np.linalg.eigvalsh(-hess) <= 0).any():
            sigma = np.full(4, np.inf)
            break
        cov = np.linalg.inv(-hess)
        sigma = np.sqrt(np.diag(cov))
        x = x + np.clip(cov @ grad, -3 * h, 3 * h)
    emission = model.emission(np.exp(x[:2]), floor, amplitude).T
    share: Floats = hmm.posterior(emission, np.exp(x[2:]), model.gap_s).gamma[:, 1]
    t1, dwell = np.exp(x[:2]), np.exp(x[2:])
    if t1[0] < t1[1]:
        t1, dwell, sigma, share = t1[::-1], dwell[::-1], sigma[[1, 0, 3, 2]], 1.0 - share
    return TelegraphFit(t1, dwell, sigma, floor, amplitude, model.time_s, share)
