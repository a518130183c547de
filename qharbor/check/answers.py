"""Answers made from other answers: ids exchanged, the notebook's numbers put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Facts = dict[str, Any]


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A copy of a JSON value in which each text that is a key of `names` is replaced."""
    if isinstance(value, dict):
        return {k: renamed(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [renamed(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


def cited(value: Any, ids: Sequence[str]) -> list[str]:
    """Those of `ids` that a JSON value holds, in the order in which it holds them."""
    known, found = set(ids), dict[str, None]()

    def visit(node: Any) -> None:
        if isinstance(node, dict):
            for item in node.values():
                visit(item)
        elif isinstance(node, list):
            for item in node:
                visit(item)
        elif isinstance(node, str) and node in known:
            found[node] = None

    visit(value)
    return list(found)


def facts(entries: Sequence[Mapping[str, Any]]) -> Facts:
    """Numbers, and lists of numbers, of a notebook's data by name; a later entry corrects an earlier one."""
    found: Facts = {}

    def visit(node: Any) -> None:
        if isinstance(node, dict):
            for name, value in node.items():
                if _is_number(value) or (isinstance(value, list) and value and all(_is_number(v) for v in value)):
                    found[name] = value
                else:
                    visit(value)
        elif isinstance(node, list):
            for value in node:
                visit(value)

    for entry in entries:
        visit(entry.get("data") or {})
    return found


def stale(answer: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """`answer` with the notebook's number in every field that has its name, and the names of these fields."""
    known, used = facts(entries), dict[str, None]()

    def visit(node: Any, name: str) -> Any:
        if isinstance(node, dict):
            return {k: visit(v, k) for k, v in node.items()}
        fact = known.get(name)
        if isinstance(node, list):
            if isinstance(fact, list) and len(fact) == len(node) and all(_is_number(v) for v in node):
                used[name] = None
                return list(fact)
            return [visit(v, "") if isinstance(v, dict | list) else v for v in node]
        if _is_number(node) and _is_number(fact):
            used[name] = None
            return round(fact) if isinstance(node, int) and isinstance(fact, float) and fact == round(fact) else fact
        return node

    return visit(dict(answer), ""), list(used)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
