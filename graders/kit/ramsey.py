"""Joint fit of Ramsey fringes: one detuning and one envelope for sweeps at several drive frequencies, steps and phases.

A point's value is its excited population, from the mean over its shots of the probability that the shot is excited if both states
were equally likely. That mean is linear in the population, and where the population is near one half it holds all the information of
the IQ points.

    population = B_g(t) + Re[a_g E(t) exp(i (2 pi (delta + offset) t - turn))],    E(t) = exp(-s t/T2 - (1 - s) (t/T2)^2)

with a complex amplitude a_g and a slow baseline B_g (quadratic in t) per group g of equal pulses, offset and repetition period. White
noise and relaxation give the linear, quasi-static noise the quadratic part of the exponent (Ithier 2005); T2 is the 1/e time of E for every
share s. Times in us, frequencies in MHz.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize_scalar
from scipy.special import expit

from graders.kit.iq import Clouds, log_ratio

Floats = NDArray[np.float64]
TWO_PI = 2.0 * np.pi
_START_T2_US = (8.0, 16.0, 32.0, 64.0)
_BASELINE_DELAYS = 10  # a group with fewer distinct delays has a constant baseline
_GRID = 5.0  # detunings per inverse of the time for which a fringe is seen
_CHUNK = 2_000_000  # elements of one table of phases
_T2_US = (1.0, 500.0)
_STEPS = np.array([1e-5, 1e-4, 1e-4])  # of the central differences in (detuning, ln T2, share)


@dataclass(frozen=True)
class Populations:
    """Excited populations from IQ points: first and second moment of a shot's probability for either state.

    `first` and `second` are (in |0>, in |1>).
    """

    clouds: Clouds
    first: tuple[float, float]
    second: tuple[float, float]

    @classmethod
    def of(cls, clouds: Clouds) -> Populations:
        u = np.linspace(-8.0, clouds.snr + 8.0, 4001)
        f0 = np.exp(-(u**2) / 2.0) / np.sqrt(TWO_PI)
        ratio = log_ratio(u, clouds.snr, clouds.tail)
        share, f1 = expit(ratio), f0 * np.exp(ratio)
        moments = [[float(np.trapezoid(f * share**k, u)) for f in (f0, f1)] for k in (1, 2)]
        return cls(clouds, (moments[0][0], moments[0][1]), (moments[1][0], moments[1][1]))

    def value(self, iq: NDArray[np.complexfloating]) -> Floats:
        """Population of each point of `iq` (points, shots): `(points,)`, unbiased and so not within 0 and 1."""
        low, high = self.first
        out: Floats = (expit(self.clouds.log_ratio(iq)).mean(axis=1) - low) / (high - low)
        return out

    def variance(self, population: Floats) -> Floats:
        """Variance of the value of a single shot where the population is as given."""
        w = np.clip(population, 0.01, 0.99)
        (low, high), (low2, high2) = self.first, self.second
        return (low2 + w * (high2 - low2) - (low + w * (high - low)) ** 2) / (high - low) ** 2


@dataclass(frozen=True)
class FringePoints:
    """Points `(n,)` of all sweeps: delay, phase of the second pulse minus the first, offset, population, shots, group from 0."""

    delay_us: Floats
    turn_rad: Floats
    offset_mhz: Floats
    population: Floats
    shots: Floats
    group: NDArray[np.intp]


@dataclass(frozen=True)
class RamseyFit:
    """`covariance` (3, 3) is that of (detuning, ln T2, share), with chi^2 per degree of freedom as its scale where that is above 1.

    `rival_mhz` is the detuning outside of the exclusion that fits best, `rival_chi2` by how much its chi^2 is larger, on the same scale.
    """

    detuning_mhz: float
    t2_us: float
    share: float
    covariance: Floats
    chi2_per_dof: float
    rival_mhz: float
    rival_chi2: float

    @property
    def detuning_sigma_mhz(self) -> float:
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def t2_sigma_us(self) -> float:
        return self.t2_us * float(np.sqrt(self.covariance[1, 1]))


class _Groups:
    """Whitened data of each group, and what a detuning explains of them."""

    def __init__(self, data: FringePoints, variance: Floats) -> None:
        self.parts: list[tuple[Floats, Floats, Floats, Floats, Floats]] = []  # delay, known phase at delta = 0, 1/sigma, value, baseline
        longest = max(float(data.delay_us.max()), 1e-6)
        for g in range(int(data.group.max()) + 1):
            k = data.group == g
            t, weight = data.delay_us[k], 1.0 / np.sqrt(variance[k])
            order = 3 if np.unique(t).size >= _BASELINE_DELAYS else 1
            baseline, _ = np.linalg.qr(weight[:, None] * (t[:, None] / longest) ** np.arange(order))
            y = weight * data.population[k]
            self.parts.append((t, TWO_PI * data.offset_mhz[k] * t - data.turn_rad[k], weight, y - baseline @ (baseline.T @ y), baseline))
        self.order = np.concatenate([np.flatnonzero(data.group == g) for g in range(int(data.group.max()) + 1)])
        self.free = data.delay_us.size - sum(p[4].shape[1] + 2 for p in self.parts) - 3
        self.longest = longest

    def columns(self, part: int, delta: Floats, t2: float, share: float) -> tuple[Floats, Floats]:
        """cos and sin columns without their part along the baseline, `(points, detunings)` each."""
        t, known, weight, _, baseline = self.parts[part]
        phase = TWO_PI * t[:, None] * delta + known[:, None]
        scale = (weight * envelope(t, t2, share))[:, None]
        c, s = scale * np.cos(phase), scale * np.sin(phase)
        return c - baseline @ (baseline.T @ c), s - baseline @ (baseline.T @ s)

    def chi2(self, delta: Floats, t2: float, share: float) -> Floats:
        """chi^2 at detunings `(m,)` with the best amplitudes and baselines."""
        out = np.zeros(delta.size)
        for k, (t, _, _, y, _) in enumerate(self.parts):
            step = max(1, _CHUNK // t.size)
            for first in range(0, delta.size, step):
                piece = slice(first, first + step)
                c, s = self.columns(k, delta[piece], t2, share)
                cc, ss, cs, cy, sy = (c**2).sum(0), (s**2).sum(0), (c * s).sum(0), y @ c, y @ s
                ridge = 1e-9 * (cc + ss) + 1e-12  # where all sines vanish one column is left
                cc, ss = cc + ridge, ss + ridge
                out[piece] += y @ y - (ss * cy**2 - 2.0 * cs * cy * sy + cc * sy**2) / (cc * ss - cs**2)
        return out

    def residual(self, x: Floats) -> Floats:
        """Whitened residuals of all points, group by group, at (detuning, ln T2, share)."""
        out = []
        for k, part in enumerate(self.parts):
            design = np.hstack(self.columns(k, x[:1], float(np.exp(x[1])), float(x[2])))
            out.append(part[3] - design @ np.linalg.lstsq(design, part[3], rcond=1e-9)[0])
        return np.concatenate(out)

    def slopes(self, x: Floats) -> Floats:
        """Derivatives `(points, 3)` of the model by (detuning, ln T2, share), without their part along amplitudes and baselines.

        Minus this is the Jacobian of :meth:`residual` to first order in the residual (Kaufman 1975).
        """
        rows = []
        for k, part in enumerate(self.parts):
            design = np.hstack(self.columns(k, x[:1], float(np.exp(x[1])), float(x[2])))
            amplitude = np.linalg.lstsq(design, part[3], rcond=1e-9)[0]

            def model(z: Floats, k: int = k, amplitude: Floats = amplitude) -> Floats:
                out: Floats = np.hstack(self.columns(k, z[:1], float(np.exp(z[1])), float(z[2]))) @ amplitude
                return out

            raw = np.stack([(model(x + d) - model(x - d)) / (2.0 * d.sum()) for d in np.diag(_STEPS)], axis=1)
            basis, _ = np.linalg.qr(design)
            rows.append(raw - basis @ (basis.T @ raw))
        return np.concatenate(rows)

    def grid(self, span_mhz: float, t2: float) -> Floats:
        """Detunings that resolve a fringe of this decay time."""
        step = 1.0 / (_GRID * min(self.longest, 3.0 * t2))
        return np.linspace(-span_mhz, span_mhz, 2 * int(np.ceil(span_mhz / step)) + 1)


def envelope(delay_us: Floats, t2_us: float, share: float) -> Floats:
    """exp(-share t/T2 - (1 - share) (t/T2)^2)."""
    x = delay_us / t2_us
    return np.exp(-share * x - (1.0 - share) * x**2)


def fit_ramsey(data: FringePoints, populations: Populations, span_mhz: float, exclusion_mhz: float) -> RamseyFit:
    """Least squares over |detuning| <= `span_mhz`; rivals are sought more than `exclusion_mhz` away from the best detuning.

    Two rounds: the weights of the second are those of the fitted populations. Weights from the measured ones would follow their noise.
    """
    first = populations.variance(np.full(data.shots.size, 0.5)) / data.shots
    groups = _Groups(data, first)
    found = []
    for t2 in _START_T2_US:
        grid = groups.grid(span_mhz, t2)
        tried = groups.chi2(grid, t2, 0.4)
        best = int(tried.argmin())
        found.append((float(tried[best]), np.array([grid[best], np.log(t2), 0.4])))
    x = _descend(groups, min(found, key=lambda f: f[0])[1], span_mhz)
    fitted = data.population.copy()
    fitted[groups.order] -= groups.residual(x) * np.sqrt(first[groups.order])
    groups = _Groups(data, populations.variance(fitted) / data.shots)
    x = _descend(groups, x, span_mhz)
    residual = groups.residual(x)
    chi2 = float(residual @ residual)
    per_dof = max(chi2 / max(groups.free, 1), 1.0)
    rival, rival_chi2 = _rival(groups, x, span_mhz, exclusion_mhz)
    return RamseyFit(
        float(x[0]), float(np.exp(x[1])), float(x[2]), _inverse(groups.slopes(x)) * per_dof, chi2 / max(groups.free, 1), rival,
        (rival_chi2 - chi2) / per_dof,
    )  # fmt: skip


def _descend(groups: _Groups, start: Floats, span_mhz: float) -> Floats:
    low, high = np.array([-span_mhz, np.log(_T2_US[0]), 0.0]), np.array([span_mhz, np.log(_T2_US[1]), 1.0])
    scale = np.array([1.0 / (20.0 * min(groups.longest, 3.0 * float(np.exp(start[1])))), 0.2, 0.3])
    # a start on a bound of the share would be moved off it by the solver; it is put well inside
    inside = np.clip(start, low + 0.05 * scale, high - 0.05 * scale)
    out: Floats = least_squares(groups.residual, inside, jac=lambda z: -groups.slopes(z), bounds=(low, high), x_scale=scale, max_nfev=60).x
    return out


def _rival(groups: _Groups, x: Floats, span_mhz: float, exclusion_mhz: float) -> tuple[float, float]:
    t2, share = float(np.exp(x[1])), float(x[2])
    grid = groups.grid(span_mhz, t2)
    grid = grid[np.abs(grid - x[0]) > exclusion_mhz]
    best = float(grid[groups.chi2(grid, t2, share).argmin()])
    step = 1.0 / (_GRID * min(groups.longest, 3.0 * t2))
    # a rival at the edge of the exclusion is the flank of the best fit itself: it is not followed into it
    limits = (best - step, min(best + step, x[0] - exclusion_mhz)) if best < x[0] else (max(best - step, x[0] + exclusion_mhz), best + step)
    fine = minimize_scalar(
        lambda d: float(groups.chi2(np.array([d]), t2, share)[0]), bounds=limits, method="bounded", options={"xatol": 1e-6}
    )
    return float(fine.x), float(fine.fun)


def _inverse(jacobian: Floats) -> Floats:
    """Covariance `(3, 3)`; columns are brought to one scale first."""
    norm = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-30)
    out: Floats = np.linalg.pinv((jacobian / norm).T @ (jacobian / norm), rcond=1e-12) / np.outer(norm, norm)
    return out
