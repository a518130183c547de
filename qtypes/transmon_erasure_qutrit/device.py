"""The device: what is hidden, what is public, and how it drifts."""

from __future__ import annotations

import numpy as np
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.kit.lab_clock_noise import RandomWalk
from qtypes.transmon_erasure_qutrit import physics
from qtypes.transmon_erasure_qutrit.noise import Peak, Spectrum
from qtypes.transmon_erasure_qutrit.readout import Levels
from qtypes.transmon_erasure_qutrit.sequence import CHECK_US, MAX_CHECKS, MAX_PULSES, MAX_US, PULSE_US, SPACING_US, Qutrit

READOUT_US = 0.6
RESET_US = 80.0
SETUP_S = 5.0
MAX_POINTS = 50
MAX_JOB_SHOTS = 60_000
LOW_MHZ = (0.12, 0.28)
HIGH_MHZ = (0.45, 0.85)
STORAGE_US = 24.0
"""The storage time that notebooks talk about."""

Range = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    t1_us: Range = quantity("us", "range of T1 of e", default=(50.0, 90.0))
    over_rotation: float = quantity("1", "largest relative error of the angle of the pulses", ge=0, le=0.1, default=0.02)
    loss: Range = quantity("1", "range of the loss to e per pulse", default=(0.008, 0.012))


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="frame, signs and units")
    pulse_us: float = quantity("us", "length of a g-f pi pulse, centred at its time")
    spacing_us: float = quantity("us", "smallest distance between the centres of two pulses")
    check_us: float = quantity("us", "length of an erasure check, from its time on")
    pulses_max: int = quantity("1", "most pulses of a sequence")
    checks_max: int = quantity("1", "most checks of a sequence")
    duration_max_us: float = quantity("us", "longest storage time")
    readout_us: float = quantity("us", "integration window of the final readout")
    reset_us: float = quantity("us", "reset, preparation and readout of each shot together, in addition to the storage time")
    setup_s: float = quantity("s", "lab time that every job takes in addition to its shots")
    points_max: int = quantity("1", "most points of one request")
    job_shots_max: int = quantity("1", "most points x shots of one request")


class Centre(Part):
    """Mean IQ point of a level that does not change during the readout."""

    re: float = quantity("mV", "in-phase part I")
    im: float = quantity("mV", "quadrature part Q")


class Line(Part):
    """A narrow part of the noise, and how its frequency wanders."""

    centre_mhz: float = quantity("MHz", "centre at lab clock 0", gt=0)
    half_width_khz: float = quantity("kHz", "half width at half maximum", gt=0)
    height: float = quantity("(rad/us)^2/MHz", "one-sided spectrum of the g-e angular frequency at the centre", ge=0)
    walk_khz: float = quantity("kHz/sqrt(h)", "random walk of the centre", ge=0)
    seed: str = Field(description="128-bit seed of this walk, decimal")

    def at(self, t_s: float) -> Peak:
        walk = RandomWalk(self.walk_khz / 60.0, int(self.seed))
        return Peak(self.centre_mhz + 1e-3 * float(walk.value(t_s)), self.half_width_khz * 1e-3, self.height)


class Hidden(Part):
    """Everything the agent has to find out."""

    t1_us: float = quantity("us", "T1 of e; f decays to e twice as fast", gt=0)
    flicker: float = quantity("rad/us", "A of the A^2/f part of the spectrum of the g-e angular frequency", ge=0)
    low: Line = Field(description="the lower peak")
    high: Line = Field(description="the upper peak")
    over_rotation: float = quantity("1", "relative error of the angle of the pi pulses")
    loss: float = quantity("1", "share of the qubit that a pulse leaves in e", ge=0, lt=0.5)
    missed: float = quantity("1", "probability that a check does not flag e", ge=0, lt=0.5)
    false: float = quantity("1", "probability that a check flags g or f", ge=0, lt=0.5)
    dephasing: float = quantity("1", "share of the coherence that a check takes", ge=0, lt=1)
    reset_excited: float = quantity("1", "population of e after the reset", ge=0, lt=0.5)
    centres: tuple[Centre, ...] = Field(min_length=3, max_length=3, description="IQ centres of g, e, f")
    sigma: float = quantity("mV", "noise per quadrature", gt=0)

    def spectrum(self, t_s: float) -> Spectrum:
        """The noise at a time of the lab clock."""
        return Spectrum(self.flicker, (self.low.at(t_s), self.high.at(t_s)))

    def qutrit(self, t_s: float) -> Qutrit:
        """What sequences meet at a time of the lab clock."""
        check = physics.Check(self.missed, self.false, self.dephasing)
        return Qutrit(self.t1_us, self.spectrum(t_s), self.over_rotation, self.loss, check, self.reset_excited)

    def levels(self) -> Levels:
        return Levels(np.array([complex(c.re, c.im) for c in self.centres]), self.sigma, READOUT_US / self.t1_us)


def spec_of() -> Spec:
    """The public spec, the same for every device."""
    return Spec(
        platform="transmon whose g and f levels hold a qubit; e, to which f decays, is the erasure state; dispersive readout and checks",
        conventions="qubit |0> = g, |1> = f, in the frame of the g-f transition; a superposition is (|g> + exp(i phase) |f>)/sqrt(2);"
        " a pi pulse of phase p is a right-handed turn about (cos p, sin p, 0) and takes an equatorial phase x to 2 p - x; the final"
        " rotation takes the state along (cos axis, sin axis, 0) to f and the opposite one to g; IQ points in mV, I + iQ",
        pulse_us=PULSE_US,
        spacing_us=SPACING_US,
        check_us=CHECK_US,
        pulses_max=MAX_PULSES,
        checks_max=MAX_CHECKS,
        duration_max_us=MAX_US,
        readout_us=READOUT_US,
        reset_us=RESET_US,
        setup_s=SETUP_S,
        points_max=MAX_POINTS,
        job_shots_max=MAX_JOB_SHOTS,
    )
