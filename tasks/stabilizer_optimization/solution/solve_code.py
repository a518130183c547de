"""A cheap circuit for a state of a stabilizer code: the best of a search over foldings (`search.py`) and of a few graph states."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import stim
from search import prepare

GATE_SHARE, DEPTH_SHARE = 0.75, 0.25
GRAPHS_SHARE = 0.1
"""Of the time, for graph states; on the smallest codes that are no CSS codes they have fewer gates than any folding found."""


def costs(circuit: stim.Circuit) -> tuple[int, int]:
    """Two-qubit gates, each 1, and depth with every gate as soon as its qubits are free."""
    free = [0] * circuit.num_qubits
    two = 0
    for op in circuit:
        if op.name in ("TICK", "I"):
            continue
        for group in op.target_groups():
            qubits = [t.value for t in group]
            two += len(qubits) == 2
            start = max(free[q] for q in qubits) + 1
            for q in qubits:
                free[q] = start
    return two, max(free, default=0)


def quality(circuit: stim.Circuit, spec: Mapping[str, Any]) -> float:
    """Of a valid circuit; negative where it costs more than the baseline."""
    base = (int(spec["baseline_g2q"]), int(spec["baseline_depth"]))
    two, depth = ((b - new) / max(1, b) for b, new in zip(base, costs(circuit), strict=True))
    return GATE_SHARE * two + DEPTH_SHARE * depth


def wrong(circuit: stim.Circuit, generators: Sequence[str]) -> int:
    """How many generators are not +1 on the output."""
    simulator = stim.TableauSimulator()
    simulator.do(circuit)
    return sum(int(simulator.peek_observable_expectation(stim.PauliString(g))) != 1 for g in generators)


def graph_state(generators: Sequence[str]) -> stim.Circuit:
    """stim's graph state of the completed generators."""
    rows = [stim.PauliString(g) for g in generators]
    tableau = stim.Tableau.from_stabilizers(rows, allow_redundant=True, allow_underconstrained=True)
    circuit = stim.Circuit()
    for op in tableau.to_circuit("graph_state"):
        circuit.append("H" if op.name == "RX" else op.name, op.targets_copy(), op.gate_args_copy())
    return circuit


def turned(generators: Sequence[str], rng: np.random.Generator) -> stim.Circuit:
    """The same of the generators in another order on qubits in another order: another state of the code space, and another graph."""
    n = len(stim.PauliString(generators[0]))
    place = rng.permutation(n)
    moved = []
    for k in rng.permutation(len(generators)):
        row = stim.PauliString(generators[k])
        x, z = row.to_numpy()
        moved.append(str(stim.PauliString.from_numpy(xs=x[place], zs=z[place], sign=row.sign)))
    circuit = stim.Circuit()
    for op in graph_state(moved):
        circuit.append(op.name, [int(place[t.value]) for t in op.targets_copy()], op.gate_args_copy())
    return circuit


def layer_price(spec: Mapping[str, Any]) -> float:
    """What a layer of depth is worth in two-qubit gates, by the weights of the quality."""
    return DEPTH_SHARE / max(1, int(spec["baseline_depth"])) / (GATE_SHARE / max(1, int(spec["baseline_g2q"])))


def solve(spec: Mapping[str, Any], *, seconds: float, rng: np.random.Generator) -> str:
    """Stim text for the code of `spec` (`generators`, `baseline_g2q`, `baseline_depth`): the best found in about `seconds` of CPU time."""
    generators = list(spec["generators"])
    begun, best = time.process_time(), graph_state(generators)
    while time.process_time() - begun < GRAPHS_SHARE * seconds:
        best = max(best, turned(generators, rng), key=lambda c: quality(c, spec))
    left = seconds - (time.process_time() - begun)
    found = prepare(generators, seconds=left, layer_price=layer_price(spec), rng=rng).circuit
    return str(max(found, best, key=lambda c: quality(c, spec))) + "\n"
