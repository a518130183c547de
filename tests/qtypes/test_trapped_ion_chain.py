"""The ion chain follows its closed forms, agrees with qutip, and its requests refuse what makes no sense."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from qtypes import Clock, Device
from qtypes.trapped_ion_chain import design, physics
from qtypes.trapped_ion_chain.device import NOMINAL_MHZ, lamb_dicke
from qtypes.trapped_ion_chain.draw import closing_pulses, likely_pulses
from qtypes.trapped_ion_chain.experiments import (
    QUBIT_WEIGHTS,
    RunMsGate,
    RunRabi,
    RunRamsey,
    RunReference,
    RunSidebandScan,
    pulse_of,
)
from qtypes.trapped_ion_chain.physics import TWO_PI, Bath, Pulse
from qtypes.trapped_ion_chain.replay import GateReplay, light_phase

QTYPE = qtypes.load("trapped_ion_chain")
QUIET = {"dark_read_bright": (0.0,) * 5, "bright_read_dark": (0.0,) * 5, "amplitude_noise": 0.0, "t2_ms": 1e9}
COLD = Bath(np.zeros(1), np.zeros(1))


def device(seed=0, profile=None, **changes):
    read = QTYPE.read_profile(profile or {})
    hidden = QTYPE.draw(np.random.default_rng(seed), read).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, read), hidden, read)


def pulse(*rows):
    """From rows of us, kHz, MHz, rad."""
    t, omega, mu, phase = np.array(rows, dtype=float).T
    return Pulse(t, TWO_PI * 1e-3 * omega, TWO_PI * mu, phase)


UNEVEN = pulse((30, 40, 3.062, 0.2), (17, 70, 3.041, -0.4), (25, 0, 3.0, 0.0), (20, 55, 3.058, 2.9))


def final(p, modes, eta, bath, repeats=1, angles=(0.0, 0.0), scale=1.0):
    return physics.final_state(*physics.exponents(physics.force(p, modes), eta, bath, repeats), scale, angles)


# The crystal


def test_equilibrium_positions_are_those_of_the_literature():
    """James, Appl. Phys. B 66, 181 (1998), table 1."""
    assert physics.equilibrium(2) == pytest.approx([-0.62996, 0.62996], abs=1e-5)
    assert physics.equilibrium(3) == pytest.approx([-1.0772, 0.0, 1.0772], abs=1e-4)
    assert physics.equilibrium(5) == pytest.approx([-1.7429, -0.8221, 0.0, 0.8221, 1.7429], abs=1e-4)


def test_transverse_modes_of_two_ions_are_rocking_and_centre_of_mass():
    modes, b = physics.crystal(2, 0.45, 3.05)
    assert modes == pytest.approx([np.sqrt(3.05**2 - 0.45**2), 3.05], abs=1e-12)
    assert np.abs(b) == pytest.approx(np.full((2, 2), np.sqrt(0.5)))


def test_modes_of_five_ions():
    """The highest is the centre of mass, the next tilts the chain: omega^2 = omega_x^2 - omega_z^2 for any number of ions."""
    nominal, b = physics.crystal(5, 0.45, 3.05)
    assert nominal == pytest.approx([2.835, 2.908, 2.969, 3.017, 3.050], abs=1e-3)
    assert nominal[3] == pytest.approx(np.sqrt(3.05**2 - 0.45**2), abs=1e-9)
    assert b.T @ b == pytest.approx(np.eye(5), abs=1e-12)
    assert np.abs(b[:, 4]) == pytest.approx(np.full(5, 1 / np.sqrt(5)))
    assert b[:, 3] / b[0, 3] == pytest.approx(physics.equilibrium(5) / physics.equilibrium(5)[0], abs=1e-9)


# The force


def test_a_square_pulse_closes_after_whole_turns_of_one_mode():
    for k in (1, 2, 5):
        detuning = 0.02
        f = physics.force(pulse((k / detuning, 60, 3.05 - detuning, 0.3)), [TWO_PI * 3.05])
        assert abs(f.end[0]) < 1e-12
        assert f.area[0] == pytest.approx((TWO_PI * 0.03) ** 2 * (k / detuning) / (TWO_PI * detuning))


def test_a_resonant_force_grows_linearly():
    f = physics.force(pulse((40, 50, 3.05, 0.0)), [TWO_PI * 3.05, TWO_PI * (3.05 + 1e-6)])
    assert f.end == pytest.approx(np.full(2, TWO_PI * 0.025 * 40), rel=1e-3)
    assert f.area[0] == pytest.approx(0.0, abs=1e-12)
    assert f.lag[0] == pytest.approx(f.end[0] * 20)
    assert f.lag2[0] == pytest.approx(abs(f.end[0]) ** 2 * 40 / 3)


def test_integrals_agree_with_a_fine_grid():
    modes = TWO_PI * np.array([3.05, 3.016, 3.0620001])
    f = physics.force(UNEVEN, modes)
    edges = np.cumsum(np.concatenate(([0.0], UNEVEN.duration)))
    dt_us = 1e-3
    t = np.arange(0.0, edges[-1], dt_us) + dt_us / 2
    k = np.searchsorted(edges, t, side="right") - 1
    psi = np.cumsum(UNEVEN.mu[k]) * dt_us - UNEVEN.mu[k] * dt_us / 2 + UNEVEN.phase[k]
    rate = 0.5 * UNEVEN.omega[k] * np.exp(1j * (modes[:, None] * t - psi))
    g = np.cumsum(rate, axis=1) * dt_us - rate * dt_us / 2
    assert f.end == pytest.approx(rate.sum(axis=1) * dt_us, rel=1e-6)
    assert f.area == pytest.approx((rate * g.conj()).imag.sum(axis=1) * dt_us, rel=1e-4)
    assert f.lag == pytest.approx((f.end[:, None] - g).sum(axis=1) * dt_us, rel=1e-5)
    assert f.lag2 == pytest.approx((np.abs(f.end[:, None] - g) ** 2).sum(axis=1) * dt_us, rel=1e-5)


def test_cutting_a_segment_in_two_changes_nothing():
    whole, cut = pulse((50, 80, 3.03, 0.4)), pulse((21, 80, 3.03, 0.4), (29, 80, 3.03, 0.4))
    modes = TWO_PI * NOMINAL_MHZ
    for name in ("end", "area", "lag", "lag2"):
        assert getattr(physics.force(cut, modes), name) == pytest.approx(getattr(physics.force(whole, modes), name))


# States


def designed(ions=(2, 4)):
    modes = TWO_PI * NOMINAL_MHZ
    eta = lamb_dicke(NOMINAL_MHZ)[np.array(ions) - 1]
    return design.closing(modes, eta, TWO_PI * np.array([2.872, 2.94]), TWO_PI * 0.3), modes, eta


def test_a_closed_pulse_of_a_quarter_turn_makes_a_bell_state_whatever_the_temperature():
    found, modes, eta = designed()
    hot = Bath(np.full(5, 7.0), np.zeros(5))
    for k in range(len(found.mu)):
        f = physics.force(found.pulse(k), modes)
        angle = 2 * np.sum(eta[0] * eta[1] * f.area)
        assert abs(angle) == pytest.approx(np.pi / 4)
        turn = 0.0 if angle < 0 else np.pi / 2
        rho = final(found.pulse(k), modes, eta, hot, angles=(turn, turn))
        assert physics.bell_fidelity(rho) == pytest.approx(1.0, abs=1e-9)


def test_pulses_in_a_row_add_their_angles():
    found, modes, eta = designed()
    for scale, repeats in ((1.0, 2), (0.9, 3), (1.05, 4)):
        rho = final(found.pulse(0), modes, eta, Bath(np.full(5, 3.0), np.zeros(5)), repeats, scale=scale)
        assert rho[0, 0].real == pytest.approx(np.cos(scale**2 * repeats * np.pi / 4) ** 2, abs=1e-9)


def test_no_light_does_nothing():
    rho = final(pulse((80, 0, 3.0, 0.0)), TWO_PI * NOMINAL_MHZ, lamb_dicke(NOMINAL_MHZ)[:2], Bath(np.full(5, 3.0), np.full(5, 1e-3)), 2)
    assert rho == pytest.approx(np.diag([1.0, 0, 0, 0]))


def test_ions_may_be_swapped():
    eta, modes, bath = lamb_dicke(NOMINAL_MHZ)[[0, 3]], TWO_PI * NOMINAL_MHZ, Bath(np.full(5, 2.0), np.full(5, 1e-4))
    order = [0, 2, 1, 3]
    one, two = final(UNEVEN, modes, eta, bath, 2, (0.3, 0.9)), final(UNEVEN, modes, eta[::-1], bath, 2, (0.9, 0.3))
    assert one == pytest.approx(two[np.ix_(order, order)], abs=1e-12)


def test_states_are_states():
    rng = np.random.default_rng(3)
    for _ in range(6):
        rows = zip(rng.integers(1, 30, 4), rng.uniform(0, 300, 4), rng.uniform(2.8, 3.1, 4), rng.uniform(0, 6, 4), strict=True)
        bath = Bath(np.full(5, 2.0), np.full(5, 1e-4))
        rho = final(pulse(*rows), TWO_PI * NOMINAL_MHZ, lamb_dicke(NOMINAL_MHZ)[[1, 3]], bath, 2, (0.4, 1.1))
        assert np.trace(rho) == pytest.approx(1.0)
        assert np.linalg.eigvalsh(rho).min() > -1e-10
        assert 2 * abs(rho[0, 3]) <= 1.0


def test_an_error_of_the_amplitude_costs_the_square_of_the_angle_it_misses():
    found, modes, eta = designed()
    f = physics.force(found.pulse(0), modes)
    turn = 0.0 if np.sum(eta[0] * eta[1] * f.area) < 0 else np.pi / 2
    rho = final(found.pulse(0), modes, eta, Bath(np.zeros(5), np.zeros(5)), 1, (turn, turn), scale=1.01)
    assert 1 - physics.bell_fidelity(rho) == pytest.approx(np.sin((1.01**2 - 1) * np.pi / 4) ** 2, rel=1e-6)


def test_the_residual_of_the_draw_is_the_error_of_the_state_at_the_right_amplitude():
    found, modes, eta = designed()
    moved = modes + TWO_PI * 1e-4 * np.array([1.5, -1.2, 0.9, 1.8, -1.5])
    nbar = np.array([3.0, 4.0, 2.0, 3.0, 0.1])
    for k in range(len(found.mu)):
        f = physics.force(found.pulse(k), moved)
        angle = 2 * np.sum(eta[0] * eta[1] * f.area)
        turn = 0.0 if angle < 0 else np.pi / 2
        scale = np.sqrt(np.pi / 4 / abs(angle))
        rho = final(found.pulse(k), moved, eta, Bath(nbar, np.zeros(5)), angles=(turn, turn), scale=scale)
        assert 1 - physics.bell_fidelity(rho) == pytest.approx(design.residuals(found, moved, eta, nbar)[k], rel=0.03)


# Another library


OPTIONS = {"rtol": 1e-8, "atol": 1e-10, "nsteps": 100_000, "progress_bar": ""}


def qutip_final(p, modes, eta, motion, repeats=1, angles=(0.0, 0.0), heating=0.0):
    """Final state of the ions in the frame of the tones, where the Hamiltonian of a segment is constant.

    The frame turns each mode by its frequency minus mu; where psi starts anew with a repetition it is set back by int mu dt.
    """
    import qutip

    one, eyes = qutip.qeye(2), [qutip.qeye(m.shape[0]) for m in motion]
    a = [qutip.tensor(one, one, *eyes[:m], qutip.destroy(x.shape[0]), *eyes[m + 1 :]) for m, x in enumerate(motion)]
    spins = [qutip.tensor(qutip.sigmax(), one, *eyes), qutip.tensor(one, qutip.sigmax(), *eyes)]
    turn = qutip.tensor(*[(-0.5j * x * qutip.sigmaz()).expm() for x in angles], *eyes)
    back = sum(x.dag() * x for x in a) * (-1j * float(np.sum(p.mu * p.duration)))
    step = turn * back.expm()
    pure = all(m.isket for m in motion)
    up = qutip.basis(2, 0) if pure else qutip.ket2dm(qutip.basis(2, 0))
    state = qutip.tensor(up, up, *motion)
    jumps = [np.sqrt(heating) * op for x in a for op in (x, x.dag())] if heating else []
    for _ in range(repeats):
        for t, omega, mu, phase in zip(p.duration, p.omega, p.mu, p.phase, strict=True):
            push = sum(eta[i, m] * spins[i] * x for i in range(2) for m, x in enumerate(a)) * (0.5 * omega * np.exp(1j * phase))
            h = sum((w - mu) * x.dag() * x for w, x in zip(modes, a, strict=True)) + push + push.dag()
            run = qutip.sesolve(h, state, [0, t], options=OPTIONS) if pure else qutip.mesolve(h, state, [0, t], jumps, options=OPTIONS)
            state = run.final_state
        state = step * state if pure else step * state * step.dag()
    return state.ptrace([0, 1]).full()


def test_two_modes_at_rest_agree_with_qutip():
    """Two modes of 12 Fock states, two pulses in a row with turns about Z between and after them."""
    import qutip

    p = pulse((6, 220, 3.09, 0.2), (4, 290, 2.99, -0.4))
    modes, eta = TWO_PI * np.array([3.017, 3.05]), np.array([[0.05, 0.04], [-0.03, 0.045]])
    theirs = qutip_final(p, modes, eta, [qutip.basis(12, 0)] * 2, 2, (0.3, 0.7))
    assert np.abs(theirs - final(p, modes, eta, Bath(np.zeros(2), np.zeros(2)), 2, (0.3, 0.7))).max() < 1e-6


def test_a_warm_heated_mode_agrees_with_qutip():
    """One thermal mode that does not come back to rest, heated by a and a^dag at 1.5 quanta/ms: 40 times the laboratory's."""
    import qutip

    p = pulse((20, 120, 3.07, 0.2), (15, 90, 3.03, -0.4))
    modes, eta = TWO_PI * np.array([3.05]), np.array([[0.06], [0.04]])
    theirs = qutip_final(p, modes, eta, [qutip.thermal_dm(15, 0.25, method="analytic")], 2, (0.2, 0.5), heating=1.5e-3)
    ours = final(p, modes, eta, Bath(np.array([0.25]), np.array([1.5e-3])), 2, (0.2, 0.5))
    unheated = final(p, modes, eta, Bath(np.array([0.25]), np.zeros(1)), 2, (0.2, 0.5))
    assert np.abs(theirs - ours).max() < 1e-4
    assert np.abs(ours - unheated).max() > 2e-3


