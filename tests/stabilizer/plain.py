"""The plain oracle: one fault at a time, with nothing shared with the fast one but the list of gates.

Errors are propagated by stim, gate after gate; weights are reduced by going through the whole group of the state.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import stim

from qtypes.stabilizer_codes.circuits import Circuit


def propagated(circuit: Circuit, position: int, fault: dict[int, str]) -> stim.PauliString:
    """The fault after `position` gates, moved to the end."""
    pauli = stim.PauliString(circuit.qubits)
    for q, letter in fault.items():
        pauli[q] = letter
    rest = suffix(circuit, position)
    return pauli.after(rest) if len(rest) else pauli


@lru_cache(maxsize=64)
def suffix(circuit: Circuit, position: int) -> stim.Circuit:
    """The gates from `position` on."""
    rest = stim.Circuit()
    for g in circuit.gates[position:]:
        rest.append(g.name, list(g.qubits))
    return rest


def raised(circuit: Circuit, error: stim.PauliString) -> bool:
    """Whether a flag turns to 1."""
    return any(error[q] in (1, 2) for q in range(circuit.n, circuit.qubits))


def published(circuit: Circuit, t: int, *, ancillas: bool) -> tuple[int, int, int]:
    """All faults, dangerous ones, undetected ones among those."""
    total = dangerous = undetected = 0
    for k, g in enumerate(circuit.gates):
        for q in g.qubits:
            if q >= circuit.n and not ancillas:
                continue
            for letter in "XYZ":
                total += 1
                error = propagated(circuit, k + 1, {q: letter})
                if sum(error[d] != 0 for d in range(circuit.n)) > t:
                    dangerous += 1
                    undetected += not raised(circuit, error)
    return total, dangerous, undetected


def moments(circuit: Circuit) -> list[int]:
    """Moment of each gate, as soon as possible."""
    out: list[int] = []
    for k, g in enumerate(circuit.gates):
        out.append(1 + max((out[j] for j in range(k) if set(circuit.gates[j].qubits) & set(g.qubits)), default=0))
    return out


def group(circuit: Circuit) -> list[stim.PauliString]:
    """Every member of the group of the data state, 2^n, without signs."""
    tableau = circuit.unitary().to_tableau()
    members = [stim.PauliString(circuit.n)]
    basis: list[stim.PauliString] = []
    for q in range(circuit.qubits):
        row = tableau.z_output(q)
        assert all(row[f] in (0, 3) for f in range(circuit.n, circuit.qubits))
        basis.append(row[: circuit.n])
    seen = {str(members[0])[1:]}
    for row in basis:
        if str(row)[1:] in seen:
            continue
        members += [m * row for m in members]
        seen = {str(m).lstrip("+-i") for m in members}
    return members


def corrected(circuit: Circuit, t: int) -> tuple[int, int, int]:
    """As `published`, by the corrected rules, for a circuit that is condensed already."""
    members = group(circuit)
    at = moments(circuit)
    end = max(at, default=0)
    total = dangerous = undetected = 0
    memo: dict[str, int] = {}

    def reduced(error: stim.PauliString) -> int:
        data = error[: circuit.n]
        key = str(data)[1:]
        if key not in memo:
            memo[key] = min((data * m).weight for m in members)
        return memo[key]

    def count(position: int, fault: dict[int, str], times: int = 1) -> None:
        nonlocal total, dangerous, undetected
        total += times
        error = propagated(circuit, position, fault)
        if times and reduced(error) > t:
            dangerous += times
            undetected += 0 if raised(circuit, error) else times

    for q in range(circuit.qubits):
        for letter in "XYZ":
            count(0, {q: letter})
    for k, g in enumerate(circuit.gates):
        if g.b < 0:
            for letter in "XYZ":
                count(k + 1, {g.a: letter})
        else:
            for a, b in product("_XYZ", repeat=2):
                if a + b != "__":
                    count(k + 1, {q: letter for q, letter in zip(g.qubits, (a, b), strict=True) if letter != "_"})
        for q in g.qubits:
            later = [at[j] for j in range(k + 1, len(circuit.gates)) if q in circuit.gates[j].qubits]
            until = later[0] if later else (end + 1 if q < circuit.n else at[k] + 1)
            for _ in range(until - at[k] - 1):
                for letter in "XYZ":
                    count(k + 1, {q: letter})
    return total + circuit.flags, dangerous, undetected
