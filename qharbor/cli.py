"""The `qharbor` command."""

from __future__ import annotations

import os

for _pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")

import datetime as dt  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Annotated, Any  # noqa: E402

import typer  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from qharbor.stabilizer.cli import app as stabilizer_app  # noqa: E402
from qharbor.view import view  # noqa: E402

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Quantum-Harbor: a virtual quantum laboratory that measures verified autonomy.",
    rich_markup_mode=None,
)
evidence_app = typer.Typer(no_args_is_help=True, help="Check evidence.")
list_app = typer.Typer(no_args_is_help=True, help="What there is.")
images_app = typer.Typer(no_args_is_help=True, help="Container images.")
bundles_app = typer.Typer(no_args_is_help=True, help="Task bundles for Harbor.")
new_app = typer.Typer(no_args_is_help=True, help="Skeletons that work, to begin from.")
docs_app = typer.Typer(no_args_is_help=True, help="Generated documentation.")
tasks_app = typer.Typer(no_args_is_help=True, help="Generated parts of the task bundles.")
for _name, _sub in (
    ("evidence", evidence_app), ("list", list_app), ("images", images_app), ("bundles", bundles_app), ("tasks", tasks_app),
    ("new", new_app), ("docs", docs_app),
):  # fmt: skip
    app.add_typer(_sub, name=_name)
app.add_typer(stabilizer_app, name="stabilizer")
app.command()(view)

out = Console()
err = Console(stderr=True)
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output on stdout.")]
EXIT_FAILED, EXIT_USAGE, EXIT_FAULT = 1, 2, 3


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def _stop(message: str, code: int = EXIT_USAGE) -> typer.Exit:
    from qharbor.show import printable

    err.print(printable(message), style="red", markup=False, highlight=False)
    return typer.Exit(code)


def _task(name: str) -> str:
    import tasks

    try:
        tasks.load(name)
    except (KeyError, ValueError) as exc:
        raise _stop(str(exc.args[0])) from exc
    return name


@list_app.command("tasks")
def list_tasks(as_json: Json = False) -> None:
    """All tasks."""
    import tasks

    cards = [tasks.load(n) for n in tasks.names()]
    if as_json:
        _print_json([{"name": c.name, "index": c.index, "title": c.title, "version": c.version, "category": c.category, "mode": c.mode,
                      "qtype": c.qtype, "layers": list(c.layers), "budget": c.budget} for c in cards])  # fmt: skip
        return
    table = Table(box=None, header_style="bold")
    for column in ("#", "task", "mode", "qtype", "title"):
        table.add_column(column, overflow="fold")
    for c in cards:
        table.add_row(str(c.index), c.name, c.mode, c.qtype, c.title)
    out.print(table)


