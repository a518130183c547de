"""Programs of this task, and what is computed from their bits."""

from __future__ import annotations

import numpy as np
from model import TERMS, WEIGHTS, N

HEAD = 'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[4] q;\nbit[4] c;\n'
MEASURE = "barrier q;\nc = measure q;\n"
COUPLED = "barrier q;\ncz q[0], q[1];\ncz q[2], q[3];\nbarrier q;\ncz q[1], q[2];\nbarrier q;\n"


def ansatz(theta: np.ndarray) -> str:
    """The ansatz of the instruction, without measurement."""
    layers = []
    for layer in range(4):
        turns = [f"sx q[{q}];\nrz({float(theta[4 * layer + q]) + np.pi!r}) q[{q}];\nsx q[{q}];\nrz(pi) q[{q}];\n" for q in range(N)]
        layers.append("".join(turns))
    return HEAD + COUPLED.join(layers)


def energy_of(bits_z: np.ndarray, bits_x: np.ndarray, response: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Energy, its standard error and the 11 terms from bits `(shots, 4)` of both bases; readout is undone by the response `(16, 16)`."""
    inverse = np.linalg.inv(response)
    values, variance = np.zeros(len(TERMS)), 0.0
    for basis, bits in (("Z", bits_z), ("X", bits_x)):
        p = np.bincount(bits @ (1 << np.arange(N)), minlength=2**N) / len(bits)
        combined = np.zeros(2**N)
        for k, term in enumerate(TERMS):
            if basis in term.values():
                sign = np.prod([1.0 - 2.0 * ((np.arange(2**N) >> q) & 1) for q in term], axis=0) @ inverse
                values[k] = sign @ p
                combined += WEIGHTS[k] * sign
        variance += (combined**2 @ p - (combined @ p) ** 2) / len(bits)
    return float(WEIGHTS @ values), float(np.sqrt(variance)), values
