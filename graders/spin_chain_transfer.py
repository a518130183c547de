"""Grader of `spin_chain_transfer`: fidelity recomputed, model compared with raw data, controls played on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.spin_chain_control.device import MAX_CONTROL, MAX_SLICES, Hidden, Spec
from qtypes.spin_chain_control.physics import TWO_PI, Chain, Floats, evolve, ones, outcomes, prepared, transfer_fidelities

CONTROL = "run_control"
READOUT = "run_readout_cal"
INPUTS = {"000": ("Z", 0), "100": ("Z", 1), "+00": ("X", 0), "r00": ("Y", 0)}
"""Initial states of the evidence with the axis and bit that spin 2 should give."""
WEIGHTS = np.array([1.0, 1.0, 2.0, 2.0]) / 6.0
SAME_CONTROL = 1e-6
REFERENCE_SHOTS = 400
INPUT_SHOTS = 600
BIND_FIDELITY = 0.01
SIGMA_RANGE = (0.001, 0.02)
CALIBRATION_SHOTS = 8000
CALIBRATION_POINTS = 80
CALIBRATION_WAVEFORMS = 4
CHI2 = 1.5
J_TOLERANCE_MHZ = 0.035
DETUNING_TOLERANCE_MHZ = 0.06
FIDELITY = 0.985
TRUE_FIDELITY = 0.025
NOISE_DRAWS = 200

Control = Annotated[float, Field(ge=-MAX_CONTROL, le=MAX_CONTROL)]
Line = Annotated[tuple[Control, ...], Field(min_length=1, max_length=MAX_SLICES)]
Ids = Annotated[tuple[JobId, ...], Field(min_length=1, max_length=60)]
Megahertz = Annotated[float, Field(ge=-5, le=5)]
Number = Annotated[float, Field(ge=-2, le=2)]
Row = tuple[Number, Number, Number]


class Answer(AnswerModel):
    """Controls, the phase that they leave, the fidelity that was seen, and the model of the chain."""

    controls_rad_per_us: tuple[Line, Line, Line] = Field(description="programmed controls, a list per line, one number per slice, rad/us")
    phase_rad: float = Field(ge=-100, le=100, description="phase of |1> of spin 2 after the transfer, rad")
    fidelity: float = Field(ge=0, le=1.1, description="mean transfer fidelity seen, corrected for readout; noise may take it past 1")
    sigma: float = Field(gt=0, le=1, description="standard uncertainty of the fidelity")
    j_mhz: tuple[Megahertz, Megahertz] = Field(description="J/2pi of the bonds 0-1 and 1-2, MHz")
    detuning_mhz: tuple[Megahertz, Megahertz, Megahertz] = Field(description="d/2pi of the spins, MHz")
    response: tuple[Row, Row, Row] = Field(description="C, row i: response of spin i to lines 0, 1, 2; gains on the diagonal")
    tau_ns: float = Field(ge=1, le=1000, description="time constant of the lines, ns")
    readout_job_ids: Ids = Field(description="readout references")
    calibration_job_ids: Ids = Field(description="jobs that the model has to reproduce")
    verification_job_ids: Ids = Field(description="jobs that played exactly these controls")


class SpinChainTransfer(Grader):
    """See `docs/tasks/spin_chain_transfer.md`."""

    task: ClassVar[str] = "spin_chain_transfer"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("replayed mean fidelity", "largest |J - true J|")
    trap_meets = ("|reported - recomputed| fidelity",)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which verification counts depends on the submitted controls."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        references = _cited(session, answer.readout_job_ids, READOUT)
        calibration = _cited(session, answer.calibration_job_ids, CONTROL)
        verification = _cited(session, answer.verification_job_ids, CONTROL)
        seen = _verification(verification, answer)
        points, shots, waveforms = _extent(calibration)
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE}
        every = (*answer.readout_job_ids, *answer.calibration_job_ids, *answer.verification_job_ids)
        known = min(len(references), len(calibration), len(verification)) > 0
        checks = [
            self.jobs_exist(every, session, {CONTROL, READOUT}),
            holds("each list of jobs has one of its kind", Stage.BIND, known, **missing),
            above("readout shots of either state", Stage.BIND, float(sum(j.request.shots for j in references)), REFERENCE_SHOTS, **missing),
            above("verification shots of the input with the fewest", Stage.BIND, float(seen.sum(axis=1).min()), INPUT_SHOTS, **missing),
            above("calibration shots", Stage.BIND, float(shots), CALIBRATION_SHOTS, **missing),
            above("calibration points", Stage.BIND, float(points), CALIBRATION_POINTS, **missing),
            above("calibration waveforms", Stage.BIND, float(waveforms), CALIBRATION_WAVEFORMS, **missing),
            above("smallest reported sigma", Stage.BIND, answer.sigma, SIGMA_RANGE[0], category=Category.UNSUPPORTED),
            below("largest reported sigma", Stage.BIND, answer.sigma, SIGMA_RANGE[1], category=Category.UNSUPPORTED),
        ]
        if not all(c.passed for c in checks[:4]):
            return checks
        errors = readout_errors(references)
        found = fidelity(seen, errors[2])
        q["fidelity"] = found
        off = abs(answer.fidelity - found)
        ids = tuple(j.job_id for j in verification)
        checks.append(below("|reported - recomputed| fidelity", Stage.BIND, off, BIND_FIDELITY, category=Category.UNSUPPORTED, jobs=ids))
        if all(c.passed for c in checks[4:7]):
            q["chi2_per_point"] = chi2 = chi_square(answer, calibration, errors, session.device.spec)
            ids = tuple(j.job_id for j in calibration)
            checks.append(below("chi^2 per calibration datum", Stage.BIND, chi2, CHI2, category=Category.UNSUPPORTED, jobs=ids))
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        reached = replay(hidden, answer, rng)
        mean = float(reached.mean())
        j_off = float(np.abs(np.array(answer.j_mhz) - hidden.j_mhz).max())
        d_off = float(np.abs(np.array(answer.detuning_mhz) - hidden.detuning_mhz).max())
        checks = [
            above("replayed mean fidelity", Stage.SCORE, mean, FIDELITY, stderr=float(reached.mean(axis=1).std() / NOISE_DRAWS**0.5)),
            below("|reported - replayed| fidelity", Stage.SCORE, abs(answer.fidelity - mean), TRUE_FIDELITY),
            below("largest |J - true J|", Stage.SCORE, j_off, J_TOLERANCE_MHZ, unit="MHz"),
            below("largest |d - true d|", Stage.SCORE, d_off, DETUNING_TOLERANCE_MHZ, unit="MHz"),
        ]
        return Score(checks, quantities={"replayed": reached.mean(axis=0).tolist()})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The fidelity moved up by twice the tolerance, or down where that leads past one."""
        move = 2 * BIND_FIDELITY
        return {**answer, "fidelity": answer["fidelity"] + (move if answer["fidelity"] + move <= 1 else -move)}


