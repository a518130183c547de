"""A ring of modulated couplers: closed forms, qutip, records, notebook."""

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.linalg import expm

import qtypes
from qtypes import Clock, Device
from qtypes.gmon_ring_3q import physics
from qtypes.gmon_ring_3q.device import PAIRS, Tone
from qtypes.gmon_ring_3q.draw import last_lines, pairwise
from qtypes.gmon_ring_3q.physics import TWO_PI, Ring

QTYPE = qtypes.load("gmon_ring_3q")
FOREVER = 1e12
SITES, HOLES = ("100", "010", "001"), ("011", "101", "110")


def device(seed=0, **changes):
    profile = QTYPE.read_profile({})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def ring(loop=0.0, hop=3.0, **changes):
    """A perfect ring of resonant tones; qubits so far apart that only the resonant half of each tone acts."""
    frame = np.array([0.0, 60_000.0, 130_000.0])
    never, zero, phase = np.full(3, FOREVER), np.zeros(3), np.array([0.4, -1.1, loop + 0.7])
    plain = Ring(frame, zero, np.full(3, -1e7), zero, np.full(3, 2 * hop), frame - np.roll(frame, -1), phase, never, never, 0.0)
    return replace(plain, **changes)


def anything(seed=0):
    """A ring in which everything happens."""
    rng = np.random.default_rng(seed)
    frame = np.array([70.0, 150.0, 0.0])
    freq = frame - np.roll(frame, -1) + rng.uniform(-1, 1, 3)
    each = [rng.uniform(*bounds, 3) for bounds in ((-1, 1), (-205, -195), (-1, 1), (4, 8))]
    return Ring(frame, *each, freq, rng.uniform(-3, 3, 3), rng.uniform(1, 2, 3), rng.uniform(1, 2, 3), 0.0)


def populations(r, strings, times):
    """`(times, starts, 3)` probabilities of ending in each of `strings`."""
    p = physics.outcomes(physics.propagate(r, physics.prepared(strings), np.array(times)), "ZZZ")
    return p[:, :, [int(s, 2) for s in strings]]


def unitary(r, cap, until_ns):
    total = np.eye(len(physics.occupations(cap)), dtype=complex)
    for u in physics.propagators(r, cap, 0, until_ns):
        total = u @ total
    return total


def run(d, tool="run_ring_evolution", t_s=0.0, seed=0, **fields):
    request = QTYPE.tools()[tool].model_validate_json(json.dumps(fields))
    request.admit(d.spec)
    return request.run(d, Clock(t_s), np.random.default_rng(seed)).check().arrays["bits"].values


def tone(pair, amp=6.0, freq=70.0, phase=0.0):
    return {"pair": pair, "amp": amp, "freq_mhz": freq, "phase_rad": phase}


# Closed forms


@pytest.mark.parametrize("loop", [0.0, 0.9, np.pi / 2, -2.2])
def test_the_spectrum_of_a_flux(loop):
    """2 J cos((2 pi k + Phi)/3), J in cycles (Roushan et al. 2017)."""
    block = unitary(ring(loop), 1, 20)[1:, 1:]
    found = np.sort(-np.angle(np.linalg.eigvals(block)) / (TWO_PI * 20e-3))
    assert found == pytest.approx(np.sort(6.0 * np.cos((2 * np.pi * np.arange(3) + loop - 0.0) / 3)), abs=0.01)


@pytest.mark.parametrize("loop, sense", [(np.pi / 2, 1), (-np.pi / 2, -1)])
def test_at_a_quarter_turn_of_flux_an_excitation_shifts_one_way_and_a_hole_the_other(loop, sense):
    """Perfect cyclic shift at 1/(3 sqrt(3) J)."""
    hop = 1e3 / (3 * np.sqrt(3) * 64)
    assert physics.shift_time_ns(hop) == pytest.approx(64.0)
    for strings, way in ((SITES, sense), (HOLES, -sense)):
        p = populations(ring(loop, hop), strings, [64, 128, 192])
        for k in range(3):
            moved = [p[k, i, (i + way * (k + 1)) % 3] for i in range(3)]
            assert min(moved) > 0.999


