"""rydberg_multitarget_surface_code: layout, circuits, closed forms of the pulse train, a density-matrix cross-check, what is public."""

from __future__ import annotations

import datetime as dt
import json
from itertools import combinations

import numpy as np
import pytest
import stim
from pydantic import ValidationError

import qtypes
from lab.conventions import unpack_bits
from qtypes import AgentError, Clock, Device
from qtypes.kit.stim_circuits import sample_measurements
from qtypes.rydberg_multitarget_surface_code import circuits
from qtypes.rydberg_multitarget_surface_code import layout as lay
from qtypes.rydberg_multitarget_surface_code.device import (
    CORRELATED,
    CYCLE_S,
    HOT_FACTOR,
    MEDIAN,
    N_HOT,
    Hidden,
    Profile,
    PulseTerms,
    either,
    independent,
    marginal,
    total_error,
)
from qtypes.rydberg_multitarget_surface_code.experiments import NoiselessCircuit, RunMemory, RunPulseTrain, RunSingleRb
from qtypes.rydberg_multitarget_surface_code.physics import dephasing, noisy, rb_survival, train_distribution

QTYPE = qtypes.load("rydberg_multitarget_surface_code")
PROFILE = Profile()
TODAY = dt.date(2026, 3, 1)
FOUR = lay.FOUR_TARGETS[3]
TWO = next(a for a in lay.ANCILLAS if len(lay.TARGETS[a]) == 2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, hidden: Hidden | None = None) -> Device:
    hidden = hidden or QTYPE.draw(rng(seed), PROFILE)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def silent(terms: dict[int, PulseTerms] | None = None) -> Hidden:
    """A device without errors but those of the given pulses."""
    zero = (0.0,) * lay.N_ATOMS
    terms = terms or {}
    pulses = tuple(terms[a] if a in terms else correlated(a, *[0.0] * len(lay.SUBSETS[a])) for a in lay.ANCILLAS)
    return Hidden(gate1=zero, readout=zero, reset=zero, t2_s=(1e15,) * len(lay.DATA), pulses=pulses)


def correlated(ancilla: int, *rates: float) -> PulseTerms:
    return PulseTerms(ancilla=0.0, single=(0.0,) * len(lay.TARGETS[ancilla]), correlated=rates)


def strong(ancilla: int, seed: int = 5) -> Hidden:
    """A device with large and unequal rates on one plaquette, so that second orders count."""
    g = rng(seed)
    k = len(lay.TARGETS[ancilla])
    terms = PulseTerms(
        ancilla=0.03, single=tuple(g.uniform(0.005, 0.02, k).tolist()),
        correlated=tuple(g.uniform(0.005, 0.03, len(lay.SUBSETS[ancilla])).tolist()),
    )  # fmt: skip
    spam = {n: tuple(g.uniform(0.005, 0.03, lay.N_ATOMS).tolist()) for n in ("readout", "reset")}
    return silent({ancilla: terms}).model_copy(update=spam)


def exact(dem: stim.DetectorErrorModel) -> np.ndarray:
    """Probability of every set of fired detectors, bit i of the index is detector i: the XOR-convolution of all mechanisms."""
    p = np.zeros(2**dem.num_detectors)
    p[0] = 1.0
    index = np.arange(len(p))
    for item in dem.flattened():
        if item.type == "error":
            mask = 0
            for t in item.targets_copy():
                mask ^= 1 << t.val if t.is_relative_detector_id() else 0
            q = item.args_copy()[0]
            p = (1 - q) * p + q * p[index ^ mask]
    return p


def mechanisms(hidden: Hidden, basis: str, rounds: int) -> list[tuple[frozenset[int], bool, float]]:
    """`(detectors, flips L0, probability)` of every error mechanism of a memory."""
    dem = noisy(circuits.memory(basis, rounds), hidden).detector_error_model()
    found = []
    for item in dem.flattened():
        if item.type == "error":
            targets = item.targets_copy()
            dets = frozenset(t.val for t in targets if t.is_relative_detector_id())
            found.append((dets, any(t.is_logical_observable_id() for t in targets), item.args_copy()[0]))
    return found


