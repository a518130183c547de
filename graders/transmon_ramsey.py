"""Grader of `transmon_ramsey`: signed detuning of the drive and T2* of a transmon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Job, JobId, Score, Stage, above, below
from graders.kit.ramsey import FringePoints, Populations, RamseyFit, fit_ramsey
from graders.kit.transmon import TransmonGrader, clouds_of, ids, not_recomputable, points, reference_shots

REFERENCE_SHOTS = 300
DELAYS = 40
LONGEST_US = 500.0
"""Points with longer delays are left out: no fringe is left there."""
SPAN_MHZ = 2.6
"""Detunings up to this are considered; the qubit is known to be within 2.5 MHz of the drive."""
EXCLUSION_KHZ = 20.0
RIVAL_CHI2 = 30.0
"""By how much chi^2 must be larger at every detuning further than the exclusion from the best; an alias or a mirror image fits as well."""
DETUNING_RESOLUTION_KHZ = 1.5
T2_RESOLUTION = 0.06
BIND_DETUNING_KHZ = 3.0
BIND_T2 = 0.05
DETUNING_TOLERANCE_KHZ = 6.0
T2_TOLERANCE = 0.15
SIGMA_RANGE = (0.3, 4.0)


class Answer(AnswerModel):
    """Detuning and dephasing time, and the jobs they rest on."""

    detuning_khz: float = Field(ge=-10_000, le=10_000, description="nominal drive frequency minus qubit frequency, signed, kHz")
    t2star_us: float = Field(gt=0, le=1e4, description="T2*: time at which the Ramsey envelope has fallen to 1/e, us")
    t2star_sigma_us: float = Field(gt=0, le=1e4, description="its standard uncertainty (one sigma), us")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=20, description="jobs the values rest on: both references and the sweep(s)")


class TransmonRamsey(TransmonGrader):
    """See `docs/tasks/transmon_ramsey.md`."""

    task: ClassVar[str] = "transmon_ramsey"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("|detuning - truth|, signed",)
    trap_meets = ("|T2* / true T2* - 1|", "distinct delays up to 500 us of the cited Ramsey sweeps")

    def is_sweep(self, job: Job) -> bool:
        return job.request.fringe() is not None

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited, own = self.cited(answer.job_ids, session)
        sweeps = cited.sweeps
        delays = np.unique(np.concatenate([np.zeros(0), *(j.request.fringe().delay_us for j in sweeps)]))
        delays = delays[delays <= LONGEST_US]
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE}
        more: dict[str, Any] = {"category": Category.UNSUPPORTED}
        name = f"distinct delays up to {LONGEST_US:.0f} us of the cited Ramsey sweeps"
        enough = above(name, Stage.BIND, delays.size, DELAYS, jobs=ids(sweeps), **missing)
        checks = [own, *reference_shots(cited, REFERENCE_SHOTS), enough]
        if not (cited.complete and enough.passed):
            return [*checks, not_recomputable("the fringe")]
        fit = estimate(cited.references[0], cited.references[1], sweeps)
        q.update(
            detuning_khz=1e3 * fit.detuning_mhz, detuning_sigma_khz=1e3 * fit.detuning_sigma_mhz, t2star_us=fit.t2_us,
            t2star_sigma_us=fit.t2_sigma_us, white_share=fit.share, chi2_per_dof=fit.chi2_per_dof, rival_khz=1e3 * fit.rival_mhz,
            rival_chi2=fit.rival_chi2, _sweeps=sweeps,
        )  # fmt: skip
        missing["jobs"] = more["jobs"] = ids([*cited.references[0], *cited.references[1], *sweeps])
        rival = f"chi^2 of the best detuning further than {EXCLUSION_KHZ:g} kHz away, above the best"
        off = abs(answer.detuning_khz - q["detuning_khz"])
        return [
            *checks,
            above(rival, Stage.BIND, fit.rival_chi2, RIVAL_CHI2, note=f"it is {1e3 * fit.rival_mhz:.0f} kHz", **missing),
            below("recomputed sigma of the detuning", Stage.BIND, q["detuning_sigma_khz"], DETUNING_RESOLUTION_KHZ, unit="kHz", **missing),
            below("recomputed sigma / recomputed T2*", Stage.BIND, fit.t2_sigma_us / fit.t2_us, T2_RESOLUTION, **missing),
            below("|reported detuning - recomputed detuning|", Stage.BIND, off, BIND_DETUNING_KHZ, unit="kHz", **more),
            below("|reported T2* / recomputed T2* - 1|", Stage.BIND, abs(answer.t2star_us / fit.t2_us - 1.0), BIND_T2, **more),
        ]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        truth = true_detuning_khz(session, q.get("_sweeps", []))
        true_t2 = session.device.hidden.t2star_us()
        checks = [
            below("|detuning - truth|, signed", Stage.SCORE, abs(answer.detuning_khz - truth), DETUNING_TOLERANCE_KHZ, unit="kHz"),
            below("|T2* / true T2* - 1|", Stage.SCORE, abs(answer.t2star_us / true_t2 - 1.0), T2_TOLERANCE),
        ]
        if "t2star_sigma_us" in q:
            ratio = answer.t2star_sigma_us / max(q["t2star_sigma_us"], 1e-12)
            checks += [
                above("reported sigma / recomputed sigma of T2*, lower limit", Stage.SCORE, ratio, SIGMA_RANGE[0]),
                below("reported sigma / recomputed sigma of T2*, upper limit", Stage.SCORE, ratio, SIGMA_RANGE[1]),
            ]
        return Score(checks)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Both values moved by twice their tolerance."""
        detuning, t2 = answer["detuning_khz"] + 2.0 * DETUNING_TOLERANCE_KHZ, answer["t2star_us"] * (1.0 + 2.0 * T2_TOLERANCE)
        return {**answer, "detuning_khz": detuning, "t2star_us": t2}


