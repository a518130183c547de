"""surface_code_memory: layout, circuits, noise, drift, bursts, records, what is public."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math

import numpy as np
import pytest
import stim

import qtypes
from lab.conventions import decode, read_graph, unpack_bits
from qtypes import AgentError, Clock, Device
from qtypes.errors import TaskError
from qtypes.kit.rotated_memory import memory, neighbour_pairs
from qtypes.kit.stim_circuits import PauliNoise, Program, sample_detections
from qtypes.surface_code_memory import device as dev
from qtypes.surface_code_memory.experiments import NoiselessCircuit, RunMemory, RunReadoutCal
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import burst_circuit, depolarised, in_burst, mixture, noise_at, quiet_circuit

QTYPE = qtypes.load("surface_code_memory")
PROFILE = QTYPE.read_profile({})
BURSTS = QTYPE.read_profile({"bursts": True, "crosstalk_pairs": 0, "notebook": "averaging"})
CHIP = layout(5)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def hidden_of(seed: int = 1, profile: dev.Profile = PROFILE) -> dev.Hidden:
    return QTYPE.draw(rng(seed), profile)


def device_of(hidden: dev.Hidden | None = None, profile: dev.Profile = PROFILE) -> Device:
    hidden = hidden or hidden_of(1, profile)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def uniform(size: int = 5, wait: float = 0.0, **rates: float) -> dev.Hidden:
    """Every element alike; no crosstalk, drift or bursts."""
    chip = layout(size)
    n = {"gate1": chip.n_qubits, "gate2": len(chip.couplers), "readout": chip.n_qubits, "reset": chip.n_qubits, "idle": len(chip.data)}
    tables = {k: (rates.get(k, dev.MEDIAN[k]),) * count for k, count in n.items()}
    return dev.Hidden(**tables, wait=(wait,) * len(chip.data), crosstalk=(), drift=(), bursts=None)


def strengths(dem: stim.DetectorErrorModel) -> np.ndarray:
    """`(n, n)`: sum over independent errors of -log(1-2p)/2, of those that flip a detector (diagonal) or both of two."""
    s = np.zeros((dem.num_detectors,) * 2)
    for item in dem.flattened():
        if item.type == "error":
            flipped = sorted({t.val for t in item.targets_copy() if t.is_relative_detector_id()})
            s[np.ix_(flipped, flipped)] += -0.5 * math.log1p(-2 * item.args_copy()[0])
    return s


def covariances(dem: stim.DetectorErrorModel) -> np.ndarray:
    """Exact covariances of detection events of independent errors."""
    s = strengths(dem)
    t = np.diag(s)
    odd = 0.5 * (1 - np.exp(-2 * (t[:, None] + t[None] - 2 * s)))
    p = 0.5 * (1 - np.exp(-2 * t))
    return 0.5 * (p[:, None] + p[None] - odd) - np.outer(p, p)


def rates_of(circuit: stim.Circuit) -> np.ndarray:
    """Exact detection rates."""
    return 0.5 * (1 - np.exp(-2 * np.diag(strengths(circuit.detector_error_model()))))


# Layout and circuits


@pytest.mark.parametrize("size, qubits, couplers", [(5, 49, 80), (7, 97, 168), (9, 161, 288)])
def test_the_grid_has_the_elements_of_its_full_patch(size: int, qubits: int, couplers: int) -> None:
    chip = layout(size)
    assert (chip.n_qubits, len(chip.couplers), len(chip.data), len(chip.measure)) == (qubits, couplers, size**2, size**2 - 1)
    assert len(chip.data_pairs) == 2 * size * (size - 1)
    assert sum(map(chip.along_a_row, chip.data_pairs)) == size * (size - 1)


@pytest.mark.parametrize("size", [5, 9])
def test_every_odd_rectangle_on_the_grid_is_admitted_and_deterministic(size: int) -> None:
    spec = QTYPE.spec(hidden_of(), QTYPE.read_profile({"size": size}))
    for row, col, rows, cols in [(0, 0, 3, 5), (1, 0, 3, 3), (0, 1, 5, 3), (2, 1, 3, 3), (size - 3, size - 3, 3, 3)]:
        if max(row + rows, col + cols) <= size:
            request = RunMemory(origin=(row, col), rows=rows, cols=cols, basis="X", rounds=3, shots=1)
            request.admit(spec)
            request.program(size).circuit.detector_error_model()  # raises where a detector is random


@pytest.mark.parametrize("rows, cols", [(3, 3), (5, 5), (7, 7), (3, 7), (5, 3)])
def test_the_distance_is_the_number_of_columns_in_z_and_of_rows_in_x(rows: int, cols: int) -> None:
    hidden = uniform(7)
    for basis, distance in (("Z", cols), ("X", rows)):
        circuit = quiet_circuit(program(7, 0, 0, rows, cols, basis, 3), noise_at(hidden, layout(7), 0.0))
        assert len(circuit.shortest_graphlike_error(ignore_ungraphlike_errors=True)) == distance


@pytest.mark.parametrize("basis", ["Z", "X"])
def test_a_pair_error_along_the_logical_operator_shortens_the_distance(basis: str) -> None:
    along_row = basis == "Z"
    line = [p for p in CHIP.data_pairs if CHIP.along_a_row(p) == along_row and CHIP.sites[p[0]][0 if along_row else 1] == 2.0]
    pauli = "X" if basis == "Z" else "Z"
    pairs = tuple(dev.Crosstalk(a=a, b=b, pauli=pauli, rate=0.01) for a, b in (line[0], line[2]))
    hidden = uniform().model_copy(update={"crosstalk": pairs})
    circuit = quiet_circuit(program(5, 0, 0, 5, 5, basis, 3), noise_at(hidden, CHIP, 0.0))
    assert len(circuit.shortest_graphlike_error(ignore_ungraphlike_errors=True)) == 3


EQUAL = {
    "after_clifford_depolarization": 4e-3, "after_reset_flip_probability": 3e-3, "before_measure_flip_probability": 6e-3,
    "before_round_data_depolarization": 3e-3,
}  # fmt: skip


@pytest.mark.parametrize("basis", ["Z", "X"])
def test_uniform_noise_reproduces_the_rotated_memory_that_stim_generates(basis: str) -> None:
    """Same operations, another order of CX: detection rates equal, logical error within 5 % (1.5 % standard error)."""
    hidden = uniform(3 + 2, gate1=4e-3, gate2=4e-3, readout=6e-3, reset=3e-3, idle=3e-3)
    ours = quiet_circuit(program(5, 0, 0, 3, 3, basis, 6), noise_at(hidden, CHIP, 0.0))
    theirs = stim.Circuit.generated(f"surface_code:rotated_memory_{basis.lower()}", distance=3, rounds=6, **EQUAL)
    assert rates_of(ours).mean() == pytest.approx(rates_of(theirs).mean(), rel=2e-3)
    errors = []
    for seed, circuit in enumerate((ours, theirs)):
        detections, flips = sample_detections(circuit, 150_000, seed)
        predicted = decode(read_graph(circuit.detector_error_model(decompose_errors=True)), detections)
        failed = float(unpack_bits(predicted ^ flips, 1).mean())
        errors.append((1 - (1 - 2 * failed) ** (1 / 6)) / 2)
    assert errors[0] == pytest.approx(errors[1], rel=0.05)


def test_noise_by_cycle_equals_plain_noise_where_it_is_constant() -> None:
    p, noise = program(5, 0, 0, 5, 3, "X", 5), noise_at(hidden_of(), CHIP, 0.0)
    assert rates_of(p.dress_cycles(lambda k: noise.scene)) == pytest.approx(rates_of(quiet_circuit(p, noise)), rel=1e-9)


def test_a_cycle_with_other_noise_moves_only_detectors_that_look_at_it() -> None:
    p = program(5, 0, 0, 3, 3, "Z", 8)
    quiet, loud = noise_at(uniform(), CHIP, 0.0), noise_at(uniform(readout=0.1), CHIP, 0.0)
    found = rates_of(p.dress_cycles(lambda k: (loud if k == 4 else quiet).scene))
    where = p.circuit.get_detector_coordinates()
    changed = {where[d][2] for d in np.flatnonzero(found > rates_of(quiet_circuit(p, quiet)) * 1.001)}
    assert changed == {4, 5}


def test_the_kit_takes_another_way_of_entangling() -> None:
    written: list[int] = []
    index = CHIP.index

    def no_gates(w: object, checks: dict, sites: dict) -> None:
        written.append(len(checks))

    p = memory(index, 0, 0, 3, 3, "Z", 2, entangle=no_gates)
    assert written == [8, 8]
    assert "CX" not in p.text
    assert len(neighbour_pairs(0, 0, 3, 5)) == 3 * 4 + 2 * 5


# The identity that fits rest on


def test_the_pair_identity_is_exact_with_hyperedges() -> None:
    """t_i + t_j - t_ij = 2 x sum of strengths of the errors that flip both, by enumeration of all error patterns."""
    g = rng(5)
    errors = [(tuple(g.choice(5, size=int(g.integers(1, 5)), replace=False)), float(g.uniform(0.01, 0.2))) for _ in range(11)]
    odd = np.zeros((5, 5))
    for pattern in itertools.product((0, 1), repeat=len(errors)):
        weight, events = 1.0, np.zeros(5, dtype=int)
        for on, (flips, p) in zip(pattern, errors, strict=True):
            weight *= p if on else 1 - p
            events[list(flips)] ^= on
        odd += weight * (events[:, None] ^ events[None])
        odd[np.diag_indices(5)] += weight * events
    t = -0.5 * np.log1p(-2 * odd)
    for i, j in itertools.combinations(range(5), 2):
        both = sum(-0.5 * math.log1p(-2 * p) for flips, p in errors if i in flips and j in flips)
        assert t[i, i] + t[j, j] - t[i, j] == pytest.approx(2 * both, abs=1e-12)


def test_sampled_shots_obey_the_pair_identity() -> None:
    hidden, n = hidden_of(3), 60_000
    circuit = quiet_circuit(program(5, 0, 0, 3, 3, "Z", 4), noise_at(hidden, CHIP, 0.0))
    expected = covariances(circuit.detector_error_model())
    packed, _ = sample_detections(circuit, n, 4)
    found = np.cov(unpack_bits(packed, circuit.num_detectors).T.astype(float))
    p = rates_of(circuit)
    pull = (found - expected) / np.sqrt((np.outer(p, p) + np.abs(expected)) / n)
    assert np.abs(pull).max() < 5.5
    assert pull.std() < 1.2


# Drift, waits, bursts


def test_drifting_elements_have_trebled_after_their_time_and_the_others_stay() -> None:
    drift = (dev.Drift(kind="gate2", element=7, minutes=50.0), dev.Drift(kind="idle", element=3, minutes=80.0))
    hidden = uniform().model_copy(update={"drift": drift})
    then = noise_at(hidden, CHIP, 50 * 60).pauli
    assert then.gate2[CHIP.couplers[7]] == pytest.approx(3 * dev.MEDIAN["gate2"])
    assert then.idle[CHIP.data[3]] == pytest.approx(dev.MEDIAN["idle"] * (1 + 2 * 50 / 80))
    assert then.gate2[CHIP.couplers[8]] == dev.MEDIAN["gate2"]
    assert noise_at(hidden, CHIP, 1e9).pauli.gate2[CHIP.couplers[7]] == dev.RATE_CAP


def test_waiting_composes_with_idling_like_two_depolarising_channels() -> None:
    waiting = noise_at(uniform(wait=2e-3), CHIP, 0.0, wait_us=7.0).pauli.idle[CHIP.data[0]]
    contrast = (1 - 4 / 3 * dev.MEDIAN["idle"]) * math.exp(-4 / 3 * 2e-3 * 7)
    assert waiting == pytest.approx(0.75 * (1 - contrast), rel=1e-12)
    assert depolarised(0.0, 0.1) == pytest.approx(0.1)


BURST = dev.Bursts(probability=1.0, factor=15.0, cycles=3, centres=((1.0, 1.0),))


def test_a_burst_raises_what_touches_its_region_and_nothing_else() -> None:
    quiet = noise_at(uniform(), CHIP, 0.0)
    loud = in_burst(quiet, CHIP, BURST, (1.0, 1.0)).pauli
    near = {q for q, (r, c) in enumerate(CHIP.sites) if math.hypot(r - 1, c - 1) <= 1.2}
    assert len(near) == 9  # the data qubit, its four neighbours and four measure qubits
    for q in range(CHIP.n_qubits):
        assert loud.readout[q] / quiet.pauli.readout[q] == pytest.approx(15.0 if q in near else 1.0)
    for a, b in CHIP.couplers:
        assert loud.gate2[a, b] / quiet.pauli.gate2[a, b] == pytest.approx(15.0 if {a, b} & near else 1.0)


def test_a_burst_is_seen_in_its_cycles_and_its_region_only() -> None:
    p, quiet = program(5, 0, 0, 5, 5, "Z", 10), noise_at(uniform(), CHIP, 0.0)
    burst = in_burst(quiet, CHIP, BURST, (1.0, 1.0))
    ratio = rates_of(burst_circuit(p, quiet, burst, 4, 3)) / rates_of(quiet_circuit(p, quiet))
    for d, (r, c, t) in p.circuit.get_detector_coordinates().items():
        distance = math.hypot(r - 1, c - 1)
        if 4 < t < 7 and distance < 1:
            assert ratio[d] > 5
        if t < 4 or t > 7 or distance > 3:  # the last burst cycle leaves readout and idle errors to the next detectors
            assert ratio[d] == pytest.approx(1.0, abs=1e-9)


def event_dispersion(hidden: dev.Hidden, profile: dev.Profile) -> float:
    """Variance of the number of detection events per shot over that of independent errors with the quiet rates."""
    device = device_of(hidden, profile)
    request = RunMemory(rows=5, cols=5, basis="Z", rounds=10, shots=20_000)
    p = request.program(5)
    detections, _ = p.detections(request.run(device, Clock(0.0), rng(7)).arrays["meas"].values)
    counts = unpack_bits(detections, p.n_detectors).sum(axis=1)
    expected = covariances(quiet_circuit(p, noise_at(hidden, CHIP, 0.0)).detector_error_model()).sum()
    return float(counts.var() / expected)


def test_shots_do_not_cluster_without_bursts() -> None:
    """The index of dispersion, relative to independent errors, is 1 (standard error sqrt(2 / 20000) = 0.01 for a Gaussian count)."""
    hidden = hidden_of(2, BURSTS)
    assert event_dispersion(hidden.model_copy(update={"bursts": None}), BURSTS) == pytest.approx(1.0, abs=0.06)
    assert event_dispersion(hidden, BURSTS) > 1.3


def test_a_mixture_holds_each_burst_with_its_probability() -> None:
    hidden = hidden_of(2, BURSTS)
    p = program(5, 0, 0, 5, 5, "Z", 6)
    m = mixture(p, hidden, CHIP, 6, 0.0)
    assert hidden.bursts is not None
    begun = [o for o in dev.BURST_ONSETS if o < 6]
    assert len(m.circuits) == 1 + len(begun) * dev.BURST_CENTRES
    assert sum(m.weights) == pytest.approx(1.0)
    assert 1 - m.weights[0] == pytest.approx(hidden.bursts.probability * len(begun) / len(dev.BURST_ONSETS))
    bits = m.measurements(3000, rng())
    events = unpack_bits(p.detections(bits)[0], p.n_detectors).sum(axis=1)
    first, second = events[:1500].mean(), events[1500:].mean()
    assert first == pytest.approx(second, abs=6 * events.std() / math.sqrt(1500))  # shuffled: bursts are everywhere in the record


# Records, requests, what is public


def test_records_show_the_exact_detection_rates_of_the_device() -> None:
    hidden, request = hidden_of(4), RunMemory(rows=5, cols=5, basis="X", rounds=6, shots=20_000, wait_us=3.0)
    record = request.run(device_of(hidden), Clock(100.0), rng())
    p = request.program(5)
    found = unpack_bits(p.detections(record.arrays["meas"].values)[0], p.n_detectors).mean(axis=0)
    expected = rates_of(quiet_circuit(p, noise_at(hidden, CHIP, 100.0, 3.0)))
    assert np.abs((found - expected) / np.sqrt(expected / 20_000)).max() < 5
    assert rates_of(quiet_circuit(p, noise_at(hidden, CHIP, 100.0))).mean() < 0.95 * expected.mean()


def test_blocks_carry_the_lab_time_and_a_delay_moves_the_device_on() -> None:
    hidden, device = hidden_of(4), device_of(hidden_of(4))
    request = RunMemory(rows=3, cols=3, basis="Z", rounds=10, shots=2500, delay_s=1800.0)
    record = request.run(device, Clock(10.0), rng())
    shot_s = 10 * 1.1e-6 + 20e-6
    assert record.arrays["lab_time_s"].values == pytest.approx([1810.0, 1810.0 + 1000 * shot_s, 1810.0 + 2000 * shot_s])
    assert float(request.cost().lab_s) == pytest.approx(2500 * shot_s + 5 + 1800)
    assert float(request.cost().amounts["units"]) == pytest.approx(4.5)
    later = RunMemory(rows=3, cols=3, basis="Z", rounds=10, shots=2500).run(device, Clock(1810.0), rng())
    assert (later.arrays["meas"].values == record.arrays["meas"].values).all()
    assert noise_at(hidden, CHIP, 1810.0) != noise_at(hidden, CHIP, 10.0)


def test_readout_calibration_counts_flips_of_both_states() -> None:
    hidden = uniform(readout=0.05, reset=0.03, gate1=0.02)
    request = RunReadoutCal(qubits=(4, 9, 11), shots=60_000)
    bits = request.run(device_of(hidden), Clock(0.0), rng()).arrays["bits"].values
    zero, one = (unpack_bits(b, 3).mean() for b in bits)
    base = 0.05 * 0.97 + 0.03 * 0.95
    pulse = 2 / 3 * 0.02
    assert zero == pytest.approx(base, abs=0.003)
    assert 1 - one == pytest.approx(base * (1 - pulse) + pulse * (1 - base), abs=0.003)
    assert float(request.cost().amounts["units"]) == pytest.approx(122)


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"rows": 4}, "rows"), ({"cols": 4}, "cols"), ({"origin": (1, 0)}, "origin.0"), ({"origin": (0, 3), "cols": 3}, "origin.1"),
    ],
)  # fmt: skip
def test_patches_that_do_not_fit_are_refused_by_field(fields: dict, field: str) -> None:
    request = RunMemory(**{"rows": 5, "cols": 5, "basis": "Z", "rounds": 2, "shots": 1, **fields})
    with pytest.raises(AgentError) as refusal:
        request.admit(device_of().spec)
    assert refusal.value.field == field


@pytest.mark.parametrize("qubits", [(0, 49), (3, 3)])
def test_readout_calibration_refuses_strange_qubits(qubits: tuple) -> None:
    with pytest.raises(AgentError):
        RunReadoutCal(qubits=qubits, shots=1).admit(device_of().spec)


def test_the_noiseless_circuit_is_that_of_the_request() -> None:
    query = NoiselessCircuit.examples(device_of().spec)[0]
    answer = query.answer(device_of(), None, None, rng())
    assert answer["circuit"] == query.memory.program(5).text
    assert "DEPOLARIZE" not in answer["circuit"]
    assert Program(answer["circuit"]).n_detectors == answer["n_detectors"]


def test_draws_hold_what_the_profile_asks_for() -> None:
    for seed in range(20):
        hidden = hidden_of(seed)
        kinds = [(c.pauli, CHIP.along_a_row((c.a, c.b))) for c in hidden.crosstalk]
        assert len(kinds) == 5
        assert len({(c.a, c.b) for c in hidden.crosstalk}) == 5
        assert kinds.count(("X", True)) >= 2  # along X_L: they hurt basis Z
        assert kinds.count(("Z", False)) >= 2  # along Z_L: they hurt basis X
        assert sum(p > 3 * dev.MEDIAN["gate2"] for p in hidden.gate2) >= 3
        assert len(hidden.drift) == 2
        assert hidden.bursts is None
    assert hidden_of(1, BURSTS).crosstalk == ()
    assert hidden_of(1, BURSTS).bursts is not None


def test_the_element_table_names_other_elements_than_those_that_are_bad_now() -> None:
    overlaps = []
    for seed in range(30):
        hidden = hidden_of(seed)
        entries = QTYPE.notebook(hidden, rng(seed + 500), PROFILE, dt.date(2026, 3, 1)).entries
        data = entries[0].data
        assert data is not None
        assert (dt.date(2026, 3, 1) - entries[0].date).days == 12
        assert [len(data["bad"][k]) for k in ("gate2", "readout")] == [4, 4]
        assert "pair" not in json.dumps(data)
        now = {f"{a}-{b}" for (a, b), p in zip(CHIP.couplers, hidden.gate2, strict=True) if p > 4 * dev.MEDIAN["gate2"]}
        overlaps.append(len(now & set(data["bad"]["gate2"])))
    assert np.mean(overlaps) < 1  # 4 of 80 drawn anew


RACE = QTYPE.read_profile({"size": 9, "bad_couplers": 16, "bad_readouts": 12, "crosstalk_pairs": 14, "wait": 6e-3, "notebook": "rewired"})


def test_the_table_before_the_rewiring_is_that_of_now_but_a_row_off() -> None:
    """Readout and couplers only; what was marked as bad is bad now one row further down."""
    chip, hidden = layout(9), hidden_of(4, RACE)
    book = QTYPE.notebook(hidden, rng(504), RACE, dt.date(2026, 3, 1)).entries
    assert [(dt.date(2026, 3, 1) - e.date).days for e in book] == [12, 11, 5]
    table, bad = (book[0].data or {})["rates"], book[0].data["bad"]  # type: ignore[index]
    for kind in ("gate1", "reset", "idle"):
        names = chip.data if kind == "idle" else range(chip.n_qubits)
        assert [table[kind][str(q)] for q in names] == pytest.approx(getattr(hidden, kind), rel=0.3)
    then = {chip.sites[q]: table["readout"][str(q)] for q in chip.measure}
    now = {chip.sites[q]: hidden.readout[q] for q in chip.measure}
    for row in np.arange(0.5, 7.0):
        before, after = ([v for (r, _), v in sorted(t.items()) if r == y] for t, y in ((then, row), (now, row + 1)))
        assert before == pytest.approx(after, rel=0.3)
    assert sorted(table["gate2"].values()) == pytest.approx(sorted(hidden.gate2), rel=0.3)
    before_and_now = [(table["gate2"][f"{a}-{b}"], p) for (a, b), p in zip(chip.couplers, hidden.gate2, strict=True)]
    assert abs(np.corrcoef(np.log(before_and_now).T)[0, 1]) < 0.3
    assert len(bad["readout"]) >= 8
    assert len(bad["gate2"]) >= 12
    plan = book[1].data
    assert plan == {"origin": [1, 1], "rows": 7, "cols": 7, "cycles": 54, "wait_us": 0.0}
    assert "row" in book[2].text


def test_the_wait_of_a_profile_scales_waiting_and_nothing_else() -> None:
    slow, fast = (hidden_of(3, PROFILE.model_copy(update={"wait": w})) for w in (2e-3, 6e-3))
    assert fast.wait == pytest.approx([3 * w for w in slow.wait])
    assert fast.model_copy(update={"wait": slow.wait}) == slow == hidden_of(3)
    assert QTYPE.spec(fast, RACE).datasheet.wait == 6e-3


def test_the_race_has_a_practice_instance_and_other_tasks_have_none() -> None:
    assert QTYPE.practice(RACE) == QTYPE.practice(RACE)
    assert sum(p > 4 * dev.MEDIAN["gate2"] for p in QTYPE.practice(RACE).gate2) >= 12
    with pytest.raises(TaskError):
        QTYPE.practice(PROFILE)


def test_materials_are_public_and_whole() -> None:
    found = {m.name: m.text for m in QTYPE.materials(device_of().spec, PROFILE)}
    content = json.loads(found["layout.json"])
    assert len(content["qubits"]) == 49
    assert len(content["couplers"]) == 80
    assert len(content["full_patch_checks"]) == 24
    assert found["memory_d5_X_r12.stim"] == program(5, 0, 0, 5, 5, "X", 12).text
    noise = PauliNoise([0.0] * 49, dict.fromkeys(CHIP.couplers, 0.0), [0.0] * 49, [0.0] * 49, [0.0] * 49)
    assert not rates_of(Program(found["memory_d5_Z_r20.stim"]).dress(noise)).any()


def test_hidden_state_survives_json() -> None:
    hidden = hidden_of(1, BURSTS)
    assert dev.Hidden.model_validate_json(hidden.model_dump_json()) == hidden
