"""Pilot runs of the memory: failures of blocks of cycles on one tile. Plain functions on arrays."""

from __future__ import annotations

import numpy as np

from qtypes.ftqc_resource_estimation.cost import logical_error

GROUP = 10_000
"""Blocks whose failures are counted together."""


def groups(blocks: int) -> np.ndarray:
    """Blocks in each group, uint32 `(ceil(blocks / GROUP),)`; the last one holds the rest."""
    sizes = np.full(-(-blocks // GROUP), GROUP, dtype=np.uint32)
    sizes[-1] = blocks - GROUP * (len(sizes) - 1)
    return sizes


def failures(distance: int, sizes: np.ndarray, prefactor: float, suppression: float, rng: np.random.Generator) -> np.ndarray:
    """Failed blocks in each group, uint32 of the shape of `sizes`.

    A block is d cycles on a tile of distance d; blocks fail independently with A Lambda**(-(d+1)/2) (Fowler et al. 2012, eq. 11 with the
    prefactor free).
    """
    return rng.binomial(sizes, logical_error(distance, prefactor, suppression)).astype(np.uint32)
