"""surface_code_lattice_surgery: layout, circuits, noise, records, what is public."""

from __future__ import annotations

import datetime as dt
import json
import time

import numpy as np
import pytest
import stim
from pydantic import ValidationError

import qtypes
from lab.conventions import decode, read_graph, unpack_bits
from qtypes import AgentError, Clock, Device
from qtypes.kit.stim_circuits import PauliNoise, Program, sample_detections, sample_measurements
from qtypes.surface_code_lattice_surgery import circuits
from qtypes.surface_code_lattice_surgery import layout as lay
from qtypes.surface_code_lattice_surgery.device import COLD, MEDIAN, MEMORY_FACTOR, Hidden, Profile, SeamTerms
from qtypes.surface_code_lattice_surgery.experiments import DecodePreview, NoiselessCircuit, RunCnot, RunMemory, RunMerge
from qtypes.surface_code_lattice_surgery.physics import noisy

QTYPE = qtypes.load("surface_code_lattice_surgery")
PROFILE = Profile()
TODAY = dt.date(2026, 3, 1)
NO_SEAM = SeamTerms(sticky_12=(0.0,) * 4, sticky_23=(0.0,) * 4, pair=(0.0,) * 2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, hidden: Hidden | None = None) -> Device:
    hidden = hidden or QTYPE.draw(rng(seed), PROFILE)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def uniform(scale: float = 1.0, zz: SeamTerms = NO_SEAM, xx: SeamTerms = NO_SEAM) -> Hidden:
    def per(kind: str, n: int) -> tuple[float, ...]:
        return (scale * MEDIAN[kind],) * n

    n = lay.N_QUBITS
    return Hidden(
        gate1=per("gate1", n), gate2=per("gate2", len(lay.COUPLERS)), readout=per("readout", n), reset=per("reset", n), idle=per("idle", n),
        readout_drift=(0.0,) * n, seam_zz=zz, seam_xx=xx,
    )  # fmt: skip


def detection_rates(dem: stim.DetectorErrorModel) -> np.ndarray:
    """Exact: independent mechanisms multiply in 1 - 2p."""
    contrast = np.ones(dem.num_detectors)
    for item in dem.flattened():
        if item.type == "error":
            for d in {t.val for t in item.targets_copy() if t.is_relative_detector_id()}:
                contrast[d] *= 1 - 2 * item.args_copy()[0]
    return (1 - contrast) / 2


def detector_at(program: Program, site: tuple[float, float], t: int) -> int:
    return next(d for d, c in program.circuit.get_detector_coordinates().items() if tuple(c) == (*site, t))


ALL_REQUESTS = [
    *(RunCnot(config=c, inputs=i, shots=1) for c in circuits.CONFIGS for i in circuits.TEST_INPUTS[c]),
    *(RunMemory(patch=p, basis=b, rounds=r, shots=1) for p in lay.PATCHES for b in ("Z", "X") for r in (1, 2, 25)),
    *(RunMerge(seam=s, merge_rounds=k, boundary_basis=b, shots=1) for s in lay.SEAMS for b in ("Z", "X") for k in (1, 2, 3, 10)),
]


def name_of(request: RunCnot | RunMemory | RunMerge) -> str:
    return "-".join(str(v) for v in request.model_dump().values())


# Layout


def test_the_device_has_58_data_56_measure_qubits_and_184_couplers() -> None:
    assert lay.N_QUBITS == 114
    assert sum(map(lay.is_data, lay.SITES)) == 58
    assert len(lay.COUPLERS) == 184


def test_plaquettes_are_those_of_the_patches_and_of_the_merged_patches() -> None:
    assert {p: len(c) for p, c in lay.CHECKS.items()} == {"C": 8, "I": 8, "T": 8, "M": 24}
    for seam in lay.SEAMS:
        merged = lay.MERGED_CHECKS[seam]
        assert len(merged) == 20
        assert [merged[a].basis for a in lay.SEAM_CHECKS[seam]] == [seam[0]] * 4


