"""A qtype, a task or a whole distribution in a folder, made visible to the laboratory without installing it."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import graders
import qtypes
import tasks

GROUPS = (qtypes.ENTRY_POINTS, tasks.ENTRY_POINTS, graders.ENTRY_POINTS)
_METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 0\n"


class NothingThere(Exception):
    """A folder holds no qtype, task or distribution; the text says what would be one."""


def entry_points(folder: Path) -> tuple[Path, dict[str, dict[str, str]]]:
    """The folder to import from, and the entry points by group that make what lies in `folder` known."""
    if (folder / "pyproject.toml").is_file():
        with (folder / "pyproject.toml").open("rb") as f:
            declared = tomllib.load(f).get("project", {}).get("entry-points", {})
        found = {g: dict(declared[g]) for g in GROUPS if g in declared}
        if not found:
            raise NothingThere(f"{folder}/pyproject.toml declares no entry point of {', '.join(GROUPS)}")
        return (folder / "src" if (folder / "src").is_dir() else folder), found
    root, parts = folder.parent, [folder.name]
    while (root / "__init__.py").is_file():
        root, parts = root.parent, [root.name, *parts]
    module = ".".join(parts)
    if (folder / "task.toml").is_file():
        return root, {tasks.ENTRY_POINTS: {folder.name: module}}
    if (folder / "__init__.py").is_file():
        return root, {qtypes.ENTRY_POINTS: {folder.name: f"{module}:QTYPE"}}
    raise NothingThere(f"{folder} is no qtype (__init__.py), no task (task.toml) and no distribution (pyproject.toml with entry points)")


def _own(folder: Path, group: str) -> bool:
    """Whether a folder lies where the laboratory finds it anyway."""
    home = {qtypes.ENTRY_POINTS: Path(qtypes.__file__).parent, tasks.ENTRY_POINTS: tasks.HERE}
    return group in home and folder.parent == home[group]


@contextlib.contextmanager
def exposed(folder: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Names of the qtypes and of the tasks in `folder`, which this process and its children can load while the context is open."""
    folder = folder.resolve()
    root, groups = entry_points(folder)
    names = sorted(groups.get(qtypes.ENTRY_POINTS, {})), sorted(groups.get(tasks.ENTRY_POINTS, {}))
    if all(_own(folder, g) for g in groups):
        yield names
        return
    with tempfile.TemporaryDirectory(prefix="qharbor-exposed-") as temporary:
        info = Path(temporary) / "qharbor_exposed-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(_METADATA.format(name="qharbor-exposed"))
        lines = [line for g, entries in groups.items() for line in (f"[{g}]", *(f"{n} = {v}" for n, v in entries.items()))]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        before, paths = os.environ.get("PYTHONPATH"), [temporary, str(root)]
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *([before] if before else [])])
        sys.path[:0] = paths
        _forget(root)
        try:
            yield names
        finally:
            for path in paths:
                sys.path.remove(path)
            os.environ.pop("PYTHONPATH")
            if before is not None:
                os.environ["PYTHONPATH"] = before
            _forget(root)


def _forget(root: Path) -> None:
    """Drop what was loaded from `root`, and what the registries remember."""
    for load in (qtypes.load, tasks.load, graders.load):
        load.cache_clear()
    importlib.invalidate_caches()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        places = list(getattr(module, "__path__", [])) if file is None else [file]
        if any(str(p).startswith(f"{root}{os.sep}") for p in places) and not _is_ours(name):
            del sys.modules[name]


def _is_ours(name: str) -> bool:
    return name.split(".")[0] in {"evidence", "graders", "lab", "qharbor", "qtypes", "results", "sidecar", "tasks", "tests", "conftest"}
