"""The embedded way: sidecar and agent as two local processes, a verdict, and the same verdict again."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import graders
import tasks
from evidence import Bundle, verify
from graders.kit.checks import Outcome
from graders.kit.grade import grade_bundle
from qharbor import embedded
from qharbor.cli import app

TASK = "transmon_t1"
AGENT = """
import json, os, sys, urllib.request
url = os.environ["LAB_URL"]
assert not [k for k in os.environ if k.startswith("QHARBOR_")], "hidden environment"
assert os.path.exists("instruction.md") and os.environ["HOME"] == os.getcwd()
def post(path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=60))
job = post("/v1/experiments/run_iq_reference", {"prepare": 0, "shots": 50, "rep_period_us": 250.0})["job_id"]
while json.load(urllib.request.urlopen(f"{url}/v1/jobs/{job}/wait?timeout_s=30", timeout=60))["status"] in ("queued", "running"):
    pass
print("measured", job, flush=True)
post("/v1/answer", {"t1_us": 40.0, "t1_sigma_us": 1.0, "excited_floor": 0.1, "job_ids": [job]})
sys.exit(7)
"""


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> embedded.Trial:
    """One run of a command agent that measures once and answers."""
    return embedded.run(TASK, command=[sys.executable, "-c", AGENT], out=tmp_path_factory.mktemp("trial"), seed=3)


def test_a_command_agent_sees_the_address_and_nothing_hidden_and_its_answer_is_graded(trial: embedded.Trial) -> None:
    assert trial.agent_status == 7
    assert trial.verdict.outcome is Outcome.CONTRACT_FAILURE
    assert trial.verdict.reproducible
    log = (trial.bundle.parent / "agent" / "agent.log").read_text()
    assert log.startswith("measured j0001-")
    assert (trial.bundle.parent / "agent" / "instruction.md").read_text() == tasks.load(TASK).instruction()
    report = verify(trial.bundle)
    assert report.ok, report.problem
    assert report.sealed


def test_a_verdict_is_the_same_bit_for_bit_when_it_is_given_again_and_elsewhere(trial: embedded.Trial, tmp_path: Path) -> None:
    first = (trial.bundle / "score.json").read_bytes()
    assert grade_bundle(trial.bundle).to_json() == trial.verdict.to_json()
    assert (trial.bundle / "score.json").read_bytes() == first
    moved = shutil.copytree(trial.bundle, tmp_path / "elsewhere")
    (moved / "score.json").unlink()
    result = CliRunner().invoke(app, ["grade", str(moved), "--json"])
    assert result.exit_code == 0, result.output
    assert (moved / "score.json").read_bytes() == first
    assert {k: v for k, v in json.loads(result.stdout).items() if k != "bundle"} == json.loads(first)


def test_no_agent_is_no_submission(tmp_path: Path) -> None:
    result = embedded.run(TASK, "nop", out=tmp_path, seed=3)
    assert (result.verdict.outcome, result.verdict.reward, result.agent_status) == (Outcome.NO_SUBMISSION, 0, None)
    assert [e.kind for e in Bundle(result.bundle).events()] == ["session_opened", "session_sealed"]
    with pytest.raises(embedded.RunError, match="already holds a session"):
        embedded.run(TASK, "nop", out=tmp_path)


HANGING = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
while True:
    os.write(1, b"x" * 65536)
"""


def test_an_agent_is_stopped_with_its_children_at_the_time_limit_though_it_prints_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "AGENT_LOG_BYTES", 1_000_000)
    begun = time.monotonic()
    status = embedded._run_agent([sys.executable, "-c", HANGING], dict(os.environ), tmp_path, 2.0, None)
    assert time.monotonic() - begun < 30
    assert status == -9
    log = tmp_path / "agent.log"
    assert log.stat().st_size < 1_200_000
    child = int(log.read_bytes().split(b"\n", 1)[0])
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}/stat").exists() and Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_time_limit_of_zero_is_a_time_limit(tmp_path: Path) -> None:
    assert embedded._run_agent([sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ), tmp_path, 0.0, None) == -9


