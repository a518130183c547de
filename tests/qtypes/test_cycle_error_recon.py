"""cycle_error_recon against closed forms, a stim circuit with the same Pauli channels, and qiskit-aer density matrices."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
import stim

from qtypes import AgentError, Clock, Device, seeds
from qtypes.cycle_error_recon import QTYPE, Hidden, Profile, RunCycleSequence, RunReadoutReference
from qtypes.cycle_error_recon.device import FAR, HELD_OUT, Modulation
from qtypes.cycle_error_recon.physics import (
    EDGES,
    N_QUBITS,
    N_SETS,
    WALSH,
    anticommutes,
    class_of,
    classes,
    label,
    masks,
    on,
    orbit_decay,
    orbit_infidelity,
    parities,
    prepared,
    read,
    sampled,
    through,
)

PROFILE = Profile()
HIDDEN: Hidden = QTYPE.draw(seeds.generator(seeds.root_from(b"cycle"), "device"), PROFILE)
DEVICE = Device(QTYPE.spec(HIDDEN, PROFILE), HIDDEN, PROFILE)
EVERYTHING = [label(x, z) for x in range(N_SETS) for z in range(N_SETS)]


def rng(name: str) -> np.random.Generator:
    return seeds.generator(seeds.root_from(b"test"), name)


def with_changes(**changes: Any) -> Hidden:
    return Hidden.model_validate(HIDDEN.model_dump() | changes)


def quiet(**changes: Any) -> Hidden:
    """Perfect preparation and readout."""
    none = (0.0,) * N_QUBITS
    joint = tuple({"qubits": j.qubits, "probability": 0.0} for j in HIDDEN.joint_flips)
    return with_changes(preparation_error=none, false_1=none, false_0=none, joint_flips=joint, **changes)


def test_labels_and_masks_are_inverse() -> None:
    x, z = masks(EVERYTHING)
    assert [label(a, b) for a, b in zip(x, z, strict=True)] == EVERYTHING


def test_the_cycle_maps_paulis_as_stim_does() -> None:
    cycle = stim.Tableau.from_circuit(stim.Circuit("CZ 0 1 2 3\nI 4"))
    for pauli in EVERYTHING:
        (x, z), sign = through(masks(pauli))
        image = cycle(stim.PauliString(pauli))
        assert (label(int(x), int(z)).replace("I", "_"), int(sign)) == (str(image)[1:], int(image.sign.real))


def test_there_are_93_classes_and_each_is_one_orbit() -> None:
    few = [p for p in EVERYTHING if 1 <= N_QUBITS - p.count("I") <= 2]
    assert len(classes()) == 93
    assert {class_of(p) for p in few} == set(classes())
    assert class_of("XIIII") == ("XIIII", "XZIII")
    assert class_of("ZIIZI") == ("ZIIZI",)


def test_fidelities_are_those_of_the_lindblad_equation() -> None:
    """f_P = exp(-2 sum_k lambda_k <P, k>) after one cycle, seen as the parity of C(P)."""
    generators, rates = HIDDEN.noise(EDGES)
    for pauli in ("ZIIII", "IZZIZ", "ZZZZZ"):
        expected = np.exp(-2 * rates @ anticommutes(masks(pauli), generators)[0])
        support = sum(1 << q for q, c in enumerate(pauli) if c != "I")
        assert parities("ZZZZZ", "ZZZZZ", 1, EDGES, generators, rates)[support] == pytest.approx(expected, rel=1e-12)


def test_even_depths_measure_the_product_of_a_pair_and_only_the_summed_rate_of_a_class() -> None:
    generators, rates = HIDDEN.noise(EDGES)
    factor = float(HIDDEN.modulation.at(0.0))
    names = [label(*p) for p in zip(*on("XYZXY", np.arange(N_SETS)), strict=True)]
    for depth in (2, 24, 64):
        expected = np.exp(-depth * orbit_decay(names, HIDDEN.class_rates(factor)))
        assert parities("XYZXY", "XYZXY", depth, EDGES, generators, rates) == pytest.approx(expected, rel=1e-10)
    moved = masks([label(*p) for p in zip(*through(generators)[0], strict=True)])  # every error replaced by its partner
    assert parities("XYZXY", "XYZXY", 24, EDGES, moved, rates) == pytest.approx(
        parities("XYZXY", "XYZXY", 24, EDGES, generators, rates), rel=1e-12
    )
    once = [parities("ZZXXZ", "ZYYYZ", 1, EDGES, g, rates) for g in (generators, moved)]
    assert np.abs(once[0] - once[1]).max() > 1e-5  # a single cycle does tell partners apart


def test_without_noise_every_parity_of_the_right_axes_is_one() -> None:
    generators, rates = HIDDEN.noise(EDGES)
    assert parities("XYZZY", "XYZZY", 10, EDGES, generators, 0 * rates) == pytest.approx(np.ones(N_SETS))
    x_parity = parities("XXZZZ", "YYZZZ", 1, EDGES, generators, 0 * rates)
    assert x_parity[0b11] == 1  # C (X X) C = Y Y
    assert parities("XYZZZ", "YXZZZ", 1, EDGES, generators, 0 * rates)[0b11] == -1  # C (X Y) C = -Y X
    assert orbit_infidelity(np.zeros(93)) == 0.0


def test_at_depth_zero_there_is_only_spam() -> None:
    shots = 1000
    request = RunCycleSequence(prep_axes="XYZXY", meas_axes="XYZXY", depths=(0,), twirls=100, shots_per_twirl=100)
    loud = Device(DEVICE.spec, with_changes(single=({"pauli": "XIIII", "rate": 0.5},)), PROFILE)
    bits = request.run(loud, Clock(0.0), rng("spam")).arrays["bits"].values
    p, a, b = (np.array(v) for v in (HIDDEN.preparation_error, HIDDEN.false_1, HIDDEN.false_0))
    keep = np.prod([[1 - 2 * j.probability * (q in j.qubits) for q in range(N_QUBITS)] for j in HIDDEN.joint_flips], axis=0)
    expected = (1 - (1 - 2 * p) * (1 - a - b) * keep) / 2
    # a frame of its own in each of 100 twirls leaves (b - a) / 2 of asymmetry per twirl
    assert np.abs(bits.mean(axis=(0, 1, 2)) - expected).max() < 5 * np.hypot(0.3 / np.sqrt(10 * shots), 0.02 / np.sqrt(100))


def test_the_frame_tells_which_readout_error_counted() -> None:
    request = RunCycleSequence(prep_axes="ZZZZZ", meas_axes="ZZZZZ", depths=(0,), twirls=20, shots_per_twirl=1000)
    sure = Device(DEVICE.spec, quiet().model_copy(update={"false_0": (0.2,) * N_QUBITS}), PROFILE)
    arrays = request.run(sure, Clock(0.0), rng("frame")).check().arrays
    wrong = arrays["bits"].values.mean(axis=2)
    frame = arrays["frame"].values
    assert 30 < frame.sum() < 70
    assert wrong[frame == 0].max() == 0.0
    assert wrong[frame == 1] == pytest.approx(np.full(frame.sum(), 0.2), abs=5 * 0.4 / np.sqrt(1000))


def test_readout_reference_shows_asymmetry_and_both_correlated_pairs() -> None:
    request = RunReadoutReference(states=("00000", "11111"), shots=10_000)
    joint = tuple({"qubits": j.qubits, "probability": 0.1} for j in HIDDEN.joint_flips)
    loud = Device(DEVICE.spec, with_changes(joint_flips=joint), PROFILE)
    silent = Device(DEVICE.spec, quiet(), PROFILE)
    plain, strong, single = (request.run(d, Clock(0.0), rng("reference")).arrays["bits"].values for d in (silent, loud, DEVICE))
    assert (plain[0] == 0).all()
    assert (plain[1] == 1).all()
    wrong = strong ^ np.array([0, 1], dtype=np.uint8)[:, None, None]
    covariance = np.cov(wrong[0].T)
    by_size = sorted(((covariance[a, b], (a, b)) for a in range(N_QUBITS) for b in range(a)), reverse=True)
    assert {tuple(sorted(pair)) for _, pair in by_size[:2]} == {tuple(sorted(j.qubits)) for j in HIDDEN.joint_flips}
    p, a, b = (np.array(v) for v in (HIDDEN.preparation_error, HIDDEN.false_1, HIDDEN.false_0))
    for state, (here, there) in enumerate(((a, b), (b, a))):
        alone = (1 - p) * here + p * (1 - there)
        for j in HIDDEN.joint_flips:
            hit = np.array([j.probability * (q in j.qubits) for q in range(N_QUBITS)])
            alone = alone * (1 - hit) + (1 - alone) * hit
        assert (single[state] != state).mean(axis=0) == pytest.approx(alone, abs=5 * 0.25 / np.sqrt(10_000))


def noisy_circuit(depth: int, prep: str, meas: str, hidden: Hidden) -> stim.Circuit:
    """The same cycle in stim: one independent correlated error of probability (1 - exp(-2 lambda)) / 2 for each generator."""
    generators, rates = hidden.noise(EDGES)
    text = [f"R{'' if c == 'Z' else c} {q}" for q, c in enumerate(prep)]
    for q, (c, p) in enumerate(zip(prep, hidden.preparation_error, strict=True)):
        text.append(f"{'X' if c == 'Z' else 'Z'}_ERROR({p}) {q}")
    noise = [
        f"E({(1 - np.exp(-2 * r)) / 2}) " + " ".join(f"{c}{q}" for q, c in enumerate(label(x, z)) if c != "I")
        for x, z, r in zip(*generators, rates, strict=True)
    ]
    for _ in range(depth):
        text += [*noise, "CZ 0 1 2 3"]
    return stim.Circuit("\n".join([*text, *(f"M{'' if c == 'Z' else c} {q}" for q, c in enumerate(meas))]))


@pytest.mark.parametrize(
    ("depth", "prep", "meas"),
    [(2, "XYZXY", "XYZXY"), (16, "YXXZX", "YXXZX"), (3, "XXXYZ", "YYXYZ"), (5, "XZYZX", "XZYZX"), (4, "XXZZY", "XZZZY")],
)
def test_sampled_decays_agree_with_a_stim_circuit(depth: int, prep: str, meas: str) -> None:
    shots = 60_000
    generators, rates = HIDDEN.noise(EDGES)
    exact = parities(prep, meas, depth, EDGES, generators, rates) * prepared(prep, meas, depth, EDGES, np.array(HIDDEN.preparation_error))
    theirs = noisy_circuit(depth, prep, meas, HIDDEN).compile_sampler(seed=7).sample(shots)
    ours = sampled(rng("stim"), exact, shots)
    for bits in (theirs, ours):
        mean = WALSH @ np.bincount((bits.astype(int) << np.arange(N_QUBITS)).sum(axis=1), minlength=N_SETS) / shots
        assert np.abs(mean - exact).max() < 5 / np.sqrt(shots)


@pytest.mark.parametrize(("depth", "prep", "meas"), [(2, "XYZXY", "XYZXY"), (3, "XXYZX", "YYYZX")])
def test_exact_parities_agree_with_qiskit_aer(depth: int, prep: str, meas: str) -> None:
    qiskit, aer = pytest.importorskip("qiskit"), pytest.importorskip("qiskit_aer")
    from qiskit.quantum_info import Pauli
    from qiskit_aer.noise import pauli_error

    generators, rates = HIDDEN.noise(EDGES)
    circuit = qiskit.QuantumCircuit(N_QUBITS)
    for q, c in enumerate(prep):
        if c in "XY":
            circuit.h(q)
        if c == "Y":
            circuit.s(q)
    for _ in range(depth):
        for x, z, r in zip(*generators, rates, strict=True):
            p = (1 - np.exp(-2 * r)) / 2
            name = label(x, z)
            qubits = [q for q, c in enumerate(name) if c != "I"]
            error = pauli_error([("".join(name[q] for q in reversed(qubits)), p), ("I" * len(qubits), 1 - p)])
            circuit.append(error.to_instruction(), qubits)
        circuit.cz(0, 1)
        circuit.cz(2, 3)
    for s in range(1, N_SETS):
        name = "".join(c if s >> q & 1 else "I" for q, c in enumerate(meas))
        circuit.save_expectation_value(Pauli(name[::-1]), range(N_QUBITS), label=str(s))
    data = aer.AerSimulator(method="density_matrix").run(circuit).result().data()
    exact = parities(prep, meas, depth, EDGES, generators, rates)
    assert [data[str(s)] for s in range(1, N_SETS)] == pytest.approx(exact[1:], abs=1e-10)


def test_long_range_errors_exist_only_with_both_gates() -> None:
    far = {g.pauli for g in HIDDEN.long_range}
    for edges, count in ((EDGES, 2), (EDGES[:1], 0), (EDGES[1:], 0), ((), 0)):
        (x, z), _ = HIDDEN.noise(edges)
        assert len(far & {label(*p) for p in zip(x, z, strict=True)}) == count
    assert len(HIDDEN.noise(())[1]) == 15
    for g in HIDDEN.long_range:
        assert tuple(q for q, c in enumerate(g.pauli) if c != "I") in FAR


def test_the_modulation_is_that_of_one_rate_and_its_mean_is_the_average_over_time() -> None:
    wave = Modulation(which=1, amplitude=0.1, period_s=1000.0, phase_rad=0.4)
    t = np.linspace(100.0, 350.0, 200_001)
    assert wave.mean(100.0, 350.0) == pytest.approx(float(np.trapezoid(wave.at(t), t) / 250.0), rel=1e-9)
    early, late = (HIDDEN.noise(EDGES, t)[1] for t in (0.0, HIDDEN.modulation.period_s / 3))
    assert list(np.flatnonzero(early != late)) == [len(early) - 2 + HIDDEN.modulation.which]


def test_a_job_runs_its_circuits_one_after_the_other() -> None:
    request = RunCycleSequence(prep_axes="ZZZZZ", meas_axes="ZZZZZ", depths=(0, 4), twirls=3, shots_per_twirl=100)
    start = request.run(DEVICE, Clock(50.0), rng("time")).arrays["start_s"].values
    assert np.diff(start.ravel()) == pytest.approx(np.full(5, 0.225))
    assert start.ravel()[-1] + 0.225 == pytest.approx(50.0 + float(request.cost().lab_s))


def test_a_job_with_too_many_shots_is_refused_before_it_costs_anything() -> None:
    for request, field in (
        (RunCycleSequence(prep_axes="ZZZZZ", meas_axes="ZZZZZ", depths=(2,) * 3, twirls=100, shots_per_twirl=100), "shots_per_twirl"),
        (RunReadoutReference(states=("00000",) * 3, shots=10_000), "shots"),
    ):
        with pytest.raises(AgentError) as refused:
            request.admit(DEVICE.spec)
        assert (refused.value.field, refused.value.limit) == (field, DEVICE.spec.max_job_shots)


def test_the_notebook_is_right_about_single_gates_and_knows_no_long_range_error() -> None:
    book = QTYPE.notebook(HIDDEN, rng("notebook"), PROFILE, dt.date(2026, 5, 17))
    alone, table = HIDDEN.class_rates(long_range=False), book.entries[0].data["separate_rates"]
    told = np.array([table.get(c[0], 0.0) for c in classes()])
    assert ((told > 0) == (alone > 0)).all()
    assert np.abs(np.log(told[told > 0] / alone[told > 0])).max() < 0.6
    assert book.entries[0].data["cycle_infidelity"] < 0.88 * orbit_infidelity(HIDDEN.class_rates())


def test_held_out_paulis_are_distinct_orbits() -> None:
    paulis = QTYPE.challenge(HIDDEN, rng("challenge"), PROFILE)["paulis"]
    assert len({class_of(p) for p in paulis}) == len(paulis) == HELD_OUT


def test_read_keeps_its_marginals() -> None:
    zeros = np.zeros((100_000, N_QUBITS), dtype=np.uint8)
    said = read(rng("read"), zeros, np.full(N_QUBITS, 0.03), np.full(N_QUBITS, 0.3), [((0, 2), 0.1)])
    assert said.mean(axis=0) == pytest.approx(np.array([0.124, 0.03, 0.124, 0.03, 0.03]), abs=0.006)
    assert (said[:, 0] & said[:, 2]).mean() == pytest.approx(0.1 * 0.97**2 + 0.9 * 0.03**2, abs=0.006)
