"""Hardware types, one folder each. `load(name)` gives the `QType`; `names()` lists them."""

from __future__ import annotations

import importlib
import importlib.metadata
from functools import cache
from pathlib import Path

from qtypes.contract import (
    Array,
    Clock,
    Cost,
    Device,
    Experiment,
    Material,
    Mode,
    Notebook,
    NotebookEntry,
    Part,
    QType,
    Query,
    Record,
    quantity,
)
from qtypes.errors import AgentError, LabFault, TaskError

__all__ = [
    "AgentError", "Array", "Clock", "Cost", "Device", "Experiment", "LabFault", "Material", "Mode", "Notebook", "NotebookEntry",
    "Part", "QType", "Query", "Record", "TaskError", "load", "names", "quantity",
]  # fmt: skip

ENTRY_POINTS = "quantum_harbor.qtypes"
_NOT_QTYPES = {"kit"}


def _here() -> set[str]:
    return {p.parent.name for p in Path(__file__).parent.glob("*/__init__.py")} - _NOT_QTYPES


def names() -> tuple[str, ...]:
    """Names of all qtypes: folders here and entry points of the group `quantum_harbor.qtypes`."""
    return tuple(sorted(_here() | {e.name for e in importlib.metadata.entry_points(group=ENTRY_POINTS)}))


@cache
def load(name: str) -> QType:
    """The qtype `name`; :class:`TaskError` names what is known where it is not. A folder here comes before an entry point."""
    if name in _here():  # does not look into the metadata of every installed distribution, which every worker would pay for
        qtype = importlib.import_module(f"qtypes.{name}").QTYPE
    else:
        entries = tuple(importlib.metadata.entry_points(group=ENTRY_POINTS, name=name))
        if not entries:
            raise TaskError(f"no qtype {name!r}; known: {', '.join(names())}")
        qtype = entries[0].load()
    if not isinstance(qtype, QType) or qtype.name != name:
        raise TaskError(f"qtypes/{name} must bind QTYPE to a QType named {name!r}")
    return qtype
