"""ion_trap_gate_model: frames, closed forms, qiskit, crosstalk and its echo, compilation, records."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from qtypes import Clock, Device
from qtypes.ion_trap_gate_model import target as targets
from qtypes.ion_trap_gate_model.circuit import PAIRS, Gate, Pulse, played, r, rz, unitary, xx
from qtypes.ion_trap_gate_model.device import by_pair
from qtypes.ion_trap_gate_model.experiments import Circuit, RunCircuits, RunReadoutCalibration
from qtypes.ion_trap_gate_model.physics import R_US, XX_US, NoiseModel, evolved

QTYPE = qtypes.load("ion_trap_gate_model")
PROFILE = QTYPE.Profile()


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, **changes: object) -> Device:
    hidden = QTYPE.draw(rng(seed), PROFILE).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def noise(n: int, seed: int = 1) -> NoiseModel:
    """Every error at once, larger than in any device."""
    g = rng(seed)
    e0, e1, turned = (np.triu(g.uniform(0.01, 0.06, (n, n)), 1) for _ in range(3))
    crosstalk = np.diag(g.uniform(0.02, 0.1, n - 1), 1) + np.diag(g.uniform(0.02, 0.1, n - 1), -1)
    return NoiseModel(e0 + e0.T, e1 + e1.T, turned + turned.T, crosstalk, g.uniform(0.01, 0.03, n), g.uniform(2e3, 9e3, n))


def random_gates(seed: int, n: int, count: int) -> tuple[Gate, ...]:
    g = rng(seed)
    out = []
    for kind in g.choice(["r", "rz", "xx"], count, p=[0.3, 0.2, 0.5]):
        i, j = (int(k) for k in g.choice(n, 2, replace=False))
        angle = float(g.uniform(-1.5, 1.5))
        out.append(r(i, angle, float(g.uniform(-3, 3))) if kind == "r" else rz(i, angle) if kind == "rz" else xx(i, j, angle))
    return tuple(out)


def lab_frame(gates: tuple[Gate, ...], n: int) -> np.ndarray:
    """What the circuit means for |0...0>, without the virtual rotations at its end, `(1, 2^n)`."""
    _, frame = played(gates, n)
    undo = tuple(rz(k, -float(f)) for k, f in enumerate(frame))
    return unitary(gates + undo, n)[:, 0][None]


def reversed_bits(n: int) -> np.ndarray:
    """Index in qiskit's order (qubit 0 lowest) of each of our states."""
    k = np.arange(2**n)
    return sum(((k >> (n - 1 - q)) & 1) << q for q in range(n))  # type: ignore[return-value]


def test_an_xx_of_half_pi_makes_a_bell_state() -> None:
    bell = unitary((xx(0, 1, np.pi / 2),), 2)[:, 0]
    assert np.abs(bell - np.array([1, 0, 0, -1j]) / np.sqrt(2)).max() < 1e-15


def test_meanings_are_those_of_qiskit() -> None:
    qiskit = pytest.importorskip("qiskit")
    qi = pytest.importorskip("qiskit.quantum_info")
    gates, n = random_gates(3, 4, 40), 4
    circuit = qiskit.QuantumCircuit(n)
    for g in gates:
        if g.gate == "xx":
            circuit.rxx(g.angle, *g.ions)
        elif g.gate == "rz":
            circuit.rz(g.angle, *g.ions)
        else:
            circuit.r(g.angle, g.phase, *g.ions)
    at = reversed_bits(n)
    assert np.abs(qi.Operator(circuit).data[np.ix_(at, at)] - unitary(gates, n)).max() < 1e-10


@pytest.mark.parametrize("seed", [1, 2])
def test_without_errors_pulses_in_shifted_frames_do_what_the_circuit_means(seed: int) -> None:
    gates = random_gates(seed, 4, 50)
    state = evolved(NoiseModel.ideal(4), played(gates, 4)[0])
    assert state.fidelity(lab_frame(gates, 4))[0] == pytest.approx(1, abs=1e-12)
    assert np.abs(state.populations()[0] - np.abs(unitary(gates, 4)[:, 0]) ** 2).max() < 1e-12