# Layout and noiseless circuits


def test_the_array_has_25_data_atoms_and_24_ancillas_in_four_groups() -> None:
    assert (lay.N_ATOMS, len(lay.DATA), len(lay.ANCILLAS), len(lay.FOUR_TARGETS)) == (49, 25, 24, 16)
    assert sorted(a for g in lay.GROUPS.values() for a in g) == sorted(lay.ANCILLAS)
    for name, group in lay.GROUPS.items():
        assert {lay.PLAQUETTES[a].basis for a in group} == {name[0]}
        targets = [d for a in group for d in lay.TARGETS[a]]
        assert len(targets) == len(set(targets))  # no atom is driven twice at once


def test_subsets_are_all_pairs_and_the_full_set() -> None:
    assert [len(s) for s in lay.SUBSETS[FOUR]] == [2] * 6 + [4]
    assert lay.SUBSETS[TWO] == (lay.TARGETS[TWO],)


@pytest.mark.parametrize("basis", ["Z", "X"])
@pytest.mark.parametrize("rounds", [1, 2, 8])
def test_memories_are_deterministic_and_have_the_detectors_of_a_rotated_code(basis: str, rounds: int) -> None:
    program = circuits.memory(basis, rounds)
    program.circuit.detector_error_model()  # raises where a detector or the observable is random
    detections, flips = program.detections(sample_measurements(program.circuit, 64, 3))
    assert not detections.any()
    assert not flips.any()
    assert (program.n_measurements, program.n_detectors) == (24 * rounds + 25, 24 * rounds)
    assert program.n_observables == 1


@pytest.mark.parametrize("basis", ["Z", "X"])
def test_the_memory_keeps_a_flipped_logical_state(basis: str) -> None:
    program = circuits.memory(basis, 3)
    lines = program.text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("H "))
    support = lay.row(0) if basis == "Z" else lay.column(0)
    pauli = "X" if basis == "Z" else "Z"
    injected = stim.Circuit("\n".join([*lines[:first], f"{pauli} {' '.join(map(str, support))}", *lines[first:]]))
    detections, flips = program.detections(sample_measurements(injected, 32, 9))
    assert not detections.any()
    assert unpack_bits(flips, 1).all()


@pytest.mark.parametrize("ancilla", [FOUR, TWO])
@pytest.mark.parametrize("prep, meas", [("+", "X"), ("0", "Z")])
def test_an_even_train_is_the_identity(ancilla: int, prep: str, meas: str) -> None:
    bits = sample_measurements(circuits.train(ancilla, 6, prep, meas).circuit, 64, 3)
    assert not bits.any()


# What correlated errors do to the code


def test_pairs_shorten_the_code_from_distance_5_to_3_and_independent_errors_do_not() -> None:
    hidden = device().hidden
    for basis in ("Z", "X"):
        for h, distance in ((hidden, 3), (independent(hidden), 5)):
            circuit = noisy(circuits.memory(basis, 3), h)
            assert len(circuit.shortest_graphlike_error(ignore_ungraphlike_errors=True)) == distance


@pytest.mark.parametrize("basis", ["Z", "X"])
def test_a_full_set_of_z_plaquettes_or_x_plaquettes_never_changes_a_detector_or_the_observable(basis: str) -> None:
    terms = {a: correlated(a, *[0.01 if len(s) == len(lay.TARGETS[a]) else 0.0 for s in lay.SUBSETS[a]]) for a in lay.ANCILLAS}
    hidden = silent(terms)
    events = [op for op in noisy(circuits.memory(basis, 4), hidden).flattened() if op.name == "E" and op.gate_args_copy() == [0.01]]
    assert len(events) == 4 * 24
    # Less the dephasing at T2 = 1e15 s, which is not exactly zero, nothing is left.
    assert all(p < 1e-15 for _, _, p in mechanisms(hidden, basis, 4))


