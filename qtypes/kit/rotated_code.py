"""Rotated surface-code patches on a square grid.

Data qubits sit at integer `(row, column)`, measure qubits at half-integer positions. The type of a plaquette follows the parity of
the data site at its north-west corner (even: X, odd: Z), so patches with origins on one grid share one checkerboard.
Weight-2 Z plaquettes lie on the top and bottom edges and weight-2 X plaquettes on the left and right ones: Z_L is a column of Z, X_L a
row of X (Bombin and Martin-Delgado 2007; Horsman et al. 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Site = tuple[float, float]
Basis = Literal["X", "Z"]


@dataclass(frozen=True)
class Plaquette:
    """A stabiliser: `site` of its measure qubit, `basis` of the Paulis, `data` sites it acts on."""

    site: Site
    basis: Basis
    data: tuple[Site, ...]

    def layer(self, k: int) -> Site | None:
        """The data site of CX layer `k` (0..3), None where that corner lies outside of the patch.

        The order is NW, SW, NE, SE for X and NW, NE, SW, SE for Z: the last two data qubits of an X plaquette lie in one column and of a
        Z plaquette in one row, so hook errors run across the logical operator of their type (Tomita and Svore 2014).
        """
        r, c = self.site
        nw, ne, sw, se = (r - 0.5, c - 0.5), (r - 0.5, c + 0.5), (r + 0.5, c - 0.5), (r + 0.5, c + 0.5)
        corner = ((nw, sw, ne, se) if self.basis == "X" else (nw, ne, sw, se))[k]
        return corner if corner in self.data else None


def data_sites(row: int, col: int, rows: int, cols: int) -> tuple[Site, ...]:
    """Data sites of a patch with its north-west corner at `(row, col)`, row by row."""
    return tuple((float(row + i), float(col + j)) for i in range(rows) for j in range(cols))


def plaquettes(row: int, col: int, rows: int, cols: int) -> dict[Site, Plaquette]:
    """Plaquettes of a rotated patch by the site of the measure qubit, in sorted order; there are `rows * cols - 1`."""
    inside = set(data_sites(row, col, rows, cols))
    found: dict[Site, Plaquette] = {}
    for r in range(row - 1, row + rows):
        for c in range(col - 1, col + cols):
            basis: Basis = "X" if (r + c) % 2 == 0 else "Z"
            data = tuple(s for s in ((float(r + a), float(c + b)) for a in (0, 1) for b in (0, 1)) if s in inside)
            same_row = len(data) == 2 and data[0][0] == data[1][0]
            if len(data) == 4 or (len(data) == 2 and same_row == (basis == "Z")):
                found[(r + 0.5, c + 0.5)] = Plaquette((r + 0.5, c + 0.5), basis, data)
    return dict(sorted(found.items()))
