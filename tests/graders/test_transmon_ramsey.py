"""Grading of `transmon_ramsey`: the honest answer passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders import transmon_ramsey as module
from graders.kit import Category
from graders.transmon_ramsey import Answer, estimate, true_detuning_khz
from tests.graders import transmon_session

CARD = tasks.load("transmon_ramsey")
GRADER = graders.load("transmon_ramsey")
HALF = {"op": "drive", "amplitude": 0.5, "duration_ns": 25.0}
TAU = {"op": "delay", "duration_from": "tau_ns"}
FINE = np.arange(0.0, 18.0, 0.15)
ALL = ("ground", "excited", "scan", "shifted", "long")
RIVAL = "chi^2 of the best detuning further than 20 kHz away, above the best"


class Session(transmon_session.Session):
    """A session of this task's card."""

    def __init__(self, seed: int = 5) -> None:
        super().__init__(CARD.profile, seed, first_stream=20)
        self.t2_us = self.device.hidden.t2star_us()
        for k, name in enumerate(("ground", "excited")):
            self.run(name, "run_iq_reference", prepare=k, shots=800, rep_period_us=1000.0)

    def ramsey(self, job_id: str, delays_us: np.ndarray, shots: int = 60, turns: np.ndarray | None = None, **fields: Any) -> None:
        columns = [{"name": "tau_ns", "values": np.round(delays_us * 1e3).tolist()}]
        last = dict(HALF)
        if turns is not None:
            columns.append({"name": "turn", "values": turns.tolist()})
            last["phase_from"] = "turn"
        request = {"steps": [HALF, TAU, last, {"op": "measure"}], "sweep": columns, "shots": shots, "rep_period_us": 1000.0}
        self.run(job_id, "run_pulse_sequence", **request | fields)

    @property
    def detuning_khz(self) -> float:
        return true_detuning_khz(self, self.only("scan"))


@pytest.fixture(scope="module")
def session() -> Session:
    s = Session()
    s.ramsey("scan", FINE)
    s.ramsey("shifted", FINE, drive_offset_mhz=0.25)
    long = s.t2_us * np.linspace(0.6, 1.8, 40)
    s.ramsey("long", np.concatenate((long, long + 0.13)), shots=220)
    s.ramsey("notebook", np.arange(0.0, 60.0, 0.5), shots=150)
    s.ramsey("turned", FINE, turns=np.full(FINE.size, np.pi / 2))
    s.ramsey("cycled", FINE, turns=np.arange(FINE.size) * np.pi / 2)
    s.ramsey("few", FINE[:30])
    s.ramsey("faint", FINE[:60], shots=4, drive_offset_mhz=0.25)
    s.ramsey("short", FINE[:60], shots=60, drive_offset_mhz=0.25)
    s.run("rabi", "run_pulse_sequence", steps=[HALF, {"op": "measure"}], shots=100)
    return s


@pytest.fixture(scope="module")
def estimates() -> dict[Any, Any]:
    return {}


@pytest.fixture(autouse=True)
def each_estimate_once(monkeypatch: pytest.MonkeyPatch, estimates: dict[Any, Any]) -> None:
    def cached(*jobs: list[Any]) -> Any:
        key = tuple(j.job_id for group in jobs for j in group)
        if key not in estimates:
            estimates[key] = estimate(*jobs)
        return estimates[key]

    monkeypatch.setattr(module, "estimate", cached)


def honest_for(session: Session, *cited: str) -> dict[str, Any]:
    fit = module.estimate(*(session.only(k) for k in ("ground", "excited")), session.only(*cited[2:]))
    values = {"detuning_khz": 1e3 * fit.detuning_mhz, "t2star_us": fit.t2_us, "t2star_sigma_us": fit.t2_sigma_us}
    return values | {"job_ids": list(cited)}


@pytest.fixture
def honest(session: Session) -> dict[str, Any]:
    return honest_for(session, *ALL)


def failures(session: Session, answer: dict[str, Any]) -> dict[str, Category]:
    return transmon_session.failures(GRADER, session, answer)


