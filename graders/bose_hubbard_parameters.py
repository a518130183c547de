"""Grader of `bose_hubbard_parameters`: couplings, interactions, site energies and the switch-on delay of a chain of six transmons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.bose_hubbard_chain.physics import DIM, FOCK, N_LEVELS, N_SITES, SECTORS, Chain, lowering, prepared, probability_slopes

LEVEL_SHOTS = 600
DOUBLE_SHOTS = 600
LONGEST_NS = 20.0
QUADRATURE_SHOTS = 1200
QUADRATURE_SETTINGS = 8
LO_SPREAD_DEG = 45.0
GAIN_SIGMAS = 3.0
QUADRATURE_CHI2 = 3.0
OCCUPATION_CHI2 = 1.3
J_RESOLUTION = 0.015
U_RESOLUTION = 0.02
MU_RESOLUTION_MHZ = 2.0
DELAY_RESOLUTION_NS = 0.08
BIND_SIGMAS = 5.0
SIGMA_RATIO = (0.5, 3.0)
J_TOLERANCE = 0.03
U_TOLERANCE = 0.04
MU_TOLERANCE_MHZ = 4.0
DELAY_TOLERANCE_NS = 0.2
SMALLEST_EXPECTED = 5.0
"""Levels that fewer shots are expected in are counted with the level below."""

J, U, MU, DELAY = slice(0, 5), slice(5, 11), slice(11, 16), slice(16, 17)
N_PAR = 17
_FLOOR = 0.3
"""Added to each count of the calibration: no reading is impossible."""

Coupling = Annotated[float, Field(gt=0, le=500)]
Interaction = Annotated[float, Field(ge=-1000, lt=0)]
Energy = Annotated[float, Field(ge=-500, le=500)]
Sigma = Annotated[float, Field(gt=0, le=500)]
BONDS = {"min_length": N_SITES - 1, "max_length": N_SITES - 1}
SITES = {"min_length": N_SITES, "max_length": N_SITES}


class Answer(AnswerModel):
    """The Hamiltonian, its standard errors, and the jobs it rests on."""

    j_mhz: tuple[Coupling, ...] = Field(**BONDS, description="J_i/h of bonds (i, i + 1), MHz")
    u_mhz: tuple[Interaction, ...] = Field(**SITES, description="U_i/h of sites 0 to 5, MHz, negative")
    mu_mhz: tuple[Energy, ...] = Field(**BONDS, description="mu_i/h of sites 1 to 5 relative to site 0, MHz")
    delay_ns: float = Field(ge=0, le=10, description="switch-on delay, ns")
    j_sigma_mhz: tuple[Sigma, ...] = Field(**BONDS, description="standard errors, MHz")
    u_sigma_mhz: tuple[Sigma, ...] = Field(**SITES, description="standard errors, MHz")
    mu_sigma_mhz: tuple[Sigma, ...] = Field(**BONDS, description="standard errors, MHz")
    delay_sigma_ns: float = Field(gt=0, le=10, description="standard error, ns")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=150, description="jobs that the answer rests on")

    def parameters(self) -> np.ndarray:
        """`(17,)`: J, U, mu in MHz, delay in ns."""
        return np.array([*self.j_mhz, *self.u_mhz, *self.mu_mhz, self.delay_ns])

    def sigmas(self) -> np.ndarray:
        return np.array([*self.j_sigma_mhz, *self.u_sigma_mhz, *self.mu_sigma_mhz, self.delay_sigma_ns])


@dataclass(frozen=True)
class Quenches:
    """Cited settings of equal initial state: times `(k,)`, readings (one array `(shots, 6)` for each)."""

    initial: str
    times_ns: np.ndarray
    readings: list[np.ndarray]


class BoseHubbardParameters(Grader):
    """See `docs/tasks/bose_hubbard_parameters.md`."""

    task: ClassVar[str] = "bose_hubbard_parameters"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails: ClassVar[tuple[str, ...]] = ("largest |U / truth - 1|", "|delay - truth|", "smallest reported / recomputed sigma")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: all rests on the cited jobs and is made in :meth:`bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        counts, quenches = level_counts(jobs), quenches_of(jobs)
        waves = [j for j in jobs if j.tool == "run_quadrature" and "+" in j.request.initial]  # type: ignore[attr-defined]
        q["_middle_s"] = float(np.mean([(j.lab_start_s + j.lab_end_s) / 2 for j in jobs])) if jobs else 0.0
        checks = [self.jobs_exist(answer.job_ids, session), *_present(counts, quenches, waves)]
        if not all(c.passed for c in checks):
            return [*checks, holds("the parameters can be recomputed", Stage.BIND, False, category=Category.MISSING_EVIDENCE)]
        par, confusion = answer.parameters(), (counts + _FLOOR) / (counts + _FLOOR).sum(axis=1, keepdims=True)
        step, sigma = scoring_step(par, quenches, confusion)
        q.update(recomputed=(par + step).tolist() if np.isfinite(sigma).all() else None, sigma=[float(s) for s in np.minimum(sigma, 1e6)])
        ratio = answer.sigmas() / sigma
        chi2, dof = occupation_chi2(par, quenches, confusion)
        wave_chi2, gain = quadrature_fit(par, waves)
        q.update(occupation_chi2=chi2, occupation_dof=dof, quadrature_chi2=wave_chi2, gain_sigmas=gain)
        few, off = {"category": Category.MISSING_EVIDENCE}, {"category": Category.UNSUPPORTED}
        return [
            *checks,
            below("largest recomputed sigma of J / J", Stage.BIND, float((sigma[J] / par[J]).max()), J_RESOLUTION, **few),
            below("largest recomputed sigma of U / |U|", Stage.BIND, float((sigma[U] / -par[U]).max()), U_RESOLUTION, **few),
            below("largest recomputed sigma of mu", Stage.BIND, float(sigma[MU].max()), MU_RESOLUTION_MHZ, unit="MHz", **few),
            below("recomputed sigma of the delay", Stage.BIND, float(sigma[DELAY].max()), DELAY_RESOLUTION_NS, unit="ns", **few),
            below("chi2 per degree of freedom of the level counts", Stage.BIND, chi2 / max(dof, 1), OCCUPATION_CHI2, **off),
            below("largest step of a likelihood fit, in recomputed sigmas", Stage.BIND, float(abs(step / sigma).max()), BIND_SIGMAS, **off),
            above("smallest reported / recomputed sigma", Stage.BIND, float(ratio.min()), SIGMA_RATIO[0], **off),
            below("largest reported / recomputed sigma", Stage.BIND, float(ratio.max()), SIGMA_RATIO[1], **off),
            above("homodyne gain in its standard errors", Stage.BIND, gain, GAIN_SIGMAS, **off),
            below("chi2 per degree of freedom of the mean quadratures", Stage.BIND, wave_chi2, QUADRATURE_CHI2, **off),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        h, par = session.device.hidden, answer.parameters()
        j, u, mu = np.array(h.j_mhz), np.array(h.u_mhz), h.mu_at(q.get("_middle_s", 0.0))[1:]
        return Score([
            below("largest |J / truth - 1|", Stage.SCORE, float(np.abs(par[J] / j - 1).max()), J_TOLERANCE),
            below("largest |U / truth - 1|", Stage.SCORE, float(np.abs(par[U] / u - 1).max()), U_TOLERANCE),
            below("largest |mu - truth|", Stage.SCORE, float(np.abs(par[MU] - mu).max()), MU_TOLERANCE_MHZ, unit="MHz"),
            below("|delay - truth|", Stage.SCORE, abs(answer.delay_ns - h.delay_ns), DELAY_TOLERANCE_NS, unit="ns"),
        ])  # fmt: skip

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Each number moved by twice its tolerance, with the standard errors of the honest answer."""
        return answer | {
            "j_mhz": [v * (1 + 2 * J_TOLERANCE) for v in answer["j_mhz"]],
            "u_mhz": [v * (1 + 2 * U_TOLERANCE) for v in answer["u_mhz"]],
            "mu_mhz": [v + 2 * MU_TOLERANCE_MHZ for v in answer["mu_mhz"]],
            "delay_ns": answer["delay_ns"] + 2 * DELAY_TOLERANCE_NS,
        }


