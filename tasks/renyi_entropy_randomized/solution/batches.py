"""Random rotations, the runs, and purities of what was read."""

from __future__ import annotations

import numpy as np

import lab

IONS = 6
SUBSYSTEMS = (1, 2, 3, 6)


def haar(rng: np.random.Generator, batches: int) -> np.ndarray:
    """Euler angles `(batches, 6, 3)` of independent Haar-random rotations."""
    a, c = rng.uniform(0, 2 * np.pi, (2, batches, IONS))
    return np.stack((a, np.arccos(rng.uniform(-1, 1, (batches, IONS))), c), axis=-1)


def measured(dev: lab.Lab, settings: np.ndarray, copies: int, in_a_job: int) -> tuple[np.ndarray, list[dict[str, object]], list[str]]:
    """Bits `(batches, copies, 6)` of batches with all ions bright, the others by name, and the jobs."""
    bits, rejected = [], []
    parts = np.split(settings, range(in_a_job, len(settings), in_a_job))
    jobs = [dev.submit("run_rm_batch", euler_rad=part.tolist(), n_copies=copies) for part in parts]
    ids = []
    for job in jobs:
        record = job.result()
        whole = record["ion_count"] == IONS
        bits.append(record["bits"][whole])
        rejected += [{"job_id": record.job_id, "batch": int(k)} for k in np.flatnonzero(~whole)]
        ids.append(record.job_id)
    return np.concatenate(bits), rejected, ids


def counts(bits: np.ndarray, first: int) -> np.ndarray:
    """How often each string of ions 1 to `first` was read, `(batches, 2^first)`."""
    index = bits[:, :, :first] @ (1 << np.arange(first)[::-1])
    return np.stack([np.bincount(row, minlength=2**first) for row in index]).astype(float)


def weights(first: int, inverses: np.ndarray | None = None) -> np.ndarray:
    """2^first (-2)^(-D) for Hamming distances D of true strings, as a function of the strings that were read."""
    out = np.ones((1, 1))
    for i in range(first):
        single = np.array([[2.0, -1.0], [-1.0, 2.0]])
        out = np.kron(out, single if inverses is None else inverses[i].T @ single @ inverses[i])
    return out


def bootstrap(rng: np.random.Generator, purities: np.ndarray, resamples: int = 400) -> tuple[float, float]:
    """-log2 of the mean of `purities` `(batches,)`, and its spread over resampled batches."""
    rows = rng.integers(0, len(purities), (resamples, len(purities)))
    means = np.maximum(purities[rows].mean(axis=1), 1e-3)
    return float(-np.log2(max(purities.mean(), 1e-3))), float(np.std(-np.log2(means)))
