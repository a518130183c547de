"""What rules are applied to: a qtype with the profiles that tasks give it, or a task."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from pydantic import ValidationError

import graders
import qtypes
import tasks
from graders.kit import Grader
from qtypes import seeds
from qtypes.contract import Clock, Device, Experiment, Notebook, QType, Query, Record
from qtypes.errors import AgentError
from tasks import TaskCard

DRAWS = 12
PATIENCE_S = 4.0
FEWEST = 2
TODAY = dt.date(2024, 5, 17)


def same(a: Record, b: Record, *, ignore_unit: str | None = None) -> bool:
    """Whether two records hold the same arrays bit by bit; arrays in `ignore_unit` are left out."""
    left, right = ({n: x.values for n, x in r.arrays.items() if x.unit != ignore_unit} for r in (a, b))
    return left.keys() == right.keys() and all(
        left[n].dtype == right[n].dtype and np.array_equal(left[n], right[n], equal_nan=left[n].dtype.kind in "fc") for n in left
    )


class QTypeSubject:
    """A qtype on a few devices.

    `profiles` are the profiles of the tasks that use it, by task; a qtype without a task is tried on the defaults of its `Profile`.
    Devices are drawn once: `draws` of them for each profile, fewer where drawing takes longer than `patience_s`, at least two.
    """

    def __init__(
        self, qtype: QType[Any, Any], profiles: Mapping[str, Any] | None = None, *, draws: int = DRAWS, patience_s: float = PATIENCE_S
    ) -> None:
        self.qtype = qtype
        self.name = qtype.name
        self.draws = draws
        self.patience_s = patience_s
        self._profiles = profiles
        self._devices: dict[str, tuple[Device[Any, Any], ...]] = {}

    @cached_property
    def profiles(self) -> dict[str, Any]:
        if self._profiles is not None:
            return dict(self._profiles)
        cards = [tasks.load(n) for n in tasks.names()]
        found = {c.name: self.qtype.read_profile(c.profile) for c in cards if c.qtype == self.name}
        if not found:
            try:
                found = {"default": self.qtype.read_profile({})}
            except ValidationError as exc:
                raise qtypes.TaskError(f"{self.name}: no task uses it and its Profile has no defaults to try it on: {exc}") from exc
        return found

    @property
    def first(self) -> str:
        """Label of the profile on which rules run that need one only."""
        return next(iter(self.profiles))

    def seed(self, label: str, k: int) -> np.random.SeedSequence:
        return seeds.root_from(f"contract/{label}/{k}".encode())

    def draw(self, label: str, k: int) -> Device[Any, Any]:
        """Device `k` of a profile, drawn as a session draws it."""
        profile = self.profiles[label]
        hidden = self.qtype.draw(seeds.generator(self.seed(label, k), "device"), profile)
        return Device(spec=self.qtype.spec(hidden, profile), hidden=hidden, profile=profile)

    def devices(self, label: str | None = None) -> tuple[Device[Any, Any], ...]:
        """The drawn devices of a profile."""
        label = self.first if label is None else label
        if label not in self._devices:
            drawn: list[Device[Any, Any]] = []
            end = time.monotonic() + self.patience_s
            while len(drawn) < self.draws and (len(drawn) < FEWEST or time.monotonic() < end):
                drawn.append(self.draw(label, len(drawn)))
            self._devices[label] = tuple(drawn)
        return self._devices[label]

    def notebook(self, label: str, k: int, today: dt.date = TODAY) -> Notebook:
        device = self.devices(label)[k]
        return self.qtype.notebook(device.hidden, seeds.generator(self.seed(label, k), "notebook"), device.profile, today)

    @property
    def requests(self) -> tuple[type[Experiment] | type[Query], ...]:
        return (*self.qtype.experiments, *self.qtype.queries)

    def examples(self, device: Device[Any, Any] | None = None) -> list[Experiment]:
        """Examples of all experiments."""
        spec = (device or self.devices()[0]).spec
        return [e for model in self.qtype.experiments for e in model.examples(spec)]

    def query_examples(self, device: Device[Any, Any] | None = None) -> list[Query]:
        """Examples of the queries that read no record."""
        spec = (device or self.devices()[0]).spec
        return [q for model in self.qtype.queries if model.record_field is None for q in model.examples(spec)]

    def record(self, request: Experiment, device: Device[Any, Any] | None = None, *, start_s: float = 0.0, seed: int = 0) -> Record:
        """The record of `request` as a worker makes it, on the first device unless one is given."""
        rng = seeds.generator(seeds.root_from(f"contract/job/{seed}".encode()), "job/1")
        return request.run(device or self.devices()[0], Clock(start_s), rng)

    def answer(self, query: Query, device: Device[Any, Any] | None = None, *, seed: int = 0) -> dict[str, Any] | str:
        """The answer of a query that reads no record, or the text of its refusal."""
        rng = seeds.generator(seeds.root_from(f"contract/query/{seed}".encode()), "query/1")
        try:
            return query.answer(device or self.devices()[0], None, None, rng)
        except AgentError as exc:
            return exc.detail

    def modules(self) -> list[ModuleType]:
        """The loaded modules of the qtype's own package."""
        home = type(self.qtype).__module__
        package = home if hasattr(sys.modules[home], "__path__") else home.rpartition(".")[0] or home
        return [m for n, m in sys.modules.items() if n == package or n.startswith(package + ".")]


class TaskSubject:
    """A task with its grader and the devices of its qtype; `devices` may be shared between the tasks of a qtype."""

    def __init__(self, card: TaskCard, *, grader: Grader | None = None, devices: QTypeSubject | None = None) -> None:
        self.card = card
        self.name = card.name
        self._grader = grader
        self._devices = devices

    @cached_property
    def grader(self) -> Grader:
        return self._grader or graders.load(self.name)

    @cached_property
    def devices(self) -> QTypeSubject:
        if self._devices is not None:
            return self._devices
        qtype = qtypes.load(self.card.qtype)
        return QTypeSubject(qtype, {self.name: qtype.read_profile(self.card.profile)})

    @property
    def qtype(self) -> QType[Any, Any]:
        return self.devices.qtype

    @property
    def device(self) -> Device[Any, Any]:
        return self.devices.devices(self.name)[0]

    def instruction(self) -> str:
        """The instruction, or an empty text where there is none."""
        path = self.card.folder / "instruction.md"
        return path.read_text(encoding="utf-8") if path.is_file() else ""
