"""Grading of `surrogate_60q`: exact answers pass, each kind of wrong one fails at its own check."""

from __future__ import annotations

import json
import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

import tasks
from graders import surrogate_60q as module
from graders.kit import Category
from graders.surrogate_60q import GRADER, Answer, Surrogate, calibration, moments, reduced_chi2
from qtypes import load
from qtypes.blackbox_boundedgate_circuit.polynomials import correlations, pairs
from qtypes.contract import Clock, Device

QTYPE = load("blackbox_boundedgate_circuit")
RNG = np.random.default_rng(31)
FIRST, SECOND = pairs(60)
CHI2 = "reduced chi^2 of the surrogate on the logged correlations, mean over varying pairs"
RMSE = "root mean square error of the 70800 predictions"
SAME = "largest difference between the surrogate at x_test and the predictions"
CALIBRATED = "calibration shots of every qubit in |0> and in |1>"
MEASURED = "settings with both qubits in the Z basis, for every pair that varies"
LOCKED = "the session was locked before the answer"


class Session:
    """What the grader reads of a finished session."""

    def __init__(self, device, jobs, challenge, revealed=True):
        self.device, self.jobs, self.challenge, self.revealed = device, tuple(jobs), challenge, revealed

    def of(self, *tools):
        return tuple(j for j in self.jobs if j.tool in tools)

    def with_(self, **changes):
        return Session(**{"device": self.device, "jobs": self.jobs, "challenge": self.challenge, "revealed": self.revealed, **changes})


def job(device, tool, number, **request):
    experiment = QTYPE.tools()[tool].model_validate_json(json.dumps(request))
    arrays = {k: a.values for k, a in experiment.run(device, Clock(0.0), np.random.default_rng(number)).arrays.items()}
    return SimpleNamespace(job_id=f"job-{number}", number=number, tool=tool, request=experiment, arrays=lambda: arrays)


@pytest.fixture(scope="module")
def session():
    profile = QTYPE.Profile()
    hidden = QTYPE.draw(np.random.default_rng(30), profile)
    device = Device(QTYPE.spec(hidden, profile), hidden, profile)
    settings = [{"x": row} for row in RNG.uniform(-np.pi, np.pi, (400, 6)).tolist()]
    settings += [{"x": [0.5] * 6, "basis": "X" * 60}]  # no evidence for any <Z Z>
    jobs = [
        job(device, "run_readout_cal", 1, states=["0" * 60, "1" * 60], shots=40_000),
        job(device, "run_measure", 2, settings=settings[:200], shots=60),
        job(device, "run_measure", 3, settings=settings[200:], shots=50),
    ]
    return Session(device, jobs, QTYPE.challenge(hidden, np.random.default_rng(32), profile))


@pytest.fixture(scope="module")
def exact(session):
    return correlations(session.device.hidden.circuit)


@pytest.fixture(scope="module")
def perfect(session, exact):
    """The exact polynomials as an answer."""
    surrogate = []
    for p in np.flatnonzero(exact.monomials_per_pair):
        expansion = exact.fourier(int(p))
        surrogate.append(
            {"pair": [int(FIRST[p]), int(SECOND[p])], "features": [list(k) for k in expansion], "coefficients": list(expansion.values())}
        )
    return {"predictions": exact.evaluate(np.array(session.challenge["x_test"])).tolist(), "surrogate": surrogate}


def consistent(answer, session):
    """The answer with the predictions that its surrogate gives."""
    surrogate = Surrogate(Answer.model_validate_json(json.dumps(answer)))
    values = surrogate.evaluate(np.array(session.challenge["x_test"]), np.arange(1770))
    return {**answer, "predictions": values.tolist()}


def grade(answer, session):
    parsed = Answer.model_validate_json(json.dumps(answer))
    q = GRADER.recompute(session)
    checks = GRADER.bind(parsed, session, q) + GRADER.score(parsed, session, q, np.random.default_rng(0)).checks
    return {c.name: c for c in checks}


def failed(checks):
    return {name for name, c in checks.items() if not c.passed}


def test_the_exact_polynomials_pass_with_chi_square_one(session, perfect):
    checks = grade(perfect, session)
    assert failed(checks) == set()
    assert checks[CHI2].value == pytest.approx(1.0, abs=0.04)
    assert checks[RMSE].value < 1e-12
    assert checks[MEASURED].value == 400  # the setting in the X basis does not count
    assert checks[CALIBRATED].value == 40_000
    assert set(checks[CHI2].jobs) == {"job-2", "job-3"}


