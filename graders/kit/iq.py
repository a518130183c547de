"""Estimators on raw IQ points: two clouds, and the relaxation of the excited weight.

A set of IQ points is modelled as (1 - w) f0 + w f1 with a weight w per set and clouds shared by all sets: f0 is an isotropic Gaussian, f1
one whose qubit may relax during the integration window, which draws a tail towards f0 (Gambetta 2007; Walter 2017). A model without
the tail makes w convex in the population and T1 short by up to 2 %. No point is assigned to a state: every point enters with its
likelihood ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr

Floats = NDArray[np.float64]
_MAX_RATIO = 60.0  # |log f1/f0| beyond this carries no further information and would overflow
_TAIL = 12  # points at which the instant of relaxation is sampled during the fit
_LEAST_SNR = 0.1
_BIN = 0.05  # width of the histogram of projected points, in sigma


@dataclass(frozen=True)
class Clouds:
    """Two IQ clouds, and the weight of cloud 1 in each set that they were fitted to.

    `tail` is the mean number of relaxations in the window: a qubit in |1> survives it with probability exp(-tail).
    """

    centre0: complex
    centre1: complex
    sigma: float
    tail: float
    weights: Floats

    @property
    def snr(self) -> float:
        """Distance of the centres in units of sigma."""
        return abs(self.centre1 - self.centre0) / self.sigma

    def coordinate(self, iq: NDArray[np.complexfloating]) -> Floats:
        """Projection on the line through the centres: 0 at centre 0, `snr` at centre 1; float64 of the shape of `iq`."""
        axis = (self.centre1 - self.centre0) / abs(self.centre1 - self.centre0) / self.sigma
        z = np.asarray(iq, dtype=np.complex128) - self.centre0
        out: Floats = np.asarray(z.real * axis.real + z.imag * axis.imag)
        return out

    def log_ratio(self, iq: NDArray[np.complexfloating]) -> Floats:
        """log f1/f0 of each point, float64 of the shape of `iq`, clipped to +-60."""
        return log_ratio(self.coordinate(iq), self.snr, self.tail)


def log_ratio(u: Floats, snr: float, tail: float) -> Floats:
    """log f1/f0 at projected coordinates `u`, clipped to +-60.

    f1 = exp(-tail) phi(u - snr) + integral_0^1 tail exp(-tail f) phi(u - snr f) df, in closed form.
    """
    u = np.clip(u, -12.0, snr + 12.0)  # keeps the products below within the range of floats
    straight = snr * (u - snr / 2.0)
    if tail < 1e-9:
        return np.clip(straight, -_MAX_RATIO, _MAX_RATIO)
    k = tail / snr
    high, low = u - k, u - snr - k
    # differences of the normal distribution, taken on the side where both terms are small
    between = np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    relaxed = k * np.sqrt(2.0 * np.pi) * np.exp((u - k) ** 2 / 2.0) * np.maximum(between, 0.0)
    ratio = np.exp(np.clip(straight, -_MAX_RATIO, _MAX_RATIO) - tail) + relaxed
    out: Floats = np.clip(np.log(np.maximum(ratio, 1e-26)), -_MAX_RATIO, _MAX_RATIO)
    return out


def fit_clouds(sets: list[NDArray[np.complexfloating]], centre0: complex, centre1: complex, iterations: int = 500) -> Clouds:
    """Maximum likelihood by expectation maximisation from a guess of the centres; `sets` are 1-D arrays of IQ points.

    The axis comes from two plain clouds in the plane, everything else from the points projected on it, in bins of 0.05 sigma. Cloud 0
    keeps the side of `centre0`.
    """
    start = _plane(np.concatenate(sets), centre0, centre1)
    u = [np.clip(start.coordinate(s), -12.0, start.snr + 12.0) for s in sets]
    edges = np.arange(-12.0, start.snr + 12.0 + 2 * _BIN, _BIN)
    counts = np.stack([np.histogram(v, edges)[0] for v in u]).astype(float)
    x = (edges[1:] + edges[:-1]) / 2.0
    mu0, mu1, sigma, tail = 0.0, start.snr, 1.0, 0.05
    weight = np.full(len(sets), 0.3)
    when = (np.arange(_TAIL) + 0.5) / _TAIL
    share = np.concatenate((when, [1.0]))  # position of each kind of excited shot between the centres
    total = counts.sum()
    for _ in range(iterations):
        early = np.exp(-tail * when)
        kinds = np.concatenate((-np.expm1(-tail) * early / early.sum(), [np.exp(-tail)]))
        g1 = kinds[:, None] * _normal(x, mu0 + share[:, None] * (mu1 - mu0), sigma)
        g0 = _normal(x, mu0, sigma)
        f1 = g1.sum(axis=0)
        mixture = np.maximum((1.0 - weight)[:, None] * g0 + weight[:, None] * f1, 1e-300)
        n1 = counts * weight[:, None] * f1 / mixture
        weight = n1.sum(axis=1) / np.maximum(counts.sum(axis=1), 1.0)
        m0 = (counts - n1).sum(axis=0)
        m1 = n1.sum(axis=0) * g1 / np.maximum(f1, 1e-300)
        # the means are linear in (mu0, mu1): weighted least squares
        n_kind, x_kind = m1.sum(axis=1), m1 @ x
        a = np.array([[m0.sum() + n_kind @ (1 - share) ** 2, n_kind @ (share * (1 - share))], [0.0, n_kind @ share**2]])
        a[1, 0] = a[0, 1]
        old = (mu0, mu1)
        mu0, mu1 = np.linalg.solve(a + 1e-9 * np.eye(2), [m0 @ x + x_kind @ (1 - share), x_kind @ share])
        mu1 = max(mu1, mu0 + _LEAST_SNR)  # data with one cloud only must not end in a division by zero
        means = mu0 + share * (mu1 - mu0)
        square = float(m0 @ (x - mu0) ** 2 + (m1 * (x - means[:, None]) ** 2).sum()) / total - _BIN**2 / 12.0
        sigma = max(float(np.sqrt(max(square, 0.0))), _BIN)
        tail = float(-np.log(np.clip(n_kind[-1] / max(n_kind.sum(), 1e-9), 0.5, 1.0 - 1e-6)))
        if max(abs(mu0 - old[0]), abs(mu1 - old[1])) < 1e-6:
            break
    unit = (start.centre1 - start.centre0) / start.snr
    return Clouds(start.centre0 + mu0 * unit, start.centre0 + mu1 * unit, start.sigma * sigma, tail, weight)


def _normal(x: Floats, mean: Floats | float, sigma: float) -> Floats:
    out: Floats = np.exp(-(((x - mean) / sigma) ** 2) / 2.0) / (sigma * np.sqrt(2.0 * np.pi))
    return out


def _plane(points: NDArray[np.complexfloating], centre0: complex, centre1: complex, iterations: int = 60, most: int = 20_000) -> Clouds:
    """Two plain Gaussian clouds in the plane, from at most `most` of the points."""
    z = np.asarray(points[:: max(1, points.size // most)], dtype=np.complex128)
    spread = max(float(np.sqrt(np.mean(np.abs(z - z.mean()) ** 2) / 2.0)), 1e-9)
    if abs(centre1 - centre0) < 1e-3 * spread:
        centre1 = centre0 + spread
    c0, c1, sigma, w = centre0, centre1, 0.7 * spread, 0.3
    for _ in range(iterations):
        log_odds = (np.abs(z - c0) ** 2 - np.abs(z - c1) ** 2) / (2.0 * sigma**2) + np.log(w / (1.0 - w))
        excited = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -_MAX_RATIO, _MAX_RATIO)))
        w = float(np.clip(excited.mean(), 1e-3, 1.0 - 1e-3))
        c1 = complex((excited * z).sum() / excited.sum())
        c0 = complex(((1.0 - excited) * z).sum() / (1.0 - excited).sum())
        square = excited * np.abs(z - c1) ** 2 + (1.0 - excited) * np.abs(z - c0) ** 2
        sigma = max(float(np.sqrt(square.mean() / 2.0)), 1e-3 * spread)
    if abs(c1 - c0) < 1e-3 * sigma:
        c1 = c0 + sigma  # one cloud only: any axis will do
    return Clouds(c0, c1, sigma, 0.0, np.array([w]))


@dataclass(frozen=True)
class Relaxation:
    """w(t) = floor + amplitude[group] exp(-t / T1) with its covariance; parameter order (ln T1, floor, amplitude per group)."""

    t1_us: float
    floor: float
    amplitudes: Floats
    covariance: Floats

    @property
    def t1_sigma_us(self) -> float:
        return self.t1_us * float(np.sqrt(self.covariance[0, 0]))

    @property
    def floor_sigma(self) -> float:
        return float(np.sqrt(self.covariance[1, 1]))


def _weights(x: Floats, delay_us: Floats, group: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Weight and its derivatives `(3, n)` with respect to (ln T1, floor, amplitude of the own group)."""
    decay = np.exp(-delay_us * np.exp(-x[0]))
    amplitude = x[2:][group]
    return x[1] + amplitude * decay, np.stack((amplitude * decay * delay_us * np.exp(-x[0]), np.ones_like(decay), decay))


