"""Driven transmons with a common decay channel: closed forms, qutip, records, notebook."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.linalg import expm

import qtypes
from qtypes import AgentError, Clock, Device
from qtypes.driven_dissipative_transmon_array import physics
from qtypes.driven_dissipative_transmon_array.draw import DELTA_MHZ, OMEGA_MHZ, last_cooldown, pair_fidelity
from qtypes.driven_dissipative_transmon_array.experiments import RunDecayProbe, RunDriveEvolve
from qtypes.driven_dissipative_transmon_array.physics import TWO_PI, Model

QTYPE = qtypes.load("driven_dissipative_transmon_array")
FOREVER = 1e12
G, E = np.eye(2)


def device(seed=0, n=2, **changes):
    profile = QTYPE.read_profile({"n_qubits": n})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def model(n=2, **changes):
    """A perfect array in which only what is given happens."""
    one, zero, never = np.ones(n), np.zeros(n), np.full(n, FOREVER)
    plain = {"delta_mhz": zero, "omega_mhz": zero, "theta_rad": zero, "gamma_mhz": 2.0, "eta": one, "phi_rad": zero, "t1_us": never,
             "tphi_us": never, "thermal": 0.0}  # fmt: skip
    return Model(**(plain | changes))


def anything(n, seed=0):
    """A model in which everything happens."""
    rng = np.random.default_rng(seed)
    return Model(rng.uniform(-1, 1, n), rng.uniform(1, 5, n), rng.uniform(-3, 3, n), 1.8, rng.uniform(0.9, 1.1, n), rng.uniform(-3, 3, n),
                 rng.uniform(2, 6, n), rng.uniform(2, 6, n), 0.03)  # fmt: skip


def pure(ket):
    ket = np.asarray(ket, dtype=complex) / np.linalg.norm(ket)
    return physics.coordinates(np.outer(ket, ket.conj()))


def random_state(n, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(2**n, 2**n)) + 1j * rng.normal(size=(2**n, 2**n))
    rho = a @ a.conj().T
    return rho / np.trace(rho).real


def emission(m, state):
    """Photons per us into the channel."""
    c = m.collective()
    return np.trace(c.conj().T @ c @ physics.density(state)).real


def dark_pair(omega, delta, phi=(0.0, 0.0)):
    """|gg> + a |S> with a = -Omega / (sqrt(2) delta), in the frame of the channel (Stannigel et al. 2012)."""
    singlet = (np.exp(-1j * phi[0]) * np.kron(E, G) - np.exp(-1j * phi[1]) * np.kron(G, E)) / np.sqrt(2)
    ket = np.kron(G, G) - omega / (np.sqrt(2) * delta) * singlet
    return ket / np.linalg.norm(ket)


def run(d, t_s=0.0, seed=0, **fields):
    n = d.spec.n_qubits
    plain = {"amp_mhz": [0.0] * n, "phase_rad": [0.0] * n, "detuning_mhz": [0.0] * n, "durations_ns": [0], "bases": ["Z" * n],
             "shots": 1000, "prepare": "g" * n, "frame_rad": [0.0] * n}  # fmt: skip
    request = RunDriveEvolve.model_validate_json(json.dumps(plain | fields))
    request.admit(d.spec)
    return request.run(d, Clock(t_s), np.random.default_rng(seed)).check().arrays["bits"].values


# Closed forms


def test_one_qubit_decays_into_the_channel_at_two_pi_times_its_linewidth():
    m = model(eta=np.array([1.1, 0.0]), t1_us=np.array([3.0, FOREVER]))
    t = np.array([0, 10, 40, 100, 300])
    z = physics.propagate(physics.generator(m), physics.product(np.array([1.0, 0.0])), t)[:, 12]
    assert (1 - z) / 2 == pytest.approx(np.exp(-(TWO_PI * 2.0 * 1.21 + 1 / 3) * t * 1e-3), abs=1e-10)


def test_two_excited_qubits_decay_down_the_dicke_ladder():
    """Rates 2 gamma, 2 gamma through the triplet; the singlet stays (Dicke 1954)."""
    phi = np.array([0.7, -1.9])
    rate = physics.generator(model(phi_rad=phi))
    gamma, t = TWO_PI * 2.0, np.array([5, 20, 50, 120])
    tau = gamma * t * 1e-3
    after = physics.propagate(rate, pure(np.kron(E, E)), t)
    ee = [physics.density(s)[3, 3].real for s in after]
    assert ee == pytest.approx(np.exp(-2 * tau), abs=1e-9)
    photons = [emission(model(phi_rad=phi), s) for s in after]
    assert photons == pytest.approx(2 * gamma * (1 + 2 * tau) * np.exp(-2 * tau), abs=1e-8)
    singlet = np.exp(-1j * phi[0]) * np.kron(E, G) - np.exp(-1j * phi[1]) * np.kron(G, E)
    assert physics.propagate(rate, pure(singlet), t)[-1] == pytest.approx(pure(singlet), abs=1e-9)
    assert physics.singlet_fidelity(pure(singlet), phi) == pytest.approx(1.0)


@pytest.mark.parametrize("omega, delta, phi", [(3.0, 0.8, (0.0, 0.0)), (1.0, -0.5, (0.4, 2.9))])
def test_the_dark_state_of_a_pair_is_stationary_and_emits_nothing(omega, delta, phi):
    phi = np.array(phi)
    m = model(delta_mhz=np.array([delta, -delta]), omega_mhz=np.full(2, omega), theta_rad=phi, phi_rad=phi)
    dark = pure(dark_pair(omega, delta, phi))
    rate = physics.generator(m)
    assert np.abs(rate @ dark).max() < 1e-10
    assert emission(m, dark) < 1e-10
    assert physics.steady(rate) == pytest.approx(dark, abs=1e-9)
    a2 = omega**2 / (2 * delta**2)
    assert physics.singlet_fidelity(dark, phi) == pytest.approx(a2 / (1 + a2))


def test_the_dark_state_needs_the_phase_of_the_channel():
    kept = {"delta_mhz": np.array([0.8, -0.8]), "omega_mhz": np.full(2, 3.0), "theta_rad": np.array([0.0, 0.6])}
    with_it, without = model(phi_rad=np.array([0.0, 0.6]), **kept), model(**kept)
    assert emission(with_it, physics.steady(physics.generator(with_it))) < 1e-9
    assert emission(without, physics.steady(physics.generator(without))) > 0.1


def test_four_qubits_settle_in_a_product_of_dimers():
    """(Pichler et al. 2015), here for a channel without direction: pairs of opposite detunings that differ from pair to pair."""
    delta, omega = np.array([0.9, -0.9, 0.4, -0.4]), 1.5
    phi = np.array([0.3, -1.0, 2.2, 0.9])
    m = model(4, delta_mhz=delta, omega_mhz=np.full(4, omega), theta_rad=phi, phi_rad=phi)
    dimers = pure(np.kron(dark_pair(omega, 0.9, phi[:2]), dark_pair(omega, 0.4, phi[2:])))
    rate = physics.generator(m)
    assert np.abs(rate @ dimers).max() < 1e-10
    assert emission(m, dimers) < 1e-10
    assert physics.steady(rate) == pytest.approx(dimers, abs=1e-7)


def test_local_noise_alone_is_t1_dephasing_and_equilibrium():
    m = model(eta=np.zeros(2), t1_us=np.array([40.0, 60.0]), tphi_us=np.array([30.0, 50.0]), thermal=0.02)
    plus = pure(np.kron(G + E, G + E))
    after = physics.propagate(physics.generator(m), plus, np.array([10_000]))[0]
    assert after[4] == pytest.approx(np.exp(-10 * (0.5 / 40 + 1 / 30)))
    assert after[1] == pytest.approx(np.exp(-10 * (0.5 / 60 + 1 / 50)))
    assert physics.steady(physics.generator(m)) == pytest.approx(physics.product(np.full(2, 0.02)), abs=1e-9)


@pytest.mark.parametrize("ns", [1, 37, 4000, 100_000])
def test_evolution_is_completely_positive_and_keeps_the_trace(ns):
    rate = physics.generator(anything(2))
    channel = physics.propagate(rate, np.eye(16)[0], np.array([ns]))[0]
    assert channel[0] == 1.0
    columns = np.stack([physics.propagate(rate, e, np.array([ns]))[0] for e in np.eye(16)], axis=1)
    choi = np.zeros((16, 16), dtype=complex)
    for k in range(4):
        for j in range(4):
            unit = np.zeros((4, 4))
            unit[k, j] = 1.0
            vector = columns @ (physics.to_pauli(2) @ unit.ravel())
            choi += np.kron(unit, (physics.to_pauli(2).conj().T @ vector).reshape(4, 4) / 4)
    assert np.linalg.eigvalsh(choi).min() > -1e-9
    assert columns[:, 0] == pytest.approx(expm(rate * ns * 1e-3)[:, 0], abs=1e-8)


def test_everything_together_ends_in_the_kernel_of_the_generator():
    for n in (2, 4):
        rate = physics.generator(anything(n))
        late = physics.propagate(rate, physics.product(np.ones(n)), np.array([100_000]))[0]
        assert late == pytest.approx(physics.steady(rate), abs=1e-8)


# Measurement


def test_an_analysis_axis_is_that_of_a_drive_of_its_phase():
    """A drive turns about its own axis: from |g> a quarter turn ends on the axis a quarter turn from it, at -1 for Y."""
    f = np.array([0.8, -2.1])
    m = model(eta=np.zeros(2), omega_mhz=np.full(2, 5.0), theta_rad=f)
    state = physics.propagate(physics.generator(m), physics.product(np.zeros(2)), np.array([50]))[0]
    assert physics.outcomes(state, "XX", f) == pytest.approx(np.full(4, 0.25), abs=1e-9)
    assert physics.outcomes(state, "YY", f) == pytest.approx([0, 0, 0, 1], abs=1e-9)


@pytest.mark.parametrize("n, bases", [(2, "XY"), (2, "ZX"), (4, "YZXX")])
def test_outcomes_are_those_of_projectors(n, bases):
    frame = np.random.default_rng(n).uniform(-3, 3, n)
    rho, lower = random_state(n), physics.LOWER
    full = [np.eye(1)]
    for letter, f in zip(bases, frame, strict=True):
        op = {"X": np.exp(1j * f) * lower, "Y": -1j * np.exp(1j * f) * lower, "Z": physics.PAULIS[3] / 2}[letter]
        op = op + op.conj().T
        full = [np.kron(p, (np.eye(2) + s * op) / 2) for p in full for s in (1, -1)]
    expected = [np.trace(p @ rho).real for p in full]
    assert physics.outcomes(physics.coordinates(rho), bases, frame) == pytest.approx(expected, abs=1e-12)
    assert physics.density(physics.coordinates(rho)) == pytest.approx(rho)


def test_the_singlet_fidelity_is_an_overlap():
    phi, rho = np.array([0.4, 1.7]), random_state(2)
    singlet = (np.exp(-1j * phi[0]) * np.kron(E, G) - np.exp(-1j * phi[1]) * np.kron(G, E)) / np.sqrt(2)
    assert physics.singlet_fidelity(physics.coordinates(rho), phi) == pytest.approx((singlet.conj() @ rho @ singlet).real)


# qutip


def qutip_parts(m):
    """Hamiltonian and jump operators, written anew in qutip."""
    qutip = pytest.importorskip("qutip")
    n = m.n_qubits
    lower = [qutip.tensor([qutip.Qobj([[0, 1], [0, 0]]) if k == j else qutip.qeye(2) for k in range(n)]) for j in range(n)]
    h, c = 0, 0
    jumps = []
    for j, s in enumerate(lower):
        drive = np.pi * m.omega_mhz[j] * np.exp(1j * m.theta_rad[j]) * s
        h += TWO_PI * m.delta_mhz[j] * s.dag() * s + drive + drive.dag()
        c += np.sqrt(TWO_PI * m.gamma_mhz) * m.eta[j] * np.exp(1j * m.phi_rad[j]) * s
        jumps += [np.sqrt((1 - m.thermal) / m.t1_us[j]) * s, np.sqrt(m.thermal / m.t1_us[j]) * s.dag()]
        jumps.append(np.sqrt(2 / m.tphi_us[j]) * s.dag() * s)
    return qutip, h, [c, *jumps]


@pytest.mark.parametrize("n, times", [(2, [0, 50, 400, 3000]), (4, [0, 30, 200])])
def test_evolution_agrees_with_qutip(n, times):
    m = anything(n)
    qutip, h, jumps = qutip_parts(m)
    start = qutip.tensor([qutip.basis(2, j % 2) for j in range(n)])
    options = {"atol": 1e-11, "rtol": 1e-9, "nsteps": 100_000, "progress_bar": ""}
    theirs = qutip.mesolve(h, qutip.ket2dm(start), 1e-3 * np.array(times), jumps, options=options).states
    ours = physics.propagate(physics.generator(m), physics.product(np.arange(n) % 2), np.array(times))
    assert max(np.abs(physics.density(a) - b.full()).max() for a, b in zip(ours, theirs, strict=True)) < 1e-7


@pytest.mark.parametrize("n", [2, 4])
def test_the_stationary_state_agrees_with_qutip(n):
    m = anything(n, 1)
    qutip, h, jumps = qutip_parts(m)
    theirs = qutip.steadystate(h, jumps).full()
    assert np.abs(physics.density(physics.steady(physics.generator(m))) - theirs).max() < 1e-9


# Records


def test_bits_follow_state_and_readout():
    d = device(3)
    h = d.hidden
    zero = run(d, prepare="ge", shots=40_000)[0, 0]
    th = h.thermal
    expected = [th * (1 - h.p0_given_e[0]) + (1 - th) * h.p1_given_g[0], (1 - th) * (1 - h.p0_given_e[1]) + th * h.p1_given_g[1]]
    assert zero.mean(axis=0) == pytest.approx(expected, abs=0.005)
    ideal = device(3, p1_given_g=(0.0, 0.0), p0_given_e=(0.0, 0.0))
    fields = {"amp_mhz": [3.0, 4.0], "phase_rad": [0.0, 1.0], "detuning_mhz": [0.5, -0.5], "prepare": "eg"}
    bits = run(ideal, durations_ns=[60], bases=["XY"], shots=40_000, **fields)[0, 0]
    m = ideal.hidden.model(0.0, (3.0, 4.0), (0.0, 1.0), (0.5, -0.5))
    state = physics.propagate(physics.generator(m), physics.product(np.array([1 - th, th])), np.array([60]))[0]
    seen = np.bincount(2 * bits[:, 0] + bits[:, 1], minlength=4) / 40_000
    assert seen == pytest.approx(physics.outcomes(state, "XY", np.zeros(2)), abs=0.012)


def test_parked_qubits_see_neither_drive_nor_channel():
    d = device(1, p1_given_g=(0.0, 0.0), p0_given_e=(0.0, 0.0), thermal=0.0)
    bits = run(d, prepare="ee", parked=[0], amp_mhz=[5.0, 0.0], durations_ns=[1000, 20_000], shots=20_000)[0]
    alive = bits.mean(axis=1)
    assert alive[:, 0] == pytest.approx(np.exp(-np.array([1, 20]) / d.hidden.t1_us[0]), abs=0.015)
    assert alive[:, 1].max() < 1e-3
    probe = RunDecayProbe(qubit=1, durations_ns=(0, 50, 100), shots=20_000).run(d, Clock(0.0), np.random.default_rng(0))
    gamma = TWO_PI * d.hidden.gamma_mhz * d.hidden.eta[1] ** 2
    assert probe.arrays["bits"].values[:, :, 1].mean(axis=1) == pytest.approx(np.exp(-gamma * np.array([0, 0.05, 0.1])), abs=0.015)


def test_detuning_and_phase_drift_on_the_lab_clock():
    h = device(5).hidden
    now, later = (h.model(t, (1, 1), (0, 0), (0, 0)) for t in (0.0, 3600.0))
    assert now.delta_mhz == pytest.approx(h.offset_mhz)
    moved = np.abs(later.delta_mhz - now.delta_mhz)
    assert (moved > 0).all()
    assert moved.max() < 0.06
    assert 0 < np.abs(later.phi_rad - now.phi_rad).max() < 0.15


@pytest.mark.parametrize("n", [2, 4])
def test_examples_run_and_cost_what_they_say(n):
    d = device(0, n)
    for experiment in QTYPE.experiments:
        for request in experiment.examples(d.spec):
            request.admit(d.spec)
            bits = request.run(d, Clock(0.0), np.random.default_rng(0)).check().arrays["bits"].values
            assert bits.shape[-1] == n
            cost = request.cost().to_json()
            assert cost["shots"] == bits.size // n
            per_duration = bits.size // n // len(request.durations_ns)
            assert cost["evolution_s"] == pytest.approx(per_duration * sum(request.durations_ns) * 1e-9)


BAD = {
    "unknown letter": {"bases": ["XW"]}, "too strong": {"amp_mhz": [8.1, 0.0]}, "too far": {"detuning_mhz": [0.0, -10.1]},
    "too long": {"durations_ns": [100_001]}, "not a whole ns": {"durations_ns": [0.5]}, "negative": {"durations_ns": [-1]},
    "too many shots": {"shots": 60_000, "durations_ns": [0, 1]}, "unknown state": {"prepare": "gx"},
}  # fmt: skip


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_requests_without_sense_are_refused(fields):
    with pytest.raises(ValidationError):
        run(device(), **fields)


@pytest.mark.parametrize(
    "fields, named",
    [
        ({"amp_mhz": [1.0] * 4}, "amp_mhz"),
        ({"prepare": "gggg"}, "prepare"),
        ({"bases": ["ZZ", "ZZZ"]}, "bases.1"),
        ({"parked": [2]}, "parked.0"),
    ],
)
def test_requests_for_another_array_are_refused(fields, named):
    with pytest.raises(AgentError) as refused:
        run(device(), **fields)
    assert refused.value.field == named


# Notebook


@pytest.mark.parametrize("n", [2, 4])
def test_the_notebook_was_right_on_its_date_and_its_phases_are_no_longer(n):
    d = device(2, n)
    first = QTYPE.notebook(d.hidden, np.random.default_rng(4), d.profile, dt.date(2026, 3, 1)).entries[0].data
    old = last_cooldown(d.hidden, np.random.default_rng(4), d.profile)
    amp, phase, detuning = (np.array(first[k]) for k in ("amp_mhz", "phase_rad", "detuning_mhz"))
    assert first["fidelity_60us"] == pytest.approx(pair_fidelity(old, amp, phase, detuning), abs=0.025)
    assert first["fidelity_60us"] > (0.8 if n == 2 else 0.4)
    now = np.array(d.hidden.phi_rad)
    shift = np.angle(np.exp(1j * (now - now[0] - phase)))[1:]
    assert np.abs(shift).min() >= 0.39
    assert np.abs(shift).max() <= 2.61
    h = d.hidden
    well = np.array(OMEGA_MHZ / np.array(h.rabi_scale)), now - now[0], np.array(DELTA_MHZ[:n]) - h.offset_mhz
    assert pair_fidelity(h, well[0], well[1], well[2]) > pair_fidelity(h, well[0], phase, well[2]) + 0.2