@pytest.mark.parametrize("checks", [*lay.CHECKS.values(), *lay.MERGED_CHECKS.values()])
def test_plaquettes_commute_and_no_layer_uses_a_qubit_twice(checks: dict) -> None:
    group = list(checks.values())
    for a in group:
        for b in group:
            assert a.basis == b.basis or len(set(a.data) & set(b.data)) % 2 == 0
    for k in range(4):
        used = [s for p in group if (s := p.layer(k)) is not None]
        assert len(used) == len(set(used))


@pytest.mark.parametrize("seam", lay.SEAMS)
def test_the_new_plaquettes_multiply_to_the_joint_logical_operator(seam: lay.SeamName) -> None:
    product: set = set()
    for a in lay.SEAM_CHECKS[seam]:
        product ^= set(lay.MERGED_CHECKS[seam][a].data)
    first, second = lay.MERGED_PATCHES[seam]
    sides = (lay.column(first, 2), lay.column(second, 0)) if seam == "ZZ" else (lay.row(first, 2), lay.row(second, 0))
    assert {lay.INDEX[s] for s in product} == {*sides[0], *sides[1]}


# Noiseless circuits


@pytest.mark.parametrize("request_", ALL_REQUESTS, ids=name_of)
def test_every_noiseless_circuit_is_deterministic(request_: RunCnot | RunMemory | RunMerge) -> None:
    program = request_.program()
    program.circuit.detector_error_model()  # raises where a detector or observable is random
    detections, flips = program.detections(sample_measurements(program.circuit, 64, 3))
    assert not detections.any()
    assert not flips.any()


def test_sizes_are_those_of_the_published_cnot() -> None:
    program = circuits.cnot("z", (0, 0))
    assert (program.n_measurements, program.n_detectors, program.n_observables) == (273, 232, 2)
    assert [circuits.cnot(c, (0, 0)).n_observables for c in circuits.CONFIGS] == [2, 2, 1, 1]


TRUTH = {
    ("X", "C"): {"z": {0, 1}, "x": set(), "bell_zz": set(), "bell_xx": set()},
    ("X", "T"): {"z": {1}, "x": set(), "bell_zz": {0}, "bell_xx": set()},
    ("Z", "C"): {"z": set(), "x": {0}, "bell_zz": set(), "bell_xx": {0}},
    ("Z", "T"): {"z": set(), "x": {0, 1}, "bell_zz": set(), "bell_xx": set()},
}


@pytest.mark.parametrize("config", circuits.CONFIGS)
@pytest.mark.parametrize("pauli, patch", list(TRUTH))
def test_logical_paulis_after_preparation_follow_the_truth_table_of_a_cnot(
    pauli: str, patch: lay.PatchName, config: circuits.Config
) -> None:
    program = circuits.cnot(config, (0, 0))
    lines = program.text.splitlines()
    first_cycle = next(k for k, line in enumerate(lines) if line.startswith("H ")) - 1
    support = lay.row(patch, 0) if pauli == "X" else lay.column(patch, 0)
    injected = stim.Circuit("\n".join([*lines[:first_cycle], f"{pauli} {' '.join(map(str, support))}", *lines[first_cycle:]]))
    detections, flips = program.detections(sample_measurements(injected, 32, 9))
    assert not detections.any()
    flipped = unpack_bits(flips, program.n_observables)
    expected = [k in TRUTH[pauli, patch][config] for k in range(program.n_observables)]
    assert flipped.all(axis=0).tolist() == expected
    assert flipped.any(axis=0).tolist() == expected


@pytest.mark.parametrize("config", circuits.CONFIGS)
def test_inputs_change_reference_bits_only(config: circuits.Config) -> None:
    hidden = device().hidden
    first, second = (noisy(circuits.cnot(config, i), hidden, 0.0).detector_error_model() for i in circuits.TEST_INPUTS[config])
    assert first.approx_equals(second, atol=1e-12)


