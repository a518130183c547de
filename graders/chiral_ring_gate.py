"""Grader of `chiral_ring_gate`: outcomes of the submitted tones are recomputed, and the tones are played for 1, 2, 3 gates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.gmon_ring_3q.device import PAIRS, Hidden, Tone
from qtypes.gmon_ring_3q.physics import outcomes, prepared, propagate

TOOL = "run_ring_evolution"
SITES = ("100", "010", "001")
HOLES = ("011", "101", "110")
REFERENCE_SHOTS = 2000
STATE_SHOTS = 2000
SCAN_PHASES = 6
SCAN_SHOTS = 500
SCAN_APART_RAD = 0.5
SCAN_FREQ_MHZ = 1.5
SCAN_AMP = 0.15
SAME_SETTING = 1e-6
CONTRAST = 0.5
"""A readout of less contrast between prepared 0 and 1 is not inverted."""
BIND_PROBABILITY = 0.03
ONE_EXCITATION = (0.97, 0.94, 0.90)
HOLE = 0.93
REPLAYS = 5
HOUR_S = 3600.0

Probability = Annotated[float, Field(ge=0, le=1)]
Row = Annotated[tuple[Probability, ...], Field(min_length=3, max_length=3)]
Floats = NDArray[np.float64]


class AnswerTone(AnswerModel):
    """The tone of one coupler, as in a request."""

    pair: Literal["12", "23", "31"] = Field(description="pair of qubits")
    amp: float = Field(ge=0, le=8, description="programmed amplitude, MHz")
    freq_mhz: float = Field(ge=-400, le=400, description="signed frequency, MHz")
    phase_rad: float = Field(ge=-100, le=100, description="phase at the beginning of the pulse, rad")


class Answer(AnswerModel):
    """A pulse of three tones, and what it does to one excitation and to one hole."""

    tones: tuple[AnswerTone, ...] = Field(min_length=3, max_length=3, description="one tone per pair")
    duration_ns: int = Field(ge=10, le=400, description="length of one gate, whole ns")
    transfer_prob: tuple[Row, ...] = Field(min_length=3, max_length=3, description="row: excited qubit before, column: after")
    hole_prob: tuple[Row, ...] = Field(min_length=3, max_length=3, description="row: the qubit in |0> before, column: after")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=120, description="readout references, phase scan, evolution of six states")


class ChiralRingGate(Grader):
    """See `docs/tasks/chiral_ring_gate.md`."""

    task: ClassVar[str] = "chiral_ring_gate"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("correct site of one excitation, 1 gate", "correct site of the hole, 1 gate")
    trap_meets = ("largest |reported - recomputed| probability", "loop phases in the scan")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which records count depends on the submitted tones."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool == TOOL]
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in jobs)}
        ones, shots = _references(jobs)
        counts = _evidence(jobs, answer)
        checks = [
            self.jobs_exist(answer.job_ids, session, {TOOL}),
            holds("one tone for each pair", Stage.BIND, len({t.pair for t in answer.tones}) == 3, category=Category.SCHEMA),
            above("reference shots of the qubit and state with the fewest", Stage.BIND, float(shots.min()), REFERENCE_SHOTS, **missing),
            above(
                "shots of the initial state with the fewest",
                Stage.BIND,
                float(min(c.sum() for c in counts.values())),
                STATE_SHOTS,
                **missing,
            ),
            above("loop phases in the scan", Stage.BIND, float(_scanned(jobs, answer)), SCAN_PHASES, **missing),
        ]
        if not all(c.passed for c in checks[:4]):
            return checks
        read = ones / shots
        if (read[1] - read[0]).min() < CONTRAST:
            return [*checks, holds("the references tell 0 from 1", Stage.BIND, False, **missing)]
        transfer, hole = (_matrix(counts, strings, read) for strings in (SITES, HOLES))
        q.update(transfer_prob=transfer.tolist(), hole_prob=hole.tolist())
        off = max(float(np.abs(np.array(a) - b).max()) for a, b in ((answer.transfer_prob, transfer), (answer.hole_prob, hole)))
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": missing["jobs"]}
        return [*checks, below("largest |reported - recomputed| probability", Stage.BIND, off, BIND_PROBABILITY, **more)]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        times = np.sort(rng.uniform(0, HOUR_S, REPLAYS))
        site, hole = np.array([replay(session.device.hidden, answer, float(t)) for t in times]).mean(axis=0)
        checks = [
            above(f"correct site of one excitation, {k + 1} gate{'s' if k else ''}", Stage.SCORE, float(site[k]), limit)
            for k, limit in enumerate(ONE_EXCITATION)
        ]
        checks.append(above("correct site of the hole, 1 gate", Stage.SCORE, float(hole[0]), HOLE))
        return Score(checks, quantities={"one_excitation": site.tolist(), "hole": hole.tolist()})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Every probability moved by twice the tolerance, within [0, 1]."""
        shift = 2 * BIND_PROBABILITY
        tables = ("transfer_prob", "hole_prob")
        return {**answer, **{f: [[p + (shift if p < 0.9 else -shift) for p in row] for row in answer[f]] for f in tables}}


