"""Digests under which verdicts are kept: of a bundle's evidence, and of the code that judges it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import evidence
import graders
import qtypes
import tasks
from evidence import ANSWER, LOG_NAME, PAYLOADS, RECORDS, EvidenceError
from evidence.files import open_plain
from evidence.sealed import SEALED

LIBRARIES = ("numpy", "scipy", "stim", "pymatching", "pydantic")
"""Whose versions may move a last bit."""
BLOCK = 1 << 20


def bundle_digest(folder: Path) -> str | None:
    """SHA-256 over all that a grader may read of a bundle, and where it lies in it; None where something is not a plain file."""
    total = hashlib.sha256()
    try:
        for path in files_of(folder):
            total.update(f"{path.relative_to(folder).as_posix()}\0{_file_digest(path)}\n".encode())
    except (EvidenceError, OSError):
        return None
    return total.hexdigest()


def files_of(folder: Path) -> Iterator[Path]:
    """The files of a bundle that a grader may read."""
    for name in (LOG_NAME, ANSWER, SEALED):
        if (folder / name).exists():
            yield folder / name
    for sub in (RECORDS, PAYLOADS):
        if (folder / sub).is_dir():
            yield from sorted((folder / sub).iterdir())


def _file_digest(path: Path) -> str:
    sha = hashlib.sha256()
    with open_plain(path) as f:
        while block := f.read(BLOCK):
            sha.update(block)
    return sha.hexdigest()


@cache
def code_digest(task: str) -> str:
    """SHA-256 of what decides verdicts on `task`: evidence, graders, the task's card, its hardware type, shared conventions, libraries."""
    card = tasks.load(task)
    total = hashlib.sha256()
    for name in LIBRARIES:
        total.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    folders = [Path(str(m.__file__)).parent for m in (evidence, graders)]
    qtype = Path(str(sys.modules[type(qtypes.load(card.qtype)).__module__].__file__)).parent
    hardware = Path(str(qtypes.__file__)).parent
    folders += [qtype, hardware / "kit", *_conventions()]
    grader = Path(str(sys.modules[type(graders.load(task)).__module__].__file__))
    files = [p for f in folders for p in sorted(f.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    for path in [card.folder / "task.toml", grader, *sorted(hardware.glob("*.py")), *files]:
        total.update(f"{path.name}\0{_file_digest(path)}\n".encode())
    return total.hexdigest()


def _conventions() -> list[Path]:
    """The one module that graders share with the agent's side, found without importing it."""
    spec = importlib.util.find_spec("lab")
    return [Path(p) / "conventions" for p in (spec.submodule_search_locations or ())] if spec else []
