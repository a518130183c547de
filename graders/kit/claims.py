"""Exaggerating an answer: the generic form of the `overclaim` cheat of `qharbor check`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

FACTOR = 1.5
"""What a claimed number is multiplied by: past any tolerance below 50 %, on either side of the truth."""
SHRINK = 3.0
"""What a claimed uncertainty is divided by."""
UNCERTAINTY = frozenset({"sigma", "stderr", "std", "se", "uncertainty", "unc"})
"""A field is an uncertainty if one of these is a word of its name (`t1_sigma_us`)."""


def exaggerate(
    answer: Mapping[str, Any], schema: Mapping[str, Any], factor: float = FACTOR, shrink: float = SHRINK
) -> dict[str, Any] | None:
    """`answer` with every real number times `factor` and every uncertainty over `shrink`; None where it holds no real number but 0.

    `schema` is the flat schema of the answer. Whole numbers (counts, indices) and texts stay. Where the product leaves the field's
    bounds the number is divided instead.
    """
    changed = _scaled(dict(answer), schema, "", factor, shrink)
    return dict(changed) if changed != answer else None


def _scaled(value: Any, schema: Mapping[str, Any], name: str, factor: float, shrink: float) -> Any:
    options = [o for o in schema.get("anyOf", ()) if o.get("type") != "null"]
    if options:
        schema = next((o for o in options if _fits(o, value)), options[0])
    if isinstance(value, dict):
        parts, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        other = other if isinstance(other, dict) else {}
        return {k: _scaled(v, parts.get(k, other), k if k in parts else name, factor, shrink) for k, v in value.items()}
    if isinstance(value, list):
        prefix, items = schema.get("prefixItems"), schema.get("items", {})
        return [_scaled(v, prefix[k] if prefix and k < len(prefix) else items, name, factor, shrink) for k, v in enumerate(value)]
    if schema.get("type") != "number" or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if UNCERTAINTY & set(name.lower().split("_")):
        return value / shrink if _within(value / shrink, schema) else value
    return next((v for v in (value * factor, value / factor) if _within(v, schema)), value)


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    kinds: dict[Any, Any] = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool}
    return isinstance(value, kinds.get(schema.get("type"), ()))


def _within(value: float, schema: Mapping[str, Any]) -> bool:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    return bool(low <= value <= high and above < value < below)