def test_no_flux_is_symmetric_and_only_the_sum_of_phases_matters():
    p = populations(ring(0.0), SITES, [17, 40, 90])
    assert p[:, 0, 1] == pytest.approx(p[:, 0, 2], abs=2e-4)
    assert p[:, 1, 0] == pytest.approx(p[:, 1, 2], abs=2e-4)
    assert np.abs(p[:, 0, 1] - populations(ring(1.0), SITES, [17, 40, 90])[:, 0, 1]).max() > 0.1
    gauge = populations(ring(1.0, phase_rad=np.array([2.0, -3.0, 2.0])), SITES, [17, 40, 90])
    assert gauge == pytest.approx(populations(ring(1.0), SITES, [17, 40, 90]), abs=2e-4)


def test_frequencies_that_do_not_add_up_to_zero_turn_the_flux():
    """One tone off by d is a loop phase that turns by 2 pi d t."""
    one = ring(np.pi / 2)
    off = replace(one, tone_mhz=one.tone_mhz + np.array([0.0, 0.0, 2.0]))
    h1 = physics.hamiltonian(off, 1, 125.0)
    still = replace(one, phase_rad=one.phase_rad - np.array([0.0, 0.0, TWO_PI * 2.0 * 0.125]))
    assert h1 == pytest.approx(physics.hamiltonian(still, 1, 125.0), abs=1e-6)


def test_a_pair_swaps_at_twice_the_hop_with_the_contrast_of_its_detuning():
    r = replace(ring(), ac_mhz=np.array([6.0, 0.0, 0.0]), delta_mhz=np.array([2.0, 0.0, 0.0]))
    t = np.array([0, 30, 83, 150])
    total = 4 * 9.0 + 4.0
    expected = 36.0 / total * np.sin(np.pi * np.sqrt(total) * t * 1e-3) ** 2
    assert populations(r, SITES, t)[:, 0, 1] == pytest.approx(expected, abs=3e-4)


def test_static_coupling_pushes_levels_apart():
    """By g^2 / gap each, as far as g / gap is small."""
    frame = np.array([80.0, 0.0, 40_000.0])
    r = ring(ac_mhz=np.zeros(3), dc_mhz=np.array([1.0, 0.0, 0.0]), frame_mhz=frame)
    phase = -np.angle(unitary(r, 1, 1000).diagonal()) / TWO_PI
    lower, upper = (int(np.flatnonzero((physics.occupations(1) == n).all(axis=1))[0]) for n in ((0, 1, 0), (1, 0, 0)))
    assert phase[upper] == pytest.approx(1 / 80, abs=2e-4)
    assert phase[lower] == pytest.approx(-1 / 80, abs=2e-4)


def test_two_levels_of_one_pair_leak_at_root_two_where_the_tone_meets_them():
    """|11> and |20> exchange at sqrt(2) times the hop when the tone makes up for alpha."""
    frame = np.array([0.0, -80_000.0, 90_000.0])
    r = ring(frame_mhz=frame, alpha_mhz=np.full(3, -200.0), ac_mhz=np.array([6.0, 0, 0]), tone_mhz=np.array([80_000.0 - 200.0, 1.0, 1.0]))
    n = physics.occupations(2)
    both, double = (int(np.flatnonzero((n == k).all(axis=1))[0]) for k in ((1, 1, 0), (2, 0, 0)))
    u = unitary(r, 2, 40)
    assert abs(u[double, both]) ** 2 == pytest.approx(np.sin(TWO_PI * 3 * np.sqrt(2) * 0.04) ** 2, abs=2e-3)


