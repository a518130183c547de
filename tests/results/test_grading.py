"""Verdicts from disk: equal to the session's, kept by digest, the same with any number of workers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import distributed
import pytest
from typer.testing import CliRunner

from evidence import LOG_NAME, SCORE
from graders.kit.grade import grade_bundle
from qharbor.cli import app
from results import cluster, grading
from results.find import NothingThere, find, saved
from results.fingerprint import bundle_digest
from results.model import Graded, Kind, Outcome
from tests.results.conftest import Made, trajectory

Copy = Callable[..., Path]


def harbor(folder: Path, bundle: Path | None, task: str = "readout_confusion", agent: str = "claude-code", **more: Any) -> Path:
    """A trial as Harbor leaves it."""
    folder.mkdir(parents=True)
    if bundle is not None:
        shutil.copytree(bundle, folder / "artifacts" / "evidence")
    record = {
        "task_name": f"quantum-harbor/{task}", "trial_name": folder.name, "config": {"agent": {"name": agent, "env": {"KEY": "secret"}}},
        "agent_info": {"name": agent, "version": "2", "model_info": {"name": "m-1", "provider": "p"}},
        "verifier_result": {"rewards": {"reward": 1}}, "agent_result": {"n_input_tokens": 10, "cost_usd": 0.5},
        "agent_execution": {"started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:01:30Z"}, **more,
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(record))
    return folder


def test_the_verdict_of_a_bundle_is_the_sessions_bit_for_bit_and_nothing_is_written_into_it(copy: Copy, reference: Made) -> None:
    bundle = copy(reference)
    told = grade_bundle(bundle).to_json()
    before = {p: p.stat().st_mtime_ns for p in bundle.rglob("*")}
    (trial,) = find([bundle])
    graded = grading.grade_trial(trial)
    assert json.dumps(graded.verdict) == json.dumps(told)
    assert graded.verdict == json.loads((bundle / SCORE).read_text())
    assert (graded.outcome, graded.attested, graded.counts, graded.differences) == (Outcome.PASS, True, True, ())
    assert {p: p.stat().st_mtime_ns for p in bundle.rglob("*")} == before
    assert graded.budget["jobs"]["used"] > 0
    assert Graded.from_json(json.loads(json.dumps(graded.to_json()))) == graded


def test_a_verdict_that_was_changed_beside_the_evidence_is_reported_and_not_believed(copy: Copy, trap: Made) -> None:
    bundle = copy(trap)
    verdict = grade_bundle(bundle).to_json()
    (bundle / SCORE).write_text(json.dumps(verdict | {"outcome": "pass", "reward": 1}))
    graded = grading.grade_trial(find([bundle])[0])
    assert graded.outcome is Outcome.CONTRACT_FAILURE
    assert any(line.startswith("outcome: the session's verdict says pass") for line in graded.differences)


def test_a_kept_verdict_is_used_only_for_the_same_evidence_and_the_same_code(
    copy: Copy, reference: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, cache = copy(reference), tmp_path / "kept"
    first = grading.grade_trial(find([bundle])[0], cache)
    calls: list[Path] = []

    def counted(folder: Path, **more: Any) -> Any:
        calls.append(folder)
        return grade_bundle(folder, **more)

    monkeypatch.setattr(grading, "grade_bundle", counted)
    again = grading.grade_trial(find([bundle])[0], cache)
    assert (again.verdict, again.digest, calls) == (first.verdict, first.digest, [])
    assert bundle_digest(bundle) == first.digest
    record = next((bundle / "records").glob("*.npz"))
    data = bytearray(record.read_bytes())
    data[-1] ^= 1
    record.unlink()  # it may be a second name of another session's
    record.write_bytes(data)
    assert grading.grade_trial(find([bundle])[0], cache).outcome is Outcome.INFRASTRUCTURE_FAULT
    assert len(calls) == 1
    monkeypatch.setattr(grading, "code_digest", lambda task: "f" * 64)
    assert grading.grade_trial(find([copy(reference)])[0], cache).outcome is Outcome.PASS
    assert len(calls) == 2


def test_jobs_folders_of_harbor_are_found_with_system_task_repeat_and_costs(
    copy: Copy, reference: Made, trap: Made, tmp_path: Path
) -> None:
    jobs = tmp_path / "jobs"
    harbor(jobs / "job-1" / "readout_confusion__abc", copy(reference))
    harbor(jobs / "job-1" / "readout_confusion__def", copy(trap))
    harbor(jobs / "job-2" / "readout_confusion__ghi", copy(trap), agent="codex")
    (jobs / "job-1" / "result.json").write_text(json.dumps({"n_total_trials": 2, "stats": {}}))
    harbor(jobs / "job-2" / "transmon_t1__x", None, task="transmon_t1", agent="codex", verifier_result=None,
           exception_info={"exception_type": "EnvironmentStartTimeoutError", "exception_message": "slow"})  # fmt: skip
    trials = find([jobs, jobs / "job-1"])
    assert [(t.system, t.task, t.repeat, t.job) for t in trials] == [
        ("claude-code/m-1", "readout_confusion", 0, "job-1"), ("claude-code/m-1", "readout_confusion", 1, "job-1"),
        ("codex/m-1", "readout_confusion", 0, "job-2"), ("codex/m-1", "transmon_t1", 0, "job-2"),
    ]  # fmt: skip
    assert "secret" not in json.dumps([t.to_json() for t in trials])
    campaign = grading.grade_all(trials)
    assert [g.outcome.value for g in campaign] == ["pass", "contract_failure", "contract_failure", "infrastructure_fault"]
    assert campaign.trials[0].usage == {"input_tokens": 10.0, "cost_usd": 0.5, "wall_s": 90.0}
    assert "EnvironmentStartTimeoutError" in campaign.trials[3].verdict["reason"]
    assert campaign.quarantined == (campaign.trials[3],)
    (one,) = find([jobs / "job-1" / "readout_confusion__abc"])
    assert one.kind is Kind.HARBOR


def test_no_answer_counts_where_harbor_has_a_reward_and_is_a_fault_where_the_trial_broke(
    copy: Copy, reference: Made, tmp_path: Path
) -> None:
    harbor(tmp_path / "jobs" / "j" / "a", copy(reference, None))
    broken = {"exception_type": "AgentSetupTimeoutError", "exception_message": "no agent"}
    harbor(tmp_path / "jobs" / "j" / "b", copy(reference, None), verifier_result=None, exception_info=broken)
    a, b = grading.grade_all(find([tmp_path / "jobs"]))
    assert (a.outcome, b.outcome) == (Outcome.NO_SUBMISSION, Outcome.INFRASTRUCTURE_FAULT)
    assert "AgentSetupTimeoutError" in b.verdict["reason"]


def test_two_workers_give_the_verdicts_of_one_and_a_process_that_dies_takes_only_its_own_trial(
    copy: Copy, reference: Made, trap: Made, tmp_path: Path
) -> None:
    for made in (reference, trap):
        shutil.move(copy(made), tmp_path / "all" / made.bundle.parent.name.rstrip("0"))
    trials = find([tmp_path / "all"])
    one = grading.grade_all(trials)
    two = grading.grade_all(trials, workers=2)
    assert [g.verdict for g in one] == [g.verdict for g in two]
    assert [g.evidence for g in one] == [g.evidence for g in two]


def test_a_process_that_dies_is_a_fault_of_that_trial(reference: Made, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "grade_trial", _dies)
    graded = grading._alone(find([copy(reference)])[0], None)
    assert "died" in graded.verdict["reason"]
    assert not graded.counts


def _dies(trial: Any, cache: Any) -> None:
    os._exit(9)


def test_what_holds_no_trial_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingThere, match="does not exist"):
        find([tmp_path / "none"])
    with pytest.raises(NothingThere, match=r"log\.jsonl"):
        find([tmp_path / "empty"])
    (tmp_path / "notes.json").write_text("[]")
    with pytest.raises(NothingThere, match="ATIF"):
        find([tmp_path / "notes.json"])


def test_a_trajectory_that_is_a_pipe_or_garbage_does_not_hold_the_grading(copy: Copy, reference: Made, tmp_path: Path) -> None:
    trial = harbor(tmp_path / "jobs" / "j" / "a", copy(reference))
    (trial / "agent").mkdir()
    (trial / "agent" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.8", "steps": [3]}')
    assert grading.grade_trial(find([trial])[0]).outcome is Outcome.PASS
    (trial / "agent" / "trajectory.json").unlink()
    os.mkfifo(trial / "agent" / "trajectory.json")
    assert grading.grade_trial(find([trial])[0]).outcome is Outcome.PASS


def test_without_dask_the_option_names_the_extra(reference: Made, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(cluster.NoCluster, match=r"quantum-harbor\[cluster\]"):
        grading.grade_all(find([copy(reference)]), dask="tcp://127.0.0.1:1")


def test_a_bundle_that_travels_to_a_worker_gets_the_same_verdict(copy: Copy, trap: Made, tmp_path: Path) -> None:
    (trial,) = find([harbor(tmp_path / "jobs" / "j" / "a", copy(trap))])
    assert trial.bundle is not None
    here = grading.grade_trial(trial)
    trajectory(trap, tmp_path / "t.json")
    content = cluster.packed(trial)
    assert LOG_NAME in content
    shutil.rmtree(trial.bundle)
    there = cluster.on_worker(trial, content, None)
    assert (there.verdict, there.evidence, there.digest) == (here.verdict, here.evidence, here.digest)
    assert cluster.visible([str(tmp_path / "t.json"), str(tmp_path / "none")]) == [str(tmp_path / "t.json")]


def test_a_dask_cluster_gives_the_same_verdicts(copy: Copy, reference: Made, trap: Made, tmp_path: Path) -> None:
    harbor(tmp_path / "jobs" / "j" / "a", copy(reference))
    harbor(tmp_path / "jobs" / "j" / "b", copy(trap))
    trials = find([tmp_path / "jobs"])
    here = grading.grade_all(trials)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=None
    ) as lab:
        there = grading.grade_all(trials, dask=lab.scheduler_address)
    assert [(g.verdict, g.evidence, g.digest) for g in there] == [(g.verdict, g.evidence, g.digest) for g in here]
    assert [g.passed for g in there] == [True, False]


def test_the_command_writes_what_the_other_commands_take(copy: Copy, reference: Made, trap: Made, tmp_path: Path) -> None:
    harbor(tmp_path / "jobs" / "j" / "a", copy(reference))
    harbor(tmp_path / "jobs" / "j" / "b", copy(trap), agent="codex")
    done = CliRunner().invoke(app, ["grade", str(tmp_path / "jobs"), "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0, done.output
    kept = list(saved(tmp_path / "out" / "graded.jsonl"))
    assert [g.to_json() for g in kept] == json.loads(done.stdout)
    shown = CliRunner().invoke(app, ["grade", str(tmp_path / "jobs")])
    assert (shown.exit_code, "2 trials" in shown.output) == (0, True)
    board = CliRunner().invoke(app, ["leaderboard", str(tmp_path / "out"), "--json", "--html", str(tmp_path / "board.html"),
                                     "--plots", str(tmp_path / "plots")])  # fmt: skip
    assert board.exit_code == 0, board.output
    drawn = {p.name for p in (tmp_path / "plots").iterdir()}
    assert {"pass_rates.svg", "pass_rates.png", "outcomes.svg", "passes.svg", "layers.svg"} <= drawn
    standings = json.loads(board.stdout)["systems"]
    assert [(s["system"], s["overall"]["passed"]) for s in standings] == [("claude-code/m-1", 1), ("codex/m-1", 0)]
    page = (tmp_path / "board.html").read_text()
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("data:image/svg+xml;base64,") == sum(name.endswith(".svg") for name in drawn)
    rows = CliRunner().invoke(app, ["leaderboard", str(tmp_path / "out"), "--csv"]).stdout.splitlines()
    assert (len(rows), rows[1].split(",")[:3]) == (3, ["claude-code/m-1", "1", "1"])
    assert CliRunner().invoke(app, ["leaderboard", str(tmp_path / "out"), "--csv", "--json"]).exit_code == 2
    assert CliRunner().invoke(app, ["grade", str(tmp_path / "jobs"), "--nonce", "x"]).exit_code == 2
    (tmp_path / "out" / "graded.jsonl").write_text("{}\n")
    bad = CliRunner().invoke(app, ["leaderboard", str(tmp_path / "out")])
    assert (bad.exit_code, "line 1" in bad.output) == (2, True)
