"""The extended set: codes beyond the 192, in the same format.

Families: hypergraph products (Tillich and Zemor 2014), two-block and generalised bicycle codes (Kovalev and Pryadko 2013; Panteleev and
Kalachev 2021; Bravyi et al. 2024), lifted products (Panteleev and Kalachev 2022), and syndrome-extraction instances. Of the codes whose
polynomials are not from those papers, they were found by random search over few terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from qtypes.stabilizer_codes import families
from qtypes.stabilizer_codes.families import css, two_block

Ring = Sequence[Sequence[Sequence[int]]]
"""A matrix over F_2[x] / (x^l - 1): an entry is the exponents of its terms."""


def lifted_product(a: Ring, b: Ring, l: int) -> tuple[str, ...]:  # noqa: E741
    """H_X = [A (x) I | I (x) B*], H_Z = [I (x) B | A* (x) I], * is the transpose with x -> 1/x. l = 1 is the hypergraph product."""
    ma, na, mb, nb = len(a), len(a[0]), len(b), len(b[0])
    left = na * nb * l

    def on_left(i: int, j: int, e: int) -> int:
        return (i * nb + j) * l + e % l

    def on_right(i: int, j: int, e: int) -> int:
        return left + (i * mb + j) * l + e % l

    x = [
        [on_left(k, j, e + t) for k in range(na) for t in a[i][k]] + [on_right(i, k, e - t) for k in range(mb) for t in b[k][j]]
        for i in range(ma) for j in range(nb) for e in range(l)
    ]  # fmt: skip
    z = [
        [on_left(i, k, e + t) for k in range(nb) for t in b[j][k]] + [on_right(k, j, e - t) for k in range(ma) for t in a[k][i]]
        for i in range(na) for j in range(mb) for e in range(l)
    ]  # fmt: skip
    return css(left + ma * mb * l, x, z)


def classical(n: int, checks: Sequence[Sequence[int]]) -> Ring:
    """A binary check matrix of `n` columns from the supports of its rows, as a matrix over the ring with l = 1."""
    return [[(0,) if q in row else () for q in range(n)] for row in checks]


def repetition(d: int, *, closed: bool = False) -> Ring:
    """Checks of the repetition code of length `d`; `closed` adds the redundant one between the ends."""
    return classical(d, [(q, (q + 1) % d) for q in range(d if closed else d - 1)])


def cyclic(n: int, exponents: Sequence[int]) -> Ring:
    """All n shifts of a check polynomial."""
    return classical(n, [[(s + e) % n for e in exponents] for s in range(n)])


HAMMING_7 = classical(7, families.hamming_rows(3))
SIMPLEX_7 = classical(7, [(0, 1, 2), (0, 3, 4), (1, 3, 5), (0, 5, 6)])
"""[7, 3, 4]: columns are numbered as in the Hamming code, whose words of three ones are these lines of the plane of seven points."""
EXTENDED_HAMMING_8 = classical(8, [*families.hamming_rows(3), range(8)])


def extraction(base: str) -> tuple[str, ...]:
    """Syndrome extraction of a CSS base code, halted before the ancillas are measured: data in |0>, an ancilla in |+> for each X check, CX
    from ancilla to every qubit of its check. Stabilized by X_a g_a and by Z_q times Z on the ancillas of the checks that hold q; measuring
    the ancillas in X prepares the code. No logical qubits; the distance of such a state is the least weight of a stabilizer (Calderbank
    et al. 1998)."""
    generators = next(b for b in families.BASES if b.id == base).build()
    n = len(generators[0])
    checks = [[q for q in range(n) if g[q] == "X"] for g in generators if "X" in g]
    x = [[*check, n + a] for a, check in enumerate(checks)]
    z = [[q, *(n + a for a, check in enumerate(checks) if q in check)] for q in range(n)]
    return css(n + len(checks), x, z)


@dataclass(frozen=True)
class Extra:
    """A code of the extended set. `period`: blocks of so many qubits are cyclic or doubly cyclic orbits of symmetries of the code."""

    id: str
    name: str
    family: str
    build: Callable[[], tuple[str, ...]]
    period: int | None = None


def _products() -> list[Extra]:
    made: list[tuple[str, str, Ring, Ring]] = [
        *((f"hgp_surface_{d}", f"planar surface, d = {d}", repetition(d), repetition(d)) for d in (3, 4, 5, 6, 7)),
        *((f"hgp_toric_{d}", f"toric, d = {d}", repetition(d, closed=True), repetition(d, closed=True)) for d in (3, 4, 5, 6, 7)),
        ("hgp_hamming_hamming", "Hamming 7 by Hamming 7", HAMMING_7, HAMMING_7),
        ("hgp_hamming_repetition", "Hamming 7 by repetition 3", HAMMING_7, repetition(3)),
        ("hgp_simplex_simplex", "simplex 7 by simplex 7", SIMPLEX_7, SIMPLEX_7),
        ("hgp_extended_hamming", "extended Hamming 8 squared", EXTENDED_HAMMING_8, EXTENDED_HAMMING_8),
        ("hgp_simplex_repetition", "simplex 7 by repetition 4", SIMPLEX_7, repetition(4)),
        ("hgp_cyclic_7", "cyclic simplex 7 squared", cyclic(7, (0, 1, 3)), cyclic(7, (0, 1, 3))),
        ("hgp_cyclic_6", "cyclic 1 + x + x^2 of length 6, squared", cyclic(6, (0, 1, 2)), cyclic(6, (0, 1, 2))),
    ]
    return [
        Extra(name, f"Hypergraph product, {title}", "hypergraph product", partial(lifted_product, a, b, 1))
        for name, title, a, b in made
    ]  # fmt: skip


def _bicycles() -> list[Extra]:
    bivariate = [
        ("bb_108", 9, 6, [(3, 0), (0, 1), (0, 2)], [(0, 3), (1, 0), (2, 0)]),
        ("bb_144", 12, 6, [(3, 0), (0, 1), (0, 2)], [(0, 3), (1, 0), (2, 0)]),
    ]
    univariate = {
        15: ((2, 4, 11, 13), (1, 10, 11, 14)), 17: ((4, 6, 14, 15), (2, 8, 12, 14)), 18: ((2, 5, 10, 13), (0, 1, 13, 16)),
        21: ((12, 17, 19), (3, 4, 5)), 22: ((8, 14, 15, 19), (0, 8, 16, 20)), 23: ((0, 5, 8, 12), (0, 1, 5, 7)),
        24: ((0, 2, 8, 15), (0, 2, 12, 17)), 27: ((9, 22, 24, 25), (3, 9, 22, 25)), 30: ((8, 11, 19, 26), (4, 12, 13, 25)),
        32: ((15, 23, 25, 29), (12, 19, 29, 30)), 33: ((0, 2, 13), (7, 14, 15)), 40: ((10, 26, 32, 36), (0, 5, 9, 16)),
        44: ((5, 13, 30, 42), (0, 19, 20, 23)), 63: ((0, 1, 14, 16, 22), (0, 3, 13, 20, 42)),
    }  # fmt: skip
    return [
        *(
            Extra(name, f"Bivariate bicycle, {2 * size * m} qubits", "generalised bicycle",
                  partial(two_block, size, m, a, b), size * m)
            for name, size, m, a, b in bivariate
        ),
        *(
            Extra(f"gb_{2 * size}", f"Generalised bicycle, {2 * size} qubits", "generalised bicycle",
                  partial(two_block, size, 1, [(e, 0) for e in a], [(e, 0) for e in b]), size)
            for size, (a, b) in univariate.items()
        ),
    ]  # fmt: skip


LIFTED: dict[int, tuple[int, Ring, Ring]] = {
    24: (3, (((2,), (0,)), ((2,), (1, 2))), (((2,), (0,)), ((2,), (1, 2)))),
    25: (5, (((2, 3), (0, 2)),), (((2, 3), (0, 2)),)),
    32: (4, (((0, 1), (0, 3)), ((3,), (0,))), (((0, 1), (0, 3)), ((3,), (0,)))),
    35: (7, (((2, 3), (1, 4)),), (((2, 3), (1, 4)),)),
    48: (6, (((2,), (3, 4)), ((3, 4), (2,))), (((2,), (3, 4)), ((3, 4), (2,)))),
    52: (4, (((0,), (1, 3), (0, 3)), ((1, 3), (3,), (1,))), (((0,), (1, 3), (0, 3)), ((1, 3), (3,), (1,)))),
    65: (5, (((2,), (1, 2), (2,)), ((1, 4), (3,), (1,))), (((2,), (1, 2), (2,)), ((1, 4), (3,), (1,)))),
    72: (9, (((3, 8), (2, 4)), ((1, 8), (5, 6))), (((3, 8), (2, 4)), ((1, 8), (5, 6)))),
    78: (6, (((0, 3), (2, 3), (2, 3)), ((0, 2), (5,), (0,))), (((0, 3), (2, 3), (2, 3)), ((0, 2), (5,), (0,)))),
    91: (7, (((0, 3), (6,), (3, 4)), ((4,), (1,), (4, 6))), (((0,), (3, 4), (2,)), ((0, 1), (1, 3), (0,)))),
    104: (8, (((1, 7), (7,), (6,)), ((2,), (0, 3), (6,))), (((1, 7), (7,), (6,)), ((2,), (0, 3), (6,)))),
    117: (9, (((0, 8), (1, 8), (0, 1)), ((3,), (0, 7), (5, 8))), (((0, 8), (1, 8), (0, 1)), ((3,), (0, 7), (5, 8)))),
    128: (16, (((11, 14), (12, 13)), ((5,), (11,))), (((11, 14), (12, 13)), ((5,), (11,)))),
}
"""Number of qubits -> order of the ring and the two base matrices."""

_EXTRACTED = ("steane", "shor", "tetrahedral", "hamming_15", "carbon", "golay", "hexagonal_5", "square_octagon_5", "surface_3", "surface_5",
              "surface_7", "hypercube_2", "bb_72")  # fmt: skip

EXTRAS: tuple[Extra, ...] = (
    *_products(),
    *_bicycles(),
    *(Extra(f"lp_{n}", f"Lifted product, {n} qubits", "lifted product", partial(lifted_product, a, b, size), size)
      for n, (size, a, b) in LIFTED.items()),
    *(Extra(f"extraction_{b}", f"Syndrome extraction, {b}", "syndrome extraction", partial(extraction, b)) for b in _EXTRACTED),
)  # fmt: skip
