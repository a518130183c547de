"""Two atoms in two nodes: density matrices of a heralded pair, interrogation, analysis, readout. Plain functions on arrays.

Basis |00>, |01>, |10>, |11> with node A first; |0> is the +1 eigenstate of Z and is read as bit 0. A *phase* multiplies |1> by exp(i
phase).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Basis = Literal["equator", "ZZ"]

_PAULI = {
    "x": np.array([[0, 1], [1, 0]], dtype=complex), "y": np.array([[0, -1j], [1j, 0]]), "z": np.array([[1, 0], [0, -1]], dtype=complex),
}  # fmt: skip
_HADAMARD = np.array([[1, 1], [1, -1]]) / np.sqrt(2)


def pauli_errors(fidelity: float, dephased: float) -> dict[str, float]:
    """Probabilities of X, Y, Z on one half: of the infidelity a share `dephased` is Z alone, the rest white (Werner)."""
    lost = 1 - fidelity
    white = lost * (1 - dephased) / 3
    return {"x": white, "y": white, "z": white + lost * dephased}


def visibility(fidelity: float, dephased: float) -> float:
    """Amplitude of the equatorial parity fringe of a pair; (4 F - 1) / 3 for a Werner state, 2 F - 1 for a dephased one."""
    p = pauli_errors(fidelity, dephased)
    return 1 - 2 * (p["y"] + p["z"])


def pair_state(fidelity: float, dephased: float, offset_rad: float) -> Complex:
    """Density matrix `(4, 4)` of a pair: (|00> + exp(i offset) |11>) / sqrt 2 with a Pauli error on one half."""
    ket = np.array([1, 0, 0, np.exp(1j * offset_rad)]) / np.sqrt(2)
    pure = np.outer(ket, ket.conj())
    p = pauli_errors(fidelity, dephased)
    rho = (1 - sum(p.values())) * pure
    for axis, weight in p.items():
        error = np.kron(np.eye(2), _PAULI[axis])
        rho = rho + weight * error @ pure @ error.conj().T
    return np.asarray(rho)


def held(rho: Complex, time_ms: float, t2_ms: float) -> Complex:
    """After a time in memory: the coherence of each atom decays by exp(-t / T2)."""
    keep = np.exp(-time_ms / t2_ms)
    differ = np.array([[(a ^ b).bit_count() for b in range(4)] for a in range(4)])
    return rho * keep**differ


def outcomes(rho: Complex, phase_a: float, phase_b: float, basis: Basis) -> Floats:
    """Probabilities of the bits 00, 01, 10, 11 (node A first) after local phases; `equator` adds a Hadamard on both."""
    turn = np.kron([1, np.exp(1j * phase_a)], [1, np.exp(1j * phase_b)])
    rho = turn[:, None] * rho * turn.conj()
    if basis == "equator":
        both = np.kron(_HADAMARD, _HADAMARD)
        rho = both @ rho @ both.T
    return np.clip(np.real(np.diagonal(rho)), 0.0, 1.0)


def alone(phase: ArrayLike, keep: float) -> Floats:
    """Probability of bit 1 of a single atom in (|0> + exp(i phase) |1>) / sqrt 2 whose coherence is `keep`, read along X."""
    return np.asarray((1 - keep * np.cos(phase)) / 2)


def misread(bits: NDArray[np.uint8], error: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Bits as read: each flips with probability `error`."""
    return bits ^ (rng.random(bits.shape) < error).astype(np.uint8)
