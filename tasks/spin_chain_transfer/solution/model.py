"""One spin in any state among spins in |0>: an amplitude of |000> and a single excitation that hops. Predictions, fit, best controls.

A device is the vector J1, J2, d0, d1, d2 (MHz), C row by row, tau (ns), T2 (us). Controls `(3, slices)` in rad/us, 10 ns a slice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize

GUESS = np.array([1.0, 1.3, 0, 0, 0, 1, 0.07, 0.07, 0.07, 1, 0.07, 0.07, 0.07, 1, 60, 50])
PRIOR = np.array([0.4, 0.4, 0.3, 0.3, 0.3, 0.05, 0.03, 0.03, 0.03, 0.05, 0.03, 0.03, 0.03, 0.05, 20, 7])
CHANGE = np.array([*[1e-4] * 14, 0.01, 0.1])
LINES = slice(5, 14)
TAU, T2 = 14, 15
TWO_PI = 2 * np.pi
PER_SLICE = 2
STEP = 0.01 / PER_SLICE
U_MAX = 4.0 * TWO_PI
SUPERPOSED = {"+": 1.0, "-": -1.0, "r": 1j, "l": -1j}


def responses(tau_ns: np.ndarray, slices: int) -> np.ndarray:
    """`(..., steps, slices)`: mean over each step of what the line makes of a unit control in one slice."""
    tau = np.asarray(tau_ns)[..., None] * 1e-3
    edge = np.arange(slices * PER_SLICE + 1) * STEP
    area = edge - tau * (1 - np.exp(-edge / tau))  # integral of the step response
    step = np.diff(area) / STEP
    found = np.zeros((*step.shape, slices))
    for s in range(slices):
        a, b = s * PER_SLICE, (s + 1) * PER_SLICE
        found[..., a:, s] = step[..., : step.shape[-1] - a]
        found[..., b:, s] -= step[..., : step.shape[-1] - b]
    return found


def hopping(device: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Propagators of the steps `(..., steps, 3, 3)` at frequencies `(..., steps, 3)` in rad/us."""
    x = np.zeros((*omega.shape, 3), dtype=complex)
    for i in range(3):
        x[..., i, i] = -omega[..., i]
    for k in (0, 1):
        x[..., k, k + 1] = x[..., k + 1, k] = TWO_PI * device[..., k, None]
    x *= -1j * STEP
    u = np.eye(3) + x / 6
    for k in range(5, 0, -1):
        u = np.eye(3) + x @ u / k
    return np.asarray(u)


