"""What every request passes first: host check, rate, size and time of the body, strict JSON. Pure ASGI."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qtypes import AgentError
from sidecar.surface import strict_json

BODY_S = 20.0
DRAIN_BYTES = 64_000_000
RATE_PER_S = 1000.0
BURST = 2000.0
_INLINE_PARSE = 200_000
_MCP_OVERHEAD = 64_000


class Bucket:
    """A token bucket for the whole session."""

    def __init__(self, rate: float = RATE_PER_S, burst: float = BURST) -> None:
        self._rate, self._burst, self._tokens, self._at = rate, burst, burst, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


async def send_problem(send: Send, problem: dict[str, Any]) -> None:
    """A problem document as the whole answer."""
    body = json.dumps(problem, allow_nan=False).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    if problem["status"] == 429:
        headers.append((b"retry-after", b"1"))
    if problem["status"] in (408, 413):  # the rest of the body is not wanted
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": problem["status"], "headers": headers})
    await send({"type": "http.response.body", "body": body})


def mcp_error(request: Any, problem: dict[str, Any]) -> bytes:
    """The same refusal as an MCP answer: a tool error for a call, a JSON-RPC error otherwise."""
    ident = request.get("id") if isinstance(request, dict) and isinstance(request.get("id"), (int, str)) else None
    if isinstance(request, dict) and request.get("method") == "tools/call" and ident is not None:
        result = {"content": [{"type": "text", "text": json.dumps(problem)}], "isError": True}
        return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}).encode()
    error = {"code": -32600, "message": problem["detail"], "data": problem}
    return json.dumps({"jsonrpc": "2.0", "id": ident, "error": error}).encode()


def _lenient(body: bytes) -> Any:
    """The envelope of a refused MCP body, for its id; None where it cannot be read."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


class Guard:
    """ASGI middleware; a refusal never reaches the application."""

    def __init__(
        self, app: ASGIApp, *, hosts: tuple[str, ...], body_bytes: int, answer_bytes: int, refused: Callable[[AgentError], None]
    ) -> None:
        self._app = app
        self._hosts = {h.lower() for h in hosts}
        self._body_bytes, self._answer_bytes = body_bytes, answer_bytes
        self._refused = refused
        self._bucket = Bucket()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        try:
            self._host(scope)
            if path != "/healthz" and not self._bucket.take():
                raise AgentError("too many requests; wait a second", limit=RATE_PER_S, unit="requests/s", code="rate-limited", status=429)
            if scope["method"] not in ("POST", "PUT", "PATCH"):
                await self._app(scope, receive, send)
                return
            body = await self._body(scope, receive, path)
        except AgentError as exc:
            self._refused(exc)
            await send_problem(send, exc.problem())
            return
        try:
            if body:
                within = ("params", "arguments") if path.startswith("/mcp") else ()
                if len(body) > _INLINE_PARSE:
                    await asyncio.to_thread(strict_json.read, body, within)
                else:
                    strict_json.read(body, within)
        except AgentError as exc:
            self._refused(exc)
            if path.startswith("/mcp"):
                answer = mcp_error(_lenient(body), exc.problem())
                headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": answer})
            else:
                await send_problem(send, exc.problem())
            return
        await self._app(scope, _replay(body, receive), send)

    def _host(self, scope: Scope) -> None:
        host = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"host"), "")
        name = host.rsplit(":", 1)[0] if host.rsplit(":", 1)[-1].isdigit() else host
        if name.lower() not in self._hosts:
            raise AgentError("the Host header names another service", field="host", got=host, code="wrong-host", status=421)

    def _limit(self, path: str) -> int:
        if path.startswith("/mcp"):
            return 2 * max(self._body_bytes, self._answer_bytes) + _MCP_OVERHEAD  # JSON text within JSON text
        return self._answer_bytes if path.startswith("/v1/answer") else self._body_bytes

    async def _body(self, scope: Scope, receive: Receive, path: str) -> bytes:
        limit = self._limit(path)
        declared = next((v for k, v in scope["headers"] if k == b"content-length"), b"")
        too_large = AgentError("the body is too large", field="body", limit=limit, unit="bytes", code="too-large", status=413)
        if declared.isdigit() and int(declared[:20]) > limit:
            too_large.got = declared[:20].decode()
            if int(declared[:20]) > DRAIN_BYTES:
                raise too_large
        parts: list[bytes] = []
        size, deadline = 0, time.monotonic() + BODY_S
        while True:
            try:
                message: Message = await asyncio.wait_for(receive(), max(0.01, deadline - time.monotonic()))
            except TimeoutError:
                raise AgentError("the body did not arrive in time", limit=BODY_S, unit="s", code="body-timeout", status=408) from None
            if message["type"] == "http.disconnect":
                raise AgentError("the client left", code="disconnected", status=400)
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                parts.clear()  # read on without keeping it: a client that still sends would not see the refusal
            else:
                parts.append(part)
            if size > DRAIN_BYTES or (size > limit and not message.get("more_body")):
                raise too_large
            if not message.get("more_body"):
                return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand the body on once, then whatever comes (a disconnect)."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
