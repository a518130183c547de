"""The device: what is hidden, what is public, and what acts on the qubits at a time on the lab clock."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.driven_dissipative_transmon_array.physics import Floats, Model
from qtypes.kit.lab_clock_noise import RandomWalk

MAX_QUBITS = 4
MAX_AMP_MHZ = 8.0
MAX_DETUNING_MHZ = 10.0
MAX_EVOLUTION_NS = 100_000
MAX_DURATIONS = 40
MAX_BASES = 16
MAX_JOB_SHOTS = 100_000
RESET_US = 200.0
JOB_S = 2.0
OFFSET_MHZ = 0.4
SCALE_RANGE = (0.85, 1.15)
DETUNING_WALK_KHZ = (6.0, 12.0)
PHASE_WALK_RAD = (0.02, 0.035)
THERMAL = (0.002, 0.008)

Range = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    n_qubits: Literal[2, 4] = Field(default=2, description="number of transmons")
    gamma_mhz: Range = quantity("MHz", "range of the linewidth that the channel gives to the first qubit", default=(1.5, 2.5))
    eta_ratio: Range = quantity("1", "range of the coupling amplitudes relative to the first qubit's", default=(0.92, 1.08))
    t1_us: Range = quantity("us", "range of T1 of a parked qubit", default=(40.0, 70.0))
    tphi_us: Range = quantity("us", "range of the pure dephasing time", default=(30.0, 60.0))
    phase_shift_rad: Range = quantity("rad", "range of the size of the phase shifts since the last cooldown", default=(0.4, 2.6))


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="Hamiltonian, channel, frame, signs, bases and bit order")
    n_qubits: int = quantity("1", "number of transmons")
    amp_max_mhz: float = quantity("MHz", "largest programmed Rabi frequency")
    detuning_max_mhz: float = quantity("MHz", "largest size of a programmed detuning")
    evolution_max_ns: int = quantity("ns", "longest evolution")
    gamma_range_mhz: Range = quantity("MHz", "bounds of the linewidth of the first qubit by the channel: its decay rate is 2 pi times this")
    eta_range: Range = quantity("1", "bounds of each coupling amplitude relative to that of the first qubit")
    t1_range_us: Range = quantity("us", "bounds of T1 of a parked qubit")
    tphi_range_us: Range = quantity("us", "bounds of the pure dephasing time: the coherence of a parked qubit decays at 1/(2 T1) + 1/Tphi")
    scale_range: Range = quantity("1", "bounds of the true over the programmed Rabi frequency")
    offset_max_mhz: float = quantity("MHz", "bound of the true minus the programmed detuning")
    thermal_max: float = quantity("1", "bound of the population of |e> in equilibrium, which the reset leaves too")
    readout_error_max: float = quantity("1", "bound of each assignment error")
    detuning_drift_khz: float = quantity("kHz/sqrt(h)", "bound of the random walk of each detuning")
    phase_drift_rad: float = quantity("rad/sqrt(h)", "bound of the random walk of each phase between a drive and the channel")
    durations_max: int = quantity("1", "most durations of one request")
    bases_max: int = quantity("1", "most bases of one request")
    job_shots_max: int = quantity("1", "most bases x durations x shots of one request")
    reset_us: float = quantity("us", "lab time of one shot in addition to its evolution: reset, pulses, readout")
    job_s: float = quantity("s", "lab time of every job in addition to its shots")


class Hidden(Part):
    """Everything the agent has to find out; tuples have one entry per qubit."""

    gamma_mhz: float = quantity("MHz", "linewidth of a qubit of eta = 1 by the channel", gt=0)
    eta: tuple[float, ...] = quantity("1", "coupling amplitudes", min_length=2, max_length=MAX_QUBITS)
    phi_rad: tuple[float, ...] = quantity("rad", "phase at which the channel couples, in the frame of each qubit's drive line")
    offset_mhz: tuple[float, ...] = quantity("MHz", "true minus programmed detuning at lab clock 0")
    rabi_scale: tuple[float, ...] = quantity("1", "true over programmed Rabi frequency")
    t1_us: tuple[float, ...] = quantity("us", "T1 of the parked qubit")
    tphi_us: tuple[float, ...] = quantity("us", "pure dephasing time")
    thermal: float = quantity("1", "population of |e> in equilibrium and after reset", ge=0, lt=0.5)
    p1_given_g: tuple[float, ...] = quantity("1", "probability to read 1 in |g>")
    p0_given_e: tuple[float, ...] = quantity("1", "probability to read 0 in |e>")
    detuning_walk_khz: float = quantity("kHz/sqrt(h)", "random walk of each detuning", ge=0)
    detuning_seeds: tuple[str, ...] = Field(description="128-bit seeds of these walks, decimal")
    phase_walk_rad: float = quantity("rad/sqrt(h)", "random walk of each phase phi_rad", ge=0)
    phase_seeds: tuple[str, ...] = Field(description="128-bit seeds of these walks, decimal")

    def phases(self, t_s: float) -> Floats:
        """Phases of the channel `(N,)` in rad at a time on the lab clock."""
        return np.array(self.phi_rad) + [float(RandomWalk(self.phase_walk_rad / 60.0, int(s)).value(t_s)) for s in self.phase_seeds]

    def model(
        self, t_s: float, amp_mhz: Sequence[float], phase_rad: Sequence[float], detuning_mhz: Sequence[float], parked: Collection[int] = ()
    ) -> Model:
        """What acts on the qubits under programmed drives at a time on the lab clock; a parked qubit sees neither drive nor channel."""
        walk = self.detuning_walk_khz * 1e-3 / 60.0
        drift = np.array([float(RandomWalk(walk, int(s)).value(t_s)) for s in self.detuning_seeds])
        present = np.array([j not in parked for j in range(len(self.eta))], dtype=float)
        return Model(
            delta_mhz=present * (np.array(detuning_mhz) + self.offset_mhz + drift),
            omega_mhz=present * np.array(amp_mhz) * self.rabi_scale,
            theta_rad=np.array(phase_rad, dtype=float),
            gamma_mhz=self.gamma_mhz,
            eta=present * self.eta,
            phi_rad=self.phases(t_s),
            t1_us=np.array(self.t1_us),
            tphi_us=np.array(self.tphi_us),
            thermal=self.thermal,
        )

    def prepared(self, string: str) -> Floats:
        """Populations of |e> `(N,)` after reset and a pi pulse on each qubit marked `e`."""
        return np.array([1.0 - self.thermal if letter == "e" else self.thermal for letter in string])


def spec_of(profile: Profile) -> Spec:
    """The public spec: the same for every device of a profile."""
    return Spec(
        platform="fixed-coupling transmons with fast flux lines, all coupled to one lossy resonator that is broad enough to act as a"
        " common decay channel; a drive line per qubit, one common drive frequency; dispersive readout",
        conventions="frame of the common drive; H/h = sum_j delta_j n_j + (Omega_j/2)(exp(i theta_j) s_j + h.c.), s_j = |g><e|, delta_j ="
        " qubit minus drive = detuning_mhz + offset, Omega_j = amp_mhz x scale, theta_j = phase_rad; jump operator of the channel sqrt(2 pi"
        " Gamma) sum_j eta_j exp(i phi_j) s_j, eta_0 = 1, the phi_j unknown; relaxation, excitation, dephasing of each qubit on its own."
        " A parked qubit sees neither drive nor channel; all qubits are parked for preparation, analysis pulses and readout, all fast."
        " Basis letters: X measures exp(i f_j) s_j + h.c. with f_j = frame_rad, which is the axis of a drive at phase f_j; Y measures -i"
        " exp(i f_j) s_j + h.c.; Z measures |g><g| - |e><e|. Bit 0 is the eigenvalue +1 (|g> for Z), letter, string position and bit j"
        " belong to qubit j",
        n_qubits=profile.n_qubits,
        amp_max_mhz=MAX_AMP_MHZ,
        detuning_max_mhz=MAX_DETUNING_MHZ,
        evolution_max_ns=MAX_EVOLUTION_NS,
        gamma_range_mhz=profile.gamma_mhz,
        eta_range=profile.eta_ratio,
        t1_range_us=profile.t1_us,
        tphi_range_us=profile.tphi_us,
        scale_range=SCALE_RANGE,
        offset_max_mhz=OFFSET_MHZ + 0.05,
        thermal_max=THERMAL[1],
        readout_error_max=0.06,
        detuning_drift_khz=DETUNING_WALK_KHZ[1],
        phase_drift_rad=PHASE_WALK_RAD[1],
        durations_max=MAX_DURATIONS,
        bases_max=MAX_BASES,
        job_shots_max=MAX_JOB_SHOTS,
        reset_us=RESET_US,
        job_s=JOB_S,
    )
