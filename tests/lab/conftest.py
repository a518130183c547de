"""A small laboratory over real HTTP whose connection breaks on request."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

HOSTILE = "[red]alarm[/red] [link=http://evil]click[/link] \x1b]0;owned\x07\x1b[2J :bomb: \u202e end"
IQ = np.array([[1.5 - 2j, complex(-0.0, 0.5)], [3.0 + 0j, complex(1e-30, -1e30)]])


def packed(**arrays: np.ndarray) -> bytes:
    """The arrays as an .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def described(**arrays: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"name": n, "dtype": a.dtype.str, "shape": list(a.shape), "unit": "V", "axes": [f"axis{i}" for i in range(a.ndim)], "layout": ""}
        for n, a in arrays.items()
    ]


class FakeLab:
    """State of the laboratory and the faults it still has to produce.

    `faults` is consumed one per request: "reset" closes before acting, "torn" acts and cuts the response, "garbage" acts and sends no
    JSON, an int acts not and answers with that status.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.faults: list[str | int] = []
        self.keys: dict[str, dict[str, Any]] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.records: dict[str, bytes] = {}
        self.used = 0
        self.polls_before_done = 0
        self.notes: list[str] = []
        self.retry_after: str | None = None
        self.large: dict[str, np.ndarray] = {"iq": np.tile(IQ, (2000, 1)), "bits": np.arange(5000, dtype=np.uint8)}
        self.answer: dict[str, Any] | None = None
        self.ending = "completed"
        self.url = ""

    def paths(self, method: str) -> list[str]:
        return [p for m, p, _, _ in self.requests if m == method]

    def respond(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes, dict[str, str]]:
        status, document = self.route(method, path.partition("?")[0], headers, body)
        if isinstance(document, bytes):
            return status, document, {"X-Content-SHA256": hashlib.sha256(document).hexdigest()}
        kind = {"Content-Type": "application/problem+json" if status >= 400 else "application/json"}
        return status, json.dumps(document).encode(), kind

    def route(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        request = json.loads(body) if body else None
        match method, path.strip("/").split("/"):
            case "GET", ["v1", "spec"]:
                return 200, self.spec()
            case "GET", ["v1", "notebook"]:
                return 200, [{"date": "2026-01-02", "author": "[bold]x", "title": HOSTILE, "text": HOSTILE, "data": {"f": 5.1}}]
            case "POST", ["v1", "notebook"]:
                self.notes.append(request["text"])
                return 200, {"entries": 1 + len(self.notes)}
            case "GET", ["v1", "materials"]:
                return 200, [{"name": "a.txt", "description": HOSTILE, "bytes": 3, "sha256": "0"}]
            case "GET", ["v1", "materials", "a.txt"]:
                return 200, HOSTILE.encode()
            case "GET", ["v1", "budget"]:
                return 200, {"shots": {"limit": 100.0, "used": float(self.used), "left": 100.0 - self.used}}
            case "POST", ["v1", "experiments", tool]:
                return self.admit(tool, request, headers.get("idempotency-key"))
            case "POST", ["v1", "queries", tool]:
                return 200, {"tool": tool, "echo": request, "key": headers.get("idempotency-key")}
            case "GET", ["v1", "jobs"]:
                return 200, list(self.jobs.values())
            case "GET", ["v1", "jobs", job_id] if job_id in self.jobs:
                return 200, self.jobs[job_id]
            case "GET", ["v1", "jobs", job_id, "wait"]:
                return 200, self.poll(job_id)
            case "GET", ["v1", "jobs", job_id, "record"]:
                return 200, self.records[job_id]
            case "DELETE", ["v1", "jobs", job_id]:
                return self.cancel(job_id)
            case "POST", ["v1", "lock"]:
                return 200, {"challenge": {"secret": 7}}
            case "POST", ["v1", "answer", "check"]:
                return (200, {"valid": True}) if "x" in request else (422, problem(422, "invalid-field", "x: field required", field="x"))
            case "POST", ["v1", "answer"]:
                self.answer = request
                return 200, {"accepted": True}
        return 404, problem(404, "unknown-job", "no such thing")

    def admit(self, tool: str, request: dict[str, Any], key: str | None) -> tuple[int, Any]:
        if key is not None and key in self.keys:
            return 202, self.keys[key]
        shots = request.get("shots", 1)
        if self.used + shots > 100:
            left = 100 - self.used
            return 409, problem(409, "budget-exhausted", HOSTILE, field="shots", got=shots, limit=100, unit="shots", left=left)
        self.used += shots
        job_id = f"j{len(self.jobs) + 1:04d}"
        view = {"job_id": job_id, "number": len(self.jobs) + 1, "tool": tool, "status": "queued", "cost": {"shots": shots, "lab_s": 0.5}}
        self.jobs[job_id] = view
        if key is not None:
            self.keys[key] = view
        return 202, view

    def poll(self, job_id: str) -> dict[str, Any]:
        view = self.jobs[job_id]
        if self.polls_before_done > 0:
            self.polls_before_done -= 1
            return {**view, "status": "running"}
        return self.finish(job_id) if view["status"] == "queued" else view

    def finish(self, job_id: str) -> dict[str, Any]:
        view = self.jobs[job_id]
        arrays = {"iq": IQ} if view["tool"] == "run_small" else self.large
        data = packed(**arrays)
        record: dict[str, Any] = {
            "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "url": "http://elsewhere.invalid/x",
            "arrays": described(**arrays),
        }  # fmt: skip
        if view["tool"] == "run_small":
            record["inline"] = {"iq": np.stack([IQ.real, IQ.imag], axis=-1).tolist()}
        self.records[job_id] = data
        ended: dict[str, Any] = {**view, "status": self.ending, "lab_start_s": 0.0, "lab_end_s": 0.5}
        if self.ending == "completed":
            ended |= {"summary": {"shots": 1, "remark": "[blink]x[/blink]"}, "record": record}
        self.jobs[job_id] = ended
        return ended

    def cancel(self, job_id: str) -> tuple[int, Any]:
        view = self.jobs[job_id]
        if view["status"] != "queued":
            return 409, problem(409, "job-ended", f"the job is {view['status']}")
        self.jobs[job_id] = {**view, "status": "cancelled"}
        return 200, self.jobs[job_id]

    def spec(self) -> dict[str, Any]:
        point = {"type": "object", "properties": {"delay_us": {"type": "number", "unit": "us", "minimum": 0, "description": HOSTILE}}}
        schema = {
            "type": "object", "required": ["shots"],
            "properties": {
                "shots": {"type": "integer", "minimum": 1, "maximum": 10000, "description": "shots per point", "unit": "1"},
                "points": {"type": "array", "maxItems": 9, "items": point},
            },
        }  # fmt: skip
        return {
            "task": "t", "version": "1.0.0", "title": HOSTILE, "phase": "measuring", "lab_clock_s": 0.0, "commitment": "c0ffee",
            "spec": {"qubits": 2, "remark": HOSTILE},
            "experiments": [{"tool": "run_large", "description": "First. Second.", "schema": schema}],
            "queries": [{"tool": "ask", "description": "A question.", "schema": {"type": "object", "properties": {}}}],
            "budget": {"shots": {"limit": 100.0, "used": 0.0, "left": 100.0}}, "limits": {"wall_s": 60}, "answer_schema": schema,
        }  # fmt: skip


def problem(status: int, code: str, detail: str, **facts: Any) -> dict[str, Any]:
    return {"type": f"urn:quantum-harbor:problem:{code}", "title": code, "status": status, "detail": detail, **facts}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeLab

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k.lower(): v for k, v in self.headers.items()}
        fake = self.fake
        fake.requests.append((self.command, self.path, headers, body))
        fault = fake.faults.pop(0) if fake.faults else None
        if fault == "reset":
            self.close_connection = True
            return
        if isinstance(fault, int):
            extra = {"Retry-After": fake.retry_after} if fake.retry_after else {}
            status, data, kind = fault, json.dumps(problem(fault, "queue-full", "busy")).encode(), extra
        else:
            status, data, kind = fake.respond(self.command, self.path, headers, body)
        if fault == "garbage":
            data = b'{"job_id": "j0'
        self.send_response(status)
        for name, value in kind.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if fault == "torn" else data)
        self.close_connection = self.close_connection or fault == "torn"

    do_GET = do_POST = do_DELETE = _serve

    def log_message(self, *args: Any) -> None:
        del args


@pytest.fixture
def fake() -> Iterator[FakeLab]:
    """A running laboratory; its address is `fake.url`."""
    state = FakeLab()
    handler = type("Handler", (_Handler,), {"fake": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