@pytest.mark.parametrize("command", [["/no/such/agent"], ["/etc/passwd"]])
def test_a_command_that_cannot_be_run_is_said_so(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(embedded.RunError, match="cannot be run"):
        embedded._run_agent(command, dict(os.environ), tmp_path, 1.0, None)


def test_an_unknown_agent_or_task_is_an_error_that_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(embedded.RunError, match="reference, trap, nop"):
        embedded.run(TASK, "genius", out=tmp_path)
    result = CliRunner().invoke(app, ["run", "no_such_task", "--json"])
    assert result.exit_code == 2
    assert TASK in result.output
    assert "Traceback" not in result.output


def test_a_sidecar_that_does_not_start_says_where_its_log_is(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "log.jsonl").write_bytes(b"garbage\n")
    with pytest.raises(embedded.RunError, match=r"sidecar\.log"), embedded.local_sidecar(TASK, bundle):
        pass


# -- the command line ----------------------------------------------------------------------------------------------------------


def invoke(*arguments: str) -> tuple[int, Any]:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


def test_lists_are_json(trial: embedded.Trial) -> None:
    status, cards = invoke("list", "tasks", "--json")
    assert status == 0
    assert [c["name"] for c in cards] == list(tasks.names())
    card = next(c for c in cards if c["name"] == TASK)
    assert set(card) >= {"name", "index", "title", "version", "category", "mode", "qtype", "layers", "budget"}
    status, found = invoke("list", "qtypes", "--json")
    assert status == 0
    assert "run_iq_reference" in next(q["experiments"] for q in found if q["name"] == "transmon_pulse")


def test_run_prints_the_trial_as_json_and_saves_it(tmp_path: Path) -> None:
    status, result = invoke("run", TASK, "--agent", "nop", "--seed", "3", "--out", str(tmp_path), "--json")
    assert status == 0
    assert (result["task"], result["outcome"], result["reward"], result["reproducible"]) == (TASK, "no_submission", 0, True)
    assert set(result) >= {"checks", "race_metric", "instance", "reason", "quantities", "agent_status", "bundle", "wall_s"}
    assert json.loads((tmp_path / "trial.json").read_text()) == result


def test_evidence_that_holds_exits_with_zero_and_one_that_does_not_with_one(trial: embedded.Trial, tmp_path: Path) -> None:
    status, report = invoke("evidence", "verify", str(trial.bundle), "--json")
    assert (status, report["ok"], report["sealed"], report["jobs"], report["records"], report["torn_bytes"]) == (0, True, True, 1, 1, 0)
    assert report["budget"]["shots"] == {"used": 50.0, "limit": 40000.0, "left": 39950.0}
    broken = shutil.copytree(trial.bundle, tmp_path / "broken")
    record = next((broken / "records").glob("*.npz"))
    record.write_bytes(record.read_bytes()[:-1])
    status, report = invoke("evidence", "verify", str(broken), "--json")
    assert (status, report["ok"]) == (1, False)
    assert report["seq"] == next(e.seq for e in Bundle(trial.bundle).events() if e.kind == "job_completed")
    human = CliRunner().invoke(app, ["evidence", "verify", str(broken)])
    assert (human.exit_code, "does not hold at event" in human.output) == (1, True)
    assert CliRunner().invoke(app, ["evidence", "verify", str(tmp_path / "none")]).exit_code == 1


def test_grading_broken_evidence_is_a_fault_with_its_own_exit_status(trial: embedded.Trial, tmp_path: Path) -> None:
    broken = shutil.copytree(trial.bundle, tmp_path / "broken")
    (broken / "answer.json").write_text("{}")
    status, result = invoke("grade", str(broken), "--json")
    assert (status, result["outcome"], result["reward"]) == (3, "infrastructure_fault", 0)
    status, result = invoke("grade", str(trial.bundle), "--json", "--nonce", "0" * 64)
    assert (status, result["outcome"]) == (3, "infrastructure_fault")
    grade_bundle(trial.bundle)
    assert CliRunner().invoke(app, ["grade", str(tmp_path / "none")]).exit_code == 2


def test_a_grader_that_fails_or_gives_no_finite_number_is_a_fault_and_not_a_crash(
    trial: embedded.Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(trial.bundle, tmp_path / "copy")
    grader = graders.load(TASK)
    monkeypatch.setattr(type(grader), "recompute", lambda self, session: {"x": float("nan")})
    assert grade_bundle(copy).reason == "the grader failed: ValueError"

    def fail(self: Any, session: Any) -> Any:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(grader), "recompute", fail)
    verdict = grade_bundle(copy)
    assert (verdict.outcome, verdict.reason) == (Outcome.INFRASTRUCTURE_FAULT, "the grader failed: RuntimeError")
