"""Phases of NV spins in Gaussian noise, exact, and the sensitivity that follows from them.

Times are in us, fields in nT, phases in rad. Local noise is an Ornstein-Uhlenbeck process (Klauder and Anderson 1962): stationary,
Gaussian, rms `rms_nt`, autocorrelation `exp(-|t| / correlation_us)`. It runs on from shot to shot of one node, so shots that follow each
other within a correlation time are correlated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dtbtrs

GAMMA = 2.0 * np.pi * 28.03e-6
"""Gyromagnetic ratio of the electron spin of the NV centre, rad/(nT us): 28.03 Hz/nT (Doherty et al. 2013)."""

Floats = NDArray[np.float64]


def decay(tau_us: ArrayLike, rms_nt: float, correlation_us: float, echo: bool = False) -> Floats:
    """The exponent chi of the contrast `exp(-chi)` after `tau_us` of free precession, or of a Hahn echo: half the phase variance.

    Ramsey: (gamma b tc)^2 (x - 1 + e^-x) with x = tau/tc; echo: (gamma b tc)^2 (x - 3 + 4 e^(-x/2) - e^-x) (Taylor et al. 2008, eq. 5 f.;
    de Sousa 2009).
    """
    x = np.asarray(tau_us, dtype=float) / correlation_us
    if echo:
        shape = x + 4.0 * np.expm1(-x / 2.0) - np.expm1(-x)
    else:
        shape = x + np.expm1(-x)
    return np.asarray((GAMMA * rms_nt * correlation_us) ** 2 * np.maximum(shape, 0.0))


def decay_time(rms_nt: float, correlation_us: float, exponent: float = 1.0) -> float:
    """The time at which :func:`decay` of a Ramsey sequence reaches `exponent`, us; T2* where that is 1. Newton's method, monotonic."""
    a = GAMMA * rms_nt * correlation_us
    x = np.sqrt(2.0 * exponent) / a + exponent / a**2  # to the right of the root, where the function is convex
    for _ in range(60):
        x -= (x + np.expm1(-x) - exponent / a**2) / -np.expm1(-x)
    return float(x * correlation_us)


def lagged_covariance(tau_us: float, period_us: float, lags: NDArray[np.int64], rms_nt: float, correlation_us: float) -> Floats:
    """Covariance of the Ramsey phases of one node in shots that lie `lags` >= 1 periods apart, rad^2; `period_us >= tau_us`."""
    window = np.expm1(-tau_us / correlation_us) ** 2
    return np.asarray((GAMMA * rms_nt * correlation_us) ** 2 * window * np.exp((tau_us - lags * period_us) / correlation_us))


def ornstein_uhlenbeck(rng: np.random.Generator, step_us: Floats, correlation_us: float) -> Floats:
    """A path of unit rms at points `step_us` apart, `(n + 1,)` for steps `(n,)`: exact for any steps (Gillespie 1996)."""
    keep = np.exp(-step_us / correlation_us)
    noise = rng.standard_normal(step_us.size + 1)
    noise[1:] *= np.sqrt(-np.expm1(-2.0 * step_us / correlation_us))
    band = np.ones((2, noise.size))
    band[1, :-1] = -keep
    path, _ = dtbtrs(band, noise, uplo="L", diag="U")
    return np.asarray(path)


def local_phases(
    rng: np.random.Generator, tau_us: Floats, rest_us: Floats, rms_nt: float, correlation_us: float, echo: bool = False
) -> Floats:
    """Phases that local noise gives to one node in consecutive shots, rad, `(shots,)`.

    Shot k precesses for `tau_us[k]`, then `rest_us[k]` pass until the next. The noise is drawn at the ends of each interval of free
    precession; its integral between two known ends is Gaussian with mean `tc tanh(h/2tc) (x0 + x1)` and variance
    `2 tc^2 (h/tc - 2 tanh(h/2tc))`, h the interval (an Ornstein-Uhlenbeck bridge).
    """
    parts = 2 if echo else 1
    steps = np.column_stack([tau_us / parts] * parts + [rest_us]).ravel()
    x = ornstein_uhlenbeck(rng, steps, correlation_us)[:-1].reshape(tau_us.size, parts + 1)
    half = tau_us / (2.0 * parts * correlation_us)
    tanh = np.tanh(half)
    # below 1e-2 the difference loses digits; its series is 2 half^3 / 3
    left = np.where(half > 1e-2, 2.0 * half - 2.0 * tanh, 2.0 * half**3 / 3.0 * (1.0 - 0.4 * half**2))
    spread = np.sqrt(2.0 * left)
    total = np.zeros(tau_us.size)
    for k in range(parts):
        integral = tanh * (x[:, k] + x[:, k + 1]) + spread * rng.standard_normal(tau_us.size)
        total += integral if k == 0 else -integral
    return GAMMA * rms_nt * correlation_us * total


def readout_fidelity(bright: float, dark: float) -> float:
    """Contrast of the counter relative to a projective readout, `(1 + 2 (bright + dark) / (bright - dark)^2)^(-1/2)` for mean photon
    numbers of the two states (Taylor et al. 2008, eq. 1)."""
    return float((1.0 + 2.0 * (bright + dark) / (bright - dark) ** 2) ** -0.5)


def bright_for(fidelity: float, ratio: float) -> float:
    """Mean photon number of the bright state that gives a readout fidelity, where the dark one has `ratio` times as many."""
    return float(2.0 * (1.0 + ratio) / (1.0 - ratio) ** 2 / (fidelity**-2 - 1.0))


def field_variance(
    n: int, tau_us: float, shot_us: float, rms_nt: float, correlation_us: float, readout: float, link: float
) -> float:
    """Variance of the mean field from one second of shots of an n-node block at the steepest point of its fringe, nT^2 s.

    The block is read with fidelity `readout`; its contrast is `link^(2 (n - 1)) exp(-n chi)` (entangled and disentangled, Huelga et al.
    1997). Shots `shot_us` apart share slow noise: their correlations `sinh(v rho_m)`, v the phase variance, add to the shot noise, and in
    the limit of many short shots leave the variance `2 b^2 tc / n` of the averaged field itself.
    """
    v = 2.0 * n * float(decay(tau_us, rms_nt, correlation_us))
    contrast = link ** (2 * (n - 1)) * np.exp(-v / 2.0)
    lags = np.arange(1, 2 + int(np.ceil(30.0 * correlation_us / shot_us)))
    shared = 2.0 * np.sinh(n * lagged_covariance(tau_us, shot_us, lags, rms_nt, correlation_us)).sum()
    per_shot = 1.0 / (readout * contrast) ** 2 + shared
    return float(per_shot * shot_us * 1e-6 / (GAMMA * n * tau_us) ** 2)


def best_block(
    shot_us: dict[int, float], rms_nt: float, correlation_us: float, readout: float, link: float
) -> tuple[float, int, float]:
    """Smallest :func:`field_variance` in nT^2 s over block sizes and delays, with its size and delay in us.

    `shot_us` is the dead time of a shot by block size.
    """
    taus = np.geomspace(1.0, 400.0, 160)
    rows = (
        (field_variance(n, float(t), float(t) + dead, rms_nt, correlation_us, readout, link), n, float(t))
        for n, dead in shot_us.items()
        for t in taus
    )
    return min(rows)
