"""distributed_phase_estimation: the reference passes, the trap and each wrong claim fail at their own check, only bought bits count."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import graders
from graders.distributed_phase_estimation import ERROR, SIGMA, Answer, Bought, most_likely
from graders.kit import Category
from tests.graders.in_process import ClockedBench, solution, solved

TASK = "distributed_phase_estimation"
GRADER = graders.load(TASK)


class Network(ClockedBench):
    """A session with purchases."""

    def check_answer(self, answer: dict[str, Any]) -> None:
        Answer.model_validate_json(json.dumps(answer, default=float))


@cache
def network(name: str = "reference", root: bytes = b"network") -> Network:
    with solution(TASK, name) as modules:
        return solved(TASK, modules[name], root, Network)


def checks(bench: Network | None = None, queries: Any = None, **changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    bench = bench or network()
    answer = Answer.model_validate_json(json.dumps(bench.answer | changes, default=float))
    bits = bench.queries if queries is None else queries
    session: Any = SimpleNamespace(device=bench.device, jobs=tuple(bench.jobs), queries=tuple(bits), card=bench.card)
    q = GRADER.recompute(session)
    found = [*GRADER.bind(answer, session, q), *GRADER.score(answer, session, q, np.random.default_rng(0)).checks]
    return {c.name: c for c in found}, q


def failed(bench: Network | None = None, queries: Any = None, **changes: Any) -> set[str]:
    return {n for n, c in checks(bench, queries, **changes)[0].items() if not c.passed}


def without(tool: str, **fields: Any) -> list[str]:
    gone = {j.job_id for j in network().jobs if j.tool == tool and all(getattr(j.request, k) == v for k, v in fields.items())}
    assert gone
    return [i for i in network().answer["job_ids"] if i not in gone]


def test_the_reference_passes() -> None:
    assert failed() == set()


def test_the_trap_fails_by_its_signature() -> None:
    found = failed(network("trap"))
    assert set(GRADER.trap_fails) <= found
    assert not set(GRADER.trap_meets) & found


def test_the_regrade_finds_angle_offset_and_fidelity() -> None:
    h, (_, q) = network().device.hidden, checks()
    assert abs(np.angle(np.exp(1j * (q["theta"] - h.phi_a_rad - h.phi_b_rad)))) < 4 * q["theta_sigma"]
    assert q["offset"] == pytest.approx(h.offset_at(q["sensing_time_s"]), abs=0.1)
    assert q["fidelity"] == pytest.approx(h.fidelity, abs=0.04)
    assert q["theta_sigma"] < SIGMA


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"theta_rad": 0.2}, "|theta - recomputed| / its sigma"),
        ({"sigma_rad": 0.02}, "sigma / recomputed sigma"),
        ({"sigma_rad": 0.06}, "sigma / recomputed sigma, above"),
        ({"sensing_pairs": 2999}, "sensing pairs as bought"),
        ({"classical_bits": 4000}, "classical bits as bought"),
    ],
)
def test_claims_that_the_records_do_not_support_fail(changes: dict[str, Any], check: str) -> None:
    if "theta_rad" in changes:
        changes = {"theta_rad": float(np.angle(np.exp(1j * (network().answer["theta_rad"] + changes["theta_rad"]))))}
    assert check in failed(**changes)


@pytest.mark.parametrize(
    ("part", "shift", "check"),
    [
        ("phase_offset_rad", 0.25, "|offset - truth|"),
        ("phase_offset_rad", 0.25, "|offset - recomputed|"),
        ("fidelity", -0.1, "|fidelity - recomputed|"),
    ],
)
def test_a_wrong_pair_fails(part: str, shift: float, check: str) -> None:
    pair = network().answer["pair"]
    assert check in failed(pair={**pair, part: pair[part] + shift})


@pytest.mark.parametrize(
    ("tool", "fields", "check"),
    [
        ("run_entangled", {"shots": 1250}, "entangled shots with their bits of node B"),
        ("run_pair_tomography", {"basis": "ZZ"}, "tomography pairs in ZZ"),
    ],
)
def test_evidence_that_is_not_cited_is_missing(tool: str, fields: dict[str, Any], check: str) -> None:
    found, _ = checks(job_ids=without(tool, **fields))
    assert not found[check].passed
    assert found[check].category is Category.MISSING_EVIDENCE


def test_calibration_on_one_side_only_is_missing() -> None:
    late = [j.job_id for j in network().jobs[-2:]]
    assert all(j.tool == "run_pair_tomography" for j in network().jobs[-2:])
    assert "tomography pairs after the sensing" in failed(job_ids=[i for i in network().answer["job_ids"] if i not in late])
    early = {j.job_id for j in network().jobs[:6]}
    assert "tomography pairs before the sensing" in failed(job_ids=[i for i in network().answer["job_ids"] if i not in early])


def test_only_bought_bits_count_and_only_once() -> None:
    entangled = [q for q in network().queries if q.request.kind == "entangled"]
    rest = [q for q in network().queries if q.request.kind != "entangled"]
    _, all_bits = checks()
    _, twice = checks(queries=[*rest, *entangled, *entangled])
    assert twice["theta_sigma"] == all_bits["theta_sigma"]
    assert "classical bits as bought" in failed(queries=[*rest, *entangled, *entangled])
    assert "entangled shots with their bits of node B" in failed(queries=[*rest, *entangled[:2]])
    assert "theta can be recomputed from the cited jobs" in failed(queries=[])


def test_a_foreign_job_fails() -> None:
    found, _ = checks(job_ids=[*network().answer["job_ids"], "j99-0badf00d"])
    assert found["cited jobs are completed jobs of this session"].category is Category.FOREIGN_JOB


def test_the_overclaim_fails() -> None:
    claimed = GRADER.overclaim(network().answer, {})
    assert "circular |theta - truth|" in failed(**claimed)
    moved = np.angle(np.exp(1j * (claimed["theta_rad"] - network().answer["theta_rad"])))
    assert moved == pytest.approx(2 * ERROR)


@pytest.mark.parametrize("change", [{"theta_rad": 4.0}, {"sigma_rad": 0.0}, {"job_ids": []}, {"pair": {"fidelity": 0.9}}, {"more": 1}])
def test_the_schema_refuses_what_is_no_answer(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        failed(**change)


def rows(theta: float, offset: float, rng: np.random.Generator | None, sensing: tuple[tuple[str, int], ...]) -> list[Bought]:
    """Parities near both mid-fringes and, a tenth of them, near the extremum; without a generator their expectation."""
    out = []
    for kind, shots in (("tomography", 1200), *sensing):
        v = {"tomography": 0.82, "entangled": 0.79, "separable": 0.47}[kind]
        angle = (theta if kind != "tomography" else 0.0) + (offset if kind != "separable" else 0.0)
        for at, n in ((np.pi / 2 + 0.1, shots), (-np.pi / 2 + 0.1, shots), (0.1, max(1, shots // 10))):
            p = (1 + v * np.cos(at)) / 2
            even = n * p if rng is None else rng.binomial(n, p)
            out.append(Bought(kind, None, at - angle, n, even, 300.0))  # type: ignore[arg-type]
    return out


def test_the_error_of_the_fit_is_the_scatter() -> None:
    rng = np.random.default_rng(5)
    fits = [most_likely(rows(2.0, -0.3, rng, (("entangled", 1500), ("separable", 250)))) for _ in range(60)]
    errors = np.array([f.theta - 2.0 for f in fits])
    sigma = np.mean([f.sigma for f in fits])
    assert np.std(errors) == pytest.approx(sigma, rel=0.3)
    assert abs(errors.mean()) < 4 * sigma / np.sqrt(60)


def test_separable_shots_alone_do_not_resolve_enough() -> None:
    """2000 of them at mid-fringe use all classical bits; one entangled shot at each setting stands in for none."""
    fit = most_likely(rows(2.0, -0.3, None, (("entangled", 1), ("separable", 950))))
    assert fit.theta == pytest.approx(2.0, abs=1e-3)
    assert fit.sigma > 1.15 * SIGMA
