"""How verdicts and tables look on a console. All text from an agent or a bundle is escaped: neither markup nor terminal control."""

from __future__ import annotations

from typing import Any

from rich import markup
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

_COLOUR = {
    "pass": "green",
    "science_failure": "red",
    "contract_failure": "red",
    "no_submission": "yellow",
    "infrastructure_fault": "magenta",
}


def printable(text: str) -> str:
    """`text` without what would steer a terminal (escape sequences, bidirectional overrides); lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def escape(text: str) -> str:
    """`text` as it may stand in rich markup."""
    return markup.escape(printable(text))


def number(value: Any) -> str:
    """A value as a person reads it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:.4g}"
    return escape(str(value))


def verdict(console: Console, trial: dict[str, Any]) -> None:
    """The checks as a table, the outcome below it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, justify in (
        ("check", "left"),
        ("stage", "left"),
        ("value", "right"),
        ("± stderr", "right"),
        ("threshold", "right"),
        ("margin", "right"),
        ("", "left"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for c in trial["checks"]:
        mark = "[green]pass[/]" if c["passed"] else ("[red]FAIL[/]" if c["gate"] else "[yellow]note[/]")
        margin = "" if c["margin"] is None else f"{c['margin']:+.1%}"
        unit = "" if c["unit"] == "1" else f" {escape(c['unit'])}"
        value = number(c["value"])
        table.add_row(
            escape(c["name"]), c["stage"], value + (unit if value else ""), number(c["stderr"]), number(c["threshold"]), margin, mark
        )
        if c["note"] and not c["passed"]:
            table.add_row(f"  [dim]{escape(c['note'])}[/]", "", "", "", "", "", "")
    if trial["checks"]:
        console.print(table)
    outcome = trial["outcome"]
    colour = _COLOUR.get(outcome, "white")
    lines = [f"[bold {colour}]{outcome.replace('_', ' ')}[/]   reward {trial['reward']}"]
    if trial.get("race_metric") is not None:
        lines.append(f"metric {trial['race_metric']:,.6g} (lower is better), {trial['instance']} instance")
    if trial.get("reason"):
        lines.append(escape(trial["reason"]))
    if trial.get("reproducible"):
        lines.append("[yellow]device made reproducible by --seed: this verdict does not count[/]")
    if trial.get("bundle"):
        lines.append(f"[dim]evidence: {escape(trial['bundle'])}[/]")
    if trial.get("wall_s") is not None:
        lines.append(f"[dim]{trial['wall_s']:.1f} s[/]")
    console.print(Panel("\n".join(lines), title=escape(trial["task"]), border_style=colour, expand=False))
