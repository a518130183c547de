"""From hidden rates to noisy circuits, and the exact distribution of a pulse train."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import stim

from qtypes.kit.stim_circuits import PauliNoise, Program
from qtypes.rydberg_multitarget_surface_code import layout as lay
from qtypes.rydberg_multitarget_surface_code.device import CYCLE_S, Hidden


def dephasing(t2_s: float, time_s: float = CYCLE_S) -> float:
    """Probability of Z after `time_s`: coherence exp(-t / T2) of a Markovian bath."""
    return float(-np.expm1(-time_s / t2_s) / 2)


def pulse_errors(hidden: Hidden, ancilla: int) -> list[str]:
    """Stim lines after the pulse of a plaquette: Z on subsets of its targets, Z on single targets, depolarising of the ancilla.

    Decay or a blockade error of the ancilla during the pulse leaves the targets that were driven at that time with a phase of their own:
    after twirling, Z on a subset of them in one event. Between the H of an X plaquette it acts as X on the code.
    """
    terms = hidden.plaquette(ancilla)
    lines = [
        f"CORRELATED_ERROR({q!r}) " + " ".join(f"Z{d}" for d in subset)
        for subset, q in zip(lay.SUBSETS[ancilla], terms.correlated, strict=True)
    ]
    lines += [f"Z_ERROR({q!r}) {d}" for d, q in zip(lay.TARGETS[ancilla], terms.single, strict=True)]
    return [*lines, f"DEPOLARIZE1({terms.ancilla!r}) {ancilla}"]


def noisy(program: Program, hidden: Hidden) -> stim.Circuit:
    """The hidden circuit of a request: that of `program`, with noise."""
    noise = PauliNoise(gate1=hidden.gate1, gate2={}, readout=hidden.readout, reset=hidden.reset, idle=(0.0,) * lay.N_ATOMS)
    wait = [f"Z_ERROR({dephasing(t2)!r}) {q}" for q, t2 in zip(lay.index(lay.DATA), hidden.t2_s, strict=True)]

    def marker(tag: str) -> Iterable[str]:
        kind, _, which = tag.partition("_")
        if kind == "cycle":
            return wait
        group = lay.GROUPS[which] if which in lay.GROUPS else (int(which),)
        return [line for a in group for line in pulse_errors(hidden, a)]

    return program.dress(noise, marker)


def _parity(masks: np.ndarray) -> np.ndarray:
    return np.bitwise_count(masks) & 1


def train_distribution(hidden: Hidden, ancilla: int, n_pulses: int) -> np.ndarray:
    """Exact probability of every outcome of a train with `prep` +, `meas` X and an even number of pulses, shape `(2**(1 + k),)`.

    Bit 0 of an outcome is the ancilla, bit i target i - 1. Independent events on subsets S add modulo two, so the expectation of
    (-1)^(u.b) is a product over events of 1 - 2 q_S where u.S is odd: the distribution is its Walsh-Hadamard transform. An X or Y on the
    ancilla turns each later pulse into Z on all targets, which an odd number of them leaves behind. Raises ValueError for an odd train,
    whose outcomes are not fixed without noise.
    """
    if n_pulses % 2:
        raise ValueError(f"an even number of pulses, got {n_pulses}")
    targets, terms = lay.TARGETS[ancilla], hidden.plaquette(ancilla)
    atoms = (ancilla, *targets)
    u = np.arange(2 ** len(atoms), dtype=np.int64)
    chi = np.ones(len(u))

    def event(q: float, mask: int, times: int = 1) -> None:
        chi[_parity(u & mask) == 1] *= (1 - 2 * q) ** times

    for i, q in enumerate(atoms):
        event(hidden.reset[q], 1 << i)
        event(hidden.readout[q], 1 << i)
    for d, rate in enumerate(terms.single):
        event(rate, 2 << d, n_pulses)
    for subset, rate in zip(lay.SUBSETS[ancilla], terms.correlated, strict=True):
        event(rate, sum(2 << targets.index(d) for d in subset), n_pulses)
    on_ancilla, on_all = 1.0 - 2 * (u & 1), 1.0 - 2 * _parity(u >> 1)
    for later in range(n_pulses):
        kick = on_all**later
        chi *= 1 - terms.ancilla + terms.ancilla / 3 * (kick + on_ancilla * kick + on_ancilla)
    signs = 1 - 2 * _parity(u[:, None] & u[None, :]).astype(float)
    return signs @ chi / len(u)


def rb_survival(hidden: Hidden, atom: int, lengths: np.ndarray) -> np.ndarray:
    """Probability that a benchmarking sequence ends in |0>, shape of `lengths`: every gate, the inversion too, depolarises like an H, so
    polarisation shrinks by 1 - 4p/3 per gate (Magesan, Gambetta, Emerson 2011)."""
    contrast = (1 - 2 * hidden.reset[atom]) * (1 - 2 * hidden.readout[atom])
    return (1 + contrast * (1 - 4 * hidden.gate1[atom] / 3) ** (lengths + 1)) / 2
