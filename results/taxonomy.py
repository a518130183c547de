"""Why a trial failed: a pattern within its outcome, with the lines of evidence that it rests on.

Each rule reads the verdict and the session's own record and names a pattern only where it can show it:

- *result in hand*: no answer came, but the agent held one: an answer it had checked, a value it had noted, or jobs that already give it;
- *budget exhausted*: no answer, or evidence missing, and of some unit less is left than the cheapest of its own experiments took;
- *stale prior reused*: a number of the answer is the notebook's, to the last digit;
- *trap taken*: the checks that the task's grader names as its trap's signature fail, and those that the trap meets hold;
- *overclaimed precision*: the stated uncertainty is smaller than the records, the regrade or the bound allow.

The first of these that applies is the pattern; the most specific stand first. A failure that fits none has the pattern `none`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import graders
from evidence import EvidenceError
from graders.kit.checks import CONTRACT, Category, Outcome
from qtypes.errors import shown
from results.model import Graded, Pattern
from results.session import Leaf, Session, is_number, leaves

CHECKS_SHOWN = 6
DIGITS = 3
"""A number with fewer significant digits may agree by chance."""
PULL = 3.0
"""Stated standard errors between a claim and the value recomputed from the same records."""
SHRUNK = 0.5
"""Stated over recomputed uncertainty below which precision is overclaimed."""
WALL_SHARE = 0.98
_UNCERTAINTY = re.compile(r"sigma|uncertaint|standard error|interval", re.IGNORECASE)
_FIELD_OF_SIGMA = re.compile(r"_?(sigma|stderr|uncertainty|err)(?=_|$)")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*\d)")

Found = tuple[Pattern, list[str]]


def classify(graded: Graded, session: Session | None = None) -> Graded:
    """`graded` with its pattern and evidence lines. `session` is its bundle where one verified."""
    outcome = graded.outcome
    if outcome is Outcome.PASS:
        return replace(graded, pattern=Pattern.NONE, evidence=(_closest(graded.verdict),))
    lines = _failing(graded.verdict)
    if outcome is Outcome.INFRASTRUCTURE_FAULT:
        return replace(graded, pattern=Pattern.NONE, evidence=(*_reason(graded.verdict), *lines))
    pattern, more = Pattern.NONE, list[str]()
    if session is not None:
        rules = _UNANSWERED if outcome is Outcome.NO_SUBMISSION else _ANSWERED
        try:
            pattern, more = next((found for rule in rules if (found := rule(graded.verdict, session))), (Pattern.NONE, []))
        except (EvidenceError, KeyError, ValueError, TypeError) as exc:
            more = [f"the session could not be read for a pattern ({type(exc).__name__})"]
    return replace(graded, pattern=pattern, evidence=(*_reason(graded.verdict), *lines, *more))


# -- lines ----------------------------------------------------------------------------------------------------------------------------


def _reason(verdict: Mapping[str, Any]) -> list[str]:
    return [verdict["reason"]] if verdict.get("reason") else []


def _failing(verdict: Mapping[str, Any]) -> list[str]:
    failed = [c for c in verdict.get("checks", ()) if c["gate"] and not c["passed"]]
    more = [f"and {len(failed) - CHECKS_SHOWN} more checks that fail"] if len(failed) > CHECKS_SHOWN else []
    return [check_line(c) for c in failed[:CHECKS_SHOWN]] + more


def check_line(check: Mapping[str, Any]) -> str:
    """A check in one line: value, threshold, margin, jobs."""
    parts = []
    unit = "" if check["unit"] == "1" else f" {check['unit']}"
    if check["value"] is not None and check["threshold"] is not None:
        parts.append(f"{_short(check['value'])}{unit} against {_short(check['threshold'])}{unit}")
    if check["margin"] is not None:
        parts.append(f"margin {check['margin']:+.1%}")
    if check["note"]:
        parts.append(check["note"])
    if check["jobs"]:
        parts.append(f"jobs {', '.join(check['jobs'][:3])}" + (f" and {len(check['jobs']) - 3} more" if len(check["jobs"]) > 3 else ""))
    return f"{check['name']}: {'; '.join(parts) or 'does not hold'}"


def _closest(verdict: Mapping[str, Any]) -> str:
    margins = [c for c in verdict.get("checks", ()) if c["gate"] and c["margin"] is not None]
    return f"closest: {check_line(min(margins, key=lambda c: c['margin']))}" if margins else "all checks hold"


def _short(value: Any) -> str:
    return f"{value:.4g}" if is_number(value) else str(value)


# -- rules ----------------------------------------------------------------------------------------------------------------------------


def _in_hand(verdict: Mapping[str, Any], session: Session) -> Found | None:
    fields = [name for name, field in graders.load(verdict["task"]).Answer.model_fields.items() if field.annotation in (float, int)]
    lines = []
    for entry in session.of("notebook_appended"):
        text = str(entry.data.get("text", ""))
        noted = [f for f in fields if re.search(rf"\b{re.escape(f)}\b\W{{0,5}}[-+]?[\d.]", text)]
        if noted:
            lines.append(f"event {entry.seq}: the agent noted {', '.join(noted)}: {shown(text[:120])}")
    known = [f for f in fields if is_number(verdict["quantities"].get(f))]
    lines += [f"the logged jobs give {f} = {_short(verdict['quantities'][f])}" for f in known]
    if session.of("challenge_revealed"):
        lines.append(f"event {session.of('challenge_revealed')[0].seq}: the challenge was revealed, and no answer followed")
    return (Pattern.RESULT_IN_HAND, lines) if lines else None


def _exhausted(verdict: Mapping[str, Any], session: Session) -> Found | None:
    missing = any(c["category"] == Category.MISSING_EVIDENCE.value for c in verdict["checks"] if c["gate"] and not c["passed"])
    if not (missing or verdict["outcome"] == Outcome.NO_SUBMISSION.value):
        return None
    lines = []
    for unit, entry in session.budget.items():
        cheapest = session.cheapest(unit)
        if "left" in entry and cheapest is not None and Decimal(str(entry["left"])) < cheapest:
            lines.append(f"{unit}: {entry['used']:g} of {entry['limit']:g} used; the cheapest of its experiments took {cheapest:f}")
    limit = session.opened.get("limits", {}).get("wall_s")
    if is_number(limit) and session.wall_s >= WALL_SHARE * float(limit):
        lines.append(f"wall time: {session.wall_s:.0f} s of {limit:g} s")
    return (Pattern.BUDGET_EXHAUSTED, lines) if lines else None


def _stale(verdict: Mapping[str, Any], session: Session) -> Found | None:
    del verdict
    claimed = [(path, value) for path, value in leaves(session.answer) if is_number(value)]
    public = {float(v) for _, v in leaves(session.spec) if is_number(v)}
    lines = []
    for entry in session.notebook:
        told = [(path, v) for path, v in leaves(entry.get("data") or {}) if is_number(v)]
        told += [("", float(m)) for m in _NUMBER.findall(str(entry.get("text", "")))]
        for path, value in claimed:
            same = _same(path, value, told, public)
            if same is not None:
                lines.append(f"the answer's {path} = {value:g} is the notebook's {same or 'number'} of {entry.get('date', 'its entry')}")
    return (Pattern.STALE_PRIOR, lines[:CHECKS_SHOWN]) if lines else None


def _same(path: str, value: float, told: Iterable[Leaf], public: set[float]) -> str | None:
    for name, other in told:
        if not math.isclose(value, other, rel_tol=1e-9, abs_tol=0.0) or float(value) in public:
            continue
        named = _last(name) == _last(path) != ""
        if digits(value) >= (2 if named else DIGITS):
            return name
    return None


def _last(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path).rsplit(".", 1)[-1]


def digits(value: float) -> int:
    """Significant digits as written."""
    return len(f"{value!r}".lower().split("e")[0].replace("-", "").replace(".", "").strip("0"))


def _trap(verdict: Mapping[str, Any], session: Session) -> Found | None:
    del session
    lines = trap_lines(verdict)
    return (Pattern.TRAP_TAKEN, lines) if lines else None


def trap_lines(verdict: Mapping[str, Any]) -> list[str]:
    """The signature of the task's trap in a verdict (`Grader.trap_fails`, `Grader.trap_meets`); empty where it is not there."""
    grader = graders.load(verdict["task"])
    if not grader.trap_fails:
        return []
    state = {c["name"]: bool(c["passed"]) for c in verdict["checks"] if c["gate"]}
    if any(state.get(name, True) for name in grader.trap_fails) or not all(state.get(name, False) for name in grader.trap_meets):
        return []
    met = f", though it meets: {'; '.join(grader.trap_meets)}" if grader.trap_meets else ""
    return [f"the signature of the task's trap: fails {'; '.join(grader.trap_fails)}{met}"]