def _cited(session: GradedSession, ids: tuple[str, ...], tool: str) -> list[Job]:
    return [j for j in session.jobs if j.job_id in set(ids) and j.tool == tool]


def _extent(jobs: list[Job]) -> tuple[int, int, int]:
    """Points, shots and different waveforms of calibration jobs; what is read right after the preparation says nothing of the chain."""
    points, shots, waveforms = 0, 0, set()
    for job in jobs:
        request: Any = job.request
        used = len(request.prepare) * len(request.bases) * sum(r > 0 for r in request.reads)
        points, shots = points + used, shots + used * request.shots
        if used:
            waveforms.add(request.controls_rad_per_us)
    return points, shots, len(waveforms)


def _verification(jobs: list[Job], answer: Answer) -> Floats:
    """Counts `(4, 2)` of the two bits of spin 2 at the end of the submitted controls, by input of `INPUTS`."""
    total = np.zeros((len(INPUTS), 2))
    wanted = np.array(answer.controls_rad_per_us) if len({len(u) for u in answer.controls_rad_per_us}) == 1 else np.empty((3, 0))
    for job in jobs:
        request: Any = job.request
        played = np.array(request.controls_rad_per_us)
        if played.shape != wanted.shape or np.abs(played - wanted).max() > SAME_CONTROL:
            continue
        bits = job.arrays()["bits"]
        for k, (state, (axis, _)) in enumerate(INPUTS.items()):
            for p in (i for i, s in enumerate(request.prepare) if s == state):
                for b in (i for i, s in enumerate(request.bases) if s[2] == axis):
                    if axis == "Z" or abs(request.frame_rad - answer.phase_rad) <= SAME_CONTROL:
                        ends = [t for t, r in enumerate(request.reads) if r == wanted.shape[1]]
                        total[k] += np.bincount(bits[p, b, ends, :, 2].ravel(), minlength=2)
    return total


