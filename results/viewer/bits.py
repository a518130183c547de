"""Measured bits: how often each is one, decays along a sweep, and counts of bit strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from results.viewer.axes import Axis
from results.viewer.numbers import is_bit_string, numbers

OF_BIT = ("bit", "qubit", "byte", "read", "input")
MAX_CURVES = 8
MAX_STRINGS = 24
MAX_LENGTH = 20
"""Longest bit string that is counted."""
MAX_SETTINGS = 200


def is_bits(values: np.ndarray, axes: tuple[str, ...], layout: str) -> bool:
    """Whether an array holds single bits, packed or not."""
    if values.dtype.kind not in "bu" or values.itemsize != 1 or "shot" not in axes:
        return False
    return axes[-1] == "byte" or int(values.max(initial=0)) <= 1


def unpacked(values: np.ndarray, axes: tuple[str, ...], request: Mapping[str, Any], summary: Mapping[str, Any]) -> np.ndarray:
    """Bits `(setting, shot, bit)` uint8; all axes but `shot` and that of the bits are settings, in their order."""
    if axes[-1] == "byte":
        n = _length(values.shape[-1], request, summary)
        values = np.unpackbits(values, axis=-1, count=n, bitorder="little")
    elif axes[-1] not in OF_BIT:
        values = values[..., None]
        axes = (*axes, "bit")
    values = np.moveaxis(values, axes.index("shot"), -2)
    return values.reshape(-1, *values.shape[-2:])


def _length(width: int, request: Mapping[str, Any], summary: Mapping[str, Any]) -> int:
    """How many of the bits of `width` bytes are results; all of them where neither summary nor request tells."""
    texts = [t for v in request.values() if isinstance(v, (list, tuple)) for t in v if is_bit_string(t)]
    bases = [row.get("basis") for v in request.values() if isinstance(v, (list, tuple)) for row in v if isinstance(row, Mapping)]
    candidates = [summary.get("n_measurements"), summary.get("qubits"), *(len(t) for t in [*texts, *bases] if isinstance(t, str))]
    for n in candidates:
        if isinstance(n, int) and 8 * (width - 1) < n <= 8 * width:
            return n
    return 8 * width


def views(
    name: str, values: np.ndarray, axes: tuple[str, ...], swept: Mapping[str, Axis], request: Mapping[str, Any],
    summary: Mapping[str, Any], cells: int,
) -> list[dict[str, Any]]:  # fmt: skip
    """Views of measured bits. Settings beyond the first axis (twirls) are averaged over."""
    inner = [a for a in axes if a not in OF_BIT and a != "shot"]
    b = unpacked(values, axes, request, summary)
    first = swept[inner[0]] if inner else Axis("setting", 1, {})
    outer = first.n if inner else 1
    per = b.reshape(outer, -1, b.shape[-1])  # (setting, twirls and shots, bit)
    averaged = f" and all {' and '.join(inner[1:])}s" if len(inner) > 1 else ""
    note = f"all {per.shape[1]:,} results a setting and bit{averaged}"
    ones = per.mean(axis=1)
    error = np.sqrt(np.maximum(ones * (1 - ones), 0) / per.shape[1])
    out = [_ones(name, ones, error, first, note, cells)]
    if outer > 1 and first.values is not None:
        out.insert(0, _decay(ones, error, first, note))
    if b.shape[-1] > 1 or outer > 1:
        out += _strings(per, first)
    return out


def _decay(ones: np.ndarray, error: np.ndarray, x: Axis, note: str) -> dict[str, Any]:
    assert x.values is not None
    order = np.argsort(x.values, kind="stable")
    kept = min(ones.shape[1], MAX_CURVES)
    series = [
        {"name": f"bit {k}" if ones.shape[1] > 1 else "", "x": numbers(x.values[order]), "y": numbers(1 - 2 * ones[order, k]),
         "e": numbers(2 * error[order, k], 3), "dots": True}
        for k in range(kept)
    ]  # fmt: skip
    cut = f"; {kept} of {ones.shape[1]} bits drawn" if kept < ones.shape[1] else ""
    return {
        "kind": "curves", "title": "expectation against the sweep", "x": x.label, "y": {"label": "1 − 2 P(1)", "unit": ""},
        "series": series, "note": f"with standard errors; {note}{cut}",
    }  # fmt: skip


def _ones(name: str, ones: np.ndarray, error: np.ndarray, x: Axis, note: str, cells: int) -> dict[str, Any]:
    z = {"label": "P(1)", "unit": ""}
    n_settings, n_bits = ones.shape
    if n_settings == 1 and n_bits <= 64:
        return {
            "kind": "bars", "title": f"{name}: share of ones", "x": {"label": "bit", "unit": ""}, "y": z,
            "labels": [str(k) for k in range(n_bits)], "values": numbers(ones), "e": numbers(error, 3), "note": note,
        }  # fmt: skip
    rows = int(np.clip(cells // max(n_bits, 1), 8, MAX_SETTINGS))
    step = max(1, -(-n_settings // rows))
    table = ones[::step].T
    cut = f"; every {step}th of {n_settings:,} settings drawn" if step > 1 else ""
    x_axis = {"label": f"{x.axis} number", "unit": "", "at": list(range(0, n_settings, step))}
    if x.names is not None and step == 1 and n_settings <= 40:
        x_axis = {"label": x.axis, "unit": "", "names": list(x.names)}
    return {
        "kind": "map", "title": f"{name}: share of ones", "x": x_axis, "y": {"label": "bit", "unit": "", "at": list(range(n_bits))}, "z": z,
        "rows": n_bits, "cols": table.shape[1], "values": numbers(table, 3), "note": note + cut,
    }  # fmt: skip


def _strings(per: np.ndarray, x: Axis) -> list[dict[str, Any]]:
    """Counts of the strings read: setting by setting where the prepared states are known, else over all settings."""
    n = per.shape[-1]
    if not 2 <= n <= MAX_LENGTH:
        return []
    code = per.astype(np.int64) @ (1 << np.arange(n, dtype=np.int64))
    if 1 < x.n <= 64 and n <= 6:
        known = x.names is not None and all(is_bit_string(t) for t in x.names)
        table = np.stack([np.bincount(row, minlength=1 << n) for row in code]) / per.shape[1]
        return [{
            "kind": "map", "title": "read against prepared" if known else "strings read, setting by setting",
            "x": {"label": "prepared" if known else x.axis, "unit": "", "names": list(x.names or map(str, range(x.n)))},
            "y": {"label": "read, bit 0 first", "unit": "", "names": [text(k, n) for k in range(1 << n)]},
            "z": {"label": "share", "unit": "", "root": True}, "rows": 1 << n, "cols": x.n, "values": numbers(table.T, 3),
            "note": f"all {per.shape[1]:,} results of a setting; colour by square root",
        }]  # fmt: skip
    found, count = np.unique(code, return_counts=True)
    top = np.argsort(-count, kind="stable")[:MAX_STRINGS]
    rest = int(count.sum() - count[top].sum())
    left = f"; the other {len(found) - len(top):,} strings were read {rest:,} times" if rest else ""
    return [{
        "kind": "bars", "title": "strings read", "x": {"label": "bit 0 first", "unit": ""}, "y": {"label": "shots", "unit": ""},
        "labels": [text(int(found[k]), n) for k in top], "values": numbers(count[top]),
        "note": f"{len(top)} most frequent of {len(found):,} strings, all {count.sum():,} results of all settings{left}",
    }]  # fmt: skip


def text(code: int, n: int) -> str:
    """Bits of a code, bit 0 first."""
    return "".join(str(code >> k & 1) for k in range(n))