def test_pairs_are_edges_along_lines_and_hyperedges_across() -> None:
    """A Z pair of a bulk Z plaquette in X memory: two X plaquettes fire for pairs in one row or column, four for a diagonal pair."""
    ancilla = next(a for a in lay.FOUR_TARGETS if lay.PLAQUETTES[a].basis == "Z" and lay.PLAQUETTES[a].site == (2.5, 1.5))
    for k, (i, j) in enumerate(combinations(range(4), 2)):
        rates = [0.0] * 7
        rates[k] = 0.01
        found = [m for m in mechanisms(silent({ancilla: correlated(ancilla, *rates)}), "X", 4) if m[2] > 1e-6]
        diagonal = (i, j) in ((0, 3), (1, 2))
        assert {len(dets) for dets, _, _ in found} == {4 if diagonal else 2}
        assert all(p == pytest.approx(0.01) for _, _, p in found)
        assert len(found) == 4  # one in every cycle
        # Z errors never disturb a state of Z_L.
        assert not any(flips for _, flips, _ in mechanisms(silent({ancilla: correlated(ancilla, *rates)}), "Z", 4))


def test_without_subsets_the_model_is_the_independent_one() -> None:
    hidden = device(3).hidden
    pulses = tuple(p.model_copy(update={"correlated": (0.0,) * len(p.correlated)}) for p in hidden.pulses)
    bare = hidden.with_pulses(pulses)
    for basis in ("Z", "X"):
        program = circuits.memory(basis, 3)
        without, same = (noisy(program, h).detector_error_model() for h in (bare, independent(bare)))
        assert without.approx_equals(same, atol=1e-12)
        # Exact: no correlated term is left, so no line of the noisy circuit names two atoms at once.
        events = [op for op in noisy(program, bare).flattened() if op.name == "E"]
        assert all(op.gate_args_copy()[0] == 0 for op in events)


def test_the_independent_model_keeps_every_marginal_but_the_harmless_event() -> None:
    a, terms = FOUR, PulseTerms(ancilla=0.0, single=(0.01, 0.0, 0.0, 0.0), correlated=(0.02, 0.03, 0.0, 0.0, 0.0, 0.0, 0.1))
    assert marginal(a, terms, with_full=False) == pytest.approx((either(0.01, 0.02, 0.03), 0.02, 0.03, 0.0))
    assert marginal(a, terms) == pytest.approx((either(0.01, 0.02, 0.03, 0.1), either(0.02, 0.1), either(0.03, 0.1), 0.1))
    assert either(0.1, 0.2) == pytest.approx(0.1 * 0.8 + 0.9 * 0.2)
    assert independent(silent({a: terms})).plaquette(a).single == pytest.approx(marginal(a, terms, with_full=False))


# Pulse trains: closed forms


@pytest.mark.parametrize("n", [2, 10, 40])
@pytest.mark.parametrize("k", range(7))
def test_one_subset_alone_flips_its_atoms_together_with_the_closed_form(n: int, k: int) -> None:
    rates = [0.0] * 7
    rates[k] = 0.013
    p = train_distribution(silent({FOUR: correlated(FOUR, *rates)}), FOUR, n)
    mask = sum(2 << lay.TARGETS[FOUR].index(d) for d in lay.SUBSETS[FOUR][k])
    odd = (1 - (1 - 2 * 0.013) ** n) / 2
    expected = np.zeros(32)
    expected[[0, mask]] = 1 - odd, odd
    np.testing.assert_allclose(p, expected, atol=1e-14)


