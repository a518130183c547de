"""One look for all figures, and files that are equal byte for byte wherever the data are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE, YELLOW, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", "#000000",
)  # fmt: skip
GREY = "#8A8F94"
CYCLE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (1, 2.5)), (0, (8, 2)), (0, (2, 1, 1, 1)))
OUTCOMES = {
    "pass": (GREEN, "", "pass"), "science_failure": (VERMILLION, "///", "science failure"),
    "contract_failure": (ORANGE, "...", "contract failure"), "no_submission": ("#D9D9D9", "xxx", "no submission"),
}  # fmt: skip
_LOOK: Any = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 8, "axes.titlesize": 9, "axes.labelsize": 8,
    "xtick.labelsize": 7.5, "ytick.labelsize": 7.5, "legend.fontsize": 7.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.7, "xtick.major.width": 0.7, "ytick.major.width": 0.7, "hatch.linewidth": 0.5,
    "figure.constrained_layout.use": True, "text.parse_math": False,
    "svg.hashsalt": "quantum-harbor", "svg.fonttype": "path", "savefig.dpi": 200, "axes.titlelocation": "left", "legend.frameon": False,
}  # fmt: skip
WIDTH = 6.8
"""Inches: the text width of a two-column page."""
MAX_NAME = 34


@contextmanager
def look() -> Iterator[None]:
    with mpl.rc_context(_LOOK):
        yield


def figure(height: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """A figure that belongs to no window system; heights in inches."""
    fig = Figure(figsize=(width, min(max(height, 1.6), 40.0)))
    return fig, fig.add_subplot()


def short(name: str) -> str:
    """A name that leaves room for the plot."""
    kept = name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"
    return "".join(c if c.isprintable() else "?" for c in kept)


def empty(ax: Axes, text: str) -> None:
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)


def save(fig: Figure, stem: Path) -> list[Path]:
    """`stem.svg` and `stem.png`, without date, path or program in them."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    out = [stem.with_name(f"{stem.name}.svg"), stem.with_name(f"{stem.name}.png")]
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a name in a script that the font lacks is drawn as boxes
        fig.savefig(out[0], metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        fig.savefig(out[1], metadata={"Software": None})
    return out
