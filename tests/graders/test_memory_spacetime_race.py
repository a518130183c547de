"""Grading of `memory_spacetime_race`: gates, metric, evidence, and what the reference rests on."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.optimize import nnls

import tasks
from graders import memory_spacetime_race as module
from graders.kit import Category, Check
from graders.kit.grade import outcome_of
from graders.kit.replay import Proportion
from graders.memory_spacetime_race import BASES, GRADER, Answer, bound_name, upper_bound
from lab.conventions.matching import MatchingGraph, read_graph
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.surface_code_memory.device import CYCLE_S, MAX_SHOTS, Hidden
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import noise_at, quiet_circuit
from tests.graders.decoder_models import Session, assert_refused, assert_too_slow
from tests.graders.in_process import failed, graded, solution

QTYPE = load("surface_code_memory")
CARD = tasks.load("memory_spacetime_race")
PROFILE = QTYPE.read_profile(CARD.profile)
PLAN: dict[str, Any] = {"origin": [2, 3], "rows": 3, "cols": 5, "cycles": 8, "wait_us": 6.4}
LAB_S = 60.0
EVIDENCE = "shots of the submitted patch and cadence in basis {}"


def job(device: Device, job_id: str, basis: str, **change: Any) -> Any:
    fields = {k: v for k, v in PLAN.items() if k != "cycles"} | {"rounds": PLAN["cycles"], "shots": 20_000, "basis": basis} | change
    experiment = QTYPE.tools()["run_memory"].model_validate_json(json.dumps(fields))

    def arrays() -> dict[str, np.ndarray]:
        few = experiment.model_copy(update={"shots": 1000})
        return {k: a.values for k, a in few.run(device, Clock(0.0), np.random.default_rng(3)).arrays.items()}

    return SimpleNamespace(job_id=job_id, number=1, tool="run_memory", request=experiment, lab_end_s=LAB_S, arrays=arrays)


@pytest.fixture(scope="module")
def session() -> Session:
    hidden = QTYPE.draw(np.random.default_rng(11), PROFILE)
    device = Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)
    changes = {
        "few": {"shots": 19_999}, "half": {"shots": 10_000}, "other half": {"shots": 10_000, "wait_us": 6.4005},
        "elsewhere": {"origin": [2, 2]}, "larger": {"rows": 5}, "longer": {"rounds": 9}, "slower": {"wait_us": 6.41},
    }  # fmt: skip
    return Session(device, (job(device, "z", "Z"), job(device, "x", "X"), *(job(device, k, "Z", **v) for k, v in changes.items())))


def models(hidden: Hidden, plan: dict[str, Any]) -> dict[str, str]:
    noise = noise_at(hidden, layout(9), LAB_S, plan["wait_us"])
    circuits = {b: program(9, *plan["origin"], plan["rows"], plan["cols"], b, plan["cycles"]) for b in BASES}
    return {b: str(read_graph(quiet_circuit(p, noise).detector_error_model(decompose_errors=True)).model()) for b, p in circuits.items()}


@pytest.fixture(scope="module")
def good(session: Session) -> dict[str, Any]:
    return {**PLAN, **models(session.device.hidden, PLAN), "jobs": ["z", "x"]}


@pytest.fixture
def few_shots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small patch errs more often than the race allows, and is quick."""
    monkeypatch.setattr(module, "FIRST_SHOTS", 4_000)
    monkeypatch.setattr(module, "SHOTS_CAP", 8_000)
    monkeypatch.setattr(module, "ERROR_LIMIT", 0.3)


def answer(body: dict[str, Any]) -> Answer:
    return Answer.model_validate_json(json.dumps(body))


def grade(session: Session, body: dict[str, Any], seed: int = 1) -> tuple[dict[str, Check], dict[str, Any]]:
    return graded(GRADER, session, answer(body), seed)


@pytest.mark.usefixtures("few_shots")
def test_the_true_models_pass_with_the_volume_as_metric(session: Session, good: dict) -> None:
    checks, quantities = grade(session, good)
    assert failed(checks) == set()
    assert outcome_of(list(checks.values())) == "pass"
    score = GRADER.score(answer(good), session, GRADER.recompute(session), np.random.default_rng(1))  # type: ignore[arg-type]
    assert (score.metric, score.metric_unit) == ((15 + 14) * 8, "qubit-cycles")
    for basis in BASES:
        replayed = quantities["replayed"][basis]["logical_error"]
        own = checks[f"{basis}, logical error on the last own record"]
        assert abs(own.value - replayed) < 5 * own.stderr
        assert not own.gate
        assert replayed < checks[bound_name(basis)].value < replayed + 0.03
    # the longer side is the distance of basis Z
    assert quantities["replayed"]["Z"]["logical_error"] < quantities["replayed"]["X"]["logical_error"]
    json.dumps(quantities, allow_nan=False)


