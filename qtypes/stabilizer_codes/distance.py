"""Distances of stabilizer codes: a witness from above, exhaustive search from below.

A logical operator commutes with every generator and anticommutes with some logical operator. All Pauli operators of weight at most w are
products of one of weight at most ceil(w / 2) and one of at most floor(w / 2), so one that is logical exists exactly where two half-weight
operators have equal syndromes and different commutation with the logical operators: meet in the middle over syndromes, which are linear.
Syndromes of more than 64 bits are folded linearly to 64; no match of the folded ones proves that there is none of the full ones, and a
match is verified.

In a CSS code the search is done for X and for Z separately, one kind of operator a qubit. Two facts make it shorter where they hold: all
weights are even (every operator that commutes with the checks overlaps evenly with a check product on all qubits), and the code is
invariant under translations of blocks of qubits, so one qubit of the support may be taken to the first of its block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from qtypes.stabilizer_codes import gf2

_FILTER_BITS = 30


@dataclass(frozen=True)
class Problem:
    """Elementary errors by their commutation: `syndromes` and `classes` are `(m,)` uint64, error e sits on qubit `qubits[e]` and is the
    Pauli `paulis[e]`. `n` qubits. `even`: weights of undetected errors are even. `anchors`: errors to which one of the support may be
    moved."""

    n: int
    syndromes: np.ndarray
    classes: np.ndarray
    qubits: np.ndarray
    paulis: tuple[int, ...]
    even: bool = False
    anchors: tuple[int, ...] = ()


def _folded(columns: Sequence[int], width: int) -> np.ndarray:
    """Columns of `width` bits as uint64: as they are up to 64 bits, else through a fixed linear map."""
    if width <= 64:
        return np.array(columns, dtype=np.uint64)
    rng = np.random.default_rng(width)
    images = [int(v) for v in rng.integers(0, 2**64, width, dtype=np.uint64)]
    out = []
    for column in columns:
        value = 0
        for b in gf2.bits(column):
            value ^= images[b]
        out.append(value)
    return np.array(out, dtype=np.uint64)


def problem(generators: Sequence[int], n: int, letters: str = "XYZ", period: int | None = None) -> Problem:
    """The search for logical operators made of `letters` only. `period`: blocks of so many qubits within which translations are
    symmetries (the caller answers for it)."""
    group = list(gf2.echelon(generators).values())
    pairs = gf2.logicals(generators, n)
    operators = [p for pair in pairs for p in pair]
    singles = {"X": lambda q: 1 << q, "Z": lambda q: 1 << (n + q), "Y": lambda q: 1 << q | 1 << (n + q)}
    paulis, qubits = zip(*((singles[c](q), q) for q in range(n) for c in letters), strict=True)
    if len(letters) == 1:  # only checks of the other kind see them
        group = [g for g in group if any(gf2.anticommute(g, p, n) for p in paulis)]
    syndromes = [gf2.mask(k for k, g in enumerate(group) if gf2.anticommute(g, p, n)) for p in paulis]
    classes = [gf2.mask(k for k, g in enumerate(operators) if gf2.anticommute(g, p, n)) for p in paulis]
    full = {"X": ((1 << n) - 1) << n, "Z": (1 << n) - 1}.get(letters)
    even = full is not None and gf2.reduce(full, gf2.echelon(generators)) == 0
    anchors = tuple(e for e, q in enumerate(qubits) if period and q % period == 0)
    return Problem(n, _folded(syndromes, len(group)), _folded(classes, len(operators)), np.array(qubits), paulis, even, anchors)


def _subsets(p: Problem, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Syndromes and classes of all products of `size` errors on different qubits, ordered by the first error, and where those begin that
    start at error e or later: `(m + 1,)`."""
    m = len(p.syndromes)
    if size == 0:
        return np.zeros(1, np.uint64), np.zeros(1, np.uint64), np.zeros(m + 1, np.int64)
    parts = list(_growing(p, size))
    starts = np.concatenate([[0], np.cumsum([len(s) for s, _ in parts])])
    return np.concatenate([s for s, _ in parts]), np.concatenate([c for _, c in parts]), starts


