"""The check as a person meets it: progress, table, plot, exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tasks
from qharbor.check.estimate import Estimate, words
from qharbor.check.measure import NOT_APPLICABLE, Run, Store, Unit, plan, run_all
from qharbor.check.report import Summary, plot, summarise
from qharbor.check.solvers import SOLVERS


def check(names: Sequence[str], *, devices: int, jobs: int, solvers: Sequence[str] | None, folder: Path, as_json: bool) -> bool:
    """Run the check of tasks, write `<task>.json` and `<task>.png` into `folder`; whether every solver of each is within its bound."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    err, out = Console(stderr=True), Console()
    wanted = tuple(solvers) if solvers else SOLVERS
    stores = {name: Store(folder / f"{name}.json", name) for name in names}
    units = [unit for name in names for unit in plan(stores[name], wanted, devices)]
    estimate = Estimate(units, jobs, {(n, s): w for n, store in stores.items() for s, w in store.known_wall_s.items()})
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
    total = len(names) * len(wanted) * devices
    with Progress(*columns, console=err, disable=as_json) as bar:
        done = total - sum(len(u.solvers) for u in units)
        line = bar.add_task("checking", total=total, completed=done, left=words(estimate.left_s()) if units else "")

        told = [""]

        def progress(unit: Unit, runs: list[Run]) -> None:
            estimate.ended(unit, runs)
            left = words(estimate.left_s())
            bar.update(line, advance=len(runs), description=f"{unit.task} {unit.device}", left=left)
            for run in runs:
                surprising = run.passed != (run.solver == "reference") and run.outcome != NOT_APPLICABLE
                bar.print(f"{unit.task} {run.device}: {said(run)}", style="red" if surprising else "dim", markup=False, highlight=False)
            if left not in ("", told[-1]) and not err.is_terminal:  # a log shows no bar
                told.append(left)
                bar.print(left, highlight=False)

        run_all(units, stores, jobs=jobs, progress=progress)
    reports: list[dict[str, Any]] = []
    for name in names:
        summaries = _finish(name, stores[name], wanted, devices, folder)
        reports.append({"task": name, "acceptable": all(s.acceptable for s in summaries), "summary": [s.to_json() for s in summaries]})
        if not as_json:
            _table(out, name, summaries)
    if as_json:
        print(json.dumps(reports if len(reports) > 1 else reports[0], indent=1, allow_nan=False))
    return all(r["acceptable"] for r in reports)


def said(run: Run) -> str:
    """One run in a line."""
    if run.outcome == NOT_APPLICABLE:
        return f"{run.solver} is not applicable: {run.reason}"
    failed = next((c["name"] for c in run.checks if c["gate"] and not c["passed"]), run.reason)
    state = "passes" if run.passed else f"{run.outcome.replace('_', ' ')} ({failed})" if failed else run.outcome.replace("_", " ")
    return f"{run.solver} {state}, {run.wall_s:.0f} s"


def _finish(name: str, store: Store, wanted: Sequence[str], devices: int, folder: Path) -> list[Summary]:
    summaries = [summarise(store.runs, s) for s in wanted]
    # with fewer solvers than all it stays open: the next call adds the others
    store.save(complete=set(wanted) >= set(SOLVERS), summary=[s.to_json() for s in summaries])
    title = f"{name} {tasks.load(name).version}: {devices} fresh device{'s' if devices > 1 else ''} per solver"
    plot(store.runs, title, folder / f"{name}.png")
    return summaries


def _table(out: Any, task: str, summaries: Sequence[Summary]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=task, box=None, header_style="bold", title_justify="left")
    table.add_column("solver", no_wrap=True)
    table.add_column("passes (95 % interval)", no_wrap=True)
    for name in ("wall s", "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("closest margin if it passes, else where it fails", ratio=1)
    for s in summaries:
        if not s.n:
            table.add_row(s.solver, "not applicable", "", "", f"[dim]{escape(s.note)}[/]")
            continue
        colour = "green" if s.acceptable else "red"
        passes = f"[{colour}]{s.passed}/{s.n}[/] ({s.low:.0%} to {s.high:.0%})"
        table.add_row(s.solver, passes, f"{s.wall_s:.0f}", f"{s.cpu_s:.0f}", escape(_where(s)))
    out.print(table)
    bad = [s.solver for s in summaries if not s.acceptable]
    out.print(f"[red]not as it should be: {', '.join(bad)}[/]" if bad else "[green]as it should be[/]")


def _where(s: Summary) -> str:
    if s.faults:
        return f"{s.faults} run(s) lost to the laboratory"
    closest = min(s.margins.items(), key=lambda kv: kv[1][0], default=None)
    worst = max(s.failed_checks.items(), key=lambda kv: kv[1], default=None)
    if worst is not None:
        return f"{worst[0]} ({worst[1]} of {s.n})"
    return f"{closest[1][0]:+.0%}: {closest[0]}" if closest else "no answer" if not s.passed else ""
