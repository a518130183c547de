"""A session as a transcript shows it, in the form in which graders read sessions. What it does not show is refused, not guessed."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
from pydantic import ValidationError

import qtypes
import tasks
from graders.kit import AnsweredQuery
from qtypes.contract import Experiment, Query
from results.transcripts import Call, Transcript

MAX_ELEMENTS = 20_000_000


class NotShown(Exception):
    """Something that only a bundle holds; the text says what."""


@dataclass(frozen=True)
class ShownJob:
    """A job as the agent was told of it; `arrays()` as far as the transcript holds them."""

    job_id: str
    number: int
    tool: str
    request: Experiment
    lab_start_s: float
    lab_end_s: float
    call: int
    views: tuple[Mapping[str, Any], ...]
    pages: tuple[Mapping[str, Any], ...]

    def arrays(self) -> dict[str, np.ndarray]:
        for view in self.views:
            record = view.get("record")
            if isinstance(record, Mapping) and isinstance(record.get("inline"), Mapping):
                told = {a["name"]: a for a in record.get("arrays", ())}
                return {name: _array(values, told[name]["dtype"], told[name]["shape"]) for name, values in record["inline"].items()}
        return self._from_pages()

    def _from_pages(self) -> dict[str, np.ndarray]:
        out: dict[str, np.ndarray] = {}
        for name in {str(p["array"]) for p in self.pages}:
            mine = [p for p in self.pages if p["array"] == name]
            size = int(np.prod(mine[0]["shape"], dtype=np.int64))
            if size > MAX_ELEMENTS:
                raise NotShown(f"the record of {self.job_id} is too large to be put together")
            flat, seen = np.zeros(size, np.dtype(mine[0]["dtype"])), np.zeros(size, bool)
            for page in mine:
                start, stop = int(page["offset"]), int(page["offset"]) + int(page["count"])
                data = page["data"]
                values = np.frombuffer(base64.b64decode(data), flat.dtype) if isinstance(data, str) else _array(data, flat.dtype, [-1])
                flat[start:stop], seen[start:stop] = values, True
            if not seen.all():
                raise NotShown(f"of array {name} of {self.job_id} only {int(seen.sum())} of {size} elements are shown")
            out[name] = flat.reshape(mine[0]["shape"])
        if not out:
            raise NotShown(f"the record of {self.job_id} is not shown")
        return out


def _array(values: Any, dtype: Any, shape: Any) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "c":  # complex numbers travel as [re, im]
        pairs = np.asarray(values, dtype=float).reshape(-1, 2)
        return (pairs[:, 0] + 1j * pairs[:, 1]).astype(kind).reshape(shape)
    return np.asarray(values).astype(kind).reshape(shape)


class ShownSession:
    """Stands in for `graders.kit.GradedSession`. The sealed truth is not in a transcript: asking for it raises :class:`NotShown`."""

    def __init__(self, shown: Transcript, task: str) -> None:
        self.shown = shown
        self.card = tasks.load(task)
        self.qtype = qtypes.load(self.card.qtype)

    @cached_property
    def device(self) -> Any:
        if self.shown.spec is None:
            raise NotShown("the public description of the device (get_spec) is not shown")
        profile = self.qtype.read_profile(self.card.profile)
        return _Public(self.qtype.Spec.model_validate_json(json.dumps(self.shown.spec["spec"])), profile)

    @cached_property
    def challenge(self) -> dict[str, Any] | None:
        for call in self.shown.of("lock_and_reveal"):
            if isinstance(call.result, Mapping) and isinstance(call.result.get("challenge"), Mapping):
                return dict(call.result["challenge"])
        raise NotShown("the challenge is not shown")

    @property
    def revealed(self) -> bool:
        return bool(self.shown.of("lock_and_reveal"))

    @property
    def bundle(self) -> NoReturn:
        raise NotShown("there is no bundle")

    def rng(self, purpose: str) -> NoReturn:
        raise NotShown(f"the grader's stream {purpose!r} is sealed in the bundle")

    seed = rng

    @cached_property
    def _end(self) -> int:
        return min((c.number for c in self.shown.of("lock_and_reveal", "submit_answer")), default=len(self.shown.calls) + 1)

    @cached_property
    def jobs(self) -> tuple[ShownJob, ...]:
        """Jobs that were shown as completed before the lock or the answer, in the order of their submission."""
        submitted: dict[str, Call] = {}
        views: dict[str, list[Mapping[str, Any]]] = {}
        pages: dict[str, list[Mapping[str, Any]]] = {}
        for call in self.shown.calls:
            if call.error or not isinstance(call.result, Mapping) or "job_id" not in call.result:
                continue
            job_id = str(call.result["job_id"])
            if call.tool == "fetch_record":
                pages.setdefault(job_id, []).append(call.result)
            elif call.number < self._end:
                views.setdefault(job_id, []).append(call.result)
                if call.tool in self.qtype.tools():
                    submitted.setdefault(job_id, call)
        out: list[ShownJob] = []
        for job_id, call in submitted.items():
            last = views[job_id][-1]
            if last.get("status") != "completed":
                continue
            request = self.request(call)
            if request is not None:
                start, end = float(last.get("lab_start_s", 0.0)), float(last.get("lab_end_s", 0.0))
                number = int(last.get("number", len(out) + 1))
                mine = (tuple(views[job_id]), tuple(pages.get(job_id, ())))
                out.append(ShownJob(job_id, number, call.tool, request, start, end, call.number, *mine))
        return tuple(sorted(out, key=lambda j: j.number))

    def request(self, call: Call) -> Any:
        """The validated request of a call, None where the laboratory would have refused it."""
        arguments = {k: v for k, v in call.arguments.items() if k != "idempotency_key"}
        try:
            # by way of JSON, as the laboratory reads it: a list is a tuple there
            return self.qtype.tools()[call.tool].model_validate_json(json.dumps(arguments))
        except (ValidationError, ValueError, TypeError):
            return None

    @cached_property
    def queries(self) -> tuple[AnsweredQuery, ...]:
        tools = {name for name, model in self.qtype.tools().items() if issubclass(model, Query)}
        found = [(c, self.request(c)) for c in self.shown.of(*tools) if isinstance(c.result, Mapping)]
        return tuple(AnsweredQuery(c.tool, request, dict(c.result), c.number) for c, request in found if request is not None)

    def of(self, *tools: str) -> tuple[ShownJob, ...]:
        return tuple(j for j in self.jobs if j.tool in tools)


class _Public(SimpleNamespace):
    """A device of which only the public part is known."""

    def __init__(self, spec: Any, profile: Any) -> None:
        super().__init__(spec=spec, profile=profile)

    @property
    def hidden(self) -> NoReturn:
        raise NotShown("the hidden parameters of the device are sealed in the bundle")
