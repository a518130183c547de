"""A reader for the Clifford part of OpenQASM 3 (Cross et al. 2022): declarations, standard gates, barriers, measurements.

    OPENQASM 3.0; include "stdgates.inc";
    qubit[7] data; qubit[2] flag; bit[2] out;
    h data[0]; cx data[0], data[1]; ctrl @ x data[0], flag[0];
    out = measure flag;

Qubits are numbered through the registers in the order of declaration. A gate on a whole register acts on each of its qubits; of two
registers, or of a register and a qubit, pairwise. Anything else (gate definitions, angles, control flow, resets, delays, pragmas) is
refused by its first word.
"""

from __future__ import annotations

import re

from qtypes.stabilizer_codes.circuits import MAX_FLAGS_PER_QUBIT, MAX_GATES, Builder, refuse

ONE = {
    "id": "I", "x": "X", "y": "Y", "z": "Z", "h": "H", "s": "S", "sdg": "S_DAG", "sx": "SQRT_X", "sxdg": "SQRT_X_DAG",
}  # fmt: skip
TWO = {"cx": "CX", "CX": "CX", "cy": "CY", "cz": "CZ", "swap": "SWAP", "iswap": "ISWAP"}
_CONTROLLED = {"x": "cx", "y": "cy", "z": "cz"}
_INVERSE = {"s": "sdg", "sdg": "s", "sx": "sxdg", "sxdg": "sx"}
MAX_STATEMENTS = 2 * MAX_GATES
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HEAD = re.compile(r"OPENQASM\s+(\d+)(?:\.\d+)?\s*$")
_REGISTER = re.compile(r"(qubit|bit)\s*(?:\[\s*(\d+)\s*\])?\s*([A-Za-z_]\w*)$|(qreg|creg)\s+([A-Za-z_]\w*)\s*\[\s*(\d+)\s*\]$")
_OPERAND = re.compile(r"([A-Za-z_]\w*)(?:\s*\[\s*(\d+)\s*\])?$")
_MEASURE = re.compile(r"(?:([^=]+?)\s*=\s*)?measure\s+(.+?)(?:\s*->\s*(.+))?$")
_SIMPLE = re.compile(r"([a-zA-Z]+) (\w+)\[(\d{1,9})\](?: ?, ?(\w+)\[(\d{1,9})\])?$")
_CALL = re.compile(r"((?:(?:ctrl|inv)\s*@\s*)*)([A-Za-z_]\w*)\s+(.+)$")


def looks_like(text: str) -> bool:
    """Whether the first word after comments is OPENQASM."""
    return text.startswith("OPENQASM") or _COMMENT.sub("", text[:4000]).lstrip().startswith("OPENQASM")


