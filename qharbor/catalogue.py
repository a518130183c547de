"""`qharbor docs build`: the catalogue, a page per hardware type and per task, written from the code and the calibration."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

import graders
import qtypes
import tasks
from qharbor.check.measure import SCHEMA
from qharbor.contract.source import thresholds
from qtypes import Device, Experiment, Query, seeds
from qtypes.contract import QType
from qtypes.schemas import flat_schema
from tasks import TaskCard

FOLDER = Path("docs") / "catalogue"
NOTICE = "<!-- Written by `qharbor docs build` from the code; changes belong there. -->"
LONGEST_EXAMPLE = 600
"""Characters of an example that are shown; a circuit or a table is cut."""


def root() -> Path:
    return Path(qtypes.__file__).resolve().parents[1]


def build(check: bool = False) -> list[str]:
    """Write the catalogue; the paths that changed. With `check` nothing is written: the paths returned are out of step."""
    base = root()
    wanted = pages()
    changed = [path for path, text in wanted.items() if not (base / path).is_file() or (base / path).read_text(encoding="utf-8") != text]
    stale = [p.relative_to(base).as_posix() for p in sorted((base / FOLDER).rglob("*.md")) if p.relative_to(base).as_posix() not in wanted]
    if not check:
        for path in changed:
            (base / path).parent.mkdir(parents=True, exist_ok=True)
            (base / path).write_text(wanted[path], encoding="utf-8")
        for path in stale:
            (base / path).unlink()
    return changed + stale


def pages() -> dict[str, str]:
    """Every page: path relative to the project -> text."""
    cards = [c for c in map(tasks.load, tasks.names()) if c.is_ours]
    kinds = [qtypes.load(n) for n in qtypes.names() if (root() / "qtypes" / n / "__init__.py").is_file()]
    out = {(FOLDER / "README.md").as_posix(): _index(kinds, cards)}
    out |= {(FOLDER / "qtypes" / f"{q.name}.md").as_posix(): _qtype_page(q, [c for c in cards if c.qtype == q.name]) for q in kinds}
    return out | {(FOLDER / "tasks" / f"{c.name}.md").as_posix(): _task_page(c) for c in cards}


# -- pages ------------------------------------------------------------------------------------------------------------------


def _index(kinds: list[QType[Any, Any]], cards: list[TaskCard]) -> str:
    rows = [
        (c.index, f"[{c.name}](tasks/{c.name}.md)", c.title, _mode(c), f"[{c.qtype}](qtypes/{c.qtype}.md)", ", ".join(c.layers), _rate(c))
        for c in cards
    ]
    hardware = [(f"[{q.name}](qtypes/{q.name}.md)", q.title, ", ".join(f"`{t}`" for t in q.tools())) for q in kinds]
    return _page(
        "# Catalogue", NOTICE, "## Tasks",
        _table(("#", "task", "aim", "mode", "hardware", "layers", "reference passes"), rows),
        "## Hardware types", _table(("hardware type", "what it is", "tools"), hardware),
    )  # fmt: skip


def _qtype_page(q: QType[Any, Any], cards: list[TaskCard]) -> str:
    readme = root() / "qtypes" / q.name / "README.md"
    device = _device(q, cards)
    parts = [f"# {q.title}", NOTICE, f"`{q.name}`. {'Drifts with the lab clock.' if q.drifts else 'Does not drift.'}"]
    if cards:
        parts.append("Tasks: " + ", ".join(f"[{c.name}](../tasks/{c.name}.md)" for c in cards) + ".")
    if readme.is_file():
        parts += [_physics(readme.read_text(encoding="utf-8")), f"The whole page: [README](../../../qtypes/{q.name}/README.md)."]
    parts += ["## Public spec", "What the agent may know.", _fields(q.Spec)]
    parts += ["## What a task may set", _fields(q.Profile)]
    for heading, kind in (("Experiments", q.experiments), ("Queries", q.queries)):
        parts += [f"## {heading}"] if kind else []
        for model in kind:
            parts += [f"### `{model.tool}`", " ".join((model.__doc__ or "").split()), _fields(model)]
            parts += _example(model, device)
    return _page(*parts)


def _task_page(c: TaskCard) -> str:
    grader = graders.load(c.name)
    limits = [("wall time", f"{c.limits.wall_s:g} s"), ("jobs waiting or running", f"{c.limits.queue:g}"),
              ("request body", f"{c.limits.body_bytes:,} bytes"), ("answer", f"{c.limits.answer_bytes:,} bytes")]  # fmt: skip
    decisive = [(f"`{name}`", json.dumps(value)) for name, value in thresholds(sys.modules[type(grader).__module__])[0].items()]
    links = [f"[instruction](../../../tasks/{c.name}/instruction.md)", f"[grader](../../../graders/{c.name}.py)"]
    if (root() / "docs" / "tasks" / f"{c.name}.md").is_file():
        links.append(f"[physics and thresholds](../../tasks/{c.name}.md)")
    return _page(
        f"# {c.index}. {c.title}", NOTICE,
        f"`{c.name}` {c.version}, {_mode(c)}, {c.category}. Hardware: [{c.qtype}](../qtypes/{c.qtype}.md). Layers: {', '.join(c.layers)}.",
        "See " + ", ".join(links) + ".",
        "## Budget", _table(("unit", "limit"), [(f"`{u}`", f"{v:g}" if v < 1e6 else f"{v:,.0f}") for u, v in c.budget.items()]),
        "## Limits", _table(("of", "limit"), limits),
        "## Answer", " ".join((grader.Answer.__doc__ or "").split()), _fields(grader.Answer),
        "## Thresholds", _table(("constant of the grader", "value"), decisive),
        "## Calibration", *_calibration(c),
    )  # fmt: skip


# -- parts ------------------------------------------------------------------------------------------------------------------


def _page(*parts: str) -> str:
    return "\n\n".join(p for p in parts if p) + "\n"


def _mode(c: TaskCard) -> str:
    return c.mode.replace("_", "/") if c.mode == "pass_fail" else c.mode.replace("_", " ")


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    if not rows:
        return "None."
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(_cell, row)) + " |" for row in rows)])


def _physics(readme: str) -> str:
    """A qtype's own page without its title and without what this page writes from the code; headings keep their level."""
    text = re.sub(r"\A# [^\n]*\n", "", readme.strip() + "\n")
    sections = re.split(r"(?m)^(?=## )", text)
    return "".join(s for s in sections if not re.match(r"## (Experiments|Public spec|Queries|Tools)\b", s)).strip()


