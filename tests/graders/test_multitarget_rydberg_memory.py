"""Grading of `multitarget_rydberg_memory`: the true model passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
import tomllib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tasks
from graders import multitarget_rydberg_memory as module
from graders.kit import Category, Check
from graders.kit.decoding import predicted_rates
from graders.kit.grade import outcome_of
from graders.multitarget_rydberg_memory import BASES, GRADER, Answer, matchable, true_graph
from lab.conventions import MatchingGraph, read_graph, unpack_bits
from lab.conventions.matching import DEFAULT_LIMITS
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.kit.stim_circuits import sample_detections
from qtypes.rydberg_multitarget_surface_code import circuits
from qtypes.rydberg_multitarget_surface_code import layout as lay
from qtypes.rydberg_multitarget_surface_code.device import MAX_SHOTS, Hidden, independent
from qtypes.rydberg_multitarget_surface_code.physics import noisy
from tests.graders.decoder_models import Session, assert_refused, assert_too_slow
from tests.graders.in_process import failed, graded

QTYPE = load("rydberg_multitarget_surface_code")
CARD = tasks.load("multitarget_rydberg_memory")
TRUE = "error per cycle / that of the true model, mean of both bases"
INDEPENDENT = "error per cycle / that of independent errors, mean of both bases"
PROFILE = QTYPE.Profile()


def job(device: Device, job_id: str, tool: str, recorded: int | None = None, **request: Any) -> Any:
    """A job; with `recorded` only so many of its shots are sampled, which is all that the grader reads of a long one."""
    experiment = QTYPE.tools()[tool].model_validate_json(json.dumps(request))
    short = experiment.model_copy(update={"shots": recorded or experiment.shots})
    arrays = {k: a.values for k, a in short.run(device, Clock(0.0), np.random.default_rng(len(job_id))).arrays.items()}
    return SimpleNamespace(job_id=job_id, number=1, tool=tool, request=experiment, lab_end_s=9.0, arrays=lambda: arrays)


def draw(seed: int) -> Device:
    hidden = QTYPE.draw(np.random.default_rng(seed), PROFILE)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


@pytest.fixture(scope="module")
def session() -> Session:
    device = draw(100)
    return Session(device, (
        job(device, "memory-z", "run_memory", 2000, basis="Z", rounds=8, shots=50_000),
        job(device, "memory-x", "run_memory", 2000, basis="X", rounds=8, shots=30_000),
        job(device, "memory-x-2", "run_memory", 10, basis="X", rounds=12, shots=20_000),
        job(device, "memory-x-few", "run_memory", 10, basis="X", rounds=8, shots=19_999),
        job(device, "memory-x-short", "run_memory", 10, basis="X", rounds=7, shots=100_000),
        job(device, "train", "run_pulse_train", 10, plaquette=lay.FOUR_TARGETS[0], n_pulses=4, prep="+", meas="X", shots=10),
    ))  # fmt: skip


def models(hidden: Hidden) -> dict[str, str]:
    return {b: str(matchable(noisy(circuits.memory(b, 8), hidden))) for b in BASES}


@pytest.fixture(scope="module")
def true_models(session: Session) -> dict[str, str]:
    return models(session.device.hidden)


@pytest.fixture
def few_shots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHOTS", 5_000)
    monkeypatch.setattr(module, "CAP", 20_000)


def answer(body: dict[str, Any]) -> Answer:
    return Answer.model_validate_json(json.dumps(body))


def grade(session: Session, body: dict[str, Any], seed: int = 1) -> tuple[dict[str, Check], dict[str, Any]]:
    return graded(GRADER, session, answer(body), seed)


@pytest.mark.usefixtures("few_shots")
def test_the_true_noise_passes_and_the_verdict_shows_all_three_decoders(session: Session, true_models: dict) -> None:
    checks, quantities = grade(session, true_models)
    assert failed(checks) == set()
    assert outcome_of(list(checks.values())) == "pass"
    assert checks[TRUE].value == pytest.approx(1.0, abs=1e-12)
    assert checks[TRUE].threshold == 1.08
    errors = quantities["error_per_cycle"]
    assert set(errors) == {"submitted", "true_model", "independent_errors"}
    ratio = np.prod([errors["submitted"][b] / errors["independent_errors"][b] for b in BASES]) ** 0.5
    assert checks[INDEPENDENT].value == pytest.approx(ratio)
    assert ratio < 0.95
    assert all(5e-4 < errors["true_model"][b] < 8e-3 for b in BASES)
    json.dumps(quantities, allow_nan=False)


@pytest.mark.usefixtures("few_shots")
def test_the_best_model_of_independent_errors_fails_both_ratios(session: Session) -> None:
    checks, _ = grade(session, models(independent(session.device.hidden)))
    assert failed(checks) == {TRUE, INDEPENDENT}
    assert checks[INDEPENDENT].value == pytest.approx(1.0, abs=1e-12)
    assert outcome_of(list(checks.values())) == "science_failure"


@pytest.mark.usefixtures("few_shots")
def test_the_true_model_of_another_device_and_one_pair_rate_for_all_fail(session: Session) -> None:
    assert TRUE in failed(grade(session, models(draw(101).hidden))[0])
    h = session.device.hidden
    mean = float(np.mean([q for p in h.pulses for q in p.correlated]))
    average = h.with_pulses(tuple(p.model_copy(update={"correlated": (mean,) * len(p.correlated)}) for p in h.pulses))
    assert TRUE in failed(grade(session, models(average))[0])


@pytest.mark.usefixtures("few_shots")
def test_one_spoiled_basis_spoils_the_mean(session: Session, true_models: dict) -> None:
    g = read_graph(true_models["X"])
    flipped = MatchingGraph(g.n_detectors, g.n_observables, g.ends, g.p, tuple((0,) if not o else () for o in g.labels))
    checks, quantities = grade(session, {**true_models, "X": str(flipped.model())})
    assert failed(checks) == {TRUE, INDEPENDENT}
    errors = quantities["error_per_cycle"]
    assert errors["submitted"]["Z"] == errors["true_model"]["Z"]
    assert errors["submitted"]["X"] > 0.02


@pytest.mark.usefixtures("few_shots")
def test_grading_again_gives_the_same_numbers(session: Session, true_models: dict) -> None:
    first, second = (grade(session, true_models, seed=5)[0] for _ in range(2))
    assert [c.to_json() for c in first.values()] == [c.to_json() for c in second.values()]


@pytest.mark.usefixtures("few_shots")
def test_own_records_and_pair_rates_are_shown_and_decide_nothing(session: Session, true_models: dict) -> None:
    h = session.device.hidden
    rates = {str(a): 2 * float(np.mean(h.plaquette(a).correlated[:6])) for a in lay.FOUR_TARGETS}
    checks, _ = grade(session.only("memory-z", "memory-x", "memory-x-2"), {**true_models, "plaquette_pair_rate": rates})
    shown = {n: c for n, c in checks.items() if "own record" in n or n.startswith("rms")}
    assert len(shown) == 5
    assert not any(c.gate for c in shown.values())
    assert shown["rms of log(reported / true pair rate)"].value == pytest.approx(np.log(2))
    # 2000 recorded shots of the true model: chi2 per detector is near one.
    assert all(0.6 < c.value < 1.5 for n, c in shown.items() if "chi2" in n)
    assert failed(checks) == set()


def test_predicted_detection_rates_are_those_of_the_circuit(session: Session) -> None:
    hidden = session.device.hidden
    circuit = noisy(circuits.memory("Z", 8), hidden)
    seen = unpack_bits(sample_detections(circuit, 100_000, 3)[0], 192).mean(axis=0)
    expected = predicted_rates(true_graph("Z", hidden))
    # Labels that lose under CANON take their probability with them, hyperedges are split: within some per cent.
    assert np.abs(expected / seen - 1).max() < 0.1
    assert np.abs(expected / seen - 1).mean() < 0.03


def test_no_error_of_a_drawn_device_is_left_out_of_its_model() -> None:
    for seed in range(3):
        for b in BASES:
            circuit = noisy(circuits.memory(b, 8), draw(seed).hidden)
            whole = circuit.detector_error_model(decompose_errors=True).flattened()
            assert len(whole) == len(matchable(circuit))


@pytest.mark.parametrize(
    "jobs, missing",
    [
        (("memory-z", "memory-x", "memory-x-2"), set()),
        (("memory-z", "memory-x", "memory-x-few"), {"X"}),
        (("memory-z", "memory-x", "memory-x-short"), {"X"}),
        (("memory-x", "memory-x-2", "train"), {"Z"}),
        ((), {"Z", "X"}),
    ],
)
def test_evidence_must_be_in_the_session(session: Session, true_models: dict, jobs: tuple[str, ...], missing: set[str]) -> None:
    part = session.only(*jobs)
    checks = GRADER.bind(answer(true_models), part, GRADER.recompute(part))  # type: ignore[arg-type]
    bad = [c for c in checks if not c.passed]
    assert {c.name for c in bad} == {f"shots of run_memory in basis {b} with 8 rounds or more" for b in missing}
    assert all(c.category is Category.MISSING_EVIDENCE for c in bad)


DENSE = "\n".join(f"error(0.1) D{i} D{j}" for i in range(100) for j in range(i)) + "\ndetector D191\nlogical_observable L0"


@pytest.mark.parametrize(
    "text, reason, category",
    [
        ("error(0.1) D0 D1 D191\nlogical_observable L0", "detectors_per_component", Category.SCHEMA),
        ("error(0.1) D0 L0", "detector_count", Category.SCHEMA),
        ("error(0.1) D191 L1", "observable_count", Category.SCHEMA),
        ("import os", "syntax", Category.SCHEMA),
        ("repeat 1000000000 {\n error(0.1) D191 L0\n}", "terms", Category.RESOURCE),
        ("repeat 2 {\n" * 100 + "}\n" * 100, "repeat_blocks", Category.RESOURCE),
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
    "change",
    [
        {"Z": ""},
        {"X": 3},
        {"Z": "x" * 2_000_001},
        {"Y": "x"},
        {"plaquette_pair_rate": {"a": 0.1}},
        {"plaquette_pair_rate": {"7": 0.6}},
        {"plaquette_pair_rate": {"7": True}},
        {"plaquette_pair_rate": {str(k): 0.1 for k in range(25)}},
        {"decoder": "pickle"},
    ],
)
def test_answers_outside_of_the_schema_are_refused(change: dict) -> None:
    good = {"Z": "x", "X": "x", "plaquette_pair_rate": {"7": 0.1}}
    answer(good)
    with pytest.raises(ValidationError):
        answer({**good, **change})


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = " ".join(CARD.instruction().split())
    for phrase in (
        f"at most {module.TRUE_LIMIT} times that of the true model",
        f"at most {module.INDEPENDENT_LIMIT} times that of the model without correlations",
        f"memory with {module.ROUNDS} rounds",
        f"at least {module.EVIDENCE_SHOTS} shots of `run_memory` with {module.ROUNDS} rounds or more in each basis",
        f"At least {module.SHOTS} fresh shots per basis",
        f"up to {module.CAP} per basis",
        f"at most {module.MODEL_BYTES // 1_000_000} MB each",
        f"at most {DEFAULT_LIMITS.edges_per_detector} different detector sets per detector",
        f"{CARD.budget['units']:g} units; a job costs shots / 1000 + 2",
        f"At most {CARD.budget['jobs']:g} jobs, {CARD.limits.wall_s // 3600} hours of wall time",
        f"`shots` 1 to {MAX_SHOTS}",
    ):
        assert phrase in text, phrase


def test_the_card_names_the_qtype_and_leaves_room_for_the_answer() -> None:
    assert (CARD.qtype, CARD.index, CARD.mode) == (QTYPE.name, 22, "pass_fail")
    assert CARD.limits.answer_bytes > 2 * module.MODEL_BYTES
    QTYPE.Profile.model_validate(CARD.profile)
    with (CARD.folder / "task.toml").open("rb") as file:
        assert tomllib.load(file)["schema_version"] == "1.4"
