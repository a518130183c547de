"""State copies follow closed forms and agree with qutip, the estimators are unbiased, and requests refuse what makes no sense."""

import datetime as dt
import itertools
import json

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from qtypes import Clock, Device
from qtypes.trapped_ion_state_copy_randomized_measurement import device as devices
from qtypes.trapped_ion_state_copy_randomized_measurement import physics
from qtypes.trapped_ion_state_copy_randomized_measurement.device import IONS, NEEL, haar_angles
from qtypes.trapped_ion_state_copy_randomized_measurement.estimators import (
    counts_of,
    kernel,
    pair_purities,
    plug_in_purities,
    readout_inverses,
)
from qtypes.trapped_ion_state_copy_randomized_measurement.experiments import RunReadoutCal, RunRmBatch

QTYPE = qtypes.load("trapped_ion_state_copy_randomized_measurement")
CLEAR = {"p1_given0": (0.0,) * 6, "p0_given1": (0.0,) * 6}
AXES = np.array([[0.0, 0.0, 0.0], [np.pi, np.pi / 2, 0.3], [np.pi / 2, np.pi / 2, 1.0]])
"""Euler angles that measure Z, X, Y."""


def make(seed=0, profile=None, **changes):
    read = QTYPE.read_profile(profile or {})
    hidden = QTYPE.draw(np.random.default_rng(seed), read).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, read), hidden, read)


def mixed(ions, rng):
    """A random density matrix of low rank, `(1, 2^ions, 2^ions)`."""
    a = rng.normal(size=(2**ions, 3)) + 1j * rng.normal(size=(2**ions, 3))
    rho = a @ a.conj().T
    return (rho / np.trace(rho))[None]


# The state


def test_two_ions_flop_together():
    """exp(-i J t X X)|01> = cos(J t)|01> - i sin(J t)|10>: a half of it has purity 1 - sin(2 J t)^2 / 2."""
    times = np.linspace(0.0, 9.0, 7)
    psi = physics.evolved(physics.hamiltonian(physics.power_law(0.4, 1.3, 2), 0.0), 0b01, times)
    assert psi[:, 1] == pytest.approx(np.cos(0.4 * times))
    assert psi[:, 2] == pytest.approx(-1j * np.sin(0.4 * times))
    assert physics.purity(physics.dephased(psi, [0.0, 0.0]), 1) == pytest.approx(1 - np.sin(0.8 * times) ** 2 / 2)


def test_without_a_field_the_first_ion_decays_by_the_product_of_its_couplings():
    """All X_i X_j commute: <Z_1> = product over j of cos(2 J_1j t), <X_1> = <Y_1> = 0."""
    j = physics.power_law(0.37, 1.2, IONS)
    times = np.array([0.7, 2.1, 3.9])
    rho = physics.dephased(physics.evolved(physics.hamiltonian(j, 0.0), NEEL, times), np.zeros(6))
    z = np.prod(np.cos(2 * np.outer(times, j[0, 1:])), axis=1)
    assert physics.purity(rho, 1) == pytest.approx((1 + z**2) / 2, abs=1e-12)


def test_a_field_alone_turns_phases():
    psi = physics.evolved(physics.hamiltonian(np.zeros((3, 3)), 0.7), 0b010, [2.0])
    assert psi[0, 0b010] == pytest.approx(np.exp(-1j * 0.7 * 2.0))


def test_purities_of_pure_states():
    """Complementary parts have equal entropy, the whole has none; phase flips only mix."""
    h = make(3, phase_flip=(0.0,) * 6).hidden
    rho = h.states([0.0])
    assert physics.purity(rho, 6)[0] == pytest.approx(1.0, abs=1e-12)
    for m in (1, 2, 3, 4):
        order = [*range(m, 6), *range(m)]
        turned = rho.reshape((2,) * 12).transpose([*order, *(6 + i for i in order)]).reshape(1, 64, 64)
        assert physics.purity(rho, m)[0] == pytest.approx(physics.purity(turned, 6 - m)[0], abs=1e-12)
        assert 2.0**-m <= physics.purity(rho, m)[0] < 1.0
    noisy = make(3).hidden.states([0.0])
    assert physics.purity(noisy, 6)[0] < 0.95
    assert np.linalg.eigvalsh(noisy[0]).min() > -1e-12
    assert np.trace(noisy[0]) == pytest.approx(1.0)


