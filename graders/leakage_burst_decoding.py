"""Grader of `leakage_burst_decoding`: a set of decoder models with a linear gate decodes fresh shots at the announced lab time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from graders.kit import decoding
from graders.kit.base import AnswerModel, Grader
from graders.kit.checks import Category, Check, Score, Stage, below, holds
from graders.kit.decoding import BLOCK, Deadline, OverTime, averaged_graph, decoded
from graders.kit.paired import JointStream, error_per_cycle, ratio_criterion
from graders.kit.replay import settle
from graders.kit.session import GradedSession, Job
from lab.conventions import MatchingGraph, ModelRefused, unpack_bits
from qtypes.seeds import child
from qtypes.surface_code_memory.experiments import RunMemory
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import mixture

RATIO_LIMIT = 0.90
"""Logical error per cycle over that of the best single averaged model on the same shots."""
SCORING_MINUTES = 150
"""Lab time of the fresh shots."""
DISTANCE = 5
ROUNDS = 20
EVIDENCE_SHOTS = 150_000
EVIDENCE_JOBS = 3
EVIDENCE_GAP_MINUTES = 10
MAX_MODELS = 24
MODEL_BYTES = 1_000_000
N_DETECTORS = 480
FIRST_SHOTS = 200_000
SHOTS_CAP = 800_000
SHOTS_BLOCK = 50_000
DECODE_BUDGET_S = 900.0
"""Processor time for all decoding; an ordinary answer takes about 20 s."""
RATIO = "error per cycle over that of the true averaged model"
PROGRAM = program(DISTANCE, 0, 0, DISTANCE, DISTANCE, "Z", ROUNDS)

Name = Annotated[str, Field(min_length=1, max_length=40)]
Weight = Annotated[float, Field(ge=-1e6, le=1e6)]


class Model(AnswerModel):
    """A decoder model of the full patch, basis Z, 20 rounds."""

    name: Name = Field(description="by which the gate refers to it")
    dem: str = Field(min_length=1, max_length=MODEL_BYTES, description="detector error model, stim text")


class Gate(AnswerModel):
    """Row k sends a shot with detection events x (0 or 1) to `models[k]` if weights[k] . x + bias[k] is the largest and above 0."""

    models: Annotated[tuple[Name, ...], Field(max_length=MAX_MODELS)] = Field(description="name of the model of each row")
    weights: Annotated[tuple[Annotated[tuple[Weight, ...], Field(min_length=N_DETECTORS, max_length=N_DETECTORS)], ...],
                       Field(max_length=MAX_MODELS)] = Field(description="one number per detector in each row")  # fmt: skip
    bias: Annotated[tuple[Weight, ...], Field(max_length=MAX_MODELS)] = Field(description="one number per row")


class Answer(AnswerModel):
    """Decoder models and the linear gate between them; data, not code."""

    models: Annotated[tuple[Model, ...], Field(min_length=1, max_length=MAX_MODELS + 1)] = Field(description="decoder models")
    gate: Gate = Field(description="which shot goes to which model; no rows: all to the default")
    default: Name = Field(description="name of the model of all other shots")

    @model_validator(mode="after")
    def _names(self) -> Answer:
        names = [m.name for m in self.models]
        if len(set(names)) < len(names):
            raise ValueError("two models have the same name")
        if not {self.default, *self.gate.models} <= set(names):
            raise ValueError("the gate or the default names a model that is not among the models")
        if not len(self.gate.models) == len(self.gate.weights) == len(self.gate.bias):
            raise ValueError("the gate's models, weights and bias have different numbers of rows")
        return self


class Router:
    """The submitted models with their gate. `decode` bounds memory by blocks, time by the deadline."""

    def __init__(self, answer: Answer, graphs: dict[str, MatchingGraph]) -> None:
        self.matchers = {name: g.matching() for name, g in graphs.items()}
        self.names = (answer.default, *answer.gate.models)
        self.weights = np.array(answer.gate.weights, dtype=np.float32).reshape(-1, N_DETECTORS)
        self.bias = np.array(answer.gate.bias, dtype=np.float32)

    def route(self, detections: np.ndarray) -> np.ndarray:
        """`(n_shots,)`: 0 for the default, k + 1 for row k of the gate. `detections` packed."""
        out = np.zeros(len(detections), dtype=np.int64)
        if len(self.bias):
            for k in range(0, len(detections), BLOCK):
                x = unpack_bits(detections[k : k + BLOCK], N_DETECTORS).astype(np.float32)
                value = x @ self.weights.T + self.bias
                best = value.argmax(axis=1)
                out[k : k + BLOCK] = np.where(value[np.arange(len(x)), best] > 0, best + 1, 0)
        return out

    def wrong(self, detections: np.ndarray, flips: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Which shots are decoded wrongly, `(n_shots,)` bool."""
        wrong, way = np.zeros(len(detections), dtype=bool), self.route(detections)
        for k, name in enumerate(self.names):
            chosen = way == k
            if chosen.any():
                wrong[chosen] = decoded(self.matchers[name], detections[chosen], flips[chosen], deadline)
        return wrong


