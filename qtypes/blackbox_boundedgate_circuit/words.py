"""Pauli words and linear algebra over GF(2) on machine integers.

A Pauli operator on up to 64 qubits is ``i**phase X**x Z**z`` with ``x`` and ``z`` 64-bit words, bit ``q`` for qubit ``q``, and ``phase`` in
0..3. In this form a change of computational basis coordinates ``|b> -> |A b>`` (a CNOT circuit) moves the words linearly and never touches
the phase. It is Hermitian when ``phase`` and the number of Y factors, ``popcount(x & z)``, have equal parity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import stim


class Word(NamedTuple):
    """One Pauli operator ``i**phase X**x Z**z``; `x`, `z` are non-negative Python integers, `phase` is taken modulo 4."""

    x: int
    z: int
    phase: int

    def __mul__(self, other: Word) -> Word:  # type: ignore[override]
        """The operator product `self @ other`: moving ``Z**z`` past ``X**other.x`` costs one sign per common bit."""
        sign = 2 * (self.z & other.x).bit_count()
        return Word(self.x ^ other.x, self.z ^ other.z, (self.phase + other.phase + sign) % 4)

    def commutes(self, other: Word) -> bool:
        return ((self.x & other.z).bit_count() + (self.z & other.x).bit_count()) % 2 == 0

    @property
    def hermitian_sign(self) -> int:
        """+1 or -1 in front of the product of X, Y and Z factors; `ValueError` for an operator that is not Hermitian."""
        quarter = (self.phase - (self.x & self.z).bit_count()) % 4
        if quarter % 2:
            raise ValueError("the Pauli word is not Hermitian")
        return 1 - quarter


def from_stim(pauli: stim.PauliString) -> Word:
    """The word of a Hermitian stim Pauli string of at most 64 qubits."""
    xs, zs = pauli.to_numpy()
    x, z = _to_int(xs), _to_int(zs)
    return Word(x, z, ((x & z).bit_count() + (2 if pauli.sign == -1 else 0)) % 4)


def to_stim(word: Word, n_qubits: int) -> stim.PauliString:
    """Inverse of :func:`from_stim` on `n_qubits` qubits."""
    bits = np.arange(n_qubits, dtype=np.uint64)
    xs, zs = ((np.uint64(v) >> bits & np.uint64(1)).astype(bool) for v in (word.x, word.z))
    return stim.PauliString.from_numpy(xs=xs, zs=zs, sign=word.hermitian_sign)


def _to_int(bits: np.ndarray) -> int:
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def parity(words: np.ndarray) -> np.ndarray:
    """Parity of the set bits of each uint64, as bool, same shape."""
    return (np.bitwise_count(words) & 1).astype(bool)


def reduced_basis(rows: Sequence[int]) -> tuple[list[int], list[int]]:
    """Reduced row echelon basis of the GF(2) span of `rows`, and the pivot bit of each basis vector (no two vectors share a pivot bit)."""
    basis: list[int] = []
    pivots: list[int] = []
    for row in rows:
        for vector, pivot in zip(basis, pivots, strict=True):
            if row >> pivot & 1:
                row ^= vector
        if not row:
            continue
        new = row.bit_length() - 1
        basis = [v ^ row if v >> new & 1 else v for v in basis]
        basis.append(row)
        pivots.append(new)
    return basis, pivots


def annihilator(rows: Sequence[int], n_bits: int) -> list[int]:
    """Masks of `n_bits` bits that span all `m` with ``popcount(m & row)`` even for every row: the parity checks of the span."""
    basis, pivots = reduced_basis(rows)
    taken = set(pivots)
    checks = []
    for bit in range(n_bits):
        if bit not in taken:
            mask = 1 << bit
            for vector, pivot in zip(basis, pivots, strict=True):
                if vector >> bit & 1:
                    mask |= 1 << pivot
            checks.append(mask)
    return checks


def inverse(rows: Sequence[int]) -> list[int]:
    """Columns of the inverse of a square GF(2) matrix.

    With ``r_k = popcount(rows[k] & o) % 2``, ``o`` is the XOR of the columns whose ``r_k`` is 1. Raises `ValueError` for a singular matrix.
    """
    n = len(rows)
    work = [row | 1 << (n + k) for k, row in enumerate(rows)]  # matrix and identity side by side
    for bit in range(n):
        pivot = next((k for k in range(bit, n) if work[k] >> bit & 1), None)
        if pivot is None:
            raise ValueError("singular over GF(2)")
        work[bit], work[pivot] = work[pivot], work[bit]
        lead = work[bit]
        work = [w ^ lead if k != bit and w >> bit & 1 else w for k, w in enumerate(work)]
    columns = [0] * n
    for bit, row in enumerate(work):
        for k in range(n):
            if row >> (n + k) & 1:
                columns[k] |= 1 << bit
    return columns
