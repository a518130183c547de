"""logical_magic_factory: exact sums, limits, cross-checks with stim and qiskit-aer, records, what is public."""

from __future__ import annotations

import datetime as dt
from itertools import combinations

import numpy as np
import pytest
import stim
from pydantic import ValidationError

import qtypes
from qtypes import AgentError, Clock, Device
from qtypes.logical_magic_factory import Hidden, Profile, RunDistill, RunInjectTomography, RunTeleportChain, physics
from qtypes.logical_magic_factory.experiments import BATCH

QTYPE = qtypes.load("logical_magic_factory")
FACTORY, SUPPLY = Profile(instance="factory", r_common=(0.0, 0.0)), Profile(instance="supply")
PROTOCOLS = tuple(physics.INPUTS)
TODAY = dt.date(2026, 3, 1)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(profile: Profile = FACTORY, seed: int = 1, **changes: object) -> Device:
    hidden = QTYPE.draw(rng(seed), profile).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, profile), hidden, profile)


def arrays(request: object, dev: Device, seed: int = 1) -> dict[str, np.ndarray]:
    request.admit(dev.spec)  # type: ignore[attr-defined]
    return {k: a.values for k, a in request.run(dev, Clock(0.0), rng(seed)).arrays.items()}  # type: ignore[attr-defined]


def enumerated(errors: np.ndarray, protocol: str) -> np.ndarray:
    """(syndrome, parity) by summing over all patterns of errors."""
    n = len(errors)
    patterns = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    probability = np.where(patterns, errors, 1 - errors).prod(axis=1)
    syndrome = (patterns @ physics.columns(protocol) & 1) @ (1 << np.arange(physics.CHECKS[protocol]))
    out = np.zeros((1 << physics.CHECKS[protocol], 2))
    np.add.at(out, (syndrome, patterns.sum(axis=1) & 1), probability)
    return out


# Exact sums


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_character_sum_is_the_sum_over_all_error_patterns(protocol: str) -> None:
    errors = rng(3).uniform(0.01, 0.05, physics.INPUTS[protocol])
    np.testing.assert_allclose(physics.joint(errors, protocol), enumerated(errors, protocol), rtol=1e-11, atol=1e-17)


def test_misread_checks_weigh_every_syndrome_by_its_chance_to_pass() -> None:
    errors, q = rng(4).uniform(1e-3, 2e-2, 15), 0.013
    for reads in (1, 2, 3):
        exact = enumerated(errors, "15-to-1")
        weight = np.array([s.bit_count() for s in range(16)])
        let = ((1 - q) ** (4 - weight) * q**weight) ** reads
        acceptance, error = physics.distilled(errors, q, reads)
        assert acceptance == pytest.approx((exact.sum(axis=1) * let).sum(), rel=1e-12)
        assert error == pytest.approx((exact[:, 1] * let).sum() / acceptance, rel=1e-9)


@pytest.mark.parametrize(("protocol", "lines"), [("15-to-1", 35), ("7-to-1", 7)])
def test_small_errors_are_suppressed_to_third_order(protocol: str, lines: int) -> None:
    n = physics.INPUTS[protocol]
    for p in (1e-3, 3e-4):
        acceptance, error = physics.distilled(np.full(n, p), 0.0, 1, protocol)
        assert error == pytest.approx(lines * p**3, rel=20 * p)
        assert acceptance == pytest.approx(1 - n * p, abs=n**2 * p**2)


@pytest.mark.parametrize(("protocol", "lines"), [("15-to-1", 35), ("7-to-1", 7)])
def test_only_lines_of_three_inputs_pass_unseen(protocol: str, lines: int) -> None:
    columns = physics.columns(protocol)
    assert not any(not (columns[list(t)].sum(axis=0) & 1).any() for k in (1, 2) for t in combinations(range(len(columns)), k))
    assert sum(not (columns[list(t)].sum(axis=0) & 1).any() for t in combinations(range(len(columns)), 3)) == lines


def test_the_checks_of_15_to_1_are_triorthogonal() -> None:
    """What makes T on each qubit a logical T up to a Clifford (Bravyi and Haah 2012); with weight 15 = -1 mod 8 it is T^dagger."""
    rows = physics.columns("15-to-1").T
    assert {int(r.sum()) for r in rows} == {8}
    assert {int((a & b).sum()) for a, b in combinations(rows, 2)} == {4}
    assert {int((a & b & c).sum()) for a, b, c in combinations(rows, 3)} == {2}


