"""Grader of `molmer_sorensen_calibration`: Bell fidelity recomputed from raw shots, and the pulse replayed on fresh drift and noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.trapped_ion_chain.device import MU_MHZ, NOMINAL_MHZ, OMEGA_MAX_KHZ
from qtypes.trapped_ion_chain.experiments import pulse_of, qubit_noise
from qtypes.trapped_ion_chain.replay import GateReplay

PAIR = (2, 4)
PULSE_US = 120
REFERENCE_SHOTS = 500
LINE_WINDOW_KHZ = 20
LINE_DETUNINGS = 9
LINE_SHOTS = 20
LINE_HEIGHT = 0.25
"""Between the highest and the lowest fraction of bright shots of a scan that shows a line."""
POPULATION_SHOTS = 1500
PARITY_SHOTS = 1000
PARITY_PHASES = 6
REPEATS = 3
REPEATED_SHOTS = 300
SAME = 1e-6
"""Relative difference up to which a logged number is the submitted one."""
BIND_SIGMAS = 3
SIGMA_FACTOR = 2
MEAN_FIDELITY = 0.994
TENTH_FIDELITY = 0.988
REPLAYS = 200
REPLAY_S = 1800
TOOLS = {"run_sideband_scan", "run_reference", "run_ms_gate"}
BRIGHT = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])

Floats = NDArray[np.float64]


class AnswerSegment(AnswerModel):
    """One piece of the pulse, as the laboratory takes it."""

    duration_us: int = Field(ge=1, le=PULSE_US, description="length, us")
    omega_khz: float = Field(ge=0, le=OMEGA_MAX_KHZ, description="set Rabi frequency / 2 pi, kHz")
    mu_mhz: float = Field(ge=MU_MHZ[0], le=MU_MHZ[1], description="half distance of the tones / 2 pi, MHz")
    phase_rad: float = Field(ge=-100, le=100, description="phase of the force, rad")


class Answer(AnswerModel):
    """The pulse and what it is claimed to do."""

    segments: Annotated[tuple[AnswerSegment, ...], Field(min_length=1, max_length=40)] = Field(description="the pulse on ions 2 and 4")
    virtual_z_rad: float = Field(ge=-100, le=100, description="turn of both ions about Z after the pulse, rad")
    fidelity: float = Field(ge=0, le=1, description="of the Bell state, from populations and parity")
    fidelity_sigma: float = Field(gt=0, le=1, description="its standard uncertainty")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=120, description="sideband scans, references and runs of this pulse")


@dataclass(frozen=True)
class Tally:
    """Shots of the pair at one setting, `counts` `(4,)` of 00, 01, 10, 11; `phase` of the analysis pulse, None for populations."""

    phase: float | None
    counts: Floats

    @property
    def shots(self) -> float:
        return float(self.counts.sum())


class MolmerSorensenCalibration(Grader):
    """See `docs/tasks/molmer_sorensen_calibration.md`."""

    task: ClassVar[str] = "molmer_sorensen_calibration"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("mean fidelity of the replays",)
    trap_meets = ("|claimed - recomputed| fidelity",)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which runs count depends on the submitted pulse."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        once, often = tallies(cited, answer, {1}), tallies(cited, answer, {REPEATS, REPEATS + 1})
        parity = [t for t in once if t.phase is not None]
        phases = {round(t.phase % np.pi, 3) for t in parity if t.phase is not None}
        references = {s: [j for j in cited if j.tool == "run_reference" and j.request.state == s] for s in (0, 1)}
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in cited)}
        length = sum(s.duration_us for s in answer.segments)
        checks = [
            self.jobs_exist(answer.job_ids, session, TOOLS),
            below("length of the pulse", Stage.BIND, length, PULSE_US, unit="us", category=Category.RESOURCE),
            above("modes of which a cited scan shows a line", Stage.BIND, lines(cited), len(NOMINAL_MHZ), **missing),
        ]
        checks += [
            above(f"reference shots of state {s}", Stage.BIND, sum(j.request.shots for j in jobs), REFERENCE_SHOTS, **missing)
            for s, jobs in references.items()
        ]
        amounts = {
            "population shots of this pulse": (_shots(once, parity=False), POPULATION_SHOTS),
            "parity shots of this pulse": (_shots(once, parity=True), PARITY_SHOTS),
            "phases of its parity scan": (len(phases), PARITY_PHASES),
            "population shots of the repeated pulse": (_shots(often, parity=False), REPEATED_SHOTS),
            "parity shots of the repeated pulse": (_shots(often, parity=True), REPEATED_SHOTS),
        }
        checks += [above(name, Stage.BIND, value, least, **missing) for name, (value, least) in amounts.items()]
        if not all(c.passed for c in checks[3:]):
            return checks
        inverse = correction([np.concatenate([j.arrays()["bits"][0] for j in jobs]) for jobs in references.values()])
        if inverse is None:
            return [*checks, holds("the references tell dark from bright", Stage.BIND, False, **missing)]
        fidelity, sigma = bell_fidelity(once, inverse)
        q.update(recomputed_fidelity=fidelity, recomputed_sigma=sigma)
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": missing["jobs"]}
        off = abs(answer.fidelity - fidelity) / sigma
        ratio = math.exp(abs(math.log(answer.fidelity_sigma / sigma)))
        return [
            *checks,
            below("|claimed - recomputed| fidelity", Stage.BIND, off, BIND_SIGMAS, unit="sigma", **more),
            below("claimed over recomputed sigma, or the inverse", Stage.BIND, ratio, SIGMA_FACTOR, **more),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        end_s = max((j.lab_end_s for j in session.jobs), default=0.0)
        here, pulse = hidden.walk(end_s), pulse_of(answer.segments)
        found = np.empty(REPLAYS)
        for k in range(REPLAYS):
            drift = rng.normal() * hidden.walk_khz * math.sqrt(rng.uniform(0.0, REPLAY_S))
            gate = GateReplay(hidden, PAIR, pulse, answer.virtual_z_rad, here + drift)
            found[k] = gate.fidelity(rng.normal() * hidden.amplitude_noise, rng.normal() * qubit_noise(hidden))
        mean, tenth = float(found.mean()), float(np.quantile(found, 0.1))
        checks = [
            above("mean fidelity of the replays", Stage.SCORE, mean, MEAN_FIDELITY),
            above("10 % quantile of the replays", Stage.SCORE, tenth, TENTH_FIDELITY),
        ]
        return Score(checks, quantities={"mean_fidelity": mean, "tenth_fidelity": tenth})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The fidelity moved by twice the tolerance, away from the nearer end of its range; the pulse stays."""
        step = 2 * BIND_SIGMAS * SIGMA_FACTOR * answer["fidelity_sigma"]
        return {**answer, "fidelity": answer["fidelity"] - step if answer["fidelity"] > 0.5 else answer["fidelity"] + step}


