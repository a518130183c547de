"""Run a task in containers, through Harbor: `qharbor run TASK --docker` composes the line so that a user need not."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tasks

ROOT = Path(__file__).resolve().parents[1]


class ContainerError(Exception):
    """The trial could not be run in containers; the text says what to do."""


def harbor_binary() -> Path:
    """Harbor's command: its own environment beside the project, else the one on PATH."""
    own = ROOT / ".venv-harbor" / "bin" / "harbor"
    if own.is_file():
        return own
    found = shutil.which("harbor")
    if found is None:
        raise ContainerError("Harbor is not installed; run `make harbor` (or `pip install harbor` in an environment of its own)")
    return Path(found)


def harbor_arguments(task: str, agent: str, command: Sequence[str], jobs: Path, name: str) -> list[str]:
    """Arguments of `harbor run` for one trial."""
    bundle = tasks.load(task).folder
    chosen = {"reference": ["-a", "oracle"], "nop": ["-a", "nop"]}
    if command:
        picked = ["-a", "qharbor.harbor_agent:ScriptAgent", "--ak", f"command={shlex.join(command)}"]
    elif agent == "trap":
        picked = ["-a", "qharbor.harbor_agent:ScriptAgent", "--ak", f"script={bundle / 'solution' / 'trap.py'}"]
    elif agent in chosen:
        picked = chosen[agent]
    else:
        # Harbor's own agents by name (claude-code, codex, terminus-2, ...) or module:Class
        picked = ["-a", agent]
    return ["run", "-p", str(bundle), *picked, "-o", str(jobs), "--job-name", name, "-y", "-q"]


def trial_result(folder: Path) -> dict[str, Any]:
    """What a trial left: the verifier's score, where the evidence is, and Harbor's own exception if there was one."""
    scores = sorted(folder.rglob("score.json"))
    verdict: dict[str, Any] = json.loads(scores[0].read_text()) if scores else {}
    results = [json.loads(p.read_text()) for p in folder.glob("*/result.json")]
    fault = next((r.get("exception_info") for r in results if r.get("exception_info")), None)
    logs = sorted(folder.rglob("log.jsonl"))
    reason = verdict.get("reason", "") or (f"{fault.get('exception_type')}: {fault.get('exception_message')}"[:400] if fault else "")
    return {
        "task": verdict.get("task", ""), "outcome": verdict.get("outcome", "infrastructure_fault"), "reward": verdict.get("reward", 0),
        "checks": verdict.get("checks", []), "race_metric": verdict.get("race_metric"), "reproducible": verdict.get("reproducible", False),
        "instance": verdict.get("instance"), "quantities": verdict.get("quantities", {}),
        "reason": reason or ("" if verdict else "the verifier left no score"), "bundle": str(logs[0].parent) if logs else None,
    }  # fmt: skip


def run(task: str, agent: str, out: Path, *, command: Sequence[str] = (), as_json: bool = False) -> int:
    """One trial in containers; prints its verdict and returns the exit status of the command."""
    from rich.console import Console

    from qharbor import show

    err = Console(stderr=True)
    try:
        harbor = harbor_binary()
    except ContainerError as exc:
        err.print(str(exc), style="red", markup=False)
        return 3
    out.mkdir(parents=True, exist_ok=True)
    name = f"{task}-{os.getpid()}"
    argv = [str(harbor), *harbor_arguments(task, agent, command, out / "jobs", name)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)}
    if not as_json:
        err.print(f"$ {shlex.join(argv)}", style="dim", markup=False, highlight=False)
    started = time.monotonic()
    status = subprocess.run(argv, env=env, stdout=sys.stderr, check=False).returncode
    result = {**trial_result(out / "jobs" / name), "task": task, "wall_s": round(time.monotonic() - started, 3)}
    if as_json:
        print(json.dumps(result, indent=1, allow_nan=False))
    else:
        show.verdict(Console(), result)
    return 3 if status != 0 or result["outcome"] == "infrastructure_fault" else 0
