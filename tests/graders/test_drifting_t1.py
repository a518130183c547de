"""Grading of `drifting_t1`: the honest answer passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders import drifting_t1 as module
from graders.drifting_t1 import Answer, filled_windows, stream_of, true_statistics
from graders.kit import Category
from graders.kit.telegraph_t1 import Stream, fit_telegraph
from tests.graders import transmon_session

CARD = tasks.load("drifting_t1")
GRADER = graders.load("drifting_t1")
STEPS = [{"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"}]
SWEEP = [{"name": "tau_ns", "values": [0.0, 20_000.0, 50_000.0, 100_000.0]}]
ALL = ("ground", "excited", "a", "b")


class Session(transmon_session.Session):
    """Shorter than a real one: 600 s of a quickly switching defect."""

    def __init__(self, seed: int = 4) -> None:
        super().__init__(CARD.profile | {"dwell_far_s": (9.0, 10.0), "dwell_near_s": (6.0, 7.0)}, seed, first_stream=0)


@pytest.fixture(scope="module")
def session() -> Session:
    s = Session()
    s.run("ground", "run_iq_reference", prepare=0, shots=3000, rep_period_us=2000.0)
    s.run("excited", "run_iq_reference", prepare=1, shots=3000, rep_period_us=2000.0)
    for name in ("a", "b"):
        s.run(name, "run_pulse_sequence", steps=STEPS, sweep=SWEEP, shots=7500, rep_period_us=10_000.0)
    s.run("blocked", "run_pulse_sequence", steps=STEPS, sweep=SWEEP, shots=3000, rep_period_us=10_000.0, order="blocked")
    s.run("slow", "run_pulse_sequence", steps=STEPS, sweep=SWEEP, shots=1500, rep_period_us=20_000.0)
    s.run("late", "run_iq_reference", prepare=0, shots=3000, rep_period_us=2000.0)
    return s


@pytest.fixture(scope="module")
def fits() -> dict[int, Any]:
    return {}


@pytest.fixture(autouse=True)
def short_session(monkeypatch: pytest.MonkeyPatch, fits: dict[int, Any]) -> None:
    """Fewer windows are asked for, and equal data are fitted once."""

    def cached(stream: Stream, references: Any) -> Any:
        if stream.time_s.size not in fits:
            fits[stream.time_s.size] = fit_telegraph(stream, references)
        return fits[stream.time_s.size]

    monkeypatch.setattr(module, "WINDOWS_S", 550)
    monkeypatch.setattr(module, "fit_telegraph", cached)


@pytest.fixture(scope="module")
def honest(session: Session) -> dict[str, Any]:
    truth = true_statistics(session, filled_windows(stream_of(session.only("a", "b"))))
    states = [{"t1_us": truth["t1_us"][k], "dwell_s": truth["dwell_s"][k], "occupancy": truth["occupancy"][k]} for k in (0, 1)]
    return {"states": states, "t1_p10_us": truth["p10_us"], "t1_p90_us": truth["p90_us"], "job_ids": list(ALL)}


def failures(session: Session, answer: dict[str, Any]) -> dict[str, Category]:
    return transmon_session.failures(GRADER, session, answer)


def changed(answer: dict[str, Any], state: int, **fields: float) -> dict[str, Any]:
    states = [dict(s) for s in answer["states"]]
    states[state] |= {k: states[state][k] * v for k, v in fields.items()}
    return answer | {"states": states}


def test_the_truth_passes_in_either_order_of_states(session, honest):
    assert failures(session, honest | {"states": honest["states"][::-1]}) == {}


def test_the_refit_recovers_the_telegraph_process(session, honest):
    q = GRADER.recompute(session)
    GRADER.bind(Answer.model_validate_json(json.dumps(honest)), session, q)
    truth = q["t1_us"], [s["t1_us"] for s in honest["states"]]
    assert truth[0] == pytest.approx(truth[1], rel=0.06)
    assert abs(q["occupancy"][1] - honest["states"][1]["occupancy"]) < 0.04
    assert q["floor"] == pytest.approx(session.device.hidden.thermal_population, abs=0.03)


WRONG = {
    "average for both": (1, {"t1_us": 2.0}, "|T1 / true T1 - 1| of the short-lived state"),
    "long T1": (0, {"t1_us": 1.2}, "|T1 / true T1 - 1| of the long-lived state"),
    "dwell of minutes": (0, {"dwell_s": 10.0}, "dwell time of the long-lived state, ratio to truth"),
    "short dwell": (1, {"dwell_s": 0.2}, "dwell time of the short-lived state, ratio to truth"),
    "occupancy": (1, {"occupancy": 0.5}, "|occupancy of the short-lived state - truth|"),
}


@pytest.mark.parametrize(("state", "fields", "check"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_state_fails_its_own_checks_only(session, honest, state, fields, check):
    failed = failures(session, changed(honest, state, **fields))
    assert failed[check] is Category.TOLERANCE
    assert len(failed) == 2  # its score and the check against the records
    assert Category.UNSUPPORTED in failed.values()


@pytest.mark.parametrize("name", ["t1_p10_us", "t1_p90_us"])
def test_a_wrong_percentile_fails(session, honest, name):
    assert any("percentile / truth" in c for c in failures(session, honest | {name: 0.7 * honest[name]}))


MISSING = {
    "blocked order": (("ground", "excited", "blocked"), "1 s windows with >= 40 shots at >= 3 delays"),
    "half of the data": (("ground", "excited", "a"), "1 s windows with >= 40 shots at >= 3 delays"),
    "no reference of the ground state": (("excited", "a", "b"), "reference shots of |0> within 60 s of the span of the sweeps"),
    "references long after the data": (("late", "excited", "a", "b"), "reference shots of |0> within 60 s of the span of the sweeps"),
}


@pytest.mark.parametrize(("cited", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named_and_nothing_is_scored(session, honest, cited, check):
    failed = failures(session, honest | {"job_ids": list(cited)})
    assert failed[check] is Category.MISSING_EVIDENCE
    assert "the statistics rest on enough data to be scored" in failed


@pytest.mark.parametrize(("amplitude", "delays_us"), [(0.0, (0.0, 20.0, 50.0)), (1.0, (0.0, 1e-3, 2e-3)), (1.0, (1500.0, 1600.0, 1700.0))])
def test_data_without_information_fail_and_do_not_break_the_grader(monkeypatch, honest, amplitude, delays_us):
    monkeypatch.setattr(module, "WINDOWS_S", 40)
    monkeypatch.setattr(module, "fit_telegraph", fit_telegraph)
    s = Session()
    for k in (0, 1):
        s.run(f"reference-{k}", "run_iq_reference", prepare=k, amplitude=amplitude, shots=1000, rep_period_us=2000.0)
    steps = [STEPS[0] | {"amplitude": amplitude}, *STEPS[1:]]
    sweep = [{"name": "tau_ns", "values": [1e3 * d for d in delays_us]}]
    s.run("sweep", "run_pulse_sequence", steps=steps, sweep=sweep, shots=1600, rep_period_us=10_000.0)
    assert failures(s, honest | {"job_ids": [j.job_id for j in s.jobs]})


def test_a_foreign_job_fails(session, honest):
    assert Category.FOREIGN_JOB in failures(session, honest | {"job_ids": [*ALL, "someone-elses"]}).values()


def test_windows_need_enough_shots_and_delays():
    def stream(rate: int, delays: int, seconds: int = 3) -> Stream:
        n = rate * seconds
        return Stream(5.0 + (np.arange(n) + 0.5) / rate, (np.arange(n) % delays).astype(float), np.zeros(n, dtype=np.complex64))

    assert filled_windows(stream(40, 3)).tolist() == [5.0, 6.0, 7.0]
    assert filled_windows(stream(39, 3)).size == 0
    assert filled_windows(stream(100, 2)).size == 0
    assert filled_windows(stream_of([])).size == 0


def test_the_schema_wants_exactly_two_states(honest):
    for states in (honest["states"][:1], [*honest["states"], honest["states"][0]]):
        with pytest.raises(ValidationError):
            Answer.model_validate_json(json.dumps(honest | {"states": states}))


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card(monkeypatch):
    monkeypatch.undo()
    text = re.sub(r"\s+", " ", CARD.instruction())
    for phrase in (
        f"at least {module.WINDOWS_S} windows of 1 s", f"at least {module.WINDOW_SHOTS} shots at {module.WINDOW_DELAYS} or more delays",
        f"At least {module.REFERENCE_SHOTS} reference shots", f"within {module.BIND_SIGMAS:.0f} standard errors",
        f"at least {100 * module.BIND_T1:.0f} % for T1, {100 * module.BIND_DWELL:.0f} % for dwell times",
        f"within {module.BIND_OCCUPANCY} of its occupancy", f"{100 * module.PERCENTILE_TOLERANCE:.0f} % of its percentiles",
        f"within {100 * module.T1_TOLERANCE[0]:.0f} % of the truth for the long-lived",
        f"{100 * module.T1_TOLERANCE[1]:.0f} % for the short-lived", f"within a factor {module.DWELL_FACTOR}",
        f"within {module.OCCUPANCY_TOLERANCE} of what was realised", f"within {100 * module.PERCENTILE_TOLERANCE:.0f} % of the truth",
        "| shots | 900 000 |", f"| jobs | {CARD.budget['jobs']:.0f} |", f"| lab clock | {CARD.budget['lab_s']:.0f} s",
        f"| wall time | {CARD.limits.wall_s // 3600} h |",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert CARD.budget["shots"] == 900_000
