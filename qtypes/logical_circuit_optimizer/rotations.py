"""Merging of Pauli rotations: the T-count that removing equal rotations reaches, without any Reed-Muller relation.

A Clifford+T circuit is U = C R_m ... R_1 with R_j = exp(-i pi/8 P_j) and a Clifford C (Gosset, Kliuchnikov, Mosca and Russo 2014). Two
rotations about the same Pauli with nothing anticommuting between them merge into a Clifford or cancel (Zhang and Chen 2019). This is
the count that phase teleportation reaches (Kissinger and van de Wetering 2020). A Pauli is (x, z, k) for i**k X^x Z^z, with x and z as
integers whose bit q belongs to qubit q.
"""

from __future__ import annotations

from lab.conventions.tcount import Circuit

Pauli = tuple[int, int, int]


def multiply(p: Pauli, q: Pauli) -> Pauli:
    return p[0] ^ q[0], p[1] ^ q[1], (p[2] + q[2] + 2 * (p[1] & q[0]).bit_count()) % 4


def anticommute(p: Pauli, q: Pauli) -> bool:
    return ((p[0] & q[1]).bit_count() + (p[1] & q[0]).bit_count()) % 2 == 1


def _negative(p: Pauli) -> Pauli:
    return p[0], p[1], (p[2] + 2) % 4


def _quarter_turn(q: Pauli, p: Pauli) -> Pauli:
    """S_p^dag q S_p with S_p = exp(-i pi/4 p)."""
    if not anticommute(p, q):
        return q
    x, z, k = multiply(p, q)
    return x, z, (k + 1) % 4


def rotations(circuit: Circuit) -> list[Pauli]:
    """The signed Paulis of the T gates in order of time, Clifford gates pulled to the end."""
    n = circuit.n_qubits
    image_x: list[Pauli] = [(1 << q, 0, 0) for q in range(n)]
    image_z: list[Pauli] = [(0, 1 << q, 0) for q in range(n)]
    out: list[Pauli] = []
    for gate, a, b in circuit.gates:
        if gate == "t":
            out.append(image_z[a])
        elif gate == "tdg":
            out.append(_negative(image_z[a]))
        elif gate == "h":
            image_x[a], image_z[a] = image_z[a], image_x[a]
        elif gate == "x":
            image_z[a] = _negative(image_z[a])
        elif gate == "z":
            image_x[a] = _negative(image_x[a])
        elif gate in ("s", "sdg"):
            image_x[a] = _quarter_turn(image_x[a], image_z[a] if gate == "s" else _negative(image_z[a]))
        elif gate == "cx":
            image_x[a] = multiply(image_x[a], image_x[b])
            image_z[b] = multiply(image_z[b], image_z[a])
        else:
            image_x[a], image_x[b] = multiply(image_x[a], image_z[b]), multiply(image_x[b], image_z[a])
    return out


def merge(paulis: list[Pauli]) -> list[Pauli]:
    """The rotations left after merging to a fixed point."""
    while True:
        kept: list[Pauli] = []
        pending = list(paulis)
        for i in range(len(pending)):
            p = pending[i]
            for j in range(len(kept) - 1, -1, -1):
                if kept[j][:2] == p[:2]:
                    same = kept.pop(j)[2] == p[2]
                    if same:
                        pending[i + 1 :] = [_quarter_turn(q, p) for q in pending[i + 1 :]]
                    break
                if anticommute(kept[j], p):
                    kept.append(p)
                    break
            else:
                kept.append(p)
        if len(kept) == len(paulis):
            return kept
        paulis = kept


def merged_t_count(circuit: Circuit) -> int:
    """T-count after merging."""
    return len(merge(rotations(circuit)))