def test_decay_dephasing_and_slow_noise_alone():
    t1, tphi = np.array([15.0, 20.0, 30.0]), np.array([4.0, 5.0, 6.0])
    quiet = ring(ac_mhz=np.zeros(3), t1_us=t1, tphi_us=tphi)
    t = np.array([0, 300, 600])
    p = physics.outcomes(physics.propagate(quiet, physics.prepared(("111",)), t), "ZZZ")[:, 0]
    assert p[:, 7] == pytest.approx(np.exp(-t * 1e-3 * (1 / t1).sum()), abs=2e-5)
    noisy = replace(quiet, sigma_mhz=0.04)
    x = physics.outcomes(physics.propagate(noisy, physics.prepared(("0+0",)), t), "ZXZ")[:, 0]
    fringe = x[:, 0] - x[:, 2]
    assert fringe == pytest.approx(np.exp(-t * 1e-3 * (0.5 / 20 + 1 / 5) - 0.5 * (TWO_PI * 0.04 * t * 1e-3) ** 2), abs=1e-3)
    offsets = physics.quasi_static(0.04)
    assert offsets.T @ offsets / len(offsets) == pytest.approx(0.04**2 * np.eye(3))
    assert (offsets**4).mean(axis=0) == pytest.approx(3 * 0.04**4)


def test_steps_are_unitary_of_fourth_order_and_solve_the_equation(monkeypatch):
    r = anything()
    found = {}
    for substeps in (2, 4, 8):
        monkeypatch.setitem(physics.SUBSTEPS, 3, substeps)
        found[substeps] = unitary(r, 3, 50)
    for u in found.values():
        assert u.conj().T @ u == pytest.approx(np.eye(17), abs=1e-6)
    coarse, fine = (np.abs(found[s] - found[8]).max() for s in (2, 4))
    assert fine < 2e-4
    assert coarse / fine > 10
    fine = np.eye(4)
    for t in 7 + (np.arange(400) + 0.5) / 400:
        fine = expm(-1j * TWO_PI * 1e-3 / 400 * physics.hamiltonian(r, 1, t)) @ fine
    assert physics.propagators(r, 1, 7, 1)[0] == pytest.approx(fine, abs=1e-6)


def test_slow_noise_is_the_mean_over_rings_of_other_detunings():
    noisy = replace(anything(), sigma_mhz=0.2)
    start = physics.prepared(("100", "0+0"))
    ours = physics.propagate(noisy, start, np.array([21, 103]))
    each = [physics.propagate(replace(noisy, sigma_mhz=0.0, delta_mhz=noisy.delta_mhz + o), start, np.array([21, 103]))
            for o in physics.quasi_static(0.2)]  # fmt: skip
    assert ours == pytest.approx(np.mean(each, axis=0), abs=3e-4)


def test_evolution_keeps_trace_and_positivity():
    r = replace(anything(), sigma_mhz=0.04, t1_us=np.full(3, 20.0))
    rho = physics.propagate(r, physics.prepared(("111", "1+0")), np.array([60]))[0]
    assert np.trace(rho, axis1=1, axis2=2) == pytest.approx(np.ones(2), abs=1e-5)
    assert np.linalg.eigvalsh(rho).min() > -1e-9


# qutip