def test_terms_at_the_sum_frequency_may_be_left_out():
    """cos(psi) (a exp(-i w t) + h.c.) with both of its terms, on one mode at rest."""
    import qutip

    eta, w, mu, omega = np.array([0.05, 0.045]), TWO_PI * 3.05, TWO_PI * 3.09, TWO_PI * 0.2
    spin = eta[0] * qutip.tensor(qutip.sigmax(), qutip.qeye(2)) + eta[1] * qutip.tensor(qutip.qeye(2), qutip.sigmax())
    op = qutip.tensor(omega * spin, qutip.destroy(6))
    full = qutip.QobjEvo(
        [[op, lambda t: np.cos(mu * t) * np.exp(-1j * w * t)], [op.dag(), lambda t: np.cos(mu * t) * np.exp(1j * w * t)]]
    )
    start = qutip.tensor(qutip.basis(2, 0), qutip.basis(2, 0), qutip.basis(6, 0))
    state = qutip.sesolve(full, start, [0, 25.0], options=OPTIONS | {"rtol": 1e-6, "atol": 1e-8}).final_state
    ours = final(pulse((25, 200, 3.09, 0.0)), [w], eta[:, None], COLD)
    assert np.abs(state.ptrace([0, 1]).full() - ours).max() < 2e-3