@pytest.mark.parametrize("ancilla", [FOUR, TWO])
def test_trains_are_the_xor_convolution_of_all_subsets(ancilla: int) -> None:
    """Independent of the transform in `train_distribution`: each event with its closed form, convolved one after the other."""
    n, targets = 12, lay.TARGETS[ancilla]
    hidden = strong(ancilla)
    terms = hidden.plaquette(ancilla).model_copy(update={"ancilla": 0.0})
    hidden = hidden.with_pulses(tuple(terms if a == ancilla else p for a, p in zip(lay.ANCILLAS, hidden.pulses, strict=True)))
    p = np.zeros(2 ** (1 + len(targets)))
    p[0] = 1.0
    index = np.arange(len(p))
    events = [(2 << i, q, n) for i, q in enumerate(terms.single)]
    events += [(sum(2 << targets.index(d) for d in s), q, n) for s, q in zip(lay.SUBSETS[ancilla], terms.correlated, strict=True)]
    events += [(1 << i, rates[q], 1) for i, q in enumerate((ancilla, *targets)) for rates in (hidden.reset, hidden.readout)]
    for mask, q, times in events:
        odd = (1 - (1 - 2 * q) ** times) / 2
        p = (1 - odd) * p + odd * p[index ^ mask]
    np.testing.assert_allclose(train_distribution(hidden, ancilla, n), p, atol=1e-14)


@pytest.mark.parametrize("ancilla", [FOUR, TWO])
@pytest.mark.parametrize("n", [2, 8])
def test_the_closed_form_is_the_exact_distribution_of_the_circuit(ancilla: int, n: int) -> None:
    hidden = strong(ancilla)
    dem = noisy(circuits.train(ancilla, n, "+", "X"), hidden).detector_error_model(approximate_disjoint_errors=False)
    np.testing.assert_allclose(train_distribution(hidden, ancilla, n), exact(dem), atol=1e-12)


def test_odd_trains_have_no_closed_form() -> None:
    with pytest.raises(ValueError, match="even"):
        train_distribution(silent(), FOUR, 3)


def test_an_x_on_the_ancilla_adds_to_the_event_on_all_targets() -> None:
    terms = {FOUR: PulseTerms(ancilla=0.03, single=(0.0,) * 4, correlated=(0.0,) * 7)}
    p = train_distribution(silent(terms), FOUR, 2)
    # X or Y after the first of two pulses leaves one kick; X, Y or Z of both pulses flip the ancilla by Y and Z.
    assert p[[30, 31]].sum() == pytest.approx(0.02)
    assert p[1::2].sum() == pytest.approx((1 - (1 - 2 * 0.02) ** 2) / 2)


def test_the_transform_of_the_logarithm_gives_back_every_rate() -> None:
    n, hidden = 20, device(8).hidden
    p = train_distribution(hidden, FOUR, n)
    u = np.arange(32)
    signs = 1 - 2.0 * (np.bitwise_count(u[:, None] & u) & 1)
    t = signs @ np.log(signs @ p) / 32
    terms, targets = hidden.plaquette(FOUR), lay.TARGETS[FOUR]
    for subset, q in zip(lay.SUBSETS[FOUR], terms.correlated, strict=True):
        found = (1 - np.exp(-2 * t[sum(2 << targets.index(d) for d in subset)] / n)) / 2
        if len(subset) == 2:
            assert found == pytest.approx(q, rel=1e-9)
        else:
            assert found == pytest.approx(q + terms.ancilla / 6, rel=0.02)  # X, at every second pulse


# Records against the closed forms


@pytest.mark.parametrize("ancilla", [FOUR, TWO])
def test_train_records_follow_the_closed_form(ancilla: int) -> None:
    hidden, shots = device(2).hidden, 40_000
    request = RunPulseTrain(plaquette=ancilla, n_pulses=40, prep="+", meas="X", shots=shots)
    meas = request.run(device(hidden=hidden), Clock(0.0), rng(3)).arrays["meas"].values
    expected = train_distribution(hidden, ancilla, 40)
    counts = np.bincount(meas[:, 0], minlength=len(expected))
    z = (counts - shots * expected) / np.sqrt(shots * expected * (1 - expected))
    assert np.abs(z).max() < 4.5


def test_trains_from_0_in_z_show_only_what_flips_bits() -> None:
    hidden = silent({FOUR: correlated(FOUR, *[0.02] * 7)})
    request = RunPulseTrain(plaquette=FOUR, n_pulses=40, prep="0", meas="Z", shots=500)
    assert not request.run(device(hidden=hidden), Clock(0.0), rng()).arrays["meas"].values.any()


