"""The command `lab`: the laboratory from a shell.

Exit codes: 0 done; 1 the laboratory refused, or the job was cancelled, or the answer does not fit its schema; 2 wrong usage;
3 the laboratory cannot be reached or is at fault.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import lab
from lab import console, describe
from lab.client import DEFAULT_URL, WAIT_S
from lab.errors import JobFailed, LabError, Refused
from lab.records import read_npz

REFUSED, USAGE, AT_FAULT = 1, 2, 3
_PATIENCE_S = 20.0
_ARRAY_COLUMNS = ("array", "dtype", "shape", "unit", "axes", "layout")

app = typer.Typer(
    name="lab",
    help="Operate a Quantum-Harbor laboratory. Exit codes: 0 done, 1 refused, 2 wrong usage, 3 laboratory unreachable or at fault.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Pairs = Annotated[
    list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Fields; JSON where it parses, else text; KEY=@FILE reads a file.")
]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of a job.")]
AnswerFile = Annotated[str, typer.Argument(metavar="ANSWER.json", help="The answer as a JSON object; - reads stdin.")]
Npz = Annotated[Path | None, typer.Option("--out", "-o", help="Write the record to this .npz file.")]
OutFile = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead of the screen.")]
Timeout = Annotated[float, typer.Option("--timeout", min=0.0, help="Longest time to wait for the job, s.")]


def _version(wanted: bool) -> None:
    if wanted:
        console.say(f"lab {lab.__version__}")
        raise typer.Exit


Url = Annotated[str, typer.Option(envvar="LAB_URL", help="Address of the laboratory.")]
Patience = Annotated[float, typer.Option(envvar="LAB_PATIENCE_S", help="Longest time for one request with its repetitions, s.")]
Version = Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)]


@app.callback()
def _options(ctx: typer.Context, url: Url = DEFAULT_URL, patience: Patience = _PATIENCE_S, version: Version = False) -> None:
    del version
    ctx.obj = (url, patience)


@contextmanager
def laboratory(ctx: typer.Context) -> Iterator[lab.Lab]:
    """The laboratory of this call; its errors become a message on stderr and an exit code."""
    url, patience = ctx.obj
    try:
        with lab.connect(url, patience_s=patience) as dev:
            yield dev
    except Refused as exc:
        _explain(exc)
        raise typer.Exit(REFUSED) from None
    except JobFailed as exc:
        console.complain(str(exc), style="red")
        raise typer.Exit(REFUSED if exc.view.get("status") == "cancelled" else AT_FAULT) from None
    except LabError as exc:
        console.complain(str(exc), style="red")
        raise typer.Exit(AT_FAULT) from None
    except ValueError as exc:  # an address or a request that cannot be sent
        _usage(str(exc))


def _explain(exc: Refused) -> None:
    console.complain("refused:", exc.args[0], style="red")
    for name, value in exc.facts().items():
        console.complain(f"  {name:6}", value)
    if exc.advice:
        console.complain("  next  ", exc.advice)


def _usage(message: str) -> NoReturn:
    console.complain("usage:", message, style="red")
    raise typer.Exit(USAGE)


def _print_json(value: Any) -> None:
    sys.stdout.write(console.pretty(value) + "\n")


def _loads(text: str) -> Any:
    """JSON without NaN and Infinity; ValueError otherwise."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def _value(text: str) -> Any:
    try:
        return _loads(text)
    except ValueError:
        return text


