"""Grader of `ion_circuit_compilation`: a circuit for eight ions, compiled to native gates where the machine errs least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.optimize import least_squares

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, JobId, Score, Stage, above, below, holds
from qtypes.ion_trap_gate_model.circuit import N_IONS, PAIR_INDEX, PAIRS, Gate, Ion, played, unitary
from qtypes.ion_trap_gate_model.device import SCALE_LIMITS, by_pair
from qtypes.ion_trap_gate_model.physics import NoiseModel, evolved
from qtypes.ion_trap_gate_model.target import additive_errors, compiled, maps, placed

TOOL = "run_circuits"
MAX_ANSWER_GATES = 600
SCREENED_PAIRS = 20
SCREEN_ANGLES = 3.0
"""Ratio of the largest to the smallest angle of the echo runs on a pair."""
SCREEN_DEPTH = 12
"""Gates by which the deepest echo run at the largest angle exceeds the shallowest."""
SCREEN_SHOTS = 400
"""Shots of an echo run that counts."""
TRAIN_TURNS = 1.8
"""Turns (2 pi) of the longest train."""
FINAL_SHOTS = 1000
SCALE_TOLERANCE = 0.01
ERROR_SIGMAS = 3.0
SIGMA_FACTOR = 2.0
INEQUIVALENCE = 1e-6
PREDICTION_TOLERANCE = 0.02
EXCESS = 1.10
"""Infidelity over that of the grader's own compilation."""
INPUTS = 8

Pair = tuple[int, int]
Floats = NDArray[np.float64]
Scale = Annotated[float, Field(ge=SCALE_LIMITS[0], le=SCALE_LIMITS[1])]
Assignment = Annotated[tuple[Ion, ...], Field(min_length=N_IONS, max_length=N_IONS)]


class BadPair(AnswerModel):
    """A pair whose error at pi/2 is above 0.03."""

    pair: tuple[Ion, Ion] = Field(description="the two ions, the smaller number first")
    error: float = Field(gt=0, le=1, description="e0 + e1: probability of a Pauli error after XX(pi/2)")
    sigma: float = Field(gt=0, le=1, description="its standard uncertainty")

    @model_validator(mode="after")
    def _ordered(self) -> BadPair:
        if self.pair[0] >= self.pair[1]:
            raise ValueError("pair: the smaller number comes first")
        return self


class Answer(AnswerModel):
    """The compiled circuit, the settings it is to be played with, and what was found out about the pairs."""

    circuit: tuple[Gate, ...] = Field(min_length=1, max_length=MAX_ANSWER_GATES, description="nominal native gates in the order of time")
    map_in: Assignment = Field(description="ion of each logical qubit at the beginning")
    map_out: Assignment = Field(description="ion of each logical qubit at the end")
    angle_scale: tuple[Scale, ...] = Field(min_length=len(PAIRS), max_length=len(PAIRS), description="factor on XX angles, per pair")
    bad_pairs: tuple[BadPair, ...] = Field(max_length=len(PAIRS), description="all pairs whose error at pi/2 is above 0.03")
    predicted_error: float = Field(ge=0, le=1, description="expected infidelity of the circuit on this machine")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=60, description="echo runs, trains and the run of the circuit")

    @model_validator(mode="after")
    def _bijections(self) -> Answer:
        for name in ("map_in", "map_out"):
            if sorted(getattr(self, name)) != list(range(N_IONS)):
                raise ValueError(f"{name}: each ion occurs once")
        if len({b.pair for b in self.bad_pairs}) < len(self.bad_pairs):
            raise ValueError("bad_pairs: a pair occurs twice")
        return self


