"""Propagators of the Bloch vector of one qubit with relaxation, batched.

The Bloch vector r = (x, y, z) has z = +1 in |0>. With H/h = delta/2 sigma_z + Omega/2 (cos(phi) sigma_x + sin(phi) sigma_y),
relaxation rate Gamma1 towards z_eq and transverse rate Gamma2 (Bloch 1946; Slichter 1990, ch. 2):

    dr/dt = B x r - diag(Gamma2, Gamma2, Gamma1) (r - (0, 0, z_eq)),    B = 2 pi (Omega cos phi, Omega sin phi, delta).

An affine map is stored as `(..., 3, 4)`: r' = A[..., :3] r + A[..., 3]. Frequencies in MHz (ordinary), times in us, rates in 1/us.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, lgamma, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

TWO_PI = 2.0 * np.pi


def driven(
    omega_mhz: ArrayLike,
    phase_rad: ArrayLike,
    delta_mhz: ArrayLike,
    gamma1: ArrayLike,
    gamma2: ArrayLike,
    z_eq: ArrayLike,
    duration_us: ArrayLike,
) -> NDArray[np.float64]:
    """Affine maps `(..., 3, 4)` of constant drives; all arguments broadcast."""
    args = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (omega_mhz, phase_rad, delta_mhz, gamma1, gamma2, z_eq, duration_us)))
    omega, phase, delta, g1, g2, zeq, t = args
    bx, by, bz = TWO_PI * omega * np.cos(phase), TWO_PI * omega * np.sin(phase), TWO_PI * delta
    gen = np.zeros((*omega.shape, 4, 4))
    gen[..., 0, 0], gen[..., 0, 1], gen[..., 0, 2] = -g2, -bz, by
    gen[..., 1, 0], gen[..., 1, 1], gen[..., 1, 2] = bz, -g2, -bx
    gen[..., 2, 0], gen[..., 2, 1], gen[..., 2, 2], gen[..., 2, 3] = -by, bx, -g1, g1 * zeq
    return expm(gen * t[..., None, None])[..., :3, :]


def free(delta_mhz: ArrayLike, gamma1: ArrayLike, gamma2: ArrayLike, z_eq: ArrayLike, duration_us: ArrayLike) -> NDArray[np.float64]:
    """Affine maps `(..., 3, 4)` of free evolution, in closed form; all arguments broadcast."""
    args = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (delta_mhz, gamma1, gamma2, z_eq, duration_us)))
    delta, g1, g2, zeq, t = args
    angle, e1, e2 = TWO_PI * delta * t, np.exp(-g1 * t), np.exp(-g2 * t)
    out = np.zeros((*delta.shape, 3, 4))
    out[..., 0, 0] = out[..., 1, 1] = e2 * np.cos(angle)
    out[..., 1, 0] = e2 * np.sin(angle)
    out[..., 0, 1] = -out[..., 1, 0]
    out[..., 2, 2] = e1
    out[..., 2, 3] = zeq * -np.expm1(-g1 * t)
    return out


def then(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The map that applies `first`, then `second`; `(..., 3, 4)`."""
    linear = second[..., :3]
    out = linear @ first
    out[..., 3] += second[..., 3]
    return out


