"""Weight of an error on a prepared state: the least weight over its coset by the group of the state.

Only one question is asked: is it above t? Two errors are equivalent on the state exactly where their syndromes against its n generators
agree. So errors of weight at most t are listed by syndrome: all of weight one, and for t >= 2 all of weight two. For t <= 2 the list
decides; for t = 3 an error is harmless exactly where it times some single-qubit Pauli is in the list or it is there itself. Beyond that
the answer is one of three: a lighter equivalent of weight at most t was found (harmless); a lower bound exceeds t (dangerous); or neither.

Lower bounds. Packing: a family of generators on disjoint qubits of which v are violated needs an error of weight v at least. Clusters:
light generators that share qubits form clusters on disjoint qubits (blocks of a concatenation, for instance); within one the least weight
that explains its syndrome is tabulated, X and Z generators apart where they do not mix, and the sum over clusters is a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property

import numpy as np

from qtypes.stabilizer_codes import gf2

FAMILIES = 12
CLUSTER = 18
"""Most generators of one kind in a cluster."""
EXACT_T = 3
"""Verdicts are exact up to this t."""


class Verdict(Enum):
    """Reduced weight at most t, above t, or not known."""

    HARMLESS = 0
    DANGEROUS = 1
    UNKNOWN = 2


def lightened(rows: Sequence[int], n: int) -> list[int]:
    """Another basis of the same span: each row multiplied by others while that makes it lighter."""
    out = list(rows)
    weights = [gf2.weight(r, n) for r in out]
    low = (1 << n) - 1
    changed = True
    while changed:
        changed = False
        for i in sorted(range(len(out)), key=lambda k: -weights[k]):
            best, at = weights[i], -1
            for j, other in enumerate(out):
                if j != i:
                    v = out[i] ^ other
                    w = ((v | v >> n) & low).bit_count()
                    if 0 < w < best:
                        best, at = w, j
            if at >= 0:
                out[i] ^= out[at]
                weights[i] = best
                changed = True
    return out


@dataclass(frozen=True)
class _Part:
    """Generators `offset`.. of one cluster, and the least weight of an error on its qubits for each of their patterns: `(2^width,)`
    uint8."""

    offset: int
    width: int
    table: np.ndarray

    def least(self, syndrome: int) -> int:
        return int(self.table[syndrome >> self.offset & ((1 << self.width) - 1)])


def least_steps(width: int, moves: Iterable[int]) -> np.ndarray:
    """`(2^width,)` uint8: the least number of `moves` whose sum is each pattern of `width` bits, 255 where there is none."""
    table = np.full(1 << width, 255, np.uint8)
    table[0] = 0
    frontier, distance = np.zeros(1, np.int64), 0
    while len(frontier):
        distance += 1
        reached = np.zeros(len(table), bool)
        for move in moves:
            reached[frontier ^ move] = True
        frontier = np.flatnonzero(reached & (table == 255))
        table[frontier] = distance
    return table


@cache
def _least_weights(width: int, moves: tuple[int, ...]) -> np.ndarray:
    return least_steps(width, moves)


def _clustered(rows: Sequence[int], n: int) -> tuple[list[int], list[tuple[_Part, ...]]]:
    """The rows in an order that keeps clusters together, and the clusters. A generator that would make one too large is in none."""
    low = (1 << n) - 1
    groups: list[tuple[int, list[int]]] = []  # qubits and generators of a cluster
    for r in sorted(rows, key=lambda r: gf2.weight(r, n)):
        support = (r | r >> n) & low
        touched = [g for g in groups if g[0] & support]
        qubits, members = support, [r]
        for g in touched:
            qubits |= g[0]
            members = g[1] + members
        if max(len(k) for k in _kinds(members, n)) <= CLUSTER:
            groups = [g for g in groups if not g[0] & support]
            groups.append((qubits, members))
    ordered: list[int] = []
    clusters = []
    for qubits, members in groups:
        parts = []
        for kind in _kinds(members, n):
            moves = set()
            for q in gf2.bits(qubits):
                x = sum(1 << k for k, r in enumerate(kind) if r >> (n + q) & 1)
                z = sum(1 << k for k, r in enumerate(kind) if r >> q & 1)
                moves |= {x, z, x ^ z}
            parts.append(_Part(len(ordered), len(kind), _least_weights(len(kind), tuple(sorted(moves - {0})))))
            ordered += kind
        clusters.append(tuple(parts))
    held = set(ordered)
    return ordered + [r for r in rows if r not in held], clusters


def _kinds(members: Sequence[int], n: int) -> list[list[int]]:
    """X-only and Z-only generators apart where every one is of these kinds, else all together."""
    low = (1 << n) - 1
    x, z = [r for r in members if not r >> n], [r for r in members if not r & low]
    return [k for k in (x, z) if k] if len(x) + len(z) == len(members) else [list(members)]


class Reducer:
    """Decides for one prepared state. `group`: its generators, n Paulis of 2 n bits; `hints`: light members of the group, if known;
    `clusters`: whether to tabulate clusters where t is beyond `EXACT_T`, which takes longest."""

    def __init__(self, group: Sequence[int], n: int, t: int, hints: Sequence[int] = (), *, clusters: bool = True) -> None:
        self.n, self.t = n, t
        members = gf2.echelon(group)
        light = [h for h in hints if gf2.reduce(h, members) == 0]
        ordered = sorted(light, key=lambda r: gf2.weight(r, n)) + list(group)
        basis = [ordered[k] for k in gf2.independent(ordered)]
        self.rows = lightened(basis, n)
        self._clusters: list[tuple[_Part, ...]] = []
        if clusters and t > EXACT_T:
            self.rows, self._clusters = _clustered(self.rows, n)
        self._duals = [gf2.swap(r, n) for r in self.rows]
        self._of_single = [
            sum(1 << k for k, d in enumerate(self._duals) if d >> column & 1) for column in range(2 * n)
        ]  # fmt: skip

    def syndrome(self, pauli: int) -> int:
        """Bit k where `pauli` anticommutes with generator k."""
        out = 0
        for column in gf2.bits(pauli):
            out ^= self._of_single[column]
        return out

    @cached_property
    def _singles(self) -> list[tuple[int, int]]:
        """Syndrome and qubit of each single-qubit Pauli."""
        x, z = self._of_single[: self.n], self._of_single[self.n :]
        return [(s, q) for q in range(self.n) for s in (x[q], z[q], x[q] ^ z[q])]

    @cached_property
    def _ones(self) -> frozenset[int]:
        return frozenset(s for s, _ in self._singles) | {0}

    @cached_property
    def _pairs(self) -> frozenset[int]:
        """Syndromes of all Paulis of weight at most two."""
        found = set(self._ones)
        for i, (s, q) in enumerate(self._singles):
            found.update(s ^ u for u, p in self._singles[:i] if p != q)
        return frozenset(found)

    @cached_property
    def _packings(self) -> list[int]:
        """Masks of generators on disjoint qubits, greedily from different beginnings."""
        supports = [(r | r >> self.n) & ((1 << self.n) - 1) for r in self.rows]
        order = sorted(range(len(supports)), key=lambda k: supports[k].bit_count())
        found = []
        for turn in range(FAMILIES):
            start = turn * len(order) // FAMILIES
            used = family = 0
            for k in order[start:] + order[:start]:
                if not supports[k] & used:
                    used |= supports[k]
                    family |= 1 << k
            found.append(family)
        return found

    def judge(self, syndrome: int, error: int) -> Verdict:
        """Whether the errors of `syndrome`, of which `error` (2 n bits) is one, have reduced weight above t; `UNKNOWN` leaves it to
        `descend`, which may prove it harmless."""
        t = self.t
        if gf2.weight(error, self.n) <= t or syndrome == 0:
            return Verdict.HARMLESS
        if t == 0:
            return Verdict.DANGEROUS
        if syndrome in self._ones:
            return Verdict.HARMLESS
        if t == 1:
            return Verdict.DANGEROUS
        if self._bound(syndrome) > t:
            return Verdict.DANGEROUS
        if syndrome in self._pairs:
            return Verdict.HARMLESS
        if t == 2:
            return Verdict.DANGEROUS
        if any(syndrome ^ s in self._pairs for s, _ in self._singles):
            return Verdict.HARMLESS
        if t == EXACT_T:
            return Verdict.DANGEROUS
        return Verdict.UNKNOWN

    def _bound(self, syndrome: int) -> int:
        total = 0
        for parts in self._clusters:
            total += max(part.least(syndrome) for part in parts)
        return max(total, *((syndrome & family).bit_count() for family in self._packings))

    def descend(self, errors: Sequence[int]) -> list[int]:
        """Weights that the errors (2 n bits) reach when each is multiplied by the generator that lightens it most, until none does or it is
        at most t: upper bounds of the reduced weights."""
        n = self.n
        rows = _letters(self.rows, n)
        hot = _one_hot(rows)
        current = _letters(errors, n)
        weights = np.count_nonzero(current, axis=1)
        active = np.flatnonzero(weights > self.t)
        while len(active):
            part = current[active]
            lighter = n - _one_hot(part) @ hot.T  # letters that agree cancel
            best = lighter.argmin(axis=1)
            reached = lighter[np.arange(len(active)), best].astype(np.int64)
            better = reached < weights[active]
            active, best = active[better], best[better]
            current[active] ^= rows[best]
            weights[active] = reached[better]
            active = active[weights[active] > self.t]
        return weights.tolist()


def _letters(rows: Sequence[int], n: int) -> np.ndarray:
    """`(len(rows), n)` uint8: 0 I, 1 X, 2 Z, 3 Y."""
    size = (2 * n + 7) // 8
    packed = np.frombuffer(b"".join(r.to_bytes(size, "little") for r in rows), dtype=np.uint8).reshape(len(rows), size)
    columns = np.unpackbits(packed, axis=1, count=2 * n, bitorder="little")
    return columns[:, :n] | columns[:, n:] << 1


def _one_hot(letters: np.ndarray) -> np.ndarray:
    """`(m, 4 n)` float32."""
    return (letters[:, :, None] == np.arange(4, dtype=np.uint8)).reshape(len(letters), -1).astype(np.float32)
