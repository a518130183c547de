"""Density-matrix simulation in the Pauli basis, and the readout.

A state of m qubits is the real tensor `r[P] = Tr(P rho)` of shape `(batch, 4, ..., 4)`, axis 1 + k for the k-th simulated qubit, entries in
the order I, X, Y, Z. Channels are real matrices on one or two of these axes (Pauli transfer matrices; Greenbaum 2015). The batch holds the
twirls of one circuit. Bit strings are integers with qubit q as bit q (little-endian).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from qtypes.digital_gate_model.compiling import PAULIS, Angle, Moment

Floats = NDArray[np.float64]
IDENTITY = np.eye(4)
_TWO = np.einsum("aij,bkl->abikjl", PAULIS, PAULIS).reshape(16, 4, 4)


def transfer_matrix(u: NDArray[np.complex128]) -> Floats:
    """Pauli transfer matrix `Tr(P_i u P_j u^dagger) / d` of a unitary on one qubit `(4, 4)` or two `(16, 16)`."""
    paulis = PAULIS if len(u) == 2 else _TWO
    return np.einsum("iab,jba->ij", paulis, u @ paulis @ u.conj().T).real / len(u)


def rz_matrix(angle: Angle) -> Floats:
    """Transfer matrices of `exp(-i angle Z / 2)`, `(n, 4, 4)` for n angles."""
    angles = np.atleast_1d(np.asarray(angle, dtype=float))
    out = np.zeros((len(angles), 4, 4))
    out[:, 0, 0] = out[:, 3, 3] = 1.0
    out[:, 1, 1] = out[:, 2, 2] = np.cos(angles)
    out[:, 2, 1] = np.sin(angles)
    out[:, 1, 2] = -out[:, 2, 1]
    return out


def ry_matrix(angle: float) -> Floats:
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    return transfer_matrix(np.array([[c, -s], [s, c]], dtype=complex))


def sx_matrix(error: float) -> Floats:
    """`exp(-i (pi/2) (1 + error) X / 2)`."""
    half = np.pi / 4 * (1 + error)
    return transfer_matrix(np.cos(half) * PAULIS[0] - 1j * np.sin(half) * PAULIS[1])


def zz_unitary(angle: float) -> NDArray[np.complex128]:
    """`exp(-i angle Z x Z / 2)`."""
    return np.diag(np.exp(-0.5j * angle * np.array([1, -1, -1, 1])))


def cz_matrix(error: float, depolarising: float) -> Floats:
    """CZ times `exp(-i error Z x Z / 2)`, then depolarising of both qubits."""
    return depolarised(transfer_matrix(zz_unitary(error) @ np.diag([1, 1, 1, -1]).astype(complex)), depolarising)


def depolarised(matrix: Floats, p: float) -> Floats:
    """`matrix`, then `rho -> (1 - p) rho + p Tr(rho) 1 / d`."""
    keep = np.full(len(matrix), 1.0 - p)
    keep[0] = 1.0
    return keep[:, None] * matrix


def decay_matrix(t_ns: float, t1_ns: float, t2_ns: float) -> Floats:
    """Relaxation to |0> and dephasing for a time `(4, 4)`."""
    keep1, keep2 = np.exp(-t_ns / t1_ns), np.exp(-t_ns / t2_ns)
    out = np.diag([1.0, keep2, keep2, keep1])
    out[3, 0] = 1.0 - keep1
    return out


@dataclass(frozen=True)
class NoiseModel:
    """All that happens to the qubits, at one time on the lab clock. Tuples run over qubits, mappings over couplers (sorted pairs)."""

    sx_error: tuple[float, ...]
    cz_error_rad: Mapping[tuple[int, int], float]
    cz_depolarising: Mapping[tuple[int, int], float]
    parallel_zz_rad: Mapping[tuple[int, int], float]
    t1_ns: tuple[float, ...]
    t2_ns: tuple[float, ...]
    residual: tuple[float, ...]
    boxes: tuple[tuple[float, ...], ...]
    """Angles of each routine, rad: one `Ry` for each of its qubits, and last the angle of `ZZ` on neighbours in the order of its qubits."""
    _cache: dict[tuple[object, ...], Floats] = field(default_factory=dict, compare=False, repr=False)

    @property
    def n_qubits(self) -> int:
        return len(self.sx_error)

    @classmethod
    def ideal(cls, n_qubits: int, couplers: tuple[tuple[int, int], ...], boxes: tuple[tuple[float, ...], ...]) -> NoiseModel:
        """The same device without any noise."""
        none = (0.0,) * n_qubits
        zero = dict.fromkeys(couplers, 0.0)
        return cls(none, zero, zero, zero, (np.inf,) * n_qubits, (np.inf,) * n_qubits, none, boxes)

    def sx(self, q: int) -> Floats:
        return self._get(("sx", q), lambda: sx_matrix(self.sx_error[q]))

    def cz(self, pair: tuple[int, int]) -> Floats:
        return self._get(("cz", pair), lambda: cz_matrix(self.cz_error_rad[pair], self.cz_depolarising[pair]))

    def crosstalk(self, pair: tuple[int, int]) -> Floats:
        return self._get(("zz", pair), lambda: transfer_matrix(zz_unitary(self.parallel_zz_rad[pair])))

    def decay(self, q: int, t_ns: float) -> Floats:
        return self._get(("decay", q, t_ns), lambda: decay_matrix(t_ns, self.t1_ns[q], self.t2_ns[q]))

    def _get(self, key: tuple[object, ...], make) -> Floats:  # type: ignore[no-untyped-def]
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


def linked(gates: list[tuple[int, int]], couplers: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Couplers that join a qubit of one of the parallel CZ gates with a qubit of another: they pick up the crosstalk phase."""
    gate_of = {q: k for k, pair in enumerate(gates) for q in pair}
    return [(a, b) for a, b in couplers if a in gate_of and b in gate_of and gate_of[a] != gate_of[b]]


