"""Sessions of a stabilizer task: one circuit has one score on every way to it, attempts are counted, verified work is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graders.kit.checks import Outcome
from graders.kit.grade import grade_bundle
from qharbor.stabilizer import scores
from sidecar.seal import seal
from tests.graders.in_process import solution
from tests.sidecar.laboratory import laboratory

pytestmark = pytest.mark.anyio
CODE = "shor"
ORACLES = {"b1": "check_stabilizers", "b2": "evaluate_optimization", "b3": "check_fault_tolerance"}


def graph_state(generators: list[str]) -> str:
    with solution("stabilizer_preparation", "solve_code") as modules:
        return str(modules["solve_code"].solve({"generators": generators}))


async def asked(lab: Any, tool: str, circuit: str) -> dict[str, Any]:
    answer = await lab.client.post(f"/v1/queries/{tool}", json={"circuit": circuit})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return dict(body.get("result", body))


@pytest.mark.parametrize("short", ["b1", "b2", "b3"])
async def test_rest_mcp_grader_and_offline_scoring_give_a_circuit_the_same_score(short: str, tmp_path: Path) -> None:
    async with laboratory(tmp_path / "bundle", f"{short}_{CODE}") as lab:
        spec = (await lab.client.get("/v1/spec")).json()["spec"]
        assert (spec["code"], spec["task"][0]) == (CODE, {"b1": "p", "b2": "o", "b3": "f"}[short])
        circuit = graph_state(spec["generators"])
        rest = await asked(lab, ORACLES[short], circuit)
        failed, mcp = await lab.call(ORACLES[short], circuit=circuit)
        assert not failed
        mcp = mcp.get("result", mcp)
        answer = await lab.client.post("/v1/answer", json={"circuit_sha256": rest["sha256"]})
        assert answer.status_code == 200, answer.text
    verdict = grade_bundle(tmp_path / "bundle")
    offline = scores.judged(short, CODE, circuit)
    assert not isinstance(offline, str)
    for name in ("published", "corrected"):
        mark = getattr(offline, name)
        marks = [{k: found[name][k] for k in ("success", "quality", "weight", "score")} for found in (rest, mcp, verdict.quantities)]
        assert marks == [{"success": mark.success, "quality": mark.quality, "weight": mark.weight, "score": mark.score}] * 3
    assert rest == mcp
    assert verdict.quantities["attempts"] == 2
    assert verdict.reward == int(offline.corrected.success)  # type: ignore[union-attr]


async def test_attempts_over_the_budget_are_refused_and_refusals_cost_none(tmp_path: Path) -> None:
    async with laboratory(tmp_path / "bundle", f"b1_{CODE}") as lab:
        for _ in range(3):
            refused = await lab.client.post("/v1/queries/check_stabilizers", json={"circuit": "M 0"})
            assert refused.json()["title"] == "invalid circuit"
        for k in range(10):
            await asked(lab, "check_stabilizers", f"H {k % 9}\n" + "X 0\n" * k)
        over = await lab.client.post("/v1/queries/check_stabilizers", json={"circuit": "H 0"})
        assert (over.status_code, over.json()["title"]) == (409, "budget exhausted")
        failed, problem = await lab.call("evaluate_optimization", circuit="H 0")
        assert failed
        assert "budget" in str(problem)
        assert (await lab.used())["attempts"] == 10
    seal(tmp_path / "bundle")
    assert grade_bundle(tmp_path / "bundle").quantities["attempts"] == 10


async def test_a_session_that_ends_without_an_answer_keeps_its_best_verified_candidate(tmp_path: Path) -> None:
    async with laboratory(tmp_path / "bundle", f"b2_{CODE}") as lab:
        spec = (await lab.client.get("/v1/spec")).json()["spec"]
        good = await asked(lab, "evaluate_optimization", graph_state(spec["generators"]))
        await asked(lab, "evaluate_optimization", spec["baseline"])
        await asked(lab, "evaluate_optimization", "H 0\n")
    seal(tmp_path / "bundle")
    verdict = grade_bundle(tmp_path / "bundle")
    assert (verdict.outcome, verdict.reward, verdict.reason) == (Outcome.PASS, 1, "no answer was submitted")
    assert verdict.quantities["published"]["circuit_sha256"] == good["sha256"]
    assert verdict.quantities["published"]["score"] == good["published"]["score"] > 0


async def test_a_session_that_verified_nothing_has_nothing_to_keep(tmp_path: Path) -> None:
    async with laboratory(tmp_path / "bundle", f"b2_{CODE}") as lab:
        await asked(lab, "evaluate_optimization", "H 0\n")
    seal(tmp_path / "bundle")
    verdict = grade_bundle(tmp_path / "bundle")
    assert (verdict.outcome, verdict.reward, verdict.reason) == (Outcome.NO_SUBMISSION, 0, "no answer was submitted")
    assert verdict.quantities["attempts"] == 1