def level_counts(jobs: list[Job]) -> np.ndarray:
    """Readings of the cited references, `(6, read, true)`."""
    counts = np.zeros((N_SITES, N_LEVELS, N_LEVELS))
    for job in jobs:
        if job.tool == "run_level_reference":
            for pattern, shots in zip(job.request.patterns, job.arrays()["n"], strict=True):  # type: ignore[attr-defined]
                for site, level in enumerate(pattern):
                    counts[site, :, int(level)] += np.bincount(shots[:, site], minlength=N_LEVELS)
    return counts


def quenches_of(jobs: list[Job]) -> list[Quenches]:
    """Cited occupation settings that count: pulses of `LONGEST_NS` at most, by job."""
    found = []
    for job in jobs:
        if job.tool == "run_occupation":
            r: Any = job.request
            pairs = [(t, n) for t, n in zip(r.times_ns, job.arrays()["n"], strict=True) if t <= LONGEST_NS]
            if pairs:
                found.append(Quenches(r.initial, np.array([t for t, _ in pairs]), [n for _, n in pairs]))
    return found


def _present(counts: np.ndarray, quenches: list[Quenches], waves: list[Job]) -> list[Check]:
    """Checks of what must be cited."""
    double = [sum(len(n) for s in quenches if s.initial[i] in "23" for n in s.readings) for i in range(N_SITES)]
    phases = np.array([j.request.lo_phase_rad for j in waves])  # type: ignore[attr-defined]
    apart = np.abs((phases[:, None] - phases + np.pi / 2) % np.pi - np.pi / 2)
    settings = sum(len(j.request.times_ns) for j in waves)  # type: ignore[attr-defined]
    shots = sum(j.arrays()["v"].size for j in waves)
    few = {"category": Category.MISSING_EVIDENCE}
    return [
        above("reference shots of the level and site with the fewest", Stage.BIND, float(counts.sum(axis=1).min()), LEVEL_SHOTS, **few),
        above("shots of quenches that begin with two bosons on a site, fewest", Stage.BIND, min(double), DOUBLE_SHOTS, **few),
        above("settings of quadratures from a superposition", Stage.BIND, settings, QUADRATURE_SETTINGS, **few),
        above("shots of these quadratures", Stage.BIND, shots, QUADRATURE_SHOTS, **few),
        above("largest angle between their phases, modulo 180 deg", Stage.BIND, float(np.degrees(apart.max(initial=0.0))), LO_SPREAD_DEG,
              unit="deg", **few),
    ]  # fmt: skip


