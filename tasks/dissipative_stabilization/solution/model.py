"""Two driven qubits with a common decay channel, as the specification describes them: predictions, fit, best settings.

States are vectors of 16 Pauli expectation values, II first, qubit 0 first. MHz and us. A device is the vector of `NAMES`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize

NAMES = ("gamma", "eta", "phi", "offset0", "offset1", "scale0", "scale1", "t1_0", "t1_1", "tphi0", "tphi1")
GUESS = np.array([2.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 55.0, 55.0, 45.0, 45.0])
PRIOR = np.array([0.5, 0.06, np.inf, 0.4, 0.4, 0.12, 0.12, 10.0, 10.0, 10.0, 10.0])
STEP = np.array([1e-3, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 0.05, 0.05, 0.05, 0.05])
THERMAL = 0.005
"""Middle of its range: the rest enters the readout references."""

PAULI = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
PAIRS = np.einsum("aij,bkl->abikjl", PAULI, PAULI).reshape(16, 4, 4)
LOWER = (PAULI[1] + 1j * PAULI[2]) / 2
S = (np.kron(LOWER, np.eye(2)), np.kron(np.eye(2), LOWER))
SIGNS = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
"""Rows: signs of the results 00, 01, 10, 11 under 1, Z of qubit 0, Z of qubit 1, both."""


def _map(action) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Real 16x16 matrix of a linear map of density matrices."""
    return np.array([[np.trace(p @ action(q)).real / 4 for q in PAIRS] for p in PAIRS])


def _turn(h: np.ndarray) -> np.ndarray:
    return _map(lambda rho: -2j * np.pi * (h @ rho - rho @ h))


def _jump(c: np.ndarray, d: np.ndarray) -> np.ndarray:
    product = d.conj().T @ c
    return _map(lambda rho: c @ rho @ d.conj().T - 0.5 * (product @ rho + rho @ product))


NUMBER = [_turn(s.conj().T @ s) for s in S]
COS = [_turn(0.5 * (s + s.conj().T)) for s in S]
SIN = [_turn(0.5j * (s - s.conj().T)) for s in S]
DOWN = [_jump(s, s) for s in S]
UP = [_jump(s.conj().T, s.conj().T) for s in S]
DEPHASE = [2 * _jump(s.conj().T @ s, s.conj().T @ s) for s in S]
# c = s0 + eta e^{i phi} s1: the cross terms go with cos(phi) and sin(phi)
CROSS_COS = _map(lambda rho: (S[0] @ rho @ S[1].T - 0.5 * (S[1].T @ S[0] @ rho + rho @ S[1].T @ S[0]))
                 + (S[1] @ rho @ S[0].T - 0.5 * (S[0].T @ S[1] @ rho + rho @ S[0].T @ S[1])))  # fmt: skip
