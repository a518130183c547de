"""From the agent's container the hidden side can be neither imported, read nor mounted, and what is planted there changes no verdict."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from qharbor import images
from tests.docker.trials import TASK, Trial

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def attacked(run_trial: Callable[..., Trial]) -> tuple[Trial, dict[str, Any]]:
    """A trial whose agent does nothing but attack, and what it found."""
    script = Path(__file__).with_name("attack.py")
    trial = run_trial("-a", "qharbor.harbor_agent:ScriptAgent", "--ak", f"script={script}")
    said = (trial.folder / "agent" / "agent.log").read_text().splitlines()
    found = [line for line in said if line.startswith("{")]
    assert found, said
    return trial, json.loads(found[0])


def test_planted_rewards_change_nothing(attacked: tuple[Trial, dict[str, Any]]) -> None:
    trial, found = attacked
    assert found["planted"] == 30
    assert (trial.exception, trial.rewards) == (None, {"reward": 0})
    assert trial.score["outcome"] == "no_submission"
    assert not (trial.folder / "verifier" / "reward.txt").exists()
    assert not (trial.folder / "verifier" / "reward-details.json").is_symlink()


def test_planted_evidence_is_not_what_was_collected(attacked: tuple[Trial, dict[str, Any]]) -> None:
    from evidence import verify

    trial, _ = attacked
    collected = trial.folder / "artifacts" / "evidence"
    assert verify(collected).ok
    assert not (collected / "reward.json").exists()


def test_nothing_of_the_hidden_side_is_in_the_agents_container(attacked: tuple[Trial, dict[str, Any]]) -> None:
    _, found = attacked
    for what in ("there_before", "importable", "hidden_files", "mounted", "environment"):
        assert found[what] == [], what


def test_the_laboratory_answers_on_its_one_port_only(attacked: tuple[Trial, dict[str, Any]]) -> None:
    _, found = attacked
    assert found["open_ports"] == [8000]


# prints the address reached, or nothing
REACH = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], 443), timeout=5) as connection:
        print(connection.getpeername()[0])
except OSError:
    pass
"""

# the commitment to the device, asked for until the laboratory answers
COMMITMENT = """
import time
import lab
for _ in range(120):
    try:
        print(lab.connect().spec()["commitment"])
        break
    except Exception:
        time.sleep(0.25)
"""


def docker(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], cwd=images.ROOT, capture_output=True, text=True, timeout=timeout, check=False)


@pytest.fixture(scope="module")
def by_hand() -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """The laboratory of `docker-compose.yml`, up; `by_hand(service, *argv)` runs a command in one container, without argv gives its id."""
    project = ("compose", "--project-name", f"quantum-harbor-test-{os.getpid()}")
    started = docker(*project, "up", "--detach", "--wait", timeout=300)
    assert started.returncode == 0, started.stderr
    yield lambda service, *argv: docker(*project, "ps", "--quiet", service) if not argv else docker(*project, "exec", "-T", service, *argv)
    docker(*project, "down", "--volumes", "--timeout", "5")


def test_the_lab_by_hand_answers_the_agents_shell(by_hand: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    said = by_hand("agent", "python3", "-c", "import lab; print(lab.connect().spec()['task'])")
    assert said.stdout.strip() == TASK, said.stderr


def test_the_laboratory_has_no_way_out(by_hand: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    address = by_hand("agent", "python3", "-c", REACH, "pypi.org").stdout.strip()
    if not address:
        pytest.skip("this machine has no way out itself, so the sidecar's silence would show nothing")
    for target in ("pypi.org", address):
        tried = by_hand("sidecar", "python", "-c", REACH, target)
        assert (tried.returncode, tried.stdout) == (0, "")


def test_the_laboratory_runs_without_privileges(by_hand: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    status = by_hand("sidecar", "cat", "/proc/1/status").stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split()[0] == "10001"
    assert int(fields["CapEff"], 16) == 0
    assert fields["NoNewPrivs"] == "1"


def test_the_sidecar_image_holds_no_solution_and_no_test(by_hand: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    names = ("-name", "solution", "-o", "-name", "reference.py", "-o", "-name", "trap.py", "-o", "-name", "test_*.py")
    found = by_hand("sidecar", "find", "/opt/quantum-harbor", *names)
    assert (found.returncode, found.stdout) == (0, "")


def test_a_session_is_taken_up_again_after_the_server_was_killed(by_hand: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    before = by_hand("agent", "python3", "-c", COMMITMENT).stdout.strip()
    assert len(before) == 64
    container = by_hand("sidecar").stdout.strip()
    pid = docker("inspect", "--format", "{{.State.Pid}}", container).stdout.strip()
    # from outside its namespace: inside, the first process cannot be killed, and `docker kill` would count as a wish that it stay down
    docker("run", "--rm", "--pid", "host", "--user", "root", images.SIDECAR.tag, "bash", "-c", f"kill -KILL {pid}")
    assert by_hand("agent", "python3", "-c", COMMITMENT).stdout.strip() == before


@pytest.mark.parametrize("image", images.IMAGES, ids=lambda i: i.name)
def test_no_package_index_and_no_credential_is_left_in_an_image(image: images.Image) -> None:
    history = docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", image.tag).stdout
    environment = docker("image", "inspect", "--format", "{{json .Config.Env}}", image.tag).stdout
    for text in (history, environment):
        assert "INDEX_URL" not in text
        assert "://" not in text.replace("http://sidecar:8000", "")
    assert docker("run", "--rm", "--entrypoint", "ls", image.tag, "/etc/pip.conf", "/run/ca.pem").stdout == ""
