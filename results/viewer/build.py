"""Pages of trials: one a trial, and one of a folder of them that leads to each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tasks
from evidence.files import write_whole
from results.model import Graded, Outcome, Pattern, Trial
from results.viewer.numbers import bounded, number
from results.viewer.page import page
from results.viewer.session import SessionPage
from results.viewer.trajectory import log_of, steps_of

INDEX = "index.html"
TRIALS = "trials"
FAULT = Outcome.INFRASTRUCTURE_FAULT.value
Shown = Trial | Graded


def trial_page(shown: Shown, *, truth: bool = False, back: str = "") -> str:
    """The page of one trial. A `Graded` shows its verdict; a `Trial` the verdict that lies beside the evidence, as such."""
    graded = shown if isinstance(shown, Graded) else None
    trial = shown.trial if isinstance(shown, Graded) else shown
    data: dict[str, Any] = {
        **_identity(trial), "task_card": _card(trial.task), "verdict": _verdict(shown), "fault": trial.fault, "back": back,
        "graded": graded is not None, "attested": graded.attested if graded else None,
        "pattern": graded.pattern.value if graded else "", "lines": bounded(graded.evidence) if graded else [],
        "differences": bounded(graded.differences) if graded else [], "audit": bounded(graded.audit) if graded else [],
        "usage": {k: number(v) for k, v in graded.usage.items()} if graded else {}, "harbor": bounded(trial.harbor),
        "jobs": [], "marks": [], "notebook": [], "budget": [], "session": None, "evidence": None, "answer": None,
    }  # fmt: skip
    details: Iterable[dict[str, Any]] = ()
    if trial.bundle is not None:
        session = SessionPage(trial.bundle)
        data |= {
            "jobs": [i.data for i in session.items], "marks": session.marks, "notebook": session.notebook(), "budget": session.budget(),
            "session": session.head(), "evidence": session.evidence, "answer": session.answer(),
        }  # fmt: skip
        if truth:
            data["truth"] = session.truth()
        details = session.drawn()
    if trial.transcript is not None:
        data["trajectory"] = steps_of(trial.transcript)
    else:
        data["log"] = log_of(trial.path / "agent" / "agent.log")
    return page("trial", f"{trial.task} · {trial.system} · {trial.trial_id}", data, details)


def campaign_page(title: str, shown: Sequence[Shown], links: Sequence[str]) -> str:
    """The page of a folder of trials: a table, and passes by task and system. `links` lead to the page of each, empty where none."""
    return page("campaign", title, {"title": title, "trials": [_row(s, link) for s, link in zip(shown, links, strict=True)]})


def write(
    shown: Sequence[Shown], out: Path, *, title: str, truth: bool = False, progress: Callable[[Shown], None] = lambda _: None
) -> Path:
    """One trial: the file `out`. Several: the folder `out` with `index.html` and `trials/`. Gives the page to open."""
    if len(shown) == 1:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, trial_page(shown[0], truth=truth).encode())
        progress(shown[0])
        return out
    (out / TRIALS).mkdir(parents=True, exist_ok=True)
    links = []
    for k, s in enumerate(shown):
        trial = s.trial if isinstance(s, Graded) else s
        name = f"{k + 1:05d}-{re.sub(r'[^A-Za-z0-9._-]', '_', trial.trial_id)[:60]}.html"
        write_whole(out / TRIALS / name, trial_page(s, truth=truth, back=f"../{INDEX}").encode())
        links.append(f"{TRIALS}/{name}")
        progress(s)
    write_whole(out / INDEX, campaign_page(title, shown, links).encode())
    return out / INDEX


def _identity(trial: Trial) -> dict[str, Any]:
    return {
        "trial_id": trial.trial_id, "system": trial.system, "task": trial.task, "repeat": trial.repeat, "kind": trial.kind.value,
        "agent": trial.agent, "model": trial.model, "job": trial.job,
    }  # fmt: skip


def _card(name: str) -> dict[str, Any] | None:
    try:
        card = tasks.load(name)
    except (KeyError, ValueError):
        return None
    return {"title": card.title, "index": card.index, "mode": card.mode, "category": card.category, "layers": list(card.layers)}


def _verdict(shown: Shown) -> dict[str, Any] | None:
    told = shown.verdict if isinstance(shown, Graded) else shown.embedded
    if told is None:
        return None
    whole = dict(told)
    checks = whole.pop("checks", None)
    kept: dict[str, Any] = bounded(whole)
    kept["checks"] = [c if isinstance(c, dict) else {} for c in checks or ()]
    return kept


def _row(shown: Shown, link: str) -> dict[str, Any]:
    graded = shown if isinstance(shown, Graded) else None
    trial = shown.trial if isinstance(shown, Graded) else shown
    verdict = _verdict(shown) or {}
    gates = [c for c in verdict.get("checks", ()) if c.get("gate", True)]
    margins = [c["margin"] for c in gates if isinstance(c.get("margin"), (int, float))]
    failed = next((c for c in gates if not c.get("passed")), None)
    return {
        **_identity(trial), "link": link, "outcome": verdict.get("outcome") or (FAULT if trial.fault else "ungraded"),
        "reward": verdict.get("reward"), "metric": verdict.get("race_metric"), "margin": number(min(margins), 3) if margins else None,
        "why": str(failed.get("name", "")) if failed else str(verdict.get("reason") or trial.fault or "")[:200],
        "pattern": graded.pattern.value if graded and graded.pattern is not Pattern.NONE else "",
        "budget": {u: number(v["used"] / v["limit"], 3) for u, v in graded.budget.items() if v.get("limit")} if graded else {},
        "counts": graded.counts if graded else None, "attested": graded.attested if graded else None,
        "wall_s": number(graded.usage["wall_s"], 4) if graded and "wall_s" in graded.usage else None,
    }  # fmt: skip
