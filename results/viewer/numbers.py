"""Numbers on a page: rounded, bounded, and never silently cut."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

DIGITS = 5
"""Significant digits that a page keeps; the record keeps all."""
MAX_ITEMS = 300
MAX_TEXT = 6_000
MAX_DEPTH = 24
_UNITS = {
    "ns": "ns", "us": "µs", "ms": "ms", "s": "s", "hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz", "rad": "rad", "deg": "deg",
    "mv": "mV", "v": "V", "mk": "mK", "k": "K", "db": "dB",
}  # fmt: skip


def number(value: Any, digits: int = DIGITS) -> float | int | None:
    """`value` with `digits` significant digits; None for what is not finite."""
    v = float(value)
    if not np.isfinite(v):
        return None
    return int(v) if v == int(v) and abs(v) < 1e15 else float(f"{v:.{digits}g}")


def numbers(values: Any, digits: int = DIGITS) -> list[float | int | None]:
    """A flat list of rounded numbers, `(n,)`."""
    return [number(v, digits) for v in np.asarray(values).ravel().tolist()]


def unit_of(name: str) -> tuple[str, str]:
    """Quantity and unit of a name that ends in one: `tau_ns` is (`tau`, `ns`); the unit is empty where there is none."""
    head, _, tail = name.rpartition("_")
    return (head, _UNITS[tail]) if head and tail in _UNITS else (name, "")


def bounded(value: Any, depth: int = 0) -> Any:
    """A JSON value short enough to be read; what is left out is said in its place."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}\n… {MAX_TEXT:,} of {len(value):,} characters shown"
    if isinstance(value, Mapping):
        if depth >= MAX_DEPTH:
            return "… nested deeper than is shown"
        items = list(value.items())
        out = {str(k): bounded(v, depth + 1) for k, v in items[:MAX_ITEMS]}
        return out | ({"…": f"{MAX_ITEMS} of {len(items):,} fields shown"} if len(items) > MAX_ITEMS else {})
    if isinstance(value, (list, tuple)):
        if depth >= MAX_DEPTH:
            return "… nested deeper than is shown"
        kept = [bounded(v, depth + 1) for v in value[:MAX_ITEMS]]
        return kept + ([f"… {MAX_ITEMS} of {len(value):,} entries shown"] if len(value) > MAX_ITEMS else [])
    return value


def strided(n: int, most: int) -> slice:
    """Every k-th of `n` entries, so that at most `most` are kept."""
    return slice(0, n, max(1, -(-n // most)))


def is_numbers(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value)
    )


def is_bit_string(text: Any) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[01]{1,64}", text) is not None