def apply(maps: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bloch vectors `(..., 3)` after the maps."""
    return np.einsum("...ij,...j->...i", maps[..., :3], r) + maps[..., 3]


def chebyshev_degree(half_span: float, tolerance: float = 1e-10) -> int:
    """Degree that interpolates a function of exponential type `half_span` on [-1, 1] to about `tolerance`.

    The Chebyshev coefficients of exp(i x s) are 2 i^n J_n(s) with |J_n(s)| <= (s/2)^n / n! (Trefethen 2013, ch. 8).
    """
    if half_span <= 0.0:
        return 0
    for n in range(151):
        if log(2.0) + (n + 1) * log(half_span / 2.0) - lgamma(n + 2) < log(tolerance):
            return n
    raise ValueError("the span is too wide for one interpolation")


@dataclass(frozen=True)
class ShotDrives:
    """Maps of several constant drives for many shots that differ in detuning and relaxation rate.

    The exact maps at Chebyshev nodes in (delta, Gamma1) are interpolated: an exponential per node and drive instead of one per shot
    and drive, to an accuracy of 1e-9. Gamma2 = Gamma1/2 + gamma_phi.
    """

    delta: tuple[float, float]
    """Centre and half-width of the detunings, MHz."""
    gamma1: tuple[float, float]
    """Centre and half-width of the relaxation rates, 1/us."""
    degrees: tuple[int, int]
    coefficients: NDArray[np.float64]
    """`(n_drives, n_basis, 12)`: Chebyshev coefficients of the entries of the `(3, 4)` map, row-major."""

    @classmethod
    def build(
        cls,
        omega_mhz: NDArray[np.float64],
        phase_rad: NDArray[np.float64],
        duration_us: NDArray[np.float64],
        delta_mhz: tuple[float, float],
        gamma1: tuple[float, float],
        gamma_phi: float,
        z_eq: float,
    ) -> ShotDrives:
        """For drives `(n_drives,)` and shots within the given (lowest, highest) detuning and relaxation rate."""
        d0, dh = (delta_mhz[0] + delta_mhz[1]) / 2, (delta_mhz[1] - delta_mhz[0]) / 2
        g0, gh = (gamma1[0] + gamma1[1]) / 2, (gamma1[1] - gamma1[0]) / 2
        longest = float(duration_us.max(initial=0.0))
        nd, ng = chebyshev_degree(TWO_PI * dh * longest), chebyshev_degree(1.5 * gh * longest)
        nodes_d, to_d = _chebyshev(nd)
        nodes_g, to_g = _chebyshev(ng)
        g = g0 + gh * nodes_g
        maps = driven(
            omega_mhz[:, None, None], phase_rad[:, None, None], d0 + dh * nodes_d[:, None], g, g / 2 + gamma_phi, z_eq,
            duration_us[:, None, None],
        )  # fmt: skip
        flat = maps.reshape(*maps.shape[:3], 12)
        coefficients = np.einsum("ia,jb,nabm->nijm", to_d, to_g, flat).reshape(len(omega_mhz), (nd + 1) * (ng + 1), 12)
        return cls((d0, dh), (g0, gh), (nd, ng), coefficients)

    def basis(self, delta_mhz: NDArray[np.float64], gamma1: NDArray[np.float64]) -> NDArray[np.float64]:
        """Products of Chebyshev polynomials for shots `(n,)`: `(n, n_basis)`."""
        x = _unit(delta_mhz, self.delta)
        y = _unit(gamma1, self.gamma1)
        tx, ty = _polynomials(x, self.degrees[0]), _polynomials(y, self.degrees[1])
        return (tx[:, None, :] * ty[None, :, :]).reshape(-1, x.size).T

    def maps(self, basis: NDArray[np.float64], drive: int) -> NDArray[np.float64]:
        """Entries of the maps of one drive, row-major: `(12, n)`."""
        return self.coefficients[drive].T @ basis.T


def _unit(values: NDArray[np.float64], span: tuple[float, float]) -> NDArray[np.float64]:
    centre, half = span
    return (values - centre) / half if half > 0 else np.zeros_like(values)


def _chebyshev(degree: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chebyshev nodes `(degree + 1,)` and the matrix from values at them to coefficients."""
    n = degree + 1
    angles = np.pi * (np.arange(n) + 0.5) / n
    matrix = 2.0 / n * np.cos(np.outer(np.arange(n), angles))
    matrix[0] /= 2.0
    return np.cos(angles), matrix


def _polynomials(x: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """T_0 .. T_degree at `x` `(n,)`: `(degree + 1, n)`."""
    out = np.empty((degree + 1, x.size))
    out[0] = 1.0
    if degree:
        out[1] = x
    for k in range(2, degree + 1):
        out[k] = 2.0 * x * out[k - 1] - out[k - 2]
    return out


def chunks(n: int, size: int) -> list[slice]:
    """Slices of at most `size` that cover `n` items: shots are processed in pieces that fit the cache."""
    return [slice(k * size, min(n, (k + 1) * size)) for k in range(ceil(n / size))]
