"""A strict reader of the native subset of OpenQASM 3: what an agent writes is matched word by word, never evaluated.

    OPENQASM 3.0;                       // first statement
    include "stdgates.inc";             // allowed, without effect
    qubit[5] q;                         // at most one register; q[i] is device qubit i, and so is $i
    bit[5] c;                           // at most one register
    rz(pi/2) q[0];  sx q;               // angle: numbers and pi, joined by * and /; a register name means each of its qubits
    cz q[0], q[1];
    box_1 q[0], q[1], q[2], q[3], q[4]; // an opaque routine on exactly its own qubits; `inv @ box_1 ...` undoes it
    delay[120ns] q[2];  barrier q;      // ns, us, ms or s; a barrier without operands holds all qubits
    c[0] = measure q[0];  c = measure q;

Measurements come last. Everything else is refused with its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

MAX_TEXT = 60_000
MAX_OPERATIONS = 12_000
MAX_ANGLE = 1e4
MAX_DELAY_NS = 100_000.0

Kind = Literal["rz", "sx", "cz", "box", "delay", "barrier"]


class ProgramError(ValueError):
    """A text that is no program; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `value`: angle in rad of `rz`, ns of `delay`, number of the routine of `box` (negative for its inverse)."""

    kind: Kind
    qubits: tuple[int, ...]
    value: float = 0.0
    line: int = 0


@dataclass(frozen=True)
class Circuit:
    """`measured[i]` is the qubit read into c[i], or -1 where that bit is never assigned (it is then 0)."""

    operations: tuple[Operation, ...]
    measured: tuple[int, ...]

    @property
    def touched(self) -> tuple[int, ...]:
        """Qubits that any gate, routine or delay acts on, ascending."""
        return tuple(sorted({q for op in self.operations if op.kind != "barrier" for q in op.qubits}))

    def count(self, kind: Kind) -> int:
        return sum(op.kind == kind for op in self.operations)


@dataclass(frozen=True)
class Target:
    """What a program may use: number of qubits, couplers as sorted pairs, qubits of each routine by name."""

    n_qubits: int
    couplers: frozenset[tuple[int, int]]
    boxes: Mapping[str, tuple[int, ...]]

    def __hash__(self) -> int:
        return hash((self.n_qubits, self.couplers, tuple(sorted(self.boxes.items()))))


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEADER = re.compile(r"OPENQASM +3(?:\.[01])?")
_INCLUDE = re.compile(r'include +"stdgates\.inc"')
_REGISTER = re.compile(r"(qubit|bit) *\[ *(\d{1,2}) *\] *([A-Za-z_]\w{0,31})")
_MEASURE = re.compile(r"([A-Za-z_]\w{0,31})(?: *\[ *(\d{1,2}) *\])? *= *measure +(.+)")
_DELAY = re.compile(r"delay *\[ *(\d{1,12}(?:\.\d{0,20})?(?:e[+-]?\d{1,2})?) *(ns|us|ms|s) *\] *(.+)")
_GATE = re.compile(r"(inv *@ *)?([A-Za-z_]\w{0,31})(?: *\(([^()]{1,80})\))?(?: +(.+))?")
_OPERAND = re.compile(r"\$(\d{1,2})|([A-Za-z_]\w{0,31})(?: *\[ *(\d{1,2}) *\])?")
_FACTOR = re.compile(r"pi|\d{0,20}\.?\d{1,20}(?:[eE][+-]?\d{1,3})?|\d{1,20}\.")
_UNIT_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Statements without comments, white space folded to single blanks, with the line each begins on."""
    if not text.isascii():
        bad = next(k for k, c in enumerate(text) if not c.isascii())
        raise ProgramError(text.count("\n", 0, bad) + 1, "only ASCII characters are read")
    text = _COMMENT.sub(lambda m: "\n" * m.group().count("\n") or " ", text)
    line = 1
    pieces = text.split(";")
    for k, piece in enumerate(pieces):
        body = piece.strip()
        start = line + piece[: len(piece) - len(piece.lstrip())].count("\n")
        line += piece.count("\n")
        if k == len(pieces) - 1:
            if body:
                raise ProgramError(start, "a statement without `;` at its end")
            return
        if body:
            yield start, " ".join(body.split())


def _angle(text: str, line: int) -> float:
    """Value of `[-] factor {(* | /) factor}` with factor a number or pi."""
    body = text.strip()
    sign = -1.0 if body.startswith("-") else 1.0
    parts = re.split(r" *([*/]) *", body.lstrip("+-").strip() if body[:1] in "+-" else body)
    if body[1:2] in ("+", "-") or not all(_FACTOR.fullmatch(p) for p in parts[::2]):
        raise ProgramError(line, "an angle is a number or a product or quotient of numbers and pi")
    value = sign
    for operator, factor in zip(["*", *parts[1::2]], parts[::2], strict=True):
        number = math.pi if factor == "pi" else float(factor)
        if operator == "/" and number == 0.0:
            raise ProgramError(line, "division by zero in an angle")
        value = value * number if operator == "*" else value / number
    if not abs(value) <= MAX_ANGLE:
        raise ProgramError(line, f"angles lie within {MAX_ANGLE:g} rad")
    return value


