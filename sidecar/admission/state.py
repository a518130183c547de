"""The state of a session: a fold over its log, used live and when a sidecar restarts."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

from evidence import Event, Ledger


@dataclass
class JobState:
    """One job as the log tells it."""

    job_id: str
    number: int
    tool: str
    request: dict[str, Any]
    cost: dict[str, float]
    key: str | None
    status: str = "queued"
    lab_start_s: float | None = None
    lab_end_s: float | None = None
    record: dict[str, Any] | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    problem: dict[str, Any] | None = None

    def view(self) -> dict[str, Any]:
        """What the agent sees; the record's inline part is added by the lab."""
        out: dict[str, Any] = {"job_id": self.job_id, "number": self.number, "tool": self.tool, "status": self.status, "cost": self.cost}
        if self.lab_start_s is not None:
            out |= {"lab_start_s": self.lab_start_s, "lab_end_s": self.lab_end_s}
        if self.record is not None:
            out |= {"summary": self.summary, "record": {**self.record, "url": f"/v1/jobs/{self.job_id}/record"}}
        if self.problem is not None:
            out["problem"] = self.problem
        return out


@dataclass
class Keyed:
    """What an idempotency key was first used for."""

    body_sha256: str
    job_id: str | None = None
    result: dict[str, Any] | None = None


class State:
    """Phase, budgets, jobs, lab clock, notebook and idempotency keys.

    `apply` is the only way it changes, so a restart that applies the same events reaches the same state.
    """

    def __init__(self) -> None:
        self.opened: dict[str, Any] = {}
        self.opened_at = dt.datetime.now(dt.UTC)
        self.phase = "measuring"
        self.closed = False
        """Whether the log holds the seal itself, after which it takes no event."""
        self.answer_sha256: str | None = None
        self.ledger = Ledger({})
        self.jobs: dict[str, JobState] = {}
        self._unfinished: dict[str, JobState] = {}
        self.keys: dict[str, Keyed] = {}
        self.quotas: dict[str, int] = {}
        self.queries = 0
        self.query_bytes = 0
        self.notes: list[dict[str, Any]] = []
        self.lab_clock_s = 0.0
        self.fetched: set[str] = set()
        self.notebook_read = False

    def apply(self, event: Event) -> None:
        handler = getattr(self, f"_on_{event.kind}", None)
        if handler is not None:
            handler(event)
        self.ledger.apply(event)

    def _on_session_opened(self, event: Event) -> None:
        self.opened = event.data
        self.opened_at = dt.datetime.fromisoformat(event.time)
        self.ledger = Ledger(event.data["budget"])

    def _on_job_submitted(self, event: Event) -> None:
        d = event.data
        job = JobState(d["job_id"], d["number"], d["tool"], d["request"], d["cost"], d.get("key"))
        self.jobs[job.job_id] = self._unfinished[job.job_id] = job
        if d.get("key"):
            self.keys[d["key"]] = Keyed(d["body_sha256"], job_id=d["job_id"])

    def _on_job_started(self, event: Event) -> None:
        job = self.jobs[event.data["job_id"]]
        job.status = "running"
        job.lab_start_s, job.lab_end_s = event.data["lab_start_s"], event.data["lab_end_s"]
        self.lab_clock_s = max(self.lab_clock_s, event.data["lab_end_s"])

    def _end(self, job_id: str) -> JobState:
        self._unfinished.pop(job_id, None)
        return self.jobs[job_id]

    def _on_job_completed(self, event: Event) -> None:
        job = self._end(event.data["job_id"])
        job.status, job.record, job.summary = "completed", event.data["record"], event.data["summary"]

    def _on_job_failed(self, event: Event) -> None:
        job = self._end(event.data["job_id"])
        job.status, job.problem = "failed", event.data["problem"]

    def _on_job_cancelled(self, event: Event) -> None:
        self._end(event.data["job_id"]).status = "cancelled"

    def _on_job_fetched(self, event: Event) -> None:
        self.fetched.add(event.data["job_id"])

    def _on_query_answered(self, event: Event) -> None:
        d = event.data
        self.queries = max(self.queries, d["number"])
        self.query_bytes += d["bytes"]
        if d.get("quota"):
            self.quotas[d["quota"]] = self.quotas.get(d["quota"], 0) + 1
        if d.get("key"):
            self.keys[d["key"]] = Keyed(d["body_sha256"], result=d["result"])

    def _on_notebook_read(self, event: Event) -> None:
        self.notebook_read = True

    def _on_notebook_appended(self, event: Event) -> None:
        self.notes.append({"date": event.time[:10], "author": "agent", "title": "note", "text": event.data["text"], "data": None})

    def _on_challenge_revealed(self, event: Event) -> None:
        self.phase = "locked"

    def _on_answer_submitted(self, event: Event) -> None:
        self.answer_sha256 = event.data["sha256"]
        self.phase = "sealed"

    def _on_session_sealed(self, event: Event) -> None:
        self.phase, self.closed = "sealed", True

    def pending(self) -> list[JobState]:
        """Jobs that wait or run, in the order of their submission."""
        return list(self._unfinished.values())
