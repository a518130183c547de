"""Grader of `erasure_decoupling`: the submitted sequence is played on the device and compared with equally spaced pulses; what was
claimed of it is recomputed from flags and IQ points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit.three_levels import Levels, fit_levels
from qtypes.transmon_erasure_qutrit.physics import reflected
from qtypes.transmon_erasure_qutrit.replay import best_of_families, preserved
from qtypes.transmon_erasure_qutrit.sequence import Sequence

TOOL = "run_sequence"
STORAGE_US = 24.0
LEVEL_SHOTS = 2000
LEVEL_US = 1.0
"""Sequences of the level references are at most so long."""
SEQUENCE_SHOTS = 4000
BARE_SHOTS = 1000
OTHER_NUMBERS = 6
OTHER_SHOTS = 500
SAME_TIME_US = 0.01
SAME_ANGLE_RAD = 0.05
PREDICTED = 0.04
RATIO = 0.92
CONTRAST = 0.55
UNDETECTED = 0.02
HOUR_S = 3600.0
INPUTS = {"x": 0.0, "y": float(np.pi / 2)}

Time = Annotated[float, Field(ge=0, le=STORAGE_US)]


class Predicted(AnswerModel):
    """Of the shots of x and y inputs without a flag."""

    coherence_kept: float = Field(ge=0, le=1, description="mean contrast of x and y inputs, among the shots without a flag")
    kept_fraction: float = Field(ge=0, le=1, description="share of shots without a flag")


class Answer(AnswerModel):
    """The sequence and what it is claimed to do."""

    pulse_times_us: tuple[Time, ...] = Field(max_length=48, description="centres of the pulses, us")
    pulse_phases_rad: tuple[Annotated[float, Field(ge=-100, le=100)], ...] = Field(max_length=48, description="their phases, rad")
    check_times_us: tuple[Time, ...] = Field(max_length=6, description="starts of the erasure checks, us")
    predicted: Predicted = Field(description="what the sequence is claimed to do")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=100, description="jobs that the choice and the prediction rest on")


class ErasureDecoupling(Grader):
    """See `docs/tasks/erasure_decoupling.md`."""

    task: ClassVar[str] = "erasure_decoupling"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("preserved coherence relative to the best equally spaced pulses", "mean contrast of x, y and z inputs")
    trap_meets = ("predicted coherence against the records", "predicted kept fraction against the records")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which points count depends on the submitted sequence."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool == TOOL]
        ids = tuple(j.job_id for j in jobs)
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": ids}
        points = list(_points(jobs))
        references = {k: [(iq, flags) for p, iq, flags in points if _reference(p, k)] for k in "gef"}
        checked = {k: [v for v in points if _submitted(v[0], answer, phase, checks=True)] for k, phase in INPUTS.items()}
        bare = {k: [v for v in points if _submitted(v[0], answer, phase, checks=False)] for k, phase in INPUTS.items()}
        others = _other_numbers(points, len(answer.pulse_times_us))
        fewest = {n: min(sum(iq.size for _, iq, _ in v) for v in found.values()) for n, found in (("with", checked), ("bare", bare))}
        checks = [
            self.jobs_exist(answer.job_ids, session, {TOOL}),
            above("reference shots with a check of the level with the fewest", Stage.BIND,
                  min(sum(iq.size for iq, _ in r) for r in references.values()), LEVEL_SHOTS, **missing),
            above("shots of the submitted sequence, of the input with the fewest", Stage.BIND, fewest["with"], SEQUENCE_SHOTS, **missing),
            above("the same pulses without checks", Stage.BIND, fewest["bare"], BARE_SHOTS, **missing),
            above("other pulse numbers", Stage.BIND, len(others), OTHER_NUMBERS, **missing),
        ]  # fmt: skip
        if not all(c.passed for c in checks[1:3]):
            return checks
        # the first check purifies what reset and decay left in the references
        levels = fit_levels([np.concatenate([iq[flags[:, 0] == (k == "e")] for iq, flags in r]) for k, r in references.items()])
        if not levels.resolves:
            return [*checks, holds("the references tell three levels apart", Stage.BIND, False, **missing)]
        seen = [_contrast(group, answer, INPUTS[k], levels) for k, group in checked.items()]
        coherence, kept = (float(np.mean(v)) for v in zip(*seen, strict=True))
        q.update(coherence_kept=coherence, kept_fraction=kept, **_confusion(references))
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": ids}
        off = abs(answer.predicted.coherence_kept - coherence)
        return [
            *checks,
            below("predicted coherence against the records", Stage.BIND, off, PREDICTED, **more),
            below("predicted kept fraction against the records", Stage.BIND, abs(answer.predicted.kept_fraction - kept), PREDICTED, **more),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        sequence = _sequence(answer)
        if sequence is None:
            return Score([holds("the sequence can be played", Stage.SCORE, False, category=Category.RESOURCE)])
        hidden, t_s = session.device.hidden, float(rng.uniform(0.0, HOUR_S))
        best = best_of_families(hidden, t_s, STORAGE_US, rng)
        found = preserved(hidden, t_s, sequence, rng)
        ratio, contrast = found.preserved / best, float(np.mean(found.contrast))
        checks = [
            above("preserved coherence relative to the best equally spaced pulses", Stage.SCORE, ratio, RATIO),
            above("mean contrast of x, y and z inputs", Stage.SCORE, contrast, CONTRAST),
            below("undetected e among the kept", Stage.SCORE, found.undetected, UNDETECTED),
        ]
        quantities = {"preserved": found.preserved, "best_preserved": best, "replayed_coherence": found.coherence,
                      "replayed_kept": float(np.mean(found.kept))}  # fmt: skip
        return Score(checks, quantities=quantities)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The predicted coherence, by more than twice its tolerance, upwards where there is room."""
        claimed = answer["predicted"]["coherence_kept"]
        moved = claimed + 2.5 * PREDICTED if claimed + 2.5 * PREDICTED <= 1 else claimed - 2.5 * PREDICTED
        return {**answer, "predicted": {**answer["predicted"], "coherence_kept": moved}}


