"""From hidden rates to noisy circuits: Pauli noise of every operation, and the seam terms that act only while merged."""

from __future__ import annotations

from collections.abc import Iterable

import stim

from qtypes.kit.stim_circuits import VIRTUAL, PauliNoise, Program
from qtypes.surface_code_lattice_surgery import layout as lay
from qtypes.surface_code_lattice_surgery.device import Hidden


def pauli_noise(hidden: Hidden, lab_s: float) -> PauliNoise:
    """Rates of every operation at lab time `lab_s` in s."""
    return PauliNoise(
        gate1=hidden.gate1,
        gate2=dict(zip(lay.COUPLERS, hidden.gate2, strict=True)),
        readout=hidden.readout_at(lab_s),
        reset=hidden.reset,
        idle=hidden.idle,
    )


def seam_events(hidden: Hidden, tag: str) -> list[str]:
    """Stim lines for the marker of a merged cycle, just before its readout.

    A coupler-activation leak of a seam measure qubit lives two cycles, until the reset removes it, and inverts its readout in both. It
    begins in merged cycle 1 or 2. A virtual qubit holds the event and flips the measure qubit before readout, which the following reset
    clears, so only the results are inverted (leakage seen as correlated readout: Varbanov et al. 2020; McEwen et al. 2021).
    """
    _, seam, cycle = tag.split("_")
    name: lay.SeamName = "ZZ" if seam == "ZZ" else "XX"
    k, terms, pauli = int(cycle), hidden.seam(name), name[0]
    lines = []
    for (a, b), p in zip(lay.SEAM_PAIRS[name], terms.pair, strict=True):
        lines.append(f"CORRELATED_ERROR({p!r}) {pauli}{lay.INDEX[a]} {pauli}{lay.INDEX[b]}")
    for start, rates in ((1, terms.sticky_12), (2, terms.sticky_23)):
        for site, p in zip(lay.SEAM_CHECKS[name], rates, strict=True):
            q = lay.INDEX[site]
            v = VIRTUAL + 2 * q + start - 1
            if k == start:
                lines += [f"R {v}", f"X_ERROR({p!r}) {v}"]
            if k in (start, start + 1):
                lines.append(f"CX {v} {q}")
    return lines


def noisy(program: Program, hidden: Hidden, lab_s: float) -> stim.Circuit:
    """The hidden circuit of a request at lab time `lab_s` in s: that of `program`, with noise."""

    def marker(tag: str) -> Iterable[str]:
        return seam_events(hidden, tag)

    return program.dress(pauli_noise(hidden, lab_s), marker)
