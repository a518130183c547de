"""From Pauli rotations back to a circuit: few layers of T gates first, few CX gates second.

A layer is a set of commuting, independent Paulis: some Clifford maps them to Z on different qubits, where their T gates act side by side
(the matroid partition of T-par, Amy, Maslov and Mosca 2014, with anticommutation as the order). Between layers Clifford gates are chosen
greedily: the controlled Pauli, of all pairs and bases, that lowers the weights of the coming Paulis most.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from pauli import Pauli, Rotations, clash

from lab.conventions.tcount import Circuit, Gate

DECAY = 0.55
"""Weight of the next layer relative to the present one in the choice of Clifford gates."""


def layers(seq: list[Pauli], n: int, rng: np.random.Generator, seconds: float) -> list[list[int]]:
    """Indices of `seq` in T layers: list scheduling by longest remaining chain, with randomised restarts for `seconds` of CPU time."""
    m = len(seq)
    anti = np.array([[clash(p, q) for q in seq] for p in seq], dtype=bool).reshape(m, m)
    later = [np.flatnonzero(anti[i, i + 1 :]) + i + 1 for i in range(m)]
    indegree = np.array([int(anti[:i, i].sum()) for i in range(m)])
    height = np.zeros(m)
    for i in reversed(range(m)):
        height[i] = 1 + (height[later[i]].max() if len(later[i]) else 0)
    vectors = [p[0] | p[1] << n for p in seq]
    best: list[list[int]] | None = None
    bias = np.zeros(m)
    begun = time.process_time()
    first = True
    while first or time.process_time() - begun < seconds:
        trial = bias + (0 if first else rng.normal(0, rng.choice([0.3, 1.0, 2.0]), m))
        plan = _schedule(vectors, later, indegree, height + trial)
        if best is None or len(plan) <= len(best):
            best, bias = plan, trial * 0.9
        first = False
    assert best is not None
    return best


def _schedule(vectors: list[int], later: list[np.ndarray], indegree: np.ndarray, priority: np.ndarray) -> list[list[int]]:
    waiting = indegree.copy()
    ready = set(np.flatnonzero(waiting == 0).tolist())
    plan: list[list[int]] = []
    while ready:
        taken: list[int] = []
        echelon: list[tuple[int, int]] = []
        for i in sorted(ready, key=lambda k: -priority[k]):
            v = vectors[i]
            for w, lead in echelon:
                if v & lead:
                    v ^= w
            if v:
                echelon.append((v, 1 << (v.bit_length() - 1)))
                taken.append(i)
        plan.append(taken)
        ready.difference_update(taken)
        for i in taken:
            waiting[later[i]] -= 1
            ready.update(int(j) for j in later[i] if waiting[j] == 0)
    return plan


class _Table:
    """Rows of Paulis that every emitted gate conjugates: `x`, `z` `(n_rows, n)` uint8, `sign` `(n_rows,)` uint8 (1 for minus)."""

    def __init__(self, paulis: list[Pauli], n: int) -> None:
        self.n = n
        self.x = np.array([[p[0] >> q & 1 for q in range(n)] for p in paulis], dtype=np.uint8)
        self.z = np.array([[p[1] >> q & 1 for q in range(n)] for p in paulis], dtype=np.uint8)
        # i**k X^x Z^z is (-1)**sign times a product of X, Y = i X Z and Z
        self.sign = np.array([((p[2] - (p[0] & p[1]).bit_count()) % 4) // 2 for p in paulis], dtype=np.uint8)
        self.gates: list[Gate] = []

    def emit(self, gate: str, a: int, b: int = -1) -> None:
        """Append the gate and conjugate all rows, P -> g P g^dag."""
        x, z = self.x, self.z
        if gate == "h":
            self.sign ^= x[:, a] & z[:, a]
            x[:, a], z[:, a] = z[:, a].copy(), x[:, a].copy()
        elif gate == "s":
            self.sign ^= x[:, a] & z[:, a]
            z[:, a] ^= x[:, a]
        elif gate == "sdg":
            self.sign ^= x[:, a] & (z[:, a] ^ 1)
            z[:, a] ^= x[:, a]
        elif gate == "x":
            self.sign ^= z[:, a]
        elif gate == "z":
            self.sign ^= x[:, a]
        elif gate == "cx":
            self.sign ^= x[:, a] & z[:, b] & (x[:, b] ^ z[:, a] ^ 1)
            x[:, b] ^= x[:, a]
            z[:, a] ^= z[:, b]
        self.gates.append((gate, a, b))

    def basis_change(self, q: int, axis: int, to_x: bool) -> None:
        """Make the Pauli `axis` (1 X, 2 Z, 3 Y) of qubit q equal to X or to Z, up to sign."""
        if axis == 3:
            self.emit("sdg", q)
        if (axis == 2) == to_x:
            self.emit("h", q)

    def controlled(self, a: int, p: int, b: int, q: int) -> None:
        """Controlled Pauli (1 + P_a + Q_b - P_a Q_b)/2, up to local Cliffords: one CX."""
        self.basis_change(a, p, to_x=False)
        self.basis_change(b, q, to_x=True)
        self.emit("cx", a, b)


def _moves(n: int) -> np.ndarray:
    return np.array([(a, p, b, q) for a, b in combinations(range(n), 2) for p in (1, 2, 3) for q in (1, 2, 3)])


def _gains(code: np.ndarray, weights: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Weighted drop of the Pauli weights of `code` `(n_rows, n)` (0 I, 1 X, 2 Z, 3 Y) under each controlled Pauli."""
    a, p, b, q = moves.T
    at_a, at_b = code[:, a], code[:, b]
    flip_a = (at_a != 0) & (at_a != p)
    flip_b = (at_b != 0) & (at_b != q)
    new_a = at_a ^ np.where(flip_b, p, 0)
    new_b = at_b ^ np.where(flip_a, q, 0)
    before = (at_a != 0).astype(np.int8) + (at_b != 0)
    return weights @ (before - (new_a != 0) - (new_b != 0))


