"""Grading of `transmon_t1`: the honest answer passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders import transmon_t1 as module
from graders.kit import Category
from graders.transmon_t1 import Answer, estimate, true_bound
from tests.graders import transmon_session

CARD = tasks.load("transmon_t1")
GRADER = graders.load("transmon_t1")
PULSE = {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}
STEPS = [PULSE, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"}]
ALL = ("ground", "excited", "sweep")


class Session(transmon_session.Session):
    """A session of this task's card."""

    def __init__(self, seed: int = 3) -> None:
        super().__init__(CARD.profile, seed, first_stream=7)
        self.t1_us = float(self.device.hidden.t1_us(False))

    def sweep(self, job_id: str, reach: float, points: int = 25, shots: int = 700) -> None:
        values = np.linspace(0.0, reach * self.t1_us * 1e3, points).tolist()
        columns = [{"name": "tau_ns", "values": values}]
        self.run(job_id, "run_pulse_sequence", steps=STEPS, sweep=columns, shots=shots, rep_period_us=2000.0)


@pytest.fixture(scope="module")
def session() -> Session:
    s = Session()
    for k, name in enumerate(("ground", "excited")):
        s.run(name, "run_iq_reference", prepare=k, shots=1000, rep_period_us=1000.0)
    s.sweep("sweep", 5.0)
    s.sweep("short", 1.0)
    s.sweep("few", 5.0, points=8)
    s.sweep("faint", 5.0, shots=20)
    s.run("rabi", "run_pulse_sequence", steps=[PULSE, {"op": "measure"}], shots=100)
    s.clock_s = 100.0
    s.run("late", "run_iq_reference", prepare=1, shots=400)
    return s


@pytest.fixture(scope="module")
def honest(session: Session) -> dict[str, Any]:
    by_id = {j.job_id: j for j in session.jobs}
    _, fit = estimate([by_id["ground"]], [by_id["excited"]], [by_id["sweep"]])
    return {"t1_us": fit.t1_us, "t1_sigma_us": fit.t1_sigma_us, "excited_floor": fit.floor, "job_ids": list(ALL)}


@pytest.fixture(autouse=True)
def each_estimate_once(monkeypatch: pytest.MonkeyPatch, estimates: dict[Any, Any]) -> None:
    def cached(*jobs: list[Any]) -> Any:
        key = tuple(j.job_id for group in jobs for j in group)
        if key not in estimates:
            estimates[key] = estimate(*jobs)
        return estimates[key]

    monkeypatch.setattr(module, "estimate", cached)


@pytest.fixture(scope="module")
def estimates() -> dict[Any, Any]:
    return {}


def failures(session: Session, answer: dict[str, Any]) -> dict[str, Category]:
    return transmon_session.failures(GRADER, session, answer)


def test_an_honest_answer_passes(session, honest):
    assert failures(session, honest) == {}


def test_the_recomputed_value_is_within_its_error_of_the_truth(session, honest):
    assert abs(honest["t1_us"] - session.t1_us) < 4 * honest["t1_sigma_us"]
    assert honest["excited_floor"] == pytest.approx(session.device.hidden.thermal_population, abs=0.03)
    sweep = next(j for j in session.jobs if j.job_id == "sweep")
    assert honest["t1_sigma_us"] == pytest.approx(true_bound([sweep], session), rel=0.15)


def test_a_value_that_the_records_do_not_support_fails(session, honest):
    failed = failures(session, honest | {"t1_us": honest["t1_us"] + 1.6 * honest["t1_sigma_us"]})
    assert failed["|reported T1 - recomputed T1|"] is Category.UNSUPPORTED


def test_a_guess_within_the_error_of_poor_data_is_not_supported(monkeypatch, session, honest):
    poor = lambda *jobs: (clouds, replace(fit, covariance=fit.covariance * (0.049 * fit.t1_us / fit.t1_sigma_us) ** 2))  # noqa: E731
    by_id = {j.job_id: j for j in session.jobs}
    clouds, fit = module.estimate([by_id["ground"]], [by_id["excited"]], [by_id["sweep"]])
    monkeypatch.setattr(module, "estimate", poor)
    assert "|reported T1 - recomputed T1|" in failures(session, honest | {"t1_us": 1.031 * fit.t1_us})
    assert "|reported T1 - recomputed T1|" not in failures(session, honest | {"t1_us": 1.029 * fit.t1_us})


def test_the_stale_value_of_the_notebook_fails_binding_and_score(session, honest):
    failed = failures(session, honest | {"t1_us": 0.3 * session.t1_us})
    assert {"|reported T1 - recomputed T1|", "|T1 / true T1 - 1|"} <= set(failed)


