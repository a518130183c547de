"""resource_estimation_race: gates, metric, what stands without an answer, the solvers."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import Category
from graders.resource_estimation_race import ERROR, EVALUATED, IS_DESIGN, VALID, VOLUME, Answer
from qtypes import load
from qtypes.contract import Device
from qtypes.ftqc_resource_estimation import Evaluate, cost
from tests.graders.in_process import failed, graded, solution, solved

QTYPE = load("ftqc_resource_estimation")
CARD = tasks.load("resource_estimation_race")
GRADER = graders.load("resource_estimation_race")
PROFILE = QTYPE.read_profile(CARD.profile)
HIDDEN = QTYPE.practice(PROFILE)
SPEC = QTYPE.spec(HIDDEN, PROFILE)
BEST: dict[str, Any] = {
    "d": 19, "levels": [{"dx": 7, "dz": 3, "dm": 3, "count": 8}, {"dx": 19, "dz": 7, "dm": 5, "count": 1}], "eps_synthesis": 4e-3,
    "routing": "fast", "factories": 2,
}  # fmt: skip
EQUAL: dict[str, Any] = {
    "d": 21, "levels": [{"dx": 21, "dz": 21, "dm": 21, "count": 16}, {"dx": 21, "dz": 21, "dm": 21, "count": 1}],
    "eps_synthesis": 1e-2 / 3, "routing": "fast", "factories": 6,
}  # fmt: skip


def session(*designs: dict[str, Any]) -> Any:
    queries = tuple(SimpleNamespace(tool="evaluate", request=Evaluate.model_validate_json(json.dumps(d))) for d in designs)
    return SimpleNamespace(device=Device(SPEC, HIDDEN, PROFILE), queries=queries, jobs=())


def grade(design: dict[str, Any], *evaluated: dict[str, Any]) -> tuple[dict[str, Category], float | None]:
    s = session(*(evaluated or (design,)))
    answer = Answer.model_validate_json(json.dumps(design))
    q = GRADER.recompute(s)
    score = GRADER.score(answer, s, q, np.random.default_rng(0))
    return {c.name: c.category for c in [*GRADER.bind(answer, s, q), *score.checks] if c.gate and not c.passed}, score.metric


def changed(level: int, **fields: int) -> dict[str, Any]:
    design = json.loads(json.dumps(BEST))
    design["levels"][level].update(fields)
    return design


def test_a_good_design_passes_with_its_qubit_seconds() -> None:
    wrong, metric = grade(BEST)
    assert wrong == {}
    found = cost.evaluate(Answer.model_validate_json(json.dumps(BEST)).design(), HIDDEN.problem())
    assert metric == pytest.approx(found.physical_qubits * found.runtime_s, rel=1e-12)
    assert metric == pytest.approx(7.36e6, rel=1e-3)


def test_equal_distances_are_feasible_and_too_dear() -> None:
    wrong, metric = grade(EQUAL)
    assert set(wrong) == {VOLUME}
    assert metric == pytest.approx(SPEC.limit_qubit_s / 0.35, rel=0.01)


@pytest.mark.parametrize(
    ("design", "check"),
    [
        (BEST | {"d": 17}, ERROR), (BEST | {"eps_synthesis": 9e-3}, ERROR), (changed(1, dx=13), ERROR),
        (BEST | {"routing": "compact"}, VOLUME), (BEST | {"factories": 100}, VOLUME),
    ],
)  # fmt: skip
def test_each_gate_of_the_cost_fails_by_itself(design: dict[str, Any], check: str) -> None:
    assert check in grade(design)[0]
    assert EVALUATED not in grade(design)[0]


def test_inputs_outside_the_leading_order_fail() -> None:
    hidden = HIDDEN.model_copy(update={"machine": HIDDEN.machine.model_copy(update={"injected_error": 0.03})})
    spec = SPEC.model_copy(update={"machine": hidden.machine})
    s = SimpleNamespace(device=Device(spec, hidden, PROFILE), queries=session(BEST).queries, jobs=())
    checks, _ = graded(GRADER, s, Answer.model_validate_json(json.dumps(BEST)))
    assert VALID in failed(checks)


def test_what_was_not_evaluated_exactly_is_missing() -> None:
    assert grade(BEST, EQUAL)[0] == {EVALUATED: Category.MISSING_EVIDENCE}
    assert grade(BEST, BEST | {"eps_synthesis": 4.0000001e-3})[0] == {EVALUATED: Category.MISSING_EVIDENCE}


@pytest.mark.parametrize("design", [BEST | {"d": 20}, changed(0, dm=4), changed(1, count=2)])
def test_what_is_no_design_has_no_metric(design: dict[str, Any]) -> None:
    wrong, metric = grade(design, BEST)
    assert wrong[IS_DESIGN] is Category.SCHEMA
    assert metric is None


def test_without_an_answer_the_cheapest_passing_design_stands() -> None:
    def stands(*designs: dict[str, Any]) -> Any:
        s = session(*designs)
        return GRADER.standing(s, GRADER.recompute(s))

    worse = BEST | {"factories": 3}
    assert stands() is None
    assert stands(EQUAL, BEST | {"d": 17}) is None
    assert stands(EQUAL, worse, BEST, BEST | {"d": 17}) == Answer.model_validate_json(json.dumps(BEST))
    assert stands(worse) == Answer.model_validate_json(json.dumps(worse))


def test_the_schema_refuses_what_is_no_answer() -> None:
    bad = (
        {"d": 19.0}, {"d": 63}, {"levels": []}, {"levels": BEST["levels"] * 2}, {"eps_synthesis": 0}, {"routing": "slow"},
        {"factories": True}, {"qubit_seconds": 1},
    )  # fmt: skip
    for change in bad:
        with pytest.raises(ValidationError):
            Answer.model_validate_json(json.dumps(BEST | change))


def test_the_answer_claims_nothing() -> None:
    assert GRADER.overclaim({}, {}) is None


@pytest.mark.parametrize("root", [b"race-1"])
def test_on_a_drawn_instance_the_reference_passes_and_the_trap_is_too_dear(root: bytes) -> None:
    metrics = []
    with solution(CARD.name, "reference", "trap", "search") as modules:
        for name, wrong in (("reference", set()), ("trap", {VOLUME})):
            bench = solved(CARD.name, modules[name], root)
            s = SimpleNamespace(device=bench.device, queries=tuple(bench.queries), jobs=())
            answer = Answer.model_validate_json(json.dumps(bench.answer))
            assert failed(graded(GRADER, s, answer)[0]) == wrong
            metrics.append(GRADER.score(answer, s, {}, np.random.default_rng(0)).metric)
    assert metrics[1] > 4 * metrics[0]


def test_no_single_step_improves_the_reference_s_design_of_the_practice_instance() -> None:
    with solution(CARD.name, "search") as modules:
        search = modules["search"]
        t = search.Task(120, 400_000, 20_000, 1e-2, 0.1, 10.0, 1e-3, 10.0)
        best = search.Design(19, ((7, 3, 3, 8), (19, 7, 5, 1)), 68, "fast", 2)
        price = search.cost(best, t)[0]
        for other in filter(search._possible, search.changes(best)):
            volume, error = search.cost(other, t)
            assert volume >= price or error > t.budget
    p = HIDDEN.problem()
    design = Answer.model_validate_json(json.dumps(BEST)).design()
    assert cost.evaluate(replace(design, d=17), p).total_error > p.error_budget


def test_the_instruction_states_the_practice_instance() -> None:
    page = CARD.instruction()
    a = HIDDEN.algorithm
    limit = f"{SPEC.limit_qubit_s:.2e}".replace("+0", "")
    for text in (f"{a.qubits} logical qubits", f"{a.t_gates} T gates", f"{a.rotations} rotations", f"{limit} qubit-seconds"):
        assert text in page
