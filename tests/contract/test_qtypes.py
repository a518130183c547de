"""Every qtype keeps every rule of the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import qtypes
from qharbor.contract import QTYPE_RULES, Finding, NotApplicable, QTypeSubject

Rule = Callable[[QTypeSubject], list[Finding]]


@cache
def subject(name: str) -> QTypeSubject:
    return QTypeSubject(qtypes.load(name))


@pytest.mark.parametrize("rule", QTYPE_RULES, ids=lambda r: r.__name__)
@pytest.mark.parametrize("name", qtypes.names())
def test_qtype_keeps_the_rule(name: str, rule: Rule) -> None:
    try:
        findings = rule(subject(name))
    except NotApplicable as exc:
        pytest.skip(str(exc))
    assert not findings, "\n".join(map(str, findings))


@pytest.mark.slow
@pytest.mark.parametrize("rule", [r for r in QTYPE_RULES if "draws" in r.__name__ or "spec" in r.__name__ or "notebook" in r.__name__],
                         ids=lambda r: r.__name__)  # fmt: skip
@pytest.mark.parametrize("name", qtypes.names())
def test_qtype_keeps_the_rule_on_many_devices(name: str, rule: Rule) -> None:
    many = many_devices(name)
    findings = rule(many)
    assert not findings, "\n".join(map(str, findings))


@cache
def many_devices(name: str) -> QTypeSubject:
    return QTypeSubject(qtypes.load(name), draws=40, patience_s=120.0)
