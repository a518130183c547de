"""JSON schemas of requests and answers: flat (no `$ref`), with units."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from pydantic import BaseModel

_DROPPED = {"title", "$defs"}


def _resolve(node: Any, defs: dict[str, Any], depth: int) -> Any:
    if depth > 32:
        raise ValueError("a schema that refers to itself cannot be made flat")
    if isinstance(node, list):
        return [_resolve(n, defs, depth) for n in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = copy.deepcopy(defs[node["$ref"].rsplit("/", 1)[1]])
        target.update({k: v for k, v in node.items() if k != "$ref"})
        return _resolve(target, defs, depth + 1)
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":
            out[key] = {name: _resolve(p, defs, depth + 1) for name, p in value.items()}
        elif key not in _DROPPED:
            out[key] = _resolve(value, defs, depth + 1)
    prefix = out.get("prefixItems")
    if prefix and all(p == prefix[0] for p in prefix):  # a fixed-length tuple of one kind: plain items, which every client understands
        out["items"] = out.pop("prefixItems")[0]
    return out


@cache
def _flat(model: type[BaseModel]) -> dict[str, Any]:
    raw = model.model_json_schema(mode="validation")
    return dict(_resolve(raw, raw.get("$defs", {}), 0))


def flat_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of `model` with all references written out; the caller may change it."""
    return copy.deepcopy(_flat(model))


def unit_at(model: type[BaseModel], path: tuple[int | str, ...]) -> str | None:
    """The unit of the field at `path` (names and list positions), None where it has none."""
    node: dict[str, Any] = _flat(model)
    unit = None
    for step in path:
        node = node.get("items", {}) if isinstance(step, int) else node.get("properties", {}).get(step, {})
        if not isinstance(node, dict):
            return None
        unit = node.get("unit", unit)
    return unit if unit != "1" else None