def test_an_honest_answer_passes(session, honest):
    assert failures(session, honest) == {}


def test_the_recomputed_values_are_within_their_errors_of_the_truth(session, honest):
    fit = estimate(session.only("ground"), session.only("excited"), session.only(*ALL[2:]))
    assert abs(fit.detuning_mhz * 1e3 - session.detuning_khz) < 4e3 * fit.detuning_sigma_mhz + 0.5  # the frequency wanders meanwhile
    assert abs(fit.t2_us - session.t2_us) < 4 * fit.t2_sigma_us
    assert fit.chi2_per_dof == pytest.approx(1.0, abs=0.3)


PHASES = {"a second analysis phase": ("scan", "turned", "long"), "a phase that turns from point to point": ("cycled", "long")}


@pytest.mark.parametrize("sweeps", PHASES.values(), ids=PHASES.keys())
def test_analysis_phases_give_the_sign_without_a_second_drive_frequency(session, sweeps):
    answer = honest_for(session, "ground", "excited", *sweeps)
    assert answer["detuning_khz"] == pytest.approx(session.detuning_khz, abs=3.0)
    assert failures(session, answer) == {}


AMBIGUOUS = {"the step of the notebook": ("notebook",), "one drive frequency": ("scan", "long"), "both": ("scan", "notebook")}


