"""Harbor bundles of single codes, `b1_golay`, `b2_golay`, ...: made from the bundle of the task, known to what runs them by their names."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

import tasks
from qharbor import bundles
from qharbor.stabilizer import instances
from qtypes.stabilizer_codes import codes


def authored(short: str, code: str) -> str:
    """`task.toml` of one instance down to `[metadata.lab]`: the family's with name, title and code exchanged."""
    family = tasks.load(instances.TASKS[short])
    member = instances.card(short, code)
    lines, skipping = [], False
    for line in bundles.authored_part((family.folder / "task.toml").read_text(encoding="utf-8")).splitlines():
        if line.startswith("["):
            skipping = line.strip() == "[metadata.lab.family]"
        if skipping:
            continue
        key = line.partition("=")[0].strip()
        if key == "name":
            line = f'name = "{tasks.NAMESPACE}/{member.name}"'
        elif key == "description":
            line = f'description = "{member.title}"'
        elif key == "code":
            line = f'code = "{code}"'
        lines.append(line)
        if line.strip() == "[metadata.lab]":
            lines.append(f'of = "{family.name}"')
    return "\n".join(lines) + "\n"


def bundle(short: str, code: str, folder: Path) -> Path:
    """Write one bundle into `folder`; gives its path. What was there under its name is replaced."""
    member = instances.card(short, code)
    target = folder / member.name
    if target.exists():
        shutil.rmtree(target)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(member.folder / "solution", target / "solution", ignore=ignored)
    c = codes.load(code)
    about = (
        f"\n## This instance\n`{code}`: {c.n} qubits, k = {c.k}, d = {c.d}, {c.listed} generators listed, {c.rank} of them independent.\n"
    )
    (target / "instruction.md").write_text(member.instruction() + about, encoding="utf-8")
    (target / "task.toml").write_text(authored(short, code), encoding="utf-8")
    for path, text in bundles.render(member.model_copy(update={"folder": target})).items():
        file = target / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    tomllib.loads((target / "task.toml").read_text(encoding="utf-8"))
    return target


def export(folder: Path, shorts: Sequence[str], names: Sequence[str]) -> list[Path]:
    """Bundles of all `names` for all tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    return [bundle(short, name, folder) for short in shorts for name in names]