def _fields(model: type[BaseModel]) -> str:
    return _table(("field", "type", "unit", "bounds", "meaning"), list(_rows(flat_schema(model))))


def _rows(schema: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """One row per field, nested ones under a dotted name."""
    for name, node in schema.get("properties", {}).items():
        options = [o for o in node.get("anyOf", [node]) if o.get("type") != "null"]
        inner = options[0] if options else node
        bounds, kind, depth = _bounds(inner), _kind(inner), ""
        while inner.get("type") == "array" and isinstance(inner.get("items"), dict):
            inner, depth = inner["items"], depth + "[]"
            bounds = [*bounds, *(f"each {b}" for b in _bounds(inner))]
        if "default" in node and node["default"] not in (None, [], {}, ""):
            bounds.append(f"default {json.dumps(node['default'])}")
        elif name not in schema.get("required", ()):
            bounds.append("optional")
        unit = node.get("unit") or inner.get("unit") or ""
        yield f"`{prefix}{name}`", kind, "" if unit == "1" else unit, ", ".join(bounds), node.get("description", "")
        yield from _rows(inner, f"{prefix}{name}{depth}.")


def _kind(node: dict[str, Any]) -> str:
    if "enum" in node:
        return " or ".join(f"`{json.dumps(v)}`" for v in node["enum"])
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if node.get("type") == "array":
        return f"list of {_kind(node['items'])}" if isinstance(node.get("items"), dict) else "list"
    return {"integer": "whole number", "string": "text", "boolean": "true or false"}.get(node.get("type", ""), node.get("type", "any"))


def _bounds(node: dict[str, Any]) -> list[str]:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<", "multipleOf": "multiple of"}
    found = [f"{sign} {node[key]:.12g}" for key, sign in signs.items() if key in node]
    for low, high, what in (("minItems", "maxItems", "items"), ("minLength", "maxLength", "characters")):
        if node.get(low) is not None and node.get(low) == node.get(high):
            found.append(f"{node[low]} {what}")
        elif high in node:
            found.append(f"{node.get(low, 0)} to {node[high]} {what}")
    return found


def _device(q: QType[Any, Any], cards: list[TaskCard]) -> Device[Any, Any] | None:
    """A device for the examples, always the same; None where the qtype has no profile to draw from."""
    try:
        profile = q.read_profile(cards[0].profile if cards else {})
    except ValidationError:
        return None
    hidden = q.draw(seeds.generator(seeds.root_from(f"catalogue/{q.name}".encode()), "device"), profile)
    return Device(q.spec(hidden, profile), hidden, profile)


def _example(model: type[Experiment] | type[Query], device: Device[Any, Any] | None) -> list[str]:
    examples = model.examples(device.spec) if device is not None else ()
    if not examples:
        return []
    text = examples[0].model_dump_json(exclude_defaults=True)
    shown = text if len(text) <= LONGEST_EXAMPLE else text[:LONGEST_EXAMPLE] + " ..."
    cost = ", ".join(f"{amount:g} `{unit}`" for unit, amount in examples[0].cost().to_json().items() if amount) or "nothing"
    return [f"Example, which costs {cost}:", f"```json\n{shown}\n```"]


def _summary(c: TaskCard) -> dict[str, Any] | None:
    path = root() / "docs" / "calibration" / f"{c.name}.json"
    saved = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    usable = saved.get("schema") == SCHEMA and saved.get("task_version") == c.version and saved.get("complete") is True
    return saved if usable else None


def _rate(c: TaskCard) -> str:
    found = next((s for s in (_summary(c) or {"summary": []})["summary"] if s["solver"] == "reference"), None)
    return f"{found['passed']}/{found['n']}" if found else "not calibrated"


def _calibration(c: TaskCard) -> list[str]:
    saved = _summary(c)
    if saved is None:
        return [f"None of this version: `qharbor check {c.name}` makes it."]
    rows = []
    for s in saved["summary"]:
        if not s["n"]:
            rows.append((s["solver"], "not applicable", "", "", s["note"]))
            continue
        worst = max(s["failed_checks"].items(), key=lambda kv: kv[1], default=None)
        closest = min(s["margins"].items(), key=lambda kv: kv[1][0], default=None)
        where = f"fails {worst[0]} ({worst[1]})" if worst else f"closest margin {closest[1][0]:+.0%}: {closest[0]}" if closest else ""
        if s["metric"] is not None:
            where += f"; metric {s['metric'][0]:.6g} to {s['metric'][2]:.6g}"
        rows.append((s["solver"], f"{s['passed']}/{s['n']}", f"{s['low']:.0%} to {s['high']:.0%}", f"{s['cpu_s']:.0f}", where))
    parts = ["Fresh devices, pass rate with its 95 % Wilson interval, median processor time of laboratory, agent and grading together.",
             _table(("solver", "passes", "interval", "CPU s", ""), rows)]  # fmt: skip
    if (root() / "docs" / "calibration" / f"{c.name}.png").is_file():
        parts.append(f"![Margins of every check](../../calibration/{c.name}.png)")
    return parts
