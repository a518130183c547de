"""The MCP surface: the same operations as REST, one tool each, generated from the same classes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field
from pydantic_core import PydanticSerializationError, to_json

from qtypes import AgentError, Experiment, Part, quantity
from qtypes.errors import shown
from qtypes.schemas import flat_schema
from sidecar.admission import parse
from sidecar.lab import Lab
from sidecar.surface.rest import FAULT

log = structlog.get_logger()
Handler = Callable[[dict[str, Any]], Awaitable[Any]]
_KEY = {"type": "string", "minLength": 8, "maxLength": 128, "description": "optional: a retry with the same key is charged once"}
_EXTRA = "idempotency_key"


class Nothing(Part):
    """No arguments."""


class Named(Part):
    name: str = Field(max_length=200, description="name of the material")


class Text(Part):
    text: str = Field(min_length=1, max_length=20_000, description="text of the entry")


class OfJob(Part):
    job_id: str = Field(max_length=64, description="job id")


class Waiting(Part):
    job_id: str = Field(max_length=64, description="job id")
    timeout_s: float = quantity("s", "longest wait", ge=0, le=30, default=20.0)


class Page(Part):
    job_id: str = Field(max_length=64, description="job id of a completed job")
    array: str = Field(max_length=64, description="name of the array")
    offset: int = quantity("1", "first element, in C order", ge=0, le=10**12, default=0)
    count: int = quantity("1", "elements: at most 4000 as json, 20000 as base64", ge=1, le=20_000, default=2000)
    encoding: Literal["json", "base64"] = Field(
        default="json", description="json numbers (complex as [re, im]) or base64 of little-endian bytes"
    )


@dataclass(frozen=True)
class Tool:
    """An MCP tool: name, description, flat schema and what it does."""

    name: str
    description: str
    schema: dict[str, Any]
    handler: Handler


def _fixed(lab: Lab, answer_schema: dict[str, Any]) -> list[Tool]:
    def tool(name: str, description: str, model: type[Part], run: Callable[[Any], Any]) -> Tool:
        async def handler(arguments: dict[str, Any]) -> Any:
            value = run(parse(model, json.dumps(arguments)))
            return await value if isinstance(value, Awaitable) else value

        return Tool(name, description, flat_schema(model), handler)

    async def check(arguments: dict[str, Any]) -> Any:
        return await lab.check_answer(_answer(arguments))

    async def submit(arguments: dict[str, Any]) -> Any:
        return await lab.submit_answer(_answer(arguments))

    wrapped = {"type": "object", "properties": {"answer": answer_schema}, "required": ["answer"], "additionalProperties": False}
    tools = [
        tool("get_spec", "Public description of the device, tools, budget and answer schema.", Nothing, lambda _: lab.spec()),
        tool("list_materials", "Names of the public files.", Nothing, lambda _: {"materials": lab.materials()}),
        tool("get_material", "One public file.", Named, lambda a: _material(lab, a.name)),
        tool("read_notebook", "The laboratory notebook: dated entries, oldest first.", Nothing, lambda _: _entries(lab)),
        tool("append_notebook", "Append an entry to the notebook.", Text, lambda a: lab.append_notebook(a.text)),
        tool("get_budget", "Limit, used and left of each budget unit.", Nothing, lambda _: lab.budget()),
        tool("list_jobs", "All jobs of the session.", Nothing, lambda _: {"jobs": lab.jobs()}),
        tool("get_job", "One job; a small record is inline.", OfJob, lambda a: lab.job(a.job_id)),
        tool(
            "wait_for_job", "The job once it has ended, at the latest after timeout_s.", Waiting,
            lambda a: lab.wait(a.job_id, a.timeout_s),
        ),
        tool(
            "cancel_job", "Cancel a job: waiting jobs are refunded, a running one is charged and gives no data.", OfJob,
            lambda a: lab.cancel(a.job_id),
        ),
        tool(
            "fetch_record", "A page of one array of a raw record.", Page,
            lambda a: lab.record_page(a.job_id, a.array, a.offset, a.count, a.encoding),
        ),
        Tool("check_answer", "Schema check of an answer; free, not recorded.", wrapped, check),
        Tool("submit_answer", "Submit the final answer; seals the session.", wrapped, submit),
    ]  # fmt: skip
    if lab.session.truth.challenge is not None:
        text = "Close all experiments and reveal the held-out challenge that was committed at the start."
        tools.append(tool("lock_and_reveal", text, Nothing, lambda _: lab.lock_and_reveal()))
    return tools


def _material(lab: Lab, name: str) -> dict[str, Any]:
    material = lab.material(name)
    return {"name": material.name, "media_type": material.media_type, "text": material.text}


async def _entries(lab: Lab) -> dict[str, Any]:
    return {"entries": await lab.notebook()}


def _answer(arguments: dict[str, Any]) -> bytes:
    unknown = set(arguments) - {"answer"}
    if unknown or "answer" not in arguments:
        field = shown(min(unknown)) if unknown else "answer"
        raise AgentError("the one argument is `answer`, an object", field=field, limit=["answer"], code="invalid-field")
    try:
        return to_json(arguments["answer"])  # ten times faster than `json`, and on the event loop
    except PydanticSerializationError:
        raise AgentError("a text is not Unicode", field="answer", code="invalid-field") from None


def _generated(lab: Lab) -> list[Tool]:
    tools = []
    for name, model in lab.tools.items():
        schema = flat_schema(model)
        schema.setdefault("properties", {})[_EXTRA] = _KEY
        run = lab.submit if issubclass(model, Experiment) else lab.query

        async def handler(arguments: dict[str, Any], name: str = name, run: Any = run) -> Any:
            body = {k: v for k, v in arguments.items() if k != _EXTRA}
            return await run(name, json.dumps(body, allow_nan=False).encode("utf-8", "surrogatepass"), arguments.get(_EXTRA))

        tools.append(Tool(name, " ".join((model.__doc__ or "").split()), schema, handler))
    return tools


def _text(value: Any, *, error: bool = False) -> types.CallToolResult:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=error)


def build_mcp(lab: Lab, answer_schema: dict[str, Any]) -> Server[Any]:
    """The MCP server; tool results are one text content that holds JSON."""
    table = {t.name: t for t in (*_fixed(lab, answer_schema), *_generated(lab))}

    async def list_tools(_ctx: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=t.name, description=t.description, input_schema=t.schema) for t in table.values()]
        )

    async def call_tool(_ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            if params.name not in table:
                raise AgentError(
                    f"no such tool; there are: {', '.join(table)}", field="name", got=params.name, code="unknown-tool", status=404
                )
            return _text(await table[params.name].handler(dict(params.arguments or {})))
        except AgentError as exc:
            lab.refused(exc)
            return _text(exc.problem(), error=True)
        except Exception:
            log.exception("tool failed", tool=params.name[:64])
            return _text(FAULT, error=True)

    return Server(
        "quantum-harbor",
        instructions="A quantum laboratory. Begin with get_spec and read_notebook.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def mcp_app(server: Server[Any], limit: int) -> Any:
    """The streamable-HTTP application at `/mcp`; the host check is the guard's, for both surfaces."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(
        streamable_http_path="/mcp", json_response=True, stateless_http=True, transport_security=security, max_request_body_size=limit
    )
