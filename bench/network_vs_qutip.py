"""A job of Bell pairs on the network against density matrices of qutip, one per shot: CPU time.

`python -m bench.network_vs_qutip [--shots N]`. The phase of the pairs drifts, so every shot has a state of its own; the laboratory takes
it from three density matrices, qutip makes each. Both give the same mean parity, which is checked.
"""

from __future__ import annotations

import argparse

import numpy as np

from bench.processes import timed
from qtypes import Clock, Device
from qtypes.neutral_atom_quantum_network import QTYPE, Profile, RunEntangled
from qtypes.neutral_atom_quantum_network.device import CYCLE_S, INTERROGATION_MS, Hidden
from qtypes.neutral_atom_quantum_network.physics import pauli_errors
from qtypes.neutral_atom_quantum_network.store import sealed

GOAL = 100.0
PHASES = (0.4, 0.9)


def parity_in_qutip(h: Hidden, offset: float) -> float:
    """Mean parity of one shot."""
    import qutip as qt

    up, down = qt.basis(2, 0), qt.basis(2, 1)
    ket = (qt.tensor(up, up) + np.exp(1j * offset) * qt.tensor(down, down)).unit()
    p = pauli_errors(h.fidelity, h.dephased)
    paulis = {"x": qt.sigmax(), "y": qt.sigmay(), "z": qt.sigmaz()}
    rho = (1 - sum(p.values())) * qt.ket2dm(ket)
    for axis, operator in paulis.items():
        rho = rho + p[axis] * qt.ket2dm(qt.tensor(qt.qeye(2), operator) * ket)
    q = (1 - np.exp(-INTERROGATION_MS / h.t2_ms)) / 2
    for z in (qt.tensor(qt.sigmaz(), qt.qeye(2)), qt.tensor(qt.qeye(2), qt.sigmaz())):
        rho = (1 - q) * rho + q * z * rho * z
    turn = qt.tensor(*(qt.qdiags([1, np.exp(1j * phase)], 0) for phase in (h.phi_a_rad + PHASES[0], h.phi_b_rad + PHASES[1])))
    return float(qt.expect(qt.tensor(qt.sigmax(), qt.sigmax()), turn * rho * turn.dag()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=3000)
    shots = parser.parse_args().shots
    hidden = QTYPE.draw(np.random.default_rng(1), Profile()).model_copy(update={"readout_a": 0.0, "readout_b": 0.0})
    device = Device(QTYPE.spec(hidden, Profile()), hidden, Profile())
    request = RunEntangled(analysis_a_rad=PHASES[0], analysis_b_rad=PHASES[1], shots=shots)
    record, ours = timed(lambda: request.run(device, Clock(0.0), np.random.default_rng(2)), 5)
    times = CYCLE_S * np.arange(shots)
    parity_in_qutip(hidden, 0.0)  # imports
    mean, theirs = timed(lambda: np.mean([parity_in_qutip(hidden, float(hidden.offset_at(t))) for t in times]), 1)
    b = sealed(record.arrays["stored_at_b"].values, hidden.store_key, record.arrays["nonce"].values)
    seen = float(np.mean(1 - 2.0 * (record.arrays["bits_a"].values ^ b)))
    if abs(seen - mean) > 5 / np.sqrt(shots):
        raise RuntimeError(f"the two disagree: {seen:.3f} and {mean:.3f}")
    print(f"{shots} pairs: laboratory {1e3 * ours:.2f} ms, qutip {1e3 * theirs:.0f} ms; mean parity {seen:.3f} and {mean:.3f}")
    ratio = theirs / ours
    print(f"goal: qutip over laboratory at least {GOAL:g}: {'met' if ratio >= GOAL else 'MISSED'} ({ratio:.0f})")


if __name__ == "__main__":
    main()