def test_benchmarking_decays_with_the_error_of_an_h() -> None:
    hidden = device(2).hidden
    lengths = np.array([0, 500, 2000])
    p = rb_survival(hidden, 4, lengths)
    decay = (2 * p[2] - 1) / (2 * p[1] - 1)
    assert decay == pytest.approx((1 - 4 / 3 * hidden.gate1[4]) ** 1500)
    # The same from stim: one gate of depolarising is the identity in the frame of a random Clifford.
    gates = "\n".join(["R 0", f"X_ERROR({hidden.reset[4]!r}) 0"] + [f"DEPOLARIZE1({hidden.gate1[4]!r}) 0"] * 501)
    dem = stim.Circuit(f"{gates}\nM({hidden.readout[4]!r}) 0\nDETECTOR rec[-1]").detector_error_model()
    assert p[1] == pytest.approx(exact(dem)[0], abs=1e-12)
    record = RunSingleRb(atom=4, lengths=(0, 500, 2000), shots=20_000).run(device(hidden=hidden), Clock(0.0), rng(5))
    seen = 1 - record.arrays["bits"].values.mean(axis=1)
    assert np.abs(seen - p).max() < 4.5 * 0.5 / np.sqrt(20_000)


def test_dephasing_of_a_waiting_atom() -> None:
    assert 1 - 2 * dephasing(1.5) == pytest.approx(np.exp(-CYCLE_S / 1.5))


# Cross-check: density matrix of qiskit-aer


def _aer_distribution(hidden: Hidden, ancilla: int) -> np.ndarray:
    """One measurement of a plaquette by CZ^k, all data in |+> and read in X, exact: `(2**(1 + k),)`, bit 0 the ancilla."""
    from qiskit import QuantumCircuit
    from qiskit.quantum_info import Pauli
    from qiskit_aer import AerSimulator
    from qiskit_aer.noise import pauli_error

    targets, terms = lay.TARGETS[ancilla], hidden.plaquette(ancilla)
    atoms = (ancilla, *targets)
    qc = QuantumCircuit(len(atoms))

    def flip(rate: float, qubits: list[int], pauli: str) -> None:
        qc.append(pauli_error([(pauli * len(qubits), rate), ("I" * len(qubits), 1 - rate)]).to_instruction(), qubits)

    for i, q in enumerate(atoms):
        qc.h(i)
        flip(hidden.reset[q], [i], "Z")
    for i in range(len(targets)):
        qc.cz(0, i + 1)
    for subset, q in zip(lay.SUBSETS[ancilla], terms.correlated, strict=True):
        flip(q, [1 + targets.index(d) for d in subset], "Z")
    for i, q in enumerate(terms.single):
        flip(q, [i + 1], "Z")
    p = terms.ancilla
    qc.append(pauli_error([("I", 1 - p), ("X", p / 3), ("Y", p / 3), ("Z", p / 3)]).to_instruction(), [0])
    for i, q in enumerate(atoms):
        qc.h(i)
        flip(hidden.readout[q], [i], "X")
    qc.save_density_matrix()
    rho = AerSimulator(method="density_matrix").run(qc).result().data()["density_matrix"]
    assert abs(rho.expectation_value(Pauli("I" * len(atoms))) - 1) < 1e-10
    return np.real(np.diag(np.asarray(rho)))


@pytest.mark.parametrize("ancilla", [FOUR, TWO])
def test_one_plaquette_measurement_agrees_with_the_density_matrix_of_aer(ancilla: int) -> None:
    """Data in |+>: the ancilla is a fair coin m, the data read 0..0 or 1..1 up to errors. Parities of neighbouring data are fixed without
    noise; they, with two fair coins, make the whole distribution."""
    hidden, k = strong(ancilla), len(lay.TARGETS[ancilla])
    circuit = noisy(circuits.train(ancilla, 1, "+", "X"), hidden)
    for i in range(k - 1):
        circuit.append("DETECTOR", [stim.target_rec(i - k), stim.target_rec(i + 1 - k)])
    parities = exact(circuit.detector_error_model())
    ours = np.zeros(2 ** (1 + k))
    for outcome in range(len(ours)):
        data = outcome >> 1
        syndrome = (data ^ (data >> 1)) & (2 ** (k - 1) - 1)
        ours[outcome] = parities[syndrome] / 4
    theirs = _aer_distribution(hidden, ancilla)
    assert theirs.max() > 0.1  # not flat: the coincidence carries the correlated channel
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


