"""The append-only, hash-chained event log `log.jsonl`.

One canonical JSON object a line: `seq`, `time` (UTC, ISO 8601), `kind`, `data`, `prev` (hash of the line before), `hash` (SHA-256 of the
canonical object without `hash`). One writer per log, held by an advisory lock. A torn last line is cut on reopening: it was never
acknowledged, because an event is acknowledged only after `fsync`.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.canonical import EvidenceError, digest, dumps, loads
from evidence.files import fsync_folder, open_plain

LOG_NAME = "log.jsonl"
GENESIS = "0" * 64
MAX_LINE = 8_000_000
"""Longest line in bytes; larger payloads are files of their own, so a longer line is not ours."""


class LogHeld(EvidenceError):
    """Another process writes this log."""


@dataclass(frozen=True)
class Event:
    """One line of the log."""

    seq: int
    time: str
    kind: str
    data: dict[str, Any]
    prev: str
    hash: str

    def preimage(self) -> bytes:
        """The bytes whose SHA-256 is `hash`."""
        return dumps({"seq": self.seq, "time": self.time, "kind": self.kind, "data": self.data, "prev": self.prev})

    def line(self) -> bytes:
        body = {"seq": self.seq, "time": self.time, "kind": self.kind, "data": self.data, "prev": self.prev, "hash": self.hash}
        return dumps(body) + b"\n"


def make_event(seq: int, kind: str, data: dict[str, Any], prev: str, time: str | None = None) -> Event:
    """An event with its hash; `ValueError` where `data` is not finite JSON."""
    stamp = time or dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
    bare = Event(seq, stamp, kind, data, prev, "")
    return Event(seq, stamp, kind, data, prev, digest(bare.preimage()))


def parse_line(line: bytes, expected_seq: int, prev: str) -> Event:
    """The event of one complete line; :class:`EvidenceError` where it does not continue the chain."""
    try:
        raw = loads(line)
        event = Event(raw["seq"], raw["time"], raw["kind"], raw["data"], raw["prev"], raw["hash"])
        right = digest(event.preimage()) == event.hash and event.line() == line + b"\n"
    except (ValueError, KeyError, TypeError) as exc:
        raise EvidenceError(f"event {expected_seq}: not a log line ({type(exc).__name__})", expected_seq) from exc
    if len(raw) != 6 or not isinstance(event.data, dict) or type(event.seq) is not int or not isinstance(event.kind, str):
        raise EvidenceError(f"event {expected_seq}: not a log line", expected_seq)
    if event.seq != expected_seq:
        raise EvidenceError(f"event {expected_seq}: numbered {event.seq}", expected_seq)
    if event.prev != prev:
        raise EvidenceError(f"event {expected_seq}: does not follow the event before it", expected_seq)
    if not right:
        raise EvidenceError(f"event {expected_seq}: content does not match its hash, or is not in canonical form", expected_seq)
    return event


def read_events(path: Path) -> Iterator[Event]:
    """Events of a log, lazily and verified; a torn last line (without newline) ends the iteration.

    Raises :class:`EvidenceError` at the first event that does not hold.
    """
    prev, seq = GENESIS, 0
    try:
        f = open_plain(path)
    except OSError as exc:
        raise EvidenceError(f"no readable log at {path.name}") from exc
    with f:
        while True:
            line = f.readline(MAX_LINE + 1)
            if not line or not line.endswith(b"\n"):
                if len(line) > MAX_LINE:
                    raise EvidenceError(f"event {seq}: longer than {MAX_LINE} bytes", seq)
                return
            event = parse_line(line[:-1], seq, prev)
            yield event
            prev, seq = event.hash, seq + 1


class LogWriter:
    """The one writer of a log.

    `append` writes the line; `sync` makes everything appended durable. An event may be acknowledged only after `sync`. Not thread-safe:
    `append` is called from one thread; `sync` may run in another.
    """

    def __init__(self, folder: Path) -> None:
        """Open or create; verifies what is there, cuts a torn tail. :class:`LogHeld` if another writer holds it."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / LOG_NAME
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(self._fd)
            raise LogHeld("the log already has a writer") from exc
        self._prev, self._seq, good = GENESIS, 0, 0
        self.recovered: list[Event] = []
        """Events found on opening; the caller rebuilds its state from them and may then clear the list."""
        try:
            for event in read_events(self.path):
                self.recovered.append(event)
                self._prev, self._seq = event.hash, event.seq + 1
                good += len(event.line())
        except EvidenceError:
            os.close(self._fd)  # lets go of the lock too
            raise
        self.cut = os.fstat(self._fd).st_size - good
        """Bytes of a torn tail that were cut."""
        if self.cut:
            os.ftruncate(self._fd, good)
        self._good = good
        os.fsync(self._fd)
        fsync_folder(folder)

    @property
    def next_seq(self) -> int:
        return self._seq

    def append(self, kind: str, data: dict[str, Any]) -> Event:
        """Write one event. On a failed write (full disk) the log is cut back to its last whole line and `OSError` is raised."""
        event = make_event(self._seq, kind, data, self._prev)
        line = event.line()
        if len(line) > MAX_LINE:
            raise ValueError(f"an event of {len(line)} bytes; larger payloads are stored as files")
        try:
            written = 0
            while written < len(line):
                written += os.write(self._fd, line[written:])
        except OSError:
            os.ftruncate(self._fd, self._good)
            raise
        self._good += len(line)
        self._prev, self._seq = event.hash, event.seq + 1
        return event

    def sync(self) -> None:
        os.fsync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1