def fit_relaxation(log_ratio: Floats, delay_us: Floats, group: NDArray[np.intp]) -> Relaxation:
    """Maximum likelihood of T1, floor and one amplitude per group of shots.

    `log_ratio`, `delay_us`, `group` are `(n_shots,)`; groups are numbered from 0 (sweeps with different preparation). The covariance is
    the inverse of the summed outer products of the score.
    """
    groups = int(group.max()) + 1
    excess = np.expm1(log_ratio)
    longest = max(float(delay_us.max()), 1e-3)

    def objective(x: Floats) -> tuple[float, Floats]:
        w, dw = _weights(x, delay_us, group)
        inside = 1.0 + w * excess
        slope = excess / np.maximum(inside, 1e-9)
        grad = np.concatenate(([slope @ dw[0], slope @ dw[1]], np.bincount(group, weights=slope * dw[2], minlength=groups)))
        return -float(np.log(np.maximum(inside, 1e-9)).sum()) / w.size, -grad / w.size

    limits = [(np.log(longest / 200.0), np.log(longest * 50.0)), (0.0, 0.6)] + [(-1.0, 1.0)] * groups
    starts = [np.array([np.log(longest * s), 0.08, *([0.7] * groups)]) for s in (0.1, 0.3, 1.0)]
    runs = [minimize(objective, s, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": 300, "ftol": 1e-13}) for s in starts]
    x = min(runs, key=lambda r: r.fun).x
    w, dw = _weights(x, delay_us, group)
    score = np.zeros((2 + groups, w.size))
    slope = excess / np.maximum(1.0 + w * excess, 1e-9)
    score[0], score[1] = slope * dw[0], slope * dw[1]
    score[2 + group, np.arange(w.size)] = slope * dw[2]
    return Relaxation(float(np.exp(x[0])), float(x[1]), x[2:].copy(), np.linalg.pinv(score @ score.T))


def weight_information(weight: Floats, snr: float, tail: float = 0.0) -> Floats:
    """Fisher information per shot about the weight of cloud 1, E[((f1 - f0) / f)^2]; same shape as `weight`.

    It tends to 1 / (w (1 - w)), that of a perfect readout, for large `snr` and no `tail`.
    """
    u = np.linspace(-8.0, snr + 8.0, 2001)
    f0 = np.exp(-(u**2) / 2.0) / np.sqrt(2.0 * np.pi)
    excess = np.expm1(log_ratio(u, snr, tail))
    inside = 1.0 + np.asarray(weight, dtype=float)[..., None] * excess
    out: Floats = np.trapezoid(f0 * excess**2 / np.maximum(inside, 1e-30), u, axis=-1)
    return out


def relaxation_bound(
    t1_us: float, floor: float, amplitudes: Floats, clouds: tuple[float, float], delay_us: Floats, shots: Floats, group: NDArray[np.intp]
) -> float:
    """Cramer-Rao bound of T1 in us for points `(n,)` of `shots` each, with floor and amplitudes unknown; `clouds` = (snr, tail)."""
    w, dw = _weights(np.array([np.log(t1_us), floor, *amplitudes]), delay_us, group)
    grad = np.zeros((2 + len(amplitudes), w.size))
    grad[0], grad[1] = dw[0], dw[1]
    grad[2 + group, np.arange(w.size)] = dw[2]
    information = (grad * (shots * weight_information(np.clip(w, 0.0, 1.0), *clouds))) @ grad.T
    return t1_us * float(np.sqrt(np.linalg.pinv(information)[0, 0]))
