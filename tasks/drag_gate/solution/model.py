"""A four-level transmon behind a line with gain, skew, imbalance and one-pole response: what samples do, and the best of them.

Frequencies in GHz, times in ns, samples as the laboratory takes them (1 is a Rabi frequency of 200 MHz at gain 1).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from scipy.optimize import minimize

LEVELS = 4
LOWER = np.diag(np.sqrt(np.arange(1.0, LEVELS)), 1)
NUMBER = np.arange(LEVELS, dtype=float)
FULL_SCALE = 2 * np.pi * 0.2
BLANK = 8
PER_NS = 4
_NODES = 0.5 + np.array([-1.0, 1.0]) * np.sqrt(3.0) / 6.0


@dataclass(frozen=True)
class Device:
    """`offset`: qubit minus drive. The line: I' = g (I + skew Q), Q' = g (1 + imbalance) Q, each then with time constant `tau`."""

    alpha: float
    offset: float = 0.0
    gain: float = 1.0
    tau: float = 0.8
    skew: float = 0.0
    imbalance: float = 0.0

    def values(self) -> np.ndarray:
        return np.array(astuple(self))

    def drive(self, samples: np.ndarray) -> np.ndarray:
        """I + iQ in rad/ns at the two Gauss nodes of each step, `(batch, steps, 2)`, for samples `(batch, n)`."""
        u = FULL_SCALE * self.gain * (samples.real + self.skew * samples.imag + 1j * (1 + self.imbalance) * samples.imag)
        u = np.concatenate([u, np.zeros((len(u), BLANK))], axis=1)
        keep, state = np.exp(-1 / self.tau), np.zeros(len(u), complex)
        start = np.empty_like(u)
        for k in range(u.shape[1]):
            start[:, k] = state
            state = keep * state + (1 - keep) * u[:, k]
        decay = np.exp(-(np.arange(PER_NS)[:, None] + _NODES) / PER_NS / self.tau)
        return (u[:, :, None, None] + (start - u)[:, :, None, None] * decay).reshape(len(u), -1, 2)

    def unitaries(self, samples: np.ndarray) -> np.ndarray:
        """`(batch, 4, 4)` of samples `(batch, n)` with their ring-down; fourth-order Magnus expansion (Blanes et al. 2009)."""
        static = 2 * np.pi * (self.offset * NUMBER + self.alpha / 2 * NUMBER * (NUMBER - 1))
        h = 0.5 * self.drive(samples)[..., None, None] * LOWER.T
        h = h + np.conj(np.swapaxes(h, -1, -2)) + np.diag(static)
        step = 1 / PER_NS
        first, second = h[:, :, 0], h[:, :, 1]
        generator = step / 2 * (first + second) + 1j * np.sqrt(3) / 12 * step**2 * (first @ second - second @ first)
        values, vectors = np.linalg.eigh(generator)
        steps = (vectors * np.exp(-1j * values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2))
        out = steps[:, 0]
        for k in range(1, steps.shape[1]):
            out = steps[:, k] @ out
        return out

    def idle(self, ns: float) -> np.ndarray:
        """Diagonal `(4,)` of an idle time."""
        return np.exp(-2j * np.pi * ns * (self.offset * NUMBER + self.alpha / 2 * NUMBER * (NUMBER - 1)))


def phased(unitary: np.ndarray, phase: float) -> np.ndarray:
    """The same pulse at a phase of the drive."""
    turn = np.exp(1j * phase * NUMBER)
    return turn[:, None] * unitary * turn.conj()


def gate_error(unitaries: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Average error `(batch,)` of Rz(after) U Rz(before) as an X gate; leaked population is lost (Pedersen et al. 2007)."""
    block = unitaries[:, :2, :2]
    # Tr(X^dagger M) with M = diag(1, e^{i after}) block diag(1, e^{i before})
    trace = np.exp(1j * after) * block[:, 1, 0] + np.exp(1j * before) * block[:, 0, 1]
    weight = (np.abs(block) ** 2).sum((1, 2))
    return 1 - (np.abs(trace) ** 2 + weight) / 6


def leakage(unitaries: np.ndarray) -> np.ndarray:
    return 1 - (np.abs(unitaries[:, :2, :2]) ** 2).sum((1, 2)) / 2


def design(device: Device, length: int, iterations: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Samples `(length,)` complex and virtual Z angles `(2,)` of the best X gate, from a raised cosine with half-derivative quadrature."""
    t = (np.arange(length) + 0.5) / length
    peak = 1 / (0.2 * length * device.gain)
    q = -0.5 * peak * (np.pi / length) * np.sin(2 * np.pi * t) / (2 * np.pi * device.alpha)
    start = np.concatenate([peak * (1 - np.cos(2 * np.pi * t)) / 2, q, np.zeros(2)])
    step = 1e-6

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        points = np.vstack([x, x + step * np.eye(x.size), x - step * np.eye(x.size)])
        u = device.unitaries(points[:, :length] + 1j * points[:, length : 2 * length])
        # samples that change less from one to the next are less at the mercy of the response time
        rough = 1e-4 * (np.diff(points[:, : 2 * length].reshape(len(points), 2, length), n=2) ** 2).sum((1, 2))
        value = 1e3 * (gate_error(u, points[:, -2], points[:, -1]) + leakage(u) + rough)
        return float(value[0]), (value[1 : x.size + 1] - value[x.size + 1 :]) / (2 * step)

    bounds = [(-0.95, 0.95)] * (2 * length) + [(-7.0, 7.0)] * 2
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations, "ftol": 1e-12})
    return found.x[:length] + 1j * found.x[length : 2 * length], found.x[-2:]
