"""Dispersive readout of g, e and f: one integrated IQ point per shot, with relaxation within the window (Gambetta et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Levels:
    """Three clouds in the units of the digitiser: centres `(3,)` of g, e, f, noise per quadrature, length of the window over T1."""

    centres: NDArray[np.complex128]
    sigma: float
    window: float

    def points(self, rng: np.random.Generator, level: NDArray[np.integer]) -> NDArray[np.complex64]:
        """Integrated points, complex64 of the shape of `level` (0 is g, 1 is e, 2 is f at the start of the window)."""
        in_f = np.where(level == 2, np.minimum(rng.standard_exponential(level.shape) / (2 * self.window), 1.0), 0.0)
        in_e = np.where(level >= 1, np.minimum(rng.standard_exponential(level.shape) / self.window, 1.0 - in_f), 0.0)
        g, e, f = self.centres
        noise = rng.standard_normal((*level.shape, 2), dtype=np.float32).view(np.complex64)[..., 0]
        return (g + (e - g) * in_e + (f - g) * in_f).astype(np.complex64) + np.float32(self.sigma) * noise


def sampled_levels(rng: np.random.Generator, populations: NDArray[np.float64]) -> NDArray[np.int8]:
    """One level `(...,)` from each set of populations `(..., 3)`."""
    cumulative = np.cumsum(np.clip(populations, 0.0, None), axis=-1)
    uniform = rng.random(populations.shape[:-1]) * cumulative[..., -1]
    return (uniform[..., None] >= cumulative[..., :2]).sum(axis=-1).astype(np.int8)