@pytest.mark.parametrize("start", ["101", "+10"])
def test_evolution_agrees_with_qutip_on_27_states(start):
    """The laboratory frame of the ring (only differences of frequencies enter), written anew."""
    qutip = pytest.importorskip("qutip")
    r = anything(1)
    one = qutip.destroy(3)
    a = [qutip.tensor([one if k == j else qutip.qeye(3) for k in range(3)]) for j in range(3)]
    w = r.frame_mhz + r.delta_mhz
    h0 = sum(TWO_PI * (w[j] * a[j].dag() * a[j] + 0.5 * r.alpha_mhz[j] * a[j].dag() ** 2 * a[j] ** 2) for j in range(3))
    terms = [h0]
    for c, (j, k) in enumerate(physics.EDGES):
        hop = a[j].dag() * a[k]

        def g(t, c=c):
            return TWO_PI * (r.dc_mhz[c] + r.ac_mhz[c] * np.cos(TWO_PI * r.tone_mhz[c] * t - r.phase_rad[c]))

        terms.append([hop + hop.dag(), g])
    jumps = [m for j in range(3) for m in (np.sqrt(1 / r.t1_us[j]) * a[j], np.sqrt(2 / r.tphi_us[j]) * a[j].dag() * a[j])]
    single = {"0": qutip.basis(3, 0), "1": qutip.basis(3, 1), "+": (qutip.basis(3, 0) + qutip.basis(3, 1)).unit()}
    ket = qutip.tensor([single[s] for s in start])
    options = {"atol": 1e-8, "rtol": 1e-6, "nsteps": 1_000_000, "progress_bar": ""}
    theirs = qutip.mesolve(terms, qutip.ket2dm(ket), [0.0, 0.05], jumps, options=options).states[-1].full()
    ours = physics.propagate(r, physics.prepared((start,)), np.array([50]))[0, 0]
    n = physics.occupations(max(1, 3 - start.count("0")))
    index = n @ [9, 3, 1]
    turn = np.exp(-2j * np.pi * (n @ r.frame_mhz) * 0.05)
    assert np.abs(turn[:, None] * ours * turn.conj() - theirs[np.ix_(index, index)]).max() < 3e-4


# Records


def test_bits_follow_state_and_readout():
    d = device(3)
    h = d.hidden
    bits = run(d, initial="101", tones=[], durations_ns=[0], shots=40_000)[0]
    expected = [1 - h.p0_given_1[0], h.p1_given_0[1], 1 - h.p0_given_1[2]]
    assert bits.mean(axis=0) == pytest.approx(expected, abs=0.006)
    ideal = device(3, p1_given_0=(0.0,) * 3, p0_given_1=(0.0,) * 3)
    w = ideal.spec.nominal_mhz
    tones = [tone(p, 6.0, w[j] - w[(j + 1) % 3], 0.3) for j, p in enumerate(PAIRS)]
    bits = run(ideal, initial="0+1", tones=tones, durations_ns=[64], basis="XYZ", shots=40_000)[0]
    state = physics.propagate(ideal.hidden.ring(0.0, [Tone(**t) for t in tones]), physics.prepared(("0+1",)), np.array([64]))[0, 0]
    assert np.bincount(bits @ [4, 2, 1], minlength=8) / 40_000 == pytest.approx(physics.outcomes(state, "XYZ"), abs=0.012)


def test_ramsey_sees_offset_and_modulation_shift_in_the_nominal_frame():
    d = device(5, p1_given_0=(0.0,) * 3, p0_given_1=(0.0,) * 3, dc_mhz=(0.0,) * 3, offset_mhz=(0.3, 0.0, 0.0))

    def frequency(tones):
        bits = run(d, "run_ramsey_under_modulation", qubit=1, tones=tones, durations_ns=[100, 300], shots=10_000)
        x, y = 1 - 2 * bits.mean(axis=-1)
        turn = -np.angle((x[1] + 1j * y[1]) / (x[0] + 1j * y[0]))
        return turn / (TWO_PI * 0.2)

    assert frequency([]) == pytest.approx(0.3, abs=0.04)
    h = d.hidden
    far = [tone("12", 6.0, 350.0)]
    shift = h.first_shift_mhz[0] * (h.gains(np.array([350.0, 0, 0]))[0]) ** 2
    gap, hop = h.differences()[0], 3 * h.gains(np.array([350.0, 0, 0]))[0]
    pull = hop**2 / (gap + 350.0) + hop**2 / (gap - 350.0)
    assert frequency(far) == pytest.approx(0.3 + shift + pull, abs=0.04)