@list_app.command("qtypes")
def list_qtypes(as_json: Json = False) -> None:
    """All hardware types."""
    import qtypes

    found = [qtypes.load(n) for n in qtypes.names()]
    if as_json:
        _print_json(
            [
                {"name": q.name, "title": q.title, "experiments": [c.tool for c in q.experiments], "queries": [c.tool for c in q.queries]}
                for q in found
            ]
        )
        return
    table = Table(box=None, header_style="bold")
    for column in ("qtype", "title", "tools"):
        table.add_column(column, overflow="fold")
    for q in found:
        table.add_row(q.name, q.title, ", ".join(q.tools()))
    out.print(table)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    ctx: typer.Context,
    task: str,
    agent: Annotated[str, typer.Option(help="reference, trap or nop; or give a command after --")] = "reference",
    seed: Annotated[
        int | None, typer.Option(help="Developer's switch: a reproducible device; the verdict is marked and does not count.")
    ] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder of the run (default: runs/<task>-<time>).")] = None,
    docker: Annotated[bool, typer.Option(help="In containers, through Harbor.")] = False,
    timeout: Annotated[float | None, typer.Option(help="Seconds the agent may take (default: the task's wall time).")] = None,
    as_json: Json = False,
) -> None:
    """Run one task: open the laboratory, let the agent work, grade. Embedded unless --docker."""
    from qharbor import embedded, show

    _task(task)
    folder = out_dir or Path("runs") / f"{task}-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}-{os.getpid()}"
    if docker:
        from qharbor import containers

        raise typer.Exit(containers.run(task, agent, folder, command=ctx.args, as_json=as_json))
    if not as_json:
        err.print(
            f"[bold]{task}[/] embedded: agent and sidecar run as the same user, which is no security boundary"
            " (use --docker for agents you do not trust)"
        )
    status = err.status("opening the laboratory") if not as_json else None
    started = time.monotonic()

    def phase(text: str) -> None:
        if status is not None:
            status.update(f"{text} ({time.monotonic() - started:.0f} s so far)")

    def echo(text: str) -> None:
        err.print(show.printable(text), end="", markup=False, highlight=False, style="dim")

    try:
        if status is not None:
            status.start()
        trial = embedded.run(task, agent, ctx.args, out=folder, seed=seed, timeout_s=timeout, echo=None if as_json else echo, phase=phase)
    except embedded.RunError as exc:
        raise _stop(str(exc), EXIT_FAULT) from exc
    finally:
        if status is not None:
            status.stop()
    embedded.save(trial, folder)
    if as_json:
        _print_json(trial.to_json())
    else:
        show.verdict(out, trial.to_json())
    if trial.verdict.outcome.value == "infrastructure_fault":
        raise typer.Exit(EXIT_FAULT)


Paths = Annotated[list[Path], typer.Argument(help="Bundles, Harbor trials, jobs or jobs folders, transcripts, or folders of these.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes that grade at the same time.")]
Dask = Annotated[str | None, typer.Option(help="Address of a Dask scheduler whose workers grade instead (extra `cluster`).")]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep verdicts by digest under $XDG_CACHE_HOME/quantum-harbor.")]


@app.command()
def grade(
    paths: Paths,
    as_json: Json = False,
    nonce: Annotated[str | None, typer.Option(help="Session nonce that the evidence must carry (of a single bundle).")] = None,
    workers: Workers = 1,
    dask: Dask = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder for graded.jsonl, which the other commands take too.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Folder for Parquet tables of verdicts, checks and costs.")] = None,
    cache: Cache = True,
) -> None:
    """Grade trials from disk, and name why the failed ones failed; the verdict on a bundle equals the session's own."""
    from qharbor import results

    bundle = results.single_bundle(paths)
    if bundle is not None and not (dask or out_dir or parquet):
        _grade_bundle(bundle, nonce, as_json=as_json)
        return
    if nonce is not None:
        raise _stop("--nonce is that of one session: give the folder of its bundle (with log.jsonl)")
    kept = results.cache_folder() if cache else None
    try:
        campaign = results.grade(paths, workers=workers, dask=dask, cache=kept, out=out_dir, parquet=parquet, as_json=as_json)
    except results.CannotGrade as exc:
        raise _stop(str(exc)) from exc
    if campaign.quarantined:
        raise typer.Exit(EXIT_FAULT)


def _grade_bundle(bundle: Path, nonce: str | None, *, as_json: bool) -> None:
    """The verdict on one bundle, written into it as `score.json`."""
    from graders.kit.grade import grade_bundle
    from qharbor import results, show

    result = results.fault_around(bundle) or grade_bundle(bundle, nonce=nonce).to_json()
    result = {**result, "bundle": str(bundle.resolve())}
    if as_json:
        _print_json(result)
    else:
        show.verdict(out, result)
    if result["outcome"] == "infrastructure_fault":
        raise typer.Exit(EXIT_FAULT)


@app.command()
def leaderboard(
    jobs: Paths,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="One row a system on stdout.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained page there.")] = None,
    plots: Annotated[Path | None, typer.Option(help="Write all plots as SVG and PNG into this folder.")] = None,
    workers: Workers = 1,
    dask: Dask = None,
    cache: Cache = True,
) -> None:
    """Rank the systems of a campaign: pass rates with intervals, repeats, layers, races. Grades what is not graded yet."""
    from qharbor import results

    if as_json and as_csv:
        raise _stop("--json and --csv both write to stdout: give one of them")
    kept = results.cache_folder() if cache else None
    try:
        results.board(jobs, workers=workers, dask=dask, cache=kept, as_json=as_json, as_csv=as_csv, html=html, plots=plots)
    except results.CannotGrade as exc:
        raise _stop(str(exc)) from exc


