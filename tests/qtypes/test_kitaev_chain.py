"""Two-dot chain: closed forms against diagonalisation and qutip, sweet spot, Gibbs limits, records, drift, notebook."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from qtypes import Clock, Device
from qtypes.kitaev_chain.device import MAX_JOB_SHOTS, SETTLE_MS, SHOT_MS
from qtypes.kitaev_chain.draw import equal_amplitudes_mv
from qtypes.kitaev_chain.experiments import RunChargeMap, RunLineCut, RunParityTimeTrace
from qtypes.kitaev_chain.physics import INDUCED_GAP_UEV, K_B, Chain, Jumps, amplitudes

QTYPE = qtypes.load("kitaev_chain")
SOMEWHERE = [(0.0, 0.0), (7.0, -3.0), (-30.0, 12.0), (55.0, 60.0), (-4.0, -4.0)]


def device(seed=0, **changes):
    profile = QTYPE.read_profile({})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def quiet(seed=0, **changes):
    """A device without noise, drift and sensor errors."""
    still = {"charge_noise_uev": 0.0, "walk_mv": 0.0, "empty_level": (0.0, 0.0), "contrast": (1.0, 1.0)}
    return device(seed, **(still | changes))


def bits(experiment, d, t_s=0.0, seed=0, **fields):
    request = experiment.model_validate_json(json.dumps(fields))
    request.admit(d.spec)
    return request.run(d, Clock(t_s), np.random.default_rng(seed)).check().arrays["bits"].values


def qutip_chain(chain, eps):
    """Hamiltonian and annihilation operators, written anew with a Jordan-Wigner string."""
    qutip = pytest.importorskip("qutip")
    lower = qutip.Qobj([[0, 1], [0, 0]])
    c = [qutip.tensor(lower, qutip.qeye(2)), qutip.tensor(qutip.sigmaz(), lower)]
    n = [x.dag() * x for x in c]
    hop = chain.t_uev * c[0].dag() * c[1] + chain.delta_uev * c[0].dag() * c[1].dag()
    return qutip, eps[0] * n[0] + eps[1] * n[1] + chain.u_uev * n[0] * n[1] + hop + hop.dag(), c


# Levels


@pytest.mark.parametrize("eps", SOMEWHERE)
@pytest.mark.parametrize("t", [9.0, -9.0, 0.01])
def test_levels_agree_with_diagonalisation_and_qutip(eps, t):
    chain = Chain(t, 13.0, 6.5)
    ours = np.sort(chain.energies(*eps))
    assert ours == pytest.approx(np.linalg.eigvalsh(chain.hamiltonian(*eps)), abs=1e-10)
    _, h, _ = qutip_chain(chain, eps)
    assert ours == pytest.approx(np.sort(h.eigenenergies()), abs=1e-10)


@pytest.mark.parametrize("eps", SOMEWHERE)
@pytest.mark.parametrize("te_mk", [1.0, 45.0])
def test_gibbs_averages_agree_with_qutip(eps, te_mk):
    chain = Chain(9.0, 13.0, 6.5)
    _, h, c = qutip_chain(chain, eps)
    energies, states = h.eigenstates()
    weights = np.exp(-(energies - energies[0]) / (K_B * te_mk))
    weights /= weights.sum()
    theirs = [sum(w * (c[j].dag() * c[j] * s).overlap(s).real for w, s in zip(weights, states, strict=True)) for j in (0, 1)]
    assert chain.occupation(*eps, te_mk) == pytest.approx(theirs, abs=1e-10)
    even = sum(w for w, s in zip(weights, states, strict=True) if _is_even(s))
    assert chain.sectors(*eps, te_mk)[0] == pytest.approx(even, abs=1e-10)


def _is_even(state):
    """Weight on |00>, |11> of a state with definite parity."""
    a = np.abs(state.full().ravel()) ** 2
    return bool(a[0] + a[3] > 0.5)


@pytest.mark.parametrize("eps", SOMEWHERE)
def test_the_polarisation_agrees_with_matrix_elements_of_majorana_operators(eps):
    chain = Chain(9.0, 13.0, 6.5)
    _, h, c = qutip_chain(chain, eps)
    states = h.eigenstates()[1]
    even, odd = next(s for s in states if _is_even(s)), next(s for s in states if not _is_even(s))
    expected = []
    for op in c:
        w, z = (abs((op + sign * op.dag()).matrix_element(odd, even)) ** 2 for sign in (1, -1))
        expected.append(abs(w - z) / (w + z))
    assert chain.polarisation(*eps) == pytest.approx(expected, abs=1e-9)


def test_levels_at_minus_half_u_split_by_t_plus_half_u_minus_delta():
    for t, delta, u in ((10.0, 10.0, 7.0), (8.0, 12.0, 8.0), (3.0, 14.0, 4.5)):
        chain = Chain(t, delta, u)
        assert chain.splitting(-u / 2, -u / 2) == pytest.approx(t + u / 2 - delta, abs=1e-12)
        assert chain.polarisation(-u / 2, -u / 2) == pytest.approx([1.0, 1.0], abs=1e-12)


def test_the_sweet_spot_is_degenerate_to_first_order_and_gapped():
    u = 6.0
    chain = Chain(11.0, 14.0, u)
    assert abs(chain.splitting(-u / 2, -u / 2)) < 1e-12
    assert chain.gap(-u / 2, -u / 2) == pytest.approx(22.0)
    # one level alone moves nothing to any order, both move it by their product
    assert abs(chain.splitting(-u / 2 + 1e-3, -u / 2)) < 1e-6
    off = np.array([0.1, 0.2])
    shift = chain.splitting(-u / 2 + off, -u / 2 + off)
    assert shift[1] / shift[0] == pytest.approx(4.0, rel=1e-3)


def test_without_u_equal_amplitudes_are_degenerate_along_two_straight_lines():
    """Leijnse & Flensberg: E_even = E_odd where eps_L eps_R = t^2 - Delta^2."""
    chain = Chain(12.0, 12.0, 0.0)
    line = np.linspace(-60, 60, 7)
    assert np.abs(chain.splitting(line, 0 * line)).max() < 1e-12
    assert np.abs(chain.splitting(0 * line, line)).max() < 1e-12
    other = Chain(13.0, 5.0, 0.0)
    assert other.splitting(line[line != 0], (13.0**2 - 5.0**2) / line[line != 0]) == pytest.approx(0.0, abs=1e-9)


def test_u_spoils_equal_amplitudes():
    """5 ueV of U at t = Delta = 12: a splitting of 2.5 and, with the levels at 0, a polarisation of 0.979."""
    chain = Chain(12.0, 12.0, 5.0)
    assert chain.splitting(-2.5, -2.5) == pytest.approx(2.5)
    assert chain.polarisation(0.0, 0.0) == pytest.approx([0.979, 0.979], abs=1e-3)


def test_levels_are_symmetric_under_exchange_of_particles_and_holes():
    for u in (0.0, 6.0):
        chain = Chain(9.0, 13.0, u)
        for a, b in SOMEWHERE:
            there = chain.occupation(a - u / 2, b - u / 2, 40.0)
            back = chain.occupation(-a - u / 2, -b - u / 2, 40.0)
            assert there + back == pytest.approx([1.0, 1.0], abs=1e-12)
            shift = chain.energies(a - u / 2, b - u / 2) - chain.energies(-a - u / 2, -b - u / 2)
            assert shift == pytest.approx(np.full(4, a + b), abs=1e-12)


def test_gibbs_limits():
    chain = Chain(9.0, 13.0, 6.0)
    for eps in SOMEWHERE:
        assert chain.occupation(*eps, 1e9) == pytest.approx([0.5, 0.5], abs=1e-6)
        weight = chain.sectors(*eps, 0.05)[0]
        assert weight == pytest.approx(float(chain.splitting(*eps) < 0), abs=1e-9)
        values, vectors = np.linalg.eigh(chain.hamiltonian(*eps))
        ground = vectors[:, 0] ** 2
        assert chain.occupation(*eps, 0.05) == pytest.approx([ground[1] + ground[2], ground[1] + ground[3]], abs=1e-9)
        assert values[0] == pytest.approx(chain.energies(*eps).min())


def test_amplitudes_are_equal_where_xi_is_the_gap():
    for xi, t, delta in ((INDUCED_GAP_UEV, 15.0, 15.0), (0.0, 0.0, 30.0), (-INDUCED_GAP_UEV, -15.0, 15.0)):
        assert amplitudes(xi, 15.0) == (pytest.approx(t), pytest.approx(delta))
    t, delta = amplitudes(3 * INDUCED_GAP_UEV, 15.0)
    assert t / delta == pytest.approx(3.0)


def test_no_device_has_a_degenerate_middle_far_out_on_either_side():
    """t falls as 1/xi only: t + U/2 - Delta has one zero on each side within reach of the gate."""
    v = np.linspace(-6, 6, 4001)
    for seed in range(20):
        h = device(seed).hidden
        chain = h.chain(v)
        split = np.abs(chain.t_uev) + h.u_uev / 2 - chain.delta_uev
        at = v[np.nonzero(np.diff(np.sign(split)))[0]] - h.abs_zero_mv
        assert np.sign(at).tolist() == [-1.0, 1.0]
        assert np.abs(at).max() < INDUCED_GAP_UEV / h.abs_lever_uev_per_mv
        assert chain.gap(-h.u_uev / 2, -h.u_uev / 2).size == v.size


# The device


def test_plungers_are_the_inverse_of_the_levels():
    h = device(2).hidden
    v = h.plungers(500.0, 3.0, -11.0, 1.3)
    assert np.array(h.levels(500.0, *v, 1.3)) == pytest.approx([3.0, -11.0], abs=1e-9)


def test_levels_fall_with_their_plunger_and_a_little_with_the_others():
    h = device(2).hidden
    base, own = np.array(h.levels(0.0, 0.0, 0.0, 0.0)), np.array(h.levels(0.0, 0.1, 0.0, 0.0))
    assert (base - own) / 0.1 == pytest.approx([h.lever_uev_per_mv[0], h.lever_uev_per_mv[1] * h.cross[1]])
    far = np.array(h.levels(0.0, 0.0, 0.0, 0.1))
    assert (base - far) / 0.1 == pytest.approx(np.array(h.lever_uev_per_mv) * h.abs_crosstalk)


def test_offsets_walk_and_jump_on_the_lab_clock():
    h = device(4).hidden
    times = np.array([0.0, 900.0, 3600.0])
    a, b = h.offsets(times)
    assert (a[0], b[0]) == pytest.approx(h.offset_mv)
    assert np.ptp(a) > 1e-4
    assert h.offsets(900.0)[0] == pytest.approx(a[1])


def test_jumps_are_a_poisson_process_of_the_seed():
    hours = 400.0
    moved = [Jumps(0.3 / 3600, 0.1, s).value(np.arange(0, hours * 3600, 60.0)) for s in range(10)]
    steps = np.concatenate([np.diff(m) for m in moved])
    count = np.abs(np.round(steps / 0.1)).sum()
    assert count == pytest.approx(0.3 * hours * 10, abs=4.5 * np.sqrt(0.3 * hours * 10))
    assert np.abs(steps / 0.1 - np.round(steps / 0.1)).max() < 1e-6
    late = Jumps(0.3 / 3600, 0.1, 3)
    assert late.value(5e5) == late.value(np.array([1e3, 5e5]))[1]


# Records


def test_map_bits_follow_the_gibbs_average_and_the_sensors():
    d = quiet(3, empty_level=(0.05, 0.08), contrast=(0.8, 0.7), jump_seeds=("1", "2"))
    h, v = d.hidden, d.hidden.plungers(0.0, -3.0, -3.0, 1.5)
    v_l, v_r = [v[0] - 0.2, v[0], v[0] + 0.3], [v[1] - 0.1, v[1] + 0.1]
    seen = bits(RunChargeMap, d, v_l_mv=v_l, v_r_mv=v_r, v_abs_mv=1.5, shots=30_000).mean(axis=2)
    levels = h.levels(0.0, *np.meshgrid(v_l, v_r, indexing="ij"), 1.5)
    expected = np.array([0.05, 0.08]) + np.array([0.8, 0.7]) * h.chain(1.5).occupation(*levels, h.te_mk)
    assert seen == pytest.approx(expected, abs=0.015)


def test_shots_of_the_two_dots_share_their_parity_only():
    d = quiet(3)
    h, v = d.hidden, d.hidden.plungers(0.0, 4.0, -12.0, 1.0)
    point = {"v_l_mv": v[0], "v_r_mv": v[1], "v_abs_mv": 1.0}
    b = bits(RunLineCut, d, points=[point], shots=100_000)[0]
    weight, n = h.chain(1.0).sectors(*h.levels(0.0, *v, 1.0), h.te_mk)
    together = weight * n[0, 0] * n[0, 1] + (1 - weight) * n[1, 0] * n[1, 1]
    assert (b[:, 0] & b[:, 1]).mean() == pytest.approx(together, abs=0.006)


def test_a_trace_switches_between_the_parities_in_detailed_balance():
    d = quiet(3, poisoning_ms=0.2)
    h, v = d.hidden, d.hidden.plungers(0.0, 6.0, 6.0, 1.5)
    b = bits(RunParityTimeTrace, d, seed=5, v_l_mv=v[0], v_r_mv=v[1], v_abs_mv=1.5, duration_ms=1000.0).astype(float)
    assert b.mean(axis=0) == pytest.approx(h.chain(1.5).occupation(*h.levels(0.0, *v, 1.5), h.te_mk), abs=0.02)
    weight, n = h.chain(1.5).sectors(*h.levels(0.0, *v, 1.5), h.te_mk)
    variance = weight * (1 - weight) * (n[0] - n[1]).prod()
    x, y = (b - b.mean(axis=0)).T
    for lag in (5, 20, 40):
        expected = variance * np.exp(-lag * 0.01 / 0.2) * np.sinh(0.025) ** 2 / 0.025**2
        assert np.mean(x[lag:] * y[:-lag]) == pytest.approx(expected, abs=0.004)


def test_charge_noise_smears_the_step_of_a_dot():
    fields = {"points": [{"v_l_mv": 0.0, "v_r_mv": 0.0, "v_abs_mv": 1.5}] * 400, "shots": 100}
    v = quiet(1).hidden.plungers(0.0, -3.0, -3.0, 1.5)
    fields["points"] = [{"v_l_mv": v[0], "v_r_mv": v[1], "v_abs_mv": 1.5}] * 400
    still, noisy = (bits(RunLineCut, quiet(1, charge_noise_uev=s), **fields).mean(axis=1).var(axis=0).max() for s in (0.0, 8.0))
    assert still == pytest.approx(0.25 / 100, rel=0.4)
    assert noisy > 2 * still


def test_examples_run_and_cost_what_they_say():
    d = device()
    for experiment in QTYPE.experiments:
        for request in experiment.examples(d.spec):
            record = request.run(d, Clock(0.0), np.random.default_rng(0)).check().arrays["bits"].values
            cost = request.cost().to_json()
            assert record.dtype == np.uint8
            assert cost["shots"] == record.size // 2
            assert cost["jobs"] == 1
    request = RunChargeMap(v_l_mv=(0.0, 1.0), v_r_mv=(0.0,), v_abs_mv=0.0, shots=50)
    assert request.cost().to_json()["lab_s"] == pytest.approx(2.0 + 2 * (50 * SHOT_MS + SETTLE_MS) * 1e-3)


BAD = {
    "too many shots": {"shots": MAX_JOB_SHOTS},
    "too far": {"v_l_mv": [3.1]},
    "too far on the third gate": {"v_abs_mv": -6.1},
    "no voltages": {"v_r_mv": []},
    "too many pixels": {"v_l_mv": [0.0] * 61, "v_r_mv": [0.0] * 61, "shots": 1},
    "no shots": {"shots": 0},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_requests_without_sense_are_refused(fields):
    with pytest.raises(ValidationError):
        bits(RunChargeMap, device(), **({"v_l_mv": [0.0, 0.1], "v_r_mv": [0.0], "v_abs_mv": 1.0, "shots": 10} | fields))


def test_public_readings_are_within_their_errors():
    for seed in range(30):
        d = device(seed)
        assert abs(d.spec.thermometer_mk / d.hidden.te_mk - 1) < d.spec.thermometer_error + 2e-3
        ratio = np.array(d.spec.lever_nominal_uev_per_mv) / d.hidden.lever_uev_per_mv
        assert np.abs(ratio - 1).max() < d.spec.lever_nominal_error + 2e-3


# Notebook


def test_the_notebook_names_equal_amplitudes_and_old_plungers():
    for seed in range(5):
        d = device(seed)
        data = QTYPE.notebook(d.hidden, np.random.default_rng(seed), d.profile, dt.date(2026, 3, 1)).entries[0].data
        chain = d.hidden.chain(data["v_abs_mv"])
        assert float(chain.t_uev / chain.delta_uev) == pytest.approx(data["t_over_delta"], abs=2e-3)
        assert data["v_abs_mv"] == pytest.approx(equal_amplitudes_mv(d.hidden), abs=0.1)
        now = d.hidden.plungers(0.0, -d.hidden.u_uev / 2, -d.hidden.u_uev / 2, data["v_abs_mv"])
        assert max(abs(data["v_l_mv"] - now[0]), abs(data["v_r_mv"] - now[1])) > 0.05
