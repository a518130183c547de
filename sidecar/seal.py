"""Seal a session once the agent is gone, whether or not its sidecar still lives."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from evidence import LOG_NAME, Bundle, EvidenceError, LogHeld, LogWriter

_WAIT_S = 20.0
_ASK_AGAIN_S = 5.0


def is_sealed(folder: Path) -> bool:
    """Whether the log holds `session_sealed`."""
    try:
        return any(e.kind == "session_sealed" for e in Bundle(folder).events())
    except EvidenceError:
        return False


def seal(folder: Path) -> str:
    """Seal the log directly where no sidecar holds it, else ask the living one (SIGUSR1); says which.

    :class:`EvidenceError` if neither works.
    """
    if is_sealed(folder):
        return "was sealed"
    if not (folder / LOG_NAME).is_file():
        raise EvidenceError("there is no session to seal", 0)
    deadline = time.monotonic() + _WAIT_S
    while True:
        # the lock of the log tells whether a sidecar lives; the number in its pid file may by now be another process
        if (writer := _writer(folder)) is not None:
            return _write_seal(writer)
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((folder / "sidecar.pid").read_text()), signal.SIGUSR1)
        asked = time.monotonic()
        while time.monotonic() < min(deadline, asked + _ASK_AGAIN_S):
            if is_sealed(folder):
                return "sealed by the sidecar"
            time.sleep(0.05)
        if time.monotonic() >= deadline:
            raise EvidenceError("the sidecar holds the log and does not seal it")


def _writer(folder: Path) -> LogWriter | None:
    try:
        return LogWriter(folder)
    except LogHeld:
        return None


def _write_seal(writer: LogWriter) -> str:
    try:
        if writer.next_seq == 0:
            raise EvidenceError("there is no session to seal", 0)
        if any(e.kind == "session_sealed" for e in writer.recovered):
            return "was sealed"
        writer.append("session_sealed", {"reason": "sealed without a sidecar"})
        writer.sync()
    finally:
        writer.close()
    return "sealed without a sidecar"