# Draws, requests, what is public


def test_six_plaquettes_are_hot_with_two_four_target_ones_in_each_basis_at_drawn_places() -> None:
    places = set()
    for seed in range(20):
        hidden = QTYPE.draw(rng(seed), PROFILE)
        level = {a: np.exp(np.mean(np.log(hidden.plaquette(a).correlated))) / CORRELATED for a in lay.ANCILLAS}
        hot = sorted(level, key=lambda a: -level[a])[:N_HOT]
        assert min(level[a] for a in hot) > 2.0
        four = [lay.PLAQUETTES[a].basis for a in hot if a in lay.FOUR_TARGETS]
        assert min(four.count("X"), four.count("Z")) >= 2
        places.add(tuple(sorted(hot)))
    assert len(places) > 15
    assert HOT_FACTOR == 8


def test_rates_scatter_around_the_datasheet() -> None:
    draws = [QTYPE.draw(rng(s), PROFILE) for s in range(20)]
    for kind in ("gate1", "readout", "reset"):
        logs = np.log([getattr(h, kind) for h in draws]) - np.log(MEDIAN[kind])
        assert abs(logs.mean()) < 0.04
        assert logs.std() == pytest.approx(0.3, abs=0.03)
    singles = np.log([q for h in draws for p in h.pulses for q in p.single]) - np.log(MEDIAN["single"])
    assert abs(singles.mean()) < 0.04


def test_the_datasheet_states_the_total_error_of_a_median_pulse() -> None:
    assert total_error(4) == pytest.approx(4 * 1e-3 + 7 * 6e-4, rel=0.01)  # events are rare: their number
    assert total_error(2) == pytest.approx(2 * 1e-3 + 6e-4, rel=0.01)
    sheet = device().spec.datasheet
    assert (sheet.pulse_total_error_2, sheet.pulse_total_error_4) == pytest.approx((total_error(2), total_error(4)), abs=1e-5)


def test_a_record_is_a_pure_function_of_device_and_stream_and_holds_every_bit() -> None:
    request = RunMemory(basis="X", rounds=3, shots=50)
    first, second = (request.run(device(), Clock(t), rng(3)).arrays["meas"].values for t in (0.0, 9e3))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (50, 13)  # 24 * 3 + 25 = 97 bits
    assert not (first[:, -1] >> 1).any()
    assert (request.run(device(), Clock(0.0), rng(4)).arrays["meas"].values != first).any()


def test_costs_are_units_jobs_and_lab_time() -> None:
    cost = RunMemory(basis="Z", rounds=8, shots=10_000).cost().to_json()
    assert (cost["units"], cost["jobs"], cost["shots"]) == (12, 1, 10_000)
    assert cost["lab_s"] == pytest.approx(10_000 * (8e-3 + 10e-3) + 5)
    assert RunPulseTrain(plaquette=FOUR, n_pulses=20, prep="+", meas="X", shots=8000).cost().to_json()["units"] == 10
    assert RunSingleRb(atom=0, lengths=(0, 100), shots=1000).cost().to_json()["units"] == 4


