"""Grader of `dissipative_stabilization`: tomography of the submitted drives is recomputed, and the drives are played on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.driven_dissipative_transmon_array.device import Hidden
from qtypes.driven_dissipative_transmon_array.physics import generator, product, propagate, singlet_fidelity

TOOL = "run_drive_evolve"
STATES = ("gg", "eg", "ee")
BASES = ("XX", "YY", "ZZ")
STRINGS = ("gg", "ge", "eg", "ee")
EVIDENCE_US = (20, 60)
REPLAY_US = (20, 60, 100)
REFERENCE_SHOTS = 2000
BASIS_SHOTS = 3000
INITIAL_STATES = 2
SAME_SETTING = 1e-6
CONDITION = 3.0
"""A response matrix of worse condition does not tell the four strings apart."""
BIND_FIDELITY = 0.03
SIGMA_RANGE = (0.002, 0.03)
FIDELITY = 0.78
SPREAD = 0.05
TRUE_FIDELITY = 0.06
REPLAYS = 5
HOUR_S = 3600.0
PARITY = np.array([1.0, -1.0, -1.0, 1.0])

Pair = Field(min_length=2, max_length=2)
Angle = Annotated[float, Field(ge=-100, le=100)]
Floats = NDArray[np.float64]


class Answer(AnswerModel):
    """Constant drives and what they hold."""

    amp_mhz: Annotated[tuple[Annotated[float, Field(ge=0, le=8)], ...], Pair] = Field(description="programmed Rabi frequencies, MHz")
    phase_rad: Annotated[tuple[Angle, ...], Pair] = Field(description="phases of the drives, rad")
    detuning_mhz: Annotated[tuple[Annotated[float, Field(ge=-10, le=10)], ...], Pair] = Field(description="programmed detunings, MHz")
    frame_rad: Annotated[tuple[Angle, ...], Pair] = Field(description="frame of the target: phases of the analysis axes X and Y, rad")
    fidelity_20us: float = Field(ge=0, le=1, description="overlap with the target after 20 us")
    fidelity_60us: float = Field(ge=0, le=1, description="overlap with the target after 60 us")
    sigma: float = Field(gt=0, le=1, description="standard uncertainty of either")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=120, description="readout references and tomography of these settings")


class DissipativeStabilization(Grader):
    """See `docs/tasks/dissipative_stabilization.md`."""

    task: ClassVar[str] = "dissipative_stabilization"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("lowest fidelity over initial states and times",)
    trap_meets = ("largest |reported - recomputed| fidelity", "largest spread over initial states and times")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which tomography counts depends on the submitted settings."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool == TOOL]
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in jobs)}
        references, seen = _references(jobs), _tomography(jobs, answer)
        least = min(_least(seen, s) for s in sorted(STATES, key=lambda s: -_least(seen, s))[:INITIAL_STATES])
        checks = [
            self.jobs_exist(answer.job_ids, session, {TOOL}),
            above("reference shots of the string with the fewest", Stage.BIND, float(references.sum(0).min()), REFERENCE_SHOTS, **missing),
            above("fewest tomography shots of a basis and time, second initial state", Stage.BIND, least, BASIS_SHOTS, **missing),
            above("smallest reported sigma", Stage.BIND, answer.sigma, SIGMA_RANGE[0], category=Category.UNSUPPORTED),
            below("largest reported sigma", Stage.BIND, answer.sigma, SIGMA_RANGE[1], category=Category.UNSUPPORTED),
        ]
        if not all(c.passed for c in checks[:3]):
            return checks
        response = references / references.sum(axis=0)
        if np.linalg.cond(response) > CONDITION:
            return [*checks, holds("the references tell the four strings apart", Stage.BIND, False, **missing)]
        found = [_fidelity(seen, t, response) for t in EVIDENCE_US]
        q.update({f"fidelity_{t}us": f for t, f in zip(EVIDENCE_US, found, strict=True)})
        off = max(abs(answer.fidelity_20us - found[0]), abs(answer.fidelity_60us - found[1]))
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": missing["jobs"]}
        return [*checks, below("largest |reported - recomputed| fidelity", Stage.BIND, off, BIND_FIDELITY, **more)]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        times = np.sort(rng.uniform(0, HOUR_S, REPLAYS))
        replayed = np.array([replay(session.device.hidden, answer, float(t)) for t in times])
        mean = replayed.mean(axis=0)
        claimed = abs(answer.fidelity_60us - float(mean[:, REPLAY_US.index(60)].mean()))
        checks = [
            above("lowest fidelity over initial states and times", Stage.SCORE, float(mean.min()), FIDELITY),
            below("largest spread over initial states and times", Stage.SCORE, float(np.ptp(mean)), SPREAD),
            below("|reported - replayed| fidelity at 60 us", Stage.SCORE, claimed, TRUE_FIDELITY),
        ]
        return Score(checks, quantities={"replayed": {s: row.tolist() for s, row in zip(STATES, mean, strict=True)}})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Both fidelities moved by twice the tolerance."""
        moved = {f: answer[f] + (2 if answer[f] < 0.9 else -2) * BIND_FIDELITY for f in ("fidelity_20us", "fidelity_60us")}
        return {**answer, **moved}


