"""Three transmons in a ring of modulated couplers: Hamiltonian, its time-ordered propagators, decoherence, product measurements.

A basis state is a triple of occupations (n1, n2, n3), each at most 2, n1 most significant; only triples with at most `cap` excitations
are kept, since nothing here adds one. Frequencies in MHz (2 pi written out), times in ns unless named otherwise. Edge c joins qubits c and
c + 1 (mod 3): 12, 23, 31.

Sources: parametric hopping and synthetic flux Roushan et al. 2017; transmon levels Koch et al. 2007; Magnus expansion Blanes et al. 2009;
bosonic decay Chuang, Leung & Yamamoto 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray
from scipy.special import spherical_jn

TWO_PI = 2.0 * np.pi
SUBSTEPS = {1: 2, 2: 4, 3: 4}
"""Magnus steps per ns by most excitations: 0.25 ns is an eighth of the shortest period in the frame of the levels, 2 ns; without third
levels it is three times as long."""
EDGES = ((0, 1), (1, 2), (2, 0))

Floats = NDArray[np.float64]
Matrix = NDArray[np.complex128]


@dataclass(frozen=True)
class Ring:
    """What acts on the qubits while a job runs; arrays have shape `(3,)`, over qubits or over edges (j, k).

    In the frame of `frame_mhz` (a frequency per qubit), H/h = sum_j delta_j n_j + (alpha/2) n_j (n_j - 1) + sum_edges g(t) (a_j^dag a_k
    exp(2 pi i (F_j - F_k) t) + h.c.), g(t) = `dc_mhz` + `ac_mhz` cos(2 pi `tone_mhz` t - `phase_rad`): at tone_mhz = w_j - w_k, which has
    a sign, the hop is (ac/2) exp(i phase) a_j^dag a_k + h.c. `sigma_mhz` is the rms of an offset of each detuning that is constant during
    a shot.
    """

    frame_mhz: Floats
    delta_mhz: Floats
    alpha_mhz: Floats
    dc_mhz: Floats
    ac_mhz: Floats
    tone_mhz: Floats
    phase_rad: Floats
    t1_us: Floats
    tphi_us: Floats
    sigma_mhz: float


@lru_cache(maxsize=4)
def occupations(cap: int) -> NDArray[np.int64]:
    """`(d, 3)` occupations of the basis states with at most `cap` excitations."""
    found = np.array([n for n in np.ndindex(3, 3, 3) if sum(n) <= cap])
    found.setflags(write=False)
    return found


@lru_cache(maxsize=4)
def lowering(cap: int) -> Floats:
    """`(3, d, d)`: a_j in the truncated basis."""
    n = occupations(cap)
    index = {tuple(row): k for k, row in enumerate(n.tolist())}
    found = np.zeros((3, len(n), len(n)))
    for k, row in enumerate(n.tolist()):
        for j in range(3):
            if row[j]:
                below = tuple(v - (i == j) for i, v in enumerate(row))
                found[j, index[below], k] = np.sqrt(row[j])
    found.setflags(write=False)
    return found


def levels(ring: Ring, cap: int) -> Floats:
    """Energies `(d,)` of the uncoupled levels in the frame, MHz."""
    n = occupations(cap)
    return np.asarray(n @ ring.delta_mhz + 0.5 * (n * (n - 1)) @ ring.alpha_mhz)


def hamiltonian(ring: Ring, cap: int, t_ns: float) -> Matrix:
    """H/h `(d, d)` in MHz in the frame of `frame_mhz` at a time."""
    a, h = lowering(cap), np.diag(levels(ring, cap)).astype(complex)
    for c, (j, k) in enumerate(EDGES):
        g = ring.dc_mhz[c] + ring.ac_mhz[c] * np.cos(TWO_PI * ring.tone_mhz[c] * t_ns * 1e-3 - ring.phase_rad[c])
        hop = g * np.exp(2j * np.pi * (ring.frame_mhz[j] - ring.frame_mhz[k]) * t_ns * 1e-3) * (a[j].T @ a[k])
        h += hop + hop.conj().T
    return h


def propagators(ring: Ring, cap: int, start_ns: int, count: int) -> Matrix:
    """Unitaries `(count, d, d)` of the 1-ns windows from `start_ns` on, in the frame of `frame_mhz`.

    In the frame of the levels each matrix element of H is a sum of exponentials: its integral over a step and its first moment are exact,
    and the Magnus series is kept up to the commutator of the two (fourth order). The step is exponentiated by its Taylor series.
    """
    a, energy = lowering(cap), levels(ring, cap)
    steps = SUBSTEPS[cap]
    dt = 1e-3 / steps
    middle = (start_ns * 1e-3 + (np.arange(count * steps) + 0.5) * dt)[:, None]
    mean = np.zeros((count * steps, len(energy), len(energy)), dtype=complex)
    moment = np.zeros_like(mean)
    for c, (j, k) in enumerate(EDGES):
        hop = a[j].T @ a[k]
        rows, columns = np.nonzero(hop)
        turn = energy[rows] - energy[columns] + ring.frame_mhz[j] - ring.frame_mhz[k]
        half = 0.5 * ring.ac_mhz[c]
        parts = ((ring.dc_mhz[c], 0.0, 0.0), (half, ring.tone_mhz[c], -ring.phase_rad[c]), (half, -ring.tone_mhz[c], ring.phase_rad[c]))
        for g, f, phase in parts:
            element = g * hop[rows, columns] * np.exp(1j * (TWO_PI * (turn + f) * middle + phase))
            x = np.pi * (turn + f) * dt
            for total, part in ((mean, element * np.sinc(x / np.pi)), (moment, 0.5j * element * spherical_jn(1, x))):
                total[:, rows, columns] += part
                total[:, columns, rows] += part.conj()
    b0, b1 = -1j * TWO_PI * dt * mean, -1j * TWO_PI * dt * moment
    x = b0 - (b0 @ b1 - b1 @ b0)
    one = np.eye(len(energy))
    step = one + x @ (one + x @ (one + x @ (one + x / 4) / 3) / 2)
    step = step.reshape(count, steps, *step.shape[1:])
    window = reduce(lambda u, v: v @ u, [step[:, s] for s in range(steps)])
    t = (start_ns + np.arange(count + 1)) * 1e-3
    turned = np.exp(-1j * TWO_PI * energy * t[:, None])
    return np.asarray(turned[1:, :, None] * window * turned[:-1, None, :].conj())


def decay(ring: Ring, cap: int, ns: float) -> Matrix:
    """Decay and dephasing for a time, `(d^2, d^2)` on density matrices flattened row by row; real.

    Kraus maps of damped oscillators with at most one jump: what is left out is of order (time / T1)^2.
    """
    n = occupations(cap)
    t = ns * 1e-3
    alive = np.exp(-0.5 * t * (n / ring.t1_us).sum(axis=1))
    dephased = np.exp(-t * ((n[:, None] - n[None]) ** 2 / ring.tphi_us).sum(axis=-1))
    keep = (np.outer(alive, alive) * dephased).ravel()
    total = np.diag(keep)
    for j in range(3):
        jump = np.sqrt(np.expm1(t / ring.t1_us[j])) * lowering(cap)[j]
        total += np.kron(jump, jump) * keep
    return total.astype(complex)


def quasi_static(sigma_mhz: float) -> Floats:
    """Offsets `(n, 3)` of equal weight that average as three independent Gaussians do, to fifth order along each axis."""
    if sigma_mhz == 0.0:
        return np.zeros((1, 3))
    return np.sqrt(3.0) * sigma_mhz * np.concatenate([np.eye(3), -np.eye(3)])


BLOCK_NS = 500
"""Windows whose propagators are made at once."""
WINDOW_NS = 4
"""Hops turn the state by less than 0.1 rad in this time, so that decay and slow detuning are split off symmetrically: errors of 1e-4."""


def propagate(ring: Ring, start: Matrix, durations_ns: NDArray[np.int64]) -> Matrix:
    """Density matrices `(durations, starts, d, d)` after whole numbers of ns from `start` `(starts, d, d)`, slow noise averaged."""
    d = start.shape[-1]
    cap = {len(occupations(k)): k for k in (1, 2, 3)}[d]
    longest = int(durations_ns.max())
    blocks = [propagators(ring, cap, b, min(BLOCK_NS, longest - b)) for b in range(0, longest, BLOCK_NS)]
    steps = np.concatenate(blocks) if blocks else np.empty((0, d, d))
    tilt = quasi_static(ring.sigma_mhz) @ occupations(cap).T
    turn = -1j * np.pi * 1e-3 * (tilt[:, :, None] - tilt[:, None, :]).reshape(-1, 1, d * d)
    halves = {w: (decay(ring, cap, w / 2).T, np.exp(w * turn)) for w in range(1, WINDOW_NS + 1)}
    rho = np.repeat(start.reshape(1, -1, d * d).astype(complex), len(turn), axis=0)
    found = np.empty((len(durations_ns), *start.shape), dtype=complex)
    now = 0
    for stop in np.unique(durations_ns).tolist():
        while now < stop:
            width = min(WINDOW_NS, stop - now)
            u = reduce(lambda x, y: y @ x, steps[now : now + width])
            damped, turned = halves[width]
            square = ((rho @ damped) * turned).reshape(*rho.shape[:2], d, d)
            rho = ((u @ square @ u.conj().T).reshape(rho.shape) @ damped) * turned
            now += width
        found[durations_ns == stop] = rho.mean(axis=0).reshape(start.shape)
    return found


def prepared(strings: tuple[str, ...]) -> Matrix:
    """`(strings, d, d)` of product states, a letter per qubit: 0, 1, or + for (|0> + |1>)/sqrt(2); d is as large as they need."""
    letters = {"0": (1.0, 0.0, 0.0), "1": (0.0, 1.0, 0.0), "+": (np.sqrt(0.5), np.sqrt(0.5), 0.0)}
    cap = max(1, *(3 - s.count("0") for s in strings))
    n = occupations(cap)
    kets = np.stack([np.prod([np.array(letters[s[j]])[n[:, j]] for j in range(3)], axis=0) for s in strings])
    return np.asarray(kets[:, :, None] * kets[:, None, :], dtype=complex)


def outcomes(rho: Matrix, basis: str) -> Floats:
    """Probabilities `(..., 8)` of bits b1 b2 b3 of a product measurement, b1 most significant; 1 is |1> or above for Z, -1 for X and Y.

    Before X and Y a pi/2 pulse acts on |0> and |1> of the qubit; |2> reads 1.
    """
    cap = {len(occupations(k)): k for k in (1, 2, 3)}[rho.shape[-1]]
    half = np.sqrt(0.5)
    plus = {"X": half * np.array([1, 1]), "Y": half * np.array([1, 1j])}
    found = []
    n = occupations(cap)
    for bits in np.ndindex(2, 2, 2):
        effect = np.ones((len(n), len(n)), dtype=complex)
        for j, (letter, bit) in enumerate(zip(basis, bits, strict=True)):
            zero = np.zeros((3, 3), dtype=complex)
            if letter == "Z":
                zero[0, 0] = 1.0
            else:
                zero[:2, :2] = np.outer(plus[letter], plus[letter].conj())
            one = np.eye(3) - zero if bit else zero
            effect *= one[n[:, j][:, None], n[:, j][None]]
        found.append(np.einsum("ij,...ji->...", effect, rho).real)
    p = np.clip(np.stack(found, axis=-1), 0.0, None)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def shift_time_ns(hop_mhz: float) -> float:
    """Time of a perfect cyclic shift at flux +-pi/2: 1/(3 sqrt(3) J)."""
    return 1e3 / (3.0 * np.sqrt(3.0) * hop_mhz)