def frequencies(device: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """`(..., steps, 3)` rad/us."""
    lines = responses(device[..., TAU], controls.shape[1]) @ controls.T
    c = device[..., LINES].reshape(*device.shape[:-1], 3, 3)
    return np.asarray(TWO_PI * device[..., None, 2:5] + lines @ np.swapaxes(c, -1, -2))


@dataclass(frozen=True)
class Data:
    """Fractions of ones `(preparations, bases, reads, 3)` of a job."""

    controls: np.ndarray
    prepare: tuple[str, ...]
    bases: tuple[str, ...]
    reads: tuple[int, ...]
    shots: int
    ones: np.ndarray


def predicted(device: np.ndarray, d: Data) -> np.ndarray:
    """Probabilities of ones `(devices, preparations, bases, reads, 3)` before the readout, for devices `(devices, 16)`."""
    used = max(d.reads)
    u = hopping(device, frequencies(device, d.controls[:, :used]))
    apart = np.exp(-2 * STEP / device[:, T2])[:, None, None, None]
    keep = np.eye(3) + (1 - np.eye(3)) * apart
    v = np.tile(np.eye(3, dtype=complex), (len(device), 1, 1))
    rho = np.zeros((len(device), 3, 3, 3), dtype=complex)  # one per site that was excited
    rho[:, range(3), range(3), range(3)] = 1
    amplitude, population = {}, {}
    along_z, across = any("Z" in b for b in d.bases), any(b != "ZZZ" for b in d.bases)
    for k in range(used * PER_SLICE + 1):
        if k % PER_SLICE == 0 and k // PER_SLICE in d.reads:
            fade = np.exp(-k * STEP / device[:, T2])[:, None, None]
            amplitude[k // PER_SLICE] = v * fade  # used across Z only, like population along Z
            population[k // PER_SLICE] = np.einsum("djii->dji", rho).real
        if k < used * PER_SLICE:
            if across:
                v = u[:, k] @ v
            if along_z:
                rho = (u[:, k, None] @ rho @ u[:, k, None].conj().swapaxes(-1, -2)) * keep
    out = np.full((len(device), len(d.prepare), len(d.bases), len(d.reads), 3), 0.5)
    for p, state in enumerate(d.prepare):
        site = next((i for i in range(3) if state[i] != "0"), None)
        for t, read in enumerate(d.reads):
            for b, basis in enumerate(d.bases):
                for i in range(3):
                    if site is None:
                        if basis[i] == "Z":
                            out[:, p, b, t, i] = 0.0
                        continue
                    if basis[i] == "Z":
                        out[:, p, b, t, i] = population[read][:, site, i] * (1.0 if state[site] == "1" else 0.5)
                    elif state[site] in SUPERPOSED:
                        a = SUPERPOSED[state[site]] * amplitude[read][:, i, site]
                        out[:, p, b, t, i] = 0.5 - 0.5 * (a.real if basis[i] == "X" else a.imag)
    return out


def residuals(device: np.ndarray, data: list[Data], errors: np.ndarray) -> np.ndarray:
    """Differences over standard errors, and the priors, `(devices, n)`; `errors` `(3, 2)` are p(1|0) and p(0|1)."""
    parts = []
    for d in data:
        p = errors[:, 0] + predicted(device, d) * (1 - errors.sum(axis=1))
        weight = np.sqrt((d.ones + 1 / d.shots) * (1 - d.ones + 1 / d.shots) / d.shots)
        parts.append(((p - d.ones) / weight).reshape(len(device), -1))
    return np.concatenate([*parts, (device - GUESS) / PRIOR], axis=1)


def fit(data: list[Data], errors: np.ndarray, guess: np.ndarray, evaluations: int = 12) -> np.ndarray:
    """The most likely device near `guess`."""

    def jacobian(x: np.ndarray) -> np.ndarray:
        moved = residuals(np.concatenate([x + np.diag(CHANGE), x[None]]), data, errors)
        return np.asarray(((moved[:-1] - moved[-1]) / CHANGE[:, None]).T)

    low, high = np.full(16, -np.inf), np.full(16, np.inf)
    low[[0, 1, TAU, T2]], high[TAU] = (0.5, 0.5, 10, 20), 150
    found = least_squares(lambda x: residuals(x[None], data, errors)[0], guess, jac=jacobian, x_scale=PRIOR, bounds=(low, high),
                          loss="soft_l1", f_scale=3.0, max_nfev=evaluations)  # fmt: skip
    return np.asarray(found.x)


def transfer(device: np.ndarray, controls: np.ndarray) -> complex:
    """Amplitude of the excitation of spin 0 on spin 2 without dephasing."""
    u = hopping(device, frequencies(device, controls))
    v = np.eye(3, dtype=complex)[0]
    for step in u:
        v = step @ v
    return complex(v[2])


def shaped(knots: np.ndarray, per_knot: int) -> np.ndarray:
    return np.repeat(knots.reshape(3, -1), per_knot, axis=1)


def optimum(device: np.ndarray, starts: list[np.ndarray], per_knot: int, evaluations: int) -> tuple[np.ndarray, float]:
    """Knots `(3, n)` in rad/us with the largest transfer (gradient ascent from each start), and its probability."""
    n = starts[0].shape[1] * per_knot
    line = responses(device[TAU], n).reshape(-1, starts[0].shape[1], per_knot).sum(axis=-1)
    c = device[LINES].reshape(3, 3)

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        knots = x.reshape(3, -1)
        omega = TWO_PI * device[2:5] + line @ knots.T @ c.T
        u = hopping(device, omega)
        ahead = np.empty((len(u) + 1, 3), dtype=complex)
        back = np.empty_like(ahead)
        ahead[0], back[-1] = (1, 0, 0), (0, 0, 1)
        for k, step in enumerate(u):
            ahead[k + 1] = step @ ahead[k]
        for k in range(len(u) - 1, -1, -1):
            back[k] = back[k + 1] @ u[k]
        f = ahead[-1, 2]
        product = back * ahead
        slope = 0.5j * STEP * (product[1:] + product[:-1])  # of the amplitude with each frequency
        gradient = 2 * (np.conj(f) * slope).real
        size = 1e-6 * float((knots**2).sum())
        return 1 - abs(f) ** 2 + size, (-(gradient @ c).T @ line + 2e-6 * knots).ravel()

    tries = [minimize(cost, s.ravel(), jac=True, method="L-BFGS-B", bounds=[(-U_MAX, U_MAX)] * s.size,
                      options={"maxfun": evaluations, "ftol": 1e-9}) for s in starts]  # fmt: skip
    best = min(tries, key=lambda r: float(r.fun))
    return best.x.reshape(3, -1), 1 - float(best.fun)