def _growing(p: Problem, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The products of `size` errors, those that begin with error e as one pair of arrays, e ascending."""
    syndromes, classes, starts = _subsets(p, size - 1)
    m = len(p.syndromes)
    for e in range(m):
        after = int(np.searchsorted(p.qubits, p.qubits[e], side="right"))
        at = 0 if size == 1 else starts[after]
        yield syndromes[at:] ^ p.syndromes[e], classes[at:] ^ p.classes[e]


def _streamed(p: Problem, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return _growing(p, size) if size else iter([_subsets(p, 0)[:2]])


class _Table:
    """Syndromes with their classes, ready to be asked for a partner of another class."""

    def __init__(self, syndromes: np.ndarray, classes: np.ndarray) -> None:
        order = np.lexsort((classes, syndromes))
        self.syndromes, self.classes = syndromes[order], classes[order]
        self.filter = None
        if len(order) > 1 << 20:
            low = (self.syndromes & np.uint64((1 << _FILTER_BITS) - 1)).astype(np.int64)
            self.filter = np.zeros(1 << _FILTER_BITS - 3, np.uint8)
            np.bitwise_or.at(self.filter, low >> 3, (1 << (low & 7)).astype(np.uint8))

    def clash(self) -> bool:
        """Whether two of its own have equal syndromes and different classes."""
        same = self.syndromes[1:] == self.syndromes[:-1]
        return bool((same & (self.classes[1:] != self.classes[:-1])).any())

    def partner(self, syndromes: np.ndarray, classes: np.ndarray) -> bool:
        """Whether some given one has an equal syndrome and a different class from one in the table."""
        if self.filter is not None:
            low = (syndromes & np.uint64((1 << _FILTER_BITS) - 1)).astype(np.int64)
            kept = (self.filter[low >> 3] >> (low & 7).astype(np.uint8) & 1).astype(bool)
            syndromes, classes = syndromes[kept], classes[kept]
        first = np.searchsorted(self.syndromes, syndromes, side="left")
        last = np.searchsorted(self.syndromes, syndromes, side="right")
        hit = first < last
        first, last, classes = first[hit], last[hit], classes[hit]  # classes are sorted within a syndrome: the ends suffice
        return bool(((self.classes[first] != classes) | (self.classes[last - 1] != classes)).any())


def excludes(p: Problem, w: int) -> bool:
    """Whether no logical operator of weight at most `w` exists. False may also mean that folded syndromes met by chance."""
    if p.even and w % 2:
        w -= 1
    if w <= 0:
        return True
    small, large = w // 2, w - w // 2
    if p.anchors:
        # One half holds an anchor. It is the tabulated one; the other is streamed.
        below = [_subsets(p, k)[:2] for k in range(large)]
        for a in p.anchors:
            table = _Table(
                np.concatenate([s for s, _ in below]) ^ p.syndromes[a], np.concatenate([c for _, c in below]) ^ p.classes[a]
            )
            if any(table.partner(s, c) for k in range(small + 1) for s, c in _streamed(p, k)):
                return False
        return True
    halves = [_subsets(p, k) for k in range(small + 1)]
    table = _Table(np.concatenate([s for s, _, _ in halves]), np.concatenate([c for _, c, _ in halves]))
    return not table.clash() and (large == small or not any(table.partner(s, c) for s, c in _growing(p, large)))


def effort(p: Problem, w: int) -> int:
    """How many syndromes `excludes(p, w)` computes, about."""
    if p.even and w % 2:
        w -= 1
    m = len(p.syndromes)
    return sum(comb(m, k) for k in range(w - w // 2 + 1 if not p.anchors else w // 2 + 1))


def witness(generators: Sequence[int], n: int, letters: str, rng: np.random.Generator, rounds: int = 200) -> int | None:
    """A light logical operator of `letters` by information sets (Prange 1962, Leon 1988): random order of columns, echelon form of all
    operators that commute with the group, the lightest row or sum of two rows that is logical. None where there is no logical operator."""
    group = list(gf2.echelon(generators).values())
    low = (1 << n) - 1
    if letters == "X":
        undetected = gf2.kernel([g >> n for g in group], n)
    elif letters == "Z":
        undetected = [v << n for v in gf2.kernel([g & low for g in group], n)]
    else:
        undetected = gf2.kernel([gf2.swap(g, n) for g in group], 2 * n)
    operators = [p for pair in gf2.logicals(generators, n) for p in pair]
    best: int | None = None
    for _ in range(rounds if operators else 0):
        rows = _shuffled_echelon(undetected, n, rng)
        for i, a in enumerate(rows):
            for b in (0, *rows[i + 1 :]):
                v = a ^ b
                if (best is None or gf2.weight(v, n) < gf2.weight(best, n)) and any(gf2.anticommute(v, o, n) for o in operators):
                    best = v
    return best


def _shuffled_echelon(rows: Sequence[int], n: int, rng: np.random.Generator) -> list[int]:
    """The span of `rows`, reduced with the qubits in random order."""
    order = [q + n * half for q in rng.permutation(n).tolist() for half in (0, 1)]
    left = list(rows)
    done: list[int] = []
    for column in order:
        at = next((k for k, r in enumerate(left) if r >> column & 1), None)
        if at is None:
            continue
        pivot = left.pop(at)
        left = [r ^ pivot if r >> column & 1 else r for r in left]
        done = [r ^ pivot if r >> column & 1 else r for r in done]
        done.append(pivot)
    return done


@dataclass(frozen=True)
class Bounds:
    """`lower` <= distance <= `upper`; `witness` is a logical operator of weight `upper`."""

    lower: int
    upper: int
    witness: int

    @property
    def exact(self) -> bool:
        return self.lower == self.upper


def bounds(
    generators: Sequence[int], n: int, letters: str = "XYZ", *, period: int | None = None, rng: np.random.Generator, rounds: int = 200,
    most: int = 5 * 10**7,
) -> Bounds | None:  # fmt: skip
    """Bounds of the least weight of a logical operator made of `letters`; None where there is none. The search stops at `most`
    syndromes."""
    light = witness(generators, n, letters, rng, rounds)
    if light is None:
        return None
    upper = gf2.weight(light, n)
    p = problem(generators, n, letters, period)
    lower = 1
    for w in range(upper - 1, 0, -1):
        if effort(p, w) <= most and excludes(p, w):
            lower = w + 1
            break
    return Bounds(lower, upper, light)


def least_weight(generators: Sequence[int], n: int) -> Bounds:
    """Bounds of the least weight of a stabilizer other than the identity, exact up to 4: the distance of a state (no logical qubits)."""
    best = min(generators, key=lambda g: gf2.weight(g, n))
    best = min((a ^ b for i, a in enumerate(generators) for b in generators[:i] if a != b), key=lambda g: gf2.weight(g, n), default=best)
    best = min(best, *generators, key=lambda g: gf2.weight(g, n))
    group = gf2.echelon(generators)
    singles = [p for q in range(n) for p in (1 << q, 1 << (n + q), 1 << q | 1 << (n + q))]
    duals = [gf2.swap(g, n) for g in group.values()]
    seen = {0: [0]}
    syndromes = [sum(((p & d).bit_count() & 1) << k for k, d in enumerate(duals)) for p in singles]
    for i, p in enumerate(singles):
        for j in range(-1, i):
            if j >= 0 and j // 3 == i // 3:
                continue
            seen.setdefault(syndromes[i] ^ (syndromes[j] if j >= 0 else 0), []).append(p ^ (singles[j] if j >= 0 else 0))
    found = [a ^ b for same in seen.values() for k, a in enumerate(same) for b in same[:k]]
    if found:
        best = min(best, *found, key=lambda g: gf2.weight(g, n))
    upper = gf2.weight(best, n)
    return Bounds(min(upper, 5), upper, best)
