"""Two-qubit gates and depth of a state of a stabilizer code: the reference solver of stabilizer_optimization beside plain syntheses.

    nice python -m bench.stabilizer_synthesis [--seconds 1] [--code golay ...]

Every circuit is checked generator by generator before it is counted. stim: graph state, and elimination (the baseline). qiskit: layers of
a stabilizer state, and the greedy synthesis of a Clifford (Bravyi, Hu, Maslov and Shaydulin 2021) of the completed tableau. Where MQT QECC
is installed (`mqt.qecc` 2.0, no dependency of the project), its heuristic for CSS codes too: |0...0> and |+...+>, for gates and for depth,
the best of the four (Peham et al. 2024). SWAP counts 3, as everywhere in the corrected scoring. Goal: on no code more two-qubit gates than
any of them.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from typing import Any

for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_pool, "1")

import numpy as np  # noqa: E402
import stim  # noqa: E402

from qtypes.stabilizer_codes import baseline, circuits, codes, oracles  # noqa: E402
from qtypes.stabilizer_codes.codes import Code  # noqa: E402
from tests.graders.in_process import solution  # noqa: E402

CODES = (
    "perfect_5", "steane", "shor", "carbon", "tetrahedral", "hamming_15", "surface_3", "surface_5", "surface_7", "hexagonal_5", "golay",
    "hypercube_2", "iceberg_4", "bb_72", "perfect_5_over_perfect_5", "steane_over_steane",
)  # fmt: skip


def cost(text: str, code: Code) -> str:
    """Two-qubit gates (as CX) and depth; `invalid` where a generator is not +1."""
    circuit = circuits.parse(text, code.n)
    if not oracles.check_stabilizers(circuit, code).valid:
        return "invalid"
    found = circuits.counts(circuit)
    return f"{found.entangling}/{found.depth}"


NAMES = {
    "h": "H", "s": "S", "sdg": "S_DAG", "x": "X", "y": "Y", "z": "Z", "sx": "SQRT_X", "sxdg": "SQRT_X_DAG", "id": "I",
    "cx": "CX", "cz": "CZ", "swap": "SWAP",
}  # fmt: skip


def gates(circuit: Any) -> list[str]:
    """Lines of stim text of a qiskit circuit of Clifford gates, taken apart as far as needed."""
    lines: list[str] = []
    for op in circuit.data:
        where = [circuit.find_bit(q).index for q in op.qubits]
        name = op.operation.name
        if name in NAMES:
            lines.append(" ".join([NAMES[name], *map(str, where)]))
        elif name == "pauli":
            lines += [f"{p} {q}" for p, q in zip(reversed(op.operation.params[0]), where, strict=True) if p != "I"]
        else:
            for line in gates(op.operation.definition):
                word, *qubits = line.split()
                lines.append(" ".join([word, *(str(where[int(q)]) for q in qubits)]))
    return lines


def by_qiskit(code: Code) -> tuple[str, str]:
    """Stim texts of both syntheses of qiskit."""
    from qiskit.quantum_info import StabilizerState
    from qiskit.synthesis import synth_clifford_greedy, synth_stabilizer_layers

    labels = [g[::-1] for g in code.generators]  # qiskit's first letter is its last qubit
    state = StabilizerState.from_stabilizer_list(labels, allow_redundant=True, allow_underconstrained=True)
    first, second = synth_stabilizer_layers(state), synth_clifford_greedy(state.clifford)
    return "\n".join(gates(first)), "\n".join(gates(second))


def by_mqt(code: Code) -> str | None:
    """Stim text of the cheapest of four circuits of MQT QECC's heuristic; None for a code that is not CSS, or without the package."""
    try:
        from mqt.qecc import CSSCode
        from mqt.qecc.circuit_synthesis.state_prep import heuristic_prep_circuit
    except ImportError:
        return None
    if not code.is_css:
        return None
    checks = [np.array([[c == p for c in g] for g in code.generators if p in g], np.int8) for p in "XZ"]
    found = [
        heuristic_prep_circuit(CSSCode(*checks), optimize_depth=depth, state=state).circ
        for state in ("all_zero", "all_plus")
        for depth in (True, False)
    ]
    best = min(found, key=lambda c: (c.num_cnots(), c.depth()))
    lines = str(best.to_stim_circuit()).splitlines()
    return "\n".join("H" + line[2:] if line.startswith("RX ") else line for line in lines if not line.startswith("R "))


def row(name: str, seconds: float, solve: Any, graph_state: Any) -> tuple[list[str], float]:
    """A line of the table, and the CPU time of our solver in s."""
    code = codes.load(name)
    base = oracles.baseline_counts(code)
    spec = {"generators": code.generators, "baseline_g2q": base.g2q, "baseline_depth": base.depth}
    start = time.process_time()
    ours = solve(spec, seconds=seconds, rng=np.random.default_rng(1))
    spent = time.process_time() - start
    texts = (ours, str(graph_state(code.generators)), baseline.text_of(code), *by_qiskit(code))
    mqt = by_mqt(code)
    return [*(cost(t, code) for t in texts), "-" if mqt is None else cost(mqt, code)], spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds of our search for each code")
    parser.add_argument("--code", nargs="*", default=CODES)
    args = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    print("two-qubit gates / depth; stim " + stim.__version__)
    print(
        f"{'code':26}"
        + "".join(f"{c:>16}" for c in ("ours", "graph state", "elimination", "qiskit layers", "qiskit greedy", "mqt heuristic"))
        + f"{'CPU s':>8}"
    )
    met, sums = True, np.zeros(6)
    with solution("stabilizer_optimization", "paulis", "fold", "search", "solve_code") as modules:
        for name in args.code:
            cells, spent = row(name, args.seconds, modules["solve_code"].solve, modules["solve_code"].graph_state)
            counts = [float(c.split("/")[0]) if c not in ("invalid", "-") else np.nan for c in cells]
            met &= bool(counts[0] <= np.nanmin(counts))
            sums += np.nan_to_num(counts)
            print(f"{name:26}" + "".join(f"{c:>16}" for c in cells) + f"{spent:8.1f}", flush=True)
    print(f"{'sum of two-qubit gates':26}" + "".join(f"{s:16.0f}" for s in sums[:5]))
    ratio = np.nanmin(sums[1:5]) / sums[0]
    print(f"ratio to the best of the others: {ratio:.2f}; goal (never more than another): {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
