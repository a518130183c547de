"""Coulomb crystal, spin-dependent force, and the density matrix of two driven ions.

Time is in us, angular frequencies in rad/us. Spin configurations are eigenvalues of X of the two driven ions, in the order of `SPINS`;
density matrices of the two ions are in the Z basis, index 2 * (first ion) + (second ion), |0> first.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

TWO_PI = 2.0 * np.pi
IONS = 5
SPINS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
"""Eigenvalues of X of the first and second driven ion."""
SMALL = 1e-3
"""Below this phase in rad a segment is treated as resonant up to second order."""

_H = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)
TO_Z = np.kron(_H, _H)
"""From X eigenstates in the order of `SPINS` to Z eigenstates."""
HERMITE, WEIGHTS = (np.asarray(x) for x in np.polynomial.hermite_e.hermegauss(9))
WEIGHTS = WEIGHTS / WEIGHTS.sum()
"""Nodes and weights of a standard normal variable: exact up to polynomials of degree 17."""

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


def equilibrium(ions: int) -> Floats:
    """Positions `(ions,)`, ascending, in units of (e^2 / (4 pi eps0 M omega_z^2))^(1/3), of ions on the trap axis (James 1998)."""
    u = np.linspace(-1.0, 1.0, ions) * 0.9 * ions**0.5
    for _ in range(60):
        gap = u[:, None] - u[None, :] + np.diag(np.full(ions, np.inf))
        force = u - np.sum(np.sign(gap) / gap**2, axis=1)
        slope = -2.0 / np.abs(gap) ** 3
        step = np.linalg.solve(slope + np.diag(1.0 - slope.sum(axis=1)), force)
        u = u - step
        if np.abs(step).max() < 1e-14:
            break
    return u


def crystal(ions: int, axial: float, radial: float) -> tuple[Floats, Floats]:
    """Transverse modes of a linear crystal: frequencies `(modes,)` ascending in the unit of the arguments, participation `(ions, modes)`.

    Harmonic expansion of trap and Coulomb energy about the equilibrium (James 1998; Zhu, Monroe and Duan 2006). Columns are orthonormal,
    the first component of each is positive. The highest mode is the centre of mass, at `radial`.
    """
    u = equilibrium(ions)
    gap = np.abs(u[:, None] - u[None, :]) + np.diag(np.full(ions, np.inf))
    coupling = 1.0 / gap**3
    stiffness = coupling + np.diag((radial / axial) ** 2 - coupling.sum(axis=1))
    squares, b = np.linalg.eigh(stiffness)
    return axial * np.sqrt(squares), b * np.sign(b[0])


@dataclass(frozen=True)
class Pulse:
    """Segments of a two-tone pulse, each array `(segments,)`: the force goes as Omega(t) cos(psi(t)), psi(t) = int mu dt + phase.

    `omega` is the Rabi frequency of either tone, `mu` the half distance of the tones. psi is continuous but for the jumps of `phase`.
    """

    duration: Floats
    omega: Floats
    mu: Floats
    phase: Floats

    @property
    def total(self) -> float:
        """Length in us."""
        return float(self.duration.sum())

    @property
    def energy(self) -> float:
        """Integral of Omega^2, rad^2/us."""
        return float(np.sum(self.omega**2 * self.duration))


@dataclass(frozen=True)
class Force:
    """What a pulse does to modes, each array `(modes,)`, per unit of eta_m: g(t) = int (Omega/2) exp(i (omega_m t - psi)) dt.

    `end` is g at the end, `area` int Im(dg g*), `lag` int (g(end) - g) dt and `lag2` int |g(end) - g|^2 dt in us, `turn` the angle by
    which a repetition of the pulse is turned against the one before.
    """

    end: Complexes
    area: Floats
    lag: Complexes
    lag2: Floats
    turn: Floats
    total: float


def force(pulse: Pulse, modes: ArrayLike) -> Force:
    """Closed forms segment by segment; `modes` `(modes,)` in rad/us."""
    w = np.asarray(modes, dtype=float)
    start = np.concatenate(([0.0], np.cumsum(pulse.duration)[:-1]))
    psi = np.concatenate(([0.0], np.cumsum(pulse.mu * pulse.duration)[:-1])) + pulse.phase
    delta = w[:, None] - pulse.mu
    first = 0.5 * pulse.omega * np.exp(1j * (w[:, None] * start - psi))
    t = pulse.duration
    x = delta * t
    rotation, second = _integrals(x)
    step = first * t * rotation
    before = np.cumsum(step, axis=1) - step
    end = step.sum(axis=1)
    own = (0.5 * pulse.omega) ** 2 * t**2 * _sheared(x)
    area = np.sum((step * before.conj()).imag + own, axis=1)
    # within a segment g(end) - g = left - first * t * rotation(t'), integrated over t'
    left = end[:, None] - before
    lag = np.sum(left * t - first * t**2 * second, axis=1)
    cross = (left.conj() * first * t**2 * second).real
    lag2 = np.sum(np.abs(left) ** 2 * t - 2.0 * cross + np.abs(first) ** 2 * t**3 * 2.0 * _versed(x), axis=1)
    # the tones start each repetition at psi = 0
    return Force(end, area, lag, lag2, w * pulse.total, pulse.total)


def _integrals(x: Floats) -> tuple[Complexes, Complexes]:
    """(e^{ix} - 1) / (ix), and (e^{ix} - 1 - ix) / (ix)^2."""
    safe = np.where(np.abs(x) < SMALL, 1.0, x)
    wave = np.exp(1j * safe)
    rotation = np.where(np.abs(x) < SMALL, 1.0 + 0.5j * x - x**2 / 6.0, (wave - 1.0) / (1j * safe))
    second = np.where(np.abs(x) < SMALL, 0.5 + 1j * x / 6.0 - x**2 / 24.0, (wave - 1.0 - 1j * safe) / (1j * safe) ** 2)
    return rotation, second


def _sheared(x: Floats) -> Floats:
    """(x - sin x) / x^2."""
    safe = np.where(np.abs(x) < SMALL, 1.0, x)
    out: Floats = np.where(np.abs(x) < SMALL, x / 6.0, (safe - np.sin(safe)) / safe**2)
    return out


def _versed(x: Floats) -> Floats:
    """(x - sin x) / x^3: half the mean over a segment of |(e^{ixs} - 1) / x|^2."""
    safe = np.where(np.abs(x) < SMALL, 1.0, x)
    out: Floats = np.where(np.abs(x) < SMALL, 1.0 / 6.0 - x**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    return out


@dataclass(frozen=True)
class Bath:
    """Motion of the modes before the pulse and its heating: `nbar` `(modes,)` quanta, `heating` `(modes,)` quanta per us."""

    nbar: Floats
    heating: Floats


def exponents(f: Force, eta: Floats, bath: Bath, repeats: int) -> tuple[NDArray[np.intp], Complexes]:
    """Histories `(4^repeats, repeats)` of spin configurations, and E `(4^repeats, 4^repeats)`.

    A pair of histories h, h' keeps the factor exp(scale^2 E[h, h']) once the motion is traced out, where `scale` multiplies the Rabi
    frequency. `eta` `(2, modes)` are Lamb-Dicke parameters times the relative Rabi frequency of each ion. Exact for a force linear in the
    displacement (Sorensen and Molmer 2000), thermal modes, and heating by white force noise: a kick at time t turns the coherence by
    the displacement that is still to come.
    """
    histories = np.array(list(itertools.product(range(4), repeat=repeats)), dtype=np.intp)
    arm = np.moveaxis((SPINS @ eta)[histories], 2, 0)  # (modes, histories, repeats)
    phasor = np.exp(1j * f.turn[:, None] * np.arange(repeats))
    size = len(histories)
    total = np.zeros((size, size), dtype=complex)
    for m in range(len(f.end)):
        place = arm[m] * (f.end[m] * phasor[m])
        passed = np.cumsum(place, axis=1) - place
        phase = (arm[m] ** 2).sum(axis=1) * f.area[m] + np.sum((place * passed.conj()).imag, axis=1)
        final = place.sum(axis=1)
        total += 1j * (phase[:, None] - phase[None, :] + (final[None, :].conj() * final[:, None]).imag)
        total -= (bath.nbar[m] + 0.5) * np.abs(final[:, None] - final[None, :]) ** 2
        if bath.heating[m] > 0.0:
            kick = np.zeros((size, size))
            for k in range(repeats):
                own = arm[m][:, None, k] - arm[m][None, :, k]
                later = (final - passed[:, k] - place[:, k])[:, None] - (final - passed[:, k] - place[:, k])[None, :]
                kick += f.total * np.abs(later) ** 2 + 2.0 * (later.conj() * own * phasor[m, k] * f.lag[m]).real + own**2 * f.lag2[m]
            total -= bath.heating[m] * kick
    return histories, total


def turn_about_z(angles: ArrayLike) -> Complexes:
    """exp(-i angle Z / 2) on both ions in the basis of `SPINS`; `angles` `(2,)` rad, result `(4, 4)`."""
    one, two = (np.array([[np.cos(a / 2), -1j * np.sin(a / 2)], [-1j * np.sin(a / 2), np.cos(a / 2)]]) for a in np.asarray(angles))
    out: Complexes = np.kron(one, two)
    return out


def final_state(histories: NDArray[np.intp], exponent: Complexes, scale: float, angles: ArrayLike) -> Complexes:
    """Density matrix `(4, 4)` in the Z basis after the pulses, from |00>; after each of them the ions turn about Z by `angles` `(2,)`."""
    turn = turn_about_z(angles)
    repeats = histories.shape[1]
    amplitude = np.full(len(histories), 0.5, dtype=complex)  # |00> is the even sum of all X configurations
    for k in range(repeats - 1):
        amplitude = amplitude * turn[histories[:, k + 1], histories[:, k]]
    kept = np.exp(scale**2 * exponent) * np.outer(amplitude, amplitude.conj())
    last = kept.reshape(-1, 4, kept.shape[0] // 4, 4).sum(axis=(0, 2))
    out: Complexes = TO_Z @ turn @ last @ turn.conj().T @ TO_Z.T
    return out


def rotation(angle: float, phase: float) -> Complexes:
    """exp(-i angle (X cos(phase) + Y sin(phase)) / 2), `(2, 2)`."""
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    return np.array([[c, -1j * s * np.exp(-1j * phase)], [-1j * s * np.exp(1j * phase), c]])


BELL = np.array([1.0, 0.0, 0.0, -1j]) / np.sqrt(2.0)
"""exp(-i pi/4 X X)|00>."""


def bell_fidelity(rho: Complexes) -> float:
    """Overlap of a density matrix `(4, 4)` with `BELL`."""
    return float((BELL.conj() @ rho @ BELL).real)


def sideband_excitation(
    detuning: ArrayLike, duration: float, omega: ArrayLike, eta: Floats, modes: Floats, quanta: NDArray[np.integer]
) -> Floats:
    """Probability that one ion is flipped by a weak tone above the carrier; result `(...)`.

    `detuning` and `omega` broadcast to `(...)`, `quanta` is `(..., modes)`. Each mode is a two-level transition |0, n> to |1, n + 1> with
    Rabi frequency eta omega sqrt(n + 1) (Leibfried et al. 2003); transitions of different modes, resolved by assumption, act independently.
    """
    rabi = np.abs(eta) * np.asarray(omega)[..., None] * np.sqrt(quanta + 1.0)
    off = np.asarray(detuning)[..., None] - modes
    general = np.hypot(rabi, off)
    flip = (rabi * duration / 2.0 * np.sinc(general * duration / TWO_PI)) ** 2
    out: Floats = 1.0 - np.prod(1.0 - flip, axis=-1)
    return out