@pytest.mark.usefixtures("few_shots")
def test_a_model_with_reversed_labels_fails_its_own_basis(session: Session, good: dict) -> None:
    g = read_graph(good["X"])
    spoilt = MatchingGraph(g.n_detectors, 1, g.ends, g.p, tuple(() if o else (0,) for o in g.labels))
    checks, _ = grade(session, {**good, "X": str(spoilt.model())})
    assert failed(checks) == {bound_name("X")}
    assert outcome_of(list(checks.values())) == "science_failure"


@pytest.mark.usefixtures("few_shots")
def test_a_limit_just_below_the_truth_fails_and_just_above_passes(session: Session, good: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    _, quantities = grade(session, good)
    worse = max(v["logical_error"] for v in quantities["replayed"].values())
    for factor, passes in ((0.8, False), (1.25, True)):
        monkeypatch.setattr(module, "ERROR_LIMIT", factor * worse)
        assert (failed(grade(session, good, seed=7)[0]) == set()) is passes


@pytest.mark.parametrize("failures, shots, bound", [(0, 100, 1 - 0.05**0.01), (100, 100, 1.0), (1500, 50_000, 0.03129)])
def test_the_bound_is_that_of_clopper_and_pearson(failures: int, shots: int, bound: float) -> None:
    assert upper_bound(Proportion(failures, shots)) == pytest.approx(bound, abs=1e-5)


@pytest.mark.usefixtures("few_shots")
def test_grading_again_gives_the_same_numbers(session: Session, good: dict) -> None:
    first, second = (grade(session, good, seed=5)[0] for _ in range(2))
    assert [c.to_json() for c in first.values()] == [c.to_json() for c in second.values()]


@pytest.mark.parametrize(
    "jobs, missing",
    [
        (("z", "x"), ""), (("few", "x"), "Z"), (("half", "x"), "Z"), (("half", "other half", "x"), ""), (("elsewhere", "x"), "Z"),
        (("larger", "x"), "Z"), (("longer", "x"), "Z"), (("slower", "x"), "Z"), (("z",), "X"), ((), "ZX"),
    ],
)  # fmt: skip
def test_evidence_is_of_exactly_this_patch_and_cadence(session: Session, good: dict, jobs: tuple[str, ...], missing: str) -> None:
    part = session.only(*jobs)
    bad = [c for c in GRADER.bind(answer({**good, "jobs": []}), part, GRADER.recompute(part)) if not c.passed]  # type: ignore[arg-type]
    assert [c.name for c in bad] == [EVIDENCE.format(b) for b in missing]
    assert all(c.category is Category.MISSING_EVIDENCE for c in bad)


def test_cited_jobs_must_be_completed_jobs_of_the_session(session: Session, good: dict) -> None:
    checks = GRADER.bind(answer({**good, "jobs": ["z", "another"]}), session, GRADER.recompute(session))  # type: ignore[arg-type]
    (bad,) = [c for c in checks if not c.passed]
    assert bad.category is Category.FOREIGN_JOB


@pytest.mark.parametrize(
    "change, name",
    [
        ({"rows": 4}, "an odd rectangle on the chip of 9 x 9 data qubits"),
        ({"origin": [6, 5]}, "an odd rectangle on the chip of 9 x 9 data qubits"),
        ({"cycles": 7}, "deviation from 60 us of storage"),
        ({"wait_us": 6.5}, "deviation from 60 us of storage"),
    ],
)
def test_no_such_storage_fails_without_a_metric(session: Session, good: dict, change: dict, name: str) -> None:
    body, q = answer({**good, **change}), GRADER.recompute(session)  # type: ignore[arg-type]
    bad = {c.name: c.category for c in GRADER.bind(body, session, q) if not c.passed}  # type: ignore[arg-type]
    assert bad[name] is Category.SCHEMA
    if "wait_us" not in change:
        score = GRADER.score(body, session, q, np.random.default_rng(0))  # type: ignore[arg-type]
        assert score.metric is None
        assert [c.passed for c in score.checks] == [False]


def test_both_ends_of_the_time_window_are_taken(session: Session, good: dict) -> None:
    for cycles, wait, passes in ((54, 0.0, True), (8, 6.474, True), (8, 6.326, True), (8, 6.476, False), (55, 0.0, True), (56, 0.0, False)):
        q = GRADER.recompute(session)  # type: ignore[arg-type]
        checks = GRADER.bind(answer({**good, "cycles": cycles, "wait_us": wait}), session, q)  # type: ignore[arg-type]
        (window,) = [c for c in checks if c.name == "deviation from 60 us of storage"]
        assert window.passed is passes


LAST = program(9, 2, 3, 3, 5, "X", PLAN["cycles"]).n_detectors - 1


@pytest.mark.parametrize(
    "text, reason, category",
    [
        (f"error(0.1) D0 D1 D{LAST}\nlogical_observable L0", "detectors_per_component", Category.SCHEMA),
        ("error(0.1) D0 L0", "detector_count", Category.SCHEMA),
        ("repeat 1000000000 {\n error(0.1) D0 L0\n}", "terms", Category.RESOURCE),
    ],
)
def test_models_that_canon_refuses_fail_by_name(session: Session, good: dict, text: str, reason: str, category: Category) -> None:
    checks, _ = grade(session, {**good, "X": text})
    assert_refused(checks, "X", reason, category)


@pytest.mark.usefixtures("few_shots")
def test_decoding_that_takes_too_long_fails_by_name(session: Session, good: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DECODE_BUDGET_S", 1e-4)
    checks, quantities = grade(session, good)
    assert_too_slow(checks, quantities)


@pytest.mark.parametrize(
    "change",
    [{"Z": ""}, {"Z": "x" * 4_000_001}, {"rows": 11}, {"cols": 1}, {"origin": [7, 0]}, {"origin": [0]}, {"cycles": 0}, {"cycles": 61},
     {"wait_us": -0.1}, {"wait_us": 20.1}, {"volume": 1}, {"jobs": ["j"] * 151}],
)  # fmt: skip
def test_answers_outside_of_the_schema_are_refused(change: dict) -> None:
    body = {**PLAN, "Z": "x", "X": "x"}
    answer(body)
    with pytest.raises(ValidationError):
        answer({**body, **change})


def test_the_answer_claims_nothing() -> None:
    assert GRADER.overclaim({}, {}) is None


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = " ".join(CARD.instruction().split())
    for phrase in (
        f"is {module.STORAGE_US:g} us to within {module.STORAGE_TOLERANCE_US:g} us",
        f"at least {module.EVIDENCE_SHOTS} shots of `run_memory` on exactly this patch",
        f"(to {module.WAIT_TOLERANCE_US:g} us)", f"is at most {module.ERROR_LIMIT:g}, in each basis",
        f"takes {module.FIRST_SHOTS} shots per basis, and up to {module.SHOTS_CAP} where",
        f"may take {module.DECODE_BUDGET_S:g} s of processor time", f"at most {module.MODEL_BYTES // 1_000_000} MB each",
        f"{CARD.budget['units']:g} units", f"At most {CARD.budget['jobs']:g} jobs", f"at most {MAX_SHOTS} shots per job",
        f"takes {CYCLE_S * 1e6:g} us", f"{CARD.limits.wall_s / 3600:g} hours of wall time",
    ):  # fmt: skip
        assert phrase in text, phrase


def test_the_reference_knows_the_rules_and_keeps_to_the_budget() -> None:
    with solution("memory_spacetime_race", "memory_fit", "storage", "reference") as m:
        ref, storage = m["reference"], m["storage"]
        assert (ref.LIMIT, storage.STORAGE_US, storage.CYCLE_US) == (module.ERROR_LIMIT, module.STORAGE_US, CYCLE_S * 1e6)
        assert ref.TRY_SHOTS >= module.EVIDENCE_SHOTS
        assert CARD.budget["units"] >= 4 * (ref.MAP_SHOTS / 1000 + 2) + ref.TRIES * 2 * (ref.TRY_SHOTS / 1000 + 2)
        for n in ref.CYCLES:
            assert abs(n * (1.1 + storage.wait_of(int(n))) - 60) < 0.1


def test_the_reference_changes_the_cycles_of_a_public_circuit_rightly() -> None:
    with solution("memory_spacetime_race", "memory_fit", "storage") as m:
        patch = m["storage"].Patch(1, 2, 3, 5)

        def circuit(p: Any, basis: str) -> str:
            return program(9, p.row, p.col, p.rows, p.cols, basis, m["storage"].SCREEN_CYCLES).text  # type: ignore[arg-type]

        predictor = m["storage"].Predictor(None, circuit)
        for basis in BASES:
            for cycles in (3, 8, 21):
                assert predictor.public(patch, basis, cycles) == program(9, 1, 2, 3, 5, basis, cycles).circuit


def test_the_fit_with_bounds_is_that_of_nonnegative_least_squares() -> None:
    rng = np.random.default_rng(3)
    matrix, value, prior, width = rng.normal(size=(60, 20)), rng.normal(size=60), rng.uniform(0, 0.5, 20), np.full(20, 0.7)
    with solution("memory_spacetime_race", "memory_fit", "storage") as m:
        found = m["storage"].bounded_fit(matrix, value, prior, width)
    expected, _ = nnls(np.vstack((matrix, np.diag(1 / width))), np.concatenate((value, prior / width)))
    assert found == pytest.approx(expected, abs=1e-4)
    assert (expected == 0).any()
