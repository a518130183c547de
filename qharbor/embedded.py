"""The embedded way to run a task: sidecar and agent as two local processes, then the grader. No Docker."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tasks
from evidence import EvidenceError
from graders.kit.checks import Verdict
from graders.kit.grade import grade_bundle
from sidecar.seal import seal

START_S = 60.0
AGENT_LOG_BYTES = 64_000_000
"""What is kept of an agent's output."""
_HIDDEN = "QHARBOR_"
_PYTHON = {"reference": "reference.py", "trap": "trap.py", "stale": "stale.py"}


class RunError(Exception):
    """The trial could not be run; the text says what to do."""


@dataclass(frozen=True)
class Trial:
    """Outcome of one embedded run."""

    verdict: Verdict
    bundle: Path
    agent_status: int | None
    wall_s: float

    def to_json(self) -> dict[str, Any]:
        v = self.verdict.to_json()
        return {
            "task": v["task"], "outcome": v["outcome"], "reward": v["reward"], "checks": v["checks"], "race_metric": v["race_metric"],
            "reproducible": v["reproducible"], "instance": v["instance"], "reason": v["reason"], "quantities": v["quantities"],
            "agent_status": self.agent_status, "bundle": str(self.bundle), "wall_s": round(self.wall_s, 3),
        }  # fmt: skip


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def sidecar_env(
    task: str, bundle: Path, port: int, *, seed: int | None = None, nonce: str | None = None, suite_secret: str | None = None
) -> dict[str, str]:
    """Environment of a local sidecar process."""
    env = {**os.environ, "QHARBOR_TASK": task, "QHARBOR_OUT": str(bundle), "QHARBOR_HOST": "127.0.0.1", "QHARBOR_PORT": str(port)}
    env["PYTHONPATH"] = os.pathsep.join(p for p in (str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")) if p)
    if seed is not None:
        env["QHARBOR_SEED"] = str(seed)
    if nonce is not None:
        env["QHARBOR_NONCE"] = nonce
    if suite_secret is not None:
        env["QHARBOR_SUITE_SECRET"] = suite_secret
    return env


@contextlib.contextmanager
def local_sidecar(
    task: str,
    bundle: Path,
    *,
    port: int | None = None,
    seed: int | None = None,
    nonce: str | None = None,
    suite_secret: str | None = None,
) -> Iterator[str]:
    """A sidecar process on loopback; gives its URL once it is healthy, stops it on leaving."""
    bundle.mkdir(parents=True, exist_ok=True)
    errors = bundle.parent / "sidecar.log"
    # The socket is bound here and handed down: a port that is only looked up may be another process's by the time it is used, and a client
    # would then operate the other's laboratory.
    with socket.socket() as listening, errors.open("ab") as log:
        listening.bind(("127.0.0.1", port or 0))
        port = int(listening.getsockname()[1])
        env = sidecar_env(task, bundle, port, seed=seed, nonce=nonce, suite_secret=suite_secret)
        process = subprocess.Popen(
            [sys.executable, "-m", "sidecar"],
            env={**env, "QHARBOR_FD": str(listening.fileno())},
            pass_fds=(listening.fileno(),),
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + START_S
        while not _healthy(url):
            if process.poll() is not None:
                raise RunError(f"the sidecar ended with status {process.returncode}; its log: {errors}\n{_tail(errors)}")
            if time.monotonic() > deadline:
                raise RunError(f"the sidecar was not healthy after {START_S:.0f} s; its log: {errors}\n{_tail(errors)}")
            time.sleep(0.05)
        yield url
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it has not after 15 s."""
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tail(path: Path, lines: int = 8) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


def agent_command(task: str, agent: str, command: Sequence[str]) -> list[str] | None:
    """The command line of an agent, None for `nop`."""
    if command:
        return list(command)
    if agent == "nop":
        return None
    if agent not in _PYTHON:
        raise RunError(f"no agent {agent!r}: reference, trap, nop, or a command after --")
    script = tasks.load(task).folder / "solution" / _PYTHON[agent]
    if not script.is_file():
        raise RunError(f"tasks/{task} has no solution/{_PYTHON[agent]}")
    return [sys.executable, str(script)]


def agent_env(url: str, work: Path) -> dict[str, str]:
    """What the agent process sees: the laboratory's address, and nothing of the hidden side."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(_HIDDEN)}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**env, **threads, "LAB_URL": url, "LAB_MCP_URL": f"{url}/mcp", "PYTHONUNBUFFERED": "1", "HOME": str(work)}


def run(
    task: str,
    agent: str = "reference",
    command: Sequence[str] = (),
    *,
    out: Path,
    seed: int | None = None,
    suite_secret: str | None = None,
    timeout_s: float | None = None,
    echo: Callable[[str], None] | None = None,
    phase: Callable[[str], None] = lambda _: None,
) -> Trial:
    """Run one trial into `out` (`bundle/`, `agent/`) and grade it. :class:`RunError` where it cannot be run."""
    card = tasks.load(task)
    argv = agent_command(task, agent, command)
    if (out / "bundle" / "log.jsonl").exists():
        raise RunError(f"{out / 'bundle'} already holds a session; choose another --out")
    work = out / "agent"
    work.mkdir(parents=True, exist_ok=True)
    shutil.copy(card.folder / "instruction.md", work / "instruction.md")

    def act(url: str) -> int | None:
        if argv is None:
            return None
        phase(f"agent at work ({agent if not command else command[0]})")
        return _run_agent(argv, agent_env(url, work), work, card.limits.wall_s if timeout_s is None else timeout_s, echo)

    return conduct(task, out, act, seed=seed, suite_secret=suite_secret, phase=phase)


def conduct(
    task: str,
    out: Path,
    act: Callable[[str], int | None],
    *,
    seed: int | None = None,
    nonce: str | None = None,
    suite_secret: str | None = None,
    phase: Callable[[str], None] = lambda _: None,
) -> Trial:
    """A session in `out/bundle` in which `act`, given the laboratory's URL, is the agent; then seal and grade.

    An unsealed session that lies there is taken up again; `nonce` is then its nonce. `suite_secret` decides the instance of a race,
    which is the public practice instance without one.
    """
    bundle = out / "bundle"
    nonce = nonce or secrets.token_hex(32)
    started = time.monotonic()
    phase("opening the laboratory")
    with local_sidecar(task, bundle, seed=seed, nonce=nonce, suite_secret=suite_secret) as url:
        status = act(url)
        phase("sealing")
        try:
            seal(bundle)
        except EvidenceError as exc:
            raise RunError(f"the session could not be sealed: {exc}") from exc
    phase("grading")
    verdict = grade_bundle(bundle, nonce=nonce)
    return Trial(verdict, bundle.resolve(), status, time.monotonic() - started)


def _run_agent(argv: list[str], env: dict[str, str], work: Path, timeout_s: float, echo: Callable[[str], None] | None) -> int:
    deadline = time.monotonic() + timeout_s
    try:
        process = subprocess.Popen(
            argv, env=env, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as exc:
        raise RunError(f"the agent's command {argv[0]!r} cannot be run: {exc.strerror or exc}") from exc
    with (work / "agent.log").open("wb") as log, process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        try:
            while process.poll() is None and time.monotonic() < deadline:
                _pump(process.stdout, log, echo)
                time.sleep(0.05)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            _pump(process.stdout, log, echo)
    return process.returncode


def _pump(source: Any, sink: Any, echo: Callable[[str], None] | None) -> None:
    """Hand on what has been printed; at most 4 MB at once, so that an agent that prints without end does not hold the deadline."""
    for _ in range(64):
        data = source.read(65536)
        if not data:
            return
        if sink.tell() < AGENT_LOG_BYTES:
            sink.write(data)
            sink.flush()
            if echo is not None:
                echo(data.decode(errors="replace"))


def save(trial: Trial, out: Path) -> None:
    (out / "trial.json").write_text(json.dumps(trial.to_json(), indent=1, allow_nan=False))
