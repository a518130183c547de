"""Who passes what: ranked pass rates, outcomes of each system, and the grid of tasks and systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from results.plots.style import BLUE, GREY, OUTCOMES, empty, figure, look, short
from results.statistics import Z68, Z95, wilson


@dataclass(frozen=True)
class PassRate:
    """`passed` of `n` counted trials of a system."""

    system: str
    passed: int
    n: int

    @property
    def rate(self) -> float:
        return self.passed / self.n if self.n else 0.0


@dataclass(frozen=True)
class OutcomeCount:
    """How often each outcome of the trials of a system; faults of the laboratory are not among them."""

    system: str
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """`passed` of `n` counted trials of a system on a task; `faults` were quarantined."""

    task: str
    system: str
    passed: int
    n: int
    faults: int = 0


def pass_rates(rows: Sequence[PassRate]) -> Figure:
    """Systems by pass rate, the best on top, with Wilson intervals at z = 1 (thick) and z = 1.96 (thin)."""
    ranked = sorted(rows, key=lambda r: (r.rate, r.n, r.system))
    with look():
        fig, ax = figure(0.9 + 0.22 * len(ranked))
        if not ranked:
            empty(ax, "no counted trial")
            return fig
        for k, r in enumerate(ranked):
            for z, width in ((Z95, 0.8), (Z68, 2.6)):
                low, high = wilson(r.passed, r.n, z)
                ax.plot([100 * low, 100 * high], [k, k], color=BLUE, lw=width, solid_capstyle="butt", zorder=2)
            ax.plot(100 * r.rate, k, "o", ms=5, mfc="white", mec=BLUE, mew=1.2, zorder=3)
            ax.annotate(f"{r.passed}/{r.n}", (1.0, k), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                        va="center", fontsize=7, color="#444444")  # fmt: skip
        ax.set_yticks(range(len(ranked)), [short(r.system) for r in ranked])
        ax.set_ylim(-0.6, len(ranked) - 0.4)
        ax.set_xlim(-1, 101)
        ax.set_xlabel("trials passed (%); Wilson intervals, z = 1 thick and z = 1.96 thin; right: passed / counted trials")
        ax.grid(axis="x", lw=0.4, color="#DDDDDD", zorder=0)
    return fig


def composition(rows: Sequence[OutcomeCount]) -> Figure:
    """Outcomes of each system as stacked shares, the system with most passes on top."""
    known = [o for o in OUTCOMES if any(r.counts.get(o) for r in rows)]
    totals = {r.system: sum(r.counts.get(o, 0) for o in OUTCOMES) for r in rows}
    ranked = sorted(
        (r for r in rows if totals[r.system]), key=lambda r: [r.counts.get(o, 0) / totals[r.system] for o in OUTCOMES] + [r.system]
    )
    with look():
        fig, ax = figure(1.3 + 0.22 * len(ranked))
        if not ranked:
            empty(ax, "no counted trial")
            return fig
        left = np.zeros(len(ranked))
        for o in known:
            colour, hatch, label = OUTCOMES[o]
            share = np.array([100 * r.counts.get(o, 0) / totals[r.system] for r in ranked])
            ax.barh(range(len(ranked)), share, left=left, height=0.72, color=colour, hatch=hatch, edgecolor="white", lw=0.4, label=label)
            for k, r in enumerate(ranked):
                if share[k] >= 6:
                    ax.text(left[k] + share[k] / 2, k, str(r.counts[o]), ha="center", va="center", fontsize=6.5,
                            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85})  # fmt: skip
            left += share
        ax.set_yticks(range(len(ranked)), [short(r.system) for r in ranked])
        ax.set_ylim(-0.6, len(ranked) - 0.4)
        ax.set_xlim(0, 100)
        ax.set_xlabel("counted trials (%); numbers are trials")
        fig.legend(loc="outside upper left", ncols=4)
    return fig


def pass_grid(cells: Sequence[Cell]) -> Figure:
    """Tasks by systems. Shade and number: trials passed of those counted; hatched: none; tasks sorted by how many pass, systems too."""
    tasks = _sorted({c.task for c in cells}, {c.task: [d for d in cells if d.task == c.task] for c in cells})
    systems = _sorted({c.system for c in cells}, {c.system: [d for d in cells if d.system == c.system] for c in cells})
    by = {(c.task, c.system): c for c in cells}
    with look():
        turned, beside = (max((len(short(name)) for name in names), default=0) for names in (systems, tasks))
        fig, ax = figure(0.7 + 0.052 * turned + 0.19 * len(tasks), max(3.6, min(14.0, 0.6 + 0.065 * beside + 0.34 * max(len(systems), 4))))
        if not cells:
            empty(ax, "no trial")
            return fig
        for i, task in enumerate(tasks):
            for j, system in enumerate(systems):
                c = by.get((task, system))
                if c is None or not c.n:
                    ax.fill([j - 0.46, j + 0.46, j + 0.46, j - 0.46], [i - 0.46, i - 0.46, i + 0.46, i + 0.46], facecolor="none",
                            edgecolor="#BBBBBB", hatch="////", lw=0)  # fmt: skip
                    continue
                f = c.passed / c.n
                shade = tuple(1 - f * (1 - v) for v in (0.0, 0.447, 0.698))
                ax.fill([j - 0.46, j + 0.46, j + 0.46, j - 0.46], [i - 0.46, i - 0.46, i + 0.46, i + 0.46], facecolor=shade,
                        edgecolor="#CCCCCC", lw=0.4)  # fmt: skip
                ax.text(j, i, f"{c.passed}/{c.n}", ha="center", va="center", fontsize=5.8, color="white" if f > 0.55 else "black")
        ax.set_xticks(range(len(systems)), [short(s) for s in systems], rotation=60, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(tasks)), [short(t) for t in tasks])
        ax.set_xlim(-0.5, len(systems) - 0.5)
        ax.set_ylim(len(tasks) - 0.5, -0.5)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        fig.legend(
            handles=[Patch(fc="#0072B2", ec="#CCCCCC", label="all passed"), Patch(fc="white", ec="#CCCCCC", label="none passed"),
                     Patch(fc="none", ec=GREY, hatch="////", label="no counted trial")],
            loc="outside upper left", ncols=3,
        )  # fmt: skip
    return fig


def _sorted(names: set[str], cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Names by the share of trials passed, the highest first."""

    def share(name: str) -> float:
        n = sum(c.n for c in cells[name])
        return sum(c.passed for c in cells[name]) / n if n else -1.0

    return sorted(names, key=lambda name: (-share(name), name))
