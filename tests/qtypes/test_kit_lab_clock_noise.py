"""Slow noise is a function of the lab clock and a seed, with the statistics of its process."""

from itertools import pairwise

import numpy as np
import pytest

from qtypes.kit.lab_clock_noise import Flicker, OrnsteinUhlenbeck, RandomWalk, Telegraph

PROCESSES = [
    Telegraph(3.0, 7.0, seed=5).state,
    RandomWalk(0.3, seed=5).value,
    OrnsteinUhlenbeck(2.0, 40.0, seed=5).value,
    Flicker(1.0, 1.0, 1000.0, seed=5).value,
]


@pytest.mark.parametrize("process", PROCESSES)
def test_a_trajectory_does_not_depend_on_what_was_asked_before(process):
    late = process(np.linspace(0.0, 5000.0, 301))
    early = process(np.linspace(0.0, 5000.0, 301)[:17])
    single = np.array([process(float(t)) for t in np.linspace(0.0, 5000.0, 301)[::60]])
    assert np.array_equal(early, late[:17])
    assert np.array_equal(single, late[::60])


def test_telegraph_occupancy_is_the_ratio_of_dwell_times():
    process = Telegraph(3.0, 7.0, seed=11)
    states = process.state(np.arange(0.0, 40_000.0, 1.0))
    assert states.mean() == pytest.approx(0.7, abs=4 * np.sqrt(2 * 0.7 * 0.3 * 2.1 / 40_000))


def test_telegraph_dwell_times_are_exponential_with_their_mean():
    first, switches = Telegraph(3.0, 7.0, seed=12).path(60_000.0)
    dwell = np.diff(switches)
    of_state = [dwell[(1 + first + np.arange(dwell.size)) % 2 == k] for k in (0, 1)]
    for mean, values in zip((3.0, 7.0), of_state, strict=True):
        assert values.mean() == pytest.approx(mean, rel=5 / np.sqrt(values.size))
        assert np.mean(values > mean) == pytest.approx(np.exp(-1), abs=0.03)


def test_telegraph_autocorrelation_decays_with_the_sum_of_the_rates():
    process = Telegraph(3.0, 7.0, seed=13)
    x = process.state(np.arange(0.0, 200_000.0, 1.0)) - 0.7
    lag = np.mean(x[:-2] * x[2:]) / np.mean(x * x)
    assert lag == pytest.approx(np.exp(-2.0 * (1 / 3 + 1 / 7)), abs=0.02)


def test_telegraph_starts_in_its_stationary_distribution():
    starts = [Telegraph(3.0, 7.0, seed=s).state(0.0) for s in range(400)]
    assert np.mean(starts) == pytest.approx(0.7, abs=0.1)


def test_telegraph_fraction_is_the_integral_of_the_state():
    process = Telegraph(3.0, 7.0, seed=14)
    edges = np.array([0.0, 1.5, 4.0, 20.0, 333.3])
    fine = np.array([process.state(np.linspace(a, b, 40_001)[:-1]).mean() for a, b in pairwise(edges)])
    assert process.fraction(edges) == pytest.approx(fine, abs=2e-3)


def test_random_walk_variance_grows_linearly():
    ends = np.array([RandomWalk(0.5, seed=s).value(np.array([100.0, 400.0])) for s in range(600)])
    assert ends.std(axis=0) == pytest.approx([5.0, 10.0], rel=0.12)
    assert RandomWalk(0.5, seed=1).value(0.0) == 0.0


def test_ornstein_uhlenbeck_has_its_variance_and_correlation():
    x = OrnsteinUhlenbeck(2.0, 40.0, seed=3).value(np.arange(0.0, 400_000.0, 10.0))
    assert x.std() == pytest.approx(2.0, rel=0.05)
    assert np.mean(x[:-4] * x[4:]) / x.var() == pytest.approx(np.exp(-1), abs=0.05)


def test_flicker_has_equal_power_per_octave():
    x = Flicker(1.0, 1.0, 3000.0, seed=4).value(np.arange(0.0, 2.0**17, 1.0))
    power = np.abs(np.fft.rfft(x))[1:] ** 2
    frequency = np.fft.rfftfreq(x.size)[1:]
    octaves = [power[(frequency >= f) & (frequency < 2 * f)].sum() for f in 1e-3 * 2.0 ** np.arange(5)]
    assert max(octaves) / min(octaves) < 1.6


@pytest.mark.parametrize("times", [[-1.0], [np.nan]])
def test_times_before_the_session_are_refused(times):
    for process in PROCESSES:
        with pytest.raises(ValueError, match="lab-clock times"):
            process(np.array(times))
