"""Grader of `drifting_t1`: statistics of a relaxation time that jumps between two values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Job, JobId, Score, Stage, above, below, holds
from graders.kit.telegraph_t1 import References, Stream, TelegraphFit, fit_telegraph
from graders.kit.transmon import TransmonGrader, ids, not_recomputable, reference_shots

WINDOWS_S = 3600
"""Number of complete 1 s windows of the lab clock that the cited data must fill."""
WINDOW_SHOTS = 40
WINDOW_DELAYS = 3
REFERENCE_SHOTS = 1000
T1_TOLERANCE = (0.10, 0.12)
"""Relative tolerance of the T1 of the long-lived and the short-lived state."""
DWELL_FACTOR = 1.5
OCCUPANCY_TOLERANCE = 0.08
PERCENTILE_TOLERANCE = 0.15
BIND_SIGMAS = 3.0
BIND_T1 = 0.06
"""The regrade's three sigma are widened to at least this relative difference: estimators differ in what they assume of the readout."""
BIND_DWELL = 0.25
BIND_OCCUPANCY = 0.06
MAX_SHOTS = 900_000
REFERENCE_WITHIN_S = 60.0
"""How far outside of the span of the sweeps a reference may lie."""


class State(AnswerModel):
    """One state of the qubit's environment."""

    t1_us: float = Field(gt=0, le=1e5, description="T1 in this state, us")
    dwell_s: float = Field(gt=0, le=1e6, description="mean time that the state lasts, s")
    occupancy: float = Field(ge=0, le=1, description="fraction of the time spent in this state")


class Answer(AnswerModel):
    """Relaxation-time statistics and the jobs they rest on."""

    states: tuple[State, ...] = Field(min_length=2, max_length=2, description="the two states, in any order")
    t1_p10_us: float = Field(gt=0, le=1e5, description="10th percentile of T1 over the 1 s windows (inverse of the mean rate of each), us")
    t1_p90_us: float = Field(gt=0, le=1e5, description="90th percentile of the same, us")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=40, description="jobs the values rest on: references and relaxation sweeps")


class DriftingT1(TransmonGrader):
    """See `docs/tasks/drifting_t1.md`."""

    task: ClassVar[str] = "drifting_t1"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = (
        "dwell time of the long-lived state, ratio to truth",
        "dwell time of the short-lived state, ratio to truth",
        "|10th percentile / truth - 1|",
    )
    trap_meets = ("the cited data show two states",)

    def is_sweep(self, job: Job) -> bool:
        """An interleaved relaxation sweep."""
        return job.request.is_interleaved() and job.request.relaxation_delays_us() is not None

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited, own = self.cited(answer.job_ids, session)
        stream = stream_of(cited.sweeps)
        windows = filled_windows(stream)
        q["windows_s"] = int(windows.size)
        start_s, end_s = cited.sweep_span_s()

        def near(job: Job) -> bool:
            return start_s - REFERENCE_WITHIN_S <= job.lab_start_s <= end_s + REFERENCE_WITHIN_S

        name = f"1 s windows with >= {WINDOW_SHOTS} shots at >= {WINDOW_DELAYS} delays"
        more = {"jobs": ids(cited.sweeps), "category": Category.MISSING_EVIDENCE}
        checks = [
            own,
            above(name, Stage.BIND, int(windows.size), WINDOWS_S, **more),
            *reference_shots(cited, REFERENCE_SHOTS, f" within {REFERENCE_WITHIN_S:.0f} s of the span of the sweeps", near),
        ]
        if not all(c.passed for c in checks):
            # with too little data the regrade is not defined; it is not attempted
            return [*checks, not_recomputable("the statistics")]
        fit = fit_telegraph(stream, references_of([*cited.references[0], *cited.references[1]]))
        q["_windows"] = windows
        return [*checks, *_bound(answer, fit, windows, q, ids(cited.jobs))]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        windows = q.get("_windows")
        if windows is None:
            return Score([holds("the statistics rest on enough data to be scored", Stage.SCORE, False)])
        truth = true_statistics(session, windows)
        q["truth"] = truth
        long, short = ordered(answer)
        checks = []
        for k, (label, state) in enumerate((("long-lived", long), ("short-lived", short))):
            t1, dwell = truth["t1_us"][k], truth["dwell_s"][k]
            checks += [
                below(f"|T1 / true T1 - 1| of the {label} state", Stage.SCORE, abs(state.t1_us / t1 - 1.0), T1_TOLERANCE[k]),
                below(f"dwell time of the {label} state, ratio to truth", Stage.SCORE, _ratio(state.dwell_s, dwell), DWELL_FACTOR),
            ]
        off = abs(short.occupancy - truth["occupancy"][1])
        checks.append(below("|occupancy of the short-lived state - truth|", Stage.SCORE, off, OCCUPANCY_TOLERANCE))
        for name, value, true in (("10th", answer.t1_p10_us, truth["p10_us"]), ("90th", answer.t1_p90_us, truth["p90_us"])):
            checks.append(below(f"|{name} percentile / truth - 1|", Stage.SCORE, abs(value / true - 1.0), PERCENTILE_TOLERANCE))
        return Score(checks)