def estimate(reference0: list[Job], reference1: list[Job], sweeps: list[Job]) -> RamseyFit:
    """Clouds from all cited points, then the joint fringe; sweeps of equal pulses, offset and period share their amplitude."""
    data = points(sweeps)
    populations = Populations.of(clouds_of(reference0, reference1, data))
    fringes = [j.request.fringe() for j in sweeps]
    kinds = [(*f.pulses, f.offset_mhz, j.request.rep_period_us) for f, j in zip(fringes, sweeps, strict=True)]
    rows = [(f.delay_us, f.turn_rad, populations.value(iq)) for f, iq in zip(fringes, data, strict=True)]
    each = [(f.offset_mhz, j.request.shots, kinds.index(k)) for f, j, k in zip(fringes, sweeps, kinds, strict=True)]
    delay, turn, value = (np.concatenate(column) for column in zip(*rows, strict=True))
    offset, shots, label = (np.repeat(column, [d.size for d, _, _ in rows]) for column in zip(*each, strict=True))
    used = delay <= LONGEST_US
    group = np.unique(label[used], return_inverse=True)[1]
    table = FringePoints(delay[used], turn[used], offset[used], value[used], shots[used].astype(float), group)
    return fit_ramsey(table, populations, SPAN_MHZ, 1e-3 * EXCLUSION_KHZ)


def true_detuning_khz(session: GradedSession, sweeps: list[Job]) -> float:
    """Drive minus qubit, parity averaged, mean over the shots of the sweeps; at lab clock 0 where there is none."""
    times = np.concatenate([np.linspace(j.lab_start_s, j.lab_end_s, 50) for j in sweeps]) if sweeps else np.zeros(1)
    weights = np.repeat([j.request.points() * j.request.shots for j in sweeps] or [1], 50 if sweeps else 1)
    return 1e3 * float(np.average(session.device.hidden.drive_minus_qubit(times), weights=weights))


GRADER = TransmonRamsey()
