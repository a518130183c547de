"""Walks over the values of models and over the numbers of texts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

Path = tuple[str | int, ...]


def dotted(path: Path) -> str:
    """A path without its list positions: `steps.3.amplitude` and `steps.4.amplitude` are both `steps.amplitude`."""
    return ".".join(str(p) for p in path if not isinstance(p, int))


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every scalar of a JSON value, or of a model, with its path."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for k, item in enumerate(value):
            yield from leaves(item, (*path, k))
    else:
        yield path, value


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_leaves(value: Any) -> dict[Path, float]:
    """The finite numbers of a value by path; a text gives its numbers in order of appearance."""
    found: dict[Path, float] = {}
    for path, leaf in leaves(value):
        if is_number(leaf):
            found[path] = float(leaf)
        elif isinstance(leaf, str) and len(leaf) < 100_000:
            for k, number in enumerate(_NUMBER.findall(leaf)):
                found[(*path, k)] = float(number)
    return {k: v for k, v in found.items() if math.isfinite(v)}


def replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy of a JSON value with one entry replaced."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {**value, head: replaced(value[str(head)], rest, new)}
    out = list(value)
    out[int(head)] = replaced(out[int(head)], rest, new)
    return out


_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_GROUPED = re.compile(r"(?<=\d)[ ,_\u00a0\u202f](?=\d{3}(?!\d))")
_SCALES = {
    "%": 1e-2, "percent": 1e-2, "per cent": 1e-2, "k": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "ms": 1e-3, "million": 1e6,
}  # fmt: skip
_WITH_UNIT = re.compile(_NUMBER.pattern + r"\s*(%|percent\b|per cent\b|[A-Za-z]+\b)?")


def numbers_said(text: str) -> list[float]:
    """All numbers of a text: as written, and times what the unit behind them means (`4 MB` says 4 and 4e6, `10 %` says 10 and 0.1)."""
    said: list[float] = []
    for variant in {text, _GROUPED.sub("", text)}:
        for match in _WITH_UNIT.finditer(variant):
            unit = match.group(1)
            digits = match.group(0)[: len(match.group(0)) - len(unit or "")].strip()
            said.append(float(digits))
            if unit in _SCALES:
                said.append(float(digits) * _SCALES[unit])
    return said


def says(text_numbers: Sequence[float], value: float) -> bool:
    """Whether `value` is among the numbers of a text."""
    return any(math.isclose(n, value, rel_tol=1e-9, abs_tol=1e-15) for n in text_numbers)
