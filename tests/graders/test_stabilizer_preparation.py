"""stabilizer_preparation: signs decide, attempts bind, the best attempt counts."""

from __future__ import annotations

import numpy as np
import pytest

import graders
from graders.kit import Category
from graders.kit.stabilizer import NONE_JUDGED
from qtypes import AgentError
from qtypes.stabilizer_codes import codes
from tests.graders.in_process import solution
from tests.graders.stabilizer_session import Bench, at_work, judged

TASK = "stabilizer_preparation"
VALID, BOUND = "every generator is +1 on the output", "the circuit handed in was judged in this session"


@pytest.mark.parametrize("seed", range(6))
def test_the_reference_passes_and_the_recipe_without_signs_fails(seed: int) -> None:
    with solution(TASK, "solve_code", "reference", "trap") as modules:
        assert at_work(TASK, modules["reference"], bytes([seed])).fails() == set()
        bench = at_work(TASK, modules["trap"], bytes([seed]))
    assert bench.fails() == {VALID} == set(bench.grader.trap_fails)
    assert set(bench.queries[0].result["expectations"]) == {1, -1}  # right but for signs


@pytest.mark.parametrize("name", ["steane", "golay", "bb_72", "carbon", "iceberg_3_over_steane"])
def test_the_recipe_is_right_on_the_codes_on_which_signs_take_care_of_themselves(name: str) -> None:
    """What the notebook says of the Steane code is true."""
    bench = Bench(f"b1_{name}")
    with solution(TASK, "trap") as modules:
        found = bench.query("check_stabilizers", circuit=modules["trap"].recipe(bench.device.spec.generators))
    assert found["satisfied"] == found["listed"] == codes.load(name).listed


def test_dependent_generators_are_no_obstacle_and_all_codes_of_a_family_share_one_grader() -> None:
    with solution(TASK, "solve_code") as modules:
        bench = Bench("b1_bb_90")
        found = bench.query("check_stabilizers", circuit=modules["solve_code"].solve(bench.spec()["spec"]))
    assert found["valid"]
    assert graders.load("b1_bb_90") is graders.load(TASK)


def test_the_best_attempt_counts_whichever_is_named_and_a_foreign_one_does_not_bind() -> None:
    with solution(TASK, "solve_code") as modules:
        good = modules["solve_code"].solve(Bench(TASK, b"7").spec()["spec"])
    bench = judged(TASK, b"7", "H 0\n", good)
    assert bench.fails() == set()
    foreign = bench.verdict(circuit_sha256="0" * 64)[BOUND]
    assert (foreign.passed, foreign.category) == (False, Category.MISSING_EVIDENCE)
    assert BOUND in judged(TASK, b"8", "H 0\n").fails(circuit_sha256="0" * 64)


def test_a_call_of_another_oracle_is_no_attempt() -> None:
    with solution(TASK, "solve_code") as modules:
        bench = Bench(TASK, b"7")
        found = bench.query("evaluate_optimization", circuit=modules["solve_code"].solve(bench.spec()["spec"]))
    bench.answer = {"circuit_sha256": found["sha256"]}
    assert bench.fails() == {BOUND, NONE_JUDGED}
    assert bench.grader.standing(bench.session, bench.grader.recompute(bench.session)) is None


def test_what_is_kept_without_an_answer_is_the_best_valid_attempt() -> None:
    with solution(TASK, "solve_code") as modules:
        good = modules["solve_code"].solve(Bench(TASK, b"7").spec()["spec"])
    bench = judged(TASK, b"7", "H 0\n", good, "X 0\n")
    q = bench.grader.recompute(bench.session)
    assert bench.grader.standing(bench.session, q).circuit_sha256 == bench.queries[1].result["sha256"]
    bench = judged(TASK, b"7", "H 0\n")
    assert bench.grader.standing(bench.session, bench.grader.recompute(bench.session)) is None


def test_preparing_by_measurement_is_refused_and_not_a_matter_of_luck() -> None:
    bench = Bench(TASK, b"7")
    for text in ("MPP " + "*".join(f"Z{q}" for q in range(4)), "M 0", "R 0", "H 0\nCX rec[-1] 0", "DEPOLARIZE1(0.1) 0"):
        with pytest.raises(AgentError) as refusal:
            bench.query("check_stabilizers", circuit=text)
        assert refusal.value.code == "invalid-circuit"
    assert bench.queries == []


def test_an_oracle_that_told_something_else_is_noted() -> None:
    bench = judged(TASK, b"7", "H 0\n")
    assert bench.verdict()["the oracle told what the regrade finds"].passed
    bench.queries[0].result["published"]["success"] = True
    note = bench.verdict()["the oracle told what the regrade finds"]
    assert (note.passed, note.gate) == (False, False)


@pytest.mark.slow
def test_the_recipe_fails_on_nearly_all_draws() -> None:
    with solution(TASK, "trap") as modules:
        passed = [at_work(TASK, modules["trap"], np.uint16(k).tobytes()).fails() == set() for k in range(100)]
    assert sum(passed) <= 2
