"""A copy of the project with nothing in it but what `qharbor new` makes, and the commands run in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
QTYPE, TASK = "my_qubit", "my_task"


@dataclass(frozen=True)
class Project:
    """The copy; commands run in it and see only it."""

    root: Path

    def python(self, *arguments: str, timeout_s: float = 600.0) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("QHARBOR_")} | {"PYTHONPATH": str(self.root), "COLUMNS": "200"}
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=env, capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def qharbor(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "qharbor", *arguments)

    def made(self, *arguments: str) -> str:
        """The output of a command that must succeed."""
        done = self.qharbor(*arguments)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def json(self, *arguments: str, status: int = 0) -> Any:
        done = self.qharbor(*arguments, "--json")
        assert done.returncode == status, done.stderr + done.stdout
        return json.loads(done.stdout)

    def change(self, path: str, old: str, new: str) -> None:
        """Replace text in a file, which must hold it."""
        file = self.root / path
        text = file.read_text()
        assert old in text, f"{path} does not hold {old!r}"
        file.write_text(text.replace(old, new))


def fresh(root: Path) -> Project:
    """A copy in the empty folder `root`, with one generated qtype and one task."""
    skip = shutil.ignore_patterns("__pycache__")
    for package in ("evidence", "sidecar", "qharbor"):
        shutil.copytree(ROOT / package, root / package, ignore=skip)
    shutil.copytree(ROOT / "agent_env" / "lab", root / "lab", ignore=skip)
    for package in ("qtypes", "tasks", "graders"):
        (root / package).mkdir()
        for file in (ROOT / package).glob("*.py"):
            # modules of tasks stay behind: the copy has no task but the ones it makes
            if package != "graders" or file.name == "__init__.py":
                shutil.copy(file, root / package)
        if (ROOT / package / "kit").is_dir():
            shutil.copytree(ROOT / package / "kit", root / package / "kit", ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", root)
    made = Project(root)
    made.made("new", "qtype", QTYPE)
    made.made("new", "task", TASK, "--qtype", QTYPE, "--mode", "pass_fail")
    return made