@pytest.mark.parametrize(
    "model, fields",
    [
        (RunMemory, {"basis": "Z", "rounds": 21, "shots": 10}),
        (RunMemory, {"basis": "Y", "rounds": 5, "shots": 10}),
        (RunMemory, {"basis": "Z", "rounds": 5, "shots": 100_001}),
        (RunPulseTrain, {"plaquette": FOUR, "n_pulses": 3, "prep": "+", "meas": "X", "shots": 10}),
        (RunPulseTrain, {"plaquette": FOUR, "n_pulses": 42, "prep": "+", "meas": "X", "shots": 10}),
        (RunPulseTrain, {"plaquette": FOUR, "n_pulses": 0, "prep": "+", "meas": "X", "shots": 10}),
        (RunPulseTrain, {"plaquette": FOUR, "n_pulses": 4, "prep": "1", "meas": "X", "shots": 10}),
        (RunPulseTrain, {"plaquette": 49, "n_pulses": 4, "prep": "0", "meas": "X", "shots": 10}),
        (RunSingleRb, {"atom": 1, "lengths": [], "shots": 10}),
        (RunSingleRb, {"atom": 1, "lengths": [2001], "shots": 10}),
    ],
)
def test_requests_outside_of_their_bounds_are_refused(model: type, fields: dict) -> None:
    with pytest.raises(ValidationError):
        model.model_validate_json(json.dumps(fields))


def test_a_train_on_a_data_atom_is_refused_by_name() -> None:
    data = lay.INDEX[2.0, 2.0]
    with pytest.raises(AgentError, match="ancilla") as caught:
        RunPulseTrain(plaquette=data, n_pulses=4, prep="+", meas="X", shots=10).admit(device().spec)
    assert (caught.value.field, caught.value.got) == ("plaquette", str(data))


def test_the_noiseless_circuit_of_any_request_is_given_within_64_kb() -> None:
    train = RunPulseTrain(plaquette=TWO, n_pulses=40, prep="+", meas="X", shots=1)
    for query in (NoiselessCircuit(memory=RunMemory(basis="X", rounds=20, shots=1)), NoiselessCircuit(pulse_train=train)):
        answer = query.answer(device(), None, None, rng())
        assert len(json.dumps(answer)) < 64_000
        assert stim.Circuit(answer["circuit"]).num_detectors == answer["n_detectors"]
    for bad in (NoiselessCircuit(), NoiselessCircuit(memory=RunMemory(basis="X", rounds=1, shots=1), pulse_train=train)):
        with pytest.raises(AgentError, match="exactly one"):
            bad.admit(device().spec)


def test_nothing_public_depends_on_the_device() -> None:
    first, second = device(1), device(2)
    assert first.spec == second.spec
    found = {m.name: m.text for m in QTYPE.materials(first.spec, PROFILE)}
    assert found == {m.name: m.text for m in QTYPE.materials(second.spec, PROFILE)}
    assert found["memory_Z_r8.stim"] == circuits.memory("Z", 8).text
    assert not any(word in text for name, text in found.items() if name.endswith(".stim") for word in ("ERROR", "DEPOLARIZE"))
    layout = json.loads(found["layout.json"])
    assert {p["ancilla"]: tuple(p["targets"]) for p in layout["plaquettes"]} == lay.TARGETS
    books = [QTYPE.notebook(d.hidden, rng(3), PROFILE, TODAY) for d in (first, second)]
    assert books[0] == books[1]  # the echoes are older than the change of the laser


def test_the_notebook_is_dated_holds_marginals_of_every_target_and_no_pairs() -> None:
    entries = QTYPE.notebook(device().hidden, rng(3), PROFILE, TODAY).entries
    assert [(TODAY - e.date).days for e in entries] == [16, 6]
    data = entries[0].data
    assert data is not None
    table = {int(a): {int(d) for d in row} for a, row in data["target_error"].items()}
    assert table == {a: set(t) for a, t in lay.TARGETS.items()}
    sums = {a: sum(row.values()) for a, row in data["target_error"].items() if len(row) == 4}
    assert sum(s > 0.04 for s in sums.values()) >= 4  # hot ones: 16 subset memberships of 4.8e-3
    assert min(sums.values()) < 0.02


def test_hidden_state_survives_json() -> None:
    hidden = device().hidden
    assert Hidden.model_validate_json(hidden.model_dump_json()) == hidden
