"""Subjects of the contract, made once for all tests."""

from __future__ import annotations

from functools import cache

import qtypes
import tasks
from qharbor.contract import QTypeSubject, TaskSubject


@cache
def qtype_subject(name: str) -> QTypeSubject:
    return QTypeSubject(qtypes.load(name))


@cache
def task_subject(name: str) -> TaskSubject:
    card = tasks.load(name)
    return TaskSubject(card, devices=qtype_subject(card.qtype))
