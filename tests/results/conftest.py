"""Finished sessions to grade, to cut and to retell: made in this process, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.campaign import KEPT, retold
from bench.local_lab import LocalLab
from evidence import Bundle
from graders.kit import GradedSession
from tests.graders.in_process import solution

TASK = "readout_confusion"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@dataclass(frozen=True)
class Made:
    """A sealed session and the calls that made it."""

    bundle: Path
    calls: list[dict[str, Any]]

    @property
    def answer(self) -> dict[str, Any]:
        return dict(json.loads(Bundle(self.bundle).answer_text() or "{}"))


def worked(task: str, solver: str, folder: Path, fetch: bool = False) -> Made:
    """The session in which a script of the task worked; with `fetch` its calls hold the raw records."""
    lab = LocalLab(task, folder)
    with solution(task, solver) as modules:
        modules[solver].lab = SimpleNamespace(connect=lambda: lab, Lab=object)  # type: ignore[attr-defined]
        lab.spec()
        lab.notebook()
        if fetch:
            run = lab.submit
            lab.submit = lambda *a, **k: _fetched(lab, run(*a, **k))  # type: ignore[method-assign]
        modules[solver].main()
    lab.close()
    return Made(folder, lab.calls)


def _fetched(lab: LocalLab, done: Any) -> Any:
    for array in done:
        lab.fetch_record(done.job_id, array)
    return done


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A passing session of `readout_confusion`."""
    return worked(TASK, "reference", tmp_path_factory.mktemp("reference") / "bundle", fetch=True)


@pytest.fixture(scope="session")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return worked(TASK, "trap", tmp_path_factory.mktemp("trap") / "bundle")


@pytest.fixture(scope="session")
def relaxation(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A passing session of `transmon_t1`, whose answer is the grader's own estimate."""
    from graders.transmon_t1 import estimate

    lab = LocalLab("transmon_t1", tmp_path_factory.mktemp("t1") / "bundle")
    lab.spec()
    lab.notebook()
    t1 = lab.session.device.hidden.t1_us(near=False)
    refs = [lab.run("run_iq_reference", prepare=k, shots=600, rep_period_us=1000.0) for k in (0, 1)]
    delays_ns = 1e3 * t1 * np.concatenate((np.linspace(0, 0.1, 3), np.linspace(0.6, 1.6, 6), np.linspace(4.6, 5.2, 4)))
    steps = [{"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"}]
    sweep = lab.run("run_pulse_sequence", steps=steps, sweep=[{"name": "tau_ns", "values": delays_ns}], shots=1200, rep_period_us=1500.0)
    jobs = GradedSession(Bundle(lab.folder)).jobs
    _, fit = estimate([jobs[0]], [jobs[1]], [jobs[2]])
    answer = {"t1_us": fit.t1_us, "t1_sigma_us": fit.t1_sigma_us, "excited_floor": fit.floor,
              "job_ids": [refs[0].job_id, refs[1].job_id, sweep.job_id]}  # fmt: skip
    lab.check_answer(answer)
    lab.submit_answer(answer)
    lab.close()
    return Made(lab.folder, lab.calls)


@pytest.fixture
def copy(tmp_path: Path) -> Callable[..., Path]:
    """`copy(made, answer=...)`: the session retold in a folder of its own."""
    count = iter(range(100))

    def do(made: Made, answer: Any = KEPT) -> Path:
        out = tmp_path / f"copy-{next(count)}"
        retold(made.bundle, out, answer)
        return out

    return do


def trajectory(made: Made, path: Path, **more: Any) -> Path:
    """The session as an ATIF trajectory, as a harness with MCP writes it."""
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": "Measure."}]
    for k, call in enumerate(made.calls):
        steps.append({
            "step_id": k + 2, "source": "agent", "message": "",
            "tool_calls": [{"tool_call_id": f"c{k}", "function_name": f"mcp__lab__{call['tool']}", "arguments": call["arguments"]}],
            "observation": {"results": [{"source_call_id": f"c{k}", "content": json.dumps(call["result"])}]},
        })  # fmt: skip
    whole = {"schema_version": "ATIF-v1.8", "session_id": "s", "agent": {"name": "scripted", "version": "1", "model_name": "m-1"},
             "steps": steps, "final_metrics": {"total_prompt_tokens": 1200, "total_cost_usd": 0.25}, **more}  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole))
    return path


def lines(made: Made, path: Path) -> Path:
    """The session as a JSONL of calls and results."""
    path.write_text("".join(json.dumps(c) + "\n" for c in made.calls))
    return path
