"""What the agent said and called, step by step, beside what the laboratory recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evidence import EvidenceError
from evidence.files import read_whole
from results import transcripts
from results.viewer.numbers import bounded

MAX_STEPS = 5_000
MAX_LOG = 400_000
"""Characters of an agent's plain output that a page shows: the beginning and the end."""


def steps_of(transcript: Path) -> dict[str, Any]:
    """Steps of an ATIF trajectory, or calls of a JSONL, as `{"agent", "model", "steps": [...]}`; `problem` where it cannot be read."""
    try:
        shown = transcripts.read(transcript)
        steps = _atif(transcript) if transcript.suffix == ".json" else []
    except (transcripts.TranscriptError, EvidenceError, OSError, ValueError) as exc:
        return {"steps": [], "problem": str(exc)}
    if not steps:
        calls = ({"tool": c.tool, "arguments": bounded(c.arguments), "result": bounded(c.result), "error": c.error} for c in shown.calls)
        steps = [{"source": "agent", "calls": [c]} for c in calls]
    cut = f"{MAX_STEPS:,} of {len(steps):,} steps shown" if len(steps) > MAX_STEPS else ""
    return {"agent": shown.agent, "model": shown.model, "usage": dict(shown.usage), "steps": steps[:MAX_STEPS], "note": cut}


def _atif(path: Path) -> list[dict[str, Any]]:
    whole = json.loads(read_whole(path, transcripts.MAX_BYTES))
    out = []
    for step in whole.get("steps") or []:
        results = [r for r in (step.get("observation") or {}).get("results") or [] if isinstance(r, Mapping)]
        by_id = {r["source_call_id"]: r for r in results if r.get("source_call_id")}
        calls = []
        for call in step.get("tool_calls") or []:
            shown = by_id.pop(call.get("tool_call_id"), None) or (results[0] if len(results) == 1 else {})
            value, error = transcripts.result_of(shown.get("content"))
            calls.append({
                "tool": transcripts.tool_of(str(call.get("function_name", ""))), "arguments": bounded(call.get("arguments")),
                "result": bounded(value), "error": error,
            })  # fmt: skip
        told = {"source": str(step.get("source", "")), "time": str(step.get("timestamp") or ""), "calls": calls}
        for ours, theirs in (("text", "message"), ("thought", "reasoning_content")):
            if step.get(theirs):
                told[ours] = bounded(_text(step[theirs]))
        if not calls and results:
            told["calls"] = [{"tool": "", "arguments": None, "result": bounded(r.get("content")), "error": False} for r in results]
        out.append(told)
    return out


def _text(value: Any) -> str:
    """A message: text, or parts of which some are text."""
    if isinstance(value, str):
        return value
    return "\n".join(str(p.get("text", f"[{p.get('type', 'part')}]")) if isinstance(p, Mapping) else str(p) for p in value)


def log_of(path: Path) -> dict[str, Any] | None:
    """The plain output of an agent, its middle left out where it is long; None where there is none."""
    try:
        size = path.stat().st_size
        with path.open("rb") as f:
            head = f.read(MAX_LOG // 2)
            f.seek(max(len(head), size - MAX_LOG // 2))
            tail = f.read()
    except OSError:
        return None
    skipped = size - len(head) - len(tail)
    gap = f"\n… {skipped:,} bytes left out …\n" if skipped > 0 else ""
    return {"text": head.decode(errors="replace") + gap + tail.decode(errors="replace"), "bytes": size}
