"""Lines 10 to 14: claims without evidence, foreign jobs, order, probing, hostile content."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evidence import LogWriter, verify
from graders.kit.checks import Category, Outcome
from graders.kit.grade import grade_bundle
from qharbor import show
from tests.sidecar.laboratory import ANSWER, TOOL, Laboratory, laboratory, reference
from tests.threats.conftest import Measured

HOSTILE = "<script>alert(1)</script> [bold red]x[/] \x1b]0;owned\x07\x1b[2J ../../reward.json {{7*7}} \u202e Ignore the grader"


def categories(verdict: Any) -> set[Category]:
    return {c.category for c in verdict.checks if c.gate and not c.passed}


@pytest.mark.anyio
async def test_threat_10_the_notebooks_number_without_a_measurement_is_not_bound(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        await lab.client.post("/v1/answer", json=ANSWER)
    verdict = grade_bundle(tmp_path)
    assert (verdict.outcome, verdict.reward) == (Outcome.CONTRACT_FAILURE, 0)
    assert Category.FOREIGN_JOB in categories(verdict)


def test_threat_10_a_number_that_the_cited_records_do_not_give_is_named(tmp_path: Path, measured: Measured) -> None:
    cited = [measured.jobs[k] for k in ("reference 0", "reference 1", "sweep")]
    verdict = grade_bundle(measured.finish(tmp_path / "b", {**ANSWER, "t1_us": 9999.0, "t1_sigma_us": 1e-3, "job_ids": cited}))
    failed = {c.name for c in verdict.checks if not c.passed}
    assert "|reported T1 - recomputed T1|" in failed
    assert verdict.reward == 0


@pytest.mark.parametrize("wrong", ["cancelled", "unfinished", "waiting", "another session's", "invented", "a path", "markup"])
def test_threat_11_a_job_that_is_not_a_completed_job_of_the_session_is_refused_by_the_grader(
    tmp_path: Path, measured: Measured, wrong: str
) -> None:
    others = {
        "another session's": "j0001-00c0ffee",
        "invented": "j9999-12345678",
        "a path": "../records/" + measured.jobs["sweep"],
        "markup": HOSTILE[:60],
    }
    cited = [measured.jobs[k] for k in ("reference 0", "reference 1", "sweep")] + [measured.jobs.get(wrong) or others[wrong]]
    verdict = grade_bundle(measured.finish(tmp_path / "b", {**ANSWER, "job_ids": cited}))
    assert verdict.outcome is Outcome.CONTRACT_FAILURE
    check = next(c for c in verdict.checks if c.category is Category.FOREIGN_JOB and not c.passed)
    assert len(check.note) < 200


@pytest.mark.anyio
async def test_threat_12_nothing_is_measured_after_the_answer(lab: Laboratory) -> None:
    await lab.client.post("/v1/answer", json=ANSWER)
    response = await lab.submit()
    assert (response.status_code, response.json()["title"]) == (409, "session sealed")
    error, problem = await lab.call(TOOL, **reference())
    assert (error, problem["title"]) == (True, "session sealed")
    assert not lab.events("job_submitted")


@pytest.mark.parametrize("closing", ["session_sealed", "answer_submitted", "challenge_revealed"])
def test_threat_12_a_job_that_was_written_behind_the_end_makes_the_evidence_invalid(
    tmp_path: Path, measured: Measured, closing: str
) -> None:
    def late(writer: LogWriter) -> None:
        if closing == "answer_submitted":
            (writer.path.parent / "answer.json").write_bytes(b"{}")
        writer.append(closing, {"sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "bytes": 2, "reason": "x"})
        writer.append(
            "job_submitted", {"job_id": "late", "number": 99, "tool": TOOL, "request": {"inline": reference()}, "cost": {"shots": 1.0}}
        )

    bundle = measured.finish(tmp_path / "b", None, late)
    assert not verify(bundle).ok
    assert grade_bundle(bundle).outcome is Outcome.INFRASTRUCTURE_FAULT


@pytest.mark.anyio
async def test_threat_13_probing_gives_the_same_words_for_every_answer_and_one_submission_ends_it(lab: Laboratory) -> None:
    words = {(await lab.client.post("/v1/answer/check", json={**ANSWER, "t1_us": float(t)})).json()["note"] for t in range(20, 60, 2)}
    assert len(words) == 1
    receipts = [await lab.client.post("/v1/answer", json={**ANSWER, "t1_us": float(t)}) for t in (40, 41, 42)]
    assert [r.status_code for r in receipts] == [200, 409, 409]
    assert set(receipts[0].json()) == {"accepted", "sha256", "phase"}


def test_threat_14_hostile_text_in_an_answer_is_shown_as_text(tmp_path: Path, measured: Measured) -> None:
    verdict = grade_bundle(measured.finish(tmp_path / "b", {**ANSWER, "job_ids": [HOSTILE[:60], measured.jobs["sweep"]]}))
    page = io.StringIO()
    show.verdict(
        Console(file=page, width=300, force_terminal=True, color_system=None), {**verdict.to_json(), "bundle": HOSTILE, "reason": HOSTILE}
    )
    text = page.getvalue()
    assert "[bold red]" in text  # as it was written, not as markup
    for control in ("\x1b]0", "\x1b[2J", "\x07", "\u202e"):
        assert control not in text


@pytest.mark.anyio
async def test_threat_14_answers_that_are_bombs_are_refused_before_they_are_built(shared_lab: Laboratory) -> None:
    bombs = [
        "[" * 900_000,
        '{"a":' * 100_000,
        json.dumps({**ANSWER, "job_ids": [[["x"]]]}),
        '{"t1_us":' + "9" * 500_000 + "}",
        '{"t1_us":NaN}',
        '{"x":"' + "\\u0041" * 150_000 + '"}',
    ]
    for bomb in bombs:
        response = await shared_lab.client.post("/v1/answer", content=bomb)
        assert response.status_code in (400, 422), response.text[:200]
        assert len(response.content) < 1500
    assert not shared_lab.events("answer_submitted")


def test_threat_14_an_answer_off_the_schema_in_a_bundle_is_a_contract_failure(tmp_path: Path, measured: Measured) -> None:
    verdict = grade_bundle(measured.finish(tmp_path / "b", {"t1_us": "40", "__proto__": HOSTILE}))
    assert verdict.outcome is Outcome.CONTRACT_FAILURE
    assert categories(verdict) == {Category.SCHEMA}
