"""Reference solver of renyi_entropy_randomized.

1. Readout of both states, in short batches, so that a dark ion spoils one of them and not all.
2. Haar-random rotations of all ions; batches with a dark ion are left out.
3. Purity of each batch from pairs of different copies, with the assignment errors inverted; S2 from the mean over batches, its error from
   the bootstrap over batches.
"""

from __future__ import annotations

import numpy as np
from batches import IONS, SUBSYSTEMS, bootstrap, counts, haar, measured, weights

import lab

ROTATIONS, COPIES, IN_A_JOB = 720, 100, 120
CAL_BATCHES, CAL_COPIES = 10, 600
SEED = 6


def readout(dev: lab.Lab) -> tuple[np.ndarray, str]:
    """Inverse assignment matrices `(6, 2, 2)`, [true, read], and the job."""
    states = ["000000", "111111"] * CAL_BATCHES
    record = dev.run("run_readout_cal", states=states, n_copies=CAL_COPIES)
    whole = record["ion_count"] == IONS
    bright = np.array([record["bits"][whole & (np.array(states) == s)].mean(axis=(0, 1)) for s in states[:2]])
    print("read as bright, dark and bright ions:", np.round(bright, 4).tolist())
    return np.array([np.linalg.inv([[1 - dark, 1 - light], [dark, light]]) for dark, light in bright.T]), record.job_id


def pair_purities(n: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Mean of `w` over pairs of different copies of a batch: no copy is compared with itself."""
    copies = n.sum(axis=1)
    return (np.sum((n @ w) * n, axis=1) - n @ np.diag(w)) / (copies * (copies - 1))


def main() -> None:
    rng = np.random.default_rng(SEED)
    with lab.connect() as dev:
        inverses, calibration = readout(dev)
        bits, rejected, ids = measured(dev, haar(rng, ROTATIONS), COPIES, IN_A_JOB)
        found = [bootstrap(rng, pair_purities(counts(bits, m), weights(m, inverses))) for m in SUBSYSTEMS]
        for m, (s2, sigma) in zip(SUBSYSTEMS, found, strict=True):
            print(f"ions 1-{m}: S2 = {s2:.3f} +- {sigma:.3f} bits")
        answer = {
            "s2_bits": [s for s, _ in found], "sigma": [e for _, e in found], "rejected": rejected, "job_ids": [calibration, *ids],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
