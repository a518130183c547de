"""Transcripts judged: claims against the calls shown, graded as far as the evidence goes; and where a bundle exists, what differs.

Every number of the answer gets one line: was it measured (the graded quantity of that name from the records shown, or a number that a
measurement showed), computed outside of the laboratory from something, taken from the notebook or the public description, or is it nowhere
in the transcript? Whatever comes out is `unattested`: there is no pass without a bundle.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

import graders
import tasks
from graders.kit.base import Grader
from graders.kit.checks import Category, Check, Outcome, Stage, Verdict
from graders.kit.grade import outcome_of
from qtypes.errors import TaskError, shown
from results import integrity
from results.model import Graded, Pattern, Trial
from results.session import Session, is_number, leaves
from results.shown import NotShown, ShownSession
from results.taxonomy import check_line, digits
from results.transcripts import FIXED, Call, Transcript, TranscriptError, read

UNATTESTED = "unattested: judged from a transcript"
LISTED = 200
"""Numbers of an answer that are traced one by one; an artefact of more is not a list of claims."""
TRACEABLE = 3
RAW = 16
"""A longer list in a result is raw data: a number in it is no value that was shown."""
AGREES = 0.05
SIGMAS = 3.0
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class Origin(StrEnum):
    """Where a number of an answer comes from."""

    MEASURED = "measured"
    CONTRADICTED = "contradicted"
    COMPUTED = "computed"
    NOTEBOOK = "notebook"
    PUBLIC = "public"
    COARSE = "too coarse to trace"
    NOWHERE = "not measured"


def unattested(trial: Trial) -> Graded:
    """The verdict on a transcript without a bundle."""
    assert trial.transcript is not None
    name = trial.task
    try:
        transcript = read(trial.transcript)
        name = transcript.task or trial.task
        card = tasks.load(name)
        session = ShownSession(transcript, card.name)
        grader = graders.load(card.name)
    except TranscriptError as exc:
        return _fault(trial, str(exc))
    except (KeyError, ValueError, TaskError):
        return _fault(trial, f"the task of the transcript is not known here: {shown(name)} (get_spec tells it)")
    answer = transcript.answer
    checks, quantities, limits = _graded(grader, session, answer)
    audit = tuple(claims(answer, transcript, session, quantities)) if answer is not None else ()
    checks += _measured(audit)
    if answer is None:
        outcome, reason = Outcome.NO_SUBMISSION, "no answer is shown"
    elif (found := outcome_of(checks)) is not Outcome.PASS:
        outcome, reason = found, ""
    else:
        outcome, reason = Outcome.INFRASTRUCTURE_FAULT, "what is shown holds, but only a bundle gives a verdict"
    verdict = Verdict(card.name, card.version, outcome, 0, checks=tuple(checks), reason="; ".join(r for r in (UNATTESTED, reason) if r),
                      quantities=quantities, session=_told(transcript, "session"), commitment=_told(transcript, "commitment"))  # fmt: skip
    lines = [check_line(c) for c in verdict.to_json()["checks"] if c["gate"] and not c["passed"]]
    lines += [f"{a['claim']} = {a['value']:g}: {a['origin']}; {a['source']}" for a in audit if a["origin"] in _BAD][:20]
    pattern = Pattern.STALE_PRIOR if any(a["origin"] == Origin.NOTEBOOK for a in audit) and answer is not None else Pattern.NONE
    if answer is None and (held := [c for c in transcript.of("check_answer") if isinstance(c.result, Mapping) and c.result.get("valid")]):
        pattern = Pattern.RESULT_IN_HAND
        lines.append(f"call {held[-1].number}: an answer was checked against the schema and never submitted")
    evidence = (verdict.reason, *lines, *limits)
    value = json.loads(json.dumps(verdict.to_json(), allow_nan=False))
    return Graded(trial, value, pattern=pattern, evidence=evidence, attested=False, audit=audit)


_BAD = {Origin.NOWHERE, Origin.CONTRADICTED, Origin.NOTEBOOK}


def _told(transcript: Transcript, name: str) -> str | None:
    value = (transcript.spec or {}).get(name)
    return value if isinstance(value, str) else None


def _fault(trial: Trial, reason: str) -> Graded:
    return Graded(trial, integrity.fault(trial.task, f"{UNATTESTED}; {reason}"), attested=False, evidence=(reason,))


def _graded(grader: Grader, session: ShownSession, answer: Any) -> tuple[list[Check], dict[str, Any], list[str]]:
    """Schema, cited jobs, and the grader's own recomputing and binding where they need nothing that is sealed."""
    limits: list[str] = []
    q: dict[str, Any] = {}
    checks: list[Check] = []
    try:
        q = grader.recompute(session)  # type: ignore[arg-type]
    except NotShown as exc:
        limits.append(f"not recomputed: {exc}")
    except Exception as exc:  # noqa: BLE001  what a transcript shows may be anything
        limits.append(f"not recomputed: what is shown does not fit ({type(exc).__name__})")
    if answer is not None:
        try:
            parsed = grader.Answer.model_validate_json(json.dumps(answer))
        except (ValidationError, ValueError) as exc:
            note = shown(exc.errors(include_url=False, include_input=False)[0]["msg"]) if isinstance(exc, ValidationError) else "not JSON"
            return [Check("answer follows its schema", Stage.BIND, False, category=Category.SCHEMA, note=note)], _public(q), limits
        try:
            checks = grader.bind(parsed, session, q)  # type: ignore[arg-type]
        except NotShown as exc:
            limits.append(f"not bound: {exc}")
        except Exception as exc:  # noqa: BLE001
            limits.append(f"not bound: what is shown does not fit ({type(exc).__name__})")
        if not checks:
            checks = _cited(grader, session, answer)
        limits.append("not scored: the truth of the device is sealed in the bundle")
    return checks, _public(q), limits