def ordered(answer: Answer) -> tuple[State, State]:
    """The states with the longer and the shorter T1."""
    a, b = answer.states
    return (a, b) if a.t1_us >= b.t1_us else (b, a)


def _ratio(a: float, b: float) -> float:
    return float(max(a / b, b / a))


def stream_of(sweeps: list[Job]) -> Stream:
    """All shots of the sweeps in time order."""
    time, delay, iq = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, dtype=np.complex64)]
    for job in sorted(sweeps, key=lambda j: j.lab_start_s):
        arrays = job.arrays()
        time.append(arrays["time_s"].T.ravel())
        iq.append(arrays["iq"].T.ravel())
        delay.append(np.tile(job.request.relaxation_delays_us(), arrays["iq"].shape[1]))
    return Stream(np.concatenate(time), np.concatenate(delay), np.concatenate(iq))


def references_of(jobs: list[Job]) -> References:
    return References(
        np.array([(j.lab_start_s + j.lab_end_s) / 2 for j in jobs]),
        np.array([j.request.prepare == 1 for j in jobs]),
        [j.arrays()["iq"].ravel() for j in jobs],
    )


def filled_windows(stream: Stream) -> np.ndarray:
    """Starts (integer seconds of the lab clock) of the windows with enough shots and delays, float64 increasing."""
    if not stream.time_s.size:
        return np.zeros(0)
    second = np.floor(stream.time_s).astype(np.int64)
    low = int(second.min())
    shots = np.bincount(second - low)
    _, which = np.unique(stream.delay_us, return_inverse=True)
    pairs = np.unique((second - low) * (int(which.max()) + 1) + which)
    delays = np.bincount(pairs // (int(which.max()) + 1), minlength=shots.size)
    return np.flatnonzero((shots >= WINDOW_SHOTS) & (delays >= WINDOW_DELAYS)).astype(float) + low


def true_statistics(session: GradedSession, windows: np.ndarray) -> dict[str, Any]:
    """What happened during the windows: mean T1 and realised occupancy of each state, the mean dwell times of the process, percentiles."""
    hidden = session.device.hidden
    edges = np.arange(windows[0], windows[-1] + 2.0)
    chosen = (windows - windows[0]).astype(np.int64)
    t1 = 1.0 / hidden.gamma1_windows(edges)[chosen]
    share = float(hidden.defect.fluctuator().fraction(edges)[chosen].mean())
    middle = windows + 0.5
    return {
        "t1_us": [float(np.mean(hidden.t1_us(near, middle))) for near in (False, True)],
        "dwell_s": [hidden.defect.dwell_far_s, hidden.defect.dwell_near_s],
        "occupancy": [1.0 - share, share],
        "p10_us": float(np.percentile(t1, 10)),
        "p90_us": float(np.percentile(t1, 90)),
    }


def _bound(answer: Answer, fit: TelegraphFit, windows: np.ndarray, q: dict[str, Any], jobs: tuple[str, ...]) -> list[Check]:
    t1 = 1.0 / fit.window_rate(windows)
    p10, p90 = float(np.percentile(t1, 10)), float(np.percentile(t1, 90))
    share = float(fit.share1.mean())
    sigma = np.where(np.isfinite(fit.sigma_log), fit.sigma_log, 0.0)
    q.update(
        t1_us=fit.t1_us.tolist(), dwell_s=fit.dwell_s.tolist(), sigma_log=sigma.tolist(), occupancy=[1.0 - share, share], p10_us=p10,
        p90_us=p90, floor=fit.floor,
    )  # fmt: skip
    more = {"category": Category.UNSUPPORTED, "jobs": jobs}
    checks = [holds("the cited data show two states", Stage.BIND, bool(np.isfinite(fit.sigma_log).all()), **more)]
    for k, (label, state) in enumerate(zip(("long-lived", "short-lived"), ordered(answer), strict=True)):
        regions = max(BIND_SIGMAS * sigma[k], BIND_T1), max(BIND_SIGMAS * sigma[2 + k], BIND_DWELL)
        off_t1, off_dwell = abs(np.log(state.t1_us / fit.t1_us[k])), abs(np.log(state.dwell_s / fit.dwell_s[k]))
        checks += [
            below(f"|ln(T1 / recomputed T1)| of the {label} state", Stage.BIND, off_t1, regions[0], **more),
            below(f"|ln(dwell / recomputed dwell)| of the {label} state", Stage.BIND, off_dwell, regions[1], **more),
        ]
    short = ordered(answer)[1]
    off = abs(short.occupancy - share)
    checks.append(below("|occupancy of the short-lived state - recomputed|", Stage.BIND, off, BIND_OCCUPANCY, **more))
    for name, value, own in (("10th", answer.t1_p10_us, p10), ("90th", answer.t1_p90_us, p90)):
        checks.append(below(f"|{name} percentile / recomputed - 1|", Stage.BIND, abs(value / own - 1.0), PERCENTILE_TOLERANCE, **more))
    return checks


GRADER = DriftingT1()