def test_the_cost_is_that_of_independent_tries() -> None:
    levels, accept = np.array([2] + [0] * 14), np.full(15, 0.8)
    assert physics.cycles_per_output(levels, accept, 2, 0.9) == pytest.approx((3 / 0.64 + 14 + 60) / 0.9)


def test_the_mean_error_counts_every_pauli_once() -> None:
    p_z, p_xy, r = 0.1, 0.06, 0.3
    paulis = {"I": 1 - p_z - p_xy, "X": p_xy / 2, "Y": p_xy / 2, "Z": p_z}
    by_z = {"I": "Z", "X": "Y", "Y": "X", "Z": "I"}
    expected = sum(p * ((1 - r) * (k != "I") + r * (by_z[k] != "I")) for k, p in paulis.items())
    assert physics.any_error(p_z, p_xy, r) == pytest.approx(expected)


# Cross-checks with circuits


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_syndromes_and_outputs_agree_with_pauli_frames_of_the_code(protocol: str) -> None:
    """The block code in stim: Z errors on |+_L>, X-type checks, logical X on all qubits."""
    n, checks = physics.INPUTS[protocol], physics.CHECKS[protocol]
    errors = rng(5).uniform(0.02, 0.08, n)
    circuit = stim.Circuit(f"RX {' '.join(map(str, range(n)))}\n")
    for k, e in enumerate(errors):
        circuit.append("Z_ERROR", [k], e)
    for row in [*physics.columns(protocol).T, np.ones(n)]:
        circuit.append_from_stim_program_text("MPP " + "*".join(f"X{k}" for k in np.flatnonzero(row)))
    shots = 400_000
    bits = circuit.compile_sampler(seed=11).sample(shots).astype(int)
    counts = np.zeros((1 << checks, 2))
    np.add.at(counts, (bits[:, :checks] @ (1 << np.arange(checks)), bits[:, checks]), 1)
    expected = shots * physics.joint(errors, protocol)
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < counts.size - 1 + 5 * np.sqrt(2 * (counts.size - 1))


@pytest.mark.parametrize("kind", ["T", "Clifford"])
@pytest.mark.parametrize("prep", ["+", "0"])
def test_chains_decay_as_a_density_matrix_in_aer(kind: str, prep: str) -> None:
    """Gates, state errors X, Y, Z and step errors of equal X, Y, Z, in the density matrix of qiskit-aer, to 1e-12."""
    from qiskit import QuantumCircuit
    from qiskit.quantum_info import DensityMatrix, Pauli
    from qiskit_aer import AerSimulator
    from qiskit_aer.noise import pauli_error

    p_z, p_xy, q_step, length = 6e-3, 2e-3, 1.7e-3, 6
    state = pauli_error([("I", 1 - p_z - p_xy), ("X", p_xy / 2), ("Y", p_xy / 2), ("Z", p_z)])
    step = pauli_error([("I", 1 - 1.5 * q_step), ("X", q_step / 2), ("Y", q_step / 2), ("Z", q_step / 2)])
    circuit = QuantumCircuit(1)
    if prep == "+":
        circuit.h(0)
    for k in range(length):
        gate = {"T": ("t", "tdg"), "Clifford": ("s", "sdg")}[kind][k % 2]
        getattr(circuit, gate)(0)
        if kind == "T":
            circuit.append(state.to_instruction(), [0])
        circuit.append(step.to_instruction(), [0])
    circuit.save_density_matrix()
    rho = DensityMatrix(AerSimulator(method="density_matrix").run(circuit).result().data()["density_matrix"])
    mean = rho.expectation_value(Pauli("X" if prep == "+" else "Z")).real
    assert mean == pytest.approx(physics.step_contrast(kind, prep, p_z, p_xy, q_step) ** length, abs=1e-12)


def test_an_x_error_before_teleportation_acts_as_z_with_probability_one_half() -> None:
    """Why p_x of the raw state is no X of the gate: data block and T state in a two-qubit density matrix, deferred measurement."""
    from qiskit import QuantumCircuit
    from qiskit.quantum_info import DensityMatrix, partial_trace

    def teleported(error: bool) -> DensityMatrix:
        c = QuantumCircuit(2)  # 0 data in |psi>, 1 the T state
        c.ry(0.7, 0)
        c.rz(0.4, 0)
        c.h(1)
        c.t(1)
        if error:
            c.x(1)
        c.cx(0, 1)
        c.cs(1, 0)  # measured 1: apply S to the data
        return partial_trace(DensityMatrix(c), [1])

    good, bad = teleported(False), teleported(True)
    z = np.diag([1, -1])
    np.testing.assert_allclose(bad.data, (good.data + z @ good.data @ z) / 2, atol=1e-14)


