"""The device: what is hidden, what is public, how it is drawn and how it drifts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.kit.lab_clock_noise import OrnsteinUhlenbeck, RandomWalk, Telegraph
from qtypes.kit.readout import Clouds

RABI_NOMINAL_MHZ = 20.0
READOUT_US = 1.0
SETUP_S = 1.0
REP_US = (250.0, 20_000.0)
MAX_POINTS = 256
MAX_JOB_SHOTS = 250_000
MAX_DRIVE_NS = 10_000.0
BACKGROUND_CORRELATION_S = 5400.0
TWO_PI = 2.0 * np.pi

Range = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    t1_us: Range = quantity("us", "range of T1 with the two-level defect far away", default=(30.0, 150.0))
    t1_low_ratio: Range = quantity("1", "range of T1 with the defect near, relative to T1 with it far", default=(0.2, 0.45))
    defect_switches: bool = quantity("1", "whether the defect switches in this session; if not it stays far", default=True)
    dwell_far_s: Range = quantity("s", "range of the mean dwell time of the defect in its far position", default=(20.0, 60.0))
    dwell_near_s: Range = quantity("s", "range of the mean dwell time in its near position", default=(8.0, 30.0))
    occupancy_near: Range = quantity("1", "draws whose stationary near occupancy is outside are repeated", default=(0.0, 1.0))
    background_drift: float = quantity("1", "relative standard deviation of the slow background rate", ge=0, le=0.1, default=0.02)
    t2star_us: Range = quantity("us", "range of T2*", default=(12.0, 50.0))
    detuning_bands_mhz: tuple[Range, ...] = quantity("MHz", "bands of |drive - qubit|", default=((0.0, 2.5),), min_length=1)
    thermal_population: Range = quantity("1", "range of the residual excited population", default=(0.02, 0.15))
    misassignment: Range = quantity("1", "range of the probability to read |1> as |0>", default=(0.01, 0.16))
    notebook: Literal["stale_t1", "average_t1", "aliased_ramsey"] = Field(default="stale_t1", description="which story the notebook tells")


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="frame, Hamiltonian, signs and units")
    drive_ghz: float = quantity("GHz", "nominal drive frequency; the qubit is within 2.5 MHz of it")
    rabi_nominal_mhz: float = quantity("MHz", "nominal Rabi frequency at amplitude 1; the true one is within a factor 0.8 to 1.25")
    rabi_factor: Range = quantity("1", "bounds of the true Rabi frequency relative to the nominal one")
    amplitude_max: float = quantity("1", "largest drive amplitude")
    drive_ns: Range = quantity("ns", "shortest and longest drive step; square envelope")
    drive_offset_mhz: Range = quantity("MHz", "range of the drive frequency relative to drive_ghz")
    readout_ns: float = quantity("ns", "integration window of the readout, at the end of each shot")
    rep_period_us: Range = quantity("us", "allowed repetition period; the qubit resets by relaxation alone")
    points_max: int = quantity("1", "most points of one sweep")
    job_shots_max: int = quantity("1", "most points x shots of one request")
    setup_s: float = quantity("s", "lab time that every job takes in addition to its shots")
    charge_dispersion_khz_max: float = quantity("kHz", "upper bound of the charge-parity splitting")
    iq_rotation_deg_per_h_max: float = quantity("deg/h", "upper bound of the drift of the readout phase")


class Defect(Part):
    """A two-level defect (TLS) that couples transversally to the qubit and is switched by one thermal fluctuator."""

    g_khz: float = quantity("kHz", "coupling", gt=0)
    linewidth_mhz: float = quantity("MHz", "decoherence rate gamma / 2 pi of the defect", gt=0)
    near_mhz: float = quantity("MHz", "detuning from the qubit in the near position", ge=0)
    far_mhz: float = quantity("MHz", "detuning in the far position", gt=0)
    dwell_far_s: float = quantity("s", "mean dwell time in the far position", gt=0)
    dwell_near_s: float = quantity("s", "mean dwell time in the near position", gt=0)
    switches: bool = Field(description="whether it switches in this session; if not it stays far")
    seed: str = Field(description="128-bit seed of its switching, decimal")

    def rate(self, near: bool) -> float:
        """Relaxation rate it causes, 2 g^2 gamma / (gamma^2 + Delta^2), in 1/us (Mueller 2015, eq. 3)."""
        g, gamma = TWO_PI * self.g_khz * 1e-3, TWO_PI * self.linewidth_mhz
        delta = TWO_PI * (self.near_mhz if near else self.far_mhz)
        return 2.0 * g**2 * gamma / (gamma**2 + delta**2)

    def fluctuator(self) -> Telegraph:
        """State 1 is the near position."""
        return Telegraph(self.dwell_far_s, self.dwell_near_s, int(self.seed))


class ReadoutPart(Part):
    """The IQ clouds at lab clock 0."""

    centre0_re: float = quantity("mV", "I of the |0> centre")
    centre0_im: float = quantity("mV", "Q of the |0> centre")
    centre1_re: float = quantity("mV", "I of the |1> centre")
    centre1_im: float = quantity("mV", "Q of the |1> centre")
    sigma: float = quantity("mV", "noise per quadrature", gt=0)
    relaxation: float = quantity("1", "probability that |1> relaxes during the readout", ge=0, lt=0.5)
    rotation_deg_per_h: float = quantity("deg/h", "drift of the angle of the IQ plane")

    def clouds(self) -> Clouds:
        return Clouds(complex(self.centre0_re, self.centre0_im), complex(self.centre1_re, self.centre1_im), self.sigma, self.relaxation)


class Hidden(Part):
    """Everything the agent has to find out."""

    drive_ghz: float = quantity("GHz", "nominal drive frequency (public)")
    detuning_mhz: float = quantity("MHz", "drive minus qubit at lab clock 0, parity averaged")
    walk_khz_per_sqrt_h: float = quantity("kHz/sqrt(h)", "random walk of the qubit frequency", ge=0)
    walk_seed: str = Field(description="128-bit seed of this walk, decimal")
    rabi_factor: float = quantity("1", "Rabi frequency relative to nominal", gt=0)
    background_rate: float = quantity("1/us", "relaxation rate without the defect", gt=0)
    background_drift: float = quantity("1", "relative standard deviation of its slow drift", ge=0)
    background_seed: str = Field(description="128-bit seed of this drift, decimal")
    defect: Defect
    gamma_phi: float = quantity("1/us", "white pure dephasing rate", ge=0)
    quasi_static_khz: float = quantity("kHz", "standard deviation of the shot-to-shot detuning", ge=0)
    parity_splitting_khz: float = quantity("kHz", "difference of the qubit frequency between the two charge parities", ge=0)
    parity_dwell_ms: float = quantity("ms", "mean dwell time of a charge parity", gt=0)
    thermal_population: float = quantity("1", "excited population in equilibrium", ge=0, lt=0.5)
    readout: ReadoutPart

    @property
    def z_eq(self) -> float:
        return 1.0 - 2.0 * self.thermal_population

    def near(self, t_s: ArrayLike) -> NDArray[np.uint8]:
        """1 where the defect is near, at lab-clock times."""
        return self.defect.fluctuator().state(t_s) if self.defect.switches else np.zeros(np.shape(t_s), dtype=np.uint8)

    def background(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """Relaxation rate without the defect, 1/us. The drift is bounded at 2.5 standard deviations by a smooth clip."""
        if self.background_drift == 0.0:
            return np.full(np.shape(t_s), self.background_rate)
        slow = OrnsteinUhlenbeck(1.0, BACKGROUND_CORRELATION_S, int(self.background_seed)).value(t_s)
        return self.background_rate * (1.0 + self.background_drift * 2.5 * np.tanh(slow / 2.5))

    def gamma1(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """Relaxation rate at lab-clock times, 1/us."""
        near = self.near(t_s)
        return self.background(t_s) + np.where(near, self.defect.rate(True), self.defect.rate(False))

    def t1_us(self, near: bool, t_s: ArrayLike = 0.0) -> NDArray[np.float64]:
        """T1 with the defect held far or near, at lab-clock times, us."""
        return 1.0 / (self.background(t_s) + self.defect.rate(near))

    def gamma1_windows(self, edges_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean relaxation rate in consecutive windows, 1/us; `(n_edges - 1,)`."""
        share = self.defect.fluctuator().fraction(edges_s) if self.defect.switches else 0.0
        middle = (edges_s[1:] + edges_s[:-1]) / 2
        return self.background(middle) + self.defect.rate(False) + share * (self.defect.rate(True) - self.defect.rate(False))

    def drive_minus_qubit(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """Detuning of the nominal drive at lab-clock times, parity averaged, MHz."""
        walk = RandomWalk(self.walk_khz_per_sqrt_h * 1e-3 / 60.0, int(self.walk_seed))
        return self.detuning_mhz - walk.value(t_s)

    def t2star_us(self) -> float:
        """Time at which the Ramsey envelope has fallen to 1/e with the defect far: the definition of T2* here."""
        from scipy.optimize import brentq  # here, because it takes longer to import than the rest of a worker

        gamma2 = 0.5 / float(self.t1_us(False)) + self.gamma_phi

        def log_envelope(t: float) -> float:
            beat = np.cos(np.pi * self.parity_splitting_khz * 1e-3 * t)
            quasi_static = 0.5 * (TWO_PI * self.quasi_static_khz * 1e-3 * t) ** 2
            return gamma2 * t + quasi_static - np.log(max(float(beat), 1e-12)) - 1.0

        return float(brentq(log_envelope, 1e-3, 1.0 / gamma2 + 1.0))

    def angle_rad(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """Rotation of the IQ plane since lab clock 0."""
        return np.deg2rad(self.readout.rotation_deg_per_h) * np.asarray(t_s, dtype=float) / 3600.0


def spec_of(hidden: Hidden) -> Spec:
    """The public spec: only the nominal drive frequency differs from device to device."""
    return Spec(
        platform="fixed-frequency transmon with dispersive readout at 10 mK, driven by a square-envelope microwave pulse generator",
        conventions="rotating frame of the drive; H/h = delta/2 sigma_z + Omega/2 (cos(phase) sigma_x + sin(phase) sigma_y), delta = drive"
        " minus qubit frequency, |0> has sigma_z = +1 and is the ground state; IQ points in mV, I + iQ; times on the lab clock in s",
        drive_ghz=hidden.drive_ghz,
        rabi_nominal_mhz=RABI_NOMINAL_MHZ,
        rabi_factor=(0.8, 1.25),
        amplitude_max=1.0,
        drive_ns=(4.0, MAX_DRIVE_NS),
        drive_offset_mhz=(-5.0, 5.0),
        readout_ns=READOUT_US * 1e3,
        rep_period_us=REP_US,
        points_max=MAX_POINTS,
        job_shots_max=MAX_JOB_SHOTS,
        setup_s=SETUP_S,
        charge_dispersion_khz_max=3.0,
        iq_rotation_deg_per_h_max=1.5,
    )
