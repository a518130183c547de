"""Operate a Quantum-Harbor laboratory.

    import lab

    with lab.connect() as dev:
        rec = dev.run("run_ramsey", shots=1000)
        print(rec["iq"].shape, rec.unit("iq"), dev.budget())

`lab.conventions` holds the public rules by which the laboratory reads what is handed in; it needs stim and pymatching.
"""

from lab.client import Job, Lab, connect
from lab.errors import CorruptRecord, JobFailed, JobPending, LabError, Refused, Unreachable
from lab.records import Record

__version__ = "0.1.0"

__all__ = ["CorruptRecord", "Job", "JobFailed", "JobPending", "Lab", "LabError", "Record", "Refused", "Unreachable", "connect"]
