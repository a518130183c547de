"""What lies at a path: a bundle, an embedded run, a Harbor trial, job or jobs folder, or a transcript. Only looked at, nothing is graded.

Harbor writes `<jobs>/<job>/<trial>/` with `result.json`, `agent/`, `verifier/` and `artifacts/`; the bundle is `artifacts/evidence`
(docs/results.md). `agent/` and what lies in it are the agent's to write: files from there are read bounded and only where they are plain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evidence import LOG_NAME, SCORE, Bundle, EvidenceError
from evidence.files import read_whole
from results.model import SCHEMA, Graded, Kind, Trial, numbered

DEPTH = 6
"""How far below a given folder trials are looked for."""
MAX_JSON = 64_000_000
GRADED = "graded.jsonl"
TRAJECTORY = "trajectory.json"
UNKNOWN = "unknown"
LOCAL = "local"
_EVIDENCE = Path("artifacts") / "evidence"


class NothingThere(Exception):
    """No trial lies at a path; the text says what was looked for."""


def find(paths: Iterable[Path | str]) -> list[Trial]:
    """All trials at and below `paths`, each once, in the order of the paths and then of the names.

    Raises
    ------
    NothingThere
        For a path that does not exist or below which there is no trial.
    """
    found: dict[Path, Trial] = {}
    for given in map(Path, paths):
        trials = list(_at(given))
        if not trials:
            raise NothingThere(_nothing(given))
        for trial in trials:
            found.setdefault((trial.bundle or trial.transcript or trial.path).resolve(), trial)
    return numbered(list(found.values()))


def saved(path: Path) -> Iterator[Graded]:
    """The graded trials of a `graded.jsonl`; `ValueError` names a line that is none."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield Graded.from_json(json.loads(line))
            except (ValueError, KeyError, TypeError) as exc:
                again = "write the file again with `qharbor grade --out`"
                raise ValueError(f"{path}, line {number}: not a graded trial ({exc}); {again}") from exc


def saved_at(path: Path) -> Path | None:
    """The `graded.jsonl` that `path` is or directly holds, None where it is something to grade."""
    file = path / GRADED if path.is_dir() else path
    return file if file.name == GRADED and file.is_file() else None


def _nothing(path: Path) -> str:
    if not path.exists():
        return f"{path} does not exist"
    if path.is_file():
        return f"{path} is no transcript: give an ATIF trajectory (.json) or calls and results (.jsonl), see docs/results.md"
    return (
        f"no trial at or below {path}: looked for bundles (log.jsonl), runs of `qharbor run` (bundle/log.jsonl) and trials of Harbor"
        f" (result.json), at most {DEPTH} folders deep"
    )


def _at(path: Path) -> Iterator[Trial]:
    if path.is_file():
        yield from _file(path)
    elif path.is_dir():
        yield from _folder(path, path, 0)


def _file(path: Path) -> Iterator[Trial]:
    if path.name == LOG_NAME:
        yield _bundle(path.parent, LOCAL)
    elif path.name != GRADED and (path.suffix == ".jsonl" or (path.suffix == ".json" and _is_trajectory(path))):
        yield _transcript(path)


def _is_trajectory(path: Path) -> bool:
    return str((_json(path) or {}).get("schema_version", "")).startswith("ATIF")


def _folder(folder: Path, given: Path, depth: int) -> Iterator[Trial]:
    system = given.name if folder != given and given.name not in ("", ".", "..") else LOCAL
    if (folder / LOG_NAME).is_file():
        yield _bundle(folder, system)
    elif (folder / "bundle" / LOG_NAME).is_file():
        yield _embedded(folder, system)
    elif _is_trial(folder):
        yield _harbor(folder)
    elif depth < DEPTH:
        below = list(_below(folder))
        yield from (t for sub in below for t in _folder(sub, given, depth + 1))
        if not below or depth == 0:
            yield from (t for file in sorted(folder.iterdir()) if file.is_file() for t in _file(file))


def _below(folder: Path) -> Iterator[Path]:
    for sub in sorted(folder.iterdir()):
        if sub.is_dir() and not sub.is_symlink() and not sub.name.startswith("."):
            yield sub


def _is_trial(folder: Path) -> bool:
    record = _json(folder / "result.json")
    if record is not None:
        return "trial_name" in record
    # an interrupted trial has its configuration and no result; that of a job names no trial
    return "trial_name" in (_json(folder / "config.json") or {}) or (folder / _EVIDENCE).is_dir()


