"""`qharbor new`: a qtype or a task that works as generated, and the list of what its author has left to do."""

from __future__ import annotations

import importlib
import json
import keyword
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from pydantic import ValidationError

import qtypes
import tasks
from qtypes import Clock, Device, QType, seeds

PATTERN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")
MARK = "run_rabi"
"""Tool of the generated qtype, which the generated task operates."""
JOBS = 20
"""Budget of a task on any qtype: this many times the example it asks for."""
MODES = ("pass_fail", "race", "test_case")
_QTYPE = {
    "__init__.py.in": "qtypes/{name}/__init__.py", "device.py.in": "qtypes/{name}/device.py", "physics.py.in": "qtypes/{name}/physics.py",
    "experiments.py.in": "qtypes/{name}/experiments.py", "README.md.in": "qtypes/{name}/README.md",
    "test.py.in": "tests/qtypes/test_{name}.py",
}  # fmt: skip
_TASK = {
    "task.toml.in": "tasks/{name}/task.toml", "instruction.md.in": "tasks/{name}/instruction.md",
    "solve.sh.in": "tasks/{name}/solution/solve.sh", "reference.py.in": "tasks/{name}/solution/reference.py",
    "trap.py.in": "tasks/{name}/solution/trap.py", "grader.py.in": "graders/{name}.py", "test.py.in": "tests/graders/test_{name}.py",
}  # fmt: skip
_RACE = "\nThis is a race: among answers that meet all of this, the one with the fewest {} used in the session, cited or not, wins.\n"


class NewError(Exception):
    """Nothing was written; the text says why."""


@dataclass(frozen=True)
class Made:
    """What was written, relative to the project, and what is left to do."""

    files: tuple[str, ...]
    left: tuple[str, ...]


def root() -> Path:
    """The folder that holds `qtypes/`, `tasks/` and `graders/`."""
    return Path(qtypes.__file__).resolve().parents[1]


def qtype(name: str, title: str | None = None) -> Made:
    """A driven qubit of hidden Rabi frequency under `qtypes/<name>/`, with its tests."""
    _free(name, "qtype", qtypes.names())
    words = {"name": name, "cls": _class(name), "title": title or _title(name)}
    files = _write("qtype", _QTYPE, words)
    return Made(
        files,
        (
            f"physics.py: your Hamiltonian and channels, with sources; closed forms first in tests/qtypes/test_{name}.py",
            "device.py: what is hidden, what a task may set, what is public; draw values that a laboratory of this platform would have",
            "device.py, notebook(): what the previous operator wrote, true on its date; no current value",
            "experiments.py: one class per experiment; fields with unit and bounds, cost(), examples(), raw records",
            "__init__.py: title; drifts = True where records depend on the lab clock; practice() for races",
            "README.md: platform, Hamiltonian, channels, units, experiments, limits of validity, sources",
            f"try it: qharbor contract {name}; pytest tests/qtypes/test_{name}.py; then qharbor new task TASK --qtype {name}",
        ),
    )