@pytest.mark.parametrize("sweeps", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_data_that_leave_a_choice_do_not_carry_the_right_answer(session, honest, sweeps):
    failed = failures(session, honest | {"job_ids": ["ground", "excited", *sweeps]})
    assert failed[RIVAL] is Category.MISSING_EVIDENCE


def test_the_alias_fails_whatever_it_rests_on(session, honest):
    for cited in (ALL, ("ground", "excited", "notebook")):
        for alias in (1e3 * (abs(session.detuning_khz) * 1e-3 - 2.0), -session.detuning_khz):
            failed = failures(session, honest | {"detuning_khz": alias, "job_ids": list(cited)})
            assert "|detuning - truth|, signed" in failed


CLAIMS = {
    "detuning": ({"detuning_khz": 3.2}, ["|reported detuning - recomputed detuning|"]),
    "detuning past tolerance": ({"detuning_khz": 9.0}, ["|reported detuning - recomputed detuning|", "|detuning - truth|, signed"]),
    "wider error": ({"t2star_sigma_us": 5.0}, ["reported sigma / recomputed sigma of T2*, upper limit"]),
    "narrow error": ({"t2star_sigma_us": 0.2}, ["reported sigma / recomputed sigma of T2*, lower limit"]),
    "long T2*": ({"t2star_us": 1.3}, ["|reported T2* / recomputed T2* - 1|", "|T2* / true T2* - 1|"]),
    "T2* just outside": ({"t2star_us": 0.94}, ["|reported T2* / recomputed T2* - 1|"]),
}


@pytest.mark.parametrize(("change", "expected"), CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_that_was_moved_fails(session, honest, change, expected):
    moved = {k: honest[k] + v if k == "detuning_khz" else honest[k] * v for k, v in change.items()}
    assert list(failures(session, honest | moved)) == expected


def test_the_overclaim_leaves_the_tolerances(session, honest):
    failed = failures(session, GRADER.overclaim(honest, {}))
    assert {"|detuning - truth|, signed", "|T2* / true T2* - 1|"} <= set(failed)


MISSING = {
    "no ground reference": (("excited", *ALL[2:]), "reference shots of |0>"),
    "no excited reference": (("ground", *ALL[2:]), "reference shots of |1>"),
    "no sweep": (("ground", "excited", "rabi"), "the fringe can be recomputed from the cited jobs"),
    "few delays": (("ground", "excited", "few"), "distinct delays up to 500 us of the cited Ramsey sweeps"),
    "hardly any shots": (("ground", "excited", "few", "faint"), "recomputed sigma / recomputed T2*"),
    "short sweeps": (("ground", "excited", "few", "short"), "recomputed sigma of the detuning"),
}


@pytest.mark.parametrize(("cited", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named(session, honest, cited, check):
    assert failures(session, honest | {"job_ids": list(cited)})[check] is Category.MISSING_EVIDENCE


DEGENERATE: dict[str, dict[str, Any]] = {
    "no pulses": {"steps": [HALF | {"amplitude": 0.0}, TAU, HALF | {"amplitude": 0.0}, {"op": "measure"}]},
    "one shot a point": {"shots": 1},
    "all delays nearly zero": {"delays": np.arange(60) * 1e-3},
    "all delays long": {"delays": np.linspace(300.0, 480.0, 60)},
    "beyond the limit": {"delays": np.linspace(501.0, 800.0, 60)},
}


@pytest.mark.parametrize("fields", DEGENERATE.values(), ids=DEGENERATE.keys())
@pytest.mark.parametrize("amplitude", [0.0, 1.0])
def test_data_without_information_fail_and_do_not_break_the_grader(honest, monkeypatch, fields, amplitude):
    monkeypatch.setattr(module, "estimate", estimate)
    s = Session()
    s.run("flat", "run_iq_reference", prepare=1, amplitude=amplitude, shots=400, rep_period_us=1000.0)
    more = {k: v for k, v in fields.items() if k != "delays"}
    s.ramsey("a", fields.get("delays", FINE[:60]), **{"shots": 40} | more)
    s.ramsey("b", fields.get("delays", FINE[:60]), **{"shots": 40} | more, drive_offset_mhz=0.25)
    # the excited reference is the one given here
    ids = ["ground", "flat", "a", "b"]
    assert any(c is Category.MISSING_EVIDENCE for c in failures(s, honest | {"job_ids": ids}).values())


@pytest.mark.slow
def test_the_largest_session_is_graded_in_seconds(honest, monkeypatch):
    monkeypatch.setattr(module, "estimate", estimate)
    s = Session()
    for k in range(17):
        s.ramsey(f"r{k}", np.linspace(0.0, 490.0, 256), shots=13, drive_offset_mhz=0.1 * k)
    begin = time.process_time()
    failures(s, honest | {"job_ids": [j.job_id for j in s.jobs]})
    assert time.process_time() - begin < 60.0


def test_a_foreign_job_fails(session, honest):
    failed = failures(session, honest | {"job_ids": [*ALL, "someone-elses"]})
    assert failed == {"cited jobs are completed jobs of this session": Category.FOREIGN_JOB}


@pytest.mark.parametrize("change", [{"t2star_us": -1.0}, {"detuning_khz": "50"}, {"t2star_sigma_us": True}, {"job_ids": []}, {"extra": 1}])
def test_the_schema_refuses_what_is_no_answer(honest, change):
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps(honest | change))


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card():
    text = re.sub(r"\s+", " ", CARD.instruction())
    for phrase in (
        f"at least {module.REFERENCE_SHOTS} reference shots", f"at least {module.DELAYS} distinct delays",
        f"delays up to {module.LONGEST_US:.0f} us count", f"between -{module.SPAN_MHZ} and {module.SPAN_MHZ} MHz",
        f"further than {module.EXCLUSION_KHZ:.0f} kHz from the best", f"by at least {module.RIVAL_CHI2:.0f} in chi^2",
        f"at most {module.DETUNING_RESOLUTION_KHZ} kHz for the detuning and {100 * module.T2_RESOLUTION:.0f} % for T2*",
        f"within {module.BIND_DETUNING_KHZ:.0f} kHz of the fit, your T2* within {100 * module.BIND_T2:.0f} %",
        f"within {module.DETUNING_TOLERANCE_KHZ:.0f} kHz of the true value", f"your T2* within {100 * module.T2_TOLERANCE:.0f} %",
        f"between {module.SIGMA_RANGE[0]} and {module.SIGMA_RANGE[1]:.0f} times the standard error",
        f"| jobs | {CARD.budget['jobs']:.0f} |", "| shots | 60 000 |", f"| lab clock | {CARD.budget['lab_s']:.0f} s",
        f"| wall time | {CARD.limits.wall_s // 60} min |",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert CARD.budget["shots"] == 60_000
