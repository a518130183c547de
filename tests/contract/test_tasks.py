"""Every task keeps every rule of the contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tasks
from qharbor.contract import TASK_RULES, Finding, NotApplicable, TaskSubject
from qharbor.contract.bundles import harbor_accepts_the_bundle
from tests.contract.subjects import task_subject

RULES = [pytest.param(r, id=r.__name__, marks=[pytest.mark.slow] if r is harbor_accepts_the_bundle else []) for r in TASK_RULES]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", tasks.names())
def test_task_keeps_the_rule(name: str, rule: Callable[[TaskSubject], list[Finding]]) -> None:
    try:
        findings = rule(task_subject(name))
    except NotApplicable as exc:
        pytest.skip(str(exc))
    assert not findings, "\n".join(map(str, findings))


def test_indices_are_unique() -> None:
    indices = [tasks.load(name).index for name in tasks.names()]
    assert len(set(indices)) == len(indices)
