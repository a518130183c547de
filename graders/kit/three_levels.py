"""Populations of three levels from raw IQ points: nearest of three centres, corrected by the response that the references show.

References need not be pure: what is in them is taken as what their preparation gives. Points of a fourth level count where they fall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEVELS = 3
_ROUNDS = 8
_LEAST_DETERMINANT = 1e-3


@dataclass(frozen=True)
class Levels:
    """Centres `(3,)` complex, response `(3, 3)` [assigned, prepared], and the number of reference shots of each level `(3,)`."""

    centres: NDArray[np.complex128]
    response: Floats
    shots: Floats

    @property
    def resolves(self) -> bool:
        """Whether the references tell the three levels apart."""
        return abs(float(np.linalg.det(self.response))) > _LEAST_DETERMINANT

    def shares(self, iq: NDArray[np.complexfloating]) -> Floats:
        """Share of the points `(n,)` next to each centre, `(3,)`."""
        return _shares(iq, self.centres)

    def populations(self, iq: NDArray[np.complexfloating]) -> tuple[Floats, Floats]:
        """Populations `(3,)` of the points `(n,)` and their standard errors; the response's own errors are included."""
        inverse = np.linalg.inv(self.response)
        seen = self.shares(iq)
        p = inverse @ seen
        variance = (inverse**2 @ seen - p**2) / iq.size
        for level in range(LEVELS):
            r = self.response[:, level]
            variance += p[level] ** 2 * (inverse**2 @ r - (inverse @ r) ** 2) / self.shots[level]
        # a share of zero has an error too
        return p, np.sqrt(np.maximum(variance, 0.0) + 1.0 / iq.size**2)


def _shares(iq: NDArray[np.complexfloating], centres: NDArray[np.complex128]) -> Floats:
    nearest = np.abs(np.asarray(iq)[:, None] - centres).argmin(axis=1)
    return np.bincount(nearest, minlength=LEVELS) / iq.size


def fit_levels(references: list[NDArray[np.complexfloating]]) -> Levels:
    """From the points `(n,)` of references of level 0, 1 and 2.

    The centre of a level is the mean of those points of its reference which are nearest to it, found by iteration from the medians.
    """
    centres = np.array([np.median(z.real) + 1j * np.median(z.imag) for z in references])
    for _ in range(_ROUNDS):
        for level, z in enumerate(references):
            own = z[np.abs(z[:, None] - centres).argmin(axis=1) == level]
            if own.size:
                centres[level] = own.mean()
    response = np.array([_shares(z, centres) for z in references]).T
    return Levels(centres, response, np.array([float(z.size) for z in references]))
