"""What a rule reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qtypes.errors import shown


class NotApplicable(Exception):
    """A rule that cannot be applied to a subject, or not on this machine; the text says why."""


@dataclass(frozen=True)
class Finding:
    """One violation.

    `rule` is the rule's name, `subject` the qtype or task, `where` the field, tool or file, `message` what is wrong, `value` what was
    found and `limit` what is demanded, both shortened, where there is one.
    """

    rule: str
    subject: str
    where: str
    message: str
    value: str | None = None
    limit: str | None = None

    def __str__(self) -> str:
        text = f"{self.rule}: {self.subject}: {self.where}: {self.message}"
        if self.value is not None:
            text += f" (found {self.value})"
        if self.limit is not None:
            text += f" (demanded {self.limit})"
        return text

    def to_json(self) -> dict[str, Any]:
        body = {"rule": self.rule, "subject": self.subject, "where": self.where, "message": self.message}
        return body | {k: v for k, v in (("value", self.value), ("limit", self.limit)) if v is not None}


class Findings(list[Finding]):
    """The findings of one rule on one subject."""

    def __init__(self, rule: str, subject: str) -> None:
        super().__init__()
        self.rule = rule
        self.subject = subject

    def add(self, where: str, message: str, value: Any = None, limit: Any = None) -> None:
        short = [None if v is None else shown(v) for v in (value, limit)]
        self.append(Finding(self.rule, self.subject, where, message, *short))
