"""Outcome probabilities of a noisy compiled circuit on eight ions: ours against the density-matrix method of qiskit-aer.

    python -m bench.ion_trap_gate_model_vs_aer [--repeats 3]

Both play the compiled target with over-rotations, depolarising and dephasing. Crosstalk is left out of both: where beams of two phases meet
it is no gate of aer. CPU time of one process and one thread; building the circuit of qiskit is not counted.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qiskit
import qiskit_aer
from qiskit_aer.noise import depolarizing_error, phase_damping_error

import qtypes
from qtypes.ion_trap_gate_model.circuit import N_IONS, Pulse, played
from qtypes.ion_trap_gate_model.physics import R_US, XX_US, NoiseModel, evolved
from qtypes.ion_trap_gate_model.target import compiled

GOAL = 3.0


def circuit_of(pulses: list[Pulse], model: NoiseModel) -> qiskit.QuantumCircuit:
    """Pulses in the frame of the laboratory with a channel behind each."""
    out = qiskit.QuantumCircuit(N_IONS)
    for p in pulses:
        if len(p.ions) == 1:
            out.r(p.angle, p.phases[0], *p.ions)
            error, t = model.one_ion_error[p.ions[0]] * 4 / 3, R_US
        else:
            i, j = p.ions
            for k, phase in zip(p.ions, p.phases, strict=True):
                out.rz(-phase, k)
            out.rxx(p.angle * (1 + model.over_rotation[i, j]), i, j)
            for k, phase in zip(p.ions, p.phases, strict=True):
                out.rz(phase, k)
            error, t = model.pair_error(i, j, p.angle) * 16 / 15, XX_US
        out.append(depolarizing_error(error, len(p.ions)).to_instruction(), p.ions)
        for k in range(N_IONS):
            out.append(phase_damping_error(1 - np.exp(-2 * t / model.t2_us[k])).to_instruction(), [k])
    out.save_probabilities()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    qtype = qtypes.load("ion_trap_gate_model")
    hidden = qtype.draw(np.random.default_rng(1), qtype.read_profile({}))
    model = dataclasses.replace(hidden.noise(0.0), crosstalk=np.zeros((N_IONS, N_IONS)))
    pulses, _ = played(compiled(hidden.target, range(N_IONS)))

    start = time.process_time()
    for _ in range(args.repeats):
        ours = evolved(model, pulses).populations()[0]
    cpu_o = (time.process_time() - start) / args.repeats

    backend = qiskit_aer.AerSimulator(method="density_matrix", max_parallel_threads=1)
    program = circuit_of(pulses, model)
    start = time.process_time()
    for _ in range(args.repeats):
        result = backend.run(program).result()
    cpu_a = (time.process_time() - start) / args.repeats
    little = np.asarray(result.data(0)["probabilities"])
    theirs = little.reshape((2,) * N_IONS).transpose(tuple(range(N_IONS))[::-1]).ravel()  # their qubit 0 is the lowest bit

    print(f"{len(pulses)} pulses on {N_IONS} ions; largest difference {np.abs(ours - theirs).max():.1e}")
    print(f"qiskit-aer: {1e3 * cpu_a:8.1f} ms")
    print(f"ours:       {1e3 * cpu_o:8.1f} ms")
    print(f"ratio {cpu_a / cpu_o:.1f}; goal {GOAL:.0f}: {'met' if cpu_a / cpu_o >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
