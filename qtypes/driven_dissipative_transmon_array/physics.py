"""Driven qubits with one common decay channel: Lindblad generator on Pauli coordinates, its propagation and its steady state.

A state of N qubits is the real vector r of length 4^N with r[P] = Tr(P rho), P a Pauli string in the order I, X, Y, Z, qubit 0 most
significant. |g> is |0>, so Z is +1 there, and sigma^- = |g><e| = (X + iY)/2. Frequencies in MHz (2 pi written out), times in us unless
named otherwise.

Sources: collective decay Dicke 1954, Lehmberg 1970; dark states of driven pairs Stannigel, Rabl & Zoller 2012, Pichler et al. 2015;
stabilised pairs of transmons Shankar et al. 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

TWO_PI = 2.0 * np.pi
STEP_US = 1e-3
"""Durations are multiples of this."""
PAULIS = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
LOWER = np.array([[0, 1], [0, 0]], dtype=complex)
EXCITED = np.diag([0.0, 1.0]).astype(complex)

Floats = NDArray[np.float64]
Matrix = NDArray[np.complex128]


@dataclass(frozen=True)
class Model:
    """What acts on the qubits while a job runs; arrays have shape `(N,)`.

    `delta_mhz` is qubit minus drive, `omega_mhz` the Rabi frequency at drive phase `theta_rad`; the channel has the single-qubit
    linewidth `gamma_mhz` at `eta` = 1 and couples with phase `phi_rad`; `thermal` is the equilibrium population of |e>.
    """

    delta_mhz: Floats
    omega_mhz: Floats
    theta_rad: Floats
    gamma_mhz: float
    eta: Floats
    phi_rad: Floats
    t1_us: Floats
    tphi_us: Floats
    thermal: float

    @property
    def n_qubits(self) -> int:
        return len(self.delta_mhz)

    def hamiltonian(self) -> Matrix:
        """`(2^N, 2^N)` in rad/us: 2 pi (sum delta n + Omega/2 (e^{i theta} sigma^- + h.c.))."""
        n = self.n_qubits
        h = np.zeros((2**n, 2**n), dtype=complex)
        for j in range(n):
            drive = 0.5 * self.omega_mhz[j] * np.exp(1j * self.theta_rad[j]) * LOWER
            h += placed(self.delta_mhz[j] * EXCITED + drive + drive.conj().T, j, n)
        return TWO_PI * h

    def collective(self) -> Matrix:
        """The jump operator of the channel, sqrt(2 pi Gamma) sum eta e^{i phi} sigma^-, in 1/sqrt(us)."""
        n = self.n_qubits
        weight = self.eta * np.exp(1j * self.phi_rad)
        total: Matrix = sum((weight[j] * placed(LOWER, j, n) for j in range(n)), np.zeros((2**n, 2**n), dtype=complex))
        return np.sqrt(TWO_PI * self.gamma_mhz) * total

    def jumps(self) -> list[Matrix]:
        """All jump operators: the channel, and relaxation, excitation and dephasing of each qubit."""
        n = self.n_qubits
        found = [self.collective()]
        for j in range(n):
            found.append(np.sqrt((1.0 - self.thermal) / self.t1_us[j]) * placed(LOWER, j, n))
            found.append(np.sqrt(self.thermal / self.t1_us[j]) * placed(LOWER.T, j, n))
            found.append(np.sqrt(2.0 / self.tphi_us[j]) * placed(EXCITED, j, n))
        return found


def placed(operator: Matrix, qubit: int, n: int) -> Matrix:
    """A one-qubit operator among `n` qubits."""
    return np.asarray(np.kron(np.kron(np.eye(2**qubit), operator), np.eye(2 ** (n - qubit - 1))))


@lru_cache(maxsize=4)
def to_pauli(n: int) -> Matrix:
    """`(4^n, 4^n)`: Pauli coordinates of a density matrix that is flattened row by row; its inverse is its adjoint over 2^n."""
    strings = reduce(lambda a, b: np.einsum("aij,bkl->abikjl", a, b).reshape(len(a) * 4, 2 * a.shape[1], -1), [PAULIS] * n)
    rows = strings.transpose(0, 2, 1).reshape(4**n, 4**n)
    rows.setflags(write=False)
    return np.asarray(rows)


def generator(model: Model) -> Floats:
    """Lindblad generator on Pauli coordinates, `(4^N, 4^N)` in 1/us; its first row is zero (trace)."""
    h, jumps = model.hamiltonian(), model.jumps()
    one = np.eye(len(h))
    drift = -1j * h - 0.5 * np.asarray(sum(c.conj().T @ c for c in jumps))
    flat = np.kron(drift, one) + np.kron(one, drift.conj())
    for c in jumps:
        flat += np.kron(c, c.conj())
    basis = to_pauli(model.n_qubits)
    found = (basis @ flat @ basis.conj().T).real / len(h)
    found[0] = 0.0
    return np.ascontiguousarray(found)


def propagate(rate: Floats, start: Floats, durations_ns: NDArray[np.int64]) -> Floats:
    """States `(durations, 4^N)` after whole numbers of ns from one state `(4^N,)`: products of the maps of 1, 2, 4, ... ns."""
    states = np.repeat(start[None], len(durations_ns), axis=0)
    step = expm(rate * STEP_US)
    step[0] = np.eye(len(step))[0]
    longest = int(durations_ns.max())
    for bit in range(longest.bit_length()):
        odd = (durations_ns >> bit) & 1 == 1
        if odd.any():
            states[odd] = states[odd] @ step.T
        if longest >> (bit + 1):
            step = step @ step
    return states


def steady(rate: Floats) -> Floats:
    """The stationary state `(4^N,)`, where it is unique."""
    return np.concatenate(([1.0], np.linalg.solve(rate[1:, 1:], -rate[1:, 0])))


def product(excited: Floats) -> Floats:
    """Uncorrelated qubits with populations of |e> `(N,)`, as Pauli coordinates `(4^N,)`."""
    return np.asarray(reduce(np.kron, [np.array([1.0, 0.0, 0.0, 1.0 - 2.0 * p]) for p in excited]))


def density(state: Floats) -> Matrix:
    """`(2^N, 2^N)` of Pauli coordinates."""
    n = round(np.log2(len(state)) / 2)
    return np.asarray((to_pauli(n).conj().T @ state).reshape(2**n, 2**n) / 2**n)


def coordinates(rho: Matrix) -> Floats:
    """Pauli coordinates `(4^N,)` of a density matrix."""
    return np.asarray((to_pauli(round(np.log2(len(rho)))) @ rho.ravel()).real)


def axis(basis: str, frame_rad: float) -> Floats:
    """Unit vector `(3,)` that is measured: X is e^{i f} sigma^- + h.c., the axis of a drive at phase f; Y is a quarter turn from it."""
    c, s = float(np.cos(frame_rad)), float(np.sin(frame_rad))
    return np.array({"X": (c, -s, 0.0), "Y": (s, c, 0.0), "Z": (0.0, 0.0, 1.0)}[basis])


def outcomes(states: Floats, bases: str, frame_rad: Floats) -> Floats:
    """Probabilities `(..., 2^N)` of the results of a product measurement; qubit 0 most significant, bit 0 is the eigenvalue +1."""
    n = len(bases)
    tensor = states.reshape(-1, *(4,) * n)
    for j, (basis, frame) in enumerate(zip(bases, frame_rad, strict=True)):
        along = axis(basis, float(frame))
        rows = 0.5 * np.array([[1.0, *along], [1.0, *(-along)]])
        tensor = np.moveaxis(np.tensordot(tensor, rows, axes=([1 + j], [1])), -1, 1 + j)
    p = np.clip(tensor.reshape(*states.shape[:-1], 2**n), 0.0, None)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def singlet_fidelity(states: Floats, phi_rad: Floats) -> Floats:
    """Overlap `(...)` of two-qubit states with the pair state that the channel does not see: (1 - <XX> - <YY> - <ZZ>)/4 in its frame."""
    total = np.ones(states.shape[:-1])
    pair = states.reshape(*states.shape[:-1], 4, 4)[..., 1:, 1:]
    for basis in "XYZ":
        total -= np.einsum("...ab,a,b->...", pair, axis(basis, float(phi_rad[0])), axis(basis, float(phi_rad[1])))
    return total / 4.0
