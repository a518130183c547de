"""What an axis of a record was swept over, as far as the request says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from results.viewer.numbers import is_numbers, unit_of

MAX_LABEL = 28
MAX_SERIES = 6


@dataclass(frozen=True)
class Axis:
    """An axis of `n` entries: `columns` are the numbers `(n,)` swept along it by name, `names` short texts of the entries."""

    axis: str
    n: int
    columns: Mapping[str, np.ndarray]
    names: tuple[str, ...] | None = None

    @cached_property
    def varied(self) -> list[str]:
        """Columns that do not stay the same, the one with the most values first."""
        found = {k: len(np.unique(v)) for k, v in self.columns.items()}
        return sorted((k for k, m in found.items() if m > 1), key=lambda k: -found[k])

    @property
    def values(self) -> np.ndarray | None:
        return self.columns[self.varied[0]] if self.varied else None

    @property
    def label(self) -> dict[str, str]:
        if not self.varied:
            return {"label": f"{self.axis} number", "unit": ""}
        name, unit = unit_of(self.varied[0])
        return {"label": self.axis if name == f"{self.axis}s" else name.replace("_", " "), "unit": unit}

    def groups(self) -> list[tuple[str, np.ndarray]]:
        """Entries that share a curve, with what they have in common; the points of each are in the order of the sweep."""
        everything = np.arange(self.n)
        others = [k for k in self.varied[1:] if 1 < len(np.unique(self.columns[k])) <= MAX_SERIES]
        if not others:
            return [("", everything)]
        column, (name, unit) = self.columns[others[0]], unit_of(others[0])
        return [(f"{name} {v:g} {unit}".strip(), everything[column == v]) for v in np.unique(column)]

    def grid(self) -> tuple[str, str] | None:
        """Two columns of which every pair of values occurs once, where the sweep is such a grid."""
        if len(self.varied) != 2:
            return None
        x, y = self.varied
        pairs = np.unique(np.stack([self.columns[x], self.columns[y]]), axis=1).shape[1]
        sizes = len(np.unique(self.columns[x])), len(np.unique(self.columns[y]))
        return (x, y) if pairs == self.n == sizes[0] * sizes[1] and sizes[1] > MAX_SERIES else None


def axis_of(axis: str, n: int, request: Mapping[str, Any]) -> Axis:
    """The sweep of an axis: a list of `n` numbers in the request, by preference one named after the axis (`depth`, `depths`)."""
    if axis in ("shot", "bit", "byte", "qubit", "twirl") or n < 2:
        return Axis(axis, n, {})
    found = {k: v for k, v in _lists(request) if len(v) == n}
    own = {k: v for k, v in found.items() if k.rstrip("s") == axis or k == axis}
    chosen = own or found
    columns = dict(_scaled(k, np.asarray(v, dtype=float)) for k, v in chosen.items() if is_numbers(v))
    texts = [v for v in chosen.values() if all(isinstance(t, str) and len(t) <= MAX_LABEL for t in v)]
    return Axis(axis, n, columns, tuple(texts[0]) if texts else None)


_COARSER = {"_ns": "_us", "_us": "_ms"}


def _scaled(name: str, values: np.ndarray) -> tuple[str, np.ndarray]:
    """The same times in the next larger unit where they are long."""
    for fine, coarse in _COARSER.items():
        if name.endswith(fine) and np.abs(values).max() >= 5_000:
            return name.removesuffix(fine) + coarse, values / 1_000
    return name, values


def _lists(request: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Lists of the request by name: fields, and columns `{"name", "values"}` of a sweep table."""
    for key, value in request.items():
        if not isinstance(value, (list, tuple)) or not value:
            continue
        if all(isinstance(v, Mapping) for v in value):
            for row in value:
                if isinstance(row.get("name"), str) and isinstance(row.get("values"), (list, tuple)):
                    yield row["name"], row["values"]
            fields = {k for row in value for k in row}
            for field in sorted(fields):
                column = [row.get(field) for row in value]
                if is_numbers(column):
                    yield field, column
        else:
            yield key, value
