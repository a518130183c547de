"""Tasks: one Harbor bundle per folder. `load(name)` reads its card, `names()` lists them.

A card is the bundle's `task.toml`; what the laboratory needs stands under `[metadata.lab]`.
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

HERE = Path(__file__).parent
NAMESPACE = "quantum-harbor"

Layer = Literal["physical device", "gates and calibration", "error correction", "logical and compilation", "application"]


class Limits(BaseModel):
    """Limits that are not a budget: they bound one request or the whole session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wall_s: int = Field(gt=0, description="wall time from the opening of the session to the last admitted request, s")
    queue: int = Field(default=32, gt=0, description="jobs that may wait or run at the same time")
    body_bytes: int = Field(default=1_000_000, gt=0, description="size of one request body, bytes")
    answer_bytes: int = Field(default=1_000_000, gt=0, description="size of the answer, bytes")


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

    @property
    def folder(self) -> Path:
        return HERE / self.name

    def limit(self, unit: str) -> Decimal | None:
        """Exact limit of a budget unit, None where it is not metered."""
        return Decimal(str(self.budget[unit])) if unit in self.budget else None

    def instruction(self) -> str:
        return (self.folder / "instruction.md").read_text(encoding="utf-8")


def names() -> tuple[str, ...]:
    """Names of all tasks, by index."""
    found = [p.parent.name for p in HERE.glob("*/task.toml")]
    return tuple(sorted(found, key=lambda n: (load(n).index, n)))


@cache
def load(name: str) -> TaskCard:
    """The card of task `name`; `KeyError` lists the known ones, `ValueError` says what is wrong with a card."""
    path = HERE / name / "task.toml"
    if "/" in name or "\\" in name or name.startswith(".") or not path.is_file():
        known = ", ".join(sorted(p.parent.name for p in HERE.glob("*/task.toml")))
        raise KeyError(f"no task {name!r}; known: {known}")
    with path.open("rb") as f:
        toml = tomllib.load(f)
    try:
        lab = toml["metadata"]["lab"]
        card = TaskCard(name=name, title=toml["task"]["description"], **lab)
    except (KeyError, TypeError, ValidationError) as exc:
        raise ValueError(f"tasks/{name}/task.toml: {exc}") from exc
    if toml["task"]["name"] != f"{NAMESPACE}/{name}":
        raise ValueError(f"tasks/{name}/task.toml: [task] name must be {NAMESPACE}/{name}")
    return card
