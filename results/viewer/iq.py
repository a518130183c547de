"""Complex readout: the cloud, its projection, and the swept signal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from results.viewer.axes import Axis
from results.viewer.numbers import number, numbers

BINS = 60
MAX_BLOCKS = 160


def views(
    name: str, z: np.ndarray, axes: tuple[str, ...], swept: Mapping[str, Axis], unit: str, clock: np.ndarray | None, cells: int
) -> list[dict[str, Any]]:
    """Views of complex points with a `shot` axis; the other axes are settings."""
    shot = axes.index("shot") if "shot" in axes else z.ndim - 1
    z = np.moveaxis(z, shot, -1)
    other = [a for k, a in enumerate(axes) if k != shot]
    points = z.reshape(-1, z.shape[-1]).astype(np.complex128)
    direction, centre = principal(points)
    signal = ((points - centre) * np.conj(direction)).real
    x = swept[other[0]] if len(other) == 1 else Axis(" and ".join(other) or "point", len(points), {})
    angle = number(np.degrees(np.angle(direction)), 4)
    about = f"all {points.shape[1]:,} shots a point; projected on the axis of largest spread, at {angle}° in the plane"
    out = []
    if len(points) > 1:
        out.append(_swept(signal, x, unit, about))
    out.append(_cloud(name, points, x, unit, cells))
    out.append(_projection(signal, x, unit))
    if clock is not None and clock.shape == z.shape and len(points) > 1 and points.size >= 4 * MAX_BLOCKS:
        out.append(_drift(signal, clock.reshape(signal.shape), unit))
    return out


def principal(points: np.ndarray) -> tuple[complex, complex]:
    """Direction (unit, Re >= 0) of largest variance of the means of the points `(point, shot)`, or of the shots of one; and the centre."""
    of = points.mean(axis=1) if len(points) > 2 else points.ravel()
    centre = complex(of.mean())
    d = of - centre
    angle = 0.5 * np.angle(np.mean(d * d)) if len(d) else 0.0
    return complex(np.exp(1j * angle)), centre


def _swept(signal: np.ndarray, x: Axis, unit: str, about: str) -> dict[str, Any]:
    mean, error = signal.mean(axis=1), signal.std(axis=1) / np.sqrt(max(signal.shape[1] - 1, 1))
    grid = x.grid()
    if grid is not None:
        return _map(mean, x, grid, unit, about)
    places = x.values if x.values is not None else np.arange(x.n)
    series = []
    for label, members in x.groups():
        order = members[np.argsort(places[members], kind="stable")]
        series.append({
            "name": label, "x": numbers(places[order]), "y": numbers(mean[order]), "e": numbers(error[order], 3), "dots": True,
        })  # fmt: skip
    return {
        "kind": "curves", "title": "swept signal", "x": x.label, "y": {"label": "signal", "unit": unit}, "series": series,
        "note": f"mean and standard error of the mean; {about}",
    }  # fmt: skip


def _map(mean: np.ndarray, x: Axis, grid: tuple[str, str], unit: str, about: str) -> dict[str, Any]:
    across, up = (np.unique(x.columns[g]) for g in grid)
    table = np.empty((len(up), len(across)))
    table[np.searchsorted(up, x.columns[grid[1]]), np.searchsorted(across, x.columns[grid[0]])] = mean
    first, second = (Axis(x.axis, x.n, {g: x.columns[g]}).label for g in grid)
    return {
        "kind": "map", "title": "swept signal", "x": first | {"at": numbers(across)}, "y": second | {"at": numbers(up)},
        "z": {"label": "signal", "unit": unit}, "rows": len(up), "cols": len(across), "values": numbers(table, 4), "note": f"mean; {about}",
    }  # fmt: skip


def _cloud(name: str, points: np.ndarray, x: Axis, unit: str, cells: int) -> dict[str, Any]:
    flat = points.ravel()
    side = int(np.clip(np.sqrt(cells), 12, 96))
    (lo_i, hi_i), (lo_q, hi_q) = _range(flat.real), _range(flat.imag)
    span = max(hi_i - lo_i, hi_q - lo_q) or 1.0
    mid_i, mid_q = (lo_i + hi_i) / 2, (lo_q + hi_q) / 2
    up, across = (np.linspace(m - span / 2, m + span / 2, side + 1) for m in (mid_q, mid_i))
    cell = [np.clip(((v - e[0]) * (side / span)).astype(int), 0, side - 1) for v, e in ((flat.imag, up), (flat.real, across))]
    count = np.bincount(cell[0] * side + cell[1], minlength=side * side)
    means = points.mean(axis=1)
    few = means[np.unique(np.linspace(0, len(means) - 1, min(len(means), 60)).astype(int))]
    centre_x, centre_y = (across[1:] + across[:-1]) / 2, (up[1:] + up[:-1]) / 2
    return {
        "kind": "map", "title": f"{name}: cloud", "square": True, "x": {"label": "I", "unit": unit, "at": numbers(centre_x, 4)},
        "y": {"label": "Q", "unit": unit, "at": numbers(centre_y, 4)}, "z": {"label": "shots", "unit": "", "root": True}, "rows": side,
        "cols": side, "values": count.tolist(), "dots": [numbers(few.real), numbers(few.imag)],
        "note": f"all {flat.size:,} shots counted in {side} x {side} bins, colour by square root; rings: means of {len(few)} of"
        f" {x.n if len(points) > 1 else 1} settings",
    }  # fmt: skip


def _projection(signal: np.ndarray, x: Axis, unit: str) -> dict[str, Any]:
    lo, hi = _range(signal)
    edges = np.linspace(lo, hi if hi > lo else lo + 1, BINS + 1)
    series = []
    chosen = [0, len(signal) - 1] if len(signal) > 1 else [0]
    for k in chosen:
        height = np.histogram(signal[k], bins=edges)[0]
        named = "" if len(signal) == 1 else _entry(x, k)
        series.append({"name": named, "x": numbers(edges, 4), "y": [*height.tolist(), 0], "step": True})
    which = "first and last setting" if len(signal) > 1 else "the one setting"
    return {
        "kind": "curves", "title": "projected shots", "x": {"label": "signal", "unit": unit},
        "y": {"label": "shots a bin", "unit": "", "zero": True}, "series": series,
        "note": f"{which}, all {signal.shape[1]:,} shots of each in {BINS} bins",
    }  # fmt: skip


def _entry(x: Axis, k: int) -> str:
    if x.values is None:
        return f"{x.axis} {k}"
    return f"{x.label['label']} {x.values[k]:g} {x.label['unit']}".strip()


def _drift(signal: np.ndarray, clock: np.ndarray, unit: str) -> dict[str, Any]:
    """Against the lab clock. The mean of each setting is taken off first, so that the sweep itself does not show."""
    rest = (signal - signal.mean(axis=1, keepdims=True)).ravel()
    order = np.argsort(clock.ravel(), kind="stable")
    blocks = np.array_split(order, min(MAX_BLOCKS, max(2, rest.size // 50)))
    t = [clock.ravel()[b].mean() for b in blocks]
    y = [rest[b].mean() for b in blocks]
    return {
        "kind": "curves", "title": "signal against the lab clock", "x": {"label": "lab clock", "unit": "s"},
        "y": {"label": "signal − mean of its setting", "unit": unit}, "series": [{"name": "", "x": numbers(t), "y": numbers(y, 4)}],
        "note": f"all shots, in {len(blocks)} blocks of about {rest.size // len(blocks):,} in the order in which they were taken",
    }  # fmt: skip


def _range(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())
