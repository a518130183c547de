"""From a circuit to what the control electronics play: Pauli twirls of its CZ gates, and moments.

Moments. Every operation but `rz` goes into the earliest moment after all earlier operations on its qubits; a barrier makes its qubits wait
for each other. A moment lasts as long as its longest operation, and all qubits wait for its end. `rz` is virtual: it takes no time. Two CZ
gates are parallel if they share a moment.

Twirls (Wallman & Emerson 2016). Around each CZ random Pauli operators are inserted: one on each of its qubits before, and after it those
that undo them, `CZ (P x Q) CZ`. They are merged with the neighbouring one-qubit gates: a run of `rz` and `sx` between two other operations
of a qubit that receives a Pauli is replaced by `rz sx rz sx rz`, in every twirl alike, so all twirls have the same moments. The circuit's
meaning does not change, and measured bits need no correction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qtypes.digital_gate_model.qasm import Circuit, Operation

SX_NS = 30.0
CZ_NS = 60.0
BOX_NS = 300.0
DURATION_NS = {"sx": SX_NS, "cz": CZ_NS, "box": BOX_NS}

Angle = float | NDArray[np.float64]
"""One angle, or one for each twirl `(n_twirls,)`, rad."""

PAULIS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
"""I, X, Y, Z as they are numbered in frames."""
SX = 0.5 * np.array([[1 + 1j, 1 - 1j], [1 - 1j, 1 + 1j]])
_X_BIT, _Z_BIT = np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])
_PAULI_OF = np.array([[0, 3], [1, 2]])  # [x bit, z bit]


@dataclass
class Moment:
    """Operations that share a moment. `virtual[q]`: angle of the `rz` before it."""

    virtual: dict[int, Angle] = field(default_factory=dict)
    sx: list[int] = field(default_factory=list)
    cz: list[tuple[int, int]] = field(default_factory=list)
    box: int = 0
    duration_ns: float = 0.0


def moments(operations: list[tuple[Operation, Angle]]) -> list[Moment]:
    """The moments of operations with their (possibly twirl-dependent) angles; the last one may hold virtual gates only."""
    out: list[Moment] = []
    free: dict[int, int] = {}

    def at(k: int) -> Moment:
        while len(out) <= k:
            out.append(Moment())
        return out[k]

    for op, angle in operations:
        k = max(free.get(q, 0) for q in op.qubits)
        if op.kind == "barrier":
            free.update(dict.fromkeys(op.qubits, k))
            continue
        moment = at(k)
        if op.kind == "rz":
            (q,) = op.qubits
            moment.virtual[q] = moment.virtual.get(q, 0.0) + angle
            continue
        if op.kind == "sx":
            moment.sx.append(op.qubits[0])
        elif op.kind == "cz":
            a, b = sorted(op.qubits)
            moment.cz.append((a, b))
        elif op.kind == "box":
            moment.box = int(op.value)
        moment.duration_ns = max(moment.duration_ns, op.value if op.kind == "delay" else DURATION_NS[op.kind])
        free.update(dict.fromkeys(op.qubits, k + 1))
    return out


def plain(circuit: Circuit) -> list[Moment]:
    """Moments of a circuit as it is written."""
    return moments([(op, op.value) for op in circuit.operations])


def conjugated(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """`CZ (P x Q) CZ` up to sign for frames `(..., 2)` uint8: X on one qubit leaves Z on the other."""
    x, z = _X_BIT[frames], _Z_BIT[frames]
    return np.asarray(_PAULI_OF[x, z ^ x[..., ::-1]], dtype=np.uint8)


def euler(u: NDArray[np.complex128]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Angles (a, b, c), each `(n,)`, with `u = rz(a) sx rz(b) sx rz(c)` up to a phase for unitaries `(n, 2, 2)` (McKay et al. 2017)."""
    theta = 2.0 * np.arctan2(np.abs(u[:, 1, 0]), np.abs(u[:, 0, 0]))
    total = np.angle(u[:, 1, 1] * u[:, 0, 0].conj())  # phi + lambda where cos(theta/2) is not 0
    difference = np.angle(u[:, 1, 0] * (-u[:, 0, 1]).conj())  # phi - lambda where sin(theta/2) is not 0
    total = np.where(np.abs(u[:, 0, 0]) > 1e-9, total, 0.0)
    difference = np.where(np.abs(u[:, 1, 0]) > 1e-9, difference, 0.0)
    # (total, difference) are known modulo 2 pi, their half sum and half difference modulo pi together: the sign of one product decides
    phi, lam = (total + difference) / 2.0, (total - difference) / 2.0
    both = (np.abs(u[:, 0, 0]) > 1e-9) & (np.abs(u[:, 1, 0]) > 1e-9)
    turned = both & ((u[:, 1, 0] * u[:, 0, 0].conj() * np.exp(-1j * phi)).real < 0)
    phi, lam = phi + np.pi * turned, lam + np.pi * turned
    return phi + np.pi, theta + np.pi, lam


def twirled(circuit: Circuit, frames: NDArray[np.uint8]) -> list[Moment]:
    """Moments of a circuit with the frames `(n_twirls, n_cz, 2)`: the Pauli before each CZ, in the order of the text, on its operands as
    written."""
    after = conjugated(frames)
    out: list[tuple[Operation, Angle]] = []
    runs: dict[int, list[Operation]] = {}
    pauli: dict[int, NDArray[np.uint8]] = {}  # the one that undoes the last CZ, per qubit

    def close(q: int, before: NDArray[np.uint8] | None) -> None:
        """Write the run of qubit q, merged with the Pauli behind the CZ that opened it and the one before the CZ that ends it."""
        run, first = runs.pop(q, []), pauli.pop(q, None)
        if first is None and before is None:
            out.extend((op, op.value) for op in run)
            return
        u = PAULIS[first] if first is not None else np.broadcast_to(np.eye(2, dtype=complex), (len(frames), 2, 2))
        line = run[0].line if run else 0
        for op in run:
            u = (SX if op.kind == "sx" else np.diag(np.exp(np.array([-0.5j, 0.5j]) * op.value))) @ u
        if before is not None:
            u = PAULIS[before] @ u
        a, b, c = euler(u)
        for kind, angle in (("rz", c), ("sx", 0.0), ("rz", b), ("sx", 0.0), ("rz", a)):
            out.append((Operation(kind, (q,), 0.0, line), angle))  # type: ignore[arg-type]

    count = 0
    for op in circuit.operations:
        if op.kind in ("rz", "sx"):
            runs.setdefault(op.qubits[0], []).append(op)
            continue
        for k, q in enumerate(op.qubits):
            close(q, frames[:, count, k] if op.kind == "cz" else None)
        out.append((op, op.value))
        if op.kind == "cz":
            pauli.update({q: after[:, count, k] for k, q in enumerate(op.qubits)})
            count += 1
    for q in sorted(runs.keys() | pauli.keys()):
        close(q, None)
    return moments(out)
