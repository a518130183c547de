"""How a Clifford+T circuit is read and counted, shared to the letter by the laboratory, the grader and the agent.

Grammar (a subset of OpenQASM 2, Cross et al. 2017): `OPENQASM 2.0;`, optionally `include "qelib1.inc";`, one `qreg NAME[n];`, then gate
statements out of {h, s, sdg, x, z, t, tdg} on one and {cx, cz} on two different qubits of that register, each ended by a semicolon.
`//` starts a comment. Nothing else exists: no creg, measure, reset, if, barrier, gate, opaque, angles, broadcast over a register.

Costs. T-count: number of t and tdg gates. T-depth: greedy as-soon-as-possible layering of the text, without using that gates commute:
every qubit carries the number of T layers behind it; t and tdg raise it by one, cx and cz set both qubits to the larger of the two, all
other gates leave it; the T-depth is the largest number at the end. CX count: number of cx and cz gates. CX depth: the same
layering with cx and cz as the counted gates (reported, not part of the metric).
Qubit k is `NAME[k]`; in matrices qubit 0 is the most significant bit of the basis index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ONE_QUBIT = ("h", "s", "sdg", "x", "z", "t", "tdg")
TWO_QUBIT = ("cx", "cz")
MAX_BYTES = 1_000_000
MAX_GATES = 20_000
MAX_QUBITS = 12
CAP = 9_999
"""Each count enters the metric at most with this value, so that the order T-count, T-depth, CX count is lexicographic."""

_VERSION = re.compile(r"OPENQASM\s+2\.0")
_INCLUDE = re.compile(r'include\s+"qelib1\.inc"')
_QREG = re.compile(r"qreg\s+([a-z][A-Za-z0-9_]{0,31})\s*\[\s*([1-9][0-9]?)\s*\]")
_GATE = re.compile(r"([a-z]{1,3})\s+([a-z][A-Za-z0-9_]{0,31})\s*\[\s*([0-9]{1,2})\s*\]"
                   r"(?:\s*,\s*([a-z][A-Za-z0-9_]{0,31})\s*\[\s*([0-9]{1,2})\s*\])?")  # fmt: skip
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9][0-9.]*|\S)")
_SHOWN = 24

Gate = tuple[str, int, int]
"""Name, first qubit, second qubit (target of cx; -1 for one-qubit gates)."""


class QasmError(ValueError):
    """A text outside the grammar: `reason`, `line` (from 1) and `token`, the first characters of what was met there."""

    def __init__(self, reason: str, line: int, token: str) -> None:
        token = "".join(c if c.isprintable() and c.isascii() else "?" for c in token[: _SHOWN + 1])
        self.reason, self.line = reason, line
        self.token = token if len(token) <= _SHOWN else token[:_SHOWN] + "..."
        super().__init__(f"line {line}, at {self.token!r}: {reason}")


@dataclass(frozen=True)
class Circuit:
    """`gates` in order of application on `n_qubits` qubits."""

    n_qubits: int
    gates: tuple[Gate, ...]


@dataclass(frozen=True)
class Counts:
    """Costs of a circuit as defined at the top of this module."""

    t_count: int
    t_depth: int
    cx_count: int
    cx_depth: int
    gates: int


def parse(text: str, n_qubits: int | None = None, *, max_gates: int = MAX_GATES, max_bytes: int = MAX_BYTES) -> Circuit:
    """The circuit of an OpenQASM 2 text; `n_qubits` is the register size that is required, if any.

    Time is linear in the length of the text. :class:`QasmError` names line and token of the first fault.
    """
    if len(text) > max_bytes:
        raise QasmError(f"text longer than {max_bytes} bytes", 1, text[:_SHOWN])
    if not text.isascii():
        at = next(i for i, c in enumerate(text) if ord(c) > 127)
        raise QasmError("only ASCII characters are allowed", text.count("\n", 0, at) + 1, text[at])
    statements = _statements(text)
    line, head = next(statements, (1, ""))
    if not _VERSION.fullmatch(head):
        raise QasmError("the text must begin with 'OPENQASM 2.0;'", line, _first(head))
    line, head = next(statements, (line, ""))
    if _INCLUDE.fullmatch(head):
        line, head = next(statements, (line, ""))
    register = _QREG.fullmatch(head)
    if register is None:
        raise QasmError("expected one 'qreg NAME[n];'", line, _first(head))
    name, size = register[1], int(register[2])
    if size > MAX_QUBITS or (n_qubits is not None and size != n_qubits):
        wanted = f"exactly {n_qubits}" if n_qubits is not None else f"at most {MAX_QUBITS}"
        raise QasmError(f"the register must have {wanted} qubits", line, register[2])
    gates: list[Gate] = []
    known: dict[str, Gate] = {}
    for line, statement in statements:
        gate = known.get(statement)
        if gate is None:
            gate = known[statement] = _gate(statement, line, name, size)
        if len(gates) == max_gates:
            raise QasmError(f"more than {max_gates} gates", line, _first(statement))
        gates.append(gate)
    return Circuit(size, tuple(gates))


def _statements(text: str) -> Iterable[tuple[int, str]]:
    """Pairs of line number and statement without its semicolon, comments removed."""
    parts: list[str] = []
    begun = 1
    for number, raw in enumerate(text.split("\n"), 1):
        if not raw:
            continue
        pieces = raw.split("//", 1)[0].split(";")
        for piece in pieces[:-1]:
            parts.append(piece)
            joined = " ".join(parts).strip()
            yield (begun if len(parts) > 1 else number), joined
            parts.clear()
        if pieces[-1].strip():
            if not parts:
                begun = number
            parts.append(pieces[-1])
    if parts:
        raise QasmError("statement without ';' at the end of the text", begun, _first(" ".join(parts)))


def _first(statement: str) -> str:
    token = _TOKEN.match(statement)
    return token[1] if token else "end of statement"


def _gate(statement: str, line: int, register: str, size: int) -> Gate:
    match = _GATE.fullmatch(statement)
    word = _first(statement)
    if match is None or (match[1] not in ONE_QUBIT and match[1] not in TWO_QUBIT):
        if word in ONE_QUBIT or word in TWO_QUBIT:
            rest = statement[len(word) :].strip()
            raise QasmError(f"expected '{word} {register}[k]{', ' + register + '[l]' if word in TWO_QUBIT else ''};'", line, rest or word)
        raise QasmError(f"not a statement of the grammar; gates are {', '.join(ONE_QUBIT + TWO_QUBIT)}", line, word)
    gate, first, a, second, b = match.groups()
    if (b is not None) != (gate in TWO_QUBIT):
        raise QasmError(f"{gate} acts on {2 if gate in TWO_QUBIT else 1} qubit(s)", line, statement)
    for reg, index in ((first, a), (second, b)):
        if reg is not None and reg != register:
            raise QasmError(f"unknown register; the register is {register!r}", line, reg)
        if index is not None and (int(index) >= size or (len(index) > 1 and index[0] == "0")):
            raise QasmError(f"qubit index must be 0 to {size - 1}", line, index)
    if b is not None and a == b:
        raise QasmError(f"{gate} needs two different qubits", line, f"{first}[{a}]")
    return gate, int(a), -1 if b is None else int(b)


def to_qasm(circuit: Circuit) -> str:
    """The circuit as OpenQASM 2 text, one gate per line, register `q`; `parse` gives the same circuit back."""
    lines = ["OPENQASM 2.0;", 'include "qelib1.inc";', f"qreg q[{circuit.n_qubits}];"]
    lines += [f"{g} q[{a}];" if b < 0 else f"{g} q[{a}],q[{b}];" for g, a, b in circuit.gates]
    return "\n".join(lines) + "\n"


def counts(circuit: Circuit) -> Counts:
    """Costs of the circuit as written."""
    t_layer, cx_layer = [0] * circuit.n_qubits, [0] * circuit.n_qubits
    t_count = cx_count = 0
    for gate, a, b in circuit.gates:
        if b >= 0:
            cx_count += 1
            t_layer[a] = t_layer[b] = max(t_layer[a], t_layer[b])
            cx_layer[a] = cx_layer[b] = max(cx_layer[a], cx_layer[b]) + 1
        elif gate in ("t", "tdg"):
            t_count += 1
            t_layer[a] += 1
    return Counts(t_count, max(t_layer), cx_count, max(cx_layer), len(circuit.gates))


def metric(c: Counts) -> int:
    """`T-count * 1e8 + T-depth * 1e4 + CX count`, each capped at 9999; lower is better."""
    return min(c.t_count, CAP) * 10**8 + min(c.t_depth, CAP) * 10**4 + min(c.cx_count, CAP)
