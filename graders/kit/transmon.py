"""What graders of the qtype `transmon_pulse` share: the jobs that an answer cites, sorted by what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graders.kit.base import Grader
from graders.kit.checks import Category, Check, Stage, above, holds
from graders.kit.iq import Clouds, fit_clouds
from graders.kit.session import GradedSession, Job


def ids(jobs: Iterable[Job]) -> tuple[str, ...]:
    return tuple(j.job_id for j in jobs)


def points(jobs: Iterable[Job]) -> list[NDArray[np.complex64]]:
    """IQ points of each job, complex64 `(points, shots)`."""
    return [j.arrays()["iq"] for j in jobs]


@dataclass(frozen=True)
class Cited:
    """The cited jobs in the order of their submission; `references` by what they prepare, `sweeps` as the task counts them."""

    jobs: list[Job]
    references: dict[int, list[Job]]
    sweeps: list[Job]

    @property
    def complete(self) -> bool:
        """Whether there is anything to recompute from."""
        return bool(self.references[0] and self.references[1] and self.sweeps)

    @property
    def span_s(self) -> float:
        """Lab clock from the start of the first to the end of the last job, s."""
        return max((j.lab_end_s for j in self.jobs), default=0.0) - min((j.lab_start_s for j in self.jobs), default=0.0)

    def sweep_span_s(self) -> tuple[float, float]:
        """Lab clock at the start of the first and at the end of the last sweep, s."""
        return min((j.lab_start_s for j in self.sweeps), default=0.0), max((j.lab_end_s for j in self.sweeps), default=0.0)


class TransmonGrader(Grader):
    """Base of graders whose answer cites `job_ids`: references and sweeps."""

    TOOLS: ClassVar[frozenset[str]] = frozenset({"run_pulse_sequence", "run_iq_reference"})

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: the estimate uses the cited jobs and is made in `bind`."""
        return {}

    def is_sweep(self, job: Job) -> bool:
        """Whether a pulse sequence is one of the sweeps that the task asks for."""
        raise NotImplementedError

    def cited(self, job_ids: tuple[str, ...], session: GradedSession) -> tuple[Cited, Check]:
        """The cited jobs, and the check that they are completed jobs of this session."""
        jobs = [j for j in session.jobs if j.job_id in set(job_ids)]
        references = {k: [j for j in jobs if j.tool == "run_iq_reference" and j.request.prepare == k] for k in (0, 1)}  # type: ignore[attr-defined]
        sweeps = [j for j in jobs if j.tool == "run_pulse_sequence" and self.is_sweep(j)]
        return Cited(jobs, references, sweeps), self.jobs_exist(job_ids, session, set(self.TOOLS))


def reference_shots(cited: Cited, least: int, where: str = "", counts: Callable[[Job], bool] = lambda _: True) -> list[Check]:
    """At least `least` reference shots of each state among the jobs that count."""
    checks = []
    for k in (0, 1):
        jobs = [j for j in cited.references[k] if counts(j)]
        shots = sum(j.request.shots for j in jobs)  # type: ignore[attr-defined]
        name = f"reference shots of |{k}>{where}"
        checks.append(above(name, Stage.BIND, shots, least, jobs=ids(jobs), category=Category.MISSING_EVIDENCE))
    return checks


def not_recomputable(what: str) -> Check:
    """The failure where too little is cited to recompute `what`."""
    return holds(f"{what} can be recomputed from the cited jobs", Stage.BIND, False, category=Category.MISSING_EVIDENCE)


def clouds_of(reference0: list[Job], reference1: list[Job], sweeps: list[NDArray[np.complex64]]) -> Clouds:
    """Both clouds from all cited points; each reference state and each point of the sweeps `(points, shots)` has a weight of its own."""
    sets = [np.concatenate([a.ravel() for a in points(jobs)]) for jobs in (reference0, reference1)]
    rows = [row for iq in sweeps for row in iq]
    return fit_clouds([*sets, *rows], complex(sets[0].mean()), complex(sets[1].mean()))
