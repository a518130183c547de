"""Run solvers on fresh devices, several at a time, and keep every result so that an interrupted check goes on where it was."""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tasks
from evidence import Bundle, write_whole
from sidecar.admission.opening import versions

SCHEMA = "quantum-harbor/calibration-1"


@dataclass(frozen=True)
class Run:
    """One solver on one fresh device."""

    solver: str
    device: int
    outcome: str
    passed: bool
    reason: str
    metric: float | None
    wall_s: float
    cpu_s: float
    budget: dict[str, float]
    checks: list[dict[str, Any]] = field(default_factory=list)


class Store:
    """Results of one check on disk, one JSON file; resumable."""

    def __init__(self, path: Path, task: str) -> None:
        self.path = path
        self.task = task
        self.runs: list[Run] = []
        if path.exists():
            saved = json.loads(path.read_text())
            if saved.get("task_version") == tasks.load(task).version and saved.get("complete") is False:
                self.runs = [Run(**r) for r in saved["runs"]]

    def done(self) -> set[tuple[str, int]]:
        return {(r.solver, r.device) for r in self.runs}

    def add(self, run: Run) -> None:
        self.runs.append(run)
        self.save(complete=False)

    def save(self, *, complete: bool, **more: Any) -> None:
        self.runs.sort(key=lambda r: (r.solver, r.device))
        body = {
            "schema": SCHEMA, "task": self.task, "task_version": tasks.load(self.task).version, "complete": complete,
            "versions": versions(), **more, "runs": [asdict(r) for r in self.runs],
        }  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(body, indent=1, allow_nan=False).encode() + b"\n")


def cpu_seconds() -> float:
    """CPU time of all ended child processes of this process, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _budget(bundle: Path) -> dict[str, float]:
    from evidence import Ledger

    reader = Bundle(bundle)
    ledger = Ledger(reader.opened["budget"])
    for event in reader.events():
        ledger.apply(event)
    return {unit: float(used) for unit, used in ledger.used.items()}


def measure(task: str, solver: str, device: int, keep: Path | None = None) -> Run:
    """Run `solver` on a fresh device of `task` in this process's children; `keep` receives the run's folder."""
    from qharbor import embedded
    from qharbor.check.solvers import solve

    folder = keep or Path(tempfile.mkdtemp(prefix=f"qharbor-{task}-"))
    before = cpu_seconds()
    try:
        trial = solve(task, solver, folder)
        v = trial.verdict.to_json()
        return Run(solver, device, v["outcome"], v["reward"] == 1, v["reason"], v["race_metric"], round(trial.wall_s, 2),
                   round(cpu_seconds() - before, 2), _budget(trial.bundle), v["checks"])  # fmt: skip
    except embedded.RunError as exc:
        return Run(solver, device, "infrastructure_fault", False, str(exc)[:400], None, 0.0, round(cpu_seconds() - before, 2), {})
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def run_all(
    task: str, solvers: Sequence[str], devices: int, store: Store, *, jobs: int = 1, progress: Callable[[Run], None] = lambda _: None
) -> None:
    """All pairs that are not in `store` yet, `jobs` at a time."""
    done = store.done()
    todo: Iterable[tuple[str, int]] = [(s, d) for d in range(devices) for s in solvers if (s, d) not in done]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        for future in as_completed([pool.submit(measure, task, s, d) for s, d in todo]):
            run = future.result()
            store.add(run)
            progress(run)
