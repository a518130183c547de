"""The device: what is hidden, what is public, and the noise at a time on the lab clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from qtypes.contract import Part, quantity
from qtypes.ion_trap_gate_model.circuit import MAX_GATES, N_IONS, PAIRS
from qtypes.ion_trap_gate_model.physics import R_US, XX_US, NoiseModel
from qtypes.ion_trap_gate_model.target import Target

NEIGHBOURS = tuple((i, k) for i in range(N_IONS) for k in (i - 1, i + 1) if 0 <= k < N_IONS)
"""(lit ion, ion that some of the light falls on), in the order of the crosstalk tuple."""
BAD_ERROR = 0.03
"""A pair is called bad where its error at pi/2 is above this."""
MAX_CIRCUITS = 40
MAX_JOB_SHOTS = 40_000
MAX_JOB_GATES = 3000
MAX_DRIFT_PER_H = 0.003
CYCLE_MS = 5.0
JOB_S = 2.0
CIRCUIT_S = 0.1
SCALE_LIMITS = (0.9, 1.1)

Floats = NDArray[np.float64]
Range = tuple[float, float]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    e0: Range = quantity("1", "range of the error of a pair at angle 0", default=(5e-4, 2e-3))
    e1: Range = quantity("1", "range of what an XX of pi/2 adds to it", default=(2e-3, 1.2e-2))
    bad_e1: Range = quantity("1", "the same for bad pairs", default=(0.04, 0.08))
    bad_pairs: int = quantity("1", "number of bad pairs", ge=1, le=10, default=4)
    moved: int = quantity("1", "bad pairs that the notebook's table has elsewhere", ge=0, le=10, default=3)
    table_scatter: float = quantity("1", "relative scatter of the notebook's table", ge=0, le=1, default=0.2)
    over_rotation: float = quantity("1", "largest relative error of an XX angle, either sign", ge=0, le=0.08, default=0.06)
    crosstalk: float = quantity("1", "largest share of a beam that falls on a neighbour", ge=0, le=0.1, default=0.03)
    one_ion_error: Range = quantity("1", "range of the error of a pulse on one ion", default=(1e-4, 3e-4))
    t2_s: Range = quantity("s", "range of the coherence time", default=(1.0, 3.0))
    spam: Range = quantity("1", "range of either assignment error, preparation included", default=(0.002, 0.01))
    couplings: int = quantity("1", "couplings of each layer of the target, of 28", ge=1, le=28, default=14)
    angle_rad: Range = quantity("rad", "range of their angles", default=(0.1, 0.6))
    least_gain: float = quantity(
        "1", "devices are drawn until the errors of identity and of the table's best assignment are both this much above the least",
        ge=1, le=1.4, default=1.25,
    )  # fmt: skip


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    gates: str = Field(description="the native gates")
    errors: str = Field(description="kinds of errors that this machine shows")
    timing: str = Field(description="how gates are scheduled")
    n_ions: int = quantity("1", "number of ions; any two may be entangled")
    pair_order: str = Field(description="order of per-pair lists")
    bad_error: float = quantity("1", "a pair is called bad where its error at pi/2 is above this")
    r_us: float = quantity("us", "duration of R; RZ takes no time")
    xx_us: float = quantity("us", "duration of XX, whatever its angle")
    cycle_ms: float = quantity("ms", "cooling, preparation and detection of a shot")
    job_s: float = quantity("s", "lab time of a job in addition to its shots")
    circuit_s: float = quantity("s", "lab time to load a circuit")
    max_gates: int = quantity("1", "most gates of a circuit, repetitions included")
    max_job_gates: int = quantity("1", "most gates of a job, over all circuits, repetitions included, shots not counted")
    max_circuits: int = quantity("1", "most circuits of a job")
    max_job_shots: int = quantity("1", "most shots of a job, over all circuits")
    max_over_rotation: float = quantity("1", "upper bound of the relative error of an XX angle")
    max_over_rotation_drift_per_h: float = quantity("1/h", "upper bound of its drift")
    max_beam_spill: float = quantity("1", "upper bound of the share of a beam that falls on a neighbour")
    one_ion_pulse_error: float = quantity("1", "typical error of R")
    t2_between_s: Range = quantity("s", "range of the coherence times")
    target: Target = Field(description="the circuit on logical qubits that this session is about")


class Hidden(Part):
    """Everything the agent has to find out, and the target. Per-pair tuples have 28 entries in the order (0,1), (0,2), ... (6,7)."""

    e0: tuple[float, ...] = quantity("1", "Pauli error probability of XX at angle 0 per pair")
    e1: tuple[float, ...] = quantity("1", "what XX(pi/2) adds to it per pair, in proportion to the angle")
    over_rotation: tuple[float, ...] = quantity("1", "relative error of the XX angle at lab clock 0 per pair")
    over_rotation_drift_per_h: tuple[float, ...] = quantity("1/h", "its drift per pair")
    crosstalk: tuple[float, ...] = quantity("1", "share of a beam on a neighbour, for (lit, neighbour) = (0,1), (1,0), (1,2), ... (7,6)")
    one_ion_error: tuple[float, ...] = quantity("1", "Pauli error probability of R per ion")
    coherence_s: tuple[float, ...] = quantity("s", "T2 per ion")
    p1_given_0: tuple[float, ...] = quantity("1", "probability to read 1 in |0> per ion")
    p0_given_1: tuple[float, ...] = quantity("1", "probability to read 0 in |1> per ion")
    target: Target
    table_e0: tuple[float, ...] = quantity("1", "e0 per pair in the notebook's table")
    table_e1: tuple[float, ...] = quantity("1", "e1 per pair in the notebook's table")

    @property
    def bad_pairs(self) -> frozenset[tuple[int, int]]:
        return bad_pairs(self.e0, self.e1)

    def noise(self, t_s: float) -> NoiseModel:
        """The errors at a time on the lab clock, s."""
        crosstalk = np.zeros((N_IONS, N_IONS))
        for (i, k), share in zip(NEIGHBOURS, self.crosstalk, strict=True):
            crosstalk[i, k] = share
        turned = np.array(self.over_rotation) + np.array(self.over_rotation_drift_per_h) * t_s / 3600.0
        return NoiseModel(
            e0=by_pair(self.e0), e1=by_pair(self.e1), over_rotation=by_pair(turned), crosstalk=crosstalk,
            one_ion_error=np.array(self.one_ion_error), t2_us=1e6 * np.array(self.coherence_s),
        )  # fmt: skip


def by_pair(values: tuple[float, ...] | Floats) -> Floats:
    """Symmetric `(8, 8)` of 28 values in the order of pairs; zero diagonal."""
    out = np.zeros((N_IONS, N_IONS))
    for (a, b), value in zip(PAIRS, values, strict=True):
        out[a, b] = out[b, a] = value
    return out


def bad_pairs(e0: tuple[float, ...], e1: tuple[float, ...]) -> frozenset[tuple[int, int]]:
    """Pairs whose error at pi/2 is above :data:`BAD_ERROR`."""
    return frozenset(pair for pair, a, b in zip(PAIRS, e0, e1, strict=True) if a + b > BAD_ERROR)


def spec_of(hidden: Hidden, profile: Profile) -> Spec:
    return Spec(
        platform="chain of eight 171Yb+ ions in a row, 0 to 7, with one tightly focused Raman beam per ion; readout of all at the end",
        gates="R(theta, phi) = exp(-i theta/2 (cos(phi) X + sin(phi) Y)); RZ(a) = exp(-i a/2 Z), virtual: it shifts the phases of later R"
        " and XX of this ion and nothing is played; XX(theta) = exp(-i theta/2 X X) on any two ions, theta in [-pi/2, pi/2]",
        errors="XX on a pair: with probability e0 + e1 |theta|/(pi/2) one of the 15 Pauli operators, all equally likely; its angle is theta"
        " (1 + delta), delta of the pair; light of either beam on a nearest neighbour of its ion entangles this neighbour with the partner,"
        " XX(kappa theta) with the phase of the beam. R: one of three Pauli operators with a small probability. Every ion dephases all the"
        " time. Readout: bits are misread, each ion for itself",
        timing="gates are played one after another in the order in which they are written, also on different ions",
        n_ions=N_IONS,
        pair_order="(0,1), (0,2), ... (0,7), (1,2), ... (6,7)",
        bad_error=BAD_ERROR,
        r_us=R_US,
        xx_us=XX_US,
        cycle_ms=CYCLE_MS,
        job_s=JOB_S,
        circuit_s=CIRCUIT_S,
        max_gates=MAX_GATES,
        max_job_gates=MAX_JOB_GATES,
        max_circuits=MAX_CIRCUITS,
        max_job_shots=MAX_JOB_SHOTS,
        max_over_rotation=profile.over_rotation,
        max_over_rotation_drift_per_h=MAX_DRIFT_PER_H,
        max_beam_spill=profile.crosstalk,
        one_ion_pulse_error=2e-4,
        t2_between_s=profile.t2_s,
        target=hidden.target,
    )
