"""Reading and admitting circuits: stim text or OpenQASM 3 in, a list of one- and two-qubit Clifford gates and the measured flags out.

Admissible is: unitary Clifford gates on qubits 0..n-1 (data) and, where flags are allowed, on n..n+f-1, then one Z measurement of each
flag. Everything else is refused by the name of the instruction: noise, measurement of data, measurement before the last gate, resets,
products of Paulis (MPP, SPP), feedback, tags, inverted targets, blocks that expand beyond the limit, indices beyond the last qubit. A
multi-qubit gate is what it does (`actions.py`), whatever its name. TICK, QUBIT_COORDS, SHIFT_COORDS and I are read and dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import stim

from qtypes.errors import AgentError
from qtypes.stabilizer_codes.actions import ONE_QUBIT, SYMMETRIC, TWO_QUBIT, action, inverse_of, product_of

MAX_BYTES = 200_000
MAX_GATES = 20_000
MAX_NESTING = 8
MAX_FLAGS_PER_QUBIT = 2
_DROPPED = {"TICK", "QUBIT_COORDS", "SHIFT_COORDS"}
_ONE, _TWO = frozenset(ONE_QUBIT), frozenset(TWO_QUBIT)


class Gate(NamedTuple):
    """A gate by stim's canonical name on qubit `a`, and on `b` for a two-qubit gate (else -1)."""

    name: str
    a: int
    b: int = -1

    @property
    def qubits(self) -> tuple[int, ...]:
        return (self.a,) if self.b < 0 else (self.a, self.b)


@dataclass(frozen=True)
class Circuit:
    """An admitted circuit: `n` data qubits 0..n-1 from |0>, flags n..n+f-1 from |0>, `gates` in order without identities, then the flags
    are measured in Z."""

    n: int
    flags: int
    gates: tuple[Gate, ...]

    @property
    def qubits(self) -> int:
        """Data qubits and flags."""
        return self.n + self.flags

    def unitary(self) -> stim.Circuit:
        """The gates as a stim circuit on all qubits, without measurements."""
        lines = [f"{g.name} {g.a}" if g.b < 0 else f"{g.name} {g.a} {g.b}" for g in self.gates]
        return stim.Circuit("\n".join([*lines, f"I {self.qubits - 1}"]))

    def text(self) -> str:
        """Stim text that is read back as this circuit."""
        out: list[str] = []
        for g in self.gates:
            targets = " ".join(map(str, g.qubits))
            if out and out[-1].split(" ", 1)[0] == g.name:
                out[-1] += " " + targets
            else:
                out.append(f"{g.name} {targets}")
        if self.flags:
            out.append("M " + " ".join(map(str, range(self.n, self.qubits))))
        return "\n".join(out) + "\n"


def refuse(detail: str, *, got: object = None, limit: object = None, unit: str | None = None) -> NoReturn:
    """A refusal of the field `circuit`."""
    raise AgentError(detail, field="circuit", got=got, limit=limit, unit=unit, code="invalid-circuit")


class Builder:
    """Collects the gates of one circuit and refuses what is not admissible; both readers write into it."""

    def __init__(self, n: int, flags_allowed: bool) -> None:
        self.n = n
        self.last = n * (1 + MAX_FLAGS_PER_QUBIT) - 1 if flags_allowed else n - 1
        self.gates: list[Gate] = []
        self.measured: dict[int, None] = {}
        self.flags_allowed = flags_allowed
        self.top = n - 1
        self.operations = 0

    def count(self, operations: int) -> None:
        self.operations += operations
        if self.operations > MAX_GATES:
            refuse("too many operations after blocks are expanded", got=self.operations, limit=MAX_GATES, unit="operations")

    def _check(self, name: str, qubits: Iterable[int]) -> None:
        if self.measured:
            refuse(f"{name} after a measurement: flags are measured after the last gate", got=name)
        for q in qubits:
            if q > self.last:
                what = "data qubits and at most two flags for each" if self.flags_allowed else "data qubits only"
                refuse(f"{name} on qubit {q}, beyond the last one ({what})", got=q, limit=self.last)
            self.top = max(self.top, q)

    def one(self, name: str, qubits: list[int]) -> None:
        """A one-qubit gate on each of `qubits`."""
        self._check(name, qubits)
        if name != "I":
            self.gates += [Gate(name, q) for q in qubits]

    def two(self, name: str, pairs: list[tuple[int, int]]) -> None:
        """A two-qubit gate on each pair."""
        self._check(name, (q for pair in pairs for q in pair))
        for a, b in pairs:
            if a == b:
                refuse(f"{name} on qubit {a} twice", got=f"{name} {a} {b}")
            self.gates.append(Gate(name, a, b))

    def measure(self, name: str, qubits: Iterable[int]) -> None:
        """Z measurements of flags."""
        for q in qubits:
            if q < self.n:
                refuse(f"{name} measures data qubit {q}", got=f"{name} {q}", limit=f"flags are qubits {self.n} and above")
            if not self.flags_allowed or q > self.last:
                refuse(f"{name} on qubit {q}, beyond the last one", got=q, limit=self.last)
            if q in self.measured:
                refuse(f"{name} measures flag {q} twice", got=f"{name} {q}")
            self.measured[q] = None
            self.top = max(self.top, q)

    def circuit(self) -> Circuit:
        """The finished circuit."""
        flags = range(self.n, self.top + 1)
        for q in flags:
            if q not in self.measured:
                refuse(f"ancilla {q} is not measured; every qubit from {self.n} on is a flag, numbered without gaps", got=q)
        return Circuit(self.n, len(flags), tuple(self.gates))


