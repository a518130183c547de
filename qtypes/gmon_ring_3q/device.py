"""The device: what is hidden, what is public, and what acts on the ring at a time on the lab clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.gmon_ring_3q.physics import Floats, Ring
from qtypes.kit.lab_clock_noise import RandomWalk

MAX_AMP_MHZ = 8.0
MAX_TONE_MHZ = 400.0
MAX_DURATION_NS = 1500
MAX_DURATIONS = 40
MAX_FREQS = 12
MAX_JOB_SHOTS = 40_000
RESET_US = 200.0
JOB_S = 2.0
FREQUENCY_MHZ = 0.5
GAIN_RANGE = (0.8, 1.2)
SLOPE_PER_MHZ = 0.004
SHIFT_AT_MHZ = 6.0
ALPHA_MHZ = (-205.0, -195.0)
DC_MHZ = (0.3, 1.2)
QUASI_STATIC_MHZ = 0.04
PHASE_WALK_RAD = (0.03, 0.05)
GAPS_MHZ = (62.0, 84.0)
"""Neighbouring frequencies of the ladder of qubits. Gaps near 100 or 200 MHz, half of alpha and alpha, would couple |11> to |20>."""

Range = tuple[float, float]
PAIRS = ("12", "23", "31")


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    t1_us: Range = quantity("us", "range of T1", default=(15.0, 35.0))
    t2_us: Range = quantity("us", "range of T2 without the slow noise", default=(4.0, 8.0))
    shift_mhz: Range = quantity("MHz", "range of the shift that a tone of 6 MHz makes in either qubit of its pair", default=(0.1, 0.8))
    loop_shift_rad: Range = quantity("rad", "range of the size of the change of the loop phase since the notebook", default=(0.8, 3.1))


class Tone(Part):
    """The modulation of one coupler, g(t) = dc + amp cos(2 pi f t - phase)."""

    pair: Literal["12", "23", "31"] = Field(description="the pair of qubits (j, k) that the coupler joins, in this order")
    amp: Annotated[float, Field(ge=0, le=MAX_AMP_MHZ)] = quantity("MHz", "programmed amplitude, twice the hop at unit gain")
    freq_mhz: Annotated[float, Field(ge=-MAX_TONE_MHZ, le=MAX_TONE_MHZ)] = quantity("MHz", "signed frequency f, meets w_j - w_k")
    phase_rad: Annotated[float, Field(ge=-100, le=100)] = quantity("rad", "phase at the beginning of the pulse")


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="Hamiltonian, frame, signs, bases and bit order")
    nominal_mhz: tuple[float, ...] = quantity(
        "MHz", "nominal frequency of each qubit, minus 5 GHz; the frame of X and Y", min_length=3, max_length=3
    )
    frequency_error_mhz: float = quantity("MHz", "bound of the true minus the nominal frequency")
    alpha_range_mhz: Range = quantity("MHz", "bounds of the anharmonicity")
    amp_max_mhz: float = quantity("MHz", "largest programmed amplitude: a hop of 4 MHz at unit gain")
    gain_range: Range = quantity("1", "bounds of the true over the programmed amplitude")
    slope_per_mhz: float = quantity("1/MHz", "bound of the relative change of a gain with the frequency of the tone")
    dc_max_mhz: float = quantity("MHz", "bound of the size of the static coupling that is left in each coupler")
    shift_range_mhz: Range = quantity(
        "MHz", "bounds of the shift of each qubit of a pair by a tone of true amplitude 6 MHz; goes with its square"
    )
    t1_range_us: Range = quantity("us", "bounds of T1")
    t2_range_us: Range = quantity("us", "bounds of T2 = 1/(1/(2 T1) + 1/Tphi), without the slow noise")
    quasi_static_mhz: float = quantity("MHz", "rms of each frequency from shot to shot")
    readout_error_max: float = quantity("1", "bound of each assignment error")
    phase_drift_rad: float = quantity("rad/sqrt(h)", "bound of the random walk of the phase of each line")
    duration_max_ns: int = quantity("ns", "longest pulse")
    durations_max: int = quantity("1", "most durations of one request")
    job_shots_max: int = quantity("1", "most shots of one request, over all durations, frequencies and axes")
    reset_us: float = quantity("us", "lab time of one shot in addition to its pulse: reset, preparation, readout")
    job_s: float = quantity("s", "lab time of every job in addition to its shots")


def _triple(unit: str, text: str, **more: float) -> tuple[float, ...]:
    return quantity(unit, text, min_length=3, max_length=3, **more)  # type: ignore[no-any-return]


class Hidden(Part):
    """Everything the agent has to find out; tuples are over qubits 1, 2, 3 or pairs 12, 23, 31."""

    nominal_mhz: tuple[float, ...] = _triple("MHz", "nominal frequency of each qubit, minus 5 GHz")
    offset_mhz: tuple[float, ...] = _triple("MHz", "true minus nominal frequency, every tone off")
    alpha_mhz: tuple[float, ...] = _triple("MHz", "anharmonicity of each qubit")
    dc_mhz: tuple[float, ...] = _triple("MHz", "static coupling of each pair")
    gain: tuple[float, ...] = _triple("1", "true over programmed amplitude at the nominal difference frequency, per pair")
    slope_per_mhz: tuple[float, ...] = _triple("1/MHz", "relative change of the gain with the size of the tone frequency, per pair")
    line_rad: tuple[float, ...] = _triple("rad", "phase that each line adds to the programmed one at lab clock 0")
    first_shift_mhz: tuple[float, ...] = _triple("MHz", "shift of the first qubit of each pair by its tone at 6 MHz")
    second_shift_mhz: tuple[float, ...] = _triple("MHz", "shift of the second qubit of each pair by its tone at 6 MHz")
    t1_us: tuple[float, ...] = _triple("us", "relaxation time T1 of each qubit")
    t2_us: tuple[float, ...] = _triple("us", "T2 without the slow noise")
    p1_given_0: tuple[float, ...] = _triple("1", "probability to read 1 in |0>")
    p0_given_1: tuple[float, ...] = _triple("1", "probability to read 0 in |1>")
    phase_walk_rad: float = quantity("rad/sqrt(h)", "random walk of each line's phase", ge=0)
    phase_seeds: tuple[str, ...] = Field(min_length=3, max_length=3, description="128-bit seeds of these walks, decimal")

    def lines(self, t_s: float) -> Floats:
        """Phases `(3,)` in rad that the lines add at a time on the lab clock."""
        return np.array(self.line_rad) + [float(RandomWalk(self.phase_walk_rad / 60.0, int(s)).value(t_s)) for s in self.phase_seeds]

    def differences(self) -> Floats:
        """Nominal w_j - w_k `(3,)` of the pairs, MHz."""
        w = np.array(self.nominal_mhz)
        return w - np.roll(w, -1)

    def gains(self, freq_mhz: Floats) -> Floats:
        """True over programmed amplitude `(3,)` of tones at these frequencies."""
        away = np.abs(freq_mhz) - np.abs(self.differences())
        return np.asarray(self.gain * np.clip(1.0 + np.array(self.slope_per_mhz) * away, 0.5, 1.5))

    def ring(self, t_s: float, tones: Sequence[Tone]) -> Ring:
        """What acts under programmed tones (at most one per pair) at a time on the lab clock."""
        amp, freq, phase = np.zeros(3), self.differences(), np.zeros(3)
        for tone in tones:
            c = PAIRS.index(tone.pair)
            amp[c], freq[c], phase[c] = tone.amp, tone.freq_mhz, tone.phase_rad
        true = amp * self.gains(freq)
        strength = (true / SHIFT_AT_MHZ) ** 2
        shift = strength * self.first_shift_mhz + np.roll(strength * self.second_shift_mhz, 1)
        t1, t2 = np.array(self.t1_us), np.array(self.t2_us)
        return Ring(
            frame_mhz=np.array(self.nominal_mhz),
            delta_mhz=np.array(self.offset_mhz) + shift,
            alpha_mhz=np.array(self.alpha_mhz),
            dc_mhz=np.array(self.dc_mhz),
            ac_mhz=true,
            tone_mhz=freq,
            phase_rad=phase + self.lines(t_s),
            t1_us=t1,
            tphi_us=1.0 / (1.0 / t2 - 0.5 / t1),
            sigma_mhz=QUASI_STATIC_MHZ,
        )


def spec_of(hidden: Hidden, profile: Profile) -> Spec:
    """The public spec: the same for every device of a profile but for the nominal frequencies."""
    return Spec(
        platform="three transmons in a ring, a tunable coupler with a fast flux line between each two; the couplers are modulated to make"
        " qubits of different frequency exchange an excitation; dispersive readout",
        conventions="pairs (j, k) are 12, 23, 31; H/h = sum_j w_j n_j + (alpha_j/2) n_j (n_j - 1) + sum_pairs g_jk(t) (a_j^dag a_k + h.c.),"
        " g_jk(t) = dc + gain x amp x cos(2 pi freq_mhz t - phase_rad - line phase), t from the beginning of the pulse. With freq_mhz = w_j"
        " - w_k, which may be negative, the hop is (gain x amp/2) exp(i (phase_rad + line phase)) a_j^dag a_k + h.c. in the frame of the"
        " qubits. The loop phase is the sum over the three pairs of phase_rad + line phase; line phases and gains are unknown. A tone"
        " shifts both qubits of its pair upwards by an amount that goes with its squared true amplitude. Pulses are square, durations whole"
        " ns. Letters of a state or a basis and the last axis of bits are qubits 1, 2, 3. Z: bit 1 is |1> (or above); X, Y in the frame of"
        " nominal_mhz, bit 0 is the eigenvalue +1, + is the eigenvalue +1 of X; a qubit d above"
        " nominal_mhz turns |0> + |1> into |0> + exp(-2 pi i d t) |1>. Assignment errors of the qubits are independent",
        nominal_mhz=hidden.nominal_mhz,
        frequency_error_mhz=FREQUENCY_MHZ,
        alpha_range_mhz=ALPHA_MHZ,
        amp_max_mhz=MAX_AMP_MHZ,
        gain_range=GAIN_RANGE,
        slope_per_mhz=SLOPE_PER_MHZ,
        dc_max_mhz=DC_MHZ[1],
        shift_range_mhz=profile.shift_mhz,
        t1_range_us=profile.t1_us,
        t2_range_us=profile.t2_us,
        quasi_static_mhz=QUASI_STATIC_MHZ,
        readout_error_max=0.06,
        phase_drift_rad=PHASE_WALK_RAD[1],
        duration_max_ns=MAX_DURATION_NS,
        durations_max=MAX_DURATIONS,
        job_shots_max=MAX_JOB_SHOTS,
        reset_us=RESET_US,
        job_s=JOB_S,
    )