def test_a_pair_swaps_fully_at_its_own_frequency_and_the_third_qubit_stays():
    d = device(2, p1_given_0=(0.0,) * 3, p0_given_1=(0.0,) * 3)
    amp, freq = pairwise(d.hidden, 3.0)
    for c, pair in enumerate(PAIRS):
        bits = run(d, "run_pair_swap", pair=pair, amp=amp[c], freqs_mhz=[freq[c], freq[c] + 4], durations_ns=[83, 250], shots=4000)
        there = bits.mean(axis=2)[..., (c + 1) % 3]
        assert there[0].min() > 0.95
        assert there[1].max() < 0.9
        assert bits.mean(axis=2)[..., (c + 2) % 3].max() < 0.01


def test_a_tone_shifts_both_qubits_of_its_pair_quadratically_and_lines_drift():
    h = device(7).hidden
    off, half, full = (h.ring(0.0, [Tone(pair="31", amp=a, freq_mhz=h.differences()[2], phase_rad=0.0)]).delta_mhz for a in (0.0, 3.0, 6.0))
    moved = full - off
    assert moved == pytest.approx(4 * (half - off))
    assert moved == pytest.approx(h.gain[2] ** 2 * np.array([h.second_shift_mhz[2], 0.0, h.first_shift_mhz[2]]))
    assert h.lines(0.0) == pytest.approx(h.line_rad)
    assert 0 < np.abs(h.lines(3600.0) - h.line_rad).max() < 0.25


def test_examples_run_and_cost_what_they_say():
    d = device()
    for experiment in QTYPE.experiments:
        for request in experiment.examples(d.spec):
            bits = request.run(d, Clock(0.0), np.random.default_rng(0)).check().arrays["bits"].values
            assert request.cost().to_json()["shots"] == bits.size // (1 if experiment.tool.startswith("run_ramsey") else 3)


BAD = {
    "unknown letter": {"initial": "02+"}, "too strong": {"tones": [tone("12", 8.1)]}, "pair twice": {"tones": [tone("12"), tone("12")]},
    "no such pair": {"tones": [tone("21")]}, "too long": {"durations_ns": [1501]}, "not a whole ns": {"durations_ns": [0.5]},
    "too far": {"tones": [tone("12", freq=401.0)]}, "too many shots": {"durations_ns": [1, 2], "shots": 20_001},
}  # fmt: skip


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_requests_without_sense_are_refused(fields):
    with pytest.raises(ValidationError):
        run(device(), **({"initial": "100", "tones": [], "durations_ns": [10], "shots": 10} | fields))


# Device and notebook


@pytest.mark.parametrize("seed", range(4))
def test_differences_keep_clear_of_the_levels_above(seed):
    gaps = np.abs(device(seed).hidden.differences())
    assert ((gaps > 61.9) & (gaps < 84.1)).sum() == 2
    assert np.abs(gaps - 100).min() > 15
    assert np.abs(gaps - 200).min() > 30


@pytest.mark.parametrize("seed", range(6))
def test_the_notebook_was_right_on_its_date_and_its_loop_phase_is_no_longer(seed):
    d = device(seed)
    first, second = QTYPE.notebook(d.hidden, np.random.default_rng(seed), d.profile, dt.date(2026, 3, 1)).entries
    then = np.sum(first.data["phase_rad"]) + last_lines(d.hidden, np.random.default_rng(seed), d.profile).sum()
    assert np.angle(np.exp(1j * (then - np.pi / 2))) == pytest.approx(0.0, abs=0.003)
    now = np.sum(first.data["phase_rad"]) + np.sum(d.hidden.line_rad)
    assert abs(np.angle(np.exp(1j * (now - np.pi / 2)))) > 0.79
    amp, freq = pairwise(d.hidden, 3.0)
    assert second.data["freq_mhz"] == pytest.approx(freq, abs=0.1)
    assert second.data["amp"] == pytest.approx(amp, rel=0.03)
