"""The laboratory as Python objects: `Lab`, `Job`, `connect`."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from lab.errors import CorruptRecord, JobFailed, JobPending, LabError, Refused, Unreachable
from lab.records import Record, encode, fault_of, inline_arrays, read_npz
from lab.transport import PATIENCE_S, RECORD_BYTES, Repeat, Reply, Transport

DEFAULT_URL = "http://sidecar:8000"
WAIT_S = 3600.0
"""Longest default wait for one job, s."""
_POLL_S = 20.0
_EARLIEST_POLL_S = 1.0
_ANSWER_S = 300.0  # a query is computed, an answer of many megabytes is validated, while the line is open
_FINAL = ("completed", "failed", "cancelled")

Progress = Callable[[str], AbstractContextManager[Callable[[str], None]]]
"""`progress(title)` is entered while waiting for a job and told each status."""


class Job:
    """A submitted experiment. `job_id`, `tool`; `view` is its last known job view (a dict), `status` the status in it."""

    def __init__(self, lab: Lab, view: Mapping[str, Any]) -> None:
        if not isinstance(view, Mapping) or not isinstance(view.get("job_id"), str):
            raise Unreachable(f"{lab.url} does not answer with a job view; is it a laboratory?")
        self._lab = lab
        self.view = dict(view)
        self.job_id: str = self.view["job_id"]

    @property
    def tool(self) -> str:
        """Name of the experiment."""
        return str(self.view.get("tool", ""))

    @property
    def status(self) -> str:
        """queued, running, completed, failed or cancelled, as of the last look."""
        return str(self.view.get("status", ""))

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way, as of the last look."""
        return self.status in _FINAL

    @property
    def completed(self) -> bool:
        """Whether it has a record, as of the last look."""
        return self.status == "completed"

    @property
    def cost(self) -> dict[str, float]:
        """What it was charged, by budget unit."""
        return dict(self.view.get("cost") or {})

    def refresh(self) -> Job:
        """Look again; returns self."""
        self.view = self._lab._object("GET", f"/v1/jobs/{quote(self.job_id, safe='')}")
        return self

    def wait(self, timeout_s: float = WAIT_S) -> Job:
        """Wait until it has ended, in whatever way; returns self. :class:`JobPending` after `timeout_s` seconds."""
        self._lab._wait(self, timeout_s)
        return self

    def result(self, timeout_s: float = WAIT_S) -> Record:
        """Wait for it and return its record, of which digest, size, shapes and dtypes have been checked.

        Raises :class:`JobFailed`, :class:`JobPending` after `timeout_s` seconds, :class:`CorruptRecord`.
        """
        self.wait(timeout_s)
        if not self.completed:
            raise JobFailed(self.view)
        arrays = inline_arrays(self.view)
        if arrays is None:
            arrays = read_npz(self.record_bytes(), self.view, self._lab.record_bytes_limit)
        return Record(self.view, arrays)

    def record_bytes(self) -> bytes:
        """The record as the `.npz` file that the laboratory keeps, digest checked; for a completed job."""
        return self._lab._record(self.view)

    def cancel(self) -> Job:
        """Stop it: a waiting job is refunded, a running one is charged and gives no data. Returns self."""
        try:
            self.view = self._lab._object("DELETE", f"/v1/jobs/{quote(self.job_id, safe='')}")
        except Refused as exc:
            # Of a request that had to be repeated, the first may be the one that cancelled.
            if exc.status != 409 or self.refresh().status != "cancelled":
                raise
        return self

    def __repr__(self) -> str:
        return f"<Job {self.job_id} {self.tool} {self.status}>"


