"""Run solvers on fresh devices, several at a time, and keep every result so that an interrupted check goes on where it was."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import tasks
from evidence import Bundle, Ledger, write_whole
from sidecar.admission.opening import versions

SCHEMA = "quantum-harbor/calibration-1"
NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True)
class Run:
    """One solver on one fresh device.

    `outcome` is a verdict's, or `not_applicable` where a cheat has no meaning: then it is not counted.
    """

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

    @property
    def counts(self) -> bool:
        return self.outcome != NOT_APPLICABLE


class Store:
    """Results of one check on disk, one JSON file; resumable until it is complete."""

    def __init__(self, path: Path, task: str) -> None:
        self.path = path
        self.task = task
        self.runs: list[Run] = []
        self.known_wall_s: dict[str, float] = {}
        """Median wall time of each solver in the check before this one, for the estimate of the time left."""
        saved = json.loads(path.read_text()) if path.exists() else {}
        if saved.get("schema") != SCHEMA:
            return
        self.known_wall_s = {s["solver"]: s["wall_s"] for s in saved.get("summary", [])}
        if saved.get("task_version") == tasks.load(task).version and saved.get("complete") is False:
            self.runs = [Run(**r) for r in saved["runs"]]

    def done(self) -> set[tuple[str, int]]:
        return {(r.solver, r.device) for r in self.runs}

    def add(self, *runs: Run) -> None:
        self.runs.extend(runs)
        self.save(complete=False)

    def save(self, *, complete: bool, **more: Any) -> None:
        self.runs.sort(key=lambda r: (r.solver, r.device))
        body = {
            "schema": SCHEMA, "task": self.task, "task_version": tasks.load(self.task).version, "complete": complete,
            "versions": versions(), **more, "runs": [asdict(r) for r in self.runs],
        }  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, json.dumps(body, indent=1, allow_nan=False).encode() + b"\n")


@dataclass(frozen=True)
class Unit:
    """What runs together on one core: solvers of one task with the same number, and the reference that some of them start from."""

    task: str
    device: int
    solvers: tuple[str, ...]


def plan(store: Store, solvers: Sequence[str], devices: int) -> list[Unit]:
    """Units for all (solver, device) that are not in `store` yet, the longest first within a device."""
    from qharbor.check.solvers import DERIVED

    done = store.done()
    units: list[Unit] = []
    for device in range(devices):
        todo = [s for s in solvers if (s, device) not in done]
        together = tuple(s for s in todo if s == "reference" or s in DERIVED)
        units += [Unit(store.task, device, together)] if together else []
        units += [Unit(store.task, device, (s,)) for s in todo if s not in together]
    return units


def cpu_seconds() -> float:
    """CPU time of this process and of all its ended children, s."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _budget(bundle: Path) -> dict[str, float]:
    reader = Bundle(bundle)
    ledger = Ledger(reader.opened["budget"])
    for event in reader.events():
        ledger.apply(event)
    return {unit: float(used) for unit, used in ledger.used.items()}


def measured(solver: str, device: int, trial: Callable[[], Any]) -> Run:
    """The `Run` of what `trial` does; a laboratory that fails is a fault, not an exception."""
    from qharbor.check.solvers import NotApplicable
    from qharbor.embedded import RunError

    cpu, wall = cpu_seconds(), time.monotonic()

    def run(outcome: str, reason: str, **more: Any) -> Run:
        known = {"passed": False, "metric": None, "budget": {}} | more
        wall_s, cpu_s = time.monotonic() - wall, cpu_seconds() - cpu
        return Run(solver, device, outcome, reason=reason, wall_s=round(wall_s, 2), cpu_s=round(cpu_s, 2), **known)

    try:
        t = trial()
        v = t.verdict.to_json()
        found = {"passed": v["reward"] == 1, "metric": v["race_metric"], "checks": v["checks"], "budget": _budget(t.bundle)}
        return run(v["outcome"], v["reason"], **found)
    except NotApplicable as exc:
        return run(NOT_APPLICABLE, str(exc))
    except RunError as exc:
        return run("infrastructure_fault", str(exc)[:400])


def measure(unit: Unit) -> list[Run]:
    """All of one unit, each solver in its own session, in this process and its children."""
    from qharbor.check import solvers

    folder = Path(tempfile.mkdtemp(prefix=f"qharbor-{unit.task}-"))
    runs: list[Run] = []
    try:
        kept = None
        for solver in sorted(unit.solvers, key=lambda s: s != "reference"):
            if solver in solvers.DERIVED:
                if kept is None:  # the reference itself was measured already, or is not asked for
                    kept = _reference(unit, folder)[1]
                derived, start = solvers.DERIVED[solver], kept
                runs.append(measured(solver, unit.device, lambda: derived(unit.task, start, folder / solver)))  # noqa: B023  (called at once)
            elif solver == "reference":
                run, kept = _reference(unit, folder)
                runs.append(run)
            else:
                runs.append(measured(solver, unit.device, lambda: solvers.script(unit.task, solver, folder / solver)))  # noqa: B023
        return runs
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reference(unit: Unit, folder: Path) -> tuple[Run, Any]:
    from qharbor.check import solvers

    run = measured("reference", unit.device, lambda: solvers.script(unit.task, "reference", folder / "reference"))
    return run, solvers.Kept(folder / "reference" / "bundle", run.passed)


def run_all(
    units: Sequence[Unit], stores: Mapping[str, Store], *, jobs: int = 1, progress: Callable[[Unit, list[Run]], None] = lambda *_: None
) -> None:
    """Measure all units, `jobs` at a time; each result is on disk before the next is waited for."""
    for pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(pool, "1")
    # not forked: the console's threads would be left behind half-way
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(max_workers=jobs, mp_context=context)
    try:
        futures = {executor.submit(measure, unit): unit for unit in units}
        for future in as_completed(futures):
            unit, runs = futures[future], future.result()
            stores[unit.task].add(*runs)
            progress(unit, runs)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
