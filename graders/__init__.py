"""Graders, one module per task, named as the task. `load(task)` gives its `Grader`."""

from __future__ import annotations

import importlib
from functools import cache

from graders.kit import Grader
from qtypes import TaskError


@cache
def load(task: str) -> Grader:
    """The grader of `task`; :class:`~qtypes.TaskError` where there is none."""
    try:
        grader = importlib.import_module(f"graders.{task}").GRADER
    except (ModuleNotFoundError, AttributeError) as exc:
        raise TaskError(f"graders/{task}.py must bind GRADER: {exc}") from exc
    if not isinstance(grader, Grader) or grader.task != task:
        raise TaskError(f"graders/{task}.py: GRADER must be a Grader of task {task!r}")
    return grader


__all__ = ["load"]
