"""The hidden circuit: brick layers of Clifford gates on a ring, and a few Pauli rotations driven by classical inputs.

The unitary is ``U(x) = prod_l [ prod_{g in layer l} exp(-i theta_g P_g / 2) ] C_l`` with the layers in order of time, ``P_g`` a one-qubit
Pauli operator and ``theta_g = sign_g x[input_g]``. Pulling every Clifford gate to the end of the circuit leaves ``U(x) = C prod_g exp(-i
theta_g Q_g / 2)`` with many-qubit Pauli operators ``Q_g`` (Bravyi, Smith & Smolin 2016, Pauli-based computation): all physics of this type
starts there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import stim

from qtypes.blackbox_boundedgate_circuit.words import Word, from_stim, reduced_basis
from qtypes.contract import Part, quantity

MAX_QUBITS = 60
SINGLES = {"I": "I", "H": "H", "S": "S", "V": "SQRT_X"}
"""Letters of one-qubit gates in :attr:`CliffordLayer.singles` and their stim names."""


class CliffordLayer(Part):
    """One brick layer: one-qubit gates first, then two-qubit gates on disjoint neighbours of the ring."""

    singles: str = quantity("1", "one letter per qubit: I, H, S, or V for the square root of X", pattern="^[IHSV]*$", max_length=MAX_QUBITS)
    pairs: tuple[tuple[Literal["CX", "CZ"], int, int], ...] = quantity("1", "gate, control qubit, target qubit", max_length=MAX_QUBITS)


class Rotation(Part):
    """``exp(-i theta P / 2)`` right after a Clifford layer, with ``theta = sign * x[input]``."""

    layer: int = quantity("1", "index of the Clifford layer it follows", ge=0)
    site: int = quantity("1", "qubit", ge=0, lt=MAX_QUBITS)
    axis: Literal["X", "Y", "Z"] = quantity("1", "Pauli axis")
    input: int = quantity("1", "index of the classical input that drives it", ge=0, lt=6)
    sign: Literal[-1, 1] = quantity("1", "sign of the angle")


class Circuit(Part):
    """A bounded-gate circuit. Rotations of one layer act in the order of the list."""

    n_qubits: int = quantity("1", "qubits on the ring", ge=2, le=MAX_QUBITS)
    layers: tuple[CliffordLayer, ...] = quantity("1", "Clifford layers in order of time", max_length=128)
    rotations: tuple[Rotation, ...] = quantity("1", "rotations in order of time: `layer` never decreases", max_length=32)

    @property
    def inputs(self) -> np.ndarray:
        """(n_rotations,) int: the input that drives each rotation."""
        return np.array([r.input for r in self.rotations], dtype=np.intp)

    @property
    def signs(self) -> np.ndarray:
        """(n_rotations,) float: sign of each angle."""
        return np.array([r.sign for r in self.rotations], dtype=float)

    def angles(self, x: np.ndarray) -> np.ndarray:
        """(n, n_rotations) angles in rad for inputs `x` of shape (n, n_inputs) in rad."""
        return self.signs * np.asarray(x, dtype=float)[:, self.inputs]


def clifford_of(layer: CliffordLayer) -> stim.Circuit:
    """The layer as a stim circuit on all of its qubits."""
    circuit = stim.Circuit()
    for site, letter in enumerate(layer.singles):
        circuit.append(SINGLES[letter], [site])
    for gate, control, target in layer.pairs:
        circuit.append(gate, [control, target])
    return circuit


class PullThrough:
    """Clifford gates of a growing circuit, ready to pull Pauli operators back through all of them."""

    def __init__(self, n_qubits: int) -> None:
        self.n_qubits = n_qubits
        self._circuit = stim.Circuit()
        self._circuit.append("I", range(n_qubits))
        self._inverse = stim.Tableau(n_qubits)

    def append(self, layer: CliffordLayer) -> None:
        self._circuit += clifford_of(layer)
        self._inverse = self._circuit.to_tableau().inverse()

    def back(self, site: int, axis: str) -> Word:
        """``C^dagger P C`` for the one-qubit Pauli operator `axis` on `site`."""
        output = {"X": self._inverse.x_output, "Y": self._inverse.y_output, "Z": self._inverse.z_output}[axis]
        return from_stim(output(site))


@dataclass(frozen=True)
class PauliFrame:
    """A circuit with its Clifford gates pulled to the end, in coordinates where the rotations touch few qubits.

    The X words of the rotations span a space of dimension `dim`. In coordinates of the computational basis adapted to it (a CNOT circuit,
    which leaves ``|0...0>`` alone) every rotation has X bits only on the first `dim` qubits; the other qubits stay in ``|0>``, where Z
    words act as 1. So the state is ``|phi> |0...0>`` with ``|phi>`` on `dim` qubits.

    `rotations`: words without X bits on the idle qubits, in order of time. `observables[axis][site]`: the word of ``C^dagger P C``. Bits
    below `dim` belong to the active qubits.
    """

    n_qubits: int
    dim: int
    rotations: tuple[Word, ...]
    observables: dict[str, tuple[Word, ...]]

    @property
    def active(self) -> int:
        """Mask of the active qubits."""
        return (1 << self.dim) - 1


def pull_through(circuit: Circuit) -> PauliFrame:
    """The Pauli frame of a circuit."""
    frame = PullThrough(circuit.n_qubits)
    pulled: list[Word] = []
    pending = list(circuit.rotations)
    for index, layer in enumerate(circuit.layers):
        frame.append(layer)
        while pending and pending[0].layer == index:
            rotation = pending.pop(0)
            pulled.append(frame.back(rotation.site, rotation.axis))
    if pending:
        raise ValueError("rotations must be ordered by layer, and each layer must exist")
    raw = {axis: [frame.back(q, axis) for q in range(circuit.n_qubits)] for axis in "XYZ"}
    return _compress(circuit.n_qubits, pulled, raw)


def _compress(n_qubits: int, rotations: Sequence[Word], observables: dict[str, list[Word]]) -> PauliFrame:
    basis, pivots = reduced_basis([w.x for w in rotations])
    idle = [q for q in range(n_qubits) if q not in set(pivots)]
    place = {q: len(basis) + k for k, q in enumerate(idle)}
    idle_mask = sum(1 << q for q in idle)

    def idle_bits(word: int) -> int:
        out, word = 0, word & idle_mask
        while word:
            lowest = word & -word
            out |= 1 << place[lowest.bit_length() - 1]
            word ^= lowest
        return out

    def move(word: Word) -> Word:
        # x = sum_a y_a basis_a + sum_c y_c e_c over the qubits c that carry no pivot; y_a is x at the pivot because the basis is reduced.
        # Z words move with the transposed inverse, so that overlaps of X and Z words stay.
        x, z, rest = 0, idle_bits(word.z), word.x
        for bit, (vector, pivot) in enumerate(zip(basis, pivots, strict=True)):
            if word.x >> pivot & 1:
                x |= 1 << bit
                rest ^= vector
            z |= ((word.z & vector).bit_count() & 1) << bit
        return Word(x | idle_bits(rest), z, word.phase)

    return PauliFrame(
        n_qubits=n_qubits,
        dim=len(basis),
        rotations=tuple(move(w) for w in rotations),
        observables={axis: tuple(move(w) for w in words) for axis, words in observables.items()},
    )
