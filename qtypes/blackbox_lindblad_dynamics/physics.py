"""Open dynamics of a few qubits in the Pauli basis.

A state is the real vector `r` of its `4**n` expectation values `r_a = tr(P_a rho)`. Paulis are ordered as base-4 numbers with digits
I, X, Y, Z = 0, 1, 2, 3, qubit 0 being the most significant; subsets of qubits and outcomes are binary numbers of the same order, and
outcome bit 1 is eigenvalue -1 (|1> along Z). Units: rad/us for Hamiltonian coefficients, 1/us for rates, us for times. The master
equation is (Gorini, Kossakowski, Sudarshan 1976; Lindblad 1976)

    d rho/dt = -i [H, rho] + sum_q gamma-_q D[s-_q] rho + sum_q gamma+_q D[s+_q] rho + 1/2 sum_ij K_ij (Z_i rho Z_j - {Z_i Z_j, rho} / 2)

with D[A] rho = A rho A^+ - {A^+ A, rho} / 2 and s- = |0><1|. All of it is linear in the coefficients, so a generator is a sum of fixed
matrices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

STATES = {"0": (0, 0, 1), "1": (0, 0, -1), "+": (1, 0, 0), "-": (-1, 0, 0), "r": (0, 1, 0), "l": (0, -1, 0)}
"""Bloch vectors of the six letters of a product state: eigenstates of Z, X and Y."""
_PAULI = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
_LOWER = np.array([[0, 1], [0, 0]], dtype=complex)
_WALSH = np.array([[0.5, 0.5], [0.5, -0.5]])
_TAYLOR = 12
_SMALL = 0.5
"""Largest norm of the exponent of a Taylor series of this order: the rest is below 1e-12."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """The candidate terms of `n` qubits in a line.

    `generators` is `(terms, 4**n, 4**n)`: Hamiltonian terms in the order of `hamiltonian` (labels, letter q for qubit q), then gamma-,
    gamma+ and K_qq of each qubit, then K_q,q+1 of each bond.
    """

    n: int
    hamiltonian: tuple[str, ...]
    generators: Matrix

    @property
    def blocks(self) -> tuple[slice, slice, slice, slice, slice]:
        """Where Hamiltonian, gamma-, gamma+, K_qq and K_q,q+1 are among the coefficients."""
        edges = np.cumsum([0, len(self.hamiltonian), self.n, self.n, self.n, self.n - 1]).tolist()
        h, down, up, same, bond = (slice(a, b) for a, b in itertools.pairwise(edges))
        return h, down, up, same, bond

    def generator(self, coefficients: NDArray[np.float64]) -> Matrix:
        """`(4**n, 4**n)` for coefficients `(terms,)`: `dr/dt = L r`."""
        return np.tensordot(coefficients, self.generators, axes=1)


def hamiltonian_labels(n: int) -> tuple[str, ...]:
    """One-qubit Paulis qubit by qubit, then two-qubit Paulis bond by bond: `3 n + 9 (n - 1)` labels."""
    one = ["I" * q + a + "I" * (n - q - 1) for q in range(n) for a in "XYZ"]
    two = ["I" * q + a + b + "I" * (n - q - 2) for q in range(n - 1) for a in "XYZ" for b in "XYZ"]
    return (*one, *two)


def operator(n: int, factors: dict[int, NDArray[np.complex128]]) -> NDArray[np.complex128]:
    """Tensor product of one-qubit matrices, identity elsewhere: `(2**n, 2**n)`."""
    out = np.eye(1, dtype=complex)
    for q in range(n):
        out = np.kron(out, factors.get(q, _PAULI[0]))
    return out


@cache
def family(n: int) -> Family:
    """The candidate terms; cached, do not write into it."""
    paulis = np.array([operator(n, dict(enumerate(p))) for p in itertools.product(_PAULI, repeat=n)])
    rows = paulis.transpose(0, 2, 1).reshape(len(paulis), -1)  # tr(P_a M) = sum_ij (P_a)_ji M_ij

    def in_paulis(images: NDArray[np.complex128]) -> Matrix:
        return (rows @ images.reshape(len(paulis), -1).T).real / 2**n

    def pair(a: NDArray[np.complex128], b: NDArray[np.complex128]) -> Matrix:
        """rho -> a rho b^+ - {b^+ a, rho} / 2."""
        c = b.conj().T @ a
        return in_paulis(a @ paulis @ b.conj().T - (c @ paulis + paulis @ c) / 2)

    labels = hamiltonian_labels(n)
    terms = [operator(n, {q: _PAULI["IXYZ".index(c)] for q, c in enumerate(label)}) for label in labels]
    found = [in_paulis(-1j * (h @ paulis - paulis @ h)) for h in terms]
    for jump in (_LOWER, _LOWER.T):
        found += [pair(operator(n, {q: jump}), operator(n, {q: jump})) for q in range(n)]
    z = [operator(n, {q: _PAULI[3]}) for q in range(n)]
    found += [pair(z[q], z[q]) / 2 for q in range(n)]
    found += [(pair(z[q], z[q + 1]) + pair(z[q + 1], z[q])) / 2 for q in range(n - 1)]
    return Family(n, labels, np.array(found))


def product_state(letters: str) -> NDArray[np.float64]:
    """Pauli vector `(4**n,)` of a product state, letter q for qubit q."""
    out = np.ones(1)
    for letter in letters:
        out = np.kron(out, (1.0, *STATES[letter]))
    return out


@cache
def parity_rows(basis: str) -> NDArray[np.int64]:
    """Indices `(2**n,)` of the Paulis that have the letters of `basis` on each subset of qubits."""
    out = np.zeros(1, dtype=np.int64)
    for letter in basis:
        out = (4 * out[:, None] + np.array([0, "IXYZ".index(letter)])).ravel()
    return out


def _on_each(matrices: Sequence[NDArray[np.float64]]) -> Matrix:
    out = np.eye(1)
    for m in matrices:
        out = np.kron(out, m)
    return out


def outcome_matrix(false_1: Sequence[float], false_0: Sequence[float]) -> Matrix:
    """`(2**n, 2**n)` from the parities of all subsets to the probabilities of what is read.

    0 is read as 1 with `false_1`, 1 as 0 with `false_0`, per qubit.
    """
    return _on_each([np.array([[1 - a, b], [a, 1 - b]]) @ _WALSH for a, b in zip(false_1, false_0, strict=True)])


def propagators(generator: Matrix, times: Sequence[float]) -> dict[float, Matrix]:
    """`exp(L t)` of each different time, from the shortest on."""
    out: dict[float, Matrix] = {}
    steps: dict[float, Matrix] = {}
    last, reached = np.eye(len(generator)), 0.0
    for t in sorted(set(times)):
        step = round(t - reached, 9)
        if step not in steps:
            steps[step] = expm(generator * step)
        last, reached = steps[step] @ last, t
        out[t] = last
    return out


def tangents(generator: Matrix, directions: Matrix, t: float) -> tuple[Matrix, Matrix]:
    """`exp(L t)` and its derivatives `(terms, d, d)` along `directions` `(terms, d, d)`.

    Scaling and squaring of a Taylor series, with the product rule throughout: no eigenvectors, so generators that have none do no harm.
    """
    norm = float(np.abs(generator).sum(axis=0).max()) * t
    halvings = max(0, ceil(log2(norm / _SMALL))) if norm > 0 else 0
    h = t / 2**halvings
    term, slope = np.eye(len(generator)), np.zeros_like(directions)
    value, derivative = term.copy(), slope.copy()
    for k in range(1, _TAYLOR + 1):
        slope = (slope @ generator + term @ directions) * (h / k)
        term = term @ generator * (h / k)
        value, derivative = value + term, derivative + slope
    for _ in range(halvings):
        value, derivative = value @ value, derivative @ value + value @ derivative
    return value, derivative


def sampled(rng: np.random.Generator, probabilities: NDArray[np.float64], shots: int) -> NDArray[np.uint8]:
    """Bits `(settings, shots, n)` uint8 drawn from `probabilities` `(settings, 2**n)`."""
    n = int(probabilities.shape[1]).bit_length() - 1
    edges = np.cumsum(np.clip(probabilities, 0.0, None), axis=1)
    edges /= edges[:, -1:]
    outcome = (rng.random((len(edges), shots, 1)) >= edges[:, None, :-1]).sum(axis=2)
    return (outcome[..., None] >> np.arange(n)[::-1] & 1).astype(np.uint8)
