"""Noiseless circuits: memory cycles of multi-target pulses, and trains of one plaquette's pulse.

A cycle is: reset of the ancillas to |0>, H; H on all data, the pulse groups X0 and X1, H on all data; the groups Z0 and Z1; H on the
ancillas; readout of the ancillas while the data wait. A pulse is one CZ of an ancilla with all of its targets (Isenhower, Saffman, Molmer
2011). After every group stands `TICK[pulse_<group>]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from qtypes.kit import rotated_memory
from qtypes.kit.rotated_code import Basis, Plaquette, Site
from qtypes.kit.stim_circuits import CircuitWriter, Program
from qtypes.rydberg_multitarget_surface_code import layout as lay


def _pulse(w: CircuitWriter, ancillas: tuple[int, ...], tag: str) -> None:
    w.gate("CZ", (q for a in ancillas for d in lay.TARGETS[a] for q in (a, d)))
    w.gate("TICK", (), tag=f"pulse_{tag}")


def _pulses(w: CircuitWriter, checks: Mapping[Site, Plaquette], index: Mapping[Site, int]) -> None:
    data = lay.index(lay.DATA)
    w.gate("H", (*lay.ANCILLAS, *data))
    w.gate("TICK", ())
    for name in ("X0", "X1"):
        _pulse(w, lay.GROUPS[name], name)
    w.gate("H", data)
    w.gate("TICK", ())
    for name in ("Z0", "Z1"):
        _pulse(w, lay.GROUPS[name], name)
    w.gate("H", lay.ANCILLAS)


@lru_cache(maxsize=64)
def memory(basis: Basis, rounds: int) -> Program:
    """L0 = Z_L (first data column) or X_L (first data row). Marker of the end of a cycle, before its readout: `TICK[cycle]`."""
    return rotated_memory.memory(lay.INDEX, 0, 0, lay.DISTANCE, lay.DISTANCE, basis, rounds, _pulses)


@lru_cache(maxsize=256)
def train(ancilla: int, n_pulses: int, prep: str, meas: Basis) -> Program:
    """All atoms of one plaquette prepared in |0> or |+>, `n_pulses` of its pulse, all measured in `meas`.

    Record 0 is the ancilla, the others its targets in order. No H conjugates the pulses, of X plaquettes either. Where the preparation
    is an eigenstate of `meas` and the number of pulses is even every result is 0 without noise, and detector i is record i.
    """
    w, atoms = CircuitWriter(), [ancilla, *lay.TARGETS[ancilla]]
    w.coordinates((q, lay.SITES[q]) for q in atoms)
    w.gate("RX" if prep == "+" else "R", atoms)
    with w.repeat(n_pulses):
        _pulse(w, (ancilla,), str(ancilla))
    records = w.measure("MX" if meas == "X" else "M", atoms)
    if (prep == "+") == (meas == "X") and n_pulses % 2 == 0:
        for q in atoms:
            w.detector([records[q]], (*lay.SITES[q], 0))
    return w.program()
