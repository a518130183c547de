"""Grader of `drag_gate`: the submitted samples are played on the device, and what was claimed of them is recomputed from trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit.three_levels import Levels, fit_levels
from qtypes.transmon_multilevel_pulse.replay import GateReplay

SAMPLES = 10
REFERENCE_SHOTS = 2000
TRAIN_SHOTS = 20_000
LONGEST_TRAIN = 40
PADDING_NS = 20
"""Random paddings must reach this far: within them the leaked amplitude turns several times."""
SAME_WAVEFORM = 0.02
BIND_FACTOR = 2.5
BIND_ERROR = 2e-4
BIND_DISTANCE = 1
ERROR = 1.5e-3
LEAKAGE = 3e-4
REPLAYS = 50
REPLAY_GATES = 20
HOUR_S = 3600.0
TOOLS = {"run_envelope", "run_iq_reference"}

Sample = Annotated[float, Field(ge=-1, le=1)]


class Answer(AnswerModel):
    """The gate and what it is claimed to do."""

    i: tuple[Sample, ...] = Field(min_length=1, max_length=SAMPLES, description="in-phase samples at 1 GS/s")
    q: tuple[Sample, ...] = Field(min_length=1, max_length=SAMPLES, description="quadrature samples, as many")
    z_before_rad: float = Field(ge=-100, le=100, description="virtual Z before the pulse, rad: diag(1, exp(i z))")
    z_after_rad: float = Field(ge=-100, le=100, description="virtual Z after the pulse, rad")
    detuning_mhz: float = Field(ge=-20, le=20, description="carrier minus nominal drive frequency, MHz")
    predicted_error: float = Field(ge=0, le=1, description="average gate error")
    predicted_leakage: float = Field(ge=0, le=1, description="population that leaves the qubit per gate")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=120, description="references and trains that the predictions rest on")


class DragGate(Grader):
    """See `docs/tasks/drag_gate.md`."""

    task: ClassVar[str] = "drag_gate"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("leakage per gate, with random paddings",)
    trap_meets = ("predicted leakage against the trains", "predicted error against the trains")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which trains count depends on the submitted samples."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool in TOOLS]
        references = {k: [j for j in cited if j.tool == "run_iq_reference" and j.request.prepare == k] for k in range(3)}
        pulses, iq = _trains([j for j in cited if j.tool == "run_envelope"], answer)
        ids = tuple(j.job_id for j in cited)
        missing = {"category": Category.MISSING_EVIDENCE, "jobs": ids}
        shots = sum(row.size for row in iq)
        checks = [self.jobs_exist(answer.job_ids, session, TOOLS)]
        checks += [
            above(f"reference shots of level {k}", Stage.BIND, sum(j.request.shots for j in jobs), REFERENCE_SHOTS, **missing)
            for k, jobs in references.items()
        ]
        checks += [
            holds("as many samples of i as of q", Stage.BIND, len(answer.i) == len(answer.q), category=Category.SCHEMA),
            above("shots of random trains of the submitted samples", Stage.BIND, shots, TRAIN_SHOTS, **missing),
            holds("a train of no pulse among them", Stage.BIND, 0 in pulses, **missing),
            above("pulses of the longest train", Stage.BIND, max(pulses, default=0), LONGEST_TRAIN, unit="pulses", **missing),
        ]
        if not all(c.passed for c in checks[1:]):
            return checks
        levels = fit_levels([np.concatenate([j.arrays()["iq"].ravel() for j in jobs]) for jobs in references.values()])
        if not levels.resolves:
            return [*checks, holds("the references tell three levels apart", Stage.BIND, False, **missing)]
        leak, missed = _slopes(np.array(pulses), iq, levels)
        q.update(leakage_per_gate=leak, missed_flips_per_gate=missed)
        more = {"category": Category.UNSUPPORTED, "jobs": ids}
        return [
            *checks,
            below("predicted leakage against the trains", Stage.BIND, _distance(answer.predicted_leakage, leak), BIND_DISTANCE, **more),
            below("predicted error against the trains", Stage.BIND, _distance(answer.predicted_error, missed), BIND_DISTANCE, **more),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        if len(answer.i) != len(answer.q):
            return Score([holds("the samples can be played", Stage.SCORE, False)])
        hidden = session.device.hidden
        found: dict[str, list[tuple[float, float]]] = {"back to back": [], "with random paddings": []}
        single: list[float] = []
        for _ in range(REPLAYS):
            gate = GateReplay(
                hidden, answer.i, answer.q, answer.detuning_mhz, answer.z_before_rad, answer.z_after_rad, float(rng.uniform(0, HOUR_S))
            )
            single.append(gate.error)
            found["back to back"].append(gate.train(np.zeros(REPLAY_GATES - 1)))
            found["with random paddings"].append(gate.train(rng.integers(0, 31, REPLAY_GATES - 1)))
        # a train of X gates echoes a wrong virtual Z; one gate alone does not
        alone = float(np.mean(single))
        checks = [below("error of one gate alone", Stage.SCORE, alone, ERROR)]
        quantities = {"error_alone": alone}
        for context, values in found.items():
            error, leak = np.mean(values, axis=0)
            quantities |= {f"error_{context.replace(' ', '_')}": float(error), f"leakage_{context.replace(' ', '_')}": float(leak)}
            checks += [
                below(f"error per gate, {context}", Stage.SCORE, float(error), ERROR),
                below(f"leakage per gate, {context}", Stage.SCORE, float(leak), LEAKAGE),
            ]
        return Score(checks, quantities=quantities)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Predictions beyond both tolerances."""
        return {**answer, "predicted_error": 3.0 * answer["predicted_error"] + 2.5 * BIND_ERROR}


