"""The catalogue is what `qharbor docs build` writes, and says of each hardware type and task what there is to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import graders
import qtypes
import tasks
from qharbor import catalogue
from qtypes.schemas import flat_schema

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return catalogue.pages()


def test_the_catalogue_is_in_step_with_the_code(pages: dict[str, str]) -> None:
    on_disk = {p.relative_to(ROOT).as_posix(): p.read_text() for p in (ROOT / catalogue.FOLDER).rglob("*.md")}
    assert sorted(on_disk) == sorted(pages), "run `qharbor docs build`"
    assert [p for p in pages if on_disk[p] != pages[p]] == [], "run `qharbor docs build`"


@pytest.mark.parametrize("name", [n for n in qtypes.names() if (ROOT / "qtypes" / n).is_dir()])
def test_a_hardware_page_has_every_tool_and_field(pages: dict[str, str], name: str) -> None:
    page = pages[f"docs/catalogue/qtypes/{name}.md"]
    qtype = qtypes.load(name)
    for model in (qtype.Spec, *qtype.tools().values()):
        for field in flat_schema(model).get("properties", {}):
            assert f"`{field}`" in page
    assert all(f"### `{tool}`" in page for tool in qtype.tools())


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_page_has_budget_answer_and_calibration(pages: dict[str, str], name: str) -> None:
    if not tasks.load(name).is_ours:
        pytest.skip("a task of another distribution")
    page = pages[f"docs/catalogue/tasks/{name}.md"]
    assert all(f"| `{unit}` |" in page for unit in tasks.load(name).budget)
    assert all(f"`{field}`" in page for field in flat_schema(graders.load(name).Answer)["properties"])
    assert "## Calibration" in page


def test_a_page_out_of_step_and_a_page_of_nothing_are_told_and_mended(
    pages: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "root", lambda: tmp_path)
    monkeypatch.setattr(catalogue, "pages", lambda: pages)
    assert sorted(catalogue.build(check=True)) == sorted(pages)
    assert not (tmp_path / "docs").exists()
    catalogue.build()
    index = tmp_path / "docs" / "catalogue" / "README.md"
    index.write_text("old")
    orphan = index.parent / "tasks" / "gone.md"
    orphan.write_text("a task that is gone")
    assert catalogue.build(check=True) == ["docs/catalogue/README.md", "docs/catalogue/tasks/gone.md"]
    catalogue.build()
    assert catalogue.build(check=True) == []
    assert not orphan.exists()


def test_only_a_complete_calibration_of_this_version_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = tasks.load("transmon_t1")
    summary = {
        "solver": "reference", "n": 20, "passed": 19, "low": 0.76, "high": 0.99, "cpu_s": 12.0, "failed_checks": {}, "note": "",
        "margins": {"span": [0.1, 0.2, 0.3]}, "metric": None,
    }  # fmt: skip
    saved = {"schema": catalogue.SCHEMA, "task_version": card.version, "complete": True, "summary": [summary]}
    monkeypatch.setattr(catalogue, "root", lambda: tmp_path)
    (tmp_path / "docs" / "calibration").mkdir(parents=True)
    file = tmp_path / "docs" / "calibration" / "transmon_t1.json"
    file.write_text(json.dumps(saved))
    assert "| reference | 19/20 | 76% to 99% | 12 | closest margin +10%: span |" in catalogue._calibration(card)[1]
    for change in ({"complete": False}, {"task_version": "0.9.0"}, {"schema": "another"}):
        file.write_text(json.dumps(saved | change))
        assert "qharbor check transmon_t1" in catalogue._calibration(card)[0]
