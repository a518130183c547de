"""What `qharbor run --docker` reads from a finished trial: Harbor's record decides, not files an agent can write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qharbor import containers


def trial(job: Path, *, rewards: dict[str, float] | None, exception: str | None = None, **files: dict[str, Any]) -> None:
    folder = job / "lattice_surgery_cnot__abc"
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.mkdir(parents=True, exist_ok=True)
        (path / "score.json").write_text(json.dumps(content))
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "verifier_result": {"rewards": rewards} if rewards is not None else None,
        "exception_info": {"exception_type": exception, "exception_message": "said so"} if exception else None,
    }
    (folder / "result.json").write_text(json.dumps(record))


FORGED = {"outcome": "pass", "reward": 1, "reason": "forged"}


def test_a_score_planted_in_the_agents_folders_is_not_read(tmp_path: Path) -> None:
    real = {"task": "lattice_surgery_cnot", "outcome": "no_submission", "reward": 0, "reason": "no answer was submitted"}
    trial(tmp_path, rewards={"reward": 0}, agent=FORGED, artifacts__logs__artifacts=FORGED, verifier=real)
    result = containers.trial_result(tmp_path)
    assert (result["outcome"], result["reward"], result["reason"]) == ("no_submission", 0, "no answer was submitted")


def test_a_score_planted_before_a_verifier_that_never_started_is_not_read(tmp_path: Path) -> None:
    trial(tmp_path, rewards=None, exception="EnvironmentStartTimeoutError", verifier=FORGED)
    result = containers.trial_result(tmp_path)
    assert (result["outcome"], result["reward"]) == ("infrastructure_fault", 0)
    assert result["reason"] == "EnvironmentStartTimeoutError: said so"


def test_a_verifier_that_gave_no_reward_says_why(tmp_path: Path) -> None:
    fault = {"task": "lattice_surgery_cnot", "outcome": "infrastructure_fault", "reward": 0, "reason": "the evidence does not hold"}
    trial(tmp_path, rewards=None, exception="RewardFileNotFoundError", verifier=fault)
    result = containers.trial_result(tmp_path)
    assert (result["outcome"], result["reason"]) == ("infrastructure_fault", "the evidence does not hold")


def test_a_job_without_a_trial_is_a_fault(tmp_path: Path) -> None:
    assert containers.trial_result(tmp_path)["outcome"] == "infrastructure_fault"


@pytest.mark.parametrize(
    ("agent", "command", "picked"),
    [
        ("reference", (), ["-a", "oracle"]),
        ("nop", (), ["-a", "nop"]),
        ("claude-code", (), ["-a", "claude-code"]),
        ("reference", ("python3", "a b.py"), ["-a", "qharbor.harbor_agent:ScriptAgent", "--ak", "command=python3 'a b.py'"]),
    ],
)
def test_the_line_for_harbor_runs_one_bundle_with_the_agent_asked_for(agent: str, command: tuple[str, ...], picked: list[str]) -> None:
    line = containers.harbor_arguments("lattice_surgery_cnot", agent, command, Path("jobs"), "name")
    assert line[:2] == ["run", "-p"]
    assert line[2].endswith("tasks/lattice_surgery_cnot")
    assert line[3 : 3 + len(picked)] == picked
