"""Reference solver of ion_circuit_compilation.

1. Screen all 28 pairs, four disjoint ones at a time: XX(t) XX(-t) many times over. The reversal takes out over-rotation and crosstalk, two
   depths take out preparation and readout, two angles separate e0 from e1.
2. Trains of XX(pi/2) give the over-rotations.
3. One XX per coupling, all assignments of qubits to ions by the sum of measured errors. No echo of spectators: a second e0 per coupling
   costs more than the crosstalk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from circuits import PAIRS, angle_scales, best_assignment, expected_error, finish, rounds, xx
from scipy.optimize import least_squares

import lab

ANGLES = (0.3, np.pi / 2)
DEPTHS = (2, 24)
SHOTS = 800
BAD = 0.03


def screening(dev: lab.Lab) -> tuple[dict[tuple[int, int], np.ndarray], list[str]]:
    """Fraction of shots in which both ions of a pair are found in 0, `(angle, depth)` per pair, and the jobs."""
    jobs = []
    for part in (rounds()[:4], rounds()[4:]):
        circuits = [
            {"gates": [xx(*p, sign * t) for p in pairs for sign in (1, -1)], "reps": depth // 2}
            for pairs in part for t in ANGLES for depth in DEPTHS
        ]  # fmt: skip
        jobs.append((part, dev.submit("run_circuits", circuits=circuits, shots=SHOTS)))
    survived = {}
    for part, job in jobs:
        zero = job.result()["bits"].reshape(len(part), len(ANGLES), len(DEPTHS), SHOTS, -1) == 0
        for r, pairs in enumerate(part):
            for i, j in pairs:
                survived[i, j] = (zero[r, ..., i] & zero[r, ..., j]).mean(axis=-1)
    return survived, [job.job_id for _, job in jobs]


def pair_error(y: np.ndarray) -> tuple[np.ndarray, float]:
    """(e0, e1) of a pair from its survivals, and the standard error of e0 + e1. Model: s [1/4 + 3/4 (1 - 16/15 e)^m]."""
    share = np.array(ANGLES)[:, None] / (np.pi / 2)
    m = np.array(DEPTHS)[None, :]
    p = (y * SHOTS + 1) / (SHOTS + 2)
    sigma = np.sqrt(p * (1 - p) / SHOTS)

    def residuals(x: np.ndarray) -> Any:
        e = x[1] + x[2] * share
        return ((x[0] * (0.25 + 0.75 * np.maximum(1 - 16 / 15 * e, 0) ** m) - y) / sigma).ravel()

    fit = least_squares(residuals, [0.98, 1e-3, 1e-2], bounds=([0.8, 0, 0], [1.0, 0.05, 0.3]), x_scale=[0.01, 1e-3, 1e-2])
    covariance = np.linalg.inv(fit.jac.T @ fit.jac)
    return fit.x[1:], float(np.sqrt(covariance[1:, 1:].sum()))


def main() -> None:
    with lab.connect() as dev:
        target = dev.spec()["spec"]["target"]
        survived, jobs = screening(dev)
        fits = [pair_error(survived[p]) for p in PAIRS]
        e0, e1 = np.array([x for x, _ in fits]).T
        bad = [
            {"pair": list(p), "error": float(x.sum()), "sigma": sigma} for p, (x, sigma) in zip(PAIRS, fits, strict=True) if x.sum() > BAD
        ]
        print("bad pairs:", bad)
        scales, trains = angle_scales(dev)
        ion, error = best_assignment(target, e0, e1)
        print(f"ions of the qubits {ion}, sum of pair errors {error:.4f}")
        finish(dev, target, ion, scales, bad, expected_error(error), [*jobs, trains])


if __name__ == "__main__":
    main()