def test_all_errors_at_once_agree_with_qiskits_channels() -> None:
    """Circuits of dense generators, Kraus operators and phase damping in qiskit, with none of our bookkeeping of bases."""
    qi = pytest.importorskip("qiskit.quantum_info")
    from itertools import product

    from scipy.linalg import expm

    n, model = 4, noise(4)
    paulis = {p: qi.Pauli(p).to_matrix() for p in "IXYZ"}

    def on(**at: np.ndarray) -> np.ndarray:
        out = np.eye(1)
        for k in range(n):
            out = np.kron(out, at.get(f"q{k}", np.eye(2)))
        return out

    def axis(k: int, phase: float) -> np.ndarray:
        return on(**{f"q{k}": np.cos(phase) * paulis["X"] + np.sin(phase) * paulis["Y"]})

    def channel(rho: qi.DensityMatrix, kraus: list[np.ndarray], ions: tuple[int, ...]) -> qi.DensityMatrix:
        return rho.evolve(qi.Kraus(kraus), [n - 1 - k for k in reversed(ions)])

    gates = random_gates(5, n, 30)
    pulses, _ = played(gates, n)
    rho = qi.DensityMatrix.from_label("0" * n)
    for p in pulses:
        if len(p.ions) == 1:
            h, error, t = p.angle / 2 * axis(p.ions[0], p.phases[0]), model.one_ion_error[p.ions[0]], R_US
        else:
            i, j = p.ions
            a = dict(zip(p.ions, p.phases, strict=True))
            h = (1 + model.over_rotation[i, j]) * axis(i, a[i]) @ axis(j, a[j])
            for lit, other in ((i, j), (j, i)):
                for k in range(n):
                    if k != other:
                        h = h + model.crosstalk[lit, k] * axis(k, a[lit]) @ axis(other, a[other])
            h, error, t = p.angle / 2 * h, model.pair_error(i, j, p.angle), XX_US
        rho = rho.evolve(qi.Operator(expm(-1j * h)))
        labels = ["".join(s) for s in product("IXYZ", repeat=len(p.ions))]
        weights = [1 - error] + [error / (len(labels) - 1)] * (len(labels) - 1)
        rho = channel(rho, [math.sqrt(w) * qi.Pauli(s).to_matrix() for w, s in zip(weights, labels, strict=True)], p.ions)
        for k in range(n):
            flip = 0.5 * (1 - math.exp(-t / model.t2_us[k]))
            rho = channel(rho, [math.sqrt(1 - flip) * paulis["I"], math.sqrt(flip) * paulis["Z"]], (k,))
    state = evolved(model, pulses)
    ideal = lab_frame(gates, n)
    assert state.fidelity(ideal)[0] == pytest.approx((ideal.conj() @ rho.data @ ideal.T).real.item(), abs=1e-10)
    assert np.abs(state.populations()[0] - np.diag(rho.data).real).max() < 1e-10


def test_depolarising_follows_its_closed_form() -> None:
    e0, e1 = by_two(0.004), by_two(0.02)
    model = dataclasses.replace(NoiseModel.ideal(2), e0=e0, e1=e1)
    echo = [Pulse((0, 1), s * 0.6, (0.2, -0.4)) for s in (1, -1)] * 6
    e = 0.004 + 0.02 * 0.6 / (np.pi / 2)
    assert evolved(model, echo).populations()[0, 0] == pytest.approx(0.25 + 0.75 * (1 - 16 / 15 * e) ** 12, abs=1e-12)


def by_two(value: float) -> np.ndarray:
    return value * (1 - np.eye(2))


def test_trains_show_the_over_rotation() -> None:
    model = dataclasses.replace(NoiseModel.ideal(2), over_rotation=by_two(0.04))
    p = evolved(model, [Pulse((0, 1), np.pi / 2, (0.0, 0.0))] * 9).populations()[0]
    assert p[0] == pytest.approx(np.cos(9 * np.pi / 4 * 1.04) ** 2, abs=1e-12)
    scaled = evolved(model, [Pulse((0, 1), np.pi / 2, (0.0, 0.0))] * 9, by_two(1 / 1.04)).populations()[0]
    assert scaled[0] == pytest.approx(0.5, abs=1e-12)


def test_coherence_decays_with_t2() -> None:
    model = dataclasses.replace(NoiseModel.ideal(3), t2_us=np.array([1e3, 2e3, 3e3]))
    gates = (r(0, np.pi / 2, 0.0), *[xx(1, 2, 0.3), xx(1, 2, -0.3)] * 4, r(0, np.pi / 2, 0.0))
    p = evolved(model, played(gates, 3)[0]).populations()[0]
    assert p[4:].sum() == pytest.approx((1 + np.exp(-(R_US + 8 * XX_US) / 1e3)) / 2, abs=1e-12)


@pytest.mark.parametrize("echo, kept", [("none", False), ("virtual", False), ("along", False), ("across", True)])
def test_only_a_pulse_across_the_beams_phase_takes_crosstalk_out(echo: str, kept: bool) -> None:
    """Ions 2 and 0, light of the beam meant for 2 on 1. A virtual rotation of 1 plays nothing, so it must not help."""
    crosstalk = np.zeros((3, 3))
    crosstalk[2, 1] = 0.1
    model = dataclasses.replace(NoiseModel.ideal(3), crosstalk=crosstalk)
    flip = {"none": [], "virtual": [rz(1, np.pi)], "along": [r(1, np.pi, 0.0)], "across": [r(1, np.pi, np.pi / 2)]}[echo]
    start = (r(0, 0.9, 1.1), r(1, 1.3, 0.4), r(2, 0.7, -0.8))
    gates = (*start, xx(2, 0, 0.25), *flip, xx(2, 0, 0.25), *flip)
    fidelity = evolved(model, played(gates, 3)[0]).fidelity(lab_frame(gates, 3))[0]
    assert (1 - fidelity < 1e-12) == kept
    if not kept:
        assert 1 - fidelity == pytest.approx(0.025**2, rel=0.5)  # at most sin^2(kappa theta / 2)


