"""The REST surface: one route per operation and per experiment class."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from qtypes import AgentError, Experiment
from qtypes.errors import shown
from qtypes.schemas import flat_schema
from sidecar.lab import Lab
from sidecar.surface import strict_json

PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"}, "detail": {"type": "string"},
        "field": {"type": "string"}, "got": {}, "limit": {}, "unit": {"type": "string"}, "left": {},
    },
    "required": ["type", "title", "status", "detail"],
}  # fmt: skip
FAULT = {
    "type": "urn:quantum-harbor:problem:laboratory-fault", "title": "laboratory fault", "status": 503,
    "detail": "the laboratory failed; nothing was charged for this request, retry it",
}  # fmt: skip
_CODES = {
    400: "malformed",
    404: "unknown",
    408: "body too slow",
    409: "not now, or not affordable",
    413: "too large",
    422: "invalid field",
    429: "too many",
}
_CODES |= {421: "wrong host", 503: "laboratory fault; nothing is charged"}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"description": text, "content": {"application/problem+json": {"schema": PROBLEM}}} for code, text in _CODES.items()
}
OBJECT = {"type": "object"}
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="8 to 128 characters; a retry with the same key is charged once")]
JobId = Annotated[str, Path(description="job id", max_length=64)]


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _submit(lab: Lab, tool: str) -> Callable[..., Awaitable[Response]]:
    async def endpoint(request: Request, key: Key = None) -> Response:
        return JSONResponse(await lab.submit(tool, await request.body(), key), status_code=202)

    return endpoint


def _query(lab: Lab, tool: str) -> Callable[..., Awaitable[Response]]:
    async def endpoint(request: Request, key: Key = None) -> Response:
        return JSONResponse(await lab.query(tool, await request.body(), key))

    return endpoint


def _tools(lab: Lab, router: APIRouter) -> None:
    """One route per experiment and query; an unknown name is refused by listing the known ones."""
    for name, model in lab.tools.items():
        experiment = issubclass(model, Experiment)
        router.add_api_route(
            f"/experiments/{name}" if experiment else f"/queries/{name}", (_submit if experiment else _query)(lab, name), methods=["POST"],
            name=name, description=" ".join((model.__doc__ or "").split()), status_code=202 if experiment else 200,
            openapi_extra=_body(flat_schema(model)),
        )  # fmt: skip

    @router.post("/experiments/{tool}", include_in_schema=False)
    async def unknown_experiment(tool: str, request: Request) -> Response:
        return JSONResponse(await lab.submit(tool, await request.body()))

    @router.post("/queries/{tool}", include_in_schema=False)
    async def unknown_query(tool: str, request: Request) -> Response:
        return JSONResponse(await lab.query(tool, await request.body()))


def _reading(lab: Lab, router: APIRouter) -> None:
    @router.get("/spec")
    async def get_spec() -> Response:
        """Public description of the device, tools, budget and answer."""
        return JSONResponse(lab.spec())

    @router.get("/materials")
    async def list_materials() -> Response:
        """Public files."""
        return JSONResponse({"materials": lab.materials()})

    @router.get(
        "/materials/{name:path}", responses={200: {"content": {"text/plain": {}, "application/json": {}}, "description": "the file"}}
    )
    async def get_material(name: str) -> Response:
        """One public file."""
        material = lab.material(name)
        return Response(material.text, media_type=material.media_type)

    @router.get("/notebook")
    async def read_notebook() -> Response:
        """Dated entries, oldest first."""
        return JSONResponse({"entries": await lab.notebook()})

    text = {
        "type": "object",
        "properties": {"text": {"type": "string", "minLength": 1, "maxLength": 20000}},
        "required": ["text"],
        "additionalProperties": False,
    }

    @router.post("/notebook", openapi_extra=_body(text))
    async def append_notebook(request: Request) -> Response:
        """Append an entry."""
        body = _object(await request.body(), {"text"})
        return JSONResponse(await lab.append_notebook(body.get("text")))

    @router.get("/budget")
    async def get_budget() -> Response:
        """Limit, used and left of each unit."""
        return JSONResponse(lab.budget())


def _jobs(lab: Lab, router: APIRouter) -> None:
    @router.get("/jobs")
    async def list_jobs() -> Response:
        """All jobs of the session."""
        return JSONResponse({"jobs": lab.jobs()})

    @router.get("/jobs/{job_id}")
    async def get_job(job_id: JobId) -> Response:
        """One job; a small record is inline."""
        return JSONResponse(lab.job(job_id))

    @router.get("/jobs/{job_id}/wait")
    async def wait_for_job(job_id: JobId, timeout_s: Annotated[float, Query(ge=0, le=30, allow_inf_nan=False)] = 20.0) -> Response:
        """The job once it has ended, at the latest after `timeout_s` seconds."""
        return JSONResponse(await lab.wait(job_id, timeout_s))

    @router.delete("/jobs/{job_id}")
    async def cancel_job(job_id: JobId) -> Response:
        """Cancel: a waiting job is refunded, a running one is charged and gives no data."""
        return JSONResponse(await lab.cancel(job_id))

    @router.get("/jobs/{job_id}/record", responses={200: {"content": {"application/x-npz": {}}, "description": "the record as .npz"}})
    async def get_record(job_id: JobId) -> Response:
        """The raw record as `.npz`."""
        data, sha256 = await lab.record(job_id)
        return Response(data, media_type="application/x-npz", headers={"X-Content-SHA256": sha256})


def _ending(lab: Lab, router: APIRouter, answer: dict[str, Any]) -> None:
    revealing = lab.session.truth.challenge is not None

    @router.post("/lock", openapi_extra=_body({"type": "object", "maxProperties": 0}), include_in_schema=revealing)
    async def lock_and_reveal(request: Request) -> Response:
        """Close all experiments and reveal the held-out challenge."""
        _object(await request.body(), set())
        return JSONResponse(await lab.lock_and_reveal())

    @router.post("/answer/check", openapi_extra=_body(answer))
    async def check_answer(request: Request) -> Response:
        """Schema check of an answer; free, not recorded."""
        return JSONResponse(await lab.check_answer(await request.body()))

    @router.post("/answer", openapi_extra=_body(answer))
    async def submit_answer(request: Request) -> Response:
        """The final answer; seals the session."""
        return JSONResponse(await lab.submit_answer(await request.body()))


def _object(body: bytes, allowed: set[str]) -> dict[str, Any]:
    value = strict_json.read(body) if body else {}
    if not isinstance(value, dict):
        raise AgentError("the body is a JSON object", field="(request)", got=type(value).__name__, code="invalid-field")
    unknown = set(value) - allowed
    if unknown:
        raise AgentError("unknown field", field=shown(min(unknown)), limit=sorted(allowed), code="invalid-field")
    return value


def build_router(lab: Lab, answer_schema: dict[str, Any]) -> APIRouter:
    """All routes under `/v1`."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)
    _tools(lab, router)
    _reading(lab, router)
    _jobs(lab, router)
    _ending(lab, router, answer_schema)
    return router
