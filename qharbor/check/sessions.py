"""Sessions of a check without an agent process: a fresh one with someone else's answer, and a finished one with another ending."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

import tasks
from evidence import ANSWER, LOG_NAME, SCORE, Bundle, Event, read_events
from qharbor import embedded
from qtypes.contract import Experiment, Query

REQUEST_S = 60.0
JOB_S = 600.0


class Visitor:
    """A plain REST client of a laboratory. Refusals are values, not exceptions: a cheat takes what it gets."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=REQUEST_S, trust_env=False)

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def run(self, request: Experiment) -> str | None:
        """The id of the completed job; None where it was refused or failed."""
        answer = self._http.post(f"/v1/experiments/{request.tool}", content=request.model_dump_json())
        if answer.status_code != 202:
            return None
        job: dict[str, Any] = answer.json()
        waited = 0.0
        while job["status"] in ("queued", "running") and waited < JOB_S:
            job = self._http.get(f"/v1/jobs/{job['job_id']}/wait", params={"timeout_s": 20}).json()
            waited += 20.0
        return str(job["job_id"]) if job["status"] == "completed" else None

    def ask(self, query: Query) -> None:
        self._http.post(f"/v1/queries/{query.tool}", content=query.model_dump_json())

    def lock(self) -> None:
        """Reveal the challenge, where there is one."""
        self._http.post("/v1/lock", json={})

    def submit(self, answer: str) -> str:
        """An empty text where the answer was taken, else why not."""
        reply = self._http.post("/v1/answer", content=answer.encode(), headers={"content-type": "application/json"})
        return "" if reply.status_code == 200 else str(reply.json().get("detail", reply.status_code))


def instance(task: str) -> str | None:
    """A suite secret of its own for each session of a race: else all of them would hold the one public practice instance."""
    return secrets.token_hex(32) if tasks.load(task).mode == "race" else None


def visit(task: str, folder: Path, act: Callable[[Visitor], object], *, nonce: str | None = None) -> embedded.Trial:
    """A session in `folder/bundle` (taken up again if one lies there) in which `act` is the agent; graded."""

    def agent(url: str) -> None:
        with Visitor(url) as visitor:
            act(visitor)

    try:
        return embedded.conduct(task, folder, agent, nonce=nonce, suite_secret=None if nonce else instance(task))
    except httpx.HTTPError as exc:
        raise embedded.RunError(f"the laboratory did not answer: {exc}") from exc


def before_the_answer(bundle: Path, folder: Path) -> str:
    """Copy a finished session to `folder/bundle` as it stood before its answer, ready to be taken up again; gives its nonce.

    The laboratory keeps no state but the log: a session whose log ends there is one whose sidecar was stopped at that moment. So the
    same experiments, on the same device, can be followed by another answer, and need not be done twice.
    """
    copy = folder / "bundle"
    shutil.copytree(bundle, copy, copy_function=_link, ignore=shutil.ignore_patterns(ANSWER, SCORE, LOG_NAME, "*.pid"))
    lines = []
    for event in read_events(bundle / LOG_NAME):
        if event.kind in ("answer_submitted", "session_sealed"):
            break
        lines.append(event.line())
    (copy / LOG_NAME).write_bytes(b"".join(lines))
    return str(Bundle(bundle).opened["nonce"])


def _link(source: str, target: str) -> None:
    """Records and payloads are written once and never changed: a second name is enough."""
    if source.endswith(".npz"):
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copy2(source, target)


def job_ids(bundle: Path) -> tuple[str, ...]:
    """Ids of all jobs of a session, in order."""
    return tuple(str(e.data["job_id"]) for e in _events(bundle, "job_submitted"))


def notebook(bundle: Path) -> list[dict[str, Any]]:
    """Entries of the notebook as the session opened with it, oldest first."""
    reader = Bundle(bundle)
    return list(reader.payload(reader.opened["notebook"])["entries"])


def _events(bundle: Path, kind: str) -> list[Event]:
    return [e for e in read_events(bundle / LOG_NAME) if e.kind == kind]
