"""What a hardware type is: `QType`, `Experiment`, `Query`, `Record`, `Notebook`, `Cost`.

A qtype is one folder under `qtypes/` whose `__init__.py` binds `QTYPE` to an instance of :class:`QType`. Adding one touches
no other file. Everything here is plain data and pure functions: the laboratory decides when to run them, what they cost and what
is written down.

Requests are validated from JSON text in strict mode: unknown fields, booleans as numbers, numbers as strings, NaN and Infinity are
refused. Inside a request use tuples for sequences and nested models derived from :class:`Part`.
"""

from __future__ import annotations

import datetime as dt
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from qtypes.errors import TaskError

STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
MICRO = Decimal("0.000001")
_SCALARS = "bifcu"


def quantity(unit: str, description: str, **bounds: Any) -> Any:
    """A documented number: `T1: float = quantity("us", "relaxation time", gt=0, le=1e4)`.

    `unit` is an SI unit, or "1" for a pure number. Bounds are pydantic's (`ge`, `gt`, `le`, `lt`, `multiple_of`, `default`,
    `min_length`, `max_length`).
    """
    return Field(description=description, json_schema_extra={"unit": unit}, **bounds)


class Part(BaseModel):
    """Base of every nested piece of a request, spec or hidden state: frozen, strict, finite, no unknown fields."""

    model_config = STRICT


SpecT = TypeVar("SpecT", bound=Part)
HiddenT = TypeVar("HiddenT", bound=Part)


@dataclass(frozen=True)
class Cost:
    """What a request is charged: amounts per budget unit, and how far it moves the lab clock.

    `amounts` maps a unit (`shots`, `jobs`, `units`, `settings`, `evaluate_calls`, ...) to a number with at most six decimals; `lab_s` is
    the lab time in seconds and is metered too where the task has a `lab_s` budget. A unit that the task does not meter is recorded
    but not limited.
    """

    amounts: Mapping[str, Decimal] = field(default_factory=dict)
    lab_s: Decimal = Decimal(0)

    @classmethod
    def of(cls, *, lab_s: float | Decimal = 0, **amounts: float | int | Decimal) -> Cost:
        """Exact decimal amounts from numbers, rounded to 1e-6."""
        return cls({k: _exact(v) for k, v in amounts.items()}, _exact(lab_s))

    def metered(self) -> dict[str, Decimal]:
        """All units including `lab_s`."""
        return {**self.amounts, "lab_s": self.lab_s}

    def to_json(self) -> dict[str, float]:
        return {k: float(v) for k, v in self.metered().items()}


def _exact(value: float | int | Decimal) -> Decimal:
    amount = Decimal(str(value)).quantize(MICRO)
    if not amount.is_finite() or amount < 0 or amount >= Decimal(10) ** 9:
        raise TaskError(f"a cost must lie in [0, 1e9), got {value!r}")
    return amount


@dataclass(frozen=True)
class Clock:
    """The lab clock of one job: seconds since the session opened at which the job's first shot is taken."""

    start_s: float


@dataclass(frozen=True)
class Array:
    """One named array of a record.

    `values` has a boolean, integer, float or complex dtype and only finite numbers; `axes` names each axis in order, e.g.
    `("shot", "byte")`; `unit` is an SI unit or "1"; `layout` states what a reader must know (bit order, packing).
    """

    values: np.ndarray
    unit: str
    axes: tuple[str, ...]
    layout: str = ""


@dataclass(frozen=True)
class Record:
    """The raw outcome of an experiment: arrays, and a short summary of what was done (never of what it means)."""

    arrays: Mapping[str, Array]
    summary: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> Record:
        """Self, or :class:`TaskError` where an array is not raw, not finite or not described."""
        for name, array in self.arrays.items():
            values = array.values
            if values.dtype.kind not in _SCALARS:
                raise TaskError(f"record array {name}: dtype {values.dtype} is not numeric")
            if len(array.axes) != values.ndim:
                raise TaskError(f"record array {name}: {values.ndim} axes, described by {array.axes}")
            if values.dtype.kind in "fc" and not np.isfinite(values).all():
                raise TaskError(f"record array {name}: not finite")
        return self


class NotebookEntry(Part):
    """One dated entry of the previous operator. It may be stale; it never lies about its date."""

    date: dt.date
    author: str
    title: str
    text: str
    data: dict[str, Any] | None = None


class Notebook(Part):
    """The laboratory notebook at the start of the session, oldest entry first."""

    entries: tuple[NotebookEntry, ...]


@dataclass(frozen=True)
class Material:
    """A public file: circuit, layout, table or schema. `text` depends only on the public spec."""

    name: str
    description: str
    text: str
    media_type: str = "text/plain"


