"""What people see: text made inert, tables, the progress bar.

Text that comes from a laboratory is data: rich markup is never interpreted, and control characters (terminal escapes, direction
overrides) are shown as escapes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 140


def inert(value: Any) -> str:
    """Text of `value` in which every character prints as itself; all others are written as Python escapes."""
    text = value if isinstance(value, str) else "" if value is None else compact(value)
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)


def compact(value: Any) -> str:
    """JSON on one line; ASCII, so inert by itself. Numbers and strings as they are."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, default=str)


def pretty(value: Any) -> str:
    """Indented JSON, ASCII."""
    return json.dumps(value, indent=2, ensure_ascii=True, default=str)


def console(stream: TextIO | None = None) -> Console:
    """A console on `stream` (default stdout) without markup, emoji codes or highlighting; wide where it is no terminal."""
    file = stream or sys.stdout
    width = None if file.isatty() else _PIPE_WIDTH
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)


def say(*values: Any, style: str = "") -> None:
    """A line on stdout."""
    console().print(Text(" ".join(inert(v) for v in values), style=style), soft_wrap=True)


def complain(*values: Any, style: str = "") -> None:
    """A line on stderr."""
    console(sys.stderr).print(Text(" ".join(inert(v) for v in values), style=style), soft_wrap=True)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, numeric: Sequence[str] = ()) -> None:
    """A table on stdout; long cells are folded, never cut."""
    table = Table(title=Text(inert(title), style="bold"), title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(Text(inert(name)), justify="right" if name in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(inert(cell)) for cell in row))
    console().print(table)


def show_pairs(title: str, pairs: Mapping[str, Any]) -> None:
    """A table of names and values."""
    table = Table(title=Text(inert(title), style="bold"), title_justify="left", show_header=False, show_edge=False, pad_edge=False)
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for name, value in pairs.items():
        table.add_row(Text(inert(name)), Text(inert(value)))
    console().print(table)


@contextmanager
def waiting(title: str) -> Iterator[Callable[[str], None]]:
    """A progress bar on stderr with elapsed time, gone when the wait is over; call the yielded function with each status."""
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(), console=console(sys.stderr), transient=True
    )
    with bar:
        task = bar.add_task(inert(title), total=None)

        def tell(status: str) -> None:
            bar.update(task, description=inert(f"{title}: {status}"))

        yield tell
