"""Rankings against counts by hand, the synthetic campaign from disk, and the tables."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.campaign import build
from graders.kit import Check, Stage, Verdict
from qharbor.cli import app
from results import export, races
from results.leaderboard import LAYERS, depth_of, rank
from results.model import Campaign, Graded, Outcome, Pattern, Trial
from results.statistics import Z68, Z95, wilson
from results.tables import as_csv, as_html
from tests.results.conftest import Made

CHECKS = (Check("a check", Stage.SCORE, False, 2.0, 1.0, -1.0, "us", jobs=("j1",), note="far"), Check("b", Stage.BIND, True, True))


def one(system: str, task: str, outcome: Outcome = Outcome.PASS, k: int = 0, **more: Any) -> Graded:
    known = {"metric": None, "reproducible": False, "quantities": {}, "attested": True, "pattern": Pattern.NONE, "instance": "fresh"} | more
    verdict = Verdict(
        task, "1.0.0", outcome, int(outcome is Outcome.PASS), checks=CHECKS, race_metric=known["metric"], instance=known["instance"],
        reproducible=known["reproducible"], quantities=known["quantities"],
    ).to_json()  # fmt: skip
    trial = Trial(Path(f"/jobs/{system}/{task}-{k}"), f"{task}-{k}", system, task, k)
    spent = {"usage": {"cost_usd": 0.5}, "budget": {"jobs": {"used": 3.0}}}
    return Graded(trial, verdict, pattern=known["pattern"], attested=known["attested"], **spent)


FAIL, FAULT = Outcome.SCIENCE_FAILURE, Outcome.INFRASTRUCTURE_FAULT


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return Campaign((
        *(one("a", "transmon_t1", k=k) for k in range(3)), one("a", "lattice_surgery_cnot", k=0), one("a", "lattice_surgery_cnot", FAIL, 1),
        one("a", "lattice_surgery_cnot", FAULT, 2), one("a", "t_count_race", metric=10.0, instance="practice"),
        one("b", "transmon_t1"), one("b", "transmon_t1", FAIL, 1, pattern=Pattern.TRAP_TAKEN),
        one("b", "transmon_t1", k=2, reproducible=True),
        one("b", "lattice_surgery_cnot", FAIL), one("b", "t_count_race", metric=12.0, instance="practice"),
        one("b", "readout_confusion", Outcome.NO_SUBMISSION, attested=False),
        one("=c", "t_count_race", FAIL, instance="practice"),
        *(one("=c", "stabilizer", FAIL, quantities={"corrected": {"capability": c, "score": 40.0, "x": "y"}}) for c in (80.0, 100.0)),
    ))  # fmt: skip


def test_rates_intervals_and_repeats_are_those_of_the_counts(campaign: Campaign) -> None:
    a, b, c = rank(campaign).systems
    assert (a.system, b.system, c.system) == ("a", "b", "=c")
    assert (a.overall.passed, a.overall.n, a.left_out) == (5, 6, 1)
    assert (a.overall.z1, a.overall.z196) == (wilson(5, 6, Z68), wilson(5, 6, Z95))
    assert (b.overall.passed, b.overall.n, b.left_out) == (2, 4, 2)
    # a: transmon_t1 3/3, lattice 1/2, race 1/1
    assert a.pass_at == pytest.approx({1: (1 + 0.5 + 1) / 3, 2: 1.0, 3: 1.0})
    assert a.pass_hat == pytest.approx({1: (1 + 0.5 + 1) / 3, 2: 0.5, 3: 1.0})
    assert (a.by_layer["physical device"].passed, a.by_layer["error correction"].n) == (3, 2)
    assert a.by_category["error correction"].rate == 0.5
    assert (a.outcomes["infrastructure_fault"], a.outcomes["pass"], b.patterns["trap_taken"]) == (1, 5, 1)
    assert a.usage == {"cost_usd": 3.0}
    assert c.stabilizer == {"stabilizer.corrected": {"capability": 90.0, "quality": 40.0, "instances": 1.0}}


def test_what_does_not_count_is_listed_with_its_reason(campaign: Campaign) -> None:
    left = {(x["system"], x["task"]): x["reason"] for x in rank(campaign).left_out}
    assert set(left) == {("a", "lattice_surgery_cnot"), ("b", "transmon_t1"), ("b", "readout_confusion")}
    assert "seed" in left["b", "transmon_t1"]


def test_difficulty_goes_with_depth_and_races_are_rated(campaign: Campaign) -> None:
    board = rank(campaign)
    lines = {t.task: t for t in board.tasks}
    assert (lines["transmon_t1"].depth, lines["lattice_surgery_cnot"].depth, lines["t_count_race"].depth) == (1, 3, 4)
    assert lines["transmon_t1"].difficulty == pytest.approx(1 / 5)
    # depth 1, 3, 4 with difficulty 1/5, 2/3, 1/3; `stabilizer` is no task here and has no depth
    assert board.depth_correlation == pytest.approx(0.5)
    assert any("stabilizer" in n for n in board.notes)
    rated = races.rate({"a": [10.0], "b": [12.0], "=c": [None]})
    assert {s.system: s.race.elo for s in board.systems if s.race} == pytest.approx({s: r.elo for s, r in rated.items()})
    assert depth_of(()) == 0
    assert depth_of(LAYERS) == 5


def test_the_page_asks_for_nothing_and_holds_no_markup_of_others() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    graded = [one(hostile, "t_count_race", metric=1.0, k=k) for k in range(2)] + [one(hostile, hostile, FAULT)]
    page = as_html(rank(Campaign(tuple(graded))))
    assert "<img" not in page
    assert "&lt;img" in page
    assert not re.search(r"<(script|link|iframe)|href=|url\(|@import", page)
    assert "default-src 'none'" in page


def test_the_table_for_a_spreadsheet_holds_no_formula(campaign: Campaign) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(rank(campaign)))))
    assert [r["system"] for r in rows] == ["a", "b", "'=c"]
    assert float(rows[0]["pass_rate"]) == pytest.approx(5 / 6)
    assert float(rows[0]["elo"]) > float(rows[1]["elo"]) > float(rows[2]["elo"])


def test_json_has_no_number_that_is_none(campaign: Campaign) -> None:
    json.dumps(rank(campaign).to_json(), allow_nan=False)
    assert rank(Campaign(())).systems == ()


def test_parquet_holds_all_verdicts_checks_and_costs_with_fixed_types(campaign: Campaign, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    paths = export.write(campaign, tmp_path / "tables")
    verdicts, checks, costs = (parquet.read_table(p) for p in paths)
    assert (len(verdicts), len(checks)) == (len(campaign), 2 * len(campaign))
    first = verdicts.to_pylist()[0]
    assert (first["system"], first["outcome"], first["layers"]) == ("a", "pass", ["physical device"])
    assert (first["depth"], first["counts"]) == (1, True)
    row = checks.to_pylist()[0]
    assert (row["value"], row["threshold"], row["margin"], row["jobs"], row["note"]) == (2.0, 1.0, -1.0, ["j1"], "far")
    assert {c["source"] for c in costs.to_pylist()} == {"budget", "usage", "grading"}
    empty = [parquet.read_table(p).schema for p in export.write(Campaign(()), tmp_path / "empty")]
    assert empty == [verdicts.schema, checks.schema, costs.schema]


def test_without_pyarrow_the_option_names_the_extra(campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(export.NoParquet, match=r"quantum-harbor\[parquet\]"):
        export.write(campaign, tmp_path)


def test_a_campaign_is_graded_and_ranked_from_disk_in_one_command(reference: Made, trap: Made, relaxation: Made, tmp_path: Path) -> None:
    bases = {
        "readout_confusion": {"reference": [reference.bundle], "trap": [trap.bundle]},
        "transmon_t1": {"reference": [relaxation.bundle]},
    }
    assert build(tmp_path / "jobs", bases, systems=3, repeats=2, seed=3) == 12
    done = CliRunner().invoke(app, ["leaderboard", str(tmp_path / "jobs"), "--json"])
    assert done.exit_code == 0, done.output
    board = json.loads(done.stdout)
    assert {s["system"] for s in board["systems"]} == {"system-01", "system-02", "system-03"}
    assert sum(s["overall"]["n"] + s["left_out"] for s in board["systems"]) == 12
    assert sum(s["overall"]["passed"] for s in board["systems"]) >= 3
    assert all(set(s["by_task"]) <= set(bases) for s in board["systems"])
