"""Strict JSON at the door: bounded depth, finite numbers of 64 bits, no key twice; refusals name the field."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

from qtypes import AgentError
from qtypes.errors import shown

MAX_DEPTH = 24
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"')
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_INT64 = 2**63


class _Bad:
    """Stands for a number that is refused, until its path is known."""

    def __init__(self, text: str, limit: str) -> None:
        self.text, self.limit = text, limit


def _float(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else _Bad(text, "a finite 64-bit float")


def _int(text: str) -> Any:
    if len(text) > 20:
        return _Bad(text, "a 64-bit integer")
    value = int(text)
    return value if -_INT64 <= value < _INT64 else _Bad(text, "a 64-bit integer")


def _object(pairs: list[tuple[str, Any]]) -> Any:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise AgentError("a field occurs twice", field=shown(twice), code="duplicate-field")
    return out


def depth(body: bytes) -> int:
    """Deepest nesting of brackets outside strings; linear time and no recursion."""
    brackets = np.frombuffer(_STRINGS.sub(b"", body).translate(None, _NOT_BRACKETS), dtype=np.uint8)
    if brackets.size == 0:
        return 0
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    return int(np.cumsum(steps).max())


def _find(value: Any) -> tuple[str, _Bad] | None:
    """Path of the first refused number."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, _Bad):
            return path or "(request)", node
        if isinstance(node, dict):
            stack += [(f"{path}.{shown(k)}" if path else shown(k), v) for k, v in node.items()]
        elif isinstance(node, list):
            stack += [(f"{path}.{i}" if path else str(i), v) for i, v in enumerate(node) if isinstance(v, (_Bad, dict, list))]
    return None


def read(body: bytes, within: tuple[str, ...] = ()) -> Any:
    """The value of a JSON body; :class:`AgentError` names what is refused.

    `within` is a prefix of the path to leave out of field names (`("params", "arguments")` for MCP calls).
    """
    if depth(body) > MAX_DEPTH:
        raise AgentError("the request is nested too deeply", limit=MAX_DEPTH, unit="levels", code="too-deep")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise AgentError("the body is not UTF-8", code="malformed-json", status=400) from None
    found: list[_Bad] = []

    def note(text_: str, make: Any) -> Any:
        value = make(text_)
        if isinstance(value, _Bad):
            found.append(value)
        return value

    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=lambda t: note(t, _int), parse_float=lambda t: note(t, _float),
            parse_constant=lambda t: note(t, lambda u: _Bad(u, "a finite number")),
        )  # fmt: skip
    except json.JSONDecodeError as exc:
        raise AgentError(f"the body is not JSON: {exc.msg} at position {exc.pos}", code="malformed-json", status=400) from None
    except RecursionError:
        raise AgentError("the request is nested too deeply", limit=MAX_DEPTH, unit="levels", code="too-deep") from None
    if found:
        path, bad = _find(value) or ("(request)", found[0])
        prefix = ".".join(within) + "."
        path = path.removeprefix(prefix) if within else path
        raise AgentError(f"{path}: must be {bad.limit}", field=path, got=bad.text, limit=bad.limit, code="not-finite")
    return value