def read_models(answer: Answer) -> tuple[dict[str, MatchingGraph], Check]:
    """CANON of all models, and one check."""
    graphs, note = {}, ""
    for m in answer.models:
        try:
            graphs[m.name] = decoding.read_model(m.dem, PROGRAM)
        except ModelRefused as exc:
            note = note or f"{exc.reason}: model {m.name}: {exc.detail}"
    return graphs, decoding.taken("all models are such that CANON takes", note)


def separated(starts_s: list[float]) -> int:
    """How many of the jobs can be chosen so that their starts are at least the required gap apart."""
    chosen, last = 0, -np.inf
    for start in sorted(starts_s):
        if start >= last + 60 * EVIDENCE_GAP_MINUTES:
            chosen, last = chosen + 1, start
    return chosen


class LeakageBurstDecoding(Grader):
    """A distance-5 memory with bursts and drift, decoded better than any single averaged model can."""

    task = "leakage_burst_decoding"
    Answer = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Shots of the full patch with 20 rounds, when they were taken, and how their events cluster."""
        jobs = []
        for j in session.jobs:
            r = j.request
            if isinstance(r, RunMemory) and (r.rows, r.cols, r.basis, r.rounds, r.wait_us) == (DISTANCE, DISTANCE, "Z", ROUNDS, 0.0):
                jobs.append(j)
        starts = [j.lab_start_s + j.request.delay_s for j in jobs]
        shots = sum(j.request.shots for j in jobs)
        return {"jobs": len(session.jobs), "memory_shots": shots, "separated_jobs": separated(starts), "_jobs": jobs}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        ids = tuple(j.job_id for j in q["_jobs"][:5])
        return [
            holds(f"{EVIDENCE_SHOTS} shots of the full patch, basis Z, {ROUNDS} rounds", Stage.BIND, q["memory_shots"] >= EVIDENCE_SHOTS,
                  value=float(q["memory_shots"]), category=Category.MISSING_EVIDENCE, jobs=ids),
            holds(f"in {EVIDENCE_JOBS} jobs that begin {EVIDENCE_GAP_MINUTES} lab minutes apart or more", Stage.BIND,
                  q["separated_jobs"] >= EVIDENCE_JOBS, value=float(q["separated_jobs"]), category=Category.MISSING_EVIDENCE, jobs=ids),
            read_models(answer)[1],
        ]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        graphs, taken = read_models(answer)
        if not taken.passed:
            return decoding.not_decoded()
        router, deadline = Router(answer, graphs), Deadline(DECODE_BUDGET_S)
        fresh = mixture(PROGRAM, session.device.hidden, layout(DISTANCE), ROUNDS, 60.0 * SCORING_MINUTES)
        average = averaged_graph(fresh.circuits, fresh.weights, N_DETECTORS).matching()
        routed = np.zeros(2, dtype=np.int64)

        def count(shots: int, seed: int) -> np.ndarray:
            detections, flips = fresh.detections(shots, np.random.default_rng(seed))
            routed[:] += np.count_nonzero(router.route(detections)), shots
            return np.stack([router.wrong(detections, flips, deadline), decoded(average, detections, flips, deadline)], axis=1)

        stream_seed = child(np.random.SeedSequence(int(rng.integers(0, 2**63))), "bursts")
        stream = JointStream("bursts", count, stream_seed, FIRST_SHOTS, SHOTS_CAP, SHOTS_BLOCK)
        try:
            (result,) = settle([stream], [ratio_criterion(RATIO, ("bursts",), ROUNDS, RATIO_LIMIT)])
            on_record = self._on_record(router, q)
        except OverTime:
            note = f"decoding took more than {DECODE_BUDGET_S:g} s of processor time; an ordinary answer takes about 20"
            return decoding.too_slow(note)
        check = below(RATIO, Stage.SCORE, result.value, RATIO_LIMIT, stderr=result.stderr, note=result.note)
        errors = [error_per_cycle(stream.drawn.rate(k), ROUNDS) for k in (0, 1)]
        quantities = {
            "error_per_cycle": {"answer": errors[0], "averaged_model": errors[1], "shots": stream.drawn.shots},
            "gate_positive_rate": routed[0] / routed[1], "ratio": result.value,
        }  # fmt: skip
        return Score([check, *on_record], quantities=quantities)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is decoder models and a gate: they are used, and claim nothing."""

    def _on_record(self, router: Router, q: dict[str, Any]) -> list[Check]:
        """Information only: the gate and the clustering of events on the last own record."""
        if not q["_jobs"]:
            return []
        job: Job = q["_jobs"][-1]
        detections, _ = PROGRAM.detections(job.arrays()["meas"])
        counts = np.bitwise_count(detections).sum(axis=1, dtype=np.int64)
        away = np.count_nonzero(router.route(detections)) / len(counts)
        found = {
            "share of the last own record that the gate sends away from the default": away,
            "variance over mean of the events per shot of the last own record": counts.var() / max(counts.mean(), 1e-9),
        }
        return [
            Check(n, Stage.SCORE, True, float(v), gate=False, jobs=(job.job_id,), note="information only") for n, v in found.items()
        ]  # fmt: skip


GRADER = LeakageBurstDecoding()
