"""What a bundle tells about how the session went: answer, notebook, budget, time. Read by the taxonomy, by transcripts and by exports."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from evidence import Bundle, Event, Ledger, amounts, loads
from graders.kit import GradedSession

Leaf = tuple[str, Any]


def leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """All scalars of a JSON value with their path, `name`, `name.part`, `name[3]`."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for k, part in enumerate(value):
            yield from leaves(part, f"{path}[{k}]")
    else:
        yield path, value


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Session:
    """A bundle that verified."""

    folder: Path

    @cached_property
    def bundle(self) -> Bundle:
        return Bundle(self.folder)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        return tuple(self.bundle.events())

    def of(self, kind: str) -> tuple[Event, ...]:
        return tuple(e for e in self.events if e.kind == kind)

    @cached_property
    def opened(self) -> Mapping[str, Any]:
        return self.events[0].data

    @cached_property
    def answer(self) -> Any:
        """The submitted answer as JSON, None without one."""
        text = self.bundle.answer_text()
        return None if text is None else loads(text)

    @cached_property
    def notebook(self) -> list[Mapping[str, Any]]:
        """Entries as the session opened, oldest first."""
        return list(self.bundle.payload(self.opened["notebook"]).get("entries", []))

    @cached_property
    def spec(self) -> Any:
        """The public description of the device, as JSON."""
        return GradedSession(self.bundle).device.spec.model_dump(mode="json")

    @cached_property
    def budget(self) -> dict[str, dict[str, float]]:
        ledger = Ledger(self.opened["budget"])
        for event in self.events:
            ledger.apply(event)
        return ledger.to_json()

    def cheapest(self, unit: str) -> Decimal | None:
        """The least that one of its experiments took of a unit, None where none took any."""
        costs = (amounts(e.data["cost"]).get(unit, Decimal(0)) for e in self.events if e.kind in ("job_submitted", "query_answered"))
        return min((c for c in costs if c > 0), default=None)

    @property
    def wall_s(self) -> float:
        """From the opening to the last event, s."""
        first, last = (dt.datetime.fromisoformat(e.time) for e in (self.events[0], self.events[-1]))
        return (last - first).total_seconds()
