"""digital_gate_model: simulation against closed forms, qiskit and qiskit-aer; twirls, moments, readout, records."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import qtypes
from qtypes import AgentError, Clock, Device
from qtypes.digital_gate_model import compiling, physics, qasm
from qtypes.digital_gate_model.device import BOX_QUBITS, COUPLERS, N_QUBITS, TARGET
from qtypes.digital_gate_model.experiments import RunCircuits, read_out
from qtypes.digital_gate_model.materials import trotter_circuit

QTYPE = qtypes.load("digital_gate_model")
PROFILE = QTYPE.Profile()
HEAD = "OPENQASM 3.0;\nqubit[6] q;\nbit[6] c;\n"
END = "c = measure q;\n"


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, **changes: object) -> Device:
    hidden = QTYPE.draw(rng(seed), PROFILE).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def quiet(**changes: object) -> physics.NoiseModel:
    """A device without errors but those given: by coupler, the others 0."""
    none = dict.fromkeys(COUPLERS, 0.0)
    model = physics.NoiseModel.ideal(N_QUBITS, COUPLERS, device().hidden.boxes)
    return dataclasses.replace(model, **{k: none | v for k, v in changes.items()})  # type: ignore[operator]


def random_program(seed: int, n_gates: int = 60, barriers: bool = True) -> str:
    g = rng(seed)
    lines = []
    for _ in range(n_gates):
        kind = g.choice(["rz", "sx", "cz", "delay"], p=[0.3, 0.35, 0.3, 0.05])
        q = int(g.integers(N_QUBITS))
        if kind == "cz":
            a, b = COUPLERS[g.integers(len(COUPLERS))]
            lines.append(f"cz q[{b}], q[{a}];")
        elif kind == "delay":
            lines.append(f"delay[{g.integers(1, 500)}ns] q[{q}];")
        else:
            lines.append(f"rz({g.uniform(-4, 4)!r}) q[{q}];" if kind == "rz" else f"sx q[{q}];")
        if barriers and g.random() < 0.1:
            lines.append("barrier q;")
    return HEAD + "\n".join(lines) + "\n" + END


def everything(model: physics.NoiseModel, schedule: list[compiling.Moment]) -> np.ndarray:
    return physics.evolve(model, schedule, tuple(range(N_QUBITS)), BOX_QUBITS)


def pauli_vector(rho: np.ndarray) -> np.ndarray:
    """`Tr(P rho)` of a qiskit density matrix (qubit 0 least significant), axes by ascending qubit."""
    t = rho.reshape((2,) * (2 * N_QUBITS))
    for q in range(N_QUBITS):
        row = N_QUBITS - 1 - q
        # contract the row and column axis of qubit q with P[b, a]; results collect at the end in order of q
        t = np.tensordot(t, physics.PAULIS, axes=([row, row + N_QUBITS - q], [2, 1]))
    return t.real


def qiskit_circuit(operations, boxes=(), noise=None):  # type: ignore[no-untyped-def]
    """The circuit in qiskit; with a noise model moment by moment, with Kraus operators."""
    qiskit = pytest.importorskip("qiskit")
    qi = pytest.importorskip("qiskit.quantum_info")
    circuit = qiskit.QuantumCircuit(N_QUBITS)
    if noise is None:
        for op in operations:
            if op.kind == "box":
                *turns, link = boxes[abs(int(op.value)) - 1]
                box = qiskit.QuantumCircuit(len(op.qubits))
                for k, turn in enumerate(turns):
                    box.ry(turn, k)
                for k in range(len(op.qubits) - 1):
                    box.rzz(link, k, k + 1)
                circuit.compose(box if op.value > 0 else box.inverse(), op.qubits, inplace=True)
            elif op.kind in ("rz", "sx", "cz"):
                args = (op.value,) if op.kind == "rz" else ()
                getattr(circuit, op.kind)(*args, *op.qubits)
        return circuit

    def kraus(matrices, qubits):  # type: ignore[no-untyped-def]
        circuit.append(qi.Kraus(matrices).to_instruction(), qubits)

    paulis = [qi.Pauli(a + b).to_matrix() for a in "IXYZ" for b in "IXYZ"]
    for moment in operations:
        for q, angle in moment.virtual.items():
            circuit.rz(angle, q)
        for q in moment.sx:
            circuit.rx(math.pi / 2 * (1 + noise.sx_error[q]), q)
        for a, b in moment.cz:
            circuit.cz(a, b)
            circuit.rzz(noise.cz_error_rad[a, b], a, b)
        owner = {q: pair for pair in moment.cz for q in pair}
        for a, b in COUPLERS:
            if a in owner and b in owner and owner[a] != owner[b]:
                circuit.rzz(noise.parallel_zz_rad[a, b], a, b)
        for a, b in moment.cz:
            p = noise.cz_depolarising[a, b]
            kraus([math.sqrt(p / 16 + (1 - p) * (k == 0)) * m for k, m in enumerate(paulis)], [a, b])
        for q in range(N_QUBITS):
            g1 = 1 - math.exp(-moment.duration_ns / noise.t1_ns[q])
            # what T2 asks for beyond the dephasing of T1
            s = math.exp(-moment.duration_ns * (1 / noise.t2_ns[q] - 0.5 / noise.t1_ns[q]))
            kraus([np.diag([1, math.sqrt(1 - g1)]), np.array([[0, math.sqrt(g1)], [0, 0]])], [q])
            kraus([math.sqrt((1 + s) / 2) * np.eye(2), math.sqrt((1 - s) / 2) * np.diag([1, -1])], [q])
    return circuit


# The simulator


@pytest.mark.parametrize("seed", range(4))
def test_without_noise_a_circuit_is_what_qiskit_says(seed: int) -> None:
    qi = pytest.importorskip("qiskit.quantum_info")
    hidden = device(seed).hidden
    routines = "inv @ box_2 q[0], q[1], q[2], q[3], q[4];\nsx q[2];\nbox_1 q[0], q[1], q[2], q[3], q[4];\n"
    text = random_program(seed).replace(HEAD, HEAD + "sx q;\n" + routines)
    circuit = qasm.read(text, TARGET)
    reference = qi.DensityMatrix(qiskit_circuit(circuit.operations, hidden.boxes)).data
    ours = everything(hidden.noiseless(), compiling.plain(circuit))[0]
    assert ours == pytest.approx(pauli_vector(reference), abs=1e-10)
    p = physics.populations(hidden.noiseless(), ours[None], tuple(range(N_QUBITS)), 0.0)[0]
    assert p == pytest.approx(np.diag(reference).real, abs=1e-10)  # both little-endian


@pytest.mark.parametrize("seed", range(2))
def test_the_noise_model_agrees_with_qiskit_aer(seed: int) -> None:
    qiskit = pytest.importorskip("qiskit")
    aer = pytest.importorskip("qiskit_aer")
    model = device(seed).hidden.noise(1800.0)
    schedule = compiling.plain(qasm.read(random_program(seed, 80), TARGET))
    assert any(len(m.cz) > 1 for m in schedule)
    reference = qiskit_circuit(schedule, noise=model)
    one = [np.diag([1 - r, r]) for r in model.residual]
    start = one[-1]
    for rho in reversed(one[:-1]):
        start = np.kron(start, rho)
    full = qiskit.QuantumCircuit(N_QUBITS)
    full.set_density_matrix(start)
    full.compose(reference, inplace=True)
    full.save_density_matrix()
    rho = aer.AerSimulator(method="density_matrix").run(full).result().data()["density_matrix"]
    assert everything(model, schedule)[0] == pytest.approx(pauli_vector(np.asarray(rho)), abs=1e-8)


def test_depolarising_gates_decay_as_their_rate_says() -> None:
    model = quiet(cz_depolarising={(2, 3): 0.013})
    for n in (1, 10, 50):
        body = "sx q[2]; sx q[3];\n" + n * "cz q[2], q[3];\nsx q[2]; rz(0.4) q[2]; sx q[3];\nrz(-0.4) q[2];\nsx q[2];\n"
        schedule = compiling.plain(qasm.read(HEAD + body + END, TARGET))
        noisy = physics.evolve(model, schedule, (2, 3), BOX_QUBITS)[0]
        clean = physics.evolve(device().hidden.noiseless(), schedule, (2, 3), BOX_QUBITS)[0]
        assert noisy.ravel()[1:] == pytest.approx((1 - 0.013) ** n * clean.ravel()[1:], abs=1e-12)


def test_idling_relaxes_and_dephases_as_t1_and_t2_say() -> None:
    dev = device()
    model = dev.hidden.noise(0.0)
    schedule = compiling.plain(qasm.read(HEAD + "sx q[4];\nbarrier q;\ndelay[30us] q[4];\n" + END, TARGET))
    x, y, z = physics.evolve(model, schedule, (4,), BOX_QUBITS)[0][1:]
    angle, r = math.pi / 2 * (1 + model.sx_error[4]), model.residual[4]
    t = 30_030.0
    assert math.hypot(x, y) == pytest.approx((1 - 2 * r) * math.sin(angle) * math.exp(-t / model.t2_ns[4]), rel=1e-9)
    keep = math.exp(-t / model.t1_ns[4])
    assert z == pytest.approx(1 - keep + keep * (1 - 2 * r) * math.cos(angle), rel=1e-9)


def test_folded_gates_add_amplitudes_and_parallel_gates_pick_up_their_phase() -> None:
    model = quiet(cz_error_rad={(2, 3): 0.05}, parallel_zz_rad={(1, 2): 0.3})

    def phase(gates: str) -> float:
        """Angle by which the Bloch vector of qubit 2 has turned about Z, the other qubits being in |0>."""
        schedule = compiling.plain(qasm.read(HEAD + "sx q[2];\nbarrier q;\n" + gates + END, TARGET))
        t = physics.evolve(model, schedule, (0, 1, 2, 3), BOX_QUBITS)[0]
        return math.atan2(t[0, 0, 1, 0], -t[0, 0, 2, 0])

    assert phase(2 * "cz q[2], q[3];\n") == pytest.approx(2 * 0.05, abs=1e-9)
    assert phase(4 * "cz q[2], q[3];\n") == pytest.approx(4 * 0.05, abs=1e-9)
    parallel = "cz q[2], q[3]; cz q[0], q[1];\n"
    assert phase(2 * parallel) == pytest.approx(2 * (0.05 + 0.3), abs=1e-9)
    apart = "cz q[2], q[3];\nbarrier q;\ncz q[0], q[1];\nbarrier q;\n"
    assert phase(2 * apart) == pytest.approx(2 * 0.05, abs=1e-9)


# Twirls and moments


@pytest.mark.parametrize("seed", range(3))
def test_a_twirl_does_not_change_what_a_circuit_means(seed: int) -> None:
    hidden = device(seed).hidden
    circuit = qasm.read(random_program(seed, 50), TARGET)
    frames = rng(seed).integers(0, 4, (7, circuit.count("cz"), 2), dtype=np.uint8)
    plain = everything(hidden.noiseless(), compiling.plain(circuit))
    twirled = everything(hidden.noiseless(), compiling.twirled(circuit, frames))
    assert twirled.shape[0] == 7
    assert twirled == pytest.approx(np.broadcast_to(plain, twirled.shape), abs=1e-9)


def test_twirls_turn_a_coherent_cz_error_into_a_stochastic_one() -> None:
    model = quiet(cz_error_rad={(0, 1): 0.2})
    circuit = qasm.read(HEAD + "sx q[0]; sx q[1];\n" + 4 * "cz q[0], q[1];\n" + END, TARGET)
    frames = np.array(np.meshgrid(*[np.arange(4)] * 8)).reshape(8, -1).T.reshape(-1, 4, 2).astype(np.uint8)
    mean = physics.evolve(model, compiling.twirled(circuit, frames), (0, 1), BOX_QUBITS).mean(axis=0)
    # ZZ with probability sin^2(0.1) after each gate: Y decays by cos(0.2) a gate
    assert mean[2, 0] == pytest.approx(-(math.cos(0.2) ** 4), abs=1e-9)
    assert mean[1, 3] == pytest.approx(0.0, abs=1e-9)


def test_the_frames_behind_a_cz_undo_those_before_it() -> None:
    frames = np.array(np.meshgrid(range(4), range(4))).reshape(2, -1).T.astype(np.uint8)
    cz = np.diag([1, 1, 1, -1])
    for before, after in zip(frames, compiling.conjugated(frames), strict=True):
        left, right = (np.kron(compiling.PAULIS[a], compiling.PAULIS[b]) for a, b in (before, after))
        assert abs(np.trace(left.conj().T @ (cz @ right @ cz))) == pytest.approx(4.0)


def test_euler_angles_give_the_unitary_back() -> None:
    g = rng(4)
    random = np.linalg.qr(g.normal(size=(50, 2, 2)) + 1j * g.normal(size=(50, 2, 2)))[0]
    special = np.concatenate((compiling.PAULIS, compiling.SX[None], np.diag([1, 1j])[None]))
    for u, a, b, c in zip(
        np.concatenate((random, special)), *compiling.euler(np.concatenate((random, special))), strict=True,
    ):  # fmt: skip
        def rz(x: float) -> np.ndarray:
            return np.diag([np.exp(-0.5j * x), np.exp(0.5j * x)])

        built = rz(a) @ compiling.SX @ rz(b) @ compiling.SX @ rz(c)
        assert abs(np.trace(built.conj().T @ u)) == pytest.approx(2.0, abs=1e-12)


def test_operations_fall_into_the_earliest_moment_and_barriers_wait() -> None:
    text = "sx q[0]; cz q[0], q[1]; sx q[5]; rz(1) q[2]; cz q[2], q[3];\nbarrier q[2], q[5];\nsx q[5]; delay[100ns] q[2];\n"
    schedule = compiling.plain(qasm.read(HEAD + text + END, TARGET))
    assert [(m.sx, m.cz, m.duration_ns) for m in schedule] == [([0, 5], [(2, 3)], 60.0), ([5], [(0, 1)], 100.0)]


# Readout


def test_columns_of_the_response_sum_to_one_and_margins_are_the_hidden_numbers() -> None:
    hidden = device().hidden.model_copy(update={"joint_flip": (0.0, 0.0)})
    r = hidden.response(0.0)
    assert r.sum(axis=0) == pytest.approx(np.ones(64))
    assert device().hidden.response(0.0).sum(axis=0) == pytest.approx(np.ones(64))
    read = (np.arange(64)[:, None] >> np.arange(6)) & 1
    assert read.T @ r[:, 0] == pytest.approx(hidden.p1_given_0)
    (a, b), extra = hidden.correlated_pairs[0], hidden.correlated_extra[0]
    alone = 1 - (read.T @ r[:, 1 << a])[a]
    both = 1 - (read.T @ r[:, 1 << a | 1 << b])[a]
    assert both - alone == pytest.approx(extra)


def test_a_joint_flip_inverts_both_bits_together() -> None:
    r = physics.response_matrix(np.zeros(3), np.zeros(3), ((0, 2),), (0.0,), (0.1,))
    assert r[0b101, 0b000] == pytest.approx(0.1)
    assert r[0b011, 0b110] == pytest.approx(0.1)
    assert np.diag(r) == pytest.approx(np.full(8, 0.9))


def test_bits_are_little_endian() -> None:
    clean = {"p1_given_0": (0.0,) * 6, "p0_given_1": (0.0,) * 6, "correlated_extra": (0.0, 0.0), "joint_flip": (0.0, 0.0)}
    dev = device(residual=(0.0,) * 6, sx_error=(0.0,) * 6, relaxation_us=(1e9,) * 6, coherence_us=(1e9,) * 6, **clean)
    flipped = "OPENQASM 3.0; bit[3] c; sx $4; sx $4;\nc[1] = measure $4; c[0] = measure $0;"
    bits = RunCircuits(circuits=(flipped,), shots=50).run(dev, Clock(0.0), rng()).arrays["bits"].values
    assert bits.shape == (1, 1, 50, 3)
    assert bits.dtype == np.uint8
    assert (bits == [0, 1, 0]).all()
    p = read_out(dev.hidden.noise(0.0), dev.hidden.response(0.0), qasm.read(flipped, TARGET), compiling.plain(qasm.read(flipped, TARGET)))
    assert p[0, 1 << 4] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("twirl", [0, 20])
def test_sampled_bits_follow_the_exact_distribution(twirl: int) -> None:
    dev = device(3)
    text = trotter_circuit(3)
    request = RunCircuits(circuits=(text,), shots=1000 if twirl else 20_000, pauli_twirl=twirl)
    record = request.run(dev, Clock(0.0), rng(5)).check()
    circuit = qasm.read(text, TARGET)
    schedule = compiling.twirled(circuit, record.arrays["frames"].values[0]) if twirl else compiling.plain(circuit)
    p = read_out(dev.hidden.noise(0.0), dev.hidden.response(0.0), circuit, schedule).mean(axis=0)
    ones = (np.arange(64)[:, None] >> np.arange(5)) & 1
    measured = record.arrays["bits"].values.reshape(-1, 5)
    assert measured.mean(axis=0) == pytest.approx(p @ ones, abs=5 * 0.5 / math.sqrt(20_000))
    pair = (measured[:, 1] ^ measured[:, 3]).mean()
    assert pair == pytest.approx(p @ (ones[:, 1] ^ ones[:, 3]), abs=5 * 0.5 / math.sqrt(20_000))


def test_frames_are_padded_and_the_record_repeats() -> None:
    dev = device()
    short, long = (HEAD + "sx q;\n" + n * "cz q[0], q[1];\n" + END for n in (1, 3))
    request = RunCircuits(circuits=(short, long), shots=10, pauli_twirl=4)
    a, b = (request.run(dev, Clock(60.0), rng(9)).check() for _ in range(2))
    assert all(np.array_equal(a.arrays[k].values, b.arrays[k].values) for k in ("bits", "frames"))
    frames = a.arrays["frames"].values
    assert frames.shape == (2, 4, 3, 2)
    assert (frames[0, :, 1:] == 255).all()
    assert frames[1].max() <= 3


def test_the_device_drifts_with_the_lab_clock() -> None:
    hidden = device().hidden
    early, late = hidden.noise(0.0), hidden.noise(7200.0)
    moved = [late.cz_error_rad[c] - early.cz_error_rad[c] for c in COUPLERS]
    assert moved == pytest.approx([2e-3 * d for d in hidden.cz_drift_mrad_per_h])
    change = hidden.response(7200.0)[0, 1 << 2] - hidden.response(0.0)[0, 1 << 2]
    assert change == pytest.approx(2 * hidden.readout_drift_per_h[2], rel=0.2)


def test_the_cost_counts_twirls_as_circuits() -> None:
    cost = RunCircuits(circuits=(trotter_circuit(),), shots=200, pauli_twirl=100).cost().to_json()
    assert cost == {"shots": 20_000, "circuits": 100, "jobs": 1, "lab_s": 20_000 * 250e-6 + 100 * 0.05 + 2.0}


# Drawing and refusing


@pytest.mark.parametrize("seed", range(10))
def test_drawn_devices_lie_in_the_ranges_of_the_profile(seed: int) -> None:
    profile = QTYPE.read_profile({"correlated_among": [0, 1, 2, 3], "cz_error_rad": [0.14, 0.28], "residual": [0.0, 0.002]})
    h = QTYPE.draw(rng(seed), profile)
    assert all(0.14 <= abs(x) <= 0.28 for x in h.cz_error_rad)
    assert all(t2 <= 2 * t1 for t1, t2 in zip(h.relaxation_us, h.coherence_us, strict=True))
    assert max(h.residual) <= 0.002
    assert len(set(h.correlated_pairs)) == 2
    assert {q for pair in h.correlated_pairs for q in pair} <= {0, 1, 2, 3}


BAD = {
    "no header": ("qubit[2] q;\nbit[2] c;\nc = measure q;", 1),
    "older language": ("OPENQASM 2.0;\nqreg q[2];", 1),
    "unknown gate": (HEAD + "h q[0];\n" + END, 4),
    "gate definition": (HEAD + "gate g a { sx a; }\n" + END, 4),
    "loop": (HEAD + "for int i in [0:5] { sx q[0]; }\n" + END, 4),
    "condition": (HEAD + "if (c[0]) sx q[0];\n" + END, 4),
    "not a coupler": (HEAD + "sx q[0];\ncz q[0], q[2];\n" + END, 5),
    "one operand": (HEAD + "cz q[0];\n" + END, 4),
    "twice the same": (HEAD + "cz q[0], q[0];\n" + END, 4),
    "index outside": (HEAD + "sx q[6];\n" + END, 4),
    "physical qubit outside": (HEAD + "sx $7;\n" + END, 4),
    "gate after measurement": (HEAD + "c[0] = measure q[0];\nsx q[1];\n" + END, 5),
    "measured twice": (HEAD + "c[0] = measure q[0];\nc[1] = measure q[0];\n", 5),
    "nothing measured": (HEAD + "sx q[0];", 4),
    "too many bits": ("OPENQASM 3.0;\nbit[7] c;\nc[0] = measure $0;", 2),
    "expression": (HEAD + "rz(pi + 1) q[0];\n" + END, 4),
    "call": (HEAD + 'rz(__import__("os")) q[0];\n' + END, 4),
    "power": (HEAD + "rz(2**9999) q[0];\n" + END, 4),
    "division by zero": (HEAD + "rz(1/0) q[0];\n" + END, 4),
    "not finite": (HEAD + "rz(1e999) q[0];\n" + END, 4),
    "not a number": (HEAD + "rz(nan) q[0];\n" + END, 4),
    "two signs": (HEAD + "rz(--1) q[0];\n" + END, 4),
    "box on other qubits": (HEAD + "box_1 q[1], q[0], q[2], q[3], q[4];\n" + END, 4),
    "box without qubits": (HEAD + "box_1;\n" + END, 4),
    "inverse of a gate": (HEAD + "inv @ sx q[0];\n" + END, 4),
    "power of a box": (HEAD + "pow(2) @ box_1 q[0], q[1], q[2], q[3], q[4];\n" + END, 4),
    "long delay": (HEAD + "delay[1s] q[0];\n" + END, 4),
    "no end": (HEAD + END + "sx q[0]", 5),
    "other characters": (HEAD + "rz(π) q[0];\n" + END, 4),
    "comments keep lines": (HEAD + "/* a\nb */ // c\nh q[0];\n" + END, 6),
    "second register": (HEAD + "qubit[2] r;\n" + END, 4),
    "include": (HEAD + 'include "/etc/passwd";\n' + END, 4),
}


@pytest.mark.parametrize(("text", "line"), BAD.values(), ids=BAD.keys())
def test_what_is_no_native_program_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(AgentError, match=f"^line {line}: ") as refused:
        RunCircuits(circuits=(trotter_circuit(), text), shots=1).admit(device().spec)
    assert refused.value.field == "circuits.1"


def test_programs_that_qiskit_writes_are_read() -> None:
    qiskit = pytest.importorskip("qiskit")
    qasm3 = pytest.importorskip("qiskit.qasm3")
    circuit = qiskit.QuantumCircuit(6, 6)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.rx(0.3, 2)
    circuit.cz(1, 4)
    circuit.delay(100, 3, unit="ns")
    circuit.barrier()
    circuit.ry(-1.2, 4)
    circuit.measure(range(6), range(6))
    native = qiskit.transpile(circuit, basis_gates=["rz", "sx", "cz"], coupling_map=[list(c) for c in COUPLERS], optimization_level=1,
                              initial_layout=range(6))  # fmt: skip
    read = qasm.read(qasm3.dumps(native), TARGET)
    assert read.measured == (0, 1, 2, 3, 4, 5)
    assert read.count("cz") == 2
    assert read.count("delay") == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("pi/2", math.pi / 2), ("-3*pi/4", -0.75 * math.pi), ("2.5e-1", 0.25), ("- 1", -1), ("+.5", 0.5), ("2*3/4*pi", 1.5 * math.pi)],
)
def test_angles_are_products_of_numbers_and_pi(text: str, value: float) -> None:
    assert qasm.read(HEAD + f"rz({text}) q[0];\n" + END, TARGET).operations[0].value == pytest.approx(value)


def test_deep_long_and_uneven_requests_are_refused() -> None:
    spec = device().spec
    deep = HEAD + 601 * "sx q[0];\n" + END
    long = HEAD + 3 * "delay[70us] q[0];\n" + END
    for circuits, field in (((deep,), "circuits.0"), ((long,), "circuits.0"), ((trotter_circuit(), HEAD + END), "circuits")):
        with pytest.raises(AgentError) as refused:
            RunCircuits(circuits=circuits, shots=1).admit(spec)
        assert refused.value.field == field
    with pytest.raises(ValueError, match="at most 20000 shots"):
        RunCircuits(circuits=(trotter_circuit(),) * 3, shots=7000)
    with pytest.raises(ValueError, match="at most 100 circuits"):
        RunCircuits(circuits=(trotter_circuit(),) * 3, shots=1, pauli_twirl=40)


def test_reading_a_hostile_text_takes_no_time() -> None:
    """Backtracking of the statement patterns stays linear."""
    for text in ("sx" + " " * 50_000 + "(", "a[" * 25_000, "/*" * 30_000, "rz(" + "1*" * 30_000 + ") q;", "delay[" + "1" * 50_000):
        with pytest.raises(qasm.ProgramError):
            qasm.read("OPENQASM 3.0;" + text[: qasm.MAX_TEXT - 100] + ";", TARGET)