def _harbor(folder: Path) -> Trial:
    record = _json(folder / "result.json") or {}
    config = record.get("config") or _json(folder / "config.json") or {}
    info = record.get("agent_info") or {}
    named = config.get("agent") or {}
    agent = str(info.get("name") or named.get("name") or UNKNOWN)
    model = str((info.get("model_info") or {}).get("name") or named.get("model_name") or "")
    bundle = folder / _EVIDENCE
    there = (bundle / LOG_NAME).is_file()
    trajectory = folder / "agent" / TRAJECTORY
    task = str(record.get("task_name") or folder.name.split("__")[0]).rsplit("/", 1)[-1]
    return Trial(
        path=folder, trial_id=str(record.get("trial_name") or folder.name), system=f"{agent}/{model}" if model else agent, task=task,
        kind=Kind.HARBOR, agent=agent, model=model, job=folder.parent.name, harbor=_kept(record), bundle=bundle if there else None,
        transcript=trajectory if trajectory.is_file() else None, embedded=_json(folder / "verifier" / SCORE),
        fault=_fault(record),
    )  # fmt: skip


def _kept(record: Mapping[str, Any]) -> dict[str, Any]:
    """What of Harbor's record is worth showing; not its whole configuration and no traceback."""
    names = ("id", "task_name", "trial_name", "task_checksum", "started_at", "finished_at", "agent_info", "agent_execution")
    kept = {k: record[k] for k in names if record.get(k) is not None}
    for key, fields in (
        ("agent_result", ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")),
        ("verifier_result", ("rewards",)),
        ("exception_info", ("exception_type", "exception_message")),
    ):
        if isinstance(record.get(key), dict):
            kept[key] = {k: record[key][k] for k in fields if record[key].get(k) is not None}
    return kept


def _fault(record: Mapping[str, Any]) -> str:
    """Why Harbor has no reward for the trial; empty where it has one, whatever else happened."""
    if not record:
        return "Harbor left no result.json: the trial was interrupted"
    if (record.get("verifier_result") or {}).get("rewards"):
        return ""
    info = record.get("exception_info") or {}
    return f"{info['exception_type']}: {info.get('exception_message', '')}"[:400] if info.get("exception_type") else "Harbor has no reward"


def _embedded(folder: Path, system: str) -> Trial:
    bundle = folder / "bundle"
    trajectory = folder / "agent" / TRAJECTORY
    return Trial(
        path=folder, trial_id=folder.name, system=system, task=task_of(bundle), kind=Kind.EMBEDDED, agent=system, bundle=bundle,
        transcript=trajectory if trajectory.is_file() else None, embedded=_json(bundle / SCORE),
    )  # fmt: skip


def _bundle(folder: Path, system: str) -> Trial:
    return Trial(
        path=folder, trial_id=folder.resolve().name, system=system, task=task_of(folder), agent=system, bundle=folder,
        embedded=_json(folder / SCORE),
    )  # fmt: skip


def _transcript(path: Path) -> Trial:
    from results.transcripts import TranscriptError, read

    agent, model, task = "", "", UNKNOWN
    try:
        shown = read(path)
        agent, model, task = shown.agent, shown.model, shown.task or UNKNOWN
    except TranscriptError:
        pass  # graded later as what it is: a file that cannot be read
    agent = agent or LOCAL
    system = f"{agent}/{model}" if model else agent
    return Trial(path=path, trial_id=path.stem, system=system, task=task, kind=Kind.TRANSCRIPT, agent=agent, model=model, transcript=path)


def task_of(bundle: Path) -> str:
    """The task that the first event names; `unknown` where it cannot be read."""
    try:
        return str(Bundle(bundle).opened["task"])
    except (EvidenceError, KeyError, OSError):
        return UNKNOWN


def _json(path: Path) -> dict[str, Any] | None:
    """A JSON object, None where there is none: another file's fault is found when the trial is graded."""
    try:
        value = json.loads(read_whole(path, MAX_JSON))
    except (OSError, ValueError, RecursionError, EvidenceError):
        return None
    return value if isinstance(value, dict) else None


__all__ = ["GRADED", "SCHEMA", "NothingThere", "find", "saved", "saved_at", "task_of"]
