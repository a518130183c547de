"""Tasks along the stack of a quantum computer, and how success falls with the size of a code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from results.plots.style import BLUE, CYCLE, DASHES, MARKERS, VERMILLION, empty, figure, look, short
from results.statistics import Z68, wilson

LAYERS = ("physical device", "gates and calibration", "error correction", "logical and compilation", "application")


@dataclass(frozen=True)
class Layered:
    """A task: the layers it exercises, the deepest first, its number in the catalogue, and the trials passed of those counted."""

    task: str
    index: int
    layers: tuple[str, ...]
    passed: int = 0
    n: int = 0


@dataclass(frozen=True)
class Solved:
    """One attempt at an instance: what it was (`benchmark`), how hard (`difficulty`, e.g. qubits of the code) and how it went."""

    system: str
    benchmark: str
    difficulty: float
    success: float
    weight: float = 1.0


def task_layers(rows: Sequence[Layered]) -> Figure:
    """Which task exercises which layer; filled: its first layer. Bars: trials passed over all systems."""
    layers = [name for name in LAYERS if any(name in r.layers for r in rows)]
    layers += sorted({name for r in rows for name in r.layers} - set(LAYERS))
    ranked = sorted(rows, key=lambda r: (layers.index(r.layers[0]) if r.layers else len(layers), r.index, r.task))
    with look():
        fig, ax = figure(1.5 + 0.19 * len(ranked))
        if not ranked:
            empty(ax, "no task")
            return fig
        for i, r in enumerate(ranked):
            places = [layers.index(name) for name in r.layers]
            if len(places) > 1:
                ax.plot([min(places), max(places)], [i, i], color=BLUE, lw=1.2, zorder=1)
            for k, p in enumerate(places):
                ax.plot(p, i, "os"[k > 0], ms=6, mfc=BLUE if k == 0 else "white", mec=BLUE, zorder=2)
            right = len(layers) - 0.35
            if r.n:
                ax.barh(i, r.passed / r.n, left=right, height=0.55, color=VERMILLION, hatch="///", edgecolor="white", lw=0.3)
                ax.plot(
                    [right, right + 1, right + 1, right, right],
                    [i - 0.275, i - 0.275, i + 0.275, i + 0.275, i - 0.275],
                    color="#888888",
                    lw=0.4,
                )
                ax.text(right + 1.05, i, f"{100 * r.passed / r.n:.0f} %", va="center", fontsize=6.5)
        ax.set_xticks(
            [*range(len(layers)), len(layers) + 0.15], [*(name.replace(" and ", " and\n") for name in layers), "passed,\nall systems"]
        )
        ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        ax.tick_params(axis="y", length=0)
        ax.set_yticks(range(len(ranked)), [f"{r.index}  {short(r.task)}" for r in ranked])
        ax.set_xlim(-0.5, len(layers) + 1.0)
        ax.set_ylim(len(ranked) - 0.5, -0.5)
        ax.grid(axis="both", lw=0.3, color="#E4E4E4", zorder=0)
        for side in ax.spines.values():
            side.set_visible(False)
    return fig


def difficulty(rows: Sequence[Solved], *, label: str = "qubits of the code", bins: int = 6) -> Figure:
    """Share of instances solved against their difficulty, a panel a benchmark and a curve a system.

    Bins hold about equally many instances and are the same for all systems of a panel; bars are Wilson intervals at z = 1 of the share
    (graded success counts as its value), drawn at the mean difficulty of the bin.
    """
    benchmarks, systems = sorted({r.benchmark for r in rows}), sorted({r.system for r in rows})
    with look():
        fig, first = figure(2.9, max(3.4, 2.5 * max(len(benchmarks), 1) + 0.6))
        if not rows:
            empty(first, "no instance was attempted")
            return fig
        fig.clear()
        axes = np.atleast_1d(fig.subplots(1, len(benchmarks), sharey=True, squeeze=True))
        for ax, benchmark in zip(axes, benchmarks, strict=True):
            here = [r for r in rows if r.benchmark == benchmark]
            edges = np.unique(np.quantile([r.difficulty for r in here], np.linspace(0, 1, bins + 1)))
            for k, system in enumerate(systems):
                mine = [r for r in here if r.system == system]
                points = _binned(mine, edges)
                if not points:
                    continue
                x, y, low, high = np.array(points).T
                x = x * (1 + 0.012 * (k - (len(systems) - 1) / 2))
                ax.errorbar(x, 100 * y, 100 * np.maximum(np.array([y - low, high - y]), 0), color=CYCLE[k % 8], marker=MARKERS[k % 8],
                            ls=DASHES[k % 8], ms=4, lw=1.1, elinewidth=0.8, label=short(system))  # fmt: skip
            ax.set_title(short(benchmark))
            ax.set_xlabel(label)
            if min(r.difficulty for r in here) > 0 and max(r.difficulty for r in here) > 20 * min(r.difficulty for r in here):
                ax.set_xscale("log")
                low, high = min(r.difficulty for r in here), max(r.difficulty for r in here)
                marks = [m * 10.0**e for e in range(-3, 7) for m in (1, 2, 5) if low / 1.15 <= m * 10.0**e <= high * 1.15]
                ax.set_xticks(marks, [f"{m:g}" for m in marks])
                ax.minorticks_off()
                ax.set_xlim(low / 1.15, high * 1.15)
            ax.set_ylim(-4, 104)
            ax.grid(lw=0.3, color="#E4E4E4")
        axes[0].set_ylabel("instances solved (%)")
        handles, labels = axes[0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower left", ncols=3)
    return fig


def _binned(rows: Sequence[Solved], edges: np.ndarray) -> list[tuple[float, float, float, float]]:
    """Mean difficulty, share, and its bounds, for each bin with an instance."""
    d = np.array([r.difficulty for r in rows])
    which = np.clip(np.searchsorted(edges, d, side="right") - 1, 0, max(len(edges) - 2, 0)) if len(rows) else np.zeros(0, int)
    out = []
    for b in np.unique(which):
        members = [r for r, w in zip(rows, which, strict=True) if w == b]
        total = sum(r.weight for r in members)
        share = sum(r.success * r.weight for r in members) / total if total else 0.0
        low, high = wilson(round(share * len(members)), len(members), Z68)
        out.append((float(np.mean([r.difficulty for r in members])), share, low, high))
    return out
