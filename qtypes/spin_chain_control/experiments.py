"""Requests: a control waveform with product preparations and measurements, and readout references."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.kit.readout import flipped
from qtypes.spin_chain_control.device import (
    BATCHES,
    JOB_S,
    MAX_BASES,
    MAX_CONTROL,
    MAX_JOB_SHOTS,
    MAX_PREPARATIONS,
    MAX_READS,
    MAX_SLICES,
    RESET_US,
    Hidden,
    Spec,
)
from qtypes.spin_chain_control.physics import SPINS, Floats, evolve, outcomes, prepared

Control = Annotated[float, Field(ge=-MAX_CONTROL, le=MAX_CONTROL)]
Line = Annotated[tuple[Control, ...], Field(min_length=1, max_length=MAX_SLICES)]
Preparation = Annotated[str, Field(pattern=r"^[01+\-rl]{3}$")]
Basis = Annotated[str, Field(pattern=r"^[XYZ]{3}$")]
Read = Annotated[int, Field(ge=0, le=MAX_SLICES)]
BIT_ORDER = "0 is the eigenvalue +1 of the measured axis: |0> for Z; entry j of the last axis is spin j"


def _cost(shots: int) -> Cost:
    return Cost.of(lab_s=shots * RESET_US * 1e-6 + JOB_S, shots=shots, jobs=1)


def _bits(strings: NDArray[np.int64]) -> NDArray[np.uint8]:
    return ((strings[..., None] >> np.arange(SPINS - 1, -1, -1)) & 1).astype(np.uint8)


class RunControl(Experiment):
    """Prepare product states, play one control waveform, measure all spins.

    For each preparation, basis and read the spins are prepared (one letter of `0 1 + - r l` per spin), the controls are played from
    their first slice on, and after `reads` slices of 10 ns all spins are measured along the letters of the basis, X and Y turned by
    `frame_rad`. A read of 0 measures the preparation. The shots of a point run in ten batches, one after the other, which all points
    share; detunings are constant in a batch.

    Returns `bits` uint8 (preparation, basis, read, shot, spin). Costs preparations x bases x reads x shots `shots` and one `jobs`; lab time
    200 us per shot and 1 s.
    """

    tool: ClassVar[str] = "run_control"

    controls_rad_per_us: tuple[Line, Line, Line] = quantity("rad/us", "programmed controls, one list per line, one number per 10 ns slice")
    prepare: tuple[Preparation, ...] = Field(min_length=1, max_length=MAX_PREPARATIONS, description="initial states, e.g. `+00`")
    bases: tuple[Basis, ...] = Field(min_length=1, max_length=MAX_BASES, description="strings of X, Y, Z, one letter per spin")
    reads: tuple[Read, ...] = quantity("1", "slices played before the measurement", min_length=1, max_length=MAX_READS)
    frame_rad: float = quantity("rad", "angle of the analysis axes X and Y about Z", ge=-100, le=100, default=0.0)
    shots: int = quantity("1", "shots of each preparation, basis and read", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunControl, ...]:
        driven = cls(
            controls_rad_per_us=((20.0,) * 60, (-10.0,) * 30 + (5.0,) * 30, (-15.0,) * 60), prepare=("+00", "r1-", "0l1"),
            bases=("XYZ", "YXX"), reads=(0, 7, 31, 60), frame_rad=0.4, shots=500,
        )  # fmt: skip
        idle = ((0.0,) * 150, (0.0,) * 150, (0.0,) * 150)
        return driven, cls(controls_rad_per_us=idle, prepare=("+++", "100"), bases=("XXX", "ZZZ"), reads=(100, 150), shots=3500)

    @model_validator(mode="after")
    def _bounded(self) -> RunControl:
        lengths = {len(line) for line in self.controls_rad_per_us}
        if len(lengths) != 1:
            raise ValueError("controls_rad_per_us: all lines need the same number of slices")
        if max(self.reads) > max(lengths):
            raise ValueError(f"reads: {max(self.reads)} is past the last of {max(lengths)} slices")
        if self.points * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"shots: {self.points * self.shots} over all points, at most {MAX_JOB_SHOTS} a job")
        return self

    @property
    def points(self) -> int:
        """Preparations x bases x reads."""
        return len(self.prepare) * len(self.bases) * len(self.reads)

    def cost(self) -> Cost:
        return _cost(self.points * self.shots)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        chain = h.chain(rng, BATCHES)
        states = evolve(chain, np.array(self.controls_rad_per_us), prepared(self.prepare), self.reads)
        batch = np.arange(self.shots) * BATCHES // self.shots
        bits = np.stack([_drawn(rng, outcomes(states, b, self.frame_rad), batch) for b in self.bases]).transpose(2, 0, 1, 3, 4)
        seen = flipped(rng, bits, np.array(h.p1_given_0), np.array(h.p0_given_1))
        axes = ("preparation", "basis", "read", "shot", "spin")
        return Record({"bits": Array(np.ascontiguousarray(seen), "1", axes, BIT_ORDER)}, {"shots": self.shots, "batches": BATCHES})


def _drawn(rng: np.random.Generator, p: Floats, batch: NDArray[np.int64]) -> NDArray[np.uint8]:
    """True bits `(reads, preparations, shots, 3)` from probabilities `(reads, batches, preparations, 8)` and the batch of each shot."""
    edges = np.cumsum(p, axis=-1)[..., :-1].swapaxes(1, 2)[:, :, batch]
    u = rng.random(edges.shape[:-1])
    return _bits((u[..., None] > edges).sum(axis=-1))


class RunReadoutCal(Experiment):
    """Prepare |000> and |111> and read all spins at once.

    Returns `bits` uint8 (state, shot, spin). Costs 2 x shots `shots` and one `jobs`; lab time 200 us per shot and 1 s.
    """

    tool: ClassVar[str] = "run_readout_cal"

    shots: int = quantity("1", "shots of either state", ge=1, le=MAX_JOB_SHOTS // 2)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunReadoutCal, ...]:
        return (cls(shots=2000),)

    def cost(self) -> Cost:
        return _cost(2 * self.shots)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        bits = np.repeat(_bits(np.array([0, 7]))[:, None], self.shots, axis=1)
        seen = flipped(rng, bits, np.array(h.p1_given_0), np.array(h.p0_given_1))
        layout = "state 0 is |000>, state 1 is |111>; " + BIT_ORDER
        return Record({"bits": Array(seen, "1", ("state", "shot", "spin"), layout)}, {"shots": self.shots})