def test_inputs_prepare_the_logical_states_they_name() -> None:
    for inputs in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for config in ("z", "x"):
            program = circuits.cnot(config, inputs)
            bits = program.circuit.reference_sample()
            plain = circuits.cnot(config, (0, 0))
            # Read through the circuit of input 00: the observables are then the outputs of a CNOT.
            _, flips = plain.detections(np.packbits(bits[None], axis=1, bitorder="little"))
            c, t = inputs
            expected = [c, c ^ t] if config == "z" else [c ^ t, t]
            assert unpack_bits(flips, 2)[0].astype(int).tolist() == expected


# Distances and rates


@pytest.mark.parametrize("config", circuits.CONFIGS)
def test_the_cnot_has_distance_3_without_seam_terms(config: circuits.Config) -> None:
    circuit = noisy(circuits.cnot(config, (0, 0)), uniform(), 0.0)
    assert len(circuit.shortest_graphlike_error(ignore_ungraphlike_errors=True)) == 3


@pytest.mark.parametrize("basis", ["Z", "X"])
def test_patch_distances_are_3_and_5(basis: str) -> None:
    for patch, distance in (("C", 3), ("I", 3), ("T", 3), ("M", 5)):
        circuit = noisy(circuits.memory(patch, basis, 4), uniform(), 0.0)
        assert len(circuit.shortest_graphlike_error(ignore_ungraphlike_errors=True)) == distance


@pytest.mark.parametrize("basis", ["z", "x"])
def test_detection_rates_agree_with_the_rotated_memory_that_stim_generates(basis: str) -> None:
    n = lay.N_QUBITS
    noise = PauliNoise([2e-3] * n, dict.fromkeys(lay.COUPLERS, 2e-3), [5e-3] * n, [1.5e-3] * n, [1e-3] * n)
    ours = detection_rates(circuits.memory("M", basis.upper(), 6).dress(noise).detector_error_model())
    generated = stim.Circuit.generated(
        f"surface_code:rotated_memory_{basis}", distance=5, rounds=6, after_clifford_depolarization=2e-3,
        after_reset_flip_probability=1.5e-3, before_measure_flip_probability=5e-3, before_round_data_depolarization=1e-3,
    )  # fmt: skip
    theirs = detection_rates(generated.detector_error_model())
    assert len(ours) == len(theirs)
    assert ours.mean() == pytest.approx(theirs.mean(), rel=1e-3)  # the order of CX differs, the operations do not


@pytest.mark.parametrize(
    "request_",
    [
        RunCnot(config="z", shots=40_000),
        RunMerge(seam="ZZ", merge_rounds=5, boundary_basis="X", shots=40_000),
        RunMerge(seam="XX", merge_rounds=5, boundary_basis="X", shots=40_000),
        RunMemory(patch="T", basis="X", rounds=8, shots=40_000),
    ],
    ids=name_of,
)
def test_records_show_the_detection_rates_of_independent_mechanisms_without_seam_terms(request_: RunCnot | RunMerge | RunMemory) -> None:
    dev = device(hidden=device(4).hidden.without_seam_terms())
    program = request_.program()
    record = request_.run(dev, Clock(0.0), rng(2))
    detections, _ = program.detections(record.arrays["meas"].values)
    expected = detection_rates(noisy(program, dev.hidden, 0.0).detector_error_model())
    z = (unpack_bits(detections, program.n_detectors).mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / request_.shots)
    assert np.abs(z).max() < 4.5  # 232 detectors: 4.5 is met once in 600 runs of fresh seeds, and the seed is fixed
    assert abs(z.mean()) < 4 / np.sqrt(len(z)) * 3  # detectors are correlated