class _Reader:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.register: tuple[str, int] | None = None
        self.bits: tuple[str, int] | None = None
        self.operations: list[Operation] = []
        self.measured: dict[int, int] = {}

    def read(self, text: str) -> Circuit:
        seen = 0
        for line, body in _statements(text):
            seen += 1
            if seen == 1:
                if not _HEADER.fullmatch(body):
                    raise ProgramError(line, "the first statement is `OPENQASM 3.0;`")
            elif not _INCLUDE.fullmatch(body):
                self.statement(line, body)
            if len(self.operations) > MAX_OPERATIONS:
                raise ProgramError(line, f"more than {MAX_OPERATIONS} operations")
        if not seen:
            raise ProgramError(1, "an empty program")
        if not self.measured:
            raise ProgramError(text.count("\n") + 1, "nothing is measured")
        n_bits = self.bits[1] if self.bits else 0
        return Circuit(tuple(self.operations), tuple(self.measured.get(i, -1) for i in range(n_bits)))

    def statement(self, line: int, body: str) -> None:
        if match := _REGISTER.fullmatch(body):
            self.declare(line, *match.groups())
        elif match := _MEASURE.fullmatch(body):
            self.measure(line, *match.groups())
        elif match := _DELAY.fullmatch(body):
            ns = float(match[1]) * _UNIT_NS[match[2]]
            if ns > MAX_DELAY_NS:
                raise ProgramError(line, f"a delay lasts at most {MAX_DELAY_NS:g} ns")
            for q in self.operands(line, match[3]):
                self.put(line, "delay", (q,), ns)
        elif match := _GATE.fullmatch(body):
            self.gate(line, *match.groups())
        else:
            raise ProgramError(line, "not a statement of the native set")

    def declare(self, line: int, kind: str, size: str, name: str) -> None:
        n, limit = int(size), self.target.n_qubits
        if not 1 <= n <= limit:
            raise ProgramError(line, f"a register holds 1 to {limit} elements")
        if name in {r[0] for r in (self.register, self.bits) if r}:
            raise ProgramError(line, "a second register of this name")
        if kind == "qubit":
            if self.register:
                raise ProgramError(line, "a second qubit register")
            self.register = (name, n)
        else:
            if self.bits:
                raise ProgramError(line, "a second bit register")
            self.bits = (name, n)

    def operands(self, line: int, text: str) -> tuple[int, ...]:
        """Device qubits in the order written, a register name as all of its qubits; each at most once."""
        out: list[int] = []
        for part in text.split(","):
            match = _OPERAND.fullmatch(part.strip())
            if not match:
                raise ProgramError(line, "an operand is `q[i]`, `q` or `$i`")
            physical, name, index = match.groups()
            if physical is not None:
                out.append(int(physical))
            elif self.register is None or name != self.register[0]:
                raise ProgramError(line, f"no qubit register `{name}`")
            else:
                size = self.register[1]
                out += range(size) if index is None else [int(index)]
                if index is not None and int(index) >= size:
                    raise ProgramError(line, f"index {index} outside of a register of {size}")
        if max(out) >= self.target.n_qubits:
            raise ProgramError(line, f"the device has qubits 0 to {self.target.n_qubits - 1}")
        if len(set(out)) < len(out):
            raise ProgramError(line, "a qubit occurs twice")
        return tuple(out)

    def put(self, line: int, kind: Kind, qubits: tuple[int, ...], value: float = 0.0) -> None:
        if self.measured and kind != "barrier":
            raise ProgramError(line, "measurements come last")
        self.operations.append(Operation(kind, qubits, value, line))

    def gate(self, line: int, inverse: str | None, name: str, argument: str | None, operands: str | None) -> None:
        if name == "barrier" and argument is None and inverse is None:
            qubits = self.operands(line, operands) if operands else tuple(range(self.target.n_qubits))
            self.put(line, "barrier", qubits)
            return
        if operands is None:
            raise ProgramError(line, "an operand is missing")
        if (name == "rz") != (argument is not None):
            raise ProgramError(line, "`rz` takes one angle" if name == "rz" else "no angle is taken here")
        if inverse and name not in self.target.boxes:
            raise ProgramError(line, "`inv @` stands before an opaque routine only")
        qubits = self.operands(line, operands)
        if name in ("rz", "sx"):
            value = _angle(argument, line) if argument is not None else 0.0
            for q in qubits:
                self.put(line, "rz" if name == "rz" else "sx", (q,), value)
        elif name == "cz":
            if len(qubits) != 2 or tuple(sorted(qubits)) not in self.target.couplers:
                raise ProgramError(line, "`cz` acts on two qubits that are joined by a coupler")
            self.put(line, "cz", qubits)
        elif name in self.target.boxes:
            if qubits != self.target.boxes[name]:
                raise ProgramError(line, f"`{name}` acts on qubits {', '.join(map(str, self.target.boxes[name]))} in this order")
            number = 1 + list(self.target.boxes).index(name)
            self.put(line, "box", qubits, -number if inverse else number)
        else:
            raise ProgramError(line, f"`{name}` is not in the native set")

    def measure(self, line: int, name: str, index: str | None, operand: str) -> None:
        if self.bits is None or name != self.bits[0]:
            raise ProgramError(line, f"no bit register `{name}`")
        qubits = self.operands(line, operand)
        bits = tuple(range(self.bits[1])) if index is None else (int(index),)
        if len(bits) != len(qubits):
            raise ProgramError(line, f"{len(qubits)} qubits are measured into {len(bits)} bits")
        for bit, qubit in zip(bits, qubits, strict=True):
            if bit >= self.bits[1]:
                raise ProgramError(line, f"index {bit} outside of a register of {self.bits[1]}")
            if bit in self.measured or qubit in self.measured.values():
                raise ProgramError(line, "a bit or a qubit is measured twice")
            self.measured[bit] = qubit


@lru_cache(maxsize=256)
def read(text: str, target: Target) -> Circuit:
    """The circuit of a text; :class:`ProgramError` names the line of what is refused."""
    if len(text) > MAX_TEXT:
        raise ProgramError(1, f"a program has at most {MAX_TEXT} characters")
    return _Reader(target).read(text)
