"""The documentation says what there is: commands, variables, events and routes are documented, links resolve, examples run."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from qharbor.cli import app
from qtypes import QType

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")])
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
EVIDENCE = (ROOT / "docs" / "evidence.md").read_text()


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Full names of the commands below `command`."""
    if not hasattr(command, "commands"):
        yield " ".join(path)
        return
    for name, sub in command.commands.items():
        yield from _commands(sub, (*path, name))


def _strings(path: Path, functions: set[str]) -> set[str]:
    """First string arguments of calls of `functions` in a source file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in functions:
                found.add(node.args[0].value)
    return found


@pytest.mark.parametrize("command", sorted(_commands(typer.main.get_command(app))))
def test_every_command_is_in_the_readme(command: str) -> None:
    assert re.search(rf"`qharbor {re.escape(command)}[ `]", README), f"qharbor {command} is not in README.md"


def test_every_command_in_the_readme_exists() -> None:
    known = set(_commands(typer.main.get_command(app)))
    named = re.findall(r"\bqharbor ([a-z]+)(?: ([a-z]+))?", README)
    assert len(named) > 10
    for first, second in named:
        assert first in known or f"{first} {second}" in known, f"README.md names `qharbor {first} {second}`"


def test_every_make_target_in_the_documentation_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {t for page in PAGES for words in re.findall(r"(?:`|\$ )make ((?:[a-z][a-z-]+ ?)+)", page.read_text()) for t in words.split()}
    assert {"demo", "test"} <= named
    assert named <= targets


def test_every_variable_of_the_sidecar_is_documented_and_no_other() -> None:
    section = ARCHITECTURE.split("## Configuration of a sidecar")[1].split("\n## ")[0]
    read = {f"QHARBOR_{name}" for name in _strings(ROOT / "sidecar" / "settings.py", {"get"}) if name.isupper()}
    assert {"QHARBOR_TASK", "QHARBOR_SUITE_SECRET", "QHARBOR_JOB_TIMEOUT_S"} <= read
    assert set(re.findall(r"`(QHARBOR_[A-Z_]+)`", section)) == read


def test_every_event_kind_is_documented_and_no_other() -> None:
    sources = [p for folder in ("sidecar", "evidence") for p in (ROOT / folder).rglob("*.py")]
    written = set().union(*(_strings(p, {"_record", "_append", "append"}) for p in sources))
    written = {kind for kind in written if re.fullmatch(r"[a-z]+_[a-z]+", kind)}
    assert "session_opened" in written
    section = EVIDENCE.split("## Events")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)) == written


def test_every_route_and_tool_is_documented() -> None:
    section = ARCHITECTURE.split("## REST")[1].split("\n## MCP")[0]
    for route in re.findall(r'@router\.\w+\(\s*"(/[^"]+)"', (ROOT / "sidecar" / "surface" / "rest.py").read_text()):
        assert f"/v1{route.replace(':path', '')}" in section, f"/v1{route} is not in docs/architecture.md"
    tools = ARCHITECTURE.split("## MCP")[1].split("\n## ")[0]
    for tool in _strings(ROOT / "sidecar" / "surface" / "mcp.py", {"tool", "Tool"}):
        assert f"`{tool}`" in tools, f"{tool} is not in docs/architecture.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not target.startswith(("http://", "https://", "mailto:", "#")):
            assert (page.parent / target.split("#")[0]).exists(), f"{page.name} links to {target}"


def test_paths_of_tests_named_in_the_threat_table_exist() -> None:
    table = ARCHITECTURE.split("## Threats")[1]
    named = re.findall(r"`([a-z]+/test_[a-z_0-9]+\.py)`", table)
    assert len(named) > 20
    missing = {name for name in named if not (ROOT / "tests" / name).is_file()}
    assert not missing


def test_every_top_folder_is_in_the_table_of_boundaries() -> None:
    table = ARCHITECTURE.split("## Boundaries")[1].split("\n## ")[0]
    packages = {p.parent.name for p in ROOT.glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}/`" not in table} == set()


@pytest.mark.parametrize("page", [p for p in PAGES if "```python run" in p.read_text()], ids=lambda p: p.name)
def test_examples_marked_run_do_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(f"example_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # annotations are resolved in the module of a class
    for block in re.findall(r"```python run\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), module.__dict__)


def test_the_example_of_a_qtype_keeps_the_contract(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "adding-a-qtype.md").read_text()
    folder = tmp_path / "spin_ramsey"
    folder.mkdir()
    (folder / "__init__.py").write_text(re.findall(r"```python run\n(.*?)```", page, re.DOTALL)[0])
    command = [sys.executable, "-m", "qharbor", "contract", str(folder), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    results = json.loads(done.stdout)["results"]
    assert len(results) > 15
    assert [(r["rule"], f["message"]) for r in results for f in r["findings"]] == []
    assert [r["rule"] for r in results if r["skipped"]] == []


def test_every_optional_member_of_a_qtype_is_on_its_page() -> None:
    page = (ROOT / "docs" / "adding-a-qtype.md").read_text()
    optional = {n for n, v in vars(QType).items() if not n.startswith("_") and not getattr(v, "__isabstractmethod__", False)}
    named = {n for n in optional if re.search(rf"`{n}\b", page)}
    assert optional - named <= {"experiments", "read_profile", "tools"}


def test_the_example_of_a_qtype_keeps_the_contract_in_a_request_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from sidecar.admission import parse

    page = ROOT / "docs" / "adding-a-qtype.md"
    module = types.ModuleType("example_contract")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(re.findall(r"```python run\n(.*?)```", page.read_text(), re.DOTALL)[0], str(page), "exec"), module.__dict__)
    from qtypes import AgentError

    for text, field in (
        ('{"delays_us": [0.1], "shots": 0}', "shots"),
        ('{"delays_us": [], "shots": 1}', "delays_us"),
        ('{"delays_us": [-1.0], "shots": 1}', "delays_us.0"),
        ('{"delays_us": [0.1], "shots": true}', "shots"),
        ('{"delays_us": [0.1], "shots": 1, "clock_s": 3}', "clock_s"),
    ):
        with pytest.raises(AgentError) as refused:
            parse(module.RunRamsey, text)
        assert refused.value.field == field
