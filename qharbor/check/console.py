"""The check as a person meets it: progress, table, plot, exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import tasks
from qharbor.check.measure import Run, Store, run_all
from qharbor.check.report import Summary, plot, summarise
from qharbor.check.solvers import CHEATS, GENUINE


def check(task: str, *, devices: int, jobs: int, solvers: Sequence[str] | None, folder: Path, as_json: bool) -> bool:
    """Run the check of one task, write `<task>.json` and `<task>.png` into `folder`; whether every solver is within its bound."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    err = Console(stderr=True)
    wanted = tuple(solvers) if solvers else (*GENUINE, *CHEATS)
    store = Store(folder / f"{task}.json", task)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=as_json) as bar:
        line = bar.add_task(task, total=len(wanted) * devices, completed=len([r for r in store.runs if r.solver in wanted]))

        def progress(run: Run) -> None:
            bar.update(line, advance=1, description=f"{task}: {run.solver} {'passes' if run.passed else run.outcome}")

        run_all(task, wanted, devices, store, jobs=jobs, progress=progress)
    summaries = [summarise(store.runs, s) for s in wanted]
    store.save(complete=True, summary=[s.to_json() for s in summaries])
    plot(store.runs, f"{task} {tasks.load(task).version}: {devices} fresh devices per solver", folder / f"{task}.png")
    if as_json:
        print(json.dumps({"task": task, "acceptable": all(s.acceptable for s in summaries), "summary": [s.to_json() for s in summaries]}, indent=1))
    else:
        _table(Console(), task, summaries)
    return all(s.acceptable for s in summaries)


def _table(out: object, task: str, summaries: Sequence[Summary]) -> None:
    from rich.console import Console
    from rich.table import Table

    assert isinstance(out, Console)
    table = Table(title=task, box=None, header_style="bold")
    for name in ("solver", "passes", "95 % interval", "wall s", "CPU s", "closest margin", "fails most at", ""):
        table.add_column(name, overflow="fold")
    for s in summaries:
        closest = min(s.margins.items(), key=lambda kv: kv[1][0], default=None)
        worst = max(s.failed_checks.items(), key=lambda kv: kv[1], default=None)
        table.add_row(
            s.solver, f"{s.passed}/{s.n}", f"{s.low:.0%} to {s.high:.0%}", f"{s.wall_s:.1f}", f"{s.cpu_s:.1f}",
            f"{closest[1][0]:+.1%} ({closest[0]})" if closest else "", f"{worst[0]} ({worst[1]})" if worst else "",
            "[green]as it should be[/]" if s.acceptable else "[red]not as it should be[/]",
        )  # fmt: skip
    out.print(table)
