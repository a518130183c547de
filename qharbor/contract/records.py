"""Rules on records: reproducible, random, raw, moved by the hidden parameters and by the lab clock, and by nothing else."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from unittest import mock

from pydantic import BaseModel, ValidationError

from qharbor.contract.findings import Finding, Findings, NotApplicable
from qharbor.contract.source import outside_state
from qharbor.contract.subject import QTypeSubject, same
from qharbor.contract.values import replaced
from qtypes import TaskError
from qtypes.contract import Device, Experiment

SEEDS = range(4)
LATER_S = (3600.0, 36_000.0, 360_000.0)
WALL_STEP_S = 100_000.0


def _experiments(subject: QTypeSubject) -> list[Experiment]:
    found = subject.examples()
    if not found:
        raise NotApplicable(f"{subject.name} has no experiment, or no examples of one")
    return found


def _where(request: Experiment, k: int) -> str:
    return f"{request.tool} example {k}"


def records_repeat(subject: QTypeSubject) -> list[Finding]:
    """The same request, device, lab clock and seed give the same record, whatever ran before; the same holds for queries."""
    found = Findings("records_repeat", subject.name)
    examples = subject.examples()
    first = [subject.record(e, start_s=7.0, seed=1) for e in examples]
    for k, example in reversed(list(enumerate(examples))):
        again = subject.record(type(example).model_validate_json(example.model_dump_json()), start_s=7.0, seed=1)
        if not same(first[k], again) or dict(first[k].summary) != dict(again.summary):
            found.add(_where(example, k), "the same seed gave another record")
    for k, query in enumerate(subject.query_examples()):
        if subject.answer(query, seed=1) != subject.answer(query, seed=1):
            found.add(f"{query.tool} example {k}", "the same seed gave another answer")
    return found


def records_differ_between_seeds(subject: QTypeSubject) -> list[Finding]:
    """Another seed gives another record: shots are drawn, not computed."""
    found = Findings("records_differ_between_seeds", subject.name)
    for k, example in enumerate(_experiments(subject)):
        first = subject.record(example, seed=0)
        if all(same(first, subject.record(example, seed=s)) for s in range(1, 1 + len(SEEDS))):
            found.add(_where(example, k), f"{1 + len(SEEDS)} seeds gave the same record")
    return found


def records_are_raw_and_finite(subject: QTypeSubject) -> list[Finding]:
    """Arrays are numeric, finite, described; the summary says what was done and holds nothing that the device or the shots decide."""
    found = Findings("records_are_raw_and_finite", subject.name)
    for k, example in enumerate(_experiments(subject)):
        where = _where(example, k)
        record = subject.record(example)
        try:
            record.check()
        except TaskError as exc:
            found.add(where, str(exc))
        if not record.arrays:
            found.add(where, "a record without arrays")
        for name, array in record.arrays.items():
            if not array.unit:
                found.add(f"{where}: {name}", "no unit")
            if not array.values.size:
                found.add(f"{where}: {name}", "an empty array")
        try:
            text = json.dumps(dict(record.summary), allow_nan=False)
        except (TypeError, ValueError) as exc:
            found.add(where, f"the summary is not finite JSON: {exc}")
            continue
        other = subject.record(example, subject.devices()[1], seed=1)
        if json.dumps(dict(other.summary), allow_nan=False) != text:
            found.add(where, "the summary differs on another device or with other shots: it says more than what was done", text)
    return found


def hidden_parameters_matter(subject: QTypeSubject) -> list[Finding]:
    """Each hidden parameter, replaced by another device's, changes the spec, an answer or a record at the same seed.

    A parameter that changes nothing is either forgotten in the physics or belongs into `QType.bookkeeping`.
    """
    found = Findings("hidden_parameters_matter", subject.name)
    inert: dict[str, int] = {}
    tried: set[str] = set()
    for label in subject.profiles:
        devices = subject.devices(label)[:3]
        here = devices[0]
        seen = _Observed(subject, here)
        for path in _parameters(here.hidden):
            name = ".".join(path)
            if _within(name, subject.qtype.bookkeeping) or (name in tried and name not in inert):
                continue
            changed = [d for d in (_swapped(subject, here, other, path) for other in devices[1:]) if d is not None]
            if changed:
                tried.add(name)
                inert[name] = inert.get(name, 0) + 1
                if any(seen.differs(d) for d in changed):
                    del inert[name]
    for name in inert:
        found.add(f"Hidden.{name}", "replaced by another device's, it changes no spec, answer or record of the examples")
    return found


class _Observed:
    """What an agent sees of one device on the examples, computed once."""

    def __init__(self, subject: QTypeSubject, device: Device[Any, Any]) -> None:
        self.subject = subject
        self.spec = device.spec
        self.experiments, self.queries = subject.examples(device), subject.query_examples(device)
        starts = (0.0, *LATER_S[:2]) if subject.qtype.drifts else (0.0,)
        self.points = [(e, t, s) for s in SEEDS[:2] for t in starts for e in self.experiments]
        self.device = device
        self._records: dict[int, Any] = {}

    def differs(self, other: Device[Any, Any]) -> bool:
        if other.spec != self.spec:
            return True
        if any(self.subject.answer(q, self.device) != self.subject.answer(q, other) for q in self.queries):
            return True
        for k, (example, start, seed) in enumerate(self.points):
            if k not in self._records:
                self._records[k] = self.subject.record(example, self.device, start_s=start, seed=seed)
            if not same(self._records[k], self.subject.record(example, other, start_s=start, seed=seed)):
                return True
        return False


def _within(name: str, declared: frozenset[str]) -> bool:
    return any(name == d or name.startswith(d + ".") for d in declared)


def _parameters(hidden: BaseModel, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of the fields of a model, descending into nested models; a table is one parameter."""
    found: list[tuple[str, ...]] = []
    for name in type(hidden).model_fields:
        value = getattr(hidden, name)
        found += _parameters(value, (*path, name)) if isinstance(value, BaseModel) else [(*path, name)]
    return found


