"""Where the 49 atoms are, and which plaquettes are pulsed together.

One d = 5 rotated patch: 25 data atoms at integer `(row, column)`, 24 ancillas at the plaquette centres. A data atom belongs to two
plaquettes of each basis at most, and those lie diagonally: pulsing the rows of one parity at a time gives four groups per cycle in which
no atom is a target twice.
"""

from __future__ import annotations

from itertools import combinations

from qtypes.kit.rotated_code import Plaquette, Site, data_sites, plaquettes

DISTANCE = 5
DATA: tuple[Site, ...] = data_sites(0, 0, DISTANCE, DISTANCE)
CHECKS: dict[Site, Plaquette] = plaquettes(0, 0, DISTANCE, DISTANCE)
SITES: tuple[Site, ...] = tuple(sorted({*DATA, *CHECKS}))
INDEX: dict[Site, int] = {s: i for i, s in enumerate(SITES)}
N_ATOMS = len(SITES)

ANCILLAS: tuple[int, ...] = tuple(INDEX[s] for s in CHECKS)
"""Atom index of every ancilla. A plaquette is named by it, and lists with one entry per plaquette follow this order."""
PLAQUETTES: dict[int, Plaquette] = {INDEX[s]: p for s, p in CHECKS.items()}
TARGETS: dict[int, tuple[int, ...]] = {INDEX[s]: tuple(INDEX[d] for d in p.data) for s, p in CHECKS.items()}
"""Data atoms of each plaquette in reading order."""

Subset = tuple[int, ...]


def subsets(ancilla: int) -> tuple[Subset, ...]:
    """Sets of targets that a correlated error of the pulse may hit: every pair, and all four where there are four."""
    targets = TARGETS[ancilla]
    return (*combinations(targets, 2), *((targets,) if len(targets) > 2 else ()))


SUBSETS: dict[int, tuple[Subset, ...]] = {a: subsets(a) for a in ANCILLAS}
FOUR_TARGETS: tuple[int, ...] = tuple(a for a in ANCILLAS if len(TARGETS[a]) == 4)


def _group(site: Site) -> str:
    return f"{CHECKS[site].basis}{int(site[0] + 0.5) % 2}"


GROUPS: dict[str, tuple[int, ...]] = {g: tuple(INDEX[s] for s in CHECKS if _group(s) == g) for g in ("X0", "X1", "Z0", "Z1")}
"""Ancillas that are pulsed at the same time, in the order of a cycle."""


def index(sites: tuple[Site, ...]) -> list[int]:
    return [INDEX[s] for s in sites]


def row(i: int) -> list[int]:
    """Atoms of data row `i`: the support of X_L."""
    return index(DATA[i * DISTANCE : (i + 1) * DISTANCE])


def column(j: int) -> list[int]:
    """Atoms of data column `j`: the support of Z_L."""
    return index(DATA[j::DISTANCE])
