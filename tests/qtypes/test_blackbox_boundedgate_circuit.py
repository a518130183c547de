"""The bounded-gate black box: exact correlations, exact sampler, readout, requests and what the previous operator left."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest
import stim
from pydantic import ValidationError

from qtypes import AgentError
from qtypes.blackbox_boundedgate_circuit import QTYPE, Hidden, RunMeasure, RunReadoutCal, device
from qtypes.blackbox_boundedgate_circuit.circuit import SINGLES, Circuit, CliffordLayer, Rotation, clifford_of, pull_through
from qtypes.blackbox_boundedgate_circuit.polynomials import correlations, design, pairs
from qtypes.blackbox_boundedgate_circuit.sampling import BasisSampler, read_out
from qtypes.blackbox_boundedgate_circuit.words import Word, annihilator, from_stim, inverse, reduced_basis, to_stim
from qtypes.contract import Clock, Device

PROFILE = QTYPE.Profile()
I2 = np.eye(2)
PAULI = {"X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}
GATES = {
    "I": I2,
    "H": (PAULI["X"] + PAULI["Z"]) / math.sqrt(2),
    "S": np.diag([1, 1j]),
    "V": ((1 + 1j) * I2 + (1 - 1j) * PAULI["X"]) / 2,
}


@pytest.fixture(scope="module")
def drawn() -> Device:
    hidden = QTYPE.draw(np.random.default_rng(20), PROFILE)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


@pytest.fixture(scope="module")
def exact(drawn):
    return correlations(drawn.hidden.circuit)


def ghz_like(seed: int, n: int = 12, n_rotations: int = 18) -> Circuit:
    """A GHZ state grown by a CX chain, then rotations between CZ, S and SWAP (three CX): nearly all pairs correlate and vary."""
    rng = np.random.default_rng(seed)
    idle = "I" * n
    layers = [CliffordLayer(singles="H" + idle[1:], pairs=(("CX", 0, 1),))]
    layers += [CliffordLayer(singles=idle, pairs=(("CX", q, q + 1),)) for q in range(1, n - 1)]
    rotations = []
    for k in range(n_rotations):
        if k % 3 == 2:
            a, b = (int(q) for q in rng.choice(n, 2, replace=False))
            singles = "".join(rng.choice(list("IS"), p=[0.8, 0.2], size=n))
            kinds = [("CX", a, b), ("CX", b, a), ("CX", a, b)] if rng.random() < 0.3 else [("CZ", a, b)]
            layers += [CliffordLayer(singles=singles if j == 0 else idle, pairs=(gate,)) for j, gate in enumerate(kinds)]
        axis, sign = str(rng.choice(list("XXY" if k < n else "XYZ"))), int(rng.choice([-1, 1]))
        rotations.append(Rotation(layer=len(layers) - 1, site=(5 * k) % n, axis=axis, input=k % 6, sign=sign))
    return Circuit(n_qubits=n, layers=tuple(layers), rotations=tuple(rotations))


def statevector(circuit: Circuit, x: np.ndarray) -> np.ndarray:
    """Dense state, qubit q on axis q, by matrix application gate by gate: shares nothing with the code under test."""
    n = circuit.n_qubits
    psi = np.zeros((2,) * n, dtype=complex)
    psi[(0,) * n] = 1

    def one(matrix, q):
        nonlocal psi
        psi = np.moveaxis(np.tensordot(matrix, psi, axes=(1, q)), 0, q)

    for index, layer in enumerate(circuit.layers):
        for q, letter in enumerate(layer.singles):
            one(GATES[letter], q)
        for kind, control, target in layer.pairs:
            view = np.moveaxis(psi, (control, target), (0, 1)).copy()
            view[1] = view[1][::-1].copy() if kind == "CX" else np.stack([view[1, 0], -view[1, 1]])
            psi = np.moveaxis(view, (0, 1), (control, target))
        for rotation in circuit.rotations:
            if rotation.layer == index:
                half = rotation.sign * x[rotation.input] / 2
                one(math.cos(half) * I2 - 1j * math.sin(half) * PAULI[rotation.axis], rotation.site)
    return psi


def zz(psi: np.ndarray) -> np.ndarray:
    """All <Z_i Z_j> of a dense state."""
    n = psi.ndim
    p = (np.abs(psi) ** 2).reshape(-1)
    sign = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n - 1, -1, -1)) & 1)
    return np.einsum("k,ki,kj->ij", p, sign, sign, optimize=True)[pairs(n)]


def unpack(words: np.ndarray, n: int) -> np.ndarray:
    return np.unpackbits(words.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, count=n, bitorder="little")


# exact correlations


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_polynomials_equal_the_dense_state_where_nearly_all_pairs_correlate(seed):
    circuit = ghz_like(seed)
    polynomials = correlations(circuit)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-np.pi, np.pi, (4, 6))
    dense = np.array([zz(statevector(circuit, row)) for row in x])
    assert np.mean(np.abs(dense).max(axis=0) > 0.01) > 0.9  # the comparison is not between zeros
    assert polynomials.varying.mean() > 0.9
    assert np.abs(polynomials.evaluate(x) - dense).max() < 1e-10


@pytest.mark.parametrize("seed", [1, 7])
def test_polynomials_equal_qiskit_aer_on_truncated_instances(seed):
    from qiskit import QuantumCircuit
    from qiskit_aer import AerSimulator

    names = {"H": "h", "S": "s", "V": "sx"}
    for circuit in (ghz_like(seed, n=11), device.draw_circuit(np.random.default_rng(seed), 12, n_clusters=3)):
        assert circuit is not None
        x = np.random.default_rng(seed).uniform(-np.pi, np.pi, 6)
        qc = QuantumCircuit(circuit.n_qubits)
        for index, layer in enumerate(circuit.layers):
            for q, letter in enumerate(layer.singles):
                if letter != "I":
                    getattr(qc, names[letter])(q)
            for kind, control, target in layer.pairs:
                getattr(qc, kind.lower())(control, target)
            for r in circuit.rotations:
                if r.layer == index:
                    getattr(qc, f"r{r.axis.lower()}")(r.sign * x[r.input], r.site)
        qc.save_statevector()
        state = np.asarray(AerSimulator(method="statevector").run(qc).result().get_statevector())
        dense = zz(state.reshape((2,) * circuit.n_qubits).transpose())  # qiskit's first qubit is the last axis
        assert np.abs(correlations(circuit).evaluate(x[None])[0] - dense).max() < 1e-10


@pytest.mark.parametrize("case", ["drawn", "ghz"])
def test_sixty_qubit_correlations_at_quarter_turns_are_the_stabiliser_values_of_stim(drawn, case):
    # all rotations are Clifford gates there, so stim simulates the circuit itself, without any Pauli frame
    circuit = drawn.hidden.circuit if case == "drawn" else ghz_like(2, n=60)
    turns = np.concatenate([np.zeros((1, 6), dtype=int), np.random.default_rng(3).integers(-2, 3, (4, 6))])
    quarter = {"X": ["I", "SQRT_X", "X", "SQRT_X_DAG"], "Y": ["I", "SQRT_Y", "Y", "SQRT_Y_DAG"], "Z": ["I", "S", "Z", "S_DAG"]}
    truth = correlations(circuit).evaluate(turns * np.pi / 2)
    for row, expected in zip(turns, truth, strict=True):
        simulator = stim.TableauSimulator()
        for index, layer in enumerate(circuit.layers):
            simulator.do(clifford_of(layer))
            for r in circuit.rotations:
                if r.layer == index:
                    simulator.do(stim.Circuit(f"{quarter[r.axis][(r.sign * row[r.input]) % 4]} {r.site}"))
        values = []
        for i, j in zip(*pairs(60), strict=True):
            observable = stim.PauliString(60)
            observable[i], observable[j] = "Z", "Z"
            values.append(simulator.peek_observable_expectation(observable))
        assert np.abs(expected - values).max() < 1e-12
        assert case == "drawn" or np.count_nonzero(values) > 600


def test_correlations_have_period_two_pi_in_every_input(exact):
    x = np.random.default_rng(4).uniform(-np.pi, np.pi, (3, 6))
    for k in range(6):
        assert np.abs(exact.evaluate(x + 2 * np.pi * np.eye(6)[k]) - exact.evaluate(x)).max() < 1e-12


def test_monomials_do_not_depend_on_the_order_of_propagation(drawn, exact):
    # layer by layer through the circuit as it is, depth first, instead of rotation by rotation in the pulled-through frame
    circuit = drawn.hidden.circuit
    undo = [clifford_of(layer).to_tableau().inverse() for layer in circuit.layers]

    def descend(observable, layer, pending, cos, sin):
        if layer < 0:
            return [(cos, sin, round(observable.sign.real))] if not observable.to_numpy()[0].any() else []
        if pending and pending[-1][1].layer == layer:
            g, r = pending[-1]
            axis = stim.PauliString(60)
            axis[r.site] = r.axis
            if axis.commutes(observable):
                return descend(observable, layer, pending[:-1], cos, sin)
            bit = 1 << g
            return descend(observable, layer, pending[:-1], cos | bit, sin) + descend(
                1j * axis * observable, layer, pending[:-1], cos, sin | bit
            )
        return descend(undo[layer](observable), layer - 1, pending, cos, sin)

    first, second = pairs(60)
    counts = exact.monomials_per_pair
    richest = np.argsort(counts)[-6:]
    for p in (*richest, *np.flatnonzero(counts == 0)[:10]):
        observable = stim.PauliString(60)
        observable[int(first[p])], observable[int(second[p])] = "Z", "Z"
        found = descend(observable, len(circuit.layers) - 1, list(enumerate(circuit.rotations)), 0, 0)
        rows = exact.pair == p
        listed = zip(exact.cos[rows].tolist(), exact.sin[rows].tolist(), exact.sign[rows].tolist(), strict=True)
        assert sorted(found) == sorted(listed)


def test_fourier_expansion_gives_the_polynomial_with_at_most_degree_three(exact):
    x = np.random.default_rng(5).uniform(-np.pi, np.pi, (5, 6))
    values, truth = design(x), exact.evaluate(x)
    for p in np.flatnonzero(exact.varying)[::7]:
        total = sum(v * np.prod([values[:, a, f] for a, f in enumerate(key)], axis=0) for key, v in exact.fourier(int(p)).items())
        assert np.abs(total - truth[:, p]).max() < 1e-12


# sampler


@pytest.mark.parametrize("seed", [1, 4])
def test_sampled_distribution_in_random_bases_follows_the_dense_state(seed):
    circuit, rng = ghz_like(seed, n=10), np.random.default_rng(seed)
    frame = pull_through(circuit)
    to_z = {"X": GATES["H"], "Y": GATES["H"] @ np.diag([1, -1j]), "Z": I2}
    for basis in ("Z" * 10, "X" * 10, "".join(rng.choice(list("XYZ"), 10)), "".join(rng.choice(list("XYZ"), 10))):
        x = rng.uniform(-np.pi, np.pi, (2, 6))
        words = BasisSampler(circuit, frame, basis).shots(x, 40_000, rng)
        for row, drawn_words in zip(x, words, strict=True):
            psi = statevector(circuit, row)
            for q, letter in enumerate(basis):
                psi = np.moveaxis(np.tensordot(to_z[letter], psi, axes=(1, q)), 0, q)
            p = (np.abs(psi) ** 2).transpose().reshape(-1)  # bit q of the index is qubit q
            counts = np.bincount(drawn_words.astype(np.int64), minlength=1024)
            assert counts[p < 1e-12].sum() == 0
            likely = p * 40_000 > 5
            chi2 = np.sum((counts - 40_000 * p)[likely] ** 2 / (40_000 * p)[likely])
            assert abs(chi2 - likely.sum()) < 4.5 * math.sqrt(2 * likely.sum())


def test_sampled_pair_correlations_agree_with_the_exact_ones_within_four_sigma(drawn, exact):
    circuit, shots = drawn.hidden.circuit, 100_000
    x = np.random.default_rng(6).uniform(-np.pi, np.pi, (2, 6))
    words = BasisSampler(circuit, pull_through(circuit), "Z" * 60).shots(x, shots, np.random.default_rng(60))
    for row, truth in zip(words, exact.evaluate(x), strict=True):
        z = 1 - 2 * unpack(row, 60).astype(np.float32)
        measured = (z.T @ z)[pairs(60)] / shots
        pull = (measured - truth)[np.abs(truth) < 0.999] / np.sqrt((1 - truth**2) / shots)[np.abs(truth) < 0.999]
        assert np.abs(measured - truth)[np.abs(truth) > 1 - 1e-9].max() == 0  # deterministic parities never fail
        assert np.abs(pull).max() < 4.5
        assert 0.85 < np.sqrt(np.mean(pull**2)) < 1.15


def test_probabilities_are_normalised_to_single_precision(drawn):
    circuit = drawn.hidden.circuit
    x = np.random.default_rng(7).uniform(-np.pi, np.pi, (3, 6))
    p = BasisSampler(circuit, pull_through(circuit), "Y" * 60).probabilities(x)
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-5


# readout and requests


def without_readout_errors(dev: Device) -> Device:
    hidden = Hidden(circuit=dev.hidden.circuit, p1_given_0=(0.0,) * 60, p0_given_1=(0.0,) * 60)
    return Device(dev.spec, hidden, dev.profile)


def test_readout_calibration_reproduces_the_hidden_confusion_within_four_sigma(drawn):
    shots = 40_000
    bits = RunReadoutCal(states=("0" * 60, "1" * 60), shots=shots).run(drawn, Clock(0.0), np.random.default_rng(8)).arrays["bits"].values
    read = np.unpackbits(bits, axis=-1, count=60, bitorder="little").mean(axis=1)
    for rate, p in ((read[0], np.array(drawn.hidden.p1_given_0)), (1 - read[1], np.array(drawn.hidden.p0_given_1))):
        assert np.abs((rate - p) / np.sqrt(p * (1 - p) / shots)).max() < 4


def test_readout_errors_of_different_qubits_are_independent():
    rng = np.random.default_rng(9)
    bits = unpack(read_out(np.zeros(200_000, dtype=np.uint64), np.full(60, 0.2), np.full(60, 0.1), rng).reshape(-1).view("<u8"), 60)
    centred = bits - bits.mean(axis=0)
    cross = (centred.T @ centred / len(bits))[pairs(60)] / (0.2 * 0.8)
    assert np.abs(cross).max() * math.sqrt(len(bits)) < 4.5


def test_qubit_q_is_bit_q_of_the_little_endian_record(drawn):
    clean = without_readout_errors(drawn)
    state = "1" + "0" * 8 + "1" + "0" * 49 + "1"  # qubits 0, 9 and 59
    bits = RunReadoutCal(states=(state,), shots=2).run(clean, Clock(0.0), np.random.default_rng(0)).arrays["bits"].values
    assert bits.shape == (1, 2, 8)
    assert bits.dtype == np.uint8
    assert bits[0, 0].tolist() == [1, 2, 0, 0, 0, 0, 0, 8]


def test_settings_of_mixed_bases_keep_their_order(drawn, exact):
    clean = without_readout_errors(drawn)
    truth = exact.evaluate(np.zeros((1, 6)))[0]
    known = np.flatnonzero(np.abs(truth) > 0.5)
    setting = {"z": {"x": (0.0,) * 6}, "y": {"x": (0.1,) * 6, "basis": "Y" * 60}}
    request = RunMeasure(settings=tuple(setting[k] for k in "zyzyz"), shots=50)
    bits = request.run(clean, Clock(0.0), np.random.default_rng(1)).arrays["bits"].values
    assert bits.shape == (5, 50, 8)
    for k in (0, 2, 4):
        z = 1 - 2 * np.unpackbits(bits[k], axis=-1, count=60, bitorder="little").astype(float)
        assert np.array_equal((z.T @ z / 50)[pairs(60)][known], np.rint(truth[known]))


def test_equal_arguments_give_equal_records(drawn):
    request = RunMeasure(settings=({"x": (0.3,) * 6}, {"x": (-0.3,) * 6, "basis": "X" * 60}), shots=100)
    one, two = (request.run(drawn, Clock(t), np.random.default_rng(5)).check().arrays["bits"].values for t in (0.0, 900.0))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, request.run(drawn, Clock(0.0), np.random.default_rng(6)).arrays["bits"].values)


def test_costs_count_every_listed_setting_and_every_shot():
    request = RunMeasure(settings=({"x": (0.3,) * 6},) * 3, shots=100)
    assert request.cost().to_json() == {"shots": 300.0, "settings": 3.0, "jobs": 1.0, "lab_s": pytest.approx(0.21)}
    assert RunReadoutCal(states=("0" * 60, "1" * 60), shots=10).cost().to_json() == {
        "shots": 20.0, "jobs": 1.0, "lab_s": pytest.approx(0.104),
    }  # fmt: skip


@pytest.mark.parametrize("body", [
    '{"settings": [], "shots": 10}', '{"settings": [{"x": [0, 0, 0, 0, 0]}], "shots": 10}',
    '{"settings": [{"x": [0,0,0,0,0,0]}], "shots": 0}',
    '{"settings": [{"x": [0,0,0,0,0,NaN]}], "shots": 10}', '{"settings": [{"x": [0,0,0,0,0,true]}], "shots": 10}',
    '{"settings": [{"x": [0,0,0,0,0,0], "basis": "ZZZ"}], "shots": 10}', '{"settings": [{"x": [0,0,0,0,0,0]}], "shots": 10, "noise": 0}',
    '{"settings": [{"x": [0,0,0,0,0,0]}], "shots": 1.5}',
])  # fmt: skip
def test_malformed_measurements_are_refused(body):
    with pytest.raises(ValidationError):
        RunMeasure.model_validate_json(body)


def test_inputs_outside_the_circle_too_many_shots_and_bad_states_are_refused_by_name(drawn):
    for request, field in (
        (RunMeasure(settings=({"x": (0.0, 0.0, 3.2, 0.0, 0.0, 0.0)},), shots=1), "settings.0.x.2"),
        (RunMeasure(settings=({"x": (0.0,) * 6},) * 11, shots=100_000), "shots"),
        (RunReadoutCal(states=("0" * 60, "0" * 59 + "2"), shots=1), "states.1"),
        (RunReadoutCal(states=("0" * 59,), shots=1), "states.0"),
    ):
        with pytest.raises(AgentError) as refusal:
            request.admit(drawn.spec)
        assert refusal.value.field == field
    RunMeasure(settings=({"x": (math.pi, -math.pi, 3.1415926536, 0.0, 0.0, 0.0)},), shots=1).admit(drawn.spec)


# the drawn device and its papers


def test_a_drawn_device_keeps_the_stated_bounds(drawn, exact):
    circuit = drawn.hidden.circuit
    assert len(circuit.layers) == 8
    assert np.bincount(circuit.inputs).tolist() == [3] * 6
    assert set(circuit.signs) <= {-1.0, 1.0}
    for layer in circuit.layers:
        touched = [q for _, a, b in layer.pairs for q in (a, b)]
        assert len(set(touched)) == len(touched)
        assert all((a - b) % 60 in (1, 59) for _, a, b in layer.pairs)
    assert exact.rotations_used >= 16
    assert 0.08 <= exact.varying.mean() <= 0.35
    assert exact.monomials_per_pair.max() <= 64
    assert max(len(exact.fourier(int(p))) for p in np.flatnonzero(exact.varying)) <= device.MAX_FEATURES
    x = np.random.default_rng(11).uniform(-np.pi, np.pi, (300, 6))
    assert np.sqrt(np.mean((exact.evaluate(x) - exact.evaluate(x, max_factors=2)) ** 2)) > 0.03
    assert all(0.003 <= p <= 0.02 for p in drawn.hidden.p1_given_0)
    assert all(0.01 <= p <= 0.04 for p in drawn.hidden.p0_given_1)


def test_hidden_state_survives_json_and_is_compact(drawn):
    text = drawn.hidden.model_dump_json()
    assert Hidden.model_validate_json(text) == drawn.hidden
    assert len(text) < 12_000


def test_each_session_gets_its_own_device(drawn):
    assert QTYPE.draw(np.random.default_rng(21), PROFILE) != drawn.hidden


def test_the_notebook_is_dated_before_today_and_its_readout_table_is_stale(drawn):
    today = dt.date(2031, 5, 4)
    notebook = QTYPE.notebook(drawn.hidden, np.random.default_rng(12), PROFILE, today)
    dates = [e.date for e in notebook.entries]
    assert dates == sorted(dates)
    assert dates[-1] < today
    table = next(e.data for e in notebook.entries if e.title == "Readout table")
    for name in ("p1_given_0", "p0_given_1"):
        ratio = np.array(table[name]) / np.array(getattr(drawn.hidden, name))
        assert ratio.min() > 0.49
        assert ratio.max() < 2.01
        assert np.count_nonzero(np.abs(np.log(ratio)) > 0.3) >= 15
    scans = next(e.data["scans"] for e in notebook.entries if e.title == "Input scans")
    assert all(s["fit_residual_rms"] < 0.01 for s in scans)  # what it says about the pairs it names is true


def test_the_challenge_is_forty_inputs_on_the_torus_and_not_in_the_spec(drawn):
    challenge = QTYPE.challenge(drawn.hidden, np.random.default_rng(13), PROFILE)
    x = np.array(challenge["x_test"])
    assert x.shape == (40, 6)
    assert np.abs(x).max() <= np.pi
    assert x.std() == pytest.approx(np.pi / math.sqrt(3), rel=0.1)
    spec = drawn.spec.model_dump_json()
    assert str(x[0, 0])[:8] not in spec
    assert "p1_given_0" not in spec


# words


def test_pauli_words_multiply_as_stim_does():
    for _ in range(50):
        a, b = (stim.PauliString.random(7) for _ in range(2))
        wa, wb = from_stim(a), from_stim(b)
        assert wa.commutes(wb) == a.commutes(b)
        if a.commutes(b):
            assert to_stim(wa * wb, 7) == a * b
        assert to_stim(wa, 7) == a
    with pytest.raises(ValueError, match="Hermitian"):
        _ = Word(1, 0, 1).hermitian_sign


def test_linear_algebra_over_gf2_inverts_and_annihilates():
    rng = np.random.default_rng(15)
    rows = [int(v) for v in rng.integers(1, 1 << 20, 12)]
    basis, pivots = reduced_basis(rows)
    for k, (vector, pivot) in enumerate(zip(basis, pivots, strict=True)):
        assert [v >> pivot & 1 for v in basis] == [int(j == k) for j in range(len(basis))]
        assert vector
    checks = annihilator(rows, 20)
    assert len(checks) == 20 - len(basis)
    assert all((c & r).bit_count() % 2 == 0 for c in checks for r in rows)
    full = [1 << k | (int(rng.integers(1 << k)) if k else 0) for k in range(16)]
    columns = inverse(full)
    secret = int(rng.integers(1 << 16))
    solved = 0
    for row, column in zip(full, columns, strict=True):
        if (row & secret).bit_count() % 2:
            solved ^= column
    assert solved == secret
    with pytest.raises(ValueError, match="singular"):
        inverse([1, 1])


def test_one_qubit_letters_name_the_gates_of_stim():
    for letter, name in SINGLES.items():
        unitary = stim.Tableau.from_named_gate(name).to_unitary_matrix(endian="little")
        overlap = np.abs(np.trace(unitary.conj().T @ GATES[letter])) / 2
        assert overlap == pytest.approx(1, abs=1e-6)
