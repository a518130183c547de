"""Amplitude-modulated pulses that return every mode of a given table to rest, and what they leave behind on another table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qtypes.trapped_ion_chain.physics import Floats, Pulse

SEGMENTS = 15
SEGMENT_US = 8.0


@dataclass(frozen=True)
class Design:
    """Pulses of equal segments at tone distances `mu` `(n,)` rad/us, Rabi frequencies `omega` `(n, segments)` rad/us, signed."""

    mu: Floats
    omega: Floats

    def pulse(self, k: int) -> Pulse:
        """Pulse `k`."""
        ones = np.ones(SEGMENTS)
        return Pulse(SEGMENT_US * ones, np.abs(self.omega[k]), self.mu[k] * ones, np.where(self.omega[k] < 0.0, np.pi, 0.0))


def closing(modes: Floats, eta: Floats, mu: Floats, omega_max: float) -> Design:
    """For each `mu` the weakest pulses with g_m = 0 for all `modes` `(modes,)` and XX angles -pi/4, pi/4 of the ions of `eta` `(2, modes)`.

    Those above `omega_max` are left out; of either sign there may be none. Real and imaginary parts of g are linear in the amplitudes, the
    angle is a quadratic form on their null space (Zhu, Monroe and Duan 2006).
    """
    kept_mu, kept = [], []
    unit = np.full((1, SEGMENTS), SEGMENT_US)
    for m in mu:
        delta = modes[:, None] - m
        start = np.cumsum(unit, axis=1) - unit
        step = 0.5 * np.exp(1j * delta * start) * (np.exp(1j * delta * SEGMENT_US) - 1.0) / (1j * delta)
        _, _, rows = np.linalg.svd(np.concatenate((step.real, step.imag)))
        free = rows[2 * len(modes) :]
        weight = 2.0 * eta[0] * eta[1]
        own = np.sum(weight * 0.25 * (SEGMENT_US / delta[:, 0] - np.sin(delta[:, 0] * SEGMENT_US) / delta[:, 0] ** 2))
        area = np.tril(((weight[:, None] * step).T @ step.conj()).imag, -1)
        area = 0.5 * (area + area.T) + own * np.eye(SEGMENTS)
        values, vectors = np.linalg.eigh(free @ area @ free.T)
        for k, sign in ((0, -1.0), (-1, 1.0)):
            if sign * values[k] <= 0.0:
                continue
            omega = vectors[:, k] @ free * np.sqrt(np.pi / 4.0 / abs(values[k]))
            if np.abs(omega).max() <= omega_max:
                kept_mu.append(m)
                kept.append(omega)
    return Design(np.array(kept_mu), np.array(kept).reshape(-1, SEGMENTS))


def residuals(design: Design, modes: Floats, eta: Floats, nbar: Floats) -> Floats:
    """Error `(n,)` of the Bell states by thermal modes `(modes,)` that do not return to rest, to second order.

    The amplitude is taken as scaled to the right XX angle on these modes: what no calibration of the amplitude takes away.
    """
    delta = modes[:, None] - design.mu[:, None, None]
    start = np.arange(SEGMENTS) * SEGMENT_US
    turn = delta * SEGMENT_US
    step = 0.5 * design.omega[:, None] * np.exp(1j * delta * start) * (np.exp(1j * turn) - 1.0) / (1j * delta)
    before = np.cumsum(step, axis=-1) - step
    own = (0.5 * design.omega[:, None] / delta) ** 2 * (turn - np.sin(turn))
    area = np.sum((step * before.conj()).imag + own, axis=-1)
    left = np.abs(step.sum(axis=-1)) ** 2 @ (np.sum(eta**2, axis=0) * (2.0 * nbar + 1.0))
    angle = np.abs(area @ (2.0 * eta[0] * eta[1]))
    out: Floats = left * (np.pi / 4.0) / np.maximum(angle, 1e-9)
    return out
