"""A bundle: the folder that a session leaves behind, read lazily."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evidence.canonical import EvidenceError, digest, dumps, loads
from evidence.files import read_whole, write_whole
from evidence.log import LOG_NAME, Event, read_events
from evidence.records import MAX_RECORD, unpack
from evidence.sealed import Truth

RECORDS = "records"
PAYLOADS = "payloads"
ANSWER = "answer.json"
SCORE = "score.json"
MAX_FILE = 256_000_000
"""Payloads and answers are bounded at admission; a larger file is not ours."""
INLINE_BYTES = 16_000
"""Payloads up to this size stand in the log itself."""


def store_payload(folder: Path, value: Any) -> dict[str, Any]:
    """A reference to `value` for an event: inline if small, else a file named by its digest (durable before it is referred to)."""
    data = dumps(value)
    if len(data) <= INLINE_BYTES:
        return {"inline": value}
    sha = digest(data)
    path = folder / PAYLOADS / f"{sha}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    return {"sha256": sha, "bytes": len(data)}


def read_payload(folder: Path, ref: dict[str, Any]) -> bytes:
    """Canonical JSON of a payload; :class:`EvidenceError` where the file is missing or differs."""
    if "inline" in ref:
        return dumps(ref["inline"])
    sha = str(ref.get("sha256", ""))
    if len(sha) != 64 or any(c not in "0123456789abcdef" for c in sha):
        raise EvidenceError("a payload reference is malformed")
    try:
        data = read_whole(folder / PAYLOADS / f"{sha}.json", MAX_FILE)
    except OSError as exc:
        raise EvidenceError(f"payload {sha[:12]} is missing") from exc
    if digest(data) != sha:
        raise EvidenceError(f"payload {sha[:12]} does not match its digest")
    return data


class Bundle:
    """Reader of a bundle. Every access checks what it reads; :class:`EvidenceError` otherwise."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def events(self) -> Iterator[Event]:
        return read_events(self.folder / LOG_NAME)

    @cached_property
    def opened(self) -> dict[str, Any]:
        """Data of the first event."""
        for event in self.events():
            if event.kind == "session_opened":
                return event.data
            break
        raise EvidenceError("the log does not begin with session_opened", 0)

    @cached_property
    def _completed(self) -> dict[str, dict[str, Any]]:
        return {e.data["job_id"]: e.data for e in self.events() if e.kind == "job_completed"}

    def truth(self) -> Truth:
        """The sealed truth, checked against the commitment of the first event."""
        truth = Truth.read(self.folder)
        if truth.commitment != self.opened["commitment"]:
            raise EvidenceError("the sealed truth does not match the commitment of the first event", 0)
        return truth

    def record_bytes(self, job_id: str) -> bytes:
        """The `.npz` of a completed job, digest checked."""
        done = self._completed.get(job_id)
        if done is None:
            raise EvidenceError(f"job {job_id[:40]!r} has no completed record")
        try:
            data = read_whole(self.folder / RECORDS / f"{job_id}.npz", MAX_RECORD)
        except OSError as exc:
            raise EvidenceError(f"the record of {job_id} is missing") from exc
        if digest(data) != done["record"]["sha256"]:
            raise EvidenceError(f"the record of {job_id} does not match its digest")
        return data

    def record(self, job_id: str) -> dict[str, np.ndarray]:
        return unpack(self.record_bytes(job_id))

    def payload(self, ref: dict[str, Any]) -> Any:
        return loads(read_payload(self.folder, ref))

    def payload_text(self, ref: dict[str, Any]) -> str:
        return read_payload(self.folder, ref).decode("utf-8", "surrogatepass")

    def answer_text(self) -> str | None:
        """The submitted answer as JSON text, or None; its digest is that of the `answer_submitted` event."""
        for event in self.events():
            if event.kind == "answer_submitted":
                try:
                    data = read_whole(self.folder / ANSWER, MAX_FILE)
                except OSError as exc:
                    raise EvidenceError("the answer is missing", event.seq) from exc
                if digest(data) != event.data["sha256"]:
                    raise EvidenceError("the answer does not match its digest", event.seq)
                return data.decode("utf-8", "surrogatepass")
        return None
