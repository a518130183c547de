"""`qharbor new`: what it makes works as it stands, in every mode, and keeps the contract."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from typing import get_args

import pytest

from qharbor import scaffold
from tasks import Layer
from tests.qharbor.project import QTYPE, ROOT, TASK, Project

MODES = {"pass_fail": TASK, "race": "my_race", "test_case": "my_case"}


@pytest.fixture(scope="module")
def tasks_of_all_modes(project: Project) -> Project:
    for mode, name in MODES.items():
        if name != TASK:
            project.made("new", "task", name, "--qtype", QTYPE, "--mode", mode, "--title", f"A {mode} of a qubit")
    return project


def contract(project: Project, name: str) -> tuple[list[str], list[str]]:
    """Findings and skipped rules."""
    done = project.qharbor("contract", name, "--json")
    results = json.loads(done.stdout)["results"]
    return [f["message"] for r in results for f in r["findings"]], [r["rule"] for r in results if r["skipped"]]


def test_a_generated_qtype_keeps_the_contract(project: Project) -> None:
    assert contract(project, QTYPE) == ([], [])


@pytest.mark.parametrize("mode", MODES)
def test_a_generated_task_keeps_the_contract_in_every_mode(tasks_of_all_modes: Project, mode: str) -> None:
    findings, skipped = contract(tasks_of_all_modes, MODES[mode])
    assert findings == []
    assert set(skipped) <= {"harbor_accepts_the_bundle"}  # where Harbor is not installed


def test_the_generated_tests_pass(tasks_of_all_modes: Project) -> None:
    files = [f"tests/qtypes/test_{QTYPE}.py", *(f"tests/graders/test_{name}.py" for name in MODES.values())]
    done = tasks_of_all_modes.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout


def test_what_is_generated_is_clean(tasks_of_all_modes: Project) -> None:
    folders = [tasks_of_all_modes.root / f for f in ("qtypes", "tasks", "graders", "tests")]
    ruff = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), *map(str, folders)]
    done = subprocess.run([*ruff, "--exclude", "kit"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_generated_card_names_every_layer_and_what_its_profile_belongs_to(tasks_of_all_modes: Project) -> None:
    text = (tasks_of_all_modes.root / "tasks" / TASK / "task.toml").read_text()
    assert next(line for line in text.splitlines() if line.startswith("# of: ")) == "# of: " + ", ".join(get_args(Layer))
    assert set(tomllib.loads(text)["metadata"]["lab"]["layers"]) <= set(get_args(Layer))
    home = ROOT / "qharbor" / "templates" / "new"
    assert all("# of: " + ", ".join(get_args(Layer)) in (home / kind / "task.toml.in").read_text() for kind in ("task", "task_any"))


def test_a_card_with_a_field_that_the_profile_no_longer_has_is_named_by_the_contract(project: Project) -> None:
    project.made("new", "qtype", "changed_qubit")
    project.made("new", "task", "changed_task", "--qtype", "changed_qubit")
    card = project.root / "tasks" / "changed_task" / "task.toml"
    sound = card.read_text()
    card.write_text(sound.replace("rabi_range_mhz = ", "rabi_band_mhz = "))
    findings, _ = contract(project, "changed_qubit")
    card.write_text(sound)
    assert findings
    assert all("rabi_band_mhz" in f for f in findings)


def test_a_generated_race_is_run_and_scored_on_the_practice_instance(tasks_of_all_modes: Project) -> None:
    trial = tasks_of_all_modes.json("run", "my_race", "--agent", "reference", "--out", "runs/race")
    assert (trial["outcome"], trial["instance"], trial["race_metric"]) == ("pass", "practice", 8000.0)


def test_a_task_on_a_qtype_with_other_tools_gets_a_frame_that_keeps_the_contract(project: Project) -> None:
    project.made("new", "qtype", "other_qubit")
    project.change("qtypes/other_qubit/experiments.py", '"run_rabi"', '"run_drive"')
    project.made("new", "task", "framed", "--qtype", "other_qubit", "--mode", "race")
    findings, skipped = contract(project, "framed")
    assert findings == []
    assert set(skipped) <= {"harbor_accepts_the_bundle"}
    done = project.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/graders/test_framed.py")
    assert done.returncode == 0, done.stdout


def test_what_is_left_to_do_is_printed_and_every_file_is_named(project: Project) -> None:
    done = project.qharbor("new", "qtype", "third_qubit")
    assert "Left to do" in done.stderr
    assert "README.md" in done.stderr
    assert all((project.root / line).is_file() for line in done.stdout.split())
    assert "qtypes/third_qubit/physics.py" in done.stdout


@pytest.mark.parametrize("name", ["", "Qubit", "my qubit", "../out", "class", "kit", "a__b", "1q", "transmon_pulse"])
def test_a_name_that_cannot_be_one_or_is_taken_is_refused(name: str) -> None:
    with pytest.raises(scaffold.NewError):
        scaffold.qtype(name)


def test_a_task_on_no_qtype_in_no_mode_or_without_experiments_is_refused() -> None:
    for qtype, mode in (("no_such", "race"), ("transmon_pulse", "marathon"), ("logical_circuit_optimizer", "race")):
        with pytest.raises(scaffold.NewError):
            scaffold.task("never_written", qtype, mode)
    assert not (ROOT / "tasks" / "never_written").exists()


def test_nothing_is_overwritten(project: Project) -> None:
    (project.root / "graders" / "half_done.py").write_text("mine\n")
    done = project.qharbor("new", "task", "half_done", "--qtype", QTYPE)
    assert done.returncode == 2
    assert "graders/half_done.py is there already" in done.stderr
    assert (project.root / "graders" / "half_done.py").read_text() == "mine\n"
    assert not (project.root / "tasks" / "half_done").exists()
    (project.root / "graders" / "half_done.py").unlink()
