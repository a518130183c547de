"""Grader of `lindblad_learning`: a Lindblad generator against an estimate recomputed from raw bits, and against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.blackbox_lindblad_dynamics.device import STEP_US
from qtypes.blackbox_lindblad_dynamics.physics import Family, family, outcome_matrix, parity_rows, product_state, tangents

N_QUBITS = 3
N_TERMS = 27
MIN_TIMES = 8
MIN_BOND_SHOTS = 20_000
MIN_READOUT_SHOTS = 2000
RESOLUTION_H = 0.015
"""Largest recomputed standard error of a Hamiltonian coefficient, rad/us; beyond it the data would let a guess pass."""
RESOLUTION_RATE = 0.02
"""The same for rates and dephasing, 1/us."""
BIND_SIGMAS = 5.0
MAX_CHI2 = 1.25
SIGMA_FACTOR = 2.0
H_TOLERANCE = 0.03
SUPPORT = 0.08
RATE_TOLERANCE = 0.03
CORRELATION_TOLERANCE = 0.025
POSITIVITY = 1e-6
_FLOOR = 1e-6
"""Probabilities below this count as this."""
_BLIND = 1e-9
"""Directions of the information matrix below this share of the largest are not seen."""

Coefficient = Annotated[float, Field(ge=-3, le=3)]
Rate = Annotated[float, Field(ge=0, le=1)]
Signed = Annotated[float, Field(ge=-1, le=1)]


class Answer(AnswerModel):
    """The generator, standard errors, and the jobs they rest on. Hamiltonian terms are in the order of `hamiltonian_terms` of the spec."""

    hamiltonian: tuple[Coefficient, ...] = Field(min_length=N_TERMS, max_length=N_TERMS, description="coefficient of each term, rad/us")
    gamma_minus: tuple[Rate, Rate, Rate] = Field(description="decay rate of each qubit, 1/us")
    gamma_plus: tuple[Rate, Rate, Rate] = Field(description="excitation rate of each qubit, 1/us")
    dephasing: tuple[Rate, Rate, Rate] = Field(description="K_qq of each qubit, 1/us")
    correlated_dephasing: tuple[Signed, Signed] = Field(description="K_01 and K_12, 1/us")
    hamiltonian_sigma: tuple[Rate, ...] = Field(min_length=N_TERMS, max_length=N_TERMS, description="standard errors, rad/us")
    gamma_minus_sigma: tuple[Rate, Rate, Rate] = Field(description="standard errors, 1/us")
    gamma_plus_sigma: tuple[Rate, Rate, Rate] = Field(description="standard errors, 1/us")
    dephasing_sigma: tuple[Rate, Rate, Rate] = Field(description="standard errors, 1/us")
    correlated_dephasing_sigma: tuple[Rate, Rate] = Field(description="standard errors, 1/us")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=100, description="jobs the values rest on")

    def coefficients(self) -> np.ndarray:
        """All values in the order of `physics.family`, `(38,)`."""
        return np.array([*self.hamiltonian, *self.gamma_minus, *self.gamma_plus, *self.dephasing, *self.correlated_dephasing])

    def sigmas(self) -> np.ndarray:
        """All standard errors in the same order."""
        rates = (*self.gamma_minus_sigma, *self.gamma_plus_sigma, *self.dephasing_sigma, *self.correlated_dephasing_sigma)
        return np.array([*self.hamiltonian_sigma, *rates])


class LindbladLearning(Grader):
    """See `docs/tasks/lindblad_learning.md`."""

    task: ClassVar[str] = "lindblad_learning"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("the correlated bond has its sign",)
    trap_meets = ("largest recomputed sigma of rates and dephasing",)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """What was spent; the estimate uses the cited jobs and is made in :meth:`bind`."""
        return {"shots_used": int(sum(float(j.request.cost().amounts.get("shots", 0)) for j in session.jobs))}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        runs = [j for j in cited if j.tool == "run_evolution"]
        ids = tuple(j.job_id for j in runs)
        counts = pooled(runs)
        wrong, shots = readout(cited)
        matrix = np.diag(answer.dephasing) + np.diag(answer.correlated_dephasing, 1) + np.diag(answer.correlated_dephasing, -1)
        missing = {"jobs": ids, "category": Category.MISSING_EVIDENCE}
        checks = [
            self.jobs_exist(answer.job_ids, session),
            above("different evolution times above 0", Stage.BIND, len({k for k in counts if k > 0}), MIN_TIMES, unit="times", **missing),
            *(above(f"shots that can see the correlation of qubits {b} and {b + 1}", Stage.BIND, coherent_shots(counts, b), MIN_BOND_SHOTS,
                    unit="shots", **missing) for b in range(N_QUBITS - 1)),
            above("readout calibration shots of each qubit in each state", Stage.BIND, int(shots.min()), MIN_READOUT_SHOTS, unit="shots",
                  category=Category.MISSING_EVIDENCE),
            above("smallest eigenvalue of K", Stage.BIND, float(np.linalg.eigvalsh(matrix)[0]), -POSITIVITY, unit="1/us",
                  category=Category.UNSUPPORTED),
        ]  # fmt: skip
        if not all(c.passed for c in checks):
            return [*checks, holds("the generator can be recomputed", Stage.BIND, False, category=Category.MISSING_EVIDENCE)]
        terms = family(N_QUBITS)
        reported = answer.coefficients()
        found = estimate(terms, reported, counts, wrong)
        h, *_ = terms.blocks
        pull = np.abs(reported - found.values) / found.sigma
        ratio = float(np.median(answer.sigmas() / found.sigma))
        ratio = max(ratio, 1 / ratio) if ratio > 0 else np.inf
        q.update(chi2_per_dof=found.chi2, recomputed=found.values.round(5).tolist(), recomputed_sigma=finite(found.sigma))
        q["_bound"] = True
        more = {"jobs": ids, "category": Category.UNSUPPORTED}
        return [
            *checks,
            below("largest recomputed sigma of H", Stage.BIND, float(found.sigma[h].max()), RESOLUTION_H, unit="rad/us", **missing),
            below("largest recomputed sigma of rates and dephasing", Stage.BIND, float(found.sigma[h.stop :].max()), RESOLUTION_RATE,
                  unit="1/us", **missing),
            below("chi^2 per degree of freedom", Stage.BIND, found.chi2, MAX_CHI2, **more),
            below("largest |reported - recomputed| / recomputed sigma", Stage.BIND, float(pull.max()), BIND_SIGMAS, **more),
            below("median reported sigma against the recomputed one, larger over smaller", Stage.BIND, ratio, SIGMA_FACTOR, **more),
        ]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        if "_bound" not in q:
            return Score([holds("the generator rests on enough data to be scored", Stage.SCORE, False)])
        hidden = session.device.hidden
        true, reported = hidden.coefficients(), answer.coefficients()
        h, _, _, _, bond = family(N_QUBITS).blocks
        error = np.abs(reported - true)
        there = true[bond] != 0
        return Score([
            below("largest error of H", Stage.SCORE, float(error[h].max()), H_TOLERANCE, unit="rad/us"),
            holds("the terms of H are named", Stage.SCORE, bool(((np.abs(reported[h]) > SUPPORT) == (true[h] != 0)).all())),
            below("largest error of the rates and of K_qq", Stage.SCORE, float(error[h.stop : bond.start].max()), RATE_TOLERANCE,
                  unit="1/us"),
            below("largest error of the correlated dephasing", Stage.SCORE, float(error[bond].max()), CORRELATION_TOLERANCE, unit="1/us"),
            holds("the correlated bond has its sign", Stage.SCORE, bool((np.sign(reported[bond]) == np.sign(true[bond]))[there].all())),
        ])  # fmt: skip


Counts = dict[int, dict[str, dict[str, np.ndarray]]]
"""Readings `(8,)` by duration in steps, basis and state."""


def pooled(jobs: Sequence[Job]) -> Counts:
    """The readings of all settings of the evolutions among the jobs; equal settings are added up."""
    out: Counts = {}
    for job in jobs:
        if job.tool != "run_evolution":
            continue
        readings = (job.arrays()["bits"].astype(np.int64) << np.arange(N_QUBITS)[::-1]).sum(axis=2)
        for setting, row in zip(job.request.settings, readings, strict=True):
            states = out.setdefault(setting.steps, {}).setdefault(setting.basis, {})
            states[setting.state] = states.get(setting.state, 0.0) + np.bincount(row, minlength=2**N_QUBITS).astype(float)
    return out


def coherent_shots(counts: Counts, bond: int) -> int:
    """Shots with both qubits of the bond prepared and measured in the xy plane after some evolution."""
    pair = slice(bond, bond + 2)
    return int(sum(
        n.sum() for steps, bases in counts.items() for basis, states in bases.items() for state, n in states.items()
        if steps > 0 and not set(basis[pair]) & {"Z"} and not set(state[pair]) & {"0", "1"}
    ))  # fmt: skip


def readout(jobs: Sequence[Job]) -> tuple[np.ndarray, np.ndarray]:
    """Misreading of each qubit in |0> and |1>, `(2, 3)`, and the shots behind it; half an event is added to none."""
    wrong, shots = np.zeros((2, N_QUBITS)), np.zeros((2, N_QUBITS))
    for job in jobs:
        if job.tool == "run_readout_calibration":
            for state, bits in zip(job.request.states, job.arrays()["bits"], strict=True):
                for q, value in enumerate(map(int, state)):
                    wrong[value, q] += float((bits[:, q] != value).sum())
                    shots[value, q] += len(bits)
    return (wrong + 0.5) / (shots + 1), shots


@dataclass(frozen=True)
class Estimate:
    """Coefficients with standard errors `(38,)`, and how well the reported ones fit."""

    values: np.ndarray
    sigma: np.ndarray
    chi2: float


def estimate(terms: Family, start: np.ndarray, counts: Counts, wrong: np.ndarray) -> Estimate:
    """One Fisher-scoring step of the multinomial likelihood from `start`, with nothing held at zero.

    Next to the maximum one step reaches it to second order; far away the chi^2 of `start` tells. The chi^2 is that of the mean parities of
    one and two qubits in each setting. A coefficient that the data do not see has an infinite standard error.
    """
    read = outcome_matrix(*wrong)
    signs = np.linalg.inv(outcome_matrix((0.0,) * N_QUBITS, (0.0,) * N_QUBITS)).T  # readings to parities of subsets
    few = [s for s in range(1, 2**N_QUBITS) if s.bit_count() <= 2]
    generator = terms.generator(start)
    stride = gcd(*counts)
    score, information = np.zeros(len(start)), np.zeros((len(start), len(start)))
    misfit, points, reached = 0.0, 0, 0
    value, slope = np.eye(len(generator)), np.zeros_like(terms.generators)
    once, turn = tangents(generator, terms.generators, stride * STEP_US)
    for steps in sorted(counts):
        for _ in range((steps - reached) // stride if stride else 0):
            value, slope = once @ value, turn @ value + once @ slope
        reached = steps
        for basis, states in counts[steps].items():
            rows, starts = parity_rows(basis), np.array([product_state(s) for s in states]).T
            n = np.array(list(states.values()))
            shots = n.sum(axis=1, keepdims=True)
            p = np.maximum(starts.T @ value[rows].T @ read.T, _FLOOR)
            dp = np.matmul(read, slope[:, rows] @ starts).transpose(0, 2, 1).reshape(len(start), -1)
            score += dp @ (n / p).ravel()
            information += (dp * (shots / p).ravel()) @ dp.T
            mean, seen = (p @ signs)[:, few], (n @ signs)[:, few] / shots
            misfit += float(((seen - mean) ** 2 * shots / np.maximum(1 - mean**2, _FLOOR)).sum())
            points += seen.size
    scale = np.sqrt(np.maximum(np.diag(information), _FLOOR))
    level, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    good = level > _BLIND * level[-1]
    inverse = (vectors[:, good] / level[good]) @ vectors[:, good].T / np.outer(scale, scale)
    blind = (vectors[:, ~good] ** 2).sum(axis=1) > 1e-6
    return Estimate(start + inverse @ score, np.where(blind, np.inf, np.sqrt(np.diag(inverse))), misfit / (points - len(start)))


def finite(values: np.ndarray) -> list[float | None]:
    """For `score.json`."""
    return [round(float(v), 5) if np.isfinite(v) else None for v in values]


GRADER = LindbladLearning()
