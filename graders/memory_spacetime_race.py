"""Grader of `memory_spacetime_race`: the submitted decoder models decode fresh shots of the submitted patch and cadence; fewer
qubit-cycles are better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.stats import beta

from graders.kit import decoding
from graders.kit.base import AnswerModel, Grader, JobId
from graders.kit.checks import Category, Check, Score, Stage, above, below, holds
from graders.kit.decoding import Deadline, OverTime, decoded, read_models
from graders.kit.replay import Criterion, Proportion, Stream, rate, settle
from graders.kit.session import GradedSession, Job
from lab.conventions import MatchingGraph
from qtypes.contract import Device
from qtypes.kit.rotated_code import Basis
from qtypes.kit.stim_circuits import Program, sample_detections
from qtypes.seeds import child
from qtypes.surface_code_memory.device import CYCLE_S, MAX_ROUNDS, MAX_WAIT_US
from qtypes.surface_code_memory.experiments import RunMemory
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import noise_at, quiet_circuit

ERROR_LIMIT = 0.05
"""Logical error of the whole storage in each basis, upper bound."""
CONFIDENCE = 0.95
STORAGE_US = 60.0
STORAGE_TOLERANCE_US = 0.6
EVIDENCE_SHOTS = 20_000
WAIT_TOLERANCE_US = 1e-3
"""A job has the submitted cadence if its wait differs by no more."""
MODEL_BYTES = 4_000_000
FIRST_SHOTS = 50_000
SHOTS_CAP = 400_000
DECODE_BUDGET_S = 600.0
"""Processor time for all decoding; an ordinary answer takes 5 to 60 s."""
BASES: tuple[Basis, ...] = ("Z", "X")
METRIC_UNIT = "qubit-cycles"

Place = Annotated[int, Field(ge=0, le=6)]
Dem = Annotated[str, Field(min_length=1, max_length=MODEL_BYTES)]


class Answer(AnswerModel):
    """A patch, a cadence, and a decoder model for each basis."""

    origin: tuple[Place, Place] = Field(description="row and column of the north-west data qubit")
    rows: int = Field(ge=3, le=9, description="data rows, odd")
    cols: int = Field(ge=3, le=9, description="data columns, odd")
    cycles: int = Field(ge=1, le=MAX_ROUNDS, description="syndrome cycles")
    wait_us: float = Field(ge=0, le=MAX_WAIT_US, description="wait after each cycle in us")
    Z: Dem = Field(description="detector error model of basis Z, stim text")
    X: Dem = Field(description="detector error model of basis X, stim text")
    jobs: Annotated[tuple[JobId, ...], Field(max_length=150)] = Field(default=(), description="job ids behind the answer; optional")

    def program(self, size: int, basis: Basis) -> Program:
        """The circuit that is replayed."""
        return program(size, *self.origin, self.rows, self.cols, basis, self.cycles)

    @property
    def models(self) -> dict[Basis, str]:
        return {"Z": self.Z, "X": self.X}

    @property
    def storage_us(self) -> float:
        return self.cycles * (CYCLE_S * 1e6 + self.wait_us)

    @property
    def volume(self) -> int:
        """Data and measure qubits of the patch times cycles."""
        return (2 * self.rows * self.cols - 1) * self.cycles

    def fits(self, size: int) -> bool:
        odd = self.rows % 2 == 1 and self.cols % 2 == 1
        return odd and self.origin[0] + self.rows <= size and self.origin[1] + self.cols <= size

    def is_that_of(self, r: RunMemory) -> bool:
        """Same patch and cadence, in any basis."""
        same = (self.origin, self.rows, self.cols, self.cycles) == (r.origin, r.rows, r.cols, r.rounds)
        return same and abs(self.wait_us - r.wait_us) <= WAIT_TOLERANCE_US


def upper_bound(p: Proportion) -> float:
    """One-sided bound of a failure probability at `CONFIDENCE` (Clopper and Pearson 1934)."""
    return float(beta.ppf(CONFIDENCE, p.failures + 1, p.shots - p.failures)) if p.failures < p.shots else 1.0


def bound_name(basis: Basis) -> str:
    return f"logical error of the storage in basis {basis}, upper bound at 95 %"


def stream(
    answer: Answer, graph: MatchingGraph, device: Device, basis: Basis, lab_s: float, seed: np.random.SeedSequence, deadline: Deadline
) -> Stream:
    """Fresh shots of the storage at lab time `lab_s` in s, decoded with `graph`."""
    size = device.profile.size
    noise = noise_at(device.hidden, layout(size), lab_s, answer.wait_us)
    circuit, matcher = quiet_circuit(answer.program(size, basis), noise), graph.matching()

    def count(shots: int, seed: int) -> int:
        return int(decoded(matcher, *sample_detections(circuit, shots, seed), deadline).sum())

    return Stream(basis, count, child(seed, basis), FIRST_SHOTS, SHOTS_CAP)


class MemorySpacetimeRace(Grader):
    """See `docs/tasks/memory_spacetime_race.md`."""

    task: ClassVar[str] = "memory_spacetime_race"
    Answer: ClassVar[type[AnswerModel]] = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Shots by patch, cadence and basis."""
        jobs = [j for j in session.jobs if isinstance(j.request, RunMemory)]
        shots: dict[str, int] = {}
        for j in jobs:
            r: Any = j.request
            name = f"{r.rows} x {r.cols} at {r.origin[0]}, {r.origin[1]}; {r.rounds} cycles, wait {r.wait_us:g} us; {r.basis}"
            shots[name] = shots.get(name, 0) + r.shots
        return {"memory_shots": shots, "_jobs": jobs, "_lab_s": max((j.lab_end_s for j in session.jobs), default=0.0)}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        size = session.device.spec.size
        fits = answer.fits(size)
        checks = [
            holds(f"an odd rectangle on the chip of {size} x {size} data qubits", Stage.BIND, fits, category=Category.SCHEMA),
            below("deviation from 60 us of storage", Stage.BIND, abs(answer.storage_us - STORAGE_US), STORAGE_TOLERANCE_US, unit="us",
                  note=f"{answer.cycles} cycles last {answer.storage_us:.3f} us", category=Category.SCHEMA),
        ]  # fmt: skip
        for basis in BASES:
            own = self._own(answer, q, basis)
            checks.append(
                above(f"shots of the submitted patch and cadence in basis {basis}", Stage.BIND, sum(j.request.shots for j in own),  # type: ignore[attr-defined]
                      EVIDENCE_SHOTS, unit="shots", category=Category.MISSING_EVIDENCE, jobs=tuple(j.job_id for j in own[:5]))
            )  # fmt: skip
        if answer.jobs:
            checks.append(self.jobs_exist(answer.jobs, session, {"run_memory", "run_readout_cal"}))
        return checks + (read_models(self._models(answer, size))[1] if fits else [])

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        size = session.device.spec.size
        if not answer.fits(size) or abs(answer.storage_us - STORAGE_US) > 2 * STORAGE_TOLERANCE_US:
            return Score([holds("fresh shots were decoded", Stage.SCORE, False, category=Category.SCHEMA, note="no such storage")])
        graphs, model_checks = read_models(self._models(answer, size))
        if not all(c.passed for c in model_checks):
            return decoding.not_decoded()
        seed, deadline = np.random.SeedSequence(int(rng.integers(0, 2**63))), Deadline(DECODE_BUDGET_S)
        streams = [stream(answer, graphs[b], session.device, b, q["_lab_s"], seed, deadline) for b in BASES]
        try:
            settle(streams, [Criterion(b, (b,), rate, ERROR_LIMIT) for b in BASES])
            checks = [self._bounded(basis, s.drawn) for basis, s in zip(BASES, streams, strict=True)]
            checks += self._on_records(answer, graphs, q, size, deadline)
        except OverTime:
            return decoding.too_slow(f"decoding took more than {DECODE_BUDGET_S:g} s of processor time; an ordinary answer takes 5 to 60")
        replayed = {s.name: {"logical_error": s.drawn.value, "shots": s.drawn.shots} for s in streams}
        return Score(checks, float(answer.volume), METRIC_UNIT, {"replayed": replayed})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is a setting with its decoder models: they are used, and claim nothing."""

    @staticmethod
    def _models(answer: Answer, size: int) -> dict[Basis, tuple[str, Program]]:
        return {b: (text, answer.program(size, b)) for b, text in answer.models.items()}

    @staticmethod
    def _own(answer: Answer, q: dict[str, Any], basis: Basis) -> list[Job]:
        return [j for j in q["_jobs"] if j.request.basis == basis and answer.is_that_of(j.request)]

    @staticmethod
    def _bounded(basis: Basis, drawn: Proportion) -> Check:
        note = f"{drawn.failures} of {drawn.shots} fresh shots"
        return below(bound_name(basis), Stage.SCORE, upper_bound(drawn), ERROR_LIMIT, stderr=drawn.stderr, note=note)

    def _on_records(
        self, answer: Answer, graphs: Mapping[Basis, MatchingGraph], q: dict[str, Any], size: int, deadline: Deadline
    ) -> list[Check]:
        """Information only: logical error of the models on the last own record."""
        checks = []
        for basis in BASES:
            own = self._own(answer, q, basis)
            if own:
                detections, flips = answer.program(size, basis).detections(own[-1].arrays()["meas"][:EVIDENCE_SHOTS])
                wrong = decoded(graphs[basis].matching(), detections, flips, deadline)
                found = Proportion(int(wrong.sum()), len(wrong))
                checks.append(
                    below(f"{basis}, logical error on the last own record", Stage.SCORE, found.value, ERROR_LIMIT, stderr=found.stderr,
                          gate=False, jobs=(own[-1].job_id,), note="information only")
                )  # fmt: skip
        return checks


GRADER = MemorySpacetimeRace()
