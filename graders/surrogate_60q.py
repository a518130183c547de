"""Grader of `surrogate_60q`: a sparse trigonometric surrogate of all 1770 pair correlations, judged at 40 held-out inputs.

Evidence are the readout calibration and the shots taken before the lock. The surrogate must give the submitted predictions, and must
describe the logged, readout-corrected correlations within their shot noise; the predictions are then compared with exact values (Pauli
propagation of the hidden circuit).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, Score, Stage, above, below, holds
from qtypes.blackbox_boundedgate_circuit.device import N_INPUTS, N_QUBITS
from qtypes.blackbox_boundedgate_circuit.polynomials import FEATURES, correlations, design, pairs

N_TEST = 40
N_PAIRS = N_QUBITS * (N_QUBITS - 1) // 2
MAX_RMSE = 0.0025
MAX_REDUCED_CHI2 = 1.10
MAX_INCONSISTENCY = 1e-6
MAX_FEATURES_PER_PAIR = 400
MAX_FEATURES_TOTAL = 100_000
MIN_CALIBRATION_SHOTS = 5000
MIN_SETTINGS = 300
VARIANCE_FLOOR = 0.02  # readout alone makes a corrected product of two outcomes fluctuate by more than this

Qubit = Annotated[int, Field(ge=0, lt=N_QUBITS)]
Index = Annotated[int, Field(ge=0, lt=FEATURES)]
Feature = Annotated[tuple[Index, ...], Field(min_length=N_INPUTS, max_length=N_INPUTS)]
Prediction = Annotated[float, Field(ge=-1.5, le=1.5)]


class PairSurrogate(AnswerModel):
    """The correlation of one pair of qubits: a sum of products of one basis function per input, times a coefficient."""

    pair: tuple[Qubit, Qubit] = Field(description="qubits i < j, from 0")
    features: tuple[Feature, ...] = Field(
        max_length=MAX_FEATURES_PER_PAIR,
        description="six indices 0..6 each, one per input: 0 is 1, 1 cos x, 2 sin x, 3 cos 2x, 4 sin 2x, 5 cos 3x, 6 sin 3x",
    )
    coefficients: tuple[Annotated[float, Field(ge=-10, le=10)], ...] = Field(
        max_length=MAX_FEATURES_PER_PAIR, description="one coefficient per feature"
    )

    @model_validator(mode="after")
    def _consistent(self) -> PairSurrogate:
        if not 0 <= self.pair[0] < self.pair[1] < N_QUBITS:
            raise ValueError(f"a pair is two qubits i < j below {N_QUBITS}")
        if len(self.features) != len(self.coefficients):
            raise ValueError("one coefficient per feature")
        return self


class Answer(AnswerModel):
    """Predictions at the revealed inputs, and the surrogate that gives them."""

    predictions: tuple[Annotated[tuple[Prediction, ...], Field(min_length=N_PAIRS, max_length=N_PAIRS)], ...] = Field(
        min_length=N_TEST,
        max_length=N_TEST,
        description="40 rows in the order of x_test, each 1770 values <Z_i Z_j>, pairs i < j in lexicographic order",
    )
    surrogate: tuple[PairSurrogate, ...] = Field(
        max_length=N_PAIRS, description="each pair at most once; a pair left out is predicted as 0"
    )

    @model_validator(mode="after")
    def _bounded(self) -> Answer:
        if len({s.pair for s in self.surrogate}) != len(self.surrogate):
            raise ValueError("a pair is listed twice")
        if sum(len(s.features) for s in self.surrogate) > MAX_FEATURES_TOTAL:
            raise ValueError(f"more than {MAX_FEATURES_TOTAL} features in total")
        return self


class Surrogate:
    """The submitted surrogate, ready to evaluate."""

    def __init__(self, answer: Answer) -> None:
        self._terms: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for entry in answer.surrogate:
            if entry.features:
                features = np.array(entry.features, dtype=np.intp).reshape(-1, 2, N_INPUTS // 2)
                halves = features @ np.array([FEATURES**2, FEATURES, 1])  # (n, 2): column of each half of the inputs
                self._terms[_pair_index(*entry.pair)] = halves, np.array(entry.coefficients)

    def size(self, pair: int) -> int:
        return len(self._terms[pair][1]) if pair in self._terms else 0

    def evaluate(self, x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """(n, n_wanted) values at inputs `x` (n, 6), rad, of the pairs with indices `wanted`."""
        basis = design(x)
        halves_of_inputs = basis[:, : N_INPUTS // 2], basis[:, N_INPUTS // 2 :]
        left, right = (np.einsum("na,nb,nc->nabc", *np.moveaxis(h, 1, 0)).reshape(len(x), -1) for h in halves_of_inputs)
        out = np.zeros((len(x), len(wanted)))
        for column, pair in enumerate(wanted):
            if pair in self._terms:
                halves, coefficients = self._terms[pair]
                out[:, column] = (left[:, halves[:, 0]] * right[:, halves[:, 1]]) @ coefficients
        return out


def _pair_index(i: int, j: int) -> int:
    """Position of the pair i < j in lexicographic order."""
    return i * (2 * N_QUBITS - i - 1) // 2 + j - i - 1


def outcomes(packed: np.ndarray) -> np.ndarray:
    """(..., 60) float32 outcomes +1 / -1 from packed bits (..., 8) uint8."""
    bits = np.unpackbits(packed, axis=-1, count=N_QUBITS, bitorder="little")
    return 1 - 2 * bits.astype(np.float32)


def calibration(jobs: tuple[Job, ...]) -> dict[str, np.ndarray]:
    """Counts of the logged calibration, each (2, 60): `shots` of each prepared state, and `ones` read from it."""
    shots, ones = np.zeros((2, N_QUBITS)), np.zeros((2, N_QUBITS))
    for job in jobs:
        bits = job.arrays()["bits"]
        for state, block in zip(job.request.states, bits, strict=True):
            prepared = np.array([int(c) for c in state])
            read = np.unpackbits(block, axis=-1, count=N_QUBITS, bitorder="little").sum(axis=0)
            for value in (0, 1):
                shots[value] += np.where(prepared == value, len(block), 0)
                ones[value] += np.where(prepared == value, read, 0)
    return {"shots": shots, "ones": ones}


def moments(jobs: tuple[Job, ...]) -> dict[str, np.ndarray]:
    """Raw moments of every measured setting.

    `x` (n, 6) rad, `shots` (n,), `z_basis` (n, 60) bool, `single` (n, 60) and `product` (n, 1770) means of the recorded outcomes +1 / -1.
    """
    first, second = pairs(N_QUBITS)
    x, shots, z_basis, single, product = [], [], [], [], []
    for job in jobs:
        for setting, block in zip(job.request.settings, job.arrays()["bits"], strict=True):
            z = outcomes(block)
            x.append(setting.x)
            shots.append(len(block))
            z_basis.append([letter == "Z" for letter in setting.basis])
            single.append(z.mean(axis=0, dtype=float))
            product.append((z.T @ z)[first, second] / len(block))
    return {
        "x": np.array(x, dtype=float).reshape(-1, N_INPUTS), "shots": np.array(shots, dtype=float),
        "z_basis": np.array(z_basis, dtype=bool).reshape(-1, N_QUBITS), "single": np.array(single, dtype=float).reshape(-1, N_QUBITS),
        "product": np.array(product, dtype=np.float32).reshape(-1, N_PAIRS),
    }  # fmt: skip


def reduced_chi2(
    surrogate: Surrogate, data: dict[str, np.ndarray], contrast: np.ndarray, offset: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """(n_wanted,) reduced chi^2 of the surrogate on readout-corrected correlations; infinite where a pair has too few settings.

    A recorded outcome has mean ``contrast <Z> + offset``, so ``(z - offset) / contrast`` is unbiased, and so is the product over two
    qubits. Its second moment is a combination of the recorded moments because ``z^2 = 1``.
    """
    first, second = pairs(N_QUBITS)
    model = np.clip(surrogate.evaluate(data["x"], wanted), -1, 1)
    result = np.full(len(wanted), np.inf)
    for column, pair in enumerate(wanted):
        i, j = first[pair], second[pair]
        rows = data["z_basis"][:, i] & data["z_basis"][:, j]
        freedom = np.count_nonzero(rows) - surrogate.size(pair)
        if np.count_nonzero(rows) < max(MIN_SETTINGS, 2 * surrogate.size(pair)):
            continue
        mi, mj, mij = data["single"][rows, i], data["single"][rows, j], data["product"][rows, pair].astype(float)
        scale = contrast[i] * contrast[j]
        value = (mij - offset[i] * mj - offset[j] * mi + offset[i] * offset[j]) / scale
        si, sj = 1 + offset[i] ** 2, 1 + offset[j] ** 2
        second_moment = (si * sj - 2 * offset[i] * sj * mi - 2 * offset[j] * si * mj + 4 * offset[i] * offset[j] * mij) / scale**2
        expected = model[rows, column]
        variance = np.maximum(second_moment - expected**2, VARIANCE_FLOOR) / data["shots"][rows]
        result[column] = np.sum((value - expected) ** 2 / variance) / freedom
    return result


class Surrogate60q(Grader):
    """See the module."""

    task: ClassVar[str] = "surrogate_60q"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = (
        "reduced chi^2 of the surrogate on the logged correlations, mean over varying pairs",
        "root mean square error of the 70800 predictions",
    )
    trap_meets = ("settings with both qubits in the Z basis, for every pair that varies",)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        counts = calibration(session.of("run_readout_cal"))
        data = moments(session.of("run_measure"))
        z_settings = data["z_basis"].astype(np.float32)
        first, second = pairs(N_QUBITS)
        return {
            "settings": len(data["x"]),
            "circuit_shots": int(data["shots"].sum()),
            "calibration_shots_per_state": int(counts["shots"].min()),
            "_counts": counts,
            "_moments": data,
            "_settings_per_pair": (z_settings.T @ z_settings)[first, second],
        }

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        measured = tuple(j.job_id for j in session.of("run_measure"))
        calibrated = tuple(j.job_id for j in session.of("run_readout_cal"))
        varying = np.flatnonzero(correlations(session.device.hidden.circuit).varying)
        surrogate = Surrogate(answer)
        checks = [
            holds("the session was locked before the answer", Stage.BIND, session.revealed, category=Category.ORDER,
                  note="" if session.revealed else "predictions are due after lock_and_reveal"),
            above("calibration shots of every qubit in |0> and in |1>", Stage.BIND, q["calibration_shots_per_state"], MIN_CALIBRATION_SHOTS,
                  unit="shots", category=Category.MISSING_EVIDENCE, jobs=calibrated),
            above("settings with both qubits in the Z basis, for every pair that varies", Stage.BIND,
                  float(q["_settings_per_pair"][varying].min()), MIN_SETTINGS, unit="settings", category=Category.MISSING_EVIDENCE,
                  jobs=measured),
        ]  # fmt: skip
        x_test = np.array((session.challenge or {})["x_test"])
        gap = np.abs(surrogate.evaluate(x_test, np.arange(N_PAIRS)) - np.array(answer.predictions)).max()
        checks.append(below("largest difference between the surrogate at x_test and the predictions", Stage.BIND, float(gap),
                            MAX_INCONSISTENCY, category=Category.UNSUPPORTED))  # fmt: skip
        shots, ones = q["_counts"]["shots"], q["_counts"]["ones"]
        if all(c.passed for c in checks[1:3]):
            p_one = ones / shots
            contrast, offset = p_one[1] - p_one[0], 1 - p_one[0] - p_one[1]
            chi2 = reduced_chi2(surrogate, q["_moments"], contrast, offset, varying)
            mean = float(np.mean(chi2))
        else:
            mean = float("inf")
        note = "" if np.isfinite(mean) else "not computed: too little evidence for the calibration or for a pair"
        checks.append(below("reduced chi^2 of the surrogate on the logged correlations, mean over varying pairs", Stage.BIND, mean,
                            MAX_REDUCED_CHI2, category=Category.UNSUPPORTED, jobs=measured, note=note))  # fmt: skip
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        exact = correlations(session.device.hidden.circuit).evaluate(np.array((session.challenge or {})["x_test"]))
        rmse = float(np.sqrt(np.mean((np.array(answer.predictions) - exact) ** 2)))
        return Score([below("root mean square error of the 70800 predictions", Stage.SCORE, rmse, MAX_RMSE)])

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Predictions, and the surrogate that gives them, stretched by twice the tolerated error: stronger correlations than there are."""
        stretch = 1.0 + 2.0 * MAX_RMSE / float(np.sqrt(np.mean(np.square(answer["predictions"]))))
        return {
            "predictions": [[float(np.clip(p * stretch, -1.5, 1.5)) for p in row] for row in answer["predictions"]],
            "surrogate": [{**s, "coefficients": [c * stretch for c in s["coefficients"]]} for s in answer["surrogate"]],
        }


GRADER = Surrogate60q()
