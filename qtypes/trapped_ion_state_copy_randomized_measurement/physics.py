"""Quench of a spin chain, dephasing, and Born probabilities behind random local rotations.

Times are in ms, rates in rad/ms. Basis states of n ions have ion 1 as the most significant bit; |0> is the +1 eigenstate of Z. Density
matrices are `(batches, 2^n, 2^n)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Ints = NDArray[np.int64]


def bits_of(ions: int) -> Ints:
    """Bits `(2^ions, ions)` of the basis states, ion 1 first."""
    return np.arange(2**ions)[:, None] >> np.arange(ions - 1, -1, -1) & 1


def power_law(j0: float, alpha: float, ions: int) -> Floats:
    """Couplings `(ions, ions)` j0 / |i - j|^alpha in rad/ms, zero on the diagonal (Porras and Cirac 2004)."""
    gap = np.abs(np.subtract.outer(np.arange(ions), np.arange(ions))).astype(float)
    np.fill_diagonal(gap, np.inf)
    return j0 / gap**alpha


def hamiltonian(couplings: Floats, field: float) -> Floats:
    """sum over i < j of couplings[i, j] X_i X_j + field sum over i of Z_i, real symmetric `(2^n, 2^n)` in rad/ms."""
    n = len(couplings)
    index = np.arange(2**n)
    h = np.diag(field * (n - 2.0 * bits_of(n).sum(axis=1)))
    for i in range(n):
        for j in range(i + 1, n):
            h[index, index ^ (1 << n - 1 - i | 1 << n - 1 - j)] += couplings[i, j]
    return h


def evolved(h: Floats, start: int, times_ms: ArrayLike) -> Complexes:
    """Amplitudes `(times, 2^n)` of the basis state `start` after `times_ms` `(times,)` of `h`, by diagonalisation."""
    energies, vectors = np.linalg.eigh(h)
    phases = np.exp(-1j * np.outer(np.asarray(times_ms, dtype=float), energies))
    out: Complexes = (phases * vectors[start]) @ vectors.T
    return out


def dephased(amplitudes: Complexes, probabilities: ArrayLike) -> Complexes:
    """Density matrices of pure states `(batches, 2^n)` once Z has struck each ion with its probability `(n,)`."""
    p = np.asarray(probabilities, dtype=float)
    bits = bits_of(len(p))
    kept = np.prod(np.where(bits[:, None] != bits[None], 1.0 - 2.0 * p, 1.0), axis=-1)
    out: Complexes = amplitudes[:, :, None] * amplitudes[:, None, :].conj() * kept
    return out


def purity(rho: Complexes, first: int) -> Floats:
    """Tr rho_A^2 `(batches,)` of ions 1 to `first`."""
    k, size = len(rho), rho.shape[1]
    a = 2**first
    reduced = np.trace(rho.reshape(k, a, size // a, a, size // a), axis1=2, axis2=4)
    out: Floats = np.sum(np.abs(reduced) ** 2, axis=(1, 2))
    return out


def local_unitaries(euler_rad: ArrayLike, beta_scale: ArrayLike = 1.0) -> Complexes:
    """Rz(c) Ry(b scale) Rz(a) for angles `(..., 3)` in the order a, b, c, rad; `(..., 2, 2)`. R(x) = exp(-i x / 2 sigma)."""
    a, b, c = np.moveaxis(np.asarray(euler_rad, dtype=float), -1, 0)
    half = b * np.asarray(beta_scale) / 2.0
    plus, minus = np.exp(-0.5j * (a + c)), np.exp(-0.5j * (c - a))
    rows = [[np.cos(half) * plus, -np.sin(half) * minus], [np.sin(half) * minus.conj(), np.cos(half) * plus.conj()]]
    out: Complexes = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
    return out


def measured_axes(euler_rad: ArrayLike) -> Floats:
    """Unit vectors `(..., 3)` n of the observable n.(X, Y, Z) that a fluorescence readout sees after `local_unitaries`."""
    a, b, _ = np.moveaxis(np.asarray(euler_rad, dtype=float), -1, 0)
    return np.stack((-np.sin(b) * np.cos(a), np.sin(b) * np.sin(a), np.cos(b)), axis=-1)


def outcome_probabilities(rho: Complexes, unitaries: Complexes) -> Floats:
    """<s|U rho U^dag|s> `(batches, 2^n)` for products U of `unitaries` `(batches, n, 2, 2)`.

    Both indices of one ion after the other become its outcome: about 2^(2n+2) multiplications a batch.
    """
    k, n = unitaries.shape[:2]
    pairs = unitaries[..., :, :, None] * unitaries[..., :, None, :].conj()  # (batches, ion, outcome, row, column)
    t = rho.reshape(k, 1, *rho.shape[1:])
    for i in range(n):
        rest = t.shape[2] // 2
        t = t.reshape(k, -1, 2, rest, 2, rest)
        parts = [sum(pairs[:, i, s, a, b, None, None, None] * t[:, :, a, :, b] for a in (0, 1) for b in (0, 1)) for s in (0, 1)]
        t = np.stack(parts, axis=2).reshape(k, -1, rest, rest)
    p = np.clip(t[:, :, 0, 0].real, 0.0, None)
    out: Floats = p / p.sum(axis=1, keepdims=True)
    return out
