"""The device: what is hidden, what is public, and how it drifts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.kit.lab_clock_noise import RandomWalk
from qtypes.transmon_multilevel_pulse.physics import BLANK_NS, TWO_PI, Line, Transmon
from qtypes.transmon_multilevel_pulse.readout import Levels

FULL_SCALE_MHZ = 200.0
"""Nominal Rabi frequency of the 0-1 transition at sample value 1."""
RAD_PER_NS = TWO_PI * FULL_SCALE_MHZ * 1e-3
MAX_SAMPLES = 64
MAX_POINTS = 100
MAX_WAVEFORMS = 64
MAX_DISTINCT = 128
MAX_PULSES = 1000
MAX_JOB_SHOTS = 200_000
MAX_RANDOM_PULSES = 4_000_000
MAX_PADDING_NS = 20_000
MAX_RANDOM_PADDING_NS = 63
DETUNING_MHZ = 20.0
EF_OFFSET_MHZ = (-300.0, -120.0)
READOUT_NS = 600.0
SHOT_US = 50.0
SETUP_S = 5.0
SLOW_NS = 40
"""Length of the laboratory's own preparation and mapping pulses."""
NOMINAL_WITHIN_MHZ = 8.0
GAIN_RANGE = (0.85, 1.15)
OFFSET_MHZ = 0.4

Range = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    alpha_mhz: Range = quantity("MHz", "range of the anharmonicity", default=(-230.0, -190.0))
    tau_ns: Range = quantity("ns", "range of the response time of the line", default=(0.4, 1.2))
    skew: float = quantity("1", "largest quadrature skew and imbalance", ge=0, le=0.2, default=0.05)
    t1_us: Range = quantity("us", "range of T1 of level 1", default=(40.0, 100.0))
    tphi_us: Range = quantity("us", "range of the pure dephasing time", default=(30.0, 100.0))
    swap12: Range = quantity("1", "range of the probability to read level 1 as 2 and 2 as 1", default=(0.03, 0.08))
    notebook: Literal["coherent_trains", "slow_drag"] = Field(default="coherent_trains", description="which story the notebook tells")


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="frame, Hamiltonian, signs and units")
    drive_ghz: float = quantity("GHz", "nominal drive frequency; the 0-1 transition is within 0.4 MHz of it")
    anharmonicity_nominal_mhz: float = quantity("MHz", "anharmonicity by design; the true one is within 8 MHz")
    anharmonicity_within_mhz: float = quantity("MHz", "bound of the difference of the true anharmonicity from the nominal one")
    full_scale_mhz: float = quantity("MHz", "nominal Rabi frequency of the 0-1 transition at a sample value of 1")
    gain_range: Range = quantity("1", "bounds of the true Rabi frequency relative to the nominal one")
    sample_rate_gs: float = quantity("GS/s", "rate of the envelope samples; each is held for its period")
    sample_max: float = quantity("1", "largest magnitude of a sample of i or q")
    waveform_samples_max: int = quantity("1", "most samples of one waveform")
    blank_ns: float = quantity("ns", "the line rings down for this time after the last sample of a waveform, then it is blanked")
    detuning_range_mhz: Range = quantity("MHz", "range of the drive frequency relative to drive_ghz")
    readout_ns: float = quantity("ns", "integration window of the readout, at the end of each shot")
    shot_us: float = quantity("us", "lab time of one shot, active reset included")
    setup_s: float = quantity("s", "lab time that every job takes in addition to its shots")
    slow_pulse_ns: float = quantity("ns", "length of the laboratory's own preparation and mapping pulses")
    points_max: int = quantity("1", "most points of one request")
    job_shots_max: int = quantity("1", "most points x shots of one request")


class Centre(Part):
    """Mean IQ point of a level that does not change during the readout."""

    re: float = quantity("mV", "in-phase part I")
    im: float = quantity("mV", "quadrature part Q")


