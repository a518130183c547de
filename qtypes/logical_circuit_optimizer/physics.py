"""State vectors of Clifford+T circuits and the equivalence test.

States are arrays `(n_states, 2**n)` complex128, qubit 0 is the most significant bit of the index. Equality is up to one global phase.
A ZX rewriting that fails to reduce U V^dag to the identity proves nothing (Kissinger and van de Wetering 2020: the test is
incomplete), hence amplitudes decide here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.conventions.tcount import Circuit

N_STATES = 16
"""Random product states beside the all-zero state."""
OVERLAP_TOLERANCE = 1e-9
PHASE_TOLERANCE = 1e-8
FULL_UNITARY_QUBITS = 8
"""Up to this size all basis states are compared as well."""

_PHASES = {"s": 1j, "sdg": -1j, "z": -1.0, "t": np.exp(0.25j * np.pi), "tdg": np.exp(-0.25j * np.pi)}


def apply(circuit: Circuit, states: np.ndarray) -> np.ndarray:
    """The circuit on each row of `states` `(n_states, 2**n)` complex128; a new array."""
    n = circuit.n_qubits
    v = np.array(states, dtype=np.complex128, order="C")
    count = v.shape[0]
    half = 1 / np.sqrt(2)
    for gate, a, b in circuit.gates:
        if b >= 0:
            lo, hi = min(a, b), max(a, b)
            w = v.reshape(count << lo, 2, 1 << (hi - lo - 1), 2, 1 << (n - hi - 1))
            if gate == "cz":
                w[:, 1, :, 1, :] *= -1
            else:
                zero, one = (w[:, 1, :, 0], w[:, 1, :, 1]) if a < b else (w[:, 0, :, 1], w[:, 1, :, 1])
                kept = zero.copy()
                zero[...] = one
                one[...] = kept
            continue
        w = v.reshape(count << a, 2, 1 << (n - a - 1))
        if gate == "h":
            total = w[:, 0] + w[:, 1]
            w[:, 1] = (w[:, 0] - w[:, 1]) * half
            w[:, 0] = total * half
        elif gate == "x":
            w[...] = w[:, ::-1].copy()
        else:
            w[:, 1] *= _PHASES[gate]
    return v


def unitary(circuit: Circuit) -> np.ndarray:
    """`(2**n, 2**n)` complex128; column k is the image of basis state k."""
    return apply(circuit, np.eye(1 << circuit.n_qubits)).T


def product_states(n_qubits: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` tensor products of Haar-random qubit states, `(count, 2**n_qubits)` complex128."""
    states = np.ones((count, 1), dtype=np.complex128)
    for _ in range(n_qubits):
        qubit = rng.normal(size=(count, 2)) + 1j * rng.normal(size=(count, 2))
        qubit /= np.linalg.norm(qubit, axis=1, keepdims=True)
        states = (states[:, :, None] * qubit[:, None, :]).reshape(count, -1)
    return states


@dataclass(frozen=True)
class Equivalence:
    """Result of the comparison: smallest overlap modulus and largest distance of an overlap from the first one."""

    equivalent: bool
    min_overlap: float
    phase_spread: float


def compare(candidate: Circuit, baseline: Circuit, rng: np.random.Generator) -> Equivalence:
    """Compare two circuits on the all-zero state and on `N_STATES` random product states, up to `FULL_UNITARY_QUBITS` qubits also on
    every basis state. Equivalent: all overlaps have modulus >= 1 - 1e-9 and lie within 1e-8 of the first one (one common phase)."""
    if candidate.n_qubits != baseline.n_qubits:
        return Equivalence(False, 0.0, 2.0)
    n = candidate.n_qubits
    zero = np.zeros((1, 1 << n))
    zero[0, 0] = 1
    inputs = np.concatenate([zero, product_states(n, N_STATES, rng)])
    if n <= FULL_UNITARY_QUBITS:
        inputs = np.concatenate([inputs, np.eye(1 << n)])
    overlaps = np.einsum("ij,ij->i", apply(baseline, inputs).conj(), apply(candidate, inputs))
    smallest = float(np.abs(overlaps).min())
    spread = float(np.abs(overlaps - overlaps[0]).max())
    return Equivalence(smallest >= 1 - OVERLAP_TOLERANCE and spread <= PHASE_TOLERANCE, smallest, spread)
