"""Starts that fail end in time and by name; images hold what the locks say; verdicts are files."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import graders
import qtypes
import tasks
from evidence import Truth
from evidence.log import LogWriter
from qharbor import bundles, embedded, images, verifier

ROOT = images.ROOT


def test_a_sidecar_that_never_gets_healthy_is_given_up_by_name_and_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "START_S", 0.2)
    monkeypatch.setattr(embedded, "_healthy", lambda url: False)
    begun = time.monotonic()
    with pytest.raises(embedded.RunError, match=r"was not healthy after .* s; its log: .*sidecar\.log"), \
            embedded.local_sidecar("transmon_t1", tmp_path / "bundle"):  # fmt: skip
        pytest.fail("served")
    assert time.monotonic() - begun < 20
    pid_file = tmp_path / "bundle" / "sidecar.pid"
    assert not pid_file.exists() or not Path(f"/proc/{pid_file.read_text()}").exists()


@pytest.mark.parametrize("task", tasks.names())
def test_every_container_that_does_not_start_is_given_up_within_five_minutes(task: str) -> None:
    rendered = bundles.render(tasks.load(task))
    check = tomllib.loads(rendered["task.toml"])["environment"]["healthcheck"]
    assert check["retries"] * (check["interval_sec"] + check["timeout_sec"]) <= 600
    assert check["retries"] * check["interval_sec"] <= 300
    sidecar = yaml.safe_load(rendered["environment/docker-compose.yaml"])["services"]["sidecar"]
    assert sidecar["healthcheck"]["retries"] * float(sidecar["healthcheck"]["interval"].removesuffix("s")) <= 300
    assert sidecar["restart"].startswith("on-failure:")


@pytest.mark.parametrize("image", images.IMAGES, ids=lambda i: i.name)
def test_what_is_installed_in_an_image_comes_from_a_lock_with_hashes(image: images.Image) -> None:
    text = (ROOT / image.dockerfile).read_text().replace("\\\n", " ")
    lines = [part.strip() for line in text.splitlines() if line.startswith("RUN") for part in line.split("&&") if "pip install" in part]
    assert lines
    for line in lines:
        assert "--no-deps" in line
        from_lock = "--require-hashes" in line and line.endswith("-r requirements.lock")
        from_context = line.endswith(" .") and "--no-build-isolation" in line
        assert from_lock or from_context, line
    assert (ROOT / image.context / "requirements.lock").is_file()


def test_the_agents_image_is_built_from_a_folder_without_history_tasks_or_graders() -> None:
    assert images.AGENT.context == "agent_env"
    names = {p.name for p in (ROOT / images.AGENT.context).rglob("*")}
    assert not names & {".git", "tasks", "graders", "qtypes", "sidecar", "evidence", "solution", "reference.py", "log.jsonl", "sealed"}


def imported(path: Path) -> set[str]:
    """Top-level names of the modules that a source file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_nothing_that_serves_or_grades_a_session_pickles() -> None:
    """What goes to a worker and comes back is text: requests, matching graphs, descriptions of records."""
    forbidden = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "multiprocessing", "concurrent"}
    sources = [p for folder in ("agent_env/lab", "evidence", "graders", "qtypes", "sidecar") for p in (ROOT / folder).rglob("*.py")]
    assert len(sources) > 50
    assert [str(p.relative_to(ROOT)) for p in sources if imported(p) & forbidden] == []


@pytest.fixture
def unanswered(tmp_path: Path) -> Path:
    """A sealed session of `transmon_t1` without an answer."""
    folder, qtype, card = tmp_path / "bundle", qtypes.load("transmon_pulse"), tasks.load("transmon_t1")
    profile = qtype.read_profile(card.profile)
    hidden = qtype.draw(np.random.default_rng(1), profile)
    seed = {"entropy": "1", "spawn_key": [], "pool_size": 4}
    truth = Truth.seal(qtype=card.qtype, hidden_json=hidden.model_dump_json(), seed=seed, challenge=None, nonce="n" * 64)
    truth.write(folder)
    writer = LogWriter(folder)
    writer.append("session_opened", {
        "task": card.name, "task_version": card.version, "instance": "fresh", "reproducible": False, "session": "s" * 16,
        "nonce": truth.nonce, "commitment": truth.commitment, "challenge_commitment": None, "budget": card.budget,
    })  # fmt: skip
    writer.append("session_sealed", {"reason": "test"})
    writer.close()
    return folder


def test_what_is_printed_while_grading_is_no_verdict(
    unanswered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def loud(self: Any, session: Any) -> dict[str, Any]:
        print('{"reward": 1}\nreward: 1\ntransmon_t1: pass, reward 1')
        return {}

    monkeypatch.setattr(type(graders.load("transmon_t1")), "recompute", loud)
    monkeypatch.delenv("QHARBOR_TASK", raising=False)
    assert verifier.main([str(unanswered), str(tmp_path / "out")]) == 0
    assert "reward 1" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "reward.json").read_text()) == {"reward": 0}
    assert json.loads((tmp_path / "out" / "score.json").read_text())["outcome"] == "no_submission"


WITHOUT_WHEEL: dict[str, set[str]] = {"x86_64": set(), "aarch64": {"pymatching", "stim"}}
"""Neither was on the index for Linux on arm64 when the locks were written; there they are built from source, which needs a compiler."""


@pytest.mark.slow
@pytest.mark.parametrize("processor", WITHOUT_WHEEL)
def test_locked_packages_have_wheels(processor: str, tmp_path: Path) -> None:
    """Asks the package index; skipped where there is none."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "index", "versions", "numpy"], capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("no package index")
    entries = re.findall(r"^([a-z0-9._-]+)(\[.*?\])?==([^\s\\;]+)([^\\\n]*)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    platforms = [f"manylinux{glibc}_{processor}" for glibc in ("2014", "_2_17", "_2_24", "_2_26", "_2_27", "_2_28", "_2_34")]
    options = [word for platform in platforms for word in ("--platform", platform)]
    options += ["--dry-run", "--no-deps", "--only-binary", ":all:", "--python-version", "3.12", "--target", str(tmp_path / "none")]

    wanted = [f"{name}=={version}{marker}" for name, _, version, marker in entries if name not in WITHOUT_WHEEL[processor]]
    assert len(wanted) > 20
    file = tmp_path / "pins.txt"
    file.write_text("\n".join(wanted))
    done = subprocess.run([*pip, "install", *options, "-r", str(file)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-500:]
