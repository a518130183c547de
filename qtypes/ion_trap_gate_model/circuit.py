"""Native circuits: gates, what the lasers play, and what a circuit means.

    R(theta, phi) = exp(-i theta/2 (cos(phi) X + sin(phi) Y)),   RZ(a) = exp(-i a/2 Z),   XX(theta) = exp(-i theta/2 X X)

`RZ` is virtual. `G RZ(a) = RZ(a) G'`, where G' is G with its phase on this ion shifted by -a: the frame f of an ion, the sum of its
angles, shifts the phase of every later pulse to phi - f, and of an `XX` to -f on each of its ions. Nothing is played for it, and light
that was meant for another ion knows nothing of it.

States of n ions have 2^n entries with ion 0 as the highest bit (axis 0 of the reshaped tensor).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Part, quantity

N_IONS = 8
PAIRS = tuple(combinations(range(N_IONS), 2))
"""All pairs in the order in which per-pair tuples are written: (0, 1), (0, 2), ... (6, 7)."""
PAIR_INDEX = {pair: k for k, pair in enumerate(PAIRS)}
MAX_GATES = 2000
MAX_XX_RAD = np.pi / 2
MAX_RAD = 50.0

Complex = NDArray[np.complex128]
Ion = Annotated[int, Field(ge=0, lt=N_IONS)]


class Gate(Part):
    """One native gate: `r` with angle theta and phase phi, `rz` with its angle, `xx` on two ions with theta in [-pi/2, pi/2]."""

    gate: Literal["r", "rz", "xx"] = Field(description="r: R(angle, phase), 10 us; rz: RZ(angle), virtual; xx: XX(angle), 200 us")
    ions: tuple[Ion, ...] = quantity("1", "the ion of r and rz, the two different ions of xx in any order", min_length=1, max_length=2)
    angle: float = quantity("rad", "angle; of xx within -pi/2 and pi/2", ge=-MAX_RAD, le=MAX_RAD)
    phase: float = quantity("rad", "azimuth of the axis of r: 0 is X, pi/2 is Y; 0 for the others", ge=-MAX_RAD, le=MAX_RAD, default=0.0)

    @model_validator(mode="after")
    def _native(self) -> Gate:
        if len(set(self.ions)) != (2 if self.gate == "xx" else 1) or len(set(self.ions)) != len(self.ions):
            raise ValueError(f"ions: {self.gate} acts on {'two different ions' if self.gate == 'xx' else 'one ion'}")
        if self.gate == "xx" and abs(self.angle) > MAX_XX_RAD:
            raise ValueError("angle: that of xx lies within -pi/2 and pi/2")
        if self.gate != "r" and self.phase != 0.0:
            raise ValueError(f"phase: {self.gate} has none")
        return self


def r(ion: int, angle: float, phase: float) -> Gate:
    return Gate(gate="r", ions=(ion,), angle=angle, phase=phase)


def rz(ion: int, angle: float) -> Gate:
    return Gate(gate="rz", ions=(ion,), angle=angle)


def xx(i: int, j: int, angle: float) -> Gate:
    return Gate(gate="xx", ions=(i, j), angle=angle)


@dataclass(frozen=True, slots=True)
class Pulse:
    """What is played: one ion and one phase, or two of each. Phases in rad, in the frame of the laboratory."""

    ions: tuple[int, ...]
    angle: float
    phases: tuple[float, ...]


def played(gates: Sequence[Gate], n: int = N_IONS) -> tuple[list[Pulse], NDArray[np.float64]]:
    """The pulses of a circuit in order, and the frame of each ion at its end `(n,)` in rad."""
    frame = np.zeros(n)
    out: list[Pulse] = []
    for g in gates:
        if g.gate == "rz":
            frame[g.ions[0]] += g.angle
        else:
            out.append(Pulse(g.ions, g.angle, tuple(float(g.phase - frame[k]) for k in g.ions)))
    return out, frame


def rz_matrix(angle: float) -> Complex:
    return np.diag(np.exp(np.array([-0.5j, 0.5j]) * angle))


def r_matrix(theta: float, phi: float) -> Complex:
    c, s = np.cos(theta / 2), np.sin(theta / 2)
    return np.array([[c, -1j * s * np.exp(-1j * phi)], [-1j * s * np.exp(1j * phi), c]])


def on_one(states: Complex, u: Complex, k: int, n: int) -> Complex:
    """`u` `(2, 2)` on qubit k of the columns of `states` `(2^n, ...)`."""
    shape = states.shape
    t = states.reshape(2**k, 2, -1)
    return np.asarray(np.einsum("ab,xbz->xaz", u, t).reshape(shape))


def unitary(gates: Sequence[Gate], n: int = N_IONS) -> Complex:
    """What an error-free device does `(2^n, 2^n)`, gate by gate as the definitions at the top say."""
    dim = 2**n
    out = np.eye(dim, dtype=complex)
    at = np.arange(dim)
    for g in gates:
        if g.gate == "xx":
            i, j = g.ions
            both = 1 << (n - 1 - i) | 1 << (n - 1 - j)
            out = np.cos(g.angle / 2) * out - 1j * np.sin(g.angle / 2) * out[at ^ both]
        else:
            out = on_one(out, r_matrix(g.angle, g.phase) if g.gate == "r" else rz_matrix(g.angle), g.ions[0], n)
    return out
