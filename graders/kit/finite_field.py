"""Equality of Clifford+T circuits in a finite field: exact arithmetic, no rounding, independent of any state-vector code.

Clifford+T matrices have entries in Z[omega, 1/2], omega = exp(i pi/4). Where a prime p is 1 modulo 8, the field F_p holds a primitive
eighth root of unity w, sqrt(2) = w - w**3 and 1/sqrt(2), and omega -> w maps both circuits to matrices over F_p. Two circuits are equal
up to a global phase exactly if U = omega**k V for some k. This is tested on random vectors as Freivalds (1979) tests a matrix product:
with different matrices a random vector gives equal images with probability at most 1/p, about 2**-30, unless the random prime divides
the difference.

The reader below is a second one, on purpose unlike `lab.conventions.tcount`: it reads the text as one stream of tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

_LEXEME = re.compile(r'//[^\n]*|"[^"\n]*"|[A-Za-z_]\w*|\d+\.\d+|\d+|[;,\[\]]|\s+|.', re.DOTALL)
_ARITY = {"h": 1, "x": 1, "z": 1, "s": 1, "sdg": 1, "t": 1, "tdg": 1, "cx": 2, "cz": 2}
_TURN = {"z": 4, "s": 2, "sdg": 6, "t": 1, "tdg": 7}
_LOW, _HIGH = 2**30, 2**31 - 1
N_VECTORS = 3


@dataclass(frozen=True)
class Program:
    """`steps` are gate names with their qubits."""

    n: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def t_count(self) -> int:
        return sum(name in ("t", "tdg") for name, _ in self.steps)

    @property
    def cx_count(self) -> int:
        return sum(len(qubits) == 2 for _, qubits in self.steps)

    @property
    def t_depth(self) -> int:
        """Longest path in T gates through the circuit read backwards: the same number as layering it forwards."""
        ahead = [0] * self.n
        for name, qubits in reversed(self.steps):
            longest = max(ahead[q] for q in qubits) + (name in ("t", "tdg"))
            for q in qubits:
                ahead[q] = longest
        return max(ahead)


def read(text: str) -> Program | None:
    """The program of an OpenQASM 2 text, None where it has no reading in the grammar."""
    words = [w for w in _LEXEME.findall(text) if not w.isspace() and not w.startswith("//")]
    statements: list[list[str]] = [[]]
    for word in words:
        if word == ";":
            statements.append([])
        else:
            statements[-1].append(word)
    if statements.pop() or statements[:1] != [["OPENQASM", "2.0"]]:
        return None
    body = statements[1:]
    if body[:1] == [["include", '"qelib1.inc"']]:
        body = body[1:]
    if not body or len(body[0]) != 5 or body[0][0] != "qreg" or body[0][2] + body[0][4] != "[]" or not body[0][3].isdigit():
        return None
    register, size = body[0][1], int(body[0][3])
    steps: list[tuple[str, tuple[int, ...]]] = []
    for words in body[1:]:
        arity = _ARITY.get(words[0] if words else "", 0)
        operands = " ".join(words[1:])
        pattern = " , ".join([rf"{register} \[ (\d+) \]"] * arity)
        match = re.fullmatch(pattern, operands) if arity else None
        if match is None:
            return None
        qubits = tuple(int(g) for g in match.groups())
        if max(qubits) >= size or len(set(qubits)) < arity:
            return None
        steps.append((words[0], qubits))
    return Program(size, tuple(steps))


def equal(first: Program, second: Program, rng: np.random.Generator) -> bool:
    """Whether the programs are equal up to a global phase. Equal programs always pass; different ones pass with probability below 1e-10:
    three primes out of 1e7, of which fewer than 3000 can divide a non-zero entry that 20000 gates make."""
    if first.n != second.n:
        return False
    phases = set(range(8))
    for _ in range(N_VECTORS):
        p, w = _field(rng)
        vector = rng.integers(0, p, 1 << first.n, dtype=np.int64)
        a, b = _image(first, vector, p, w), _image(second, vector, p, w)
        phases = {k for k in phases if (b * pow(w, k, p) % p == a).all()}
        if not phases:
            return False
    return True


def _field(rng: np.random.Generator) -> tuple[int, int]:
    """A random prime p = 1 mod 8 between 2**30 and 2**31 and a primitive eighth root of unity in F_p."""
    while True:
        p = int(rng.integers(_LOW // 8, _HIGH // 8)) * 8 + 1
        if _is_prime(p):
            break
    while True:
        w = pow(int(rng.integers(2, p - 1)), (p - 1) // 8, p)
        if pow(w, 4, p) == p - 1:
            return p, w


def _is_prime(p: int) -> bool:
    """Miller-Rabin with bases that decide every number below 3.2e9 (Jaeschke 1993)."""
    odd, twos = p - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7):
        x = pow(base, odd, p)
        if x in (1, p - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % p
            if x == p - 1:
                break
        else:
            return False
    return True


def _image(program: Program, vector: np.ndarray, p: int, w: int) -> np.ndarray:
    """The program on a vector of F_p, `(2**n,)` int64; qubit q is bit q of the index. Products stay below 2**62."""
    v = vector.copy()
    index = np.arange(len(v))
    root = (w - pow(w, 3, p)) % p
    scale = pow(root, -1, p)
    powers = [pow(w, k, p) for k in range(8)]
    masks = [(index >> q & 1).astype(bool) for q in range(program.n)]
    for name, qubits in program.steps:
        q = qubits[0]
        if name == "h":
            partner = v[index ^ (1 << q)]
            v = np.where(masks[q], partner - v, v + partner) % p * scale % p
        elif name == "x":
            v = v[index ^ (1 << q)]
        elif name == "cx":
            v = v[np.where(masks[q], index ^ (1 << qubits[1]), index)]
        elif name == "cz":
            both = masks[q] & masks[qubits[1]]
            v[both] = -v[both] % p
        else:
            v[masks[q]] = v[masks[q]] * powers[_TURN[name]] % p
    return v
