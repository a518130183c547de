"""Envelopes that laboratory and graders know by name: raised cosines with a derivative quadrature, and the laboratory's own slow pulses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qtypes.transmon_multilevel_pulse.device import FULL_SCALE_MHZ, RAD_PER_NS, SLOW_NS, Hidden
from qtypes.transmon_multilevel_pulse.physics import TWO_PI, Floats


def raised_cosine(length: int, amplitude: float = 1.0, beta: float = 0.0, alpha_mhz: float = 1.0) -> NDArray[np.complex128]:
    """Samples i + iq of a raised cosine of `length` ns with DRAG coefficient `beta`, complex `(length,)`.

    i_k = A (1 - cos(2 pi t_k / T)) / 2, q_k = -beta A (pi / T) sin(2 pi t_k / T) / (2 pi alpha), t_k = k + 1/2 ns, alpha in GHz: the
    derivative of i over the anharmonicity (Motzoi et al. 2009; beta = 1 is their first order, 1/2 that of Chow et al. 2010).
    """
    angle = TWO_PI * (np.arange(length) + 0.5) / length
    q = -beta * (np.pi / length) * np.sin(angle) / (TWO_PI * alpha_mhz * 1e-3)
    return amplitude * ((1.0 - np.cos(angle)) / 2.0 + 1j * q)


def slow_pulses(hidden: Hidden, detuning_mhz: float = 0.0) -> tuple[Floats, Floats]:
    """Channels of the laboratory's pi pulses on 0-1 and 1-2, tuned at lab clock 0, in the frame of a drive at `detuning_mhz`."""
    amplitude = 1.0 / (FULL_SCALE_MHZ * 1e-3 * SLOW_NS * hidden.gain)
    ge = raised_cosine(SLOW_NS, amplitude, 0.5, hidden.alpha_mhz)
    ef = raised_cosine(SLOW_NS, amplitude / np.sqrt(2.0))
    offsets = 1e-3 * (np.array([0.0, hidden.alpha_mhz]) + hidden.offset_mhz - detuning_mhz)
    channels = hidden.transmon(0.0, detuning_mhz).pulse(hidden.line(0.0), RAD_PER_NS * np.stack((ge, ef)), offsets)
    return channels[0], channels[1]
