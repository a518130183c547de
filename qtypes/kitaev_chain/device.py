"""The device: what is hidden, what is public, and its levels and couplings at gate voltages and a time on the lab clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.kit.lab_clock_noise import RandomWalk
from qtypes.kitaev_chain.physics import INDUCED_GAP_UEV, Chain, Floats, Jumps, amplitudes

DOT_MAX_MV = 3.0
ABS_MAX_MV = 6.0
MAX_LINE = 61
MAX_POINTS = 3000
MAX_JOB_SHOTS = 200_000
MAX_TRACE_MS = 1000.0
SAMPLE_MS = 0.01
SHOT_MS = 2.0
SETTLE_MS = 5.0
JOB_S = 2.0
ABS_ZERO_MV = 0.3
ABS_LEVER = (80.0, 140.0)
LEVER = (60.0, 120.0)
CROSS = (0.02, 0.12)
ABS_CROSSTALK = (0.01, 0.05)
OFFSET_MV = 0.8
EMPTY_LEVEL = (0.03, 0.1)
CONTRAST = (0.7, 0.9)
CHARGE_NOISE_UEV = (0.3, 0.8)
POISONING_MS = (0.1, 0.2)
WALK_MV = (0.01, 0.03)
JUMP_MV = 0.1
JUMPS_PER_HOUR = 0.3
THERMOMETER = 0.08
NOMINAL = 0.15

Range = tuple[float, float]
Pair = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    peak_uev: Range = quantity("ueV", "range of the amplitude at which t and Delta are equal", default=(12.0, 24.0))
    u_uev: Range = quantity("ueV", "range of the Coulomb energy between the dots", default=(4.5, 9.0))
    te_mk: Range = quantity("mK", "range of the electron temperature", default=(30.0, 60.0))
    offset_shift_mv: Range = quantity("mV", "range of the size of the shift of each dot's offset since the notebook", default=(0.15, 0.5))


class Spec(Part):
    """What is public; `thermometer_mk` and `lever_nominal_uev_per_mv` are measured and differ from device to device."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="Hamiltonian, gates, sensors, order of pixels")
    dot_max_mv: float = quantity("mV", "largest size of v_l_mv and v_r_mv")
    abs_max_mv: float = quantity("mV", "largest size of v_abs_mv")
    induced_gap_uev: float = quantity("ueV", "gap of the bound state at xi = 0")
    peak_range_uev: Range = quantity("ueV", "bounds of the amplitude at which t and Delta are equal")
    coulomb_range_uev: Range = quantity("ueV", "bounds of U")
    temperature_range_mk: Range = quantity("mK", "bounds of the electron temperature")
    thermometer_mk: float = quantity("mK", "electron temperature by a Coulomb-blockade thermometer beside the device")
    thermometer_error: float = quantity("1", "bound of its relative error")
    lever_nominal_uev_per_mv: Pair = quantity("ueV/mV", "lever arms of the plungers of L, R by a simulation of the gates")
    lever_nominal_error: float = quantity("1", "bound of their relative error")
    abs_lever_range_uev_per_mv: Range = quantity("ueV/mV", "bounds of dxi/dv_abs")
    abs_zero_bound_mv: float = quantity("mV", "bound of the size of v_abs at xi = 0")
    cross_range: Range = quantity("1", "bounds of each dot's coupling to the other plunger relative to its own")
    abs_crosstalk_range: Range = quantity("1", "bounds of each dot's coupling to the gate of the bound state relative to its own")
    offset_bound_mv: float = quantity("mV", "bound of the offset of each dot at lab clock 0")
    empty_level_range: Range = quantity("1", "bounds of a sensor's probability of 1 for an empty dot")
    contrast_range: Range = quantity("1", "bounds of the change of this probability from empty to full")
    noise_range_uev: Range = quantity("ueV", "bounds of the rms of each level's charge noise from pixel to pixel")
    poisoning_range_ms: Range = quantity("ms", "bounds of the correlation time of the parity")
    walk_bound_mv: float = quantity("mV/sqrt(h)", "bound of the random walk of each offset")
    jump_size_mv: float = quantity("mV", "size of a jump of an offset")
    jumps_per_hour: float = quantity("1/h", "mean rate of these jumps in each dot")
    job_shots_max: int = quantity("1", "most shots of one request")
    points_max: int = quantity("1", "most pixels or points of one request")
    shot_ms: float = quantity("ms", "lab time of a shot")
    settle_ms: float = quantity("ms", "lab time for each change of voltages")
    sample_ms: float = quantity("ms", "length of a sample of a time trace")
    job_s: float = quantity("s", "lab time of every job in addition")


