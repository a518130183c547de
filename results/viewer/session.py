"""A session as a page shows it: its experiments and queries in order, notebook, answer, and each record drawn."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evidence import Bundle, Event, EvidenceError, verify
from graders.kit import GradedSession
from results.viewer import detectors
from results.viewer.numbers import bounded, number
from results.viewer.views import guarded, views

SEARCHED = 1_500
"""Characters of a request that the text filter of a page looks through."""
TOTAL_CELLS = 3_000_000
MIN_CELLS, MAX_CELLS = 400, 2304


@dataclass
class Item:
    """An experiment or an answered query."""

    data: dict[str, Any]
    request: Mapping[str, Any] | None = None
    record: Mapping[str, Any] | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    problem: Any = None


class SessionPage:
    """Reads a bundle as far as it holds. `problem` says where it does not; everything before that is still shown."""

    def __init__(self, folder: Path) -> None:
        self.bundle = Bundle(folder)
        report = verify(folder)
        self.evidence = {"ok": report.ok, "events": report.events, "problem": report.problem or "", "sealed": report.sealed}
        self.events: list[Event] = []
        try:
            self.events += self.bundle.events()
        except EvidenceError as exc:
            self.evidence["problem"] = self.evidence["problem"] or str(exc)
            self.events = list(_before_the_break(self.bundle))
        self.opened: Mapping[str, Any] = self.events[0].data if self.events and self.events[0].kind == "session_opened" else {}
        self.start = dt.datetime.fromisoformat(self.events[0].time) if self.events else None
        self.items: list[Item] = []
        self.marks: list[dict[str, Any]] = []
        self.appended: list[dict[str, Any]] = []
        self.refused: Mapping[str, Any] = {}
        self._fold()

    # -- the log ----------------------------------------------------------------------------------------------------------------------

    def _wall(self, event: Event) -> float:
        assert self.start is not None
        return round((dt.datetime.fromisoformat(event.time) - self.start).total_seconds(), 3)

    def _fold(self) -> None:
        jobs: dict[str, Item] = {}
        clock = 0.0
        for e in self.events:
            wall = self._wall(e)
            if e.kind in ("job_submitted", "query_answered"):
                item = self._begun(e, wall, clock)
                self.items.append(item)
                if e.kind == "job_submitted":
                    jobs[e.data["job_id"]] = item
                else:
                    item.result = self._payload(e.data["result"])
            elif e.kind in ("job_started", "job_completed", "job_failed", "job_cancelled") and e.data["job_id"] in jobs:
                item = jobs[e.data["job_id"]]
                item.data["status"] = {"job_started": "running"}.get(e.kind, e.kind.removeprefix("job_"))
                if e.kind == "job_started":
                    item.data["lab"] = [number(e.data["lab_start_s"], 9), number(e.data["lab_end_s"], 9)]
                    clock = float(e.data["lab_end_s"])
                else:
                    item.data["wall"][1] = wall
                    item.record, item.summary = e.data.get("record"), e.data.get("summary", {})
                    item.problem = e.data.get("problem")
                    for unit, amount in (e.data.get("refund") or {}).items():
                        item.data["cost"][unit] = number(item.data["cost"].get(unit, 0) - amount, 9)
            elif e.kind == "notebook_appended":
                self.appended.append({"text": bounded(e.data["text"]), "appended": True, "wall": wall, "lab": clock})
                self.marks.append({"kind": "note", "wall": wall, "lab": clock, "order": len(self.items)})
            elif e.kind in ("challenge_revealed", "answer_submitted", "session_sealed"):
                kind = {"challenge_revealed": "lock", "answer_submitted": "answer", "session_sealed": "seal"}[e.kind]
                self.marks.append({"kind": kind, "wall": wall, "lab": clock, "order": len(self.items)})
            elif e.kind == "refusals_counted":
                self.refused = e.data
        self.lab_s = clock

    def _begun(self, e: Event, wall: float, clock: float) -> Item:
        query = e.kind == "query_answered"
        request = self._payload(e.data["request"])
        text = json.dumps(request, ensure_ascii=False)
        data = {
            "id": f"q{e.data['number']:04d}" if query else e.data["job_id"], "number": e.data["number"], "query": query,
            "tool": e.data["tool"], "status": "answered" if query else "queued",
            "cost": {u: number(v, 9) for u, v in e.data["cost"].items()},
            "lab": [number(clock, 9)] * 2, "wall": [wall, wall], "seq": e.seq, "about": text[:SEARCHED],
        }  # fmt: skip
        return Item(data, request if isinstance(request, Mapping) else {"request": request})

    def _payload(self, ref: Mapping[str, Any]) -> Any:
        try:
            return self.bundle.payload(dict(ref))
        except EvidenceError as exc:
            return {"cannot be shown": str(exc)}

    # -- parts of the page ------------------------------------------------------------------------------------------------------------

    @property
    def wall_s(self) -> float:
        return self._wall(self.events[-1]) if self.events else 0.0

    def notebook(self) -> list[dict[str, Any]]:
        """Entries as the session opened, oldest first, then what was appended."""
        found = self._payload(self.opened["notebook"]) if "notebook" in self.opened else {}
        entries = found.get("entries", []) if isinstance(found, Mapping) else []
        return [{**{k: bounded(v) for k, v in e.items()}, "appended": False} for e in entries] + self.appended

    def answer(self) -> dict[str, Any] | None:
        try:
            text = self.bundle.answer_text()
            return None if text is None else {"bytes": len(text.encode("utf-8", "surrogatepass")), "value": bounded(json.loads(text))}
        except (EvidenceError, ValueError) as exc:
            return {"bytes": 0, "value": {"cannot be shown": str(exc)}}

    def truth(self) -> Any:
        """The sealed device, for a page that shows it."""
        try:
            return bounded(json.loads(self.bundle.truth().hidden_json))
        except (EvidenceError, ValueError, OSError) as exc:
            return {"cannot be shown": str(exc)}

    def budget(self) -> list[dict[str, Any]]:
        limits = self.opened.get("budget", {})
        units = list(limits) + sorted({u for i in self.items for u in i.data["cost"]} - set(limits))
        used = {u: math.fsum(i.data["cost"].get(u, 0) or 0 for i in self.items) for u in units}
        return [{"unit": u, "limit": limits.get(u), "used": number(used[u], 9)} for u in units]

    def head(self) -> dict[str, Any]:
        keys = ("session", "instance", "reproducible", "qtype", "task", "task_version", "commitment", "versions", "machine")
        return {k: self.opened.get(k) for k in keys} | {
            "opened": self.events[0].time if self.events else "",
            "wall_s": self.wall_s,
            "lab_s": self.lab_s,
            "refused": dict(self.refused),
        }

    # -- records ----------------------------------------------------------------------------------------------------------------------

    def drawn(self) -> Iterator[dict[str, Any]]:
        """For each item what its detail shows: request, summary, arrays and views; read from the bundle one at a time."""
        cells = int(min(max(TOTAL_CELLS // max(len(self.items), 1), MIN_CELLS), MAX_CELLS))
        models, spec = self._models()
        circuits: dict[str, Any] = {}
        for item in self.items:
            detail: dict[str, Any] = {"request": bounded(item.request), "summary": bounded(item.summary)}
            if item.result is not None:
                detail["result"] = bounded(item.result)
            if item.problem is not None:
                detail["problem"] = bounded(item.problem)
            if item.record is not None:
                detail |= self._record(item, cells, models, spec, circuits)
            yield detail

    def _models(self) -> tuple[Mapping[str, Any], Any]:
        """Request classes and public spec, which circuits are made of; empty where this code does not know the task."""
        try:
            session = GradedSession(self.bundle)
            return dict(session.qtype.tools()), session.device.spec
        except (EvidenceError, KeyError, ValueError, OSError):
            return {}, None

    def _record(self, item: Item, cells: int, models: Mapping[str, Any], spec: Any, circuits: dict[str, Any]) -> dict[str, Any]:
        assert item.record is not None
        assert item.request is not None
        described = list(item.record.get("arrays", ()))
        out: dict[str, Any] = {"bytes": item.record.get("bytes"), "sha256": item.record.get("sha256"), "arrays": bounded(described)}
        try:
            arrays = self.bundle.record(str(item.data["id"]))
        except (EvidenceError, ValueError) as exc:
            return out | {"undrawn": str(exc), "views": []}
        request, summary = item.request, item.summary

        def make() -> list[dict[str, Any]]:
            circuit = self._circuit(item, models, spec, circuits)
            if circuit is not None and "meas" in arrays and arrays["meas"].ndim == 2:
                return detectors.views(arrays["meas"], circuit, cells)
            return views(described, arrays, request, summary, cells=cells)

        out["views"], out["undrawn"] = guarded(make)
        return out

    def _circuit(self, item: Item, models: Mapping[str, Any], spec: Any, circuits: dict[str, Any]) -> Any:
        model = models.get(str(item.data["tool"]))
        if model is None or not hasattr(model, "program"):
            return None
        assert item.request is not None
        key = json.dumps([item.data["tool"], {k: v for k, v in item.request.items() if k != "shots"}], sort_keys=True)
        if key not in circuits:
            if len(circuits) >= 32:
                circuits.clear()
            circuits[key] = detectors.circuit_of(model.model_validate_json(json.dumps(item.request)), spec)
        return circuits[key]


def _before_the_break(bundle: Bundle) -> Iterator[Event]:
    try:
        yield from bundle.events()
    except EvidenceError:
        return


__all__ = ["Item", "SessionPage"]
