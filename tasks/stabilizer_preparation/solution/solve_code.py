"""A state of a stabilizer code as a graph state with one-qubit gates.

stim completes the generators to a tableau, dependent and missing ones allowed, and writes it as H on every qubit, CZ gates and one-qubit
gates with all signs right (Van den Nest, Dehaene, De Moor 2004; Gidney 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import stim


def prepare(generators: Sequence[str]) -> stim.Circuit:
    """A circuit of unitary gates on |0...0>; ValueError where the generators do not commute or contradict one another."""
    rows = [stim.PauliString(g) for g in generators]
    tableau = stim.Tableau.from_stabilizers(rows, allow_redundant=True, allow_underconstrained=True)
    circuit = stim.Circuit()
    for op in tableau.to_circuit("graph_state"):
        # it begins with resets to |+>, which from |0> are H
        circuit.append("H" if op.name == "RX" else op.name, op.targets_copy(), op.gate_args_copy())
    return circuit


def values(circuit: stim.Circuit, generators: Sequence[str]) -> list[int]:
    """+1, 0 (random) or -1 of each generator on the output."""
    simulator = stim.TableauSimulator()
    simulator.do(circuit)
    return [int(simulator.peek_observable_expectation(stim.PauliString(g))) for g in generators]


def solve(spec: Mapping[str, Any], *, seconds: float = 1.0, rng: np.random.Generator | None = None) -> str:
    """Stim text for the code of `spec` (`generators`). Takes milliseconds and no random numbers."""
    return str(prepare(spec["generators"])) + "\n"
