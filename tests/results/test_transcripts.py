"""Transcripts without a bundle: claims against calls, graded as far as the evidence goes, never attested. With one: what differs."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from qharbor.cli import app
from results.audit import Origin
from results.find import find
from results.grading import grade_trial
from results.model import Graded, Kind, Outcome, Pattern
from results.transcripts import TranscriptError, read, result_of, tool_of
from tests.results.conftest import Made, lines, trajectory
from tests.results.test_grading import harbor

Copy = Callable[..., Path]


def graded(path: Path) -> Graded:
    return grade_trial(find([path])[0])


def answered(made: Made, answer: Any) -> Made:
    """The same calls with another answer at the end, or none."""
    calls = [c for c in made.calls if c["tool"] not in ("submit_answer", "check_answer")]
    if answer is not None:
        calls.append({"tool": "submit_answer", "arguments": {"answer": answer}, "result": {"accepted": True}})
    return Made(made.bundle, calls)


@pytest.mark.parametrize("name, result", [
    ("mcp__lab__run_ramsey", "run_ramsey"), ("lab.run_ramsey", "run_ramsey"), ("lab/run_ramsey", "run_ramsey"),
    ("run_ramsey", "run_ramsey"),
])  # fmt: skip
def test_a_tool_has_its_own_name_whatever_the_harness_puts_before_it(name: str, result: str) -> None:
    assert tool_of(name) == result


def test_results_are_taken_out_of_their_wrappings() -> None:
    inner = {"job_id": "j1", "status": "queued"}
    parts = [{"type": "text", "text": json.dumps(inner)}]
    wrapped = {"content": parts, "isError": False}
    assert result_of(wrapped) == result_of(json.dumps(wrapped)) == result_of(parts) == (inner, False)
    problem = {"status": 409, "title": "budget exhausted", "detail": "no"}
    assert result_of({"content": [{"type": "text", "text": json.dumps(problem)}], "isError": True}) == (problem, True)
    assert result_of(problem)[1]
    assert result_of("plain text") == ("plain text", False)


def test_the_same_calls_are_read_from_atif_from_jsonl_and_from_json_rpc(reference: Made, tmp_path: Path) -> None:
    atif, plain = read(trajectory(reference, tmp_path / "trajectory.json")), read(lines(reference, tmp_path / "calls.jsonl"))
    rpc = tmp_path / "rpc.jsonl"
    with rpc.open("w") as f:
        for k, c in enumerate(reference.calls):
            asked = {"name": c["tool"], "arguments": c["arguments"]}
            given = {"content": [{"type": "text", "text": json.dumps(c["result"])}]}
            f.write(json.dumps({"jsonrpc": "2.0", "id": k, "method": "tools/call", "params": asked}) + "\n")
            f.write(json.dumps({"jsonrpc": "2.0", "id": k, "result": given}) + "\n")
    assert atif.calls == plain.calls == read(rpc).calls
    assert (atif.agent, atif.model, atif.task, dict(atif.usage)) == (
        "scripted", "m-1", "readout_confusion", {"input_tokens": 1200.0, "cost_usd": 0.25}
    )  # fmt: skip
    assert atif.answer == reference.answer


@pytest.mark.parametrize("text", ["", "{", "[]\n", '{"a": 1}\n', "\xff"])
def test_a_file_that_is_no_transcript_says_why_and_is_a_fault(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(TranscriptError, match=r"calls\.jsonl"):
        read(path)
    found = graded(path)
    assert (found.outcome, found.attested) == (Outcome.INFRASTRUCTURE_FAULT, False)


def test_a_right_answer_with_its_records_is_bound_and_yet_gets_no_pass(reference: Made, tmp_path: Path) -> None:
    found = graded(trajectory(reference, tmp_path / "trajectory.json"))
    assert found.trial.kind is Kind.TRANSCRIPT
    assert (found.attested, found.counts, found.verdict["reward"]) == (False, False, 0)
    assert found.outcome is not Outcome.PASS
    assert found.verdict["reason"].startswith("unattested")
    bound = {c["name"]: c for c in found.checks}
    assert bound["cited jobs are completed jobs of this session"]["passed"]
    assert all(c["passed"] for c in found.checks if c["gate"])
    assert "not scored: the truth of the device is sealed in the bundle" in found.evidence


def test_an_answer_on_jobs_that_no_call_shows_fails_its_contract(reference: Made, tmp_path: Path) -> None:
    text = json.dumps(reference.answer)
    first = next(c["result"]["job_id"] for c in reference.calls if c["tool"].startswith("run_"))
    found = graded(lines(answered(reference, json.loads(text.replace(first, "j9999-00000000"))), tmp_path / "calls.jsonl"))
    assert found.outcome is Outcome.CONTRACT_FAILURE
    assert any("j9999-00000000" in line for line in found.evidence)


def test_numbers_are_traced_to_where_they_were_shown(relaxation: Made, tmp_path: Path) -> None:
    shown = copy.deepcopy(relaxation.calls)
    (book,) = [c["result"]["entries"] for c in shown if c["tool"] == "read_notebook"]
    entry = next(e["data"] for e in book if "t1_us" in (e["data"] or {}))
    old = entry["t1_us"] = 87.4  # a drawn one may end in a zero, and a number of two digits cannot be traced
    shell = {"tool": "bash", "arguments": {"command": "python fit.py"}, "result": "floor 0.08123 after the fit"}
    answer = relaxation.answer | {"t1_us": old, "t1_sigma_us": 0.73219, "excited_floor": 0.0812}
    calls = [c for c in shown if c["tool"] not in ("submit_answer", "check_answer")]
    found = graded(lines(answered(Made(relaxation.bundle, [*calls, shell]), answer), tmp_path / "calls.jsonl"))
    origins = {a["claim"]: a["origin"] for a in found.audit}
    assert origins == {"t1_us": Origin.NOTEBOOK, "t1_sigma_us": Origin.NOWHERE, "excited_floor": Origin.COMPUTED}
    assert found.pattern is Pattern.STALE_PRIOR
    assert any(line.startswith("not bound: the hidden parameters") for line in found.evidence)
    told = next(c for c in found.checks if c["name"].startswith("numbers of the answer"))
    assert (told["gate"], told["passed"], told["value"], told["threshold"]) == (False, False, 1, 3)


def test_an_answer_that_was_checked_and_never_submitted_is_a_result_in_hand(relaxation: Made, tmp_path: Path) -> None:
    calls = [c for c in relaxation.calls if c["tool"] != "submit_answer"]
    found = graded(lines(Made(relaxation.bundle, calls), tmp_path / "calls.jsonl"))
    assert (found.outcome, found.pattern) == (Outcome.NO_SUBMISSION, Pattern.RESULT_IN_HAND)


def test_an_answer_that_breaks_its_schema_and_hostile_content_are_judged_not_raised(relaxation: Made, tmp_path: Path) -> None:
    found = graded(lines(answered(relaxation, {"t1_us": "\x1b[2J", "deep": [[[[[[]]]]]]}), tmp_path / "calls.jsonl"))
    assert found.outcome is Outcome.CONTRACT_FAILURE
    calls: list[dict[str, Any]] = [*relaxation.calls]
    odd_result = {"job_id": {"x": 1}, "status": "completed", "lab_start_s": "soon", "record": {"inline": {"iq": "no"}}}
    calls[2] = {**calls[2], "result": odd_result}
    odd = graded(lines(Made(relaxation.bundle, calls), tmp_path / "odd.jsonl"))
    assert not odd.attested
    nested = '{"tool": "bash", "arguments": {}, "result": ' + "[" * 5000 + "]" * 5000 + "}\n"
    (tmp_path / "nested.jsonl").write_text(nested)
    assert graded(tmp_path / "nested.jsonl").outcome is Outcome.INFRASTRUCTURE_FAULT


def test_where_bundle_and_transcript_agree_there_is_no_difference(copy: Copy, reference: Made, tmp_path: Path) -> None:
    trial = harbor(tmp_path / "jobs" / "j" / "a", reference.bundle)
    trajectory(reference, trial / "agent" / "trajectory.json")
    found = graded(trial)
    assert (found.outcome, found.attested, found.differences) == (Outcome.PASS, True, ())


def test_differences_between_bundle_and_transcript_are_named_and_the_bundle_decides(reference: Made, tmp_path: Path) -> None:
    trial = harbor(tmp_path / "jobs" / "j" / "a", reference.bundle)
    calls = [json.loads(json.dumps(c)) for c in reference.calls]
    runs = [c for c in calls if c["tool"].startswith("run_")]
    changed, invented = runs[0]["result"]["job_id"], "j0999-deadbeef"
    runs[0]["arguments"]["shots"] += 1
    runs[0]["result"]["record"]["sha256"] = "0" * 64
    runs[1]["result"]["job_id"] = invented
    calls[-1]["arguments"]["answer"]["job_ids"] = []
    trajectory(Made(reference.bundle, calls), trial / "agent" / "trajectory.json")
    found = graded(trial)
    said = "\n".join(found.differences)
    assert found.outcome is Outcome.PASS
    assert f"the request of {changed} is another than the logged one" in said
    assert f"the record of {changed} that is shown is another than the logged one" in said
    assert f"job {invented} is shown and not in the log" in said
    assert "1 of" in said
    assert "the answer shown is another than the logged one" in said


def test_the_console_says_unattested_and_lists_each_number(relaxation: Made, tmp_path: Path) -> None:
    path = lines(answered(relaxation, relaxation.answer | {"t1_sigma_us": 0.73219}), tmp_path / "calls.jsonl")
    shown = CliRunner().invoke(app, ["grade", str(path)])
    assert "unattested" in shown.output
    assert "t1_sigma_us = 0.73219: not measured" in shown.output
