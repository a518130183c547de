"""repeater_purification: the reference passes, the trap and each wrong claim fail at their own check, the regrade finds the truth."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
from graders.kit import Category
from graders.repeater_purification import BIND_PAULI, Answer
from tests.graders.in_process import Bench, graded, solution, solved

TASK = "repeater_purification"
GRADER = graders.load(TASK)


@cache
def bench(name: str = "reference", root: bytes = b"repeater") -> Bench:
    with solution(TASK, name) as modules, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bench, "check_answer", lambda *_: None, raising=False)
        return solved(TASK, modules[name], root)


def read(**changes: Any) -> tuple[Any, Answer]:
    """The session and the submitted answer with `changes`."""
    b = bench()
    answer = Answer.model_validate_json(json.dumps(b.answer | changes, default=float))
    return SimpleNamespace(device=b.device, jobs=tuple(b.jobs), card=b.card), answer


def failed(**changes: Any) -> set[str]:
    return bench().failed(GRADER, **changes)


def without(*tools: str, **fields: Any) -> list[str]:
    """Cited jobs but those of a tool whose request has these fields."""
    gone = {j.job_id for j in bench().jobs if j.tool in tools and all(getattr(j.request, k) == v for k, v in fields.items())}
    assert gone
    return [i for i in bench().answer["job_ids"] if i not in gone]


def test_the_reference_passes_and_the_trap_fails_at_the_fidelity() -> None:
    assert failed() == set()
    assert bench("trap").failed(GRADER) == {"fidelity of the delivered pairs"}


def test_the_signature_of_the_trap_is_what_fails_it() -> None:
    assert set(GRADER.trap_fails) == bench("trap").failed(GRADER)
    assert not set(GRADER.trap_meets) & bench("trap").failed(GRADER)


def test_the_regrade_finds_the_links_and_the_protocol() -> None:
    b, q = bench(), dict[str, Any]()
    session, answer = read()
    GRADER.bind(answer, session, q)
    truth = GRADER.score(answer, session, q, np.random.default_rng(0)).quantities
    np.testing.assert_allclose(q["link_pauli"], [[k.x, k.y, k.z] for k in b.device.hidden.links], atol=0.006)
    assert q["fidelity"] == pytest.approx(truth["true_fidelity"], abs=0.012)
    assert q["pairs_per_two"] == pytest.approx(truth["true_yield"], abs=0.012)
    h = b.device.hidden
    for t, found in q["coincidence"].items():
        assert found == pytest.approx(h.shared * np.exp(-float(t) / h.correlation_us), abs=0.06)


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"predicted": {"fidelity": 0.985, "yield": 0.76}}, "|predicted - recomputed| fidelity"),
        ({"predicted": {"fidelity": 0.945, "yield": 0.9}}, "|predicted - recomputed| yield"),
        ({"link_pauli": [[0.01] * 3] * 3}, "largest |reported - recomputed| link error"),
    ],
)
def test_claims_that_the_records_do_not_support_fail(changes: dict[str, Any], check: str) -> None:
    assert failed(**changes) == {check}


def test_a_protocol_that_was_not_run_has_no_evidence() -> None:
    found = failed(slot_separation_us=bench().answer["slot_separation_us"] + 2)
    assert "attempts of the submitted protocol in the basis with the fewest" in found
    assert "the claims can be recomputed from the cited jobs" in found


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"local_cliffords": ["XYZ"] * 4}, "fidelity of the delivered pairs"),
        ({"slot_separation_us": 2.0}, "fidelity of the delivered pairs"),
        ({"rounds": 2}, "delivered pairs per two raw pairs"),
        ({"accept_rule": "odd"}, "fidelity of the delivered pairs"),
        ({"local_cliffords": ["XYZ", "XYZ", "XYZ", "ZYX"]}, "the ends apply the same class"),
    ],
)
def test_worse_protocols_fail_on_the_device(changes: dict[str, Any], check: str) -> None:
    assert check in failed(**changes)


@pytest.mark.parametrize(
    ("tool", "fields", "check"),
    [
        ("run_readout_reference", {}, "readout shots of each state"),
        ("run_link_pairs", {"link": 1, "basis": "YY"}, "shots of the link and basis with the fewest"),
        ("run_link_pairs", {"slot_separation_us": 6.0}, "separations with enough shots of two pairs"),
        ("run_purify", {"basis": "XX"}, "attempts of the submitted protocol in the basis with the fewest"),
    ],
)
def test_evidence_that_is_not_cited_is_missing(tool: str, fields: dict[str, Any], check: str) -> None:
    assert check in failed(job_ids=without(tool, **fields))


def test_pairs_that_were_held_are_no_evidence_of_a_raw_pair() -> None:
    held = [j.job_id for j in bench().jobs if j.tool == "run_link_pairs" and j.request.hold_us > 0]
    assert "shots of the link and basis with the fewest" in failed(job_ids=[*without("run_link_pairs", link=0, basis="XX"), *held])


def test_a_foreign_job_fails() -> None:
    checks, _ = graded(GRADER, *read(job_ids=[*bench().answer["job_ids"], "j99-0badf00d"]))
    found = checks["cited jobs are completed jobs of this session"]
    assert not found.passed
    assert found.category is Category.FOREIGN_JOB


def test_the_overclaim_fails() -> None:
    claimed = GRADER.overclaim(bench().answer, {})
    names = {"largest |reported - recomputed| link error", "|predicted - recomputed| fidelity", "|predicted - recomputed| yield"}
    assert names <= failed(**claimed)
    assert abs(claimed["link_pauli"][0][2] - bench().answer["link_pauli"][0][2]) == pytest.approx(2 * BIND_PAULI)


@pytest.mark.parametrize(
    "change",
    [{"rounds": 3}, {"slot_separation_us": 3.0}, {"local_cliffords": ["XYZ"] * 3}, {"job_ids": []}, {"accept_rule": "none"}, {"more": 1}],
)
def test_the_schema_refuses_what_is_no_answer(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        failed(**change)
