"""Noiseless circuits of the three experiments.

A cycle is: reset of the measure qubits, H on those of X plaquettes, four CX layers, H again, readout of the measure qubits while the data
qubits idle. A merge prepares the seam data in X (ZZ seam) or Z (XX seam) and measures the plaquettes of the merged patch; a split
measures the seam data in the same basis, which the plaquettes that reached into the seam must be corrected for (Horsman et al. 2012).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from qtypes.kit.rotated_code import Basis, Plaquette, Site
from qtypes.kit.stim_circuits import CircuitWriter, Program
from qtypes.surface_code_lattice_surgery import layout as lay

Config = Literal["z", "x", "bell_zz", "bell_xx"]
CONFIGS: tuple[Config, ...] = ("z", "x", "bell_zz", "bell_xx")
PREPARED: dict[Config, tuple[Basis, Basis]] = {"z": ("Z", "Z"), "x": ("X", "X"), "bell_zz": ("X", "Z"), "bell_xx": ("X", "Z")}
READ: dict[Config, Basis] = {"z": "Z", "x": "X", "bell_zz": "Z", "bell_xx": "X"}
CNOT_MERGED = 3
CNOT_CYCLES = 9
TEST_INPUTS: dict[Config, tuple[tuple[int, int], tuple[int, int]]] = {
    "z": ((0, 0), (1, 0)), "x": ((0, 0), (0, 1)), "bell_zz": ((0, 0), (1, 1)), "bell_xx": ((0, 0), (1, 1)),
}  # fmt: skip
"""Signs of the preparation of C and T: z |00>, |10>; x |++>, |+->; Bell configurations |+0>, |-1>."""


class _Timeline:
    """Cycles on a changing set of plaquettes; remembers for each plaquette the records its next value is compared with."""

    def __init__(self, patches: tuple[lay.PatchName, ...], seams: tuple[lay.SeamName, ...]) -> None:
        self.w = CircuitWriter()
        self.checks = dict(sorted((a, p) for patch in patches for a, p in lay.CHECKS[patch].items()))
        self.data = tuple(sorted(s for patch in patches for s in lay.DATA[patch]))
        used = {*self.data, *self.checks, *(s for m in seams for s in (*lay.SEAM_DATA[m], *lay.SEAM_CHECKS[m]))}
        self.w.coordinates((lay.INDEX[s], s) for s in sorted(used))
        self.reference: dict[Site, list[int]] = {}
        self.started = False

    def prepare(self, patch: lay.PatchName, basis: Basis, minus: int = 0) -> None:
        """Reset all data of a patch in `basis`; `minus` prepares the -1 eigenstate of its logical operator."""
        self.w.gate("R" if basis == "Z" else "RX", lay.index(lay.DATA[patch]))
        if minus:
            # Z_L is a column, so the X that flips it runs along a row, and the other way round.
            self.w.gate("X" if basis == "Z" else "Z", lay.row(patch, 0) if basis == "Z" else lay.column(patch, 0))
        for a, p in lay.CHECKS[patch].items():
            if p.basis == basis:
                self.reference[a] = []

    def cycle(self, checks: dict[Site, Plaquette], data: tuple[Site, ...], tag: str = "") -> dict[Site, int]:
        w, ancillas = self.w, list(checks)
        if self.started:
            w.next_cycle()
        self.started = True
        x_type = [lay.INDEX[a] for a in ancillas if checks[a].basis == "X"]
        w.gate("R", (lay.INDEX[a] for a in ancillas))
        w.gate("H", x_type)
        w.gate("TICK", ())
        for k in range(4):
            pairs: list[int] = []
            for a in ancillas:
                site = checks[a].layer(k)
                if site is not None:
                    pair = (lay.INDEX[a], lay.INDEX[site])
                    pairs += pair if checks[a].basis == "X" else pair[::-1]
            w.gate("CX", pairs)
            w.gate("TICK", ())
        w.gate("H", x_type)
        w.gate("I", lay.index(data), tag="idle")
        w.gate("TICK", (), tag=tag)
        records = w.measure("M", [lay.INDEX[a] for a in ancillas])
        now = {a: records[lay.INDEX[a]] for a in ancillas}
        for a in ancillas:
            if a in self.reference:
                w.detector([now[a], *self.reference[a]], (*a, 0))
        self.reference = {a: [r] for a, r in now.items()}
        return now

    def separate(self) -> None:
        self.cycle(self.checks, self.data)

    def merge(self, seam: lay.SeamName, rounds: int) -> tuple[list[int], dict[int, int]]:
        """Merge, `rounds` cycles, split. Returns the records of the seam plaquettes in the first merged cycle, whose parity is the joint
        outcome, and the split record of each seam data qubit."""
        w, basis = self.w, lay.SEAM_BASIS[seam]
        w.gate("R" if basis == "Z" else "RX", lay.index(lay.SEAM_DATA[seam]))
        merged = lay.MERGED_CHECKS[seam]
        others = {a: p for a, p in self.checks.items() if a not in merged}
        checks = dict(sorted({**merged, **others}.items()))
        data = tuple(sorted({*self.data, *lay.SEAM_DATA[seam]}))
        outcome: list[int] = []
        for k in range(rounds):
            now = self.cycle(checks, data, tag=f"merged_{seam}_{k + 1}")
            if k == 0:
                outcome = [now[a] for a in lay.SEAM_CHECKS[seam]]
        split = w.measure("M" if basis == "Z" else "MX", lay.index(lay.SEAM_DATA[seam]))
        reference = {}
        for a in self.checks:
            lost = [d for d in checks[a].data if d in lay.SEAM_DATA[seam]]
            reference[a] = self.reference[a] + [split[lay.INDEX[d]] for d in lost]
        self.reference = reference
        return outcome, split

    def read(self, bases: dict[lay.PatchName, Basis]) -> dict[int, int]:
        """Measure all data of each patch in its basis, with the last detectors; returns the record of each data qubit."""
        records: dict[int, int] = {}
        for patch, basis in bases.items():
            records |= self.w.measure("M" if basis == "Z" else "MX", lay.index(lay.DATA[patch]))
        self.w.next_cycle()
        for patch, basis in bases.items():
            for a, p in lay.CHECKS[patch].items():
                if p.basis == basis:
                    self.w.detector([*(records[lay.INDEX[d]] for d in p.data), *self.reference[a]], (*a, 0))
        return records


def _logical(records: dict[int, int], qubits: list[int]) -> list[int]:
    return [records[q] for q in qubits]


@lru_cache(maxsize=256)
def memory(patch: lay.PatchName, basis: Basis, rounds: int) -> Program:
    """L0 = Z_L (first column) or X_L (first row) of the patch."""
    t = _Timeline((patch,), ())
    t.prepare(patch, basis)
    t.separate()
    if rounds > 1:
        # All later cycles are equal: a REPEAT block keeps the text short.
        with t.w.repeat(rounds - 1) as last:
            t.separate()
        t.reference = {a: [last(r) for r in records] for a, records in t.reference.items()}
    records = t.read({patch: basis})
    t.w.observable(0, _logical(records, lay.column(patch, 0) if basis == "Z" else lay.row(patch, 0)))
    return t.w.program()


@lru_cache(maxsize=256)
def merge(seam: lay.SeamName, merge_rounds: int, boundary_basis: Basis) -> Program:
    """One cycle, merge of `merge_rounds` cycles, split, one cycle; both patches prepared and read in `boundary_basis`.

    In the basis of the seam (Z for ZZ): L0 = joint outcome, L1, L2 = logical operator of the first and second patch. In the other
    basis: L0 = product of both logical operators and of the split record between them.
    """
    first, second = lay.MERGED_PATCHES[seam]
    t = _Timeline((first, second), (seam,))
    for patch in (first, second):
        t.prepare(patch, boundary_basis)
    t.separate()
    outcome, split = t.merge(seam, merge_rounds)
    t.separate()
    records = t.read({first: boundary_basis, second: boundary_basis})
    line = lay.column if boundary_basis == "Z" else lay.row
    if boundary_basis == seam[0]:
        t.w.observable(0, outcome)
        t.w.observable(1, _logical(records, line(first, 0)))
        t.w.observable(2, _logical(records, line(second, 0)))
    else:
        joint = _logical(records, line(first, 0)) + _logical(records, line(second, 0))
        t.w.observable(0, [*joint, split[lay.INDEX[lay.SEAM_DATA[seam][0]]]])
    return t.w.program()


@lru_cache(maxsize=256)
def cnot(config: Config, inputs: tuple[int, int]) -> Program:
    """CNOT from C to T through I in nine cycles (1, ZZ merge 3, 1, XX merge 3, 1).

    m_zz, m_xx: parity of the seam plaquettes in the first merged cycle. s_x, s_z: split record of seam qubit (2, 3) and (3, 4).
    z: L0 = Z_C, L1 = Z_T + m_zz + Z_I + s_z. x: L0 = X_C + m_xx + s_x, L1 = X_T. bell_zz: L0 = Z_C + Z_T + m_zz + Z_I + s_z.
    bell_xx: L0 = X_C + X_T + m_xx + s_x.
    """
    basis_c, basis_t = PREPARED[config]
    t = _Timeline(lay.SURGERY, lay.SEAMS)
    t.prepare("C", basis_c, inputs[0])
    t.prepare("I", "X")
    t.prepare("T", basis_t, inputs[1])
    t.separate()
    m_zz, split_zz = t.merge("ZZ", CNOT_MERGED)
    t.separate()
    m_xx, split_xx = t.merge("XX", CNOT_MERGED)
    t.separate()
    r = t.read({"I": "Z", "C": READ[config], "T": READ[config]})
    z_frame = [*_logical(r, lay.column("T", 0)), *m_zz, *_logical(r, lay.column("I", 0)), split_xx[lay.INDEX[3.0, 4.0]]]
    x_frame = [*m_xx, split_zz[lay.INDEX[2.0, 3.0]]]
    z_c, x_c, x_t = (lay.column("C", 2), lay.row("C", 2), lay.row("T", 0))
    match config:
        case "z":
            t.w.observable(0, _logical(r, z_c))
            t.w.observable(1, z_frame)
        case "x":
            t.w.observable(0, [*_logical(r, x_c), *x_frame])
            t.w.observable(1, _logical(r, x_t))
        case "bell_zz":
            t.w.observable(0, [*_logical(r, z_c), *z_frame])
        case "bell_xx":
            t.w.observable(0, [*_logical(r, x_c), *_logical(r, x_t), *x_frame])
    return t.w.program()
