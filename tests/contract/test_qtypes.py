"""Every qtype keeps every rule of the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import qtypes
from qharbor.contract import QTYPE_RULES, Finding, NotApplicable, QTypeSubject
from qharbor.contract.devices import draws_vary, spec_hides_the_device
from qharbor.contract.notebooks import notebook_keeps_the_secret
from tests.contract.subjects import qtype_subject

Rule = Callable[[QTypeSubject], list[Finding]]


@pytest.mark.parametrize("rule", QTYPE_RULES, ids=lambda r: r.__name__)
@pytest.mark.parametrize("name", qtypes.names())
def test_qtype_keeps_the_rule(name: str, rule: Rule) -> None:
    try:
        findings = rule(qtype_subject(name))
    except NotApplicable as exc:
        pytest.skip(str(exc))
    assert not findings, "\n".join(map(str, findings))


@cache
def many_devices(name: str) -> QTypeSubject:
    return QTypeSubject(qtypes.load(name), draws=40, patience_s=120.0)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [draws_vary, spec_hides_the_device, notebook_keeps_the_secret], ids=lambda r: r.__name__)
@pytest.mark.parametrize("name", qtypes.names())
def test_qtype_keeps_the_rule_on_many_devices(name: str, rule: Rule) -> None:
    findings = rule(many_devices(name))
    assert not findings, "\n".join(map(str, findings))
