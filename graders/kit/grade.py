"""Grade a bundle: verify the evidence, then recompute, bind, score. Deterministic; writes `score.json`."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import graders
import tasks
from evidence import SCORE, Bundle, EvidenceError, dumps, verify, write_whole
from graders.kit.base import Grader
from graders.kit.checks import CONTRACT, Category, Check, Outcome, Stage, Verdict
from graders.kit.session import GradedSession
from qtypes.errors import shown


def _fault(reason: str, **known: Any) -> Verdict:
    return Verdict(
        known.pop("task", "unknown"), known.pop("task_version", "unknown"), Outcome.INFRASTRUCTURE_FAULT, 0, reason=reason, **known
    )


def _schema_failure(error: ValidationError) -> Check:
    first = error.errors(include_url=False, include_input=False)[0]
    field = shown(".".join(str(p) for p in first["loc"]) or "(answer)")
    return Check("answer follows its schema", Stage.BIND, False, category=Category.SCHEMA, note=f"{field}: {first['msg']}")


def outcome_of(checks: list[Check]) -> Outcome:
    """`pass` if every gate passes; a failed gate of a contract category makes it a contract failure."""
    failed = [c for c in checks if c.gate and not c.passed]
    if not failed:
        return Outcome.PASS
    return Outcome.CONTRACT_FAILURE if any(c.category in CONTRACT for c in failed) else Outcome.SCIENCE_FAILURE


def _judge(grader: Grader, session: GradedSession, text: str | None, known: dict[str, Any]) -> Verdict:
    q = grader.recompute(session)
    public = {k: v for k, v in q.items() if not k.startswith("_")}
    reason = "" if text is not None else "no answer was submitted"
    try:
        answer = grader.standing(session, q) if text is None else grader.Answer.model_validate_json(text)
    except ValidationError as exc:
        return Verdict(**known, outcome=Outcome.CONTRACT_FAILURE, reward=0, checks=(_schema_failure(exc),), quantities=public)
    if answer is None:
        return Verdict(**known, outcome=Outcome.NO_SUBMISSION, reward=0, quantities=public, reason=reason)
    checks = grader.bind(answer, session, q)
    score = grader.score(answer, session, q, session.rng("score"))
    checks = [*checks, *score.checks]
    outcome = outcome_of(checks)
    public = {k: v for k, v in q.items() if not k.startswith("_")} | score.quantities
    return Verdict(**known, outcome=outcome, reward=int(outcome is Outcome.PASS), checks=tuple(checks), quantities=public, reason=reason,
                   race_metric=score.metric if outcome is Outcome.PASS else None, metric_unit=score.metric_unit)  # fmt: skip


def grade_bundle(folder: Path | str, *, nonce: str | None = None, write: bool = True) -> Verdict:
    """The verdict on a bundle.

    `nonce` is the session nonce that the caller expects, where it set one. Evidence that does not hold, another session's nonce, another
    version of the task, or an error of the grader is an `infrastructure_fault`: quarantined, rerun, never counted as a zero.
    """
    folder = Path(folder)
    verdict = _grade(folder, nonce)
    if write and folder.is_dir():
        write_whole(folder / SCORE, json.dumps(verdict.to_json(), indent=1, sort_keys=True, allow_nan=False).encode() + b"\n")
    return verdict


def _grade(folder: Path, nonce: str | None) -> Verdict:
    report = verify(folder)
    if not report.ok:
        return _fault(f"the evidence does not hold: {report.problem}")
    bundle = Bundle(folder)
    opened = bundle.opened
    fields = ("task", "task_version", "instance", "reproducible", "session", "commitment")
    if any(not isinstance(opened.get(f), bool if f == "reproducible" else str) for f in fields):
        return _fault("the first event is not one of this laboratory")
    known: dict[str, Any] = {f: opened[f] for f in fields}
    if nonce is not None and opened["nonce"] != nonce:
        return _fault("the evidence is another session's: its nonce is not the one expected", **known)
    try:
        card = tasks.load(opened["task"])
    except (KeyError, ValueError):
        return _fault("the task of the bundle is not known here", **known)
    if card.version != opened["task_version"]:
        return _fault(f"the bundle is of version {opened['task_version']}, the grader of version {card.version}", **known)
    try:
        verdict = _judge(graders.load(card.name), GradedSession(bundle), bundle.answer_text(), known)
        dumps(verdict.to_json())  # a number that is not finite is a fault of the grader
        return verdict
    except EvidenceError as exc:
        return _fault(f"the evidence does not hold: {exc}", **known)
    except Exception as exc:  # noqa: BLE001  any error of a grader is a fault of the laboratory
        traceback.print_exc()
        return _fault(f"the grader failed: {type(exc).__name__}", **known)
