"""Bloch propagators agree with closed forms and with each other."""

import numpy as np
import pytest

from qtypes.kit.propagators import ShotDrives, apply, chebyshev_degree, chunks, driven, free, then

UP = np.array([0.0, 0.0, 1.0])


def test_a_lossless_drive_follows_the_rabi_formula():
    t = np.linspace(0.0, 0.4, 50)
    omega, delta = 11.0, 6.0
    z = apply(driven(omega, 0.3, delta, 0.0, 0.0, 1.0, t), UP)[..., 2]
    generalised = np.hypot(omega, delta)
    excited = (omega / generalised) ** 2 * np.sin(np.pi * generalised * t) ** 2
    assert (1 - z) / 2 == pytest.approx(excited, abs=1e-12)


def test_a_lossless_drive_is_a_rotation():
    m = driven(11.0, 0.3, 6.0, 0.0, 0.0, 1.0, 0.123)
    assert m[:, :3] @ m[:, :3].T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(m[:, :3]) == pytest.approx(1.0)


def test_a_quarter_turn_about_x_takes_z_to_minus_y():
    assert apply(driven(10.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.025), UP) == pytest.approx([0.0, -1.0, 0.0], abs=1e-12)


def test_free_evolution_is_a_drive_of_zero_amplitude():
    delta, g1, g2, t = np.array([0.4, -1.7]), 0.03, 0.05, np.array([3.0, 8.0])
    assert free(delta, g1, g2, 0.8, t) == pytest.approx(driven(0.0, 0.0, delta, g1, g2, 0.8, t), abs=1e-12)


def test_relaxation_leads_to_the_thermal_state():
    assert apply(free(0.3, 0.1, 0.2, 0.9, 1e4), np.array([0.3, 0.1, -1.0])) == pytest.approx([0.0, 0.0, 0.9])


def test_a_strong_resonant_drive_saturates_to_the_steady_state_of_the_bloch_equations():
    omega, g1, g2, z_eq = 1.5, 0.4, 0.3, 0.9
    s = (2 * np.pi * omega) ** 2 / (g1 * g2)
    assert apply(driven(omega, 0.0, 0.0, g1, g2, z_eq, 200.0), UP)[2] == pytest.approx(z_eq / (1 + s), abs=1e-10)


def test_maps_compose():
    a, b = driven(11.0, 0.3, 6.0, 0.1, 0.2, 0.9, 0.1), free(0.5, 0.1, 0.2, 0.9, 3.0)
    r = np.array([0.1, 0.2, 0.3])
    assert apply(then(a, b), r) == pytest.approx(apply(b, apply(a, r)), abs=1e-14)
    half = driven(11.0, 0.3, 6.0, 0.1, 0.2, 0.9, 0.05)
    assert then(half, half) == pytest.approx(a, abs=1e-12)


@pytest.mark.parametrize("duration_us", [0.004, 0.025, 1.0, 10.0])
def test_interpolated_drives_agree_with_exact_ones(duration_us):
    rng = np.random.default_rng(1)
    delta, gamma1 = rng.uniform(0.9, 1.1, 300), rng.uniform(0.006, 0.1, 300)
    omega, phase, duration = np.array([20.0, 0.7]), np.array([0.0, 1.1]), np.array([duration_us, duration_us / 2])
    drives = ShotDrives.build(omega, phase, duration, (delta.min(), delta.max()), (gamma1.min(), gamma1.max()), 0.02, 0.85)
    basis = drives.basis(delta, gamma1)
    for k in range(2):
        exact = driven(omega[k], phase[k], delta, gamma1, gamma1 / 2 + 0.02, 0.85, duration[k])
        assert drives.maps(basis, k).T.reshape(-1, 3, 4) == pytest.approx(exact, abs=1e-9)


def test_shots_without_spread_need_one_node():
    drives = ShotDrives.build(np.array([20.0]), np.zeros(1), np.array([0.025]), (1.0, 1.0), (0.01, 0.01), 0.0, 1.0)
    assert drives.degrees == (0, 0)
    one = drives.maps(drives.basis(np.ones(3), np.full(3, 0.01)), 0)[:, 0].reshape(3, 4)
    assert one == pytest.approx(driven(20.0, 0.0, 1.0, 0.01, 0.005, 1.0, 0.025))


def test_the_degree_grows_with_the_span_and_is_bounded():
    assert chebyshev_degree(0.0) == 0
    assert chebyshev_degree(1.0) < chebyshev_degree(10.0)
    with pytest.raises(ValueError, match="too wide"):
        chebyshev_degree(1e4)


def test_chunks_cover_everything_once():
    assert [list(range(10))[c] for c in chunks(10, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
