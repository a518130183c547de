"""`qharbor grade` for anything that holds trials, and `qharbor leaderboard`: what the console shows of `results`."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from qharbor import show
from results import cluster, export, find, grading, integrity, leaderboard, tables
from results.model import Campaign, Graded, Outcome


class CannotGrade(Exception):
    """What was asked for cannot be done; the text says what to do."""


def cache_folder() -> Path:
    """Where verdicts are kept by digest unless the user says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quantum-harbor" / "verdicts"


def single_bundle(paths: Sequence[Path]) -> Path | None:
    """The bundle where the one path is one."""
    return paths[0] if len(paths) == 1 and (paths[0] / "log.jsonl").is_file() else None


def fault_around(bundle: Path) -> dict[str, Any] | None:
    """The verdict on a bundle around which something does not hold: a log that was cut, a folder of another session. None otherwise."""
    (trial,) = find.find([bundle])
    found = integrity.problem(trial, ended=False)
    return None if found is None else integrity.fault(trial.task, found)


def graded(paths: Sequence[Path], *, workers: int, dask: str | None, cache: Path | None, quiet: bool) -> Campaign:
    """All trials of `paths`; those of a `graded.jsonl` are taken as they stand."""
    kept: list[Graded] = []
    todo: list[Path] = []
    err = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    try:
        for path in paths:
            file = find.saved_at(path)
            if file is None:
                todo.append(path)
            else:
                kept += find.saved(file)
        trials = find.find(todo)
        with Progress(*columns, console=err, disable=quiet) as bar:
            line = bar.add_task("grading", total=len(trials))

            def progress(g: Graded) -> None:
                bar.update(line, advance=1, description=show.escape(f"{g.system} {g.task}"[:48]))

            campaign = grading.grade_all(trials, workers=workers, cache=cache, dask=dask, progress=progress)
    except (find.NothingThere, cluster.NoCluster, ValueError) as exc:
        raise CannotGrade(str(exc)) from exc
    return Campaign((*kept, *campaign))


def grade(paths: Sequence[Path], *, workers: int, dask: str | None, cache: Path | None, out: Path | None, parquet: Path | None,
          as_json: bool) -> Campaign:  # fmt: skip
    """Grade, write what was asked for, print."""
    campaign = graded(paths, workers=workers, dask=dask, cache=cache, quiet=as_json)
    err = Console(stderr=True)
    if out is not None:
        err.print(f"verdicts: {grading.write(campaign, out)}", markup=False, highlight=False)
    if parquet is not None:
        try:
            for path in export.write(campaign, parquet):
                err.print(f"table: {path}", markup=False, highlight=False)
        except export.NoParquet as exc:
            raise CannotGrade(str(exc)) from exc
    if as_json:
        print(json.dumps([g.to_json() for g in campaign], indent=1, allow_nan=False))
    else:
        show_campaign(Console(), campaign)
    return campaign


_MARK = {
    Outcome.PASS: "[green]pass[/]", Outcome.SCIENCE_FAILURE: "[red]science[/]", Outcome.CONTRACT_FAILURE: "[red]contract[/]",
    Outcome.NO_SUBMISSION: "[yellow]no answer[/]", Outcome.INFRASTRUCTURE_FAULT: "[magenta]fault[/]",
}  # fmt: skip


def show_campaign(console: Console, campaign: Campaign) -> None:
    """A row a trial and the sums below; for a single trial its verdict and all lines of evidence."""
    if len(campaign) == 1:
        _one(console, campaign.trials[0])
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("system", "task", "#", "outcome", "pattern"):
        table.add_column(column, no_wrap=True)  # only what may wrap gives way where the console is narrow
    table.add_column("what it rests on", overflow="fold")
    for g in campaign:
        mark = _MARK[g.outcome] if g.attested or g.outcome is Outcome.INFRASTRUCTURE_FAULT else f"{_MARK[g.outcome]} [dim]unattested[/]"
        pattern = "" if g.pattern.value == "none" else g.pattern.value.replace("_", " ")
        line = show.escape((g.evidence or ("",))[0][:160])
        more = f" [yellow]{len(g.differences)} differences[/]" if g.differences else ""
        table.add_row(show.escape(g.system), show.escape(g.task), str(g.trial.repeat), mark, pattern, line + more)
    console.print(table)
    counts = Counter(g.outcome.value.replace("_", " ") for g in campaign)
    cpu = sum(g.cpu_s for g in campaign)
    summary = ", ".join(f"{n} {o}" for o, n in counts.most_common())
    console.print(f"{len(campaign)} trials: {summary}; {1e3 * cpu / len(campaign):.0f} ms of CPU time each")
    if campaign.quarantined:
        console.print("faults are quarantined: run these again", style="magenta")
        for g in campaign.quarantined:
            line = show.printable(f"  {g.trial.path}: {g.verdict['reason']}")
            console.print(line, markup=False, highlight=False)


