"""Rules on the schemas of a qtype: what the agent reads before it sends anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from qharbor.contract.findings import Finding, Findings
from qharbor.contract.subject import QTypeSubject
from qharbor.contract.values import dotted, leaves
from qtypes import AgentError
from qtypes.schemas import flat_schema

_OWN_TOOLS = {
    "get_spec", "list_materials", "get_material", "read_notebook", "append_notebook", "get_budget", "list_jobs", "get_job", "wait_for_job",
    "cancel_job", "fetch_record", "check_answer", "submit_answer", "lock_and_reveal",
}  # fmt: skip
_TOOL = re.compile(r"[a-z][a-z0-9_]{2,40}\Z")
SHORTEST_DESCRIPTION = 3
SHORTEST_TOOL_DESCRIPTION = 40


def models(subject: QTypeSubject) -> dict[str, type[BaseModel]]:
    """Every model of a qtype by the name findings use."""
    parts: dict[str, type[BaseModel]] = {"Spec": subject.qtype.Spec, "Hidden": subject.qtype.Hidden, "Profile": subject.qtype.Profile}
    return parts | {r.tool: r for r in subject.requests}


def properties(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every property of a flat schema, nested ones too."""
    if isinstance(node, list):
        for item in node:
            yield from properties(item, path)
    elif isinstance(node, dict):
        for name, sub in node.get("properties", {}).items():
            yield (*path, name), sub
            yield from properties(sub, (*path, name))
        for key in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"):
            yield from properties(node.get(key), path)


def has_number(node: Any) -> bool:
    """Whether values of a property are numbers, in it directly or in its arrays and alternatives."""
    if isinstance(node, list):
        return any(has_number(n) for n in node)
    if not isinstance(node, dict):
        return False
    if node.get("type") in ("number", "integer") and "enum" not in node and "const" not in node:
        return True
    return any(has_number(node.get(k)) for k in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"))


def schemas_are_flat(subject: QTypeSubject) -> list[Finding]:
    """A request's schema holds no reference and its root no alternatives: many clients understand neither."""
    found = Findings("schemas_are_flat", subject.name)
    for model in subject.requests:
        flat(found, model.tool, model)
    return found


def flat(found: Findings, where: str, model: type[BaseModel]) -> None:
    try:
        schema = flat_schema(model)
    except ValueError as exc:
        found.add(where, str(exc))
        return
    if '"$ref"' in json.dumps(schema):
        found.add(where, "the schema holds a reference")
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            found.add(where, "the root of the schema is not one object", key)


def fields_are_documented(subject: QTypeSubject) -> list[Finding]:
    """Every field has a description, every request class a docstring: it is all the agent has."""
    found = Findings("fields_are_documented", subject.name)
    for name, model in models(subject).items():
        documented(found, name, model)
    for request in subject.requests:
        length = len(" ".join((request.__doc__ or "").split()))
        if length < SHORTEST_TOOL_DESCRIPTION:
            found.add(request.tool, "the class docstring is the tool's description", f"{length} characters", SHORTEST_TOOL_DESCRIPTION)
    return found


def documented(found: Findings, where: str, model: type[BaseModel]) -> None:
    for path, node in dict(properties(flat_schema(model))).items():
        if len(node.get("description", "")) < SHORTEST_DESCRIPTION:
            found.add(f"{where}.{'.'.join(path)}", "no description")


def numbers_have_units(subject: QTypeSubject) -> list[Finding]:
    """Every number says its unit, "1" where it is a pure number (`qtypes.quantity`)."""
    found = Findings("numbers_have_units", subject.name)
    for name, model in models(subject).items():
        for path, node in dict(properties(flat_schema(model))).items():
            if has_number(node) and not node.get("unit"):
                found.add(f"{name}.{'.'.join(path)}", "no unit; use quantity(unit, description, ...)")
    return found


def tools_are_named(subject: QTypeSubject) -> list[Finding]:
    """Tool names are words of their own that no other tool of the laboratory bears; those of experiments begin with `run_`."""
    found = Findings("tools_are_named", subject.name)
    names = [r.tool for r in subject.requests]
    if not names:
        found.add("tools", "the qtype offers neither experiments nor queries")
    for name in names:
        if not _TOOL.match(name) or name in _OWN_TOOLS or names.count(name) > 1:
            found.add(name, "not a tool name, or taken")
    for experiment in subject.qtype.experiments:
        if not experiment.tool.startswith("run_"):
            found.add(experiment.tool, "the name of an experiment begins with run_")
    return found


def examples_are_valid(subject: QTypeSubject) -> list[Finding]:
    """Every request has examples that are admitted, survive JSON unchanged, and together use each of its fields."""
    found = Findings("examples_are_valid", subject.name)
    spec = subject.devices()[0].spec
    for model in subject.requests:
        examples = model.examples(spec)
        if not examples:
            found.add(model.tool, "examples(spec) gives none")
            continue
        used: set[str] = set()
        for k, example in enumerate(examples):
            where = f"{model.tool} example {k}"
            if not isinstance(example, model):
                found.add(where, "not a request of its own class", type(example).__name__)
                continue
            try:
                if model.model_validate_json(example.model_dump_json()) != example:
                    found.add(where, "JSON does not give the same request back")
                example.admit(spec)
            except (ValidationError, AgentError) as exc:
                found.add(where, "refused", str(exc))
            used |= {dotted(path[:n]) for path, leaf in leaves(example) if leaf is not None for n in range(1, len(path) + 1)}
        for path in dict(properties(flat_schema(model))):
            if ".".join(path) not in used:
                found.add(f"{model.tool}.{'.'.join(path)}", "no example gives this field a value")
    return found
