"""A sidecar starts lean: what is heavy is imported where it is used, and the MCP surface is built by its first request."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import qtypes
from sidecar.surface.on_demand import OnDemand

HEAVY = ("mcp", "lab.client", "httpx", "pymatching", "qutip", "qiskit", "pyzx", "matplotlib", "scipy.signal", "scipy.stats")
"""Each costs a sidecar, or each of its workers, from 0.1 to 1 s of CPU time."""


@pytest.mark.parametrize("name", qtypes.names())
def test_neither_the_server_nor_a_qtype_imports_what_is_heavy(name: str) -> None:
    imports = f"import sys, sidecar.__main__, sidecar.backends.worker, qtypes; qtypes.load({name!r})"
    code = f"{imports}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Building:
    """Builds an application that counts how often it was built, started and stopped; the first `failures` builds raise."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.built, self.started, self.stopped = failures, 0, 0, 0

    def __call__(self) -> Starlette:
        self.built += 1
        if self.built <= self.failures:
            raise RuntimeError("not today")

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            self.started += 1
            yield
            self.stopped += 1

        async def answer(_: Request) -> PlainTextResponse:
            return PlainTextResponse("served")

        return Starlette(routes=[Route("/", answer)], lifespan=lifespan)


async def _get(app: Any) -> bytes:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "headers": [], "root_path": ""}
    await app(scope, receive, send)
    return b"".join(m.get("body", b"") for m in sent)


@pytest.mark.anyio
async def test_concurrent_first_requests_build_once_and_closing_leaves_the_lifespan() -> None:
    building = Building()
    app = OnDemand(building)
    assert building.built == 0
    assert await asyncio.gather(*(_get(app) for _ in range(8))) == [b"served"] * 8
    assert (building.built, building.started, building.stopped) == (1, 1, 0)
    await app.close()
    assert building.stopped == 1


@pytest.mark.anyio
async def test_a_build_that_fails_is_tried_again_by_the_next_request() -> None:
    building = Building(failures=1)
    app = OnDemand(building)
    with pytest.raises(RuntimeError, match="not today"):
        await _get(app)
    assert await _get(app) == b"served"
    await app.close()
    assert (building.built, building.started, building.stopped) == (2, 1, 1)


@pytest.mark.anyio
async def test_closing_what_was_never_asked_builds_nothing() -> None:
    building = Building()
    await OnDemand(building).close()
    assert building.built == 0
