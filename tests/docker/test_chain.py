"""The chain agent, sidecar, seal, collection, verifier, reward."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from qharbor import bundles, images
from results.find import find
from results.grading import grade_all
from tests.docker.trials import TASK, Trial, read_trial

pytestmark = pytest.mark.docker

TRIAL_S = 300.0
"""A trial takes well under a minute on a machine that has nothing else to do; more than this is a hang."""


def test_the_reference_earns_the_reward(oracle: Trial) -> None:
    assert (oracle.exception, oracle.rewards) == (None, {"reward": 1})
    assert (oracle.score["outcome"], oracle.score["task"]) == ("pass", TASK)
    assert oracle.seconds < TRIAL_S


def test_an_agent_that_does_nothing_earns_nothing(run_trial: Callable[..., Trial]) -> None:
    trial = run_trial("-a", "nop")
    assert (trial.exception, trial.rewards) == (None, {"reward": 0})
    assert trial.score["outcome"] == "no_submission"
    assert trial.seconds < TRIAL_S


def test_the_collected_bundle_is_sealed_and_holds(oracle: Trial) -> None:
    from evidence import verify

    report = verify(oracle.folder / "artifacts" / "evidence")
    assert report.ok
    assert report.sealed


def test_a_bundle_graded_here_gives_the_verdict_of_the_container(oracle: Trial) -> None:
    from graders.kit.grade import grade_bundle

    verdict = grade_bundle(oracle.folder / "artifacts" / "evidence", write=False).to_json()
    assert (verdict["outcome"], verdict["session"]) == (oracle.score["outcome"], oracle.score["session"])
    assert [c["name"] for c in verdict["checks"]] == [c["name"] for c in oracle.score["checks"]]


def test_harbor_grades_the_trial_again_without_rerunning_it(oracle: Trial, harbor: Path, tmp_path: Path) -> None:
    job = oracle.folder.parent
    line = [str(harbor), "job", "regrade", str(job), "-p", "tasks", "-e", "docker", "-o", str(tmp_path), "--job-name", "again", "-y"]
    done = subprocess.run(line, cwd=images.ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (tmp_path / "again").is_dir(), done.stdout + done.stderr
    again = read_trial(tmp_path / "again", 0.0)
    assert again.rewards == {"reward": 1}
    assert again.score["session"] == oracle.score["session"]
    for folder, told in ((job, oracle.score), (tmp_path / "again", again.score)):
        (graded,) = grade_all(find([folder]))
        assert (graded.outcome.value, graded.attested, graded.differences) == ("pass", True, ())
        assert {k: v for k, v in told.items() if k != "bundle"} == dict(graded.verdict)


def test_the_published_name_runs_offline_from_the_package_cache(run_trial: Callable[..., Trial]) -> None:
    line = bundles.install([TASK])[TASK].split()
    trial = run_trial("-a", "nop", source=tuple(line[line.index("--task") :]))
    assert (trial.exception, trial.rewards) == (None, {"reward": 0})


def test_evidence_that_does_not_hold_is_an_error_of_the_trial_and_not_a_zero(oracle: Trial, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "evidence"
    shutil.copytree(oracle.folder / "artifacts" / "evidence", broken)
    log = broken / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"job_completed"', b'"job_cancelled"', 1))
    (tmp_path / "out").mkdir()
    line = ["docker", "run", "--rm", "--network", "none", "--user", "root", "-e", f"QHARBOR_TASK={TASK}"]
    line += ["-v", f"{broken}:/evidence", "-v", f"{tmp_path / 'out'}:/logs/verifier", images.SIDECAR.tag, "bash", "/tests/test.sh"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert not (tmp_path / "out" / "reward.json").exists()
    assert "does not hold" in (tmp_path / "out" / "score.json").read_text()
