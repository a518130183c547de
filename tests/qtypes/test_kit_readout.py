"""IQ points and binary flips follow their closed forms."""

import numpy as np
import pytest
from scipy.special import ndtr

from qtypes.kit.readout import Clouds, flipped, integrated_points, relaxation_fraction

CLOUDS = Clouds(1.0 - 2.0j, 4.0 + 1.0j, sigma=1.2, relaxation=0.3)
N = 200_000


def points(excited, clouds=CLOUDS, angle=0.0, seed=1):
    rng = np.random.default_rng(seed)
    state = np.full(N, excited)
    return integrated_points(rng, state, relaxation_fraction(rng, N, clouds.relaxation), clouds, angle)


def test_the_ground_cloud_is_an_isotropic_gaussian_at_its_centre():
    iq = points(False)
    assert iq.dtype == np.complex64
    assert iq.mean() == pytest.approx(CLOUDS.centre0, abs=0.02)
    assert iq.real.std() == pytest.approx(1.2, rel=0.01)
    assert iq.imag.std() == pytest.approx(1.2, rel=0.01)
    assert np.corrcoef(iq.real, iq.imag)[0, 1] == pytest.approx(0.0, abs=0.01)


def test_relaxation_pulls_the_mean_of_the_excited_cloud():
    assert points(True).mean() == pytest.approx(CLOUDS.mean_excited, abs=0.02)
    assert Clouds(0, 1, 1.0).mean_excited == 1


def test_the_surviving_fraction_is_one_minus_relaxation():
    fraction = relaxation_fraction(np.random.default_rng(2), N, 0.3)
    assert np.mean(fraction == 1.0) == pytest.approx(0.7, abs=0.005)
    early = fraction[fraction < 1.0]
    assert np.mean(early < 0.5) == pytest.approx((1 - 0.7**0.5) / 0.3, abs=0.01)


def test_the_overlap_error_is_that_of_the_midpoint_threshold():
    clouds = Clouds(0.0, 3.0, 1.0)
    assert clouds.overlap_error == pytest.approx(float(ndtr(-1.5)))
    assert np.mean(points(False, clouds).real > 1.5) == pytest.approx(clouds.overlap_error, abs=0.002)


def test_the_plane_turns_about_its_origin():
    assert points(False, angle=np.pi / 2).mean() == pytest.approx(1j * CLOUDS.centre0, abs=0.02)


def test_flips_occur_with_the_given_probabilities():
    rng = np.random.default_rng(3)
    bits = np.array([[0] * N, [1] * N], dtype=np.uint8)
    read = flipped(rng, bits, 0.02, np.array([[0.1], [0.2]]))
    assert read.dtype == np.uint8
    assert read.mean(axis=1) == pytest.approx([0.02, 0.8], abs=0.005)


@pytest.mark.parametrize("arguments", [(0, 1, 0.0), (0, 1, 1.0, 1.0)])
def test_impossible_clouds_are_refused(arguments):
    with pytest.raises(ValueError, match="sigma > 0"):
        Clouds(*arguments)