def test_sidebands_agree_with_qutip_where_modes_are_resolved():
    import qutip

    modes, eta, omega, t = TWO_PI * np.array([3.017, 3.05]), np.array([0.05, 0.036]), TWO_PI * 0.02, 180.0
    a = [qutip.tensor(qutip.qeye(2), qutip.destroy(7), qutip.qeye(4)), qutip.tensor(qutip.qeye(2), qutip.qeye(7), qutip.destroy(4))]
    up = qutip.tensor(qutip.sigmap().dag(), qutip.qeye(7), qutip.qeye(4))  # |1><0|
    start = qutip.tensor(qutip.basis(2, 0), qutip.basis(7, 3), qutip.basis(4, 0))
    worst = 0.0
    for detuning in TWO_PI * np.array([3.0155, 3.017, 3.0491, 3.0505]):
        # in the frame of the tone each mode turns at its own detuning
        h = sum((w - detuning) * x.dag() * x for w, x in zip(modes, a, strict=True))
        drive = sum(0.5 * e * omega * up * x.dag() for e, x in zip(eta, a, strict=True))
        state = qutip.sesolve(h + drive + drive.dag(), start, [0, t], options=OPTIONS).final_state
        theirs = state.ptrace([0]).full()[1, 1].real
        ours = physics.sideband_excitation(detuning, t, omega, eta, modes, np.array([3, 0]))
        worst = max(worst, abs(theirs - float(ours)))
    assert worst < 0.02


