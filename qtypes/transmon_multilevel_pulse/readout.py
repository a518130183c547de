"""Dispersive readout of four levels: one integrated IQ point per shot.

While the readout field rises it may move the qubit between levels 1 and 2 (Sank et al. 2016): the point then belongs to the other
cloud. Level k then relaxes with k/T1; one relaxation within the window is followed, and draws the point towards the centre of the level
below (Gambetta et al. 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Levels:
    """Four clouds in the units of the digitiser."""

    centres: NDArray[np.complex128]
    sigma: float
    swap12: float
    window: float
    """Length of the window in units of T1."""

    def points(self, rng: np.random.Generator, level: NDArray[np.integer]) -> NDArray[np.complex64]:
        """Integrated IQ points, complex64 of the shape of `level` (0 to 3 at the start of the readout)."""
        swapped = rng.random(level.shape) < self.swap12
        level = np.where(swapped & (level == 1), 2, np.where(swapped & (level == 2), 1, level))
        with np.errstate(divide="ignore"):
            stays = np.minimum(rng.standard_exponential(level.shape) / (level * self.window), 1.0)
        below = np.maximum(level - 1, 0)
        mean = self.centres[level] * stays + self.centres[below] * (1.0 - stays)
        noise = rng.standard_normal((*level.shape, 2), dtype=np.float32).view(np.complex64)[..., 0]
        return mean.astype(np.complex64) + np.float32(self.sigma) * noise


def sampled_levels(rng: np.random.Generator, populations: NDArray[np.float64], shots: int) -> NDArray[np.int8]:
    """Levels `(shots,)` drawn from populations `(4,)`, or one each from populations `(shots, 4)`."""
    cumulative = np.cumsum(np.clip(populations, 0.0, None), axis=-1)
    cumulative = cumulative / cumulative[..., -1:]
    uniform = rng.random(shots)
    return np.minimum((uniform[:, None] >= np.broadcast_to(cumulative, (shots, 4))).sum(axis=1), 3).astype(np.int8)
