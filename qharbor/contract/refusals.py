"""Rules on what a qtype refuses: one step outside each bound, every wrong type, every value without a bound."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qharbor.contract.findings import Finding, Findings
from qharbor.contract.subject import QTypeSubject
from qharbor.contract.values import Path, is_number, replaced
from qtypes import AgentError
from qtypes.contract import Experiment, Query
from qtypes.schemas import flat_schema
from sidecar.admission import parse

LONG_TEXT = "a" * 1_000_000
LONG_LIST = 100_000
HUGE = 1e300
HUGE_INT = 10**15
_NOT_JSON = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True)
class Attempt:
    """A change of one value of a valid request; `raw` replaces it by text that no JSON writer produces."""

    path: Path
    what: str
    value: Any = None
    raw: str | None = None
    states_bound: bool = True


def _branches(schema: Any) -> list[dict[str, Any]]:
    if not isinstance(schema, dict):
        return []
    options = schema.get("anyOf") or schema.get("oneOf")
    return [dict(o) for o in options] if options else [schema]


def _fits(schema: dict[str, Any], value: Any) -> bool:
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    kind = schema.get("type")
    if kind in ("number", "integer"):
        return is_number(value)
    if kind is None:
        return value in schema.get("enum", [schema.get("const", value)])
    return isinstance(value, kinds[kind])


def attempts(schema: Any, value: Any, path: Path = ()) -> Iterator[Attempt]:
    """Everything to try on `value`, which has `schema`."""
    branches = _branches(schema)
    branch = next((b for b in branches if _fits(b, value)), None)
    if branch is None:
        return
    kinds = {b.get("type") for b in branches}
    if "null" not in kinds and value is not None:
        yield Attempt(path, "null", None)
    if "enum" in branch or "const" in branch:
        yield from _choices(branch, value, path, kinds)
    elif isinstance(value, dict):
        yield from _object(branch, value, path)
    elif isinstance(value, list):
        yield from _array(branch, value, path)
    elif isinstance(value, bool):
        yield Attempt(path, "a text for a truth value", "true")
        yield Attempt(path, "a number for a truth value", 1)
    elif is_number(value):
        yield from _number(branch, value, path, kinds)
    elif isinstance(value, str):
        yield from _text(branch, value, path, kinds)


def _choices(branch: dict[str, Any], value: Any, path: Path, kinds: set[Any]) -> Iterator[Attempt]:
    yield Attempt(path, "none of the choices", f"{value}?" if isinstance(value, str) else 10**6)
    if is_number(value):
        for confused in (True, False):
            yield Attempt(path, "a truth value for a number", confused)
        yield Attempt(path, "a text for a number", str(value))
    elif isinstance(value, str) and "string" in kinds | {branch.get("type")}:
        yield Attempt(path, "a list for a text", [value])


def _object(branch: dict[str, Any], value: dict[str, Any], path: Path) -> Iterator[Attempt]:
    yield Attempt(path, "a text for an object", json.dumps(value))
    if branch.get("properties") is not None and not isinstance(branch.get("additionalProperties"), dict):
        yield Attempt(path, "an unknown field", {**value, "no_such_field": 1})
    for name in branch.get("required", []):
        yield Attempt(path, f"without {name}", {k: v for k, v in value.items() if k != name})
    for name, item in value.items():
        sub = branch.get("properties", {}).get(name, branch.get("additionalProperties"))
        yield from attempts(sub, item, (*path, name))


def _array(branch: dict[str, Any], value: list[Any], path: Path) -> Iterator[Attempt]:
    yield Attempt(path, "a text for a list", json.dumps(value))
    yield Attempt(path, "an object for a list", {str(k): v for k, v in enumerate(value)})
    low, high = branch.get("minItems"), branch.get("maxItems")
    if low:
        yield Attempt(path, "fewer items", value[: low - 1])
    if value:
        n = high + 1 if high is not None else LONG_LIST
        yield Attempt(path, "more items", (value * (n // len(value) + 1))[:n], states_bound=high is not None)
    prefix = branch.get("prefixItems")
    seen: set[str] = set()
    for k, item in enumerate(value):
        key = json.dumps(item)[:200] if prefix is None else str(k)
        if key not in seen and len(seen) < 8:  # a list of one kind: a few of its items stand for all
            seen.add(key)
            yield from attempts(prefix[k] if prefix else branch.get("items"), item, (*path, k))


def _number(branch: dict[str, Any], value: float, path: Path, kinds: set[Any]) -> Iterator[Attempt]:
    whole = branch.get("type") == "integer"
    yield Attempt(path, "a truth value for a number", True)
    if "string" not in kinds:
        yield Attempt(path, "a text for a number", str(value))
    yield Attempt(path, "a list for a number", [value])
    if whole and "number" not in kinds:
        yield Attempt(path, "a fraction for a whole number", value + 0.5)
    for text in _NOT_JSON:
        yield Attempt(path, text, raw=text)

    def step(bound: float, direction: int) -> float:
        return int(bound) + direction if whole else math.nextafter(bound, direction * math.inf)

    for sign, closed, opened, name in ((-1, "minimum", "exclusiveMinimum", "smallest"), (1, "maximum", "exclusiveMaximum", "largest")):
        if closed in branch:
            yield Attempt(path, f"one step beyond the {name} value", step(branch[closed], sign))
        if opened in branch:
            yield Attempt(path, f"the {name} value, which is excluded", branch[opened])
        if closed not in branch and opened not in branch:
            yield Attempt(path, f"a value without a {name}", sign * (HUGE_INT if whole else HUGE), states_bound=False)
    if branch.get("multipleOf"):
        yield Attempt(path, "not a multiple", value + branch["multipleOf"] / 2)


def _text(branch: dict[str, Any], value: str, path: Path, kinds: set[Any]) -> Iterator[Attempt]:
    if not kinds & {"number", "integer"}:
        yield Attempt(path, "a number for a text", 1)
    yield Attempt(path, "a list for a text", [value])
    if branch.get("minLength"):
        yield Attempt(path, "a shorter text", value[: branch["minLength"] - 1])
    if "maxLength" in branch:
        n = branch["maxLength"] + 1
        yield Attempt(path, "a longer text", ((value or "a") * (n // max(1, len(value)) + 1))[:n])
    else:
        yield Attempt(path, "an endless text", (value or "a") + LONG_TEXT, states_bound=False)
    if "pattern" in branch:
        yield Attempt(path, "a text off the pattern", "\u0001 no\n")


def accepted(model: type[Experiment] | type[Query], request: Any, attempt: Attempt, spec: Any) -> str | None:
    """None where the attempt is refused as the request's fault; else what happened instead."""
    if attempt.raw is None:
        text = json.dumps(replaced(request, attempt.path, attempt.value))
    else:
        mark = "\u2603 here"
        text = json.dumps(replaced(request, attempt.path, mark)).replace(json.dumps(mark), attempt.raw)
    try:
        parse(model, text).admit(spec)
    except AgentError:
        return None
    except Exception as exc:  # noqa: BLE001  (whatever else it raises would be a fault of the laboratory)
        return f"{type(exc).__name__}: {exc}"
    return "admitted"


