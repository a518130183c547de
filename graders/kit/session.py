"""A finished session as a grader sees it: the verified bundle, the device, and the completed jobs with their raw arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import qtypes
import tasks
from evidence import Bundle, Event
from qtypes import seeds
from qtypes.contract import Device, Experiment, Query


@dataclass(frozen=True)
class Job:
    """A completed job. `request` is the validated experiment, `lab_start_s` the lab clock at its first shot, in seconds."""

    job_id: str
    number: int
    tool: str
    request: Experiment
    lab_start_s: float
    lab_end_s: float
    bundle: Bundle

    def arrays(self) -> dict[str, np.ndarray]:
        """The raw arrays of its record, read from the bundle on each call (digest checked)."""
        return self.bundle.record(self.job_id)


@dataclass(frozen=True)
class AnsweredQuery:
    """A logged query with its result."""

    tool: str
    request: Query
    result: dict[str, Any]
    seq: int


class GradedSession:
    """All that a grader reads. Jobs that completed after the lock or the seal are not among `jobs`."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        opened = bundle.opened
        self.card = tasks.load(opened["task"])
        self.qtype = qtypes.load(self.card.qtype)

    @cached_property
    def device(self) -> Device[Any, Any]:
        truth = self.bundle.truth()
        profile = self.qtype.read_profile(self.card.profile)
        hidden = self.qtype.Hidden.model_validate_json(truth.hidden_json)
        return Device(spec=self.qtype.spec(hidden, profile), hidden=hidden, profile=profile)

    @cached_property
    def challenge(self) -> dict[str, Any] | None:
        """The committed challenge, revealed or not."""
        return self.bundle.truth().challenge

    @property
    def revealed(self) -> bool:
        """Whether the agent locked the session and saw the challenge."""
        return any(e.kind == "challenge_revealed" for e in self.bundle.events())

    def rng(self, purpose: str) -> np.random.Generator:
        """The stream `grade/<purpose>` of this session: equal in every regrade."""
        return seeds.generator(self.bundle.truth().root, f"grade/{purpose}")

    def seed(self, purpose: str) -> np.random.SeedSequence:
        return seeds.child(self.bundle.truth().root, f"grade/{purpose}")

    def _closing_seq(self) -> float:
        closing = [e.seq for e in self.bundle.events() if e.kind in ("challenge_revealed", "answer_submitted", "session_sealed")]
        return min(closing, default=float("inf"))

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """Completed jobs in the order of their submission."""
        end = self._closing_seq()
        submitted: dict[str, Event] = {}
        started: dict[str, Event] = {}
        done: list[Job] = []
        models: dict[str, Any] = dict(self.qtype.tools())
        for event in self.bundle.events():
            if event.kind == "job_submitted":
                submitted[event.data["job_id"]] = event
            elif event.kind == "job_started":
                started[event.data["job_id"]] = event
            elif event.kind == "job_completed" and event.seq < end:
                job_id = event.data["job_id"]
                sub, start = submitted[job_id].data, started[job_id].data
                request = models[sub["tool"]].model_validate_json(self.bundle.payload_text(sub["request"]))
                done.append(Job(job_id, sub["number"], sub["tool"], request, start["lab_start_s"], start["lab_end_s"], self.bundle))
        return tuple(sorted(done, key=lambda j: j.number))

    @cached_property
    def queries(self) -> tuple[AnsweredQuery, ...]:
        """Answered queries in order."""
        models: dict[str, Any] = dict(self.qtype.tools())
        return tuple(
            AnsweredQuery(
                e.data["tool"], models[e.data["tool"]].model_validate_json(self.bundle.payload_text(e.data["request"])),
                self.bundle.payload(e.data["result"]), e.seq,
            )
            for e in self.bundle.events() if e.kind == "query_answered"
        )  # fmt: skip

    def of(self, *tools: str) -> tuple[Job, ...]:
        """Completed jobs of the given tools."""
        return tuple(j for j in self.jobs if j.tool in tools)
