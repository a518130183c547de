"""Grader of `memory_decoder_calibration`: the submitted detector error models decode fresh shots next to the decoder of the true noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from graders.kit import decoding
from graders.kit.base import AnswerModel, Grader, JobId
from graders.kit.checks import Category, Check, Score, Stage, below, holds
from graders.kit.decoding import Deadline, OverTime, decoded, predicted_rates, true_graph
from graders.kit.paired import JointStream, error_per_cycle, ratio_criterion
from graders.kit.replay import settle
from graders.kit.session import GradedSession, Job
from lab.conventions import MatchingGraph
from qtypes.contract import Device
from qtypes.kit.rotated_code import Basis
from qtypes.kit.stim_circuits import Program, sample_detections
from qtypes.seeds import child
from qtypes.surface_code_memory.experiments import RunMemory
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import noise_at, quiet_circuit

RATIO_LIMIT = 1.18
"""Logical error per cycle over that of the true noise's decoder on the same shots, geometric mean of both bases."""
DISTANCE = 5
ROUNDS = 12
EVIDENCE_SHOTS = 50_000
EVIDENCE_ROUNDS = 8
MODEL_BYTES = 2_000_000
FIRST_SHOTS = 200_000
SHOTS_CAP = 1_600_000
DECODE_BUDGET_S = 600.0
"""Processor time for all decoding; an ordinary answer takes about 10 s."""
BASES: tuple[Basis, ...] = ("Z", "X")
RATIO = "error per cycle over that of the true noise's decoder, geometric mean of both bases"

Dem = Annotated[str, Field(min_length=1, max_length=MODEL_BYTES)]


class Answer(AnswerModel):
    """Decoder models of the full patch with 12 rounds, one per basis, decoded by the rule CANON."""

    Z: Dem = Field(description="detector error model of basis Z, stim text")
    X: Dem = Field(description="detector error model of basis X, stim text")
    jobs: Annotated[tuple[JobId, ...], Field(max_length=40)] = Field(default=(), description="job ids behind the models; optional")

    def text(self, basis: Basis) -> str:
        return self.Z if basis == "Z" else self.X


def scored_program(basis: Basis) -> Program:
    """The circuit that is replayed."""
    return program(DISTANCE, 0, 0, DISTANCE, DISTANCE, basis, ROUNDS)


def read_models(answer: Answer) -> tuple[dict[Basis, MatchingGraph], list[Check]]:
    """CANON of both models, and one check each."""
    return decoding.read_models({b: (answer.text(b), scored_program(b)) for b in BASES})


def stream(
    graph: MatchingGraph, device: Device, basis: Basis, lab_s: float, seed: np.random.SeedSequence, deadline: Deadline
) -> JointStream:
    """Fresh shots at lab time `lab_s` in s, decoded with `graph` and with CANON of the true noise."""
    p = scored_program(basis)
    circuit = quiet_circuit(p, noise_at(device.hidden, layout(DISTANCE), lab_s))
    matchers = [graph.matching(), true_graph(circuit).matching()]

    def count(shots: int, seed: int) -> np.ndarray:
        detections, flips = sample_detections(circuit, shots, seed)
        return np.stack([decoded(m, detections, flips, deadline) for m in matchers], axis=1)

    return JointStream(basis, count, child(seed, basis), FIRST_SHOTS, SHOTS_CAP)


def chi2_per_detector(graph: MatchingGraph, detections: np.ndarray) -> float:
    """Mean squared deviation of recorded detection fractions from those of the graph, in units of their variance.

    1 for a perfect graph; a few for CANON of the true noise, which drops labels that lose.
    """
    expected = np.clip(predicted_rates(graph), 1e-6, 0.5)
    found = np.unpackbits(detections, axis=1, count=graph.n_detectors, bitorder="little").mean(axis=0)
    return float(np.mean((found - expected) ** 2 / (expected * (1 - expected) / len(detections))))


