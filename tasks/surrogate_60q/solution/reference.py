"""Reference experimentalist: calibrate the readout, sample random grid inputs, pursue sparse trigonometric polynomials, lock, predict.

Every rotation angle is plus or minus one input and each input drives three rotations, so a correlation is a trigonometric polynomial of
degree at most 3 in each input, with few terms. Inputs are drawn from the grid of seven points per input, on which such a polynomial is
determined and the correlation of a residual with all 7^6 basis functions is a discrete Fourier transform.
"""

from __future__ import annotations

import numpy as np

import lab

N_QUBITS = 60
N_INPUTS = 6
N_BASIS = 7  # 1, cos x, sin x, cos 2x, sin 2x, cos 3x, sin 3x
CALIBRATION_SHOTS = 40_000  # of each of two states
N_SETTINGS = 2500
SHOTS = 320
PER_JOB = 500
BATCH = 32  # pairs pursued together
MAX_TERMS = 380
FIRST, SECOND = np.triu_indices(N_QUBITS, 1)
# with this norm every basis function has mean square 1 over the circle
NORM = np.array([1.0] + [np.sqrt(2.0)] * (N_BASIS - 1))


def bits_of(packed: np.ndarray) -> np.ndarray:
    """(..., 60) bits from (..., 8) bytes."""
    return np.unpackbits(packed, axis=-1, count=N_QUBITS, bitorder="little")


def basis(x: np.ndarray) -> np.ndarray:
    """(n, n_inputs, 7) basis functions of mean square 1."""
    waves = [np.ones_like(x)] + [f(k * x) for k in (1, 2, 3) for f in (np.cos, np.sin)]
    return np.stack(waves, axis=-1) * NORM


def columns(values: np.ndarray, features: np.ndarray) -> np.ndarray:
    """(n, n_features) products over inputs of `values` (n, 6, 7) at flat feature numbers below 7^6."""
    digits = np.unravel_index(features, (N_BASIS,) * N_INPUTS)
    out = np.ones((len(values), len(features)))
    for k, digit in enumerate(digits):
        out *= values[:, k, digit]
    return out


def calibrate(dev: lab.Lab) -> tuple[np.ndarray, np.ndarray]:
    """Contrast and offset per qubit: a recorded outcome +1/-1 has mean contrast * <Z> + offset."""
    record = dev.run("run_readout_cal", states=["0" * N_QUBITS, "1" * N_QUBITS], shots=CALIBRATION_SHOTS)
    ones = bits_of(record["bits"]).mean(axis=1)
    return ones[1] - ones[0], 1 - ones[0] - ones[1]


