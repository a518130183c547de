"""All single faults of a circuit in one backward sweep.

A fault F after a gate acts on the result as the Pauli E = suffix F suffix^dagger. Going backwards, the images of X_q and Z_q of all qubits
under the suffix are kept as integers (bit-packed, one word operation per gate and image), so each fault costs one XOR and a population
count. Layout of an image, N qubits in all: bits 0..N-1 the X part, N..2N-1 the Z part, and from 2N on the syndrome of its data part against
the stabilizers of the prepared state where that is asked for. Signs do not matter.

Two sets of faults:

- `published_sweep`: X, Y, Z on every data qubit that a gate acts on, after that gate; weight of E on the data as it stands. `ancillas` adds
  the flags that the gate acts on.
- `corrected_sweep`: every qubit, after its preparation, each gate and each idle moment; the fifteen Paulis after a two-qubit gate; a flip
  of each flag. Weight of E on the data modulo the group of the prepared state (`reduction.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qtypes.stabilizer_codes import gf2
from qtypes.stabilizer_codes.actions import action
from qtypes.stabilizer_codes.blocks import BlockState
from qtypes.stabilizer_codes.circuits import Circuit, condensed, schedule
from qtypes.stabilizer_codes.reduction import EXACT_T, Reducer, Verdict

BATCH = 4096


@dataclass(frozen=True)
class Published:
    """Counts of single faults: all, those of raw weight above t, and of those the ones that no flag shows."""

    total: int
    dangerous: int
    undetected: int

    @property
    def ft(self) -> float:
        """Share of dangerous faults that raise a flag; 1 where there is none."""
        return 1.0 if self.dangerous == 0 else 1 - self.undetected / self.dangerous


@dataclass(frozen=True)
class Corrected:
    """Counts of single faults by reduced weight.

    `total`: all faults. `dangerous`, `undetected`: proven or possibly above t: of undetected ones every fault that is not proven harmless
    counts, of detected ones only those proven dangerous, so that `ft` is a lower bound. `undecided` counts the faults for which only bounds
    are known; where it is 0 all numbers are exact. `distinct`: effects that were looked at.
    """

    total: int
    dangerous: int
    undetected: int
    undecided: int
    distinct: int

    @property
    def ft(self) -> float:
        """1 - undetected / dangerous; 1 where there is none."""
        return 1.0 if self.dangerous == 0 else 1 - self.undetected / self.dangerous

    @property
    def exact(self) -> bool:
        return self.undecided == 0

    @property
    def fault_tolerant(self) -> bool:
        """Proven: no single fault of reduced weight above t stays undetected."""
        return self.undetected == 0


def _back(images: list[int], name: str, a: int, b: int) -> None:
    """Replace the images of a suffix by those of the suffix with one more gate in front. Slots 2 q and 2 q + 1 are X_q and Z_q."""
    changes = action(name).changes
    if b < 0:
        slots: tuple[int, ...] = (2 * a, 2 * a + 1)
    else:
        slots = (2 * a, 2 * a + 1, 2 * b, 2 * b + 1)
    new = []
    for _, sources in changes:
        value = 0
        for s in sources:
            value ^= images[slots[s]]
        new.append(value)
    for (slot, _), value in zip(changes, new, strict=True):
        images[slots[slot]] = value


def published_sweep(circuit: Circuit, t: int, *, ancillas: bool = False) -> Published:
    """Counts for the gates as written."""
    n, full = circuit.n, circuit.qubits
    images = [1 << (q + full * half) for q in range(full) for half in (0, 1)]
    data, flags = (1 << n) - 1, ((1 << full) - 1) ^ ((1 << n) - 1)
    last = full if ancillas else n
    total = dangerous = undetected = 0
    for gate in reversed(circuit.gates):
        name, a, b = gate
        for q in (a, b):
            if 0 <= q < last:
                x, z = images[2 * q], images[2 * q + 1]
                total += 3
                for e in (x, z, x ^ z):
                    if ((e | e >> full) & data).bit_count() > t:
                        dangerous += 1
                        if not e & flags:
                            undetected += 1
        _back(images, name, a, b)
    return Published(total, dangerous, undetected)


def prepared_group(circuit: Circuit) -> list[int]:
    """Generators of the stabilizer group of the data after the circuit, signs left out: `n` Paulis of 2 n bits. The flags must be in
    |0>."""
    n, full = circuit.n, circuit.qubits
    images = [1 << (q + full * half) for q in range(full) for half in (0, 1)]
    for name, a, b in reversed(circuit.gates):
        _back(images, name, a, b)
    rows = []
    low = (1 << n) - 1
    for q in range(full):
        g = images[2 * q + 1]
        if g & ((1 << full) - 1) >> n << n:
            raise ValueError("a flag is not in |0> at the end")
        rows.append((g & low) | (g >> full & low) << n)
    return list(gf2.echelon(rows).values())


def _idle(circuit: Circuit) -> list[tuple[int, int]]:
    """For each gate, how many moments its first and second qubit wait after it. A qubit is prepared in the moment before its first gate
    (and does not wait before it); data wait until the last moment, a flag is measured right after its last gate."""
    moments = schedule(circuit)
    end = max(moments, default=0)
    following = [end + 1 if q < circuit.n else 0 for q in range(circuit.qubits)]  # moment of the next gate; 0 for none to wait for
    out: list[tuple[int, int]] = []
    for gate, at in zip(reversed(circuit.gates), reversed(moments), strict=True):
        a, b = (max(0, following[q] - at - 1) if q >= 0 else 0 for q in (gate.a, gate.b))
        out.append((a, b))
        for q in gate.qubits:
            following[q] = at
    return out[::-1]


def corrected_sweep(
    circuit: Circuit, t: int, generators: Sequence[int] = (), blocks: Sequence[Sequence[int]] = (), inner: Sequence[int] = ()
) -> Corrected:
    """Counts for the condensed circuit, whose flags must be deterministic. `generators` (of the code, 2 n bits) are tried for reduction. A
    concatenated code gives the qubits of its `blocks` and the generators of the `inner` code."""
    circuit = condensed(circuit)
    n, full = circuit.n, circuit.qubits
    group = prepared_group(circuit)
    exact = BlockState(group, n, blocks, inner, t) if t > EXACT_T and BlockState.fits(blocks, inner, t) else None
    reducer = Reducer(group, n, t, generators, clusters=exact is None)
    shift = 2 * full
    images = []
    for q in range(full):
        for half in (0, 1):
            syndrome = reducer.syndrome(1 << (q + n * half)) if q < n else 0
            images.append(1 << (q + full * half) | syndrome << shift)
    data, low = (1 << n) - 1, (1 << full) - 1
    flags = low ^ data
    waits = _idle(circuit)
    seen: dict[int, list[int]] = {}  # syndrome -> undetected, detected, an effect of least raw weight

    def add(e: int, times: int) -> None:
        s = e >> shift
        if s == 0:
            return
        entry = seen.get(s)
        if entry is None:
            entry = seen[s] = [0, 0, e]
        elif ((e | e >> full) & data).bit_count() < ((entry[2] | entry[2] >> full) & data).bit_count():
            entry[2] = e
        entry[1 if e & flags else 0] += times

    total = 0
    for (name, a, b), (wait_a, wait_b) in zip(reversed(circuit.gates), reversed(waits), strict=True):
        xa, za = images[2 * a], images[2 * a + 1]
        ones = (xa, za, xa ^ za)
        if b < 0:
            total += 3 * (1 + wait_a)
            for e in ones:
                add(e, 1 + wait_a)
        else:
            xb, zb = images[2 * b], images[2 * b + 1]
            others = (xb, zb, xb ^ zb)
            total += 15 + 3 * (wait_a + wait_b)
            for e in ones:
                add(e, 1 + wait_a)
                for f in others:
                    add(e ^ f, 1)
            for f in others:
                add(f, 1 + wait_b)
        _back(images, name, a, b)
    for q in range(full):  # preparation
        total += 3
        x, z = images[2 * q], images[2 * q + 1]
        for e in (x, z, x ^ z):
            add(e, 1)
    total += circuit.flags  # flips of results: no error on the data
    return _judged(seen, reducer, exact, total, full, n)


def _judged(seen: dict[int, list[int]], reducer: Reducer, exact: BlockState | None, total: int, full: int, n: int) -> Corrected:
    data = (1 << n) - 1
    dangerous = undetected = undecided = 0
    open_cases: list[tuple[int, int, int]] = []  # silent, shown, error
    for s, (silent, shown, e) in seen.items():
        error = (e & data) | (e >> full & data) << n
        verdict = reducer.judge(s, error)
        if verdict is Verdict.UNKNOWN and exact is not None:
            verdict = exact.judge(error)
        if verdict is Verdict.DANGEROUS:
            dangerous += silent + shown
            undetected += silent
        elif verdict is Verdict.UNKNOWN:
            open_cases.append((silent, shown, error))
    for start in range(0, len(open_cases), BATCH):
        part = open_cases[start : start + BATCH]
        for (silent, shown, _), weight in zip(part, reducer.descend([e for _, _, e in part]), strict=True):
            if weight > reducer.t:
                undecided += silent + shown
                dangerous += silent
                undetected += silent
    return Corrected(total, dangerous, undetected, undecided, len(seen))