def _public(q: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in q.items() if not k.startswith("_")}


def _cited(grader: Grader, session: ShownSession, answer: Any) -> list[Check]:
    ids = [str(v) for path, v in leaves(answer) if isinstance(v, str) and re.search(r"job_?ids?(\[\d+\])?$", path)]
    return [grader.jobs_exist(tuple(ids), session)] if ids else []  # type: ignore[arg-type]


def _measured(audit: tuple[Mapping[str, Any], ...]) -> list[Check]:
    """What the tracing of numbers comes to; it informs and does not decide."""
    traced = [a for a in audit if a["origin"] != Origin.COARSE]
    bad = [a["claim"] for a in traced if a["origin"] in _BAD]
    if not traced:
        return []
    note = f"not so: {', '.join(bad[:8])}" if bad else ""
    return [Check("numbers of the answer that were measured or computed in the session", Stage.BIND, not bad, len(traced) - len(bad),
                  len(traced), None, category=Category.UNSUPPORTED, gate=False, note=note)]  # fmt: skip


# -- claims ---------------------------------------------------------------------------------------------------------------------------


def claims(answer: Any, transcript: Transcript, session: ShownSession, q: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One entry `{claim, value, origin, source}` per number of the answer, the first 200."""
    numbers = [(path, v) for path, v in leaves(answer) if is_number(v)]
    index = _Index(transcript, session)
    for path, value in numbers[:LISTED]:
        origin, source = _recomputed(path, value, q) or index.origin(float(value))
        yield {"claim": path, "value": value, "origin": origin.value, "source": source}


def _recomputed(path: str, value: float, q: Mapping[str, Any]) -> tuple[Origin, str] | None:
    known: Any = q.get(path)
    if not is_number(known):
        return None
    sigma: Any = q.get(re.sub(r"(_[a-z0-9]+)?$", r"_sigma\1", path, count=1))
    room = max(SIGMAS * float(sigma) if is_number(sigma) else 0.0, AGREES * abs(float(known)))
    near = abs(value - float(known)) <= room
    return (Origin.MEASURED if near else Origin.CONTRADICTED), f"the records shown give {float(known):.6g}"


class _Index:
    """Numbers by where they were shown. A value is found where a number rounds to it."""

    def __init__(self, transcript: Transcript, session: ShownSession) -> None:
        self._found: dict[Origin, list[tuple[float, int]]] = defaultdict(list)
        tools = set(session.qtype.tools())
        end = min((c.number for c in transcript.of("submit_answer")), default=len(transcript.calls) + 1)
        done = False
        for call in transcript.calls[: end - 1]:
            origin = _kind(call, tools, done)
            done = done or (isinstance(call.result, Mapping) and call.result.get("status") == "completed") or origin is Origin.MEASURED
            if origin is not None and not call.error:
                self._found[origin] += [(n, call.number) for n in _numbers(call.result)]
        for numbers in self._found.values():
            numbers.sort()

    def origin(self, value: float) -> tuple[Origin, str]:
        if digits(value) < TRACEABLE:
            return Origin.COARSE, "fewer than three digits"
        half = half_unit(value)
        for origin in (Origin.MEASURED, Origin.NOTEBOOK, Origin.PUBLIC, Origin.COMPUTED):
            numbers = self._found[origin]
            at = bisect_left(numbers, (value - half, 0))
            if at < len(numbers) and numbers[at][0] <= value + half:
                return origin, f"shown by call {numbers[at][1]}"
        return Origin.NOWHERE, "no call shows it"


def half_unit(value: float) -> float:
    """Half a unit in the last place of a number as written, with a little room for rounding."""
    text = f"{value!r}".lower()
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0"))
    return 0.500001 * 10.0 ** (int(exponent or 0) - decimals)


def _kind(call: Call, tools: set[str], after_measurement: bool) -> Origin | None:
    if call.tool == "read_notebook":
        return Origin.NOTEBOOK
    if call.tool in ("get_spec", "get_material", "list_materials", "lock_and_reveal"):
        return Origin.PUBLIC
    if call.tool in tools or call.tool in ("get_job", "wait_for_job", "list_jobs"):
        return Origin.MEASURED
    # a shell or an interpreter: what it prints before there are data is no result
    return Origin.COMPUTED if call.tool not in FIXED and after_measurement else None


def _numbers(value: Any) -> Iterator[float]:
    if is_number(value):
        yield float(value)
    elif isinstance(value, str):
        yield from (number for m in _NUMBER.findall(value) if math.isfinite(number := float(m)))
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key not in ("inline", "cost", "number", "lab_start_s", "lab_end_s", "bytes"):
                yield from _numbers(part)
    elif isinstance(value, list) and len(value) <= RAW:
        for part in value:
            yield from _numbers(part)


# -- transcript and bundle --------------------------------------------------------------------------------------------------------------


def compare(transcript: Transcript, session: Session) -> list[str]:
    """What a transcript and the bundle of the same session do not agree on, a line each."""
    told = ShownSession(transcript, str(session.opened["task"]))
    lines = []
    if transcript.spec is not None and transcript.spec.get("session") != session.opened["session"]:
        lines.append(f"the transcript is of session {shown(str(transcript.spec.get('session')))}, the log of {session.opened['session']}")
    logged = {str(e.data["job_id"]): e.data for e in session.of("job_submitted")}
    records = {str(e.data["job_id"]): e.data["record"]["sha256"] for e in session.of("job_completed")}
    seen: set[str] = set()
    for call in transcript.calls:
        if call.error or call.tool not in told.qtype.tools() or not isinstance(call.result, Mapping) or "job_id" not in call.result:
            continue
        job_id = str(call.result["job_id"])
        seen.add(job_id)
        if job_id not in logged:
            lines.append(f"call {call.number}: job {shown(job_id)} is shown and not in the log")
            continue
        request: Any = told.request(call)
        there: Any = told.qtype.tools()[logged[job_id]["tool"]].model_validate_json(session.bundle.payload_text(logged[job_id]["request"]))
        if logged[job_id]["tool"] != call.tool or (request is not None and request != there):
            lines.append(f"call {call.number}: the request of {job_id} is another than the logged one")
    for job_id, sha in _digests(transcript):
        if job_id in records and sha != records[job_id]:
            lines.append(f"the record of {job_id} that is shown is another than the logged one")
    unseen = [j for j in logged if j not in seen]
    if unseen:
        lines.append(f"{len(unseen)} of {len(logged)} logged jobs are not calls of the transcript (run from a script or the command line)")
    if transcript.answer is not None and transcript.answer != session.answer:
        there = "another than the logged one" if session.answer is not None else "not in the log"
        lines.append(f"the answer shown is {there}")
    # with a shell it may well be a script that answered
    only_tools = all(c.tool in FIXED | told.qtype.tools().keys() for c in transcript.calls)
    if transcript.answer is None and session.answer is not None and only_tools:
        lines.append("the log holds an answer, and no call shows one")
    return lines


def _digests(transcript: Transcript) -> Iterator[tuple[str, str]]:
    seen = set()
    for call in transcript.calls:
        value = call.result if isinstance(call.result, Mapping) and not call.error else {}
        record = value.get("record")
        sha = value.get("record_sha256") or (record.get("sha256") if isinstance(record, Mapping) else None)
        if sha and (key := (str(value.get("job_id")), str(sha))) not in seen:
            seen.add(key)
            yield key


__all__ = ["UNATTESTED", "Origin", "claims", "compare", "unattested"]
