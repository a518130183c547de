"""Every task keeps every rule of the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import qtypes
import tasks
from qharbor.contract import TASK_RULES, Finding, NotApplicable, QTypeSubject, TaskSubject
from qharbor.contract.bundles import harbor_accepts_the_bundle

RULES = [pytest.param(r, id=r.__name__, marks=[pytest.mark.slow] if r is harbor_accepts_the_bundle else []) for r in TASK_RULES]


@cache
def devices(qtype: str) -> QTypeSubject:
    return QTypeSubject(qtypes.load(qtype), draws=2)


@cache
def subject(name: str) -> TaskSubject:
    card = tasks.load(name)
    return TaskSubject(card, devices=devices(card.qtype))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", tasks.names())
def test_task_keeps_the_rule(name: str, rule: Callable[[TaskSubject], list[Finding]]) -> None:
    try:
        findings = rule(subject(name))
    except NotApplicable as exc:
        pytest.skip(str(exc))
    assert not findings, "\n".join(map(str, findings))


def test_indices_are_unique() -> None:
    indices = [tasks.load(name).index for name in tasks.names()]
    assert len(set(indices)) == len(indices)