def synthesise(r: Rotations, plan: list[list[int]], rng: np.random.Generator) -> Circuit:
    """The circuit of the rotations, layer after layer, then the final Clifford."""
    n, m = r.n, len(r.seq)
    table = _Table(r.seq + r.z + r.x, n)
    moves = _moves(n)
    for depth, layer in enumerate(plan):
        ahead = [i for later in plan[depth + 1 : depth + 2] for i in later]
        _diagonalise(table, layer, ahead, moves, rng)
        for i in layer:
            q = int(np.flatnonzero(table.x[i] | table.z[i])[0])
            table.basis_change(q, int(table.x[i, q] + 2 * table.z[i, q]), to_x=False)
            table.gates.append(("tdg" if table.sign[i] else "t", q, -1))
    _finish(table, np.arange(m, m + n), np.arange(m + n, m + 2 * n), moves, rng)
    return Circuit(n, tuple(_tidy(table.gates, n)))


def _diagonalise(table: _Table, layer: list[int], ahead: list[int], moves: np.ndarray, rng: np.random.Generator) -> None:
    """Clifford gates after which every Pauli of the layer has weight one."""
    rows = np.array(layer + ahead)
    now = len(layer)
    careful = False
    while True:
        code = (table.x[rows] + 2 * table.z[rows]).astype(np.int8)
        heavy = (code[:now] != 0).sum(axis=1)
        if (heavy == 1).all():
            return
        gain_now = _gains(code[:now], np.ones(now), moves)
        gain = gain_now + (DECAY * _gains(code[now:], np.ones(len(ahead)), moves) if ahead else 0)
        gain = gain + rng.random(len(moves)) * 1e-3
        # Every greedy move lowers the layer's total weight; where none does, finishing row by row is sure to end, so it is kept to.
        careful = careful or not (gain_now > 0).any()
        allowed = _finishing(code[:now], heavy, moves) if careful else gain_now > 0
        a, p, b, q = (int(v) for v in moves[np.argmax(np.where(allowed, gain, -np.inf))])
        table.controlled(a, p, b, q)