def _chain(par: np.ndarray) -> Chain:
    return Chain(par[J], par[U], np.concatenate([[0.0], par[MU]]))


def occupation_probabilities(par: np.ndarray, quenches: list[Quenches]) -> list[np.ndarray]:
    """`(k, 210)` for each set of quenches, without loss: it is below 1 % within `LONGEST_NS`."""
    chain = _chain(par)
    return [np.abs(chain.evolved(prepared(s.initial), np.maximum(s.times_ns - par[DELAY], 0.0))) ** 2 for s in quenches]


def occupation_slopes(par: np.ndarray, quenches: list[Quenches]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Probabilities `(k, 210)` for each set of quenches and their slopes `(17, k, 210)`."""
    start = np.concatenate([np.tile(prepared(s.initial), (len(s.times_ns), 1)) for s in quenches])
    pulse = np.concatenate([s.times_ns for s in quenches])
    p, slope = np.zeros(start.shape), np.zeros((N_PAR, *start.shape))
    mu, kept = np.concatenate([[0.0], par[MU]]), np.r_[0:11, 12:18]  # mu of site 0 is no parameter
    for bosons, part in enumerate(SECTORS):
        used = start[:, part].any(axis=1)
        if used.any():
            t = np.maximum(pulse[used] - par[DELAY], 0.0)
            own, d = probability_slopes(bosons, par[J], par[U], mu, start[used, part], t)
            d[-1] *= np.where(pulse[used] > par[DELAY], -1.0, 0.0)[:, None]
            p[used, part], slope[:, used, part] = own, d[kept]
    edges = np.cumsum([len(s.times_ns) for s in quenches])[:-1]
    return np.split(p, edges), np.split(slope, edges, axis=1)


def scoring_step(par: np.ndarray, quenches: list[Quenches], confusion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One Fisher-scoring step of the likelihood of all readings from `par`, and standard errors, `(17,)` each.

    Infinite standard errors where the quenches do not determine all parameters.
    """
    middle, slopes = occupation_slopes(par, quenches)
    information, gradient = np.zeros((N_PAR, N_PAR)), np.zeros(N_PAR)
    column = np.minimum(FOCK, N_LEVELS - 1)
    for s, p, slope in zip(quenches, middle, slopes, strict=True):
        for k, n in enumerate(s.readings):
            chance = np.ones((len(n), DIM))
            for i in range(N_SITES):
                chance *= confusion[i][n[:, i]][:, column[:, i]]
            logs = (chance @ slope[:, k].T) / (chance @ p[k])[:, None]
            information += logs.T @ logs
            gradient += logs.sum(axis=0)
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    if values[0] < 1e-8:
        return np.zeros(N_PAR), np.full(N_PAR, np.inf)
    inverse = (vectors / values) @ vectors.T / np.outer(scale, scale)
    return inverse @ gradient, np.sqrt(np.diag(inverse))


def occupation_chi2(par: np.ndarray, quenches: list[Quenches], confusion: np.ndarray) -> tuple[float, int]:
    """Pearson's chi2 of the level counts of each site in each setting, and its degrees of freedom.

    Sites of a setting are correlated: that widens the distribution of the sum and leaves its mean.
    """
    total, dof = 0.0, -N_PAR
    column = np.minimum(FOCK, N_LEVELS - 1)
    true = np.stack([column == level for level in range(N_LEVELS)], axis=-1).astype(float)  # (210, 6, 4)
    for s, p in zip(quenches, occupation_probabilities(par, quenches), strict=True):
        share = np.einsum("irl,ksil->kir", confusion, p[:, :, None, None] * true)
        for n, expected in zip(s.readings, share, strict=True):
            for i in range(N_SITES):
                e, seen = len(n) * expected[i], np.bincount(n[:, i], minlength=N_LEVELS).astype(float)
                for level in range(N_LEVELS - 1, 0, -1):
                    if e[level] < SMALLEST_EXPECTED or (level == 1 and e[0] < SMALLEST_EXPECTED):
                        e[level - 1], seen[level - 1], e[level], seen[level] = e[level - 1] + e[level], seen[level - 1] + seen[level], 0, 0
                used = e > 0
                total += float((((seen - e) ** 2)[used] / e[used]).sum())
                dof += int(used.sum()) - 1
    return total, dof


def mean_quadratures(par: np.ndarray, job: Job) -> np.ndarray:
    """Expected means `(k,)` of the quadrature of a job, in units of the gain."""
    r: Any = job.request
    psi = _chain(par).evolved(prepared(r.initial), np.maximum(np.array(r.times_ns) - par[DELAY], 0.0))
    target, source, element = lowering()[r.site]
    a = (psi[:, target].conj() * psi[:, source]) @ element
    return np.sqrt(2) * (a * np.exp(-1j * r.lo_phase_rad)).real


def quadrature_fit(par: np.ndarray, waves: list[Job]) -> tuple[float, float]:
    """Weighted fit of offset and gain to the mean of each setting: chi2 per degree of freedom, gain in its standard errors.

    Pulses above `LONGEST_NS` are left out.
    """
    x, y, w = [], [], []
    for job in waves:
        for t, mean, v in zip(job.request.times_ns, mean_quadratures(par, job), job.arrays()["v"], strict=True):  # type: ignore[attr-defined]
            if t <= LONGEST_NS and v.size > 1:
                x.append(mean)
                y.append(float(v.mean(dtype=float)))
                w.append(v.size / (float(v.var(dtype=float)) + 1e-12))
    if len(x) < 3:
        return np.inf, 0.0
    design, values, weight = np.array([np.ones(len(x)), x]).T, np.array(y), np.array(w)
    normal = design.T @ (weight[:, None] * design)
    if np.linalg.cond(normal) > 1e10:
        return np.inf, 0.0
    fitted = np.linalg.solve(normal, design.T @ (weight * values))
    chi2 = float((weight * (values - design @ fitted) ** 2).sum() / (len(x) - 2))
    return chi2, float(fitted[1] / np.sqrt(np.linalg.inv(normal)[1, 1]))


GRADER = BoseHubbardParameters()
