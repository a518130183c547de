"""The codes by id: the 192 (`base` and `concatenated`), the `extended` set, and the published variant of one of them.

Version `codes-1`: ids, generators in their order, and baselines never change under one version. Distances of base and extended codes come
with certificates (`certificates.json`, written by `certify.py`). The distance of a concatenation follows from them: undetected errors act
on each block as an inner logical operator, whose least weights are known by kind, so it is the least sum of these over the outer logical
operators.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from qtypes.errors import TaskError
from qtypes.stabilizer_codes import distance, extended, families, gf2

VERSION = "codes-1"
LARGEST = 199
"""Concatenations have fewer than 200 qubits."""

Collection = Literal["base", "concatenated", "extended", "published", "drawn"]

ALIKE: dict[str, tuple[str, tuple[int, ...]]] = {
    "detector_4": ("iceberg_2", (0, 1, 2, 3)),
    "hypercube_1": ("iceberg_3", (0, 1, 2, 3, 4, 5)),
    "hexagonal_3": ("steane", (0, 1, 3, 6, 4, 5, 2)),
    "square_octagon_3": ("steane", (0, 1, 3, 4, 6, 5, 2)),
}
"""Base codes that are another one with its qubits in another order: qubit q here is qubit `order[q]` there."""


@dataclass(frozen=True)
class Code:
    """A stabilizer code with its generators as listed, strings over I, X, Y, Z of one length, all with sign plus.

    `d` is the exact distance, or the proven lower bound where `d_upper` is larger; a state (`k` = 0) has the least weight of a stabilizer.
    `d_claimed` is the distance under which the publication lists the code, where it does. `outer` and `inner` name the parts of a
    concatenation, `blocks` the qubits of each block.
    """

    id: str
    name: str
    family: str
    collection: Collection
    generators: tuple[str, ...]
    d: int
    d_upper: int
    d_claimed: int
    certificate: str
    outer: str = ""
    inner: str = ""
    blocks: tuple[tuple[int, ...], ...] = ()

    @property
    def n(self) -> int:
        """Number of qubits."""
        return len(self.generators[0])

    @property
    def listed(self) -> int:
        """Number of listed generators: the weight in the published scoring."""
        return len(self.generators)

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """The generators as in `gf2`."""
        return tuple(gf2.parse(g) for g in self.generators)

    @cached_property
    def rank(self) -> int:
        """Number of independent generators."""
        return gf2.rank(self.rows)

    @property
    def k(self) -> int:
        """Number of logical qubits."""
        return self.n - self.rank

    @cached_property
    def is_css(self) -> bool:
        """Whether every generator has X only or Z only."""
        return all("Y" not in g and not ("X" in g and "Z" in g) for g in self.generators)

    @property
    def inner_rows(self) -> tuple[int, ...]:
        """Generators of the inner code of a concatenation, else none."""
        return load(self.inner).rows if self.inner else ()

    @property
    def representative(self) -> str:
        """Id of the code of which this one is a copy up to the order of qubits, its own if it is the first."""
        if self.collection == "drawn":
            return self.id
        if self.collection == "concatenated":
            return concatenation_id(_first(self.outer), _first(self.inner))
        return _first(self.id)

    @property
    def weight(self) -> Fraction:
        """Weight in the corrected scoring: independent generators, shared among copies up to the order of qubits."""
        return Fraction(self.rank, len(copies(self.representative)) if self.collection in ("base", "concatenated") else 1)


def concatenation_id(outer: str, inner: str) -> str:
    return f"{outer}_over_{inner}"


def _first(base: str) -> str:
    return ALIKE[base][0] if base in ALIKE else base


@cache
def certificates() -> dict[str, dict[str, dict[str, Any]]]:
    """Certificates by code and kind of operator: `lower`, `upper`, `witness`."""
    return json.loads(Path(__file__).with_name("certificates.json").read_text(encoding="utf-8"))


def _bounds(name: str) -> tuple[int, int, str]:
    found = certificates().get(name)
    if found is None:
        raise TaskError(f"no certificate of {name}: run qtypes.stabilizer_codes.certify")
    lower, upper = (min(c[end] for c in found.values()) for end in ("lower", "upper"))
    if lower == upper:
        return lower, upper, f"exhaustive search: no logical operator below weight {lower}, a witness of that weight"
    return lower, upper, f"exhaustive search to weight {lower - 1}; a witness of weight {upper}"


@cache
def _base(name: str) -> Code:
    b = next(b for b in families.BASES if b.id == name)
    lower, upper, how = _bounds(name)
    return Code(b.id, b.name, b.family, "base", b.build(), lower, upper, b.d, how)


def _inner_weights(inner: Code) -> dict[str, tuple[int, int]]:
    """Least weights (at least, at most) of the inner logical X, Y, Z: from the certificates for CSS codes, by enumeration for five qubits.
    A Y of a CSS code is a product of an X and a Z, and no lighter than either."""
    if not inner.is_css:
        group = [0]
        for row in inner.rows:
            group += [g ^ row for g in group]
        least = {letter: min(gf2.weight(g ^ gf2.parse(letter * inner.n), inner.n) for g in group) for letter in "XYZ"}
        return {letter: (w, w) for letter, w in least.items()}
    x, z = (int(certificates()[inner.id][kind]["lower"]) for kind in "XZ")
    return {"X": (x, x), "Z": (z, z), "Y": (max(x, z), x + z)}


def _concatenated_distance(outer: Code, inner: Code) -> int:
    """Exact. For a CSS outer code the least sum is at an X-only or a Z-only operator, as an inner Y is no lighter than an inner X or Z."""
    w = _inner_weights(inner)
    if outer.is_css:
        return min(int(certificates()[outer.id][kind]["lower"]) * w[kind][0] for kind in "XZ")
    logical = _logical_strings(outer.id)
    lower, upper = (min(sum(w[c][end] for c in text if c != "I") for text in logical) for end in (0, 1))
    if lower != upper:
        raise TaskError(f"the distance of {outer.id} over {inner.id} depends on the least inner Y")
    return lower


@cache
def _logical_strings(outer: str) -> tuple[str, ...]:
    """All logical operators of a small code other than stabilizers."""
    code = _base(outer)
    operators = [p for pair in gf2.logicals(code.rows, code.n) for p in pair]
    found = []
    for letters in product("IXZY", repeat=code.n):
        p = gf2.parse("".join(letters))
        commutes = not any(gf2.anticommute(p, g, code.n) for g in code.rows)
        if commutes and any(gf2.anticommute(p, o, code.n) for o in operators):
            found.append("".join(letters))
    return tuple(found)


@cache
def _concatenated(outer: str, inner: str) -> Code:
    a, b = _base(outer), _base(inner)
    d = _concatenated_distance(a, b)
    how = f"least weight over the logical operators of {a.id} of inner least weights ({b.id})"
    generators = families.concatenated(a.generators, b.generators)
    return Code(
        concatenation_id(outer, inner), f"{a.name} over {b.name}", "concatenated", "concatenated", generators,
        d, d, a.d_claimed * b.d_claimed, how, outer, inner, tuple(tuple(range(b.n * j, b.n * (j + 1))) for j in range(a.n)),
    )  # fmt: skip


@cache
def _extra(name: str) -> Code:
    e = next(e for e in extended.EXTRAS if e.id == name)
    lower, upper, how = _bounds(name)
    return Code(e.id, e.name, e.family, "extended", e.build(), lower, upper, lower, how)


@cache
def _pairs() -> dict[str, tuple[str, str]]:
    return {
        concatenation_id(a.id, b.id): (a.id, b.id) for a in families.BASES for b in families.BASES if b.k == 1 and a.n * b.n <= LARGEST
    }  # fmt: skip


PUBLISHED_VARIANT = "bb_90_published"


@cache
def ids(collection: str = "all") -> tuple[str, ...]:
    """Ids in their fixed order: `base` (24), `concatenated` (168), `all` (those 192), `extended`, `published` (one)."""
    base = tuple(b.id for b in families.BASES)
    groups = {
        "base": base, "concatenated": tuple(_pairs()), "all": base + tuple(_pairs()), "extended": tuple(e.id for e in extended.EXTRAS),
        "published": (PUBLISHED_VARIANT,),
    }  # fmt: skip
    if collection not in groups:
        raise KeyError(f"no collection {collection!r}; known: {', '.join(groups)}")
    return groups[collection]


def load(name: str) -> Code:
    """The code `name`; `KeyError` where there is none."""
    if name in _pairs():
        return _concatenated(*_pairs()[name])
    if name in ids("base"):
        return _base(name)
    if name in ids("extended"):
        return _extra(name)
    if name == PUBLISHED_VARIANT:
        lower, upper, how = _bounds(name)
        return Code(name, "Bivariate bicycle, 90 qubits, as published", "bivariate bicycle", "published", families.bb_90_published(),
                    lower, upper, 10, how)  # fmt: skip
    raise KeyError(f"no stabilizer code {name!r}")


@cache
def copies(representative: str) -> tuple[str, ...]:
    """Ids among the 192 of all copies of a code up to the order of qubits, itself included."""
    return tuple(name for name in ids() if load(name).representative == representative)


def drawn(rng: np.random.Generator, n: int, k: int) -> Code:
    """A random code of `n` qubits and `k` logical ones, uniform over such groups, its distance by exhaustive search; generators are a
    random basis. Meant for n up to about 30."""
    tableau = _random_tableau(rng, n)
    rows = [gf2.parse(str(tableau.z_output(q))[1:].replace("_", "I")) for q in range(n - k)]
    generators = tuple(gf2.show(r, n) for r in rows)
    found = distance.bounds(rows, n, "XYZ", rng=rng, rounds=30, most=10**6) if k else distance.least_weight(rows, n)
    if found is None:
        raise TaskError("a code with logical qubits has a logical operator")
    how = "exhaustive search" if found.exact else f"exhaustive search to weight {found.lower - 1}"
    return Code(f"drawn_{n}_{k}", f"Random code, {n} qubits, {k} logical", "random", "drawn", generators, found.lower, found.upper,
                found.lower, how)  # fmt: skip


def shuffled(code: Code, rng: np.random.Generator) -> Code:
    """The code with its qubits in random order and its generators in random order; the same n, k, d."""
    order = rng.permutation(code.n).tolist()
    place = {q: at for at, q in enumerate(order)}
    rows = tuple("".join(code.generators[int(g)][q] for q in order) for g in rng.permutation(code.listed))
    blocks = tuple(tuple(place[q] for q in block) for block in code.blocks)
    return replace(code, id=f"{code.id}_shuffled", name=f"{code.name}, qubits in random order", collection="drawn", generators=rows,
                   blocks=blocks)  # fmt: skip


def _random_tableau(rng: np.random.Generator, n: int) -> Any:
    """A Clifford operation far along a random walk: layers of random one-qubit Cliffords and random pairs of CZ, n of them."""
    import stim

    c = stim.Circuit()
    singles = ("I", "H", "S", "C_XYZ", "C_ZYX", "SQRT_X")
    for _ in range(n + 4):
        for q in range(n):
            c.append(singles[int(rng.integers(6))], [q])
        order = rng.permutation(n).tolist()
        for a, b in zip(order[::2], order[1::2], strict=False):
            c.append("CZ", [a, b])
    return c.to_tableau()


@cache
def size(name: str) -> int:
    """Number of qubits of a listed or extended code."""
    return load(name).n
