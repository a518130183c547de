"""Purity from outcomes behind Haar-random local rotations (Elben et al. 2018, 2019; Brydges et al. 2019). For notebook, graders, tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtypes.trapped_ion_state_copy_randomized_measurement.physics import Floats

Counts = NDArray[np.float64]


def counts_of(bits: NDArray[np.uint8], first: int) -> Counts:
    """How often each string of ions 1 to `first` was read, `(batches, 2^first)`, from bits `(batches, copies, ions)`."""
    weights = 1 << np.arange(first - 1, -1, -1)
    index = bits[:, :, :first].astype(np.int64) @ weights
    rows = np.arange(len(bits))[:, None] * 2**first
    return np.bincount((index + rows).ravel(), minlength=len(bits) * 2**first).reshape(len(bits), -1).astype(float)


def readout_inverses(dark_read_bright: ArrayLike, bright_read_dark: ArrayLike) -> Floats:
    """Inverse assignment matrices `(ions, 2, 2)`, [true, read], from error rates `(ions,)` each."""
    e0, e1 = np.asarray(dark_read_bright, dtype=float), np.asarray(bright_read_dark, dtype=float)
    out: Floats = np.linalg.inv(np.moveaxis(np.array([[1.0 - e0, e1], [e0, 1.0 - e1]]), -1, 0))
    return out


def kernel(first: int, inverses: Floats | None = None) -> Floats:
    """2^first (-2)^(-D) between strings of `first` ions, D their Hamming distance; `(2^first, 2^first)`.

    With `inverses` `(ions, 2, 2)` it acts on strings as they were read: its mean is that of the plain kernel on true ones.
    """
    single = np.array([[2.0, -1.0], [-1.0, 2.0]])
    out = np.ones((1, 1))
    for i in range(first):
        out = np.kron(out, single if inverses is None else inverses[i].T @ single @ inverses[i])
    return out


def pair_purities(counts: Counts, weights: Floats) -> Floats:
    """Mean of `weights` over pairs of different copies of a batch, `(batches,)`: its mean over Haar rotations is Tr rho_A^2."""
    n = counts.sum(axis=1)
    all_pairs = np.einsum("us,us->u", counts @ weights, counts)
    out: Floats = (all_pairs - counts @ np.diag(weights)) / (n * (n - 1.0))
    return out


def plug_in_purities(counts: Counts) -> Floats:
    """Frequencies put in the place of probabilities, `(batches,)`: a copy is paired with itself too, so that it comes out too large."""
    f = counts / counts.sum(axis=1, keepdims=True)
    out: Floats = np.einsum("us,us->u", f @ kernel(int(np.log2(counts.shape[1]))), f)
    return out
