"""Single faults: what each leaves on the data at the end of a circuit, and which of these effects are dangerous.

Circuits are lists of gates: controlled Paulis `(P, i, Q, j)` as in `paulis`, and one-qubit gates `(name, q)` with the names of `ONE`. An
effect is an integer x | z << N over all N qubits; signs do not matter. On a prepared state two effects with the same syndrome against the n
generators of its group are the same error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from paulis import Gate, X, Y, Z, independent

Single = tuple[str, int]
ONE: dict[str, tuple[int, int, int]] = {"H": (Z, Y, X), "H_YZ": (X, Z, Y), "X": (X, Y, Z), "Y": (X, Y, Z), "Z": (X, Y, Z)}
"""What X, Y, Z become, without signs."""
EXACT_T = 3
SLACK = 1
"""Beyond `EXACT_T` an error passes for harmless only if descent comes this far below t: the laboratory's descent takes other steps."""


def effects(qubits: int, gates: Sequence[Gate | Single], *, everywhere: bool) -> set[int]:
    """Effects of all single faults. `everywhere`: X, Y, Z after the preparation and each gate on each qubit, and the fifteen Paulis after
    a two-qubit gate (idle qubits add nothing new); else X, Y, Z after each gate on each of its qubits."""
    images = [[1 << q, 1 << q | 1 << (q + qubits), 1 << (q + qubits)] for q in range(qubits)]
    found: set[int] = set()
    for gate in reversed(gates):
        if len(gate) == 2:
            at = images[gate[1]]
            found.update(at)
            images[gate[1]] = [at[p] for p in ONE[gate[0]]]
            continue
        p, i, q, j = gate
        at_i, at_j = images[i], images[j]
        found.update(at_i)
        found.update(at_j)
        if everywhere:
            found.update(a ^ b for a in at_i for b in at_j)
        images[i] = [e if k == p else e ^ at_j[q] for k, e in enumerate(at_i)]
        images[j] = [e if k == q else e ^ at_i[p] for k, e in enumerate(at_j)]
    if everywhere:
        for at in images:
            found.update(at)
    return found - {0}


def stabilizers(n: int, gates: Sequence[Gate | Single]) -> list[int]:
    """The images of Z on each of the `n` qubits, which generate the group of the state."""
    images = [[1 << q, 1 << q | 1 << (q + n), 1 << (q + n)] for q in range(n)]
    for gate in reversed(gates):
        if len(gate) == 2:
            images[gate[1]] = [images[gate[1]][p] for p in ONE[gate[0]]]
            continue
        p, i, q, j = gate
        at_i, at_j = images[i], images[j]
        images[i] = [e if k == p else e ^ at_j[q] for k, e in enumerate(at_i)]
        images[j] = [e if k == q else e ^ at_i[p] for k, e in enumerate(at_j)]
    return [at[Z] for at in images]


def matrix(paulis: Iterable[int], n: int) -> np.ndarray:
    """`(m, 2 n)` uint8 of Paulis x | z << n."""
    size = (2 * n + 7) // 8
    packed = np.frombuffer(b"".join(p.to_bytes(size, "little") for p in paulis), dtype=np.uint8).reshape(-1, size)
    return np.unpackbits(packed, axis=1, count=2 * n, bitorder="little")


def weights(paulis: np.ndarray) -> np.ndarray:
    """Weight of each row `(m, 2 n)`."""
    n = paulis.shape[1] // 2
    return (paulis[:, :n] | paulis[:, n:]).sum(1)


