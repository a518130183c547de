"""Maximum likelihood for the chain: exact evolution of N bosons, readout by a confusion matrix of each site, Fisher scoring.

Parameters `(17,)` in MHz and ns: J of the five bonds, U of the six sites, mu of sites 1 to 5, delay.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np

SITES, LEVELS = 6, 4
J, U, MU, DELAY = slice(0, 5), slice(5, 11), slice(11, 16), 16
N_PAR = 17
RAD_PER_NS = 2e-3 * np.pi
CAP = np.array([6.0] * 5 + [12.0] * 6 + [10.0] * 5 + [0.3])
"""Most that one iteration moves a parameter."""
PATTERNS = ("012301", "123012", "230123", "301230")
FLOOR = 0.3
"""Added to each count of the calibration, so that no reading is impossible."""


@cache
def sector(bosons: int) -> tuple[np.ndarray, np.ndarray, dict[tuple[int, ...], int]]:
    """Occupations `(dim, 6)`, hopping matrices `(5, dim, dim)`, place of each occupation."""
    rows = [s for s in itertools.product(range(bosons + 1), repeat=SITES) if sum(s) == bosons]
    place = {s: k for k, s in enumerate(rows)}
    hop = np.zeros((SITES - 1, len(rows), len(rows)))
    for k, s in enumerate(rows):
        for i in range(SITES - 1):
            if s[i]:
                to = list(s)
                to[i], to[i + 1] = to[i] - 1, to[i + 1] + 1
                m = place[tuple(to)]
                hop[i, m, k] = hop[i, k, m] = np.sqrt(s[i] * (s[i + 1] + 1))
    return np.array(rows), hop, place


@cache
def energies(bosons: int) -> np.ndarray:
    """Diagonals `(11, dim)` of dH/dU and dH/dmu in MHz."""
    occupation = sector(bosons)[0].T
    return np.concatenate([occupation * (occupation - 1) / 2, occupation[1:]])


def modes(par: np.ndarray, bosons: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues in rad/ns and eigenvectors of H."""
    h = -np.tensordot(par[J], sector(bosons)[1], 1)
    h[np.diag_indices(len(h))] += par[U.start : MU.stop] @ energies(bosons)
    return np.linalg.eigh(RAD_PER_NS * h)


def evolved(par: np.ndarray, start: np.ndarray, times: np.ndarray, bosons: int) -> np.ndarray:
    """Amplitudes `(k, dim)` from states `(k, dim)` after pulses `times (k,)`."""
    w, v = modes(par, bosons)
    c = np.exp(-1j * np.outer(np.maximum(times - par[DELAY], 0.0), w)) * (start @ v)
    return c @ v.T


