"""The resource report of 14 lines: how each follows from the data sheet and earlier lines, and how it is commonly got wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from qtypes.ftqc_resource_estimation import cost

Value = float | int | tuple[float, float]
Lines = dict[str, Value]

INTEGERS = frozenset({"L2", "L3", "L6", "L7", "L10", "L12", "L13"})
PAIR = "L8"
LEVEL_TILES = 11
"""Tiles of one level of a factory of the report."""


@dataclass(frozen=True)
class Sheet:
    """The data sheet: circuit, error budget, machine, and the pair (A, Lambda) of the memory."""

    qubits: int
    t_gates: int
    rotations: int
    toffolis: int
    error_budget: float
    injected_error: float
    acceptance: float
    reaction_us: float
    pair: tuple[float, float]


Rule = Callable[[Sheet, Mapping[str, Value]], Value]


def real_distance(v: Mapping[str, Value]) -> float:
    """x of line L10, before rounding."""
    prefactor, suppression = _pair(v)
    return cost.needed_distance(_number(v, "L9"), prefactor, suppression)


def odd_above(x: float) -> int:
    """Smallest odd integer >= x."""
    return 2 * math.ceil((x - 1) / 2) + 1


def _number(v: Mapping[str, Value], name: str) -> float:
    value = v[name]
    if isinstance(value, tuple):
        raise TypeError(f"{name} is a pair")
    return value


def _pair(v: Mapping[str, Value]) -> tuple[float, float]:
    value = v[PAIR]
    if not isinstance(value, tuple):
        raise TypeError(f"{PAIR} is not a pair")
    return value


RIGHT: dict[str, Rule] = {
    "L1": lambda s, v: s.error_budget / (3 * s.rotations),
    "L2": lambda s, v: cost.t_per_rotation(_number(v, "L1")),
    "L3": lambda s, v: s.t_gates + cost.T_PER_TOFFOLI * s.toffolis + s.rotations * int(_number(v, "L2")),
    "L4": lambda s, v: s.error_budget / (3 * _number(v, "L3")),
    "L5": lambda s, v: cost.distilled(s.injected_error),
    "L6": lambda s, v: 1 if _number(v, "L5") <= _number(v, "L4") else 2,
    "L7": lambda s, v: cost.tiles(s.qubits),
    "L8": lambda s, v: s.pair,
    "L9": lambda s, v: s.error_budget / (3 * _number(v, "L3") * _number(v, "L7")),
    "L10": lambda s, v: odd_above(real_distance(v)),
    "L11": lambda s, v: max(_number(v, "L10") * cost.CYCLE_US, s.reaction_us),
    "L12": lambda s, v: math.ceil(6 * _number(v, "L10") * cost.CYCLE_US * _number(v, "L6") / (_number(v, "L11") * s.acceptance)),
    "L13": lambda s, v: (
        2 * int(_number(v, "L10")) ** 2 * int(_number(v, "L7") + LEVEL_TILES * _number(v, "L12") * _number(v, "L6"))
    ),
    "L14": lambda s, v: _number(v, "L3") * _number(v, "L11") * 1e-6,
}  # fmt: skip

WRONG: dict[str, Rule] = {
    "L2": lambda s, v: 1,
    "L5": lambda s, v: cost.distilled(s.injected_error) / 15,
    "L7": lambda s, v: 2 * s.qubits,
    "L10": lambda s, v: 2 * math.ceil(real_distance(v) / 2),
    "L11": lambda s, v: _number(v, "L10") * cost.CYCLE_US,
    "L12": lambda s, v: math.ceil(6 * _number(v, "L10") * cost.CYCLE_US * _number(v, "L6") / _number(v, "L11")),
}
"""Common mistakes: a rotation counted as one T state, 35 p^3 per batch and not per state, no routing tiles, an even distance, no reaction
time, no acceptance."""

NAMES = tuple(RIGHT)


def lines(sheet: Sheet, wrong: Iterable[str] = ()) -> Lines:
    """All 14 lines, each from the lines before it; those named in `wrong` by their mistaken rule, so that all later ones follow it."""
    mistaken = frozenset(wrong)
    values: Lines = {}
    for name, rule in RIGHT.items():
        values[name] = (WRONG[name] if name in mistaken else rule)(sheet, values)
    return values


def from_own_inputs(sheet: Sheet, printed: Mapping[str, Value]) -> Lines:
    """Each line from the *printed* earlier lines: where it differs from the printed one, the mistake is in this line itself."""
    return {name: rule(sheet, printed) for name, rule in RIGHT.items()}


def deviation(value: Value, right: Value) -> float:
    """Largest relative deviation of `value` from `right`, over both members of a pair."""
    a, b = (v if isinstance(v, tuple) else (v,) for v in (value, right))
    return max(abs(x / y - 1) for x, y in zip(a, b, strict=True))
