"""Grading of `leakage_drag_characterization`: the honest answer passes, each kind of wrong answer fails at its own check."""

from __future__ import annotations

import json
import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graders
import tasks
from graders import leakage_drag_characterization as module
from graders.kit import Category
from graders.kit.drag_evidence import Cosine, cosine, fit_leakage, fit_phase, least_leakage, lost
from graders.leakage_drag_characterization import BETAS, LENGTHS, Answer, exact_leakage, true_amplitudes, true_least_leakage
from qtypes import load
from qtypes.contract import Clock, Device
from qtypes.transmon_multilevel_pulse.draw import phase_coefficient
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine

QTYPE = load("transmon_multilevel_pulse")
CARD = tasks.load("leakage_drag_characterization")
GRADER = graders.load("leakage_drag_characterization")
REFERENCES = ("level0", "level1", "level2")
ALL = (*REFERENCES, "trains8", "trains10", "trains16", "pairs", "lines")


class Session:
    """What the grader reads of a finished session."""

    def __init__(self, seed: int = 3) -> None:
        profile = QTYPE.read_profile(CARD.profile)
        self.hidden = QTYPE.draw(np.random.default_rng(seed), profile)
        self.device = Device(QTYPE.spec(self.hidden, profile), self.hidden, profile)
        self.amplitudes = true_amplitudes(self.hidden)
        self.jobs: list[Any] = []

    def run(self, job_id: str, tool: str, **request: Any) -> None:
        experiment = QTYPE.tools()[tool].model_validate_json(json.dumps(request))
        record = experiment.run(self.device, Clock(0.0), np.random.default_rng(7 + len(self.jobs)))
        arrays = {k: a.values for k, a in record.arrays.items()}
        self.jobs.append(SimpleNamespace(job_id=job_id, tool=tool, request=experiment, arrays=lambda: arrays))

    def wave(self, length: int, amplitude: float, beta: float) -> dict[str, Any]:
        s = raised_cosine(length, amplitude, beta, self.hidden.anharmonicity_nominal_mhz)
        return {"i": s.real.tolist(), "q": s.imag.tolist()}

    def trains(self, job_id: str, length: int, shots: int = 4500, off: float = 0.0, **more: Any) -> None:
        """Random trains of two lengths for every coefficient, and one of length zero."""
        amplitudes = [(1.0 + off) * self.amplitudes[length, b] for b in BETAS]
        waves = [self.wave(length, a, b) for a, b in zip(amplitudes, BETAS, strict=True)]
        leakage = [exact_leakage(self.hidden, Cosine(length, a, b)) for a, b in zip(amplitudes, BETAS, strict=True)]
        points = [
            {"train": [{"waveform": w}], "repeats": 2 * int(np.clip(x / leakage[w] / 2, 2, most / 2))}
            for w in range(4) for x, most in ((0.06, 50), (0.2, 110))
        ]  # fmt: skip
        request = {"waveforms": waves, "points": [*points, {"repeats": 0}], "shots": shots, "randomise": True, "padding_max_ns": 30}
        self.run(job_id, "run_envelope", **request | more)

    def pairs(self, job_id: str, betas: Any, pairs: tuple[int, ...] = (6, 14), shots: int = 1000) -> None:
        waves = [self.wave(16, self.amplitudes[16, 0.5], float(b)) for b in betas]
        plays = [[{"waveform": w}, {"waveform": w, "phase_rad": np.pi}] for w in range(len(waves))]
        points = [{"train": train, "repeats": n} for train in plays for n in pairs]
        self.run(job_id, "run_envelope", waveforms=waves, points=points, shots=shots)


@cache
def session() -> Session:
    s = Session()
    for k, name in enumerate(REFERENCES):
        s.run(name, "run_iq_reference", prepare=k, shots=15_000)
    for length in LENGTHS:
        s.trains(f"trains{length}", length)
    s.pairs("pairs", np.linspace(0.35, 0.65, 7))
    lines = s.hidden.anharmonicity_nominal_mhz + np.linspace(-12, 12, 25)
    s.run("lines", "run_ef_spectroscopy", offsets_mhz=lines.tolist(), amplitude=0.0177 / s.hidden.gain, duration_ns=200, shots=400)
    s.run("few references", "run_iq_reference", prepare=2, shots=100)
    s.trains("off amplitude", 10, shots=2000, off=0.08)
    s.trains("identical", 10, shots=2000, randomise=False)
    s.trains("short paddings", 10, shots=2000, padding_max_ns=5)
    s.trains("few shots", 10, shots=300)
    s.pairs("few coefficients", [0.4, 0.5, 0.6])
    s.pairs("short pairs", np.linspace(0.3, 0.7, 7), pairs=(1, 2))
    s.run("few lines", "run_ef_spectroscopy", offsets_mhz=lines[::3].tolist(), amplitude=0.0177, duration_ns=200, shots=400)
    return s