# Experiments


def test_a_sideband_flops_at_eta_omega_root_n_plus_one():
    hidden = device(1).hidden
    eta, modes = hidden.eta()[1], hidden.modes(0.0)
    quanta = np.array([0, 0, 3, 0, 0])
    omega = TWO_PI * 0.01
    t = np.pi / (abs(eta[2]) * omega * 2.0)
    assert physics.sideband_excitation(modes[2], t, omega, eta, modes, quanta) == pytest.approx(1.0, abs=1e-2)
    assert physics.sideband_excitation(modes[2], 2 * t, omega, eta, modes, quanta) == pytest.approx(0.0, abs=2e-2)


def lines(hidden, mode, detuning_khz, t_s=0.0, **fields):
    request = RunSidebandScan(ion=1, detunings_khz=(hidden.modes_khz[mode] + detuning_khz,), shots=4000, **fields)
    record = request.run(Device(QTYPE.spec(hidden, None), hidden, None), Clock(t_s), np.random.default_rng(1))
    return record.arrays["bits"].values[0, :, 0].mean()


def test_lines_stand_at_the_modes_and_move_with_the_walk():
    hidden = device(2).hidden
    probe = {"pulse_us": 400, "omega_khz": 20.0}
    assert lines(hidden, 4, 0.0, **probe) > 0.4 > 5 * lines(hidden, 4, 8.0, **probe)
    far = hidden.model_copy(update={"walk_khz": 0.2})
    moved = far.walk(1800.0)
    assert lines(far, 4, moved, 1800.0, **probe) > lines(far, 4, 0.0, 1800.0, **probe) + 0.1


