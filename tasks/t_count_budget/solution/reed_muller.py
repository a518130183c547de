"""Fewer T gates in a diagonal section: third-order Reed-Muller decoding.

Sets of parities y in F_2^r that differ by a codeword of the punctured Reed-Muller code RM(r-4, r)* give the same phases up to a Clifford
(Amy and Mosca 2019). Two kinds of steps look for a lighter set: codewords of least weight, that is four-dimensional flats, of which more
than half lies in the set; and TODD (Heyfron and Campbell 2018), which moves a subset along one direction z so that pairs meet.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

MAX_QUADRUPLES = 150_000
MAX_SOLIDS = 1_500


@cache
def _quadruples(m: int) -> np.ndarray:
    return np.array(list(combinations(range(m), 4)), dtype=np.int16)


def flats(points: set[int], rank: int, rng: np.random.Generator, least: int = 8) -> list[tuple[int, frozenset[int]]]:
    """Four-flats of F_2^rank as (gain, points): `gain` is how much lighter the set becomes by adding the flat. Flats through 0 count
    0 as present because the empty parity costs nothing. `least` is the smallest number of common points looked for."""
    if len(points) < 5 or rank < 4:
        return []
    present = np.zeros(1 << rank, dtype=np.int8)
    pts = np.array([0, *sorted(points)])
    present[pts] = 1
    m = len(pts)
    if m <= 44:
        quads = _quadruples(m)
        if len(quads) > MAX_QUADRUPLES:
            quads = quads[rng.integers(0, len(quads), MAX_QUADRUPLES)]
    else:
        quads = rng.integers(0, m, (MAX_QUADRUPLES, 4))
    a, b, c, d = pts[quads].T
    abc = a ^ b ^ c
    hits = 4 + present[abc] + present[a ^ b ^ d] + present[a ^ c ^ d] + present[b ^ c ^ d]
    proper = (abc != d) & (a != b) & (a != c) & (b != c) & (a != d) & (b != d) & (c != d) & (hits >= (least + 1) // 2)
    chosen = np.flatnonzero(proper)
    if len(chosen) == 0:
        return []
    if len(chosen) > MAX_SOLIDS:
        order = rng.random(len(chosen)) - hits[chosen]
        chosen = chosen[np.argpartition(order, MAX_SOLIDS)[:MAX_SOLIDS]]
    a, b, c, d, hits = a[chosen], b[chosen], c[chosen], d[chosen], hits[chosen]
    solid = np.stack([a, b, c, d, a ^ b ^ c, a ^ b ^ d, a ^ c ^ d, b ^ c ^ d], axis=1)
    shift = a[:, None] ^ pts[None, :]
    total = hits[:, None] + present[solid[:, None, :] ^ shift[:, :, None]].sum(axis=2)
    inside = (solid[:, None, :] == pts[None, :, None]).any(axis=2)
    total = np.where(inside, 0, total)
    found: dict[frozenset[int], int] = {}
    rows, columns = np.nonzero(total >= least)
    if len(rows) > 400:
        order = np.argsort(-total[rows, columns] + rng.random(len(rows)))[:400]
        rows, columns = rows[order], columns[order]
    for i, j in zip(rows, columns, strict=True):
        flat = frozenset((*solid[i].tolist(), *(solid[i] ^ shift[i, j]).tolist()))
        found[flat] = 2 * int(total[i, j]) - (17 if 0 in flat else 16)
    return [(gain, flat) for flat, gain in found.items()]


def toggled(points: set[int], flat: frozenset[int]) -> set[int]:
    return (points ^ flat) - {0}


def todd(points: set[int], rank: int, rng: np.random.Generator, directions: int = 60) -> set[int] | None:
    """One TODD step along the best of up to `directions` sampled directions; None where none removes a T."""
    cols = sorted(points)
    sums: dict[int, int] = {}
    for i, p in enumerate(cols):
        for q in cols[:i]:
            sums[p ^ q] = sums.get(p ^ q, 0) + 1
    tried = sorted(sums, key=lambda z: -sums[z] + rng.random())[:directions]
    best: set[int] | None = None
    for z in tried:
        for y in _null_vectors(cols, rank, z):
            moved = {c for i, c in enumerate(cols) if y >> i & 1}
            new = set(cols) - moved
            for c in moved:
                new ^= {c ^ z}
            if len(moved) % 2:
                new ^= {z}
            new.discard(0)
            if len(new) < len(best if best is not None else points):
                best = new
    return best


def _null_vectors(cols: list[int], rank: int, z: int) -> list[int]:
    """Subsets of the columns (as bit masks) that may be moved along z: orthogonal to all coordinates and, in coordinates where z is a
    unit vector, to all products of two other coordinates."""
    pivot = z & -z
    rest = z ^ pivot
    bits = [c ^ rest if c & pivot else c for c in cols]
    rows = [sum((c >> i & 1) << j for j, c in enumerate(bits)) for i in range(rank)]
    others = [row for i, row in enumerate(rows) if 1 << i != pivot]
    equations = rows + [p & q for p, q in combinations(others, 2)]
    echelon: list[tuple[int, int]] = []
    for row in equations:
        for lead, e in echelon:
            if row & lead:
                row ^= e
        if row:
            lead = row & -row
            echelon = [(h, e ^ row if e & lead else e) for h, e in echelon]
            echelon.append((lead, row))
    taken = sum(lead for lead, _ in echelon)
    return [1 << j | sum(lead for lead, e in echelon if e >> j & 1) for j in range(len(cols)) if not taken >> j & 1]


def lighten(points: set[int], rank: int, rng: np.random.Generator, steps: int, temperature: float) -> set[int]:
    """The lightest set found by descent along flats, then TODD, then `steps` annealing steps along flats."""
    current = set(points)
    while True:
        options = flats(current, rank, rng, least=9)
        best = max((g for g, _ in options), default=0)
        if best > 0:
            good = [f for g, f in options if g == best]
            current = toggled(current, good[int(rng.integers(len(good)))])
            continue
        shorter = todd(current, rank, rng) if len(current) > rank else None
        if shorter is None:
            break
        current = shorter
    lightest = set(current)
    for _ in range(steps):
        options = flats(current, rank, rng, least=7)
        if not options:
            break
        weights = np.exp(np.array([g for g, _ in options]) / temperature)
        current = toggled(current, options[int(rng.choice(len(options), p=weights / weights.sum()))][1])
        if len(current) <= len(lightest):
            lightest = set(current)
    return lightest
