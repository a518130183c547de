"""Rules on a task: card, instruction, grader and answer schema agree; the bundle is whole; its solutions use the public surface."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from qharbor import bundles, containers
from qharbor.contract.findings import Finding, Findings, NotApplicable
from qharbor.contract.schemas import documented, flat, properties
from qharbor.contract.source import foreign_imports, thresholds
from qharbor.contract.subject import TaskSubject
from qharbor.contract.values import numbers_said, says
from qtypes import TaskError
from qtypes.schemas import flat_schema

_TOOL_WORD = re.compile(r"`(run_[a-z0-9_]+)`")
SOLUTION_FILES = ("solve.sh", "reference.py", "trap.py")


def card_is_whole(subject: TaskSubject) -> list[Finding]:
    """The card names a qtype and fits its profile, there is a grader and an instruction, and a race has its practice instance."""
    found = Findings("card_is_whole", subject.name)
    card = subject.card
    try:
        subject.grader  # noqa: B018  (loads it)
    except TaskError as exc:
        found.add("grader", str(exc))
    try:
        profile = subject.qtype.read_profile(card.profile)
        if card.mode == "race":
            subject.qtype.practice(profile)
    except (TaskError, ValidationError) as exc:
        found.add("card", str(exc))
    if not subject.instruction().strip():
        found.add("instruction.md", "missing or empty")
    if not card.budget or any(v <= 0 for v in card.budget.values()):
        found.add("budget", "every budget is positive, and there is one", card.budget)
    if not card.layers:
        found.add("layers", "none")
    return found


def instruction_states_the_budget(subject: TaskSubject) -> list[Finding]:
    """Every budget of the card and the wall time appear in the instruction as numbers (120 s may be said as 2 minutes)."""
    found = Findings("instruction_states_the_budget", subject.name)
    said = numbers_said(_instruction(subject))
    for unit, limit in {**subject.card.budget, "wall_s": subject.card.limits.wall_s}.items():
        if not says(said, float(limit)):
            found.add(f"budget {unit}", "the instruction does not say this number", f"{limit:g}")
    return found


def instruction_states_the_criteria(subject: TaskSubject) -> list[Finding]:
    """Every threshold of the grader is a named constant and appears in the instruction as a number."""
    found = Findings("instruction_states_the_criteria", subject.name)
    said = numbers_said(_instruction(subject))
    module = sys.modules[type(subject.grader).__module__]
    constants, bare = thresholds(module)
    for name, value in constants.items():
        for number in value if isinstance(value, tuple) else (value,):
            if not says(said, float(number)):
                found.add(f"{module.__name__}.{name}", "the instruction does not say this threshold", f"{number:g}")
    for line, value in bare:
        found.add(f"{module.__name__}, line {line}", "a threshold without a name", f"{value:g}", "a module constant")
    return found


def instruction_states_the_answer(subject: TaskSubject) -> list[Finding]:
    """Every field of the answer appears in the instruction, and every tool that the instruction names exists."""
    found = Findings("instruction_states_the_answer", subject.name)
    text = _instruction(subject)
    words = set(re.findall(r"\w+", text))
    for path in dict(properties(flat_schema(subject.grader.Answer))):
        if path[-1] not in words:
            found.add(f"Answer.{'.'.join(path)}", "the instruction does not name this field")
    for tool in sorted(set(_TOOL_WORD.findall(text)) - subject.qtype.tools().keys()):
        found.add("instruction.md", "names a tool that does not exist", tool)
    return found


def answer_is_strict(subject: TaskSubject) -> list[Finding]:
    """The answer's schema is flat, documented, strict, finite and bounded: no number, text or list without an end."""
    found = Findings("answer_is_strict", subject.name)
    answer = subject.grader.Answer
    flat(found, "Answer", answer)
    documented(found, "Answer", answer)
    for model in _nested(answer):
        config = model.model_config
        demanded = {"extra": "forbid", "strict": True, "allow_inf_nan": False, "frozen": True}
        for key, value in demanded.items():
            if config.get(key) != value:
                found.add(model.__name__, f"model_config[{key!r}]; derive it from graders.kit.AnswerModel", config.get(key), value)
    _endless(found, flat_schema(answer), "Answer")
    return found


def _nested(model: type[BaseModel]) -> list[type[BaseModel]]:
    """A model and every model in its fields."""
    found: dict[type[BaseModel], None] = {}

    def visit(kind: Any) -> None:
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in found:
            found[kind] = None
            for field in kind.model_fields.values():
                visit(field.annotation)
        for part in getattr(kind, "__args__", ()):
            visit(part)

    visit(model)
    return list(found)


