"""Random admissible circuits, honest circuits with flags, and a shorthand."""

from __future__ import annotations

import numpy as np

from qtypes.stabilizer_codes.actions import ONE_QUBIT, TWO_QUBIT
from qtypes.stabilizer_codes.circuits import Circuit, Gate, condensed
from qtypes.stabilizer_codes.codes import Code

LETTERS = {"X": "CX", "Y": "CY", "Z": "CZ"}


def random_circuit(rng: np.random.Generator, n: int, gates: int, flags: int) -> Circuit:
    """Random gates of all kinds on the data; flags take the parity of random Paulis of the state before and after random gates, so that
    they are quiet without a fault."""
    parts = [[_random_gate(rng, n)] for _ in range(gates)]
    for f in range(flags):
        at = int(rng.integers(0, len(parts) + 1))
        before = [g for part in parts[:at] for g in part if max(g.qubits) < n]
        parts.insert(at, measurement(_stabilizer(rng, n, before), n + f))
    return condensed(Circuit(n, flags, tuple(g for part in parts for g in part)))


def _random_gate(rng: np.random.Generator, n: int) -> Gate:
    if n == 1 or rng.random() < 0.4:
        return Gate(str(rng.choice(ONE_QUBIT[1:])), int(rng.integers(n)))
    a, b = (int(q) for q in rng.choice(n, 2, replace=False))
    return Gate(str(rng.choice(TWO_QUBIT)), a, b)


def _stabilizer(rng: np.random.Generator, n: int, gates: list[Gate]) -> str:
    """A random stabilizer, with sign plus, of the data after `gates`; `-` in front where the sign is minus."""
    tableau = Circuit(n, 0, tuple(gates)).unitary().to_tableau()
    chosen = [q for q in range(n) if rng.random() < 0.5] or [0]
    row = tableau.z_output(chosen[0])
    for q in chosen[1:]:
        row *= tableau.z_output(q)
    return str(row).replace("_", "I")


def measurement(pauli: str, ancilla: int) -> list[Gate]:
    """The parity of a signed Pauli string onto an ancilla in |0>, which stays 0 where the state is stabilized by it."""
    sign, letters = (pauli[0], pauli[1:]) if pauli[0] in "+-" else ("+", pauli)
    flip = [Gate("X", ancilla)] if sign == "-" else []
    coupled = [Gate(LETTERS[c], ancilla, q) for q, c in enumerate(letters) if c != "I"]
    return [Gate("H", ancilla), *coupled, Gate("H", ancilla), *flip]


def with_all_measured(code: Code, circuit: Circuit) -> Circuit:
    """The circuit, then every listed generator onto a flag of its own."""
    gates = list(circuit.gates)
    for k, g in enumerate(code.generators):
        if set(g) <= {"I", "Z"}:
            gates += [Gate("CX", q, code.n + k) for q, c in enumerate(g) if c == "Z"]
        else:
            gates += measurement(g, code.n + k)
    return Circuit(code.n, code.listed, tuple(gates))