@pytest.mark.parametrize("axis", ["X", "Y", "Z", "T"])
def test_single_states_have_the_mean_of_the_density_matrix(axis: str) -> None:
    p_z, p_xy = 0.02, 0.006
    x, y, z = np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1])
    ket = np.array([1, np.exp(1j * np.pi / 4)]) / np.sqrt(2)
    rho = np.outer(ket, ket.conj())
    noisy = (1 - p_z - p_xy) * rho + p_z * z @ rho @ z + p_xy / 2 * (x @ rho @ x + y @ rho @ y.conj().T)
    operator = {"X": x, "Y": y, "Z": z, "T": (x + y) / np.sqrt(2)}[axis]
    assert physics.tomography_contrast(axis, p_z, p_xy) == pytest.approx(np.trace(noisy @ operator).real, abs=1e-14)


# Records


def near(found: float, expected: float, shots: int) -> bool:
    return abs(found - expected) < 5 * np.sqrt(max(expected * (1 - expected), 1 / shots) / shots)


@pytest.mark.parametrize("kind", ["T", "Clifford"])
def test_records_of_chains_follow_the_decay(kind: str) -> None:
    dev = device(SUPPLY, 2)
    h = dev.hidden
    for prep in ("+", "0"):
        r = arrays(RunTeleportChain(slot=0, level=1, kind=kind, prep=prep, length=32, shots=20_000), dev)
        f = physics.step_contrast(kind, prep, *h.delivered(0, 1), h.step_flip())
        assert near(r["bits"].mean(), (1 - (1 - 2 * h.q_m) * f**32) / 2, 20_000)
    if kind == "T":
        assert r["attempts"].mean() == pytest.approx(32 / h.accept[0], rel=5e-3)
        assert r["attempts"].min() >= 32
    else:
        assert set(r) == {"bits"}


def test_a_slipped_batch_turns_all_its_states_and_no_chain_shows_it() -> None:
    dev = device(SUPPLY, 3, r_common=0.2, q_m=0.0, p_z=(1e-9,))
    r = arrays(RunInjectTomography(slot=0, level=1, axis="T", shots=32_000), dev)
    per_batch = r["bits"].reshape(-1, BATCH).sum(axis=1)
    assert set(per_batch.tolist()) == {0, BATCH}
    assert near((per_batch == BATCH).mean(), 0.2, 2000)
    r = arrays(
        RunTeleportChain(level=1, kind="T", prep="+", length=2, shots=1000),
        device(SUPPLY, 3, r_common=0.2, q_m=0.0, p_z=(1e-9,), q_c=0.0, q_i=0.0),
    )
    assert not r["bits"].any()
    # nor do the checks of a distillation: 15 turned inputs are a logical error with syndrome 0
    all_turned = device(SUPPLY, 3, r_common=1.0, q_m=0.0, p_z=(1e-9,))
    r = arrays(RunDistill(protocol="15-to-1", slots=(0,) * 15, levels=(1,) * 15, reads=1, shots=500), all_turned)
    assert not r["syndrome"].any()
    assert r["output_bit"].all()


