"""The transmon follows its closed forms, agrees with qutip, and its requests refuse what makes no sense."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from qtypes import Clock, Device
from qtypes.kit.readout import Clouds
from qtypes.transmon_pulse import physics
from qtypes.transmon_pulse.experiments import RunIqReference, RunPulseSequence, simulate

QTYPE = qtypes.load("transmon_pulse")
DRIVE = {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}
MEASURE = {"op": "measure"}
TAU = {"op": "delay", "duration_from": "tau_ns"}


def device(seed=0, readout_snr=None, **changes):
    profile = QTYPE.Profile.model_validate({"defect_switches": False, "background_drift": 0.0})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile)
    if readout_snr is not None:
        centres = {"centre0_re": 0.0, "centre0_im": 0.0, "centre1_re": 1.0, "centre1_im": 0.0}
        readout = centres | {"sigma": 1.0 / readout_snr, "relaxation": 0.0, "rotation_deg_per_h": 0.0}
        changes["readout"] = hidden.readout.model_copy(update=readout)
    hidden = hidden.model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def ideal(seed=0, **changes):
    """A device without slow noise and with an unmistakable readout."""
    quiet = dict.fromkeys(("walk_khz_per_sqrt_h", "quasi_static_khz", "parity_splitting_khz", "thermal_population", "gamma_phi"), 0.0)
    return device(seed, readout_snr=40.0, **(quiet | {"detuning_mhz": 0.0, "rabi_factor": 1.0} | changes))


def sequence(steps, sweep=None, **fields):
    columns = [{"name": k, "values": list(v)} for k, v in (sweep or {}).items()]
    return RunPulseSequence.model_validate_json(json.dumps({"steps": steps, "sweep": columns, "shots": 100, **fields}))


def excited(dev, request, seed=1, start_s=0.0):
    """Fraction of excited shots at each point, for an unmistakable readout."""
    record = request.run(dev, Clock(start_s), np.random.default_rng(seed)).check()
    return (record.arrays["iq"].values.real > 0.5).mean(axis=1)


def exact(dev, request, t_s=0.0):
    """Excited population at each point without noise, from equilibrium."""
    h = dev.hidden
    program = request.program(h)
    delta = np.full((program.points, 1), float(h.drive_minus_qubit(t_s))) + program.offset_mhz[:, None]
    slope, offset = physics.z_response(program, delta, np.full_like(delta, float(h.gamma1(t_s))), h.gamma_phi, h.z_eq)
    return (1 - (slope * h.z_eq + offset)[:, 0]) / 2


def test_a_device_survives_the_round_trip_through_json():
    hidden = device().hidden
    assert QTYPE.Hidden.model_validate_json(hidden.model_dump_json()) == hidden


def test_equal_arguments_give_an_equal_record():
    request = sequence([DRIVE, TAU, MEASURE], {"tau_ns": [0.0, 1e4]}, order="blocked")
    a, b = (request.run(device(), Clock(7.0), np.random.default_rng(3)).arrays for _ in range(2))
    assert all(np.array_equal(a[k].values, b[k].values) for k in a)
    assert a["iq"].values.dtype == np.complex64
    assert a["iq"].values.shape == a["time_s"].values.shape == (2, 100)


def test_rabi_oscillations_follow_the_rabi_formula():
    dev = ideal(background_rate=1e-9, detuning_mhz=8.0)
    weak = dev.hidden.defect.model_copy(update={"g_khz": 1e-6})
    lossless = Device(dev.spec, dev.hidden.model_copy(update={"defect": weak}), dev.profile)
    durations = np.linspace(4.0, 200.0, 40)
    request = sequence([DRIVE | {"duration_ns": 0.0, "duration_from": "t"}, MEASURE], {"t": durations}, shots=4000)
    generalised = np.hypot(20.0, 8.0)
    formula = (20.0 / generalised) ** 2 * np.sin(np.pi * generalised * durations * 1e-3) ** 2
    assert exact(lossless, request) == pytest.approx(formula, abs=1e-6)
    measured = excited(ideal(detuning_mhz=8.0), request)
    assert np.abs(measured - formula).max() < 5 * np.sqrt(0.25 / 4000)


def test_relaxation_is_exponential_to_the_thermal_level():
    dev = ideal(thermal_population=0.1)
    t1 = float(dev.hidden.t1_us(False))
    delays = np.linspace(0.0, 6.0 * t1, 20)
    request = sequence([DRIVE, TAU, MEASURE], {"tau_ns": delays * 1e3}, shots=5000, rep_period_us=5000.0)
    p = exact(dev, request)
    assert p == pytest.approx(0.1 + (p[0] - 0.1) * np.exp(-delays / t1), abs=1e-12)
    assert np.abs(excited(dev, request) - p).max() < 4.5 * np.sqrt(0.25 / 5000)


def ramsey(taus_us, **fields):
    half = DRIVE | {"duration_ns": 12.5}
    return sequence([half, TAU, half | {"phase_from": "phi"}, MEASURE], {"tau_ns": taus_us * 1e3, "phi": np.zeros(len(taus_us))}, **fields)


def fringe(taus_us, t2_rate, delta_mhz):
    """Excited population of a Ramsey sequence with instantaneous pulses."""
    return 0.5 + 0.5 * np.exp(-t2_rate * taus_us) * np.cos(2 * np.pi * delta_mhz * taus_us)


def test_a_ramsey_fringe_oscillates_at_the_detuning_and_decays_with_t2():
    dev = ideal(gamma_phi=0.02, detuning_mhz=0.05)
    taus = np.linspace(0.0, 60.0, 61)
    rate = 0.5 / float(dev.hidden.t1_us(False)) + 0.02
    # pulses of 12.5 ns with 50 kHz detuning deviate from instantaneous ones by their own phase, 2 pi 0.05 MHz 0.016 us
    assert exact(dev, ramsey(taus)) == pytest.approx(fringe(taus + 0.0159, rate, 0.05), abs=3e-3)


def test_quasi_static_noise_gives_a_gaussian_ramsey_envelope():
    dev = ideal(quasi_static_khz=10.0)
    taus = np.array([0.0, 10.0, 20.0, 30.0])
    shots = 20_000
    measured = 2 * excited(dev, ramsey(taus, shots=shots, rep_period_us=20_000.0)) - 1
    white = float(dev.hidden.gamma1(0.0)) / 2 * taus
    gaussian = np.exp(-0.5 * (2 * np.pi * 0.010 * taus) ** 2 - white)
    assert np.abs(measured - gaussian).max() < 5 / np.sqrt(shots)


def test_charge_parity_splits_the_ramsey_fringe_into_a_beat():
    dev = ideal(parity_splitting_khz=20.0)
    taus = np.array([0.0, 12.5, 25.0])
    shots = 20_000
    measured = 2 * excited(dev, ramsey(taus, shots=shots, rep_period_us=20_000.0)) - 1
    white = np.exp(-float(dev.hidden.gamma1(0.0)) / 2 * taus)
    assert measured == pytest.approx(white * np.cos(np.pi * 0.020 * taus), abs=5 / np.sqrt(shots))


def test_t2star_is_the_time_of_the_1_over_e_envelope():
    hidden = device(3).hidden
    t2 = hidden.t2star_us()
    exponent = t2 * (0.5 / float(hidden.t1_us(False)) + hidden.gamma_phi) + 0.5 * (2 * np.pi * hidden.quasi_static_khz * 1e-3 * t2) ** 2
    assert np.exp(-exponent) * np.cos(np.pi * hidden.parity_splitting_khz * 1e-3 * t2) == pytest.approx(np.exp(-1), rel=1e-6)


def test_an_echo_removes_quasi_static_noise():
    dev = ideal(quasi_static_khz=30.0)
    half = DRIVE | {"duration_ns": 12.5}
    taus = np.array([10.0, 20.0])
    steps = [half, TAU, DRIVE | {"phase_rad": np.pi / 2}, TAU, half, MEASURE]
    request = sequence(steps, {"tau_ns": taus * 1e3}, shots=8000, rep_period_us=5000.0)
    contrast = np.abs(2 * excited(dev, request) - 1)
    # relaxation of the populations during the two halves leaves the transverse decay exp(-2 tau / (2 T1))
    assert contrast == pytest.approx(np.exp(-float(dev.hidden.gamma1(0.0)) * taus), abs=0.05)


@pytest.mark.parametrize("point", range(3))
def test_sequences_agree_with_qutip_mesolve(point):
    qutip = pytest.importorskip("qutip")
    dev = device(5)
    h = dev.hidden
    steps = [
        DRIVE | {"duration_ns": 31.0}, {"op": "delay", "duration_ns": 4000.0},
        {"op": "drive", "amplitude": 0.7, "phase_rad": 0.9, "duration_ns": 333.0},
        TAU, {"op": "drive", "amplitude": 0.4, "phase_rad": 2.0, "duration_ns": 50.0}, MEASURE,
    ]  # fmt: skip
    request = sequence(steps, {"tau_ns": [0.0, 2500.0, 40_000.0]}, drive_offset_mhz=-1.3)
    ours = exact(dev, request)[point]

    delta = float(h.drive_minus_qubit(0.0)) - 1.3
    g1, p = float(h.gamma1(0.0)), h.thermal_population
    lower = qutip.basis(2, 0) * qutip.basis(2, 1).dag()
    jumps = [np.sqrt(g1 * (1 - p)) * lower, np.sqrt(g1 * p) * lower.dag(), np.sqrt(h.gamma_phi / 2) * qutip.sigmaz()]
    rho = (1 - p) * qutip.fock_dm(2, 0) + p * qutip.fock_dm(2, 1)
    for step in request.steps[:-1]:
        t = float(request.column(step, "duration_ns")[point]) * 1e-3
        if t == 0:
            continue
        omega = step.amplitude * 20.0 * h.rabi_factor if step.op == "drive" else 0.0
        transverse = np.cos(step.phase_rad) * qutip.sigmax() + np.sin(step.phase_rad) * qutip.sigmay()
        hamiltonian = 2 * np.pi * (delta / 2 * qutip.sigmaz() + omega / 2 * transverse)
        options = {"rtol": 1e-10, "atol": 1e-12, "nsteps": 1_000_000, "progress_bar": ""}
        rho = qutip.mesolve(hamiltonian, rho, [0.0, t], jumps, options=options).final_state
    assert ours == pytest.approx(float(rho[1, 1].real), abs=1e-6)


def test_the_switching_defect_shortens_t1_for_its_share_of_the_time():
    profile = QTYPE.Profile.model_validate({"background_drift": 0.0})
    hidden = QTYPE.draw(np.random.default_rng(2), profile)
    t = np.arange(0.0, 20_000.0, 0.5)
    rates = hidden.gamma1(t)
    assert np.unique(rates.round(9)).size == 2
    assert 1 / rates.min() == pytest.approx(float(hidden.t1_us(False)))
    assert 1 / rates.max() == pytest.approx(float(hidden.t1_us(True)))
    expected = hidden.defect.dwell_near_s / (hidden.defect.dwell_near_s + hidden.defect.dwell_far_s)
    assert np.mean(rates > rates.mean()) == pytest.approx(expected, abs=0.08)
    windows = hidden.gamma1_windows(np.arange(0.0, 101.0))
    fine = hidden.gamma1(np.arange(0.0, 100.0, 1e-3)).reshape(100, -1).mean(axis=1)
    assert windows == pytest.approx(fine, rel=1e-2)


def test_the_defect_rate_is_that_of_a_lossy_two_level_system():
    defect = device().hidden.defect
    g, gamma, delta = 2 * np.pi * defect.g_khz * 1e-3, 2 * np.pi * defect.linewidth_mhz, 2 * np.pi * defect.near_mhz
    assert defect.rate(True) == pytest.approx(2 * g**2 * gamma / (gamma**2 + delta**2))


@pytest.mark.parametrize("seed", range(20))
def test_drawn_devices_lie_in_the_ranges_of_the_profile(seed):
    profile = QTYPE.Profile.model_validate({"occupancy_near": [0.17, 0.6], "detuning_bands_mhz": [[1.6, 1.95], [2.05, 2.4]]})
    h = QTYPE.draw(np.random.default_rng(seed), profile)
    assert 30 <= h.t1_us(False) <= 150
    assert 0.2 <= h.t1_us(True) / h.t1_us(False) <= 0.45 + 1e-9
    assert 11.5 <= h.t2star_us() <= 50
    assert 1.6 <= abs(h.detuning_mhz) <= 1.95 or 2.05 <= abs(h.detuning_mhz) <= 2.4
    assert 2.5 <= h.readout.clouds().snr <= 5
    assert 0.17 <= h.defect.fluctuator().occupancy <= 0.6


def test_a_short_repetition_period_leaves_memory_of_the_previous_shot():
    dev = ideal()
    t1 = float(dev.hidden.t1_us(False))
    program = sequence([DRIVE, MEASURE]).program(dev.hidden)
    rep_us = 250.0
    iq, _ = simulate(dev.hidden, program, 60_000, rep_us, False, 0.0, np.random.default_rng(1))
    state = iq[0].real > 0.5
    keep = np.exp(-(rep_us - 1.0 - 0.025) / t1)
    # a perfect pi pulse inverts what is left: P(1 | previous 1) = 1 - keep
    assert state[1:][state[:-1]].mean() == pytest.approx(1 - keep, abs=0.02)
    assert state[1:][~state[:-1]].mean() == pytest.approx(1.0, abs=0.01)


def test_the_outcome_chain_equals_a_shot_by_shot_loop():
    rng = np.random.default_rng(4)
    n = 3000
    u, p0, p1, relaxes = rng.random(n), rng.random(n), rng.random(n), rng.random(n) < 0.1
    state, expected = True, []
    for k in range(n):
        found = u[k] < (p1[k] if state else p0[k])
        expected.append(found)
        state = found and not relaxes[k]
    assert np.array_equal(physics.outcome_chain(u, p0, p1, relaxes, True), expected)


def test_parity_flips_with_its_dwell_time():
    times = np.arange(100_000) * 1e-3
    signs = physics.parity_signs(np.random.default_rng(1), times, 5e-3)
    assert np.mean(signs[1:] * signs[:-1]) == pytest.approx(np.exp(-2 * 1e-3 / 5e-3), abs=0.02)


@pytest.mark.parametrize("order", ["blocked", "interleaved"])
def test_shots_are_taken_in_the_order_asked_for(order):
    request = sequence([DRIVE, TAU, MEASURE], {"tau_ns": [0.0, 1e4, 2e4]}, shots=4, order=order, rep_period_us=1000.0)
    t = request.run(device(), Clock(100.0), np.random.default_rng(1)).arrays["time_s"].values
    index = np.arange(12).reshape(3, 4) if order == "blocked" else np.arange(12).reshape(4, 3).T
    assert t == pytest.approx(100.0 + 1e-3 * index)


def test_the_cost_counts_shots_jobs_and_lab_time():
    cost = sequence([DRIVE, TAU, MEASURE], {"tau_ns": [0.0, 1e4]}, shots=500, rep_period_us=2000.0).cost().to_json()
    assert cost == {"shots": 1000, "jobs": 1, "lab_s": 3.0}
    assert RunIqReference.model_validate_json('{"prepare": 1, "shots": 500, "rep_period_us": 1000}').cost().to_json()["lab_s"] == 1.5


def test_reference_zero_is_thermal_and_reference_one_is_driven():
    dev = ideal(thermal_population=0.12)
    zero, one = (RunIqReference(prepare=k, shots=20_000) for k in (0, 1))
    assert excited(dev, zero) == pytest.approx([0.12], abs=0.01)
    assert excited(dev, one) == pytest.approx([0.88], abs=0.01)


def test_the_iq_plane_turns_with_the_lab_clock():
    dev = device(1)
    readout = dev.hidden.readout.model_copy(update={"rotation_deg_per_h": 1.0, "sigma": 0.01})
    still = Device(dev.spec, dev.hidden.model_copy(update={"readout": readout, "thermal_population": 0.0}), dev.profile)
    request = RunIqReference(prepare=0, shots=200)
    means = [request.run(still, Clock(t), np.random.default_rng(1)).arrays["iq"].values.mean() for t in (0.0, 36_000.0)]
    assert np.rad2deg(np.angle(means[1] / means[0])) == pytest.approx(10.0, abs=0.2)


def test_clouds_of_the_device_are_those_of_the_kit():
    assert isinstance(device().hidden.readout.clouds(), Clouds)


BAD = {
    "no measurement": {"steps": [DRIVE]},
    "measurement in the middle": {"steps": [MEASURE, DRIVE]},
    "two measurements": {"steps": [MEASURE, MEASURE]},
    "unknown column": {"steps": [DRIVE, TAU, MEASURE]},
    "unused column": {"steps": [DRIVE, MEASURE], "sweep": [{"name": "tau_ns", "values": [1.0]}]},
    "unequal columns": {
        "steps": [DRIVE, TAU, MEASURE],
        "sweep": [{"name": "tau_ns", "values": [1.0]}, {"name": "b", "values": [1.0, 2.0]}],
    },
    "column out of range": {"steps": [DRIVE, TAU, MEASURE], "sweep": [{"name": "tau_ns", "values": [-1.0]}]},
    "delay with an amplitude": {"steps": [{"op": "delay", "duration_ns": 5.0, "amplitude": 0.1}, MEASURE]},
    "drive too short": {"steps": [DRIVE | {"duration_ns": 1.0}, MEASURE]},
    "sequence longer than the period": {"steps": [{"op": "delay", "duration_ns": 2.5e6}, MEASURE]},
    "too many shots": {"steps": [DRIVE, TAU, MEASURE], "sweep": [{"name": "tau_ns", "values": [1.0, 2.0]}], "shots": 200_000},
    "unknown field": {"steps": [DRIVE, MEASURE], "lab_clock_s": 5},
    "boolean shots": {"steps": [DRIVE, MEASURE], "shots": True},
    "no shots": {"steps": [DRIVE, MEASURE], "shots": 0},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_a_senseless_sequence_is_refused(fields):
    with pytest.raises(ValidationError):
        RunPulseSequence.model_validate_json(json.dumps({"shots": 10, **fields}))


@pytest.mark.parametrize("prepare", ["true", "2", "1.5", '"1"'])
def test_a_reference_prepares_zero_or_one(prepare):
    with pytest.raises(ValidationError):
        RunIqReference.model_validate_json(f'{{"prepare": {prepare}, "shots": 10}}')


def test_a_relaxation_sweep_is_recognised_by_its_structure():
    sweep = {"tau_ns": [0.0, 1000.0]}
    assert sequence([DRIVE, TAU, MEASURE], sweep).relaxation_delays_us() == pytest.approx([0.0, 1.0])
    assert sequence([TAU, MEASURE], sweep).relaxation_delays_us() is None
    assert sequence([DRIVE, TAU, DRIVE, MEASURE], sweep).relaxation_delays_us() is None
    assert sequence([DRIVE | {"duration_ns": 0.0, "duration_from": "tau_ns"}, MEASURE], {"tau_ns": [5.0]}).relaxation_delays_us() is None
    assert sequence([DRIVE, MEASURE]).relaxation_delays_us() is None


def test_a_ramsey_sweep_is_recognised_by_its_structure():
    half = DRIVE | {"duration_ns": 12.5}
    sweep = {"tau_ns": [0.0, 1000.0], "phi": [0.5, 1.5]}
    fringe = sequence([half | {"phase_rad": 0.2}, TAU, half | {"phase_from": "phi"}, MEASURE], sweep, drive_offset_mhz=0.25).fringe()
    assert fringe.delay_us == pytest.approx([0.0, 1.0])
    assert fringe.turn_rad == pytest.approx([0.3, 1.3])
    assert (fringe.offset_mhz, fringe.pulses) == (0.25, (1.0, 12.5, 1.0, 12.5))
    tau = {"tau_ns": [5.0, 10.0]}
    for steps in ([half, TAU, MEASURE], [half, TAU, half, TAU, half, MEASURE], [half, TAU, half | {"duration_from": "tau_ns"}, MEASURE]):
        assert sequence(steps, tau).fringe() is None
    assert sequence([half, TAU, half, MEASURE], tau | {"f": [0.0, 1.0]}, drive_offset_from="f").fringe() is None


@pytest.mark.parametrize("turn", [0.0, 0.7, np.pi / 2])
def test_offset_and_phase_act_on_a_fringe_with_the_stated_signs(turn):
    dev = ideal(gamma_phi=0.02, detuning_mhz=-0.3)
    taus = np.linspace(0.0, 20.0, 81)
    half = DRIVE | {"duration_ns": 12.5}
    request = sequence(
        [half, TAU, half | {"phase_from": "phi"}, MEASURE], {"tau_ns": taus * 1e3, "phi": np.full(81, turn)}, drive_offset_mhz=0.2
    )
    f = request.fringe()
    rate = 0.5 / float(dev.hidden.t1_us(False)) + 0.02
    # the pulses of finite duration add a fixed delay of 2/pi of one
    phase = 2 * np.pi * (-0.3 + f.offset_mhz) * (f.delay_us + 0.0159) - f.turn_rad
    assert exact(dev, request) == pytest.approx(0.5 + 0.5 * np.exp(-rate * taus) * np.cos(phase), abs=6e-3)


@pytest.mark.parametrize("white", [0.0, 0.06])
def test_the_ramsey_envelope_tends_to_its_exponential_and_gaussian_limits(white):
    """The noise-averaged population of 4000 exact shots against exp(-t/T2) and exp(-(t/T2)^2)."""
    dev = ideal(gamma_phi=white, quasi_static_khz=0.0 if white else 9.0, background_rate=1e-9)
    weak = dev.hidden.defect.model_copy(update={"g_khz": 1e-6})
    hidden = dev.hidden.model_copy(update={"defect": weak})
    t2, taus = hidden.t2star_us(), np.array([0.0, 5.0, 15.0, 25.0])
    program = ramsey(taus).program(hidden)
    noise = np.random.default_rng(2).standard_normal(2000)
    delta = np.tile(hidden.quasi_static_khz * 1e-3 * np.concatenate((noise, -noise)), (4, 1))
    slope, offset = physics.z_response(program, delta, np.full_like(delta, float(hidden.gamma1(0.0))), hidden.gamma_phi, hidden.z_eq)
    contrast = -(slope * hidden.z_eq + offset).mean(axis=1)
    # the pulses of finite duration take a little of the contrast, the same at all delays
    assert contrast[0] > 0.998
    assert contrast / contrast[0] == pytest.approx(np.exp(-((taus / t2) ** (1 if white else 2))), abs=1e-6 if white else 0.03)


@pytest.mark.parametrize("story", ["stale_t1", "average_t1", "aliased_ramsey"])
def test_the_notebook_is_dated_before_today_and_holds_no_truth(story):
    profile = QTYPE.Profile.model_validate({"notebook": story, "detuning_bands_mhz": [[1.6, 1.95]]})
    hidden = QTYPE.draw(np.random.default_rng(8), profile)
    today = dt.date(2026, 5, 1)
    entries = QTYPE.notebook(hidden, np.random.default_rng(1), profile, today).entries
    assert len(entries) == 2
    assert all(e.date < today for e in entries)
    data = entries[-1].data
    if story == "stale_t1":
        assert data["t1_us"] < 0.5 * hidden.t1_us(False)
    elif story == "average_t1":
        assert hidden.t1_us(True) < data["t1_us"] < hidden.t1_us(False)
    else:
        assert data["fringe_khz"] < 450 < 1000 * abs(hidden.detuning_mhz)
        assert data["t2star_us"] < 0.76 * hidden.t2star_us()


def test_the_public_spec_depends_on_the_nominal_frequency_only():
    a, b = device(1).spec, device(2).spec
    assert a.model_copy(update={"drive_ghz": 0.0}) == b.model_copy(update={"drive_ghz": 0.0})
