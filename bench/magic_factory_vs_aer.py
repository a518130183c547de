"""Magic-state experiments against qiskit-aer trajectories, and the exact output error against the sum over all patterns: CPU time.

`python -m bench.magic_factory_vs_aer`. A chain job of the laboratory samples its closed form; the alternative runs the same gates and
Pauli errors shot by shot in qiskit-aer (one qubit, state vectors). Both give the same probability, which is checked. The exact output error
of 15-to-1 is a sum over 16 characters; the alternative adds up 2^15 patterns of errors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from qtypes import Clock, Device
from qtypes.logical_magic_factory import QTYPE, Profile, RunTeleportChain, physics

GOAL = 10.0
LENGTH = 32


def cpu_of(call: Callable[[], object], repeat: int) -> float:
    """Median CPU time in s."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(np.median(times))


def chain_in_aer(device: Device, shots: int) -> Callable[[], float]:
    """Share of ones in shot-by-shot runs of the chain."""
    from qiskit import QuantumCircuit
    from qiskit_aer import AerSimulator
    from qiskit_aer.noise import ReadoutError, pauli_error
    from qiskit_aer.noise.noise_model import NoiseModel

    h = device.hidden
    (p_z, p_xy), q = h.delivered(0, 1), h.step_flip()
    state = pauli_error([("I", 1 - p_z - p_xy), ("X", p_xy / 2), ("Y", p_xy / 2), ("Z", p_z)])
    step = pauli_error([("I", 1 - 1.5 * q), ("X", q / 2), ("Y", q / 2), ("Z", q / 2)])
    model = NoiseModel()
    model.add_all_qubit_quantum_error(state.compose(step), ["t", "tdg"])
    model.add_all_qubit_readout_error(ReadoutError([[1 - h.q_m, h.q_m], [h.q_m, 1 - h.q_m]]))
    circuit = QuantumCircuit(1, 1)
    circuit.h(0)
    for k in range(LENGTH):
        (circuit.t if k % 2 == 0 else circuit.tdg)(0)
    circuit.h(0)
    circuit.measure(0, 0)
    simulator = AerSimulator(method="statevector", noise_model=model, max_parallel_threads=1, fusion_enable=False)
    return lambda: simulator.run(circuit, shots=shots, seed_simulator=1).result().get_counts().get("1", 0) / shots


def patterns(errors: np.ndarray) -> float:
    """Output error by summing over all 2^15 patterns."""
    bits = (np.arange(1 << 15)[:, None] >> np.arange(15)) & 1
    probability = np.where(bits, errors, 1 - errors).prod(axis=1)
    passed = ~(bits @ physics.columns("15-to-1") & 1).any(axis=1)
    return float(probability[passed & (bits.sum(axis=1) % 2 == 1)].sum() / probability[passed].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    profile = Profile(instance="supply")
    hidden = QTYPE.draw(np.random.default_rng(1), profile)
    device = Device(QTYPE.spec(hidden, profile), hidden, profile)
    request = RunTeleportChain(level=1, kind="T", prep="+", length=LENGTH, shots=arguments.shots)

    def job() -> float:
        return float(request.run(device, Clock(0.0), np.random.default_rng(2)).arrays["bits"].values.mean())

    aer = chain_in_aer(device, arguments.shots)
    difference = abs(job() - aer())
    if difference > 6 * np.sqrt(0.5 / arguments.shots):
        raise RuntimeError(f"the two disagree by {difference:.4f}")
    ours, theirs = cpu_of(job, 5 * arguments.repeat), cpu_of(aer, arguments.repeat)
    print(f"T chain of {LENGTH} gates, {arguments.shots} shots")
    print(f"  run_teleport_chain       CPU {ours * 1e3:8.2f} ms")
    print(f"  qiskit-aer trajectories  CPU {theirs * 1e3:8.2f} ms")
    errors = np.random.default_rng(3).uniform(1e-3, 1e-2, 15)
    if not np.isclose(physics.distilled(errors, 0.0, 1)[1], patterns(errors), rtol=1e-9):
        raise RuntimeError("character sum and enumeration disagree")
    exact = cpu_of(lambda: [physics.distilled(errors, 0.0, 1) for _ in range(100)], 5) / 100
    enumeration = cpu_of(lambda: patterns(errors), 5)
    print(f"exact output error of 15-to-1: {exact * 1e6:.0f} us, enumeration {enumeration * 1e3:.1f} ms, ratio {enumeration / exact:.0f}")
    ratio = theirs / ours
    print(f"goal: aer over laboratory at least {GOAL:g}: {'met' if ratio >= GOAL else 'MISSED'} ({ratio:.0f})")


if __name__ == "__main__":
    main()
