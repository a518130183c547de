"""Verdicts, checks and costs as Parquet tables, for one's own analysis (extra `parquet`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from results.leaderboard import card_of, depth_of
from results.model import Campaign, Graded

TABLES = ("verdicts", "checks", "costs")


class NoParquet(Exception):
    """The tables cannot be written; the text says what to do."""


def rows(campaign: Campaign) -> dict[str, list[dict[str, Any]]]:
    """Rows of each table. `trial` is the key that joins them: the place of the trial in the campaign."""
    out: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for number, g in enumerate(campaign):
        out["verdicts"].append(_verdict(number, g))
        out["checks"] += [_check(number, g, c) for c in g.checks]
        out["costs"] += [
            {"trial": number, "system": g.system, "task": g.task, "source": source, "unit": unit, "used": used, "limit": limit}
            for source, unit, used, limit in _costs(g)
        ]
    return out


def _verdict(number: int, g: Graded) -> dict[str, Any]:
    card, v = card_of(g.task), g.verdict
    return {
        "trial": number, "system": g.system, "agent": g.trial.agent, "model": g.trial.model, "job": g.trial.job, "task": g.task,
        "task_version": v["task_version"], "repeat": g.trial.repeat, "trial_id": g.trial.trial_id, "kind": g.trial.kind.value,
        "path": str(g.trial.path), "outcome": v["outcome"], "reward": v["reward"], "counts": g.counts, "attested": g.attested,
        "pattern": g.pattern.value, "evidence": list(g.evidence), "differences": list(g.differences), "race_metric": v["race_metric"],
        "metric_unit": v["metric_unit"], "instance": v["instance"], "reproducible": v["reproducible"], "session": v["session"],
        "reason": v["reason"], "digest": g.digest, "category": card.category if card else None, "mode": card.mode if card else None,
        "layers": list(card.layers) if card else [], "depth": depth_of(card.layers) if card else None, "grading_cpu_s": g.cpu_s,
        "quantities": json.dumps(v["quantities"], sort_keys=True),
    }  # fmt: skip


def _check(number: int, g: Graded, c: Mapping[str, Any]) -> dict[str, Any]:
    value, threshold = c["value"], c["threshold"]
    return {
        "trial": number, "system": g.system, "task": g.task, "name": c["name"], "stage": c["stage"], "passed": c["passed"],
        "gate": c["gate"], "value": _number(value), "value_text": value if isinstance(value, str) else None,
        "threshold": _number(threshold), "threshold_text": threshold if isinstance(threshold, str) else None,
        "margin": _number(c["margin"]), "stderr": _number(c["stderr"]), "unit": c["unit"], "category": c["category"],
        "jobs": list(c["jobs"]), "note": c["note"],
    }  # fmt: skip


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _costs(g: Graded) -> list[tuple[str, str, float, float | None]]:
    budget = [("budget", unit, float(entry["used"]), entry.get("limit")) for unit, entry in g.budget.items()]
    return [*budget, *(("usage", unit, float(used), None) for unit, used in g.usage.items()), ("grading", "cpu_s", g.cpu_s, None)]


def write(campaign: Campaign, folder: Path) -> list[Path]:
    """`verdicts.parquet`, `checks.parquet` and `costs.parquet` in `folder`; :class:`NoParquet` where pyarrow is missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as exc:
        raise NoParquet("--parquet needs the extra `parquet`: pip install 'quantum-harbor[parquet]'") from exc
    folder.mkdir(parents=True, exist_ok=True)
    schemas, found, paths = _schemas(pyarrow), rows(campaign), []
    for name in TABLES:
        table = pyarrow.Table.from_pylist(found[name], schema=schemas[name])
        paths.append(folder / f"{name}.parquet")
        parquet.write_table(table, paths[-1], compression="zstd")
    return paths


def _schemas(pa: Any) -> dict[str, Any]:
    """Fixed, so that a column has its type also where all of it is empty."""
    text, real, whole, flag, texts = pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.list_(pa.string())
    key = {"trial": whole, "system": text, "task": text}
    verdicts = {
        "trial": whole, "system": text, "agent": text, "model": text, "job": text, "task": text, "task_version": text, "repeat": whole,
        "trial_id": text, "kind": text, "path": text, "outcome": text, "reward": whole, "counts": flag, "attested": flag, "pattern": text,
        "evidence": texts, "differences": texts, "race_metric": real, "metric_unit": text, "instance": text, "reproducible": flag,
        "session": text, "reason": text, "digest": text, "category": text, "mode": text, "layers": texts, "depth": whole,
        "grading_cpu_s": real, "quantities": text,
    }  # fmt: skip
    checks = {
        **key, "name": text, "stage": text, "passed": flag, "gate": flag, "value": real, "value_text": text, "threshold": real,
        "threshold_text": text, "margin": real, "stderr": real, "unit": text, "category": text, "jobs": texts, "note": text,
    }  # fmt: skip
    costs = {**key, "source": text, "unit": text, "used": real, "limit": real}
    return {"verdicts": pa.schema(verdicts), "checks": pa.schema(checks), "costs": pa.schema(costs)}
