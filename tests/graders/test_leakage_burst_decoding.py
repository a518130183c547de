"""Grading of `leakage_burst_decoding`: routed true models pass, single models and each kind of wrong answer fail at their own check."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tasks
from graders import leakage_burst_decoding as module
from graders.kit import Category, Check
from graders.kit.decoding import averaged_graph
from graders.kit.grade import outcome_of
from graders.leakage_burst_decoding import GRADER, N_DETECTORS, PROGRAM, RATIO, Answer, Router, separated
from lab.conventions import pack_bits, unpack_bits
from lab.conventions.matching import DEFAULT_LIMITS, read_graph
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.surface_code_memory.device import MAX_SHOTS
from qtypes.surface_code_memory.layout import layout
from qtypes.surface_code_memory.physics import Mixture, mixture
from tests.graders.decoder_models import Session
from tests.graders.in_process import failed, graded

QTYPE = load("surface_code_memory")
CARD = tasks.load("leakage_burst_decoding")
PROFILE = QTYPE.read_profile(CARD.profile)
MINUTE = 60.0


def job(device: Device, job_id: str, start_s: float, **request: Any) -> Any:
    fields = {"rows": 5, "cols": 5, "basis": "Z", "rounds": 20, "shots": 50_000, **request}
    experiment = QTYPE.tools()["run_memory"].model_validate_json(json.dumps(fields))

    def arrays() -> dict[str, np.ndarray]:
        few = experiment.model_copy(update={"shots": 2000})
        return {k: a.values for k, a in few.run(device, Clock(0.0), np.random.default_rng(3)).arrays.items()}

    return SimpleNamespace(job_id=job_id, number=1, tool="run_memory", request=experiment, lab_start_s=start_s, arrays=arrays)


@pytest.fixture(scope="module")
def session() -> Session:
    hidden = QTYPE.draw(np.random.default_rng(2), PROFILE)
    bursts = hidden.bursts.model_copy(update={"centres": ((2.0, 2.0),), "probability": 0.2})  # one centre: few circuits
    hidden = hidden.model_copy(update={"bursts": bursts})
    device = Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)
    return Session(device, (
        job(device, "a", 0.0), job(device, "b", 10 * MINUTE),
        job(device, "c", 12 * MINUTE, delay_s=8 * MINUTE), job(device, "d", 12 * MINUTE),
        job(device, "few", 30 * MINUTE, shots=100), job(device, "short", 50 * MINUTE, rounds=19), job(device, "x", 70 * MINUTE, basis="X"),
    ))  # fmt: skip


@pytest.fixture(scope="module")
def truth(session: Session) -> Mixture:
    return mixture(PROGRAM, session.device.hidden, layout(5), 20, module.SCORING_MINUTES * MINUTE)


@pytest.fixture(scope="module")
def routed(truth: Mixture) -> dict[str, Any]:
    """True models of every class, and the gate from exact detection rates."""
    dems = [c.detector_error_model(decompose_errors=True) for c in truth.circuits]
    rates = []
    for dem in dems:
        contrast = np.ones(N_DETECTORS)
        for item in dem.flattened():
            if item.type == "error":
                for d in {t.val for t in item.targets_copy() if t.is_relative_detector_id()}:
                    contrast[d] *= 1 - 2 * item.args_copy()[0]
        rates.append(np.clip((1 - contrast) / 2, 1e-4, 0.45))
    odds = [np.log(p / (1 - p)) for p in rates]
    weights = [0.5 * (o - odds[0]) for o in odds[1:]]
    bias = [
        float(0.5 * np.log((1 - p) / (1 - rates[0])).sum() + np.log(w / truth.weights[0]))
        for p, w in zip(rates[1:], truth.weights[1:], strict=True)
    ]
    names = [f"m{k}" for k in range(len(dems))]
    return {
        "models": [{"name": n, "dem": str(d)} for n, d in zip(names, dems, strict=True)],
        "gate": {"models": names[1:], "weights": [w.tolist() for w in weights], "bias": bias}, "default": "m0",
    }  # fmt: skip


def single(dem: str) -> dict[str, Any]:
    return {"models": [{"name": "only", "dem": dem}], "gate": {"models": [], "weights": [], "bias": []}, "default": "only"}


@pytest.fixture
def few_shots(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FIRST_SHOTS": 8_000, "SHOTS_CAP": 8_000}.items():
        monkeypatch.setattr(module, name, value)


def answer(body: dict[str, Any]) -> Answer:
    return Answer.model_validate_json(json.dumps(body))


def grade(session: Session, body: dict[str, Any]) -> tuple[dict[str, Check], dict[str, Any]]:
    return graded(GRADER, session, answer(body), 1)


@pytest.mark.usefixtures("few_shots")
def test_true_models_with_their_gate_pass(session: Session, routed: dict) -> None:
    checks, quantities = grade(session, routed)
    assert failed(checks) == set()
    assert outcome_of(list(checks.values())) == "pass"
    assert quantities["gate_positive_rate"] == pytest.approx(0.2, abs=0.05)
    assert checks["variance over mean of the events per shot of the last own record"].value > 2
    json.dumps(quantities, allow_nan=False)


@pytest.mark.usefixtures("few_shots")
def test_the_averaged_model_has_a_ratio_of_one_and_the_quiet_one_is_no_better(session: Session, truth: Mixture, routed: dict) -> None:
    average = averaged_graph(truth.circuits, truth.weights, N_DETECTORS)
    checks, quantities = grade(session, single(str(average.model())))
    assert failed(checks) == {RATIO}
    assert checks[RATIO].value == pytest.approx(1.0, abs=0.02)  # ties in weight may fall differently
    assert quantities["gate_positive_rate"] == 0
    checks, _ = grade(session, single(routed["models"][0]["dem"]))
    assert checks[RATIO].value > 0.95


def test_the_averaged_model_has_the_mean_detection_rates(truth: Mixture) -> None:
    average = averaged_graph(truth.circuits[:2], (0.5, 0.5), N_DETECTORS)
    first, second = (averaged_graph([c], [1.0], N_DETECTORS) for c in truth.circuits[:2])
    by_edge = [dict(zip(map(tuple, g.ends.tolist()), g.p, strict=True)) for g in (average, first, second)]
    edges = [e for e in by_edge[1] if by_edge[1][e] > 1e-5]
    found = np.array([by_edge[0][e] for e in edges])
    expected = np.array([(by_edge[1][e] + by_edge[2][e]) / 2 for e in edges])
    assert np.median(np.abs(found / expected - 1)) < 0.01  # a label that wins in one circuit may lose in the mean
    same = read_graph(truth.circuits[0].detector_error_model(decompose_errors=True))
    assert first.p == pytest.approx(same.p, rel=1e-9)


def test_the_gate_takes_the_largest_row_above_zero(routed: dict) -> None:
    body = json.loads(json.dumps(routed))
    rows = [[0.0] * N_DETECTORS for _ in range(2)]
    rows[0][3], rows[1][5] = 2.0, 3.0
    body["gate"] = {"models": ["m2", "m1"], "weights": rows, "bias": [-1.0, -2.5]}
    router = Router(answer(body), {m["name"]: read_graph(m["dem"]) for m in body["models"][:3]})
    x = np.zeros((4, N_DETECTORS), dtype=bool)
    x[1, 3] = x[2, 5] = x[3, 3] = x[3, 5] = True
    assert router.route(pack_bits(x)).tolist() == [0, 1, 2, 1]
    assert router.names == ("m0", "m2", "m1")
    assert unpack_bits(pack_bits(x), N_DETECTORS).sum() == 4


def test_jobs_are_counted_by_their_distance_in_lab_time() -> None:
    assert separated([]) == 0
    assert separated([0.0, 599.0, 600.0, 1199.0]) == 2
    assert separated([1300.0, 0.0, 650.0]) == 3


@pytest.mark.parametrize(
    "jobs, missing",
    [
        (("a", "b", "c"), []), (("a", "b", "d"), ["in 3"]), (("a", "b"), ["150000", "in 3"]), (("a", "b", "few"), ["150000"]),
        (("a", "b", "short"), ["150000", "in 3"]), (("a", "b", "x"), ["150000", "in 3"]), (("a", "b", "d", "few"), []),
    ],
)  # fmt: skip
def test_evidence_must_be_in_the_session(session: Session, routed: dict, jobs: tuple[str, ...], missing: list[str]) -> None:
    part = session.only(*jobs)
    checks = GRADER.bind(answer(routed), part, GRADER.recompute(part))  # type: ignore[arg-type]
    bad = [c for c in checks if not c.passed]
    assert [c.name.startswith(m) for c, m in zip(bad, missing, strict=True)] == [True] * len(missing)
    assert all(c.category is Category.MISSING_EVIDENCE for c in bad)


@pytest.mark.parametrize(
    "text, reason, category",
    [
        ("error(0.1) D0 D1 D479\nlogical_observable L0", "detectors_per_component", Category.SCHEMA),
        ("error(0.1) D0 L0", "detector_count", Category.SCHEMA),
        ("repeat 1000000000 {\n error(0.1) D479 L0\n}", "terms", Category.RESOURCE),
    ],
)
def test_models_that_canon_refuses_fail_by_name(session: Session, text: str, reason: str, category: Category) -> None:
    checks, _ = grade(session, single(text))
    bad = checks["all models are such that CANON takes"]
    assert (bad.passed, bad.category) == (False, category)
    assert bad.note.startswith(reason)
    assert "fresh shots were decoded" in failed(checks)


@pytest.mark.usefixtures("few_shots")
def test_decoding_that_takes_too_long_fails_by_name(session: Session, routed: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DECODE_BUDGET_S", 1e-3)
    checks, _ = grade(session, routed)
    assert checks["fresh shots were decoded in time"].category is Category.RESOURCE


ROW = [0.0] * N_DETECTORS


@pytest.mark.parametrize(
    "change",
    [
        {"default": "none"}, {"models": []}, {"models": [{"name": "a", "dem": "x"}] * 2},
        {"models": [{"name": "a", "dem": "x" * 1_000_001}]},
        {"gate": {"models": ["b"], "weights": [ROW], "bias": [0.0]}}, {"gate": {"models": ["a"], "weights": [ROW[1:]], "bias": [0.0]}},
        {"gate": {"models": ["a"], "weights": [ROW, ROW], "bias": [0.0]}},
        {"gate": {"models": ["a"] * 25, "weights": [ROW] * 25, "bias": [0.0] * 25}},
        {"gate": {"models": ["a"], "weights": [[1e9, *ROW[1:]]], "bias": [0.0]}}, {"code": "import os"},
    ],
)  # fmt: skip
def test_answers_outside_of_the_schema_are_refused(change: dict) -> None:
    good = {
        "models": [{"name": "a", "dem": "x"}], "gate": {"models": ["a"], "weights": [ROW], "bias": [0.0]}, "default": "a",
    }  # fmt: skip
    answer(good)
    with pytest.raises(ValidationError):
        answer({**good, **change})


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = " ".join(CARD.instruction().split())
    for phrase in (
        f"at most {module.RATIO_LIMIT:.2f} times that of the best single averaged model",
        f"lab time {module.SCORING_MINUTES} minutes ({60 * module.SCORING_MINUTES} s",
        f"at least {module.EVIDENCE_SHOTS} shots of `run_memory` on the full patch in basis Z with {module.ROUNDS} rounds",
        f"at least {module.EVIDENCE_JOBS} jobs whose first shots are {module.EVIDENCE_GAP_MINUTES} lab minutes apart",
        f"1 to {module.MAX_MODELS + 1} detector error models as stim text, at most {module.MODEL_BYTES // 1_000_000} MB each",
        f"up to {module.MAX_MODELS} rows", f"each of the {N_DETECTORS} detectors",
        f"takes {module.FIRST_SHOTS} shots",
        f"at most {DEFAULT_LIMITS.edges_per_detector} different detector sets per detector",
        f"{CARD.budget['units']:g} units; a `run_memory` job costs shots / 1000 + 2",
        f"At most {CARD.budget['jobs']:g} jobs, at most {MAX_SHOTS} shots per job, {CARD.budget['lab_s']:g} s",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert PROGRAM.n_detectors == N_DETECTORS


def test_the_fit_that_two_bundles_carry_is_one() -> None:
    # a bundle is uploaded alone, so each has a copy
    other = tasks.load("memory_decoder_calibration").folder
    assert (CARD.folder / "solution" / "memory_fit.py").read_bytes() == (other / "solution" / "memory_fit.py").read_bytes()
