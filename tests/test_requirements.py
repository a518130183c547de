"""The list of behaviours and the tests say the same: every citation resolves, every test of an attempt is cited."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS: list[dict[str, Any]] = tomllib.loads((ROOT / "tests" / "requirements.toml").read_text())["requirement"]
KINDS = {
    "AD": "admission", "EV": "evidence", "GR": "grading", "IS": "isolation", "PK": "packaging", "RE": "results", "SU": "surface",
    "TH": "threat",
}  # fmt: skip
ATTEMPTS = 25
IDS = [r["id"] for r in REQUIREMENTS]


@cache
def names_of(path: str) -> frozenset[str]:
    """Names of the test functions of a file, by its syntax: nothing is imported. Empty where there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    functions = (n for n in ast.parse(file.read_text()).body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(f.name for f in functions if f.name.startswith("test_"))


def attempts() -> dict[str, str]:
    """Node ids of the tests of attempts and the id of the attempt that their name gives."""
    found = {}
    for file in sorted((ROOT / "tests" / "threats").rglob("test_*.py")):
        path = file.relative_to(ROOT).as_posix()
        for name in names_of(path):
            number = re.match(r"test_threat_(\d\d)_", name)
            found[f"{path}::{name}"] = f"TH-{number[1]}" if number else ""
    return found


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=IDS)
def test_a_requirement_is_one_sentence_and_its_tests_exist(requirement: dict[str, Any]) -> None:
    assert set(requirement) == {"id", "kind", "behaviour", "tests"}
    assert re.fullmatch(r"[A-Z]{2}-\d\d", requirement["id"])
    assert KINDS[requirement["id"][:2]] == requirement["kind"]
    assert re.fullmatch(r"[A-Z`].{20,170}\.", requirement["behaviour"])
    assert requirement["tests"]
    assert len(set(requirement["tests"])) == len(requirement["tests"])
    for node in requirement["tests"]:
        path, _, name = node.partition("::")
        assert name in names_of(path), f"{requirement['id']} names {node}, which does not exist"


def test_ids_are_unique_in_order_and_without_gaps() -> None:
    assert sorted(set(IDS)) == IDS
    for prefix, count in Counter(i[:2] for i in IDS).items():
        assert [i for i in IDS if i.startswith(prefix)] == [f"{prefix}-{n:02d}" for n in range(1, count + 1)]


def test_no_two_requirements_say_the_same() -> None:
    said = Counter(r["behaviour"].lower() for r in REQUIREMENTS)
    assert [text for text, count in said.items() if count > 1] == []


def test_every_attempt_has_its_requirement_and_a_test_that_performs_it() -> None:
    assert [i for i in IDS if i.startswith("TH-")] == [f"TH-{n:02d}" for n in range(1, ATTEMPTS + 1)]
    performed = {requirement: 0 for requirement in IDS if requirement.startswith("TH-")}
    for requirement in attempts().values():
        assert requirement in performed, requirement
        performed[requirement] += 1
    assert [requirement for requirement, count in performed.items() if not count] == []


def test_every_test_of_an_attempt_is_cited_by_the_attempt_of_its_name() -> None:
    cited = {r["id"]: set(r["tests"]) for r in REQUIREMENTS}
    orphans = [node for node, requirement in attempts().items() if node not in cited.get(requirement, ())]
    assert orphans == [], "cite them in tests/requirements.toml"


def test_every_kind_has_its_behaviours() -> None:
    counted = Counter(r["kind"] for r in REQUIREMENTS)
    assert set(counted) == set(KINDS.values())
    assert sum(counted.values()) - counted["threat"] >= 33