class State:
    """A prepared state: `rows` `(n, 2 n)` uint8, generators of its group, made light. `hints`: light members of the group."""

    def __init__(self, n: int, gates: Sequence[Gate | Single], hints: np.ndarray) -> None:
        self.n = n
        members = matrix(stabilizers(n, gates), n)
        self.rows = _lightened(independent(np.vstack([hints, members])))
        self._dual = np.hstack([self.rows[:, n:], self.rows[:, :n]]).T.astype(np.float32)
        self._hot = _one_hot(self.rows)
        self._pairs: set[bytes] | None = None

    def syndromes(self, paulis: np.ndarray) -> np.ndarray:
        """`(m, n)` uint8."""
        return (paulis.astype(np.float32) @ self._dual).astype(np.int64).astype(np.uint8) & 1

    def dangerous(self, paulis: np.ndarray, t: int, *, reduced: bool) -> np.ndarray:
        """Syndromes `(m, n)`, each once, of the errors of weight above t that do not act trivially. `reduced`: the weight is the least over
        the coset of the group, exact for t up to 3, and beyond an upper bound from descent that has to stay below t."""
        paulis = paulis[weights(paulis) > t]
        syndromes = self.syndromes(paulis)
        if reduced:  # of errors with one syndrome, the lightest
            order = np.argsort(weights(paulis), kind="stable")
            _, first = np.unique(np.packbits(syndromes[order], axis=1), axis=0, return_index=True)
            paulis, syndromes = paulis[order[first]], syndromes[order[first]]
            keep = syndromes.any(1)
            paulis, syndromes = paulis[keep], syndromes[keep]
            limit = t if t <= EXACT_T else t - SLACK
            heavy = self._descend(paulis, limit) > limit
            syndromes = syndromes[heavy]
            if 0 < t <= EXACT_T and len(syndromes):
                syndromes = syndromes[~self._light(syndromes, t)]
            return syndromes
        return np.unique(syndromes[syndromes.any(1)], axis=0)

    def trivial(self, paulis: np.ndarray, t: int) -> int:
        """How many of the errors are of weight above t as they stand and yet do nothing to the state, so that nothing can show them."""
        return int((~self.syndromes(paulis[weights(paulis) > t]).any(1)).sum())

    def _singles(self) -> np.ndarray:
        eye = np.eye(2 * self.n, dtype=np.uint8)
        return self.syndromes(np.vstack([eye, eye[: self.n] | eye[self.n :]]))

    def _light(self, syndromes: np.ndarray, t: int) -> np.ndarray:
        """Which of the syndromes are those of an error of weight at most t <= 3."""
        singles = self._singles()
        wanted = np.packbits(syndromes, axis=1)
        one = np.packbits(singles, axis=1)
        if self._pairs is None:
            self._pairs = {bytes(r) for r in one}
            if t >= 2:
                for k in range(len(one)):
                    self._pairs.update(map(bytes, one[:k] ^ one[k]))
        known = self._pairs
        if t < EXACT_T:
            return np.array([bytes(r) in known for r in wanted])
        return np.array([bytes(r) in known or any(bytes(s) in known for s in one ^ r) for r in wanted])

    def _descend(self, paulis: np.ndarray, t: int) -> np.ndarray:
        """Upper bounds of the reduced weights: each error is multiplied by the generator that lightens it most, while one does."""
        current = paulis.copy()
        total = weights(current).astype(np.int64)
        active = np.flatnonzero(total > t)
        while len(active):
            lighter = self.n - _one_hot(current[active]) @ self._hot.T  # letters that agree cancel
            best = lighter.argmin(1)
            reached = lighter[np.arange(len(active)), best].astype(np.int64)
            better = reached < total[active]
            active, best = active[better], best[better]
            current[active] ^= self.rows[best]
            total[active] = reached[better]
            active = active[total[active] > t]
        return total


def _one_hot(paulis: np.ndarray) -> np.ndarray:
    """`(m, 4 n)` float32: on each qubit which of I, X, Z, Y."""
    n = paulis.shape[1] // 2
    letters = paulis[:, :n] | paulis[:, n:] << 1
    return (letters[:, :, None] == np.arange(4, dtype=np.uint8)).reshape(len(letters), -1).astype(np.float32)


def _lightened(rows: np.ndarray) -> np.ndarray:
    """Rows multiplied by others while that makes one lighter, the heaviest first."""
    rows = rows.copy()
    n = rows.shape[1] // 2
    changed = True
    while changed:
        changed = False
        for i in np.argsort(-weights(rows), kind="stable"):
            products = rows ^ rows[i]
            products[i] = rows[i]
            w = (products[:, :n] | products[:, n:]).sum(1)
            j = int(w.argmin())
            if w[j] < w[i]:
                rows[i] = products[j]
                changed = True
    return rows