def readout_errors(references: list[Job]) -> Floats:
    """p(1|0) and p(0|1) of each spin `(3, 2)` from readout references."""
    bits = np.concatenate([j.arrays()["bits"] for j in references], axis=1)
    one = bits.mean(axis=1)
    return np.asarray(np.stack([one[0], 1.0 - one[1]], axis=1))


def fidelity(seen: Floats, errors: Floats) -> float:
    """Mean fidelity over the six cardinal inputs of counts `(4, 2)`, corrected for the readout errors `(2,)` of spin 2."""
    one = (seen[:, 1] / seen.sum(axis=1) - errors[0]) / max(1.0 - errors.sum(), 0.1)
    wanted = np.array([bit for _, bit in INPUTS.values()])
    return float(WEIGHTS @ np.where(wanted == 1, one, 1.0 - one))


def chi_square(answer: Answer, jobs: list[Job], errors: Floats, spec: Spec) -> float:
    """Chi^2 per datum, a datum being the fraction of ones of a spin at a point, of the submitted model without noise, T2 in mid range."""
    total, data = 0.0, 0
    chain = Chain(
        exchange=TWO_PI * np.array(answer.j_mhz), detuning=TWO_PI * np.array([answer.detuning_mhz]), response=np.array(answer.response),
        tau_us=1e-3 * answer.tau_ns, t2_us=np.full(3, float(np.mean(spec.t2_range_us))),
    )  # fmt: skip
    for job in jobs:
        request: Any = job.request
        states = evolve(chain, np.array(request.controls_rad_per_us), prepared(request.prepare), request.reads)[:, 0]
        later = np.array(request.reads) > 0
        for b, basis in enumerate(request.bases):
            p = ones(outcomes(states, basis, request.frame_rad)).swapaxes(0, 1)
            expected = errors[:, 0] + p * (1.0 - errors.sum(axis=1))
            observed = job.arrays()["bits"][:, b].mean(axis=2)
            variance = np.maximum(expected * (1.0 - expected), 1e-3) / request.shots
            total += float((((observed - expected) ** 2 / variance)[:, later]).sum())
            data += int(later.sum()) * p.shape[0] * 3
    return total / data


def replay(hidden: Hidden, answer: Answer, rng: np.random.Generator) -> Floats:
    """Fidelities `(draws, 6)` of the submitted controls and phase on fresh draws of the noise, inputs as in `physics.CARDINAL`."""
    if len({len(u) for u in answer.controls_rad_per_us}) != 1:
        return np.zeros((NOISE_DRAWS, 6))
    return transfer_fidelities(hidden.chain(rng, NOISE_DRAWS), np.array(answer.controls_rad_per_us), answer.phase_rad)


GRADER = SpinChainTransfer()
