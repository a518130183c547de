"""Exact outcome probabilities of a twirled noisy circuit of five qubits: ours against the density-matrix method of qiskit-aer.

    python -m bench.digital_gate_vs_aer [--twirls 20] [--scale 3]

Both sides play the same moments: the public Trotter circuit with every CZ written `scale` times, twirled, with coherent errors,
depolarising, relaxation and dephasing. CPU time of one process and one thread; building the circuits of qiskit is not counted.
"""

from __future__ import annotations

import argparse
import math
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qiskit
import qiskit.quantum_info as qi
import qiskit_aer

import qtypes
from qtypes.digital_gate_model import compiling, physics, qasm
from qtypes.digital_gate_model.compiling import Moment
from qtypes.digital_gate_model.device import BOX_QUBITS, TARGET
from qtypes.digital_gate_model.materials import trotter_circuit

GOAL = 5.0
PAULI_LABELS = [a + b for a in "IXYZ" for b in "IXYZ"]


def channel(*kraus: np.ndarray) -> qiskit.circuit.Instruction:
    return qi.SuperOp(qi.Kraus(list(kraus))).to_instruction()


def circuit_of(schedule: list[Moment], model: physics.NoiseModel, twirl: int) -> qiskit.QuantumCircuit:
    """One twirl of a schedule as a circuit with channels; the opaque routine as its gates."""
    n = len(BOX_QUBITS)
    out = qiskit.QuantumCircuit(n)
    for q in range(n):
        r = model.residual[q]
        out.append(channel(math.sqrt(1 - r) * np.eye(2), math.sqrt(r) * np.array([[0, 1], [1, 0]])), [q])
    for moment in schedule:
        for q, angle in moment.virtual.items():
            out.rz(float(np.atleast_1d(angle)[twirl if np.size(angle) > 1 else 0]), q)
        for q in moment.sx:
            out.rx(math.pi / 2 * (1 + model.sx_error[q]), q)
        if moment.box:
            *turns, link = model.boxes[moment.box - 1]
            for q, turn in zip(BOX_QUBITS, turns, strict=True):
                out.ry(turn, q)
            for q in range(n - 1):
                out.rzz(link, q, q + 1)
        for a, b in moment.cz:
            out.cz(a, b)
            out.rzz(model.cz_error_rad[a, b], a, b)
        for a, b in physics.linked(moment.cz, model.parallel_zz_rad):
            out.rzz(model.parallel_zz_rad[a, b], a, b)
        for a, b in moment.cz:
            p = model.cz_depolarising[a, b]
            weights = [math.sqrt(p / 16 + (1 - p) * (label == "II")) for label in PAULI_LABELS]
            out.append(channel(*(w * qi.Pauli(label).to_matrix() for w, label in zip(weights, PAULI_LABELS, strict=True))), [a, b])
        for q in range(n):
            t = moment.duration_ns
            lost = 1 - math.exp(-t / model.t1_ns[q])
            keep = math.exp(-t * (1 / model.t2_ns[q] - 0.5 / model.t1_ns[q]))
            relax = [np.diag([1, math.sqrt(1 - lost)]), np.array([[0, math.sqrt(lost)], [0, 0]])]
            dephase = [math.sqrt((1 + keep) / 2) * np.eye(2), math.sqrt((1 - keep) / 2) * np.diag([1, -1])]
            out.append(channel(*(d @ r for d in dephase for r in relax)), [q])
    out.save_probabilities()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twirls", type=int, default=20)
    parser.add_argument("--scale", type=int, default=3)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    qtype = qtypes.load("digital_gate_model")
    model = qtype.draw(rng, qtype.read_profile({})).noise(0.0)
    circuit = qasm.read(trotter_circuit(args.scale), TARGET)
    frames = rng.integers(0, 4, (args.twirls, circuit.count("cz"), 2), dtype=np.uint8)
    schedule = compiling.twirled(circuit, frames)

    start = time.process_time()
    schedule = compiling.twirled(circuit, frames)
    tensor = physics.evolve(model, schedule, circuit.touched, BOX_QUBITS)
    ours = physics.populations(model, tensor, circuit.touched, 0.0)[:, : 2 ** len(BOX_QUBITS)]
    cpu_o = time.process_time() - start
    ours = ours / ours.sum(axis=1, keepdims=True)  # without the sixth qubit, which idles

    backend = qiskit_aer.AerSimulator(method="density_matrix", max_parallel_threads=1)
    programs = [circuit_of(schedule, model, k) for k in range(args.twirls)]
    start = time.process_time()
    result = backend.run(programs).result()
    cpu_a = time.process_time() - start
    theirs = np.array([result.data(k)["probabilities"] for k in range(args.twirls)])

    off = float(np.abs(ours - theirs).max())
    print(f"{args.twirls} twirls, {len(schedule)} moments, {circuit.count('cz')} CZ gates; largest difference {off:.1e}")
    print(f"qiskit-aer: {1e3 * cpu_a / args.twirls:8.2f} ms per twirl")
    print(f"ours:       {1e3 * cpu_o / args.twirls:8.2f} ms per twirl, compilation of the twirls included")
    ratio = cpu_a / cpu_o
    print(f"ratio {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
