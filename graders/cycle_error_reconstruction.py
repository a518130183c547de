"""Grader of `cycle_error_reconstruction`: Pauli error rates from decays that are recomputed from raw bits, compared with the truth."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.cycle_error_recon.physics import (
    N_QUBITS,
    N_SETS,
    WALSH,
    class_of,
    classes,
    label,
    on,
    orbit_decay,
    orbit_infidelity,
    orbit_matrix,
)

MIN_BASES = 20
MIN_DEPTHS = 3
MIN_LARGEST_DEPTH = 24
MIN_POINT_SHOTS = 1000
RESOLUTION = 0.0005
"""Largest recomputed standard error of a class of the answer, per cycle: bases that do not tell classes apart would let a guess pass."""
BIND_SIGMAS = 5.0
BIND_LONG_RANGE = 0.15
"""Relative difference that a long-range rate may have from the recomputed one."""
LONG_RANGE_TOLERANCE = 0.25
SUM_TOLERANCE = 0.12
INFIDELITY_TOLERANCE = 0.12
PREDICTION_TOLERANCE = 0.12
N_PREDICTIONS = 20
MAX_CLASSES = 93
_SMALLEST_SIGNAL = 0.05
"""Parities below this are left out of the logarithmic fit: their logarithm is biased."""

Pauli = Annotated[str, Field(pattern="^[IXYZ]{5}$", min_length=N_QUBITS, max_length=N_QUBITS)]


class ClassRate(AnswerModel):
    """The rate of one class {k, C(k)}."""

    pauli: Pauli = Field(description="a member of the class, letter q for qubit q")
    symmetrised_rate: float = Field(ge=0, le=0.5, description="sum of the rates of its one or two members, per cycle")


class LongRange(AnswerModel):
    """One error on two qubits that are not neighbours."""

    pauli: Pauli = Field(description="a member of its class, letter q for qubit q")
    rate: float = Field(ge=0, le=0.5, description="rate of the class, per cycle")


class Answer(AnswerModel):
    """The rates of the cycle, what they predict, and the jobs they rest on."""

    rates: tuple[ClassRate, ...] = Field(min_length=1, max_length=MAX_CLASSES, description="classes, each once; those left out count as 0")
    long_range: tuple[LongRange, LongRange] = Field(description="the two long-range errors, in any order")
    cycle_infidelity: float = Field(ge=0, le=1, description="1 - mean over all 1024 Paulis P of sqrt(f_P f_C(P))")
    predicted: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        min_length=N_PREDICTIONS, max_length=N_PREDICTIONS, description="-ln(f_P f_C(P)) / 2 per cycle of the revealed Paulis, in order"
    )
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=80, description="jobs the values rest on")


@dataclass(frozen=True)
class Point:
    """One basis at one depth: mean parity of all 32 subsets, their covariance, and the shots behind them."""

    parity: np.ndarray
    covariance: np.ndarray
    shots: int


class CycleErrorReconstruction(Grader):
    """See `docs/tasks/cycle_error_reconstruction.md`."""

    task: ClassVar[str] = "cycle_error_reconstruction"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("both long-range errors are named",)
    trap_meets = ("largest recomputed sigma of the classes of the answer",)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """What was spent; the estimate uses the cited jobs and is made in :meth:`bind`."""
        return {"shots_used": int(sum(float(j.request.cost().amounts["shots"]) for j in session.jobs))}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        sequences = [j for j in cited if is_evidence(j)]
        jobs = tuple(j.job_id for j in sequences)
        points = points_of(sequences)
        bases = usable(points)
        q["bases"] = len(bases)
        name = f"bases with >= {MIN_DEPTHS} even depths up to >= {MIN_LARGEST_DEPTH}, >= {MIN_POINT_SHOTS} shots each"
        own = [class_of(r.pauli) for r in answer.rates]
        known = {c: k for k, c in enumerate(classes())}
        checks = [
            self.jobs_exist(answer.job_ids, session),
            holds("predictions after lock_and_reveal", Stage.BIND, session.revealed, category=Category.ORDER),
            above(name, Stage.BIND, len(bases), MIN_BASES, jobs=jobs, category=Category.MISSING_EVIDENCE),
            holds("each class of the rates once, with a Pauli on one or two qubits", Stage.BIND,
                  len(set(own)) == len(own) and set(own) <= known.keys(), category=Category.SCHEMA),
        ]  # fmt: skip
        if not all(c.passed for c in checks):
            return [*checks, holds("the rates can be recomputed", Stage.BIND, False, category=Category.MISSING_EVIDENCE)]
        rates, sigma = estimate({b: points[b] for b in bases})
        reported = np.zeros(len(known))
        for entry, c in zip(answer.rates, own, strict=True):
            reported[known[c]] = entry.symmetrised_rate
        q.update(rates={c[0]: float(r) for c, r in zip(known, rates, strict=True)}, largest_sigma=float(sigma.max()))
        q["_factor"] = modulation(session, sequences)
        more = {"jobs": jobs, "category": Category.UNSUPPORTED}
        claimed = [known[c] for c in {*own, *(class_of(x.pauli) for x in answer.long_range)} if c in known]
        checks += [
            below("largest recomputed sigma of the classes of the answer", Stage.BIND, float(sigma[claimed].max()), RESOLUTION, jobs=jobs,
                  category=Category.MISSING_EVIDENCE),
            below("largest |reported - recomputed rate| / recomputed sigma", Stage.BIND, float(np.max(np.abs(reported - rates) / sigma)),
                  BIND_SIGMAS, **more),
        ]  # fmt: skip
        for k, claim in enumerate(answer.long_range):
            at = known.get(class_of(claim.pauli))
            off = np.inf if at is None or rates[at] <= 0 else abs(claim.rate / rates[at] - 1.0)
            checks.append(below(f"|rate / recomputed - 1| of long-range error {k}", Stage.BIND, off, BIND_LONG_RANGE, **more))
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        if "_factor" not in q:
            return Score([holds("the rates rest on enough data to be scored", Stage.SCORE, False)])
        hidden = session.device.hidden
        rates = hidden.class_rates(q["_factor"])
        true = dict(zip(classes(), rates, strict=True))
        far = {class_of(g.pauli) for g in hidden.long_range}
        named = {class_of(c.pauli) for c in answer.long_range}
        checks = [holds("both long-range errors are named", Stage.SCORE, named == far)]
        for k, claim in enumerate(answer.long_range):
            at = class_of(claim.pauli)
            off = abs(claim.rate / true[at] - 1.0) if at in far else np.inf
            checks.append(below(f"|rate / truth - 1| of long-range error {k}", Stage.SCORE, off, LONG_RANGE_TOLERANCE))
        total = sum(r.symmetrised_rate for r in answer.rates)
        infidelity = orbit_infidelity(rates)
        decay = orbit_decay((session.challenge or {})["paulis"], rates)
        off = float(np.median(np.abs(np.array(answer.predicted) / decay - 1.0)))
        checks += [
            below("|sum of the rates / truth - 1|", Stage.SCORE, abs(total / rates.sum() - 1.0), SUM_TOLERANCE),
            below("|cycle infidelity / truth - 1|", Stage.SCORE, abs(answer.cycle_infidelity / infidelity - 1.0), INFIDELITY_TOLERANCE),
            below("median |predicted decay / truth - 1|", Stage.SCORE, off, PREDICTION_TOLERANCE),
        ]
        return Score(checks, quantities={"true_sum": float(rates.sum()), "true_infidelity": infidelity})


def is_evidence(job: Job) -> bool:
    """A sequence with both gates, measured along the axes of its preparation."""
    r = job.request
    return job.tool == "run_cycle_sequence" and r.active_edges == "both" and r.prep_axes == r.meas_axes


def points_of(jobs: list[Job]) -> dict[str, dict[int, Point]]:
    """All even depths of the jobs, by basis string and depth; jobs of equal basis are pooled."""
    means: dict[tuple[str, int], list[np.ndarray]] = defaultdict(list)
    shots: dict[tuple[str, int], list[int]] = defaultdict(list)
    for job in jobs:
        outcome = (job.arrays()["bits"].astype(np.int64) << np.arange(N_QUBITS)).sum(axis=-1)
        for depth, block in zip(job.request.depths, outcome, strict=True):
            if depth % 2 == 0:
                means[job.request.prep_axes, depth] += [WALSH @ np.bincount(twirl, minlength=N_SETS) / len(twirl) for twirl in block]
                shots[job.request.prep_axes, depth] += [block.shape[1]] * len(block)
    out: dict[str, dict[int, Point]] = defaultdict(dict)
    sets = np.arange(N_SETS)
    for (basis, depth), rows in means.items():
        n, values = np.array(shots[basis, depth], dtype=float), np.array(rows)
        mean = n @ values / n.sum()
        # parities of two subsets multiply to that of their symmetric difference; random frames turn asymmetric readout into scatter between
        # the twirls, beyond that of the shots
        covariance = (mean[sets[:, None] ^ sets] - np.outer(mean, mean)) / n.sum()
        excess = 1.0
        if len(n) > 1:
            chi2 = (n[:, None] * (values - mean) ** 2).sum(axis=0)[1:] / (len(n) - 1)
            excess = max(1.0, float(chi2.sum() / (n.sum() * np.diag(covariance)[1:].sum() + 1e-12)))
        out[basis][depth] = Point(mean, covariance * excess, int(n.sum()))
    return out


def usable(points: dict[str, dict[int, Point]]) -> list[str]:
    """Bases that hold what the instruction asks of one."""
    found = []
    for basis, depths in points.items():
        good = [d for d, p in depths.items() if p.shots >= MIN_POINT_SHOTS]
        if len(good) >= MIN_DEPTHS and max(good) >= MIN_LARGEST_DEPTH:
            found.append(basis)
    return sorted(found)


def estimate(points: dict[str, dict[int, Point]]) -> tuple[np.ndarray, np.ndarray]:
    """Rates of all classes and their standard errors, `(93,)` each; not bounded to positive values.

    A log-linear fit `ln E = a - depth Gamma` of each parity of each basis, then weighted least squares of the decays on the classes.
    Weights are diagonal; the standard errors carry the full covariance of the parities of a basis. A class that no decay tells from the
    others has an infinite standard error.
    """
    design, decay, weight, blocks = [], [], [], []
    for basis, depths in points.items():
        m = np.array(sorted(depths), dtype=float)
        e = np.array([depths[int(d)].parity[1:] for d in m])  # (depths, 31)
        cov = np.array([depths[int(d)].covariance[1:, 1:] for d in m])
        variance = np.diagonal(cov, axis1=1, axis2=2) + 1e-9
        w = np.where(e > _SMALLEST_SIGNAL, e**2 / variance, 0.0)
        sw, sm, smm = w.sum(axis=0), (w * m[:, None]).sum(axis=0), (w * m[:, None] ** 2).sum(axis=0)
        det = sw * smm - sm**2
        good = ((w > 0).sum(axis=0) >= 2) & (det > 0)
        slope = np.where(good, -w * (sw * m[:, None] - sm) / np.where(good, det, 1.0), 0.0)  # decay is linear in ln E
        logs = np.log(np.where(w > 0, e, 1.0))
        gain = slope / np.where(w > 0, e, 1.0)
        full = np.einsum("ds,dst,dt->st", gain, cov, gain)
        design.append(orbit_matrix([label(*p) for p in zip(*on(basis, np.arange(1, N_SETS)), strict=True)])[good])
        decay.append((slope * logs).sum(axis=0)[good])
        weight.append(1.0 / np.diag(full)[good])
        blocks.append(full[np.ix_(good, good)])
    a, y, w = np.concatenate(design), np.concatenate(decay), np.concatenate(weight)
    values, vectors = np.linalg.eigh(a.T * w @ a)
    seen = values > 1e-9 * values[-1]
    inverse = (vectors[:, seen] / values[seen]) @ vectors[:, seen].T
    solve = inverse @ (a.T * w)
    variance, at = np.zeros(a.shape[1]), 0
    for block in blocks:
        part = solve[:, at : at + len(block)]
        variance += np.einsum("ij,jk,ik->i", part, block, part)
        at += len(block)
    blind = (vectors[:, ~seen] ** 2).sum(axis=1) > 1e-6
    return solve @ y, np.where(blind, np.inf, np.sqrt(variance))


def modulation(session: GradedSession, jobs: list[Job]) -> float:
    """Mean factor of the modulated rate over the lab time of the jobs."""
    spans = np.array([(j.lab_start_s, j.lab_end_s) for j in jobs])
    means = [session.device.hidden.modulation.mean(a, b) for a, b in spans]
    return float(np.average(means, weights=spans[:, 1] - spans[:, 0]))


GRADER = CycleErrorReconstruction()
