"""Grader of `lattice_surgery_cnot`: the submitted detector error models decode fresh syndromes of the memory and of the logical CNOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from graders.kit import decoding
from graders.kit.base import AnswerModel, Grader
from graders.kit.checks import Category, Check, Score, Stage, below, holds
from graders.kit.decoding import Deadline, OverTime, decoded
from graders.kit.replay import Criterion, Proportion, Settled, Stream, per_cycle, rate, settle
from graders.kit.session import GradedSession, Job
from lab.conventions import MatchingGraph
from qtypes.contract import Device
from qtypes.kit.stim_circuits import Program, sample_detections
from qtypes.seeds import child
from qtypes.surface_code_lattice_surgery import circuits
from qtypes.surface_code_lattice_surgery.experiments import RunCnot, RunMemory, RunMerge, SurgeryExperiment
from qtypes.surface_code_lattice_surgery.physics import noisy

MEMORY_LIMIT = 1.0e-3
"""Logical error per cycle of patch M, mean of both bases."""
MEMORY_ROUNDS = 10
CNOT_MEAN_LIMIT = 0.175
CNOT_EACH_LIMIT = 0.185
CNOT_SHOTS = 20_000
MEMORY_SHOTS = 100_000
CNOT_CAP = 320_000
MEMORY_CAP = 1_600_000
EVIDENCE_SHOTS = 5_000
MODEL_BYTES = 4_000_000
DECODE_BUDGET_S = 600.0
"""Processor time for all decoding. The true model takes a few seconds, the densest graphs that CANON takes about 200 s."""
RECORDED_SHOTS = 20_000
PATCH = "M"

Dem = Annotated[str, Field(min_length=1, max_length=MODEL_BYTES)]
JobIds = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=64)], ...], Field(max_length=150)]


class MemoryModels(AnswerModel):
    """Detector error models of patch M, run_memory with 10 rounds, by basis."""

    Z: Dem = Field(description="detector error model, stim text")
    X: Dem = Field(description="detector error model, stim text")


class CnotModels(AnswerModel):
    """Detector error models of run_cnot, by configuration; both inputs of a configuration share one."""

    z: Dem = Field(description="detector error model, stim text")
    x: Dem = Field(description="detector error model, stim text")
    bell_zz: Dem = Field(description="detector error model, stim text")
    bell_xx: Dem = Field(description="detector error model, stim text")


class Evidence(AnswerModel):
    """Which jobs the models rest on; optional."""

    memory: JobIds = Field(default=(), description="job ids behind the memory models")
    cnot: JobIds = Field(default=(), description="job ids behind the CNOT models")


class Answer(AnswerModel):
    """Decoder models as stim detector error models, decoded by the rule CANON."""

    memory: MemoryModels
    cnot: CnotModels
    evidence: Evidence | None = Field(default=None, description="job ids behind the models; optional")


@dataclass(frozen=True)
class Target:
    """A model of the answer, the circuit whose detectors it describes, and the records of the session it can decode."""

    group: Literal["memory", "cnot"]
    key: str
    program: Program

    @property
    def name(self) -> str:
        return f"{self.group}.{self.key}"

    def text(self, answer: Answer) -> str:
        return str(getattr(getattr(answer, self.group), self.key))

    def fits(self, request: SurgeryExperiment) -> bool:
        if self.group == "memory":
            return isinstance(request, RunMemory) and (request.patch, request.basis, request.rounds) == (PATCH, self.key, MEMORY_ROUNDS)
        return isinstance(request, RunCnot) and request.config == self.key


def targets() -> tuple[Target, ...]:
    """The six models of an answer."""
    memories = tuple(Target("memory", b, circuits.memory(PATCH, b, MEMORY_ROUNDS)) for b in ("Z", "X"))
    return memories + tuple(Target("cnot", c, circuits.cnot(c, (0, 0))) for c in circuits.CONFIGS)


def read_models(answer: Answer) -> tuple[dict[str, MatchingGraph], list[Check]]:
    """CANON of every model, and one check each."""
    return decoding.read_models({t.name: (t.text(answer), t.program) for t in targets()})


def _counter(program: Program, device: Device, lab_s: float, matcher: Any, deadline: Deadline) -> Callable[[int, int], int]:
    circuit = noisy(program, device.hidden, lab_s)

    def count(shots: int, seed: int) -> int:
        return int(decoded(matcher, *sample_detections(circuit, shots, seed), deadline).sum())

    return count


def replay(
    graphs: dict[str, MatchingGraph], device: Device, lab_s: float, seed: np.random.SeedSequence, deadline: Deadline
) -> list[Settled]:
    """Decode fresh shots of every test circuit at lab time `lab_s` in s, and settle all criteria."""
    matchers = {name: g.matching() for name, g in graphs.items()}
    streams, cnots, memories = [], [], []
    for basis in ("Z", "X"):
        program, name = circuits.memory(PATCH, basis, MEMORY_ROUNDS), f"memory {basis}"
        count = _counter(program, device, lab_s, matchers[f"memory.{basis}"], deadline)
        streams.append(Stream(name, count, child(seed, name), MEMORY_SHOTS, MEMORY_CAP))
        memories.append(name)
    for config in circuits.CONFIGS:
        for inputs in circuits.TEST_INPUTS[config]:
            program, name = circuits.cnot(config, inputs), f"cnot {config} {inputs[0]}{inputs[1]}"
            count = _counter(program, device, lab_s, matchers[f"cnot.{config}"], deadline)
            streams.append(Stream(name, count, child(seed, name), CNOT_SHOTS, CNOT_CAP))
            cnots.append(name)
    criteria = [
        Criterion("memory error per cycle, mean of both bases", tuple(memories), per_cycle(MEMORY_ROUNDS), MEMORY_LIMIT),
        Criterion("CNOT error, mean of eight circuits", tuple(cnots), rate, CNOT_MEAN_LIMIT),
        *(Criterion(f"CNOT error, {n.removeprefix('cnot ')}", (n,), rate, CNOT_EACH_LIMIT) for n in cnots),
    ]
    settled = settle(streams, criteria)
    for name, stream in zip(memories, streams, strict=False):
        shown = Criterion(f"memory error per cycle, {name.removeprefix('memory ')}", (name,), per_cycle(MEMORY_ROUNDS), MEMORY_LIMIT)
        value, stderr = shown.estimate([stream.drawn])
        settled.append(Settled(shown, value, stderr, stream.drawn.shots, True))
    return settled


def errors(settled: list[Settled]) -> dict[str, Any]:
    """Errors, standard errors and thresholds as they are printed beside each other."""
    by_name = {s.criterion.name: s for s in settled}
    entry = {n: {"error": s.value, "stderr": s.stderr, "limit": s.criterion.limit, "shots": s.shots} for n, s in by_name.items()}

    def group(prefix: str) -> dict[str, Any]:
        found = {n.removeprefix(prefix): e for n, e in entry.items() if n.startswith(prefix)}
        return {("mean" if n.startswith("mean") else n): e for n, e in found.items()}

    return {"memory_error_per_cycle": group("memory error per cycle, "), "cnot_error": group("CNOT error, ")}


class LatticeSurgeryCnot(Grader):
    """Memory M below 1e-3 per cycle, and eight CNOT circuits below 0.185 each and 0.175 in the mean, on fresh shots."""

    task = "lattice_surgery_cnot"
    Answer = Answer
    trap_fails = ("CNOT error, mean of eight circuits",)
    trap_meets = ("memory error per cycle, mean of both bases", "the ZZ seam was measured while merged, 5000 shots or more in one job")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """What was measured, by kind; and the jobs whose records the models can decode."""
        merged: dict[str, list[str]] = {"ZZ": [], "XX": []}
        memory = []
        for j in session.jobs:
            r = j.request
            if isinstance(r, RunMemory) and r.patch == PATCH:
                memory.append(j.job_id)
            if isinstance(r, RunMerge) and r.shots >= EVIDENCE_SHOTS:
                merged[r.seam].append(j.job_id)
            if isinstance(r, RunCnot) and r.shots >= EVIDENCE_SHOTS:
                merged["ZZ"].append(j.job_id)
                merged["XX"].append(j.job_id)
        shots = sum(j.request.shots for j in session.jobs if isinstance(j.request, RunMemory | RunMerge | RunCnot))
        return {
            "jobs": len(session.jobs), "shots": shots, "memory_M_jobs": len(memory), "merged_jobs": {s: len(v) for s, v in merged.items()},
            "_memory": memory, "_merged": merged, "_lab_s": max((j.lab_end_s for j in session.jobs), default=0.0),
        }  # fmt: skip

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        needed = {"a memory of patch M was measured": q["_memory"]}
        for seam, jobs in q["_merged"].items():
            needed[f"the {seam} seam was measured while merged, {EVIDENCE_SHOTS} shots or more in one job"] = jobs
        checks = [
            holds(name, Stage.BIND, bool(jobs), category=Category.MISSING_EVIDENCE, jobs=tuple(jobs[:5])) for name, jobs in needed.items()
        ]
        if answer.evidence is not None:
            cited = answer.evidence.memory + answer.evidence.cnot
            if cited:
                checks.append(self.jobs_exist(cited, session, {"run_memory", "run_merge", "run_cnot"}))
        return checks + read_models(answer)[1]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        graphs, model_checks = read_models(answer)
        if not all(c.passed for c in model_checks):
            return decoding.not_decoded()
        seed, deadline = np.random.SeedSequence(int(rng.integers(0, 2**63))), Deadline(DECODE_BUDGET_S)
        try:
            settled = replay(graphs, session.device, q["_lab_s"], seed, deadline)
            recorded = self._recorded(graphs, session, deadline)
        except OverTime:
            note = f"decoding took more than {DECODE_BUDGET_S:g} s; an answer near the size of the true model takes a few"
            return decoding.too_slow(note)
        checks = [
            below(s.criterion.name, Stage.SCORE, s.value, s.criterion.limit, stderr=s.stderr, note=s.note, gate=_gates(s)) for s in settled
        ]
        return Score(checks + recorded, quantities=errors(settled))

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is decoder models: they are used, and claim nothing."""

    def _recorded(self, graphs: dict[str, MatchingGraph], session: GradedSession, deadline: Deadline) -> list[Check]:
        """Information only: the models on the session's own records, at most 20000 shots each."""
        checks = []
        for t in targets():
            jobs = [j for j in session.of("run_memory", "run_cnot") if t.fits(j.request)]  # type: ignore[arg-type]
            if jobs:
                checks.append(self._on_record(t, graphs[t.name], jobs[-1], deadline))
        return checks

    def _on_record(self, target: Target, graph: MatchingGraph, job: Job, deadline: Deadline) -> Check:
        request = job.request
        assert isinstance(request, SurgeryExperiment)  # `fits` saw to it
        detections, flips = request.program().detections(job.arrays()["meas"][:RECORDED_SHOTS])
        found = Proportion(int(decoded(graph.matching(), detections, flips, deadline).sum()), len(detections))
        name = f"{target.name} on the last own record, failures per shot"
        return Check(name, Stage.SCORE, True, found.value, stderr=found.stderr, gate=False, jobs=(job.job_id,), note="information only")


def _gates(s: Settled) -> bool:
    """The bases of the memory are reported one by one; their mean decides."""
    return not (s.criterion.name.startswith("memory") and len(s.criterion.streams) == 1)


GRADER = LatticeSurgeryCnot()