class State:
    """The evolving state of `qubits` (ascending). One-qubit channels are collected per qubit and applied with the next two-qubit one."""

    def __init__(self, model: NoiseModel, qubits: tuple[int, ...]) -> None:
        self.model, self.qubits = model, qubits
        self._order = list(qubits)
        values = np.ones((1, 1))
        for q in qubits:
            one = np.array([1.0, 0.0, 0.0, 1.0 - 2.0 * model.residual[q]])
            values = (values[:, :, None] * one).reshape(1, -1)
        self._values = values
        self._pending: dict[int, Floats] = {}
        self._wait = dict.fromkeys(qubits, 0.0)

    def one(self, q: int, matrix: Floats) -> None:
        """A one-qubit channel `(4, 4)` or `(batch, 4, 4)`."""
        before = self._pending.get(q)
        self._pending[q] = matrix if before is None else matrix @ before

    def rz(self, q: int, angle: Angle) -> None:
        """A virtual gate; it commutes with the decay of the time that has passed."""
        self.one(q, rz_matrix(angle))

    def wait(self, t_ns: float) -> None:
        """All qubits idle."""
        for q in self.qubits:
            self._wait[q] += t_ns

    def _settled(self, q: int) -> Floats:
        """The collected channel of q including its idling; afterwards there is none."""
        if self._wait[q]:
            self.one(q, self.model.decay(q, self._wait[q]))
            self._wait[q] = 0.0
        matrix = self._pending.pop(q, IDENTITY)
        return matrix if matrix.ndim == 3 else matrix[None]

    def settle(self, q: int) -> None:
        """Bring the idling of q in front of what comes next."""
        if self._wait[q]:
            self.one(q, self.model.decay(q, self._wait[q]))
            self._wait[q] = 0.0

    def _front(self, qubits: tuple[int, ...]) -> tuple[Floats, list[int]]:
        """The values with the axes of `qubits` first, `(batch, 4^k, rest)`, and the new order of axes."""
        rest = [q for q in self._order if q not in qubits]
        order = [*qubits, *rest]
        batch = len(self._values)
        if order != self._order:
            tensor = self._values.reshape(batch, *(4,) * len(order))
            self._values = tensor.transpose(0, *(1 + self._order.index(q) for q in order))
        return self._values.reshape(batch, 4 ** len(qubits), -1), order

    def two(self, pair: tuple[int, int], matrix: Floats) -> None:
        """A two-qubit channel `(16, 16)` after everything collected for its qubits."""
        a, b = (self._settled(q) for q in pair)
        both = (a[:, :, None, :, None] * b[:, None, :, None, :]).reshape(-1, 16, 16)
        front, self._order = self._front(pair)
        self._values = (matrix @ both) @ front

    def box(self, number: int, qubits: tuple[int, ...]) -> None:
        """An opaque routine or, for a negative number, its inverse: exact, without error of its own."""
        *turns, phase = self.model.boxes[abs(number) - 1]
        link = transfer_matrix(zz_unitary(phase if number > 0 else -phase))
        for q in qubits:
            self.settle(q)
        if number > 0:
            for q, turn in zip(qubits, turns, strict=True):
                self.one(q, ry_matrix(turn))
        for a, b in pairwise(qubits):
            self.two((a, b), link)
        if number < 0:
            for q, turn in zip(qubits, turns, strict=True):
                self.one(q, ry_matrix(-turn))

    def tensor(self) -> Floats:
        """`Tr(P rho)`, `(batch, 4, ..., 4)` with the qubits ascending."""
        for q in self.qubits:
            matrix = self._settled(q)
            front, self._order = self._front((q,))
            self._values = matrix @ front
        front, self._order = self._front(self.qubits)
        return front.reshape(-1, *(4,) * len(self.qubits))