def _distance(predicted: float, seen: float) -> float:
    """How far a prediction is off in units of its tolerance: a factor or an absolute difference, whichever is kinder."""
    absolute = abs(predicted - seen) / BIND_ERROR
    if predicted <= 0 or seen <= 0:
        return absolute
    return float(min(absolute, abs(np.log(predicted / seen)) / np.log(BIND_FACTOR)))


def _trains(jobs: list[Job], answer: Answer) -> tuple[list[int], list[NDArray[np.complex64]]]:
    """Lengths and IQ points of the random trains of the submitted samples: from level 0, nothing before or after, an even number."""
    pulses: list[int] = []
    iq: list[NDArray[np.complex64]] = []
    for job in jobs:
        request: Any = job.request
        if not request.randomise or request.padding_max_ns < PADDING_NS:
            continue
        data = job.arrays()["iq"]
        for point, row in zip(request.points, data, strict=True):
            plain = point.prepare == 0 and not point.before and not point.after and point.map == "none" and point.pulses % 2 == 0
            if plain and all(_same(request.waveforms[p.waveform].samples * p.scale, answer) for p in point.train):
                pulses.append(point.pulses)
                iq.append(row)
    return pulses, iq


def _same(samples: NDArray[np.complex128], answer: Answer) -> bool:
    """Whether a waveform is the submitted one, or within 2 % of its largest sample of it."""
    wanted = np.array(answer.i) + 1j * np.array(answer.q) if len(answer.i) == len(answer.q) else np.zeros(0)
    return samples.shape == wanted.shape and bool(np.abs(samples - wanted).max() <= SAME_WAVEFORM * np.abs(wanted).max())


def _slopes(pulses: NDArray[np.int64], iq: list[NDArray[np.complex64]], levels: Levels) -> tuple[float, float]:
    """Leaked population and missed flips per gate: weighted straight lines through the populations of 2, and of all but 0."""
    populations = np.array([levels.populations(row)[0] for row in iq])
    weight = np.sqrt([row.size for row in iq])
    leak, missed = (float(np.polyfit(pulses, y, 1, w=weight)[0]) for y in (populations[:, 2], 1 - populations[:, 0]))
    return leak, missed


GRADER = DragGate()