@pytest.mark.parametrize(("factor", "limit"), [(0.2, "lower"), (5.0, "upper")])
def test_a_dishonest_error_bar_fails(session, honest, factor, limit):
    failed = failures(session, honest | {"t1_sigma_us": factor * honest["t1_sigma_us"]})
    assert list(failed) == [f"reported sigma / Cramer-Rao bound, {limit} limit"]


def test_a_floor_that_the_records_do_not_support_fails(session, honest):
    assert list(failures(session, honest | {"excited_floor": 0.5})) == ["|reported floor - recomputed floor|"]


MISSING = {
    "short window": (("ground", "excited", "short"), "longest cited delay"),
    "few delays": (("ground", "excited", "few"), "distinct delays of the cited relaxation sweeps"),
    "no ground reference": (("excited", "sweep"), "reference shots of |0>"),
    "no excited reference": (("ground", "sweep"), "reference shots of |1>"),
    "no sweep": (("ground", "excited", "rabi"), "T1 can be recomputed from the cited jobs"),
    "hardly any shots": (("ground", "excited", "faint"), "recomputed sigma / recomputed T1"),
    "long span": ((*ALL, "late"), "lab-clock span of the cited jobs"),
}


@pytest.mark.parametrize(("cited", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named(session, honest, cited, check):
    assert failures(session, honest | {"job_ids": list(cited)})[check] is Category.MISSING_EVIDENCE


DEGENERATE = {
    "no pulse": {"steps": [PULSE | {"amplitude": 0.0}, *STEPS[1:]], "points": 15, "reach": 5.0, "shots": 200},
    "one point": {"steps": STEPS, "points": 1, "reach": 0.0, "shots": 300},
    "one shot per point": {"steps": STEPS, "points": 15, "reach": 5.0, "shots": 1},
    "everything at zero delay": {"steps": STEPS, "points": 15, "reach": 0.0, "shots": 100},
    "only the floor": {"steps": STEPS, "points": 15, "reach": 9.0, "from": 8.0, "shots": 200},
}


@pytest.mark.parametrize("sweep", DEGENERATE.values(), ids=DEGENERATE.keys())
@pytest.mark.parametrize("amplitude", [0.0, 1.0])
def test_data_without_information_fail_and_do_not_break_the_grader(monkeypatch, honest, sweep, amplitude):
    monkeypatch.setattr(module, "estimate", estimate)
    s = Session()
    s.run("ground", "run_iq_reference", prepare=0, shots=400, rep_period_us=1000.0)
    s.run("excited", "run_iq_reference", prepare=1, amplitude=amplitude, shots=400, rep_period_us=1000.0)
    values = (np.linspace(sweep.get("from", 0.0), sweep["reach"], sweep["points"]) * s.t1_us * 1e3).tolist()
    columns = [{"name": "tau_ns", "values": values}]
    s.run("sweep", "run_pulse_sequence", steps=sweep["steps"], sweep=columns, shots=sweep["shots"], rep_period_us=3000.0)
    assert failures(s, honest | {"t1_us": s.t1_us, "job_ids": [j.job_id for j in s.jobs]})


def test_a_foreign_job_fails(session, honest):
    failed = failures(session, honest | {"job_ids": [*ALL, "someone-elses"]})
    assert failed == {"cited jobs are completed jobs of this session": Category.FOREIGN_JOB}


@pytest.mark.parametrize("change", [{"t1_us": -1.0}, {"t1_us": "50"}, {"excited_floor": True}, {"job_ids": []}, {"extra": 1}])
def test_the_schema_refuses_what_is_no_answer(honest, change):
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps(honest | change))


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card():
    text = re.sub(r"\s+", " ", CARD.instruction())
    for phrase in (
        f"at least {module.REFERENCE_SHOTS} reference shots", f"at least {module.DELAYS} distinct delays",
        f"at least {module.SPAN_FACTOR} times the true T1", f"at most {module.SESSION_SPAN_S:.0f} s pass",
        f"at most {100 * module.RESOLUTION:.0f} % of T1", f"within {module.BIND_SIGMAS:g} recomputed standard errors",
        f"and within {100 * module.BIND_LIMIT:.0f} % of it, your `excited_floor` within {module.FLOOR_TOLERANCE}",
        f"within {100 * module.T1_TOLERANCE:.0f} % of the true value",
        f"between {module.SIGMA_RANGE[0]} and {module.SIGMA_RANGE[1]:.0f} times the Cramer-Rao",
        f"| jobs | {CARD.budget['jobs']:.0f} |", "| shots | 40 000 |", f"| lab clock | {CARD.budget['lab_s']:.0f} s",
        f"| wall time | {CARD.limits.wall_s // 60} min |",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert CARD.budget["shots"] == 40_000
