"""The laboratory's documents as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab import console

_BOUNDS = {
    "minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<", "multipleOf": "multiple of",
    "minLength": "length >=", "maxLength": "length <=", "minItems": "items >=", "maxItems": "items <=",
}  # fmt: skip
_HEAD = ("task", "title", "version", "mode", "platform", "session", "phase", "lab_clock_s", "commitment", "challenge_commitment")
_FIELD_COLUMNS = ("field", "type", "unit", "bounds", "default", "description")


def tools(spec: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Experiments and queries of a spec by name: `tool`, `description`, `schema` of the request."""
    entries = [*(spec.get("experiments") or []), *(spec.get("queries") or [])]
    return {str(e.get("tool")): e for e in entries if isinstance(e, dict)}


def show_spec(spec: Mapping[str, Any]) -> None:
    """The whole public spec."""
    console.show_pairs("laboratory", {k: spec[k] for k in _HEAD if spec.get(k) is not None})
    console.say("\ndevice", style="bold")
    console.say(console.pretty(spec.get("spec")))
    console.say("")
    queries = {e.get("tool") for e in spec.get("queries") or []}
    rows = [[n, "query" if n in queries else "experiment", _first_sentence(e.get("description"))] for n, e in tools(spec).items()]
    console.show_table("tools (lab spec NAME prints the fields of one)", ("name", "kind", "description"), rows)
    console.say("")
    show_budget(spec.get("budget") or {})
    console.say("")
    console.show_pairs("limits", spec.get("limits") or {})
    console.say("")
    schema = spec.get("answer_schema") or {}
    console.show_table("answer", _FIELD_COLUMNS, _rows(schema))


def show_tool(entry: Mapping[str, Any]) -> None:
    """Description and fields of one experiment or query."""
    console.say(entry.get("tool"), style="bold")
    console.say(entry.get("description") or "")
    rows = list(_rows(entry.get("schema") or {}))
    if rows:
        console.show_table("\nfields", _FIELD_COLUMNS, rows)
    else:
        console.say("no fields")


def _rows(schema: Mapping[str, Any], prefix: str = "") -> Iterator[list[str]]:
    """A row for each field, those of nested parts with their path: `pulses[].amplitude`."""
    required = schema.get("required") or ()
    for field, about in (schema.get("properties") or {}).items():
        if not isinstance(about, Mapping):
            continue
        path, description = f"{prefix}{field}", str(about.get("description", ""))
        yield [path, kind_of(about), str(about.get("unit", "")), bounds_of(about), _default(field, about, required), description]
        for inner, step in _inner(about):
            yield from _rows(inner, f"{path}{step}.")


def _inner(about: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The nested objects of a field: its own, those of its items, those of its alternatives."""
    if about.get("properties"):
        yield about, ""
    items = about.get("items")
    if isinstance(items, Mapping):
        yield from ((schema, f"[]{step}") for schema, step in _inner(items))
    for branch in (*(about.get("anyOf") or ()), *(about.get("oneOf") or ())):
        if isinstance(branch, Mapping):
            yield from _inner(branch)


def kind_of(about: Any) -> str:
    """The type in a JSON schema, in words."""
    if not isinstance(about, Mapping):
        return "any"
    if "const" in about:
        return console.compact(about["const"])
    if "enum" in about:
        return " | ".join(console.compact(v) for v in about["enum"])
    for key in ("anyOf", "oneOf"):
        if key in about:
            return " | ".join(kind_of(a) for a in about[key])
    if about.get("type") == "array":
        if "prefixItems" in about:
            return f"[{', '.join(kind_of(a) for a in about['prefixItems'])}]"
        return f"list of {kind_of(about.get('items'))}"
    kinds = about.get("type", "any")
    return " | ".join(kinds) if isinstance(kinds, list) else str(kinds)


def bounds_of(about: Mapping[str, Any]) -> str:
    """The bounds in a JSON schema, in words; those of the items of a list in brackets."""
    own = [f"{sign} {about[k]}" for k, sign in _BOUNDS.items() if k in about]
    for branch in (*(about.get("anyOf") or ()), *(about.get("oneOf") or ())):
        own += [b for b in [bounds_of(branch)] if b]
    inner = about.get("items")
    each = bounds_of(inner) if isinstance(inner, Mapping) else ""
    return ", ".join([*own, *([f"each ({each})"] if each else [])])


def _default(field: str, about: Mapping[str, Any], required: Any) -> str:
    if field in required:
        return "required"
    return console.compact(about["default"]) if "default" in about else ""


def show_budget(budget: Mapping[str, Any]) -> None:
    """The budget as a table."""
    columns = ("limit", "used", "left")
    rows = [[unit, *((b.get(c) for c in columns) if isinstance(b, Mapping) else (b, "", ""))] for unit, b in budget.items()]
    console.show_table("budget", ("unit", *columns), rows, numeric=columns)


def amounts(cost: Mapping[str, Any]) -> str:
    """A cost on one line."""
    return ", ".join(f"{v:g} {k}" if isinstance(v, int | float) else f"{v} {k}" for k, v in cost.items())


def interval(view: Mapping[str, Any]) -> str:
    """The lab clock of a job, s."""
    start, end = view.get("lab_start_s"), view.get("lab_end_s")
    if not isinstance(start, int | float):
        return ""
    return f"{start:g} to {end:g} s" if isinstance(end, int | float) else f"from {start:g} s"


def _first_sentence(text: Any) -> str:
    head, dot, _ = str(text or "").partition(". ")
    return head + dot.strip()
