"""Reference experimentalist of lindblad_learning: product states and all bases at ten times, maximum likelihood, pruning."""

from __future__ import annotations

import numpy as np
from lindblad_fit import BASES, BOND, COUNT, DOWN, SAME, UP, Data, Fit, H, N, readout_matrix

import lab

TIMES_US = (0.3, 0.6, 0.9, 1.2, 1.8, 2.1, 2.4, 2.7, 3.3, 3.9)
STATES = 36
SHOTS = 27
READOUT_SHOTS = 2500
SUPPORT = 0.08
"""Hamiltonian terms below this are taken for absent."""
SIGNIFICANT = 3.0
"""So many standard errors for excitation and correlations to be there."""


def product_states(rng: np.random.Generator, count: int) -> list[str]:
    """Random product states in which each letter occurs equally often on each qubit."""
    letters = np.array(list("01+-rl") * (count // 6))
    return ["".join(row) for row in zip(*(rng.permutation(letters) for _ in range(N)), strict=True)]


def calibrated(dev: lab.Lab, shots: int) -> tuple[np.ndarray, str]:
    """Readout matrix from all basis states, and the job."""
    states = [f"{k:0{N}b}" for k in range(2**N)]
    record = dev.run("run_readout_calibration", states=states, shots=shots)
    prepared = np.array([[int(c) for c in s] for s in states])
    wrong = (record["bits"] != prepared[:, None]).mean(axis=1)
    false_1, false_0 = (np.array([wrong[prepared[:, q] == v, q].mean() for q in range(N)]) for v in (0, 1))
    return readout_matrix(false_1, false_0), record.job_id


def measured(dev: lab.Lab) -> tuple[Data, list[str]]:
    """All data and their jobs."""
    readout, calibration = calibrated(dev, READOUT_SHOTS)
    data, rng, jobs = Data(readout), np.random.default_rng(), []
    for t in TIMES_US:
        states = product_states(rng, STATES)
        settings = [{"state": s, "t_us": t, "basis": b} for b in BASES for s in states]
        jobs.append((t, states, dev.submit("run_evolution", settings=settings, shots=SHOTS)))
    ids = [calibration]
    for t, states, job in jobs:
        record = job.result()
        data.add(t, states, record["bits"])
        ids.append(record.job_id)
    return data, ids


def physical(x: np.ndarray) -> np.ndarray:
    """Correlations shrunk to where the dephasing matrix has no negative eigenvalue."""
    x = x.copy()
    k = np.diag(x[SAME]) + np.diag(x[BOND], 1) + np.diag(x[BOND], -1)
    if np.linalg.eigvalsh(k)[0] < 0:
        share = x[BOND] ** 2 / (x[SAME][:-1] * x[SAME][1:])
        x[BOND] *= 0.999 / np.sqrt(share.sum())
    return x


def answer_of(x: np.ndarray, sigma: np.ndarray, ids: list[str]) -> dict:
    names = {"hamiltonian": H, "gamma_minus": DOWN, "gamma_plus": UP, "dephasing": SAME, "correlated_dephasing": BOND}
    values = {name: x[part].tolist() for name, part in names.items()}
    return values | {f"{name}_sigma": sigma[part].tolist() for name, part in names.items()} | {"job_ids": ids}


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        print(spec["equation"], spec["conventions"])
        for entry in dev.notebook():
            print(entry["date"], entry["title"], "-", entry["text"])
        data, ids = measured(dev)
        fit = Fit(data)
        x = fit.run(np.ones(COUNT, dtype=bool))
        sigma = fit.errors(x)
        keep = np.ones(COUNT, dtype=bool)
        keep[H] = np.abs(x[H]) > SUPPORT
        for part in (UP, BOND):
            keep[part] = np.abs(x[part]) > SIGNIFICANT * sigma[part]
        x[~keep] = 0.0
        x = physical(fit.climb(x, len(data.times), keep, 6, 1e-3))
        print("terms:", {spec["hamiltonian_terms"][k]: round(float(x[k]), 3) for k in np.flatnonzero(keep[H])})
        print("excitation:", x[UP].round(3), "correlated dephasing:", x[BOND].round(3))
        print(dev.submit_answer(answer_of(x, sigma, ids)))


if __name__ == "__main__":
    main()
