"""A hardware type, its task and its grader outside the tree, found through entry points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import graders
import qtypes
import tasks
from qharbor import bundles
from qharbor.contract.outside import NothingThere, entry_points, exposed

EXAMPLE = Path(__file__).parents[1] / "example_qtype"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes in which the example is installed."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    target = tmp_path_factory.mktemp("site")
    offline = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(target), str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "PYTHONPATH": str(target)}


def qharbor(environment: dict[str, str], *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "qharbor", *arguments, "--json"], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_installed_names_are_listed_with_our_own(environment: dict[str, str]) -> None:
    listed = [t["name"] for t in qharbor(environment, "list", "tasks")]
    assert {"spin_calibration", *tasks.names()} == set(listed)
    assert "single_spin" in [q["name"] for q in qharbor(environment, "list", "qtypes")]


@pytest.mark.parametrize("name", ["single_spin", "spin_calibration"])
def test_installed_qtype_and_task_keep_the_contract(environment: dict[str, str], name: str) -> None:
    report = qharbor(environment, "contract", name)
    assert report["holds"], [f for r in report["results"] for f in r["findings"]]
    assert len(report["results"]) >= 10


@pytest.mark.parametrize("agent,passes", [("reference", True), pytest.param("trap", False, marks=pytest.mark.slow)])
def test_installed_task_runs_and_is_graded(environment: dict[str, str], tmp_path: Path, agent: str, passes: bool) -> None:
    trial = qharbor(environment, "run", "spin_calibration", "--agent", agent, "--seed", "1", "--out", str(tmp_path / "run"))
    assert trial["outcome"] == ("pass" if passes else "science_failure"), trial


def test_a_folder_is_checked_without_an_installation_and_leaves_no_trace() -> None:
    before = sys.path.copy(), dict(os.environ), set(sys.modules)
    with exposed(EXAMPLE) as (kinds, names):
        assert (kinds, names) == (["single_spin"], ["spin_calibration"])
        assert qtypes.load("single_spin").title.startswith("Single electron spin")
        assert graders.load("spin_calibration").task == "spin_calibration"
        assert not tasks.load("spin_calibration").is_ours
        assert bundles.sync(check=True) == bundles.sync(check=True)
        assert not any("spin" in line for line in bundles.sync(check=True))
    assert (sys.path, dict(os.environ)) == before[:2]
    assert not any(m.startswith("harbor_spin") for m in sys.modules)
    with pytest.raises(qtypes.TaskError, match="no qtype 'single_spin'"):
        qtypes.load("single_spin")
    with pytest.raises(KeyError, match="no task 'spin_calibration'"):
        tasks.load("spin_calibration")


def test_a_qtype_folder_inside_a_package_is_imported_by_its_full_name(tmp_path: Path) -> None:
    folder = tmp_path / "pkg" / "spins"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "__init__.py").write_text("")
    assert entry_points(folder) == (tmp_path, {qtypes.ENTRY_POINTS: {"spins": "pkg.spins:QTYPE"}})


def test_a_folder_that_holds_nothing_says_what_would_be_something(tmp_path: Path) -> None:
    with pytest.raises(NothingThere, match=r"no qtype \(__init__.py\), no task \(task.toml\)"):
        entry_points(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with pytest.raises(NothingThere, match="declares no entry point"):
        entry_points(tmp_path)


def test_the_command_fails_on_a_name_it_does_not_know(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "qharbor", "contract", "nothing"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is no folder, qtype or task" in done.stderr
