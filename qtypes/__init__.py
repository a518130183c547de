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


def names() -> tuple[str, ...]:
    """Names of all qtypes: folders here and entry points of the group `quantum_harbor.qtypes`."""
    here = Path(__file__).parent
    found = {p.parent.name for p in here.glob("*/__init__.py") if p.parent.name not in _NOT_QTYPES}
    found |= {e.name for e in importlib.metadata.entry_points(group=ENTRY_POINTS)}
    return tuple(sorted(found))


@cache
def load(name: str) -> QType:
    """The qtype `name`; :class:`TaskError` names what is known where it is not."""
    if name not in names():
        raise TaskError(f"no qtype {name!r}; known: {', '.join(names())}")
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS, name=name):
        qtype = entry.load()
        break
    else:
        qtype = importlib.import_module(f"qtypes.{name}").QTYPE
    if not isinstance(qtype, QType) or qtype.name != name:
        raise TaskError(f"qtypes/{name} must bind QTYPE to a QType named {name!r}")
    return qtype
