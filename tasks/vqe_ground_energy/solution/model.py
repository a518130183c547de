"""The coherent part of the device: amplitude errors of sx, phase errors of CZ. State vectors of four qubits, qubit q is bit q."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

N = 4
LAYERS = 4
TERMS = (*({q: "Z", q + 1: "Z"} for q in range(3)), *({q: "X"} for q in range(N)), *({q: "Z"} for q in range(N)))
WEIGHTS = np.array([-1.0] * 3 + [-1.0] * N + [-0.3] * N)
_STRINGS = np.arange(2**N)
_SIGN = np.array([1.0 - 2.0 * ((_STRINGS >> q) & 1) for q in range(N)])


@dataclass(frozen=True)
class Coherent:
    """`sx[q]`: relative amplitude error; `cz[q]`: phase of CZ(q, q + 1); `parallel`: phase on 1-2 while (0, 1) and (2, 3) act, rad."""

    sx: tuple[float, ...] = (0.0,) * N
    cz: tuple[float, ...] = (0.0,) * 3
    parallel: float = 0.0

    def turn(self, q: int, angle: np.ndarray | float) -> np.ndarray:
        """`rz(pi) sx rz(angle + pi) sx` as the device plays it, `(batch, 2, 2)`; Ry(angle) where sx is exact."""
        return rz(np.pi) @ self.pulse(q) @ rz(np.asarray(angle) + np.pi) @ self.pulse(q)

    def pulse(self, q: int) -> np.ndarray:
        half = np.pi / 4 * (1 + self.sx[q])
        return np.array([[np.cos(half), -1j * np.sin(half)], [-1j * np.sin(half), np.cos(half)]])

    def state(self, theta: np.ndarray) -> np.ndarray:
        """Ansatz states `(batch, 16)` for angles `(batch, 16)`."""
        batch = len(theta)
        psi = np.zeros((batch, 2**N), complex)
        psi[:, 0] = 1
        outer = self._phase(0) * self._phase(2) * np.exp(-0.5j * self.parallel * _SIGN[1] * _SIGN[2])
        inner = self._phase(1)
        for layer in range(LAYERS):
            for q in range(N):
                u = self.turn(q, theta[:, layer * N + q])
                split = psi.reshape(batch, 2 ** (N - 1 - q), 2, 2**q)
                psi = np.einsum("nij,najb->naib", u, split).reshape(batch, -1)
            if layer < LAYERS - 1:
                psi = psi * outer * inner
        return psi

    def _phase(self, q: int) -> np.ndarray:
        both = ((_STRINGS >> q) & 1) * ((_STRINGS >> (q + 1)) & 1)
        return (1.0 - 2.0 * both) * np.exp(-0.5j * self.cz[q] * _SIGN[q] * _SIGN[q + 1])

    def energy(self, theta: np.ndarray) -> np.ndarray:
        """`(batch,)` for angles `(batch, 16)`."""
        psi = self.state(theta)
        total = np.zeros(len(psi))
        for term, weight in zip(TERMS, WEIGHTS, strict=True):
            if "X" in term.values():
                (q,) = term
                total += weight * (psi.conj() * psi[:, _STRINGS ^ (1 << q)]).sum(1).real
            else:
                total += weight * np.abs(psi) ** 2 @ np.prod([_SIGN[q] for q in term], axis=0)
        return total

    def best(self, start: np.ndarray) -> tuple[np.ndarray, float]:
        """The local minimum near `start`."""
        step = 1e-5
        probes = step * np.vstack([np.eye(16), -np.eye(16)])

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            e = self.energy(np.vstack([theta, theta + probes]))
            return float(e[0]), (e[1:17] - e[17:]) / (2 * step)

        found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 600})
        return found.x, float(found.fun)


def rz(angle: np.ndarray | float) -> np.ndarray:
    """`(2, 2)`, or `(batch, 2, 2)` for angles `(batch,)`."""
    half = 0.5j * np.asarray(angle)
    out = np.zeros((*half.shape, 2, 2), complex)
    out[..., 0, 0], out[..., 1, 1] = np.exp(-half), np.exp(half)
    return out


def classical_optima(rng: np.random.Generator, starts: int = 6) -> list[np.ndarray]:
    """Angles that would be best on a device without errors: there are many, equal in energy and unequal in what errors do to them."""
    tries = [Coherent().best(rng.normal(0, 0.5, 16)) for _ in range(starts)]
    least = min(e for _, e in tries)
    return [theta for theta, e in tries if e < least + 1e-3]


def exact_ground_energy() -> float:
    """By diagonalisation of the 16 x 16 Hamiltonian."""
    one = {"X": np.array([[0, 1], [1, 0]]), "Z": np.diag([1, -1])}
    h = np.zeros((2**N, 2**N))
    for term, weight in zip(TERMS, WEIGHTS, strict=True):
        m = np.ones((1, 1))
        for q in reversed(range(N)):
            m = np.kron(m, one[term[q]] if q in term else np.eye(2))
        h += weight * m
    return float(np.linalg.eigvalsh(h)[0])
