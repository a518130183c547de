"""`qharbor stabilizer`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

app = typer.Typer(no_args_is_help=True, help="The stabilizer-code benchmark: 192 codes, three tasks.", rich_markup_mode=None)
out = Console()
err = Console(stderr=True)
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]
Tasks = Annotated[list[str] | None, typer.Option("--task", help="b1, b2 or b3 (repeatable; all unless given).")]
Codes = Annotated[list[str] | None, typer.Argument(help="Ids or globs of codes (all 192 unless given).")]
RESULTS = "results.json"


def _stop(message: str, code: int = 2) -> typer.Exit:
    err.print(escape(message), style="red", highlight=False)
    return typer.Exit(code)


def _shorts(given: list[str] | None) -> list[str]:
    from qharbor.stabilizer import instances

    try:
        return [instances.short_of(t) for t in given] if given else list(instances.TASKS)
    except instances.Unknown as exc:
        raise _stop(str(exc)) from exc


def _names(patterns: list[str] | None) -> tuple[str, ...]:
    from qharbor.stabilizer import instances

    try:
        return instances.chosen(patterns or ())
    except instances.Unknown as exc:
        raise _stop(str(exc)) from exc


@app.command("list")
def list_codes(codes: Codes = None, as_json: Json = False) -> None:
    """The codes: n, k, d, generators, weights, copies."""
    from rich.table import Table

    from qharbor.stabilizer import instances

    rows = [instances.row(n) for n in _names(codes)]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = Table(box=None, header_style="bold")
    for column in ("code", "n", "k", "d", "listed", "independent", "CSS", "corrected weight", "copy of"):
        table.add_column(column, justify="left" if column in ("code", "CSS", "copy of") else "right", no_wrap=True)
    for r in rows:
        d = str(r["d"]) if r["d"] == r["d_upper"] else f"{r['d']}-{r['d_upper']}"
        table.add_row(r["id"], str(r["n"]), str(r["k"]), d, str(r["listed"]), str(r["independent"]), "yes" if r["css"] else "no",
                      f"{r['corrected_weight']:.4g}", r["copy_of"] or "")  # fmt: skip
    out.print(table)
    err.print(f"{len(rows)} codes, {sum(r['listed'] for r in rows):,} listed generators, corrected weights sum to "
              f"{sum(r['corrected_weight'] for r in rows):,.0f}", highlight=False)  # fmt: skip


@app.command()
def show(code: str, as_json: Json = False) -> None:
    """One code: what is known of it, its generators and its baseline."""
    from qharbor.stabilizer import instances

    names = _names([code])
    if len(names) != 1:
        raise _stop(f"{code!r} is {len(names)} codes; show takes one")
    spec = instances.spec("b2", names[0])
    about = instances.row(names[0]) | {k: spec[k] for k in ("certificate", "published_t", "corrected_t", "baseline_g2q", "baseline_depth")}
    if as_json:
        typer.echo(json.dumps(about | {"generators": spec["generators"], "baseline": spec["baseline"]}, indent=1))
        return
    for key, value in about.items():
        if value is not None:
            out.print(f"{key:17} {value}", markup=False, highlight=False)
    out.print("\n" + "\n".join(spec["generators"]), markup=False, highlight=False, soft_wrap=True)


@app.command()
def export(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the bundles.")],
    codes: Codes = None,
    task: Tasks = None,
) -> None:
    """Harbor bundles `b2_golay`, ...: one for each task and code. Then: harbor run -p DIR -i 'b2_golay*'"""
    from qharbor.stabilizer import export as exporting

    made = exporting.export(folder, _shorts(task), _names(codes))
    typer.echo(f"{len(made)} bundles in {folder}; run them with: harbor run -p {folder} -i '{made[0].name}*'")


@app.command()
def solve(
    folder: Annotated[Path, typer.Option("--out", help="Folder of the circuits, <out>/<task>/<code>.stim.")],
    codes: Codes = None,
    task: Tasks = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="CPU seconds for each code.")] = 5.0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    seed: int = 1,
    aim: Annotated[str | None, typer.Option(help="b3: the scoring to aim at, published or corrected.")] = None,
) -> None:
    """Run the reference solvers. A code that has its circuit in the folder is left alone, so the same command goes on where it was."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from qharbor.stabilizer import solving

    if aim not in (None, "published", "corrected"):
        raise _stop("--aim is published or corrected")
    shorts, names, failures = _shorts(task), _names(codes), []
    columns = (TextColumn("{task.description:28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=err) as bar:
            for short in shorts:
                line = bar.add_task(short, total=len(names), completed=len(names) - len(solving.left(folder, short, names)))

                def told(answer: dict[str, Any], line: Any = line, short: str = short) -> None:
                    bar.update(line, advance=1, description=f"{short} {answer['code']}"[:28])

                failures += solving.run(folder, short, names, seconds=seconds, jobs=jobs, seed=seed, aim=aim, told=told)
    except KeyboardInterrupt:
        raise _stop("interrupted; the same command goes on from there", 130) from None
    except solving.SolverFault as exc:
        raise _stop(str(exc), 3) from exc
    if failures:
        raise _stop("\n".join(failures), 1)


@app.command()
def score(
    folder: Path,
    task: Tasks = None,
    results: Annotated[Path | None, typer.Option("--results", help="Where to write the results (default: DIR/results.json).")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    as_json: Json = False,
) -> None:
    """Score a folder of circuits (<task>/<code>.stim or .qasm) in both scorings, without a laboratory."""
    from evidence import write_whole
    from qharbor.stabilizer import instances, scores

    if not folder.is_dir():
        raise _stop(f"{folder} is not a folder")
    shorts = _shorts(task)
    try:
        with err.status("reading") as status:
            found = scores.score(folder, shorts, jobs=jobs, told=lambda short, name: status.update(f"{short} {name}"))
    except instances.Unknown as exc:
        raise _stop(str(exc)) from exc
    if not found["tasks"]:
        raise _stop(f"no circuit in {folder}: they are expected as {folder}/b1/<code>.stim, b2, b3")
    target = results or folder / RESULTS
    write_whole(target, json.dumps(found, indent=1, allow_nan=False).encode() + b"\n")
    if as_json:
        typer.echo(json.dumps(found, indent=1, allow_nan=False))
        return
    _table(found)
    err.print(f"results with every circuit: {escape(str(target))}", highlight=False)


def _table(found: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("task", "scoring", "S_cap", "S_qual", "of", "solved", "circuits", "refused", "invalid"):
        table.add_column(column, justify="left" if column in ("task", "scoring") else "right")
    for short, part in found["tasks"].items():
        entries = part["instances"].values()
        refused = sum(e["refused"] is not None for e in entries)
        invalid = sum(e["refused"] is None and not e["valid"] for e in entries)
        for name, total in part["totals"].items():
            table.add_row(short, name, f"{total['capability']:,.1f}", f"{total['quality']:,.1f}", f"{total['maximum']:,.0f}",
                          f"{total['solved']}/{total['instances']}", str(len(entries)), str(refused), str(invalid))  # fmt: skip
    out.print(table)
    for short, part in found["tasks"].items():
        for name, e in part["instances"].items():
            if e["refused"] is not None:
                out.print(f"{short} {name}: refused: {e['refused']}", markup=False, highlight=False)
            elif not e["valid"]:
                wrong = [k for k, v in enumerate(e["expectations"]) if v != 1]
                out.print(
                    f"{short} {name}: {e['satisfied']} of {e['listed']} generators; not +1: {wrong[:8]}", markup=False, highlight=False
                )


@app.command()
def plot(
    results: Annotated[Path, typer.Argument(help="Results of `score`, or the folder that holds them.")],
    target: Annotated[Path | None, typer.Option("--out", help="Path without suffix (default: beside the results).")] = None,
) -> None:
    """Cumulative difficulty curves as SVG and PNG."""
    from qharbor.stabilizer import plots

    file = results / RESULTS if results.is_dir() else results
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        paths = plots.draw(found, target or file.with_name("curves"))
    except (OSError, ValueError, KeyError) as exc:
        raise _stop(f"{file} holds no results: {exc}") from exc
    except ImportError as exc:
        raise _stop(f"plots need matplotlib: {exc}", 3) from exc
    for path in paths:
        typer.echo(path)