def _sequence(answer: Answer) -> Sequence | None:
    """The submitted sequence, None where the device would not take it."""
    try:
        return Sequence(duration_us=STORAGE_US, pulse_times_us=answer.pulse_times_us, pulse_phases_rad=answer.pulse_phases_rad,
                        check_times_us=answer.check_times_us)  # fmt: skip
    except ValidationError:
        return None


def _points(jobs: list[Job]) -> Iterator[tuple[Any, NDArray[np.complex64], NDArray[np.uint8]]]:
    """Every point with its IQ points `(shots,)` and flags `(shots, checks)`."""
    for job in jobs:
        request: Any = job.request
        arrays = job.arrays()
        iq = arrays["iq"]
        flags = arrays.get("flags", np.zeros((*iq.shape, 0), dtype=np.uint8))
        yield from zip(request.points, iq, flags, strict=True)


def _reference(point: Any, level: str) -> bool:
    """Whether a point is a reference of a level: no pulses, at least one check, read out right afterwards."""
    plain = point.prepare == level and not point.pulse_times_us and point.measure == "z"
    return bool(plain and point.check_times_us and point.duration_us <= LEVEL_US)


def _close(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return len(a) == len(b) and bool(np.all(np.abs(np.subtract(a, b)) <= SAME_TIME_US))


def _angle(a: float, b: float, period: float) -> float:
    """Distance of two angles modulo `period`."""
    return abs((a - b + period / 2) % period - period / 2)


def _submitted(point: Any, answer: Answer, phase_rad: float, checks: bool) -> bool:
    """Whether a point stores the input of this phase by the submitted pulses, with or without the checks, and reads it out along the
    direction to which ideal pulses take it, or opposite to it."""
    if point.prepare != "superposition" or point.measure != "equator" or abs(point.duration_us - STORAGE_US) > SAME_TIME_US:
        return False
    if not _close(point.pulse_times_us, answer.pulse_times_us) or not _close(point.check_times_us, answer.check_times_us if checks else ()):
        return False
    if len(answer.pulse_phases_rad) != len(point.pulse_phases_rad):
        return False
    turns = zip(point.pulse_phases_rad, answer.pulse_phases_rad, strict=True)
    same = all(_angle(a, b, 2 * np.pi) <= SAME_ANGLE_RAD for a, b in turns)
    starts = _angle(point.prepare_phase_rad, phase_rad, 2 * np.pi) <= SAME_ANGLE_RAD
    return same and starts and _angle(point.axis_rad, reflected(phase_rad, answer.pulse_phases_rad), np.pi) <= SAME_ANGLE_RAD


def _other_numbers(points: list[tuple[Any, NDArray[np.complex64], NDArray[np.uint8]]], own: int) -> set[int]:
    """Pulse numbers other than the submitted one of which a superposition was stored for the whole time, with enough shots."""
    shots: dict[int, int] = {}
    for point, iq, _ in points:
        stored = point.prepare == "superposition" and point.measure == "equator" and abs(point.duration_us - STORAGE_US) <= SAME_TIME_US
        if stored and len(point.pulse_times_us) != own:
            shots[len(point.pulse_times_us)] = shots.get(len(point.pulse_times_us), 0) + iq.size
    return {n for n, total in shots.items() if total >= OTHER_SHOTS}


def _contrast(
    group: list[tuple[Any, NDArray[np.complex64], NDArray[np.uint8]]], answer: Answer, phase_rad: float, levels: Levels
) -> tuple[float, float]:
    """Contrast among the shots without a flag, and their share, of all points of one input."""
    along, kept, shots = 0.0, 0, 0
    direction = reflected(phase_rad, answer.pulse_phases_rad)
    for point, iq, flags in group:
        good = iq[~flags.any(axis=1)]
        shots, kept = shots + iq.size, kept + good.size
        if good.size:
            p = levels.populations(good)[0]
            along += good.size * float(p[2] - p[0]) * float(np.sign(np.cos(point.axis_rad - direction)))
    return along / max(kept, 1), kept / shots


def _confusion(references: dict[str, list[tuple[NDArray[np.complex64], NDArray[np.uint8]]]]) -> dict[str, float]:
    """Shares of references whose first check says the wrong thing; decay within the check is in them."""
    flags = {k: np.concatenate([f[:, 0] for _, f in r]) for k, r in references.items()}
    return {"check_missed": float(1 - flags["e"].mean()), "check_false": float((flags["g"].mean() + flags["f"].mean()) / 2)}


GRADER = ErasureDecoupling()
