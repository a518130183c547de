"""The erasure qutrit follows its closed forms, agrees with qutip, and its requests refuse what makes no sense."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.integrate import quad

import qtypes
from qtypes import Clock, Device
from qtypes.transmon_erasure_qutrit import physics
from qtypes.transmon_erasure_qutrit.device import LOW_MHZ
from qtypes.transmon_erasure_qutrit.draw import SCANNED, resonant, scan
from qtypes.transmon_erasure_qutrit.experiments import RunSequence
from qtypes.transmon_erasure_qutrit.noise import HIGHEST_MHZ, LOWEST_MHZ, TWO_PI, Peak, Spectrum
from qtypes.transmon_erasure_qutrit.physics import Check
from qtypes.transmon_erasure_qutrit.readout import Levels, sampled_levels
from qtypes.transmon_erasure_qutrit.replay import best_of_families, family, preserved, preserved_of
from qtypes.transmon_erasure_qutrit.sequence import Qutrit, Sequence

QTYPE = qtypes.load("transmon_erasure_qutrit")
FOREVER = 1e12
NO_CHECK = Check(0.0, 0.0, 0.0)
PEAK = Peak(0.21, 0.015, 0.5)
SPECTRUM = Spectrum(0.015, (PEAK, Peak(0.6, 0.012, 0.3)))


def device(seed=0, **changes):
    profile = QTYPE.read_profile({})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def qutrit(**changes):
    ideal = {"t1_us": FOREVER, "spectrum": Spectrum(0.0), "over_rotation": 0.0, "loss": 0.0, "check": NO_CHECK, "excited": 0.0}
    return Qutrit(**(ideal | changes))


def sequence(pulses=0, duration=24.0, kind="XY8", checks=()):
    times, phases = family(pulses, duration - 0.4, kind)
    return Sequence(duration_us=duration, pulse_times_us=times, pulse_phases_rad=phases, check_times_us=checks)


# Noise


@pytest.mark.parametrize("spectrum", [Spectrum(0.0, (PEAK,)), Spectrum(0.02)], ids=["peak", "flicker"])
@pytest.mark.parametrize("pulses", [0, 1, 5, 12])
def test_the_phase_variance_is_the_filter_function_integral(spectrum, pulses):
    """integral of S(f) |Y(f)|^2 with Y the Fourier transform of the toggling sign (Cywinski et al. 2008)."""
    time = 20.0
    flips = (np.arange(pulses) + 0.5) * time / max(pulses, 1)
    f = np.concatenate([np.geomspace(LOWEST_MHZ, 1e-3, 4000), np.linspace(1e-3, HIGHEST_MHZ, 400_000)[1:]])
    edges = np.concatenate([[0.0], flips, [time]])
    y = sum((-1) ** k * (np.exp(2j * np.pi * f * edges[k + 1]) - np.exp(2j * np.pi * f * edges[k])) for k in range(pulses + 1))
    integral = np.trapezoid(spectrum.density(f) * np.abs(y / (TWO_PI * f)) ** 2, f)
    assert spectrum.variance(flips, time) == pytest.approx(integral, rel=2e-3)


def test_the_structure_function_is_the_double_integral_of_the_correlation():
    for t in (0.3, 4.0, 20.0):
        found = 2 * quad(lambda s, t=t: (t - s) * np.pi * 0.5 * 0.015 * np.cos(TWO_PI * 0.21 * s) * np.exp(-TWO_PI * 0.015 * s), 0, t)[0]
        assert PEAK.structure(np.array(t)) == pytest.approx(found, rel=1e-8)


def test_slow_noise_alone_gives_a_gaussian_free_induction_decay():
    """Where all noise is slower than the storage, the variance is t^2 times that of the frequency."""
    slow = Peak(1e-5, 1e-5, 50.0)
    variance = np.pi * slow.height * slow.half_width_mhz
    assert Spectrum(0.0, (slow,)).variance([], 10.0) == pytest.approx(100.0 * variance, rel=1e-2)


def test_windows_have_their_covariance():
    edges = np.array([0.0, 1.0, 2.5, 2.5, 7.0])
    drawn = SPECTRUM.windows(np.random.default_rng(0), edges, 200_000)
    exact = SPECTRUM.covariance(edges)
    assert np.abs(np.cov(drawn) - exact).max() < 0.02 * exact.max()
    assert np.abs(exact[2]).max() < 1e-12


def test_pulses_half_a_period_apart_meet_the_peak():
    """The variance under N pulses is largest where N = 2 f0 T."""
    time = 24.0
    found = [Spectrum(0.0, (PEAK,)).variance((np.arange(n) + 0.5) * time / n, time) for n in range(1, 30)]
    assert 1 + int(np.argmax(found)) == round(2 * 0.21 * time)


# Levels, pulses, checks


def test_two_decays_follow_the_chain():
    """f lives exp(-2t/T1); e is fed by it and decays (Bateman)."""
    t, t1 = 13.0, 60.0
    end = physics.idle(physics.level("f", 0.0, ()), t, t1)
    assert end.f == pytest.approx(np.exp(-2 * t / t1))
    assert end.e == pytest.approx(2 * (np.exp(-t / t1) - np.exp(-2 * t / t1)))
    assert end.trace == pytest.approx(1.0)


def test_coherence_decays_at_one_over_t1():
    end = physics.idle(physics.superposition(0.4, 0.0, ()), 20.0, 60.0, 0.3)
    assert 2 * end.c == pytest.approx(np.exp(-20.0 / 60.0) * np.exp(1j * (0.4 - 0.3)))


def test_a_pi_pulse_reflects_and_a_quarter_turn_is_right_handed():
    start = physics.superposition(0.7, 0.0, ())
    assert np.angle(physics.rotate(start, 0.2, np.pi).c) == pytest.approx(2 * 0.2 - 0.7)
    assert physics.reflected(0.7, [0.2, 1.0]) == pytest.approx(2 * 1.0 - (2 * 0.2 - 0.7))
    # about x, +y goes to +z = g and g goes to -y
    up = physics.rotate(physics.superposition(np.pi / 2, 0.0, ()), 0.0, np.pi / 2)
    assert up.g == pytest.approx(1.0)
    assert 2 * physics.rotate(physics.level("g", 0.0, ()), 0.0, np.pi / 2).c == pytest.approx(-1j)


def test_a_train_of_pulses_loses_a_power_and_turns_too_far():
    q = qutrit(loss=0.01, over_rotation=0.02)
    s = sequence(10, kind="CPMG")
    end = q.kept(q.prepared("superposition", np.pi / 2, (1,)), s, np.zeros((11, 1)))
    assert end.e[0] == pytest.approx(1 - 0.99**10)
    assert 2 * end.c[0] == pytest.approx(1j * 0.99**10 * np.cos(10 * np.pi * 1.02), abs=1e-9)


def test_without_noise_the_preserved_coherence_is_what_pulses_and_checks_leave():
    q = qutrit(t1_us=60.0, loss=0.01, check=Check(0.03, 0.015, 0.008))
    s = sequence(8, checks=(23.6,))
    found = preserved_of(q, s, np.zeros((10, 2)))
    assert found.preserved == pytest.approx(0.99**8 * 0.985 * 0.992, rel=1e-9)
    assert found.contrast[0] * found.kept[0] == pytest.approx(found.preserved * np.exp(-24.0 / 60.0))


@pytest.mark.parametrize("pulses", [0, 3, 8])
def test_the_mean_coherence_is_that_of_the_filter_function(pulses):
    """Perfect pulses: exp(-variance/2) of the g-f phase, which turns with twice delta."""
    q = qutrit(spectrum=Spectrum(0.006, (Peak(0.3, 0.02, 0.05),)))
    s = sequence(pulses, duration=12.0)
    found = preserved_of(q, s, q.phases(np.random.default_rng(1), s, 20_000))
    expected = np.exp(-2.0 * q.spectrum.variance(s.pulse_times_us, 12.0))
    assert 0.1 < expected < 0.99
    assert found.preserved == pytest.approx(expected, abs=0.015)
    assert found.contrast[2] == pytest.approx(1.0)


def test_a_perfect_check_keeps_no_e_and_a_missed_one_obeys_bayes():
    start = physics.State(np.zeros(()), np.array(0.5), np.array(0.2), np.array(0.3))
    assert Check(0.0, 0.0, 0.0).outcome(start, False).e == 0.0
    check = Check(0.05, 0.02, 0.0)
    left = check.outcome(start, False)
    assert left.e / left.trace == pytest.approx(0.2 * 0.05 / (0.2 * 0.05 + 0.8 * 0.98))
    assert left.trace + check.outcome(start, True).trace == pytest.approx(1.0)


def test_sampled_flags_and_states_average_to_the_exact_ones():
    h = device(4).hidden
    q, s = h.qutrit(0.0), sequence(6, checks=(11.6, 23.6))
    rng = np.random.default_rng(2)
    phases = q.phases(rng, s, 40_000)
    end, flags = q.run(rng, q.prepared("superposition", 0.0, (40_000,)), s, phases)
    exact = q.kept(q.prepared("superposition", 0.0, (40_000,)), s, phases)
    good = ~flags.any(axis=1)
    assert good.mean() == pytest.approx(exact.trace.mean(), abs=0.01)
    assert end.trace == pytest.approx(np.ones(40_000))
    assert (end.e * good).mean() == pytest.approx(exact.e.mean(), abs=0.002)
    assert abs((end.c * good).mean() - exact.c.mean()) < 0.01


def test_the_readout_draws_levels_and_smears_relaxation():
    levels = Levels(np.array([0.0, 10.0, 10.0 + 10.0j]), 1.0, 0.01)
    drawn = sampled_levels(np.random.default_rng(0), np.tile([0.2, 0.5, 0.3], (100_000, 1)))
    assert np.bincount(drawn) / 1e5 == pytest.approx([0.2, 0.5, 0.3], abs=0.008)
    iq = levels.points(np.random.default_rng(1), np.full(400_000, 2))
    share = (1 - np.exp(-0.02)) / 0.02  # of the window in f
    assert iq.mean().imag == pytest.approx(10.0 * share, abs=0.01)
    assert np.std(iq.real) == pytest.approx(1.0, abs=0.01)
    assert 1.1 < np.std(iq.imag) < 1.5  # f and e differ in Q


# Cross-check


def test_one_noise_realisation_agrees_with_qutip():
    """A ladder transmon with one jump operator a/sqrt(T1), a frequency that wanders, and g-f pulses in between (Johansson et al. 2013)."""
    qutip = pytest.importorskip("qutip")
    t1, axes = 30.0, (0.3, 1.2, -0.4)
    s = Sequence(duration_us=16.0, pulse_times_us=(2.0, 7.5, 12.0), pulse_phases_rad=axes)
    tones = ((0.9, 0.05, 0.1), (0.5, 0.31, 2.0), (0.7, 0.8, 4.0))  # rad/us, MHz, rad

    def delta(t):
        return sum(a * np.cos(TWO_PI * f * t + p) for a, f, p in tones)

    def integral(t):
        return sum(a / (TWO_PI * f) * np.sin(TWO_PI * f * t + p) for a, f, p in tones)

    q = qutrit(t1_us=t1, over_rotation=0.03)
    edges = s.edges()
    phases = 2.0 * np.diff(integral(edges))[:, None]
    ours = q.kept(q.prepared("superposition", 0.5, (1,)), s, phases)

    a = qutip.destroy(3)
    h = qutip.QobjEvo([[a.dag() * a, delta]])
    rho = qutip.ket2dm((qutip.basis(3, 0) + np.exp(0.5j) * qutip.basis(3, 2)).unit())
    x = qutip.basis(3, 0) * qutip.basis(3, 2).dag()
    options = {"rtol": 1e-10, "atol": 1e-12, "nsteps": 100_000, "progress_bar": ""}
    for k in range(4):
        rho = qutip.mesolve(h, rho, [edges[k], edges[k + 1]], [a / np.sqrt(t1)], options=options).final_state
        if k < 3:
            generator = np.exp(-1j * axes[k]) * x
            u = (-0.5j * np.pi * 1.03 * (generator + generator.dag())).expm()
            rho = u * rho * u.dag()
    full = rho.full()
    assert abs(ours.c[0] - full[2, 0]) < 1e-7
    assert [ours.g[0], ours.e[0], ours.f[0]] == pytest.approx(np.real(np.diag(full)).tolist(), abs=1e-7)


# Experiments


def test_flags_and_points_of_prepared_levels():
    d = device(1)
    request = RunSequence.examples(d.spec)[0].model_copy(update={"shots": 10_000})
    record = request.run(d, Clock(0.0), np.random.default_rng(0))
    g, e, f = record.arrays["flags"].values[:, :, 0].mean(axis=1)
    h = d.hidden
    assert g == pytest.approx(h.false + h.reset_excited * (1 - h.missed), abs=0.006)
    assert e == pytest.approx(1 - h.missed - h.reset_excited - 0.2 / h.t1_us, abs=0.008)
    assert f == pytest.approx(h.false + h.reset_excited + 0.4 / h.t1_us, abs=0.008)
    assert record.arrays["iq"].values.dtype == np.complex64


def test_without_checks_there_are_no_flags():
    d = device(1)
    record = RunSequence.examples(d.spec)[2].run(d, Clock(0.0), np.random.default_rng(0))
    assert set(record.arrays) == {"iq"}


def test_the_peaks_wander_with_the_lab_clock():
    h = device(0).hidden
    moved = [abs(h.spectrum(3600.0 * t).peaks[0].centre_mhz - h.low.centre_mhz) for t in (0.0, 25.0)]
    assert moved[0] == 0.0
    assert 1e-4 < moved[1] < 0.08


def _request(**point):
    body = {"prepare": "superposition", "duration_us": 24.0} | point
    return json.dumps({"points": [body], "shots": 10})


BAD = {
    "crowded pulses": {"pulse_times_us": [1.0, 1.2], "pulse_phases_rad": [0.0, 0.0]},
    "unordered pulses": {"pulse_times_us": [2.0, 1.0], "pulse_phases_rad": [0.0, 0.0]},
    "a pulse without a phase": {"pulse_times_us": [2.0], "pulse_phases_rad": []},
    "a pulse within a check": {"pulse_times_us": [2.0], "pulse_phases_rad": [0.0], "check_times_us": [1.8]},
    "a check after the end": {"check_times_us": [23.7]},
    "overlapping checks": {"check_times_us": [3.0, 3.2]},
    "a pulse before the start": {"pulse_times_us": [0.05], "pulse_phases_rad": [0.0]},
    "too many pulses": {"pulse_times_us": [0.3 + 0.4 * k for k in range(49)], "pulse_phases_rad": [0.0] * 49},
    "unknown preparation": {"prepare": "h"},
}


@pytest.mark.parametrize("point", BAD.values(), ids=BAD.keys())
def test_sequences_without_sense_are_refused(point):
    with pytest.raises(ValidationError):
        RunSequence.model_validate_json(_request(**point))


def test_points_with_different_numbers_of_checks_and_too_many_shots_are_refused():
    one, two = ({"prepare": "g", "duration_us": 4.0, "check_times_us": t} for t in ([0.0], [0.0, 1.0]))
    for body in ({"points": [one, two], "shots": 10}, {"points": [one] * 2, "shots": 40_000}):
        with pytest.raises(ValidationError):
            RunSequence.model_validate_json(json.dumps(body))


# Replay and notebook


def test_the_best_family_member_is_between_its_extremes():
    h = device(2).hidden
    best = best_of_families(h, 0.0, 24.0, np.random.default_rng(0))
    for pulses in (0, resonant(h.low), 48):
        assert preserved(h, 0.0, sequence(pulses, checks=(23.6,)), np.random.default_rng(1), 500).preserved < best


def test_the_notebook_recommends_what_meets_the_low_peak_today():
    profile = QTYPE.read_profile({})
    hits = 0
    for seed in range(12):
        hidden = QTYPE.draw(np.random.default_rng(seed), profile)
        book = QTYPE.notebook(hidden, np.random.default_rng(100 + seed), profile, dt.date(2026, 3, 1))
        data = book.entries[1].data
        figure = np.array(data["contrast"]) * np.array(data["not_lost_by_pulses"])
        assert figure[data["pulses"].index(data["recommended_pulses"])] >= figure.max() - 3e-3
        assert len(data["pulses"]) >= 7
        assert set(data["pulses"]) <= {*SCANNED, data["recommended_pulses"], resonant(hidden.low)}
        hits += data["recommended_pulses"] == resonant(hidden.low)
        now = scan(hidden.spectrum(0.0), hidden.loss, (resonant(hidden.low),))
        assert now.preserved[0] < 0.4
    assert hits >= 11
    assert LOW_MHZ[0] < hidden.low.centre_mhz < LOW_MHZ[1]
