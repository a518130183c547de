"""The experiments of the device."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.trapped_ion_state_copy_randomized_measurement import physics
from qtypes.trapped_ion_state_copy_randomized_measurement.device import (
    COPIES_PER_S,
    IONS,
    MAX_BATCHES,
    MAX_COPIES,
    MAX_JOB_COPIES,
    Hidden,
    read,
    sampled,
)
from qtypes.trapped_ion_state_copy_randomized_measurement.physics import Floats

Angle = Annotated[float, Field(ge=-7, le=7)]
Setting = Annotated[tuple[tuple[Angle, Angle, Angle], ...], Field(min_length=IONS, max_length=IONS)]
Pattern = Annotated[str, Field(pattern="^[01]{6}$")]


class _Batches(Experiment):
    """What both experiments share: batches one after the other, an image of the chain before each."""

    n_copies: int = quantity("1", "copies of each batch; batches x copies <= 20 000", ge=1, le=MAX_COPIES)

    def count(self) -> int:
        """Number of batches."""
        raise NotImplementedError

    def outcomes(self, device: Device[Any, Any], times_s: Floats, dark: physics.Ints, rng: np.random.Generator) -> np.ndarray:
        """Bits uint8 `(batches, copies, 6)` before the readout; `dark` `(batches,)` is an ion from 1, or 0."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check(self) -> _Batches:
        if self.count() * self.n_copies > MAX_JOB_COPIES:
            raise ValueError(f"batches x copies is {self.count() * self.n_copies}, at most {MAX_JOB_COPIES}")
        return self

    def _lab_s(self) -> float:
        return self.count() * self.n_copies / COPIES_PER_S

    def starts_s(self, start_s: float) -> Floats:
        """Lab clock at the first copy of each batch `(batches,)` of a job that starts at `start_s`."""
        out: Floats = start_s + np.arange(self.count()) * (self.n_copies / COPIES_PER_S)
        return out

    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        profile: Any = device.profile
        k, times = self.count(), self.starts_s(clock.start_s)
        dark = np.where(rng.random(k) < profile.dark_share, rng.integers(1, IONS + 1, k), 0)
        bits = self.outcomes(device, times, dark, rng)
        lost = np.flatnonzero(dark)
        bits[lost, :, dark[lost] - 1] = 0  # no light whatever was done to it
        seen = read(rng, device.hidden, bits)
        arrays = {
            "bits": Array(seen, "1", ("batch", "copy", "ion"), "1 is bright, read as |1>; column k is ion k + 1"),
            "ion_count": Array((IONS - (dark > 0)).astype(np.uint8), "1", ("batch",), "bright ions in the image before the batch"),
            "time_s": Array(times, "s", ("batch",), "lab clock at the first copy of the batch"),
        }
        return Record(arrays, {"batches": k, "copies": self.n_copies})


class RunRmBatch(_Batches):
    """Batches of copies of the source state, each behind its own local rotations, then the fluorescence readout.

    `euler_rad` holds one entry per batch: angles a, b, c of each of the six ions, U = Rz(c) Ry(b) Rz(a). The rotations of a batch are
    the same for all its copies; each angle b is off by a small relative error. Returns `bits` uint8 (batch, copy, 6), `ion_count` uint8
    (batch,) from the image before the batch, and `time_s` (batch,). Costs batches x copies `copies`, one `jobs`, and 1 s of `lab_s` per 50
    copies.
    """

    tool: ClassVar[str] = "run_rm_batch"

    euler_rad: tuple[Setting, ...] = quantity("rad", "angles a, b, c of each ion, for each batch", min_length=1, max_length=MAX_BATCHES)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunRmBatch, ...]:
        turns = tuple(tuple((0.2 * k + i, 0.3 * k + 0.5 * i, 1.0) for i in range(IONS)) for k in range(8))
        return (cls(euler_rad=turns, n_copies=200),)

    def count(self) -> int:
        return len(self.euler_rad)

    def cost(self) -> Cost:
        return Cost.of(lab_s=self._lab_s(), copies=self.count() * self.n_copies, jobs=1)

    def outcomes(self, device: Device[Any, Any], times_s: Floats, dark: physics.Ints, rng: np.random.Generator) -> np.ndarray:
        h: Hidden = device.hidden
        profile: Any = device.profile
        area = 1.0 + profile.area_noise * rng.standard_normal((self.count(), IONS))
        unitaries = physics.local_unitaries(self.euler_rad, area)
        p = np.empty((self.count(), 2**IONS))
        for ion in np.unique(dark):
            rows = np.flatnonzero(dark == ion)
            p[rows] = physics.outcome_probabilities(h.states(times_s[rows], int(ion)), unitaries[rows])
        return sampled(rng, p, self.n_copies)


class RunReadoutCal(_Batches):
    """Batches of ions prepared in a product state of Z, then the fluorescence readout.

    `states` holds one entry per batch, six characters, ion 1 first: "0" dark, "1" bright. Returns `bits` uint8 (batch, copy, 6),
    `ion_count` uint8 (batch,) and `time_s` (batch,). Costs batches x copies `cal_copies`, one `jobs`, and 1 s of `lab_s` per 50 copies.
    """

    tool: ClassVar[str] = "run_readout_cal"

    states: tuple[Pattern, ...] = quantity("1", "prepared state of each batch", min_length=1, max_length=MAX_BATCHES)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunReadoutCal, ...]:
        return (cls(states=("000000", "111111", "010101", "101010"), n_copies=1000),)

    def count(self) -> int:
        return len(self.states)

    def cost(self) -> Cost:
        return Cost.of(lab_s=self._lab_s(), cal_copies=self.count() * self.n_copies, jobs=1)

    def outcomes(self, device: Device[Any, Any], times_s: Floats, dark: physics.Ints, rng: np.random.Generator) -> np.ndarray:
        rows = np.array([[int(c) for c in s] for s in self.states], dtype=np.uint8)
        return np.repeat(rows[:, None], self.n_copies, axis=1)