def task(name: str, qtype_name: str, mode: str, title: str | None = None) -> Made:
    """A task, with the generated parts of its bundle.

    On a qtype as `qharbor new qtype` makes it: find the Rabi frequency. On any other: the mean of the first array that the first example
    of its first experiment records, on the profile of another task of that qtype, if there is one; a frame for the real question.
    """
    from qharbor import bundles

    if mode not in MODES:
        raise NewError(f"no mode {mode!r}; there are: {', '.join(MODES)}")
    _free(name, "task", tasks.names())
    try:
        found = qtypes.load(qtype_name)
    except qtypes.TaskError as exc:
        raise NewError(str(exc)) from exc
    own = MARK in found.tools()
    if own:
        score = 'checks, metric=float(q["shots_used"]), metric_unit="shots"' if mode == "race" else "checks"
    else:
        score = 'checks, metric=float(q["jobs_used"]), metric_unit="jobs"' if mode == "race" else "checks"
    words = {
        "name": name, "cls": _class(name), "title": title or _title(name), "qtype": qtype_name, "mode": mode, "score": score,
        "index": str(1 + max((tasks.load(n).index for n in tasks.names()), default=0)), "shots": "100",
        "race_instruction": _RACE.format("shots" if own else "jobs") if mode == "race" else "",
    } | ({} if own else _any_qtype(found, mode))  # fmt: skip
    files = list(_write("task" if own else "task_any", _TASK, words))
    (root() / "tasks" / name / "solution" / "solve.sh").chmod(0o755)
    for path, text in bundles.render(tasks.load(name)).items():
        file = root() / "tasks" / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        files.append(f"tasks/{name}/{path}")
    return Made(
        tuple(dict.fromkeys(files)),
        (
            "task.toml, down to [metadata.lab]: category, layers, profile, budget (what care takes, times 1.5 to 3)",
            "instruction.md: for an experimentalist who never saw this project; every budget, field and threshold; no hint of the trap",
            f"graders/{name}.py: recompute from raw records, bind claims to cited jobs, score on truth or replay; named thresholds",
            "solution/reference.py: the careful experimentalist; solution/trap.py: the honest shortcut that a hasty one takes",
            "solution/stale.py, overclaim() of the grader: only where the generic cheats make no sense",
            f"tests/graders/test_{name}.py: an answer that fails each check",
            f"try it: qharbor tasks sync; qharbor contract {name}; qharbor check {name} --devices 2, at last --devices 20",
        ),
    )


def _any_qtype(found: QType[Any, Any], mode: str) -> dict[str, str]:
    """What the frame of a task needs of a qtype: profile, request, array, budget."""
    if not found.experiments:
        raise NewError(f"{found.name} offers no experiment; begin from a task that uses it, there is no frame for queries alone")
    like = next((c for c in map(tasks.load, tasks.names()) if c.qtype == found.name), None)
    try:
        profile = found.read_profile(like.profile if like else {})
        if mode == "race":
            found.practice(profile)
    except (ValidationError, qtypes.TaskError) as exc:
        raise NewError(str(exc)) from exc
    hidden = found.draw(seeds.generator(seeds.root_from(b"new task"), "device"), profile)
    device = Device(found.spec(hidden, profile), hidden, profile)
    request = found.experiments[0].examples(device.spec)[0]
    record = request.run(device, Clock(0.0), seeds.generator(seeds.root_from(b"new task"), "job/1"))
    budget = {unit: float(amount) * JOBS for unit, amount in request.cost().metered().items() if amount > 0}
    return {
        "tool": request.tool, "array": next(iter(record.arrays)), "request": request.model_dump_json(exclude_defaults=True, indent=1),
        "budget": "\n".join(f"{unit} = {_number(amount)}" for unit, amount in budget.items()),
        "budget_table": "\n".join(f"| {unit} | {_number(amount)} |" for unit, amount in budget.items()),
        "profile": "\n".join(f"{key} = {json.dumps(value)}" for key, value in (like.profile if like else {}).items()),
    }  # fmt: skip


def _number(amount: float) -> str:
    return str(int(amount)) if amount == int(amount) else repr(amount)


def _free(name: str, kind: str, known: tuple[str, ...]) -> None:
    if not PATTERN.match(name) or keyword.iskeyword(name) or name in ("kit", "test"):
        raise NewError(f"{name!r} is no name for a {kind}: lower-case words joined by underscores")
    if name in known:
        raise NewError(f"there is a {kind} {name!r} already")


def _write(kind: str, files: dict[str, str], words: dict[str, str]) -> tuple[str, ...]:
    home = resources.files("qharbor").joinpath("templates", "new", kind)
    targets = {source: target.format(name=words["name"]) for source, target in files.items()}
    taken = [t for t in targets.values() if (root() / t).exists()]
    if taken:
        raise NewError(f"{taken[0]} is there already")
    for source, target in targets.items():
        path = root() / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(home.joinpath(source).read_text(encoding="utf-8")).substitute(words), encoding="utf-8")
    importlib.invalidate_caches()
    return tuple(targets.values())


def _class(name: str) -> str:
    return "".join(w.capitalize() for w in name.split("_"))


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()
