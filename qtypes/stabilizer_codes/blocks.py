"""Reduced weights on a state of a concatenated code, exact for inner codes of up to 19 qubits.

A state of the code is stabilized by all inner generators. So an error is, on each block, a syndrome of the inner code and one of four
classes (whether it anticommutes with Z and with X on all qubits of the block, which are the inner logical operators), and the rest of the
group of the state acts on classes alone, as the group of a stabilizer state of the outer qubits. Let cost_b(L) be the least weight on
block b of an error with its syndrome and class L, tabulated once for the inner code. The reduced weight is the least sum of costs over all
choices of classes that have the right outer syndrome.

Is it at most t? Blocks with a syndrome cost at least one each; their classes are enumerated while the sum stays within t. The other blocks
cost nothing or the weight of an inner logical operator, so few of them can take part, and the outer syndromes of all such sets are
tabulated with their least sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

from qtypes.stabilizer_codes import gf2
from qtypes.stabilizer_codes.reduction import Verdict, least_steps

LARGEST_TABLE = 20
"""Bits of the largest table: an inner code of m qubits needs m + 1, a CSS one with its halves apart half as many."""
MOST_SETS = 500_000
"""Largest table of sets of blocks."""

Costs = tuple[tuple[int, int, int, int], tuple[int, int, int, int]]
"""At least and at most, for the classes 0..3."""


def _reached(duals: Sequence[int], columns: Sequence[Sequence[int]]) -> np.ndarray:
    """`(2^len(duals),)` uint8: least number of qubits on which an error with each pattern of commutation acts; `columns` are the Paulis
    that an error may have on a qubit, as positions of X and Z. Errors are enlarged one qubit at a time until every pattern is reached."""
    steps = set()
    for paulis in columns:
        single = [sum(1 << k for k, d in enumerate(duals) if d >> column & 1) for column in paulis]
        steps |= {*single, single[0] ^ single[-1]} - {0}
    return least_steps(len(duals), sorted(steps))


class Inner:
    """Costs of an inner code of `m` qubits given by m - 1 independent generators. A pattern has a bit for each generator, then the class:
    one bit for anticommuting with Z on all qubits, one for X on all.

    Up to `LARGEST_TABLE` bits all costs are tabulated. Beyond, for a CSS code, errors of weight at most four are looked for, and else the
    least weights of the X and of the Z part alone bound the cost: their larger from below, their sum from above.
    """

    def __init__(self, generators: tuple[int, ...], m: int) -> None:
        self.m = m
        low = (1 << m) - 1
        x, z = [g for g in generators if not g >> m], [g for g in generators if not g & low]
        self.whole = m + 1 <= LARGEST_TABLE
        self.fits = self.whole or (len(x) + len(z) == m - 1 and max(len(x), len(z)) + 1 <= LARGEST_TABLE)
        all_z, all_x = low << m, low
        self.generators = tuple(generators) if self.whole else (*z, *x)  # Z generators see X parts; they come first
        self.duals = [gf2.swap(g, m) for g in (*self.generators, all_z, all_x)]
        self._known: dict[int, Costs] = {}
        if not self.fits:
            return
        if self.whole:
            self._table = _reached(self.duals, [(q, m + q) for q in range(m)]).reshape(4, -1).T.tolist()
        else:
            self._z = len(z)
            self._x_part = _reached([gf2.swap(g, m) for g in (*z, all_z)], [(q,) for q in range(m)])
            self._z_part = _reached([gf2.swap(g, m) for g in (*x, all_x)], [(m + q,) for q in range(m)])
            self._light = self._light_patterns()

    def _light_patterns(self) -> list[dict[int, int]]:
        """Patterns of errors on one qubit, and on at most two, with their least weights."""
        singles = [
            (q, p[0] ^ p[1] if kind == 2 else p[kind])
            for q in range(self.m)
            for p in [[sum(1 << k for k, d in enumerate(self.duals) if d >> column & 1) for column in (q, self.m + q)]]
            for kind in range(3)
        ]
        one = {s: 1 for _, s in singles}
        two = {a ^ b: 2 for i, (q, a) in enumerate(singles) for p, b in singles[:i] if p != q}
        return [one, {**two, **one, 0: 0}]

    def _exact(self, pattern: int) -> int | None:
        """The cost where it is at most four."""
        one, two = self._light
        if pattern in two:
            return two[pattern]
        if any(pattern ^ s in two for s in one):
            return 3
        return 4 if any(pattern ^ s in two for s in two) else None

    def costs(self, syndrome: int) -> Costs:
        """Bounds of the costs of the four classes at a syndrome."""
        if self.whole:
            row = tuple(self._table[syndrome])
            return row, row
        if syndrome not in self._known:
            (a, b), (c, d), (e, f), (g, h) = (self._bounds(syndrome, kind) for kind in range(4))
            self._known[syndrome] = (a, c, e, g), (b, d, f, h)
        return self._known[syndrome]

    def _bounds(self, syndrome: int, kind: int) -> tuple[int, int]:
        x_pattern = (syndrome & (1 << self._z) - 1) | (kind & 1) << self._z
        z_pattern = syndrome >> self._z | (kind >> 1) << (self.m - 1 - self._z)
        x, z = int(self._x_part[x_pattern]), int(self._z_part[z_pattern])
        if x == 0 or z == 0:
            return x + z, x + z
        exact = self._exact(syndrome | kind << (self.m - 1)) if max(x, z) <= 4 else None
        return (exact, exact) if exact is not None else (max(x, z, 5), max(5, x + z))


@cache
def inner_code(generators: tuple[int, ...], m: int) -> Inner:
    """The inner code, tabulated once."""
    return Inner(generators, m)


class BlockState:
    """Decides for one prepared state of a concatenation. `group`: its generators, n Paulis of 2 n bits; `blocks`: the qubits of each block
    in the order of the inner code; `inner`: independent generators of the inner code."""

    def __init__(self, group: Sequence[int], n: int, blocks: Sequence[Sequence[int]], inner: Sequence[int], t: int) -> None:
        m = len(blocks[0])
        self.t, self.count, self.width = t, len(blocks), m + 1
        self.inner = inner_code(tuple(inner), m)
        duals = self.inner.duals
        self.columns = [0] * (2 * n)  # of each single X and Z: what it adds to the packed syndromes and classes of all blocks
        for b, qubits in enumerate(blocks):
            for j, q in enumerate(qubits):
                for at, column in ((q, j), (n + q, m + j)):
                    self.columns[at] = sum(1 << k for k, d in enumerate(duals) if d >> column & 1) << b * self.width
        outer = gf2.echelon(self._outer(g) for g in group)
        rows = [gf2.swap(r, self.count) for r in outer.values()]
        self.steps = []  # outer syndrome of classes 0..3 on each block
        for b in range(self.count):
            x, z = (sum(1 << k for k, r in enumerate(rows) if r >> column & 1) for column in (b, self.count + b))
            self.steps.append((0, x, z, x ^ z))
        self.sets = tuple(self._sets(weights) for weights in self.inner.costs(0))

    @staticmethod
    def fits(blocks: Sequence[Sequence[int]], inner: Sequence[int], t: int) -> bool:
        """Whether the tables are of bearable size."""
        if not blocks:
            return False
        code = inner_code(tuple(inner), len(blocks[0]))
        if not code.fits:
            return False
        least, size = min(code.costs(0)[0][1:]), 1
        for k in range(t // least):
            size *= 3 * max(1, len(blocks) - k)
        return size <= 6 * MOST_SETS

    def _pack(self, error: int) -> int:
        out = 0
        for column in gf2.bits(error):
            out ^= self.columns[column]
        return out

    def _parts(self, error: int) -> list[tuple[int, int]]:
        """Syndrome and class of each block."""
        packed, low = self._pack(error), (1 << self.width - 2) - 1
        parts = []
        for _ in range(self.count):
            parts.append((packed & low, packed >> self.width - 2 & 3))
            packed >>= self.width
        return parts

    def _outer(self, member: int) -> int:
        """A member of the group of the state as a Pauli of the outer qubits."""
        out = 0
        for b, (syndrome, kind) in enumerate(self._parts(member)):
            if syndrome:
                raise ValueError("the state is not stabilized by the inner generators")
            out |= (kind & 1) << b | (kind >> 1) << (self.count + b)
        return out

    def _sets(self, weights: tuple[int, int, int, int]) -> dict[int, int]:
        """Outer syndrome -> least sum of weights of inner logical operators on some blocks, as far as it is at most t."""
        best = {0: 0}
        layer = [(0, 0, 0)]  # next block, syndrome, sum
        while layer:
            grown = []
            for first, syndrome, total in layer:
                for b, kind in product(range(first, self.count), (1, 2, 3)):
                    cost = total + weights[kind]
                    if cost <= self.t:
                        s = syndrome ^ self.steps[b][kind]
                        if cost < best.get(s, self.t + 1):
                            best[s] = cost
                        grown.append((b + 1, s, cost))
            layer = grown
        return best

    def judge(self, error: int) -> Verdict:
        """Whether the reduced weight of `error` (2 n bits) is above t; unknown where the costs are bounds that do not decide."""
        parts = self._parts(error)
        target = 0
        for b, (_, kind) in enumerate(parts):
            target ^= self.steps[b][kind]
        faulty = [(b, self.inner.costs(s)) for b, (s, _) in enumerate(parts) if s]
        if not self._within(target, [(b, low) for b, (low, _) in faulty], self.sets[0]):
            return Verdict.DANGEROUS
        return Verdict.HARMLESS if self._within(target, [(b, high) for b, (_, high) in faulty], self.sets[1]) else Verdict.UNKNOWN

    def _within(self, target: int, faulty: Sequence[tuple[int, tuple[int, int, int, int]]], sets: dict[int, int]) -> bool:
        left = sum(min(c) for _, c in faulty)
        if left > self.t:
            return False
        states = {target: 0}
        for b, cost in faulty:
            left -= min(cost)
            grown: dict[int, int] = {}
            for s, total in states.items():
                for kind in range(4):
                    value = total + cost[kind]
                    if value + left <= self.t:
                        u = s ^ self.steps[b][kind]
                        if value < grown.get(u, self.t + 1):
                            grown[u] = value
            states = grown
        return any(total + sets.get(s, self.t + 1) <= self.t for s, total in states.items())