def _one(console: Console, g: Graded) -> None:
    show.verdict(console, {**g.verdict, "bundle": str(g.trial.path)})
    if not g.attested and g.outcome is not Outcome.INFRASTRUCTURE_FAULT:
        console.print("[yellow]unattested: there is no bundle, the transcript's word is all there is[/]")
    if g.pattern.value != "none":
        console.print(f"pattern: {g.pattern.value.replace('_', ' ')}")
    for line in g.evidence:
        console.print(f"- {show.printable(line)}", markup=False, highlight=False)
    for a in g.audit:
        console.print(f"  {show.printable(str(a['claim']))} = {a['value']:g}: {a['origin']} ({show.printable(a['source'])})", markup=False,
                      highlight=False)  # fmt: skip
    for line in g.differences:
        console.print(f"differs: {show.printable(line)}", style="yellow", markup=False, highlight=False)


CAPTIONS = {
    "pass_rates": "Pass rate of each system, with Wilson intervals", "outcomes": "How trials ended", "passes": "Passes by task and system",
    "layers": "Tasks and the layers of the stack that they touch", "elo": "Races: Elo of each system, and by task",
    "difficulty": "Stabilizer codes: share solved against size",
}  # fmt: skip


def drawn(campaign: Campaign, folder: Path) -> list[tuple[str, bytes]]:
    """Plots of a campaign into `folder`, and caption and SVG of each."""
    from results.plots import write_all

    folder.mkdir(parents=True, exist_ok=True)
    return [(CAPTIONS[p.stem], p.read_bytes()) for p in write_all(campaign, folder) if p.suffix == ".svg"]


def board(paths: Sequence[Path], *, workers: int, dask: str | None, cache: Path | None, as_json: bool, as_csv: bool,
          html: Path | None, plots: Path | None = None) -> None:  # fmt: skip
    """The leaderboard of all trials of `paths`."""
    campaign = graded(paths, workers=workers, dask=dask, cache=cache, quiet=as_json or as_csv)
    found = leaderboard.rank(campaign)
    figures: list[tuple[str, bytes]] = []
    if (html or plots) is not None and found.systems:
        with tempfile.TemporaryDirectory() as scratch:
            figures = drawn(campaign, plots or Path(scratch))
    if plots is not None:
        Console(stderr=True).print(f"plots: {plots}", markup=False, highlight=False)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(tables.as_html(found, figures), encoding="utf-8")
        Console(stderr=True).print(f"page: {html}", markup=False, highlight=False)
    if as_json:
        print(json.dumps(found.to_json(), indent=1, allow_nan=False))
    elif as_csv:
        print(tables.as_csv(found), end="")
    else:
        show_board(Console(), found, campaign)


def show_board(console: Console, found: leaderboard.Leaderboard, campaign: Campaign) -> None:
    """Systems with intervals, then what was left out."""
    races = any(s.race is not None and s.race.elo is not None for s in found.systems)
    ks = sorted({k for s in found.systems for k in s.pass_at})
    last = ks[-1] if ks else 0
    table = Table(box=None, header_style="bold", pad_edge=False)
    repeated = [f"pass@{last}", f"pass^{last}"] if last > 1 else []
    for column in ("system", "passed", "rate", "z = 1", "z = 1.96", *repeated, *(["Elo"] if races else [])):
        table.add_column(column, justify="left" if column == "system" else "right", no_wrap=True)
    for s in found.systems:
        repeats = [_percent(s.pass_at.get(last)), _percent(s.pass_hat.get(last))] if last > 1 else []
        points = [f"{s.race.elo:.0f} ({s.race.low:.0f} to {s.race.high:.0f})" if s.race and s.race.elo is not None else ""] if races else []
        table.add_row(
            show.escape(s.system), f"{s.overall.passed}/{s.overall.n}", _percent(s.overall.rate), _range(s.overall.z1),
            _range(s.overall.z196), *repeats, *points,
        )  # fmt: skip
    console.print(table)
    if found.depth_correlation is not None:
        rho, n = found.depth_correlation, len(found.tasks)
        console.print(f"rank correlation of difficulty with depth: {rho:+.2f} over {n} tasks", highlight=False)
    if found.left_out:
        reasons = Counter(x["outcome"].replace("_", " ") for x in found.left_out)
        console.print(f"not counted: {', '.join(f'{n} {o}' for o, n in reasons.items())}; `qharbor grade` lists why", style="magenta")
    for note in found.notes:
        console.print(show.printable(note), style="yellow", markup=False)
    console.print(f"[dim]{len(campaign)} trials, {1e3 * sum(g.cpu_s for g in campaign) / max(1, len(campaign)):.0f} ms of CPU time each[/]")


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"


def _range(pair: tuple[float, float]) -> str:
    return f"{100 * pair[0]:.0f} to {100 * pair[1]:.0f} %"
