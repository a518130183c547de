"""The application: guard, REST and MCP over one `Lab`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route

import graders
from qtypes import AgentError
from qtypes.schemas import flat_schema
from sidecar.lab import Lab
from sidecar.settings import Settings
from sidecar.surface.guard import Guard
from sidecar.surface.on_demand import OnDemand
from sidecar.surface.rest import FAULT, build_router

log = structlog.get_logger()
PROBLEM_TYPE = "application/problem+json"


def _problem(body: dict[str, Any], headers: dict[str, str] | None = None) -> JSONResponse:
    if body["status"] == 429:
        headers = {**(headers or {}), "Retry-After": "1"}
    return JSONResponse(body, status_code=body["status"], media_type=PROBLEM_TYPE, headers=headers)


def _handlers(app: FastAPI, lab: Lab) -> None:
    @app.exception_handler(AgentError)
    async def refused(_: Request, exc: AgentError) -> JSONResponse:
        lab.refused(exc)
        return _problem(exc.problem())

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, exc: RequestValidationError) -> JSONResponse:
        first = exc.errors()[0]
        field = ".".join(str(p) for p in first["loc"][1:]) or "(request)"
        error = AgentError(f"{field}: {first['msg']}", field=field, got=first.get("input"), code="invalid-field")
        lab.refused(error)
        return _problem(error.problem())

    @app.exception_handler(HTTPException)
    async def http(_: Request, exc: HTTPException) -> JSONResponse:
        code = {404: "unknown-path", 405: "method-not-allowed"}.get(exc.status_code, "invalid-request")
        error = AgentError("see /openapi.json for what there is", code=code, status=exc.status_code)
        lab.refused(error)
        return _problem(error.problem(), dict(exc.headers or {}))

    @app.exception_handler(Exception)
    async def fault(_: Request, exc: Exception) -> JSONResponse:
        log.error("request failed", error=type(exc).__name__)
        return _problem(FAULT)


def create_app(lab: Lab, settings: Settings) -> Any:
    """The ASGI application of one session."""
    answer = flat_schema(graders.load(lab.card.name).Answer)
    limits = lab.card.limits

    def build_mcp_app() -> Any:
        from sidecar.surface.mcp import build_mcp, mcp_app  # the SDK takes as long to import as all the rest: only where MCP is spoken

        return mcp_app(build_mcp(lab, answer), 2 * max(limits.body_bytes, limits.answer_bytes) + 64_000)

    mcp = OnDemand(build_mcp_app)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await lab.start()
        try:
            yield
        finally:
            await mcp.close()
            await lab.close()

    app = FastAPI(title="Quantum-Harbor laboratory", version=lab.card.version, lifespan=lifespan, docs_url=None, redoc_url=None)
    _handlers(app, lab)

    @app.get("/healthz")
    async def healthz() -> dict[str, bool]:
        """Alive; says nothing about the session."""
        return {"ok": True}

    app.include_router(build_router(lab, answer))
    # POST alone: a stateless server has nothing to say on its own, and a GET would hold a connection for ever
    app.router.routes.append(Route("/mcp", endpoint=mcp, methods=["POST"]))
    return Guard(app, hosts=settings.allowed_hosts, body_bytes=limits.body_bytes, answer_bytes=limits.answer_bytes, refused=lab.refused)