def slopes_of(par: np.ndarray, start: np.ndarray, times: np.ndarray, bosons: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities `(k, dim)` of the occupations and their slopes `(17, k, dim)`, by first-order perturbation in the eigenbasis of H."""
    w, v = modes(par, bosons)
    t = np.maximum(times - par[DELAY], 0.0)
    c, phase = start @ v, np.exp(-1j * np.outer(t, w))
    psi = (phase * c) @ v.T
    generators = np.concatenate([-v.T @ (sector(bosons)[1] @ v), (v.T * energies(bosons)[:, None]) @ v])
    gap = w[:, None] - w
    far = np.abs(gap) > 1e-9
    divided = (phase.T[:, None] - phase.T[None]) / np.where(far, gap, 1.0)[:, :, None]  # (dim, dim, k)
    divided[~far] = -1j * t * phase.T[np.nonzero(~far)[0]]
    divided *= c.T
    g = np.ascontiguousarray(generators.transpose(1, 0, 2))  # (dim, 16, dim)
    moved = RAD_PER_NS * (g @ divided.real + 1j * (g @ divided.imag))  # (dim, 16, k)
    d = np.tensordot(moved, v, axes=(0, 1))  # (16, k, dim)
    late = 1j * ((w * phase * c) @ v.T) * (times > par[DELAY])[:, None]
    return np.abs(psi) ** 2, 2 * (psi.conj() * np.concatenate([d, late[None]])).real


def confusion(patterns: tuple[str, ...], n: np.ndarray) -> np.ndarray:
    """Matrices `(6, read, true)` from reference readings `(patterns, shots, 6)`."""
    counts = np.full((SITES, LEVELS, LEVELS), FLOOR)
    for pattern, shots in zip(patterns, n, strict=True):
        for site, level in enumerate(pattern):
            counts[site, :, int(level)] += np.bincount(shots[:, site], minlength=LEVELS)
    return counts / counts.sum(axis=1, keepdims=True)


@dataclass
class Data:
    """Quenches of one boson number: initial states, times, and for each setting the chance of every reading from every occupation."""

    bosons: int
    start: np.ndarray
    times: np.ndarray
    likelihood: np.ndarray
    """`(settings, shots, dim)`"""

    @classmethod
    def of(cls, records: list[tuple[str, tuple[float, ...], np.ndarray]], matrices: np.ndarray) -> Data:
        """From (initial Fock state, times, readings `(times, shots, 6)`); equal shots in all."""
        bosons = sum(map(int, records[0][0]))
        occupation, _, place = sector(bosons)
        column = np.minimum(occupation, LEVELS - 1)
        start, times, chance = [], [], []
        for initial, own, n in records:
            for t, shots in zip(own, n, strict=True):
                start.append(np.eye(len(occupation))[place[tuple(map(int, initial))]])
                times.append(t)
                chance.append(np.prod([matrices[i][shots[:, i]][:, column[:, i]] for i in range(SITES)], axis=0))
        return cls(bosons, np.array(start), np.array(times), np.array(chance))

    def until(self, longest: float) -> Data:
        keep = self.times <= longest
        return Data(self.bosons, self.start[keep], self.times[keep], self.likelihood[keep])

    def probability(self, par: np.ndarray) -> np.ndarray:
        """Of all readings, `(settings, shots)`."""
        p = np.abs(evolved(par, self.start, self.times, self.bosons)) ** 2
        return (self.likelihood @ p[:, :, None])[:, :, 0]

    def slopes(self, par: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of all readings `(readings,)` and the slopes of their logarithms `(readings, 17)`."""
        p, dp = slopes_of(par, self.start, self.times, self.bosons)
        q = (self.likelihood @ np.concatenate([p[None], dp]).transpose(1, 2, 0)).reshape(-1, 1 + N_PAR)
        return q[:, 0], q[:, 1:] / q[:, :1]


def log_likelihood(par: np.ndarray, blocks: list[Data]) -> float:
    return float(sum(np.log(b.probability(par)).sum() for b in blocks))


def scores(par: np.ndarray, blocks: list[Data], free: np.ndarray) -> tuple[float, np.ndarray]:
    """Log-likelihood and the slopes of the logarithms of all readings, `(readings, free)`."""
    found = [b.slopes(par) for b in blocks]
    return float(sum(np.log(q).sum() for q, _ in found)), np.concatenate([s[:, free] for _, s in found])


def maximise(par: np.ndarray, blocks: list[Data], free: np.ndarray, rounds: int = 12, done: float = 0.02) -> tuple[np.ndarray, float]:
    """Damped Fisher scoring; ends where a step would gain less than `done` in log-likelihood. Parameters and log-likelihood."""
    damping = 1e-2
    best, slopes = scores(par, blocks, free)
    for _ in range(rounds):
        information, gradient = slopes.T @ slopes, slopes.sum(axis=0)
        for _ in range(6):
            move = np.linalg.solve(information + damping * np.diag(np.diag(information)), gradient)
            move *= min(1.0, float((CAP[free] / np.maximum(np.abs(move), 1e-12)).min()))
            trial = par.copy()
            trial[free] += move
            trial[DELAY] = max(trial[DELAY], 0.0)
            value = log_likelihood(trial, blocks)
            if value > best:
                break
            damping *= 6.0
        else:
            break
        gain, par, damping = value - best, trial, damping / 6.0
        if gain < done:
            return par, value
        best, slopes = scores(par, blocks, free)
    return par, best


def continued(par: np.ndarray, blocks: list[Data], free: np.ndarray, stages: tuple[float, ...]) -> tuple[np.ndarray, float]:
    """Fits of growing times, each from the last: at short times there is one maximum."""
    value = -np.inf
    for k, longest in enumerate(stages):
        last = k + 1 == len(stages)
        par, value = maximise(par, [b.until(longest) for b in blocks], free, 15 if last else 6, 0.02 if last else 1.0)
    return par, value


def deviations(par: np.ndarray, blocks: list[Data], free: np.ndarray) -> np.ndarray:
    """Standard errors by the Fisher matrix."""
    _, slopes = scores(par, blocks, free)
    return np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
