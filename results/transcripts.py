"""Transcripts: what an agent called and what it was shown. An ATIF trajectory, or a plain JSONL of MCP calls and results.

Lines of the JSONL are either `{"tool", "arguments", "result", "error"}`, one call each, or the JSON-RPC messages of MCP as they went
(`tools/call` requests and their responses, by `id`). A transcript is the agent's word: it can be cut, changed or invented.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from evidence import EvidenceError
from evidence.files import read_whole

MAX_BYTES = 256_000_000
MAX_CALLS = 100_000
FIXED = frozenset({
    "get_spec", "list_materials", "get_material", "read_notebook", "append_notebook", "get_budget", "list_jobs", "get_job", "wait_for_job",
    "cancel_job", "fetch_record", "check_answer", "submit_answer", "lock_and_reveal",
})  # fmt: skip
"""Tools that every laboratory has; the others are the experiments and queries of its hardware type."""
_NAMES = ("tool", "name", "function_name")
_ARGUMENTS = ("arguments", "input", "params")
_RESULTS = ("result", "output", "content")


class TranscriptError(Exception):
    """A file that is no transcript; the text says what is wrong with it."""


@dataclass(frozen=True)
class Call:
    """One call, numbered from 1. `result` is parsed JSON where it is JSON, else text; None where none was shown."""

    number: int
    tool: str
    arguments: Mapping[str, Any]
    result: Any = None
    error: bool = False


@dataclass(frozen=True)
class Transcript:
    """Calls in their order. `usage` as in `results.model.Graded`."""

    path: Path
    calls: tuple[Call, ...]
    agent: str = ""
    model: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)

    def of(self, *tools: str) -> tuple[Call, ...]:
        """Calls of these tools that were not refused."""
        return tuple(c for c in self.calls if c.tool in tools and not c.error)

    @property
    def spec(self) -> Mapping[str, Any] | None:
        """What `get_spec` first showed."""
        return next((c.result for c in self.of("get_spec") if isinstance(c.result, Mapping)), None)

    @property
    def task(self) -> str | None:
        return None if self.spec is None else str(self.spec.get("task")) or None

    @property
    def answer(self) -> Any:
        """The answer that was taken, None without one."""
        taken = [c for c in self.of("submit_answer") if not isinstance(c.result, Mapping) or c.result.get("accepted", True)]
        return taken[-1].arguments.get("answer") if taken else None


@lru_cache(maxsize=2)
def read(path: Path) -> Transcript:
    """A transcript from a `.json` (ATIF) or `.jsonl` file; :class:`TranscriptError` where it is none."""
    try:
        text = read_whole(path, MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError, EvidenceError) as exc:
        raise TranscriptError(f"{path} cannot be read: {exc}") from exc
    try:
        if path.suffix != ".jsonl":
            whole = json.loads(text)
            if isinstance(whole, Mapping) and str(whole.get("schema_version", "")).startswith("ATIF"):
                return _atif(path, whole)
        return _lines(path, text)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise TranscriptError(f"{path} is no transcript: {exc}") from exc


# -- ATIF -----------------------------------------------------------------------------------------------------------------------------


def _atif(path: Path, whole: Mapping[str, Any]) -> Transcript:
    agent = whole.get("agent") or {}
    calls: list[Call] = []
    for step in whole.get("steps") or []:
        if step.get("is_copied_context") or len(calls) >= MAX_CALLS:
            continue
        results = (step.get("observation") or {}).get("results") or []
        made = step.get("tool_calls") or []
        by_id = {r["source_call_id"]: r for r in results if r.get("source_call_id")}
        for call in made:
            shown = by_id.get(call.get("tool_call_id")) or (results[0] if len(made) == len(results) == 1 else {})
            value, error = result_of(shown.get("content"), bool((shown.get("extra") or {}).get("is_error")))
            calls.append(Call(len(calls) + 1, tool_of(str(call["function_name"])), _arguments(call.get("arguments")), value, error))
    totals = whole.get("final_metrics") or {}
    names = {
        "total_prompt_tokens": "input_tokens", "total_cached_tokens": "cached_tokens", "total_completion_tokens": "output_tokens",
        "total_cost_usd": "cost_usd",
    }  # fmt: skip
    usage = {ours: float(totals[theirs]) for theirs, ours in names.items() if totals.get(theirs) is not None}
    return Transcript(path, tuple(calls), str(agent.get("name") or ""), str(agent.get("model_name") or ""), usage)


# -- JSONL ----------------------------------------------------------------------------------------------------------------------------


def _lines(path: Path, text: str) -> Transcript:
    calls: list[Call] = []
    asked: dict[Any, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError as exc:
            raise ValueError(f"line {number} is not JSON") from exc
        if not isinstance(message, Mapping):
            raise ValueError(f"line {number} is not an object")
        if message.get("method") == "tools/call":
            asked[json.dumps(message.get("id"))] = len(calls)
            calls.append(_call(len(calls) + 1, message.get("params") or {}))
        elif "id" in message and ("result" in message or "error" in message) and json.dumps(message["id"]) in asked:
            k = asked.pop(json.dumps(message["id"]))
            value, error = result_of(message.get("result", message.get("error")), "error" in message)
            calls[k] = Call(k + 1, calls[k].tool, calls[k].arguments, value, error)
        elif "method" not in message and any(isinstance(message.get(n), str) for n in _NAMES):
            calls.append(_call(len(calls) + 1, message))
        if len(calls) >= MAX_CALLS:
            break
    if not calls:
        raise ValueError("it shows no call: a line is an object with `tool`, `arguments` and `result`, or a JSON-RPC message of MCP")
    return Transcript(path, tuple(calls))


def _call(number: int, message: Mapping[str, Any]) -> Call:
    name = next(message[n] for n in _NAMES if isinstance(message.get(n), str))
    arguments: Any = next((message[n] for n in _ARGUMENTS if n in message), {})
    raw = next((message[n] for n in _RESULTS if n in message), None)
    failed = message.get("error", message.get("is_error", message.get("isError", False)))
    value, error = result_of(raw if raw is not None or not isinstance(failed, Mapping) else failed, bool(failed))
    return Call(number, tool_of(name), _arguments(arguments), value, error)


# -- both -----------------------------------------------------------------------------------------------------------------------------


def tool_of(name: str) -> str:
    """The laboratory's name of a tool: harnesses put the server's before it (`mcp__lab__run_ramsey`, `lab.run_ramsey`)."""
    return name.replace("/", "__").replace(".", "__").rsplit("__", 1)[-1]


def _arguments(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}


def result_of(value: Any, error: bool = False) -> tuple[Any, bool]:
    """What a tool gave, out of the wrappings of MCP and of harnesses, and whether it is an error."""
    for _ in range(4):
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return value, error
        elif isinstance(value, Mapping) and isinstance(value.get("content"), Sequence) and set(value) <= _WRAPPING:
            error = error or bool(value.get("isError") or value.get("is_error"))
            value = value["content"]
        elif _is_text_parts(value):
            value = "\n".join(str(p.get("text", "")) for p in value)
        else:
            break
    if isinstance(value, Mapping) and {"status", "title", "detail"} <= set(value) and isinstance(value["status"], int):
        error = True  # a problem document
    return value, error


_WRAPPING = {"content", "isError", "is_error", "structuredContent", "_meta", "meta", "resultType"}


def _is_text_parts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(p, Mapping) and p.get("type") == "text" for p in value)