class Lab:
    """A connection to one laboratory; usually made by :func:`connect`. Thread-safe.

    Every method that talks to the laboratory may raise :class:`Refused` (the request is at fault, nothing was charged) and
    :class:`Unreachable`.
    """

    def __init__(self, transport: Transport, *, progress: Progress | None = None, record_bytes_limit: int = RECORD_BYTES) -> None:
        """`record_bytes_limit`: largest record that is accepted, packed or unpacked, bytes."""
        self._transport = transport
        self._progress = progress
        self.record_bytes_limit = record_bytes_limit

    @property
    def url(self) -> str:
        return self._transport.url

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # What is public

    def spec(self) -> dict[str, Any]:
        """Task, version, phase, lab clock, commitment, the public `spec` of the device, experiments, queries, budget, limits and answer
        schema."""
        return self._object("GET", "/v1/spec")

    def notebook(self) -> list[dict[str, Any]]:
        """Entries of the laboratory notebook, oldest first: `date`, `author`, `title`, `text`, `data`. They may be stale."""
        return self._list("/v1/notebook", "entries")

    def append_notebook(self, text: str) -> dict[str, Any]:
        """Add a note to the notebook."""
        return self._object("POST", "/v1/notebook", {"text": text}, repeat=Repeat.UNSENT)

    def materials(self) -> list[dict[str, Any]]:
        """The public files: `name`, `description`, `bytes`, `sha256`."""
        return self._list("/v1/materials", "materials")

    def material(self, name: str) -> str:
        """Text of a public file."""
        body = self._transport.request("GET", f"/v1/materials/{quote(name, safe='')}").body
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError as exc:
            raise Unreachable(f"material {name} is not UTF-8 text: {exc}") from exc

    def budget(self) -> dict[str, dict[str, float]]:
        """`{unit: {"limit": .., "used": .., "left": ..}}`."""
        return self._object("GET", "/v1/budget")

    # Experiments and queries

    def submit(self, experiment: str, /, **request: Any) -> Job:
        """Submit an experiment and return at once. Charged once, however often the line breaks meanwhile."""
        path = f"/v1/experiments/{quote(experiment, safe='')}"
        return Job(self, self._object("POST", path, request, key=secrets.token_hex(16)))

    def run(self, experiment: str, /, **request: Any) -> Record:
        """Submit an experiment, wait for it and return its record."""
        return self.submit(experiment, **request).result()

    def query(self, tool: str, /, **request: Any) -> dict[str, Any]:
        """Ask a question that the laboratory answers at once. A counted query counts once, as for :meth:`submit`."""
        path = f"/v1/queries/{quote(tool, safe='')}"
        return self._object("POST", path, request, key=secrets.token_hex(16), hold_s=_ANSWER_S)

    def jobs(self) -> list[Job]:
        """All jobs of the session, in the order of their submission."""
        return [Job(self, view) for view in self._list("/v1/jobs", "jobs")]

    def job(self, job_id: str) -> Job:
        """A job of the session by its id."""
        return Job(self, self._object("GET", f"/v1/jobs/{quote(job_id, safe='')}"))

    # The end of a session

    def lock_and_reveal(self) -> dict[str, Any]:
        """Lock the session and reveal its held-out challenge. No experiment counts afterwards; there is no way back."""
        return self._object("POST", "/v1/lock", {})

    def check_answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Compare an answer with the schema of the task; free, as often as needed, says nothing about its merit."""
        return self._object("POST", "/v1/answer/check", answer, hold_s=_ANSWER_S)

    def submit_answer(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Hand in the answer. Final: it seals the session."""
        return self._object("POST", "/v1/answer", answer, hold_s=_ANSWER_S)

    # Wire

    def _object(self, method: str, path: str, body: Any = None, **options: Any) -> dict[str, Any]:
        reply = self._transport.json(method, path, None if body is None else encode(body), **options)
        if not isinstance(reply, dict):
            raise Unreachable(f"{self.url} answers {method} {path} with no JSON object; is it a laboratory?")
        return reply

    def _list(self, path: str, name: str) -> list[dict[str, Any]]:
        reply = self._transport.json("GET", path)
        items = reply.get(name) if isinstance(reply, dict) else reply
        if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
            raise Unreachable(f"{self.url} answers GET {path} with no list of objects; is it a laboratory?")
        return items

    def _wait(self, job: Job, timeout_s: float) -> None:
        if job.done:
            return
        end = time.monotonic() + timeout_s
        path = f"/v1/jobs/{quote(job.job_id, safe='')}/wait"
        progress = self._progress(f"{job.tool} {job.job_id}") if self._progress else nullcontext(_silent)
        with progress as tell:
            while not job.done:
                left_s = end - time.monotonic()
                if left_s <= 0:
                    raise JobPending(f"job {job.job_id} is {job.status} after {timeout_s:g} s; wait again or fetch it later")
                tell(job.status)
                hold_s, asked = min(_POLL_S, left_s), time.monotonic()
                job.view = self._object("GET", f"{path}?timeout_s={hold_s:.3f}", hold_s=hold_s)
                # A laboratory that does not hold the response back must not be polled in a circle.
                spare_s = min(_EARLIEST_POLL_S, hold_s) - (time.monotonic() - asked)
                if not job.done and spare_s > 0:
                    self._transport.pause(spare_s)

    def _record(self, view: Mapping[str, Any]) -> bytes:
        record = view.get("record")
        if view.get("status") in ("failed", "cancelled"):
            raise JobFailed(view)
        if not isinstance(record, Mapping):
            raise LabError(f"job {view.get('job_id')} has no record yet")
        size = record.get("bytes")
        if isinstance(size, int) and size > self.record_bytes_limit:
            raise CorruptRecord(f"record of {size} bytes, more than the {self.record_bytes_limit} that are accepted")
        faults: list[str] = []
        try:
            # The path is made here and not taken from the view: a view must not send the client elsewhere.
            return self._transport.request(
                "GET", f"/v1/jobs/{quote(str(view.get('job_id')), safe='')}/record", accept=partial(_check_record, view, faults),
                longest_bytes=self.record_bytes_limit, hold_s=_ANSWER_S,
            ).body  # fmt: skip
        except Unreachable as exc:
            if faults:
                raise CorruptRecord(f"{faults[-1]} ({len(faults)} times)") from exc
            raise


_MISMATCHES = 3


def _check_record(view: Mapping[str, Any], faults: list[str], reply: Reply) -> str | None:
    """A damaged transfer is worth another try, a record that stays wrong is not."""
    fault = fault_of(reply.body, view, reply.headers.get("x-content-sha256"))
    if fault is not None:
        faults.append(fault)
        if len(faults) >= _MISMATCHES:
            raise CorruptRecord(f"{fault} ({len(faults)} times)")
    return fault


def _silent(status: str) -> None:
    del status


def connect(url: str | None = None, *, patience_s: float = PATIENCE_S, progress: bool | None = None) -> Lab:
    """A connection to the laboratory at `url`, by default `$LAB_URL` or http://sidecar:8000. Nothing is sent yet.

    `patience_s`: longest time that one request may take with all its repetitions, s. `progress`: show a progress bar on stderr while
    waiting for a job; by default where stderr is a terminal.
    """
    transport = Transport(url or os.environ.get("LAB_URL") or DEFAULT_URL, patience_s=patience_s)
    shown = sys.stderr.isatty() if progress is None else progress
    if not shown:
        return Lab(transport)
    from lab.console import waiting  # rich is needed only by who sees it

    return Lab(transport, progress=waiting)
