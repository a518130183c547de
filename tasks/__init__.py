"""Tasks: one Harbor bundle per folder. `load(name)` reads its card, `names()` lists them.

A card is the bundle's `task.toml`; what the laboratory needs stands under `[metadata.lab]`. An installed distribution adds a task by an
entry point of the group `quantum_harbor.tasks`: its name is the task's, its value the module or package in whose folder the bundle lies.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import tomllib
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

HERE = Path(__file__).parent
NAMESPACE = "quantum-harbor"
ENTRY_POINTS = "quantum_harbor.tasks"

Layer = Literal["physical device", "gates and calibration", "error correction", "logical and compilation", "application"]


class Limits(BaseModel):
    """Limits that are not a budget: they bound one request or the whole session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wall_s: int = Field(gt=0, description="wall time from the opening of the session to the last admitted request, s")
    queue: int = Field(default=32, gt=0, description="jobs that may wait or run at the same time")
    body_bytes: int = Field(default=1_000_000, gt=0, description="size of one request body, bytes")
    answer_bytes: int = Field(default=1_000_000, gt=0, description="size of the answer, bytes")


class Family(BaseModel):
    """A card that stands for many tasks: `<short>_<value>` is the task whose profile has `value` in `field`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    short: str = Field(min_length=1, description="first part of the names of its members")
    field: str = Field(min_length=1, description="field of the profile that the rest of a name sets")


class TaskCard(BaseModel):
    """What the laboratory must know of a task (`[metadata.lab]` of `task.toml`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    index: int = Field(ge=1)
    version: str
    category: str
    mode: Literal["pass_fail", "race", "test_case"]
    qtype: str
    layers: tuple[Layer, ...]
    budget: dict[str, float] = Field(description="limit of each metered unit; `lab_s` meters the lab clock")
    limits: Limits
    profile: dict[str, Any] = {}
    keywords: tuple[str, ...] = ()
    folder: Path = Field(description="folder of the bundle")
    family: Family | None = None
    borrowed: dict[str, str] = Field(default={}, description="modules of `solution/` that are another task's: file -> task")
    of: str | None = Field(default=None, description="the task with the card, grader and solvers, of a member of its family")

    @property
    def is_ours(self) -> bool:
        """Whether the bundle lies here; one of another distribution keeps its generated parts itself."""
        return self.folder.parent == HERE

    def limit(self, unit: str) -> Decimal | None:
        """Exact limit of a budget unit, None where it is not metered."""
        return Decimal(str(self.budget[unit])) if unit in self.budget else None

    def instruction(self) -> str:
        return (self.folder / "instruction.md").read_text(encoding="utf-8")


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {e.name: e for e in importlib.metadata.entry_points(group=ENTRY_POINTS)}


def _known() -> set[str]:
    return {p.parent.name for p in HERE.glob("*/task.toml")} | _entry_points().keys()


def names() -> tuple[str, ...]:
    """Names of all tasks, by index: folders here and entry points of the group `quantum_harbor.tasks`."""
    return tuple(sorted(_known(), key=lambda n: (load(n).index, n)))


def _folder(name: str) -> Path:
    """The folder of bundle `name`; one here comes before an entry point."""
    plain = not ("/" in name or "\\" in name or name.startswith("."))
    if plain and (HERE / name / "task.toml").is_file():
        return HERE / name
    entry = _entry_points().get(name)
    if entry is None:
        raise KeyError(f"no task {name!r}; known: {', '.join(sorted(_known()))}")
    spec = importlib.util.find_spec(entry.module)
    if spec is None:
        raise ValueError(f"task {name!r}: its entry point names the module {entry.module}, which is not there")
    folder = Path(next(iter(spec.submodule_search_locations))) if spec.submodule_search_locations else Path(str(spec.origin)).parent
    if not (folder / "task.toml").is_file():
        raise ValueError(f"task {name!r}: there is no task.toml in {folder}, the folder of its entry point")
    return folder


def _member(name: str) -> TaskCard | None:
    """The card of a member of a family, None where `name` begins like none. What the profile accepts is the hardware type's affair."""
    short, _, value = name.partition("_")
    for known in sorted(_known()) if value.isidentifier() or value.isalnum() else ():
        try:
            card = load(known)
        except ValueError:
            continue
        if card.family is not None and card.family.short == short:
            profile = {**card.profile, card.family.field: value}
            changed = {"name": name, "title": f"{card.title}: {value}", "profile": profile, "family": None, "of": card.name}
            return card.model_copy(update=changed)
    return None


@cache
def load(name: str) -> TaskCard:
    """The card of task `name`; `KeyError` lists the known ones, `ValueError` says what is wrong with a card.

    `name` may be a member of a family (`b2_golay`), which `names` does not list.
    """
    if name not in _known() and (member := _member(name)) is not None:
        return member
    folder = _folder(name)
    with (folder / "task.toml").open("rb") as f:
        toml = tomllib.load(f)
    try:
        lab = toml["metadata"]["lab"]
        card = TaskCard(name=name, title=toml["task"]["description"], folder=folder, **lab)
    except (KeyError, TypeError, ValidationError) as exc:
        raise ValueError(f"tasks/{name}/task.toml: {exc}") from exc
    wanted = toml["task"]["name"]
    if wanted != f"{NAMESPACE}/{name}" if card.is_ours else not wanted.endswith(f"/{name}"):
        raise ValueError(f"tasks/{name}/task.toml: [task] name must be {NAMESPACE if card.is_ours else '<organisation>'}/{name}")
    return card