def test_coefficients_off_by_a_percent_fail_only_the_score(session, perfect, exact):
    rough = [{**s, "coefficients": [1.01 * c for c in s["coefficients"]]} for s in perfect["surrogate"]]
    checks = grade(consistent({**perfect, "surrogate": rough}, session), session)
    rms = math.sqrt(np.mean(exact.evaluate(np.array(session.challenge["x_test"])) ** 2))
    assert checks[RMSE].value == pytest.approx(0.01 * rms, rel=1e-6)
    assert failed(checks) == {RMSE}
    assert checks[RMSE].category == Category.TOLERANCE


def test_uncorrected_readout_fails(session, perfect):
    cal = calibration(session.of("run_readout_cal"))
    contrast = np.diff(cal["ones"] / cal["shots"], axis=0)[0]
    raw = []
    for s in perfect["surrogate"]:
        i, j = s["pair"]
        raw.append({**s, "coefficients": [contrast[i] * contrast[j] * c for c in s["coefficients"]]})
    assert RMSE in failed(grade(consistent({**perfect, "surrogate": raw}, session), session))


def test_a_low_order_model_fails_on_the_logged_data_and_on_the_score(session, perfect):
    low = []
    for s in perfect["surrogate"]:
        kept = [(f, c) for f, c in zip(s["features"], s["coefficients"], strict=True) if np.count_nonzero(f) <= 2 and max(f) <= 4]
        low.append({**s, "features": [f for f, _ in kept], "coefficients": [c for _, c in kept]})
    checks = grade(consistent({**perfect, "surrogate": low}, session), session)
    assert failed(checks) == {CHI2, RMSE}
    assert checks[CHI2].category == Category.UNSUPPORTED


def test_predictions_that_the_surrogate_does_not_give_fail(session, perfect):
    other = [list(row) for row in perfect["predictions"]]
    other[3][17] += 2e-6
    assert failed(grade({**perfect, "predictions": other}, session)) == {SAME}
    assert failed(grade({**perfect, "surrogate": []}, session)) == {SAME, CHI2}


def test_an_answer_without_lock_is_a_contract_failure(session, perfect):
    checks = grade(perfect, session.with_(revealed=False))
    assert failed(checks) == {LOCKED}
    assert checks[LOCKED].category == Category.ORDER


def test_missing_or_thin_calibration_is_named(session, perfect):
    measured = list(session.of("run_measure"))
    thin = job(session.device, "run_readout_cal", 9, states=["0" * 60, "1" * 60], shots=4999)
    one_sided = job(session.device, "run_readout_cal", 10, states=["0" * 60], shots=20_000)
    for calibrations in ([], [thin], [one_sided]):
        checks = grade(perfect, session.with_(jobs=calibrations + measured))
        assert failed(checks) == {CALIBRATED, CHI2}
        assert checks[CALIBRATED].category == Category.MISSING_EVIDENCE


def test_too_few_settings_are_named(session, perfect):
    short = session.with_(jobs=session.jobs[:2])
    checks = grade(perfect, short)
    assert failed(checks) == {MEASURED, CHI2}
    assert checks[MEASURED].value == 200
    assert failed(grade(perfect, session.with_(jobs=session.jobs[:1]))) == {MEASURED, CHI2}


def test_states_of_any_pattern_calibrate_every_qubit(session):
    stripes = job(session.device, "run_readout_cal", 11, states=["01" * 30, "10" * 30], shots=30_000)
    counts = calibration((stripes,))
    assert counts["shots"].min() == counts["shots"].max() == 30_000
    rate = counts["ones"] / counts["shots"]
    for value, truth in ((rate[0], session.device.hidden.p1_given_0), (1 - rate[1], session.device.hidden.p0_given_1)):
        p = np.array(truth)
        assert np.abs((value - p) / np.sqrt(p * (1 - p) / 30_000)).max() < 4.5


def test_chi_square_counts_features_as_lost_freedom_and_demands_more_settings_than_features(session, perfect, exact):
    data = moments(session.of("run_measure"))
    counts = calibration(session.of("run_readout_cal"))
    p_one = counts["ones"] / counts["shots"]
    contrast, offset = p_one[1] - p_one[0], 1 - p_one[0] - p_one[1]
    varying = np.flatnonzero(exact.varying)[:1]
    entry = next(s for s in perfect["surrogate"] if s["pair"] == [int(FIRST[varying[0]]), int(SECOND[varying[0]])])
    idle = 100 - len(entry["features"])
    padded = {**entry, "features": entry["features"] + [[0] * 6] * idle, "coefficients": entry["coefficients"] + [0.0] * idle}
    values = []
    for e in (entry, padded, {**entry, "features": entry["features"] * 300, "coefficients": entry["coefficients"] * 300}):
        one = SimpleNamespace(pair=tuple(e["pair"]), features=e["features"][:400], coefficients=e["coefficients"][:400])
        answer = Answer.model_construct(surrogate=(one,))
        values.append(float(reduced_chi2(Surrogate(answer), data, contrast, offset, varying)[0]))
    assert values[1] == pytest.approx(values[0] * (400 - len(entry["features"])) / 300)
    assert math.isinf(values[2]) or len(entry["features"]) == 1


