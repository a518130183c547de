"""What a submitted waveform really does on the device: leakage, phase error, gate error alone and in trains. For graders and authors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from qtypes.transmon_multilevel_pulse import physics
from qtypes.transmon_multilevel_pulse.device import RAD_PER_NS, Hidden
from qtypes.transmon_multilevel_pulse.physics import BASIS, LEVELS, Complexes, Floats

PROBES = np.array([[1, 0], [0, 1], [1, 1], [1, -1], [1, 1j], [1, -1j]], dtype=complex)
PROBES = PROBES / np.linalg.norm(PROBES, axis=1, keepdims=True)
"""The six cardinal states, a 2-design: averages over them are averages over all qubit states."""


def coherent_leakage(unitary: Complexes) -> float:
    """Mean population outside of levels 0 and 1 after a unitary `(4, 4)` on a random qubit state, L1 of Wood and Gambetta (2018)."""
    return float(1.0 - np.sum(np.abs(unitary[:2, :2]) ** 2) / 2.0)


def phase_error(unitary: Complexes) -> float:
    """Half the angle, in rad, by which a pulse followed by the same at phase pi turns the qubit about y; `unitary` (4, 4).

    A turn about x and virtual Z angles drop out of this pair to first order, the tilt of the axis during the pulse adds up (Lucero et
    al. 2010).
    """
    flip = np.array([1.0, -1.0, 1.0, -1.0])
    pair = (flip[:, None] * unitary * flip) @ unitary
    left, _, right = np.linalg.svd(pair[:2, :2])
    closest = left @ right
    closest = closest / np.sqrt(np.linalg.det(closest))
    if closest[0, 0].real < 0.0:
        closest = -closest
    return float(np.arcsin(np.clip(closest[1, 0].real, -1.0, 1.0)))


@dataclass(frozen=True)
class GateReplay:
    """A gate of samples `i`, `q` between virtual Z angles, played on the device at a time of the lab clock.

    The gate is Rz(z_after) pulse Rz(z_before) with Rz(z) = diag(1, exp(i z)), in the frame of a drive at drive_ghz + detuning_mhz. Its
    slot lasts `len(i) + 8` ns; what it should be is X, up to a global phase.
    """

    hidden: Hidden
    i: tuple[float, ...]
    q: tuple[float, ...]
    detuning_mhz: float = 0.0
    z_before_rad: float = 0.0
    z_after_rad: float = 0.0
    t_s: float = 0.0

    @property
    def samples(self) -> Complexes:
        """In rad/ns, before the line."""
        return RAD_PER_NS * (np.array(self.i, dtype=float) + 1j * np.array(self.q, dtype=float))

    @cached_property
    def unitary(self) -> Complexes:
        """Without decoherence, `(4, 4)`, virtual Z angles included."""
        u = self.hidden.transmon(self.t_s, self.detuning_mhz).unitary(self.hidden.line(self.t_s), self.samples)
        after, before = (np.exp(1j * z * physics.NUMBER) for z in (self.z_after_rad, self.z_before_rad))
        return after[:, None] * u * before

    @cached_property
    def channel(self) -> Floats:
        """With decoherence, `(16, 16)`."""
        pulse = self.hidden.transmon(self.t_s, self.detuning_mhz).pulse(self.hidden.line(self.t_s), self.samples)
        out: Floats = physics.rotation(np.array(self.z_after_rad)) @ pulse @ physics.rotation(np.array(self.z_before_rad))
        return out

    @property
    def error(self) -> float:
        """Average gate error of one gate: 1 - mean fidelity over all qubit states; leaked population counts as lost."""
        return self.train(())[0]

    @property
    def leakage(self) -> float:
        """Mean population outside of levels 0 and 1 after one gate."""
        return self.train(())[1]

    def train(self, paddings_ns: ArrayLike) -> tuple[float, float]:
        """Average gate error and leakage per gate of a train with idle `paddings_ns` (gates - 1,) between its gates.

        Both are those of the whole train against X^gates, divided by the number of gates. Zeros give the back-to-back context, integers of
        0 to 30 the random one; idling decoheres and, where the drive is off resonance, turns the qubit.
        """
        gaps = np.asarray(paddings_ns, dtype=float).ravel()
        idle = self.hidden.transmon(self.t_s, self.detuning_mhz).free(gaps)
        total = self.channel
        for channel in idle:
            total = self.channel @ channel @ total
        gates = gaps.size + 1
        fidelity, leakage = qubit_average(total, flips=gates % 2 == 1)
        return (1.0 - fidelity) / gates, leakage / gates


def qubit_average(channel: Floats, flips: bool) -> tuple[float, float]:
    """Mean fidelity with X (or the identity) and mean leakage over all qubit states, of a channel `(16, 16)`."""
    fidelity = leakage = 0.0
    for probe in PROBES:
        start = np.concatenate((probe, np.zeros(LEVELS - 2)))
        wanted = np.concatenate((probe[::-1] if flips else probe, np.zeros(LEVELS - 2)))
        final = channel @ coordinates(np.outer(start, start.conj()))
        fidelity += float(coordinates(np.outer(wanted, wanted.conj())) @ final)
        leakage += float(final[2] + final[3])
    return fidelity / len(PROBES), leakage / len(PROBES)


def coordinates(rho: Complexes) -> Floats:
    """Coordinates `(16,)` of a density matrix `(4, 4)` in the basis of the channels."""
    out: Floats = (BASIS.conj().T @ rho.ravel()).real
    return out
