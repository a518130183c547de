"""The generated part of the task bundles, and Harbor's package cache.

What a task's author writes: `task.toml` down to `[metadata.lab]`, `instruction.md`, `solution/`. What follows from that, and is the same in
every bundle but for names and times, is written here: the rest of `task.toml`, `environment/` and `tests/`, and
copies of the modules in `solution/` that the card borrows from another task: a bundle is complete in itself.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import tasks
from qharbor.containers import harbor_binary
from qharbor.images import AGENT, SIDECAR

NOTICE = "Written by `qharbor tasks sync` from [metadata.lab]; changes belong in qharbor/templates."
MARK = f"# --- {NOTICE}"
_GENERATED = {"environment/docker-compose.yaml": "environment.yaml.in", "tests/docker-compose.yaml": "tests.yaml.in"}


class BundleError(Exception):
    """A bundle is inconsistent, or Harbor could not take it; the text says which and why."""


def _fill(template: str, names: dict[str, Any]) -> str:
    text = resources.files("qharbor").joinpath("templates", template).read_text(encoding="utf-8")
    return Template(text).substitute(names)


def render(card: tasks.TaskCard) -> dict[str, str]:
    """Every generated file of one bundle: path relative to the bundle -> content."""
    names = {
        "task": card.name, "agent_image": AGENT.tag, "sidecar_image": SIDECAR.tag, "notice": NOTICE,
        "agent_timeout_s": float(card.limits.wall_s),
    }  # fmt: skip
    authored = authored_part((card.folder / "task.toml").read_text(encoding="utf-8"))
    config = f"{authored}\n{MARK}\n{_fill('task.toml.in', names)}"
    try:
        tomllib.loads(config)
    except tomllib.TOMLDecodeError as exc:
        raise BundleError(f"tasks/{card.name}/task.toml: above the generated part stands something that belongs in it ({exc})") from exc
    owners = {f"solution/{file}": tasks.load(owner).folder for file, owner in card.borrowed.items()}
    borrowed = {path: (folder / path).read_text(encoding="utf-8") for path, folder in owners.items()}
    return {"task.toml": config, **{path: _fill(template, names) for path, template in _GENERATED.items()}, **borrowed}


def authored_part(config: str) -> str:
    """`task.toml` as its author wrote it: all above the mark, with one newline at its end."""
    return config.split("# --- Written by `qharbor tasks sync`", 1)[0].rstrip() + "\n"


def sync(check: bool = False) -> list[str]:
    """Write the generated files and return the paths that changed, relative to the project.

    With `check` nothing is written: the paths returned are out of step. A file in `environment/` or `tests/` that is not generated is
    reported in both cases and left for its author to move.
    """
    changed: list[str] = []
    for name in tasks.names():
        card = tasks.load(name)
        if not card.is_ours:
            continue
        wanted = render(card)
        for path, text in wanted.items():
            file = card.folder / path
            if not file.is_file() or file.read_text(encoding="utf-8") != text:
                changed.append(f"tasks/{name}/{path}")
                if not check:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text, encoding="utf-8")
        for folder in ("environment", "tests"):
            found = {p.relative_to(card.folder).as_posix() for p in (card.folder / folder).rglob("*") if p.is_file()}
            changed += [f"tasks/{name}/{path} (not generated)" for path in sorted(found - wanted.keys())]
    return changed


# Runs under Harbor's own Python: how it hashes a bundle and where it keeps it are its business.
_INSTALL = """
import json, shutil, sys, tempfile
from pathlib import Path
from harbor.constants import PACKAGE_CACHE_DIR
from harbor.publisher.packager import Packager

found = {}
for folder in map(Path, sys.argv[1:]):
    digest, files = Packager.compute_content_hash(folder)
    target = PACKAGE_CACHE_DIR / "quantum-harbor" / folder.name / digest
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as staging:
            copy = Path(staging) / digest
            for file in files:
                place = copy / file.relative_to(folder.resolve())
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, place)
            copy.rename(target)
    found[folder.name] = digest
print(json.dumps(found))
"""


def install(names: Iterable[str] | None = None) -> dict[str, str]:
    """Put bundles into Harbor's package cache; by task, the line that runs the published name from there, without a network.

    `harbor run --task` fetches a package from Harbor's registry unless its content hash is given and the cache holds it.
    """
    wanted = tuple(names) if names is not None else tuple(n for n in tasks.names() if tasks.load(n).is_ours)
    if not wanted:
        return {}
    harbor = harbor_binary()
    python = harbor.resolve().parent / "python"
    folders = [str(tasks.load(name).folder) for name in wanted]
    done = subprocess.run([str(python), "-c", _INSTALL, *folders], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise BundleError(f"Harbor could not take the bundles: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    digests = json.loads(done.stdout.splitlines()[-1])
    command = _shown(harbor)
    return {name: f"{command} run --task {tasks.NAMESPACE}/{name}@sha256:{digests[name]}" for name in wanted}


def _shown(path: Path) -> str:
    """As short as it can be typed from where the caller stands."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