class MemoryDecoderCalibration(Grader):
    """Both bases of a distance-5 memory, decoded nearly as well as with the true noise."""

    task = "memory_decoder_calibration"
    Answer = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Shots of the full patch by basis, long enough to show correlations in time."""
        jobs: dict[str, list[Job]] = {b: [] for b in BASES}
        for j in session.jobs:
            r = j.request
            if isinstance(r, RunMemory) and (r.rows, r.cols) == (DISTANCE, DISTANCE) and r.rounds >= EVIDENCE_ROUNDS:
                jobs[r.basis].append(j)
        return {
            "jobs": len(session.jobs), "memory_shots": {b: sum(j.request.shots for j in js) for b, js in jobs.items()},  # type: ignore[attr-defined]
            "_jobs": jobs, "_lab_s": max((j.lab_end_s for j in session.jobs), default=0.0),
        }  # fmt: skip

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        checks = []
        for basis in BASES:
            shots = q["memory_shots"][basis]
            name = f"{EVIDENCE_SHOTS} shots of the full patch in basis {basis}, {EVIDENCE_ROUNDS} rounds or more"
            checks.append(
                holds(name, Stage.BIND, shots >= EVIDENCE_SHOTS, value=float(shots), category=Category.MISSING_EVIDENCE,
                      jobs=tuple(j.job_id for j in q["_jobs"][basis][:5]))
            )  # fmt: skip
        if answer.jobs:
            checks.append(self.jobs_exist(answer.jobs, session, {"run_memory", "run_readout_cal"}))
        return checks + read_models(answer)[1]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        graphs, model_checks = read_models(answer)
        if not all(c.passed for c in model_checks):
            return decoding.not_decoded()
        seed, deadline = np.random.SeedSequence(int(rng.integers(0, 2**63))), Deadline(DECODE_BUDGET_S)
        streams = [stream(graphs[b], session.device, b, q["_lab_s"], seed, deadline) for b in BASES]
        single = [ratio_criterion(f"ratio, basis {b}", (b,), ROUNDS, RATIO_LIMIT) for b in BASES]
        try:
            (result,) = settle(streams, [ratio_criterion(RATIO, BASES, ROUNDS, RATIO_LIMIT)])
        except OverTime:
            note = f"decoding took more than {DECODE_BUDGET_S:g} s of processor time; an ordinary answer takes about 10"
            return decoding.too_slow(note)
        checks = [below(RATIO, Stage.SCORE, result.value, RATIO_LIMIT, stderr=result.stderr, note=result.note)]
        for criterion, s in zip(single, streams, strict=True):
            value, stderr = criterion.estimate([s.drawn])
            checks.append(below(criterion.name, Stage.SCORE, value, RATIO_LIMIT, stderr=stderr, gate=False, note="information only"))
        checks += self._on_records(graphs, q)
        return Score(checks, quantities={"error_per_cycle": {s.name: _errors(s) for s in streams}, "ratio": result.value})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is decoder models: they are used, and claim nothing."""

    def _on_records(self, graphs: dict[Basis, MatchingGraph], q: dict[str, Any]) -> list[Check]:
        """Information only: detection fractions of the last own record of the scored circuit against the model's."""
        checks = []
        for basis in BASES:
            jobs = [j for j in q["_jobs"][basis] if j.request.rounds == ROUNDS]
            if jobs:
                detections, _ = scored_program(basis).detections(jobs[-1].arrays()["meas"])
                value = chi2_per_detector(graphs[basis], detections)
                name = f"{basis}, chi-square per detector of the detection fractions on the last own record"
                checks.append(Check(name, Stage.SCORE, True, value, gate=False, jobs=(jobs[-1].job_id,), note="information only"))
        return checks


def _errors(s: JointStream) -> dict[str, Any]:
    return {
        "answer": error_per_cycle(s.drawn.rate(0), ROUNDS), "true_noise": error_per_cycle(s.drawn.rate(1), ROUNDS), "shots": s.drawn.shots,
    }  # fmt: skip


GRADER = MemoryDecoderCalibration()