@pytest.mark.parametrize("spoil", [
    lambda a: a["predictions"].pop(),
    lambda a: a["predictions"][0].pop(),
    lambda a: a["predictions"][0].__setitem__(0, 2.0),
    lambda a: a["predictions"][0].__setitem__(0, float("nan")),
    lambda a: a["surrogate"].append(a["surrogate"][0]),
    lambda a: a["surrogate"][0].update(pair=[5, 5]),
    lambda a: a["surrogate"][0].update(pair=[5, 60]),
    lambda a: a["surrogate"][0].update(features=[[0, 0, 0, 0, 0, 7]], coefficients=[1.0]),
    lambda a: a["surrogate"][0].update(features=[[0, 0, 0, 0, 0]], coefficients=[1.0]),
    lambda a: a["surrogate"][0].update(features=[[0] * 6], coefficients=[1.0, 2.0]),
    lambda a: a["surrogate"][0].update(features=[[0] * 6] * 401, coefficients=[0.0] * 401),
    lambda a: [s.update(features=[[0] * 6] * 400, coefficients=[0.0] * 400) for s in a["surrogate"][:251]],
    lambda a: a.update(method="text"),
])  # fmt: skip
def test_answers_outside_the_schema_are_refused(perfect, spoil):
    answer = json.loads(json.dumps(perfect))
    spoil(answer)
    with pytest.raises(ValidationError):
        Answer.model_validate_json(json.dumps(answer))


def test_the_largest_admissible_answer_fits_the_limit_and_is_graded_in_bounded_time(session, perfect, exact):
    varying = np.flatnonzero(exact.varying)
    order = np.concatenate([varying, np.flatnonzero(~exact.varying)])[: module.MAX_FEATURES_TOTAL // module.MAX_FEATURES_PER_PAIR]
    features = np.random.default_rng(1).integers(0, 7, (400, 6)).tolist()
    coefficients = (np.random.default_rng(2).normal(0, 1e-3, 400) * math.pi).tolist()
    surrogate = [{"pair": [int(FIRST[p]), int(SECOND[p])], "features": features, "coefficients": coefficients} for p in order]
    answer = consistent({**perfect, "surrogate": surrogate}, session)
    answer["predictions"] = (np.random.default_rng(3).uniform(-1, 1, (40, 1770))).tolist()
    assert len(json.dumps(answer)) < tasks.load("surrogate_60q").limits.answer_bytes
    start = time.process_time()
    assert {RMSE, SAME} <= failed(grade(answer, session))
    assert time.process_time() - start < 20


def test_grading_again_gives_the_same_numbers(session, perfect):
    one, two = grade(perfect, session), grade(perfect, session)
    assert [c.to_json() for c in one.values()] == [c.to_json() for c in two.values()]


def test_instruction_and_card_state_the_limits_of_the_grader():
    card = tasks.load("surrogate_60q")
    text = " ".join(card.instruction().split())
    for phrase in (
        f"at most {module.MAX_RMSE}", f"at most {module.MAX_REDUCED_CHI2:.2f}", f"at least {module.MIN_CALIBRATION_SHOTS} shots",
        f"fewer than {module.MIN_SETTINGS} settings", "equals the predictions to 1e-6",
        f"At most {module.MAX_FEATURES_PER_PAIR} features per pair",
        f"{module.MAX_FEATURES_TOTAL} in total", f"{module.N_TEST} x {module.N_PAIRS} predictions", "at most 8 MB",
        f"{int(card.budget['shots'])} shots", f"{int(card.budget['settings'])} settings", f"{int(card.budget['jobs'])} jobs",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert module.MAX_INCONSISTENCY == 1e-6
    assert card.limits.wall_s == 3 * 3600
    assert card.limits.answer_bytes == 8_000_000
    assert card.profile == {"held_out_inputs": module.N_TEST}
    assert card.mode == "pass_fail"


def test_the_reference_request_fits_the_body_limit():
    setting = {"x": [-math.pi] * 6, "basis": "Z" * 60}
    body = json.dumps({"settings": [setting] * 4000, "shots": 200})
    assert len(body) < tasks.load("surrogate_60q").limits.body_bytes