def _finishing(code: np.ndarray, heavy: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Mask of the moves that shorten the lightest unfinished row and leave finished ones: commuting, independent rows always have one."""
    row = int(np.argmin(np.where(heavy > 1, heavy, 99)))
    a, p, b, q = moves.T
    allowed = _gains(code[row : row + 1], np.ones(1), moves) > 0
    for finished in code[heavy == 1]:
        at_a, at_b = finished[a], finished[b]
        allowed &= ((at_a == 0) | (at_a == p)) & ((at_b == 0) | (at_b == q))
    if not allowed.any():
        raise ValueError("the rows of a layer must commute and be independent")
    return allowed


def _finish(table: _Table, z_rows: np.ndarray, x_rows: np.ndarray, moves: np.ndarray, rng: np.random.Generator) -> None:
    """Gates that turn the rows into Z_q and X_q: what remains is then the final Clifford itself."""
    n = table.n
    rows = np.concatenate([z_rows, x_rows])
    for _ in range(40 * n):
        code = (table.x[rows] + 2 * table.z[rows]).astype(np.int8)
        if ((code != 0).sum(axis=1) == 1).all():
            break
        gain = _gains(code, np.ones(len(rows)), moves) + rng.random(len(moves)) * 1e-3
        best = int(np.argmax(gain))
        if gain[best] < 0.5:
            _sweep(table, z_rows, x_rows)
            break
        a, p, b, q = (int(v) for v in moves[best])
        table.controlled(a, p, b, q)
    place = [int(np.flatnonzero(table.x[z] | table.z[z])[0]) for z in z_rows]
    for q in range(n):
        if place[q] != q:
            other = place[q]
            for a, b in ((q, other), (other, q), (q, other)):
                table.emit("cx", a, b)
            place = [{q: other, other: q}.get(w, w) for w in place]
    for q in range(n):
        z, x = int(z_rows[q]), int(x_rows[q])
        table.basis_change(q, int(table.x[z, q] + 2 * table.z[z, q]), to_x=False)
        if table.z[x, q]:
            table.emit("s", q)
        if table.sign[z]:
            table.emit("x", q)
        if table.sign[x]:
            table.emit("z", q)


def _sweep(table: _Table, z_rows: np.ndarray, x_rows: np.ndarray) -> None:
    """Reduce pair after pair of rows to one qubit of their own, lightest pair first (Bravyi, Shaydulin, Hu and Maslov 2021)."""
    n = table.n
    left, free = list(range(n)), list(range(n))
    while left:
        pick = min(left, key=lambda k: int((table.x[[z_rows[k], x_rows[k]]] | table.z[[z_rows[k], x_rows[k]]]).sum()))
        z, x = int(z_rows[pick]), int(x_rows[pick])
        pivot = next(q for q in free if (table.x[z, q] & table.z[x, q]) ^ (table.z[z, q] & table.x[x, q]))
        table.basis_change(pivot, int(table.x[z, pivot] + 2 * table.z[z, pivot]), to_x=False)
        for q in free:
            axis = int(table.x[z, q] + 2 * table.z[z, q])
            if q != pivot and axis:
                table.basis_change(q, axis, to_x=False)
                table.emit("cx", q, pivot)
        if table.z[x, pivot]:
            table.emit("s", pivot)
        for q in free:
            axis = int(table.x[x, q] + 2 * table.z[x, q])
            if q != pivot and axis:
                table.basis_change(q, axis, to_x=True)
                table.emit("cx", pivot, q)
        left.remove(pick)
        free.remove(pivot)


def _tidy(gates: list[Gate], n: int) -> list[Gate]:
    """Cancel neighbouring inverse gates and join phase gates, to a fixed point."""
    inverse = {"h": "h", "x": "x", "z": "z", "s": "sdg", "sdg": "s", "cx": "cx", "cz": "cz"}
    doubled = {"s": "z", "sdg": "z"}
    while True:
        out: list[Gate] = []
        last: list[list[int]] = [[] for _ in range(n)]
        for gate in gates:
            name, a, b = gate
            top = last[a][-1] if last[a] else -1
            if top >= 0 and (b < 0 or (last[b] and last[b][-1] == top)) and out[top][1:] == (a, b) and out[top][0]:
                if inverse.get(name) == out[top][0]:
                    out[top] = ("", -1, -1)
                    last[a].pop()
                    if b >= 0:
                        last[b].pop()
                    continue
                if name in doubled and out[top][0] == name:
                    out[top] = (doubled[name], a, b)
                    continue
            out.append(gate)
            for q in (a, b):
                if q >= 0:
                    last[q].append(len(out) - 1)
        kept = [g for g in out if g[0]]
        if len(kept) == len(gates):
            return kept
        gates = kept