def replay(hidden: Hidden, answer: Answer, t_s: float) -> Floats:
    """Mean probability of the right site for an excitation and for a hole, `(2, 3)` for 1, 2, 3 gates, at a time on the lab clock."""
    if len({t.pair for t in answer.tones}) < 3:
        return np.zeros((2, 3))
    ring = hidden.ring(t_s, [Tone(**t.model_dump()) for t in answer.tones])
    found = np.zeros((2, 3))
    for s, (strings, sense) in enumerate(((SITES, 1), (HOLES, -1))):
        p = outcomes(propagate(ring, prepared(strings), answer.duration_ns * np.arange(1, 4)), "ZZZ")
        for k in range(3):
            found[s, k] = np.mean([p[k, i, int(strings[(i + sense * (k + 1)) % 3], 2)] for i in range(3)])
    return found


def _references(jobs: list[Job]) -> tuple[Floats, Floats]:
    """Ones and shots `(prepared, qubit)` of all runs of no duration that prepare 0 or 1 and measure in Z."""
    ones, shots = np.zeros((2, 3)), np.zeros((2, 3))
    for job in jobs:
        request: Any = job.request
        for k in [k for k, d in enumerate(request.durations_ns) if d == 0 and request.basis == "ZZZ" and "+" not in request.initial]:
            bits = job.arrays()["bits"][k]
            for j, letter in enumerate(request.initial):
                ones[int(letter), j] += bits[:, j].sum()
                shots[int(letter), j] += len(bits)
    return ones, shots


def _settings(tones: Any) -> Floats:
    """`(3, 3)`: amplitude, frequency and phase of each pair; a tone that is not there has amplitude 0."""
    found = np.zeros((3, 3))
    for tone in tones:
        found[PAIRS.index(tone.pair)] = tone.amp, tone.freq_mhz, tone.phase_rad
    return found


def _evidence(jobs: list[Job], answer: Answer) -> dict[str, Floats]:
    """Counts `(8,)` of the submitted tones and duration by initial state."""
    total, ours = {s: np.zeros(8) for s in (*SITES, *HOLES)}, _settings(answer.tones)
    for job in jobs:
        request: Any = job.request
        if (
            request.initial not in total
            or request.basis != "ZZZ"
            or not np.allclose(_settings(request.tones), ours, rtol=0, atol=SAME_SETTING)
        ):
            continue
        for k in [k for k, d in enumerate(request.durations_ns) if d == answer.duration_ns]:
            total[request.initial] += np.bincount(job.arrays()["bits"][k] @ [4, 2, 1], minlength=8)
    return total


def _scanned(jobs: list[Job], answer: Answer) -> int:
    """How many loop phases, each apart from the next, were measured near the submitted tones from one excitation."""
    ours = _settings(answer.tones)
    shots: dict[float, int] = {}
    for job in jobs:
        request: Any = job.request
        theirs = _settings(request.tones)
        near = (
            np.abs(theirs[:, 1] - ours[:, 1]).max() <= SCAN_FREQ_MHZ and (np.abs(theirs[:, 0] - ours[:, 0]) <= SCAN_AMP * ours[:, 0]).all()
        )
        played = sum(d > 0 for d in request.durations_ns)
        if near and request.initial in SITES and request.basis == "ZZZ":
            loop = round(float(np.mod(theirs[:, 2].sum(), 2 * np.pi)), 6)
            shots[loop] = shots.get(loop, 0) + played * request.shots
    phases = sorted(p for p, n in shots.items() if n >= SCAN_SHOTS)
    return max((_apart(phases[k:] + [p + 2 * np.pi for p in phases[:k]]) for k in range(len(phases))), default=0)


def _apart(phases: list[float]) -> int:
    """How many of these ascending phases can be kept so that neighbours on the circle are apart."""
    kept: list[float] = []
    for p in phases:
        if not kept or (p - kept[-1] >= SCAN_APART_RAD and kept[0] + 2 * np.pi - p >= SCAN_APART_RAD):
            kept.append(p)
    return len(kept)


def _matrix(counts: dict[str, Floats], strings: tuple[str, ...], read: Floats) -> Floats:
    """`(3, 3)` probabilities of `strings` before and after, with the readout of each qubit inverted."""
    invert = reduce(np.kron, [np.linalg.inv(np.array([[1 - z, 1 - o], [z, o]])) for z, o in read.T])
    return np.array([[(invert @ (counts[s] / counts[s].sum()))[int(end, 2)] for end in strings] for s in strings])


GRADER = ChiralRingGate()
