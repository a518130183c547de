"""Grader of `error_mitigation_observable`: noise-free expectation values after a Trotter circuit on an opaque input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.optimize import minimize_scalar

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, JobId, Score, Stage, above, below, holds
from graders.kit import gate_circuits as gates

QUBITS = (0, 1, 2, 3, 4)
N = 2 ** len(QUBITS)
OBSERVABLES = ((0,), (2,), (4,), (1, 3))
CZ_COUNT = 32
"""CZ gates of the public circuit: noise scale 1."""
SCALES = 3
TWIRLS = 100
STATE_SHOTS = 500
"""Calibration shots of each of the 32 basis states for `full`; of each qubit in |0> and in |1> for `tensored`."""
RATE_RANGE = (0.6, 1.0)
"""Range of r in the exponential fit A r^scale."""
BIND_DIFFERENCE = 0.015
SCALE_DIFFERENCE = 0.001
TOLERANCE = 0.03
SIGMA_RANGE = (0.003, 0.02)
DEGREE = {"linear": 1, "quadratic": 2}

Floats = NDArray[np.float64]
Expectation = Annotated[float, Field(ge=-1, le=1)]
Fit = Literal["exponential", "linear", "quadratic"]
Four = Field(min_length=4, max_length=4)
_STRINGS = (np.arange(N)[:, None] >> np.arange(len(QUBITS))) & 1
SIGNS = np.stack([(1 - 2 * _STRINGS[:, list(o)]).prod(axis=1) for o in OBSERVABLES]).astype(float)
"""Value of each observable on each string, `(observable, string)`."""


class Mitigation(AnswerModel):
    """How the values were made: the grader repeats it."""

    twirl: bool = Field(description="whether the circuits were Pauli-twirled")
    scale_factors: tuple[Annotated[float, Field(gt=0, le=100)], ...] = Field(
        min_length=1, max_length=12, description="noise scales: number of CZ gates over 32, ascending"
    )
    fit: Annotated[tuple[Fit, ...], Four] = Field(description="extrapolation of each observable to scale 0, see the instruction")
    readout: Literal["full", "tensored"] = Field(description="readout correction, see the instruction")


class Answer(AnswerModel):
    """Values of Z0, Z2, Z4, Z1 Z3 and how they were obtained."""

    values: Annotated[tuple[Expectation, ...], Four] = Field(description="noise-free expectation values of Z0, Z2, Z4, Z1 Z3")
    sigmas: Annotated[tuple[Annotated[float, Field(gt=0, le=1)], ...], Four] = Field(description="their standard uncertainties")
    mitigation: Mitigation
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=60, description="jobs used: readout calibration and every noise scale")


@dataclass(frozen=True)
class Scale:
    """All cited runs of one noise scale: one row `(32,)` of string frequencies for each independent twirl."""

    factor: float
    rows: Floats


class ErrorMitigationObservable(Grader):
    """See `docs/tasks/error_mitigation_observable.md`."""

    task: ClassVar[str] = "error_mitigation_observable"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("independent twirls of the scale with the fewest",)
    trap_meets = ("noise scales",)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: the values use the cited jobs and are made in :meth:`bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        recipe = answer.mitigation
        calibration, scales, strangers = sort_runs(gates.runs(jobs))
        few = min((len(s.rows) for s in scales), default=0)
        off = _difference(recipe.scale_factors, [s.factor for s in scales])
        least = least_shots(calibration, recipe.readout)
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in jobs)}
        checks = [
            self.jobs_exist(answer.job_ids, session, {gates.TOOL}),
            holds("every cited circuit is a readout calibration or the Trotter circuit on box_1", Stage.BIND, not strangers,
                  note=f"{strangers} cited circuits are neither" if strangers else "", **missing),
            above("noise scales", Stage.BIND, len(scales), SCALES, **missing),
            above("independent twirls of the scale with the fewest", Stage.BIND, few, TWIRLS, **missing),
            above("calibration shots of the state with the fewest", Stage.BIND, least, STATE_SHOTS, **missing),
            below("|declared - cited scale factors|", Stage.BIND, off, SCALE_DIFFERENCE, category=Category.UNSUPPORTED),
        ]  # fmt: skip
        response = response_of(calibration, recipe.readout)
        if response is None or len(scales) <= max(DEGREE.get(f, 1) for f in recipe.fit) or few < 2:
            return [*checks, holds("the values can be recomputed from the cited jobs", Stage.BIND, False, **missing)]
        values = mitigated(scales, response, recipe.fit)
        q["values"] = values.tolist()
        worst = float(np.abs(values - np.array(answer.values)).max())
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": missing["jobs"]}
        return [*checks, below("largest |reported - recomputed| value", Stage.BIND, worst, BIND_DIFFERENCE, **more)]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        ideal = ideal_values(session.device.hidden.boxes)
        q["ideal"] = ideal.tolist()
        labels = [" ".join(f"Z{i}" for i in o) for o in OBSERVABLES]
        checks = [
            below(f"|value - noise-free value| of {name}", Stage.SCORE, abs(value - float(true)), TOLERANCE)
            for name, value, true in zip(labels, answer.values, ideal, strict=True)
        ]
        checks += [
            above("smallest reported sigma", Stage.SCORE, min(answer.sigmas), SIGMA_RANGE[0]),
            below("largest reported sigma", Stage.SCORE, max(answer.sigmas), SIGMA_RANGE[1]),
        ]
        return Score(checks)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Each value moved by twice its tolerance, away from the nearer end of its range."""
        return {**answer, "values": [v + 2 * TOLERANCE if v < 0 else v - 2 * TOLERANCE for v in answer["values"]]}