class _Reader:
    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.qubits: dict[str, range] = {}
        self.bits: dict[str, int] = {}
        self.declared = 0

    def statement(self, text: str) -> None:
        simple = _SIMPLE.match(text)
        if simple is not None and self._simple(*simple.groups()):
            return
        word = re.split(r"\W", text, maxsplit=1)[0] or text[:20]
        if (found := _REGISTER.match(text)) is not None:
            kind, size, name, old_kind, old_name, old_size = found.groups()
            self._register(kind or old_kind, name or old_name, int((size or old_size or "1")[:9]))
        elif "measure" in text and (found := _MEASURE.match(text)) is not None:
            self._measure(text, found)
        elif word == "barrier":
            for operand in text[len("barrier") :].split(","):
                if operand.strip():
                    self._operand(operand)
        elif (found := _CALL.match(text)) is not None:
            modifiers, gate, operands = found.groups()
            self._call(modifiers, gate, operands, text)
        else:
            refuse(f"{word or text[:20]!r} is not admissible in OpenQASM here", got=text)

    def _simple(self, gate: str, a: str, i: str, b: str | None, j: str | None) -> bool:
        """The common case, a named gate on single qubits; False leaves the statement to the general reader and its refusals."""
        one, two = ONE.get(gate), TWO.get(gate)
        registers = [self.qubits.get(r) for r in ((a,) if b is None else (a, b))]
        if (one if b is None else two) is None or None in registers:
            return False
        qubits = [r[int(k)] for r, k in zip(registers, (i, j), strict=False) if r is not None and k is not None and int(k) < len(r)]
        if len(qubits) != len(registers):
            return False
        self.builder.count(1)
        if b is None:
            self.builder.one(str(one), qubits)
        else:
            self.builder.two(str(two), [(qubits[0], qubits[1])])
        return True

    def _register(self, kind: str, name: str, size: int) -> None:
        if name in self.qubits or name in self.bits:
            refuse(f"{name} is declared twice", got=name)
        if kind in ("bit", "creg"):
            self.bits[name] = size
            return
        if size < 1 or self.declared + size > self.builder.n * (1 + MAX_FLAGS_PER_QUBIT):
            refuse(f"register {name} is beyond the last qubit", got=self.declared + size, limit=self.builder.last + 1)
        self.qubits[name] = range(self.declared, self.declared + size)
        self.declared += size

    def _operand(self, text: str) -> list[int]:
        found = _OPERAND.match(text.strip())
        if found is None or found.group(1) not in self.qubits:
            refuse(f"{text.strip()[:40]!r} is not a declared qubit or register", got=text)
        register, index = self.qubits[found.group(1)], found.group(2)
        if index is None:
            return list(register)
        if len(index) > 9 or int(index) >= len(register):
            refuse(f"{found.group(1)} has no qubit {index[:9]}", got=index, limit=len(register) - 1)
        return [register[int(index)]]

    def _measure(self, text: str, found: re.Match[str]) -> None:
        target = found.group(1) or found.group(3)
        qubits = self._operand(found.group(2))
        if target is not None:
            bit = _OPERAND.match(re.sub(r"^bit\s*(\[\s*\d+\s*\])?\s*", "", target.strip()))
            if bit is None or ("bit" not in target.split("[")[0].split() and bit.group(1) not in self.bits):
                refuse("the result of measure goes into a declared bit", got=text)
        self.builder.count(len(qubits))
        self.builder.measure("measure", qubits)

    def _call(self, modifiers: str, gate: str, operands: str, text: str) -> None:
        for modifier in reversed(re.findall(r"ctrl|inv", modifiers)):
            if modifier == "inv":
                gate = _INVERSE.get(gate, gate)
                if gate == "iswap":
                    refuse("inv @ iswap is not admissible", got=text)
            elif gate in _CONTROLLED:
                gate = _CONTROLLED[gate]
            else:
                refuse(f"ctrl @ {gate} is not admissible", got=text)
        if gate not in ONE and gate not in TWO:
            refuse(f"{gate!r} is not an admissible gate", got=text, limit=", ".join((*ONE, *TWO)))
        groups = [self._operand(o) for o in operands.split(",")]
        if gate in ONE:
            if len(groups) != 1:
                refuse(f"{gate} acts on one qubit", got=text)
            self.builder.count(len(groups[0]))
            self.builder.one(ONE[gate], groups[0])
            return
        if len(groups) != 2:
            refuse(f"{gate} acts on two qubits", got=text)
        a, b = groups
        size = max(len(a), len(b))
        if len(a) != len(b) and min(len(a), len(b)) != 1:
            refuse(f"{gate} on registers of different size", got=text)
        self.builder.count(size)
        self.builder.two(TWO[gate], list(zip(a * (size // len(a)), b * (size // len(b)), strict=True)))


def read(text: str, builder: Builder) -> None:
    """Read OpenQASM 3 (or 2 within the same gates) into `builder`."""
    reader = _Reader(builder)
    statements = [s.strip() for s in _COMMENT.sub(" ", text).split(";")]
    if statements[-1]:
        refuse("the last statement has no semicolon", got=statements[-1])
    head = _HEAD.match(statements[0])
    if head is None or head.group(1) not in ("2", "3"):
        refuse("not OpenQASM 2 or 3", got=statements[0])
    for k, statement in enumerate(statements[1:-1]):
        if not statement or re.fullmatch(r'include\s+"(stdgates|qelib1)\.inc"', statement):
            continue
        if k > MAX_STATEMENTS:
            refuse("too many statements", got=k, limit=MAX_STATEMENTS)
        reader.statement(" ".join(statement.split()))