@evidence_app.command("verify")
def evidence_verify(bundle: Path, as_json: Json = False) -> None:
    """Check chain, digests, commitments, order and budgets; names the first event that does not hold."""
    from evidence import verify
    from qharbor.show import printable

    report = verify(bundle)
    if as_json:
        _print_json(report.to_json())
    elif report.ok:
        out.print(
            f"[green]holds[/]: {report.events} events, {report.jobs} jobs, {report.records} records,"
            f" {'sealed' if report.sealed else 'not sealed'}"
        )
        if report.torn_bytes:
            out.print(f"[yellow]a torn tail of {report.torn_bytes} bytes was never acknowledged and is not counted[/]")
    else:
        out.print(printable(f"does not hold at event {report.seq}: {report.problem}"), style="red", markup=False, highlight=False)
    raise typer.Exit(0 if report.ok else EXIT_FAILED)


@app.command()
def serve(
    task: str,
    port: Annotated[int, typer.Option(help="Port on loopback.")] = 8000,
    out_dir: Annotated[
        Path | None, typer.Option("--out", help="Folder of the bundle; an unfinished session there is taken up again.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Developer's switch: a reproducible device; the bundle is marked.")] = None,
) -> None:
    """Serve a laboratory on loopback until Ctrl-C."""
    import subprocess
    import sys

    from qharbor.embedded import sidecar_env

    _task(task)
    folder = (out_dir or Path("runs") / f"{task}-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}-{os.getpid()}" / "bundle").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    err.print(f"[bold]{task}[/] at http://127.0.0.1:{port} (MCP: /mcp); try: LAB_URL=http://127.0.0.1:{port} lab spec", highlight=False)
    err.print(f"evidence: {folder}\nstop with Ctrl-C, then: qharbor grade {folder}", markup=False, highlight=False)
    process = subprocess.Popen([sys.executable, "-m", "sidecar"], env=sidecar_env(task, folder, port, seed=seed))
    import signal

    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while True:
        try:
            raise typer.Exit(process.wait())
        except KeyboardInterrupt:
            process.terminate()


@app.command()
def seal(bundle: Path) -> None:
    """Seal a session whose agent is gone (used by the collect hook of the bundles)."""
    from evidence import EvidenceError
    from sidecar.seal import seal as seal_bundle

    try:
        typer.echo(seal_bundle(bundle))
    except EvidenceError as exc:
        raise _stop(f"not sealed: {exc}", EXIT_FAULT) from exc


@images_app.command("build")
def images_build() -> None:
    """Build the sidecar and agent images."""
    from qharbor import images

    try:
        images.build()
    except images.BuildError as exc:
        raise _stop(str(exc), EXIT_FAULT) from exc


@bundles_app.command("install")
def bundles_install(as_json: Json = False) -> None:
    """Put the bundles into Harbor's package cache and print the line that runs each offline."""
    from qharbor import bundles, containers

    try:
        installed = bundles.install()
    except (bundles.BundleError, containers.ContainerError) as exc:
        raise _stop(str(exc), EXIT_FAULT) from exc
    if as_json:
        _print_json(installed)
    else:
        for line in installed.values():
            typer.echo(line)


@tasks_app.command("sync")
def tasks_sync(check: Annotated[bool, typer.Option("--check", help="Change nothing; fail if something is out of step.")] = False) -> None:
    """Write the generated parts of the bundles."""
    from qharbor import bundles

    try:
        changed = bundles.sync(check=check)
    except bundles.BundleError as exc:
        raise _stop(str(exc), EXIT_FAILED) from exc
    for line in changed:
        typer.echo(line)
    if check and changed:
        raise _stop("out of step: run `qharbor tasks sync`", EXIT_FAILED)


