"""The lock files say all there is to say, and a fresh machine is told what it lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CLIENT = tomllib.loads((ROOT / "agent_env" / "pyproject.toml").read_text())
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-harbor.lock", "agent_env/requirements.lock")
OWN = {"quantum-harbor", "quantum-harbor-lab"}


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[.*?\])?==(\S+)", (ROOT / lock).read_text(), flags=re.MULTILINE))


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[A-Za-z0-9._-]+", r)[0].lower().replace("_", "-") for r in requirements} - OWN


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_of_a_lock_is_pinned_with_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(pins(lock)) > 0
    assert [e.split()[0] for e in entries if "--hash=sha256:" not in e] == []
    assert not pins(lock).keys() & OWN


def test_the_locks_cover_what_the_distributions_ask_for() -> None:
    runtime = names(PROJECT["project"]["dependencies"]) | names(CLIENT["project"]["dependencies"])
    build = names(PROJECT["dependency-groups"]["build"])
    assert runtime | build <= pins("requirements.lock").keys()
    assert names(PROJECT["project"]["optional-dependencies"]["dev"]) <= pins("requirements-dev.lock").keys()
    assert names(CLIENT["project"]["optional-dependencies"]["workbench"]) <= pins("agent_env/requirements.lock").keys()


def test_development_runs_on_the_releases_that_are_shipped() -> None:
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


def test_harbor_stays_out_of_the_laboratorys_environments() -> None:
    assert "harbor" in pins("requirements-harbor.lock")
    assert not any("harbor" in pins(lock) for lock in LOCKS if lock != "requirements-harbor.lock")


def test_both_distributions_and_the_images_carry_one_version() -> None:
    from qharbor import __version__

    assert PROJECT["project"]["version"] == CLIENT["project"]["version"] == __version__


def find_python(**environment: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "scripts" / "find_python.sh")
    return subprocess.run([script], env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_shim_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "bin"
    path.mkdir()
    for tool in ("bash", "head"):
        (path / tool).symlink_to(shutil.which(tool))
    for name in ("python3.12", "python3.13", "python3.14", "python3", "python"):
        (path / name).write_text("#!/bin/sh\necho 'version not selected' >&2\nexit 127\n")
        (path / name).chmod(0o755)
    installed = tmp_path / "pyenv" / "versions" / "3.12.99" / "bin"
    installed.mkdir(parents=True)
    (installed / "python3").symlink_to(os.path.realpath(sys.executable))
    found = find_python(PATH=str(path), HOME=str(tmp_path), PYENV_ROOT=str(tmp_path / "pyenv"))
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(str(tmp_path))


def test_a_named_python_that_is_no_python_is_refused_by_name(tmp_path: Path) -> None:
    found = find_python(PATH=os.environ["PATH"], HOME=str(tmp_path), PYTHON="/bin/true-but-not-python")
    assert found.returncode == 1
    assert "PYTHON=/bin/true-but-not-python is not a Python >= 3.12" in found.stderr
    assert found.stdout == ""
