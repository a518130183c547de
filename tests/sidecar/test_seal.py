"""Sealing from outside: through the living sidecar, or without one."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from bench.processes import free_port
from evidence import Bundle, EvidenceError, LogWriter, Truth, verify
from qharbor.embedded import local_sidecar, sidecar_env
from sidecar.seal import seal
from tests.sidecar.laboratory import ANSWER, TASK


def opened(folder: Path, *after: tuple[str, dict[str, object]]) -> Path:
    """A bundle of a session that nobody serves."""
    folder.mkdir()
    truth = Truth.seal(qtype="q", hidden_json="{}", seed={"entropy": "1", "spawn_key": [], "pool_size": 4}, challenge=None, nonce="n" * 64)
    truth.write(folder)
    writer = LogWriter(folder)
    writer.append("session_opened", {"nonce": truth.nonce, "commitment": truth.commitment, "challenge_commitment": None, "budget": {}})
    for kind, data in after:
        writer.append(kind, data)
    writer.close()
    return folder


def kinds(folder: Path) -> list[str]:
    return [e.kind for e in Bundle(folder).events()]


def test_the_living_sidecar_seals_and_refuses_afterwards(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    with local_sidecar(TASK, bundle) as url:
        assert seal(bundle) == "sealed by the sidecar"
        assert seal(bundle) == "was sealed"
        assert httpx.post(f"{url}/v1/answer", json=ANSWER).json()["title"] == "session sealed"
        assert httpx.get(f"{url}/v1/spec").json()["phase"] == "sealed"
    assert kinds(bundle)[-1] == "session_sealed"
    assert verify(bundle).sealed


def test_a_log_without_a_sidecar_is_sealed_at_once_and_no_process_gets_a_signal(tmp_path: Path) -> None:
    bundle = opened(tmp_path / "bundle")
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        (bundle / "sidecar.pid").write_text(str(bystander.pid))  # its number was given to another process
        assert seal(bundle) == "sealed without a sidecar"
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert kinds(bundle) == ["session_opened", "session_sealed"]
    assert seal(bundle) == "was sealed"


@pytest.mark.parametrize("pid", ["", "abc", "-1", "99999999999", "0x10"])
def test_a_planted_pid_file_does_not_matter_where_no_sidecar_lives(tmp_path: Path, pid: str) -> None:
    bundle = opened(tmp_path / "bundle")
    (bundle / "sidecar.pid").write_text(pid)
    assert seal(bundle) == "sealed without a sidecar"


def test_what_cannot_be_sealed_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="no session"):
        seal(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "log.jsonl").write_bytes(b"")
    with pytest.raises(EvidenceError, match="no session"):
        seal(tmp_path)
    bundle = opened(tmp_path / "bundle")
    log = bundle / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"budget":{}', b'"budget":{"x":1}'))
    with pytest.raises(EvidenceError, match="hash"):
        seal(bundle)


def test_a_sidecar_that_holds_the_log_and_does_not_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sidecar import seal as module

    monkeypatch.setattr(module, "_WAIT_S", 0.2)
    bundle = opened(tmp_path / "bundle")
    writer = LogWriter(bundle)
    with pytest.raises(EvidenceError, match="does not seal"):
        seal(bundle)
    writer.close()
    assert seal(bundle) == "sealed without a sidecar"


def test_an_answer_whose_seal_is_missing_is_sealed(tmp_path: Path) -> None:
    bundle = opened(tmp_path / "bundle")
    (bundle / "answer.json").write_bytes(b"{}")
    writer = LogWriter(bundle)
    writer.append("answer_submitted", {"sha256": hashlib.sha256(b"{}").hexdigest(), "bytes": 2})
    writer.close()
    assert seal(bundle) == "sealed without a sidecar"
    assert verify(bundle).sealed


def test_a_stopped_sidecar_leaves_a_log_that_holds(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    with local_sidecar(TASK, bundle) as url:
        httpx.post(f"{url}/v1/experiments/run_iq_reference", json={"prepare": 0, "shots": 5})
    report = verify(bundle)
    assert report.ok, report.problem
    assert (report.jobs, report.sealed) == (1, False)


def test_a_bundle_of_another_task_is_not_served(tmp_path: Path) -> None:
    bundle = opened(tmp_path / "bundle")
    run = subprocess.run(
        [sys.executable, "-m", "sidecar"],
        env=sidecar_env(TASK, bundle, free_port()),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 3
    assert "cannot be served" in run.stderr
    assert "Traceback" not in run.stderr


def test_workers_end_with_a_sidecar_that_is_killed(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    with local_sidecar(TASK, bundle) as url:
        job = httpx.post(f"{url}/v1/experiments/run_iq_reference", json={"prepare": 0, "shots": 5}).json()
        httpx.get(f"{url}/v1/jobs/{job['job_id']}/wait?timeout_s=30", timeout=60)
        pid = int((bundle / "sidecar.pid").read_text())
        workers = children(pid)
        assert workers
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while any(Path(f"/proc/{w}/stat").exists() and Path(f"/proc/{w}/stat").read_text().split()[2] != "Z" for w in workers):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def children(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