class Hidden(Part):
    """Everything the agent has to find out, and two public readings; pairs are (L, R)."""

    peak_uev: float = quantity("ueV", "t and Delta where xi is the induced gap", gt=0)
    u_uev: float = quantity("ueV", "Coulomb energy between the dots", ge=0)
    te_mk: float = quantity("mK", "electron temperature", gt=0)
    abs_zero_mv: float = quantity("mV", "v_abs at xi = 0")
    abs_lever_uev_per_mv: float = quantity("ueV/mV", "dxi/dv_abs", gt=0)
    lever_uev_per_mv: Pair = quantity("ueV/mV", "lever arms of the plungers")
    cross: Pair = quantity("1", "coupling to the other plunger relative to the dot's own")
    abs_crosstalk: Pair = quantity("1", "coupling to the gate of the bound state relative to the dot's own")
    offset_mv: Pair = quantity("mV", "offsets at lab clock 0")
    charge_noise_uev: float = quantity("ueV", "rms of each level from pixel to pixel", ge=0)
    empty_level: Pair = quantity("1", "probability of 1 for an empty dot")
    contrast: Pair = quantity("1", "change of this probability from empty to full")
    poisoning_ms: float = quantity("ms", "correlation time of the parity", gt=0)
    walk_mv: float = quantity("mV/sqrt(h)", "random walk of each offset", ge=0)
    walk_seeds: tuple[str, str] = Field(description="128-bit seeds of these walks, decimal")
    jump_seeds: tuple[str, str] = Field(description="128-bit seeds of the jumps, decimal")
    thermometer_mk: float = quantity("mK", "reading of the thermometer")
    lever_nominal_uev_per_mv: Pair = quantity("ueV/mV", "simulated lever arms")

    def chain(self, v_abs_mv: ArrayLike) -> Chain:
        """Couplings at one or several voltages of the bound state."""
        xi = self.abs_lever_uev_per_mv * (np.asarray(v_abs_mv, dtype=float) - self.abs_zero_mv)
        return Chain(*amplitudes(xi, self.peak_uev), self.u_uev)

    def offsets(self, t_s: ArrayLike) -> tuple[Floats, Floats]:
        """Offsets of L and R in mV at times on the lab clock."""
        found = []
        for start, walk, jump in zip(self.offset_mv, self.walk_seeds, self.jump_seeds, strict=True):
            drift = RandomWalk(self.walk_mv / 60.0, int(walk)).value(t_s)
            found.append(np.asarray(start + drift + Jumps(JUMPS_PER_HOUR / 3600.0, JUMP_MV, int(jump)).value(t_s)))
        return found[0], found[1]

    def levels(self, t_s: ArrayLike, v_l_mv: ArrayLike, v_r_mv: ArrayLike, v_abs_mv: ArrayLike) -> tuple[Floats, Floats]:
        """eps_L, eps_R in ueV; times and voltages broadcast."""
        v, v_abs = (np.asarray(v_l_mv, dtype=float), np.asarray(v_r_mv, dtype=float)), np.asarray(v_abs_mv, dtype=float)
        off = self.offsets(t_s)
        e = [-self.lever_uev_per_mv[j] * (v[j] + self.cross[j] * v[1 - j] + self.abs_crosstalk[j] * v_abs - off[j]) for j in (0, 1)]
        return np.asarray(e[0]), np.asarray(e[1])

    def plungers(self, t_s: float, eps_l: float, eps_r: float, v_abs_mv: float) -> tuple[float, float]:
        """v_l, v_r in mV that put the levels to given energies: the inverse of `levels`."""
        off = [float(o) for o in self.offsets(t_s)]
        wanted = [-e / self.lever_uev_per_mv[j] + off[j] - self.abs_crosstalk[j] * v_abs_mv for j, e in enumerate((eps_l, eps_r))]
        a, b = self.cross
        v_l, v_r = np.linalg.solve(np.array([[1.0, a], [b, 1.0]]), wanted)
        return float(v_l), float(v_r)


def spec_of(hidden: Hidden, profile: Profile) -> Spec:
    """The public spec: the same for every device of a profile but for the two readings."""
    return Spec(
        platform="two spin-polarised quantum dots on either side of a superconducting segment with one Andreev bound state; a charge"
        " sensor at each dot",
        conventions="H = eps_L n_L + eps_R n_R + U n_L n_R + (t d_L^dag d_R + Delta d_L^dag d_R^dag + h.c.); with y = xi / induced gap, t ="
        " 2 peak y/(1 + y^2), Delta = 2 peak/(1 + y^2); xi = abs lever x (v_abs - zero). eps_L = -lever_L (v_l + cross_L v_r + crosstalk_L"
        " v_abs - offset_L), eps_R alike. Poisoning mixes the parities: all four levels are in thermal equilibrium. The parity is constant"
        " within a shot, and independent from shot to shot; the sensors see the mean charge of each dot in this parity, thermally averaged"
        " within it, and give 1 with probability empty level + contrast x <n>, each for itself. In a time trace the parity switches between"
        " and within samples. Maps are taken row by row: v_l is the slow axis",
        dot_max_mv=DOT_MAX_MV,
        abs_max_mv=ABS_MAX_MV,
        induced_gap_uev=INDUCED_GAP_UEV,
        peak_range_uev=profile.peak_uev,
        coulomb_range_uev=profile.u_uev,
        temperature_range_mk=profile.te_mk,
        thermometer_mk=hidden.thermometer_mk,
        thermometer_error=THERMOMETER,
        lever_nominal_uev_per_mv=hidden.lever_nominal_uev_per_mv,
        lever_nominal_error=NOMINAL,
        abs_lever_range_uev_per_mv=ABS_LEVER,
        abs_zero_bound_mv=ABS_ZERO_MV,
        cross_range=CROSS,
        abs_crosstalk_range=ABS_CROSSTALK,
        offset_bound_mv=OFFSET_MV,
        empty_level_range=EMPTY_LEVEL,
        contrast_range=CONTRAST,
        noise_range_uev=CHARGE_NOISE_UEV,
        poisoning_range_ms=POISONING_MS,
        walk_bound_mv=WALK_MV[1],
        jump_size_mv=JUMP_MV,
        jumps_per_hour=JUMPS_PER_HOUR,
        job_shots_max=MAX_JOB_SHOTS,
        points_max=MAX_POINTS,
        shot_ms=SHOT_MS,
        settle_ms=SETTLE_MS,
        sample_ms=SAMPLE_MS,
        job_s=JOB_S,
    )