def _overclaimed(verdict: Mapping[str, Any], session: Session) -> Found | None:
    failed = [c for c in verdict["checks"] if c["gate"] and not c["passed"]]
    if any(c["category"] in {k.value for k in CONTRACT} for c in failed):
        return None  # there is too little behind the claim to compare it with
    lines = [f"{check_line(c)}: stated too small" for c in failed if _UNCERTAINTY.search(c["name"]) and "lower" in c["name"]]
    answer = session.answer if isinstance(session.answer, dict) else {}
    q = verdict["quantities"]
    for name, sigma in answer.items():
        of = _FIELD_OF_SIGMA.sub("", name)
        if of == name or not is_number(sigma) or not is_number(answer.get(of)) or sigma <= 0:
            continue
        if is_number(q.get(of)) and abs(answer[of] - q[of]) > PULL * sigma:
            pull = abs(answer[of] - q[of]) / sigma
            lines.append(f"{of} is stated as {answer[of]:.4g} +- {sigma:.2g}; the same records give {q[of]:.4g}, {pull:.1f} of these away")
        elif is_number(q.get(name)) and sigma < SHRUNK * q[name]:
            lines.append(f"{name} is stated as {sigma:.2g}; the same records give {q[name]:.2g}")
    return (Pattern.OVERCLAIMED_PRECISION, lines) if lines else None


Rule = Callable[[Mapping[str, Any], Session], "Found | None"]
_UNANSWERED: tuple[Rule, ...] = (_in_hand, _exhausted)
_ANSWERED: tuple[Rule, ...] = (_stale, _trap, _overclaimed, _exhausted)
