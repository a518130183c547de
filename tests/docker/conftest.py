"""Whole trials through Harbor: `make test-docker`. They need a Docker engine, the two images and Harbor, and fail where one is missing."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qharbor import containers, images
from tests.docker.trials import TASK, Trial, read_trial


@pytest.fixture(scope="session")
def harbor() -> Path:
    lacking = [tag for tag, there in images.present().items() if not there]
    assert not lacking, f"not built: {lacking}; run `make images`"
    return containers.harbor_binary()


@pytest.fixture(scope="session")
def run_trial(harbor: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Trial]:
    """`run_trial(*arguments)` runs one trial of the task; arguments choose the agent, or the whole source with `source=()`."""

    def run(*arguments: str, source: tuple[str, ...] = ("-p", "tasks", "-i", TASK)) -> Trial:
        jobs = tmp_path_factory.mktemp("jobs")
        line = [str(harbor), "run", *source, *arguments, "-o", str(jobs), "--job-name", "job", "-y", "-q"]
        env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", **os.environ, "PYTHONPATH": str(images.ROOT)}
        started = time.monotonic()
        done = subprocess.run(line, cwd=images.ROOT, env=env, capture_output=True, text=True, timeout=900, check=False)
        assert (jobs / "job").is_dir(), done.stdout + done.stderr
        return read_trial(jobs / "job", time.monotonic() - started)

    return run


@pytest.fixture(scope="session")
def oracle(run_trial: Callable[..., Trial]) -> Trial:
    return run_trial("-a", "oracle")
