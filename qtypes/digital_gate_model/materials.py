"""The public Trotter circuit."""

from __future__ import annotations

import math

STEPS = 4
ZZ_RAD = 0.5
X_RAD = 0.35
CHAIN = 5
LAYERS = (((0, 1), (2, 3)), ((1, 2), (3, 4)))


def one_qubit(q: int, a: float, b: float, c: float) -> str:
    """`rz(a) sx rz(b) sx rz(c)` as a product of matrices: c acts first."""
    return f"rz({c!r}) q[{q}]; sx q[{q}]; rz({b!r}) q[{q}]; sx q[{q}]; rz({a!r}) q[{q}];\n"


def hadamard(q: int) -> str:
    return f"rz(pi/2) q[{q}]; sx q[{q}]; rz(pi/2) q[{q}];\n"


def x_rotation(q: int, angle: float) -> str:
    """`exp(-i angle X / 2)` = `rz(pi/2) sx rz(angle + pi) sx rz(pi/2)` up to a phase."""
    return one_qubit(q, math.pi / 2, angle + math.pi, math.pi / 2)


def trotter_body(fold: int = 1) -> str:
    """Four first-order steps of a transverse-field Ising chain: exp(-i ZZ_RAD Z Z / 2) on the bonds, exp(-i X_RAD X / 2) on the sites.

    Every CZ is written `fold` times in a row. The two gates of a layer are parallel.
    """
    out = []
    for _ in range(STEPS):
        for layer in LAYERS:
            gates = "".join(f"cz q[{a}], q[{b}];\n" for a, b in layer) * fold
            out.append("".join(hadamard(b) for _, b in layer) + gates)
            out.append("".join(x_rotation(b, ZZ_RAD) for _, b in layer) + gates)
            out.append("".join(hadamard(b) for _, b in layer))
        out.append("".join(x_rotation(q, X_RAD) for q in range(CHAIN)))
    return "".join(out)


def trotter_circuit(fold: int = 1) -> str:
    """The whole program: `box_1`, the Trotter steps, and the measurement of q[i] into c[i]."""
    head = f'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[{CHAIN}] q;\nbit[{CHAIN}] c;\n'
    return head + "box_1 q[0], q[1], q[2], q[3], q[4];\n" + trotter_body(fold) + "c = measure q;\n"
