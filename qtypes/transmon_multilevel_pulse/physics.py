"""Four-level transmon under a band-limited envelope: pulse unitaries, channels, and trains of pulses.

In the frame that rotates with the drive, with a the lowering operator and n = a^dag a,

    H/h = delta n + (alpha/2) n (n-1) + [I(t) (a + a^dag) + i Q(t) (a^dag - a)] / (4 pi),

I and Q in rad/ns (Motzoi et al. 2009; Gambetta et al. 2011). Relaxation acts through sqrt(1/T1) a, so that level k lives T1/k, white
dephasing through sqrt(2/Tphi) n. Frequencies in GHz, times in ns in this module.

A density matrix is stored as 16 real numbers, its coordinates in the orthonormal Hermitian basis of :data:`BASIS`; the first four are the
populations. A channel is a real `(16, 16)` matrix on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

LEVELS = 4
TWO_PI = 2.0 * np.pi
STEP_NS = 0.125
"""Step of the integration of envelopes."""
LONG_STEP_NS = 0.5
"""Step for envelopes longer than `LONG_NS`, whose samples differ little from one to the next."""
LONG_NS = 100
BLANK_NS = 8
"""The line is blanked this long after the last sample; until then it rings down."""

LOWER = np.diag(np.sqrt(np.arange(1.0, LEVELS)), 1).astype(np.complex128)
NUMBER = np.arange(LEVELS, dtype=float)


def _basis() -> Complexes:
    columns = []
    for j in range(LEVELS):
        columns.append(np.outer(np.eye(LEVELS)[j], np.eye(LEVELS)[j]).ravel())
    for j in range(LEVELS):
        for k in range(j + 1, LEVELS):
            for value in (1.0, 1.0j):
                m = np.zeros((LEVELS, LEVELS), dtype=complex)
                m[j, k], m[k, j] = value, np.conj(value)
                columns.append(m.ravel() / np.sqrt(2.0))
    return np.array(columns, dtype=complex).T


BASIS = _basis()
"""Columns are the basis elements, row-major: `BASIS.conj().T @ rho.ravel()` are the coordinates of `rho`."""


@dataclass(frozen=True)
class Line:
    """What the control line does to the samples: gain, quadrature skew and imbalance, one-pole response.

    I' = g (I + skew Q), Q' = g (1 + imbalance) Q, then each passes tau dy/dt = u - y.
    """

    gain: float
    skew: float
    imbalance: float
    tau_ns: float

    def arrive(self, samples: Complexes, step_ns: float) -> Complexes:
        """Envelope I + iQ at the three Gauss nodes of every step, `(..., steps, 3)`, for samples `(..., n)` held for 1 ns each.

        The envelope lasts `n + BLANK_NS` ns; the response between samples is the exact exponential.
        """
        q = np.imag(samples)
        u = self.gain * (np.real(samples) + self.skew * q) + 1j * (self.gain * (1.0 + self.imbalance)) * q
        u = np.concatenate((u, np.zeros((*u.shape[:-1], BLANK_NS))), axis=-1)
        per = round(1.0 / step_ns)
        keep = np.exp(-1.0 / self.tau_ns)
        start = np.empty_like(u)  # the response at the start of every sample
        state = np.zeros(u.shape[:-1], dtype=complex)
        for k in range(u.shape[-1]):
            start[..., k] = state
            state = keep * state + (1.0 - keep) * u[..., k]
        decay = np.exp(-(np.arange(per)[:, None] + GAUSS) * step_ns / self.tau_ns)
        inside = u[..., None, None] + (start - u)[..., None, None] * decay
        return inside.reshape(*u.shape[:-1], -1, 3)


GAUSS = 0.5 + np.array([-1.0, 0.0, 1.0]) * np.sqrt(15.0) / 10.0


@dataclass(frozen=True)
class Transmon:
    """Frequencies in GHz (ordinary), times in ns. `delta_ghz` is the qubit minus the frame of the drive."""

    delta_ghz: float
    alpha_ghz: float
    t1_ns: float
    tphi_ns: float

    def energies(self, offset_ghz: float | Floats = 0.0) -> Floats:
        """Angular frequency of each level, rad/ns, in a frame that rotates `offset_ghz` faster; `(..., 4)`."""
        delta = self.delta_ghz - np.asarray(offset_ghz, dtype=float)[..., None]
        return TWO_PI * (delta * NUMBER + self.alpha_ghz / 2.0 * NUMBER * (NUMBER - 1.0))

    def jumps(self) -> tuple[Complexes, ...]:
        return np.sqrt(1.0 / self.t1_ns) * LOWER, np.sqrt(2.0 / self.tphi_ns) * np.diag(NUMBER).astype(complex)

    def free(self, duration_ns: Floats) -> Floats:
        """Channels `(..., 16, 16)` of free evolution for durations `(...)` in ns."""
        values, vectors = np.linalg.eig(_generator(self.jumps(), np.diag(self.energies())))
        out = (vectors * np.exp(np.asarray(duration_ns, dtype=float)[..., None, None] * values)) @ np.linalg.inv(vectors)
        return np.ascontiguousarray(out.real)

    def pulse_nodes(self, line: Line, samples: Complexes, offset_ghz: Floats) -> Complexes:
        """Unitaries from the start to the end of every step, `(steps + 1, ..., 4, 4)`, in the frame of the pulse's own carrier.

        `samples` (..., n) in rad/ns before the line, `offset_ghz` (...) the carrier minus the frame of the drive. Sixth-order Magnus
        expansion with three Gauss nodes per step (Blanes et al. 2009, eq. 257).
        """
        step = STEP_NS if samples.shape[-1] <= LONG_NS else LONG_STEP_NS
        drive = line.arrive(samples, step)
        static = self.energies(offset_ghz)[..., None, :] * np.eye(LEVELS)
        h = 0.5 * drive[..., None, None] * LOWER.T
        h = h + np.conj(np.swapaxes(h, -1, -2)) + static[..., None, None, :, :]
        values, vectors = np.linalg.eigh(_magnus(h[..., 0, :, :], h[..., 1, :, :], h[..., 2, :, :], step))
        steps = (vectors * np.exp(-1j * values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2))
        steps = np.moveaxis(steps, -3, 0)
        nodes = np.empty((len(steps) + 1, *steps.shape[1:]), dtype=complex)
        nodes[0] = np.eye(LEVELS)
        for k, u in enumerate(steps):
            nodes[k + 1] = u @ nodes[k]
        return nodes

    def unitary(self, line: Line, samples: Complexes, offset_ghz: float = 0.0) -> Complexes:
        """Unitary `(..., 4, 4)` of a pulse without decoherence, in the frame of the drive."""
        nodes = self.pulse_nodes(line, samples, np.asarray(offset_ghz, dtype=float))
        return _from_carrier(nodes[-1], np.asarray(offset_ghz, dtype=float), samples.shape[-1] + BLANK_NS)

    def pulse(self, line: Line, samples: Complexes, offset_ghz: float | Floats = 0.0) -> Floats:
        """Channels `(..., 16, 16)` of pulses with samples `(..., n)` in rad/ns, in the frame of the drive.

        The carrier's phase is that of the drive at the first sample. Decoherence enters by the first Magnus term in the interaction
        picture of the pulse; the next is of the order (duration / T1)^2, about 1e-7.
        """
        offset = np.broadcast_to(np.asarray(offset_ghz, dtype=float), samples.shape[:-1])
        nodes = self.pulse_nodes(line, samples, offset)
        duration = samples.shape[-1] + BLANK_NS
        weight = np.ones(len(nodes))  # Simpson's rule; the number of steps is even
        weight[1:-1:2], weight[2:-1:2] = 4.0, 2.0
        weight *= duration / (len(nodes) - 1) / 3.0
        seen = np.zeros((*samples.shape[:-1], LEVELS**2, LEVELS**2), dtype=complex)
        for jump in self.jumps():
            c = np.conj(np.swapaxes(nodes, -1, -2)) @ jump @ nodes
            seen += _summed_dissipator(c, weight)
        unitary = _from_carrier(nodes[-1], offset, duration)
        return _real(_kron(unitary) @ _exponential(seen))


def _commutator(x: Complexes, y: Complexes) -> Complexes:
    out: Complexes = x @ y - y @ x
    return out


def _magnus(h1: Complexes, h2: Complexes, h3: Complexes, step: float) -> Complexes:
    """Hermitian generator of a step, exp(-i generator), from the Hamiltonian at its three Gauss nodes."""
    a1, a2, a3 = -1j * step * h2, -1j * (np.sqrt(15.0) / 3.0) * step * (h3 - h1), -1j * (10.0 / 3.0) * step * (h3 - 2.0 * h2 + h1)
    c1 = _commutator(a1, a2)
    c2 = _commutator(a1, 2.0 * a3 + c1) / -60.0
    return 1j * (a1 + a3 / 12.0 + _commutator(-20.0 * a1 - a3 + c1, a2 + c2) / 240.0)


def _from_carrier(unitary: Complexes, offset_ghz: Floats, duration_ns: float) -> Complexes:
    phases = np.exp(-1j * TWO_PI * duration_ns * offset_ghz[..., None] * NUMBER)
    return phases[..., :, None] * unitary


def _kron(u: Complexes) -> Complexes:
    """u rho u^dag on row-major vectors."""
    out = np.einsum("...ij,...kl->...ikjl", u, np.conj(u))
    return out.reshape(*u.shape[:-2], LEVELS**2, LEVELS**2)


def _summed_dissipator(c: Complexes, weight: Floats) -> Complexes:
    """Sum over the first axis of weight x D[c], `(..., 16, 16)`."""
    square = np.einsum("t,t...ji,t...jk->...ik", weight, np.conj(c), c)
    eye = np.eye(LEVELS)
    out = np.einsum("t,t...ij,t...kl->...ikjl", weight, c, np.conj(c), optimize=True)
    out = out - 0.5 * np.einsum("...ij,kl->...ikjl", square, eye) - 0.5 * np.einsum("ij,...lk->...ikjl", eye, square)
    return out.reshape(*square.shape[:-2], LEVELS**2, LEVELS**2)


def _generator(jumps: tuple[Complexes, ...], h: Complexes) -> Complexes:
    eye = np.eye(LEVELS)
    out = -1j * (np.kron(h, eye) - np.kron(eye, h.T))
    for c in jumps:
        out = out + _summed_dissipator(c[None], np.ones(1))
    return BASIS.conj().T @ out @ BASIS


def _exponential(x: Complexes) -> Complexes:
    """exp(x) for a small x (norm below 0.05) to 1e-9."""
    eye = np.eye(x.shape[-1])
    return eye + x @ (eye + x @ (eye / 2.0 + x @ (eye / 6.0 + x / 24.0)))


def _real(channel: Complexes) -> Floats:
    return np.ascontiguousarray((BASIS.conj().T @ channel @ BASIS).real)


def rotation(phase_rad: Floats) -> Floats:
    """Channels `(..., 16, 16)` of exp(i phase n): a pulse of this phase is `rotation(phase) @ pulse @ rotation(-phase)`."""
    phase = np.asarray(phase_rad, dtype=float)
    return _real(_kron(np.exp(1j * phase[..., None] * NUMBER)[..., None] * np.eye(LEVELS)))


def state(populations: Floats) -> Floats:
    """Coordinates `(16,)` of a diagonal density matrix."""
    out = np.zeros(LEVELS**2)
    out[:LEVELS] = populations
    return out


def run_random(states: Floats, maps: Floats, choice: NDArray[np.integer]) -> Floats:
    """States `(shots, 16)` after sequences that differ from shot to shot.

    `maps` (kinds, 16, 16) are the possible steps, `choice` (shots, steps) the one that each shot takes. Shots with the same step are
    multiplied together.
    """
    order = np.arange(len(states))
    transposed = np.ascontiguousarray(np.swapaxes(maps, 1, 2))
    current, following = states, np.empty_like(states)
    for step in range(choice.shape[1]):
        kind = choice[order, step]
        sort = np.argsort(kind, kind="stable")
        order, current = order[sort], current[sort]
        ends = np.cumsum(np.bincount(kind, minlength=len(maps)))
        start = 0
        for k, end in enumerate(ends.tolist()):
            if end > start:
                np.matmul(current[start:end], transposed[k], out=following[start:end])
            start = end
        current, following = following, current
    out = np.empty_like(current)
    out[order] = current
    return out
