"""`python -m qharbor.verifier`: what the verifier container runs; grades the collected bundle and leaves the files Harbor reads.

Fails closed: `reward.json` is the last file written, and only for a verdict that counts. Evidence that does not hold, a bundle of another
task or an error of the grader leaves no reward, which Harbor reports as an error of the trial and never as a zero.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evidence import SCORE, write_whole
from graders.kit import Check, Outcome, Stage, Verdict
from graders.kit.grade import grade_bundle

EXIT_FAULT = 3
REWARD, DETAILS = "reward.json", "reward-details.json"


def grade(evidence: Path, task: str | None) -> Verdict:
    """The verdict on a bundle that must be of `task` (any where None)."""
    verdict = grade_bundle(evidence)
    if task is not None and verdict.outcome is not Outcome.INFRASTRUCTURE_FAULT and verdict.task != task:
        return replace(verdict, outcome=Outcome.INFRASTRUCTURE_FAULT, reward=0, reason=f"the bundle is of another task than {task}")
    return verdict


def write(verdict: Verdict, out: Path) -> None:
    """`score.json`, `reward-details.json` and, for a verdict that counts, `reward.json` with the one key `reward`, 0 or 1."""
    out.mkdir(parents=True, exist_ok=True)
    (out / REWARD).unlink(missing_ok=True)
    write_whole(out / SCORE, _text(verdict.to_json()))
    write_whole(out / DETAILS, _text(details(verdict)))
    if verdict.outcome is not Outcome.INFRASTRUCTURE_FAULT:
        write_whole(out / REWARD, _text({"reward": int(verdict.reward)}))


def _text(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"


def details(verdict: Verdict) -> dict[str, Any]:
    """The verdict as Harbor's viewer shows it: one block per stage, one line per check. An informative check has weight 0."""
    blocks: dict[str, Any] = {"outcome": _block(float(verdict.reward), [], [f"{verdict.outcome.value}: {verdict.reason}".rstrip(": ")])}
    for stage in Stage:
        checks = [c for c in verdict.checks if c.stage is stage]
        if checks:
            blocks[stage.value] = _block(float(all(c.passed for c in checks if c.gate)), [_line(c) for c in checks], [])
    return blocks


def _block(score: float, criteria: list[dict[str, Any]], warnings: list[str]) -> dict[str, Any]:
    return {"kind": "programmatic", "score": score, "criteria": criteria, "warnings": warnings}


def _line(check: Check) -> dict[str, Any]:
    shown = check.to_json()
    parts = [f"threshold {shown['threshold']} {check.unit}" if shown["threshold"] is not None else "", check.note]
    return {
        "name": check.name, "value": float(check.passed), "weight": float(check.gate),
        "raw": shown["value"] if shown["value"] is not None else bool(check.passed),
        "description": "; ".join(p for p in parts if p),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """0 where a verdict that counts was written, else :data:`EXIT_FAULT`."""
    parser = argparse.ArgumentParser(prog="python -m qharbor.verifier", description="Grade a collected bundle for Harbor.")
    parser.add_argument("evidence", type=Path, nargs="?", default=Path("/evidence"))
    parser.add_argument("out", type=Path, nargs="?", default=Path("/logs/verifier"))
    given = parser.parse_args(arguments)
    verdict = grade(given.evidence, os.environ.get("QHARBOR_TASK") or None)
    write(verdict, given.out)
    print(f"{verdict.task}: {verdict.outcome.value}, reward {verdict.reward}" + (f" ({verdict.reason})" if verdict.reason else ""))
    for check in verdict.checks:
        print(f"  {'pass' if check.passed else 'FAIL' if check.gate else 'note'}  {check.name}")
    return EXIT_FAULT if verdict.outcome is Outcome.INFRASTRUCTURE_FAULT else 0


if __name__ == "__main__":
    sys.exit(main())
