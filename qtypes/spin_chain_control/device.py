"""The device: what is hidden, what is public, and what acts on the spins in a job."""

from __future__ import annotations

import numpy as np
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.spin_chain_control.physics import SLICE_NS, SPINS, TWO_PI, Chain, Floats

MAX_CONTROL = 4.0 * TWO_PI
"""Largest size of a programmed control, rad/us."""
MAX_SLICES = 150
MAX_PREPARATIONS = 8
MAX_BASES = 8
MAX_READS = 60
MAX_JOB_SHOTS = 30_000
BATCHES = 10
RESET_US = 200.0
JOB_S = 1.0
J_MHZ = (0.8, 1.6)
RATIO = (1.15, 1.6)
DETUNING_MHZ = 0.3
GAIN = (0.93, 1.07)
CROSSTALK = (0.03, 0.12)
P1_GIVEN_0 = (0.01, 0.03)
P0_GIVEN_1 = (0.03, 0.08)

Range = tuple[float, float]


def _three(unit: str, text: str) -> tuple[float, float, float]:
    found: tuple[float, float, float] = quantity(unit, text)
    return found


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    t2_us: Range = quantity("us", "range of the coherence time of each spin", default=(20.0, 60.0))
    tau_ns: Range = quantity("ns", "range of the time constant of the control lines", default=(30.0, 90.0))
    noise_khz: Range = quantity("kHz", "range of the standard deviation of each detuning from batch to batch", default=(10.0, 20.0))
    detuning_shift_mhz: Range = quantity("MHz", "range of the size of the detuning shifts since the last tune-up", default=(0.1, 0.2))


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="Hamiltonian, control lines, signs, states, bases and bit order")
    n_spins: int = quantity("1", "number of spins")
    slice_ns: int = quantity("ns", "length of a slice of a control waveform")
    slices_max: int = quantity("1", "most slices of a waveform")
    control_max_rad_per_us: float = quantity("rad/us", "largest size of a programmed control")
    j_range_mhz: Range = quantity("MHz", "bounds of J/2pi of either bond")
    ratio_range: Range = quantity("1", "bounds of J of bond 1-2 over J of bond 0-1")
    detuning_max_mhz: float = quantity("MHz", "bound of the size of d/2pi of each spin")
    gain_range: Range = quantity("1", "bounds of the gain of each line, C_jj")
    crosstalk_range: Range = quantity("1", "bounds of C_ij/C_jj for i not j")
    tau_range_ns: Range = quantity("ns", "bounds of the time constant of the lines, the same for all three")
    t2_range_us: Range = quantity("us", "bounds of the coherence time of each spin: its coherence decays at 1/T2, populations do not decay")
    noise_range_khz: Range = quantity("kHz", "bounds of the standard deviation of each d/2pi from batch to batch")
    batches: int = quantity("1", "batches of a job, each a tenth of the shots of every point with detunings of its own")
    p1_given_0_range: Range = quantity("1", "bounds of the probability of each spin to read 1 in |0>")
    p0_given_1_range: Range = quantity("1", "bounds of the probability of each spin to read 0 in |1>")
    job_shots_max: int = quantity("1", "most preparations x bases x reads x shots of one request")
    reset_us: float = quantity("us", "lab time of one shot")
    job_s: float = quantity("s", "lab time of every job in addition to its shots")


class Hidden(Part):
    """Everything the agent has to find out; tuples of three have one entry per spin or line."""

    j_mhz: tuple[float, float] = quantity("MHz", "J/2pi of the bonds 0-1 and 1-2")
    detuning_mhz: tuple[float, float, float] = _three("MHz", "mean of d/2pi")
    gain: tuple[float, float, float] = _three("1", "true over programmed control of each line")
    crosstalk: tuple[float, float, float, float, float, float] = quantity(
        "1", "response of spin i to line j over the gain of j, for ij = 01, 02, 10, 12, 20, 21"
    )
    tau_ns: float = quantity("ns", "time constant of the lines", gt=0)
    t2_us: tuple[float, float, float] = _three("us", "coherence times")
    noise_khz: float = quantity("kHz", "standard deviation of each d/2pi from batch to batch", ge=0)
    p1_given_0: tuple[float, float, float] = _three("1", "probability to read 1 in |0>")
    p0_given_1: tuple[float, float, float] = _three("1", "probability to read 0 in |1>")

    @property
    def response(self) -> Floats:
        """C `(3, 3)`: change of the frequency of spin i per filtered control of line j."""
        c = np.eye(SPINS)
        c[~np.eye(SPINS, dtype=bool)] = self.crosstalk
        return np.asarray(c * np.array(self.gain))

    def chain(self, rng: np.random.Generator, batches: int) -> Chain:
        """What acts in so many batches, whose detunings are drawn from `rng`."""
        detuning = np.array(self.detuning_mhz) + rng.normal(0.0, 1e-3 * self.noise_khz, (batches, SPINS))
        return Chain(
            exchange=TWO_PI * np.array(self.j_mhz), detuning=TWO_PI * detuning, response=self.response, tau_us=1e-3 * self.tau_ns,
            t2_us=np.array(self.t2_us),
        )  # fmt: skip


def spec_of(profile: Profile) -> Spec:
    """The public spec: the same for every device of a profile."""
    return Spec(
        platform="three exchange-coupled electron spins in a row of dots; one control line per spin shifts its precession frequency;"
        " single-shot readout of every spin",
        conventions="rotating frame; H = sum_k J_k/2 (X_k X_k+1 + Y_k Y_k+1) + sum_i (d_i + sum_j C_ij v_j(t))/2 Z_i for spins 0, 1,"
        " 2 and bonds k = 0, 1, in rad/us; line j is a first-order low-pass, tau dv_j/dt = u_j - v_j with v_j(0) = 0, of"
        " the programmed u_j, which is constant in each slice; C_jj is the gain, C_ij the crosstalk of line j to spin i."
        " |0> is the eigenstate +1 of Z. Exchange and lines act from t = 0, right after the preparation, until the read;"
        " both are fast. Preparations, one letter per spin: 0, 1; + and - for (|0> +- |1>)/sqrt(2); r and l for (|0> +-"
        " i|1>)/sqrt(2). Basis letters: X measures cos f X + sin f Y with f = frame_rad, Y measures -sin f X + cos f Y, Z"
        " measures Z. Bit 0 is the eigenvalue +1; letter and bit j belong to spin j",
        n_spins=SPINS,
        slice_ns=SLICE_NS,
        slices_max=MAX_SLICES,
        control_max_rad_per_us=MAX_CONTROL,
        j_range_mhz=J_MHZ,
        ratio_range=RATIO,
        detuning_max_mhz=DETUNING_MHZ,
        gain_range=GAIN,
        crosstalk_range=CROSSTALK,
        tau_range_ns=profile.tau_ns,
        t2_range_us=profile.t2_us,
        noise_range_khz=profile.noise_khz,
        batches=BATCHES,
        p1_given_0_range=P1_GIVEN_0,
        p0_given_1_range=P0_GIVEN_1,
        job_shots_max=MAX_JOB_SHOTS,
        reset_us=RESET_US,
        job_s=JOB_S,
    )
