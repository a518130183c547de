"""A laboratory inside the test process: the real application and real worker processes, reached by HTTP without a socket."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from evidence import Event, read_events
from evidence.log import LOG_NAME
from sidecar import lab as lab_module
from sidecar.admission import open_session
from sidecar.lab import Lab
from sidecar.settings import Settings
from sidecar.surface import create_app

TASK = "transmon_t1"
TOOL = "run_iq_reference"
MCP_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def reference(shots: int = 10, **more: Any) -> dict[str, Any]:
    """The cheapest experiment of the base task: costs `shots`, one job, and 1 s of lab time plus 0.25 ms per shot."""
    return {"prepare": 0, "shots": shots, "rep_period_us": 250.0, **more}


ANSWER = {"t1_us": 40.0, "t1_sigma_us": 1.0, "excited_floor": 0.1, "job_ids": ["none"]}


def rpc(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The JSON-RPC request of a tool call."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@dataclass
class Laboratory:
    """An open laboratory and a client of it."""

    lab: Lab
    client: httpx.AsyncClient
    folder: Path

    async def submit(self, shots: int = 10, *, key: str | None = None, **more: Any) -> httpx.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self.client.post(f"/v1/experiments/{TOOL}", json=reference(shots, **more), headers=headers)

    async def run(self, shots: int = 10, **more: Any) -> dict[str, Any]:
        """Submit, wait for the end, return the job."""
        answer = await self.submit(shots, **more)
        assert answer.status_code == 202, answer.text
        return await self.ended(answer.json()["job_id"])

    async def ended(self, job_id: str) -> dict[str, Any]:
        for _ in range(6):
            view = (await self.client.get(f"/v1/jobs/{job_id}/wait?timeout_s=30")).json()
            if view["status"] not in ("queued", "running"):
                return dict(view)
        raise AssertionError(f"{job_id} has not ended")

    async def used(self) -> dict[str, float]:
        return {unit: entry["used"] for unit, entry in (await self.client.get("/v1/budget")).json().items()}

    async def call(self, tool: str, /, **arguments: Any) -> tuple[bool, Any]:
        """Call an MCP tool: whether it is an error, and the JSON of its text."""
        return self.read(await self.client.post("/mcp", json=rpc(tool, arguments), headers=MCP_HEADERS))

    async def call_raw(self, body: str | bytes) -> httpx.Response:
        return await self.client.post("/mcp", content=body, headers=MCP_HEADERS)

    @staticmethod
    def read(response: httpx.Response) -> tuple[bool, Any]:
        result = response.json()["result"]
        return bool(result.get("isError")), json.loads(result["content"][0]["text"])

    def events(self, *kinds: str) -> list[Event]:
        return [e for e in read_events(self.folder / LOG_NAME) if not kinds or e.kind in kinds]

    # -- workers ----------------------------------------------------------------------------------------------------------

    async def worker(self) -> int:
        """Process id of the first worker, once it is ready."""
        await self.lab.pool.warm()
        process = self.lab.pool._all[0]._process
        assert process is not None
        return int(process.pid)

    async def halt(self) -> int:
        """Stop the worker in its tracks, so that the next job stays running; `signal.SIGCONT` or SIGKILL ends that."""
        pid = await self.worker()
        os.kill(pid, signal.SIGSTOP)
        return pid


def hold_payloads(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """From now on a request that is being admitted waits where it stores its payload; setting the event lets all of them go on."""
    go, store = threading.Event(), lab_module.store_payload

    def held(folder: Path, value: Any) -> dict[str, Any]:
        assert go.wait(30)
        return store(folder, value)

    monkeypatch.setattr(lab_module, "PAYLOAD_BYTES", -1)  # a small request is stored at once; here all take the way of a large one
    monkeypatch.setattr(lab_module, "store_payload", held)
    monkeypatch.setattr(lab_module, "PAYLOAD_BYTES", 0)  # small ones too go through a thread, which may wait
    return go


@contextlib.asynccontextmanager
async def laboratory(folder: Path, task: str = TASK, **settings: Any) -> AsyncIterator[Laboratory]:
    """Open (or reopen) the session in `folder`."""
    configured = Settings(task=task, out=folder, workers=settings.pop("workers", 1), **settings)
    lab = Lab(open_session(configured), configured)
    app = create_app(lab, configured)
    async with app._app.router.lifespan_context(app._app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            yield Laboratory(lab, client, folder)
