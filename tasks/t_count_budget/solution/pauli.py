"""Clifford+T circuits as Pauli rotations followed by a Clifford.

U = C R_m ... R_1 with R_j = exp(-i pi/8 P_j) (Gosset, Kliuchnikov, Mosca and Russo 2014). A Pauli is (x, z, k) for i**k X^x Z^z with
integers x, z whose bit q belongs to qubit q. The Clifford is held as the Paulis C^dag Z_q C and C^dag X_q C.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.conventions.tcount import Circuit

Pauli = tuple[int, int, int]


def product(p: Pauli, q: Pauli) -> Pauli:
    return p[0] ^ q[0], p[1] ^ q[1], (p[2] + q[2] + 2 * (p[1] & q[0]).bit_count()) & 3


def clash(p: Pauli, q: Pauli) -> bool:
    """Whether p and q anticommute."""
    return bool(((p[0] & q[1]).bit_count() ^ (p[1] & q[0]).bit_count()) & 1)


def minus(p: Pauli) -> Pauli:
    return p[0], p[1], (p[2] + 2) & 3


def turned(q: Pauli, p: Pauli) -> Pauli:
    """S_p^dag q S_p with S_p = exp(-i pi/4 p): what q becomes when S_p is moved past it to the end."""
    if not clash(p, q):
        return q
    x, z, k = product(p, q)
    return x, z, (k + 1) & 3


@dataclass
class Rotations:
    """`seq` in order of time; `z`, `x` are the images of Z_q and X_q under the final Clifford."""

    n: int
    seq: list[Pauli]
    z: list[Pauli]
    x: list[Pauli]

    def copy(self) -> Rotations:
        return Rotations(self.n, list(self.seq), list(self.z), list(self.x))

    def push(self, p: Pauli, start: int) -> None:
        """Append S_p, standing before rotation `start`, to the final Clifford."""
        self.seq[start:] = [turned(q, p) for q in self.seq[start:]]
        self.z = [turned(q, p) for q in self.z]
        self.x = [turned(q, p) for q in self.x]


def from_circuit(circuit: Circuit) -> Rotations:
    n = circuit.n_qubits
    r = Rotations(n, [], [(0, 1 << q, 0) for q in range(n)], [(1 << q, 0, 0) for q in range(n)])
    for gate, a, b in circuit.gates:
        if gate in ("t", "tdg"):
            r.seq.append(r.z[a] if gate == "t" else minus(r.z[a]))
        elif gate == "h":
            r.x[a], r.z[a] = r.z[a], r.x[a]
        elif gate == "x":
            r.z[a] = minus(r.z[a])
        elif gate == "z":
            r.x[a] = minus(r.x[a])
        elif gate in ("s", "sdg"):
            r.x[a] = turned(r.x[a], r.z[a] if gate == "s" else minus(r.z[a]))
        elif gate == "cx":
            r.x[a], r.z[b] = product(r.x[a], r.x[b]), product(r.z[b], r.z[a])
        else:
            r.x[a], r.x[b] = product(r.x[a], r.z[b]), product(r.x[b], r.z[a])
    return r


def merge(r: Rotations) -> None:
    """Merge or cancel equal rotations with nothing anticommuting in between, to a fixed point (Zhang and Chen 2019)."""
    changed = True
    while changed:
        changed = False
        kept: list[Pauli] = []
        rest = r.seq
        for i in range(len(rest)):
            p = rest[i]
            for j in range(len(kept) - 1, -1, -1):
                q = kept[j]
                if q[0] == p[0] and q[1] == p[1]:
                    del kept[j]
                    if q[2] == p[2]:
                        r.push(p, i + 1)
                    changed = True
                    break
                if clash(q, p):
                    kept.append(p)
                    break
            else:
                kept.append(p)
        r.seq = kept


def gather(seq: list[Pauli], anchor: int) -> tuple[list[Pauli], list[Pauli], list[Pauli]]:
    """Split into (before, group, after): `group` are mutually commuting rotations that can be moved to the anchor's place."""
    group = [seq[anchor]]
    after: list[Pauli] = []
    before: list[Pauli] = []
    left, right = anchor - 1, anchor + 1
    while left >= 0 or right < len(seq):
        for at, blockers in ((right, after), (left, before)):
            if 0 <= at < len(seq):
                p = seq[at]
                free = not any(clash(p, q) for q in group) and not any(clash(p, q) for q in blockers)
                (group if free else blockers).append(p)
        left, right = left - 1, right + 1
    return before[::-1], group, after


def coordinates(group: list[Pauli]) -> tuple[list[Pauli], list[int], list[int]]:
    """Independent signed Paulis `basis` of the span, and per member its vector over the basis and its sign (+1 or -1)."""
    basis: list[Pauli] = []
    reduced: list[tuple[int, int, int]] = []  # symplectic vector, leading bit, vector over the basis
    vectors: list[int] = []
    width = max(max(p[0], p[1]) for p in group).bit_length()
    for p in group:
        v, y = p[0] | p[1] << width, 0
        for w, lead, combo in reduced:
            if v & lead:
                v ^= w
                y ^= combo
        if v:
            lead = 1 << (v.bit_length() - 1)
            mine = 1 << len(basis)
            reduced = [(w ^ v, h, c ^ y ^ mine) if w & lead else (w, h, c) for w, h, c in reduced]
            reduced.append((v, lead, y ^ mine))
            basis.append(p)
            y = mine
        vectors.append(y)
    signs = [1 if element(basis, y) == p else -1 for p, y in zip(group, vectors, strict=True)]
    return basis, vectors, signs


def element(basis: list[Pauli], y: int) -> Pauli:
    """Product of the commuting basis Paulis selected by the bits of y."""
    p: Pauli = (0, 0, 0)
    for i, b in enumerate(basis):
        if y >> i & 1:
            p = product(p, b)
    return p


def replace(r: Rotations, before: list[Pauli], basis: list[Pauli], old: dict[int, int], new: set[int], after: list[Pauli]) -> None:
    """Put rotations about the products `new` where `old` (vector -> sign) stood, and mend the Clifford that the two differ by.

    Both give diagonal phases omega**f(x), omega = exp(i pi/4), f = sum c_y (y.x mod 2); the difference must be a Clifford,
    omega**(sum l_i x_i + 4 sum q_ij x_i x_j) with even l_i; `ValueError` where it is not.
    """
    rank = len(basis)

    def difference(x: int) -> int:
        return sum(c for y, c in old.items() if (y & x).bit_count() & 1) - sum((y & x).bit_count() & 1 for y in new)

    linear = [difference(1 << i) % 8 for i in range(rank)]
    turns = [0] * (1 << rank)
    for i in range(rank):
        if linear[i] % 2:
            raise ValueError("not equal up to a Clifford")
        turns[1 << i] += linear[i] // 2
        for j in range(i):
            quadratic = (difference(1 << i | 1 << j) - linear[i] - linear[j]) % 8
            if quadratic % 4:
                raise ValueError("not equal up to a Clifford")
            if quadratic:
                turns[1 << i] += 1
                turns[1 << j] += 1
                turns[1 << i | 1 << j] -= 1
    r.seq = before + [element(basis, y) for y in sorted(new)] + after
    start = len(before) + len(new)
    for y, count in enumerate(turns):
        for _ in range(count % 4):
            r.push(element(basis, y), start)
