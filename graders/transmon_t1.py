"""Grader of `transmon_t1`: energy relaxation time with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit.iq import Clouds, Relaxation, fit_clouds, fit_relaxation, relaxation_bound

SPAN_FACTOR = 3.5
"""Longest cited delay in units of the true T1."""
DELAYS = 12
REFERENCE_SHOTS = 300
SESSION_SPAN_S = 90.0
RESOLUTION = 0.08
"""Largest recomputed relative standard error of T1: data that leave more room would let a guess pass."""
BIND_SIGMAS = 3.0
FLOOR_TOLERANCE = 0.04
T1_TOLERANCE = 0.10
SIGMA_RANGE = (0.3, 4.0)
TOOLS = {"run_pulse_sequence", "run_iq_reference"}


class Answer(AnswerModel):
    """The relaxation time and the jobs it rests on."""

    t1_us: float = Field(gt=0, le=1e5, description="energy relaxation time T1, us")
    t1_sigma_us: float = Field(gt=0, le=1e5, description="its standard uncertainty (one sigma), us")
    excited_floor: float = Field(ge=0, le=1, description="excited population that remains at delays much longer than T1")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=25, description="jobs the values rest on: both references and the sweep(s)")


class TransmonT1(Grader):
    """See `docs/tasks/transmon_t1.md`."""

    task: ClassVar[str] = "transmon_t1"
    Answer: ClassVar[type[AnswerModel]] = Answer

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: the estimate uses the cited jobs and is made in :meth:`bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        checks = [self.jobs_exist(answer.job_ids, session, TOOLS)]
        references = {k: [j for j in cited if j.tool == "run_iq_reference" and j.request.prepare == k] for k in (0, 1)}
        sweeps = [j for j in cited if j.tool == "run_pulse_sequence" and j.request.relaxation_delays_us() is not None]
        delays = np.unique(np.concatenate([j.request.relaxation_delays_us() for j in sweeps])) if sweeps else np.zeros(0)
        true_t1 = float(session.device.hidden.t1_us(near=False))
        missing = {"category": Category.MISSING_EVIDENCE}
        for k in (0, 1):
            shots = sum(j.request.shots for j in references[k])
            checks.append(above(f"reference shots of |{k}>", Stage.BIND, shots, REFERENCE_SHOTS, jobs=_ids(references[k]), **missing))
        span = max((j.lab_end_s for j in cited), default=0.0) - min((j.lab_start_s for j in cited), default=0.0)
        checks += [
            above("distinct delays of the cited relaxation sweeps", Stage.BIND, delays.size, DELAYS, jobs=_ids(sweeps), **missing),
            above(
                "longest cited delay", Stage.BIND, float(delays.max(initial=0.0)), SPAN_FACTOR * true_t1, unit="us", jobs=_ids(sweeps),
                note=f"{SPAN_FACTOR} true T1 is required", **missing,
            ),
            below("lab-clock span of the cited jobs", Stage.BIND, span, SESSION_SPAN_S, unit="s", **missing),
        ]  # fmt: skip
        if not (references[0] and references[1] and sweeps):
            return [*checks, holds("T1 can be recomputed from the cited jobs", Stage.BIND, False, category=Category.MISSING_EVIDENCE)]
        clouds, fit = estimate(references[0], references[1], sweeps)
        q.update(
            t1_us=fit.t1_us, t1_sigma_us=fit.t1_sigma_us, excited_floor=fit.floor, excited_floor_sigma=fit.floor_sigma,
            cloud_snr=clouds.snr, _sweeps=sweeps,
        )  # fmt: skip
        ids = _ids([*references[0], *references[1], *sweeps])
        checks += [
            below("recomputed sigma / recomputed T1", Stage.BIND, fit.t1_sigma_us / fit.t1_us, RESOLUTION, jobs=ids, **missing),
            below(
                "|reported T1 - recomputed T1|", Stage.BIND, abs(answer.t1_us - fit.t1_us), BIND_SIGMAS * fit.t1_sigma_us, unit="us",
                category=Category.UNSUPPORTED, jobs=ids, note=f"{BIND_SIGMAS:g} sigma of the regrade",
            ),
            below(
                "|reported floor - recomputed floor|", Stage.BIND, abs(answer.excited_floor - fit.floor),
                max(BIND_SIGMAS * fit.floor_sigma, FLOOR_TOLERANCE), category=Category.UNSUPPORTED, jobs=ids,
            ),
        ]  # fmt: skip
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        true_t1 = float(session.device.hidden.t1_us(near=False))
        checks = [below("|T1 / true T1 - 1|", Stage.SCORE, abs(answer.t1_us / true_t1 - 1.0), T1_TOLERANCE)]
        bound = true_bound(q.get("_sweeps", []), session) if q.get("_sweeps") else 0.0
        if bound > 0.0:
            q["crlb_us"] = bound
            ratio = answer.t1_sigma_us / bound
            note = "bound of the cited sweeps at the true parameters"
            checks += [
                above("reported sigma / Cramer-Rao bound, lower limit", Stage.SCORE, ratio, SIGMA_RANGE[0], note=note),
                below("reported sigma / Cramer-Rao bound, upper limit", Stage.SCORE, ratio, SIGMA_RANGE[1], note=note),
            ]
        else:
            checks.append(holds("reported sigma can be compared with the Cramer-Rao bound", Stage.SCORE, False))
        return Score(checks)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """T1 moved by twice its tolerance."""
        return {**answer, "t1_us": answer["t1_us"] * (1.0 + 2.0 * T1_TOLERANCE)}


def _ids(jobs: list[Job]) -> tuple[str, ...]:
    return tuple(j.job_id for j in jobs)


def _points(jobs: list[Job]) -> list[np.ndarray]:
    return [j.arrays()["iq"] for j in jobs]


def estimate(reference0: list[Job], reference1: list[Job], sweeps: list[Job]) -> tuple[Clouds, Relaxation]:
    """Clouds from all cited points, then T1 by the likelihood of the sweeps; each job has its own amplitude."""
    sets = [np.concatenate([a.ravel() for a in _points(jobs)]) for jobs in (reference0, reference1)]
    data = _points(sweeps)
    rows = [row for iq in data for row in iq]
    clouds = fit_clouds([*sets, *rows], complex(sets[0].mean()), complex(sets[1].mean()))
    ratio = np.concatenate([clouds.log_ratio(iq).ravel() for iq in data])
    delay = np.concatenate([np.repeat(j.request.relaxation_delays_us(), iq.shape[1]) for j, iq in zip(sweeps, data, strict=True)])
    group = np.repeat(np.arange(len(data)), [iq.size for iq in data])
    return clouds, fit_relaxation(ratio, delay, group)


def true_bound(sweeps: list[Job], session: GradedSession) -> float:
    """Cramer-Rao bound of T1 in us for the cited sweeps at the true parameters, with known clouds."""
    from qtypes.transmon_pulse.physics import z_response

    hidden = session.device.hidden
    gamma1 = float(hidden.gamma1(0.0))
    amplitudes, delay, shots, group = [], [], [], []
    for g, job in enumerate(sweeps):
        program = job.request.program(hidden)
        points = program.points
        delta = np.full((points, 1), float(hidden.drive_minus_qubit(job.lab_start_s))) + program.offset_mhz[:, None]
        slope, offset = z_response(program, delta, np.full((points, 1), gamma1), hidden.gamma_phi, hidden.z_eq)
        excited = (1.0 - (slope * hidden.z_eq + offset)[:, 0]) / 2.0
        tau = job.request.relaxation_delays_us()
        first = int(tau.argmin())
        amplitudes.append((excited[first] - hidden.thermal_population) * np.exp(tau[first] * gamma1))
        delay.append(tau)
        shots.append(np.full(points, float(job.request.shots)))
        group.append(np.full(points, g))
    clouds = (hidden.readout.clouds().snr, float(-np.log1p(-hidden.readout.relaxation)))
    points = (np.concatenate(delay), np.concatenate(shots), np.concatenate(group))
    return relaxation_bound(1.0 / gamma1, hidden.thermal_population, np.array(amplitudes), clouds, *points)


GRADER = TransmonT1()
