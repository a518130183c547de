"""What a pulse does on the device: final states of the driven pair over shot-to-shot noise. For the gate experiment and for graders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qtypes.trapped_ion_chain import physics
from qtypes.trapped_ion_chain.device import LIGHT_KHZ, Hidden
from qtypes.trapped_ion_chain.physics import TWO_PI, Complexes, Floats, Pulse


def light_phase(hidden: Hidden, energy: ArrayLike, rabi: ArrayLike, scale: ArrayLike) -> Floats:
    """Angle in rad by which light turns a qubit: the shift is quadratic in the Rabi frequency.

    `energy` is the integral of the squared set Rabi frequency in rad^2/us, `rabi` the relative Rabi frequency of the ion, `scale` that of
    the shot; all broadcast.
    """
    reference = (TWO_PI * LIGHT_KHZ * 1e-3) ** 2
    return TWO_PI * hidden.light_shift_khz * 1e-3 * np.asarray(energy) / reference * (np.asarray(rabi) * np.asarray(scale)) ** 2


@dataclass(frozen=True)
class GateReplay:
    """`repeats` pulses on a pair (ions from 1), each followed by a turn of `virtual_z_rad` of both ions about Z.

    `shift_khz` moves omega_x from its value at lab clock 0. The motion is that of the cooled chain.
    """

    hidden: Hidden
    pair: tuple[int, int]
    pulse: Pulse
    virtual_z_rad: float = 0.0
    shift_khz: float = 0.0
    repeats: int = 1

    @cached_property
    def _motion(self) -> tuple[NDArray[np.intp], Complexes]:
        h, ions = self.hidden, np.array(self.pair) - 1
        eta = h.eta()[ions] * np.array(h.rabi_scale)[ions, None]
        return physics.exponents(physics.force(self.pulse, h.modes(self.shift_khz)), eta, h.bath(), self.repeats)

    def state(self, amplitude: float = 0.0, qubit_rad_per_us: float = 0.0) -> Complexes:
        """Density matrix `(4, 4)` from |00> at a relative error of the Rabi frequency and an offset of the qubit frequency."""
        ions = np.array(self.pair) - 1
        light = light_phase(self.hidden, self.pulse.energy, np.array(self.hidden.rabi_scale)[ions], 1.0 + amplitude)
        angles = light + self.virtual_z_rad + qubit_rad_per_us * self.pulse.total
        return physics.final_state(*self._motion, 1.0 + amplitude, angles)

    def fidelity(self, amplitude: float = 0.0, qubit_rad_per_us: float = 0.0) -> float:
        """With exp(-i pi/4 XX)|00>."""
        return physics.bell_fidelity(self.state(amplitude, qubit_rad_per_us))
