"""The four-level transmon follows its closed forms, agrees with qutip, and its requests refuse what makes no sense."""

import datetime as dt
import json

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.linalg import expm

import qtypes
from qtypes import Clock, Device
from qtypes.transmon_multilevel_pulse import physics
from qtypes.transmon_multilevel_pulse.device import FULL_SCALE_MHZ, RAD_PER_NS
from qtypes.transmon_multilevel_pulse.draw import calibrated, phase_coefficient, train_populations
from qtypes.transmon_multilevel_pulse.experiments import RunEfSpectroscopy, RunEnvelope, RunIqReference, _Sequencer
from qtypes.transmon_multilevel_pulse.physics import TWO_PI, Line, Transmon
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine
from qtypes.transmon_multilevel_pulse.readout import Levels
from qtypes.transmon_multilevel_pulse.replay import GateReplay, coherent_leakage, coordinates, phase_error

QTYPE = qtypes.load("transmon_multilevel_pulse")
FOREVER = 1e12
IDEAL = Line(1.0, 0.0, 0.0, 1e-3)
LINE = Line(0.93, 0.04, -0.03, 0.7)


def device(seed=0, **changes):
    profile = QTYPE.read_profile({})
    hidden = QTYPE.draw(np.random.default_rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def transmon(**changes):
    return Transmon(**({"delta_ghz": 0.3e-3, "alpha_ghz": -0.21, "t1_ns": FOREVER, "tphi_ns": FOREVER} | changes))


def waveform(samples, **more):
    return {"i": np.real(samples).tolist(), "q": np.imag(samples).tolist(), **more}


def envelope(points, samples=(0.1 + 0j,), **fields):
    request = {"waveforms": [waveform(np.array(samples))], "points": points, "shots": 100, **fields}
    return RunEnvelope.model_validate_json(json.dumps(request))


def populations(request, hidden, t_s=0.0):
    """Exact populations before the readout, `(points, 4)`; of a random train their mean over the shots."""
    lab = _Sequencer(request, hidden, t_s)
    return np.array([np.atleast_2d(lab.final(n, p)).mean(axis=0) for n, p in enumerate(request.points)])


# Closed forms


def test_two_levels_alone_follow_the_rabi_formula():
    """For a large anharmonicity a square pulse turns the qubit as two levels (Rabi 1937)."""
    far = transmon(delta_ghz=8e-3, alpha_ghz=-40.0)
    for length in (3, 11, 24):
        u = far.unitary(IDEAL, np.full(length, TWO_PI * 0.020 + 0j))
        generalised = np.hypot(20.0, 8.0)
        expected = (20.0 / generalised) ** 2 * np.sin(np.pi * generalised * length * 1e-3) ** 2
        assert abs(u[1, 0]) ** 2 == pytest.approx(expected, abs=5e-4)


def test_the_axis_follows_the_phase_of_the_samples():
    """A quarter turn about y takes |0> to |+>, about x to |-i>."""
    far = transmon(delta_ghz=0.0, alpha_ghz=-40.0)
    quarter = np.full(5, TWO_PI * 0.05 + 0j)
    about_x, about_y = (far.unitary(IDEAL, quarter * phase)[:2, 0] for phase in (1.0, 1.0j))
    assert about_x[1] / about_x[0] == pytest.approx(-1j, abs=2e-3)
    assert about_y[1] / about_y[0] == pytest.approx(1.0, abs=2e-3)


def test_a_phase_is_a_virtual_z():
    t, pulse = transmon(), raised_cosine(10, 0.4 * RAD_PER_NS, 0.5, -210.0)
    turned = t.pulse(IDEAL, pulse * np.exp(0.7j))
    virtual = physics.rotation(np.array(0.7)) @ t.pulse(IDEAL, pulse) @ physics.rotation(np.array(-0.7))
    assert np.abs(turned - virtual).max() < 1e-12


def test_weak_leakage_is_the_fourier_component_at_the_anharmonicity():
    """In first order |1> leaks with amplitude sqrt(2)/2 times the Fourier component of I + iQ at alpha (Motzoi and Wilhelm 2013)."""
    t = transmon(delta_ghz=0.0)
    for beta in (0.0, 0.5, 1.0):
        samples = 2e-3 * raised_cosine(12, RAD_PER_NS, beta, -210.0)
        u = t.unitary(IDEAL, samples)
        edges = np.arange(13.0)
        phase = np.exp(1j * TWO_PI * t.alpha_ghz * edges)
        component = np.sum(samples * np.diff(phase) / (1j * TWO_PI * t.alpha_ghz))
        assert abs(u[2, 1]) == pytest.approx(abs(component) / np.sqrt(2.0), rel=1e-3, abs=1e-9)


def test_first_order_drag_cancels_the_fourier_component_of_a_smooth_pulse():
    """q = -(di/dt)/alpha makes the component at alpha vanish for a continuous envelope; with 1 ns samples it is suppressed."""
    t = transmon(delta_ghz=0.0)
    leak = [abs(t.unitary(IDEAL, 2e-3 * raised_cosine(12, RAD_PER_NS, b, -210.0))[2, 1]) for b in (0.0, 1.0)]
    assert leak[1] < 0.1 * leak[0]


def test_the_line_answers_a_step_exponentially():
    step = 0.25
    seen = Line(0.9, 0.1, 0.2, 0.8).arrive(np.full(6, 1.0 + 1.0j), step)
    time = (np.arange(6 * 4)[:, None] + physics.GAUSS) * step
    rise = 1.0 - np.exp(-time / 0.8)
    assert seen[:24].real == pytest.approx(0.9 * 1.1 * rise, abs=1e-12)
    assert seen[:24].imag == pytest.approx(0.9 * 1.2 * rise, abs=1e-12)
    fall = 0.9 * 1.1 * (1.0 - np.exp(-6.0 / 0.8)) * np.exp(-((np.arange(32)[:, None] + physics.GAUSS) * step) / 0.8)
    assert seen[24:].real == pytest.approx(fall, abs=1e-12)


def test_level_k_lives_t1_over_k():
    t = transmon(t1_ns=5e4)
    for level in (1, 2, 3):
        start = physics.state(np.eye(4)[level])
        assert (t.free(np.array(2e4)) @ start)[level] == pytest.approx(np.exp(-level * 2e4 / 5e4), abs=1e-9)


def test_coherences_decay_with_t1_and_tphi():
    t = transmon(t1_ns=5e4, tphi_ns=4e4)
    rho = np.zeros((4, 4), dtype=complex)
    rho[:2, :2] = 0.5
    final = (physics.BASIS @ (t.free(np.array(1e4)) @ coordinates(rho))).reshape(4, 4)
    assert abs(final[1, 0]) == pytest.approx(0.5 * np.exp(-1e4 * (0.5 / 5e4 + 1 / 4e4)), rel=1e-9)
    assert np.angle(final[1, 0]) == pytest.approx(np.angle(np.exp(-1j * TWO_PI * 0.3e-3 * 1e4)), abs=1e-9)


def test_channels_preserve_trace_and_positivity():
    h = device(3).hidden
    pulse = h.transmon(0.0).pulse(h.line(0.0), RAD_PER_NS * raised_cosine(10, 0.5, 1.0, h.alpha_mhz))
    for channel in (pulse, h.transmon(0.0).free(np.array(300.0))):
        assert channel[:4].sum(axis=0) == pytest.approx([1, 1, 1, 1] + [0] * 12, abs=1e-12)
        full = physics.BASIS @ channel @ physics.BASIS.conj().T
        choi = full.reshape(4, 4, 4, 4).transpose(0, 2, 1, 3).reshape(16, 16)
        assert np.linalg.eigvalsh(choi).min() > -1e-7


def test_an_offset_carrier_drives_the_upper_transition():
    """A slow pi pulse at the anharmonicity turns |1> into |2>, with a matrix element sqrt(2) larger."""
    t = transmon(delta_ghz=0.0)
    u = t.unitary(IDEAL, raised_cosine(60, RAD_PER_NS / (FULL_SCALE_MHZ * 1e-3 * 60 * np.sqrt(2.0))), -0.21)
    assert abs(u[2, 1]) ** 2 > 0.995


# Other libraries


def qutip_problem(t, line, samples):
    import qutip

    a = qutip.destroy(4)
    n = a.dag() * a
    h0 = TWO_PI * (t.delta_ghz * n + t.alpha_ghz / 2 * n * (n - 1))
    held = line.gain * (samples.real + line.skew * samples.imag) + 1j * line.gain * (1 + line.imbalance) * samples.imag
    held = np.concatenate((held, np.zeros(physics.BLANK_NS)))
    starts = [0.0 + 0.0j]
    for u in held:
        starts.append(u + (starts[-1] - u) * np.exp(-1.0 / line.tau_ns))

    def drive(k, part):
        return lambda time: part(held[k] + (starts[k] - held[k]) * np.exp(-(time - k) / line.tau_ns))

    pieces = [
        qutip.QobjEvo([h0, [0.5 * (a + a.dag()), drive(k, np.real)], [0.5j * (a.dag() - a), drive(k, np.imag)]]) for k in range(len(held))
    ]
    return qutip, pieces


@pytest.mark.parametrize("seed", range(2))
def test_pulses_agree_with_qutip_sesolve(seed):
    h = device(seed).hidden
    t, line = h.transmon(0.0), h.line(0.0)
    rng = np.random.default_rng(seed)
    samples = RAD_PER_NS * (rng.uniform(0.0, 0.8, 8) + 1j * rng.uniform(-0.3, 0.3, 8))
    qutip, pieces = qutip_problem(t, line, samples)
    psi = qutip.Qobj(np.eye(4))
    options = {"rtol": 1e-11, "atol": 1e-13, "nsteps": 100_000, "progress_bar": ""}
    for k, h_k in enumerate(pieces):  # the steps of the samples are where an integrator must begin anew
        psi = qutip.sesolve(h_k, psi, [k, k + 1.0], options=options).final_state
    assert np.abs(psi.full() - t.unitary(line, samples)).max() < 1e-7


def test_pulses_with_decoherence_agree_with_qutip_mesolve():
    t, line = transmon(t1_ns=4e4, tphi_ns=3e4), LINE
    samples = raised_cosine(10, 0.5 * RAD_PER_NS, 0.5, -210.0)
    qutip, pieces = qutip_problem(t, line, samples)
    vector = np.array([1.0, 1.0j, 0.3, 0.0]) / np.linalg.norm([1.0, 1.0, 0.3])
    rho = qutip.ket2dm(qutip.Qobj(vector))
    jumps = [qutip.Qobj(j) for j in t.jumps()]
    for k, h_k in enumerate(pieces):
        options = {"rtol": 1e-10, "atol": 1e-12, "nsteps": 100_000, "progress_bar": ""}
        rho = qutip.mesolve(h_k, rho, [k, k + 1.0], jumps, options=options).final_state
    ours = (physics.BASIS @ (t.pulse(line, samples) @ coordinates(np.outer(vector, vector.conj())))).reshape(4, 4)
    assert np.abs(rho.full() - ours).max() < 1e-6


def test_free_evolution_agrees_with_a_matrix_exponential():
    t = transmon(t1_ns=4e4, tphi_ns=3e4)
    generator = physics._generator(t.jumps(), np.diag(t.energies()))
    for duration in (1.0, 30.0, 4000.0):
        assert np.abs(t.free(np.array(duration)) - expm(generator.real * duration)).max() < 1e-9


def test_the_coarse_step_of_long_pulses_is_as_good_as_the_fine_one(monkeypatch):
    long = raised_cosine(101, 0.02 * RAD_PER_NS)
    coarse = transmon().unitary(LINE, long, -0.2)
    monkeypatch.setattr(physics, "LONG_NS", 200)
    assert np.abs(coarse - transmon().unitary(LINE, long, -0.2)).max() < 1e-5


# Experiments


def test_a_device_survives_the_round_trip_through_json():
    hidden = device().hidden
    assert QTYPE.Hidden.model_validate_json(hidden.model_dump_json()) == hidden


def test_equal_arguments_give_an_equal_record():
    request = envelope([{"train": [{}], "repeats": 5}, {}], samples=[0.3] * 8, randomise=True, seed=4)
    a, b = (request.run(device(), Clock(7.0), np.random.default_rng(3)).arrays["iq"].values for _ in range(2))
    assert np.array_equal(a, b)
    assert (a.dtype, a.shape) == (np.complex64, (2, 100))


@pytest.mark.parametrize("level", range(3))
def test_a_reference_prepares_its_level(level):
    levels = RunIqReference(prepare=level, shots=4000).levels(device(2).hidden, 0.0, np.random.default_rng(0))
    assert (levels == level).mean() > 0.97


def test_mapping_pulses_move_their_levels():
    points = [{"prepare": p, "map": m} for p, m in ((0, "ge"), (1, "ge"), (1, "ef"), (2, "ef"), (0, "ef"))]
    found = populations(envelope(points), device(1, reset_excited=0.0).hidden)
    assert found.argmax(axis=1).tolist() == [1, 0, 2, 1, 0]
    assert found.max(axis=1).min() > 0.97


def test_the_spectroscopy_peaks_at_the_anharmonicity():
    hidden = device(4, offset_mhz=0.3).hidden
    offsets = hidden.alpha_mhz + 0.3 + np.linspace(-9, 9, 19)
    request = RunEfSpectroscopy(offsets_mhz=tuple(offsets), amplitude=0.0177 / hidden.gain, duration_ns=200, shots=2000)
    found = (request.levels(hidden, 0.0, np.random.default_rng(0)) == 2).mean(axis=1)
    centre = np.sum(offsets * found) / found.sum() - 0.3
    assert found.max() > 0.9
    assert centre == pytest.approx(hidden.alpha_mhz, abs=0.2)


def test_a_ramsey_fringe_turns_at_the_detuning():
    hidden = device(0, offset_mhz=0.25, reset_excited=0.0).hidden
    half = raised_cosine(16, 0.5 / (0.2 * 16 * hidden.gain), 0.5, hidden.alpha_mhz)
    waits = [0, 1000, 2000, 3000]
    points = [{"train": [{"padding_ns": w}, {"phase_rad": 2e-3 * np.pi * (0.1 - 0.25) * w}]} for w in waits]
    at_drive = populations(envelope(points, half), hidden)[:, 1]
    gamma = 0.5 / hidden.t1_us + 1.0 / hidden.tphi_us
    expected = 0.5 + 0.5 * np.exp(-gamma * np.array(waits) * 1e-3) * np.cos(2e-3 * np.pi * 0.1 * np.array(waits))
    assert at_drive == pytest.approx(expected, abs=0.03)


def test_a_random_train_is_what_its_published_seeds_say():
    """Shot by shot with the draws of the request, against products of channels."""
    hidden = device(5).hidden
    pulse = raised_cosine(10, 0.5, 0.5, hidden.alpha_mhz)
    train = [{"phase_rad": 0.4, "padding_ns": 3}, {"scale": 0.5}]
    request = envelope([{}, {"train": train, "repeats": 3}], pulse, shots=6, randomise=True, padding_max_ns=9, seed=11)
    g = np.random.default_rng([11, 1])
    quarter, extra = g.integers(0, 4, (6, 6)), g.integers(0, 10, (6, 6))
    t, line = hidden.transmon(0.0), hidden.line(0.0)
    channels = [t.pulse(line, RAD_PER_NS * pulse), t.pulse(line, 0.5 * RAD_PER_NS * pulse)]
    for shot in range(6):
        rho = physics.state(hidden.populations())
        for n in range(6):
            phase = quarter[shot, n] * np.pi / 2 + (0.4, 0.0)[n % 2]
            turn, back = physics.rotation(np.array([phase, -phase]))
            rho = t.free(np.array(float(extra[shot, n] + (3, 0)[n % 2]))) @ turn @ channels[n % 2] @ back @ rho
        found = _Sequencer(request, hidden, 0.0).final(1, request.points[1])[shot]
        assert found == pytest.approx(rho[:4], abs=1e-12)


def test_random_trains_leak_incoherently_and_identical_ones_do_not():
    hidden = device(0).hidden
    pulse = raised_cosine(10, calibrated(hidden, 10, 0.5), 0.5, hidden.anharmonicity_nominal_mhz)
    leak = coherent_leakage(hidden.transmon(0.0).unitary(hidden.line(0.0), RAD_PER_NS * pulse))
    request = envelope([{"train": [{}], "repeats": 20}], pulse, randomise=True, shots=2000)
    assert populations(request, hidden)[0, 2:].sum() / 20 == pytest.approx(leak, rel=0.15)
    request = envelope([{"train": [{"padding_ns": p}], "repeats": 20} for p in range(9)], pulse)
    identical = populations(request, hidden)[:, 2:].sum(axis=1) / 20
    assert identical.min() < 0.1 * leak
    assert identical.max() > 3.0 * leak


def test_the_gain_follows_the_lab_clock():
    hidden = device(0).hidden
    assert hidden.line(0.0).gain == hidden.gain
    assert hidden.line(7200.0).gain != hidden.gain
    assert abs(hidden.line(7200.0).gain / hidden.gain - 1.0) < 0.01


def test_readout_swaps_and_relaxes_levels_one_and_two():
    clouds = Levels(np.array([0.0, 10.0, 10.0 + 10.0j, 10.0j]), 1.0, 0.06, 0.01)
    z = clouds.points(np.random.default_rng(0), np.repeat([0, 1, 2], 40_000).reshape(3, -1))
    nearest = np.abs(z[..., None] - clouds.centres).argmin(axis=-1)
    assert (nearest[0] == 0).mean() > 0.999
    assert (nearest[1] == 2).mean() == pytest.approx(0.06, abs=0.006)
    assert (nearest[2] == 1).mean() == pytest.approx(0.06 + 0.01, abs=0.008)


BAD = {
    "unequal samples": {"waveforms": [{"i": [0.1, 0.1], "q": [0.1]}], "points": [{}]},
    "no such waveform": {"points": [{"train": [{"waveform": 1}]}]},
    "sample beyond full scale": {"waveforms": [{"i": [1.1], "q": [0.0]}], "points": [{}]},
    "too many shots": {"points": [{}] * 100, "shots": 2001},
    "too many pulses": {"points": [{"train": [{}] * 3, "repeats": 500}]},
    "too many random pulses": {"points": [{"train": [{}], "repeats": 1000}], "shots": 4001, "randomise": True},
    "too many different pulses": {"points": [{"train": [{"scale": 0.01 * k}]} for k in range(64)] * 1 + [
        {"train": [{"scale": -0.01 * k - 0.001} for k in range(64)]}, {"train": [{"scale": 0.9991}, {"scale": 0.9992}]}]},
    "unknown mapping": {"points": [{"map": "gf"}]},
}  # fmt: skip


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_requests_without_sense_are_refused(fields):
    text = json.dumps({"waveforms": [waveform(np.array([0.1]))], "shots": 100} | fields)
    with pytest.raises(ValidationError):
        RunEnvelope.model_validate_json(text)


# Replay and notebook


def test_a_perfect_slow_gate_has_the_error_of_its_decoherence():
    """Average error of an idling qubit: t (1/(3 T1) + 1/(3 T_2')) with the rates of a Lindblad qubit, to first order in t."""
    h = device(1, skew=0.0, imbalance=0.0, offset_mhz=0.0, tau_ns=0.4).hidden
    samples = raised_cosine(40, calibrated(h, 40, 0.5), 0.5, h.anharmonicity_nominal_mhz)
    turns = np.linspace(-np.pi, np.pi, 181)
    i, q = tuple(samples.real), tuple(samples.imag)
    error = min(GateReplay(h, i, q, z_before_rad=z, z_after_rad=z).error for z in turns)
    time = 48e-3
    gamma2 = 0.5 / h.t1_us + 1.0 / h.tphi_us
    assert error == pytest.approx(time * (1.0 / h.t1_us + 2.0 * gamma2) / 6.0, rel=0.25)


def test_leakage_of_a_replay_is_that_of_its_unitary():
    h = device(0).hidden
    samples = raised_cosine(10, calibrated(h, 10, 0.5), 0.5, h.anharmonicity_nominal_mhz)
    gate = GateReplay(h, tuple(samples.real), tuple(samples.imag))
    assert gate.leakage == pytest.approx(coherent_leakage(gate.unitary), rel=0.02)
    assert gate.error > gate.leakage


def test_a_train_of_gates_depends_on_its_context():
    """Equal spacings let leakage amplitudes interfere, for better or worse; idling for random times adds them up as populations."""
    h = device(0, offset_mhz=0.0).hidden
    samples = raised_cosine(10, calibrated(h, 10, 0.5), 0.5, h.anharmonicity_nominal_mhz)
    gate = GateReplay(h, tuple(samples.real), tuple(samples.imag))
    spaced = [gate.train(np.full(19, p))[1] for p in range(9)]
    random = np.mean([gate.train(np.random.default_rng(k).integers(0, 31, 19))[1] for k in range(30)])
    assert random == pytest.approx(gate.leakage, rel=0.5)
    assert min(spaced) < 0.2 * random
    assert max(spaced) > 2.0 * random


def test_virtual_z_of_a_replay_is_a_z_rotation():
    h = device(0).hidden
    gate = GateReplay(h, (0.2,) * 8, (0.0,) * 8, z_before_rad=0.3, z_after_rad=-0.5)
    plain = GateReplay(h, (0.2,) * 8, (0.0,) * 8)
    after, before = np.exp(-0.5j * np.arange(4)), np.exp(0.3j * np.arange(4))
    assert np.abs(gate.unitary - after[:, None] * plain.unitary * before).max() < 1e-12


def test_the_phase_error_changes_sign_at_its_coefficient():
    h = device(2).hidden
    best = phase_coefficient(h, 16)
    found = []
    for beta in (best - 0.1, best, best + 0.1):
        samples = RAD_PER_NS * raised_cosine(16, calibrated(h, 16, beta), beta, h.anharmonicity_nominal_mhz)
        found.append(phase_error(h.transmon(0.0).unitary(h.line(0.0), samples)))
    assert abs(found[1]) < 2e-3
    assert found[0] * found[2] < 0.0
    assert 0.3 < best < 0.7


@pytest.mark.parametrize("story", ["coherent_trains", "slow_drag"])
def test_the_notebook_tells_what_the_device_does(story):
    profile = QTYPE.read_profile({"notebook": story})
    hidden = QTYPE.draw(np.random.default_rng(6), profile)
    data = QTYPE.notebook(hidden, np.random.default_rng(0), profile, dt.date(2026, 3, 1)).entries[-1].data
    beta, length = data["beta"], data["length_ns"]
    amplitude = data.get("amplitude", calibrated(hidden, length, beta))
    samples = RAD_PER_NS * raised_cosine(length, amplitude, beta, hidden.anharmonicity_nominal_mhz)
    u = hidden.transmon(0.0).unitary(hidden.line(0.0), samples)
    if story == "slow_drag":
        assert coherent_leakage(u) < 1e-5
        assert abs(u[1, 0]) ** 2 > 0.999
    else:
        outside = train_populations(hidden, length, beta, data["pulses"], np.array([data["padding_ns"]]))[0, 2:].sum()
        assert abs(data["outside"] - outside) <= 1.5 * data["outside_sigma"] + 1e-5
        assert outside / data["pulses"] <= data["leakage_below"]
        assert data["leakage_below"] < 0.1 * coherent_leakage(u)
