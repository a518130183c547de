"""What the tests of graders of decoder models share."""

from __future__ import annotations

from typing import Any

from graders.kit import Category, Check
from graders.kit.grade import outcome_of
from qtypes.contract import Device
from tests.graders.in_process import failed


class Session:
    """What the grader reads of a finished session."""

    def __init__(self, device: Device, jobs: tuple[Any, ...]) -> None:
        self.device, self.jobs = device, jobs

    def of(self, *tools: str) -> tuple[Any, ...]:
        return tuple(j for j in self.jobs if j.tool in tools)

    def only(self, *ids: str) -> Session:
        return Session(self.device, tuple(j for j in self.jobs if j.job_id in ids))


def assert_refused(checks: dict[str, Check], model: str, reason: str, category: Category) -> None:
    """CANON refused `model` for this reason, nothing was decoded, and that is a failure of contract."""
    bad = checks[f"{model} is a model that CANON takes"]
    assert not bad.passed
    assert bad.note.startswith(reason)
    assert bad.category is category
    assert "fresh shots were decoded" in failed(checks)
    assert outcome_of(list(checks.values())) == "contract_failure"


def assert_too_slow(checks: dict[str, Check], quantities: dict[str, Any]) -> None:
    """Decoding ran out of its time, which is a failure by name and leaves no quantity."""
    bad = checks["fresh shots were decoded in time"]
    assert (bad.passed, bad.category) == (False, Category.RESOURCE)
    assert quantities == {}
