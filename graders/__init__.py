"""Graders, one module per task, named as the task. `load(task)` gives its `Grader`.

An installed distribution adds one by an entry point of the group `quantum_harbor.graders`: its name is the task's, its value
`module:GRADER`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import tasks
from graders.kit import Grader
from qtypes import TaskError

ENTRY_POINTS = "quantum_harbor.graders"


def _find(task: str) -> Any:
    """What is bound as the grader of `task`; a module here comes before an entry point."""
    if not task.isidentifier():
        raise TaskError(f"no grader {task!r}")
    if Path(__file__).with_name(f"{task}.py").is_file():
        return importlib.import_module(f"graders.{task}").GRADER
    entries = tuple(importlib.metadata.entry_points(group=ENTRY_POINTS, name=task))
    if not entries:
        raise TaskError(f"there is no graders/{task}.py, and no entry point {task!r} of the group {ENTRY_POINTS}")
    return entries[0].load()


@cache
def load(task: str) -> Grader:
    """The grader of `task`, for a member of a family that of the family; :class:`~qtypes.TaskError` where there is none."""
    with suppress(KeyError, ValueError):
        task = tasks.load(task).of or task
    try:
        grader = _find(task)
    except (ModuleNotFoundError, AttributeError) as exc:
        raise TaskError(f"graders/{task}.py must bind GRADER: {exc}") from exc
    if not isinstance(grader, Grader) or grader.task != task:
        raise TaskError(f"graders/{task}.py: GRADER must be a Grader of task {task!r}")
    return grader


__all__ = ["load"]