def test_waiting_heats_the_centre_of_mass():
    hidden = device(2, heating_per_s=(0.0, 0.0, 0.0, 0.0, 100.0)).hidden
    assert hidden.bath(20_000.0).nbar[4] == pytest.approx(hidden.nbar[4] + 2.0)
    probe = {"pulse_us": 60, "omega_khz": 40.0}
    # a weak pulse flips in proportion to n + 1
    assert lines(hidden, 4, 0.0, wait_us=20_000.0, **probe) > 1.8 * lines(hidden, 4, 0.0, **probe)


def bright(request, dev, ion):
    return request.run(dev, Clock(0.0), np.random.default_rng(5)).arrays["bits"].values[:, :, ion - 1].mean(axis=1)


def test_carrier_pulses_turn_each_ion_at_its_own_rate():
    dev = device(0, **QUIET, nbar=(0.0,) * 5)
    for ion in (2, 4):
        debye_waller = np.exp(-np.sum(dev.hidden.eta()[ion - 1] ** 2) / 2)
        period = 20.0 / (dev.hidden.rabi_scale[ion - 1] * debye_waller)
        found = bright(RunRabi(ion=ion, durations_us=(0.0, period / 4, period / 2, 10.5 * period), omega_khz=50.0, shots=2000), dev, ion)
        assert found == pytest.approx([0.0, 0.5, 1.0, 1.0], abs=0.04)


