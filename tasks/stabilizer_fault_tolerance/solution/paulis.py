"""Stabilizer groups as bit matrices, and circuits of controlled Paulis that prepare their states.

A gate `(P, i, Q, j)` with P, Q in 0, 1, 2 for X, Y, Z is the Clifford exp(i pi/4 (1 - P_i)(1 - Q_j)): CX is (Z, control, X, target), CZ is
(Z, i, Z, j). It is its own inverse, and it turns a Pauli that anticommutes with P on qubit i by Q on qubit j, and the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import stim

Gate = tuple[int, int, int, int]
X, Y, Z = 0, 1, 2
_NAMES = {
    (Z, X): "CX", (Z, Y): "CY", (Z, Z): "CZ", (X, X): "XCX", (X, Y): "XCY", (X, Z): "XCZ", (Y, X): "YCX", (Y, Y): "YCY", (Y, Z): "YCZ",
}  # fmt: skip
_PREPARE = {(X, 0): "H", (X, 1): "SQRT_Y_DAG", (Y, 0): "SQRT_X_DAG", (Y, 1): "SQRT_X", (Z, 0): "I", (Z, 1): "X"}
"""From |0> to the +1 (0) or -1 (1) eigenstate of a Pauli."""


def bits(generators: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """X and Z parts `(m, n)` uint8 of generators such as `+XIZ` or `-_ZY`."""
    rows = [stim.PauliString(g).to_numpy() for g in generators]
    return np.array([r[0] for r in rows], np.uint8), np.array([r[1] for r in rows], np.uint8)


def reduced(m: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Reduced row echelon form over GF(2) without zero rows, and the pivot columns."""
    m = m.astype(np.uint8).copy()
    pivots: list[int] = []
    for column in range(m.shape[1]):
        r = len(pivots)
        found = np.flatnonzero(m[r:, column])
        if not found.size:
            continue
        if found[0]:
            m[[r, r + found[0]]] = m[[r + found[0], r]]
        others = np.flatnonzero(m[:, column])
        m[others[others != r]] ^= m[r]
        pivots.append(column)
        if len(pivots) == len(m):
            break
    return m[: len(pivots)], pivots


def independent(m: np.ndarray) -> np.ndarray:
    """A largest set of independent rows of `m`, the first ones first: given generators are lighter than echelon forms."""
    return m[reduced(m.T)[1]]


def css_parts(x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Independent X-type and Z-type rows of a CSS group; None for any other."""
    m, _ = reduced(np.hstack([x, z]))
    n = x.shape[1]
    has_x, has_z = m[:, :n].any(1), m[:, n:].any(1)
    if (has_x & has_z).any():
        return None
    given_x, given_z = x[~z.any(1)], z[~x.any(1)]
    parts = independent(given_x) if len(given_x) else m[has_x, :n], independent(given_z) if len(given_z) else m[has_z, n:]
    if len(parts[0]) != has_x.sum() or len(parts[1]) != has_z.sum():
        return m[has_x, :n], m[has_z, n:]
    return parts


def depth(gates: Sequence[Gate], singles: bool = True) -> int:
    """As-soon-as-possible depth of `gates` after one layer of single-qubit preparations."""
    level: dict[int, int] = {}
    for _, i, _, j in gates:
        level[i] = level[j] = max(level.get(i, 0), level.get(j, 0)) + 1
    return max(level.values(), default=0) + singles


def scheduled(gates: Sequence[Gate]) -> list[Gate]:
    """The same circuit in an order of smaller depth: gates that act by the same Pauli on a shared qubit commute."""
    waits: list[set[int]] = [set() for _ in gates]
    follows: list[set[int]] = [set() for _ in gates]
    seen: dict[int, list[tuple[int, int]]] = {}
    for k, (p, i, q, j) in enumerate(gates):
        for pauli, qubit in ((p, i), (q, j)):
            for earlier, other in seen.setdefault(qubit, []):
                if other != pauli:
                    waits[k].add(earlier)
                    follows[earlier].add(k)
            seen[qubit].append((k, pauli))
    tail = [1] * len(gates)
    for k in reversed(range(len(gates))):
        tail[k] = 1 + max((tail[f] for f in follows[k]), default=0)
    load = {q: len(s) for q, s in seen.items()}
    left = [len(w) for w in waits]
    ready = [k for k in range(len(gates)) if not left[k]]
    out: list[Gate] = []
    while ready:
        busy: set[int] = set()
        taken: list[int] = []
        for k in sorted(ready, key=lambda k: (-tail[k], -max(load[gates[k][1]], load[gates[k][3]]))):
            _, i, _, j = gates[k]
            if i not in busy and j not in busy:
                busy |= {i, j}
                taken.append(k)
        out += [gates[k] for k in taken]
        ready = [k for k in ready if k not in set(taken)]
        for k in taken:
            load[gates[k][1]] -= 1
            load[gates[k][3]] -= 1
            for f in follows[k]:
                left[f] -= 1
                if not left[f]:
                    ready.append(f)
    return out if depth(out) <= depth(gates) else list(gates)


def build(n: int, roots: dict[int, int], gates: Sequence[Gate], generators: Sequence[str]) -> stim.Circuit:
    """Circuit on `n` qubits: roots in eigenstates of their Paulis, all others in |0>, then `gates`; signs as in `generators`."""
    circuit = _assembled(roots, gates, {})
    forward = circuit.to_tableau() if circuit.num_qubits == n else _padded(circuit, n).to_tableau()
    back = forward.inverse()
    images = [back(stim.PauliString(g)) for g in generators]
    wrong = np.array([p.sign == -1 for p in images], np.uint8)
    if wrong.any():
        rows = np.array([p.to_numpy()[1] for p in images], np.uint8)
        solution, pivots = reduced(np.hstack([rows, wrong[:, None]]))
        flips = {q for row, q in zip(solution, pivots, strict=True) if row[n]}
        if n in flips:
            raise ValueError("the generators contradict one another: their product is -1")
        circuit = _assembled(roots, gates, dict.fromkeys(flips, 1))
    return circuit


def _assembled(roots: dict[int, int], gates: Sequence[Gate], flips: dict[int, int]) -> stim.Circuit:
    circuit = stim.Circuit()
    for q in sorted({*roots, *flips}):
        name = _PREPARE[roots.get(q, Z), flips.get(q, 0)]
        if name != "I":
            circuit.append(name, [q])
    for p, i, q, j in gates:
        circuit.append(_NAMES[p, q], [i, j])
    return circuit


def _padded(circuit: stim.Circuit, n: int) -> stim.Circuit:
    return circuit + stim.Circuit(f"I {n - 1}")
