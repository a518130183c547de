"""The solvers of a check: the task's reference and trap, and cheats that every task must withstand."""

from __future__ import annotations

from pathlib import Path

from qharbor import embedded

GENUINE = ("reference",)
CHEATS = ("trap", "nop")


def solve(task: str, solver: str, folder: Path) -> embedded.Trial:
    """One trial of `solver` on a fresh device."""
    return embedded.run(task, solver, out=folder)