Title = Annotated[str | None, typer.Option(help="One line on what it is.")]


def _made(made: Any) -> None:
    for file in made.files:
        typer.echo(file)
    err.print("\nIt works as it stands. Left to do:")
    for line in made.left:
        err.print(f"- {line}", markup=False, highlight=False)


@new_app.command("qtype")
def new_qtype(name: str, title: Title = None) -> None:
    """A working hardware type to begin from: a driven qubit of hidden Rabi frequency, with tests."""
    from qharbor import scaffold

    try:
        _made(scaffold.qtype(name, title))
    except scaffold.NewError as exc:
        raise _stop(str(exc)) from exc


@new_app.command("task")
def new_task(
    name: str,
    qtype: Annotated[str, typer.Option(help="The hardware type; `qharbor new qtype` makes one.")],
    mode: Annotated[str, typer.Option(help="pass_fail, race or test_case")] = "pass_fail",
    title: Title = None,
) -> None:
    """A working task to begin from: card, instruction, reference, trap, grader and its tests."""
    from qharbor import scaffold

    try:
        _made(scaffold.task(name, qtype, mode, title))
    except scaffold.NewError as exc:
        raise _stop(str(exc)) from exc


@docs_app.command("build")
def docs_build(check: Annotated[bool, typer.Option("--check", help="Change nothing; fail if something is out of step.")] = False) -> None:
    """Write the catalogue: a page per hardware type and per task, from the code and the calibration."""
    from qharbor import catalogue

    changed = catalogue.build(check=check)
    for line in changed:
        typer.echo(line)
    if check and changed:
        raise _stop("out of step: run `qharbor docs build`", EXIT_FAILED)


@app.command()
def check(
    task: Annotated[str, typer.Argument(help="A task, or `all`.")],
    devices: Annotated[int, typer.Option(min=1, help="Fresh devices per solver.")] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time; one per core unless given.")] = os.cpu_count() or 1,
    solver: Annotated[list[str] | None, typer.Option(help="Only these solvers (repeatable).")] = None,
    out_dir: Annotated[Path, typer.Option("--out", help="Folder of the results.")] = Path("docs/calibration"),
    as_json: Json = False,
) -> None:
    """Reference, trap and cheats on fresh devices: does the task measure what it should?"""
    import tasks
    from qharbor.check import console
    from qharbor.check.solvers import SOLVERS

    unknown = set(solver or ()) - set(SOLVERS)
    if unknown:
        raise _stop(f"no solver {min(unknown)!r}; there are: {', '.join(SOLVERS)}")
    names = tasks.names() if task == "all" else (_task(task),)
    try:
        good = console.check(names, devices=devices, jobs=jobs, solvers=solver, folder=out_dir, as_json=as_json)
    except KeyboardInterrupt:
        raise _stop("interrupted; what was measured is kept, the same command goes on from there", 130) from None
    raise typer.Exit(0 if good else EXIT_FAILED)


@app.command()
def contract(
    target: Annotated[str, typer.Argument(help="Name of a qtype or task, or a folder: qtype, bundle, or distribution with entry points.")],
    as_json: Json = False,
) -> None:
    """Does a qtype or task keep the contract? One line a rule; fails if one is broken."""
    from qharbor.contract import console, outside

    status = err.status("reading") if not as_json else None
    try:
        if status is not None:
            status.start()
        results = console.check(target, lambda name, rule: status.update(f"{name}: {rule}") if status is not None else None)
    except outside.NothingThere as exc:
        raise _stop(str(exc)) from exc
    finally:
        if status is not None:
            status.stop()
    good = not any(r.findings for r in results)
    if as_json:
        _print_json({"holds": good, "results": [r.to_json() for r in results]})
    else:
        console.show(out, results)
    raise typer.Exit(0 if good else EXIT_FAILED)


@app.command()
def doctor(as_json: Json = False) -> None:
    """What this machine has and lacks, with the command that mends it."""
    from qharbor import doctor as checks

    raise typer.Exit(checks.run(as_json=as_json))


if __name__ == "__main__":
    app()