def _swapped(
    subject: QTypeSubject, here: Device[Any, Any], other: Device[Any, Any], path: tuple[str, ...]
) -> Device[Any, Any] | None:
    """`here` with one parameter of `other`; None where they agree in it or where it does not fit the rest."""
    mine, theirs = json.loads(here.hidden.model_dump_json()), json.loads(other.hidden.model_dump_json())
    for step in path:
        theirs = theirs[step]
    changed = replaced(mine, path, theirs)
    if changed == mine:
        return None
    try:
        hidden = type(here.hidden).model_validate_json(json.dumps(changed))
        return Device(spec=subject.qtype.spec(hidden, here.profile), hidden=hidden, profile=here.profile)
    except (ValidationError, ValueError, TaskError):
        return None


def drift_follows_the_lab_clock(subject: QTypeSubject) -> list[Finding]:
    """A record depends on the lab clock if and only if the qtype says that it drifts, and never on the wall clock."""
    found = Findings("drift_follows_the_lab_clock", subject.name)
    for where, what in outside_state(subject.modules()):
        found.add(where, "a record must not depend on it; use rng and clock.start_s", what)
    examples = subject.examples()
    moved: list[str] = []
    for k, example in enumerate(examples):
        now = [subject.record(example, start_s=50.0, seed=s) for s in (0, 1)]
        with wall_clock_moved(subject, WALL_STEP_S):
            then = [subject.record(example, start_s=50.0, seed=s) for s in (0, 1)]
        if not all(same(a, b) for a, b in zip(now, then, strict=True)):
            found.add(_where(example, k), f"the record of the same job is another {WALL_STEP_S:g} s of wall time later")
        if not same(now[0], subject.record(example, start_s=50.0, seed=0)):
            continue  # not reproducible at all: another rule says so
        for start in LATER_S:
            if any(not same(subject.record(example, start_s=start, seed=s), subject.record(example, start_s=50.0, seed=s), ignore_unit="s")
                   for s in (SEEDS if subject.qtype.drifts else (0, 1))):  # fmt: skip
                moved.append(_where(example, k))
                break
        if moved and subject.qtype.drifts:
            break
    if moved and not subject.qtype.drifts:
        found.add(moved[0], "the record depends on the lab clock; QType.drifts says that it does not")
    if examples and subject.qtype.drifts and not moved:
        found.add("QType.drifts", "no example's record depends on the lab clock", f"up to {LATER_S[-1]:g} s")
    return found


@contextlib.contextmanager
def wall_clock_moved(subject: QTypeSubject, step_s: float) -> Iterator[None]:
    """Every clock of the process, as the qtype's modules reach it, moved by `step_s`."""

    class Moved(dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return _NOW(tz) + dt.timedelta(seconds=step_s)

        @classmethod
        def utcnow(cls) -> Any:
            return _NOW(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=step_s)

    class MovedDate(dt.date):
        @classmethod
        def today(cls) -> Any:
            return (_NOW() + dt.timedelta(seconds=step_s)).date()

    with contextlib.ExitStack() as stack:
        changes: dict[Any, Any] = {dt.datetime: Moved, dt.date: MovedDate}
        for name in ("time", "monotonic", "perf_counter", "process_time"):
            for suffix, scale in (("", 1), ("_ns", 10**9)):
                real = getattr(time, name + suffix)
                changes[real] = (lambda real=real, scale=scale: real() + type(real())(step_s * scale))
                stack.enter_context(mock.patch.object(time, name + suffix, changes[real]))
        stack.enter_context(mock.patch.object(dt, "datetime", Moved))
        stack.enter_context(mock.patch.object(dt, "date", MovedDate))
        for module in subject.modules():
            for name, value in list(vars(module).items()):
                if callable(value) and any(value is real for real in changes):
                    stack.enter_context(mock.patch.object(module, name, changes[value]))
        yield


_NOW = dt.datetime.now


def costs_follow_from_the_request(subject: QTypeSubject) -> list[Finding]:
    """An experiment costs something, the same for equal requests at any time, and more shots cost more."""
    found = Findings("costs_follow_from_the_request", subject.name)
    for k, example in enumerate(_experiments(subject)):
        where = _where(example, k)
        cost = example.cost()
        if not any(v > 0 for v in cost.amounts.values()):
            found.add(where, "free: it charges no unit", cost.to_json())
        copy = type(example).model_validate_json(example.model_dump_json())
        with wall_clock_moved(subject, WALL_STEP_S):
            again = copy.cost()
        subject.record(example)
        if not cost == again == example.cost() == copy.cost():
            found.add(where, "equal requests cost different amounts", again.to_json(), cost.to_json())
        more = _more_shots(example)
        if more is not None and not _dearer(more.cost().amounts, cost.amounts):
            found.add(where, "twice the shots cost no more in any unit", more.cost().to_json(), cost.to_json())
    return found


def _more_shots(example: Experiment) -> Experiment | None:
    shots = getattr(example, "shots", None)
    if not isinstance(shots, int):
        return None
    try:
        return type(example).model_validate_json(json.dumps({**example.model_dump(mode="json"), "shots": 2 * shots}))
    except ValidationError:
        return None


def _dearer(more: Any, less: Any) -> bool:
    return any(amount > less.get(unit, Decimal(0)) for unit, amount in more.items())