def lines(jobs: list[Job]) -> int:
    """Of how many modes a sideband scan within the range of that mode shows a line."""
    seen = set()
    for job in jobs:
        request: Any = job.request
        if job.tool != "run_sideband_scan" or request.shots < LINE_SHOTS:
            continue
        bright = job.arrays()["bits"][:, :, request.ion - 1].mean(axis=1)
        detuning = np.array(request.detunings_khz)
        for m, mode in enumerate(NOMINAL_MHZ * 1e3):
            near = np.abs(detuning - mode) <= LINE_WINDOW_KHZ
            if len(set(detuning[near].tolist())) >= LINE_DETUNINGS and np.ptp(bright[near]) >= LINE_HEIGHT:
                seen.add(m)
    return len(seen)


def tallies(jobs: list[Job], answer: Answer, repeats: set[int]) -> list[Tally]:
    """All points of the runs of the submitted pulse, virtual Z included, with so many repeats."""
    out: list[Tally] = []
    for job in jobs:
        request: Any = job.request
        if job.tool != "run_ms_gate" or request.repeats not in repeats or tuple(request.pair) != PAIR or not _same(request, answer):
            continue
        phases = [None] * int(request.populations) + list(request.analysis_rad)
        pair = job.arrays()["bits"][:, :, [i - 1 for i in PAIR]].astype(int)
        for phase, bits in zip(phases, pair, strict=True):
            out.append(Tally(phase, np.bincount(2 * bits[:, 0] + bits[:, 1], minlength=4).astype(float)))
    return out


def _same(request: Any, answer: Answer) -> bool:
    mine = [[s.duration_us, s.omega_khz, s.mu_mhz, s.phase_rad] for s in answer.segments]
    theirs = [[s.duration_us, s.omega_khz, s.mu_mhz, s.phase_rad] for s in request.segments]
    if len(mine) != len(theirs) or not math.isclose(request.virtual_z_rad, answer.virtual_z_rad, rel_tol=SAME, abs_tol=SAME):
        return False
    return bool(np.allclose(mine, theirs, rtol=SAME, atol=SAME))


def _shots(points: list[Tally], parity: bool) -> float:
    return sum(t.shots for t in points if (t.phase is not None) == parity)


def correction(references: list[NDArray[np.uint8]]) -> Floats | None:
    """Inverse of the assignment matrix of the pair `(4, 4)`, from reference bits `(shots, ions)` of |0> and of |1>."""
    rates = np.array([bits[:, [i - 1 for i in PAIR]].mean(axis=0) for bits in references])
    if np.any(rates[1] - rates[0] < 0.5):
        return None
    single = [np.array([[1 - r0, 1 - r1], [r0, r1]]) for r0, r1 in rates.T]
    out: Floats = np.linalg.inv(np.kron(*single))
    return out


def bell_fidelity(points: list[Tally], inverse: Floats) -> tuple[float, float]:
    """(P00 + P11 + contrast of the parity) / 2 and its standard error (Sackett et al. 2000); shot noise only, as the claim.

    The parity C cos(2 phi - u) is fitted by least squares; every point has its own shots and weight.
    """
    even = np.array([1.0, 0.0, 0.0, 1.0]) @ inverse
    sign = np.array([1.0, -1.0, -1.0, 1.0]) @ inverse
    total = np.sum([t.counts for t in points if t.phase is None], axis=0)
    population, spread = _mean(total, even)
    parity = [t for t in points if t.phase is not None]
    twice = 2.0 * np.array([t.phase for t in parity], dtype=float)
    weight = np.sqrt([t.shots for t in parity])
    columns = np.stack((np.cos(twice), np.sin(twice)), axis=1) * weight[:, None]
    values, errors = np.array([_mean(t.counts, sign) for t in parity]).T
    solve = np.linalg.pinv(columns)
    vector = solve @ (values * weight)
    contrast = float(np.hypot(*vector))
    slope = vector / max(contrast, 1e-9) @ solve * weight
    sigma = 0.5 * math.hypot(spread, float(np.sqrt(np.sum((slope * errors) ** 2))))
    return min(1.0, 0.5 * (population + contrast)), sigma


def _mean(counts: Floats, values: Floats) -> tuple[float, float]:
    """Mean of `values` `(4,)` over shots, and its standard error, never below that of one odd shot."""
    shots = counts.sum()
    mean = float(counts @ values / shots)
    variance = max(float(counts @ values**2 / shots) - mean**2, 1.0 / shots)
    return mean, math.sqrt(variance / shots)


GRADER = MolmerSorensenCalibration()
