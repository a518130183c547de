"""Estimators on IQ points recover what was put in, with honest errors."""

import numpy as np
import pytest

from graders.kit.iq import fit_clouds, fit_relaxation, log_ratio, relaxation_bound, weight_information
from qtypes.kit.readout import Clouds, integrated_points, relaxation_fraction

TRUE = Clouds(1.0 + 2.0j, -1.5 + 4.0j, sigma=1.0, relaxation=0.1)
TAIL = -np.log(0.9)


def sample(weight, n, seed=0):
    rng = np.random.default_rng(seed)
    return integrated_points(rng, rng.random(n) < weight, relaxation_fraction(rng, n, TRUE.relaxation), TRUE)


def test_the_likelihood_ratio_is_that_of_the_two_densities():
    u = np.linspace(-6.0, 10.0, 9)
    f = (np.arange(20_000) + 0.5) / 20_000
    normal = lambda x: np.exp(-(x**2) / 2)  # noqa: E731
    tail = 0.2
    f1 = np.exp(-tail) * normal(u - 4.0) + (tail * np.exp(-tail * f) * normal(u[:, None] - 4.0 * f)).mean(axis=1)
    assert log_ratio(u, 4.0, tail) == pytest.approx(np.log(f1 / normal(u)), abs=1e-6)
    assert log_ratio(u, 4.0, 0.0) == pytest.approx(4.0 * (u - 2.0))


def test_the_likelihood_ratio_stays_finite_and_rises_far_outside():
    ratio = log_ratio(np.linspace(-40.0, 60.0, 2001), 5.0, 0.1)
    assert np.isfinite(ratio).all()
    assert (np.diff(ratio) >= -1e-9).all()


def test_clouds_and_weights_are_recovered_from_mixed_sets():
    sets = [sample(w, 20_000, seed) for seed, w in enumerate((0.08, 0.85, 0.4))]
    clouds = fit_clouds(sets, complex(sets[0].mean()), complex(sets[1].mean()))
    assert clouds.centre0 == pytest.approx(TRUE.centre0, abs=0.05)
    assert clouds.centre1 == pytest.approx(TRUE.centre1, abs=0.08)
    assert clouds.sigma == pytest.approx(1.0, rel=0.02)
    assert clouds.tail == pytest.approx(TAIL, abs=0.06)
    assert clouds.weights == pytest.approx([0.08, 0.85, 0.4], abs=0.03)


def test_the_information_of_a_perfect_readout_is_binomial():
    w = np.array([0.1, 0.5, 0.9])
    assert weight_information(w, 8.0) == pytest.approx(1 / (w * (1 - w)), rel=1e-3)
    assert (weight_information(w, 2.5, 0.1) < weight_information(w, 2.5)).all()


def relaxation_data(seed, shots=800):
    delays = np.repeat(np.linspace(0.0, 250.0, 20), shots)
    group = (np.arange(delays.size) % 2).astype(np.intp)
    weight = 0.08 + np.array([0.8, 0.5])[group] * np.exp(-delays / 50.0)
    return delays, group, sample(weight, delays.size, seed)


def test_relaxation_is_recovered_with_one_amplitude_per_group():
    delays, group, iq = relaxation_data(5, shots=600)
    clouds = fit_clouds([iq[delays == d] for d in np.unique(delays)], TRUE.centre0, TRUE.centre1)
    fit = fit_relaxation(clouds.log_ratio(iq), delays, group)
    assert abs(fit.t1_us - 50.0) < 4 * fit.t1_sigma_us < 16.0
    assert fit.floor == pytest.approx(0.08, abs=0.03)
    assert fit.amplitudes == pytest.approx([0.8, 0.5], abs=0.09)


def test_the_standard_error_agrees_with_the_scatter_and_with_the_bound():
    fits = []
    for seed in range(16):
        delays, group, iq = relaxation_data(100 + seed, shots=100)
        u = ((iq - TRUE.centre0) * np.conj((TRUE.centre1 - TRUE.centre0) / TRUE.snr)).real
        fits.append(fit_relaxation(log_ratio(u, TRUE.snr, TAIL), delays, group))
    scatter = np.std([f.t1_us for f in fits])
    claimed = np.mean([f.t1_sigma_us for f in fits])
    points = np.tile(np.linspace(0.0, 250.0, 20), 2)
    bound = relaxation_bound(50.0, 0.08, np.array([0.8, 0.5]), (TRUE.snr, TAIL), points, np.full(40, 50.0), np.repeat([0, 1], 20))
    assert claimed == pytest.approx(bound, rel=0.15)
    assert scatter == pytest.approx(bound, rel=0.5)