def test_per_batch_leaves_the_rest_of_a_batch_alone() -> None:
    r = arrays(RunInjectTomography(slot=0, level=1, axis="X", per_batch=3, shots=10), device(SUPPLY))
    assert r["batch"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_records_of_distillation_follow_the_exact_sums(protocol: str) -> None:
    dev = device(FACTORY, 4)
    h, n, shots = dev.hidden, physics.INPUTS[protocol], 40_000
    request = RunDistill(protocol=protocol, slots=tuple(range(3, 3 + n)), levels=(0, 1, 2) + (0,) * (n - 3), reads=2, shots=shots)
    r = arrays(request, dev)
    errors = np.array([physics.dephasing(*h.delivered(s, v)) for s, v in zip(request.slots, request.levels, strict=True)])
    acceptance, error = physics.distilled(errors, h.q_m, 2, protocol)
    accepted = (r["syndrome"] == 0).all(axis=1)
    assert near(accepted.mean(), acceptance, shots)
    wrong = error + h.q_m - 2 * error * h.q_m
    assert near(r["output_bit"][accepted].mean(), wrong, int(accepted.sum()))
    odd = physics.joint(errors, protocol)[:, 1].sum()
    assert near(r["output_bit"].mean(), odd + h.q_m - 2 * odd * h.q_m, shots)
    differ = np.unpackbits(r["syndrome"][:, :1] ^ r["syndrome"][:, 1:], axis=1).sum() / (shots * physics.CHECKS[protocol])
    assert near(differ, 2 * h.q_m * (1 - h.q_m), shots * physics.CHECKS[protocol])
    assert (r["attempts"][:, 0] == 1).all()
    assert r["attempts"][:, 2].mean() == pytest.approx(h.accept[5] ** -2, rel=0.02)


def test_levels_scale_all_errors_alike() -> None:
    h = device().hidden
    z0, xy0 = h.delivered(7, 0)
    assert h.delivered(7, 3) == pytest.approx((z0 * h.g**3, xy0 * h.g**3))
    assert z0 / xy0 == pytest.approx(h.eta)


# Requests, draws, what is public


def test_requests_outside_the_device_are_refused() -> None:
    factory, supply = device().spec, device(SUPPLY).spec
    fifteen = {"protocol": "15-to-1", "reads": 1, "shots": 1}
    for spec, request in (
        (supply, RunInjectTomography(slot=1, level=1, axis="T", shots=1)),
        (supply, RunTeleportChain(level=0, kind="T", prep="+", length=2, shots=1)),
        (factory, RunTeleportChain(level=0, kind="T", prep="+", length=64, shots=20_000)),
        (factory, RunDistill(slots=(0,) * 15, levels=(0,) * 15, **fifteen)),
        (factory, RunDistill(slots=tuple(range(14)), levels=(0,) * 15, **fifteen)),
        (factory, RunDistill(slots=tuple(range(15)), levels=(0,) * 7, **fifteen)),
    ):
        with pytest.raises(AgentError):
            request.admit(spec)  # type: ignore[attr-defined]
    with pytest.raises(ValidationError):
        RunTeleportChain(level=0, kind="T", prep="+", length=3, shots=1)


def test_states_are_what_is_charged() -> None:
    chain = {"level": 0, "prep": "+", "length": 10, "shots": 300}
    assert float(RunTeleportChain(kind="T", **chain).cost().amounts["units"]) == 3.0
    assert float(RunTeleportChain(kind="Clifford", **chain).cost().amounts["units"]) == 0.6
    batch = RunDistill(protocol="7-to-1", slots=tuple(range(7)), levels=(0,) * 7, reads=3, shots=1000)
    assert float(batch.cost().amounts["units"]) == 7.0


def test_no_supply_is_drawn_near_its_line() -> None:
    for seed in range(60):
        h: Hidden = QTYPE.draw(rng(seed), SUPPLY)
        p_z, p_xy = h.delivered(0, 1)
        assert 2e-3 <= p_z <= 8e-3
        assert abs(physics.any_error(p_z, p_xy, h.r_common) / 5e-3 - 1) >= 0.15


def test_the_spec_is_the_same_for_all_devices_and_practice_is_one_factory() -> None:
    assert device(seed=1).spec == device(seed=2).spec
    assert QTYPE.practice(FACTORY) == QTYPE.practice(FACTORY)
    with pytest.raises(qtypes.TaskError):
        QTYPE.practice(SUPPLY)


def test_five_slots_of_the_notebook_have_changed() -> None:
    """Uncertainty of the table 6 %, changes by a factor of two or more."""
    for seed in range(10):
        dev = device(seed=seed)
        entries = QTYPE.notebook(dev.hidden, rng(seed), FACTORY, TODAY).entries
        table = np.array(next(e.data for e in entries if e.data)["slot_table"])
        assert (np.abs(np.log(table / np.array(dev.hidden.p_z))) > 0.4).sum() == 5


def test_the_vendor_value_of_the_readout_error_is_off_by_20_to_40_percent() -> None:
    for seed in range(10):
        dev = device(SUPPLY, seed)
        entries = QTYPE.notebook(dev.hidden, rng(seed), SUPPLY, TODAY).entries
        vendor = next(e.data for e in entries if e.data)["measurement_error"]
        assert 0.19 < abs(dev.hidden.q_m / vendor - 1) < 0.41
