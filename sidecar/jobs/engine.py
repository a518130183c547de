"""The job engine: takes admitted jobs in order, gives each its lab time, runs it, and writes down how it ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog

from evidence import Event, EvidenceError, read_payload
from qtypes import LabFault
from sidecar.admission import JobState, OpenSession
from sidecar.jobs.commit import Committer
from sidecar.jobs.pool import Pool, Process

log = structlog.get_logger()
_TRIES = 2
_DISK_S = 1.0
"""Pause before a full disk is tried again."""
LAB_PROBLEM = {
    "type": "urn:quantum-harbor:problem:laboratory-fault",
    "title": "laboratory fault",
    "status": 500,
    "detail": "the laboratory failed while it ran this job; its cost is refunded, submit it again",
}


class Engine:
    """One per session. The device is serial: a job's lab time begins where the one before it ended, in the order they start."""

    def __init__(self, session: OpenSession, pool: Pool, committer: Committer, record: Callable[[str, dict[str, Any]], Event]) -> None:
        self._session = session
        self._pool = pool
        self._committer = committer
        self._record = record
        self._queue: deque[JobState] = deque()
        self._wake = asyncio.Event()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to serve; jobs that a restart found unfinished are taken up first."""
        for job in self._session.state.pending():
            self.enqueue(job)
        self._loop_task = asyncio.create_task(self._serve())

    def enqueue(self, job: JobState) -> None:
        self._ended[job.job_id] = asyncio.Event()
        self._queue.append(job)
        self._wake.set()

    async def _serve(self) -> None:
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            process = await self._pool.acquire()
            if not self._queue:
                self._pool.release(process)
                continue
            job = self._queue.popleft()
            try:
                self._begin(job)
            except (LabFault, OSError):
                # the disk does not take the event: nothing was started; wait for better times with the job still in its place
                self._pool.release(process)
                self._queue.appendleft(job)
                log.error("job could not be started", job=job.job_id)
                await asyncio.sleep(_DISK_S)
                continue
            task = asyncio.create_task(self._execute(job, process))
            # a callback, because a task that is cancelled before its first step never enters a `finally` of its own
            task.add_done_callback(partial(self._release, process))
            self._running[job.job_id] = task

    def _release(self, process: Process, _task: asyncio.Task[None]) -> None:
        self._pool.release(process)

    def _begin(self, job: JobState) -> None:
        if job.lab_start_s is None:
            start = self._session.state.lab_clock_s
            self._record("job_started", {"job_id": job.job_id, "lab_start_s": start, "lab_end_s": start + job.cost["lab_s"]})

    async def _execute(self, job: JobState, process: Process) -> None:
        outcome: dict[str, Any] = {"fault": True}
        for attempt in range(_TRIES):
            try:
                outcome = await process.call(self._message(job), self._pool.timeout_s)
                break
            except (LabFault, EvidenceError) as exc:
                log.warning("worker failed", job=job.job_id, attempt=attempt, reason=str(exc))
        while not self._finish(job, outcome):
            await asyncio.sleep(_DISK_S)
        with contextlib.suppress(LabFault):
            await self._committer.durable()
        self._leave(job)

    def _message(self, job: JobState) -> dict[str, Any]:
        return {
            "op": "run", "job_id": job.job_id, "number": job.number, "tool": job.tool, "lab_start_s": job.lab_start_s,
            "request": read_payload(self._session.folder, job.request).decode("utf-8", "surrogatepass"),
        }  # fmt: skip

    def _finish(self, job: JobState, outcome: dict[str, Any]) -> bool:
        """Write down how the job ended; False while the disk does not take it (a restart would run it again with the same seed)."""
        try:
            if "record" in outcome:
                self._record("job_completed", {"job_id": job.job_id, "record": outcome["record"], "summary": outcome["summary"]})
            else:
                problem = outcome.get("refused", LAB_PROBLEM)
                fault = "agent" if "refused" in outcome else "laboratory"
                self._record("job_failed", {"job_id": job.job_id, "fault": fault, "problem": problem, "refund": job.cost})
        except (OSError, LabFault):
            log.error("end of job could not be written", job=job.job_id)
            return False
        return True

    def _leave(self, job: JobState) -> None:
        self._running.pop(job.job_id, None)
        ended = self._ended.pop(job.job_id, None)
        if ended is not None:
            ended.set()

    async def wait(self, job_id: str, timeout_s: float) -> None:
        """Return when the job has ended, at the latest after `timeout_s`."""
        ended = self._ended.get(job_id)
        if ended is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), timeout_s)

    async def cancel(self, job: JobState) -> None:
        """A waiting job is refunded in full; a running one is stopped, gives no data and is charged."""
        if job in self._queue:
            self._queue.remove(job)
            refund: dict[str, float] = job.cost if job.lab_start_s is None else {}
        else:
            task = self._running.get(job.job_id)
            if task is not None and not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            refund = {}
        if job.status in ("queued", "running"):
            self._record("job_cancelled", {"job_id": job.job_id, "refund": refund})
        self._leave(job)
        await self._committer.durable()

    async def close(self) -> None:
        """Stop without writing anything: what is unfinished stays so in the log."""
        tasks = [t for t in (self._loop_task, *self._running.values()) if t is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._pool.close()