def evolve(model: NoiseModel, schedule: list[Moment], qubits: tuple[int, ...], box_qubits: tuple[int, ...]) -> Floats:
    """Play moments on `qubits` (ascending, all that the moments act on); returns `Tr(P rho)`, `(batch, 4, ..., 4)`.

    In each moment: virtual gates, `sx`, the opaque routine; crosstalk and CZ phases, which commute; depolarising after each CZ; then
    relaxation and dephasing of all qubits for its duration.
    """
    state = State(model, qubits)
    for moment in schedule:
        for q, angle in moment.virtual.items():
            state.rz(q, angle)
        for q in moment.sx:
            state.settle(q)
            state.one(q, model.sx(q))
        if moment.box:
            state.box(moment.box, box_qubits)
        if len(moment.cz) > 1:
            for pair in linked(moment.cz, model.parallel_zz_rad):
                state.two(pair, model.crosstalk(pair))
        for pair in moment.cz:
            state.two(pair, model.cz(pair))
        state.wait(moment.duration_ns)
    return state.tensor()


def expectation(tensor: Floats, qubits: tuple[int, ...], pauli: Mapping[int, str]) -> Floats:
    """Expectation values `(batch,)` of a Pauli string, e.g. `{1: "Z", 3: "X"}` for Z_1 X_3, in what :func:`evolve` returned."""
    at = tuple("IXYZ".index(pauli.get(q, "I")) for q in qubits)
    return np.asarray(tensor[(slice(None), *at)])


def populations(model: NoiseModel, tensor: Floats, qubits: tuple[int, ...], total_ns: float) -> Floats:
    """Probabilities of all bit strings `(batch, 2^n)` of the device, little-endian; others than `qubits` idle from the reset on."""
    batch, n = len(tensor), model.n_qubits
    for k in range(len(qubits)):
        z = np.moveaxis(tensor, 1 + k, -1)
        tensor = np.moveaxis(np.stack((z[..., 0] + z[..., 3], z[..., 0] - z[..., 3]), axis=-1) / 2.0, -1, 1 + k)
    # axes to descending qubits: the last one runs fastest, and it is bit 0
    p = tensor.transpose(0, *range(len(qubits), 0, -1))
    for q in range(n):
        if q not in qubits:
            axis = 1 + sum(other > q for other in qubits)
            excited = model.residual[q] * np.exp(-total_ns / model.t1_ns[q])
            shape = [1] * (p.ndim + 1)
            shape[axis] = 2
            p = np.expand_dims(p, axis) * np.array([1.0 - excited, excited]).reshape(shape)
    p = np.clip(p.reshape(batch, 2**n), 0.0, None)
    return p / p.sum(axis=1, keepdims=True)


def response_matrix(
    p1_given_0: Floats, p0_given_1: Floats, pairs: tuple[tuple[int, int], ...], extra: tuple[float, ...], joint: tuple[float, ...]
) -> Floats:
    """Probability to read a string (row) where the qubits are in another (column), `(2^n, 2^n)`, little-endian.

    Each qubit is misread with its own probability, raised by `extra[k]` where it belongs to pair k and the partner is in |1>; then with
    probability `joint[k]` both bits of pair k are inverted together. Columns sum to 1.
    """
    n = len(p1_given_0)
    strings = np.arange(2**n)
    state = (strings[:, None] >> np.arange(n)) & 1
    flip = np.where(state == 1, p0_given_1, p1_given_0)
    for (a, b), raised in zip(pairs, extra, strict=True):
        flip[:, a] += raised * state[:, b]
        flip[:, b] += raised * state[:, a]
    # distribution of the flipped set for each true string: (true, flips), built qubit by qubit
    flips = np.ones((2**n, 1))
    for q in range(n):
        flips = np.concatenate((flips * (1 - flip[:, q : q + 1]), flips * flip[:, q : q + 1]), axis=1)
    for (a, b), together in zip(pairs, joint, strict=True):
        flips = (1 - together) * flips + together * flips[:, strings ^ (1 << a | 1 << b)]
    return np.ascontiguousarray(flips[strings[None, :], strings[:, None] ^ strings[None, :]])


def sample(rng: np.random.Generator, p: Floats, shots: int) -> NDArray[np.int64]:
    """Bit strings `(batch, shots)` drawn from probabilities `(batch, 2^n)`."""
    edges = np.cumsum(p, axis=1)
    u = rng.random((len(p), shots)) * edges[:, -1:]
    drawn = np.stack([np.searchsorted(e, x, side="right") for e, x in zip(edges, u, strict=True)])
    return np.minimum(drawn, p.shape[1] - 1)
