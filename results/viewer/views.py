"""Raw arrays as plots: one function a kind of record, told by dtype and names of axes, never by the hardware type.

A view is plain JSON that `static/plots.js` draws: `curves`, `map`, `bars`, `places`. Each carries a `note` that says what was counted,
averaged or left out. Means and counts run over all shots; nothing is smoothed, fitted or interpolated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from results.viewer import bits, iq
from results.viewer.axes import Axis, axis_of
from results.viewer.numbers import numbers, strided

View = dict[str, Any]
Arrays = Mapping[str, np.ndarray]
MAX_POINTS = 600
MAX_VALUES = 48
"""Most distinct values of an integer that are counted one by one."""


def views(
    described: Sequence[Mapping[str, Any]], arrays: Arrays, request: Mapping[str, Any], summary: Mapping[str, Any], *, cells: int = 2304
) -> list[View]:
    """Views of a record. `described` are its arrays as the log describes them; `cells` bounds the bins of one map."""
    out: list[View] = []
    clock = _clock(described, arrays)
    for info in described:
        name, axes = str(info["name"]), tuple(str(a) for a in info["axes"])
        values = arrays.get(name)
        if values is None or values.size == 0 or values.ndim != len(axes) or name == clock[0]:
            continue
        swept = {a: axis_of(a, n, request) for a, n in zip(axes, values.shape, strict=True)}
        if values.dtype.kind == "c":
            out += iq.views(name, values, axes, swept, str(info["unit"]), clock[1], cells)
        elif bits.is_bits(values, axes, str(info.get("layout", ""))):
            out += bits.views(name, values, axes, swept, request, summary, cells)
        elif values.dtype.kind in "biu":
            out.append(_counts(name, values, str(info["unit"])))
        else:
            out.append(_curve(name, values, axes, swept, str(info["unit"])))
    return out


def _clock(described: Sequence[Mapping[str, Any]], arrays: Arrays) -> tuple[str, np.ndarray | None]:
    """Name and values of the array that only holds the lab clock."""
    for info in described:
        values = arrays.get(str(info["name"]))
        if info["unit"] == "s" and "clock" in str(info.get("layout", "")) and values is not None and values.dtype.kind == "f":
            return str(info["name"]), values
    return "", None


def _counts(name: str, values: np.ndarray, unit: str) -> View:
    """How often each value occurs, or a histogram where there are many."""
    flat = values.ravel()
    found, count = np.unique(flat, return_counts=True)
    axis = {"label": name, "unit": "" if unit == "1" else unit}
    if len(found) <= MAX_VALUES:
        return {
            "kind": "bars", "title": f"{name}: how often each value", "x": axis, "y": {"label": "entries", "unit": ""},
            "labels": [str(v) for v in found.tolist()], "values": numbers(count), "note": f"all {flat.size:,} entries counted",
        }  # fmt: skip
    height, edges = np.histogram(flat, bins=MAX_VALUES)
    return {
        "kind": "curves", "title": f"{name}: histogram", "x": axis, "y": {"label": "entries", "unit": "", "zero": True},
        "series": [{"name": "", "x": numbers(edges), "y": numbers([*height, 0]), "step": True}],
        "note": f"all {flat.size:,} entries in {MAX_VALUES} bins",
    }  # fmt: skip


def _curve(name: str, values: np.ndarray, axes: tuple[str, ...], swept: Mapping[str, Axis], unit: str) -> View:
    """A real array: its mean over all axes but the first."""
    mean = values.reshape(len(values), -1).mean(axis=1)
    keep = strided(len(mean), MAX_POINTS)
    x = swept[axes[0]]
    places = x.values if x.values is not None else np.arange(len(mean))
    averaged = f", mean over {' and '.join(axes[1:])}" if len(axes) > 1 else ""
    cut = f"every {keep.step}th of {len(mean):,} entries drawn" if keep.step > 1 else f"all {len(mean):,} entries"
    return {
        "kind": "curves", "title": name, "x": x.label, "y": {"label": name, "unit": "" if unit == "1" else unit},
        "series": [{"name": "", "x": numbers(places[keep]), "y": numbers(mean[keep]), "dots": len(mean) <= 60}], "note": cut + averaged,
    }  # fmt: skip


def guarded(make: Callable[[], list[View]]) -> tuple[list[View], str]:
    """Views, or none and the reason: a record that cannot be drawn must not take the page with it."""
    try:
        return make(), ""
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, MemoryError) as exc:
        return [], f"cannot be drawn ({type(exc).__name__}: {exc})"
