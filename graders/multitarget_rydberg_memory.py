"""Grader of `multitarget_rydberg_memory`: the submitted detector error models decode fresh memories of the device, beside two decoders that
the grader makes from the hidden noise: the true model, and the best one in which every atom errs on its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
import stim
from pydantic import Field

from graders.kit import decoding
from graders.kit.base import AnswerModel, Grader
from graders.kit.checks import Category, Check, Score, Stage, above, below
from graders.kit.decoding import Deadline, OverTime, decoded, predicted_rates
from graders.kit.paired import Joint, JointStream, error_per_cycle, ratio_criterion
from graders.kit.replay import Settled, settle
from graders.kit.session import GradedSession, Job
from lab.conventions import MatchingGraph, read_graph, unpack_bits
from qtypes.kit.rotated_code import Basis
from qtypes.kit.stim_circuits import Program, sample_detections
from qtypes.rydberg_multitarget_surface_code import circuits
from qtypes.rydberg_multitarget_surface_code import layout as lay
from qtypes.rydberg_multitarget_surface_code.device import Hidden, independent
from qtypes.rydberg_multitarget_surface_code.experiments import RunMemory
from qtypes.rydberg_multitarget_surface_code.physics import noisy
from qtypes.seeds import child

TRUE_LIMIT = 1.08
"""Logical error per cycle over that of the true model, geometric mean of both bases."""
INDEPENDENT_LIMIT = 0.95
"""The same over that of the best model without correlated errors."""
ROUNDS = 8
EVIDENCE_SHOTS = 50_000
MODEL_BYTES = 2_000_000
SHOTS = 100_000
CAP = 800_000
DECODE_BUDGET_S = 600.0
"""Processor time for all decoding. The true model takes a few seconds for all three decoders."""
RECORDED_SHOTS = 20_000
BASES: tuple[Basis, ...] = ("Z", "X")
DECODERS = ("submitted", "true_model", "independent_errors")

Dem = Annotated[str, Field(min_length=1, max_length=MODEL_BYTES)]
AncillaName = Annotated[str, Field(pattern=r"^[0-9]{1,2}$")]
Rate = Annotated[float, Field(ge=0, le=0.5)]


class Answer(AnswerModel):
    """Decoder models of the memory with 8 rounds as stim detector error models, decoded by the rule CANON."""

    Z: Dem = Field(description="detector error model of basis Z, stim text")
    X: Dem = Field(description="detector error model of basis X, stim text")
    plaquette_pair_rate: dict[AncillaName, Rate] | None = Field(
        default=None, max_length=24,
        description="mean probability per pulse of a Z error on one pair of targets, by ancilla; optional, for information",
    )  # fmt: skip

    def text(self, basis: Basis) -> str:
        return self.Z if basis == "Z" else self.X


def matchable(circuit: stim.Circuit) -> stim.DetectorErrorModel:
    """The model of a circuit, each error split into components of at most two detectors; an error that cannot be split is left out."""
    kept = stim.DetectorErrorModel()
    for item in circuit.detector_error_model(decompose_errors=True, ignore_decomposition_failures=True).flattened():
        groups = item.target_groups() if item.type == "error" else []
        if all(sum(t.is_relative_detector_id() for t in g) <= 2 for g in groups):
            kept.append(item)
    return kept


def true_graph(basis: Basis, hidden: Hidden) -> MatchingGraph:
    """CANON of the memory of a device."""
    return read_graph(matchable(noisy(circuits.memory(basis, ROUNDS), hidden)))


def read_models(answer: Answer) -> tuple[dict[Basis, MatchingGraph], list[Check]]:
    """CANON of both models, and one check each."""
    return decoding.read_models({b: (answer.text(b), circuits.memory(b, ROUNDS)) for b in BASES})


def _counter(program: Program, hidden: Hidden, matchers: list[Any], deadline: Deadline) -> Callable[[int, int], np.ndarray]:
    circuit = noisy(program, hidden)

    def count(shots: int, seed: int) -> np.ndarray:
        detections, flips = sample_detections(circuit, shots, seed)
        return np.stack([decoded(m, detections, flips, deadline) for m in matchers], axis=1)

    return count


def replay(
    graphs: Mapping[Basis, MatchingGraph], hidden: Hidden, seed: np.random.SeedSequence, deadline: Deadline
) -> tuple[list[Settled], dict[Basis, Joint]]:
    """Decode fresh shots of both memories with three decoders and settle both ratios."""
    streams = {}
    for basis in BASES:
        matchers = [g.matching() for g in (graphs[basis], true_graph(basis, hidden), true_graph(basis, independent(hidden)))]
        count = _counter(circuits.memory(basis, ROUNDS), hidden, matchers, deadline)
        streams[basis] = JointStream(f"memory {basis}", count, child(seed, f"memory {basis}"), SHOTS, CAP, n_decoders=len(DECODERS))
    names = tuple(s.name for s in streams.values())
    criteria = [
        ratio_criterion("error per cycle / that of the true model, mean of both bases", names, ROUNDS, TRUE_LIMIT, 0, 1),
        ratio_criterion("error per cycle / that of independent errors, mean of both bases", names, ROUNDS, INDEPENDENT_LIMIT, 0, 2),
    ]
    return settle(list(streams.values()), criteria), {b: s.drawn for b, s in streams.items()}


class MultitargetRydbergMemory(Grader):
    """Error per cycle at most 1.08 times that of the true model and 0.95 times that of independent errors, on fresh shots."""

    task = "multitarget_rydberg_memory"
    Answer = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Memory shots of each basis that count as evidence, and what else was measured."""
        memories: dict[Basis, list[Job]] = {"Z": [], "X": []}
        for j in session.jobs:
            if isinstance(j.request, RunMemory) and j.request.rounds >= ROUNDS:
                memories[j.request.basis].append(j)
        shots = {b: sum(j.request.shots for j in jobs if isinstance(j.request, RunMemory)) for b, jobs in memories.items()}
        trains = {getattr(j.request, "plaquette", None) for j in session.jobs if j.tool == "run_pulse_train"}
        return {"jobs": len(session.jobs), "memory_shots": shots, "plaquettes_with_trains": len(trains), "_memories": memories}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        checks = [
            above(
                f"shots of run_memory in basis {b} with {ROUNDS} rounds or more", Stage.BIND, q["memory_shots"][b], EVIDENCE_SHOTS,
                category=Category.MISSING_EVIDENCE, jobs=tuple(j.job_id for j in q["_memories"][b][:5]),
            )
            for b in BASES
        ]  # fmt: skip
        return checks + read_models(answer)[1]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        graphs, model_checks = read_models(answer)
        if not all(c.passed for c in model_checks):
            return decoding.not_decoded()
        hidden = session.device.hidden
        seed, deadline = np.random.SeedSequence(int(rng.integers(0, 2**63))), Deadline(DECODE_BUDGET_S)
        try:
            settled, drawn = replay(graphs, hidden, seed, deadline)
            shown = [c for b in BASES for c in self._on_record(b, graphs[b], q["_memories"][b], deadline)]
        except OverTime:
            note = f"decoding took more than {DECODE_BUDGET_S:g} s; an answer near the size of the true model takes a few"
            return decoding.too_slow(note)
        checks = [below(s.criterion.name, Stage.SCORE, s.value, s.criterion.limit, stderr=s.stderr, note=s.note) for s in settled]
        errors = {
            name: {b: error_per_cycle(j.rate(k), ROUNDS) for b, j in drawn.items()} for k, name in enumerate(DECODERS)
        }  # fmt: skip
        quantities = {"error_per_cycle": errors, "shots": {b: j.shots for b, j in drawn.items()}}
        return Score(checks + shown + self._rates(answer, hidden), quantities=quantities)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> None:
        """The answer is decoder models: they are used, and claim nothing. The pair rates decide nothing."""

    def _on_record(self, basis: Basis, graph: MatchingGraph, jobs: list[Job], deadline: Deadline) -> list[Check]:
        """Information only: the model on the last own record of the graded length."""
        own = [j for j in jobs if isinstance(j.request, RunMemory) and j.request.rounds == ROUNDS]
        if not own:
            return []
        job, program = own[-1], circuits.memory(basis, ROUNDS)
        detections, flips = program.detections(job.arrays()["meas"][:RECORDED_SHOTS])
        failed = float(decoded(graph.matching(), detections, flips, deadline).mean())
        seen, expected = unpack_bits(detections, program.n_detectors).mean(axis=0), predicted_rates(graph)
        chi2 = float(np.mean((seen - expected) ** 2 / (expected * (1 - expected)).clip(1e-9))) * len(detections)
        only: dict[str, Any] = {"gate": False, "jobs": (job.job_id,), "note": "information only"}
        return [
            Check(f"{basis} on the last own record, failures per shot", Stage.SCORE, True, failed, **only),
            Check(f"{basis} on the last own record, chi2 of detection fractions per detector", Stage.SCORE, True, chi2, **only),
        ]

    def _rates(self, answer: Answer, hidden: Hidden) -> list[Check]:
        """Information only: the reported pair rates of plaquettes with four targets."""
        given = answer.plaquette_pair_rate or {}
        logs = []
        for a in lay.FOUR_TARGETS:
            pairs = [q for s, q in zip(lay.SUBSETS[a], hidden.plaquette(a).correlated, strict=True) if len(s) == 2]
            if given.get(str(a), 0) > 0:
                logs.append(math.log(given[str(a)] * len(pairs) / sum(pairs)))
        if not logs:
            return []
        rms, name = float(np.sqrt(np.mean(np.square(logs)))), "rms of log(reported / true pair rate)"
        return [Check(name, Stage.SCORE, True, rms, gate=False, note=f"information only, {len(logs)} plaquettes with four targets")]


GRADER = MultitargetRydbergMemory()