class Hidden(Part):
    """Everything the agent has to find out."""

    drive_ghz: float = quantity("GHz", "nominal drive frequency (public)")
    anharmonicity_nominal_mhz: float = quantity("MHz", "anharmonicity by design (public)")
    alpha_mhz: float = quantity("MHz", "anharmonicity", lt=0)
    offset_mhz: float = quantity("MHz", "qubit minus nominal drive frequency at lab clock 0")
    gain: float = quantity("1", "gain of the line at lab clock 0, relative to nominal", gt=0)
    tau_ns: float = quantity("ns", "response time of the line", gt=0)
    skew: float = quantity("1", "share of Q that appears in I")
    imbalance: float = quantity("1", "gain of Q relative to that of I, minus 1")
    t1_us: float = quantity("us", "T1 of level 1; level k lives T1/k", gt=0)
    tphi_us: float = quantity("us", "pure dephasing time of the 0-1 coherence", gt=0)
    gain_walk: float = quantity("1/sqrt(h)", "random walk of the gain, relative", ge=0)
    gain_seed: str = Field(description="128-bit seed of this walk, decimal")
    frequency_walk_khz: float = quantity("kHz/sqrt(h)", "random walk of the qubit frequency", ge=0)
    frequency_seed: str = Field(description="128-bit seed of this walk, decimal")
    reset_excited: float = quantity("1", "population of level 1 after reset", ge=0, lt=0.5)
    centres: tuple[Centre, ...] = Field(min_length=4, max_length=4, description="IQ centres of the four levels")
    sigma: float = quantity("mV", "noise per quadrature", gt=0)
    swap12: float = quantity("1", "probability that the rising readout field moves 1 to 2 or 2 to 1", ge=0, lt=0.5)

    def transmon(self, t_s: float, detuning_mhz: float = 0.0) -> Transmon:
        """The transmon at a time of the lab clock, in the frame of a drive at drive_ghz + `detuning_mhz`."""
        walk = RandomWalk(self.frequency_walk_khz * 1e-3 / 60.0, int(self.frequency_seed))
        delta = self.offset_mhz + float(walk.value(t_s)) - detuning_mhz
        return Transmon(delta * 1e-3, self.alpha_mhz * 1e-3, self.t1_us * 1e3, self.tphi_us * 1e3)

    def line(self, t_s: float) -> Line:
        """The control line at a time of the lab clock."""
        walk = RandomWalk(self.gain_walk / 60.0, int(self.gain_seed))
        return Line(self.gain * (1.0 + float(walk.value(t_s))), self.skew, self.imbalance, self.tau_ns)

    def levels(self) -> Levels:
        centres = np.array([complex(c.re, c.im) for c in self.centres])
        return Levels(centres, self.sigma, self.swap12, READOUT_NS / (self.t1_us * 1e3))

    def populations(self) -> NDArray[np.float64]:
        """Populations after reset, `(4,)`."""
        return np.array([1.0 - self.reset_excited, self.reset_excited, 0.0, 0.0])


def spec_of(hidden: Hidden) -> Spec:
    """The public spec: only the nominal frequencies differ from device to device."""
    return Spec(
        platform="transmon with four levels, driven through a band-limited IQ line by a 1 GS/s waveform generator; dispersive readout",
        conventions="frame of the drive at drive_ghz + detuning_mhz; H/h = delta n + (alpha/2) n(n-1) + [I (a + a^dag) + i Q (a^dag - a)] /"
        " (4 pi), delta = qubit minus drive; I, Q = 2 pi x 200 MHz x i, q before the line (so i alone turns about +x, q alone about +y); a"
        " play of phase phi uses (i + iq) exp(i phi), a virtual Z; a waveform with offset_mhz has its own carrier, whose phase at the first"
        " sample is that of the drive; IQ points in mV, I + iQ",
        drive_ghz=hidden.drive_ghz,
        anharmonicity_nominal_mhz=hidden.anharmonicity_nominal_mhz,
        anharmonicity_within_mhz=NOMINAL_WITHIN_MHZ,
        full_scale_mhz=FULL_SCALE_MHZ,
        gain_range=GAIN_RANGE,
        sample_rate_gs=1.0,
        sample_max=1.0,
        waveform_samples_max=MAX_SAMPLES,
        blank_ns=float(BLANK_NS),
        detuning_range_mhz=(-DETUNING_MHZ, DETUNING_MHZ),
        readout_ns=READOUT_NS,
        shot_us=SHOT_US,
        setup_s=SETUP_S,
        slow_pulse_ns=float(SLOW_NS),
        points_max=MAX_POINTS,
        job_shots_max=MAX_JOB_SHOTS,
    )
