"""The device: what is hidden, what is public, what a shot takes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.kit.lab_clock_noise import OrnsteinUhlenbeck
from qtypes.nv_sensor_network.physics import GAMMA, readout_fidelity

DEAD_US = 30.0
LINK_US = 3.0
SETUP_S = 0.05
REFOCUS_S = 4.0
CAMERA_SHARE = 1.0 / 9.0
POSITION_UNCERTAINTY = 0.02
TAU_US = (0.2, 400.0)
B0_LIMIT_NT = 2000.0
MAX_NODES = 6
MAX_BLOCK = 4
MAX_POINTS = 16
MAX_VISITS = 200
MAX_PERIOD_S = 10.0
MAX_JOB_SHOTS = 250_000

Range = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    positions_mm: tuple[float, ...] = quantity(
        "mm", "nominal positions of the nodes", min_length=2, max_length=MAX_NODES, default=(0.0, 2.0, 4.0, 6.0)
    )
    gradient_nt_per_mm: float = quantity("nT/mm", "largest |field gradient|", ge=0, le=100, default=40.0)
    local_rms_nt: Range = quantity("nT", "range of the rms of the local noise", default=(60.0, 200.0))
    local_correlation_us: Range = quantity("us", "range of its correlation time (logarithmic)", default=(60.0, 300.0))
    common_rms_nt: Range = quantity("nT", "range of the rms of the common field; (0, 0) for none", default=(200.0, 500.0))
    common_correlation_s: Range = quantity("s", "range of its correlation time (logarithmic)", default=(2.0, 60.0))
    readout_fidelity: Range = quantity("1", "range of the readout fidelity of the counter", default=(0.15, 0.35))
    link_fidelity: Range = quantity("1", "range of the contrast kept per added node and direction", default=(0.94, 0.99))
    notebook: Literal["two_delays", "node_by_node"] = Field(default="node_by_node", description="which story the notebook tells")


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    conventions: str = Field(description="fringes, signs and units")
    gamma_hz_per_nt: float = quantity("Hz/nT", "gyromagnetic ratio over 2 pi")
    nominal_positions_mm: tuple[float, ...] = quantity("mm", "positions of the nodes along the line")
    position_uncertainty: float = quantity("1", "each true position is within this fraction of the nominal one")
    b0_limit_nt: float = quantity("nT", "the uniform field lies within plus or minus this")
    gradient_limit_nt_per_mm: float = quantity("nT/mm", "the gradient lies within plus or minus this")
    noise_model: str = Field(description="class of noise models")
    tau_us: Range = quantity("us", "shortest and longest free precession")
    dead_us: float = quantity("us", "initialisation and readout of a shot, in all modes")
    link_us: float = quantity("us", "more per node that is added to an entangled block")
    block_max: int = quantity("1", "most nodes of the one entangled block")
    camera_share: float = quantity("1", "photons per node in a camera frame relative to the counter")
    refocus_s: float = quantity("s", "time of moving the counter from one node to another; it rests on node 0 between jobs")
    setup_s: float = quantity("s", "time that every job takes in addition")
    points_max: int = quantity("1", "most points of a request")
    visits_max: int = quantity("1", "most visits of a request")
    job_shots_max: int = quantity("1", "most shots of one request, over points and visits")


class Hidden(Part):
    """Everything the agent has to find out."""

    nominal_mm: tuple[float, ...] = quantity("mm", "nominal positions (public)")
    positions_mm: tuple[float, ...] = quantity("mm", "true positions")
    b0_nt: float = quantity("nT", "uniform field at position 0")
    gradient_nt_per_mm: float = quantity("nT/mm", "field gradient")
    local_rms_nt: float = quantity("nT", "rms of the local noise, alike at all nodes", gt=0)
    local_correlation_us: float = quantity("us", "its correlation time", gt=0)
    common_rms_nt: float = quantity("nT", "rms of the common field", ge=0)
    common_correlation_s: float = quantity("s", "its correlation time", gt=0)
    common_seed: str = Field(description="128-bit seed of the common field, decimal")
    bright: float = quantity("1", "mean photon number of |0> in the counter at lab clock 0", gt=0)
    dark_ratio: float = quantity("1", "photons of |1> relative to |0>", gt=0, lt=1)
    link_fidelity: float = quantity("1", "contrast kept per added node and direction", gt=0, le=1)
    laser_drift_per_h: float = quantity("1/h", "relative drift of the laser power")

    def common_nt(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """The wandering common field at lab-clock times, nT."""
        if self.common_rms_nt == 0.0:
            return np.zeros(np.shape(t_s))
        return OrnsteinUhlenbeck(self.common_rms_nt, self.common_correlation_s, int(self.common_seed)).value(t_s)

    def static_nt(self) -> NDArray[np.float64]:
        """Field at each node without noise, nT."""
        return self.b0_nt + self.gradient_nt_per_mm * np.array(self.positions_mm)

    def photons(self, t_s: ArrayLike, camera: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean photon numbers of |0> and |1> at lab-clock times."""
        power = 1.0 + self.laser_drift_per_h * np.asarray(t_s, dtype=float) / 3600.0
        bright = self.bright * power * (CAMERA_SHARE if camera else 1.0)
        return bright, bright * self.dark_ratio

    @property
    def readout(self) -> float:
        """Readout fidelity of the counter at lab clock 0."""
        return readout_fidelity(self.bright, self.bright * self.dark_ratio)


def dead_us(n: int) -> float:
    """Time of a shot beside its free precession, us, for a block of n nodes."""
    return DEAD_US + LINK_US * (n - 1)


def spec_of(hidden: Hidden, profile: Profile) -> Spec:
    """The public spec: nothing in it differs from device to device."""
    wander = "" if profile.common_rms_nt[1] == 0.0 else (
        "; a common field, equal at all nodes, of the same class on the scale of seconds to a minute, that is constant within a shot"
    )  # fmt: skip
    return Spec(
        platform="NV centres in diamond at nodes on a line, one confocal photon counter, a camera, heralded entanglement",
        conventions="phase of node j: 2 pi gamma times the integral of B_j over tau (echo: second half with the opposite sign); a block"
        " adds the phases of its nodes with their signs; mean photon number ="
        " dark + (bright - dark)/2 (1 + contrast cos(phase - phase_rad)); |0> is bright; fields in nT, times on the lab clock in s",
        gamma_hz_per_nt=GAMMA / (2e-6 * np.pi),
        nominal_positions_mm=profile.positions_mm,
        position_uncertainty=POSITION_UNCERTAINTY,
        b0_limit_nt=B0_LIMIT_NT,
        gradient_limit_nt_per_mm=profile.gradient_nt_per_mm,
        noise_model="B_j = B0 + G x_j + b_j(t): b_j local Ornstein-Uhlenbeck noise, independent at each node, of equal rms and correlation"
        " time, which may be shorter or longer than a shot" + wander,
        tau_us=TAU_US,
        dead_us=DEAD_US,
        link_us=LINK_US,
        block_max=MAX_BLOCK,
        camera_share=CAMERA_SHARE,
        refocus_s=REFOCUS_S,
        setup_s=SETUP_S,
        points_max=MAX_POINTS,
        visits_max=MAX_VISITS,
        job_shots_max=MAX_JOB_SHOTS,
    )