@dataclass
class Runs:
    """What the cited circuits say of one pair. Echo: (angle, gates, survivals, shots); train: (angle of a gate, gates, mean Z, shots)."""

    echoes: list[tuple[float, int, int, int]] = field(default_factory=list)
    trains: list[tuple[float, int, float, int]] = field(default_factory=list)

    @property
    def screened(self) -> bool:
        good = [e for e in self.echoes if e[3] >= SCREEN_SHOTS]
        if not good:
            return False
        angles = [e[0] for e in good]
        depths = [e[1] for e in good if e[0] == max(angles)]
        return max(angles) >= SCREEN_ANGLES * min(angles) and max(depths) - min(depths) >= SCREEN_DEPTH

    @property
    def timed(self) -> bool:
        """Whether the angle can be told: two lengths of one kind of gate, and a long one."""
        return len({t[1] for t in self.trains}) > 1 and max(abs(t[0]) * t[1] for t in self.trains) >= TRAIN_TURNS * 2 * np.pi


class IonCircuitCompilation(Grader):
    """See `docs/tasks/ion_circuit_compilation.md`."""

    task: ClassVar[str] = "ion_circuit_compilation"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("pairs screened", "infidelity over the best compilation")
    trap_meets = ("shots of the submitted circuit", "1 - unitary fidelity of the nominal circuit")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: pair errors and angles come from the cited jobs, in :meth:`bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool == TOOL]
        runs = sort_runs(jobs)
        ids = tuple(j.job_id for j in jobs)
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": ids}
        claim: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": ids}
        fits = {p: pair_error(r) for p, r in runs.items() if r.screened}
        used = sorted({(min(g.ions), max(g.ions)) for g in answer.circuit if g.gate == "xx"})
        timed = {p: over_rotation(runs[p], fits[p][0] if p in fits else 0.0) for p in used if p in runs and runs[p].timed}
        final = final_run(jobs, answer)
        unseen = sum(b.pair not in fits for b in answer.bad_pairs)
        checks = [
            self.jobs_exist(answer.job_ids, session, {TOOL}),
            above("pairs screened", Stage.BIND, len(fits), SCREENED_PAIRS, **missing),
            above("shots of the submitted circuit", Stage.BIND, final[1], FINAL_SHOTS, **missing),
            holds("used pairs without a train", Stage.BIND, len(used) == len(timed), value=len(used) - len(timed), **missing),
            holds("bad pairs that were not screened", Stage.BIND, not unseen, value=unseen, **missing),
        ]
        off = [abs(answer.angle_scale[PAIR_INDEX[p]] - 1 / (1 + d)) for p, d in timed.items()]
        checks.append(below("largest |angle_scale - refitted|", Stage.BIND, max(off, default=0.0), SCALE_TOLERANCE, **claim))
        pulls, ratios = [0.0], [1.0]
        for b in answer.bad_pairs:
            if b.pair in fits:
                error, sigma = fits[b.pair]
                pulls.append(abs(b.error - error) / sigma)
                ratios.append(max(b.sigma / sigma, sigma / b.sigma))
        checks.append(below("largest |error - refitted| / sigma of a bad pair", Stage.BIND, max(pulls), ERROR_SIGMAS, **claim))
        checks.append(below("largest ratio of reported and refitted sigma", Stage.BIND, max(ratios), SIGMA_FACTOR, **claim))
        q["refitted_errors"] = {f"{a}-{b}": [round(x, 5) for x in fit] for (a, b), fit in sorted(fits.items())}
        q["refitted_over_rotations"] = {f"{a}-{b}": round(d, 5) for (a, b), d in timed.items()}
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        target = hidden.target.unitary()
        lack = inequivalence(answer, target)
        found = {b.pair for b in answer.bad_pairs}
        wrong = len(found ^ hidden.bad_pairs)
        checks = [
            below("1 - unitary fidelity of the nominal circuit", Stage.SCORE, lack, INEQUIVALENCE),
            holds("bad pairs missed or wrongly named", Stage.SCORE, not wrong, value=wrong),
        ]
        if lack > INEQUIVALENCE:
            return Score([*checks, holds("infidelity over the best compilation", Stage.SCORE, False, note="another circuit")])
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool == TOOL]
        model = hidden.noise(final_run(jobs, answer)[0])
        inputs = product_states(rng, INPUTS)
        outputs = inputs @ target.T
        scale = by_pair(answer.angle_scale)
        infidelity = replayed(model, answer.circuit, scale, inputs, outputs, answer.map_in, answer.map_out)
        errors = additive_errors(hidden.target, model.e0, model.e1)
        ion = tuple(int(k) for k in maps()[errors.argmin()])
        best = replayed(model, compiled(hidden.target, ion), 1.0 / (1.0 + model.over_rotation), inputs, outputs, ion, ion)
        checks += [
            below("infidelity over the best compilation", Stage.SCORE, infidelity / best, EXCESS),
            below("|predicted - replayed error|", Stage.SCORE, abs(answer.predicted_error - infidelity), PREDICTION_TOLERANCE),
        ]
        replay = {"infidelity": infidelity, "best_infidelity": best, "identity_over_best_additive": float(errors[0] / errors.min())}
        return Score(checks, quantities=replay)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """A better circuit than it is, and pairs six standard errors worse."""
        bad = [{**b, "error": min(1.0, b["error"] + 6 * b["sigma"])} for b in answer["bad_pairs"]]
        p = answer["predicted_error"]
        moved = p - 2 * PREDICTION_TOLERANCE if p > 2 * PREDICTION_TOLERANCE else p + 2 * PREDICTION_TOLERANCE
        return {**answer, "bad_pairs": bad, "predicted_error": moved}


def circuits_of(jobs: list[Any]) -> Iterator[tuple[Any, Any, tuple[float, ...], NDArray[np.uint8]]]:
    """Job, circuit, angle scale per pair, and bits `(shot, ion)` of every circuit."""
    for job in jobs:
        scale = job.request.angle_scale or (1.0,) * len(PAIRS)
        for circuit, bits in zip(job.request.circuits, job.arrays()["bits"], strict=True):
            yield job, circuit, scale, bits


def sort_runs(jobs: list[Any]) -> dict[Pair, Runs]:
    """Echo runs and trains per pair: circuits of XX only in which no ion belongs to two pairs. On a pair all angles have one size; their
    sum is zero in an echo, and all signs are equal in a train."""
    out: dict[Pair, Runs] = {}
    for _, circuit, scale, bits in circuits_of(jobs):
        if not circuit.gates or any(g.gate != "xx" for g in circuit.gates):
            continue
        angles: dict[Pair, list[float]] = {}
        for g in circuit.gates:
            angles.setdefault((min(g.ions), max(g.ions)), []).append(g.angle)
        if len({k for p in angles for k in p}) < 2 * len(angles):
            continue
        for (i, j), turns in angles.items():
            size = abs(turns[0])
            if size == 0.0 or any(abs(abs(t) - size) > 1e-9 for t in turns):
                continue
            commanded, n, shots = size * scale[PAIR_INDEX[i, j]], len(turns) * circuit.reps, len(bits)
            runs = out.setdefault((i, j), Runs())
            if abs(sum(turns)) < 1e-9:
                runs.echoes.append((commanded, n, int(((bits[:, i] == 0) & (bits[:, j] == 0)).sum()), shots))
            elif all(t > 0 for t in turns) or all(t < 0 for t in turns):
                runs.trains.append((commanded, n, float(1 - 2 * bits[:, [i, j]].mean()), shots))
    return out


def pair_error(runs: Runs) -> tuple[float, float]:
    """e0 + e1 and its standard error, from s [1/4 + 3/4 (1 - 16/15 e)^m] with e = e0 + e1 |theta| / (pi/2)."""
    data = np.array([e for e in runs.echoes if e[3] >= SCREEN_SHOTS], dtype=float)
    share, m, shots = data[:, 0] / (np.pi / 2), data[:, 1], data[:, 3]
    y, p = data[:, 2] / shots, (data[:, 2] + 1) / (shots + 2)
    sigma = np.sqrt(p * (1 - p) / shots)

    def residuals(x: Floats) -> Any:
        e = x[1] + x[2] * share
        return (x[0] * (0.25 + 0.75 * np.maximum(1 - 16 / 15 * e, 0.0) ** m) - y) / sigma

    fit = least_squares(residuals, [0.98, 1e-3, 1e-2], bounds=([0.8, 0.0, 0.0], [1.0, 0.05, 0.3]), x_scale=[0.01, 1e-3, 1e-2])
    covariance = np.linalg.pinv(fit.jac.T @ fit.jac)
    return float(fit.x[1] + fit.x[2]), float(np.sqrt(max(covariance[1:, 1:].sum(), 1e-10)))


def over_rotation(runs: Runs, error: float) -> float:
    """delta from C (1 - 16/15 e)^n cos(n theta (1 + delta)) by least squares, C in [0, 1], |delta| <= 0.08; `error` is that at pi/2."""
    theta, n, z, shots = np.array(runs.trains, dtype=float).T
    kept = np.maximum(1 - 16 / 15 * error * theta / (np.pi / 2), 0.0) ** n
    grid = np.linspace(-0.08, 0.08, 3201)
    shape = kept[:, None] * np.cos((n * theta)[:, None] * (1 + grid))
    w = shots[:, None]
    c = np.clip((w * shape * z[:, None]).sum(0) / np.maximum((w * shape**2).sum(0), 1e-12), 0.0, 1.0)
    return float(grid[(w * (z[:, None] - c * shape) ** 2).sum(0).argmin()])


def final_run(jobs: list[Any], answer: Answer) -> tuple[float, int]:
    """Lab clock at the last run of exactly the submitted circuit and settings, and the shots of all such runs; without one that of the
    last job."""
    start, shots = max((j.lab_start_s for j in jobs), default=0.0), 0
    for job, circuit, scale, bits in circuits_of(jobs):
        if circuit.reps == 1 and circuit.gates == answer.circuit and scale == answer.angle_scale:
            start, shots = job.lab_start_s, shots + len(bits)
    return start, shots


def inequivalence(answer: Answer, target: NDArray[np.complex128]) -> float:
    """1 - |Tr(T^dagger P_out^dagger U P_in)|^2 / 256^2 of the nominal circuit."""
    u = unitary(answer.circuit)[placed(answer.map_out)][:, placed(answer.map_in)]
    return float(1 - abs(np.vdot(target, u)) ** 2 / len(target) ** 2)


def product_states(rng: np.random.Generator, count: int) -> NDArray[np.complex128]:
    """Haar-random one-qubit states on every logical qubit `(count, 256)`."""
    out = np.ones((count, 1), dtype=complex)
    for _ in range(N_IONS):
        one = rng.normal(size=(count, 2)) + 1j * rng.normal(size=(count, 2))
        one /= np.linalg.norm(one, axis=1, keepdims=True)
        out = (out[:, :, None] * one[:, None, :]).reshape(count, -1)
    return out


def replayed(
    model: NoiseModel, gates: tuple[Gate, ...], scale: Floats, inputs: NDArray[np.complex128], outputs: NDArray[np.complex128],
    map_in: tuple[int, ...], map_out: tuple[int, ...],
) -> float:  # fmt: skip
    """1 - mean state fidelity of a circuit on logical product states, density matrices of the whole chain."""
    pulses, frame = played(gates)
    signs = 1.0 - 2.0 * ((np.arange(2**N_IONS)[:, None] >> np.arange(N_IONS - 1, -1, -1)) & 1)
    fidelities = []
    for psi, wanted in zip(inputs, outputs, strict=True):  # one at a time: a matrix fits into the cache
        start, end = np.zeros((2, 1, 2**N_IONS), dtype=complex)
        start[0, placed(map_in)], end[0, placed(map_out)] = psi, wanted
        # what is played lacks the virtual RZ(frame) at the end
        fidelities.append(evolved(model, pulses, scale, start).fidelity(end * np.exp(0.5j * (signs @ frame)))[0])
    return float(1 - np.mean(fidelities))


GRADER = IonCircuitCompilation()