def test_a_phase_flip_shrinks_coherences():
    plus = np.full((1, 2), np.sqrt(0.5), dtype=complex)
    assert physics.dephased(plus, [0.03])[0] == pytest.approx(np.array([[0.5, 0.47], [0.47, 0.5]]))


def test_the_quench_grows_with_the_lab_clock():
    h = make(1, quench_ms=3.0, quench_drift=0.04).hidden
    assert h.quench_at([0.0, 1200.0, 2400.0]) == pytest.approx([3.0, 3.06, 3.12])
    assert h.states([2400.0]) == pytest.approx(h.model_copy(update={"quench_ms": 3.12}).states([0.0]))


def test_a_dark_ion_takes_part_in_nothing():
    """With ion 6 dark the rest is a quench of five ions, and the state a product."""
    h = make(2, phase_flip=(0.0,) * 6).hidden
    rho = h.states([0.0], dark=6)[0].reshape(32, 2, 32, 2)
    five = physics.evolved(physics.hamiltonian(physics.power_law(h.j0, h.alpha, 5), h.b), 0b01010, [h.quench_ms])[0]
    assert rho[:, 0, :, 0] == pytest.approx(np.outer(five, five.conj()), abs=1e-12)
    assert np.abs(rho[:, 1]).max() < 1e-12


# Rotations


def test_euler_angles_measure_their_axis():
    rng = np.random.default_rng(1)
    angles = haar_angles(rng, 4)
    u = physics.local_unitaries(angles)
    paulis = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
    seen = u.conj().swapaxes(-1, -2) @ paulis[2] @ u
    assert np.einsum("...x,xab->...ab", physics.measured_axes(angles), paulis) == pytest.approx(seen, abs=1e-12)
    assert physics.measured_axes(AXES) == pytest.approx(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), abs=1e-12)
    assert u @ u.conj().swapaxes(-1, -2) == pytest.approx(np.broadcast_to(np.eye(2), u.shape), abs=1e-12)


def test_random_rotations_are_uniform():
    axes = physics.measured_axes(haar_angles(np.random.default_rng(2), 4000)).reshape(-1, 3)
    assert axes.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.02)
    assert axes.T @ axes / len(axes) == pytest.approx(np.eye(3) / 3, abs=0.02)


def test_states_and_outcomes_agree_with_qutip():
    """Schroedinger equation, Kraus operators and tensor products of another library."""
    import qutip

    h = make(4).hidden
    eyes = [qutip.qeye(2)] * IONS

    def on(op, i):
        return qutip.tensor(*eyes[:i], op, *eyes[i + 1 :])

    couplings = sum(h.j0 / (j - i) ** h.alpha * on(qutip.sigmax(), i) * on(qutip.sigmax(), j) for i in range(6) for j in range(i + 1, 6))
    total = couplings + h.b * sum(on(qutip.sigmaz(), i) for i in range(6))
    start = qutip.tensor(*[qutip.basis(2, k % 2) for k in range(6)])
    options = {"rtol": 1e-10, "atol": 1e-12, "progress_bar": ""}
    rho = qutip.ket2dm(qutip.sesolve(total, start, [0, h.quench_ms], options=options).final_state)
    for i, p in enumerate(h.phase_flip):
        rho = (1 - p) * rho + p * on(qutip.sigmaz(), i) * rho * on(qutip.sigmaz(), i)
    ours = h.states([0.0])
    assert np.abs(ours[0] - rho.full()).max() < 1e-7
    assert physics.purity(ours, 2)[0] == pytest.approx((rho.ptrace([0, 1]) ** 2).tr(), abs=1e-7)
    angles = haar_angles(np.random.default_rng(0), 3)
    found = physics.outcome_probabilities(np.repeat(ours, 3, axis=0), physics.local_unitaries(angles))
    for row, setting in zip(found, angles, strict=True):
        turns = [(-0.5j * c * qutip.sigmaz()).expm() * (-0.5j * b * qutip.sigmay()).expm() * (-0.5j * a * qutip.sigmaz()).expm()
                 for a, b, c in setting]  # fmt: skip
        u = qutip.tensor(*turns)
        assert np.abs(row - (u * rho * u.dag()).diag().real).max() < 1e-7


