"""Grader of `transmon_t1`: energy relaxation time with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Job, JobId, Score, Stage, above, below, holds
from graders.kit.iq import Clouds, Relaxation, fit_relaxation, relaxation_bound
from graders.kit.transmon import TransmonGrader, clouds_of, ids, not_recomputable, points, reference_shots

SPAN_FACTOR = 3.5
"""Longest cited delay in units of the true T1."""
DELAYS = 12
REFERENCE_SHOTS = 300
SESSION_SPAN_S = 90.0
RESOLUTION = 0.05
"""Largest recomputed relative standard error of T1."""
BIND_SIGMAS = 1.5
BIND_LIMIT = 0.03
"""T1 is bound within `BIND_SIGMAS` standard errors of the regrade and, for data that leave more room, within this share of it: an estimate
from the same points differs from the regrade by less than its error, and a guess must not fit (see the task's page)."""
FLOOR_TOLERANCE = 0.025
T1_TOLERANCE = 0.10
SIGMA_RANGE = (0.3, 4.0)


class Answer(AnswerModel):
    """The relaxation time and the jobs it rests on."""

    t1_us: float = Field(gt=0, le=1e5, description="energy relaxation time T1, us")
    t1_sigma_us: float = Field(gt=0, le=1e5, description="its standard uncertainty (one sigma), us")
    excited_floor: float = Field(ge=0, le=1, description="excited population that remains at delays much longer than T1")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=25, description="jobs the values rest on: both references and the sweep(s)")


class TransmonT1(TransmonGrader):
    """See `docs/tasks/transmon_t1.md`."""

    task: ClassVar[str] = "transmon_t1"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("longest cited delay",)
    trap_meets = ("distinct delays of the cited relaxation sweeps",)

    def is_sweep(self, job: Job) -> bool:
        return job.request.relaxation_delays_us() is not None

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited, own = self.cited(answer.job_ids, session)
        sweeps = cited.sweeps
        delays = np.unique(np.concatenate([j.request.relaxation_delays_us() for j in sweeps])) if sweeps else np.zeros(0)
        true_t1 = float(session.device.hidden.t1_us(near=False))
        missing = {"category": Category.MISSING_EVIDENCE}
        checks = [
            own,
            *reference_shots(cited, REFERENCE_SHOTS),
            above("distinct delays of the cited relaxation sweeps", Stage.BIND, delays.size, DELAYS, jobs=ids(sweeps), **missing),
            above(
                "longest cited delay", Stage.BIND, float(delays.max(initial=0.0)), SPAN_FACTOR * true_t1, unit="us", jobs=ids(sweeps),
                note=f"{SPAN_FACTOR} true T1 is required", **missing,
            ),
            below("lab-clock span of the cited jobs", Stage.BIND, cited.span_s, SESSION_SPAN_S, unit="s", **missing),
        ]  # fmt: skip
        if not cited.complete:
            return [*checks, not_recomputable("T1")]
        clouds, fit = estimate(cited.references[0], cited.references[1], sweeps)
        q.update(
            t1_us=fit.t1_us, t1_sigma_us=fit.t1_sigma_us, excited_floor=fit.floor, excited_floor_sigma=fit.floor_sigma,
            cloud_snr=clouds.snr, _sweeps=sweeps,
        )  # fmt: skip
        more = {"category": Category.UNSUPPORTED, "jobs": ids([*cited.references[0], *cited.references[1], *sweeps])}
        room = min(BIND_SIGMAS * fit.t1_sigma_us, BIND_LIMIT * fit.t1_us)
        note = f"{BIND_SIGMAS:g} sigma of the regrade, at most {100 * BIND_LIMIT:g} %"
        checks += [
            below("recomputed sigma / recomputed T1", Stage.BIND, fit.t1_sigma_us / fit.t1_us, RESOLUTION, **more | missing),
            below("|reported T1 - recomputed T1|", Stage.BIND, abs(answer.t1_us - fit.t1_us), room, unit="us", note=note, **more),
            below("|reported floor - recomputed floor|", Stage.BIND, abs(answer.excited_floor - fit.floor), FLOOR_TOLERANCE, **more),
        ]
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


def estimate(reference0: list[Job], reference1: list[Job], sweeps: list[Job]) -> tuple[Clouds, Relaxation]:
    """Clouds from all cited points, then T1 by the likelihood of the sweeps; each job has its own amplitude."""
    data = points(sweeps)
    clouds = clouds_of(reference0, reference1, data)
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
        n = program.points
        delta = np.full((n, 1), float(hidden.drive_minus_qubit(job.lab_start_s))) + program.offset_mhz[:, None]
        slope, offset = z_response(program, delta, np.full((n, 1), gamma1), hidden.gamma_phi, hidden.z_eq)
        excited = (1.0 - (slope * hidden.z_eq + offset)[:, 0]) / 2.0
        tau = job.request.relaxation_delays_us()
        first = int(tau.argmin())
        amplitudes.append((excited[first] - hidden.thermal_population) * np.exp(tau[first] * gamma1))
        delay.append(tau)
        shots.append(np.full(n, float(job.request.shots)))
        group.append(np.full(n, g))
    clouds = (hidden.readout.clouds().snr, float(-np.log1p(-hidden.readout.relaxation)))
    design = (np.concatenate(delay), np.concatenate(shots), np.concatenate(group))
    return relaxation_bound(1.0 / gamma1, hidden.thermal_population, np.array(amplitudes), clouds, *design)


GRADER = TransmonT1()