def replay(hidden: Hidden, answer: Answer, t_s: float) -> Floats:
    """Overlap with the true singlet of the channel, `(initial states, times)`, of the submitted drives at a time on the lab clock."""
    model = hidden.model(t_s, answer.amp_mhz, answer.phase_rad, answer.detuning_mhz)
    rate, durations = generator(model), 1000 * np.array(REPLAY_US)
    states = np.stack([propagate(rate, product(hidden.prepared(s)), durations) for s in STATES])
    return singlet_fidelity(states, model.phi_rad)


def _counts(bits: NDArray[np.uint8]) -> Floats:
    """Counts `(4,)` of the results 00, 01, 10, 11 of bits `(shots, 2)`."""
    return np.bincount(2 * bits[:, 0] + bits[:, 1], minlength=4).astype(float)


def _references(jobs: list[Job]) -> Floats:
    """Counts `(result, prepared string)` of all runs of no evolution that are measured in ZZ."""
    total = np.zeros((4, 4))
    for job in jobs:
        request: Any = job.request
        bits = job.arrays()["bits"]
        for b, basis in enumerate(request.bases):
            for t, duration in enumerate(request.durations_ns):
                if basis == "ZZ" and duration == 0:
                    total[:, STRINGS.index(request.prepare)] += _counts(bits[b, t])
    return total


def _tomography(jobs: list[Job], answer: Answer) -> dict[tuple[str, int, str], Floats]:
    """Counts `(4,)` of the submitted settings and frame by initial state, time in us and basis."""
    total = {(s, t, b): np.zeros(4) for s in STATES for t in EVIDENCE_US for b in BASES}
    fields = ("amp_mhz", "phase_rad", "detuning_mhz", "frame_rad")
    for job in jobs:
        request: Any = job.request
        if request.parked or any(not np.allclose(getattr(request, f), getattr(answer, f), rtol=0, atol=SAME_SETTING) for f in fields):
            continue
        bits = job.arrays()["bits"]
        for b, basis in enumerate(request.bases):
            for t, duration in enumerate(request.durations_ns):
                key = (request.prepare, duration / 1000, basis)
                if key in total:
                    total[key] += _counts(bits[b, t])
    return total


def _least(seen: dict[tuple[str, int, str], Floats], state: str) -> float:
    return float(min(seen[state, t, b].sum() for t in EVIDENCE_US for b in BASES))


def _fidelity(seen: dict[tuple[str, int, str], Floats], time_us: int, response: Floats) -> float:
    """(1 - <XX> - <YY> - <ZZ>)/4 with the readout inverted, over all shots of a time."""
    weight = PARITY @ np.linalg.inv(response)
    means = [sum(seen[s, time_us, b] for s in STATES) for b in BASES]
    return float((1.0 - sum(float(weight @ m / m.sum()) for m in means)) / 4.0)


GRADER = DissipativeStabilization()
