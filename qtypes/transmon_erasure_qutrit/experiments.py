"""The one experiment of the device: prepare, store with pulses and checks, read out."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.transmon_erasure_qutrit import physics
from qtypes.transmon_erasure_qutrit.device import MAX_JOB_SHOTS, MAX_POINTS, RESET_US, SETUP_S, Hidden
from qtypes.transmon_erasure_qutrit.readout import sampled_levels
from qtypes.transmon_erasure_qutrit.sequence import Qutrit, Sequence


class Point(Sequence):
    """One sequence with its preparation and its final rotation."""

    prepare: Literal["g", "e", "f", "superposition"] = Field(description="level, or (|g> + exp(i phase) |f>)/sqrt(2)")
    prepare_phase_rad: float = quantity("rad", "phase of a superposition", ge=-100, le=100, default=0.0)
    measure: Literal["z", "equator"] = Field(
        default="z", description="read out the levels as they are, or after a quarter turn from the direction of axis_rad to f"
    )
    axis_rad: float = quantity("rad", "equatorial direction that the final rotation takes to f", ge=-100, le=100, default=0.0)


class RunSequence(Experiment):
    """Store a state in the g-f qubit, with pi pulses and erasure checks, and return check flags and the raw IQ point of every shot.

    A point is one sequence: reset (it leaves less than 1 % in e); `prepare` by slow, well-tuned pulses; the storage time `duration_us` with
    g-f pi pulses of 0.12 us centred at `pulse_times_us`, of phases `pulse_phases_rad`, and erasure checks of 0.4 us that begin at
    `check_times_us`; a slow, well-tuned quarter turn if `measure` is "equator"; the readout of g, e and f. Pulses are at least 0.3 us
    apart; pulses and checks do not overlap and lie within the storage time. All points of a request have the same number of checks.

    Returns `iq` complex64 (points, shots) in mV and, where there are checks, `flags` uint8 (points, shots, checks), 1 where a check says e.
    Costs points x shots `shots`, one `jobs`, and per shot the storage time + 80 us, per job 5 s, of `lab_s`.
    """

    tool: ClassVar[str] = "run_sequence"

    points: tuple[Point, ...] = Field(min_length=1, max_length=MAX_POINTS, description="the sequences")
    shots: int = quantity("1", "shots per point; points x shots <= 60 000", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunSequence, ...]:
        levels = tuple(Point(prepare=k, duration_us=0.4, check_times_us=(0.0,)) for k in ("g", "e", "f"))
        phases = tuple((k % 2) * 1.5 for k in range(20))
        stored = tuple(
            Point(
                prepare="superposition", prepare_phase_rad=0.5, duration_us=21.4, pulse_times_us=tuple((k + 0.5) * gap for k in range(20)),
                pulse_phases_rad=phases, check_times_us=(21.0,), measure="equator", axis_rad=0.5,
            ) for gap in (1.0, 0.85, 0.75, 0.65)
        )  # fmt: skip
        free = tuple(Point(prepare="superposition", duration_us=t, measure="equator") for t in (2.0, 6.0))
        return cls(points=levels, shots=1000), cls(points=stored, shots=3000), cls(points=free, shots=1000)

    @model_validator(mode="after")
    def _check(self) -> RunSequence:
        if len(self.points) * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"points x shots is {len(self.points) * self.shots}, at most {MAX_JOB_SHOTS}")
        if len({len(p.check_times_us) for p in self.points}) > 1:
            raise ValueError("all points of a request must have the same number of checks")
        return self

    def cost(self) -> Cost:
        n = len(self.points) * self.shots
        us = self.shots * sum(RESET_US + p.duration_us for p in self.points)
        return Cost.of(shots=n, jobs=1, lab_s=us * 1e-6 + SETUP_S)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        qutrit = hidden.qutrit(clock.start_s)
        outcomes = [_outcome(qutrit, p, rng, self.shots) for p in self.points]
        levels, flags = (np.stack(part) for part in zip(*outcomes, strict=True))
        arrays = {"iq": Array(hidden.levels().points(rng, levels), "mV", ("point", "shot"), "integrated readout, I + iQ")}
        if flags.shape[2]:
            arrays["flags"] = Array(flags, "1", ("point", "shot", "check"), "1 where the check says e")
        return Record(arrays, {"points": len(self.points), "shots": self.shots, "t_start_s": clock.start_s})


def _outcome(qutrit: Qutrit, point: Point, rng: np.random.Generator, shots: int) -> tuple[np.ndarray, np.ndarray]:
    """Level at the readout `(shots,)` and flags `(shots, checks)`; every shot has a noise realisation of its own."""
    phases = qutrit.phases(rng, point, shots)
    start = qutrit.prepared(point.prepare, point.prepare_phase_rad, (shots,))
    end, flags = qutrit.run(rng, start, point, phases)
    return sampled_levels(rng, physics.mapped(end, point.axis_rad if point.measure == "equator" else None)), flags
