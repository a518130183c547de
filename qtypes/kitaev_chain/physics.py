"""Two spin-polarised dots that exchange electrons and pairs through an Andreev bound state: levels, Gibbs averages, Majorana quality.

    H = eps_L n_L + eps_R n_R + U n_L n_R + (t d_L^dag d_R + Delta d_L^dag d_R^dag + h.c.)

The even sector is spanned by |0>, |2> = d_L^dag d_R^dag |0>, the odd one by |L>, |R>. With m = (eps_L + eps_R)/2, d = (eps_L - eps_R)/2 and
s = m + U/2 their levels are s -+ sqrt(s^2 + Delta^2) and m -+ sqrt(d^2 + t^2). Energies in ueV, temperatures in mK, voltages in mV. Levels
broadcast; a last axis of length 2 is (L, R).

Sources: Leijnse & Flensberg 2012 (two-dot chain), Liu, Wang, Dvir & Wimmer 2022 (amplitudes through a bound state), Tsintzis, Souto &
Leijnse 2022 (interaction, Majorana polarisation), Dvir et al. 2023 (experiment).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

K_B = 0.0861733262
"""Boltzmann's constant in ueV/mK."""
INDUCED_GAP_UEV = 200.0

Floats = NDArray[np.float64]


def amplitudes(xi_uev: ArrayLike, peak_uev: float) -> tuple[Floats, Floats]:
    """Elastic cotunnelling t and crossed Andreev reflection Delta through a bound state at xi, in ueV.

    t goes with (u^2 - v^2)/E, Delta with 2uv/E of a state of energy E = sqrt(xi^2 + gap^2) (Liu et al. 2022); both are `peak_uev` at
    xi = gap.
    """
    y = np.asarray(xi_uev, dtype=float) / INDUCED_GAP_UEV
    delta = 2.0 * peak_uev / (1.0 + y * y)
    return delta * y, delta


@dataclass(frozen=True)
class Chain:
    """Couplings at one setting, or arrays of them; `t_uev` may have either sign."""

    t_uev: ArrayLike
    delta_uev: ArrayLike
    u_uev: float

    def hamiltonian(self, eps_l: float, eps_r: float) -> Floats:
        """`(4, 4)` in the order |0>, |2>, |L>, |R>."""
        t, delta = float(np.asarray(self.t_uev)), float(np.asarray(self.delta_uev))
        h = np.zeros((4, 4))
        h[1, 1] = eps_l + eps_r + self.u_uev
        h[0, 1] = h[1, 0] = delta
        h[2, 2], h[3, 3] = eps_l, eps_r
        h[2, 3] = h[3, 2] = t
        return h

    def _parts(self, eps_l: ArrayLike, eps_r: ArrayLike) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        left, right = np.asarray(eps_l, dtype=float), np.asarray(eps_r, dtype=float)
        m, d = 0.5 * (left + right), 0.5 * (left - right)
        s = m + 0.5 * self.u_uev
        return m, d, s, np.hypot(s, self.delta_uev), np.hypot(d, self.t_uev)

    def energies(self, eps_l: ArrayLike, eps_r: ArrayLike) -> Floats:
        """`(..., 4)`: even ground and excited, odd ground and excited."""
        m, _, s, even, odd = self._parts(eps_l, eps_r)
        return np.stack(np.broadcast_arrays(s - even, s + even, m - odd, m + odd), axis=-1)

    def splitting(self, eps_l: ArrayLike, eps_r: ArrayLike) -> Floats:
        """E_even - E_odd of the two ground states; t + U/2 - Delta where both levels are at -U/2."""
        _, _, _, even, odd = self._parts(eps_l, eps_r)
        return np.asarray(0.5 * self.u_uev - even + odd)

    def gap(self, eps_l: ArrayLike, eps_r: ArrayLike) -> Floats:
        """From the lowest level to the lower one of the two excited levels."""
        e = self.energies(eps_l, eps_r)
        return np.asarray(np.minimum(e[..., 1], e[..., 3]) - np.minimum(e[..., 0], e[..., 2]))

    def polarisation(self, eps_l: ArrayLike, eps_r: ArrayLike) -> Floats:
        """Majorana polarisation `(..., 2)` of each dot, 1 where only one of two Majorana operators connects the ground states.

        |w^2 - z^2|/(w^2 + z^2) with w, z = <odd| d +- d^dag |even> (Tsintzis 2022, one spin).
        """
        _, d, s, even, odd = self._parts(eps_l, eps_r)
        empty, left = 0.5 * (1.0 + s / even), 0.5 * (1.0 - d / odd)
        full, right = 1.0 - empty, 1.0 - left
        product = 2.0 * np.sqrt(np.clip(empty * full * left * right, 0.0, None))
        return np.stack([product / (right * full + left * empty), product / (left * full + right * empty)], axis=-1)

    def sectors(self, eps_l: ArrayLike, eps_r: ArrayLike, te_mk: float) -> tuple[Floats, Floats]:
        """Gibbs weight of even parity `(...)`, and mean occupation `(..., 2 parities, 2 dots)` in thermal equilibrium within even, odd."""
        _, d, s, even, odd = self._parts(eps_l, eps_r)
        kt = K_B * te_mk
        balance = _log_cosh(even / kt) - _log_cosh(odd / kt) - 0.5 * self.u_uev / kt
        weight = 0.5 * (1.0 + np.tanh(0.5 * balance))
        pair = 0.5 * (1.0 - s / even * np.tanh(even / kt))
        shift = 0.5 * d / odd * np.tanh(odd / kt)
        n = np.stack(np.broadcast_arrays(pair, pair, 0.5 - shift, 0.5 + shift), axis=-1)
        return weight, n.reshape(*n.shape[:-1], 2, 2)

    def occupation(self, eps_l: ArrayLike, eps_r: ArrayLike, te_mk: float) -> Floats:
        """Gibbs average `(..., 2)` of n_L, n_R over all four levels."""
        weight, n = self.sectors(eps_l, eps_r, te_mk)
        return np.asarray(weight[..., None] * n[..., 0, :] + (1.0 - weight[..., None]) * n[..., 1, :])


def _log_cosh(x: Floats) -> Floats:
    """log(2 cosh x) for x >= 0 without overflow."""
    return np.asarray(x + np.log1p(np.exp(-2.0 * x)))


@dataclass(frozen=True)
class Jumps:
    """Rare jumps of an offset: a Poisson process of `rate_hz` with steps of +-`size`, 0 at t = 0; a function of time and seed."""

    rate_hz: float
    size: float
    seed: int

    def value(self, t_s: ArrayLike) -> Floats:
        """Sum of the jumps up to each time, of its shape."""
        t = np.asarray(t_s, dtype=float)
        last = float(t.max()) if t.size else 0.0
        n = 16
        while True:
            gaps = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, 0]))).standard_exponential(n)
            times = np.cumsum(gaps) / self.rate_hz
            if times[-1] > last:
                break
            n *= 2
        signs = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, 1]))).integers(0, 2, n) * 2 - 1
        levels = np.concatenate(([0.0], self.size * np.cumsum(signs)))
        return np.asarray(levels[np.searchsorted(times, t, side="right")])
