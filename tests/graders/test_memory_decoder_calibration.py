"""Grading of `memory_decoder_calibration`: the true model passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tasks
from graders import memory_decoder_calibration as module
from graders.kit import Category, Check
from graders.kit.grade import outcome_of
from graders.memory_decoder_calibration import BASES, GRADER, RATIO, Answer, scored_program
from lab.conventions.matching import DEFAULT_LIMITS, MatchingGraph, read_graph
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.surface_code_memory.device import MAX_SHOTS, Hidden
from qtypes.surface_code_memory.layout import layout
from qtypes.surface_code_memory.physics import noise_at, quiet_circuit
from tests.graders.decoder_models import Session, assert_refused, assert_too_slow
from tests.graders.in_process import failed, graded

QTYPE = load("surface_code_memory")
CARD = tasks.load("memory_decoder_calibration")
PROFILE = QTYPE.read_profile(CARD.profile)


def job(device: Device, job_id: str, **request: Any) -> Any:
    fields = {"rows": 5, "cols": 5, "rounds": 12, "shots": 50_000, **request}
    experiment = QTYPE.tools()["run_memory"].model_validate_json(json.dumps(fields))

    def arrays() -> dict[str, np.ndarray]:
        few = experiment.model_copy(update={"shots": 2000})
        return {k: a.values for k, a in few.run(device, Clock(0.0), np.random.default_rng(3)).arrays.items()}

    return SimpleNamespace(job_id=job_id, number=1, tool="run_memory", request=experiment, lab_end_s=60.0, arrays=arrays)


@pytest.fixture(scope="module")
def session() -> Session:
    hidden = QTYPE.draw(np.random.default_rng(11), PROFILE)
    device = Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)
    return Session(device, (
        job(device, "z", basis="Z"), job(device, "x", basis="X"), job(device, "z-few", basis="Z", shots=49_999),
        job(device, "z-short", basis="Z", rounds=7), job(device, "z-small", basis="Z", rows=3, cols=3),
    ))  # fmt: skip


def models(hidden: Hidden) -> dict[str, str]:
    noise = noise_at(hidden, layout(5), 60.0)
    return {b: str(quiet_circuit(scored_program(b), noise).detector_error_model(decompose_errors=True)) for b in BASES}


@pytest.fixture(scope="module")
def true_models(session: Session) -> dict[str, str]:
    return models(session.device.hidden)


@pytest.fixture
def few_shots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_SHOTS", 8_000)
    monkeypatch.setattr(module, "SHOTS_CAP", 32_000)


def answer(body: dict[str, Any]) -> Answer:
    return Answer.model_validate_json(json.dumps(body))


def grade(session: Session, body: dict[str, Any], seed: int = 1) -> tuple[dict[str, Check], dict[str, Any]]:
    return graded(GRADER, session, answer(body), seed)


@pytest.mark.usefixtures("few_shots")
def test_the_true_noise_has_a_ratio_of_exactly_one(session: Session, true_models: dict) -> None:
    checks, quantities = grade(session, {**true_models, "jobs": ["z", "x"]})
    assert failed(checks) == set()
    assert outcome_of(list(checks.values())) == "pass"
    assert checks[RATIO].value == pytest.approx(1.0, abs=1e-12)  # the same graph on the same shots
    assert set(quantities["error_per_cycle"]) == {"Z", "X"}
    for basis in BASES:
        assert 2e-4 < quantities["error_per_cycle"][basis]["true_noise"] < 6e-3
        assert checks[f"{basis}, chi-square per detector of the detection fractions on the last own record"].value < 5
    json.dumps(quantities, allow_nan=False)


@pytest.mark.usefixtures("few_shots")
def test_the_same_device_without_its_pair_errors_fails(session: Session) -> None:
    checks, _ = grade(session, models(session.device.hidden.model_copy(update={"crosstalk": ()})))
    assert failed(checks) == {RATIO}
    assert checks[RATIO].value > 1.25
    assert outcome_of(list(checks.values())) == "science_failure"


@pytest.mark.usefixtures("few_shots")
def test_another_device_of_the_family_fails(session: Session) -> None:
    checks, _ = grade(session, models(QTYPE.draw(np.random.default_rng(12), PROFILE)))
    assert failed(checks) == {RATIO}
    assert checks["Z, chi-square per detector of the detection fractions on the last own record"].value > 20


@pytest.mark.usefixtures("few_shots")
def test_one_spoiled_basis_fails_the_mean_of_both(session: Session, true_models: dict) -> None:
    g = read_graph(true_models["X"])
    reversed_labels = MatchingGraph(g.n_detectors, 1, g.ends, g.p, tuple(() if o else (0,) for o in g.labels))
    checks, quantities = grade(session, {**true_models, "X": str(reversed_labels.model())})
    assert RATIO in failed(checks)
    assert quantities["error_per_cycle"]["X"]["answer"] > 0.02
    assert checks["ratio, basis Z"].value == pytest.approx(1.0, abs=1e-12)
    assert not checks["ratio, basis X"].gate


@pytest.mark.usefixtures("few_shots")
def test_grading_again_gives_the_same_numbers(session: Session, true_models: dict) -> None:
    first, second = (grade(session, true_models, seed=5)[0] for _ in range(2))
    assert [c.to_json() for c in first.values()] == [c.to_json() for c in second.values()]


@pytest.mark.parametrize(
    "jobs, missing",
    [
        (("z", "x"), ""), (("z-few", "x"), "Z"), (("z-short", "x"), "Z"), (("z-small", "x"), "Z"), (("z",), "X"), ((), "ZX"),
        (("z-few", "z", "x"), ""),
    ],
)  # fmt: skip
def test_evidence_must_be_in_the_session(session: Session, true_models: dict, jobs: tuple[str, ...], missing: str) -> None:
    part = session.only(*jobs)
    checks = GRADER.bind(answer(true_models), part, GRADER.recompute(part))  # type: ignore[arg-type]
    bad = [c for c in checks if not c.passed]
    assert [c.name for c in bad] == [f"50000 shots of the full patch in basis {b}, 8 rounds or more" for b in missing]
    assert all(c.category is Category.MISSING_EVIDENCE for c in bad)


def test_cited_jobs_must_be_completed_jobs_of_the_session(session: Session, true_models: dict) -> None:
    checks = GRADER.bind(answer({**true_models, "jobs": ["z", "another"]}), session, GRADER.recompute(session))  # type: ignore[arg-type]
    (bad,) = [c for c in checks if not c.passed]
    assert bad.category is Category.FOREIGN_JOB


N = scored_program("Z").n_detectors
DENSE = "\n".join(f"error(0.1) D{i} D{j}" for i in range(110) for j in range(i)) + f"\ndetector D{N - 1}\nlogical_observable L0"


@pytest.mark.parametrize(
    "text, reason, category",
    [
        (f"error(0.1) D0 D1 D{N - 1}\nlogical_observable L0", "detectors_per_component", Category.SCHEMA),
        ("error(0.1) D0 L0", "detector_count", Category.SCHEMA),
        ("import os", "syntax", Category.SCHEMA),
        (f"repeat 1000000000 {{\n error(0.1) D{N - 1} L0\n}}", "terms", Category.RESOURCE),
        (DENSE, "edges", Category.RESOURCE),
    ],
)
def test_models_that_canon_refuses_fail_by_name(session: Session, true_models: dict, text: str, reason: str, category: Category) -> None:
    checks, _ = grade(session, {**true_models, "X": text})
    assert_refused(checks, "X", reason, category)


@pytest.mark.usefixtures("few_shots")
def test_decoding_that_takes_too_long_fails_by_name(session: Session, true_models: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DECODE_BUDGET_S", 1e-3)
    checks, quantities = grade(session, true_models)
    assert_too_slow(checks, quantities)


@pytest.mark.parametrize(
    "change", [{"X": 3}, {"Z": ""}, {"Z": "x" * 2_000_001}, {"Y": "x"}, {"jobs": [1]}, {"jobs": ["j"] * 41}, {"decoder": "pickle"}]
)
def test_answers_outside_of_the_schema_are_refused(change: dict) -> None:
    answer({"Z": "x", "X": "x"})
    with pytest.raises(ValidationError):
        answer({"Z": "x", "X": "x", **change})


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = " ".join(CARD.instruction().split())
    for phrase in (
        f"at most {module.RATIO_LIMIT:g} times that of the decoder",
        f"at least {module.EVIDENCE_SHOTS} shots of `run_memory` on the full 5 x 5 patch with {module.EVIDENCE_ROUNDS} rounds or more",
        f"at most {module.MODEL_BYTES // 1_000_000} MB each, for the full 5 x 5 patch with {module.ROUNDS} rounds",
        f"takes {module.FIRST_SHOTS} shots per basis",
        f"at most {DEFAULT_LIMITS.edges_per_detector} different detector sets per detector",
        f"{CARD.budget['units']:g} units; a `run_memory` job costs shots / 1000 + 2",
        f"At most {CARD.budget['jobs']:g} jobs, at most {MAX_SHOTS} shots per job, {CARD.limits.wall_s // 3600} hours",
    ):
        assert phrase in text, phrase
    assert CARD.limits.answer_bytes > 2 * module.MODEL_BYTES
