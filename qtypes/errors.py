"""Whose fault it is, by type.

Only :class:`AgentError` reaches an agent as its own mistake; :class:`LabFault` is refunded and never counts against the
agent; :class:`TaskError` is a mistake of the task's author and is found by the contract suite.
"""

from __future__ import annotations

import reprlib
from typing import Any

_REPR = reprlib.Repr(maxlist=8, maxtuple=8, maxdict=8, maxset=8, maxlevel=4, maxlong=80, maxstring=200, maxother=200)
_SHOWN = 80  # characters of a refused value that are echoed: enough to recognise it, too few to fill a page


def shown(value: Any) -> str:
    """A refused value as it may be echoed: short, one line, printable."""
    text = value if isinstance(value, str) else _REPR.repr(value)  # bounded: the value may be a whole answer of 20 MB
    text = "".join(c if c.isprintable() else "?" for c in text[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


class AgentError(Exception):
    """A refusal: the request is at fault, nothing is charged.

    ``field`` is the dotted path in the request, ``got`` the value as received (shortened), ``limit`` what is allowed,
    ``unit`` the unit of both, ``left`` what remains of a budget. ``code`` is a stable kebab-case identifier.
    """

    def __init__(
        self,
        detail: str,
        *,
        field: str | None = None,
        got: Any = None,
        limit: Any = None,
        unit: str | None = None,
        left: Any = None,
        code: str = "invalid-request",
        status: int = 422,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.got = None if got is None else shown(got)
        self.limit = limit
        self.unit = unit
        self.left = left
        self.code = code
        self.status = status

    def problem(self) -> dict[str, Any]:
        """The problem document (RFC 9457) that both surfaces send."""
        body: dict[str, Any] = {
            "type": f"urn:quantum-harbor:problem:{self.code}",
            "title": self.code.replace("-", " "),
            "status": self.status,
            "detail": self.detail,
        }
        extra = {"field": self.field, "got": self.got, "limit": self.limit, "unit": self.unit, "left": self.left}
        body.update({k: v for k, v in extra.items() if v is not None})
        return body


class LabFault(Exception):
    """The laboratory failed; the job is refunded. The text is for the operator's log, never for the agent."""


class TaskError(Exception):
    """A task card, qtype or grader is inconsistent."""
