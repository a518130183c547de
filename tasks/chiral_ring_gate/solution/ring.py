"""One excitation in a ring of three hops: populations, and a fit of the hops, detunings and loop phase to them.

The frame is the one in which tones whose signed frequencies add up to zero make H static. MHz, ns unless named otherwise. Pairs and hops in
the order 12, 23, 31; with positive detuning e_j qubit j lies above what its tones meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

GUESS_T1_US, GUESS_TPHI_US = 25.0, 6.5
PRIOR = np.array([8.0, 2.0])


def populations(
    e: np.ndarray, hops: np.ndarray, loop: float, t1_us: float, tphi_us: float, starts: tuple[int, ...], t_ns: np.ndarray
) -> np.ndarray:
    """`(starts, durations, 3)` populations of |1> from the excitation at each of qubits `starts` (0 to 2)."""
    h = np.diag(e).astype(complex)
    h[0, 1], h[1, 2], h[2, 0] = hops[0], hops[1], hops[2] * np.exp(1j * loop)
    h[1, 0], h[2, 1], h[0, 2] = hops[0], hops[1], np.conj(h[2, 0])
    one = np.eye(3)
    rate = -2j * np.pi * (np.kron(h, one) - np.kron(one, h.T)) - np.diag((1 - one).ravel() * 2 / tphi_us)
    values, vectors = np.linalg.eig(rate)
    weights = np.linalg.solve(vectors, np.eye(9)[:, [4 * s for s in starts]]).T
    rho = (np.exp(np.outer(t_ns * 1e-3, values)) * weights[:, None]) @ vectors[[0, 4, 8]].T
    return rho.real * np.exp(-t_ns * 1e-3 / t1_us)[:, None]


@dataclass(frozen=True)
class Data:
    """Populations of |1> `(starts, durations, 3)`, corrected for readout; `programmed` is the sum of the phases."""

    starts: tuple[int, ...]
    programmed: float
    t_ns: np.ndarray
    seen: np.ndarray
    shots: int


def residuals(x: np.ndarray, data: list[Data]) -> np.ndarray:
    """`x`: e1 - e3, e2 - e3, three hops, what the lines add to the loop phase, T1, Tphi."""
    parts = [(x[6:] - [GUESS_T1_US, GUESS_TPHI_US]) / PRIOR]
    for d in data:
        p = populations(np.array([x[0], x[1], 0.0]), x[2:5], x[5] + d.programmed, x[6], x[7], d.starts, d.t_ns)
        q = np.clip(d.seen, 0, 1)
        parts.append(((p - d.seen) / np.sqrt((q * (1 - q) + 0.04) / d.shots)).ravel())
    return np.concatenate(parts)


def fit(data: list[Data], hops: np.ndarray) -> np.ndarray:
    """The most likely parameters; the loop phase is looked for everywhere."""
    base = np.array([0.0, 0.0, *hops, 0.0, GUESS_T1_US, GUESS_TPHI_US])
    trials = [np.where(np.arange(8) == 5, phase, base) for phase in np.arange(12) * np.pi / 6]
    best = min(trials, key=lambda x: float((residuals(x, data) ** 2).sum()))
    low, high = np.full(8, -np.inf), np.full(8, np.inf)
    low[2:5], low[6:], high[6:] = 0.5, 2.0, 80.0
    scale = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 5.0, 1.0]
    return np.asarray(least_squares(residuals, best, args=(data,), x_scale=scale, bounds=(low, high)).x)


def swap_fit(freqs: np.ndarray, t_ns: np.ndarray, seen: np.ndarray, guess: tuple[float, float]) -> np.ndarray:
    """Hop and frequency of a pair from the population `(frequencies, durations)` that arrives: Rabi oscillations with a common decay."""

    def off(x: np.ndarray) -> np.ndarray:
        hop, centre, decay = x
        total = 4 * hop**2 + (freqs[:, None] - centre) ** 2
        swing = np.exp(-t_ns * 1e-3 / decay) * np.cos(2 * np.pi * np.sqrt(total) * t_ns * 1e-3)
        return np.asarray((2 * hop**2 / total * (np.exp(-t_ns * 1e-3 / GUESS_T1_US) - swing) - seen).ravel())

    return np.asarray(least_squares(off, [*guess, 8.0], x_scale=[0.1, 0.1, 3.0]).x)
