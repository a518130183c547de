"""What a protocol delivers: exact fidelity and yield of purified end-to-end pairs on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qtypes.transmon_repeater_array import physics
from qtypes.transmon_repeater_array.physics import ENDS, INNER, N_NODES, Floats

BELL_US = 0.6
"""CNOT and readout, of a Bell measurement or of a check."""

SwapOrder = Literal["together", "1-2", "2-1"]
Rule = Literal["even", "odd", "all"]


@dataclass(frozen=True)
class Setting:
    """A protocol. `cliffords` is a class per node, those of the ends equal; `rounds` 1 takes two raw pairs, 2 takes four."""

    cliffords: tuple[str, ...]
    swap_order: str
    separation_us: float
    rounds: int = 1
    rule: str = "even"

    def times_us(self) -> list[float]:
        """When the raw pairs are made, relative to the first."""
        return [self.separation_us * k for k in range(2**self.rounds)]

    def keeps(self) -> tuple[int, ...]:
        """Check parities that are accepted."""
        return {"even": (0,), "odd": (1,), "all": (0, 1)}[self.rule]


def swap_wait_us(swap_order: str) -> Floats:
    """How long a half at each node waits until the end-to-end pair is known, `(4,)`; inner nodes have two halves, which wait for their
    turn.
    """
    first = {"together": None, "1-2": 1, "2-1": 2}[swap_order]
    wait = np.zeros(N_NODES)
    wait[list(ENDS)] = BELL_US if first is None else 2 * BELL_US
    if first is not None:
        wait[3 - first] = BELL_US
    return wait


def memory(hidden: Any, nodes: tuple[int, ...], time_us: float) -> Floats:
    """Vector of a pair whose halves wait at `nodes`."""
    return physics.composed(*[physics.dephasing(time_us, hidden.t2_us[n]) for n in nodes], np.eye(4)[0])


def swapping(hidden: Any, setting: Setting) -> Floats:
    """Vector that the two Bell measurements and the waits around them add to an end-to-end pair."""
    wait = swap_wait_us(setting.swap_order)
    parts = [physics.bell_vector(hidden.gate_error[n], hidden.readout[n], setting.cliffords[n]) for n in INNER]
    parts += [memory(hidden, (n,), wait[n]) for n in (*ENDS, *INNER, *INNER)]
    return physics.composed(*parts)


def raw_vector(hidden: Any, setting: Setting, hold_us: float = 0.0) -> Floats:
    """Vector of one end-to-end pair after `hold_us` in the memories of the ends."""
    links = [link.vector() for link in hidden.links]
    return physics.composed(*links, swapping(hidden, setting), memory(hidden, ENDS, hold_us))


def raw_joint(hidden: Any, setting: Setting) -> Floats:
    """Joint array of the raw end-to-end pairs when each is about to meet its partner of the first round."""
    times = setting.times_us()
    links = [physics.link_joint(link.vector(), hidden.shared, hidden.correlation_us, times) for link in hidden.links]
    swap, held = swapping(hidden, setting), memory(hidden, ENDS, setting.separation_us)
    waiting = [physics.composed(swap, held) if k % 2 == 0 else swap for k in range(len(times))]
    return physics.composed(*links, physics.each(waiting))


def purified(hidden: Any, setting: Setting) -> Floats:
    """Probabilities `(2,) * checks + (4,)` of the check parities in order and the error of the pair that is left.

    Round 1 has one check; round 2 has two of the first round and its own.
    """
    turn = physics.image(setting.cliffords[0])
    gate = physics.composed(*[physics.depolarising(hidden.gate_error[n]) for n in ENDS])
    a, b = (hidden.readout[n] for n in ENDS)
    flip, tail = a + b - 2 * a * b, memory(hidden, ENDS, BELL_US)
    joint = physics.rotated(raw_joint(hidden, setting), turn)
    if setting.rounds == 1:
        return np.stack([physics.composed(part, tail) for part in physics.checked(joint, gate, flip)])
    out = np.zeros((2, 2, 2, 4))
    waited = physics.composed(tail, memory(hidden, ENDS, 2 * setting.separation_us))
    for first, rest in enumerate(physics.checked(joint, gate, flip)):  # (kept, third, fourth)
        for second, pairs in enumerate(physics.checked(np.moveaxis(rest, 0, 2), gate, flip)):  # (later, earlier)
            both = physics.rotated(physics.composed(pairs.T, np.multiply.outer(waited, tail)), turn)
            for third, part in enumerate(physics.checked(both, gate, flip)):
                out[first, second, third] = physics.composed(part, tail)
    return out


def delivered(hidden: Any, setting: Setting) -> tuple[float, float]:
    """Fidelity of an accepted pair, and accepted pairs per two raw end-to-end pairs."""
    keep = setting.keeps()
    found = purified(hidden, setting)
    for _ in range(found.ndim - 1):
        found = found[list(keep)].sum(axis=0)
    accepted = float(found.sum())
    return float(found[0]) / accepted, accepted / 2 ** (setting.rounds - 1)
