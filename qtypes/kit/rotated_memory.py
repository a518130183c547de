"""Memory of one rotated patch: prepare all data in a basis, measure every plaquette for some cycles, read all data in that basis.

A cycle is: reset of the measure qubits, the entangling layers, `I[idle]` on the data, `TICK[cycle]`, readout of the measure qubits. The
tagged TICK is where a hidden model may put errors that belong to no gate (see `qtypes.kit.stim_circuits`). The entangling layers are the
caller's: :func:`cx_layers` is the usual one of fixed-position qubits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from qtypes.kit.rotated_code import Basis, Plaquette, Site, data_sites, plaquettes
from qtypes.kit.stim_circuits import CircuitWriter, Program

Entangle = Callable[[CircuitWriter, Mapping[Site, Plaquette], Mapping[Site, int]], None]
"""Writes what maps the plaquettes onto their measure qubits, between reset to |0> and readout in Z: `(writer, plaquettes, index)`."""


def cx_layers(w: CircuitWriter, checks: Mapping[Site, Plaquette], index: Mapping[Site, int]) -> None:
    """H on the measure qubits of X plaquettes, four layers of CX, H again; a TICK before each layer and after the last."""
    x_type = [index[a] for a, p in checks.items() if p.basis == "X"]
    w.gate("H", x_type)
    w.gate("TICK", ())
    for k in range(4):
        pairs: list[int] = []
        for a, p in checks.items():
            site = p.layer(k)
            if site is not None:
                pair = (index[a], index[site])
                pairs += pair if p.basis == "X" else pair[::-1]
        w.gate("CX", pairs)
        w.gate("TICK", ())
    w.gate("H", x_type)


def memory(
    index: Mapping[Site, int], row: int, col: int, rows: int, cols: int, basis: Basis, rounds: int, entangle: Entangle = cx_layers
) -> Program:
    """Noiseless circuit of `rounds` cycles on the patch of `rows` x `cols` data with its north-west corner at `(row, col)`.

    `index` gives the qubit of each site. Detectors: first cycle, plaquettes of `basis` only; later cycles, all plaquettes in the order of
    their sites; data readout, those of `basis`. Coordinates are `(row, column, cycle)` of the plaquette. L0 is Z_L on the first data column
    (basis Z) or X_L on the first data row (basis X). Cycles 1 to `rounds - 1` are one REPEAT block.
    """
    data, checks = data_sites(row, col, rows, cols), plaquettes(row, col, rows, cols)
    qubits, ancillas = [index[s] for s in data], [index[a] for a in checks]
    w = CircuitWriter()
    w.coordinates((index[s], s) for s in sorted((*data, *checks)))
    w.gate("R" if basis == "Z" else "RX", qubits)

    def cycle(reference: Mapping[Site, int] | None) -> dict[Site, int]:
        w.gate("R", ancillas)
        entangle(w, checks, index)
        w.gate("I", qubits, tag="idle")
        w.gate("TICK", (), tag="cycle")
        records = w.measure("M", ancillas)
        now = {a: records[index[a]] for a in checks}
        for a, p in checks.items():
            if reference is not None:
                w.detector([now[a], reference[a]], (*a, 0))
            elif p.basis == basis:
                w.detector([now[a]], (*a, 0))
        return now

    last = cycle(None)
    if rounds > 1:
        with w.repeat(rounds - 1) as shifted:
            w.next_cycle()
            now = cycle(last)
        last = {a: shifted(r) for a, r in now.items()}
    read = w.measure("M" if basis == "Z" else "MX", qubits)
    w.next_cycle()
    for a, p in checks.items():
        if p.basis == basis:
            w.detector([*(read[index[d]] for d in p.data), last[a]], (*a, 0))
    first_line = data[::cols] if basis == "Z" else data[:cols]
    w.observable(0, [read[index[d]] for d in first_line])
    return w.program()


def neighbour_pairs(row: int, col: int, rows: int, cols: int) -> tuple[tuple[Site, Site], ...]:
    """Nearest-neighbour pairs of data sites, `rows * (cols - 1)` along rows, then `(rows - 1) * cols` along columns."""
    data = data_sites(row, col, rows, cols)
    lines = [data[i * cols : (i + 1) * cols] for i in range(rows)] + [data[j::cols] for j in range(cols)]
    return tuple(pair for line in lines for pair in pairwise(line))
