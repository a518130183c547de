"""`qharbor stabilizer`: codes, exported bundles, solving with resumption, offline scores, curves."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tasks
from qharbor.cli import app
from qharbor.contract import bundles as rules
from qharbor.contract.findings import NotApplicable
from qharbor.contract.subject import TaskSubject
from qharbor.stabilizer import export, instances, scores, solving
from qtypes.stabilizer_codes import baseline, codes
from qtypes.stabilizer_codes.circuits import parse

RUNNER = CliRunner()


def ran(*arguments: str, status: int = 0) -> str:
    result = RUNNER.invoke(app, ["stabilizer", *arguments])
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.output


def test_the_list_has_all_codes_and_their_sums() -> None:
    rows = json.loads(ran("list", "--json"))
    assert len(rows) == 192
    assert sum(r["listed"] for r in rows) == 16_340
    assert sum(r["corrected_weight"] for r in rows) == pytest.approx(9_940)
    assert {r["id"]: r["copy_of"] for r in rows}["hexagonal_3"] == "steane"
    assert "golay" in ran("list", "golay*")


def test_a_code_is_shown_and_an_unknown_one_or_task_is_said_to_be_none() -> None:
    shown = json.loads(ran("show", "perfect_5", "--json"))
    assert (shown["n"], shown["k"], shown["d"], shown["generators"][0]) == (5, 1, 3, codes.load("perfect_5").generators[0])
    assert shown["baseline"] == baseline.text_of(codes.load("perfect_5"))
    assert "nonsense" in ran("show", "nonsense", status=2)
    assert "b4" in ran("export", "--out", "x", "--task", "b4", status=2)


@pytest.mark.parametrize("short", ["b1", "b2", "b3"])
def test_an_exported_bundle_is_the_task_with_a_named_code_and_keeps_the_rules(short: str, tmp_path: Path) -> None:
    (target,) = export.export(tmp_path, [short], ["golay"])
    assert target.name == f"{short}_golay"
    card = tasks.load(target.name)
    toml = tomllib.loads((target / "task.toml").read_text())
    lab = toml["metadata"]["lab"]
    assert toml["task"]["name"] == f"{tasks.NAMESPACE}/{target.name}"
    assert toml["verifier"]["env"]["QHARBOR_TASK"] == target.name
    assert (lab["profile"], lab["version"], lab["budget"]) == (card.profile, card.version, card.budget)
    assert "family" not in lab
    assert card.profile["code"] == "golay"
    assert f"QHARBOR_TASK: {target.name}\n" in (target / "environment" / "docker-compose.yaml").read_text()
    subject = TaskSubject(card.model_copy(update={"folder": target}))
    for rule in (
        rules.card_is_whole, rules.instruction_states_the_budget, rules.instruction_states_the_criteria,
        rules.instruction_states_the_answer, rules.answer_is_strict, rules.solutions_use_the_public_surface,
    ):  # fmt: skip
        assert rule(subject) == [], rule.__name__
    with pytest.raises(NotApplicable):
        rules.bundle_is_in_step(subject)


def test_exporting_again_gives_the_same_files(tmp_path: Path) -> None:
    ran("export", "--out", str(tmp_path), "steane")
    first = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    ran("export", "--out", str(tmp_path), "steane")
    assert {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == first
    assert {p.parts[0] for p in first} == {"b1_steane", "b2_steane", "b3_steane"}


def test_members_of_a_family_are_known_by_name_and_not_listed() -> None:
    assert tasks.load("b2_golay_over_steane").profile["code"] == "golay_over_steane"
    assert tasks.load("b2_golay_over_steane").of == "stabilizer_optimization"
    assert not {"b1_golay", "b2_golay", "b3_golay"} & set(tasks.names())
    for wrong in ("b9_golay", "b2_", "b2_../x", "b2_golay/.."):
        with pytest.raises(KeyError):
            tasks.load(wrong)


def test_solving_goes_on_where_it_was_and_the_folder_scores_what_the_solvers_reached(tmp_path: Path) -> None:
    ran("solve", "steane", "--task", "b1", "--out", str(tmp_path))
    before = (tmp_path / "b1" / "steane.stim").stat().st_mtime_ns
    ran("solve", "steane", "perfect_5", "--out", str(tmp_path), "--seconds", "0.1", "--jobs", "2")
    assert (tmp_path / "b1" / "steane.stim").stat().st_mtime_ns == before
    assert set(solving.history(tmp_path / "b2")) == {"steane", "perfect_5"}
    found = json.loads(ran("score", str(tmp_path), "--json"))
    assert json.loads((tmp_path / "results.json").read_text()) == found
    for short, successes in (("b1", 2), ("b2", 2), ("b3", 2)):
        part = found["tasks"][short]
        assert part["totals"]["published"]["solved"] == part["totals"]["corrected"]["solved"] == successes
        assert part["totals"]["published"]["capability"] == 6 + 4
        assert (part["totals"]["published"]["maximum"], part["totals"]["published"]["instances"]) == (16_340, 192)
        assert part["curves"]["published"][-1][1:3] == [16_340, 10]
        entry = part["instances"]["steane"]
        assert entry["circuit"] == (tmp_path / short / "steane.stim").read_text()
        assert entry["expectations"] == [1] * 6
        assert entry["solver"]["cpu_s"] >= 0
    assert found["tasks"]["b1"]["totals"]["published"]["quality"] == 10
    assert 0 < found["tasks"]["b2"]["totals"]["published"]["quality"] < 10
    assert found["tasks"]["b3"]["fault_tolerant"] == 2
    assert "results" in ran("plot", str(tmp_path / "nothing"), status=2)
    paths = ran("plot", str(tmp_path)).split()
    assert [Path(p).suffix for p in paths] == [".svg", ".png"]
    assert "B3 fault tolerance" in Path(paths[0]).read_text()


def test_both_languages_are_scored_and_a_circuit_that_is_not_admissible_scores_nothing_and_is_named(tmp_path: Path) -> None:
    code = codes.load("perfect_5")
    (tmp_path / "b1").mkdir()
    names = {"H": "h", "S": "s", "CX": "cx", "S_DAG": "sdg", "X": "x", "Y": "y", "Z": "z"}
    gates = parse(baseline.text_of(code), code.n).gates
    body = "\n".join(f"{names[g.name]} q[{g.a}]" + ("" if g.b < 0 else f", q[{g.b}]") + ";" for g in gates)
    (tmp_path / "b1" / "perfect_5.qasm").write_text("OPENQASM 3.0;\nqubit[5] q;\n" + body)
    (tmp_path / "b1" / "steane.stim").write_text("MPP X0*X2*X4*X6\n")
    (tmp_path / "b1" / "shor.stim").write_text("H 0\n")
    text = ran("score", str(tmp_path))
    assert "b1 steane: refused" in text
    assert "b1 shor: 5 of 8 generators; not +1: [0, 1, 2]" in text
    part = json.loads((tmp_path / "results.json").read_text())["tasks"]["b1"]
    assert part["totals"]["published"]["capability"] == 4
    assert "MPP" in part["instances"]["steane"]["refused"]
    (tmp_path / "b1" / "nonsense.stim").write_text("H 0\n")
    assert "nonsense" in ran("score", str(tmp_path), status=2)
    assert "no circuit" in ran("score", str(tmp_path), "--task", "b2", status=2)


def test_a_solver_that_fails_on_one_code_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = instances.spec
    monkeypatch.setattr(instances, "spec", lambda s, n: real(s, n) | ({"generators": ["XX", "ZI"]} if n == "steane" else {}))
    failures = solving.run(tmp_path, "b1", ["steane", "shor"], seconds=1)
    assert len(failures) == 1
    assert failures[0].startswith("b1 steane: ")
    assert solving.left(tmp_path, "b1", ["steane", "shor"]) == ["steane"]
    assert scores.score(tmp_path, ["b1"])["tasks"]["b1"]["totals"]["published"]["solved"] == 1
