"""Cumulative difficulty curves: what is reached on all codes of at most so many generators, beside what there is to reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TITLES = {"b1": "B1 preparation", "b2": "B2 optimization", "b3": "B3 fault tolerance"}
# the palette of Okabe and Ito (2008) keeps apart for the colour-blind; lines differ by their dashes too
_LINES = {"ceiling": ("#000000", ":"), "capability": ("#0072B2", "-"), "quality": ("#D55E00", "--")}


def draw(results: dict[str, Any], out: Path) -> list[Path]:
    """Write `<out>.svg` and `<out>.png`; one row a scoring, one column a task. ImportError where matplotlib is not installed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "quantum-harbor"
    matplotlib.rcParams["svg.fonttype"] = "none"
    shorts = [s for s in TITLES if s in results["tasks"]]
    figure, grid = plt.subplots(
        2, len(shorts), figsize=(1.0 + 3.6 * len(shorts), 6.0), squeeze=False, sharex=True, sharey="row", layout="constrained"
    )
    for column, short in enumerate(shorts):
        task = results["tasks"][short]
        for line, name in enumerate(("published", "corrected")):
            axes, curve, total = grid[line][column], task["curves"][name], task["totals"][name]
            x = [0, *(p[0] for p in curve)]
            for k, (label, (colour, dashes)) in enumerate(_LINES.items(), 1):
                axes.step(x, [0, *(p[k] for p in curve)], where="post", color=colour, linestyle=dashes, linewidth=1.6, label=label)
            found = f"{total['capability']:,.0f} / {total['quality']:,.0f} of {total['maximum']:,.0f}"
            axes.text(
                0.03, 0.95, f"{found}\n{total['solved']} of {total['instances']} codes", transform=axes.transAxes, va="top", fontsize=8
            )
            axes.grid(alpha=0.3)
            axes.set_ylim(0, total["maximum"] * 1.04)
            if line == 0:
                axes.set_title(TITLES[short], fontsize=10)
            else:
                axes.set_xlabel("generators of the code, at most", fontsize=9)
            if column == 0:
                axes.set_ylabel(f"{name}: cumulative score", fontsize=9)
    grid[0][0].legend(loc="lower right", fontsize=8, frameon=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    paths = [out.with_suffix(".svg"), out.with_suffix(".png")]
    figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
    figure.savefig(paths[1], dpi=130, metadata={"Software": None})
    plt.close(figure)
    return paths
