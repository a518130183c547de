"""Simulator of pulse sequences on one transmon: from per-shot detuning and relaxation rate to outcomes and IQ points.

Measurement is along z and the qubit starts on the z axis, so each shot is fully described by z_final = slope * z_initial + offset. The
covector of the measurement is propagated backwards through the sequence, for all shots of a point at once.

Arrays `(points, shots)` are in the order of the request; "time order" is the order in which the shots are taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qtypes.kit.propagators import TWO_PI, ShotDrives, chunks

Floats = NDArray[np.float64]
CHUNK = 16384


@dataclass(frozen=True)
class Program:
    """A pulse sequence at each point of a sweep.

    `is_drive` (n_steps,) bool; `omega_mhz`, `phase_rad`, `duration_us` (n_steps, points); `offset_mhz` (points,) drive frequency minus
    the nominal one.
    """

    is_drive: NDArray[np.bool_]
    omega_mhz: Floats
    phase_rad: Floats
    duration_us: Floats
    offset_mhz: Floats

    @property
    def points(self) -> int:
        return self.offset_mhz.size

    @property
    def length_us(self) -> Floats:
        """Duration of the sequence at each point, `(points,)`, without the readout."""
        return self.duration_us.sum(axis=0) if self.duration_us.size else np.zeros(self.points)


def z_response(program: Program, delta_mhz: Floats, gamma1: Floats, gamma_phi: float, z_eq: float) -> tuple[Floats, Floats]:
    """`(slope, offset)`, each `(points, shots)`: z before the measurement = slope * z at the start + offset.

    `delta_mhz` drive minus qubit, `gamma1` in 1/us, both `(points, shots)`; `gamma_phi` in 1/us.
    """
    slope, offset = np.empty_like(delta_mhz), np.empty_like(delta_mhz)
    drives, index = _tables(program, delta_mhz, gamma1, gamma_phi, z_eq)
    for p in range(program.points):
        for piece in chunks(delta_mhz.shape[1], CHUNK):
            slope[p, piece], offset[p, piece] = _point(program, p, delta_mhz[p, piece], gamma1[p, piece], gamma_phi, z_eq, drives, index)
    return slope, offset


def _tables(program: Program, delta: Floats, gamma1: Floats, gamma_phi: float, z_eq: float) -> tuple[ShotDrives | None, NDArray[np.intp]]:
    """Maps of the distinct drives, and the number of the one used at each `(step, point)`."""
    index = np.zeros(program.omega_mhz.shape, dtype=np.intp)
    steps = np.flatnonzero(program.is_drive)
    if not steps.size:
        return None, index
    keys = np.stack([a[steps].ravel() for a in (program.omega_mhz, program.phase_rad, program.duration_us)], axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    index[steps] = inverse.reshape(steps.size, program.points)
    span = (float(delta.min()), float(delta.max())), (float(gamma1.min()), float(gamma1.max()))
    return ShotDrives.build(distinct[:, 0], distinct[:, 1], distinct[:, 2], *span, gamma_phi, z_eq), index


def _point(
    program: Program,
    p: int,
    delta: Floats,
    gamma1: Floats,
    gamma_phi: float,
    z_eq: float,
    drives: ShotDrives | None,
    index: NDArray[np.intp],
) -> tuple[Floats, Floats]:
    wx: Floats | None = None  # stays None while the covector is along z: no phase to follow
    wy = np.zeros_like(delta)
    wz, constant = np.ones_like(delta), np.zeros_like(delta)
    basis = np.zeros(0) if drives is None else drives.basis(delta, gamma1)
    for step in range(len(program.is_drive) - 1, -1, -1):
        t = float(program.duration_us[step, p])
        if program.is_drive[step] and drives is not None:
            m = drives.maps(basis, int(index[step, p]))
            if wx is None:
                constant += wz * m[11]
                wx, wy, wz = wz * m[8], wz * m[9], wz * m[10]
            else:
                constant += wx * m[3] + wy * m[7] + wz * m[11]
                wx, wy, wz = (wx * m[c] + wy * m[4 + c] + wz * m[8 + c] for c in range(3))
        elif t > 0.0:
            keep = np.exp(-gamma1 * t)
            constant += wz * (z_eq * (1.0 - keep))
            wz = wz * keep
            if wx is not None:
                angle, shrink = TWO_PI * t * delta, np.sqrt(keep) * np.exp(-gamma_phi * t)
                c, s = shrink * np.cos(angle), shrink * np.sin(angle)
                wx, wy = wx * c + wy * s, wy * c - wx * s
    return wz, constant


def outcome_chain(
    uniform: Floats, p1_after0: Floats, p1_after1: Floats, relaxes: NDArray[np.bool_], first_excited: bool
) -> NDArray[np.bool_]:
    """Outcomes of consecutive shots that start from what the previous one left behind; all arrays `(n,)` in time order.

    Shot k is found excited if `uniform[k]` is below `p1_after0` or `p1_after1`, by the state that shot k-1 left; it leaves |1> if it is
    found excited and does not relax during the readout. `first_excited` is the state left before the first shot.
    """
    out0, out1 = uniform < p1_after0, uniform < p1_after1
    left0, left1 = out0 & ~relaxes, out1 & ~relaxes
    # Each shot maps the state left before it to the state left after it: constant, identity or negation. The state after shot k is the
    # last constant, negated as often as negations follow it.
    n = uniform.size
    constant = left0 == left1
    negations = np.cumsum(left0 & ~left1)
    last = np.maximum.accumulate(np.where(constant, np.arange(n), -1))
    origin = np.where(last >= 0, left0[last], first_excited)
    since = negations - np.where(last >= 0, negations[last], 0)
    after = origin ^ (since & 1).astype(bool)
    before = np.concatenate(([first_excited], after[:-1]))
    return np.where(before, out1, out0)


def parity_signs(rng: np.random.Generator, times_s: Floats, switching_s: float) -> NDArray[np.int8]:
    """Charge parity +-1 at increasing times `(n,)`, int8: a symmetric telegraph process of mean dwell time `switching_s`."""
    p_flip = 0.5 * -np.expm1(-2.0 * np.diff(times_s) / switching_s)
    flips = rng.random(p_flip.size) < p_flip
    start = int(rng.integers(2))
    return (1 - 2 * ((np.concatenate(([0], np.cumsum(flips))) + start) & 1)).astype(np.int8)


def time_order(array: NDArray, interleaved: bool) -> NDArray:
    """`(points, shots)` to `(points * shots,)` in time order: point by point, or cycling through the points shot by shot."""
    return array.T.ravel() if interleaved else array.ravel()


def request_order(flat: NDArray, points: int, interleaved: bool) -> NDArray:
    """Inverse of :func:`time_order`."""
    return np.ascontiguousarray(flat.reshape(-1, points).T) if interleaved else flat.reshape(points, -1)