def parse(text: str, n: int, *, flags: bool = False) -> Circuit:
    """The circuit of `text` for `n` data qubits; `flags` allows flag qubits. :class:`AgentError` where it is not admissible.

    Text that begins with `OPENQASM`, after comments, is read as OpenQASM 3, any other as stim text.
    """
    if len(text.encode()) > MAX_BYTES:
        refuse("the circuit text is too long", got=len(text.encode()), limit=MAX_BYTES, unit="byte")
    builder = Builder(n, flags)
    from qtypes.stabilizer_codes import qasm

    if qasm.looks_like(text):
        qasm.read(text, builder)
    else:
        _read_stim(text, builder)
    return builder.circuit()


def _read_stim(text: str, builder: Builder) -> None:
    """Lines of stim's format (Gidney 2021): a name and its targets, `#` comments, REPEAT blocks. Blocks are measured before they expand."""
    open_blocks: list[tuple[int, list[_Instruction]]] = [(1, [])]
    written = 0
    lines = [line for line in text.splitlines() if line.strip()]
    least = sum(not line.lstrip().startswith(_NO_OPERATION) for line in lines)
    if least > MAX_GATES:
        refuse("too many operations", got=least, limit=MAX_GATES, unit="operations")
    for head, line in {line.split(None, 1)[0]: line for line in reversed(lines)}.items():  # each kind of line once, before any is read
        if _ALIASES.get(head) not in _PLAIN and head[0] not in "#}":
            _check_kind(head, line)
    for line in lines:
        parts = line.split("#", 1)[0].split() if "#" in line else line.split()
        if not parts:
            continue
        if parts[0] == "}" and len(parts) == 1 and len(open_blocks) > 1:
            count, body = open_blocks.pop()
            if count * sum(i.operations for i in body) > MAX_GATES:
                refuse("too many operations after REPEAT is expanded", got=count, limit=MAX_GATES, unit="operations")
            open_blocks[-1][1].extend(body * count)
        elif parts[0].upper() == "REPEAT":
            count = _repeat(parts, len(open_blocks))
            open_blocks.append((count, []))
        else:
            open_blocks[-1][1].append(_instruction(parts, line))
            written += open_blocks[-1][1][-1].operations
            if written > MAX_GATES:
                refuse("too many operations", got=written, limit=MAX_GATES, unit="operations")
    if len(open_blocks) > 1:
        refuse("a REPEAT block is not closed", got="REPEAT")
    for i in open_blocks[0][1]:
        builder.count(i.operations)
        if i.name == "M":
            builder.measure("M", i.targets)
        elif i.name in _ONE:
            builder.one(i.name, i.targets)
        elif i.name:
            builder.two(i.name, list(zip(i.targets[::2], i.targets[1::2], strict=True)))


class _Instruction(NamedTuple):
    """A line: the gate, M, or nothing for what is dropped."""

    name: str
    targets: list[int]
    operations: int


_ALIASES = {
    alias.upper(): name for alias, name in ((a, stim.gate_data(n).name) for n in stim.gate_data() for a in stim.gate_data(n).aliases)
}  # fmt: skip
_PLAIN = _ONE | _TWO | {"M", "TICK"}
_NO_OPERATION = ("#", "}", "REPEAT", "repeat")
_NAME = re.compile(r"[A-Za-z_]\w*")
_COORDINATES = re.compile(r"(QUBIT_COORDS|SHIFT_COORDS)\s*\([^()]*\)[\s\d]*$", re.IGNORECASE)


def _repeat(parts: list[str], depth: int) -> int:
    if len(parts) != 3 or parts[2] != "{" or not (parts[1].isascii() and parts[1].isdecimal()):
        refuse("REPEAT is written `REPEAT count {`", got=" ".join(parts[:4]))
    if len(parts[1]) > 6 or not 0 < int(parts[1]) <= MAX_GATES:
        refuse("REPEAT count out of range", got=parts[1], limit=MAX_GATES, unit="repetitions")
    if depth > MAX_NESTING:
        refuse("REPEAT blocks are nested too deeply", got=depth, limit=MAX_NESTING)
    return int(parts[1])


def _check_kind(head: str, line: str) -> None:
    """Refuse a line whose first word begins nothing admissible; what it goes on with is looked at later."""
    admissible = _ALIASES.get(head.split("#")[0].upper()) in _PLAIN or head.upper() == "REPEAT"
    if not admissible and not _COORDINATES.match(line.split("#")[0].strip()):
        _refuse_by_name(line)