def _endless(found: Findings, node: Any, where: str) -> None:
    if isinstance(node, list):
        for item in node:
            _endless(found, item, where)
        return
    if not isinstance(node, dict) or "enum" in node or "const" in node:
        return
    kind = node.get("type")
    low, high = (node.keys() & {m, f"exclusive{m.capitalize()}"} for m in ("minimum", "maximum"))
    if kind in ("number", "integer") and not (low and high):
        found.add(where, "a number without a smallest or largest value")
    if kind == "string" and "maxLength" not in node:
        found.add(where, "a text without a largest length")
    if kind == "array" and "maxItems" not in node:
        found.add(where, "a list without a largest length")
    if isinstance(node.get("additionalProperties"), dict) and "maxProperties" not in node:
        found.add(where, "a mapping without a largest size")
    for name, sub in node.get("properties", {}).items():
        _endless(found, sub, f"{where}.{name}")
    for key in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"):
        _endless(found, node.get(key), where)


def solutions_use_the_public_surface(subject: TaskSubject) -> list[Finding]:
    """`solution/` has a reference, a trap and an executable solve.sh, and imports only what the agent's container holds."""
    found = Findings("solutions_use_the_public_surface", subject.name)
    folder = subject.card.folder / "solution"
    for name in SOLUTION_FILES:
        path = folder / name
        if not path.is_file() or not path.read_text(encoding="utf-8").strip():
            found.add(f"solution/{name}", "missing or empty")
        elif name.endswith(".sh"):
            if not os.access(path, os.X_OK):
                found.add(f"solution/{name}", "not executable", oct(path.stat().st_mode & 0o777))
            if not path.read_text(encoding="utf-8").startswith("#!"):
                found.add(f"solution/{name}", "no interpreter line")
    if folder.is_dir():
        for where, what in foreign_imports(folder):
            found.add(f"solution/{where}", f"{what}: the agent's container does not hold it, or a reader cannot tell what it loads")
    return found


def bundle_is_in_step(subject: TaskSubject) -> list[Finding]:
    """The generated parts of the bundle are what `qharbor tasks sync` writes."""
    found = Findings("bundle_is_in_step", subject.name)
    if not subject.card.is_ours:
        raise NotApplicable("the bundle belongs to another distribution, which keeps its containers itself")
    for path, text in bundles.render(subject.card).items():
        file = subject.card.folder / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            found.add(path, "out of step; run `qharbor tasks sync`")
    return found


def harbor_accepts_the_bundle(subject: TaskSubject) -> list[Finding]:
    """`harbor lint` has nothing to say; for its look into compose files it needs a recent Docker Compose."""
    found = Findings("harbor_accepts_the_bundle", subject.name)
    if not subject.card.is_ours:
        raise NotApplicable("the bundle belongs to another distribution, which keeps its containers itself")
    try:
        harbor = containers.harbor_binary()
    except containers.ContainerError as exc:
        raise NotApplicable(str(exc)) from exc
    for entry in _lint(harbor).get(subject.name, []):
        compose = "compose" in entry["path"] and "Docker Compose could not load" in entry["message"]
        if not (compose and not _has_compose()):
            found.add(entry["path"], f"{entry['rule']}: {entry['message']}")
    return found


@cache
def _lint(harbor: Path) -> dict[str, list[dict[str, str]]]:
    """All findings of `harbor lint` on all our bundles, by task; one call, because Harbor takes seconds to start."""
    import tasks

    folders = {n: tasks.load(n).folder for n in tasks.names() if tasks.load(n).is_ours}
    command = [str(harbor), "lint", "--json", *map(str, folders.values())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    try:
        entries = json.loads(done.stdout)
    except ValueError as exc:
        raise NotApplicable(f"harbor lint did not answer in JSON: {done.stderr[-300:]}") from exc
    out: dict[str, list[dict[str, str]]] = {}
    for entry in entries:
        name = next((n for n, f in folders.items() if Path(entry["path"]).is_relative_to(f)), "?")
        out.setdefault(name, []).append({key: str(entry[key]) for key in ("path", "rule", "message")})
    return out


@cache
def _has_compose() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    done = subprocess.run([docker, "compose", "config", "--help"], capture_output=True, text=True, check=False)
    return "--no-env-resolution" in done.stdout  # Harbor passes it; Compose before 2.30 does not know it


def _instruction(subject: TaskSubject) -> str:
    text = subject.instruction()
    if not text.strip():
        raise NotApplicable("there is no instruction (card_is_whole says so)")
    return text


__all__ = [
    "answer_is_strict", "bundle_is_in_step", "card_is_whole", "harbor_accepts_the_bundle", "instruction_states_the_answer",
    "instruction_states_the_budget", "instruction_states_the_criteria", "solutions_use_the_public_surface",
]  # fmt: skip
