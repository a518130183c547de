"""Fringes from photon counts: complex amplitudes with errors, and the fields that fit their phases."""

from __future__ import annotations

from typing import Any

import numpy as np

FOUR = (0.0, np.pi / 2, np.pi, 3 * np.pi / 2)


class Fringe:
    """`mean = level + Re(z exp(-i phase))`; `error` is the standard error of each quadrature of z."""

    def __init__(self, size: float, tau_us: float, z: complex, error: float) -> None:
        self.size, self.tau, self.z, self.error = size, tau_us, z, error


def settings(taus_us: Any, phases: Any = FOUR) -> list[dict[str, float]]:
    """Points of a request: all phases at each delay."""
    return [{"tau_us": float(t), "phase_rad": float(p)} for t in taus_us for p in phases]


def fringe(size: float, tau_us: float, phases: Any, counts: np.ndarray) -> Fringe:
    """From counts `(points, shots)` of one delay at four equally spaced phases, repeated or not."""
    phases = np.asarray(phases, dtype=float)
    z = 2.0 * np.mean(np.exp(1j * phases) * counts.mean(axis=1))
    return Fringe(size, tau_us, complex(z), float(np.sqrt(2.0 * counts.var() / counts.size)))


def scan(record: Any, size: float, taus_us: Any) -> list[Fringe]:
    """Fringes of a run with `settings(taus_us)`; counts `(..., points, shots)` of one visit."""
    counts = record["counts"].reshape(-1, *record["counts"].shape[-2:])[0]
    return [fringe(size, float(t), FOUR, counts[4 * k : 4 * k + 4]) for k, t in enumerate(taus_us)]


def misfit(x: np.ndarray, rate: float, fringes: list[Fringe]) -> np.ndarray:
    """chi^2 of the quantity whose value x turns a fringe by `rate size tau x`, up to a constant, `(len(x),)`."""
    total = np.zeros(x.size)
    for f in fringes:
        total -= 2.0 * abs(f.z) * (np.abs(f.z) * np.cos(rate * f.size * f.tau * x - np.angle(f.z))) / f.error**2
    return total


def likeliest(rate: float, fringes: list[Fringe], limit: float, step: float) -> float:
    """The x within plus or minus `limit` that fits all phases best."""
    x = np.arange(-limit, limit, step)
    return float(x[np.argmin(misfit(x, rate, fringes))])