@dataclass(frozen=True)
class Device(Generic[SpecT, HiddenT]):
    """The device of a session as experiments, queries and graders see it."""

    spec: SpecT
    hidden: HiddenT
    profile: Part


class Experiment(Part, ABC):
    """A request that runs on the device; one REST route and one MCP tool each. The class docstring is the tool's description."""

    tool: ClassVar[str]
    """Name of the tool, `run_...`."""

    @classmethod
    def examples(cls, spec: Any) -> tuple[Self, ...]:
        """Small valid requests for a device with this public spec, each run within about a second.

        The contract suite demands at least one and that together they use every field; documentation shows them.
        """
        return ()

    @abstractmethod
    def cost(self) -> Cost:
        """What this request is charged; a function of the request alone."""

    def admit(self, spec: Any) -> None:
        """Raise :class:`~qtypes.errors.AgentError` where the request does not fit the public spec; the default admits all."""

    @abstractmethod
    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        """The record; equal arguments give an equal record on one machine."""


class Query(Part, ABC):
    """A request answered at once, in a worker, without moving the lab clock; logged like a job."""

    tool: ClassVar[str]
    record_field: ClassVar[str | None] = None
    """Name of the field that holds a job id whose record the query reads, if any."""

    @classmethod
    def examples(cls, spec: Any) -> tuple[Self, ...]:
        """As for :class:`Experiment`; a job id in an example stands for any completed job."""
        return ()

    def cost(self) -> Cost:
        """Free unless overridden; counted queries charge a unit of their own, e.g. `evaluate_calls`."""
        return Cost()

    def quota(self) -> tuple[str, int] | None:
        """A key and how often a query with this key is answered in a session; None for no such limit."""
        return None

    def admit(self, spec: Any) -> None:
        """As for :class:`Experiment`."""

    @abstractmethod
    def answer(
        self, device: Device[Any, Any], record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        """A JSON object of at most 64 kB. `record` and `source` are the arrays and the request of the job named by
        `record_field`. Raise `AgentError` for what the request itself got wrong (it is then not charged)."""


class QType(ABC, Generic[SpecT, HiddenT]):
    """A hardware type."""

    name: ClassVar[str]
    title: ClassVar[str]
    Spec: type[SpecT]
    Hidden: type[HiddenT]
    Profile: type[Part]
    """What a task may set: `[metadata.lab.profile]` of its card."""
    experiments: ClassVar[tuple[type[Experiment], ...]] = ()
    queries: ClassVar[tuple[type[Query], ...]] = ()
    drifts: ClassVar[bool] = False
    """Whether records depend on the lab clock at which a job starts."""
    public: ClassVar[frozenset[str]] = frozenset()
    """Fields of the spec, by dotted name, that differ from device to device on purpose; all others are the same for every device of a
    profile, and no other field of the spec bears the name of a hidden one. A hidden field of this name is public too."""
    bookkeeping: ClassVar[frozenset[str]] = frozenset()
    """Hidden fields, by dotted name, on which nothing that an agent sees depends; kept for graders and authors."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, profile: Any) -> HiddenT:
        """A fresh device."""

    def practice(self, profile: Any) -> HiddenT:
        """The public practice instance of a race; qtypes without races leave this out."""
        raise TaskError(f"{self.name} has no practice instance")

    @abstractmethod
    def spec(self, hidden: HiddenT, profile: Any) -> SpecT:
        """What the agent may know."""

    @abstractmethod
    def notebook(self, hidden: HiddenT, rng: np.random.Generator, profile: Any, today: dt.date) -> Notebook:
        """Dated entries up to `today`."""

    def materials(self, spec: SpecT, profile: Any) -> tuple[Material, ...]:
        """Public files; the default has none."""
        return ()

    def challenge(self, hidden: HiddenT, rng: np.random.Generator, profile: Any) -> dict[str, Any] | None:
        """A held-out challenge, committed in the first event and revealed once by `lock_and_reveal`; None where there is none."""
        return None

    def read_profile(self, raw: Mapping[str, Any]) -> Any:
        """The `Profile` of a task card's table; pydantic's `ValidationError` names a wrong field."""
        return self.Profile.model_validate_json(json.dumps(raw))

    def tools(self) -> dict[str, type[Experiment] | type[Query]]:
        """All request classes by tool name."""
        found: dict[str, type[Experiment] | type[Query]] = {e.tool: e for e in self.experiments}
        return found | {q.tool: q for q in self.queries}


Mode = Literal["pass_fail", "race", "test_case"]