def _instruction(parts: list[str], line: str) -> _Instruction:
    head, rest = parts[0], parts[1:]
    name = _ALIASES.get(head.upper(), "")
    if name in _ONE or name in _TWO or name == "M":
        digits = "".join(rest)
        if not (digits.isascii() and digits.isdecimal()) and rest:
            wrong = next(t for t in rest if not (t.isascii() and t.isdecimal()))
            refuse(f"{name} with the target {wrong[:20]!r}: plain qubit indices only (no rec, sweep, ! or Pauli targets)", got=line)
        if len(rest) > 2 * MAX_GATES:
            refuse("too many operations", got=len(rest), limit=MAX_GATES, unit="operations")
        targets = [int(t) if len(t) < 10 else 10**9 for t in rest]
        if name in _TWO:
            if len(targets) % 2:
                refuse(f"{name} needs an even number of targets", got=line)
            return _Instruction(name, targets, max(1, len(targets) // 2))
        return _Instruction(name, targets, max(1, len(targets)))
    if name in _DROPPED and not rest and "[" not in head:
        return _Instruction("", [], 1)
    if _COORDINATES.match(" ".join(parts)):
        return _Instruction("", [], 1)
    return _refuse_by_name(line)


def _refuse_by_name(line: str) -> NoReturn:
    """Says what is wrong with a line that begins with no admissible instruction."""
    found = _NAME.match(line.strip())
    word = found.group(0) if found else line.strip()[:20]
    name = _ALIASES.get(word.upper())
    after = line.strip()[len(word) :].lstrip()
    if name is None:
        refuse(f"{word[:40]!r} is no instruction of stim's circuit format", got=line)
    if after.startswith("["):
        refuse(f"a tag on {name}", got=line)
    if after.startswith("(") and (name in _ONE or name in _TWO or name == "M"):
        refuse(f"{name} with an argument is noise", got=line)
    kind = "a reset" if name in ("R", "RX", "RY") else "not a unitary one- or two-qubit Clifford gate"
    refuse(f"{name} is not admissible: it is {kind}", got=line, limit="unitary one- and two-qubit Clifford gates, then M on flags")


# Counting


@dataclass(frozen=True)
class Counts:
    """Costs of a circuit. `g2q`: multi-qubit gates, each 1 whatever its kind; `entangling`: the CX gates they stand for (SWAP 3, ISWAP kind
    2); `depth`: moments when every gate starts as soon as its qubits are free, one-qubit gates included."""

    g2q: int
    entangling: int
    depth: int
    one_qubit: int


def counts(circuit: Circuit) -> Counts:
    """Costs of `circuit`."""
    two = [g for g in circuit.gates if g.b >= 0]
    moments = schedule(circuit)
    entangling = sum(action(g.name).cost for g in two)
    return Counts(len(two), entangling, max(moments, default=0), len(circuit.gates) - len(two))


def schedule(circuit: Circuit) -> list[int]:
    """Moment of each gate, from 1, as soon as its qubits are free."""
    free = [0] * circuit.qubits
    out = []
    for _, a, b in circuit.gates:
        at = 1 + (free[a] if b < 0 else max(free[a], free[b]))
        free[a] = at
        if b >= 0:
            free[b] = at
        out.append(at)
    return out


def condensed(circuit: Circuit) -> Circuit:
    """The same unitary without padding: one-qubit gates between two-qubit gates merged into one, a two-qubit gate directly followed by its
    inverse on the same qubits removed with it, until nothing changes."""
    gates = list(circuit.gates)
    while True:
        shorter = _condense_once(gates, circuit.qubits)
        if len(shorter) == len(gates):
            return Circuit(circuit.n, circuit.flags, tuple(shorter))
        gates = shorter


def _condense_once(gates: list[Gate], qubits: int) -> list[Gate]:
    kept: list[Gate | None] = []
    last: list[list[int]] = [[] for _ in range(qubits)]  # positions in `kept` of the gates on each qubit
    for g in gates:
        before = [last[q][-1] if last[q] else -1 for q in g.qubits]
        previous = kept[before[0]] if before[0] >= 0 else None
        if g.b < 0 and previous is not None and previous.b < 0:
            name = product_of(previous.name, g.name)
            kept[before[0]] = None if name == "I" else Gate(name, g.a)
            if name == "I":
                last[g.a].pop()
            continue
        if g.b >= 0 and previous is not None and before[0] == before[1] and _cancel(previous, g):
            kept[before[0]] = None
            last[g.a].pop()
            last[g.b].pop()
            continue
        for q in g.qubits:
            last[q].append(len(kept))
        kept.append(g)
    return [g for g in kept if g is not None]


def _cancel(first: Gate, second: Gate) -> bool:
    same = first.qubits == second.qubits or (first.name in SYMMETRIC and first.qubits == second.qubits[::-1])
    return same and inverse_of(first.name) == second.name
