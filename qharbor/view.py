"""`qharbor view`: pages on which trials can be looked at."""

from __future__ import annotations

import contextlib
import functools
import http.server
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from qharbor.show import printable

if TYPE_CHECKING:
    from results.model import Graded, Trial

err = Console(stderr=True)


def view(
    paths: Annotated[list[Path], typer.Argument(help="Bundle, run, Harbor trial, job or jobs folder, transcript, or graded.jsonl.")],
    html: Annotated[
        Path | None, typer.Option("--html", help="Where to write: a file for one trial, a folder for several (default: view.html, view/).")
    ] = None,
    grade: Annotated[bool, typer.Option("--grade", help="Grade first; else the verdict beside the evidence is shown as such.")] = False,
    truth: Annotated[bool, typer.Option("--truth", help="Show the hidden device too.")] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    serve: Annotated[int | None, typer.Option("--serve", min=0, max=65535, help="Serve it on this loopback port until Ctrl-C.")] = None,
) -> None:
    """Self-contained pages of trials: experiments on the lab clock, raw data, notebook, answer, checks, and what the agent did."""
    from results.find import NothingThere
    from results.viewer import write

    try:
        shown = trials(paths, grade=grade)
    except (NothingThere, ValueError) as exc:
        err.print(printable(str(exc)), style="red", markup=False, highlight=False)
        raise typer.Exit(2) from exc
    single = len(shown) == 1
    out = html or Path("view.html" if single else "view")
    if single and out.is_dir():
        out = out / "index.html"
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("pages", total=len(shown))
        page = write(shown, out, title=", ".join(p.resolve().name for p in paths)[:120], truth=truth, progress=lambda _: bar.advance(task))
    typer.echo(page)
    if open_ and serve is None:
        webbrowser.open(page.resolve().as_uri())
    if serve is not None:
        _serve(page, serve, open_=open_)


def trials(paths: Sequence[Path], *, grade: bool) -> list[Trial | Graded]:
    """What lies at `paths`. Trials of a `graded.jsonl` carry their verdicts."""
    from results.find import find, saved, saved_at
    from results.grading import grade_all
    from results.model import Trial

    shown: list[Trial | Graded] = []
    for path in paths:
        file = saved_at(path)
        shown += list(saved(file)) if file is not None else find([path])
    ungraded = [s for s in shown if isinstance(s, Trial)]
    if not grade or not ungraded:
        return shown
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("grading", total=len(ungraded))
        done = iter(grade_all(ungraded, progress=lambda _: bar.advance(task)))
    return [next(done) if isinstance(s, Trial) else s for s in shown]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of one folder, without directory listings and without a log line each; asked for by the loopback address only."""

    def send_head(self) -> Any:
        # another site whose name is made to lead here must not read the pages
        if self.headers.get("Host", "").rsplit(":", 1)[0] not in ("127.0.0.1", "localhost"):
            self.send_error(421)
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> None:
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return


def _serve(page: Path, port: int, *, open_: bool) -> None:
    handler = functools.partial(_Quiet, directory=str(page.resolve().parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/{page.name}"
        err.print(f"{url}\nstop with Ctrl-C", highlight=False, markup=False)
        if open_:
            webbrowser.open(url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
