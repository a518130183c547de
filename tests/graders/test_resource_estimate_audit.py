"""resource_estimate_audit: the honest audit passes, each wrong one fails at its own check; the fit; the solvers."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
import tasks
from graders.kit import Category
from graders.resource_estimate_audit import DISTANCE, FACTORIES, ROOTS, Answer, fit_pair
from qtypes import load, seeds
from qtypes.contract import Device
from qtypes.ftqc_resource_estimation import device as instances
from qtypes.ftqc_resource_estimation import report
from tests.graders.in_process import completed, failed, graded, solution, solved

QTYPE = load("ftqc_resource_estimation")
CARD = tasks.load("resource_estimate_audit")
GRADER = graders.load("resource_estimate_audit")
PROFILE = QTYPE.read_profile(CARD.profile)
PLAN = ((3, 4_000_000), (5, 20_000_000), (7, 6_000_000))
NEED_NO_PILOT = "lines that need no pilot (L1 to L7, L9), the largest deviation"
AFTER = "lines after the distance (L11, L13, L14), the largest deviation"
VERDICT = "the verdict is right"


def drawn() -> Device:
    hidden = QTYPE.draw(np.random.default_rng(12), PROFILE)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


DEVICE = drawn()


def session(plan: Any = PLAN, device: Device = DEVICE) -> Any:
    jobs = tuple(
        completed(QTYPE, device, f"j{k}", "run_pilot_memory", json.dumps({"distance": d, "blocks": n}), np.random.default_rng(k))
        for k, (d, n) in enumerate(plan)
    )
    return SimpleNamespace(device=device, jobs=jobs, queries=(), of=lambda *tools: tuple(j for j in jobs if j.tool in tools))


@pytest.fixture(scope="module")
def whole() -> Any:
    return session()


@pytest.fixture(scope="module")
def honest(whole: Any) -> dict[str, Any]:
    h = DEVICE.hidden
    pair = GRADER.recompute(whole)["pair"]
    lines = report.lines(h.sheet(tuple(pair)))
    return {
        "root_errors": list(h.filed.roots), "corrected": json.loads(json.dumps(lines)), "meets_budget": lines["L13"] <= h.filed.qubit_cap,
    }  # fmt: skip


def wrong(s: Any, answer: dict[str, Any]) -> dict[str, Category]:
    checks = graded(GRADER, s, Answer.model_validate_json(json.dumps(answer)))[0]
    return {n: checks[n].category for n in failed(checks)}


def with_line(answer: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    out = copy.deepcopy(answer)
    out["corrected"][name] = value
    return out


def test_the_honest_audit_passes(whole: Any, honest: dict[str, Any]) -> None:
    assert wrong(whole, honest) == {}
    assert wrong(whole, honest | {"root_errors": honest["root_errors"][::-1]}) == {}


def test_a_missing_and_a_further_line_fail_alone(whole: Any, honest: dict[str, Any]) -> None:
    roots = honest["root_errors"]
    for named in (roots[1:], [*roots, "L14"], [], [f"L{k}" for k in range(1, 15)]):
        assert wrong(whole, honest | {"root_errors": named}) == {ROOTS: Category.TOLERANCE}


@pytest.mark.parametrize(
    ("name", "factor", "check"),
    [
        ("L1", 1.006, NEED_NO_PILOT), ("L5", 1 / 15, NEED_NO_PILOT), ("L9", 0.994, NEED_NO_PILOT), ("L11", 1.006, AFTER),
        ("L14", 0.994, AFTER),
    ],
)  # fmt: skip
def test_each_real_line_is_compared_with_the_truth(whole: Any, honest: dict[str, Any], name: str, factor: float, check: str) -> None:
    value = honest["corrected"][name]
    assert set(wrong(whole, with_line(honest, name, value * factor))) == {check}
    if factor > 1:
        assert wrong(whole, with_line(honest, name, value * 1.004)) == {}


@pytest.mark.parametrize(("name", "check"), [("L2", NEED_NO_PILOT), ("L6", NEED_NO_PILOT), ("L10", DISTANCE), ("L12", FACTORIES)])
def test_whole_numbers_are_exact(whole: Any, honest: dict[str, Any], name: str, check: str) -> None:
    for step in (-1, 1):
        assert set(wrong(whole, with_line(honest, name, honest["corrected"][name] + step))) == {check}


def test_the_other_verdict_fails(whole: Any, honest: dict[str, Any]) -> None:
    assert set(wrong(whole, honest | {"meets_budget": not honest["meets_budget"]})) == {VERDICT}


def test_the_pair_is_that_of_the_own_pilot_and_of_the_machine(whole: Any, honest: dict[str, Any]) -> None:
    sigmas = GRADER.recompute(whole)["sigmas_of_logarithms"]
    pair = honest["corrected"]["L8"]
    away = with_line(honest, "L8", [pair[0], pair[1] * np.exp(1.1 * sigmas[1])])
    assert wrong(whole, away)["|ln Lambda - recomputed| / its sigma"] is Category.UNSUPPORTED
    near = with_line(honest, "L8", [pair[0] * np.exp(0.9 * sigmas[0]), pair[1]])
    assert "|ln A - recomputed| / its sigma" not in wrong(whole, near)
    printed = with_line(honest, "L8", list(DEVICE.spec.pair))
    assert "|ln Lambda - truth| / sigma of the recomputed" in wrong(whole, printed)


@pytest.mark.parametrize(
    ("plan", "check"),
    [
        (PLAN[:2], {"pilot distances", "blocks at the third pilot distance"}),
        ((*PLAN[:2], (7, 999_999)), {"blocks at the third pilot distance"}),
        ((PLAN[0], (5, 100_000), PLAN[2]), {"failures at the two smallest pilot distances, the fewer"}),
    ],
)  # fmt: skip
def test_evidence_is_counted_from_the_log(plan: Any, check: set[str], honest: dict[str, Any]) -> None:
    found = wrong(session(plan), honest)
    assert check <= set(found)
    assert all(found[c] is Category.MISSING_EVIDENCE for c in check)


def test_without_a_pilot_nothing_is_supported(honest: dict[str, Any]) -> None:
    found = wrong(session(()), honest)
    assert found["the pilot determines the pair"] is Category.MISSING_EVIDENCE
    assert "pilot distances" in found


def test_jobs_at_one_distance_add_up(honest: dict[str, Any]) -> None:
    split = GRADER.recompute(session(((3, 2_000_000), (3, 2_000_000), *PLAN[1:])))
    assert split["pilot"]["d = 3"]["blocks"] == 4_000_000


def test_the_overclaim_and_the_printed_report_fail(whole: Any, honest: dict[str, Any]) -> None:
    claimed = GRADER.overclaim(honest, {})
    assert claimed is not None
    assert NEED_NO_PILOT in wrong(whole, claimed)
    printed = DEVICE.spec.report.model_dump(mode="json")
    assert {DISTANCE, AFTER} <= set(wrong(whole, honest | {"corrected": printed}))


def test_the_schema_refuses_what_is_no_audit(honest: dict[str, Any]) -> None:
    bad = [with_line(honest, "L10", 21.0), with_line(honest, "L8", [0.1]), with_line(honest, "L1", 0), with_line(honest, "L15", 1)]
    for answer in (*bad, honest | {"root_errors": ["L15"]}, honest | {"meets_budget": 1}, honest | {"jobs": []}):
        with pytest.raises(ValidationError):
            Answer.model_validate_json(json.dumps(answer))


# The fit


def test_exact_counts_give_the_exact_pair() -> None:
    d, n = np.array([3, 5, 7, 9]), np.full(4, 10**12)
    fit = fit_pair(d, n, np.round(n * 0.12 * 7.5 ** (-(d + 1) / 2)))
    assert fit is not None
    assert np.exp(fit.logs) == pytest.approx([0.12, 7.5], rel=1e-5)


def test_the_standard_errors_are_the_scatter() -> None:
    r = np.random.default_rng(1)
    d, n = np.array([3, 5, 7]), np.array([200_000, 1_000_000, 2_000_000])
    p = 0.1 * 6.0 ** (-(d + 1) / 2)
    fits = [fit_pair(d, n, r.binomial(n, p)) for _ in range(150)]
    logs, sigmas = (np.array([getattr(f, name) for f in fits]) for name in ("logs", "sigmas"))
    assert np.std(logs, axis=0) == pytest.approx(sigmas.mean(axis=0), rel=0.2)
    assert (abs(logs.mean(axis=0) - np.log([0.1, 6.0])) < 4 * sigmas.mean(axis=0) / np.sqrt(150)).all()


def test_one_distance_with_failures_determines_nothing() -> None:
    assert fit_pair(np.array([3, 9]), np.array([1000, 1000]), np.array([10, 0])) is None


# The solvers


@pytest.mark.parametrize("root", [b"audit-1", b"audit-2"])
def test_the_reference_passes_and_the_trap_names_lines_that_only_follow(root: bytes) -> None:
    with solution(CARD.name, "reference", "trap", "pilot", "sheet") as modules:
        for name, expected in (("reference", set()), ("trap", {ROOTS})):
            bench = solved(CARD.name, modules[name], root)
            s = SimpleNamespace(device=bench.device, jobs=tuple(bench.jobs), queries=(),
                                of=lambda *tools, b=bench: tuple(j for j in b.jobs if j.tool in tools))  # fmt: skip
            assert set(wrong(s, bench.answer)) == expected
            assert sum(j.request.blocks for j in bench.jobs) <= 1e5 * CARD.budget["units"]


def test_the_printed_pair_leads_to_another_distance_on_every_device() -> None:
    for k in range(30):
        hidden = QTYPE.draw(seeds.generator(seeds.root_from(f"pair/{k}".encode()), "device"), PROFILE)
        mended = report.lines(hidden.sheet((hidden.filed.prefactor, hidden.filed.suppression)))
        assert mended["L10"] != instances.true_report(hidden)["L10"]
