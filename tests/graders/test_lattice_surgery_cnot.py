"""Grading of `lattice_surgery_cnot`: the true model passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
import tomllib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tasks
from graders import lattice_surgery_cnot as module
from graders.kit import Category, Check
from graders.kit.grade import outcome_of
from graders.lattice_surgery_cnot import GRADER, Answer, targets
from lab.conventions import MatchingGraph, read_graph
from lab.conventions.matching import DEFAULT_LIMITS
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.surface_code_lattice_surgery.device import MAX_SHOTS
from qtypes.surface_code_lattice_surgery.physics import noisy
from tests.graders.decoder_models import Session, assert_refused, assert_too_slow
from tests.graders.in_process import failed, graded

QTYPE = load("surface_code_lattice_surgery")
CARD = tasks.load("lattice_surgery_cnot")
MEMORY_MEAN = "memory error per cycle, mean of both bases"
CNOT_MEAN = "CNOT error, mean of eight circuits"


def job(device: Device, job_id: str, tool: str, **request: Any) -> Any:
    experiment = QTYPE.tools()[tool].model_validate_json(json.dumps(request))
    arrays = {k: a.values for k, a in experiment.run(device, Clock(0.0), np.random.default_rng(len(job_id))).arrays.items()}
    return SimpleNamespace(job_id=job_id, number=1, tool=tool, request=experiment, lab_end_s=9.0, arrays=lambda: arrays)


@pytest.fixture(scope="module")
def session() -> Session:
    hidden = QTYPE.draw(np.random.default_rng(100), QTYPE.Profile())
    device = Device(QTYPE.spec(hidden, QTYPE.Profile()), hidden, QTYPE.Profile())
    merge = {"merge_rounds": 3, "boundary_basis": "Z"}
    return Session(device, (
        job(device, "memory-m", "run_memory", patch="M", basis="Z", rounds=10, shots=2000),
        job(device, "memory-c", "run_memory", patch="C", basis="Z", rounds=10, shots=10),
        job(device, "merge-zz", "run_merge", seam="ZZ", shots=5000, **merge),
        job(device, "merge-xx", "run_merge", seam="XX", shots=5000, **merge),
        job(device, "merge-xx-short", "run_merge", seam="XX", shots=4999, **merge),
        job(device, "cnot", "run_cnot", config="bell_xx", inputs=[1, 1], shots=5000),
    ))  # fmt: skip


def models(hidden: Any) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {"memory": {}, "cnot": {}}
    for t in targets():
        out[t.group][t.key] = str(noisy(t.program, hidden, 0.0).detector_error_model(decompose_errors=True))
    return out


@pytest.fixture(scope="module")
def true_models(session: Session) -> dict[str, dict[str, str]]:
    return models(session.device.hidden)


@pytest.fixture
def few_shots(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CNOT_SHOTS": 1000, "CNOT_CAP": 8000, "MEMORY_SHOTS": 10_000, "MEMORY_CAP": 40_000}.items():
        monkeypatch.setattr(module, name, value)


def answer(body: dict[str, Any]) -> Answer:
    return Answer.model_validate_json(json.dumps(body))


def grade(session: Session, body: dict[str, Any], seed: int = 1) -> tuple[dict[str, Check], dict[str, Any]]:
    return graded(GRADER, session, answer(body), seed)


def relabelled(text: str) -> str:
    """The same edges and probabilities, every label reversed in its first observable."""
    g = read_graph(text)
    labels = tuple(tuple(sorted(set(o) ^ {0})) for o in g.labels)
    return str(MatchingGraph(g.n_detectors, g.n_observables, g.ends, g.p, labels).model())


@pytest.mark.usefixtures("few_shots")
def test_the_true_noise_passes_and_the_verdict_shows_every_error_beside_its_limit(session: Session, true_models: dict) -> None:
    checks, quantities = grade(session, {**true_models, "evidence": {"memory": ["memory-m"], "cnot": ["merge-zz", "cnot"]}})
    assert failed(checks) == set()
    assert outcome_of(list(checks.values())) == "pass"
    assert set(quantities["memory_error_per_cycle"]) == {"Z", "X", "mean"}
    assert set(quantities["cnot_error"]) == {
        "z 00", "z 10", "x 00", "x 01", "bell_zz 00", "bell_zz 11", "bell_xx 00", "bell_xx 11", "mean",
    }  # fmt: skip
    for group, name in (("memory_error_per_cycle", MEMORY_MEAN), ("cnot_error", CNOT_MEAN)):
        entry = quantities[group]["mean"]
        assert (entry["error"], entry["limit"]) == (checks[name].value, checks[name].threshold)
        assert entry["stderr"] > 0
    assert 0.12 < quantities["cnot_error"]["mean"]["error"] < 0.16
    assert 4e-4 < quantities["memory_error_per_cycle"]["mean"]["error"] < 9e-4
    json.dumps(quantities, allow_nan=False)


@pytest.mark.usefixtures("few_shots")
def test_a_model_without_seam_terms_clears_the_memory_and_fails_the_cnot(session: Session) -> None:
    checks, _ = grade(session, models(session.device.hidden.without_seam_terms()))
    assert checks[MEMORY_MEAN].passed
    assert CNOT_MEAN in failed(checks)
    assert sum(n.startswith("CNOT error") for n in failed(checks)) == 9
    assert outcome_of(list(checks.values())) == "science_failure"


@pytest.mark.usefixtures("few_shots")
def test_a_spoiled_memory_model_fails_the_memory_only(session: Session, true_models: dict) -> None:
    body = {**true_models, "memory": {**true_models["memory"], "X": relabelled(true_models["memory"]["X"])}}
    checks, quantities = grade(session, body)
    assert failed(checks) == {MEMORY_MEAN}
    assert quantities["memory_error_per_cycle"]["X"]["error"] > 0.01
    assert not checks["memory error per cycle, X"].gate


@pytest.mark.usefixtures("few_shots")
def test_one_spoiled_configuration_fails_its_own_circuits(session: Session, true_models: dict) -> None:
    body = {**true_models, "cnot": {**true_models["cnot"], "bell_zz": "detector D231\nlogical_observable L0"}}
    checks, _ = grade(session, body)
    assert {"CNOT error, bell_zz 00", "CNOT error, bell_zz 11"} <= failed(checks)
    assert not {"CNOT error, z 00", "CNOT error, x 01", "CNOT error, bell_xx 11"} & failed(checks)


@pytest.mark.usefixtures("few_shots")
def test_grading_again_gives_the_same_numbers(session: Session, true_models: dict) -> None:
    first, second = (grade(session, true_models, seed=5)[0] for _ in range(2))
    assert [c.to_json() for c in first.values()] == [c.to_json() for c in second.values()]


@pytest.mark.usefixtures("few_shots")
def test_own_records_are_decoded_for_information(session: Session, true_models: dict) -> None:
    checks, _ = grade(session, true_models)
    on_record = {n: c for n, c in checks.items() if "own record" in n}
    assert set(on_record) == {f"{t} on the last own record, failures per shot" for t in ("memory.Z", "cnot.bell_xx")}
    assert not any(c.gate for c in on_record.values())
    assert on_record["cnot.bell_xx on the last own record, failures per shot"].value == pytest.approx(0.14, abs=0.03)


@pytest.mark.parametrize(
    "jobs, missing",
    [
        (("memory-m", "merge-zz", "merge-xx"), set()),
        (("memory-m", "cnot"), set()),
        (("memory-c", "cnot"), {"a memory of patch M was measured"}),
        (("memory-m", "merge-zz"), {"the XX seam was measured while merged, 5000 shots or more in one job"}),
        (("memory-m", "merge-zz", "merge-xx-short"), {"the XX seam was measured while merged, 5000 shots or more in one job"}),
        ((), {
            "a memory of patch M was measured", "the ZZ seam was measured while merged, 5000 shots or more in one job",
            "the XX seam was measured while merged, 5000 shots or more in one job",
        }),
    ],
)  # fmt: skip
def test_evidence_must_be_in_the_session(session: Session, true_models: dict, jobs: tuple[str, ...], missing: set[str]) -> None:
    part = session.only(*jobs)
    checks = GRADER.bind(answer(true_models), part, GRADER.recompute(part))  # type: ignore[arg-type]
    assert {c.name for c in checks if not c.passed} == missing
    assert all(c.category is Category.MISSING_EVIDENCE for c in checks if not c.passed)


def test_cited_jobs_must_be_completed_jobs_of_the_session(session: Session, true_models: dict) -> None:
    body = {**true_models, "evidence": {"cnot": ["cnot", "another-session"]}}
    checks = GRADER.bind(answer(body), session, GRADER.recompute(session))  # type: ignore[arg-type]
    (bad,) = [c for c in checks if not c.passed]
    assert bad.category is Category.FOREIGN_JOB
    assert "another-session" in bad.note


DENSE = "\n".join(f"error(0.1) D{i} D{j}" for i in range(100) for j in range(i)) + "\ndetector D231\nlogical_observable L1"


@pytest.mark.parametrize(
    "text, reason, category",
    [
        ("error(0.1) D0 D1 D231\nlogical_observable L1", "detectors_per_component", Category.SCHEMA),
        ("error(0.1) D0 L1", "detector_count", Category.SCHEMA),
        ("error(0.1) D231 L0", "observable_count", Category.SCHEMA),
        ("print('hello')", "syntax", Category.SCHEMA),
        ("repeat 1000000000 {\n error(0.1) D231 L1\n}", "terms", Category.RESOURCE),
        ("repeat 2 {\n" * 100 + "}\n" * 100, "repeat_blocks", Category.RESOURCE),
        (DENSE, "edges", Category.RESOURCE),
    ],
)
def test_models_that_canon_refuses_fail_by_name(session: Session, true_models: dict, text: str, reason: str, category: Category) -> None:
    checks, _ = grade(session, {**true_models, "cnot": {**true_models["cnot"], "x": text}})
    assert_refused(checks, "cnot.x", reason, category)


@pytest.mark.usefixtures("few_shots")
def test_decoding_that_takes_too_long_fails_by_name(session: Session, true_models: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DECODE_BUDGET_S", 1e-3)
    checks, quantities = grade(session, true_models)
    assert_too_slow(checks, quantities)


@pytest.mark.parametrize(
    "change",
    [
        {"memory": {"Z": "x"}},
        {"memory": {"Z": "x", "X": 3}},
        {"memory": {"Z": "", "X": "x"}},
        {"memory": {"Z": "x" * 4_000_001, "X": "x"}},
        {"cnot": {"z": "x", "x": "x", "bell_zz": "x", "bell_xx": "x", "y": "x"}},
        {"evidence": {"memory": [1]}},
        {"evidence": {"memory": ["j"] * 151}},
        {"decoder": "pickle"},
    ],
)
def test_answers_outside_of_the_schema_are_refused(change: dict) -> None:
    good = {"memory": {"Z": "x", "X": "x"}, "cnot": dict.fromkeys(("z", "x", "bell_zz", "bell_xx"), "x")}
    answer(good)
    with pytest.raises(ValidationError):
        answer({**good, **change})


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = " ".join(CARD.instruction().split())
    for phrase in (
        f"below {module.MEMORY_LIMIT * 1e3:.1f}e-3 per cycle",
        f"mean logical error below {module.CNOT_MEAN_LIMIT}, and each one is below {module.CNOT_EACH_LIMIT}",
        f"memory of M ({module.MEMORY_ROUNDS} rounds)",
        f"one job of {module.EVIDENCE_SHOTS} shots or more",
        f"at most {module.MODEL_BYTES // 1_000_000} MB each",
        f"at most {DEFAULT_LIMITS.edges_per_detector} different detector sets per detector",
        f"{CARD.budget['units']:g} units; a job costs shots / 1000 + 2. At most {CARD.budget['jobs']:g} jobs",
        f"at most {MAX_SHOTS} shots per job",
        f"{CARD.limits.wall_s // 3600} hours of wall time",
    ):
        assert phrase in text, phrase


def test_the_card_names_the_qtype_and_leaves_room_for_the_answer() -> None:
    assert CARD.qtype == QTYPE.name
    assert CARD.index == 19
    assert CARD.mode == "pass_fail"
    assert CARD.limits.answer_bytes > 6 * module.MODEL_BYTES
    QTYPE.Profile.model_validate(CARD.profile)
    with (CARD.folder / "task.toml").open("rb") as file:
        assert tomllib.load(file)["schema_version"] == "1.4"
