"""REST and MCP offer the same operations; the usual clients of both work against a real process."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import fastmcp
import httpx
import numpy as np
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from evidence import verify
from qharbor.embedded import local_sidecar
from tests.sidecar.laboratory import ANSWER, MCP_HEADERS, TASK, TOOL, Laboratory, laboratory, reference, rpc

HANG_S = 2.0
"""No request may take longer."""

pytestmark = pytest.mark.anyio
ONLY_REST = {"healthz"}
SAME = {"get_record": "fetch_record"}
"""Operations with two names: REST hands out the whole record, MCP a page of it."""


async def operations(lab: Laboratory) -> tuple[set[str], dict[str, dict[str, Any]], dict[str, Any]]:
    document = (await lab.client.get("/openapi.json")).json()
    rest = {}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            name = operation["summary"].lower().replace(" ", "_")
            rest[SAME.get(name, name)] = operation
            assert operation["description"], path
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    tools = (await lab.client.post("/mcp", json=request, headers=MCP_HEADERS)).json()["result"]["tools"]
    return set(rest) - ONLY_REST, rest, {t["name"]: t for t in tools}


@pytest.mark.parametrize("task", [TASK, "surrogate_60q", "t_count_race", "lattice_surgery_cnot"])
async def test_both_surfaces_offer_the_same_operations_with_the_same_schemas(tmp_path: Path, task: str) -> None:
    async with laboratory(tmp_path, task) as lab:
        names, rest, tools = await operations(lab)
        assert names == set(tools)
        assert set(lab.lab.tools) <= names
        listed = (await lab.client.get("/v1/spec")).json()
        assert {t["tool"] for t in (*listed["experiments"], *listed["queries"])} == set(lab.lab.tools)
        for name in lab.lab.tools:
            schema = dict(tools[name]["inputSchema"])
            properties = {k: v for k, v in schema["properties"].items() if k != "idempotency_key"}
            documented = rest[name]["requestBody"]["content"]["application/json"]["schema"]
            assert documented == without_null_defaults({**schema, "properties": properties})
            assert rest[name]["description"] == tools[name]["description"]
        for tool in tools.values():
            flat(tool)


def without_null_defaults(schema: Any) -> Any:
    """FastAPI leaves them out of its document."""
    if isinstance(schema, list):
        return [without_null_defaults(s) for s in schema]
    if isinstance(schema, dict):
        return {k: without_null_defaults(v) for k, v in schema.items() if not (k == "default" and v is None)}
    return schema


def flat(tool: dict[str, Any]) -> None:
    """What every client understands: one object without references, described."""
    schema = tool["inputSchema"]
    text = json.dumps(schema)
    assert schema["type"] == "object", tool["name"]
    assert not {"anyOf", "oneOf", "allOf"} & set(schema), tool["name"]
    assert "$ref" not in text, tool["name"]
    assert "$defs" not in text, tool["name"]
    assert tool["description"], tool["name"]
    assert schema.get("additionalProperties") is False, tool["name"]


async def session(call: Callable[..., Any], names: set[str]) -> None:
    """What an agent does, through `call(tool, arguments) -> JSON`."""
    assert {"get_spec", "submit_answer", "fetch_record", TOOL} <= names
    assert (await call("get_spec", {}))["task"] == TASK
    job = await call(TOOL, reference(2500))
    done = await call("wait_for_job", {"job_id": job["job_id"], "timeout_s": 30})
    while done["status"] in ("queued", "running"):
        done = await call("wait_for_job", {"job_id": job["job_id"], "timeout_s": 30})
    page = await call("fetch_record", {"job_id": job["job_id"], "array": "time_s", "count": 3})
    assert page["data"] == pytest.approx([done["lab_start_s"] + i * 250e-6 for i in range(3)])
    assert (await call("check_answer", {"answer": ANSWER}))["valid"]


async def official(url: str) -> None:
    async with streamable_http_client(f"{url}/mcp") as streams, ClientSession(streams[0], streams[1]) as client:
        await client.initialize()

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            return json.loads(result.content[0].text)

        await session(call, {t.name for t in (await client.list_tools()).tools})
        refused = await client.call_tool(TOOL, {"prepare": 0, "shots": 0})
        assert refused.is_error
        assert json.loads(refused.content[0].text)["field"] == "shots"


async def fast(url: str) -> None:
    async with fastmcp.Client(f"{url}/mcp") as client:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return json.loads((await client.call_tool(tool, arguments)).content[0].text)

        await session(call, {t.name for t in await client.list_tools()})
        with pytest.raises(fastmcp.exceptions.ToolError, match='"field":"shots"'):
            await client.call_tool(TOOL, {"prepare": 0, "shots": 0})
        assert (await call("submit_answer", {"answer": ANSWER}))["phase"] == "sealed"


async def test_the_official_and_the_fastmcp_client_run_a_session(tmp_path: Path) -> None:
    with local_sidecar(TASK, tmp_path / "bundle") as url:
        await official(url)
        await fast(url)
    report = verify(tmp_path / "bundle")
    assert (report.ok, report.sealed, report.jobs) == (True, True, 2)


@pytest.fixture
async def remote(served: tuple[str, Path]) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=served[0], timeout=60) as client:
        yield client


async def test_a_body_of_20_mb_over_a_socket_gets_its_refusal(remote: httpx.AsyncClient) -> None:
    response = await remote.post("/v1/answer/check", content=b"[" + b"1," * 10_000_000 + b"1]")
    assert response.status_code == 413
    assert response.json()["field"] == "body"


async def test_an_mcp_stream_that_nobody_feeds_is_refused(remote: httpx.AsyncClient) -> None:
    """A stateless server has nothing to say on its own: a GET would hold a connection for ever."""
    response = await remote.get("/mcp", headers={"accept": "text/event-stream"}, timeout=20)
    assert response.status_code == 405
    assert (await remote.delete("/mcp")).status_code == 405


async def test_answers_name_no_server_and_hold_one_json_document(remote: httpx.AsyncClient) -> None:
    for path in ("/healthz", "/v1/spec", "/v1/none"):
        response = await remote.get(path)
        assert "server" not in response.headers
        assert response.headers["content-type"] in ("application/json", "application/problem+json")
        json.loads(response.text, parse_constant=pytest.fail)


def raw(url: str, data: bytes) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.sendall(data)
    return connection


async def test_a_slow_head_and_a_slow_body_lose_their_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import uvicorn

    from sidecar import server as protocol
    from sidecar.admission import open_session
    from sidecar.lab import Lab
    from sidecar.settings import Settings
    from sidecar.surface import create_app, guard

    monkeypatch.setattr(protocol, "HEAD_S", 0.4)
    monkeypatch.setattr(guard, "BODY_S", 0.4)
    settings = Settings(task=TASK, out=tmp_path, workers=1)
    app = create_app(Lab(open_session(settings), settings), settings)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", http=protocol.TimedProtocol, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    post = b"POST /v1/notebook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    for opening in (head, head + b"\r\n" + head, b"", post):
        await asyncio.to_thread(dribble, url, opening)
    monkeypatch.setattr(guard, "BODY_S", 20.0)
    note = b"POST /v1/notebook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 14\r\n\r\n"
    await asyncio.to_thread(dribble, url, note, b'{"text":"abc"}' + head)  # slow, admitted; then again a head without an end
    server.should_exit = True
    await serving


def dribble(url: str, opening: bytes, later: bytes = b"") -> None:
    """Send `opening` (and `later`, when its time as a head is long over), then a byte now and then, until the other side closes."""
    with raw(url, opening) as connection:
        if later:
            connection.settimeout(1.0)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.sendall(later)
        connection.settimeout(0.05)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if connection.recv(4096) == b"":
                    return
            except TimeoutError:
                pass
            except ConnectionError:
                return
            try:
                connection.sendall(b"X")
            except OSError:
                return
    raise AssertionError("the connection is still open")


@pytest.fixture(scope="module")
def large_answer() -> bytes:
    """A valid answer of about 5 MB for `surrogate_60q`."""
    row = [0.123456789012345 * (-1) ** i for i in range(1770)]
    pairs = [(i, j) for i in range(60) for j in range(i + 1, 60)]
    features = [[a, b, c, 0, 0, 0] for a in range(7) for b in range(4) for c in range(2)]
    surrogate = [{"pair": p, "features": features, "coefficients": [0.01234567890123] * len(features)} for p in pairs]
    data = json.dumps({"predictions": [row] * 40, "surrogate": surrogate}, separators=(",", ":")).encode()
    assert 4_000_000 < len(data) < 8_000_000
    return data


@pytest.mark.parametrize("surface", ["rest", "mcp"])
async def test_health_is_answered_at_once_while_a_large_answer_is_checked(tmp_path: Path, large_answer: bytes, surface: str) -> None:
    """No step holds the event loop for as long as the whole check takes, nor for 2 s."""
    path, body = "/v1/answer/check", large_answer
    if surface == "mcp":
        path = "/mcp"
        empty = json.dumps(rpc("check_answer", {"answer": 0})).encode()
        body = empty.replace(b'"answer": 0', b'"answer":' + large_answer)
    async with laboratory(tmp_path, "surrogate_60q") as lab:
        await lab.call("get_budget")
        await lab.client.post("/v1/experiments/run_readout_cal", json={"states": ["01" * 30], "shots": 20_000})
        holds = [await longest_hold(lab, path, body) for _ in range(3)]
    # Validation is one step of compiled code that holds the interpreter, so a part of the check is felt. A loop that does the check
    # itself is held for all of it, every time.
    assert min(held for held, _ in holds) < HANG_S, holds
    assert min(held / whole for held, whole in holds) < 0.5, holds


async def longest_hold(lab: Laboratory, path: str, body: bytes) -> tuple[float, float]:
    """Longest time until health was answered while the answer was checked, and how long the whole check took, s."""
    started = time.perf_counter()
    checking = asyncio.create_task(lab.client.post(path, content=body, headers=MCP_HEADERS))
    held = []
    while not checking.done():
        begun = time.perf_counter()
        assert (await lab.client.get("/healthz")).status_code == 200
        await asyncio.sleep(0.002)
        held.append(time.perf_counter() - begun)
    whole = time.perf_counter() - started
    response = await checking
    assert response.status_code == 200
    assert b"valid" in response.content
    assert not response.json().get("result", {}).get("isError")
    assert len(held) > 20
    return max(held), whole


async def test_a_record_over_a_socket_is_whole(remote: httpx.AsyncClient) -> None:
    job = (await remote.post(f"/v1/experiments/{TOOL}", json=reference(10_000))).json()
    while (await remote.get(f"/v1/jobs/{job['job_id']}/wait?timeout_s=30")).json()["status"] != "completed":
        pass
    response = await remote.get(f"/v1/jobs/{job['job_id']}/record")
    assert np.load(io.BytesIO(response.content))["iq"].shape == (1, 10_000)
