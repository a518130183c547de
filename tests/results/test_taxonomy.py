"""Why a trial failed: each pattern from a session that shows it, and signatures of traps against the published calibrations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import graders
import tasks
from bench.local_lab import LocalLab, Refused
from results.find import find
from results.grading import grade_trial
from results.model import Graded, Outcome, Pattern
from results.taxonomy import digits, trap_lines
from tests.results.conftest import Made, worked

Copy = Callable[..., Path]
CALIBRATION = Path(__file__).parents[2] / "docs" / "calibration"
SIGNED = [t for t in tasks.names() if graders.load(t).trap_fails and (CALIBRATION / f"{t}.json").is_file()]


def graded(folder: Path) -> Graded:
    return grade_trial(find([folder])[0])


def test_a_pass_names_its_closest_check(reference: Made) -> None:
    found = graded(reference.bundle)
    assert (found.outcome, found.pattern) == (Outcome.PASS, Pattern.NONE)
    assert found.evidence[0].startswith("closest: ")


def test_a_number_of_the_notebook_in_the_answer_is_a_stale_prior(copy: Copy, relaxation: Made) -> None:
    (shown,) = [c["result"]["entries"] for c in relaxation.calls if c["tool"] == "read_notebook"]
    old = next(e["data"]["t1_us"] for e in shown if "t1_us" in (e["data"] or {}))
    found = graded(copy(relaxation, relaxation.answer | {"t1_us": old}))
    assert found.outcome is not Outcome.PASS
    assert found.pattern is Pattern.STALE_PRIOR
    assert any(line.startswith(f"the answer's t1_us = {old:g} is the notebook's t1_us of ") for line in found.evidence)


def test_a_sigma_that_the_records_do_not_allow_is_overclaimed_precision(copy: Copy, relaxation: Made) -> None:
    assert graded(relaxation.bundle).outcome is Outcome.PASS
    found = graded(copy(relaxation, relaxation.answer | {"t1_sigma_us": relaxation.answer["t1_sigma_us"] / 20}))
    assert (found.outcome, found.pattern) == (Outcome.SCIENCE_FAILURE, Pattern.OVERCLAIMED_PRECISION)
    assert any("lower limit" in line and "stated too small" in line for line in found.evidence)
    far = relaxation.answer["t1_us"] * 1.3
    found = graded(copy(relaxation, relaxation.answer | {"t1_us": far}))
    assert found.pattern is Pattern.OVERCLAIMED_PRECISION
    assert any("the same records give" in line for line in found.evidence)


def test_a_session_without_an_answer_whose_budget_is_gone(tmp_path: Path) -> None:
    lab = LocalLab("transmon_t1", tmp_path / "bundle")
    for _ in range(25):
        lab.run("run_iq_reference", prepare=0, shots=20, rep_period_us=250.0)
    with pytest.raises(Refused, match="jobs"):
        lab.run("run_iq_reference", prepare=0, shots=20, rep_period_us=250.0)
    lab.close()
    found = graded(tmp_path / "bundle")
    assert (found.outcome, found.pattern) == (Outcome.NO_SUBMISSION, Pattern.BUDGET_EXHAUSTED)
    assert "jobs: 25 of 25 used; the cheapest of its experiments took 1" in " ".join(found.evidence)
    assert found.budget["jobs"]["left"] == 0


def test_a_result_in_hand_that_was_not_submitted(tmp_path: Path) -> None:
    lab = LocalLab("transmon_t1", tmp_path / "bundle")
    lab.run("run_iq_reference", prepare=0, shots=20, rep_period_us=250.0)
    lab.append_notebook("fit done: t1_us = 61.2 +- 1.0\x1b[31m")
    lab.close()
    found = graded(tmp_path / "bundle")
    assert (found.outcome, found.pattern) == (Outcome.NO_SUBMISSION, Pattern.RESULT_IN_HAND)
    assert any("the agent noted t1_us" in line for line in found.evidence)
    assert "\x1b" not in "".join(found.evidence)


def test_no_answer_and_nothing_else_to_see_has_no_pattern(copy: Copy, tmp_path: Path) -> None:
    LocalLab("transmon_t1", tmp_path / "bundle").close()
    found = graded(tmp_path / "bundle")
    assert (found.outcome, found.pattern) == (Outcome.NO_SUBMISSION, Pattern.NONE)


def test_a_failure_lists_the_checks_that_fail_with_their_jobs(trap: Made) -> None:
    found = graded(trap.bundle)
    assert found.outcome is Outcome.CONTRACT_FAILURE
    failed = [c for c in found.checks if c["gate"] and not c["passed"]]
    assert found.evidence[0].startswith(f"{failed[0]['name']}: ")


def test_the_trap_of_a_task_is_named(tmp_path: Path) -> None:
    found = graded(worked("transmon_t1", "trap", tmp_path / "bundle").bundle)
    assert found.pattern is Pattern.TRAP_TAKEN
    assert "longest cited delay" in found.evidence[-1]


@pytest.mark.parametrize("task", SIGNED)
def test_the_signature_of_a_trap_is_that_of_the_trap_and_of_no_other_solver(task: str) -> None:
    runs: list[dict[str, Any]] = json.loads((CALIBRATION / f"{task}.json").read_text())["runs"]
    failed = [r for r in runs if not r["passed"] and r["outcome"] != "not_applicable"]
    n, signed = Counter(r["solver"] for r in failed), Counter(r["solver"] for r in failed if trap_lines({**r, "task": task}))
    assert n["trap"] == 0 or signed["trap"] >= 0.9 * n["trap"]
    assert {s: k for s, k in signed.items() if s != "trap" and k > 0.2 * n[s]} == {}


@pytest.mark.parametrize("value, n", [(0.1, 1), (50.0, 1), (41.5, 3), (1e-3, 1), (0.0123, 3), (-2.50, 2), (1200, 2), (1.25e-7, 3)])
def test_digits_are_counted_as_written(value: float, n: int) -> None:
    assert digits(value) == n
