"""The joint fringe fit of graders: exact on exact data, honest about its errors, and aware of its aliases."""

from __future__ import annotations

import numpy as np
import pytest

from graders.kit.iq import Clouds
from graders.kit.ramsey import FringePoints, Populations, envelope, fit_ramsey
from qtypes.kit import readout

CLOUDS = Clouds(0.0, 3.5 + 0.0j, 1.0, 0.08, np.zeros(0))
POPULATIONS = Populations.of(CLOUDS)
DELTA, T2, SHARE = -1.8317, 22.0, 0.35


def points(delays, offsets=(0.0, 0.25), turn=0.0, shots=200.0, rng=None):
    """Fringes at the given offsets with a baseline that relaxes; noise of the readout from `rng`."""
    t = np.tile(delays, len(offsets))
    offset = np.repeat(offsets, len(delays))
    group = np.repeat(np.arange(len(offsets)), len(delays))
    amplitude = np.array([0.35 * np.exp(0.2j), 0.33 * np.exp(0.5j), 0.3])[group]
    turns = np.broadcast_to(turn, t.shape).astype(float)
    phase = 2 * np.pi * (DELTA + offset) * t - turns
    population = 0.5 + 0.02 * np.exp(-t / 300.0) + envelope(t, T2, SHARE) * (amplitude * np.exp(1j * phase)).real
    if rng is not None:
        population = population + rng.standard_normal(t.size) * np.sqrt(POPULATIONS.variance(population) / shots)
    return FringePoints(t, turns, offset, population, np.full(t.size, shots), group)


DELAYS = np.concatenate((np.arange(0.0, 12.0, 0.15), np.linspace(14.0, 45.0, 41)))


def test_the_fit_recovers_an_exact_fringe():
    fit = fit_ramsey(points(DELAYS), POPULATIONS, 2.6, 0.02)
    assert fit.detuning_mhz == pytest.approx(DELTA, abs=1e-6)
    assert fit.t2_us == pytest.approx(T2, rel=1e-3)
    assert fit.share == pytest.approx(SHARE, abs=5e-3)
    assert fit.chi2_per_dof < 1e-3


@pytest.mark.slow
def test_the_scatter_of_fits_is_their_error():
    fits = [fit_ramsey(points(DELAYS, rng=np.random.default_rng(k)), POPULATIONS, 2.6, 0.02) for k in range(25)]
    for pulls in (
        [(f.detuning_mhz - DELTA) / f.detuning_sigma_mhz for f in fits], [np.log(f.t2_us / T2) * f.t2_us / f.t2_sigma_us for f in fits],
    ):  # fmt: skip
        assert 0.65 < np.sqrt(np.mean(np.square(pulls))) < 1.45
    assert np.mean([f.chi2_per_dof for f in fits]) == pytest.approx(1.0, abs=0.06)


def test_a_coarse_step_leaves_an_alias_and_one_offset_a_mirror_image():
    rng = np.random.default_rng(1)
    coarse = fit_ramsey(points(np.arange(0.0, 40.0, 0.5), rng=rng), POPULATIONS, 2.6, 0.02)
    assert coarse.rival_chi2 < 5.0
    aliases = {round(x, 2) for x in (DELTA, DELTA + 2.0, DELTA + 4.0)}  # a step of 0.5 us samples at 2 MHz
    assert {round(coarse.detuning_mhz, 2), round(coarse.rival_mhz, 2)} <= aliases
    single = fit_ramsey(points(DELAYS, offsets=(0.0,), rng=rng), POPULATIONS, 2.6, 0.02)
    assert single.rival_chi2 < 1.0
    assert single.rival_mhz == pytest.approx(-single.detuning_mhz, abs=0.01)
    both = fit_ramsey(points(DELAYS, rng=rng), POPULATIONS, 2.6, 0.02)
    assert both.rival_chi2 > 300.0


def test_phases_that_turn_give_the_sign():
    fit = fit_ramsey(points(DELAYS, offsets=(0.0,), turn=np.arange(DELAYS.size) * np.pi / 2), POPULATIONS, 2.6, 0.02)
    assert fit.detuning_mhz == pytest.approx(DELTA, abs=1e-5)
    assert fit.rival_chi2 > 150.0


def test_more_than_a_chi_square_of_one_widens_the_errors():
    data = points(DELAYS, rng=np.random.default_rng(3))
    wrong = FringePoints(data.delay_us, data.turn_rad, data.offset_mhz, data.population, 4.0 * data.shots, data.group)
    right, narrow = (fit_ramsey(d, POPULATIONS, 2.6, 0.02) for d in (data, wrong))
    assert narrow.chi2_per_dof == pytest.approx(4.0 * right.chi2_per_dof, rel=0.02)
    assert narrow.t2_sigma_us == pytest.approx(right.t2_sigma_us * max(1.0, right.chi2_per_dof) ** -0.5, rel=0.1)


@pytest.mark.parametrize("excited", [0.0, 0.3, 0.9])
def test_populations_and_their_variance_are_those_of_the_readout(excited):
    model = readout.Clouds(0.0, 3.5 + 0.0j, 1.0, float(-np.expm1(-0.08)))
    rng = np.random.default_rng(5)
    state = rng.random((400, 500)) < excited
    iq = readout.integrated_points(rng, state, readout.relaxation_fraction(rng, state.shape, model.relaxation), model)
    value = POPULATIONS.value(iq)
    assert value.mean() == pytest.approx(excited, abs=4e-3)
    assert value.var() * 500 == pytest.approx(float(POPULATIONS.variance(np.array([max(excited, 0.01)]))[0]), rel=0.25)