def _read(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        _usage(f"cannot read {path}: {exc}")


def parse_pairs(pairs: list[str] | None) -> dict[str, Any]:
    """`key=value` arguments as a request: values are JSON where they parse, else text; `key=@file` takes the content of a file."""
    request: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            _usage(f"expected key=value, got {pair!r}")
        if name in request:
            _usage(f"{name} is given twice")
        request[name] = _value(_read(text[1:]) if text.startswith("@") else text)
    return request


def _answer(path: str) -> dict[str, Any]:
    try:
        answer = _loads(_read(path))
    except ValueError as exc:
        _usage(f"{path} is not JSON: {exc}")
    if not isinstance(answer, dict):
        _usage(f"{path} must hold a JSON object")
    return answer


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all: a file that exists is complete."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as exc:
        part.unlink(missing_ok=True)
        _usage(f"cannot write {path}: {exc}")
    console.complain(f"wrote {path} ({len(data)} bytes)")


@app.command()
def spec(
    ctx: typer.Context,
    tool: Annotated[str | None, typer.Argument(help="An experiment or query: print its fields.")] = None,
    as_json: AsJson = False,
) -> None:
    """What the laboratory tells: device, experiments, budget, limits, answer schema."""
    with laboratory(ctx) as dev:
        document = dev.spec()
        if tool is not None:
            entry = describe.tools(document).get(tool)
            if entry is None:
                _usage(f"no tool {tool!r}; known: {', '.join(describe.tools(document))}")
            _print_json(entry) if as_json else describe.show_tool(entry)
        elif as_json:
            _print_json(document)
        else:
            describe.show_spec(document)


@app.command()
def notebook(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Read the laboratory notebook. Entries are dated and may be stale."""
    with laboratory(ctx) as dev:
        entries = dev.notebook()
        if as_json:
            _print_json(entries)
            return
        for entry in entries:
            console.say(entry.get("date"), entry.get("author"), "-", entry.get("title"), style="bold")
            console.say(entry.get("text"))
            if entry.get("data") is not None:
                console.say(console.pretty(entry["data"]))
            console.say("")


@app.command()
def note(ctx: typer.Context, text: Annotated[str, typer.Argument(help="Text of the entry.")]) -> None:
    """Append an entry to the notebook."""
    with laboratory(ctx) as dev:
        dev.append_notebook(text)


@app.command()
def materials(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the public files."""
    with laboratory(ctx) as dev:
        found = dev.materials()
        if as_json:
            _print_json(found)
        else:
            columns = ("name", "bytes", "description")
            console.show_table("materials", columns, [[m.get(c) for c in columns] for m in found], numeric=("bytes",))


@app.command()
def material(ctx: typer.Context, name: Annotated[str, typer.Argument(help="Name of the file.")], out: OutFile = None) -> None:
    """Print a public file, or write it unchanged with -o."""
    with laboratory(ctx) as dev:
        text = dev.material(name)
        if out is not None:
            _write(out, text.encode("utf-8"))
        else:
            console.say(text)


@app.command()
def budget(ctx: typer.Context, as_json: AsJson = False) -> None:
    """What may still be used."""
    with laboratory(ctx) as dev:
        left = dev.budget()
        _print_json(left) if as_json else describe.show_budget(left)


@app.command()
def run(
    ctx: typer.Context,
    experiment: Annotated[str, typer.Argument(help="Name of the experiment, run_...")],
    pairs: Pairs = None,
    out: Npz = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return once the job is accepted.")] = False,
    timeout: Timeout = WAIT_S,
    as_json: AsJson = False,
) -> None:
    """Run an experiment: lab run run_ramsey shots=1000 delays_us=[0,1,2] --out ramsey.npz"""
    if no_wait and out is not None:
        _usage("--no-wait has no record to write; fetch it later: lab fetch JOB --out FILE.npz")
    request = parse_pairs(pairs)
    with laboratory(ctx) as dev:
        job = dev.submit(experiment, **request)
        if no_wait:
            _print_json(job.view) if as_json else console.say(job.job_id)
            return
        if not as_json:
            console.complain(f"accepted as {job.job_id}")
        _finish(job, out, timeout, as_json)


@app.command()
def fetch(ctx: typer.Context, job_id: JobId, out: Npz = None, timeout: Timeout = WAIT_S, as_json: AsJson = False) -> None:
    """Wait for a job and fetch its record."""
    with laboratory(ctx) as dev:
        _finish(dev.job(job_id), out, timeout, as_json)


def _finish(job: lab.Job, out: Path | None, timeout: float, as_json: bool) -> None:
    job.wait(timeout)
    if not job.completed:
        raise JobFailed(job.view)
    view, record = job.view, None
    if out is not None:
        data = job.record_bytes()
        record = lab.Record(view, read_npz(data, view))
        _write(out, data)
    if as_json:
        _print_json(view)
        return
    record = job.result() if record is None else record
    about = {"cost": describe.amounts(job.cost), "lab clock": describe.interval(view), **record.summary}
    console.show_pairs(f"{job.job_id} {job.tool} {job.status}", about)
    rows = [[n, str(a.dtype), str(a.shape), record.unit(n), ", ".join(record.axes(n)), record.layout(n)] for n, a in record.items()]
    console.show_table("record", _ARRAY_COLUMNS, rows)


@app.command()
def query(ctx: typer.Context, tool: Annotated[str, typer.Argument(help="Name of the query.")], pairs: Pairs = None) -> None:
    """Ask a query and print its result as JSON."""
    request = parse_pairs(pairs)
    with laboratory(ctx) as dev:
        _print_json(dev.query(tool, **request))


@app.command()
def jobs(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the jobs of the session."""
    with laboratory(ctx) as dev:
        found = dev.jobs()
        if as_json:
            _print_json([j.view for j in found])
            return
        rows = [[j.view.get("number"), j.job_id, j.tool, j.status, describe.amounts(j.cost), describe.interval(j.view)] for j in found]
        console.show_table("jobs", ("no", "job", "experiment", "status", "cost", "lab clock"), rows, numeric=("no",))


@app.command()
def cancel(ctx: typer.Context, job_id: JobId) -> None:
    """Cancel a job: a waiting one is refunded, a running one is charged and gives no data."""
    with laboratory(ctx) as dev:
        job = dev.job(job_id).cancel()
        console.say(job.job_id, job.status)


@app.command()
def lock(ctx: typer.Context, out: OutFile = None) -> None:
    """Lock the session and reveal its challenge. No experiment counts afterwards; there is no way back."""
    with laboratory(ctx) as dev:
        challenge = dev.lock_and_reveal()
        if out is not None:
            _write(out, console.pretty(challenge).encode("ascii"))
        else:
            _print_json(challenge)


@app.command()
def check(ctx: typer.Context, answer: AnswerFile) -> None:
    """Compare an answer with the schema of the task; free, and silent about its merit."""
    document = _answer(answer)
    with laboratory(ctx) as dev:
        outcome = dev.check_answer(document)
        _print_json(outcome)
        if _is_bad(outcome):
            raise typer.Exit(REFUSED)


@app.command()
def submit(ctx: typer.Context, answer: AnswerFile) -> None:
    """Hand in the answer. Final: it seals the session."""
    document = _answer(answer)
    with laboratory(ctx) as dev:
        _print_json(dev.submit_answer(document))


def _is_bad(outcome: Mapping[str, Any]) -> bool:
    return any(outcome.get(k) is False for k in ("valid", "ok"))


def main() -> None:
    """Entry point of the command."""
    app()


if __name__ == "__main__":
    main()
