"""What `evidence.verify` cannot know of one bundle alone: is the log whole, and is this folder the one of this trial?

A log that was cut at a line is a valid chain. It is found by what it does not account for: an answer, a record, or a verdict that lies
beside it. A folder of another or an earlier session is found by its task, its session id, its date, or by lying in two trials.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence import ANSWER, LOG_NAME, RECORDS, Bundle, Event, EvidenceError
from graders.kit.checks import Outcome, Verdict
from results.model import Graded, Pattern, Trial

CLOCKS_S = 300.0
"""How far the clocks of Harbor's host and of the sidecar may differ."""


def fault(task: str, reason: str, **known: Any) -> dict[str, Any]:
    """A verdict of the laboratory's fault, as JSON."""
    version = known.pop("task_version", "unknown")
    return Verdict(task, version, Outcome.INFRASTRUCTURE_FAULT, 0, reason=reason, **known).to_json()


def problem(trial: Trial, *, ended: bool = True) -> str | None:
    """What does not hold between the bundle of a trial and what lies around it; None where nothing is wrong.

    With `ended` a session that was neither sealed nor judged is a fault too: it is still open, or was interrupted.
    """
    assert trial.bundle is not None
    try:
        events = list(Bundle(trial.bundle).events())
    except (EvidenceError, OSError):
        return None  # said better by `evidence.verify`
    if not events:
        return None
    return _truncated(trial.bundle, events, trial) or _stale(events[0], trial) or (_open(events, trial) if ended else None)


def _truncated(folder: Path, events: Sequence[Event], trial: Trial) -> str | None:
    if any(e.kind == "session_sealed" for e in events):
        return None
    end = f"the log ends at event {events[-1].seq} ({events[-1].kind}) without a seal"
    if (folder / ANSWER).exists() and not any(e.kind == "answer_submitted" for e in events):
        return f"{end}, yet an answer lies beside it: the log was truncated"
    known = {str(e.data.get("job_id")) for e in events if e.kind == "job_completed"}
    extra = sorted(p.stem for p in (folder / RECORDS).glob("*.npz") if p.stem not in known)
    if extra:
        return f"{end}, yet the record of {extra[0]} lies beside it: the log was truncated"
    size = (folder / LOG_NAME).stat().st_size
    if size > sum(len(e.line()) for e in events):
        return f"{end} and in a torn line: the log was truncated"
    if trial.embedded is not None and trial.embedded.get("outcome") in ("pass", "science_failure", "contract_failure"):
        return f"{end}, yet the session's own verdict judged an answer: the log was truncated"
    return None


def _open(events: Sequence[Event], trial: Trial) -> str | None:
    if events[-1].kind == "session_sealed" or trial.embedded is not None or trial.harbor.get("verifier_result"):
        return None
    return f"the log ends at event {events[-1].seq} without a seal and without a verdict: the session is open or was interrupted"


def _stale(opened: Event, trial: Trial) -> str | None:
    session, task = opened.data.get("session"), opened.data.get("task")
    if trial.task != task:
        return f"the folder is stale: the trial is of {trial.task}, the evidence of {task}"
    told = (trial.embedded or {}).get("session")
    if told is not None and told != session:
        return f"the folder is stale: its score.json is of session {told}, its log of session {session}"
    if not trial.harbor.get("agent_execution"):
        return None  # no agent ran within these times: Harbor has regraded an older trial
    begun, first = moment(trial.harbor.get("started_at")), moment(opened.time)
    if begun and first and (begun - first).total_seconds() > CLOCKS_S:
        return f"the folder is stale: the session was opened at {opened.time}, the trial began at {trial.harbor['started_at']}"
    ended = moment(trial.harbor.get("finished_at"))
    if ended and first and (first - ended).total_seconds() > CLOCKS_S:
        return f"the folder is another trial's: the session was opened at {opened.time}, the trial ended at {trial.harbor['finished_at']}"
    return None


def moment(text: Any) -> dt.datetime | None:
    try:
        found = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


def once(graded: Sequence[Graded]) -> list[Graded]:
    """The same trials; where one session lies in several, all but the first are faults that name it."""
    first: dict[str, Graded] = {}
    out = []
    for g in graded:
        session = g.verdict.get("session")
        if session is None or not g.attested or g.outcome is Outcome.INFRASTRUCTURE_FAULT:
            out.append(g)
            continue
        before = first.setdefault(session, g)
        if before is g:
            out.append(g)
            continue
        reason = f"the folder is stale: session {session} is that of trial {before.trial.trial_id} ({before.trial.path})"
        verdict = fault(g.task, reason, task_version=g.verdict["task_version"], session=session, commitment=g.verdict["commitment"])
        out.append(replace(g, verdict=verdict, pattern=Pattern.NONE, evidence=(reason,)))
    return out
