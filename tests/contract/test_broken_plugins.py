"""A qtype, task or grader that cannot be loaded says so; nothing else is used in its place."""

from __future__ import annotations

import importlib.metadata
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import graders
import qtypes
import tasks
from qtypes import TaskError

Announce = Callable[[str, str, str], None]


@pytest.fixture
def announce(monkeypatch: pytest.MonkeyPatch) -> Iterator[Announce]:
    """`announce(group, name, value)` installs an entry point."""
    real = importlib.metadata.entry_points
    added: list[importlib.metadata.EntryPoint] = []

    def entry_points(**wanted: Any) -> Any:
        ours = [e for e in added if all(getattr(e, k) == v for k, v in wanted.items())]
        return importlib.metadata.EntryPoints((*real(**wanted), *ours))

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    yield lambda group, name, value: added.append(importlib.metadata.EntryPoint(name, value, group))
    for module in (qtypes, tasks, graders):
        module.load.cache_clear()


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a module that is there, and binds the wrong things."""
    module: Any = types.ModuleType("broken_plugin")
    module.QTYPE = qtypes.load("transmon_pulse")
    module.GRADER = graders.load("transmon_t1")
    monkeypatch.setitem(sys.modules, "broken_plugin", module)
    return "broken_plugin"


def test_a_qtype_whose_module_does_not_import_is_listed_and_raises(announce: Announce) -> None:
    announce(qtypes.ENTRY_POINTS, "ghost", "no_such_distribution.device:QTYPE")
    assert "ghost" in qtypes.names()
    with pytest.raises(ModuleNotFoundError, match="no_such_distribution"):
        qtypes.load("ghost")


def test_a_qtype_under_another_name_is_refused(announce: Announce, broken: str) -> None:
    announce(qtypes.ENTRY_POINTS, "impostor", f"{broken}:QTYPE")
    with pytest.raises(TaskError, match="QTYPE to a QType named 'impostor'"):
        qtypes.load("impostor")


def test_an_installed_qtype_never_replaces_one_of_ours(announce: Announce, broken: str) -> None:
    ours = qtypes.load("transmon_pulse")
    qtypes.load.cache_clear()
    announce(qtypes.ENTRY_POINTS, "transmon_pulse", "no_such_distribution.device:QTYPE")
    assert type(qtypes.load("transmon_pulse")) is type(ours)
    with pytest.raises(TaskError, match=r"no qtype 'none_such'; known: .*transmon_pulse"):
        qtypes.load("none_such")


@pytest.mark.parametrize("value, what", [("no_such_distribution:GRADER", "no_such_distribution"), ("broken_plugin:NOTHING", "NOTHING")])
def test_a_grader_that_cannot_be_loaded_is_named(announce: Announce, broken: str, value: str, what: str) -> None:
    announce(graders.ENTRY_POINTS, "ghost_task", value)
    with pytest.raises(TaskError, match=what):
        graders.load("ghost_task")


def test_a_grader_of_another_task_is_refused(announce: Announce, broken: str) -> None:
    announce(graders.ENTRY_POINTS, "ghost_task", f"{broken}:GRADER")
    with pytest.raises(TaskError, match="must be a Grader of task 'ghost_task'"):
        graders.load("ghost_task")


def test_a_task_whose_bundle_is_not_there_raises_and_stays_in_the_list(announce: Announce, broken: str) -> None:
    announce(tasks.ENTRY_POINTS, "ghost_task", "no_such_distribution")
    with pytest.raises(ValueError, match="the module no_such_distribution, which is not there"):
        tasks.load("ghost_task")
    with pytest.raises(ValueError, match="no_such_distribution"):
        tasks.names()
