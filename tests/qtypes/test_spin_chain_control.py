"""Three exchange-coupled spins: closed forms, qutip, records, notebook."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.linalg import expm

import qtypes
from qtypes import Clock, Device
from qtypes.spin_chain_control import physics
from qtypes.spin_chain_control.draw import arrived, last_tuneup
from qtypes.spin_chain_control.experiments import RunControl, RunReadoutCal
from qtypes.spin_chain_control.physics import TWO_PI, Chain, evolve, filtered, ones, outcomes, prepared, transfer_fidelities

QTYPE = qtypes.load("spin_chain_control")
FOREVER = np.full(3, 1e12)
PERFECT = {"noise_khz": 0.0, "p1_given_0": (0.0,) * 3, "p0_given_1": (0.0,) * 3}
PAULI = {"X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1.0, -1.0])}
ONE_SITE = [4, 2, 1]


def device(seed=0, **changes):
    profile = QTYPE.read_profile({})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def chain(j=(7.0, 9.0), d=(0.0, 0.0, 0.0), response=None, tau=0.05, t2=FOREVER):
    return Chain(np.array(j), np.array([d]), np.eye(3) if response is None else np.array(response), tau, np.array(t2))


def anything(seed=0):
    """A chain, controls and a state in which everything happens."""
    rng = np.random.default_rng(seed)
    c = np.eye(3) + rng.uniform(-0.2, 0.2, (3, 3))
    a = rng.normal(size=(8, 8)) + 1j * rng.normal(size=(8, 8))
    rho = a @ a.conj().T
    return chain((6.0, 9.5), (1.5, -1.0, 0.7), c, 0.06, (2.0, 3.0, 4.0)), rng.uniform(-25, 25, (3, 40)), rho / np.trace(rho).real


def on(operator, spin):
    return np.kron(np.kron(np.eye(2**spin), operator), np.eye(2 ** (2 - spin)))


def exchange(j):
    return sum(j[k] / 2 * on(PAULI[a], k) @ on(PAULI[a], k + 1) for k in (0, 1) for a in "XY")


def run(d, seed=0, **fields):
    plain = {"controls_rad_per_us": [[0.0] * 40] * 3, "prepare": ["100"], "bases": ["ZZZ"], "reads": [40], "shots": 2000}
    request = RunControl.model_validate_json(json.dumps(plain | fields))
    request.admit(d.spec)
    return request.run(d, Clock(0.0), np.random.default_rng(seed)).check().arrays["bits"].values


# Closed forms


def test_equal_couplings_hand_the_excitation_over_by_waiting():
    """All of it after pi/(sqrt(2) J) (Christandl et al. 2004)."""
    slices = 50
    j = np.pi / (2**0.5 * slices * 0.01)
    end = evolve(chain((j, j)), np.zeros((3, slices)), prepared(["100"]), [slices])[0, 0, 0]
    assert end[1, 1].real == pytest.approx(1.0, abs=1e-10)


def test_unequal_couplings_hand_over_only_part_of_the_amplitude():
    """Amplitude 2 J1 J2/(J1^2 + J2^2) (1 - cos(wt))/2 with w^2 = J1^2 + J2^2."""
    j, reads = (6.0, 9.0), [0, 13, 29, 77]
    w = np.hypot(*j)
    amplitude = 2 * j[0] * j[1] / w**2 * (1 - np.cos(w * np.array(reads) * 0.01)) / 2
    states = evolve(chain(j), np.zeros((3, 77)), prepared(["100"]), reads)[:, 0, 0]
    assert states[:, 1, 1].real == pytest.approx(amplitude**2, abs=1e-10)


def test_the_number_of_excitations_is_conserved():
    c, u, rho = anything()
    number = np.diag([bin(s).count("1") for s in range(8)])
    end = evolve(c, u, rho[None], [40])[0, 0, 0]
    for power in (1, 2, 3):
        moment = np.linalg.matrix_power(number, power)
        assert np.trace(moment @ end).real == pytest.approx(np.trace(moment @ rho).real, abs=1e-10)


def test_states_stay_positive_with_unit_trace():
    c, u, rho = anything(1)
    end = evolve(c, u, rho[None], [40])[0, 0, 0]
    assert np.trace(end) == pytest.approx(1.0, abs=1e-10)
    assert np.linalg.eigvalsh(end).min() > 0


def test_one_excitation_gives_the_propagator_of_the_spins():
    """Free fermions: against the exponential of the 8 x 8 Hamiltonian, whose |000> has the energy sum d / 2."""
    j, d, t = (6.0, 9.0), (2.0, -1.0, 3.0), 0.3
    h = exchange(j) + sum(d[i] / 2 * on(PAULI["Z"], i) for i in range(3))
    one = np.array([[-d[0], j[0], 0], [j[0], -d[1], j[1]], [0, j[1], -d[2]]], dtype=complex)
    expected = expm(-1j * t * (h - sum(d) / 2 * np.eye(8)))
    assert physics.whole(expm(-1j * t * one)) == pytest.approx(expected, abs=1e-12)
    assert physics.exponential(one, 0.002) == pytest.approx(expm(-0.002j * one), abs=1e-14)


def test_a_line_answers_a_step_as_a_first_order_low_pass():
    tau, t = 0.05, np.arange(100) * 0.002
    u = np.zeros((3, 20))
    u[1] = 10.0
    mean = 10.0 * (1 - tau / 0.002 * (np.exp(-t / tau) - np.exp(-(t + 0.002) / tau)))
    assert filtered(u, tau)[1] == pytest.approx(mean, abs=1e-10)
    assert not filtered(u, tau)[[0, 2]].any()
    u[1, 10:] = 0.0
    after = filtered(u, tau)[1, 50:]
    assert after[1:] / after[:-1] == pytest.approx(np.exp(-0.002 / tau), rel=1e-10)


def test_without_exchange_each_spin_precesses_by_the_area_of_its_own_line_and_crosstalk():
    u = np.zeros((3, 60))
    u[0, :30] = 12.0
    c = np.array([[1.05, 0.0, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]])
    states = evolve(chain((0.0, 0.0), (0.5, 0.0, -0.5), c, 0.03), u, prepared(["+++"]), [60])[0, 0, 0]
    area = 12.0 * 0.3 - 0.03 * 12.0 * (1 - np.exp(-10)) * np.exp(-10)  # what is left in the line at the end is missing
    phases = [float(np.angle(states[s, 0])) for s in ONE_SITE]
    expected = np.array([0.5 * 0.6 + 1.05 * area, 0.1 * area, -0.5 * 0.6])
    assert np.exp(1j * np.array(phases)) == pytest.approx(np.exp(1j * expected), abs=1e-8)


def test_coherences_decay_at_one_over_t2_and_populations_do_not():
    states = evolve(chain((0.0, 0.0), t2=(2.0, 3.0, 5.0)), np.zeros((3, 100)), prepared(["+++"]), [100])[0, 0, 0]
    assert [abs(states[s, 0]) * 8 for s in ONE_SITE] == pytest.approx(np.exp(-1 / np.array([2.0, 3.0, 5.0])), abs=1e-10)
    assert abs(states[7, 0]) * 8 == pytest.approx(np.exp(-(1 / 2 + 1 / 3 + 1 / 5)), abs=1e-10)
    assert np.diag(states).real == pytest.approx(np.full(8, 1 / 8))


def test_transfer_fidelity_is_that_of_the_amplitude():
    """F = 1/2 + |f| cos(phase error)/3 + |f|^2/6 (Bose 2003)."""
    j, off = (6.0, 9.0), 0.4
    u = np.zeros((3, 29))
    state = evolve(chain(j, (0.3, 0.0, -0.2)), u, prepared(["+00"]), [29])[0, 0, 0]
    f, phase = 2 * abs(state[1, 0]), float(np.angle(state[1, 0]))
    found = transfer_fidelities(chain(j, (0.3, 0.0, -0.2)), u, phase + off)
    assert found.mean() == pytest.approx(0.5 + f * np.cos(off) / 3 + f**2 / 6, abs=1e-10)
    assert found[0, 0] == pytest.approx(1.0)


def test_analysis_axes_turn_with_the_frame():
    state = prepared(["+r0"])
    for frame in (0.0, 0.7):
        p = [ones(outcomes(state[0], b, frame)) for b in ("XXX", "YYY")]
        assert 1 - 2 * p[0] == pytest.approx([np.cos(frame), np.sin(frame), 0], abs=1e-12)
        assert 1 - 2 * p[1] == pytest.approx([-np.sin(frame), np.cos(frame), 0], abs=1e-12)
    assert ones(outcomes(prepared(["0l1"])[0], "ZYZ", 0.0)) == pytest.approx([0, 1, 1], abs=1e-12)


def test_states_of_one_excitation_evolve_as_among_all():
    c, u, _ = anything(5)
    few, other = prepared(["+00", "0l0", "001"]), prepared(["111"])
    alone = evolve(c, u, few, [0, 7, 40])
    among = evolve(c, u, np.concatenate([few, other]), [0, 7, 40])[:, :, :3]
    assert alone == pytest.approx(among, abs=1e-12)


# Another library


def liouvillian(c, u):
    """Hamiltonian of each filtered value and jump operators, in qutip."""
    qutip = pytest.importorskip("qutip")
    dims = [[2] * 3, [2] * 3]
    z = [qutip.Qobj(on(PAULI["Z"], i), dims=dims) for i in range(3)]
    h0 = qutip.Qobj(exchange(c.exchange), dims=dims) + sum(c.detuning[0, i] / 2 * z[i] for i in range(3))
    jumps = [np.sqrt(1 / (2 * c.t2_us[i])) * z[i] for i in range(3)]
    return qutip, h0, z, jumps


def test_states_agree_with_qutip_on_the_same_grid():
    c, u, rho = anything(2)
    u = u[:, :12]
    qutip, h0, z, jumps = liouvillian(c, u)
    omega = (c.response @ filtered(u, c.tau_us)).T
    state = qutip.Qobj(rho, dims=[[2] * 3, [2] * 3])
    options = {"atol": 1e-11, "rtol": 1e-10, "progress_bar": ""}
    for w in omega:
        h = h0 + sum(w[i] / 2 * z[i] for i in range(3))
        state = qutip.mesolve(h, state, [0.0, 0.002], jumps, options=options).states[-1]
    assert np.abs(evolve(c, u, rho[None], [12])[0, 0, 0] - state.full()).max() < 1e-6


def test_states_agree_with_qutip_under_continuous_controls():
    c, u, rho = anything(3)
    qutip, h0, z, jumps = liouvillian(c, u)
    level, state = np.zeros(3), qutip.Qobj(rho, dims=[[2] * 3, [2] * 3])
    options = {"atol": 1e-11, "rtol": 1e-10, "progress_bar": ""}
    for k in range(40):
        gap = c.response @ (level - u[:, k])
        flat = c.response @ u[:, k]
        h = h0 + sum(flat[i] / 2 * z[i] for i in range(3))
        terms = [[gap[i] / 2 * z[i], lambda t: np.exp(-t / c.tau_us)] for i in range(3)]
        state = qutip.mesolve(qutip.QobjEvo([h, *terms]), state, [0.0, 0.01], jumps, options=options).states[-1]
        level = u[:, k] + (level - u[:, k]) * np.exp(-0.01 / c.tau_us)
    assert np.abs(evolve(c, u, rho[None], [40])[0, 0, 0] - state.full()).max() < 2e-5


# Records


def test_bits_follow_state_and_readout():
    d = device(3, noise_khz=0.0)
    h = d.hidden
    u = [[10.0] * 40, [-5.0] * 40, [3.0] * 40]
    fields = {"prepare": ["+01", "1r0"], "bases": ["XYZ", "ZZX"], "reads": [0, 17, 40], "frame_rad": 0.5}
    bits = run(d, controls_rad_per_us=u, shots=2400, **fields)
    assert bits.shape == (2, 2, 3, 2400, 3)
    states = evolve(h.chain(np.random.default_rng(0), 1), np.array(u), prepared(fields["prepare"]), fields["reads"])[:, 0]
    for b, basis in enumerate(fields["bases"]):
        p = ones(outcomes(states, basis, 0.5)).swapaxes(0, 1)
        expected = np.array(h.p1_given_0) * (1 - p) + (1 - np.array(h.p0_given_1)) * p
        assert bits[:, b].mean(axis=2) == pytest.approx(expected, abs=0.045)
    joint = run(device(3, **PERFECT), prepare=["100"], reads=[20], shots=2000)[0, 0, 0]
    assert set(joint.sum(axis=1)) == {1}


def test_readout_references_show_the_readout_only():
    d = device(4)
    bits = RunReadoutCal(shots=15_000).run(d, Clock(0.0), np.random.default_rng(0)).check().arrays["bits"].values
    assert bits[0].mean(axis=0) == pytest.approx(d.hidden.p1_given_0, abs=0.006)
    assert 1 - bits[1].mean(axis=0) == pytest.approx(d.hidden.p0_given_1, abs=0.01)


def test_detunings_scatter_from_batch_to_batch():
    h = device(0, noise_khz=20.0).hidden
    drawn = h.chain(np.random.default_rng(0), 4000).detuning / TWO_PI
    assert drawn.mean(axis=0) == pytest.approx(h.detuning_mhz, abs=0.0015)
    assert drawn.std(axis=0) == pytest.approx(np.full(3, 0.020), rel=0.05)
    off = {"j_mhz": (0.0, 0.0), "detuning_mhz": (0.25 / 1.5,) * 3, "t2_us": (1e9,) * 3, **PERFECT, "noise_khz": 200.0}
    bits = run(device(0, **off), controls_rad_per_us=[[0.0] * 150] * 3, prepare=["+++"], bases=["XXX"], reads=[150], shots=5000)
    rates = bits[0, 0, 0, :, 0].reshape(10, 500).mean(axis=1)
    assert rates.std() > 5 * 0.5 / 500**0.5


def test_examples_run_and_cost_what_they_say():
    d = device()
    for experiment in QTYPE.experiments:
        for request in experiment.examples(d.spec):
            bits = request.run(d, Clock(0.0), np.random.default_rng(0)).check().arrays["bits"].values
            assert request.cost().to_json()["shots"] == bits.size // 3
            assert request.cost().to_json()["jobs"] == 1


BAD = {
    "too strong": {"controls_rad_per_us": [[25.2] * 40] * 3}, "two lines": {"controls_rad_per_us": [[0.0] * 40] * 2},
    "uneven": {"controls_rad_per_us": [[0.0] * 40, [0.0] * 40, [0.0] * 41]}, "too long": {"controls_rad_per_us": [[0.0] * 151] * 3},
    "past the end": {"reads": [41]}, "negative": {"reads": [-1]}, "unknown letter": {"bases": ["ZZW"]},
    "unknown state": {"prepare": ["10x"]},
    "four spins": {"prepare": ["1000"]}, "too many shots": {"reads": [10, 20], "shots": 20_000},
}  # fmt: skip


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_requests_without_sense_are_refused(fields):
    with pytest.raises(ValidationError):
        run(device(), **fields)


# Device and notebook


def test_devices_lie_within_the_public_bounds():
    for seed in range(50):
        d = device(seed)
        h, s = d.hidden, d.spec
        assert s.j_range_mhz[0] <= min(h.j_mhz) <= max(h.j_mhz) <= s.j_range_mhz[1] + 1e-9
        assert s.ratio_range[0] - 1e-9 <= h.j_mhz[1] / h.j_mhz[0] <= s.ratio_range[1] + 1e-9
        c = h.response
        assert s.gain_range[0] <= np.diag(c).min() <= np.diag(c).max() <= s.gain_range[1]
        off = (c / np.diag(c))[~np.eye(3, dtype=bool)]
        assert s.crosstalk_range[0] - 1e-9 <= off.min() <= off.max() <= s.crosstalk_range[1] + 1e-9
    assert c[0, 1] == pytest.approx(h.crosstalk[0] * h.gain[1])
    assert c[2, 0] == pytest.approx(h.crosstalk[4] * h.gain[0])


@pytest.mark.parametrize("seed", [1, 2])
def test_the_notebook_was_right_on_its_date_and_is_no_longer(seed):
    d = device(seed)
    first, waited = (e.data for e in QTYPE.notebook(d.hidden, np.random.default_rng(4), d.profile, dt.date(2026, 3, 1)).entries[:2])
    old = last_tuneup(d.hidden, np.random.default_rng(4), d.profile)
    assert first["j_mhz"] == pytest.approx(old.j_mhz, rel=0.012)
    assert first["detuning_mhz"] == pytest.approx(old.detuning_mhz, abs=0.02)
    assert first["tau_ns"] == pytest.approx(old.tau_ns, rel=0.08)
    assert waited["p_transfer"] == pytest.approx(arrived(old, waited["wait_ns"] // 10), abs=0.04)
    shift = np.abs(np.array(first["detuning_mhz"]) - d.hidden.detuning_mhz)
    assert shift.min() > 0.07
    assert first["j_mhz"][0] > 1.03 * d.hidden.j_mhz[0]
    assert first["j_mhz"][1] < 0.975 * d.hidden.j_mhz[1]