@cache
def honest() -> str:
    """The regrade's own values with honest error bars, as JSON."""
    q: dict[str, Any] = {}
    h = session().hidden
    guess = {
        "alpha_mhz": h.alpha_mhz, "alpha_sigma_mhz": 0.1, "leakage": [[0.0] * 4] * 3, "leakage_sigma": [[1e-3] * 4] * 3,
        "beta_leak_sigma": 0.02, "beta_leak_8ns": 1.0, "beta_phase_16ns": 0.5, "beta_phase_sigma": 0.003, "job_ids": list(ALL),
    }  # fmt: skip
    GRADER.bind(Answer.model_validate_json(json.dumps(guess)), session(), q)
    sigma = np.hypot(q["leakage_sigma"], 0.05 * np.array(q["leakage"])).tolist()
    own = {"leakage": q["leakage"], "leakage_sigma": sigma, "beta_leak_8ns": q["beta_leak"], "beta_phase_16ns": q["beta_phase"]}
    return json.dumps(guess | own | {"alpha_mhz": q["ef_offset_mhz"] - h.offset_mhz})


@pytest.fixture(autouse=True)
def each_fit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth of the one device, and fits of the same data, are computed once for all tests."""
    for name in ("true_amplitudes", "true_least_leakage", "exact_leakage", "phase_coefficient", "fit_leakage", "fit_phase", "fit_peak"):
        monkeypatch.setattr(module, name, remembered(name))


@cache
def remembered(name: str) -> Any:
    plain, known = getattr(module, name), {}

    def call(*args: Any) -> Any:
        key = hash(repr(args))
        if key not in known:
            known[key] = plain(*args)
        return known[key]

    return call


def failures(answer: dict[str, Any]) -> dict[str, Category]:
    parsed, q = Answer.model_validate_json(json.dumps(answer)), GRADER.recompute(session())
    checks = [*GRADER.bind(parsed, session(), q), *GRADER.score(parsed, session(), q, np.random.default_rng(0)).checks]
    return {c.name: c.category for c in checks if not c.passed and c.gate}


def changed(**changes: Any) -> dict[str, Category]:
    return failures(json.loads(honest()) | changes)


def test_an_honest_answer_passes():
    assert changed() == {}


def test_a_cosine_is_recognised_by_its_samples():
    found = cosine(raised_cosine(10, 0.4, 0.7, -210.0), -210.0)
    assert found is not None
    assert (found.length, found.amplitude, found.beta) == (10, pytest.approx(0.4), pytest.approx(0.7))
    assert cosine(np.full(10, 0.4 + 0j), -210.0) is None
    assert cosine(np.zeros(10, dtype=complex), -210.0) is None


def test_the_rate_model_starts_with_the_leakage_and_saturates_at_a_third():
    n = np.array([1.0, 1e6])
    assert lost(1e-3, n, 0.0) == pytest.approx([1e-3, 1 / 3], rel=2e-3)
    assert lost(0.0, n, 1e-3) == pytest.approx(0.0)


def test_the_least_leakage_is_where_the_amplitude_vanishes():
    betas = np.array(BETAS)
    amplitude = (1.23 - betas) * (0.1 + 0.02 * betas)
    assert least_leakage(betas, amplitude**2) == pytest.approx(1.23, abs=1e-6)
    assert np.isnan(least_leakage(betas, np.array([np.nan] * 4)))


def test_the_regrade_agrees_with_the_truth():
    answer, h = json.loads(honest()), session().hidden
    assert answer["beta_phase_16ns"] == pytest.approx(phase_coefficient(h, 16), abs=0.005)
    assert answer["beta_leak_8ns"] == pytest.approx(true_least_leakage(h), abs=0.04)
    true = [[exact_leakage(h, Cosine(t, session().amplitudes[t, b], b)) for b in BETAS] for t in LENGTHS]
    assert np.abs(np.array(answer["leakage"]) - true).max() < np.max(np.maximum(0.15 * np.array(true), 1e-4))


WRONG = {
    "leakage of the notebook": ({"leakage": [[1e-5] * 4] * 3}, "|leakage - truth| at 8 ns, coefficient 0"),
    "claimed leakage": ({"leakage": [[0.02, 0.01, 0.001, 0.001], [0.02] * 4, [0.0] * 4]}, "|leakage - recomputed leakage|"),
    "alpha by design": ({"alpha_mhz": -197.0}, "|alpha - true alpha|"),
    "textbook coefficient of least leakage": ({"beta_leak_8ns": 1.0}, "|beta_leak_8ns - truth|"),
    "textbook coefficient of least phase error": ({"beta_phase_16ns": 0.55}, "|beta_phase_16ns - truth|"),
    "error bars too small": ({"leakage_sigma": [[1e-7] * 4] * 3}, "rms of (leakage - truth) / sigma over the table"),
    "error bars too large": ({"leakage_sigma": [[0.5] * 4] * 3}, "leakage_sigma, the widest"),
    "error bar of alpha too large": ({"alpha_sigma_mhz": 2.0}, "alpha_sigma_mhz"),
}


@pytest.mark.parametrize(("changes", "check"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_value_fails_at_its_check(changes, check):
    assert check in changed(**changes)


def without(*ids: str, plus: tuple[str, ...] = ()) -> list[str]:
    return [j for j in ALL if j not in ids] + list(plus)


ENTRIES = "table entries with random trains"
MISSING = {
    "no references": (without("level2"), "reference shots of level 2"),
    "few references": (without("level2", plus=("few references",)), "reference shots of level 2"),
    "no trains of one length": (without("trains10"), ENTRIES),
    "pulses of wrong amplitude": (without("trains10", plus=("off amplitude",)), ENTRIES),
    "identical trains": (without("trains10", plus=("identical",)), ENTRIES),
    "short paddings": (without("trains10", plus=("short paddings",)), ENTRIES),
    "few shots": (without("trains10", plus=("few shots",)), ENTRIES),
    "no pairs": (without("pairs"), "shots of these pairs"),
    "few coefficients": (without("pairs", plus=("few coefficients",)), "coefficients with pairs of inverse 16 ns pulses"),
    "short pairs": (without("pairs", plus=("short pairs",)), "shots of these pairs"),
    "no spectroscopy": (without("lines"), "shots of the 1-2 spectroscopy"),
    "few lines": (without("lines", plus=("few lines",)), "carriers of the 1-2 spectroscopy"),
}


@pytest.mark.parametrize(("cited", "check"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_is_named(cited, check):
    assert changed(job_ids=cited)[check] is Category.MISSING_EVIDENCE


def test_a_foreign_job_fails():
    assert changed(job_ids=[*ALL, "other"]) == {"cited jobs are completed jobs of this session": Category.FOREIGN_JOB}


def test_an_exaggerated_answer_fails_everywhere():
    failed = failures(GRADER.overclaim(json.loads(honest()), {}))
    assert {"|alpha - true alpha|", "|beta_leak_8ns - truth|", "|beta_phase_16ns - truth|"} <= set(failed)
    assert sum(name.startswith("|leakage - truth|") for name in failed) == 12


def test_references_of_one_cloud_do_not_break_the_grader(monkeypatch):
    monkeypatch.setattr(module, "fit_levels", lambda sets: module.Levels(np.zeros(3, dtype=complex), np.full((3, 3), 1 / 3), np.ones(3)))
    assert "the values can be recomputed from the cited jobs" in changed()


def test_the_fits_survive_points_that_hold_nothing():
    rng = np.random.default_rng(0)
    noise = (rng.normal(size=(6, 500)) + 1j * rng.normal(size=(6, 500))).astype(np.complex64)
    levels = module.fit_levels([noise[0] + 4.0, noise[1] - 4.0, noise[2] + 4j])
    series = [module.Series(Cosine(8, 0.6, 0.1 * k), 4 * k + 4, 15.0, 30, noise[k], "j") for k in range(3)]
    value, sigma, _ = fit_leakage([series], noise[3], levels, (4e4, 1e5))
    assert np.isfinite(value).all()
    assert np.isfinite(sigma).all()
    assert np.isfinite(fit_phase(series, levels)).all()


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card():
    text = re.sub(r"\s+", " ", CARD.instruction())
    m = module

    def power(value: float, digits: int = 0) -> str:
        return f"{value:.{digits}e}".replace("e-0", "e-")

    for phrase in (
        f"at least {m.REFERENCE_SHOTS} reference shots",
        f"at least {m.TRAIN_LENGTHS} different lengths with at least {m.TRAIN_SHOTS} shots",
        f"`padding_max_ns` of at least {m.PADDING_NS}", f"b within {m.BETA_EXACT}", f"A within {100 * m.AMPLITUDE:.0f} % of the amplitude",
        f"at least {m.CONTROL_SHOTS} shots of trains of length zero", f"at least {m.CARRIERS} different carriers",
        f"and {m.SPECTROSCOPY_SHOTS} shots in total", f"at least {m.PHASE_PAIRS} times", f"at least {m.PHASE_COEFFICIENTS} different b",
        f"with {m.PHASE_SHOTS} shots in total", f"at most {100 * m.RESOLUTION[0]:.0f} % of it or {power(m.RESOLUTION[1])}",
        f"at most {m.PHASE_RESOLUTION};", f"within {100 * m.BIND_LEAKAGE[0]:.0f} % or {power(m.BIND_LEAKAGE[1])}",
        f"`beta_leak_8ns` within {m.BIND_BETA_LEAK}", f"`beta_phase_16ns` within {m.BIND_BETA_PHASE}", f"within {m.BIND_ALPHA_MHZ} MHz of",
        f"within {100 * m.LEAKAGE_TOLERANCE[0]:.0f} % of the truth or within {power(m.LEAKAGE_TOLERANCE[1], 1)}",
        f"is within {m.BETA_LEAK_TOLERANCE}",
        f"`beta_phase_16ns` within {m.BETA_PHASE_TOLERANCE}", f"`alpha_mhz` within {m.ALPHA_TOLERANCE_MHZ} MHz",
        f"is at most {m.PULLS:.0f}",
        "samples within 0.002", "| shots | 600 000 |", f"| jobs | {CARD.budget['jobs']:.0f} |", "| wall time | 2 h |",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert (CARD.budget["shots"], CARD.limits.wall_s) == (600_000, 7200)
