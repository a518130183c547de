"""Thermal charge diagram of the two-dot chain, and its fit to any number of maps.

A device is the vector `NAMES`; each map has, besides, its own centre: the plunger voltages at which both levels are at -U/2. So drift
between maps and the crosstalk of the third gate need no model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, least_squares

K_B = 0.0861733262
NAMES = ("peak", "zero", "width", "u", "te", "lever_l", "lever_r", "cross_l", "cross_r", "empty_l", "empty_r", "contrast_l", "contrast_r")
STEP = np.array([0.02, 2e-3, 2e-3, 0.02, 0.05, 0.1, 0.1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
CENTRE_STEP = 1e-3
N = len(NAMES)


@dataclass(frozen=True)
class Map:
    """Fractions of ones `(v_l, v_r, 2)` of one charge map."""

    job_id: str
    v_l: np.ndarray
    v_r: np.ndarray
    v_abs: float
    shots: int
    seen: np.ndarray


def amplitudes(device: np.ndarray, v_abs: float) -> tuple[np.ndarray, np.ndarray]:
    y = (v_abs - device[..., 1]) / device[..., 2]
    delta = 2 * device[..., 0] / (1 + y * y)
    return delta * y, delta


def log_cosh(x: np.ndarray) -> np.ndarray:
    return x + np.log1p(np.exp(-2 * x))


def ones(device: np.ndarray, centre: np.ndarray, m: Map) -> np.ndarray:
    """Expected fractions of ones `(..., v_l, v_r, 2)` for devices `(..., 13)` and centres `(..., 2)`."""
    t, delta = (a[..., None, None] for a in amplitudes(device, m.v_abs))
    _, _, _, u, te, lever_l, lever_r, cross_l, cross_r, *sensors = np.moveaxis(device, -1, 0)[..., None, None]
    dl, dr = m.v_l[:, None] - centre[..., 0, None, None], m.v_r[None, :] - centre[..., 1, None, None]
    left, right = -lever_l * (dl + cross_l * dr), -lever_r * (dr + cross_r * dl)
    # both measured from -U/2, so the mean is also that of the even sector
    s, d, kt = (left + right) / 2, (left - right) / 2, K_B * te
    even, odd = np.hypot(s, delta), np.hypot(d, t)
    weight = 0.5 + 0.5 * np.tanh((log_cosh(even / kt) - log_cosh(odd / kt) - u / 2 / kt) / 2)
    pair = 0.5 - 0.5 * s / even * np.tanh(even / kt)
    shift = 0.5 * d / odd * np.tanh(odd / kt)
    n_l = weight * pair + (1 - weight) * (0.5 - shift)
    n_r = weight * pair + (1 - weight) * (0.5 + shift)
    return np.stack([sensors[0] + sensors[2] * n_l, sensors[1] + sensors[3] * n_r], axis=-1)


@dataclass(frozen=True)
class Fit:
    """Most likely device, centres `(maps, 2)`, covariance of the device `(13, 13)`, and chi^2 per pixel and dot of each map."""

    device: np.ndarray
    centres: np.ndarray
    covariance: np.ndarray
    chi2: np.ndarray

    def sigma(self, function) -> float:
        """Standard uncertainty of a function of the device."""
        slope = np.array(
            [(function(self.device + e) - function(self.device - e)) / (2 * s) for e, s in zip(np.diag(STEP), STEP, strict=True)]
        )
        return float(np.sqrt(slope @ self.covariance @ slope))


def splitting(device: np.ndarray, v_abs: float) -> float:
    """E_even - E_odd at the centre."""
    t, delta = amplitudes(device, v_abs)
    return float(t + device[3] / 2 - delta)


def degenerate_at(device: np.ndarray) -> float:
    """v_abs > zero at which the ground states of both parities are degenerate at the centre."""
    low, high = device[1], device[1] + device[2]
    return float(brentq(lambda v: splitting(device, v), low, high))


def guess(spec: dict) -> tuple[np.ndarray, np.ndarray]:
    """Middle of the public ranges, and standard deviations of uniform distributions over them."""
    gap, middle = spec["induced_gap_uev"], lambda name: sum(spec[name]) / 2
    half = lambda name: (spec[name][1] - spec[name][0]) / 2  # noqa: E731
    te, lever = spec["thermometer_mk"], np.array(spec["lever_nominal_uev_per_mv"])
    slow, fast = spec["abs_lever_range_uev_per_mv"]
    names = ("cross_range", "cross_range", "empty_level_range", "empty_level_range", "contrast_range", "contrast_range")
    value = [middle("peak_range_uev"), 0.0, gap * (1 / slow + 1 / fast) / 2, middle("coulomb_range_uev"), te, *lever, *map(middle, names)]
    width = [half("peak_range_uev"), spec["abs_zero_bound_mv"], gap * (1 / slow - 1 / fast) / 2, half("coulomb_range_uev"),
             te * spec["thermometer_error"], *(lever * spec["lever_nominal_error"]), *map(half, names)]  # fmt: skip
    return np.array(value), np.array(width) / np.sqrt(3)


def scan(device: np.ndarray, m: Map, reach: float, step: float = 0.1) -> np.ndarray:
    """Centre `(2,)` of a map with the least squares on a grid, for a roughly known device."""
    grid = np.arange(-reach, reach + step / 2, step)
    trial = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    cost = [((ones(np.broadcast_to(device, (len(grid), N)), row, m) - m.seen) ** 2).sum(axis=(1, 2, 3)) for row in trial]
    return np.asarray(trial.reshape(-1, 2)[int(np.argmin(cost))])


def fit(maps: list[Map], device: np.ndarray, centres: np.ndarray, prior: np.ndarray, prior_width: np.ndarray) -> Fit:
    """Least squares over all maps with a Gaussian prior."""
    errors = [np.sqrt((m.seen + 1 / m.shots) * (1 - m.seen + 1 / m.shots) / m.shots) for m in maps]
    rows = [m.seen.size for m in maps]

    def residuals(x: np.ndarray) -> np.ndarray:
        found = [
            ((ones(x[:N], x[N + 2 * k : N + 2 * k + 2], m) - m.seen) / e).ravel() for k, (m, e) in enumerate(zip(maps, errors, strict=True))
        ]
        return np.concatenate([*found, (x[:N] - prior) / prior_width])

    def jacobian(x: np.ndarray) -> np.ndarray:
        total = np.zeros((sum(rows) + N, len(x)))
        start, steps = 0, np.append(STEP, (CENTRE_STEP, CENTRE_STEP))
        for k, (m, e) in enumerate(zip(maps, errors, strict=True)):
            here = np.concatenate([x[:N], x[N + 2 * k : N + 2 * k + 2]])
            moved = np.concatenate([here[None], here + np.diag(steps)])
            p = ones(moved[:, :N], moved[:, N:], m)
            slope = ((p[1:] - p[0]) / (steps[:, None, None, None] * e)).reshape(N + 2, -1).T
            total[start : start + rows[k], :N] = slope[:, :N]
            total[start : start + rows[k], N + 2 * k : N + 2 * k + 2] = slope[:, N:]
            start += rows[k]
        total[start:, :N] = np.diag(1 / prior_width)
        return total

    x0 = np.concatenate([device, centres.ravel()])
    low = np.concatenate([[3.0, -2.0, 0.5, 0.0, 10.0, 20.0, 20.0, -0.1, -0.1, -0.2, -0.2, 0.3, 0.3], np.full(2 * len(maps), -4.0)])
    high = np.concatenate([[60.0, 2.0, 6.0, 30.0, 150.0, 300.0, 300.0, 0.4, 0.4, 0.4, 0.4, 1.3, 1.3], np.full(2 * len(maps), 4.0)])
    scale = np.concatenate([prior_width, np.full(2 * len(maps), 0.05)])
    found = least_squares(residuals, np.clip(x0, low + 1e-6, high - 1e-6), jac=jacobian, x_scale=scale, bounds=(low, high), max_nfev=40)
    parts = np.split(found.fun[: sum(rows)] ** 2, np.cumsum(rows)[:-1])
    chi2 = np.array([p.mean() for p in parts])
    covariance = np.linalg.inv(found.jac.T @ found.jac)[:N, :N] * max(1.0, float(chi2.mean()))
    return Fit(found.x[:N], found.x[N:].reshape(-1, 2), covariance, chi2)
