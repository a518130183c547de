"""bose_hubbard_parameters: the reference passes, the trap does not, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from graders.bose_hubbard_parameters import (
    DELAY_TOLERANCE_NS,
    GRADER,
    J_TOLERANCE,
    MU_TOLERANCE_MHZ,
    U_TOLERANCE,
    Answer,
    level_counts,
    mean_quadratures,
    occupation_chi2,
    occupation_slopes,
    quadrature_fit,
    quenches_of,
    scoring_step,
)  # fmt: skip
from qtypes.bose_hubbard_chain import RunQuadrature
from tests.graders.in_process import Bench, completed, solution, solved

TASK = "bose_hubbard_parameters"
SHORTCUT = set(GRADER.trap_fails)


@cache
def reference() -> Bench:
    with solution(TASK, "reference", "chain_fit") as modules:
        return solved(TASK, modules["reference"], b"chain reference")


@cache
def trap() -> Bench:
    with solution(TASK, "trap", "reference", "chain_fit") as modules:
        return solved(TASK, modules["trap"], b"chain trap")


def truth(bench: Bench) -> np.ndarray:
    h = bench.device.hidden
    return np.array([*h.j_mhz, *h.u_mhz, *h.mu_mhz, h.delay_ns])


def jobs(bench: Bench, *tools: str) -> list[str]:
    return [j.job_id for j in bench.jobs if j.tool in tools]


def failed(**changes: Any) -> set[str]:
    return reference().failed(GRADER, **changes)


def confusion(bench: Bench) -> np.ndarray:
    counts = level_counts(bench.jobs) + 0.3
    return counts / counts.sum(axis=1, keepdims=True)


def test_the_reference_passes() -> None:
    assert failed() == set()


def test_the_trap_fails_where_it_should() -> None:
    assert trap().failed(GRADER) >= SHORTCUT | {"chi2 per degree of freedom of the level counts"}


def test_standard_errors_are_what_values_scatter_by() -> None:
    bench = reference()
    answer = Answer.model_validate_json(json.dumps(bench.answer, default=float))
    quenches = quenches_of(bench.jobs)
    step, sigma = scoring_step(answer.parameters(), quenches, confusion(bench))
    assert np.abs(step / sigma).max() < 0.5  # the reference is at the maximum
    pull = (answer.parameters() + step - truth(bench)) / sigma
    assert 0.4 < np.sqrt((pull**2).mean()) < 1.7
    assert answer.sigmas() == pytest.approx(sigma, rel=0.05)


def test_true_values_describe_the_records() -> None:
    bench = reference()
    chi2, dof = occupation_chi2(truth(bench), quenches_of(bench.jobs), confusion(bench))
    assert dof > 500
    assert 0.8 < chi2 / dof < 1.25
    waves = [j for j in bench.jobs if j.tool == "run_quadrature"]
    ratio, gain = quadrature_fit(truth(bench), waves)
    assert ratio < 3
    assert gain > 4
    one = Answer.model_validate_json(json.dumps(bench.answer | {"mu_mhz": (-truth(bench)[11:16]).tolist()}, default=float))
    assert quadrature_fit(one.parameters(), waves)[0] > 1.5 * ratio  # of the turned sign


def test_slopes_are_those_of_differences() -> None:
    quenches = quenches_of(reference().jobs)[:4]
    par = truth(reference())
    _, slopes = occupation_slopes(par, quenches)
    for k, step in ((0, 1e-3), (7, 1e-3), (11, 1e-3), (15, 1e-3), (16, 1e-5)):
        move = step * np.eye(17)[k]
        up, down = (occupation_slopes(p, quenches)[0] for p in (par + move, par - move))
        for slope, a, b in zip(slopes, up, down, strict=True):
            assert slope[k] == pytest.approx((a - b) / (2 * step), abs=1e-6)


def test_expected_quadratures_are_the_means_of_jobs() -> None:
    bench = reference()
    request = {"initial": "0+0010", "times_ns": [3.0, 8.0], "site": 2, "lo_phase_rad": 0.6, "shots": 3000}
    job = completed(bench.qtype, bench.device, "wave", "run_quadrature", json.dumps(request), np.random.default_rng(3))
    assert isinstance(job.request, RunQuadrature)
    h = bench.device.hidden
    expected = h.offset_mv + h.gain_mv * mean_quadratures(truth(bench), job)
    v = job.arrays()["v"]
    assert v.mean(axis=1) == pytest.approx(expected, abs=5 * v.std() / np.sqrt(3000))


MOVES = {
    "J": ("j_mhz", lambda a: [*a[:4], a[4] * (1 + 2 * J_TOLERANCE)], "largest |J / truth - 1|"),
    "U": ("u_mhz", lambda a: [a[0] * (1 - 2 * U_TOLERANCE), *a[1:]], "largest |U / truth - 1|"),
    "mu": ("mu_mhz", lambda a: [a[0], a[1] + 2 * MU_TOLERANCE_MHZ, *a[2:]], "largest |mu - truth|"),
    "delay": ("delay_ns", lambda a: a + 2 * DELAY_TOLERANCE_NS, "|delay - truth|"),
}


@pytest.mark.parametrize(("field", "move", "check"), MOVES.values(), ids=MOVES.keys())
def test_a_moved_value_fails_its_check_and_the_records(field: str, move: Any, check: str) -> None:
    assert failed(**{field: move(reference().answer[field])}) >= {check, "largest step of a likelihood fit, in recomputed sigmas"}


def test_overclaims_fail_and_keep_their_errors() -> None:
    found = failed(**GRADER.overclaim(reference().answer, {}))
    assert found >= {check for _, _, check in MOVES.values()}
    assert not found >= SHORTCUT


@pytest.mark.parametrize(("factor", "check"), [(0.3, "smallest"), (4.0, "largest")])
def test_wrong_standard_errors_fail(factor: float, check: str) -> None:
    sigma = reference().answer["u_sigma_mhz"]
    assert failed(u_sigma_mhz=[sigma[0] * factor, *sigma[1:]]) == {f"{check} reported / recomputed sigma"}


def test_the_notebook_fails() -> None:
    book = reference().notebook()
    found = failed(u_mhz=book[0]["data"]["u_mhz"], delay_ns=book[1]["data"]["delay_ns"])
    assert found >= {"largest |U / truth - 1|", "|delay - truth|"}


MISSING = {
    "no calibration": (("run_occupation", "run_quadrature"), "reference shots of the level and site with the fewest"),
    "no quench": (("run_level_reference", "run_quadrature"), "shots of quenches that begin with two bosons on a site, fewest"),
    "no quadrature": (("run_occupation", "run_level_reference"), "shots of these quadratures"),
}


@pytest.mark.parametrize(("tools", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named(tools: tuple[str, ...], check: str) -> None:
    assert failed(job_ids=jobs(reference(), *tools)) >= {check, "the parameters can be recomputed"}


def test_one_quadrature_alone_is_missing_evidence() -> None:
    ids = [i for i in reference().answer["job_ids"] if i != jobs(reference(), "run_quadrature")[1]]
    assert failed(job_ids=ids) >= {"largest angle between their phases, modulo 180 deg"}


def test_jobs_of_others_fail() -> None:
    assert "cited jobs are completed jobs of this session" in failed(job_ids=[*reference().answer["job_ids"], "other"])


def test_short_pulses_say_too_little() -> None:
    """Settings of 20 ns or less count, and short ones do not tell all parameters: the recomputed standard errors are large."""
    bench = reference()
    kept = [j for j in bench.jobs if j.tool != "run_occupation"]
    rng = np.random.default_rng(1)
    for k, initial in enumerate(("202000", "020200", "002020", "000202")):
        request = json.dumps({"initial": initial, "times_ns": [2.0, 2.5, 30.0], "shots": 400})
        kept.append(completed(bench.qtype, bench.device, f"short{k}", "run_occupation", request, rng))
    session = SimpleNamespace(device=bench.device, jobs=tuple(kept), card=bench.card)
    answer = Answer.model_validate_json(json.dumps(bench.answer | {"job_ids": [j.job_id for j in kept]}, default=float))
    assert all((s.times_ns <= 20).all() for s in quenches_of(kept))
    names = {c.name for c in GRADER.bind(answer, session, {}) if not c.passed}
    assert "largest recomputed sigma of U / |U|" in names


def test_the_truth_follows_the_drift() -> None:
    bench = reference()
    assert bench.device.hidden.mu_at(0.0)[1:].tolist() == list(bench.device.hidden.mu_mhz)
    session = SimpleNamespace(device=bench.device, jobs=tuple(bench.jobs), card=bench.card)
    answer = Answer.model_validate_json(json.dumps(bench.answer, default=float))
    values = [next(c.value for c in GRADER.score(answer, session, {"_middle_s": t}, np.random.default_rng(0)).checks if "mu" in c.name)
              for t in (0.0, 36_000.0)]  # fmt: skip
    assert values[0] != values[1]


BAD = ({"j_mhz": [45.0] * 4}, {"u_mhz": [180.0] * 6}, {"delay_ns": -0.1}, {"j_sigma_mhz": [0.0] * 5}, {"more": 1})


@pytest.mark.parametrize("change", BAD)
def test_the_schema_refuses_what_is_no_answer(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps(reference().answer | change, default=float))
