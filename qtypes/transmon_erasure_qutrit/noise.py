"""Classical Gaussian noise of the qubit frequency: its spectrum, and the phases that it gives in any set of time windows, exactly.

S(f) is the one-sided spectrum of the fluctuating g-e angular frequency delta(t), in (rad/us)^2/MHz with f in MHz:
<delta(0) delta(t)> = integral of S(f) cos(2 pi f t) over f > 0. The g-f phase turns with 2 delta. All that matters of S is the
structure function D(t) = <(Phi(s + t) - Phi(s))^2> of Phi = integral of delta: covariances of window phases are sums of four of its values
(Mandelbrot and Van Ness 1968), and a sequence with filter function |Y(f)|^2 has phase variance integral of S |Y|^2 (Cywinski et al.
2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import sici

Floats = NDArray[np.float64]
TWO_PI = 2.0 * np.pi
LOWEST_MHZ = 1e-6
HIGHEST_MHZ = 10.0
"""The 1/f part lies between these two frequencies."""


@dataclass(frozen=True)
class Peak:
    """height w^2 [1/((f - f0)^2 + w^2) + 1/((f + f0)^2 + w^2)]: a random process of correlation time 1/(2 pi w) about a line."""

    centre_mhz: float
    half_width_mhz: float
    height: float

    def density(self, f_mhz: ArrayLike) -> Floats:
        f, w2 = np.asarray(f_mhz, dtype=float), self.half_width_mhz**2
        return np.asarray(self.height * w2 * (1 / ((f - self.centre_mhz) ** 2 + w2) + 1 / ((f + self.centre_mhz) ** 2 + w2)))

    def structure(self, t_us: Floats) -> Floats:
        """2 x integral of (t - s) R(s) with R(s) = pi height w cos(2 pi f0 s) exp(-2 pi w s)."""
        z = TWO_PI * (self.half_width_mhz - 1j * self.centre_mhz)
        area = np.pi * self.height * self.half_width_mhz
        return np.asarray(2.0 * area * np.real(t_us / z + np.expm1(-z * t_us) / z**2))


@dataclass(frozen=True)
class Spectrum:
    """A^2/f and any number of peaks; `flicker` is A in rad/us."""

    flicker: float
    peaks: tuple[Peak, ...] = ()

    def density(self, f_mhz: ArrayLike) -> Floats:
        """S(f), same shape."""
        f = np.asarray(f_mhz, dtype=float)
        inside = (f >= LOWEST_MHZ) & (f <= HIGHEST_MHZ)
        total = np.where(inside, self.flicker**2 / np.where(inside, f, 1.0), 0.0)
        for peak in self.peaks:
            total = total + peak.density(f)
        return total

    def structure(self, t_us: ArrayLike) -> Floats:
        """D(t) in rad^2 for times of either sign, same shape."""
        t = np.abs(np.asarray(t_us, dtype=float))
        total = 2.0 * (self.flicker * t) ** 2 * (_cubed(TWO_PI * HIGHEST_MHZ * t) - _cubed(TWO_PI * LOWEST_MHZ * t))
        for peak in self.peaks:
            total = total + peak.structure(t)
        return np.asarray(total)

    def covariance(self, edges_us: Floats) -> Floats:
        """Covariance `(n, n)` of the integrals of delta over the windows between `edges_us` `(n + 1,)`, in rad^2."""
        d = self.structure(edges_us[:, None] - edges_us[None, :])
        cov = 0.5 * (d[1:, :-1] + d[:-1, 1:] - d[1:, 1:] - d[:-1, :-1])
        return np.asarray((cov + cov.T) / 2.0)

    def windows(self, rng: np.random.Generator, edges_us: Floats, shots: int) -> Floats:
        """Integrals of delta `(n, shots)` in rad over the windows between `edges_us`, one noise realisation per shot."""
        values, vectors = np.linalg.eigh(self.covariance(edges_us))
        normal = rng.standard_normal((values.size, shots))
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ normal)

    def variance(self, flips_us: ArrayLike, duration_us: float) -> float:
        """Variance in rad^2 of the g-e phase over `duration_us` where its sign flips at `flips_us` (instants, increasing)."""
        edges = np.concatenate([[0.0], np.asarray(flips_us, dtype=float), [duration_us]])
        sign = (-1.0) ** np.arange(edges.size - 1)
        return float(sign @ self.covariance(edges) @ sign)


def _cubed(x: Floats) -> Floats:
    """Antiderivative of (1 - cos x)/x^3, at 0 without its logarithm (there it is multiplied by 0)."""
    safe = np.where(x > 0.0, x, 1.0)
    half = np.sin(safe / 2.0) / safe
    return np.where(x > 0.0, -(half**2) - np.sin(safe) / (2.0 * safe) + sici(safe)[1] / 2.0, 0.0)
