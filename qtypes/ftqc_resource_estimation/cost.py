"""Cost of a fault-tolerant computation: surface-code tiles, 15-to-1 factories, sequential Pauli-based computation.

All times are in us unless a name says otherwise, all errors are probabilities. Only the standard library is used: the laboratory, the
grader and whoever reads this file as a material run the same code. Leading order throughout; constants are fixed here.

Sources for the form: Fowler, Mariantoni, Martinis and Cleland 2012 (suppression law); Litinski 2019, "A game of surface codes" (blocks of
tiles) and "Magic state distillation: not as costly as you think" (area and time of 15-to-1); Ross and Selinger 2016 (rotations).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

CYCLE_US = 1.0
"""One syndrome cycle."""
ROUTING = {"compact": 9, "intermediate": 5, "fast": 1}
"""Steps per T state by layout of the data block; a step lasts d cycles, or the reaction time where that is longer."""
T_PER_TOFFOLI = 4
MAX_INPUT_ERROR = 0.02
"""Largest effective input error of a 15-to-1 unit for which the leading order is used; above it a design is not feasible."""
MAX_SYNTHESIS_T = 400


def logical_error(d: float, prefactor: float, suppression: float) -> float:
    """Failure of one tile of distance `d` in d cycles: A Lambda**(-(d+1)/2) with Lambda = p_th / p."""
    return float(prefactor * suppression ** (-(d + 1) / 2))


def needed_distance(error: float, prefactor: float, suppression: float) -> float:
    """The real d at which :func:`logical_error` is `error`."""
    return 2 * math.log(prefactor / error) / math.log(suppression) - 1


def t_per_rotation(error: float) -> int:
    """T states that approximate one rotation to `error`: ceil(3.02 log2(1/error) + 0.77)."""
    return math.ceil(3.02 * math.log2(1 / error) + 0.77)


def tiles(qubits: int, routing: str = "fast") -> int:
    """Tiles of the data block with its routing space."""
    if routing == "compact":
        return math.ceil(1.5 * qubits) + 3
    if routing == "intermediate":
        return 2 * qubits + 4
    root = math.isqrt(8 * qubits)
    return 2 * qubits + root + (root * root < 8 * qubits) + 1


def distilled(error: float) -> float:
    """Error per accepted output state of ideal 15-to-1 from inputs with `error`: 35 error**3."""
    return 35 * error**3


@dataclass(frozen=True)
class Problem:
    """What is to be run, on what."""

    qubits: int
    t_gates: int
    rotations: int
    toffolis: int
    error_budget: float
    prefactor: float
    suppression: float
    injected_error: float
    reaction_us: float


@dataclass(frozen=True)
class Level:
    """A level of a factory: `count` equal 15-to-1 units with distances `dx`, `dz` and `dm`, all odd."""

    dx: int
    dz: int
    dm: int
    count: int


@dataclass(frozen=True)
class Design:
    """Code distance, levels of a factory from the first to the last (of which there is one unit), and how many factories."""

    d: int
    levels: tuple[Level, ...]
    eps_synthesis: float
    routing: str
    factories: int


@dataclass(frozen=True)
class Factory:
    """What one factory gives: error of an accepted state, states per us, physical qubits; `valid` where the leading order holds."""

    error: float
    rate_per_us: float
    qubits: int
    valid: bool


@dataclass(frozen=True)
class Cost:
    """Cost and errors of a design; the total error is the sum of the three."""

    t_per_rotation: int
    t_states: int
    tiles: int
    factory: Factory
    us_per_t: float
    runtime_s: float
    physical_qubits: int
    synthesis_error: float
    distillation_error: float
    memory_error: float
    total_error: float
    feasible: bool
    qubit_seconds: float


def unit_qubits(level: Level) -> int:
    """Physical qubits of one 15-to-1 unit, measure qubits included: 2 (dx + 4 dz) 3 dx + 4 dm (810 for 7, 3, 3; Litinski 2019)."""
    return 6 * level.dx * (level.dx + 4 * level.dz) + 4 * level.dm


def factory(levels: tuple[Level, ...], p: Problem) -> Factory:
    """One factory. Level k takes its 15 inputs from the units of level k - 1, the first level takes injected states.

    A Z flip of a check patch (dz) and a wrong multi-patch measurement (dm) act as an error of one input, which the checks see: e = input
    error + p_L(dz) + p_L(dm). An X flip of a patch (dx) reaches the output unseen: output error 35 e**3 + 7.1 p_L(dx). A batch takes 6 dm
    cycles and is accepted with (1 - e)**15.
    """

    def flip(distance: int) -> float:
        return logical_error(distance, p.prefactor, p.suppression)

    error, rate, qubits, valid = p.injected_error, math.inf, 0, True
    for level in levels:
        e = error + flip(level.dz) + flip(level.dm)
        if e > MAX_INPUT_ERROR:
            valid = False
        rate = (1 - min(e, 1.0)) ** 15 * min(level.count / (6 * level.dm * CYCLE_US), rate / 15)
        error = distilled(e) + 7.1 * flip(level.dx)
        qubits += level.count * unit_qubits(level)
    return Factory(error, rate, qubits, valid)


def evaluate(design: Design, p: Problem) -> Cost:
    """Cost of a design. T states are consumed one after the other, each as soon as it is there and the last one is done with."""
    per_rotation = min(t_per_rotation(design.eps_synthesis / p.rotations), MAX_SYNTHESIS_T) if p.rotations else 0
    t_states = p.t_gates + T_PER_TOFFOLI * p.toffolis + p.rotations * per_rotation
    area = tiles(p.qubits, design.routing)
    made = factory(design.levels, p)
    step_us = max(ROUTING[design.routing] * design.d * CYCLE_US, p.reaction_us)
    supply = design.factories * made.rate_per_us
    us_per_t = max(step_us, 1 / supply) if supply > 0 else math.inf
    runtime_us = t_states * us_per_t
    memory = area * runtime_us / (design.d * CYCLE_US) * logical_error(design.d, p.prefactor, p.suppression)
    synthesis = design.eps_synthesis if p.rotations else 0.0
    distillation = t_states * made.error
    total = synthesis + distillation + memory
    qubits = area * 2 * design.d**2 + design.factories * made.qubits
    return Cost(
        per_rotation, t_states, area, made, us_per_t, runtime_us * 1e-6, qubits, synthesis, distillation, memory, total,
        made.valid and total <= p.error_budget, qubits * runtime_us * 1e-6,
    )  # fmt: skip
