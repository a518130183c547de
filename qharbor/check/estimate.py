"""How long a check still takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from qharbor.check.measure import Run, Unit

UNKNOWN_S = 30.0
"""What a solver takes of which nothing is known yet."""


class Estimate:
    """Wall time left, from the mean time of each solver of each task so far; before the first, from the check before this one."""

    def __init__(self, units: Sequence[Unit], jobs: int, known_s: Mapping[tuple[str, str], float] | None = None) -> None:
        self._open: dict[Unit, None] = dict.fromkeys(units)
        self._jobs = jobs
        self._known = dict(known_s or {})
        self._seen: dict[tuple[str, str], list[float]] = defaultdict(list)

    def ended(self, unit: Unit, runs: Sequence[Run]) -> None:
        self._open.pop(unit, None)
        for run in runs:
            self._seen[unit.task, run.solver].append(run.wall_s)

    def _one(self, task: str, solver: str) -> float:
        seen = self._seen.get((task, solver))
        if seen:
            return sum(seen) / len(seen)
        if (task, solver) in self._known:
            return self._known[task, solver]
        others = [w for walls in self._seen.values() for w in walls]
        return sum(others) / len(others) if others else UNKNOWN_S

    def left_s(self) -> float:
        """Seconds; a unit under way counts in full."""
        total = sum(self._one(unit.task, solver) for unit in self._open for solver in unit.solvers)
        return total / max(1, min(self._jobs, len(self._open)))


def words(seconds: float) -> str:
    """A duration for a person, `about 40 s left`; nothing where nothing is left."""
    if seconds <= 0:
        return ""
    if seconds < 90:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"
