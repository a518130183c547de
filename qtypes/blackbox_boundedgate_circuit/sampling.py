"""Exact shots of a bounded-gate circuit in any product Pauli basis.

The 60 measured operators, pulled back through the Clifford gates, form a commuting group. Gauss elimination splits it in three: operators
that flip an idle qubit give independent fair coins (they anticommute with a stabiliser), `dim` operators act on the active qubits only, and
the others are constants. One stabiliser tableau makes the `dim` operators diagonal, so that a shot is an index drawn from ``2**dim``
probabilities, fair coins, and a linear solve over GF(2) (stabiliser formalism: Aaronson & Gottesman 2004). There is no approximation
besides single precision of the amplitudes (1e-6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import stim

from qtypes.blackbox_boundedgate_circuit.circuit import Circuit, PauliFrame, pull_through
from qtypes.blackbox_boundedgate_circuit.words import Word, inverse, parity, to_stim

BATCH_AMPLITUDES = 1 << 20  # amplitudes evolved at once: 8 MB, stays near the cache
BYTE_SHOTS = 1 << 18  # shots unpacked to bytes at once for the readout error


class BasisSampler:
    """Compiled sampler of one circuit frame in one basis.

    `basis` is a string over X, Y, Z, one letter per qubit. `dim` active qubits make the cost of an input vector ``n_rotations * 2**dim``.
    """

    def __init__(self, circuit: Circuit, frame: PauliFrame, basis: str) -> None:
        self.circuit = circuit
        self.dim = frame.dim
        measured = [frame.observables[letter][site] for site, letter in enumerate(basis)]
        coins, quantum, constants = _split(measured, frame)
        columns = inverse([mask for mask, _ in (*coins, *quantum, *constants)])
        coin_columns, quantum_columns = columns[: len(coins)], columns[len(coins) : len(coins) + len(quantum)]
        offset = 0
        for column, (_, word) in zip(columns[len(coins) + len(quantum) :], constants, strict=True):
            if word.phase == 2:
                offset ^= column
        self._coins = np.array(coin_columns, dtype=np.uint64)
        self._outcome = _combine(np.array(quantum_columns, dtype=np.uint64)) ^ np.uint64(offset)
        self._prepare([Word(w.x & frame.active, w.z & frame.active, w.phase) for _, w in quantum], frame)

    def _prepare(self, quantum: list[Word], frame: PauliFrame) -> None:
        """Initial state and rotations in the frame where measured operator k is Z on qubit k."""
        tableau = stim.Tableau.from_stabilizers([to_stim(w, self.dim) for w in quantum]) if self.dim else stim.Tableau(0)
        undo = tableau.inverse()
        start = undo.to_state_vector(endian="little") if self.dim else np.ones(1)
        self._start = start.astype(np.complex64)
        index = np.arange(1 << self.dim, dtype=np.uint64)
        self._gates: list[tuple[np.ndarray | None, np.ndarray]] = []
        for word in frame.rotations:
            local = to_stim(Word(word.x, word.z & frame.active, word.phase), self.dim) if self.dim else stim.PauliString(0)
            xs, zs = undo(local).to_numpy()
            x = sum(1 << int(k) for k in np.flatnonzero(xs))
            z = sum(1 << int(k) for k in np.flatnonzero(zs))
            source = index ^ np.uint64(x)
            sign = np.where(parity(source & np.uint64(z)), -1.0, 1.0)
            factor = -1j * undo(local).sign * 1j ** ((x & z).bit_count()) * sign
            self._gates.append((source.astype(np.intp) if x else None, factor.astype(np.complex64)))

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """(n, 2**dim) float32 probabilities of the indices for inputs `x` of shape (n, n_inputs), rad."""
        half = 0.5 * self.circuit.angles(x)
        cos, sin = np.cos(half).astype(np.float32), np.sin(half).astype(np.float32)
        state = np.repeat(self._start[None], len(x), axis=0)
        for g, (source, factor) in enumerate(self._gates):
            turned = (state if source is None else state[:, source]) * factor
            turned *= sin[:, g, None]
            state *= cos[:, g, None]
            state += turned
        return state.real**2 + state.imag**2

    def shots(self, x: np.ndarray, shots: int, rng: np.random.Generator) -> np.ndarray:
        """(n, shots) uint64 words, bit q the outcome of qubit q, for inputs `x` of shape (n, n_inputs), rad."""
        x = np.asarray(x, dtype=float)
        words = np.empty((len(x), shots), dtype=np.uint64)
        step = max(1, BATCH_AMPLITUDES >> self.dim)
        for first in range(0, len(x), step):
            cumulative = np.cumsum(self.probabilities(x[first : first + step]), axis=1, dtype=float)
            rows = len(cumulative)
            cumulative /= cumulative[:, -1:]
            cumulative += np.arange(rows)[:, None]  # one sorted list for all rows: row r occupies (r, r + 1]
            draws = rng.random((rows, shots)) + np.arange(rows)[:, None]
            index = np.searchsorted(cumulative.ravel(), draws.ravel(), side="right").reshape(rows, shots)
            index -= np.arange(rows)[:, None] << self.dim
            np.clip(index, 0, (1 << self.dim) - 1, out=index)  # a draw within one rounding step of an edge
            words[first : first + step] = self._outcome[index]
        for group in range(0, len(self._coins), 8):
            table = _combine(self._coins[group : group + 8])
            words ^= table[rng.integers(0, len(table), size=words.shape)]
        return words


@lru_cache(maxsize=4)
def frame_of(circuit: Circuit) -> PauliFrame:
    """The Pauli frame of a circuit, kept for the next job on the same device."""
    return pull_through(circuit)


@lru_cache(maxsize=8)
def sampler_of(circuit: Circuit, basis: str) -> BasisSampler:
    """The compiled sampler of a circuit in one basis, kept for the next job."""
    return BasisSampler(circuit, frame_of(circuit), basis)


def sample_words(circuit: Circuit, x: np.ndarray, by_basis: dict[str, list[int]], shots: int, rng: np.random.Generator) -> np.ndarray:
    """(n, shots) uint64 true outcomes for inputs `x` (n, 6), rad; `by_basis` gives the rows of each basis."""
    words = np.empty((len(x), shots), dtype=np.uint64)
    for basis, rows in by_basis.items():
        words[rows] = sampler_of(circuit, basis).shots(x[rows], shots, rng)
    return words


def _combine(columns: np.ndarray) -> np.ndarray:
    """(2**k,) uint64: entry i is the XOR of the columns at the set bits of i."""
    table = np.zeros(1, dtype=np.uint64)
    for column in columns:
        table = np.concatenate([table, table ^ column])
    return table


Generator = tuple[int, Word]
"""An element of the measured group: the mask of the qubits whose operators are multiplied, and the product."""


def _split(measured: list[Word], frame: PauliFrame) -> tuple[list[Generator], list[Generator], list[Generator]]:
    """Independent generators of the measured group: coins, operators on active qubits, constants."""
    rows = [(1 << q, word) for q, word in enumerate(measured)]
    coins, rows = _eliminate(rows, lambda w: w.x >> frame.dim)
    quantum, constants = _eliminate(rows, lambda w: w.x & frame.active | (w.z & frame.active) << frame.dim)
    return coins, quantum, constants


def _eliminate(rows: list[Generator], key: Callable[[Word], int]) -> tuple[list[Generator], list[Generator]]:
    """Rows whose keys are independent, and combinations of rows with key 0 that complete them."""
    pivots: list[tuple[int, Generator]] = []
    zero: list[Generator] = []
    for mask, word in rows:
        for bit, (other_mask, other) in pivots:
            if key(word) >> bit & 1:
                mask, word = mask ^ other_mask, word * other
        value = key(word)
        if value:
            pivots.append((value.bit_length() - 1, (mask, word)))
        else:
            zero.append((mask, word))
    return [row for _, row in pivots], zero


def read_out(words: np.ndarray, p1_given_0: np.ndarray, p0_given_1: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Recorded bits of true outcomes under independent asymmetric readout errors.

    `words`: (...,) uint64 true outcomes, bit q for qubit q. `p1_given_0`, `p0_given_1`: (n_qubits,) probabilities. Returns (..., 8) uint8,
    little-endian: bit q is bit ``q % 8`` of byte ``q // 8``; unused high bits are 0.
    """
    flat = np.ascontiguousarray(words, dtype="<u8").reshape(-1)
    n_qubits = len(p1_given_0)
    up, down = np.asarray(p1_given_0, dtype=np.float32), np.asarray(p0_given_1, dtype=np.float32)
    out = np.zeros((len(flat), 8), dtype=np.uint8)
    for block in _blocks(len(flat)):
        true = np.unpackbits(flat[block].view(np.uint8).reshape(-1, 8), axis=1, count=n_qubits, bitorder="little")
        flip = rng.random(true.shape, dtype=np.float32) < np.where(true, down, up)
        packed = np.packbits(true ^ flip, axis=1, bitorder="little")
        out[block, : packed.shape[1]] = packed
    return out.reshape(*np.shape(words), 8)


def _blocks(n: int) -> Iterator[slice]:
    for first in range(0, n, BYTE_SHOTS):
        yield slice(first, min(first + BYTE_SHOTS, n))
