"""Three exchange-coupled spins under filtered site-selective controls: density matrices on a 2 ns grid.

|0> is the +1 eigenstate of Z; basis states are ordered by their bits, spin 0 most significant. The exchange conserves the number of spins
in |1>, and after a Jordan-Wigner transformation the open chain is one of free fermions (Lieb, Schultz & Mattis 1961): one 3 x 3 propagator
of a single excitation determines the 8 x 8 one. Angular frequencies in rad/us, times in us unless named otherwise.

Sources: state transfer Bose 2003, Christandl et al. 2004; control Khaneja et al. 2005; exchange-coupled spins Loss & DiVincenzo 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

TWO_PI = 2.0 * np.pi
SPINS = 3
SLICE_NS = 10
SUBSTEPS = 5
STEP_US = 1e-3 * SLICE_NS / SUBSTEPS
TAYLOR = 8
"""Order of the exponential of a step; its argument stays below 0.1."""
ONE = np.array([4, 2, 1])
FEW = np.array([0, 4, 2, 1])
TWO = np.array([6, 5, 3])
PAIRS = ((0, 1), (0, 2), (1, 2))
KETS = {
    "0": (1.0, 0.0), "1": (0.0, 1.0), "+": (0.5**0.5, 0.5**0.5), "-": (0.5**0.5, -(0.5**0.5)), "r": (0.5**0.5, 1j * 0.5**0.5),
    "l": (0.5**0.5, -1j * 0.5**0.5),
}  # fmt: skip
"""Preparations: eigenstates of Z (0, 1), X (+, -) and Y (r, l), the +1 eigenstate first."""
_BITS = np.array([[(s >> (SPINS - 1 - j)) & 1 for j in range(SPINS)] for s in range(2**SPINS)])

Floats = NDArray[np.float64]
Matrix = NDArray[np.complex128]


@dataclass(frozen=True)
class Chain:
    """What acts on the spins while a job runs.

    `exchange` `(2,)` is J of the bonds 0-1 and 1-2 and `detuning` `(batches, 3)` the precession frequency at idle controls, in rad/us;
    `response` `(3, 3)` is the change of frequency i per filtered control j; `tau_us` the time constant of the lines, `t2_us` `(3,)`
    the coherence times.
    """

    exchange: Floats
    detuning: Floats
    response: Floats
    tau_us: float
    t2_us: Floats


def filtered(controls: Floats, tau_us: float) -> Floats:
    """Means over each 2 ns step `(3, 5 n)` of what a first-order low-pass makes of controls `(3, n)`, which are zero before time 0."""
    decay = np.exp(-STEP_US / tau_us)
    powers = decay ** np.arange(SUBSTEPS + 1)
    mean = tau_us / STEP_US * (1.0 - decay)
    out = np.empty((SPINS, controls.shape[1], SUBSTEPS))
    level = np.zeros(SPINS)
    for k, u in enumerate(controls.T):
        ahead = (level - u)[:, None] * powers
        out[:, k] = u[:, None] + mean * ahead[:, :-1]
        level = u + ahead[:, -1]
    return out.reshape(SPINS, -1)


def single(chain: Chain, controls: Floats) -> Matrix:
    """Generators of one excitation `(batches, steps, 3, 3)`: J off the diagonal, minus the frequency of its site on it."""
    omega = chain.detuning[:, None, :] + (chain.response @ filtered(controls, chain.tau_us)).T
    h = np.zeros((*omega.shape, SPINS), dtype=complex)
    h[..., range(SPINS), range(SPINS)] = -omega
    for k in (0, 1):
        h[..., k, k + 1] = h[..., k + 1, k] = chain.exchange[k]
    return h


def exponential(h: Matrix, duration_us: float) -> Matrix:
    """exp(-i h t) by its series, for |h| t below 0.1."""
    step = -1j * duration_us * h
    one = np.eye(h.shape[-1])
    found = one + step / TAYLOR
    for k in range(TAYLOR - 1, 0, -1):
        found = one + step @ found / k
    return np.asarray(found)


def whole(u: Matrix) -> Matrix:
    """Propagators of the three spins `(..., 8, 8)` from those of one excitation `(..., 3, 3)`; the energy of |000> is zero."""
    full = np.zeros((*u.shape[:-2], 2**SPINS, 2**SPINS), dtype=complex)
    full[..., 0, 0] = 1.0
    full[..., ONE[:, None], ONE[None, :]] = u
    for row, (a, b) in zip(TWO, PAIRS, strict=True):
        for column, (c, d) in zip(TWO, PAIRS, strict=True):
            full[..., row, column] = u[..., a, c] * u[..., b, d] - u[..., a, d] * u[..., b, c]
    full[..., 7, 7] = np.linalg.det(u)
    return full


def few_excitations(u: Matrix) -> Matrix:
    """The block `(..., 4, 4)` of `whole` on the states `FEW`: |000> and one excitation on spin 0, 1, 2."""
    full = np.zeros((*u.shape[:-2], 4, 4), dtype=complex)
    full[..., 0, 0] = 1.0
    full[..., 1:, 1:] = u
    return full


def dephasing(t2_us: Floats, duration_us: float) -> Floats:
    """Factors `(8, 8)` of the density matrix: a coherence decays at 1/T2 of each spin in which its two states differ."""
    differ = _BITS[:, None, :] != _BITS[None, :, :]
    return np.asarray(np.exp(-duration_us * (differ / t2_us).sum(axis=-1)))


def prepared(strings: Sequence[str]) -> Matrix:
    """Density matrices `(P, 8, 8)` of product states, one letter of `KETS` per spin."""
    kets = np.array([reduce(np.kron, [np.array(KETS[letter], dtype=complex) for letter in s]) for s in strings])
    return np.asarray(kets[:, :, None] * kets[:, None, :].conj())


def evolve(chain: Chain, controls: Floats, start: Matrix, slices: Sequence[int]) -> Matrix:
    """States `(len(slices), batches, P, 8, 8)` after so many slices of controls `(3, n)` in rad/us, from states `(P, 8, 8)`.

    Unitary steps of 2 ns between two halves of the dephasing of a step. States of at most one excitation stay so: then 4 x 4 matrices do.
    """
    last = max(slices)
    few = np.ix_(range(len(start)), FEW, FEW)
    if np.abs(start).sum() == np.abs(start[few]).sum():
        used, start = FEW, start[few]
    else:
        used = np.arange(2**SPINS)
    block = np.ix_(used, used)
    states = np.repeat(start[None], len(chain.detuning), axis=0)
    kept = {0: states}
    if last:
        u1 = exponential(single(chain, controls[:, :last]), STEP_US)
        steps = whole(u1) if len(used) > len(FEW) else few_excitations(u1)
        half, step = (dephasing(chain.t2_us, t)[block] for t in (STEP_US / 2, STEP_US))
        wanted, states = set(slices), states * half
        for k in range(last * SUBSTEPS):
            u = steps[:, k, None]
            states = u @ states @ u.conj().swapaxes(-1, -2)
            done, rest = divmod(k + 1, SUBSTEPS)
            if not rest and done in wanted:
                kept[done] = states * half
            states = states * step
    found = np.zeros((len(slices), *states.shape[:-2], 2**SPINS, 2**SPINS), dtype=complex)
    found[(..., *block)] = np.stack([kept[s] for s in slices])
    return found


def analysis(basis: str, frame_rad: float) -> Matrix:
    """Rotation `(8, 8)` that takes the measured axes to Z: X is cos f X + sin f Y, Y a quarter turn ahead, f = `frame_rad`."""
    phase = np.exp(-1j * frame_rad)
    turn = {
        "X": np.array([[1, phase], [1, -phase]]) / 2**0.5, "Y": np.array([[1, -1j * phase], [1, 1j * phase]]) / 2**0.5, "Z": np.eye(2),
    }  # fmt: skip
    return np.asarray(reduce(np.kron, [turn[letter] for letter in basis]))


def outcomes(states: Matrix, basis: str, frame_rad: float) -> Floats:
    """Probabilities `(..., 8)` of the results of a product measurement; bit 0 is the eigenvalue +1."""
    r = analysis(basis, frame_rad)
    p = np.clip(np.einsum("sa,...ab,sb->...s", r, states, r.conj(), optimize=True).real, 0.0, None)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def ones(p: Floats) -> Floats:
    """Probability of bit 1 of each spin `(..., 3)` from `(..., 8)`."""
    return np.asarray(p @ _BITS)


CARDINAL = ("000", "100", "+00", "-00", "r00", "l00")


def transfer_fidelities(chain: Chain, controls: Floats, phase_rad: float) -> Floats:
    """Fidelities `(batches, 6)` of spin 2 with the state in which spin 0 was prepared, inputs `CARDINAL`, spins 1 and 2 in |0>.

    The phase is that of |1> on spin 2 relative to |0>, to be undone by a rotation about Z.
    """
    states = evolve(chain, controls, prepared(CARDINAL), (controls.shape[1],))[0]
    found = []
    for k, name in enumerate(CARDINAL):
        letter, bit = {"0": ("Z", 0), "1": ("Z", 1), "+": ("X", 0), "-": ("X", 1), "r": ("Y", 0), "l": ("Y", 1)}[name[0]]
        one = ones(outcomes(states[:, k], "ZZ" + letter, phase_rad))[..., 2]
        found.append(one if bit else 1.0 - one)
    return np.stack(found, axis=-1)