def test_memories_do_not_depend_on_seam_terms() -> None:
    hidden = device().hidden
    for patch in lay.PATCHES:
        program = circuits.memory(patch, "Z", 5)
        assert noisy(program, hidden, 0.0) == noisy(program, hidden.without_seam_terms(), 0.0)
        assert noisy(circuits.merge("ZZ", 2, "Z"), hidden, 0.0) != noisy(circuits.merge("ZZ", 2, "Z"), hidden.without_seam_terms(), 0.0)


# Seam terms, on a device that has nothing else


def only(seam: lay.SeamName, terms: SeamTerms) -> Hidden:
    return uniform(0.0, **{seam.lower(): terms})


@pytest.mark.parametrize("seam", lay.SEAMS)
@pytest.mark.parametrize("start", [1, 2])
def test_a_sticky_readout_inverts_two_cycles_and_is_seen_at_its_ends_only(seam: lay.SeamName, start: int) -> None:
    p = (0.2, 0.0, 0.0, 0.0)
    terms = SeamTerms(sticky_12=p if start == 1 else (0.0,) * 4, sticky_23=p if start == 2 else (0.0,) * 4, pair=(0.0,) * 2)
    program = circuits.merge(seam, 6, seam[0])
    detections, flips = sample_detections(noisy(program, only(seam, terms), 0.0), 20_000, 7)
    rates = unpack_bits(detections, program.n_detectors).mean(axis=0)
    site = lay.SEAM_CHECKS[seam][0]
    # Merged cycle k is cycle k in time; the first value of a new plaquette is random, so its detectors begin at cycle 2.
    ends = {3} if start == 1 else {2, 4}
    expected = np.zeros(program.n_detectors)
    expected[[detector_at(program, site, t) for t in ends]] = 0.2
    np.testing.assert_allclose(rates, expected, atol=0.012)
    assert rates[expected == 0].max() == 0
    outcome = unpack_bits(flips, 3)
    assert outcome[:, 0].mean() == pytest.approx(0.2 if start == 1 else 0.0, abs=0.012)
    assert not outcome[:, 1:].any()  # only results are inverted: the reset clears the rest


@pytest.mark.parametrize("seam", lay.SEAMS)
def test_sticky_readout_reverses_the_label_that_a_single_flip_gives_its_detector(seam: lay.SeamName) -> None:
    program = circuits.merge(seam, 3, seam[0])
    site = lay.SEAM_CHECKS[seam][0]
    sticky = SeamTerms(sticky_12=(0.05, 0.0, 0.0, 0.0), sticky_23=(0.03, 0.0, 0.0, 0.0), pair=(0.0,) * 2)
    single = uniform(0.0).model_copy(update={"readout": tuple(0.007 if s == site else 0.0 for s in lay.SITES)})

    def label(hidden: Hidden, t: int) -> set[int]:
        graph = read_graph(noisy(program, hidden, 0.0).detector_error_model())
        edge = graph.ends.tolist().index([detector_at(program, site, t), -1])
        return set(graph.labels[edge])

    assert label(single, 2) ^ label(only(seam, sticky), 2) == {0}
    assert label(single, 3) ^ label(only(seam, sticky), 3) == {0}


@pytest.mark.parametrize("seam", lay.SEAMS)
def test_a_pair_error_has_the_syndrome_of_the_third_seam_qubit_and_another_label(seam: lay.SeamName) -> None:
    program = circuits.merge(seam, 4, lay.SEAM_BASIS[seam])
    pair = SeamTerms(sticky_12=(0.0,) * 4, sticky_23=(0.0,) * 4, pair=(0.01, 0.0))
    single = uniform(0.0).model_copy(update={"idle": tuple(0.01 if s == lay.SEAM_DATA[seam][2] else 0.0 for s in lay.SITES)})

    def edges(hidden: Hidden) -> dict[tuple[int, ...], tuple[int, ...]]:
        graph = read_graph(noisy(program, hidden, 0.0).detector_error_model(decompose_errors=True))
        return dict(zip(map(tuple, graph.ends.tolist()), graph.labels, strict=True))

    by_pair, by_single = edges(only(seam, pair)), edges(single)
    shared = [k for k in by_pair if k in by_single and by_pair[k] != by_single[k]]
    assert len(shared) >= 4  # one in each merged cycle
    assert all(set(by_pair[k]) ^ set(by_single[k]) == {0} for k in shared)


