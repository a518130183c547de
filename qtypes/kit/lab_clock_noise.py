"""Slow noise as a deterministic function of the lab clock and a seed.

Each process is a frozen value. Evaluated at any times, in any order and any number of times, it gives the same trajectory: the
underlying stream is always drawn from its beginning, and a longer stream extends a shorter one. Devices store the parameters and the
integer seed, never a trajectory; graders evaluate the same object to know what happened.

Times are seconds on the lab clock, `>= 0`, of any shape; results have that shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dtbtrs

MAX_POINTS = 20_000_000
"""Longest stream drawn for one trajectory: a bound on memory, far above a session's need."""


def fresh_seed(rng: np.random.Generator) -> str:
    """128 bits as a decimal string: the seed of a process, in a form that JSON keeps."""
    high, low = rng.integers(0, 2**63, size=2, dtype=np.int64)
    return str((int(high) << 63) | int(low))


def _stream(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def _times(t_s: ArrayLike) -> NDArray[np.float64]:
    t = np.asarray(t_s, dtype=float)
    if t.size and not (np.isfinite(t).all() and t.min() >= 0.0):
        raise ValueError("lab-clock times must be finite and >= 0")
    return t


def _grid_length(t: NDArray[np.float64], step_s: float) -> int:
    n = 2 + int(np.ceil(t.max() / step_s)) if t.size else 2
    if n > MAX_POINTS:
        raise ValueError(f"a trajectory of {n} steps of {step_s} s is longer than {MAX_POINTS}")
    return n


@dataclass(frozen=True)
class Telegraph:
    """Stationary two-state Markov process (random telegraph signal; Machlup 1954).

    State 0 lasts `dwell0_s` on average, state 1 `dwell1_s`; dwell times are exponential and the process is stationary at t = 0, so the
    probability of state 1 is `dwell1_s / (dwell0_s + dwell1_s)`.
    """

    dwell0_s: float
    dwell1_s: float
    seed: int

    def __post_init__(self) -> None:
        if not (self.dwell0_s > 0 and self.dwell1_s > 0):
            raise ValueError("dwell times must be positive")

    @property
    def occupancy(self) -> float:
        """Stationary probability of state 1."""
        return self.dwell1_s / (self.dwell0_s + self.dwell1_s)

    def path(self, until_s: float) -> tuple[int, NDArray[np.float64]]:
        """Initial state, and the times of all switches up to the first one after `until_s`; float64, increasing."""
        n = 16 + int(2.5 * until_s / (self.dwell0_s + self.dwell1_s))
        while n <= MAX_POINTS:
            rng = _stream(self.seed)
            first = int(rng.random() < self.occupancy)
            dwell = rng.standard_exponential(n)
            # dwell k belongs to the state `first ^ (k & 1)`; the residual dwell at t = 0 is exponential too (no memory)
            means = (self.dwell0_s, self.dwell1_s)
            dwell[0::2] *= means[first]
            dwell[1::2] *= means[1 - first]
            switches = np.cumsum(dwell)
            if switches[-1] > until_s:
                return first, switches[: int(np.searchsorted(switches, until_s, side="right")) + 1]
            n *= 2
        raise ValueError(f"more than {MAX_POINTS} switches up to {until_s} s")

    def state(self, t_s: ArrayLike) -> NDArray[np.uint8]:
        """State 0 or 1 at each time, uint8."""
        t = _times(t_s)
        first, switches = self.path(float(t.max()) if t.size else 0.0)
        return ((np.searchsorted(switches, t, side="right") + first) & 1).astype(np.uint8)

    def fraction(self, edges_s: ArrayLike) -> NDArray[np.float64]:
        """Exact fraction of the time spent in state 1 in each window `[edges[i], edges[i+1])`; `(n_edges - 1,)`."""
        edges = _times(edges_s)
        if edges.ndim != 1 or edges.size < 2 or (np.diff(edges) <= 0).any():
            raise ValueError("edges must be a 1-D increasing array of at least two times")
        first, switches = self.path(float(edges[-1]))
        knots = np.concatenate(([0.0], switches))
        in_one = (np.arange(knots.size - 1) + first) & 1
        spent = np.concatenate(([0.0], np.cumsum(np.diff(knots) * in_one)))
        return np.diff(np.interp(edges, knots, spent)) / np.diff(edges)


@dataclass(frozen=True)
class RandomWalk:
    """Brownian motion from 0 at t = 0 with standard deviation `rate * sqrt(t)`; `rate` in (unit of the value) / sqrt(s).

    Sampled every `step_s` and interpolated linearly: exact at the grid points.
    """

    rate: float
    seed: int
    step_s: float = 1.0

    def value(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """The walk at each time."""
        t = _times(t_s)
        n = _grid_length(t, self.step_s)
        steps = _stream(self.seed).standard_normal(n - 1) * (self.rate * np.sqrt(self.step_s))
        path = np.concatenate(([0.0], np.cumsum(steps)))
        return np.interp(t, np.arange(n) * self.step_s, path)


@dataclass(frozen=True)
class OrnsteinUhlenbeck:
    """Stationary Gaussian process with standard deviation `sigma` and autocorrelation `exp(-|t| / correlation_s)`.

    Exact on a grid of `step_s` (default a twentieth of the correlation time), linear between (Gillespie 1996).
    """

    sigma: float
    correlation_s: float
    seed: int
    step_s: float = 0.0

    def value(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """The process at each time."""
        t = _times(t_s)
        step = self.step_s or self.correlation_s / 20.0
        n = _grid_length(t, step)
        noise = _stream(self.seed).standard_normal(n)
        keep = np.exp(-step / self.correlation_s)
        noise[1:] *= np.sqrt(1.0 - keep**2)
        # x[k] - keep x[k-1] = noise[k] as a banded triangular system; scipy.signal would cost every worker a second of imports
        path, _ = dtbtrs(np.repeat([[1.0], [-keep]], n, axis=1), noise, uplo="L", diag="U")
        return np.interp(t, np.arange(n) * step, self.sigma * path)


@dataclass(frozen=True)
class Flicker:
    """1/f noise between two frequencies: a sum of Ornstein-Uhlenbeck processes, `per_decade` per decade of correlation time.

    Total standard deviation `sigma`; equal variance per process gives a power spectrum within 5 % of 1/f between
    `1 / (2 pi slowest_s)` and `1 / (2 pi fastest_s)` (Paladino 2014, sec. II).
    """

    sigma: float
    fastest_s: float
    slowest_s: float
    seed: int
    per_decade: int = 2

    def value(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """The noise at each time."""
        if not 0.0 < self.fastest_s < self.slowest_s:
            raise ValueError("0 < fastest_s < slowest_s is required")
        n = max(2, 1 + round(self.per_decade * np.log10(self.slowest_s / self.fastest_s)))
        seeds = np.random.SeedSequence(self.seed).generate_state(n, dtype=np.uint64)
        times = np.geomspace(self.fastest_s, self.slowest_s, n)
        each = self.sigma / np.sqrt(n)
        parts = [OrnsteinUhlenbeck(each, float(tau), int(s)).value(t_s) for tau, s in zip(times, seeds, strict=True)]
        return np.sum(parts, axis=0)