def test_a_fringe_falls_to_one_e_th_at_t2():
    dev = device(0, **QUIET | {"t2_ms": 400.0})
    found = bright(RunRamsey(ion=2, waits_us=(0.0, 400_000.0), shots=10_000), dev, 2)
    assert 2 * found - 1 == pytest.approx([1.0, np.exp(-1.0)], abs=0.03)


def test_light_turns_the_qubit_in_a_fringe_as_in_a_gate():
    dev = device(0, **QUIET)
    h = dev.hidden
    segments = [{"duration_us": 100, "omega_khz": 90.0, "mu_mhz": 2.7}]
    gate = pulse_of(RunMsGate.model_validate_json(json.dumps({"pair": (2, 4), "segments": segments, "shots": 1})).segments)
    turn = TWO_PI * h.light_shift_khz * 0.81 * h.rabi_scale[1] ** 2 * 0.1
    p = bright(RunRamsey(ion=2, waits_us=(100.0,), phase_rad=np.pi / 2, omega_khz=90.0, shots=20_000), dev, 2)
    assert 2 * p[0] - 1 == pytest.approx(np.sin(turn), abs=0.03)
    assert light_phase(h, gate.energy, h.rabi_scale[1], 1.0) == pytest.approx(turn)


def test_references_show_the_errors_of_the_readout():
    dev = device(3)
    for state, rates in ((0, dev.hidden.dark_read_bright), (1, dev.hidden.bright_read_dark)):
        bits = RunReference(state=state, shots=20_000).run(dev, Clock(0.0), np.random.default_rng(0)).arrays["bits"].values
        assert (bits[0] != state).mean(axis=0) == pytest.approx(rates, abs=0.003)


def test_parity_of_the_bell_state_follows_the_sine_of_twice_the_phase():
    dev = device(0, **QUIET, light_shift_khz=0.0, heating_per_s=(0.0,) * 5, rabi_scale=(1.0,) * 5)
    modes = np.array(dev.hidden.modes_khz)
    found = closing_pulses(modes, (2, 4))
    p = found.pulse(0)
    angle = np.sum(np.prod(dev.hidden.eta()[[1, 3]], axis=0) * physics.force(p, dev.hidden.modes(0.0)).area)
    segments = [
        {"duration_us": int(t), "omega_khz": w / TWO_PI * 1e3, "mu_mhz": m / TWO_PI, "phase_rad": f}
        for t, w, m, f in zip(p.duration, p.omega, p.mu, p.phase, strict=True)
    ]
    phases = np.linspace(0, np.pi, 7)
    request = RunMsGate.model_validate_json(json.dumps({
        "pair": (2, 4), "segments": segments, "virtual_z_rad": 0.0 if angle < 0 else np.pi / 2, "analysis_rad": phases.tolist(), "shots": 1,
    }))  # fmt: skip
    mean = request.probabilities(dev.hidden, 0.0)[:, 0]
    assert mean[0] == pytest.approx([0.5, 0, 0, 0.5], abs=1e-4)
    assert mean[1:] @ [1, -1, -1, 1] == pytest.approx(np.sin(2 * phases), abs=1e-4)


def test_records_follow_the_probabilities():
    dev = device(4, dark_read_bright=(0.0,) * 5, bright_read_dark=(0.0,) * 5)
    request = RunMsGate.examples(dev.spec)[0].model_copy(update={"shots": 6000})
    bits = request.run(dev, Clock(0.0), np.random.default_rng(2)).arrays["bits"].values
    assert bits.dtype == np.uint8
    assert not bits[:, :, [0, 2, 4]].any()
    mean = np.outer(physics.WEIGHTS, QUBIT_WEIGHTS).ravel() @ request.probabilities(dev.hidden, 0.0)
    for point, expected in zip(bits, mean, strict=True):
        counts = np.bincount(2 * point[:, 1] + point[:, 3], minlength=4) / 6000
        assert counts == pytest.approx(expected, abs=0.03)