def test_two_measure_qubits_and_one_pair_of_each_seam_are_hot_at_drawn_places() -> None:
    places = set()
    for seed in range(20):
        hidden = QTYPE.draw(rng(seed), PROFILE)
        for seam in lay.SEAMS:
            terms = hidden.seam(seam)
            hot = [k for k, p in enumerate(terms.sticky_12) if p > 0.02]
            assert hot == [k for k, p in enumerate(terms.sticky_23) if p > 0.012]
            assert len(hot) == 2
            assert sorted(p > 0.01 for p in terms.pair) == [False, True]
            assert max(p for k, p in enumerate(terms.sticky_12) if k not in hot) < 0.05 * COLD * 2
            places.add((seam, tuple(hot), terms.pair[0] > 0.01))
    assert len(places) > 10


def test_element_rates_scatter_around_the_datasheet_and_m_is_worse() -> None:
    draws = [QTYPE.draw(rng(s), PROFILE) for s in range(30)]
    in_m, _ = lay.elements(("M",))
    for kind in ("gate1", "readout", "reset", "idle"):
        table = np.log([getattr(h, kind) for h in draws])
        m = np.isin(np.arange(lay.N_QUBITS), list(in_m))
        assert table[:, ~m].mean() == pytest.approx(np.log(MEDIAN[kind]), abs=0.04)
        assert table[:, m].mean() - table[:, ~m].mean() == pytest.approx(np.log(MEMORY_FACTOR), abs=0.05)
        assert table.std() == pytest.approx(0.35, abs=0.03)


def test_readout_drifts_by_at_most_3_percent_per_hour_and_nothing_else_does() -> None:
    hidden = device().hidden
    before, after = np.array(hidden.readout_at(0.0)), np.array(hidden.readout_at(3600.0))
    np.testing.assert_array_equal(before, hidden.readout)
    change = after / before - 1
    assert 0.02 < np.abs(change).max() <= 0.03
    quiet = hidden.model_copy(update={"readout_drift": (0.0,) * lay.N_QUBITS})
    program = circuits.cnot("z", (0, 0))
    assert noisy(program, quiet, 0.0) == noisy(program, quiet, 3600.0)


# Requests and records


