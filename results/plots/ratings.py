"""Ratings from races: the aggregate of each system with its interval, and each task as a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure

from results.plots.style import BLACK, CYCLE, MARKERS, empty, figure, look, short


@dataclass(frozen=True)
class EloRow:
    """A system: its aggregate, the bounds of its bootstrap, and its rating on each task."""

    system: str
    elo: float
    low: float
    high: float
    tasks: Mapping[str, float] = field(default_factory=dict)


def elo(rows: Sequence[EloRow]) -> Figure:
    """Systems by aggregate rating (black bar: central 95 % of the bootstrap); small signs are the tasks."""
    ranked = sorted(rows, key=lambda r: (r.elo, r.system))
    tasks = sorted({t for r in rows for t in r.tasks})
    with look():
        fig, ax = figure(1.35 + 0.26 * len(ranked))
        if not ranked:
            empty(ax, "no race was run by two systems")
            return fig
        offsets = np.linspace(-0.22, 0.22, len(tasks)) if len(tasks) > 1 else np.zeros(max(len(tasks), 1))
        for k, task in enumerate(tasks):
            at = [(r.tasks[task], i + offsets[k]) for i, r in enumerate(ranked) if task in r.tasks]
            ax.scatter([x for x, _ in at], [y for _, y in at], s=20, marker=MARKERS[k % len(MARKERS)], color=CYCLE[k % len(CYCLE)],
                       alpha=0.9, lw=0, label=short(task), zorder=2)  # fmt: skip
        for i, r in enumerate(ranked):
            ax.plot([r.low, r.high], [i, i], color=BLACK, lw=1.4, zorder=3)
            ax.plot([r.elo], [i], marker="|", ms=11, mew=2.2, color=BLACK, zorder=4)
        ax.axvline(1000, color="#999999", lw=0.6, ls=(0, (4, 3)), zorder=1)
        ax.set_yticks(range(len(ranked)), [f"{short(r.system)}  {r.elo:.0f}" for r in ranked])
        ax.set_ylim(-0.6, len(ranked) - 0.4)
        ax.set_xlabel("Elo; 1000 is the mean, 400 points are odds of ten to one")
        ax.grid(axis="x", lw=0.4, color="#E4E4E4", zorder=0)
        if tasks:
            fig.legend(loc="outside upper left", ncols=3, handletextpad=0.2, columnspacing=1.0)
    return fig
