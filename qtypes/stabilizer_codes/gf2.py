"""Linear algebra over GF(2) with Python integers as rows: bit q of a row is column q.

Pauli strings of n qubits are integers of 2 n bits, `x | z << n`: bit q of x where the operator on qubit q is X or Y, bit q of z where it
is Z or Y. Signs are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_LETTER = {"I": 0, "_": 0, "X": 1, "Z": 2, "Y": 3}


def bits(row: int) -> list[int]:
    """Columns of a row, ascending."""
    out = []
    while row:
        low = row & -row
        out.append(low.bit_length() - 1)
        row ^= low
    return out


def mask(columns: Iterable[int]) -> int:
    """The row with ones in `columns`; a column named twice counts twice, that is not at all."""
    row = 0
    for c in columns:
        row ^= 1 << c
    return row


def echelon(rows: Iterable[int]) -> dict[int, int]:
    """Reduced echelon form: leading column (highest bit) -> row; no row has a bit in another's leading column."""
    basis: dict[int, int] = {}
    for row in rows:
        row = reduce(row, basis)
        if row:
            lead = row.bit_length() - 1
            for other, value in basis.items():
                if value >> lead & 1:
                    basis[other] = value ^ row
            basis[lead] = row
    return basis


def reduce(row: int, basis: dict[int, int]) -> int:
    """What is left of `row` modulo the span of an echelon form; 0 exactly for members."""
    for lead, value in basis.items():
        if row >> lead & 1:
            row ^= value
    return row


def rank(rows: Iterable[int]) -> int:
    """Dimension of the span."""
    return len(echelon(rows))


def independent(rows: Sequence[int]) -> list[int]:
    """Positions of the first maximal set of independent rows."""
    basis: dict[int, int] = {}
    kept = []
    for k, row in enumerate(rows):
        row = reduce(row, basis)
        if row:
            basis[row.bit_length() - 1] = row
            basis = dict(sorted(basis.items(), reverse=True))
            kept.append(k)
    return kept


def kernel(rows: Iterable[int], n: int) -> list[int]:
    """Basis of {v : every row has even overlap with v}, v of `n` columns."""
    basis = echelon(rows)
    out = []
    for free in range(n):
        if free not in basis:
            v = 1 << free
            for lead, row in basis.items():
                if row >> free & 1:
                    v |= 1 << lead
            out.append(v)
    return out


def parse(text: str) -> int:
    """The bits of a Pauli string such as `XZZXI` (character i acts on qubit i, `_` is I)."""
    n = len(text)
    x = z = 0
    for q, letter in enumerate(text):
        value = _LETTER[letter]
        x |= (value & 1) << q
        z |= (value >> 1) << q
    return x | z << n


def show(pauli: int, n: int) -> str:
    """The string of `pauli`."""
    return "".join("IXZY"[(pauli >> q & 1) | (pauli >> (n + q) & 1) << 1] for q in range(n))


def swap(pauli: int, n: int) -> int:
    """X and Z halves exchanged: `a` and `b` anticommute where `a & swap(b)` has odd parity."""
    low = (1 << n) - 1
    return (pauli >> n) | (pauli & low) << n


def anticommute(a: int, b: int, n: int) -> bool:
    """Whether two Pauli operators anticommute."""
    return (a & swap(b, n)).bit_count() % 2 == 1


def weight(pauli: int, n: int) -> int:
    """Number of qubits on which it is not the identity."""
    return ((pauli | pauli >> n) & ((1 << n) - 1)).bit_count()


def logicals(generators: Sequence[int], n: int) -> list[tuple[int, int]]:
    """Pairs (X, Z) of logical operators of a stabilizer group, n - rank of them: a symplectic basis of the normaliser modulo the group."""
    group = echelon(generators)
    normaliser = kernel((swap(g, n) for g in group.values()), 2 * n)
    rest = [v for v in normaliser if reduce(v, group)]
    pairs: list[tuple[int, int]] = []
    while rest:
        a = rest.pop(0)
        partner = next((k for k, b in enumerate(rest) if anticommute(a, b, n)), None)
        if partner is None:  # commutes with all that is left: a member of the group times earlier pairs
            continue
        b = rest.pop(partner)
        rest = [v ^ (b if anticommute(v, a, n) else 0) ^ (a if anticommute(v, b, n) else 0) for v in rest]
        pairs.append((a, b))
    return pairs
