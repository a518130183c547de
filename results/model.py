"""What all of `results` shares: a trial as it lies on disk, the trial with its verdict, and a campaign of them.

Everything here is plain data. `find` makes trials of paths, `grading` grades them, `taxonomy` names why one failed; tables, plots, pages
and exports read `Campaign`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from graders.kit.checks import Outcome

SCHEMA = "quantum-harbor/graded-1"


class Kind(StrEnum):
    """What a trial was found as."""

    BUNDLE = "bundle"
    HARBOR = "harbor_trial"
    EMBEDDED = "embedded_run"
    TRANSCRIPT = "transcript"


class Pattern(StrEnum):
    """What lies behind a failure; the outcome says which kind of failure it is."""

    NONE = "none"
    STALE_PRIOR = "stale_prior"
    BUDGET_EXHAUSTED = "budget_exhausted"
    RESULT_IN_HAND = "result_in_hand"
    OVERCLAIMED_PRECISION = "overclaimed_precision"
    TRAP_TAKEN = "trap_taken"


@dataclass(frozen=True)
class Trial:
    """One attempt at one task, as found on disk; nothing in it was checked.

    `repeat` counts from 0 the trials of a system on a task. `harbor` is what Harbor's `result.json` says, `embedded` the `score.json` that
    lies beside the evidence: shown and compared, never trusted. `fault` is the exception of Harbor that left the trial without a verdict.
    """

    path: Path
    trial_id: str
    system: str
    task: str
    repeat: int = 0
    kind: Kind = Kind.BUNDLE
    agent: str = ""
    model: str = ""
    job: str = ""
    harbor: Mapping[str, Any] = field(default_factory=dict)
    bundle: Path | None = None
    transcript: Path | None = None
    embedded: Mapping[str, Any] | None = None
    fault: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path), "trial_id": self.trial_id, "system": self.system, "task": self.task, "repeat": self.repeat,
            "kind": self.kind.value, "agent": self.agent, "model": self.model, "job": self.job, "harbor": dict(self.harbor),
            "bundle": _text(self.bundle), "transcript": _text(self.transcript),
            "embedded": None if self.embedded is None else dict(self.embedded), "fault": self.fault,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Trial:
        paths = {name: None if value[name] is None else Path(value[name]) for name in ("bundle", "transcript")}
        return cls(**{**value, **paths, "path": Path(value["path"]), "kind": Kind(value["kind"])})


@dataclass(frozen=True)
class Graded:
    """A trial with its verdict.

    `verdict` has the form of `graders.kit.checks.Verdict.to_json()`. `attested` is whether it rests on a bundle that verified; a transcript
    alone gives False. `budget` maps each metered unit to `{"limit", "used", "left"}` and others to `{"used"}`. `usage` is what the agent
    consumed where Harbor or the transcript says (`cost_usd`, `input_tokens`, `output_tokens`, `wall_s`). `cpu_s` is the CPU time of this
    grading. `evidence` are the lines that outcome and pattern rest on, `differences` what transcript and bundle do not agree on. `audit`
    holds one line per number claimed (`results.transcripts`), for transcripts.
    """

    trial: Trial
    verdict: Mapping[str, Any]
    pattern: Pattern = Pattern.NONE
    evidence: tuple[str, ...] = ()
    attested: bool = True
    digest: str = ""
    budget: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    cpu_s: float = 0.0
    differences: tuple[str, ...] = ()
    audit: tuple[Mapping[str, Any], ...] = ()

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.verdict["outcome"])

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASS

    @property
    def counts(self) -> bool:
        """Whether it enters a table: not a fault of the laboratory, not on a device made reproducible, and on evidence that verified."""
        return self.attested and self.outcome is not Outcome.INFRASTRUCTURE_FAULT and not self.verdict.get("reproducible", False)

    @property
    def checks(self) -> Sequence[Mapping[str, Any]]:
        return tuple(self.verdict.get("checks", ()))

    @property
    def metric(self) -> float | None:
        """Of a race, lower is better; None for a trial that did not clear the gate."""
        return self.verdict.get("race_metric")

    @property
    def task(self) -> str:
        return self.trial.task

    @property
    def system(self) -> str:
        return self.trial.system

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA, "trial": self.trial.to_json(), "verdict": dict(self.verdict), "pattern": self.pattern.value,
            "evidence": list(self.evidence), "attested": self.attested, "digest": self.digest,
            "budget": {u: dict(v) for u, v in self.budget.items()}, "usage": dict(self.usage), "cpu_s": self.cpu_s,
            "differences": list(self.differences), "audit": [dict(a) for a in self.audit],
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Graded:
        """Inverse of `to_json`; `ValueError` for another schema."""
        if value.get("schema") != SCHEMA:
            raise ValueError(f"not a graded trial: schema {value.get('schema')!r}, expected {SCHEMA!r}")
        rest = {k: value[k] for k in ("verdict", "attested", "digest", "budget", "usage", "cpu_s")}
        return cls(
            trial=Trial.from_json(value["trial"]), pattern=Pattern(value["pattern"]), evidence=tuple(value["evidence"]),
            differences=tuple(value["differences"]), audit=tuple(value["audit"]), **rest,
        )  # fmt: skip


@dataclass(frozen=True)
class Campaign:
    """Graded trials, in the order in which they were found."""

    trials: tuple[Graded, ...]

    def __iter__(self) -> Iterator[Graded]:
        return iter(self.trials)

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def counted(self) -> tuple[Graded, ...]:
        return tuple(g for g in self.trials if g.counts)

    @property
    def quarantined(self) -> tuple[Graded, ...]:
        """Faults of the laboratory: to be run again, never counted."""
        return tuple(g for g in self.trials if g.outcome is Outcome.INFRASTRUCTURE_FAULT)

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(sorted({g.system for g in self.trials}))

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks that occur, by name."""
        return tuple(sorted({g.task for g in self.trials}))

    def of(self, system: str | None = None, task: str | None = None) -> tuple[Graded, ...]:
        """Counted trials of a system and a task, any where None."""
        return tuple(g for g in self.counted if system in (None, g.system) and task in (None, g.task))


def numbered(trials: Sequence[Trial]) -> list[Trial]:
    """The same trials with `repeat` counted per system and task, in their order."""
    seen: dict[tuple[str, str], int] = {}
    out = []
    for t in trials:
        key = (t.system, t.task)
        out.append(replace(t, repeat=seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
    return out


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


__all__ = ["Campaign", "Graded", "Kind", "Outcome", "Pattern", "Trial", "numbered"]
