"""The 24 base codes from their definitions: supports of X and Z checks, and generator strings.

Qubit q of a code is character q of its strings. All signs are plus. A CSS code is a pair (X checks, Z checks) of supports.

Sources: Laflamme et al. 1996 and Bennett et al. 1996 (five qubits); Steane 1996 (Steane, Hamming, Golay); Shor 1995; Knill, Laflamme, Zurek
1996 and Steane 1999 (tetrahedral, the 15-qubit Reed-Muller code); Knill 2005 and Paetznick et al. 2024 (Carbon); Bravyi et al. 2024
(bivariate bicycle); Self et al. 2024 (Iceberg); Goto 2024 (many-hypercube); Grassl et al. 1997 (four-qubit detector); Bombin and
Martin-Delgado 2006 and Landahl et al. 2011 (colour codes); Tomita and Svore 2014 (rotated surface code).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import combinations

Supports = list[list[int]]
Term = tuple[int, int]
"""A monomial x^a y^b."""

HEXAGON = ((1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1))
OCTAGON = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
SQUARE = ((1, 0), (0, 1), (-1, 0), (0, -1))


def css(n: int, x_checks: Iterable[Iterable[int]], z_checks: Iterable[Iterable[int]]) -> tuple[str, ...]:
    """Generator strings, X checks first."""

    def text(support: Iterable[int], letter: str) -> str:
        held = set(support)
        return "".join(letter if q in held else "I" for q in range(n))

    return (*(text(s, "X") for s in x_checks), *(text(s, "Z") for s in z_checks))


def hamming_rows(r: int) -> Supports:
    """Checks of the Hamming code of length 2^r - 1: qubit q is in row b where bit b of q + 1 is set."""
    return [[q for q in range(2**r - 1) if (q + 1) >> b & 1] for b in range(r)]


def perfect_5() -> tuple[str, ...]:
    return tuple("XZZXI"[-s:] + "XZZXI"[:-s] if s else "XZZXI" for s in range(4))


def steane() -> tuple[str, ...]:
    return css(7, hamming_rows(3), hamming_rows(3))


def shor() -> tuple[str, ...]:
    """Three blocks of three: bit flips within a block by Z Z, phase flips between blocks by X on six."""
    pairs = [[3 * b + j, 3 * b + j + 1] for b in range(3) for j in range(2)]
    return css(9, [range(6), range(3, 9)], pairs)


def tetrahedral() -> tuple[str, ...]:
    """X on the four cells of a tetrahedron (Hamming rows), Z on the cells and on the six faces where two of them meet."""
    cells = hamming_rows(4)
    return css(15, cells, [*cells, *(sorted(set(a) & set(b)) for a, b in combinations(cells, 2))])


def hamming_15() -> tuple[str, ...]:
    return css(15, hamming_rows(4), hamming_rows(4))


def carbon() -> tuple[str, ...]:
    """C6 over three blocks of C4; each C4 block carries two logical qubits with X_1 = XXII, X_2 = XIXI, Z_1 = ZIZI, Z_2 = ZZII."""
    blocks = [range(4 * b, 4 * b + 4) for b in range(3)]
    logical = {"X": ((0, 1), (0, 2)), "Z": ((0, 2), (0, 1))}

    def lifted(pattern: str, letter: str) -> list[int]:
        support: set[int] = set()
        for k, held in enumerate(pattern):
            if held != "I":
                support ^= {4 * (k // 2) + j for j in logical[letter][k % 2]}
        return sorted(support)

    outer = ("*II***", "***II*")  # the two checks of C6 of either kind
    return css(12, [*blocks, *(lifted(p, "X") for p in outer)], [*blocks, *(lifted(p, "Z") for p in outer)])


def golay() -> tuple[str, ...]:
    """Both checks are the even half of the cyclic Golay code: 11 shifts of (1 + x) (1 + x + x^5 + x^6 + x^7 + x^9 + x^11)."""
    generator: set[int] = set()
    for e in (0, 1, 5, 6, 7, 9, 11):
        generator ^= {e}
        generator ^= {e + 1}
    rows = [[e + shift for e in sorted(generator)] for shift in range(11)]
    return css(23, rows, rows)


def two_block(l: int, m: int, a: Iterable[Term], b: Iterable[Term]) -> tuple[str, ...]:  # noqa: E741
    """H_X = [A | B], H_Z = [B^T | A^T] over the group algebra of Z_l x Z_m; x^i y^j of the left half is qubit m i + j, of the right one
    l m further. A generalised bicycle code has m = 1."""
    a, b = list(a), list(b)

    def at(i: int, j: int) -> int:
        return (i % l) * m + j % m

    cells = [(i, j) for i in range(l) for j in range(m)]
    half = l * m
    x = [[at(i + s, j + t) for s, t in a] + [half + at(i + s, j + t) for s, t in b] for i, j in cells]
    z = [[at(i - s, j - t) for s, t in b] + [half + at(i - s, j - t) for s, t in a] for i, j in cells]
    return css(2 * half, x, z)


def bb_72() -> tuple[str, ...]:
    return two_block(6, 6, [(3, 0), (0, 1), (0, 2)], [(0, 3), (1, 0), (2, 0)])


def bb_90() -> tuple[str, ...]:
    return two_block(15, 3, [(9, 0), (0, 1), (0, 2)], [(0, 0), (2, 0), (7, 0)])


def iceberg(m: int) -> tuple[str, ...]:
    return css(2 * m, [range(2 * m)], [range(2 * m)])


def hypercube(level: int) -> tuple[str, ...]:
    """[[6,4,2]] concatenated with itself `level` times (1 or 2); logical qubit i of a block has X on 0 and i, Z on 0 and i."""
    if level == 1:
        return css(6, [range(6)], [range(6)])
    blocks = [list(range(6 * b, 6 * b + 6)) for b in range(6)]
    across = [[6 * b + q for b in range(6) for q in (0, i)] for i in range(1, 5)]
    return css(36, [*blocks, *across], [*blocks, *across])


def hexagonal(d: int) -> tuple[str, ...]:
    """6.6.6 triangle of odd distance d: points 0 <= x <= y <= 3 (d - 1) / 2 of a triangular lattice, one class of (x + y) mod 3 are
    plaquettes, the others qubits."""
    side = 3 * (d - 1) // 2
    points = [(x, y) for y in range(side + 1) for x in range(y + 1)]
    n = (3 * d * d + 1) // 4
    for kind in range(3):
        index = {p: k for k, p in enumerate(p for p in points if sum(p) % 3 != kind)}
        faces = [_around(p, HEXAGON, index) for p in points if sum(p) % 3 == kind]
        if len(index) == n and all(len(f) in (4, 6) for f in faces):
            return css(n, faces, faces)
    raise ValueError(f"no hexagonal colour code of distance {d}")


def square_octagon(d: int) -> tuple[str, ...]:
    """4.8.8 triangle of odd distance d: octagons at (4 i, 4 j), squares between them, cut by x > 0, y > 0, x + y < 2 (d + 1); on each of
    the two axes the cut octagons of one colour (parity of i + j) are dropped."""
    reach = 2 * (d + 1)
    faces: list[list[Term]] = []
    for i in range(d):
        for j in range(d):
            dropped = (j == 0 and i % 2 == 0) or (i == 0 and j % 2 == 1)
            if not dropped:
                faces.append([(4 * i + a, 4 * j + b) for a, b in OCTAGON])
            faces.append([(4 * i + 2 + a, 4 * j + 2 + b) for a, b in SQUARE])
    inside = [[(x, y) for x, y in f if x > 0 and y > 0 and x + y < reach] for f in faces]
    inside = [f for f in inside if len(f) >= 4]
    index = {p: k for k, p in enumerate(sorted({p for f in inside for p in f}))}
    supports = [sorted(index[p] for p in f) for f in inside]
    return css(len(index), supports, supports)


def _around(p: Term, offsets: Iterable[Term], index: dict[Term, int]) -> list[int]:
    return sorted(index[p[0] + a, p[1] + b] for a, b in offsets if (p[0] + a, p[1] + b) in index)


def rotated_surface(d: int) -> tuple[str, ...]:
    """Qubit (row, column) is d row + column; plaquettes alternate, X halves on the left and right side, Z halves at top and bottom."""
    x: Supports = []
    z: Supports = []
    for r in range(-1, d):
        for c in range(-1, d):
            face = [(r + a) * d + c + b for a in (0, 1) for b in (0, 1) if 0 <= r + a < d and 0 <= c + b < d]
            at_side, is_x = c in (-1, d - 1), (r + c) % 2 == 0
            if len(face) == 4 or (len(face) == 2 and at_side == is_x):
                (x if is_x else z).append(face)
    return css(d * d, x, z)


@dataclass(frozen=True)
class Base:
    """A base code: its `name`, how it is made, and the claimed n, k, d and number of listed generators."""

    id: str
    name: str
    family: str
    build: Callable[[], tuple[str, ...]]
    n: int
    k: int
    d: int
    listed: int


BASES: tuple[Base, ...] = (
    Base("perfect_5", "Perfect five-qubit", "other", perfect_5, 5, 1, 3, 4),
    Base("steane", "Steane", "other", steane, 7, 1, 3, 6),
    Base("shor", "Shor", "other", shor, 9, 1, 3, 8),
    Base("tetrahedral", "Tetrahedral", "other", tetrahedral, 15, 1, 3, 14),
    Base("hamming_15", "Hamming", "other", hamming_15, 15, 7, 3, 8),
    Base("carbon", "Carbon", "other", carbon, 12, 2, 4, 10),
    Base("golay", "Golay", "other", golay, 23, 1, 7, 22),
    Base("bb_72", "Bivariate bicycle, 72 qubits", "bivariate bicycle", bb_72, 72, 12, 6, 72),
    Base("bb_90", "Bivariate bicycle, 90 qubits", "bivariate bicycle", bb_90, 90, 8, 10, 90),
    *(Base(f"iceberg_{m}", f"Iceberg, m = {m}", "iceberg", partial(iceberg, m), 2 * m, 2 * m - 2, 2, 2) for m in (2, 3, 4)),
    Base("hypercube_1", "Many-hypercube, level 1", "hypercube", partial(hypercube, 1), 6, 4, 2, 2),
    Base("hypercube_2", "Many-hypercube, level 2", "hypercube", partial(hypercube, 2), 36, 16, 4, 20),
    Base("detector_4", "Four-qubit detector", "other", partial(iceberg, 2), 4, 2, 2, 2),
    *(
        Base(f"hexagonal_{d}", f"Hexagonal colour, d = {d}", "colour", partial(hexagonal, d), n, 1, d, n - 1)
        for d, n in ((3, 7), (5, 19), (7, 37))
    ),
    *(
        Base(f"square_octagon_{d}", f"Square-octagon colour, d = {d}", "colour", partial(square_octagon, d), n, 1, d, n - 1)
        for d, n in ((3, 7), (5, 17), (7, 31))
    ),
    *(
        Base(f"surface_{d}", f"Rotated surface, d = {d}", "rotated surface", partial(rotated_surface, d), d * d, 1, d, d * d - 1)
        for d in (3, 5, 7)
    ),
)  # fmt: skip


def concatenated(outer: Iterable[str], inner: Iterable[str]) -> tuple[str, ...]:
    """Each qubit of `outer` encoded in a block of `inner`, a code with one logical qubit whose X and Z are X and Z on all its qubits (so
    for every such base code: their lengths are odd). The generators of the blocks come first, then the outer ones."""
    outer, inner = list(outer), list(inner)
    n, m = len(outer[0]), len(inner[0])
    blocks = [("I" * m * b) + g + "I" * m * (n - 1 - b) for b in range(n) for g in inner]
    return (*blocks, *("".join(letter * m for letter in g) for g in outer))


def bb_90_published() -> tuple[str, ...]:
    """The published variant of `bb_90`, of distance 2: the same polynomials with the orders of x and y exchanged, so that x^9 = 1 and
    x^7 = x. See docs/stabilizer.md on how this was inferred."""
    return two_block(3, 15, [(9, 0), (0, 1), (0, 2)], [(0, 0), (2, 0), (7, 0)])
