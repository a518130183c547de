"""Where the 114 qubits are: three d = 3 patches C, I, T in an L, the two seams between them, and a d = 5 memory patch M."""

from __future__ import annotations

from typing import Literal

from qtypes.kit.rotated_code import Basis, Plaquette, Site, data_sites, plaquettes

PatchName = Literal["C", "I", "T", "M"]
SeamName = Literal["ZZ", "XX"]

ORIGIN: dict[PatchName, tuple[int, int]] = {"C": (0, 0), "I": (0, 4), "T": (4, 4), "M": (20, 20)}
DISTANCE: dict[PatchName, int] = {"C": 3, "I": 3, "T": 3, "M": 5}
PATCHES: tuple[PatchName, ...] = ("C", "I", "T", "M")
SURGERY: tuple[PatchName, ...] = ("C", "I", "T")
SEAMS: tuple[SeamName, ...] = ("ZZ", "XX")

DATA: dict[PatchName, tuple[Site, ...]] = {p: data_sites(*ORIGIN[p], DISTANCE[p], DISTANCE[p]) for p in PATCHES}
CHECKS: dict[PatchName, dict[Site, Plaquette]] = {p: plaquettes(*ORIGIN[p], DISTANCE[p], DISTANCE[p]) for p in PATCHES}

MERGED_PATCHES: dict[SeamName, tuple[PatchName, PatchName]] = {"ZZ": ("C", "I"), "XX": ("I", "T")}
SEAM_DATA: dict[SeamName, tuple[Site, ...]] = {"ZZ": data_sites(0, 3, 3, 1), "XX": data_sites(3, 4, 1, 3)}
MERGED_CHECKS: dict[SeamName, dict[Site, Plaquette]] = {"ZZ": plaquettes(0, 0, 3, 7), "XX": plaquettes(0, 4, 7, 3)}
SEAM_CHECKS: dict[SeamName, tuple[Site, ...]] = {
    s: tuple(a for a in MERGED_CHECKS[s] if all(a not in CHECKS[p] for p in MERGED_PATCHES[s])) for s in SEAMS
}
"""The four plaquettes that exist only while merged; their product is the joint logical operator Z_C Z_I or X_I X_T."""
SEAM_PAIRS: dict[SeamName, tuple[tuple[Site, Site], ...]] = {
    s: tuple(zip(SEAM_DATA[s][:-1], SEAM_DATA[s][1:], strict=True)) for s in SEAMS
}
SEAM_BASIS: dict[SeamName, Basis] = {"ZZ": "X", "XX": "Z"}
"""Basis in which the seam data are prepared before the merge and measured at the split."""

SITES: tuple[Site, ...] = tuple(sorted(
    {s for p in PATCHES for s in (*DATA[p], *CHECKS[p])} | {s for m in SEAMS for s in (*SEAM_DATA[m], *SEAM_CHECKS[m])}
))  # fmt: skip
INDEX: dict[Site, int] = {s: i for i, s in enumerate(SITES)}
COUPLERS: tuple[tuple[int, int], ...] = tuple(sorted({
    tuple(sorted((INDEX[a], INDEX[d])))
    for checks in (*CHECKS.values(), *MERGED_CHECKS.values()) for a, plaquette in checks.items() for d in plaquette.data
}))  # fmt: skip
"""Pairs of qubit indices, lower index first."""
N_QUBITS = len(SITES)


def index(sites: tuple[Site, ...]) -> list[int]:
    return [INDEX[s] for s in sites]


def is_data(site: Site) -> bool:
    return float(site[0]).is_integer()


def row(patch: PatchName, i: int) -> list[int]:
    """Qubits of data row `i` of a patch: the support of X_L."""
    d = DISTANCE[patch]
    return index(DATA[patch][i * d : (i + 1) * d])


def column(patch: PatchName, j: int) -> list[int]:
    """Qubits of data column `j` of a patch: the support of Z_L."""
    return index(DATA[patch][j :: DISTANCE[patch]])


def elements(patches: tuple[PatchName, ...]) -> tuple[set[int], set[tuple[int, int]]]:
    """Qubits and couplers used when these patches run on their own."""
    qubits = {INDEX[s] for p in patches for s in (*DATA[p], *CHECKS[p])}
    couplers = {
        (min(INDEX[a], INDEX[d]), max(INDEX[a], INDEX[d])) for p in patches for a, plaq in CHECKS[p].items() for d in plaq.data
    }  # fmt: skip
    return qubits, couplers
