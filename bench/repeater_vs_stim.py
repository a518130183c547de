"""Attempts of purification over three links: Pauli frames of the laboratory against stim, and the exact sums against both.

`python -m bench.repeater_vs_stim [--shots N]`. The stim circuit holds 12 qubits: all links of both copies with their common errors, Bell
measurements with feed-forward, waits, local Cliffords, bilateral CNOT. CPU time of one process; building and compiling the circuit
is not counted.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import stim

from bench.processes import timed
from qtypes.transmon_repeater_array import QTYPE, Profile, physics, protocol, sampling
from qtypes.transmon_repeater_array.protocol import BELL_US, Setting

GOAL = 1.0
"""Million raw pairs per second."""
GATES = {"XYZ": "I", "ZYX": "H", "YXZ": "S", "XZY": "SQRT_X", "YZX": "C_XYZ", "ZXY": "C_ZYX"}
"""Gates of each class; stim's C_XYZ takes X to Y, Y to Z, Z to X."""
CONJUGATE = {"YXZ": "S_DAG", "XZY": "SQRT_X_DAG", "YZX": "S_DAG|H", "ZXY": "H|S"}


def turn(circuit: stim.Circuit, word: str, qubit: int, conjugate: bool) -> None:
    """A class on a qubit; its complex conjugate on the other half of a pair, so that |Phi+> stays itself up to a Pauli."""
    for gate in (CONJUGATE.get(word, GATES[word]) if conjugate else GATES[word]).split("|"):
        circuit.append(gate, [qubit])


def correlated(circuit: stim.Circuit, joint: np.ndarray, qubits: tuple[int, int]) -> None:
    """One of the 15 joint errors of two pairs, on one half of each."""
    left = 1.0
    for k, (a, b) in enumerate((a, b) for a in range(4) for b in range(4) if a or b):
        paulis = [stim.target_pauli(q, physics.PAULIS[e]) for q, e in zip(qubits, (a, b), strict=True) if e]
        p = float(joint[a, b])
        circuit.append("E" if k == 0 else "ELSE_CORRELATED_ERROR", paulis, min(1.0, p / left))
        left -= p


def dephase(circuit: stim.Circuit, hidden: Any, node: int, qubit: int, time_us: float) -> None:
    circuit.append("Z_ERROR", [qubit], float(physics.dephasing(time_us, hidden.t2_us[node])[2]))


def circuit_of(hidden: Any, setting: Setting) -> stim.Circuit:
    """One round of purification. Measurements: two Bell measurements of two bits for each copy, the two check bits, then X X and Z Z."""
    out = stim.Circuit()
    half = {(c, k, e): 6 * c + 2 * k + e for c in range(2) for k in range(3) for e in range(2)}  # copy, link, end -> qubit
    for c in range(2):
        for k in range(3):
            out.append("H", [half[c, k, 0]])
            out.append("CX", [half[c, k, 0], half[c, k, 1]])
    for k, link in enumerate(hidden.links):
        joint = physics.link_joint(link.vector(), hidden.shared, hidden.correlation_us, setting.times_us())
        correlated(out, joint, (half[0, k, 1], half[1, k, 1]))
    wait = protocol.swap_wait_us(setting.swap_order)
    ends = [(half[c, 0, 0], half[c, 2, 1]) for c in range(2)]
    for c in range(2):
        for node in physics.INNER:
            left, right = half[c, node - 1, 1], half[c, node, 0]
            word = setting.cliffords[node]
            for q, conjugate in ((left, False), (right, True)):
                dephase(out, hidden, node, q, wait[node])
                turn(out, word, q, conjugate)
            out.append("CX", [left, right])
            out.append("DEPOLARIZE2", [left, right], hidden.gate_error[node])
            out.append("H", [left])
            out.append("M", [left, right], hidden.readout[node])
            for position, e in ((-2, 2), (-1, 1)):  # bit of the control: Z in the turned frame, of the target: X
                pauli = physics.PAULIS[physics.inverse(word)[e]]
                out.append(f"C{pauli}", [stim.target_rec(position), ends[c][1]])
        for node, q in zip(physics.ENDS, ends[c], strict=True):
            dephase(out, hidden, node, q, wait[node] + (setting.separation_us if c == 0 else 0.0))
            turn(out, setting.cliffords[node], q, q == ends[c][1])
    for i, node in enumerate(physics.ENDS):
        out.append("CX", [ends[0][i], ends[1][i]])
        out.append("DEPOLARIZE2", [ends[0][i], ends[1][i]], hidden.gate_error[node])
    for i, node in enumerate(physics.ENDS):
        out.append("M", [ends[1][i]], hidden.readout[node])
        dephase(out, hidden, node, ends[0][i], BELL_US)
    a, b = ends[0]
    out.append_from_stim_program_text(f"MPP X{a}*X{b} Z{a}*Z{b}")
    return out


def histogram(bits: np.ndarray) -> np.ndarray:
    """Counts `(2, 4)` of the check parity and the error that is left."""
    bits = bits.astype(int)
    out = np.zeros((2, 4))
    np.add.at(out, (bits[:, 8] ^ bits[:, 9], bits[:, 11] | bits[:, 10] << 1), 1)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=40_000)
    shots = parser.parse_args().shots
    hidden = QTYPE.draw(np.random.default_rng(1), Profile())
    setting = Setting(("ZYX", "YXZ", "YXZ", "ZYX"), "together", 16.0)
    exact, sums = timed(lambda: protocol.purified(hidden, setting), 5)
    sampler = circuit_of(hidden, setting).compile_sampler(seed=1)
    seen, theirs = timed(lambda: histogram(sampler.sample(shots)), 3)
    (parities, left), ours = timed(lambda: sampling.purified(np.random.default_rng(2), hidden, setting, shots), 3)
    frames = np.zeros((2, 4))
    np.add.at(frames, (parities[:, 0], left), 1)
    for name, counts in (("stim", seen), ("frames", frames)):
        chi2 = float(((counts - shots * exact) ** 2 / (shots * exact)).sum())
        print(f"{name:7s} chi squared {chi2:.1f} for 7 degrees of freedom")
    print(f"exact sums {1e3 * sums:.2f} ms; {shots} attempts: stim {1e3 * theirs:.1f} ms, laboratory {1e3 * ours:.1f} ms")
    speed = 6 * shots / ours / 1e6
    print(f"ratio stim over laboratory {theirs / ours:.2f}")
    print(f"goal: at least {GOAL:g} million raw pairs per second: {'met' if speed >= GOAL else 'MISSED'} ({speed:.1f})")


if __name__ == "__main__":
    main()
