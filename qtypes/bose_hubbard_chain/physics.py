"""The chain in the Fock basis: Hamiltonian, evolution with loss and dephasing by quantum jumps, level readout, homodyne readout.

States are complex `(210,)` over :data:`FOCK`, all occupations of six sites with 0 to 4 bosons, sector by sector. Energies are frequencies
E/h in MHz, times in ns, T1 and Tphi in us. Hamiltonian as in Roushan et al. 2017 and Ma et al. 2019:

    H/h = -sum_i J_i (a_i^dag a_{i+1} + h.c.) + sum_i U_i/2 n_i (n_i - 1) + sum_i mu_i n_i.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cache
from math import factorial, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_SITES = 6
MAX_BOSONS = 4
N_LEVELS = 4
"""Levels that the readout tells apart: 0, 1, 2, and 3 or more."""
RAD_PER_NS = 2e-3 * pi
"""rad/ns of 1 MHz."""
NS_PER_US = 1e3

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


@cache
def sector(bosons: int) -> NDArray[np.uint8]:
    """Occupations `(dim, 6)` with this many bosons, in lexical order: dim 1, 6, 21, 56, 126 for 0 to 4."""
    rows = [s for s in itertools.product(range(bosons + 1), repeat=N_SITES) if sum(s) == bosons]
    return np.array(rows, dtype=np.uint8)


FOCK: NDArray[np.uint8] = np.concatenate([sector(n) for n in range(MAX_BOSONS + 1)])
DIM = len(FOCK)
INDEX = {tuple(int(n) for n in row): k for k, row in enumerate(FOCK)}
_ENDS = np.cumsum([0, *(len(sector(n)) for n in range(MAX_BOSONS + 1))])
SECTORS = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(_ENDS))


@cache
def hopping(bosons: int) -> Real:
    """Matrices `(5, dim, dim)` of a_i^dag a_{i+1} + h.c. in a sector."""
    states = sector(bosons)
    at = {tuple(int(n) for n in s): k for k, s in enumerate(states)}
    out = np.zeros((N_SITES - 1, len(states), len(states)))
    for i in range(N_SITES - 1):
        for k, s in enumerate(states):
            if s[i + 1]:
                moved = [int(n) for n in s]
                moved[i], moved[i + 1] = moved[i] + 1, moved[i + 1] - 1
                out[i, at[tuple(moved)], k] = sqrt(moved[i] * int(s[i + 1]))
    return out + out.transpose(0, 2, 1)


@cache
def lowering() -> tuple[tuple[NDArray[np.intp], NDArray[np.intp], Real], ...]:
    """For each site, a_i as (to, from, element): the state `from` goes to `to` with this amplitude."""
    found = []
    for i in range(N_SITES):
        source = np.flatnonzero(FOCK[:, i])
        lower = FOCK[source].astype(int)
        lower[:, i] -= 1
        target = np.array([INDEX[tuple(int(n) for n in row)] for row in lower], dtype=np.intp)
        found.append((target, source, np.sqrt(FOCK[source, i].astype(float))))
    return tuple(found)


def hamiltonian(bosons: int, j_mhz: ArrayLike, u_mhz: ArrayLike, mu_mhz: ArrayLike) -> Real:
    """H/hbar in rad/ns, `(..., dim, dim)`, in a sector; `j_mhz (..., 5)`, `u_mhz (..., 6)`, `mu_mhz (..., 6)`."""
    j, u, mu = (np.asarray(v, dtype=float) for v in (j_mhz, u_mhz, mu_mhz))
    n = sector(bosons).astype(float)
    out = -np.einsum("...i,iab->...ab", j, hopping(bosons))
    diagonal = np.arange(len(n))
    out[..., diagonal, diagonal] += u @ (n * (n - 1) / 2).T + mu @ n.T
    return RAD_PER_NS * out


def fock(occupation: ArrayLike) -> Complex:
    """The state of given occupations `(6,)`."""
    psi = np.zeros(DIM, dtype=complex)
    psi[INDEX[tuple(int(n) for n in np.asarray(occupation))]] = 1.0
    return psi


def prepared(initial: str) -> Complex:
    """The state of a string of six letters, letter i for site i: a digit is that level, `+` is (|0> + |1>)/sqrt(2)."""
    psi = np.zeros(DIM, dtype=complex)
    choices = [(0, 1) if c == "+" else (int(c),) for c in initial]
    for occupation in itertools.product(*choices):
        psi[INDEX[occupation]] = 2.0 ** (-initial.count("+") / 2)
    return psi


@dataclass(frozen=True)
class Chain:
    """A chain with its channels. Without `t1_us` and `tphi_us` it is closed.

    Collapse operators are a_i / sqrt(T1_i) and sqrt(2 / Tphi_i) n_i: the coherence of levels n and m of a site decays with
    (n - m)^2 / Tphi.
    """

    j_mhz: Real
    """`(5,)`"""
    u_mhz: Real
    """`(6,)`"""
    mu_mhz: Real
    """`(6,)`"""
    t1_us: Real | None = None
    """`(6,)`"""
    tphi_us: Real | None = None
    """`(6,)`"""
    _modes: dict[int, tuple[NDArray, NDArray, NDArray]] = field(default_factory=dict, repr=False, compare=False)

    def jump_rates(self) -> tuple[Real, Real]:
        """1/ns: weights `(6,)` of n_i in the loss rate and of n_i^2 in the dephasing rate."""
        none = np.zeros(N_SITES)
        loss = none if self.t1_us is None else 1.0 / (NS_PER_US * self.t1_us)
        return loss, none if self.tphi_us is None else 2.0 / (NS_PER_US * self.tphi_us)

    def modes(self, bosons: int) -> tuple[NDArray, NDArray, NDArray]:
        """Eigenvalues, eigenvectors (columns) and their inverse, of the Hamiltonian without jumps."""
        if bosons not in self._modes:
            h = hamiltonian(bosons, self.j_mhz, self.u_mhz, self.mu_mhz)
            loss, dephasing = self.jump_rates()
            n = sector(bosons).astype(float)
            decay = n @ loss + n**2 @ dephasing
            if not decay.any():
                values, vectors = np.linalg.eigh(h)
                self._modes[bosons] = (values, vectors, vectors.T)
            else:
                values, vectors = np.linalg.eig(h - 0.5j * np.diag(decay))
                self._modes[bosons] = (values, vectors, np.linalg.inv(vectors))
        return self._modes[bosons]

    def evolved(self, psi: Complex, times_ns: ArrayLike) -> Complex:
        """States `(k, 210)` at times `(k,)` in the absence of jumps; their squared norm is the probability that there was none."""
        t = np.asarray(times_ns, dtype=float)
        out = np.zeros((len(t), DIM), dtype=complex)
        for bosons, part in enumerate(SECTORS):
            if psi[part].any():
                values, vectors, inverse = self.modes(bosons)
                out[:, part] = (np.exp(-1j * np.outer(t, values)) * (inverse @ psi[part])) @ vectors.T
        return out

    def unravelled(self, rng: np.random.Generator, psi: Complex, time_ns: float, shots: int) -> list[tuple[int, Complex]]:
        """Normalised final states of `shots` runs, with how many runs end in each (Dalibard, Castin and Molmer 1992).

        Runs without a jump share one state. The time of a jump is where the norm falls below a uniform number; it is interpolated
        between points of at most 1 ns, over which the norm is linear to 1e-4 of its change.
        """
        end = self.evolved(psi, [time_ns])[0]
        norm = float((np.abs(end) ** 2).sum())
        u = rng.random(shots)
        late = u[u > norm]
        found = [(shots - len(late), end / sqrt(norm))] if len(late) < shots else []
        if not len(late):
            return found
        grid = np.linspace(0.0, time_ns, 2 + int(time_ns))
        norms = (np.abs(self.evolved(psi, grid)) ** 2).sum(axis=1)
        for level in late:
            at = float(np.interp(-level, -norms, grid))
            found += self.unravelled(rng, self._jumped(rng, self.evolved(psi, [at])[0]), time_ns - at, 1)
        return found

    def _jumped(self, rng: np.random.Generator, psi: Complex) -> Complex:
        loss, dephasing = self.jump_rates()
        weight, n = np.abs(psi) ** 2, FOCK.astype(float)
        rates = np.concatenate([loss * (weight @ n), dephasing * (weight @ n**2)])
        channel = int(rng.choice(len(rates), p=rates / rates.sum()))
        if channel < N_SITES:
            target, source, element = lowering()[channel]
            after = np.zeros_like(psi)
            after[target] = element * psi[source]
        else:
            after = n[:, channel - N_SITES] * psi
        return after / np.linalg.norm(after)


@cache
def energies(bosons: int) -> Real:
    """Diagonals `(12, dim)` of dH/dU of the six sites and dH/dmu of the six sites."""
    n = sector(bosons).T.astype(float)
    return np.concatenate([n * (n - 1) / 2, n])


def probability_slopes(
    bosons: int, j_mhz: Real, u_mhz: Real, mu_mhz: Real, start: Complex, times_ns: Real
) -> tuple[Real, Real]:
    """Closed evolution of states `start (k, dim)` of a sector for `times_ns (k,)`: probabilities `(k, dim)` of the occupations, and slopes.

    Slopes `(18, k, dim)` are by J, U, mu of all sites (1/MHz) and the time (1/ns), by first-order perturbation in the eigenbasis: the
    slope of exp(-iHt) has the divided differences of exp(-iwt) there (Daleckii and Krein).
    """
    w, v = np.linalg.eigh(hamiltonian(bosons, j_mhz, u_mhz, mu_mhz))
    phase, c = np.exp(-1j * np.outer(times_ns, w)), start @ v
    psi = (phase * c) @ v.T
    generators = np.concatenate([-v.T @ (hopping(bosons) @ v), (v.T * energies(bosons)[:, None]) @ v])
    gap = w[:, None] - w
    far = np.abs(gap) > 1e-9
    divided = (phase.T[:, None] - phase.T[None]) / np.where(far, gap, 1.0)[:, :, None]  # (dim, dim, k)
    divided[~far] = -1j * times_ns * phase.T[np.nonzero(~far)[0]]
    divided *= c.T
    by_row = np.ascontiguousarray(generators.transpose(1, 0, 2))
    moved = RAD_PER_NS * (by_row @ divided.real + 1j * (by_row @ divided.imag))  # (dim, 17, k)
    d = np.concatenate([np.tensordot(moved, v, axes=(0, 1)), ((-1j * w * phase * c) @ v.T)[None]])
    return np.abs(psi) ** 2, 2 * (psi.conj() * d).real


def occupations(rng: np.random.Generator, ends: list[tuple[int, Complex]]) -> NDArray[np.uint8]:
    """Projective measurement of the occupation of all sites, uint8 `(shots, 6)`, shots in random order."""
    rows = []
    for count, psi in ends:
        p = np.abs(psi) ** 2
        rows.append(np.repeat(np.arange(DIM), rng.multinomial(count, p / p.sum())))
    return FOCK[rng.permutation(np.concatenate(rows))]


def read(rng: np.random.Generator, levels: NDArray[np.uint8], confusion: Real) -> NDArray[np.uint8]:
    """Levels as read, uint8 of the shape `(..., 6)` of `levels`; `confusion (6, read, true)` has columns of sum 1. Above 3 reads as 3."""
    true = np.minimum(levels, N_LEVELS - 1)
    edges = np.cumsum(confusion, axis=1)[:, :-1]
    u = rng.random(levels.shape)
    chosen = edges[np.arange(N_SITES), :, true]  # (..., 6, 3)
    return (u[..., None] > chosen).sum(axis=-1).astype(np.uint8)


def site_matrix(psi: Complex, site: int) -> Complex:
    """Reduced density matrix `(5, 5)` of a site."""
    rest = np.delete(FOCK, site, axis=1)
    _, row = np.unique(rest, axis=0, return_inverse=True)
    table = np.zeros((MAX_BOSONS + 1, int(row.max()) + 1), dtype=complex)
    table[FOCK[:, site], row.ravel()] = psi
    return table @ table.conj().T


_X = np.linspace(-7.0, 7.0, 1401)


@cache
def oscillator() -> Real:
    """Wave functions `(5, 1401)` of the quadrature (a + a^dag)/sqrt(2) on the grid."""
    hermite = [np.ones_like(_X), 2 * _X]
    for n in range(1, MAX_BOSONS):
        hermite.append(2 * _X * hermite[n] - 2 * n * hermite[n - 1])
    norm = [pi**-0.25 / sqrt(2.0**n * factorial(n)) for n in range(MAX_BOSONS + 1)]
    return np.array([c * h * np.exp(-(_X**2) / 2) for c, h in zip(norm, hermite, strict=True)])


def quadratures(rng: np.random.Generator, ends: list[tuple[int, Complex]], site: int, phase_rad: float) -> Real:
    """Outcomes `(shots,)` of (a e^{-i phase} + a^dag e^{i phase})/sqrt(2) of a site, in random order; the vacuum has variance 1/2."""
    turn = np.exp(-1j * phase_rad * np.arange(MAX_BOSONS + 1))
    drawn = []
    for count, psi in ends:
        rho = site_matrix(psi, site) * np.outer(turn, turn.conj())
        density = np.einsum("mx,mn,nx->x", oscillator(), rho.real, oscillator())  # the imaginary part is antisymmetric
        cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]).clip(0) / 2)])
        drawn.append(np.interp(rng.random(count) * cumulated[-1], cumulated, _X))
    return rng.permutation(np.concatenate(drawn))
