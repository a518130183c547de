"""The device: what is hidden, what is public, and how it drifts."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.kit.lab_clock_noise import RandomWalk
from qtypes.trapped_ion_chain.physics import IONS, TWO_PI, Bath, Floats, crystal

AXIAL_MHZ = 0.45
RADIAL_MHZ = 3.05
ETA = 0.08
"""Lamb-Dicke parameter of one ion at omega_x."""
LIGHT_KHZ = 100.0
"""Rabi frequency at which the light shift is quoted."""
OMEGA_MAX_KHZ = 300.0
WEAK_MAX_KHZ = 40.0
MU_MHZ = (2.7, 3.2)
SHOT_MS = 5.0
SETUP_S = 10.0
MAX_SEGMENTS = 40
MAX_PULSE_US = 200
MAX_REPEATS = 4
MAX_POINTS = 100
MAX_JOB_SHOTS = 20_000
NOMINAL_KHZ = 10.0
"""Bound of the difference of a mode from its nominal frequency."""

NOMINAL_MHZ, PARTICIPATION = crystal(IONS, AXIAL_MHZ, RADIAL_MHZ)

Range = tuple[float, float]
Five = Field(min_length=IONS, max_length=IONS)
Row = Annotated[tuple[float, ...], Five]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    pair: tuple[int, int] = quantity("1", "ions of the task's gate, 1 to 5", default=(2, 4))
    shift_khz: Range = quantity("kHz", "range of the size of each mode's shift since the notebook's table", default=(3.0, 6.0))
    stale_error: float = quantity("1", "least error of the best pulses that close the notebook's modes", ge=0, le=0.1, default=0.0)
    nbar_com: Range = quantity("quanta", "range for the centre-of-mass mode", default=(0.05, 0.2))
    nbar_hot: Range = quantity("quanta", "range for every other mode", default=(2.0, 5.0))
    heating_per_s: Range = quantity("quanta/s", "range of the heating rate of the centre-of-mass mode", default=(30.0, 150.0))
    amplitude_noise: Range = quantity("1", "range of the relative rms of the Rabi frequency from shot to shot", default=(0.005, 0.01))


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="ions, signs, Hamiltonian and units")
    axial_mhz: float = quantity("MHz", "nominal axial trap frequency")
    radial_mhz: float = quantity("MHz", "nominal transverse trap frequency")
    nominal_modes_mhz: Row = quantity("MHz", "transverse modes of the ideal crystal, ascending; the true ones are within 10 kHz")
    nominal_within_khz: float = quantity("kHz", "bound of the difference of a mode from its nominal frequency")
    participation: Annotated[tuple[Row, ...], Five] = quantity("1", "b[ion][mode], orthonormal, modes as in nominal_modes_mhz")
    eta: float = quantity("1", "eta[ion][mode] = eta x b[ion][mode] x sqrt(radial_mhz / mode_mhz)")
    omega_max_khz: float = quantity("kHz", "largest Rabi frequency / 2 pi of a gate segment or carrier pulse")
    weak_max_khz: float = quantity("kHz", "largest Rabi frequency / 2 pi of a sideband pulse")
    rabi_scale_range: Range = quantity("1", "bounds of the true Rabi frequency of an ion over the set one")
    mu_range_mhz: Range = quantity("MHz", "range of mu / 2 pi")
    segment_clock_us: float = quantity("us", "segment durations are multiples of this")
    segments_max: int = quantity("1", "most segments of a pulse")
    pulse_max_us: float = quantity("us", "longest pulse")
    repeats_max: int = quantity("1", "most repetitions of a pulse in one shot")
    points_max: int = quantity("1", "most points of a request")
    job_shots_max: int = quantity("1", "most points x shots of a request")
    shot_ms: float = quantity("ms", "lab time of one shot with cooling and detection")
    setup_s: float = quantity("s", "lab time that every job takes in addition")


class Hidden(Part):
    """Everything the agent has to find out."""

    modes_khz: Row = quantity("kHz", "transverse modes at lab clock 0, ascending")
    notebook_modes_khz: Row = quantity("kHz", "the same on the day of the notebook's table")
    walk_khz: float = quantity("kHz/sqrt(s)", "random walk of omega_x, common to all modes", ge=0)
    walk_seed: str = Field(description="128-bit seed of this walk, decimal")
    rabi_scale: Row = quantity("1", "Rabi frequency of each ion over the set one")
    light_shift_khz: float = quantity("kHz", "shift of the qubit under both tones at a Rabi frequency of 100 kHz; quadratic in it")
    nbar: Row = quantity("quanta", "occupation of each mode after cooling")
    heating_per_s: Row = quantity("quanta/s", "heating rate of each mode")
    t2_ms: float = quantity("ms", "1/e time of a Ramsey fringe, Gaussian", gt=0)
    amplitude_noise: float = quantity("1", "relative rms of the Rabi frequency from shot to shot", ge=0)
    dark_read_bright: Row = quantity("1", "probability to read |0> as 1, state preparation included")
    bright_read_dark: Row = quantity("1", "probability to read |1> as 0, state preparation included")

    def walk(self, t_s: float) -> float:
        """Shift of omega_x at a time of the lab clock, kHz."""
        return float(RandomWalk(self.walk_khz, int(self.walk_seed)).value(t_s))

    def modes(self, shift_khz: float) -> Floats:
        """Modes in rad/us with omega_x moved by `shift_khz`, which they follow as the inverse of their frequency."""
        at_start = np.array(self.modes_khz)
        return TWO_PI * 1e-3 * (at_start + shift_khz * at_start[-1] / at_start)

    def eta(self) -> Floats:
        """Lamb-Dicke parameters `(ions, modes)`."""
        return lamb_dicke(np.array(self.modes_khz) * 1e-3)

    def bath(self, wait_us: float = 0.0) -> Bath:
        heating = np.array(self.heating_per_s) * 1e-6
        return Bath(np.array(self.nbar) + heating * wait_us, heating)


def lamb_dicke(modes_mhz: Floats) -> Floats:
    """`(ions, modes)` for modes `(modes,)`."""
    out: Floats = PARTICIPATION * ETA * np.sqrt(RADIAL_MHZ / modes_mhz)
    return out


def spec_of() -> Spec:
    """The public spec, the same for every device."""
    return Spec(
        platform="five 171Yb+ ions in a linear Paul trap; two-tone Raman beams on any pair; global microwave for analysis; camera readout",
        conventions="ions are numbered 1 to 5 along the axis; bit 1 is |1> (bright), column k of a record is ion k + 1; H of a gate = sum"
        " over the two ions i and modes m of eta[i][m] r_i Omega(t) cos(psi(t)) (a_m exp(-i omega_m t) + h.c.) X_i, psi(t) = int mu dt +"
        " phase, psi is the phase of the first segment at its start, r_i the relative Rabi frequency of ion i; the tones are centred on the"
        " shifted qubit, the analysis oscillator is not; Z turns are exp(-i angle Z / 2), Z|0> = |0>; an analysis pulse is"
        " exp(-i pi/4 (X cos(a) + Y sin(a))) on both ions; all frequencies are given over 2 pi",
        axial_mhz=AXIAL_MHZ,
        radial_mhz=RADIAL_MHZ,
        nominal_modes_mhz=tuple(np.round(NOMINAL_MHZ, 6).tolist()),
        nominal_within_khz=NOMINAL_KHZ,
        participation=tuple(tuple(row) for row in np.round(PARTICIPATION, 6).tolist()),
        eta=ETA,
        omega_max_khz=OMEGA_MAX_KHZ,
        weak_max_khz=WEAK_MAX_KHZ,
        rabi_scale_range=(0.94, 1.06),
        mu_range_mhz=MU_MHZ,
        segment_clock_us=1.0,
        segments_max=MAX_SEGMENTS,
        pulse_max_us=float(MAX_PULSE_US),
        repeats_max=MAX_REPEATS,
        points_max=MAX_POINTS,
        job_shots_max=MAX_JOB_SHOTS,
        shot_ms=SHOT_MS,
        setup_s=SETUP_S,
    )
