"""Operate a Quantum-Harbor laboratory.

    import lab

    with lab.connect() as dev:
        rec = dev.run("run_ramsey", shots=1000)
        print(rec["iq"].shape, rec.unit("iq"), dev.budget())

`lab.conventions` holds the public rules by which the laboratory reads what is handed in; it needs stim and pymatching.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.client import Job, Lab, connect
    from lab.errors import CorruptRecord, JobFailed, JobPending, LabError, Refused, Unreachable
    from lab.records import Record

__version__ = "0.1.0"

__all__ = ["CorruptRecord", "Job", "JobFailed", "JobPending", "Lab", "LabError", "Record", "Refused", "Unreachable", "connect"]

_HOME = {
    **dict.fromkeys(("Job", "Lab", "connect"), "lab.client"),
    **dict.fromkeys(("CorruptRecord", "JobFailed", "JobPending", "LabError", "Refused", "Unreachable"), "lab.errors"),
    "Record": "lab.records",
}


def __getattr__(name: str) -> Any:
    # not imported above: the laboratory takes `lab.conventions` from here and must not load the client and its HTTP library with it
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
