"""Grader of `renyi_entropy_randomized`: purities recomputed from raw bits, compared with the claim and with the states of the source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.trapped_ion_state_copy_randomized_measurement.device import IONS, MAX_BATCHES, SUBSYSTEMS, Hidden
from qtypes.trapped_ion_state_copy_randomized_measurement.estimators import counts_of, kernel, pair_purities, readout_inverses
from qtypes.trapped_ion_state_copy_randomized_measurement.physics import Floats, measured_axes, purity

ROTATIONS = 300
SAME_AXIS = 1e-3
"""Step to which components of measurement axes are rounded before settings are told apart."""
CAL_COPIES = 2000
BIND_SIGMAS = 3
SIGMA_FACTOR = 2
TOLERANCE_BITS = (0.03, 0.10, 0.15, 0.15)
CLAIM_SIGMAS = 3
READ_APART = 0.5
"""Least difference of the fractions of bright in the two states by which a calibration tells them apart."""
RM, CAL = "run_rm_batch", "run_readout_cal"
LABELS = tuple("ion 1" if m == 1 else f"ions 1-{m}" for m in SUBSYSTEMS)

Four = Field(min_length=4, max_length=4)


class Rejected(AnswerModel):
    """A batch that was left out."""

    job_id: JobId = Field(description="the job")
    batch: int = Field(ge=0, lt=MAX_BATCHES, description="its place in the job, from 0")


class Answer(AnswerModel):
    """Entropies, and what they rest on."""

    s2_bits: Annotated[tuple[Annotated[float, Field(ge=-2, le=8)], ...], Four] = Field(description="of ion 1, ions 1-2, 1-3, 1-6, bits")
    sigma: Annotated[tuple[Annotated[float, Field(gt=0, le=2)], ...], Four] = Field(description="their standard errors, bits")
    rejected: tuple[Rejected, ...] = Field(max_length=4000, description="batches of the cited jobs in which an ion was dark")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=400, description="randomized measurements and readout calibrations")


@dataclass(frozen=True)
class Batches:
    """Batches of cited jobs with all ions bright. `counts[m]` `(n, 2^m)` of ions 1 to m, `copies` `(n,)`, `times_s` `(n,)`."""

    counts: dict[int, Floats]
    copies: Floats
    times_s: Floats
    settings: int
    """Different settings of the measurement axes."""
    dark: frozenset[tuple[str, int]]
    """The other batches: job and place."""

    def mean(self, values: Floats) -> tuple[float, float]:
        """Mean of `values` `(n,)` over all copies, and its standard error from their scatter."""
        w = self.copies / self.copies.sum()
        mean = float(w @ values)
        spread = float(np.sum(w**2 * (values - mean) ** 2)) * len(w) / max(len(w) - 1, 1)
        return mean, math.sqrt(spread)


class RenyiEntropyRandomized(Grader):
    """See `docs/tasks/renyi_entropy_randomized.md`."""

    task: ClassVar[str] = "renyi_entropy_randomized"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = (f"|claimed - recomputed| S2 of {LABELS[3]}", f"error of S2 of {LABELS[3]}")
    trap_meets = ("rejected batches are those with a dark ion", f"claimed over recomputed sigma of {LABELS[0]}, or the inverse")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: which batches count depends on the cited jobs."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        found = batches([j for j in cited if j.tool == RM])
        copies, bright = calibration([j for j in cited if j.tool == CAL])
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in cited)}
        unsupported: dict[str, Any] = missing | {"category": Category.UNSUPPORTED}
        named = {(r.job_id, r.batch) for r in answer.rejected}
        checks = [
            self.jobs_exist(answer.job_ids, session, {RM, CAL}),
            above("settings with all ions bright", Stage.BIND, found.settings, ROTATIONS, **missing),
            above("calibration copies of each state of each ion", Stage.BIND, float(copies.min()), CAL_COPIES, **missing),
            holds("rejected batches are those with a dark ion", Stage.BIND, named == found.dark, **unsupported),
        ]
        if not all(c.passed for c in checks[1:3]):
            return checks
        rates = bright / copies
        if np.any(rates[1] - rates[0] < READ_APART):
            return [*checks, holds("the calibration tells dark from bright", Stage.BIND, False, **missing)]
        q["_batches"] = found
        inverses = readout_inverses(rates[0], 1.0 - rates[1])
        for k, (m, label) in enumerate(zip(SUBSYSTEMS, LABELS, strict=True)):
            s2, sigma = entropy(*found.mean(pair_purities(found.counts[m], kernel(m, inverses))))
            q[f"recomputed_s2_{m}"], q[f"recomputed_sigma_{m}"] = s2, sigma
            off = abs(answer.s2_bits[k] - s2) / sigma
            ratio = math.exp(abs(math.log(answer.sigma[k] / sigma)))
            checks += [
                below(f"|claimed - recomputed| S2 of {label}", Stage.BIND, off, BIND_SIGMAS, unit="sigma", **unsupported),
                below(f"claimed over recomputed sigma of {label}, or the inverse", Stage.BIND, ratio, SIGMA_FACTOR, **unsupported),
            ]
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        found: Batches | None = q.get("_batches")
        if found is None:
            return Score([holds("entropies rest on enough batches", Stage.SCORE, False, category=Category.MISSING_EVIDENCE)])
        truth = true_entropies(session.device.hidden, found)
        checks = []
        for k, (label, tolerance) in enumerate(zip(LABELS, TOLERANCE_BITS, strict=True)):
            error = abs(answer.s2_bits[k] - truth[k])
            checks += [
                below(f"error of S2 of {label}", Stage.SCORE, error, tolerance, unit="bit"),
                below(f"error over claimed sigma of {label}", Stage.SCORE, error / answer.sigma[k], CLAIM_SIGMAS, unit="sigma"),
            ]
        return Score(checks, quantities={f"true_s2_{m}": s for m, s in zip(SUBSYSTEMS, truth, strict=True)})


def entropy(mean: float, sigma: float) -> tuple[float, float]:
    """S2 = -log2 of a mean purity in bits, and its standard error; not finite where the mean is not positive."""
    if mean <= 0.0 or sigma <= 0.0:
        return math.nan, math.nan
    return -math.log2(mean), sigma / (mean * math.log(2.0))


def true_entropies(hidden: Hidden, found: Batches) -> list[float]:
    """-log2 of the purity averaged over the copies of the batches, in bits, for each of `SUBSYSTEMS`."""
    w = found.copies / found.copies.sum()
    sums = np.zeros(len(SUBSYSTEMS))
    for rows in np.array_split(np.arange(len(w)), len(w) // MAX_BATCHES + 1):
        rho = hidden.states(found.times_s[rows])
        sums += [w[rows] @ purity(rho, m) for m in SUBSYSTEMS]
    return [-math.log2(x) for x in sums]


def batches(jobs: list[Job]) -> Batches:
    """Those of randomized measurements with all six ions bright and at least two copies."""
    counts: dict[int, list[Floats]] = {m: [np.empty((0, 2**m))] for m in SUBSYSTEMS}
    copies, times, axes = [np.empty(0)], [np.empty(0)], [np.empty((0, 3 * IONS))]
    dark: set[tuple[str, int]] = set()
    for job in jobs:
        request: Any = job.request
        arrays = job.arrays()
        whole = arrays["ion_count"] == IONS
        dark |= {(job.job_id, int(k)) for k in np.flatnonzero(~whole)}
        if request.n_copies < 2 or not whole.any():
            continue
        for m in SUBSYSTEMS:
            counts[m].append(counts_of(arrays["bits"][whole], m))
        copies.append(np.full(whole.sum(), float(request.n_copies)))
        times.append(request.starts_s(job.lab_start_s)[whole])
        axes.append(measured_axes(request.euler_rad).reshape(len(whole), -1)[whole])
    rounded = np.round(np.concatenate(axes) / SAME_AXIS).astype(np.int64)
    joined = {m: np.concatenate(c) for m, c in counts.items()}
    return Batches(joined, np.concatenate(copies), np.concatenate(times), len(np.unique(rounded, axis=0)), frozenset(dark))


def calibration(jobs: list[Job]) -> tuple[Floats, NDArray[np.int64]]:
    """Copies, and how many of them were read as bright, of each prepared state and ion `(2, 6)`; batches with a dark ion are left out."""
    copies, bright = np.zeros((2, IONS)), np.zeros((2, IONS), dtype=np.int64)
    for job in jobs:
        request: Any = job.request
        arrays = job.arrays()
        for state, count, bits in zip(request.states, arrays["ion_count"], arrays["bits"], strict=True):
            if count != IONS:
                continue
            rows = np.array([int(c) for c in state])
            copies[rows, np.arange(IONS)] += len(bits)
            bright[rows, np.arange(IONS)] += bits.sum(axis=0, dtype=np.int64)
    return copies, bright


GRADER = RenyiEntropyRandomized()