def measure(dev: lab.Lab, points: np.ndarray, contrast: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """(n, 1770) readout-corrected correlations at grid points (n, 6) of integers 0..6."""
    rows = []
    for first in range(0, len(points), PER_JOB):
        block = points[first : first + PER_JOB]
        settings = [{"x": list(map(float, row))} for row in angles(block)]
        record = dev.run("run_measure", settings=settings, shots=SHOTS)
        for packed in record["bits"]:
            z = (1 - 2 * bits_of(packed).astype(np.float32) - offset.astype(np.float32)) / contrast.astype(np.float32)
            rows.append((z.T @ z)[FIRST, SECOND] / SHOTS)
        print(f"measured {len(rows)} of {len(points)} inputs", flush=True)
    return np.array(rows, dtype=float)


def angles(points: np.ndarray) -> np.ndarray:
    """Inputs in rad of grid points 0..6."""
    return (points - 3) * (2 * np.pi / N_BASIS)


class GridTransform:
    """Correlations of residuals at scattered grid points with all 7^6 basis functions."""

    def __init__(self, points: np.ndarray) -> None:
        self.flat = np.ravel_multi_index(tuple(points.T), (N_BASIS,) * N_INPUTS)
        one = basis(angles(np.arange(N_BASIS))[:, None])[:, 0].T  # (function, grid point)
        self.pair = np.kron(one, one).astype(np.float32).T.copy()

    def __call__(self, residual: np.ndarray) -> np.ndarray:
        """(n_pairs, 7^6) float32 for residuals (n_pairs, n)."""
        side = N_BASIS**2
        grid = np.zeros((len(residual), N_BASIS**N_INPUTS), dtype=np.float32)
        grid[:, self.flat] = residual / len(self.flat)
        for _ in range(3):  # two inputs at a time: the transformed axis moves to the end
            grid = grid.reshape(len(residual), side, side * side).transpose(0, 2, 1).reshape(-1, side) @ self.pair
        return grid.reshape(len(residual), -1)


def pursue(transform: GridTransform, values: np.ndarray, data: np.ndarray) -> list[np.ndarray]:
    """Orthogonal matching pursuit for each row of `data` (n_pairs, n): the flat numbers of the selected basis functions."""
    n = data.shape[1]
    chosen = [np.zeros(0, dtype=int) for _ in data]
    residual, active = data.copy(), np.arange(len(data))
    while len(active):
        strength = np.abs(transform(residual[active]))
        strength *= np.sqrt(n / (residual[active] ** 2).mean(axis=1, keepdims=True))  # in units of its noise
        going = []
        for row, score in zip(active, strength, strict=True):
            score[chosen[row]] = 0
            top = np.argpartition(score, -4)[-4:]
            top = top[(score[top] > 5.0) & (score[top] > 0.7 * score[top].max())]
            if not len(top) or len(chosen[row]) + len(top) > MAX_TERMS:
                continue
            chosen[row] = np.concatenate([chosen[row], top])
            matrix = columns(values, chosen[row])
            residual[row] = data[row] - matrix @ np.linalg.solve(matrix.T @ matrix, matrix.T @ data[row])
            going.append(row)
        active = np.array(going, dtype=int)
    return chosen


def refit(values: np.ndarray, data: np.ndarray, features: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Drop insignificant terms, weighted least squares; features, coefficients, reduced chi^2. `spread`: second moment of one shot."""
    weight = np.full(len(data), 1.0)
    coefficients = np.zeros(0)
    for _ in range(3):
        if not len(features):
            break
        matrix = columns(values, features)
        covariance = np.linalg.inv((matrix * weight[:, None]).T @ matrix)
        coefficients = covariance @ (matrix.T @ (weight * data))
        fitted = np.clip(matrix @ coefficients, -1, 1)
        noise = np.mean(weight * (data - fitted) ** 2)
        keep = np.abs(coefficients) > 4 * np.sqrt(noise * np.diag(covariance))
        weight = SHOTS / np.maximum(spread - fitted**2, 0.02)
        if not keep.all():
            features, coefficients = features[keep], coefficients[keep]
    fitted = np.clip(columns(values, features) @ coefficients, -1, 1)
    chi2 = np.sum((data - fitted) ** 2 * SHOTS / np.maximum(spread - fitted**2, 0.02)) / (len(data) - len(features))
    return features, coefficients, float(chi2)


def learn(points: np.ndarray, data: np.ndarray, spread: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Surrogate of each pair that is not identically 0: flat feature numbers and coefficients."""
    n = len(points)
    nearest = np.clip(np.rint(data.mean(axis=0)), -1, 1)
    # a correlation that does not depend on the inputs is a stabiliser value; its scatter is then the shot noise
    excess = ((data - nearest) ** 2).mean(axis=0) * SHOTS / np.maximum(spread - nearest**2, 0.02)
    varying = np.flatnonzero((excess - 1) * np.sqrt(n / 2) > 6)
    model = {int(p): (np.zeros(1, dtype=int), nearest[p : p + 1]) for p in range(len(nearest)) if nearest[p] != 0 and p not in set(varying)}
    print(f"{len(varying)} correlations vary, {len(model)} are constant and not 0", flush=True)
    transform, values = GridTransform(points), basis(angles(points))
    worst, terms = 0.0, 0
    for first in range(0, len(varying), BATCH):
        batch = varying[first : first + BATCH]
        for p, features in zip(batch, pursue(transform, values, data[:, batch].T), strict=True):
            features, coefficients, chi2 = refit(values, data[:, p], features, spread[p])
            if len(features):
                model[int(p)] = features, coefficients
            worst, terms = max(worst, chi2), max(terms, len(features))
        print(f"fitted {min(first + BATCH, len(varying))} of {len(varying)}; most terms {terms}, worst chi^2 {worst:.2f}", flush=True)
    return model


def answer_of(model: dict[int, tuple[np.ndarray, np.ndarray]], x_test: np.ndarray) -> dict:
    """The answer in the schema of the task: coefficients of plain cosines and sines, and the predictions they give."""
    values = basis(x_test)
    predictions = np.zeros((len(x_test), len(FIRST)))
    surrogate = []
    for pair, (features, coefficients) in sorted(model.items()):
        predictions[:, pair] = columns(values, features) @ coefficients
        digits = np.stack(np.unravel_index(features, (N_BASIS,) * N_INPUTS), axis=1)
        plain = coefficients * NORM[digits].prod(axis=1)
        surrogate.append({"pair": [int(FIRST[pair]), int(SECOND[pair])], "features": digits.tolist(), "coefficients": plain.tolist()})
    return {"predictions": predictions.tolist(), "surrogate": surrogate}


def main() -> None:
    rng = np.random.default_rng()
    with lab.connect() as dev:
        contrast, offset = calibrate(dev)
        cells = rng.choice(N_BASIS**N_INPUTS, size=N_SETTINGS, replace=False)
        points = np.stack(np.unravel_index(cells, (N_BASIS,) * N_INPUTS), axis=1)
        data = measure(dev, points, contrast, offset)
        spread = ((1 + offset**2) / contrast**2)[FIRST] * ((1 + offset**2) / contrast**2)[SECOND]
        model = learn(points, data, spread)
        x_test = np.array(dev.lock_and_reveal()["challenge"]["x_test"])
        answer = answer_of(model, x_test)
        dev.check_answer(answer)
        dev.submit_answer(answer)
        print("submitted", flush=True)


if __name__ == "__main__":
    main()
