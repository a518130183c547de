"""Instances with planted structure: phase-polynomial sections hidden under identities, and ripple-carry adders.

A section applies T on distinct random parities of the qubits. T on all 15 non-zero combinations of four independent parities is the
identity up to global phase: every non-zero vector of F_2^4 has odd product with 8 of the 15, and 8 pi/4 = 2 pi. Adding such identities
raises the T-count without changing the unitary, and only a reduction that knows third-order Reed-Muller relations (Amy and
Mosca 2019; Heyfron and Campbell 2018) finds the way back. Sections are separated by random CX gates and two Hadamard gates. The adders are
Cuccaro, Draper, Kutin and Moulton (2004), each Toffoli with seven T gates (Nielsen and Chuang 2000, figure 4.9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lab.conventions.tcount import Circuit, Gate

ADDER_BITS = 4


@dataclass(frozen=True)
class Recipe:
    """How an instance is made. `adder_after` counts sections from 0; `single_qubit_identities` takes the four parities of an
    identity as single qubits, otherwise each is the parity of 1 to 3 random qubits. The number of parities of a section is
    uniform in parities +- `spread`; up to `max_pairs` further parities get a T and a T_dg each, which cancel. With both, the
    T-count of the baseline does not give the planted one away."""

    n_qubits: int
    sections: int
    parities: int
    max_weight: int
    identities: int
    single_qubit_identities: bool = False
    adder_after: frozenset[int] = frozenset()
    spread: int = 0
    max_pairs: int = 0


RACE = Recipe(n_qubits=10, sections=6, parities=24, max_weight=4, identities=2, adder_after=frozenset({1, 4}))
BUDGET = Recipe(n_qubits=8, sections=4, parities=9, max_weight=3, identities=1, single_qubit_identities=True, spread=1, max_pairs=3)


def generate(rng: np.random.Generator, recipe: Recipe) -> tuple[Circuit, int]:
    """A circuit with hidden identities and the T-count of the same circuit without them."""
    circuit, planted = generate_both(rng, recipe)
    return circuit, sum(gate in ("t", "tdg") for gate, _, _ in planted.gates)


def generate_both(rng: np.random.Generator, recipe: Recipe) -> tuple[Circuit, Circuit]:
    """A circuit with hidden identities, and the planted circuit: the same without them, parities in the order they were drawn."""
    n = recipe.n_qubits
    gates: list[Gate] = []
    planted: list[Gate] = []
    for section in range(recipe.sections):
        masks = _distinct_parities(rng, recipe)
        planted += [g for m in masks for g in _phase_of_parity(m)]
        for _ in range(recipe.identities):
            masks += _identity(rng, recipe)
        phases = [("t", m) for m in masks] + _cancelling_pairs(rng, recipe)
        for k in rng.permutation(len(phases)):
            gates += _phase_of_parity(phases[k][1], phases[k][0])
        after: list[Gate] = []
        for _ in range(n):
            a, b = (int(q) for q in rng.choice(n, 2, replace=False))
            after.append(("cx", a, b))
        after += [("h", int(q), -1) for q in rng.choice(n, 2, replace=False)]
        if section in recipe.adder_after:
            wires = [int(q) for q in rng.permutation(n)[: 2 * ADDER_BITS + 2]]
            after += ripple_adder(wires[0], wires[1 : ADDER_BITS + 1], wires[ADDER_BITS + 1 : -1], wires[-1])
        gates += after
        planted += after
    return Circuit(n, tuple(gates)), Circuit(n, tuple(planted))


def t_budget(planted: int) -> int:
    """Published T-count budget of a session-drawn instance: 1.40 times the planted count, rounded up."""
    return math.ceil(1.40 * planted - 1e-9)


def _distinct_parities(rng: np.random.Generator, recipe: Recipe) -> list[int]:
    wanted = recipe.parities
    if recipe.spread:
        wanted += int(rng.integers(-recipe.spread, recipe.spread + 1))
    masks: list[int] = []
    while len(masks) < wanted:
        mask = _random_mask(rng, recipe.n_qubits, recipe.max_weight)
        if mask not in masks:
            masks.append(mask)
    return masks


def _random_mask(rng: np.random.Generator, n: int, max_weight: int) -> int:
    """Bit q set where qubit q takes part; weight uniform in 1..max_weight."""
    return sum(1 << int(q) for q in rng.choice(n, int(rng.integers(1, max_weight + 1)), replace=False))


def _identity(rng: np.random.Generator, recipe: Recipe) -> list[int]:
    """The 15 non-zero combinations of four independent parities."""
    while True:
        generators = [_random_mask(rng, recipe.n_qubits, 1 if recipe.single_qubit_identities else 3) for _ in range(4)]
        span = {0}
        for g in generators:
            span |= {s ^ g for s in span}
        if len(span) == 16:
            return sorted(span - {0})


def _cancelling_pairs(rng: np.random.Generator, recipe: Recipe) -> list[tuple[str, int]]:
    """T and T_dg on the same random parity, any number of such pairs up to `max_pairs`."""
    if not recipe.max_pairs:
        return []
    masks = [_random_mask(rng, recipe.n_qubits, recipe.max_weight) for _ in range(int(rng.integers(recipe.max_pairs + 1)))]
    return [(gate, m) for m in masks for gate in ("t", "tdg")]


def _phase_of_parity(mask: int, gate: str = "t") -> list[Gate]:
    """T (or `gate`) on the parity of the qubits in `mask`, computed into the last of them and uncomputed."""
    *others, target = (q for q in range(mask.bit_length()) if mask >> q & 1)
    fan_in: list[Gate] = [("cx", q, target) for q in others]
    return [*fan_in, (gate, target, -1), *fan_in]


def toffoli(a: int, b: int, c: int) -> list[Gate]:
    """Doubly controlled X on `c`, 7 T gates."""
    return [
        ("h", c, -1), ("cx", b, c), ("tdg", c, -1), ("cx", a, c), ("t", c, -1), ("cx", b, c), ("tdg", c, -1), ("cx", a, c),
        ("t", b, -1), ("t", c, -1), ("h", c, -1), ("cx", a, b), ("t", a, -1), ("tdg", b, -1), ("cx", a, b),
    ]  # fmt: skip


def ripple_adder(carry_in: int, a: list[int], b: list[int], carry_out: int) -> list[Gate]:
    """b <- a + b + carry_in with carry out, lists from the least significant bit."""
    gates: list[Gate] = []
    carries = [carry_in, *a]
    for i in range(len(a)):
        gates += [("cx", a[i], b[i]), ("cx", a[i], carries[i]), *toffoli(carries[i], b[i], a[i])]
    gates.append(("cx", a[-1], carry_out))
    for i in reversed(range(len(a))):
        gates += [*toffoli(carries[i], b[i], a[i]), ("cx", a[i], carries[i]), ("cx", carries[i], b[i])]
    return gates