CROSS_SIN = _map(lambda rho: -1j * (S[0] @ rho @ S[1].T - 0.5 * (S[1].T @ S[0] @ rho + rho @ S[1].T @ S[0]))
                 + 1j * (S[1] @ rho @ S[0].T - 0.5 * (S[0].T @ S[1] @ rho + rho @ S[0].T @ S[1])))  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What is programmed: pairs of numbers, qubit 0 first."""

    amp: tuple[float, float] = (0.0, 0.0)
    phase: tuple[float, float] = (0.0, 0.0)
    detuning: tuple[float, float] = (0.0, 0.0)
    parked: tuple[int, ...] = ()


def generator(device: np.ndarray, setting: Setting) -> np.ndarray:
    """`(..., 16, 16)` in 1/us for devices `(..., 11)`."""
    gamma, eta, phi, *rest = np.moveaxis(device, -1, 0)[..., None, None]
    offset, scale, t1, tphi = rest[0:2], rest[2:4], rest[4:6], rest[6:8]
    total = np.zeros((*device.shape[:-1], 16, 16))
    for j in (0, 1):
        total = total + ((1 - THERMAL) * DOWN[j] + THERMAL * UP[j]) / t1[j] + DEPHASE[j] / tphi[j]
        if j not in setting.parked:
            omega = setting.amp[j] * scale[j]
            total = total + (setting.detuning[j] + offset[j]) * NUMBER[j]
            total = total + omega * (np.cos(setting.phase[j]) * COS[j] + np.sin(setting.phase[j]) * SIN[j])
            total = total + 2 * np.pi * gamma * (eta**2 if j else 1.0) * DOWN[j]
    if not setting.parked:
        total = total + 2 * np.pi * gamma * eta * (np.cos(phi) * CROSS_COS + np.sin(phi) * CROSS_SIN)
    return np.asarray(total)


def start(prepare: str) -> np.ndarray:
    one = {"g": np.array([1.0, 0, 0, 1]), "e": np.array([1.0, 0, 0, -1])}
    return np.kron(one[prepare[0]], one[prepare[1]])


def evolved(rate: np.ndarray, state: np.ndarray, durations_ns: np.ndarray) -> np.ndarray:
    """States `(..., durations, 16)`."""
    step, term = np.eye(16), np.eye(16)
    for k in range(1, 9):
        term = term @ rate * (1e-3 / k)
        step = step + term
    states = np.broadcast_to(state, (*rate.shape[:-2], len(durations_ns), 16)).copy()
    for bit in range(int(durations_ns.max()).bit_length()):
        odd = (durations_ns >> bit) & 1 == 1
        states[..., odd, :] = states[..., odd, :] @ np.swapaxes(step, -1, -2)
        step = step @ step
    return states


def results(states: np.ndarray, basis: str) -> np.ndarray:
    """Probabilities `(..., 4)` of the results 00, 01, 10, 11."""
    a, b = ("IXYZ".index(letter) for letter in basis)
    return np.asarray(states[..., [0, 4 * a, b, 4 * a + b]] @ SIGNS / 4)


@dataclass(frozen=True)
class Data:
    """Counts `(bases, durations, 4)` of one job."""

    setting: Setting
    prepare: str
    durations_ns: np.ndarray
    bases: tuple[str, ...]
    counts: np.ndarray


def residuals(device: np.ndarray, data: list[Data], response: np.ndarray) -> np.ndarray:
    """Observed minus predicted frequencies over their standard errors, and the priors: `(..., n)` for devices `(..., 11)`."""
    parts = []
    for d in data:
        states = evolved(generator(device, d.setting), start(d.prepare), d.durations_ns)
        for basis, counts in zip(d.bases, d.counts, strict=True):
            shots = counts.sum(axis=-1, keepdims=True)
            seen = counts / shots
            error = np.sqrt((seen + 1 / shots) * (1 - seen + 1 / shots) / shots)
            parts.append(((results(states, basis) @ response.T - seen) / error).reshape(*device.shape[:-1], -1))
    return np.concatenate([*parts, (device - GUESS) / PRIOR], axis=-1)


def fit(data: list[Data], response: np.ndarray, guess: np.ndarray, free: tuple[int, ...] = tuple(range(len(NAMES)))) -> np.ndarray:
    """The most likely device; only the numbers `free` are moved."""
    index = list(free)

    def whole(x: np.ndarray) -> np.ndarray:
        device = np.tile(guess, (*x.shape[:-1], 1))
        device[..., index] = x
        return device

    def jacobian(x: np.ndarray) -> np.ndarray:
        steps = np.diag(STEP[index])
        moved = residuals(whole(np.concatenate([x + steps, x - steps])), data, response)
        return np.asarray((moved[: len(index)] - moved[len(index) :]).T / (2 * STEP[index]))

    low, high = np.full(len(NAMES), -np.inf), np.full(len(NAMES), np.inf)
    low[[0, 1, 5, 6]], low[7:], high[[5, 6]] = 0.5, 5.0, 1.5
    found = least_squares(lambda x: residuals(whole(x), data, response), guess[index], jac=jacobian, x_scale=np.abs(STEP[index]),
                          bounds=(low[index], high[index]), max_nfev=30)  # fmt: skip
    return whole(found.x)


def fidelity(state: np.ndarray, frame: float) -> float:
    """Overlap with the singlet whose second qubit is turned by `frame` rad: the axis X of a drive at phase f is cos f X - sin f Y."""
    xx, xy, yx, yy = (state[..., k] for k in (5, 6, 9, 10))
    c, s = np.cos(frame), np.sin(frame)
    return float((1 - (c * xx - s * xy) - (s * yx + c * yy) - state[..., 15]) / 4)


def steady(rate: np.ndarray) -> np.ndarray:
    return np.concatenate([[1.0], np.linalg.solve(rate[1:, 1:], -rate[1:, 0])])


def optimum(device: np.ndarray, guess: Setting, amp_max: float) -> Setting:
    """Settings whose stationary state has the largest overlap with the singlet of the channel."""

    def setting(x: np.ndarray) -> Setting:
        return Setting((min(abs(x[0]), amp_max), min(abs(x[1]), amp_max)), (0.0, float(x[2])), (float(x[3]), float(x[4])))

    x0 = np.array([*guess.amp, guess.phase[1], *guess.detuning])
    simplex = np.vstack([x0, x0 + np.diag([0.5, 0.5, 0.1, 0.2, 0.2])])
    found = minimize(lambda x: -fidelity(steady(generator(device, setting(x))), device[2]), x0, method="Nelder-Mead",
                     options={"initial_simplex": simplex, "maxfev": 600, "xatol": 2e-3, "fatol": 1e-5})  # fmt: skip
    return setting(found.x)


def dark_settings(device: np.ndarray, omega: float = 5.0, delta: float = 1.0) -> Setting:
    """Equal Rabi frequencies in phase with the channel, opposite detunings: the textbook's dark state."""
    return Setting((omega / device[5], omega / device[6]), (0.0, float(device[2])), (delta - device[3], -delta - device[4]))
