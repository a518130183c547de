"""Shots of the 60-qubit black box: this laboratory against qiskit-aer's matrix product state simulator, in the same run.

    python bench/blackbox_vs_aer_mps.py [--inputs 10] [--shots 320]

Prints CPU time per shot of both, single thread, their ratio, and how well the pair correlations of both agree with exact values. The
laboratory is timed cold, compiling the circuit included, for the same inputs and for a batch of inputs as a session uses it.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from qtypes.blackbox_boundedgate_circuit import QTYPE
from qtypes.blackbox_boundedgate_circuit.circuit import Circuit
from qtypes.blackbox_boundedgate_circuit.polynomials import correlations, pairs
from qtypes.blackbox_boundedgate_circuit.sampling import frame_of, sample_words, sampler_of

QISKIT = {"H": "h", "S": "s", "V": "sx"}


def to_qiskit(circuit: Circuit, x: np.ndarray):
    """The circuit at inputs `x` (6,) rad, with a final measurement of all qubits."""
    from qiskit import QuantumCircuit

    qc = QuantumCircuit(circuit.n_qubits)
    for index, layer in enumerate(circuit.layers):
        for q, letter in enumerate(layer.singles):
            if letter != "I":
                getattr(qc, QISKIT[letter])(q)
        for kind, control, target in layer.pairs:
            getattr(qc, kind.lower())(control, target)
        for r in circuit.rotations:
            if r.layer == index:
                getattr(qc, f"r{r.axis.lower()}")(r.sign * float(x[r.input]), r.site)
    qc.measure_all()
    return qc


def measured_correlations(bits: np.ndarray) -> np.ndarray:
    z = 1 - 2 * bits.astype(np.float32)
    return (z.T @ z)[pairs(bits.shape[1])] / len(bits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10, help="input vectors given to the matrix product state simulator")
    parser.add_argument("--shots", type=int, default=320)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    from qiskit_aer import AerSimulator

    rng = np.random.default_rng(args.seed)
    circuit = QTYPE.draw(rng, QTYPE.Profile()).circuit
    many = rng.uniform(-np.pi, np.pi, (1000, 6))
    few = many[: args.inputs]

    def ours(x: np.ndarray) -> tuple[np.ndarray, float]:
        frame_of.cache_clear()
        sampler_of.cache_clear()
        start = time.process_time()
        words = sample_words(circuit, x, {"Z" * 60: list(range(len(x)))}, args.shots, rng)
        return words, time.process_time() - start

    simulator = AerSimulator(method="matrix_product_state", max_parallel_threads=1)
    theirs: list[np.ndarray] = []
    spent = 0.0
    for row in few:
        qc = to_qiskit(circuit, row)
        start = time.process_time()
        counts = simulator.run(qc, shots=args.shots, seed_simulator=1).result().get_counts()
        spent += time.process_time() - start
        rows = [np.frombuffer(key[::-1].encode(), dtype=np.uint8) - 48 for key, n in counts.items() for _ in range(n)]
        theirs.append(np.array(rows))
    words, same_inputs = ours(few)
    _, batch = ours(many)
    exact = correlations(circuit).evaluate(few)
    mine = np.unpackbits(words.view(np.uint8).reshape(*words.shape, 8), axis=-1, count=60, bitorder="little")
    for name, bits in (("laboratory", mine), ("aer mps", theirs)):
        error = [measured_correlations(b) - e for b, e in zip(bits, exact, strict=True)]
        noise = np.sqrt(np.mean((1 - exact**2) / args.shots))
        print(f"{name:11s} rms deviation from exact / shot noise: {np.sqrt(np.mean(np.square(error))) / noise:.2f}")
    aer, alone, together = (t / n / args.shots for t, n in ((spent, len(few)), (same_inputs, len(few)), (batch, len(many))))
    print(f"aer matrix_product_state: {aer * 1e6:.1f} us per shot ({args.inputs} inputs x {args.shots} shots)")
    print(f"laboratory, same inputs:   {alone * 1e6:.2f} us per shot, ratio {aer / alone:.0f}")
    print(f"laboratory, 1000 inputs:   {together * 1e6:.2f} us per shot, ratio {aer / together:.0f}")


if __name__ == "__main__":
    main()
