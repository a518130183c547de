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
    """What the one trial of a job left: the verdict, where the evidence is, and Harbor's own exception if there was one.

    Harbor's record decides whether there is a verdict at all: `agent/`, `artifacts/logs/` and, until the verifier starts, `verifier/` are
    folders the agent can write to.
    """
    trial = next((p.parent for p in sorted(folder.glob("*/result.json"))), None)
    record: dict[str, Any] = json.loads((trial / "result.json").read_text()) if trial else {}
    fault = record.get("exception_info") or {}
    rewards = (record.get("verifier_result") or {}).get("rewards")
    # a verifier that ran and gave no reward says why in its score
    ran = rewards is not None or fault.get("exception_type") == "RewardFileNotFoundError"
    score = trial / "verifier" / "score.json" if trial else None
    verdict: dict[str, Any] = json.loads(score.read_text()) if ran and score is not None and score.is_file() else {}
    reason = verdict.get("reason", "") or (f"{fault.get('exception_type')}: {fault.get('exception_message')}"[:400] if fault else "")
    evidence = trial / "artifacts" / "evidence" if trial else None
    return {
        "task": verdict.get("task", ""), "outcome": verdict.get("outcome", "infrastructure_fault") if rewards else "infrastructure_fault",
        "reward": int((rewards or {}).get("reward", 0)), "checks": verdict.get("checks", []), "race_metric": verdict.get("race_metric"),
        "reproducible": verdict.get("reproducible", False), "instance": verdict.get("instance"),
        "quantities": verdict.get("quantities", {}),
        "reason": reason or ("" if verdict else "the verifier left no score"),
        "bundle": str(evidence) if evidence is not None and (evidence / "log.jsonl").is_file() else None,
    }  # fmt: skip


def run(task: str, agent: str, out: Path, *, command: Sequence[str] = (), as_json: bool = False) -> int:
    """One trial in containers; prints its verdict and returns the exit status of the command."""
    from rich.console import Console

    from qharbor import images, show

    err = Console(stderr=True)
    try:
        harbor = harbor_binary()
    except ContainerError as exc:
        err.print(str(exc), style="red", markup=False)
        return 3
    lacking = [tag for tag, there in images.present().items() if not there]
    if lacking:
        err.print(f"not built: {', '.join(lacking)}; run `make images` (`qharbor doctor` checks the rest)", style="red", markup=False)
        return 3
    out.mkdir(parents=True, exist_ok=True)
    name = f"{task}-{os.getpid()}"
    argv = [str(harbor), *harbor_arguments(task, agent, command, out / "jobs", name)]
    # Harbor's model library asks the network for price lists at start; a trial needs none
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", **os.environ, "PYTHONPATH": path}
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
