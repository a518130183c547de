"""Grader of `resource_estimate_audit`: the root errors, all 14 lines, and the pilot behind the pair (A, Lambda)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Score, Stage, above, below, holds
from qtypes.ftqc_resource_estimation import device, report

DISTANCES = 3
FAILURES = 1000
BLOCKS = 1_000_000
REFIT_SIGMAS = 1.0
TRUTH_SIGMAS = 3.0
LINE_TOLERANCE = 0.005

ROOTS = "the root errors are named, and no other line"
DISTANCE = "L10 is the distance that is needed"
FACTORIES = "L12 is the number of factories"
PILOT_FREE = ("L1", "L2", "L3", "L4", "L5", "L6", "L7", "L9")
AFTER_PILOT = ("L11", "L13", "L14")

LineName = Literal["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "L9", "L10", "L11", "L12", "L13", "L14"]
Real = Annotated[float, Field(gt=0, le=1e15)]
Whole = Annotated[int, Field(ge=0, le=1_000_000)]
Pair = Annotated[tuple[Real, ...], Field(min_length=2, max_length=2)]


class Corrected(AnswerModel):
    """The 14 lines as they ought to be."""

    L1: Real = Field(description="error per rotation")
    L2: Whole = Field(description="T states per rotation")
    L3: Real = Field(description="T states in all")
    L4: Real = Field(description="allowed error per T state")
    L5: Real = Field(description="output error of one level of distillation")
    L6: Whole = Field(description="levels of distillation")
    L7: Whole = Field(description="tiles")
    L8: Pair = Field(description="A and Lambda of the memory, measured")
    L9: Real = Field(description="allowed error per tile and block of d cycles")
    L10: Whole = Field(description="code distance d")
    L11: Real = Field(description="time per T state in us")
    L12: Whole = Field(description="factories")
    L13: Real = Field(description="physical qubits")
    L14: Real = Field(description="run time in s")


class Answer(AnswerModel):
    """The audit."""

    root_errors: tuple[LineName, ...] = Field(max_length=14, description="lines that are wrong in themselves")
    corrected: Corrected = Field(description="all 14 lines")
    meets_budget: bool = Field(description="whether the corrected L13 is at most qubit_cap")


@dataclass(frozen=True)
class Fit:
    """Maximum-likelihood estimate of (ln A, ln Lambda)."""

    logs: np.ndarray
    covariance: np.ndarray
    """float64 `(2, 2)`, inverse Fisher information."""

    @property
    def sigmas(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))


def fit_pair(distances: np.ndarray, blocks: np.ndarray, failures: np.ndarray) -> Fit | None:
    """Binomial likelihood of failures with ln p = ln A - (d + 1)/2 ln Lambda, all `(n,)`; None where the data do not determine the pair."""
    if (failures > 0).sum() < 2:
        return None
    x = np.stack([np.ones(len(distances)), -(np.asarray(distances) + 1) / 2], axis=1)
    weight = np.sqrt(failures + 0.5)
    theta = np.linalg.lstsq(x * weight[:, None], np.log((failures + 0.5) / blocks) * weight, rcond=None)[0]
    information = np.eye(2)
    for _ in range(50):
        p = np.minimum(np.exp(x @ theta), 0.999)
        information = x.T @ (x * (blocks * p / (1 - p))[:, None])
        step = np.linalg.solve(information, x.T @ ((failures - blocks * p) / (1 - p)))
        theta = theta + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-10:
            return Fit(theta, np.linalg.inv(information))
    return None


class ResourceEstimateAudit(Grader):
    """See `docs/tasks/resource_estimate_audit.md`."""

    task: ClassVar[str] = "resource_estimate_audit"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails: ClassVar[tuple[str, ...]] = (ROOTS,)
    trap_meets: ClassVar[tuple[str, ...]] = (DISTANCE,)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Failures and blocks of all pilot jobs by distance, and the pair."""
        blocks: Counter[int] = Counter()
        failures: Counter[int] = Counter()
        for job in session.of("run_pilot_memory"):
            arrays, d = job.arrays(), int(job.request.distance)  # type: ignore[attr-defined]
            blocks[d] += int(arrays["blocks"].sum())
            failures[d] += int(arrays["failures"].sum())
        d = sorted(blocks)
        fit = fit_pair(np.array(d), np.array([blocks[k] for k in d]), np.array([failures[k] for k in d])) if len(d) > 1 else None
        found: dict[str, Any] = {"pilot": {f"d = {k}": {"failures": failures[k], "blocks": blocks[k]} for k in d}}
        if fit is not None:
            found |= {"pair": np.exp(fit.logs).tolist(), "sigmas_of_logarithms": fit.sigmas.tolist()}
        return found | {"_distances": d, "_failures": [failures[k] for k in d], "_blocks": [blocks[k] for k in d], "_fit": fit}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        missing = {"category": Category.MISSING_EVIDENCE}
        jobs = tuple(j.job_id for j in session.of("run_pilot_memory"))
        d, failures, blocks = q["_distances"], q["_failures"], q["_blocks"]
        fit: Fit | None = q["_fit"]
        checks = [
            above("pilot distances", Stage.BIND, len(d), DISTANCES, jobs=jobs[:5], **missing),
            above("failures at the two smallest pilot distances, the fewer", Stage.BIND, min(failures[:2]) if len(d) > 1 else 0, FAILURES,
                  **missing),
            above("blocks at the third pilot distance", Stage.BIND, blocks[2] if len(d) > 2 else 0, BLOCKS, **missing),
            holds("the pilot determines the pair", Stage.BIND, fit is not None, **missing),
        ]  # fmt: skip
        if fit is not None:
            for k, name in enumerate(("A", "Lambda")):
                away = abs(np.log(answer.corrected.L8[k]) - fit.logs[k]) / fit.sigmas[k]
                checks.append(below(f"|ln {name} - recomputed| / its sigma", Stage.BIND, float(away), REFIT_SIGMAS, unit="sigma",
                                    category=Category.UNSUPPORTED))  # fmt: skip
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        true, claimed = device.true_report(hidden), answer.corrected.model_dump()
        wrong = set(hidden.filed.roots)
        named = set(answer.root_errors)
        note = f"missing: {sorted(wrong - named)}, not roots: {sorted(named - wrong)}"
        checks = [holds(ROOTS, Stage.SCORE, named == wrong, value=len(named & wrong), threshold=len(wrong), unit="lines", note=note)]
        checks.append(self._near("lines that need no pilot (L1 to L7, L9), the largest deviation", claimed, true, PILOT_FREE))
        fit: Fit | None = q["_fit"]
        if fit is not None:
            for k, name in enumerate(("A", "Lambda")):
                away = abs(np.log(claimed["L8"][k] / true["L8"][k])) / fit.sigmas[k]  # type: ignore[index]
                checks.append(below(f"|ln {name} - truth| / sigma of the recomputed", Stage.SCORE, float(away), TRUTH_SIGMAS, unit="sigma"))
        checks += [
            holds(DISTANCE, Stage.SCORE, claimed["L10"] == true["L10"], value=claimed["L10"], threshold=true["L10"]),
            holds(FACTORIES, Stage.SCORE, claimed["L12"] == true["L12"], value=claimed["L12"], threshold=true["L12"]),
            self._near("lines after the distance (L11, L13, L14), the largest deviation", claimed, true, AFTER_PILOT),
            holds("the verdict is right", Stage.SCORE, answer.meets_budget == (true["L13"] <= hidden.filed.qubit_cap)),
        ]
        return Score(checks)

    @staticmethod
    def _near(name: str, claimed: dict[str, Any], true: report.Lines, which: tuple[str, ...]) -> Check:
        away = {k: report.deviation(claimed[k], true[k]) for k in which}
        worst = max(away, key=lambda k: away[k])
        return below(name, Stage.SCORE, away[worst], LINE_TOLERANCE, note=worst)


GRADER = ResourceEstimateAudit()