def sort_runs(runs: list[gates.Run]) -> tuple[list[tuple[int, gates.Run]], list[Scale], int]:
    """Calibrations with their prepared string of the five qubits, the noise scales ascending, and how many runs are neither.

    Twirls of the laboratory are independent of each other. A program without them is one twirl, whatever its shots, and the same program
    again is the same one.
    """
    calibration: list[tuple[int, gates.Run]] = []
    found: dict[int, list[Floats]] = {}
    as_written: dict[Any, list[gates.Run]] = {}
    strangers = 0
    for run in runs:
        state = gates.prepared(run.circuit) if run.reads(QUBITS) else None
        if state is not None:
            calibration.append((gates.restricted(state, QUBITS), run))
        elif run.reads(QUBITS) and is_trotter(run.circuit):
            if run.twirled:
                rows = [gates.histogram(s, len(QUBITS)) for s in run.strings(QUBITS)]
                found.setdefault(run.circuit.count("cz"), []).extend(rows)
            else:
                as_written.setdefault(tuple((op.kind, op.qubits, op.value) for op in run.circuit.operations), []).append(run)
        else:
            strangers += 1
    for same in as_written.values():
        strings = np.concatenate([run.strings(QUBITS).ravel() for run in same])
        found.setdefault(same[0].circuit.count("cz"), []).append(gates.histogram(strings, len(QUBITS)))
    return calibration, [Scale(n / CZ_COUNT, np.stack(found[n])) for n in sorted(found)], strangers


@lru_cache(maxsize=1)
def _public() -> tuple[Any, tuple[tuple[tuple[float, ...], ...], ...], tuple[Floats, ...]]:
    """The public circuit, two sets of made-up routines, and what the circuit gives on them."""
    from qtypes.digital_gate_model import qasm
    from qtypes.digital_gate_model.device import TARGET
    from qtypes.digital_gate_model.materials import trotter_circuit

    circuit = qasm.read(trotter_circuit(), TARGET)
    rng = np.random.default_rng(23)
    boxes = tuple(tuple(map(tuple, rng.uniform(0.3, 2.8, (2, 6)).tolist())) for _ in range(2))
    return circuit, boxes, tuple(_five(circuit, b) for b in boxes)


@lru_cache(maxsize=4096)
def is_trotter(circuit: Any) -> bool:
    """Whether a circuit gives what the public one gives, whatever state `box_1` prepares: tried on two made-up routines."""
    if not any(op.kind == "box" and abs(op.value) == 1 for op in circuit.operations) or circuit.count("cz") == 0:
        return False
    _, boxes, wanted = _public()
    return all(float(np.abs(_five(circuit, b) - w).max()) < 1e-6 for b, w in zip(boxes, wanted, strict=True))


