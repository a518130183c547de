"""`verify(bundle)`: does the evidence hold, and which event is the first that does not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.bundle import ANSWER, MAX_FILE, RECORDS, Bundle, read_payload
from evidence.canonical import EvidenceError, digest
from evidence.files import read_whole
from evidence.ledger import Ledger
from evidence.log import LOG_NAME, Event
from evidence.records import MAX_RECORD
from evidence.sealed import Truth

_BEFORE = {
    "job_started": ("job_submitted",), "job_completed": ("job_started",), "job_failed": ("job_started",),
    "job_cancelled": ("job_submitted", "job_started"),
}  # fmt: skip
"""What a job's last event must have been."""


@dataclass(frozen=True)
class Report:
    """`ok`, the first event that does not hold (`seq`, `problem`), and what was counted."""

    ok: bool
    events: int
    jobs: int
    records: int
    sealed: bool
    torn_bytes: int
    budget: dict[str, Any]
    seq: int | None = None
    problem: str | None = None

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


class _Replay:
    """Folds events and raises :class:`EvidenceError` at the first that contradicts those before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = Ledger({})
        self.state: dict[str, str] = {}
        self.cost: dict[str, dict[str, Any]] = {}
        self.records = 0
        self.bytes = 0
        self.sealed = False
        self.answered = False
        self.locked = False
        self.opened: dict[str, Any] = {}

    def apply(self, event: Event) -> None:
        if event.seq == 0:
            self._open(event)
        elif event.kind == "session_opened":
            raise EvidenceError(f"event {event.seq}: the session is opened twice", event.seq)
        elif self.sealed and event.kind != "session_reopened":
            raise EvidenceError(f"event {event.seq}: {event.kind} after the seal", event.seq)
        if event.kind.startswith("job_"):
            self._job(event)
        elif event.kind == "query_answered":
            if self.locked or self.answered:
                raise EvidenceError(f"event {event.seq}: a query after the lock or the answer", event.seq)
            read_payload(self.folder, event.data["request"])
            read_payload(self.folder, event.data["result"])
        elif event.kind == "challenge_revealed":
            self.locked = True
        elif event.kind == "answer_submitted":
            self._answer(event)
        elif event.kind == "session_sealed":
            self.sealed = True
        self.ledger.apply(event)

    def _open(self, event: Event) -> None:
        if event.kind != "session_opened":
            raise EvidenceError("event 0: not session_opened", 0)
        self.opened = event.data
        self.ledger = Ledger(event.data["budget"])
        truth = Truth.read(self.folder)
        if truth.commitment != event.data["commitment"]:
            raise EvidenceError("event 0: the sealed truth does not match the commitment", 0)
        if truth.challenge_commitment != event.data.get("challenge_commitment"):
            raise EvidenceError("event 0: the challenge does not match its commitment", 0)
        if truth.nonce != event.data["nonce"]:
            raise EvidenceError("event 0: the nonce of the sealed truth is another session's", 0)

    def _job(self, event: Event) -> None:
        job_id = event.data["job_id"]
        before = self.state.get(job_id)
        if event.kind == "job_submitted":
            if before is not None:
                raise EvidenceError(f"event {event.seq}: job {job_id} is submitted twice", event.seq)
            if self.locked or self.answered:
                raise EvidenceError(f"event {event.seq}: a job after the lock or the answer", event.seq)
            read_payload(self.folder, event.data["request"])
            self.cost[job_id] = event.data["cost"]
        elif event.kind == "job_fetched":
            if before != "job_completed":
                raise EvidenceError(f"event {event.seq}: job {job_id} was not completed when fetched", event.seq)
            return
        elif before not in _BEFORE.get(event.kind, ()):
            raise EvidenceError(f"event {event.seq}: {event.kind} of job {job_id}, which is {before or 'unknown'}", event.seq)
        elif event.kind in ("job_failed", "job_cancelled"):
            self._refund(event, job_id)
        elif event.kind == "job_completed":
            self._record(event, job_id)
        self.state[job_id] = event.kind

    def _refund(self, event: Event, job_id: str) -> None:
        if event.data["refund"] not in ({}, self.cost[job_id]):
            raise EvidenceError(f"event {event.seq}: the refund of {job_id} is neither nothing nor its cost", event.seq)

    def _record(self, event: Event, job_id: str) -> None:
        path = self.folder / RECORDS / f"{job_id}.npz"
        try:
            data = read_whole(path, MAX_RECORD)
        except OSError as exc:
            raise EvidenceError(f"event {event.seq}: the record of {job_id} is missing", event.seq) from exc
        if digest(data) != event.data["record"]["sha256"]:
            raise EvidenceError(f"event {event.seq}: the record of {job_id} does not match its digest", event.seq)
        self.records += 1

    def _answer(self, event: Event) -> None:
        if self.answered:
            raise EvidenceError(f"event {event.seq}: a second answer", event.seq)
        self.answered = True
        try:
            data = read_whole(self.folder / ANSWER, MAX_FILE)
        except OSError as exc:
            raise EvidenceError(f"event {event.seq}: the answer is missing", event.seq) from exc
        if digest(data) != event.data["sha256"]:
            raise EvidenceError(f"event {event.seq}: the answer does not match its digest", event.seq)


def verify(folder: Path | str) -> Report:
    """Check chain, digests, commitments, order and budgets of a bundle. Never raises for bad evidence: the report says."""
    folder = Path(folder)
    replay = _Replay(folder)
    events, good, problem, seq = 0, 0, None, None
    try:
        for event in Bundle(folder).events():
            replay.apply(event)
            events += 1
            good += len(event.line())
        if events == 0:
            raise EvidenceError("the log is empty", 0)
    except EvidenceError as exc:
        problem, seq = str(exc), exc.seq if exc.seq is not None else events
    except (KeyError, TypeError, ValueError, ArithmeticError) as exc:
        problem, seq = f"event {events}: malformed ({type(exc).__name__})", events
    try:
        torn = (folder / LOG_NAME).stat().st_size - good if problem is None else 0
    except OSError:
        torn = 0
    return Report(problem is None, events, len(replay.state), replay.records, replay.sealed, torn, replay.ledger.to_json(), seq, problem)