def test_a_record_is_a_pure_function_of_device_clock_and_stream() -> None:
    request = RunCnot(config="bell_zz", inputs=(1, 1), shots=50)
    first, second = (request.run(device(), Clock(10.0), rng(3)).arrays["meas"].values for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (request.run(device(), Clock(10.0), rng(4)).arrays["meas"].values != first).any()


def test_a_record_holds_every_measurement_as_packed_bits_with_zero_padding() -> None:
    record = RunCnot(config="z", shots=200).run(device(), Clock(0.0), rng())
    meas = record.arrays["meas"]
    assert meas.values.dtype == np.uint8
    assert meas.values.shape == (200, 35)
    assert meas.axes == ("shot", "byte")
    assert not (meas.values[:, -1] >> 1).any()  # 273 = 34 * 8 + 1
    assert record.summary["n_measurements"] == 273


def test_virtual_qubits_never_reach_the_record() -> None:
    program = circuits.cnot("z", (0, 0))
    circuit = noisy(program, device().hidden, 0.0)
    assert circuit.num_measurements == program.n_measurements
    measured = [t.value for op in circuit.flattened() if op.name in ("M", "MX") for t in op.targets_copy()]
    public = [t.value for op in program.circuit.flattened() if op.name in ("M", "MX") for t in op.targets_copy()]
    assert measured == public


def test_costs_are_units_jobs_and_lab_time() -> None:
    cost = RunMemory(patch="M", basis="Z", rounds=10, shots=10_000).cost().to_json()
    assert cost["units"] == 12
    assert cost["jobs"] == 1
    assert cost["lab_s"] == pytest.approx(10_000 * (10 * 1.1e-6 + 20e-6) + 5)
    assert RunCnot(config="z", shots=1000).cycles == 9
    assert RunMerge(seam="ZZ", merge_rounds=6, boundary_basis="Z", shots=1).cycles == 8


@pytest.mark.parametrize(
    "model, fields",
    [
        (RunMemory, {"patch": "M", "basis": "Z", "rounds": 26, "shots": 10}),
        (RunMemory, {"patch": "M", "basis": "Z", "rounds": 0, "shots": 10}),
        (RunMemory, {"patch": "M", "basis": "Y", "rounds": 5, "shots": 10}),
        (RunMemory, {"patch": "A", "basis": "Z", "rounds": 5, "shots": 10}),
        (RunMemory, {"patch": "M", "basis": "Z", "rounds": 5, "shots": 100_001}),
        (RunMemory, {"patch": "M", "basis": "Z", "rounds": 5, "shots": 0}),
        (RunMemory, {"patch": "M", "basis": "Z", "rounds": 5, "shots": True}),
        (RunMemory, {"patch": "M", "basis": "Z", "rounds": 5, "shots": "10"}),
        (RunMerge, {"seam": "YY", "merge_rounds": 3, "boundary_basis": "Z", "shots": 10}),
        (RunMerge, {"seam": "ZZ", "merge_rounds": 11, "boundary_basis": "Z", "shots": 10}),
        (RunCnot, {"config": "z", "inputs": [0, 2], "shots": 10}),
        (RunCnot, {"config": "z", "inputs": [0], "shots": 10}),
        (RunCnot, {"config": "z", "inputs": [True, 0], "shots": 10}),
        (RunCnot, {"config": "z", "shots": 10, "noise": 0}),
    ],
)
def test_requests_outside_of_their_bounds_are_refused(model: type, fields: dict) -> None:
    with pytest.raises(ValidationError):
        model.model_validate_json(json.dumps(fields))


def test_the_noiseless_circuit_of_any_request_is_given_within_64_kb() -> None:
    for request in ({"memory": {"patch": "M", "basis": "X", "rounds": 25, "shots": 1}}, {"merge": ALL_REQUESTS[-1].model_dump()}):
        query = NoiselessCircuit.model_validate_json(json.dumps(request))
        query.admit(device().spec)
        answer = query.answer(device(), None, None, rng())
        assert len(json.dumps(answer)) < 64_000
        assert stim.Circuit(answer["circuit"]).num_detectors == answer["n_detectors"]
    with pytest.raises(AgentError, match="exactly one"):
        NoiselessCircuit().admit(device().spec)
    both = {"memory": RunMemory(patch="C", basis="Z", rounds=1, shots=1), "cnot": RunCnot(config="z", shots=1)}
    with pytest.raises(AgentError, match="exactly one"):
        NoiselessCircuit(**both).admit(device().spec)


def test_a_preview_gives_the_error_of_the_record_with_the_submitted_model() -> None:
    dev, request = device(), RunMemory(patch="C", basis="X", rounds=4, shots=4000)
    record = request.run(dev, Clock(0.0), rng(5))
    program = request.program()
    dem = noisy(program, dev.hidden, 0.0).detector_error_model(decompose_errors=True)
    query = DecodePreview(job_id="job-1", dem=str(dem))
    arrays = {k: a.values for k, a in record.arrays.items()}
    answer = query.answer(dev, arrays, request, rng())
    detections, flips = program.detections(arrays["meas"])
    p = float((decode(read_graph(dem), detections) != flips).mean())
    assert answer["logical_error"] == p
    assert answer["standard_error"] == pytest.approx(np.sqrt(p * (1 - p) / 4000))
    assert answer["logical_error_per_cycle"] == pytest.approx((1 - (1 - 2 * p) ** 0.25) / 2)
    assert query.quota() == ("decode_preview/job-1", 1)


@pytest.mark.parametrize(
    "dem, code",
    [
        ("error(0.1) D0 D1 D2\ndetector D31\nlogical_observable L0", "model-detectors-per-component"),
        ("error(0.1) D0", "model-detector-count"),
        ("repeat 1000000000 {\n error(0.1) D0\n}", "model-terms"),
        ("not a model", "model-syntax"),
    ],
)
def test_a_preview_of_a_bad_model_is_refused_by_name(dem: str, code: str) -> None:
    dev, request = device(), RunMemory(patch="C", basis="X", rounds=4, shots=10)
    arrays = {k: a.values for k, a in request.run(dev, Clock(0.0), rng()).arrays.items()}
    with pytest.raises(AgentError) as caught:
        DecodePreview(job_id="job-1", dem=dem).answer(dev, arrays, request, rng())
    assert (caught.value.field, caught.value.code) == ("dem", code)


# What is public


def test_nothing_public_depends_on_the_device() -> None:
    first, second = device(1), device(2)
    assert first.spec == second.spec
    assert QTYPE.materials(first.spec, PROFILE) == QTYPE.materials(second.spec, PROFILE)
    book = [QTYPE.notebook(d.hidden, rng(3), PROFILE, TODAY) for d in (first, second)]
    assert book[0] == book[1]  # the calibration is of an earlier cooldown


def test_materials_hold_layout_datasheet_rule_and_standard_circuits() -> None:
    found = {m.name: m.text for m in QTYPE.materials(device().spec, PROFILE)}
    layout = json.loads(found["layout.json"])
    assert len(layout["qubits"]) == 114
    assert len(layout["couplers"]) == 184
    assert json.loads(found["datasheet.json"])["medians"] == MEDIAN
    assert found["cnot_x_01.stim"] == circuits.cnot("x", (0, 1)).text
    assert sum(n.endswith(".stim") for n in found) == 8 + 4 + 8
    for name, text in found.items():
        if name.endswith(".stim"):
            assert "ERROR" not in text
            assert "DEPOLARIZE" not in text


def test_the_notebook_dates_its_calibration_19_days_back_and_leaves_the_seams_out() -> None:
    entries = QTYPE.notebook(device().hidden, rng(3), PROFILE, TODAY).entries
    calibration = next(e for e in entries if e.data)
    assert (TODAY - calibration.date).days == 19
    assert [e.date for e in entries] == sorted(e.date for e in entries)
    assert calibration.data is not None
    rates = calibration.data["rates"]
    seam = {str(lay.INDEX[s]) for m in lay.SEAMS for s in (*lay.SEAM_DATA[m], *lay.SEAM_CHECKS[m])}
    assert not seam & set(rates["readout"])
    assert len(rates["readout"]) == 100
    assert not any(seam & set(pair.split("-")) for pair in rates["gate2"])
    assert "stick" not in json.dumps(calibration.data)


def test_hidden_state_survives_json() -> None:
    hidden = device().hidden
    assert Hidden.model_validate_json(hidden.model_dump_json()) == hidden


@pytest.mark.slow
def test_a_job_takes_at_most_half_as_long_again_as_raw_sampling() -> None:
    dev, request = device(), RunCnot(config="z", shots=100_000)
    circuit = noisy(request.program(), dev.hidden, 0.0)

    def fastest(work: object) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            work()  # type: ignore[operator]
            times.append(time.process_time() - start)
        return min(times)

    raw = fastest(lambda: circuit.compile_sampler(seed=1).sample_bit_packed(100_000))
    assert fastest(lambda: request.run(dev, Clock(0.0), rng())) < 1.5 * raw