def test_a_circuit_means_the_same_on_every_assignment() -> None:
    target = targets.drawn(rng(4), 14, (0.1, 0.6))
    ion = rng(5).permutation(8)
    at = targets.placed(ion)
    u = unitary(targets.compiled(target, ion))[at][:, at]
    assert 1 - abs(np.vdot(target.unitary(), u)) ** 2 / 256**2 < 1e-12


def test_additive_errors_count_every_coupling_where_it_is_put() -> None:
    hidden = device().hidden
    e0, e1 = by_pair(hidden.e0), by_pair(hidden.e1)
    errors = targets.additive_errors(hidden.target, e0, e1)
    for k in (0, 777, 40319):
        model = hidden.noise(0.0)
        gates = [g for g in targets.compiled(hidden.target, targets.maps()[k]) if g.gate == "xx"]
        assert errors[k] == pytest.approx(sum(model.pair_error(*g.ions, g.angle) for g in gates))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_draws_keep_their_promises(seed: int) -> None:
    hidden = device(seed).hidden
    errors = targets.additive_errors(hidden.target, by_pair(hidden.e0), by_pair(hidden.e1))
    table = targets.additive_errors(hidden.target, by_pair(hidden.table_e0), by_pair(hidden.table_e1))
    assert min(errors[0], errors[table.argmin()]) >= 1.25 * errors.min()
    assert len(hidden.bad_pairs) == 4
    old = {p for p, a, b in zip(PAIRS, hidden.table_e0, hidden.table_e1, strict=True) if a + b > 0.03}
    assert len(old & hidden.bad_pairs) <= 2


def test_readout_errors_and_drift() -> None:
    d = device(p1_given_0=(0.2,) * 8, p0_given_1=(0.1,) * 8, over_rotation_drift_per_h=(0.003,) * 28)
    bits = RunReadoutCalibration(shots=20_000).run(d, Clock(0.0), rng()).arrays["bits"].values
    assert bits.mean(axis=(1, 2)) == pytest.approx([0.2, 0.9], abs=0.005)
    moved = d.hidden.noise(7200.0).over_rotation - d.hidden.noise(0.0).over_rotation
    assert moved[np.triu_indices(8, 1)] == pytest.approx(0.006)


def test_bits_are_in_the_order_of_the_ions() -> None:
    d = device(p1_given_0=(0.0,) * 8, p0_given_1=(0.0,) * 8, one_ion_error=(0.0,) * 8)
    flips = Circuit(gates=(r(1, np.pi, 0.0), r(6, np.pi, 0.7)))
    record = RunCircuits(circuits=(flips,), shots=50).run(d, Clock(0.0), rng())
    assert record.arrays["bits"].values.mean(axis=1)[0] == pytest.approx([0, 1, 0, 0, 0, 0, 1, 0], abs=0.0)


@pytest.mark.parametrize(
    "gate",
    [
        {"gate": "xx", "ions": (1, 1), "angle": 0.1},
        {"gate": "xx", "ions": (1,), "angle": 0.1},
        {"gate": "xx", "ions": (0, 1), "angle": 1.6},
        {"gate": "xx", "ions": (0, 1), "angle": 0.1, "phase": 0.1},
        {"gate": "rz", "ions": (0, 1), "angle": 0.1},
        {"gate": "r", "ions": (8,), "angle": 0.1},
        {"gate": "r", "ions": (0,), "angle": math.nan},
    ],
)
def test_what_is_no_gate_is_refused(gate: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Gate.model_validate(gate)


def test_jobs_are_bounded() -> None:
    block = (xx(0, 1, 0.1),) * 100
    with pytest.raises(ValidationError):
        Circuit(gates=block, reps=21)
    with pytest.raises(ValidationError):
        RunCircuits(circuits=(Circuit(gates=block, reps=20),) * 2, shots=1)
    with pytest.raises(ValidationError):
        RunCircuits(circuits=(Circuit(gates=block),), shots=1, angle_scale=(1.0,) * 27)
    cost = RunCircuits(circuits=(Circuit(gates=block, reps=2), Circuit(gates=())), shots=10).cost()
    assert {k: float(v) for k, v in cost.amounts.items()} == {"shots": 20, "circuits": 2, "jobs": 1}
    assert float(cost.lab_s) == pytest.approx(10 * (2 * 5e-3 + 200 * 2e-4) + 0.2 + 2)
