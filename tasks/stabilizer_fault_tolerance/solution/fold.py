"""Greedy folding: Clifford gates that make the generators lighter until each acts on one qubit, undone in reverse they prepare the state.

`Css` folds the X-type (or, in the dual basis, the Z-type) rows of a CSS group alone: the state then is an equal superposition over the
span of the rows, a +1 eigenstate of every commuting row of the other type, and a logical state is picked by what costs least. `Mixed` folds
any group with the nine controlled Paulis. Both change the basis of the group whenever a product of two rows is lighter. Each choice is the
gate of the largest gain with some noise; a search cuts the best sequence at a random place and folds the rest anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from paulis import Gate, X, Y, Z

_NEVER = np.float32(1e6)


@dataclass(frozen=True)
class Folding:
    """Gates in the order of folding (the circuit runs them in reverse), and the Pauli of whose +1 eigenstate each qubit starts in; Z where
    none is given."""

    gates: tuple[Gate, ...]
    roots: dict[int, int]


class Folder(Protocol):
    def fold(self, prefix: tuple[Gate, ...], rng: np.random.Generator, noise: float, late: float) -> Folding:
        """Fold after `prefix`; `noise` is added to gains in gates, `late` is the price of a layer of depth."""


def lighter(overlap: np.ndarray, weight: np.ndarray) -> tuple[int, int] | None:
    """The pair (a, b) for which row a becomes lightest by adding row b; `overlap` is what a sum saves."""
    gain = overlap - weight[None, :]
    np.fill_diagonal(gain, -1)
    a, b = divmod(int(gain.argmax()), len(gain))
    return (a, b) if gain[a, b] > 0 else None


class Css:
    """Rows `(r, n)` of one type, independent. `dual` for rows of Z type."""

    def __init__(self, rows: np.ndarray, *, dual: bool) -> None:
        self.dual = dual
        self.rows = rows.astype(np.float32)
        overlap = self.rows @ self.rows.T
        while (pair := lighter(2 * overlap, np.diag(overlap))) is not None:
            a, b = pair
            self.rows[a] = np.abs(self.rows[a] - self.rows[b])
            overlap[a, :] = overlap[:, a] = self.rows @ self.rows[a]

    def _gate(self, control: int, target: int) -> Gate:
        return (X, control, Z, target) if self.dual else (Z, control, X, target)

    def fold(self, prefix: tuple[Gate, ...], rng: np.random.Generator, noise: float, late: float) -> Folding:
        m = self.rows.copy()
        level = np.zeros(m.shape[1], np.float32)
        for _, c, _, t in prefix:
            m[:, t] = np.abs(m[:, t] - m[:, c])
            level[c] = level[t] = max(level[c], level[t]) + 1
        gates, roots = list(prefix), []
        columns, rows = m.T @ m, m @ m.T
        while len(m):
            while (pair := lighter(2 * rows, np.diag(rows))) is not None:
                a, b = pair
                old = np.flatnonzero(m[a])
                m[a] = np.abs(m[a] - m[b])
                new = np.flatnonzero(m[a])
                columns[np.ix_(old, old)] -= 1
                columns[np.ix_(new, new)] += 1
                rows[a, :] = rows[:, a] = m @ m[a]
            weight = np.diag(rows)
            done = weight == 1
            if done.any():
                # no two of them end on one column, they are independent; every other row was freed of it above
                ends = m[done].argmax(1)
                roots += [int(q) for q in ends]
                m = m[~done]
                columns[ends, :] = columns[:, ends] = 0
                m[:, ends] = 0
                rows = m @ m.T
                continue
            c, t = self._choose(m, columns, weight, level, rng, noise, late)
            old = np.flatnonzero(m[:, t])
            m[:, t] = np.abs(m[:, t] - m[:, c])
            new = np.flatnonzero(m[:, t])
            rows[np.ix_(old, old)] -= 1
            rows[np.ix_(new, new)] += 1
            columns[t, :] = columns[:, t] = m[:, t] @ m
            level[c] = level[t] = max(level[c], level[t]) + 1
            gates.append(self._gate(c, t))
        # in the dual basis everything else starts in |+>, where a CX to it does nothing
        rest = set(range(self.rows.shape[1])) - set(roots)
        return Folding(tuple(gates), dict.fromkeys(rest if self.dual else roots, X))

    @staticmethod
    def _choose(
        m: np.ndarray, columns: np.ndarray, weight: np.ndarray, level: np.ndarray, rng: np.random.Generator, noise: float, late: float
    ) -> tuple[int, int]:
        """Adding column c to column t changes the weight of t by |c| - 2 |c and t|."""
        active = np.flatnonzero(np.diag(columns) > 0)
        part = columns[np.ix_(active, active)]
        change = np.diag(part)[:, None] - 2 * part
        np.fill_diagonal(change, _NEVER)
        depths = level[active]
        score = change + noise * rng.random(change.shape, dtype=np.float32) + late * np.maximum(depths[:, None], depths[None, :])
        c, t = divmod(int(score.argmin()), len(active))
        if change[c, t] >= 0:
            # nothing helps all rows: shorten the lightest, which ends
            row = int((weight + 0.5 * rng.random(len(weight))).argmin())
            inside = np.flatnonzero(m[row][active])
            k = int(score[np.ix_(inside, inside)].argmin())
            c, t = int(inside[k // len(inside)]), int(inside[k % len(inside)])
        return int(active[c]), int(active[t])


class Mixed:
    """Any group: X and Z parts `(r, n)`, independent rows."""

    def __init__(self, x: np.ndarray, z: np.ndarray) -> None:
        self.start = _indicator(x.astype(bool), z.astype(bool))

    def fold(self, prefix: tuple[Gate, ...], rng: np.random.Generator, noise: float, late: float) -> Folding:
        e = self.start.copy()
        level = np.zeros(e.shape[1] // 3, np.float32)
        for gate in prefix:
            _apply(e, gate)
            level[[gate[1], gate[3]]] = level[[gate[1], gate[3]]].max() + 1
        gates, roots = list(prefix), {}
        group = _Group(e)
        while len(group.e):
            group.lighten()
            done = group.here.sum(1) == 1
            if done.any():
                for column in group.e[done].argmax(1):
                    q, p = divmod(int(column), 3)
                    roots[q] = p
                    # a row that ended on q commutes with all others, which so have its Pauli or none there
                    group.e[:, 3 * q : 3 * q + 3] = 0
                group = _Group(group.e[group.e.any(1)])
                continue
            gate = self._choose(group, level, rng, noise, late)
            group.apply(gate)
            level[[gate[1], gate[3]]] = level[[gate[1], gate[3]]].max() + 1
            gates.append(gate)
        return Folding(tuple(gates), roots)

    @staticmethod
    def _choose(group: _Group, level: np.ndarray, rng: np.random.Generator, noise: float, late: float) -> Gate:
        change, active = group.changes()
        depths = level[active].repeat(3)
        score = change + noise * rng.random(change.shape, dtype=np.float32) + late * np.maximum(depths[:, None], depths[None, :])
        u, v = divmod(int(score.argmin()), len(score))
        if change[u, v] >= 0:
            # nothing helps all rows: shorten the lightest, which ends
            row = int((group.here.sum(1) + 0.5 * rng.random(len(group.e))).argmin())
            part = group.e[row].reshape(-1, 3)[active]
            ends = np.flatnonzero(part)
            starts = np.flatnonzero(part.sum(1, keepdims=True) - part)
            k = int(score[np.ix_(starts, ends)].argmin())
            u, v = int(starts[k // len(ends)]), int(ends[k % len(ends)])
        return u % 3, int(active[u // 3]), v % 3, int(active[v // 3])


class _Group:
    """Rows as indicator `e` `(r, 3n)`: column `3 q + P` says that a row has Pauli P on qubit q. Counts of pairs are kept up to date:
    `columns[u, v]` rows with both indicators, `rows[a, b]` what the product of two rows saves: one for each qubit on which both act, two
    where they act alike."""

    def __init__(self, e: np.ndarray) -> None:
        self.e = e
        self.here = e.reshape(len(e), e.shape[1] // 3, 3).sum(2)
        self.columns = e.T @ e
        self.rows = self.here @ self.here.T + e @ e.T

    def lighten(self) -> None:
        """Products of rows where they are lighter."""
        while len(self.e) > 1 and (pair := lighter(self.rows, self.here.sum(1))) is not None:
            a, b = pair
            old = np.flatnonzero(self.e[a])
            self.e[a] = _product(self.e[a].reshape(-1, 3), self.e[b].reshape(-1, 3)).ravel()
            new = np.flatnonzero(self.e[a])
            self.columns[np.ix_(old, old)] -= 1
            self.columns[np.ix_(new, new)] += 1
            self.here[a] = self.e[a].reshape(-1, 3).sum(1)
            self.rows[a, :] = self.rows[:, a] = self.here @ self.here[a] + self.e @ self.e[a]

    def apply(self, gate: Gate) -> None:
        qubits = [gate[1], gate[3]]
        changed = [3 * q + p for q in qubits for p in (X, Y, Z)]
        before = np.hstack([self.here[:, qubits], self.e[:, changed]])
        _apply(self.e, gate)
        self.here[:, qubits] = self.e[:, changed].reshape(-1, 2, 3).sum(2)
        after = np.hstack([self.here[:, qubits], self.e[:, changed]])
        self.rows += after @ after.T - before @ before.T
        self.columns[changed, :] = self.e[:, changed].T @ self.e
        self.columns[:, changed] = self.columns[changed, :].T

    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """Change of the total weight by the gate (P, i, Q, j), index `3 k + P` with k a place in the list of active qubits, and that list.

        A row that anticommutes with P on i gets Q on j: one heavier where it had nothing there, one lighter where it had Q.
        """
        active = np.flatnonzero(self.columns.diagonal().reshape(-1, 3).any(1))
        take = (3 * active[:, None] + np.arange(3)).ravel()
        both = self.columns[np.ix_(take, take)]
        k = len(active)
        anti = both.reshape(k, 3, 3 * k).sum(1).repeat(3, axis=0) - both
        alone = both.diagonal().reshape(k, 3).sum(1).repeat(3) - both.diagonal()
        gain = alone[:, None] - anti.reshape(3 * k, k, 3).sum(2).repeat(3, axis=1) - anti
        change = gain + gain.T
        qubit = np.arange(k).repeat(3)
        change[qubit[:, None] == qubit[None, :]] = _NEVER
        return change, active


def _indicator(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.stack([x & ~z, x & z, z & ~x], axis=2).reshape(len(x), -1).astype(np.float32)


def _apply(e: np.ndarray, gate: Gate) -> None:
    """Conjugate all rows of the indicator by a controlled Pauli."""
    p, i, q, j = gate
    at_i, at_j = e[:, 3 * i : 3 * i + 3], e[:, 3 * j : 3 * j + 3]
    turn_j = (at_i.sum(1) - at_i[:, p]) > 0
    turn_i = (at_j.sum(1) - at_j[:, q]) > 0
    for block, rows, by in ((at_j, turn_j, q), (at_i, turn_i, p)):
        block[rows] = _times(block[rows], by)


def _times(block: np.ndarray, by: int) -> np.ndarray:
    """Multiply one-qubit Paulis, indicator `(r, 3)`, by Pauli `by`."""
    a, b = (k for k in (X, Y, Z) if k != by)
    out = np.empty_like(block)
    out[:, by] = 1 - block.sum(1)
    out[:, a], out[:, b] = block[:, b], block[:, a]
    return out


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of two Pauli strings up to phase, indicators `(n, 3)`."""
    out = np.zeros_like(a)
    for by in (X, Y, Z):
        rows = b[:, by] > 0
        out[rows] = _times(a[rows], by)
    none = b.sum(1) == 0
    out[none] = a[none]
    return out
