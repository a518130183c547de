"""The circuit that is to be compiled, where it may be put, and the direct compilation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from qtypes.contract import Part, quantity
from qtypes.ion_trap_gate_model.circuit import N_IONS, Complex, Gate, on_one, r, rz, rz_matrix, xx

Floats = NDArray[np.float64]
HADAMARD = np.array([[1, 1], [1, -1]], dtype=complex) / np.sqrt(2)
Euler = tuple[float, float, float]


class Coupling(Part):
    """`exp(-i angle/2 Z Z)` on two logical qubits."""

    qubits: tuple[int, int] = quantity("1", "logical qubits")
    angle: float = quantity("rad", "angle")


class Target(Part):
    """A circuit on eight logical qubits: `one_qubit[0]`, then `couplings[0]`, `one_qubit[1]`, `couplings[1]`, `one_qubit[2]`.

    An entry (a, b, c) of `one_qubit[l]` is the gate RZ(a) RY(b) RZ(c) on its qubit, c acting first.
    """

    one_qubit: tuple[tuple[Euler, ...], ...] = quantity("rad", "three layers of eight gates (a, b, c): RZ(a) RY(b) RZ(c), c first")
    couplings: tuple[tuple[Coupling, ...], ...] = quantity("1", "two layers of couplings exp(-i angle/2 Z Z)")

    def unitary(self) -> Complex:
        """The whole circuit `(256, 256)`, qubit 0 as the highest bit."""
        out = np.eye(2**N_IONS, dtype=complex)
        bits = (np.arange(2**N_IONS)[:, None] >> np.arange(N_IONS - 1, -1, -1)) & 1
        signs = 1.0 - 2.0 * bits
        for layer, gates in enumerate(self.one_qubit):
            for q, (a, b, c) in enumerate(gates):
                out = on_one(out, rz_matrix(a) @ ry_matrix(b) @ rz_matrix(c), q, N_IONS)
            if layer < len(self.couplings):
                phase = sum(g.angle * signs[:, g.qubits[0]] * signs[:, g.qubits[1]] for g in self.couplings[layer])
                out = np.exp(-0.5j * np.asarray(phase))[:, None] * out
        return out


def ry_matrix(b: float) -> Complex:
    c, s = np.cos(b / 2), np.sin(b / 2)
    return np.array([[c, -s], [s, c]], dtype=complex)


def drawn(rng: np.random.Generator, couplings: int, angle_rad: tuple[float, float]) -> Target:
    """A random target: Haar-random one-qubit gates, `couplings` of the 28 pairs in each layer."""
    pairs = [(a, b) for a in range(N_IONS) for b in range(a + 1, N_IONS)]
    layers = []
    for _ in range(2):
        chosen = rng.choice(len(pairs), couplings, replace=False)
        layers.append(tuple(Coupling(qubits=pairs[k], angle=round(float(rng.uniform(*angle_rad)), 6)) for k in chosen))

    def haar() -> Euler:
        a, c = rng.uniform(-np.pi, np.pi, 2)
        return round(float(a), 6), round(float(np.arccos(rng.uniform(-1, 1))), 6), round(float(c), 6)

    return Target(one_qubit=tuple(tuple(haar() for _ in range(N_IONS)) for _ in range(3)), couplings=tuple(layers))


@lru_cache(maxsize=1)
def maps() -> NDArray[np.intp]:
    """All assignments of logical qubits to ions `(40320, 8)`, the identity first."""
    return np.array(list(permutations(range(N_IONS))), dtype=np.intp)


def additive_errors(target: Target, e0: Floats, e1: Floats) -> Floats:
    """Sum of the pair errors of one XX per coupling, for every assignment of :func:`maps` `(40320,)`; `e0`, `e1` symmetric `(8, 8)`."""
    gates: dict[tuple[int, int], tuple[int, float]] = {}
    for layer in target.couplings:
        for g in layer:
            count, turn = gates.get(g.qubits, (0, 0.0))
            gates[g.qubits] = (count + 1, turn + abs(g.angle))
    out = np.zeros(len(maps()))
    for (a, b), (count, turn) in gates.items():
        at = maps()[:, a] * N_IONS + maps()[:, b]
        out += (count * e0 + turn / (np.pi / 2) * e1).ravel()[at]
    return out


def euler(u: Complex) -> Euler:
    """(a, b, c) with `u = RZ(a) RY(b) RZ(c)` up to a phase."""
    b = 2 * np.arctan2(abs(u[1, 0]), abs(u[0, 0]))
    plus = np.angle(u[1, 1] * np.conj(u[0, 0])) if abs(u[0, 0]) > 1e-9 else 0.0
    minus = np.angle(-u[1, 0] * np.conj(u[0, 1])) if abs(u[1, 0]) > 1e-9 else 0.0
    a, c = (plus + minus) / 2, (plus - minus) / 2
    if abs(u[0, 0]) > 1e-9 and abs(u[1, 0]) > 1e-9:
        # half sums are known modulo pi together: the phase of u10/u00 = tan(b/2) exp(i a) decides
        a_true = np.angle(u[1, 0] / u[0, 0])
        if np.cos(a_true - a) < 0:
            a, c = a + np.pi, c + np.pi
    return float(a), float(b), float(c)


def one_ion(u: Complex, ion: int) -> list[Gate]:
    """One pulse and a virtual rotation: `RZ(a) RY(b) RZ(c) = RZ(a + c) R(b, pi/2 - c)`."""
    a, b, c = euler(u)
    return [r(ion, b, np.pi / 2 - c), rz(ion, a + c)]


def compiled(target: Target, assignment: Sequence[int]) -> tuple[Gate, ...]:
    """One XX per coupling, the basis changes merged into the one-qubit gates; logical qubit q is ion `assignment[q]` throughout."""
    out: list[Gate] = []
    for layer, gates in enumerate(target.one_qubit):
        for q, (a, b, c) in enumerate(gates):
            u = rz_matrix(a) @ ry_matrix(b) @ rz_matrix(c)
            if layer > 0:
                u = u @ HADAMARD
            if layer < len(target.couplings):
                u = HADAMARD @ u
            out += one_ion(u, int(assignment[q]))
        if layer < len(target.couplings):
            out += [xx(int(assignment[g.qubits[0]]), int(assignment[g.qubits[1]]), g.angle) for g in target.couplings[layer]]
    return tuple(out)


def placed(assignment: Sequence[int]) -> NDArray[np.intp]:
    """Index among the states of the ions of each state of the logical qubits `(256,)`."""
    bits = (np.arange(2**N_IONS)[:, None] >> np.arange(N_IONS - 1, -1, -1)) & 1
    weights = 1 << (N_IONS - 1 - np.asarray(assignment))
    return np.asarray(bits @ weights, dtype=np.intp)