# Estimators


def exact(rho, angles):
    u = physics.local_unitaries(angles)
    return physics.outcome_probabilities(np.repeat(rho, len(angles), axis=0), u)


@pytest.mark.parametrize("ions", [1, 2, 3])
def test_the_kernel_averaged_over_a_two_design_is_the_purity(ions):
    """X, Y and Z of every ion make the second moments of Haar rotations exactly."""
    rho = mixed(ions, np.random.default_rng(ions))
    p = exact(rho, np.array(list(itertools.product(AXES, repeat=ions))))
    assert np.einsum("us,st,ut->u", p, kernel(ions), p).mean() == pytest.approx(physics.purity(rho, ions)[0], abs=1e-12)


def test_random_rotations_give_the_purity_of_the_source():
    rho = make(5).hidden.states([0.0])
    p = exact(rho, haar_angles(np.random.default_rng(8), 500))
    for m in (1, 2, 3, 6):
        part = p.reshape(len(p), 2**m, -1).sum(axis=2)
        values = np.einsum("us,st,ut->u", part, kernel(m), part)
        assert values.mean() == pytest.approx(physics.purity(rho, m)[0], abs=5 * values.std() / np.sqrt(len(values)))


def test_pairs_are_unbiased_and_squares_are_not():
    """E of the plug-in is (1 - 1/n) X + 2^m / n; pairs of four copies are right already."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(8))
    right = p @ kernel(3) @ p
    n = 4
    drawn = rng.multinomial(n, p, 40_000).astype(float)
    for values, mean in ((pair_purities(drawn, kernel(3)), right), (plug_in_purities(drawn), (1 - 1 / n) * right + 8 / n)):
        assert values.mean() == pytest.approx(mean, abs=5 * values.std() / 200)
    assert abs((1 - 1 / n) * right + 8 / n - right) > 0.5


def test_readout_errors_are_taken_back():
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(8), 2)
    e0, e1 = rng.uniform(0, 0.1, (2, 3))
    single = [np.array([[1 - a, b], [a, 1 - b]]) for a, b in zip(e0, e1, strict=True)]
    assign = np.kron(np.kron(single[0], single[1]), single[2])
    read = kernel(3, readout_inverses(e0, e1))
    assert (assign @ p) @ read @ (assign @ q) == pytest.approx(p @ kernel(3) @ q, abs=1e-12)
    assert kernel(3, readout_inverses(np.zeros(3), np.zeros(3))) == pytest.approx(kernel(3))


def test_the_estimator_does_not_mind_the_order_of_ions():
    bits = np.random.default_rng(5).integers(0, 2, (4, 30, 6), dtype=np.uint8)
    values = pair_purities(counts_of(bits, 6), kernel(6))
    assert pair_purities(counts_of(bits[:, :, [3, 0, 5, 1, 4, 2]], 6), kernel(6)) == pytest.approx(values)


def test_counts():
    bits = np.array([[[0, 1, 1], [0, 1, 0], [1, 1, 0]]], dtype=np.uint8)
    assert counts_of(bits, 1).tolist() == [[2, 1]]
    assert counts_of(bits, 2).tolist() == [[0, 2, 0, 1]]
    assert counts_of(bits, 3).tolist() == [[0, 0, 1, 1, 0, 0, 1, 0]]


# Experiments


def test_records_follow_the_probabilities():
    dev = make(6, profile={"dark_share": 0.0, "area_noise": 0.0})
    angles = haar_angles(np.random.default_rng(1), 3)
    request = RunRmBatch.model_validate_json(json.dumps({"euler_rad": angles.tolist(), "n_copies": 1000}))
    bits = np.concatenate([request.run(dev, Clock(0.0), np.random.default_rng(k)).arrays["bits"].values for k in range(6)], axis=1)
    assert bits.dtype == np.uint8
    e0, e1 = np.array(dev.hidden.p1_given0), np.array(dev.hidden.p0_given1)
    assign = np.ones((1, 1))
    for a, b in zip(e0, e1, strict=True):
        assign = np.kron(assign, [[1 - a, b], [a, 1 - b]])
    p = exact(dev.hidden.states([0.0]), angles) @ assign.T
    n = bits.shape[1]
    chi2 = np.sum((counts_of(bits, 6) - n * p) ** 2 / (n * p))
    assert abs(chi2 - 189) < 5 * np.sqrt(2 * 189)


def test_the_pulse_area_is_off_by_its_noise():
    dev = make(6, profile={"dark_share": 0.0, "area_noise": 0.05}, **CLEAR, quench_ms=1e-9)
    half = [[[0.0, np.pi / 2, 0.0]] * 6] * 200
    request = RunRmBatch.model_validate_json(json.dumps({"euler_rad": half, "n_copies": 100}))
    mean = request.run(dev, Clock(0.0), np.random.default_rng(1)).arrays["bits"].values.mean(axis=1)
    expected = np.sqrt(0.25 / 100 + (0.05 * np.pi / 4) ** 2)  # p is off by (b error) / 2 at the equator
    assert mean.std() == pytest.approx(expected, rel=0.1)


def test_dark_ions_are_flagged_and_dark():
    dev = make(7, profile={"dark_share": 0.3}, **CLEAR)
    request = RunReadoutCal(states=("111111",) * 200, n_copies=5)
    arrays = {k: a.values for k, a in request.run(dev, Clock(0.0), np.random.default_rng(0)).arrays.items()}
    assert (arrays["bits"].sum(axis=2) == arrays["ion_count"][:, None]).all()
    assert np.mean(arrays["ion_count"] == 5) == pytest.approx(0.3, abs=0.1)
    assert set(np.argmin(arrays["bits"][arrays["ion_count"] == 5, 0], axis=1)) == set(range(6))
    settings = haar_angles(np.random.default_rng(0), 50).tolist()
    rm = RunRmBatch.model_validate_json(json.dumps({"euler_rad": settings, "n_copies": 30}))
    record = rm.run(dev, Clock(0.0), np.random.default_rng(1)).arrays
    never = (record["bits"].values.sum(axis=1) == 0).any(axis=1)
    assert never[record["ion_count"].values == 5].all()


def test_the_calibration_shows_the_error_rates():
    dev = make(8, profile={"dark_share": 0.0})
    request = RunReadoutCal(states=("000000", "111111") * 10, n_copies=1000)
    bits = request.run(dev, Clock(0.0), np.random.default_rng(1)).arrays["bits"].values
    assert bits[0::2].mean(axis=(0, 1)) == pytest.approx(dev.hidden.p1_given0, abs=5e-3)
    assert 1 - bits[1::2].mean(axis=(0, 1)) == pytest.approx(dev.hidden.p0_given1, abs=7e-3)


def test_costs_and_times():
    rm, cal = RunRmBatch.examples(None)[0], RunReadoutCal.examples(None)[0]
    assert rm.cost().to_json() == {"copies": 1600, "jobs": 1, "lab_s": 32}
    assert cal.cost().to_json() == {"cal_copies": 4000, "jobs": 1, "lab_s": 80}
    assert rm.run(make(), Clock(10.0), np.random.default_rng(0)).arrays["time_s"].values[:3].tolist() == [10.0, 14.0, 18.0]


def test_equal_arguments_give_an_equal_record_and_json_keeps_the_device():
    dev = make(5)
    assert QTYPE.Hidden.model_validate_json(dev.hidden.model_dump_json()) == dev.hidden
    for kind in QTYPE.experiments:
        for request in kind.examples(dev.spec):
            a, b = (request.run(dev, Clock(9.0), np.random.default_rng(3)).arrays["bits"].values for _ in range(2))
            assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "tool, changes",
    [
        ("run_rm_batch", {"euler_rad": [[[0, 0, 0]] * 5]}),
        ("run_rm_batch", {"euler_rad": [[[0, 0]] * 6]}),
        ("run_rm_batch", {"euler_rad": [[[0, 8, 0]] * 6]}),
        ("run_rm_batch", {"euler_rad": []}),
        ("run_rm_batch", {"n_copies": 1001}),
        ("run_rm_batch", {"euler_rad": [[[0, 0, 0]] * 6] * 101, "n_copies": 200}),
        ("run_readout_cal", {"states": ["00000"]}),
        ("run_readout_cal", {"states": ["000002"]}),
        ("run_readout_cal", {"n_copies": 0}),
    ],
)
def test_requests_that_make_no_sense_are_refused(tool, changes):
    good = {"run_rm_batch": {"euler_rad": [[[0, 1, 2]] * 6] * 2}, "run_readout_cal": {"states": ["010101"]}}[tool] | {"n_copies": 10}
    QTYPE.tools()[tool].model_validate_json(json.dumps(good))
    with pytest.raises(ValidationError):
        QTYPE.tools()[tool].model_validate_json(json.dumps(good | changes))


# The notebook


def test_the_notebook_is_right_about_its_own_day():
    dev = make(7)
    book = QTYPE.notebook(dev.hidden, np.random.default_rng(0), dev.profile, dt.date(2026, 1, 31))
    data = {k: v for e in book.entries if e.data for k, v in e.data.items()}
    right = 100 - 50 * np.mean(np.add(dev.hidden.p1_given0, dev.hidden.p0_given1))
    assert abs(data["readout_correct_percent"] - right) <= 0.5
    assert list(book.entries) == sorted(book.entries, key=lambda e: e.date)


def test_the_earlier_run_is_what_its_author_would_have_found():
    """Over 25 notebooks: as biased as squared frequencies of misread bits are, and scattered as its sigma says."""
    dev = make(9, quench_drift=0.0)
    entries = [QTYPE.notebook(dev.hidden, np.random.default_rng(k), dev.profile, dt.date(2026, 1, 31)).entries[-1].data for k in range(25)]
    s2, sigma = (np.array([e[name] for e in entries])[:, 3] for name in ("s2_bits", "sigma"))
    assign = np.ones((1, 1))
    for a, b in zip(dev.hidden.p1_given0, dev.hidden.p0_given1, strict=True):
        assign = np.kron(assign, [[1 - a, b], [a, 1 - b]])
    p = exact(dev.hidden.states([0.0]), haar_angles(np.random.default_rng(0), 400)) @ assign.T
    x = np.einsum("us,st,ut->u", p, kernel(6), p).mean()
    n = devices.OLD_COPIES
    assert s2.mean() == pytest.approx(-np.log2((1 - 1 / n) * x + 64 / n), abs=0.12)
    assert s2.mean() < -np.log2(physics.purity(dev.hidden.states([0.0]), 6)[0]) - 0.2
    assert sigma.mean() == pytest.approx(s2.std(), rel=0.4)


def test_the_script_passed_the_trial_that_the_notebook_tells_of():
    rng = np.random.default_rng(1)
    up = (1 + physics.measured_axes(haar_angles(rng, 4000))[..., 2]) / 2  # of an ion in |0>
    p = np.ones((len(up), 1))
    for ion in up.T:
        p = (p[:, :, None] * np.stack((ion, 1 - ion), axis=1)[:, None]).reshape(len(up), -1)
    values = plug_in_purities(rng.multinomial(10_000, p).astype(float))
    assert abs(np.log2(values.mean())) < 0.05