def _five(circuit: Any, boxes: tuple[tuple[float, ...], ...]) -> Floats:
    """Noiseless string probabilities of the five qubits `(32,)`; the sixth, the highest bit, may do what it likes."""
    return np.asarray(gates.meaning(circuit, boxes).reshape(-1, N).sum(axis=0))


def ideal_values(boxes: tuple[tuple[float, ...], ...]) -> Floats:
    """Noise-free values of the observables `(4,)`."""
    circuit, _, _ = _public()
    return np.asarray(SIGNS @ _five(circuit, boxes))


def _difference(declared: tuple[float, ...], cited: list[float]) -> float:
    """Largest difference of the scale factors; infinite where their numbers differ."""
    if len(declared) != len(cited):
        return math.inf
    return max((abs(a - b) for a, b in zip(declared, cited, strict=True)), default=math.inf)


def _counts(calibration: list[tuple[int, gates.Run]]) -> Floats:
    """Shots `(read, prepared)` of the strings of the five qubits."""
    out = np.zeros((N, N))
    for state, run in calibration:
        out[:, state] += run.shots * gates.histogram(run.strings(QUBITS), len(QUBITS))
    return out


def least_shots(calibration: list[tuple[int, gates.Run]], readout: str) -> int:
    """Shots of the state with the fewest: of the 32 strings, or of each qubit in each state."""
    shots = _counts(calibration).sum(axis=0)
    if readout == "full":
        return int(shots.min())
    return int(min(shots[_STRINGS[:, k] == b].sum() for k in range(len(QUBITS)) for b in (0, 1)))


def response_of(calibration: list[tuple[int, gates.Run]], readout: str) -> Floats | None:
    """Response matrix `(read, prepared)` of the five qubits, None where states are missing or it has no inverse."""
    counts = _counts(calibration)
    if least_shots(calibration, readout) == 0:
        return None
    if readout == "full":
        matrix = counts / counts.sum(axis=0)
    else:
        matrix = np.ones((1, 1))
        for k in range(len(QUBITS)):
            bit = _STRINGS[:, k]
            two = np.array([[counts[bit == r][:, bit == s].sum() for s in (0, 1)] for r in (0, 1)])
            matrix = np.kron(two / two.sum(axis=0), matrix)
    return matrix if np.linalg.cond(matrix) < 1e6 else None


def mitigated(scales: list[Scale], response: Floats, fits: tuple[str, ...]) -> Floats:
    """Values at scale 0 `(4,)`: readout-corrected means over twirls, weighted by their standard errors, extrapolated."""
    weights = SIGNS @ np.linalg.inv(response)
    factors = np.array([s.factor for s in scales])
    samples = [s.rows @ weights.T for s in scales]
    means = np.array([x.mean(axis=0) for x in samples])
    errors = np.array([np.maximum(x.std(axis=0, ddof=1) / math.sqrt(len(x)), 1e-6) for x in samples])
    return np.array([extrapolated(factors, means[:, k], errors[:, k], fit) for k, fit in enumerate(fits)])


def extrapolated(factors: Floats, means: Floats, errors: Floats, fit: str) -> float:
    """Value at 0 of a weighted least-squares fit."""
    if fit != "exponential":
        return float(np.polyfit(factors, means, DEGREE[fit], w=1.0 / errors)[-1])

    def amplitude(log_r: float) -> tuple[float, float]:
        shape = np.exp(log_r * factors)
        a = float((means * shape / errors**2).sum() / (shape**2 / errors**2).sum())
        return a, float((((means - a * shape) / errors) ** 2).sum())

    low, high = (math.log(r) for r in RATE_RANGE)
    grid = np.linspace(low, high, 201)
    best = float(grid[int(np.argmin([amplitude(x)[1] for x in grid]))])
    step = float(grid[1] - grid[0])
    found = minimize_scalar(
        lambda x: amplitude(x)[1], bounds=(max(low, best - step), min(high, best + step)), method="bounded", options={"xatol": 1e-9}
    )
    return amplitude(float(found.x))[0]


GRADER = ErrorMitigationObservable()
