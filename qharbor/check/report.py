"""What a check found: pass rates with Wilson intervals, margins of every check, a plot."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qharbor.check.measure import Run
from results.statistics import wilson

REFERENCE_AT_LEAST = 0.95
CHEAT_AT_MOST = 0.05


def quantile(values: Sequence[float], q: float) -> float:
    """Linear-interpolation quantile of a non-empty sample."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@dataclass(frozen=True)
class Summary:
    """One solver of a check. Times are medians; `margins` maps a gate check to (minimum, median, maximum) of its margin.

    Runs to which a cheat does not apply are not among the `n`; `note` says why there were some.
    """

    solver: str
    n: int
    passed: int
    low: float
    high: float
    wall_s: float
    cpu_s: float
    budget: dict[str, float]
    margins: dict[str, tuple[float, float, float]]
    failed_checks: dict[str, int]
    metric: tuple[float, float, float] | None
    faults: int
    note: str = ""

    @property
    def rate(self) -> float:
        return self.passed / self.n if self.n else 0.0

    @property
    def acceptable(self) -> bool:
        """Reference at least 95 %, every other solver at most 5 %; a run lost to the laboratory counts against either.

        A cheat that applies to no run is acceptable; a reference without runs is not.
        """
        if self.faults:
            return False
        return self.rate >= REFERENCE_AT_LEAST if self.solver == "reference" else self.rate <= CHEAT_AT_MOST

    def to_json(self) -> dict[str, Any]:
        body = {**self.__dict__, "rate": self.rate, "acceptable": self.acceptable}
        body["margins"] = {k: list(v) for k, v in self.margins.items()}
        body["metric"] = None if self.metric is None else list(self.metric)
        return body


def summarise(runs: Sequence[Run], solver: str) -> Summary:
    """The summary of one solver's runs."""
    mine = [r for r in runs if r.solver == solver and r.counts]
    others = dict.fromkeys(r.reason for r in runs if r.solver == solver and not r.counts)
    margins: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    for r in mine:
        for c in r.checks:
            if c["margin"] is not None and c["gate"]:
                margins.setdefault(c["name"], []).append(c["margin"])
            if c["gate"] and not c["passed"]:
                failed[c["name"]] = failed.get(c["name"], 0) + 1
    passed = sum(r.passed for r in mine)
    low, high = wilson(passed, len(mine))
    metrics = [r.metric for r in mine if r.metric is not None]
    units = {u for r in mine for u in r.budget}
    return Summary(
        solver, len(mine), passed, low, high,
        quantile([r.wall_s for r in mine] or [0.0], 0.5), quantile([r.cpu_s for r in mine] or [0.0], 0.5),
        {u: quantile([r.budget.get(u, 0.0) for r in mine], 0.5) for u in sorted(units)},
        {k: (min(v), quantile(v, 0.5), max(v)) for k, v in margins.items()}, failed,
        (min(metrics), quantile(metrics, 0.5), max(metrics)) if metrics else None,
        sum(r.outcome == "infrastructure_fault" for r in mine), "; ".join(others),
    )  # fmt: skip


def plot(runs: Sequence[Run], title: str, path: Path) -> None:
    """Margins of every gate check, one row a check, one lane a solver in it, one dot a run; the threshold is the line at zero."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(c["name"] for r in runs for c in r.checks if c["margin"] is not None and c["gate"]))
    solvers = [s for s in _ORDER if any(c["margin"] is not None for r in runs if r.solver == s for c in r.checks)]
    lanes = max(1, len(solvers))
    figure, axes = plt.subplots(figsize=(9.0, 1.4 + max(1, len(names)) * (0.16 + 0.085 * lanes)), layout="constrained")
    axes.axvspan(0.0, 2.2, color="0.93", zorder=0)
    axes.axvline(0.0, color="black", linewidth=1, zorder=1)
    for row in range(1, len(names)):
        axes.axhline(row - 0.5, color="0.8", linewidth=0.6, zorder=1)
    for k, solver in enumerate(solvers):
        offset = 0.8 * (k + 0.5) / lanes - 0.4
        points = [
            (max(-2.0, min(2.0, c["margin"])), names.index(c["name"]) + offset)
            for r in runs if r.solver == solver for c in r.checks if c["margin"] is not None and c["gate"]
        ]  # fmt: skip
        axes.plot(
            [x for x, _ in points], [y for _, y in points], "o", label=solver, color=_COLOURS[solver], markeredgewidth=0, alpha=0.7,
            markersize=5, zorder=3,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), ["\n".join(textwrap.wrap(n, 46)) for n in names], fontsize=8)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.set_xlim(-2.2, 2.2)
    axes.set_xlabel("margin: distance to the threshold / threshold (grey side passes; clipped at \u00b12)", fontsize=9)
    axes.set_title(title, fontsize=10)
    if solvers:
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    axes.grid(axis="x", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


_ORDER = ("reference", "trap", "stale", "fabricate", "replayed", "overclaim", "nop")
# the palette of Okabe and Ito (2008) keeps apart for the colour-blind
_COLOURS = dict(zip(_ORDER, ("#0072B2", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#009E73", "#000000"), strict=True))
