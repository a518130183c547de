"""Amplitude-modulated two-tone pulses that return the modes of a table to rest. Time in us, angular frequencies in rad/us."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TWO_PI = 2 * np.pi
SEGMENTS, SEGMENT_US = 15, 8
STEP_MHZ = 0.002


@dataclass(frozen=True)
class Pulse:
    """One tone distance and signed Rabi frequencies `(segments,)`."""

    mu: float
    omega: np.ndarray

    def segments(self, scale: float) -> list[dict[str, float]]:
        """As the laboratory takes them, every Rabi frequency times `scale`."""
        return [
            {"duration_us": SEGMENT_US, "omega_khz": float(abs(scale * w) / TWO_PI * 1e3), "mu_mhz": float(self.mu / TWO_PI),
             "phase_rad": float(np.pi) if w < 0 else 0.0}
            for w in self.omega
        ]  # fmt: skip


def lamb_dicke(public: dict, modes_mhz: np.ndarray, ions: list[int]) -> np.ndarray:
    """`(ions, modes)`."""
    b = np.array(public["participation"])
    return (public["eta"] * b * np.sqrt(public["radial_mhz"] / modes_mhz))[np.array(ions) - 1]


def response(modes: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Per mode: what each segment adds to the displacement, `(modes, segments)`, and the form of the enclosed area, `(modes, s, s)`."""
    delta = modes[:, None] - mu
    start = np.arange(SEGMENTS) * SEGMENT_US
    step = 0.5 * np.exp(1j * delta * start) * (np.exp(1j * delta * SEGMENT_US) - 1) / (1j * delta)
    area = np.tril((step[:, :, None] * step[:, None, :].conj()).imag, -1)
    own = 0.25 * (SEGMENT_US / delta[:, 0] - np.sin(delta[:, 0] * SEGMENT_US) / delta[:, 0] ** 2)
    return step, area + own[:, None, None] * np.eye(SEGMENTS)


def closing(modes: np.ndarray, mu: float, eta: np.ndarray) -> np.ndarray:
    """Weakest amplitudes that close all modes and make exp(-i pi/4 XX), of this sign because pulses in a row should add up."""
    step, area = response(modes, mu)
    _, _, rows = np.linalg.svd(np.concatenate((step.real, step.imag)))
    free = rows[2 * len(modes) :]
    form = np.einsum("m,mst->st", 2 * eta[0] * eta[1], area)
    values, vectors = np.linalg.eigh(free @ (form + form.T) @ free.T / 2)
    if values[0] >= 0:
        return np.full(SEGMENTS, np.inf)
    return vectors[:, 0] @ free * np.sqrt(np.pi / 4 / -values[0])


def error(omega: np.ndarray, modes: np.ndarray, mu: float, eta: np.ndarray, nbar: np.ndarray) -> float:
    """Infidelity to second order on a table of modes."""
    step, area = response(modes, mu)
    left = (eta**2).sum(axis=0) @ (np.abs(step @ omega) ** 2 * (2 * nbar + 1))
    angle = 2 * (eta[0] * eta[1]) @ np.einsum("s,mst,t->m", omega, area, omega)
    return float(left + (angle + np.pi / 4) ** 2)


def best(public: dict, modes_khz: np.ndarray, ions: list[int], nbar: np.ndarray, sigma_khz: float) -> Pulse:
    """The closing pulse that minds errors of `sigma_khz` in the modes least."""
    mhz = np.asarray(modes_khz) * 1e-3
    modes, eta = TWO_PI * mhz, lamb_dicke(public, mhz, ions)
    wrong = np.random.default_rng(0).normal(0, TWO_PI * sigma_khz * 1e-3, (12, len(modes)))
    top = TWO_PI * 0.9e-3 * public["omega_max_khz"]
    found = []
    for mu in TWO_PI * np.arange(mhz.min() - 0.03, mhz.max() + 0.03, STEP_MHZ):
        if np.abs(modes - mu).min() < TWO_PI * 3e-3:
            continue
        omega = closing(modes, mu, eta)
        if np.abs(omega).max() <= top:
            found.append((np.mean([error(omega, modes + w, mu, eta, nbar) for w in wrong]), mu, omega))
    _, mu, omega = min(found, key=lambda f: f[0])
    return Pulse(float(mu), omega)
