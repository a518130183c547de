"""What can go wrong, by whose fault: the request (`Refused`), the job (`JobFailed`), the line (`Unreachable`, `CorruptRecord`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ADVICE: dict[str | int, str] = {
    "budget-exhausted": "ask for less, or stop here: the budget does not come back; see what is left with `lab budget`, dev.budget()",
    404: "see what there is with `lab spec`, `lab jobs`, `lab materials`, or dev.spec(), dev.jobs(), dev.materials()",
    409: "the session does not allow this now; see its phase with `lab spec`, dev.spec()",
    413: "send less; `lab spec`, dev.spec() tell the limits",
    422: "correct the field and send it again; `lab spec`, dev.spec() describe every field",
    429: "wait for jobs that are running, then send it again",
}


class LabError(Exception):
    """Base of all errors of this package."""


class Refused(LabError):
    """The laboratory refused a request; nothing was charged.

    `problem` is the problem document (RFC 9457) as received: `type`, `title`, `status`, `detail` and, where they apply, `field` (dotted
    path in the request), `got`, `limit`, `unit` and `left`.
    """

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = dict(problem)
        super().__init__(str(self.problem.get("detail") or self.problem.get("title") or "refused"))

    @property
    def status(self) -> int:
        """HTTP status, 0 where the document holds none."""
        status = self.problem.get("status")
        return status if isinstance(status, int) else 0

    @property
    def code(self) -> str:
        """The kebab-case identifier at the end of `type`, e.g. "budget-exhausted"; "" where there is none."""
        return str(self.problem.get("type", "")).rpartition(":")[2]

    @property
    def advice(self) -> str:
        """What to do next; "" where there is nothing general to say."""
        return _ADVICE.get(self.code) or _ADVICE.get(self.status) or ""

    def facts(self) -> dict[str, str]:
        """`field`, `got`, `limit`, `unit`, `left` as text, those that are present, in this order."""
        return {k: _plain(self.problem[k]) for k in ("field", "got", "limit", "unit", "left") if self.problem.get(k) is not None}

    def __str__(self) -> str:
        facts = ", ".join(f"{k}: {v}" for k, v in self.facts().items())
        text = f"{self.args[0]} [{facts}]" if facts else str(self.args[0])
        return f"{text}. Next: {self.advice}" if self.advice else text


def _plain(value: Any) -> str:
    """A fact in words: `{"ge": 0, "le": 30}` is "ge 0, le 30"."""
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(str(v) for v in value) if isinstance(value, list) else str(value)


class JobFailed(LabError):
    """A job ended without a record. `view` is its last job view; a job that the laboratory failed is refunded."""

    def __init__(self, view: Mapping[str, Any]) -> None:
        self.view = dict(view)
        status = self.view.get("status")
        fate = "was cancelled and has no record" if status == "cancelled" else "failed in the laboratory and was refunded; submit it again"
        problem = self.view.get("problem")
        reason = f": {problem['detail']}" if isinstance(problem, Mapping) and problem.get("detail") else ""
        super().__init__(f"job {self.view.get('job_id')} ({self.view.get('tool')}) {fate}{reason}")


class JobPending(LabError, TimeoutError):
    """Waiting for a job took longer than asked. The job goes on; wait again or fetch it later by its id."""


class Unreachable(LabError):
    """The laboratory did not answer, or not in its own language, within the time allowed."""


class CorruptRecord(LabError):
    """A record is not what the laboratory said it is: wrong digest, size, arrays, or not a plain `.npz`."""