def test_the_average_over_nodes_is_that_over_gaussian_noise():
    dev = device(4, profile={"amplitude_noise": [0.009, 0.01]})
    request = RunMsGate.examples(dev.spec)[0]
    gate = GateReplay(dev.hidden, request.pair, pulse_of(request.segments), request.virtual_z_rad)
    draws = np.random.default_rng(0).standard_normal(600) * dev.hidden.amplitude_noise
    sampled = np.mean([gate.state(x)[0, 0].real for x in draws])
    nodes = request.probabilities(dev.hidden, 0.0)[0, :, 0].reshape(9, 3)[:, 1]
    assert physics.WEIGHTS @ nodes == pytest.approx(sampled, abs=3e-3)


def test_equal_arguments_give_an_equal_record_and_json_keeps_the_device():
    dev = device(5)
    assert QTYPE.Hidden.model_validate_json(dev.hidden.model_dump_json()) == dev.hidden
    for kind in QTYPE.experiments:
        for request in kind.examples(dev.spec):
            a, b = (request.run(dev, Clock(9.0), np.random.default_rng(3)).arrays["bits"].values for _ in range(2))
            assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "changes",
    [
        {"pair": [2, 2]},
        {"pair": [0, 4]},
        {"segments": [{"duration_us": 150, "omega_khz": 10.0, "mu_mhz": 3.0}] * 2},
        {"segments": [{"duration_us": 0.5, "omega_khz": 10.0, "mu_mhz": 3.0}]},
        {"segments": [{"duration_us": 5, "omega_khz": 301.0, "mu_mhz": 3.0}]},
        {"segments": []},
        {"repeats": 5},
        {"populations": False},
        {"shots": 20_001},
    ],
)
def test_gates_that_make_no_sense_are_refused(changes):
    good = {"pair": [2, 4], "segments": [{"duration_us": 50, "omega_khz": 10.0, "mu_mhz": 3.0}], "shots": 10}
    RunMsGate.model_validate_json(json.dumps(good))
    with pytest.raises(ValidationError):
        RunMsGate.model_validate_json(json.dumps(good | changes))


# The draw


def test_the_best_old_pulses_are_not_right_by_luck():
    for seed in range(2):
        h = device(seed, profile={"stale_error": 0.012}).hidden
        then = np.array(h.notebook_modes_khz)
        shift = np.array(h.modes_khz) - then
        assert 3.0 <= np.abs(shift).min() <= np.abs(shift).max() <= 6.0
        eta, nbar = h.eta()[[1, 3]], np.array(h.nbar)
        old = likely_pulses(then, (2, 4))
        at_home = design.residuals(old, TWO_PI * 1e-3 * then, lamb_dicke(then * 1e-3)[[1, 3]], nbar)
        assert at_home.max() < 1e-10
        assert design.residuals(old, h.modes(0.0), eta, nbar).min() >= 0.012
        assert design.residuals(likely_pulses(np.array(h.modes_khz), (2, 4)), h.modes(0.0), eta, nbar).max() < 1e-10


def test_pulses_of_both_signs_close():
    found, modes, eta = designed()
    angles = [np.sign(np.sum(eta[0] * eta[1] * physics.force(found.pulse(k), modes).area)) for k in range(len(found.mu))]
    assert set(angles) == {-1.0, 1.0}


def test_the_notebook_is_right_about_its_own_day():
    dev = device(7)
    book = QTYPE.notebook(dev.hidden, np.random.default_rng(0), dev.profile, dt.date(2026, 1, 31))
    data = {k: v for e in book.entries if e.data for k, v in e.data.items()}
    assert np.abs(np.array(data["modes_khz"]) - dev.hidden.notebook_modes_khz).max() < 0.6
    assert data["rabi_scale"] == pytest.approx(dev.hidden.rabi_scale[2], rel=0.1)
    assert data["nbar_com"] == pytest.approx(dev.hidden.nbar[4], rel=0.5)