def _tried(subject: QTypeSubject, found: Findings, *, states_bound: bool) -> None:
    spec = subject.devices()[0].spec
    for model in subject.requests:
        schema = flat_schema(model)
        told: set[tuple[str, str]] = set()
        for example in model.examples(spec):
            request = example.model_dump(mode="json")
            for attempt in attempts(schema, request):
                if attempt.states_bound is not states_bound:
                    continue
                where = ".".join(str(p) for p in attempt.path) or "(request)"
                outcome = accepted(model, request, attempt, spec)
                if outcome is not None and (where, attempt.what) not in told:
                    told.add((where, attempt.what))
                    shown = attempt.raw or json.dumps(attempt.value)
                    found.add(f"{model.tool}.{where}", f"{attempt.what}: {outcome}", shown, "a refusal")


def bounds_are_enforced(subject: QTypeSubject) -> list[Finding]:
    """One step outside every stated bound, every wrong type, an unknown and a missing field are refused before anything is charged."""
    found = Findings("bounds_are_enforced", subject.name)
    _tried(subject, found, states_bound=True)
    return found


def fields_are_bounded(subject: QTypeSubject) -> list[Finding]:
    """A field whose schema states no bound refuses an absurd value all the same (in a validator or in `admit`)."""
    found = Findings("fields_are_bounded", subject.name)
    _tried(subject, found, states_bound=False)
    return found
