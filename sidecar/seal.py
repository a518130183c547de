"""Seal a session once the agent is gone, whether or not its sidecar still lives."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from evidence import Bundle, EvidenceError, LogWriter

_WAIT_S = 10.0


def is_sealed(folder: Path) -> bool:
    """Whether the log holds `session_sealed`."""
    try:
        return any(e.kind == "session_sealed" for e in Bundle(folder).events())
    except EvidenceError:
        return False


def seal(folder: Path) -> str:
    """Ask the living sidecar to seal (SIGUSR1), else seal the log directly; says which. :class:`EvidenceError` if neither works."""
    if is_sealed(folder):
        return "was sealed"
    deadline = time.monotonic() + _WAIT_S
    pid_file = folder / "sidecar.pid"
    if pid_file.exists():
        with contextlib.suppress(ProcessLookupError, ValueError, PermissionError):
            os.kill(int(pid_file.read_text()), signal.SIGUSR1)
            while time.monotonic() < deadline:
                if is_sealed(folder):
                    return "sealed by the sidecar"
                time.sleep(0.05)
    writer = LogWriter(folder)
    try:
        if writer.next_seq == 0:
            raise EvidenceError("there is no session to seal", 0)
        if writer.recovered[-1].kind != "session_sealed":
            writer.append("session_sealed", {"reason": "sealed without a sidecar"})
            writer.sync()
    finally:
        writer.close()
    return "sealed without a sidecar"
