"""`qharbor check`: its statistics, its cheats, and that it finds tasks which measure too little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graders.kit import AnswerModel
from graders.kit.claims import FACTOR, SHRINK, exaggerate
from qharbor.check import Run, Store, Unit, answers, measure, plan, plot, summarise
from qharbor.check.console import said
from qharbor.check.estimate import UNKNOWN_S, Estimate, words
from qharbor.check.report import quantile
from qharbor.check.solvers import DERIVED, SOLVERS, Kept, NotApplicable
from tests.qharbor.project import QTYPE, TASK, Project

ANY = "transmon_t1"


def run(solver: str = "reference", device: int = 0, passed: bool = True, **more: Any) -> Run:
    known = {"outcome": "pass" if passed else "science_failure", "reason": "", "metric": None, "wall_s": 2.0, "cpu_s": 1.0, "budget": {}}
    return Run(solver, device, passed=passed, **known | more)


def check(name: str, margin: float | None, *, gate: bool = True) -> dict[str, Any]:
    return {"name": name, "margin": margin, "gate": gate, "passed": margin is None or margin >= 0}


# -- statistics -------------------------------------------------------------------------------------------------------------


def test_quantiles_interpolate() -> None:
    assert [quantile([4.0, 1.0, 3.0, 2.0], q) for q in (0.0, 0.5, 1.0)] == [1.0, 2.5, 4.0]


def test_a_summary_counts_passes_margins_of_gates_and_failures() -> None:
    runs = [
        run(device=0, checks=[check("a", 0.5), check("b", 0.1), check("note", -1.0, gate=False)], budget={"shots": 10.0}, wall_s=1.0),
        run(device=1, passed=False, checks=[check("a", -0.5), check("b", 0.3)], budget={"shots": 30.0}, wall_s=3.0),
        run("trap", passed=False),
    ]
    s = summarise(runs, "reference")
    assert (s.n, s.passed, s.rate, s.failed_checks, s.wall_s, s.budget) == (2, 1, 0.5, {"a": 1}, 2.0, {"shots": 20.0})
    assert s.margins == {"a": (-0.5, 0.0, 0.5), "b": (0.1, pytest.approx(0.2), 0.3)}
    assert json.loads(json.dumps(s.to_json()))["acceptable"] is False


@pytest.mark.parametrize(
    "solver, passed, n, acceptable",
    [("reference", 19, 20, True), ("reference", 18, 20, False), ("trap", 1, 20, True), ("trap", 2, 20, False), ("reference", 0, 0, False)],
)
def test_a_reference_passes_on_95_percent_and_a_cheat_on_at_most_5(solver: str, passed: int, n: int, acceptable: bool) -> None:
    assert summarise([run(solver, k, k < passed) for k in range(n)], solver).acceptable is acceptable


def test_a_run_lost_to_the_laboratory_is_acceptable_for_no_solver() -> None:
    for solver in ("reference", "trap"):
        runs = [run(solver, k, solver == "reference") for k in range(40)]
        lost = run(solver, 40, False, outcome="infrastructure_fault", reason="the sidecar ended")
        assert summarise(runs, solver).acceptable
        assert not summarise([*runs, lost], solver).acceptable


def test_a_cheat_that_does_not_apply_is_not_counted_and_says_why() -> None:
    s = summarise([run("overclaim", k, False, outcome="not_applicable", reason="it claims nothing") for k in range(3)], "overclaim")
    assert (s.n, s.acceptable, s.note) == (0, True, "it claims nothing")
    assert said(run("overclaim", 0, False, outcome="not_applicable", reason="it claims nothing")).endswith("it claims nothing")


def test_the_plot_is_drawn_with_and_without_margins(tmp_path: Path) -> None:
    runs = [run(checks=[check("a long name of a check " * 4, 0.3)]), run("trap", passed=False, checks=[check("b", -9.0)])]
    plot(runs, "t", tmp_path / "a.png")
    plot([run("nop", passed=False)], "t", tmp_path / "b.png")
    assert all((tmp_path / n).read_bytes().startswith(b"\x89PNG") for n in ("a.png", "b.png"))


# -- results on disk, order of work, time left ------------------------------------------------------------------------------------


def test_an_interrupted_check_goes_on_where_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "t.json", ANY)
    assert plan(store, SOLVERS, 1) == [
        Unit(ANY, 0, ("reference", "stale", "fabricate", "replayed", "overclaim")), Unit(ANY, 0, ("trap",)), Unit(ANY, 0, ("nop",)),
    ]  # fmt: skip
    store.add(run(), run("trap", passed=False))
    again = Store(tmp_path / "t.json", ANY)
    assert again.done() == {("reference", 0), ("trap", 0)}
    three = ("reference", "trap", "nop")
    assert plan(again, three, 2) == [Unit(ANY, 0, ("nop",)), *(Unit(ANY, 1, (s,)) for s in three)]


def test_a_complete_check_is_measured_anew_and_lends_its_times_to_the_estimate(tmp_path: Path) -> None:
    store = Store(tmp_path / "t.json", ANY)
    store.add(run(wall_s=7.0))
    store.save(complete=True, summary=[summarise(store.runs, "reference").to_json()])
    again = Store(tmp_path / "t.json", ANY)
    assert (again.runs, again.known_wall_s) == ([], {"reference": 7.0})


def test_results_of_another_version_or_of_another_form_are_not_taken_up(tmp_path: Path) -> None:
    store = Store(tmp_path / "t.json", ANY)
    store.add(run())
    saved = json.loads(store.path.read_text())
    for change in ({"task_version": "0.0.0"}, {"schema": "another"}):
        store.path.write_text(json.dumps(saved | change))
        assert Store(store.path, ANY).runs == []


def test_the_time_left_shrinks_as_runs_end() -> None:
    units = [Unit("t", d, ("reference",)) for d in range(4)]
    estimate = Estimate(units, jobs=2)
    assert estimate.left_s() == 2 * UNKNOWN_S
    estimate.ended(units[0], [run(wall_s=10.0)])
    assert estimate.left_s() == 15.0
    for unit in units[1:]:
        estimate.ended(unit, [run(wall_s=10.0)])
    assert estimate.left_s() == 0.0
    assert Estimate(units, 1, {("t", "reference"): 3.0}).left_s() == 12.0
    assert [words(s) for s in (0, 41, 300, 7200)] == ["", "about 40 s left", "about 5 min left", "about 2.0 h left"]


# -- answers made from answers --------------------------------------------------------------------------------------------------


def test_job_ids_are_exchanged_wherever_they_stand_and_nothing_else_is() -> None:
    answer = {"job_ids": ["j2", "j1"], "evidence": {"a": "j1"}, "text": "j1 is good", "x": 1}
    assert answers.cited(answer, ("j1", "j2", "j3")) == ["j2", "j1"]
    renamed = answers.renamed(answer, {"j1": "k1", "j2": "k2"})
    assert renamed == {"job_ids": ["k2", "k1"], "evidence": {"a": "k1"}, "text": "j1 is good", "x": 1}


def test_the_notebooks_latest_number_goes_into_every_field_of_its_name() -> None:
    entries = [{"data": {"t1_us": 30.0, "rates": [1.0, 2.0], "n": 4}}, {"data": None}, {"data": {"table": {"t1_us": 50.0}}}]
    answer = {"states": [{"t1_us": 1.0}, {"t1_us": 2.0, "share": 0.5}], "rates": [0.0, 0.0], "n": 3, "ids": ["a"]}
    changed, names = answers.stale(answer, entries)
    assert changed == {"states": [{"t1_us": 50.0}, {"t1_us": 50.0, "share": 0.5}], "rates": [1.0, 2.0], "n": 4, "ids": ["a"]}
    assert names == ["t1_us", "rates", "n"]
    assert answers.stale({"x": 1.0}, entries) == ({"x": 1.0}, [])


def test_the_generic_overclaim_moves_numbers_shrinks_uncertainties_and_stays_in_bounds() -> None:
    schema = {
        "properties": {
            "t1_us": {"type": "number"}, "t1_sigma_us": {"type": "number"}, "share": {"type": "number", "maximum": 1.0},
            "n": {"type": "integer"}, "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        }
    }  # fmt: skip
    answer = {"t1_us": 40, "t1_sigma_us": 3.0, "share": 0.9, "n": 5, "rows": [[1.0, -2.0]], "maybe": 2.0}
    changed = exaggerate(answer, schema)
    assert changed == {
        "t1_us": 40 * FACTOR, "t1_sigma_us": 3.0 / SHRINK, "share": 0.9 / FACTOR, "n": 5, "rows": [[FACTOR, -2.0 * FACTOR]],
        "maybe": 2.0 * FACTOR,
    }  # fmt: skip
    assert exaggerate({"n": 5, "t1_us": 0.0}, schema) is None


def test_graders_of_artefacts_have_nothing_to_overclaim_and_the_others_stay_in_their_schema() -> None:
    import graders
    import tasks

    for name in tasks.names():
        grader = graders.load(name)
        assert issubclass(grader.Answer, AnswerModel)
    assert graders.load("t_count_race").overclaim({"circuit": "x"}, {}) is None
    answer = {"t1_us": 40.0, "t1_sigma_us": 1.0, "excited_floor": 0.1, "job_ids": ["a"]}
    claim = graders.load("transmon_t1").overclaim(answer, {})
    assert claim is not None
    assert graders.load("transmon_t1").Answer.model_validate_json(json.dumps(claim)).t1_us == pytest.approx(48.0)


@pytest.mark.parametrize("cheat", sorted(DERIVED))
def test_a_cheat_that_starts_from_a_passing_answer_does_not_apply_where_there_is_none(cheat: str, tmp_path: Path) -> None:
    with pytest.raises(NotApplicable):
        DERIVED[cheat](ANY, Kept(tmp_path, passed=False), tmp_path)


def test_a_solver_without_its_script_is_a_fault_and_not_a_failure_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    from qharbor import embedded

    monkeypatch.setattr(embedded, "_PYTHON", {"trap": "no_such_script.py"})
    (lost,) = measure(Unit(ANY, 0, ("trap",)))
    assert (lost.outcome, lost.passed) == ("infrastructure_fault", False)
    assert "no_such_script.py" in lost.reason


# -- whole checks ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(project: Project) -> dict[str, Any]:
    """One device of the generated task, all solvers."""
    report = project.json("check", TASK, "--devices", "1", "--jobs", "2", "--out", "calibration")
    return {"report": report, "saved": json.loads((project.root / "calibration" / f"{TASK}.json").read_text())}


def test_a_sound_task_passes_and_its_table_is_kept_with_versions(whole: dict[str, Any], project: Project) -> None:
    assert whole["report"]["acceptable"] is True
    saved = whole["saved"]
    assert saved["complete"] is True
    assert {"python", "numpy"} <= saved["versions"].keys()
    assert [s["solver"] for s in saved["summary"]] == list(SOLVERS)
    assert all(r["wall_s"] > 0 and r["cpu_s"] > 0 for r in saved["runs"])
    assert (project.root / "calibration" / f"{TASK}.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "solver, outcome, failed",
    [
        ("reference", "pass", None),
        ("trap", "science_failure", "|Rabi frequency / truth - 1|"),
        ("nop", "no_submission", None),
        ("stale", "science_failure", "|Rabi frequency / truth - 1|"),
        ("fabricate", "contract_failure", "different pulses of the cited jobs"),
        ("replayed", "contract_failure", "cited jobs are completed jobs of this session"),
        ("overclaim", "science_failure", "|reported - recomputed| / recomputed sigma"),
    ],
)
def test_each_solver_ends_as_it_should_for_the_reason_it_should(
    whole: dict[str, Any], solver: str, outcome: str, failed: str | None
) -> None:
    (found,) = (r for r in whole["saved"]["runs"] if r["solver"] == solver)
    checks = {c["name"]: c["passed"] for c in found["checks"]}
    assert found["outcome"] == outcome, found
    assert failed is None or checks[failed] is False
    cited = checks.get("cited jobs are completed jobs of this session")
    assert cited is {"replayed": False, "nop": None}.get(solver, True)


def test_a_reference_that_starts_again_costs_what_it_cost_and_its_other_endings_cost_no_experiment(whole: dict[str, Any]) -> None:
    budget = {r["solver"]: r["budget"] for r in whole["saved"]["runs"]}
    assert budget["stale"] == budget["overclaim"] == budget["reference"]
    assert not any(budget["replayed"].values())
    assert 0 < budget["fabricate"]["shots"] < budget["reference"]["shots"]


def test_a_threshold_that_is_too_loose_is_caught(project: Project) -> None:
    project.made("new", "task", "loose", "--qtype", QTYPE)
    for name, value in (("RABI_TOLERANCE", "0.01"), ("BIND_SIGMAS", "4.0"), ("SIGMA_RANGE", "(0.3, 3.0)"), ("RESOLUTION", "0.003")):
        project.change("graders/loose.py", f"{name} = {value}", f"{name} = {'(0.0, 1e9)' if value.startswith('(') else '1e9'}")
    report = project.json("check", "loose", "--devices", "1", "--solver", "trap", "--out", "calibration", status=1)
    assert [(s["solver"], s["passed"], s["acceptable"]) for s in report["summary"]] == [("trap", 1, False)]


def test_a_reference_that_is_too_weak_is_caught(project: Project) -> None:
    project.made("new", "task", "feeble", "--qtype", QTYPE)
    project.change("tasks/feeble/solution/reference.py", "np.linspace(0.0, 1975.0, 80)", "np.linspace(0.0, 50.0, 80)")
    report = project.json("check", "feeble", "--devices", "1", "--solver", "reference", "--out", "calibration", status=1)
    assert [(s["solver"], s["passed"], s["acceptable"]) for s in report["summary"]] == [("reference", 0, False)]


def test_an_answer_that_can_be_read_from_the_notebook_is_caught(project: Project) -> None:
    project.made("new", "qtype", "told_qubit")
    project.change("qtypes/told_qubit/device.py", "round(hidden.rabi_mhz * (1.0 + error), 2)", "hidden.rabi_mhz + 0.0 * error")
    project.made("new", "task", "told", "--qtype", "told_qubit")
    report = project.json("check", "told", "--devices", "1", "--solver", "stale", "--out", "calibration", status=1)
    assert [(s["solver"], s["passed"], s["acceptable"]) for s in report["summary"]] == [("stale", 1, False)]


def test_a_solver_that_does_not_exist_is_refused_with_those_that_do(project: Project) -> None:
    done = project.qharbor("check", TASK, "--solver", "oracle")
    assert done.returncode == 2
    assert "overclaim" in done.stderr
