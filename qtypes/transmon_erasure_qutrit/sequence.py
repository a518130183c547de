"""A sequence of pulses and checks in a storage time, and how the device runs through it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Part, quantity
from qtypes.transmon_erasure_qutrit import physics
from qtypes.transmon_erasure_qutrit.noise import Floats, Spectrum
from qtypes.transmon_erasure_qutrit.physics import State

PULSE_US = 0.12
SPACING_US = 0.3
CHECK_US = 0.4
MAX_PULSES = 48
MAX_CHECKS = 6
MAX_US = 40.0
ROUNDING_US = 1e-9

Time = Annotated[float, Field(ge=0, le=MAX_US)]


class Sequence(Part):
    """Pulses and checks within a storage time that begins after the preparation and ends before the final rotation."""

    duration_us: float = quantity("us", "storage time", ge=0, le=MAX_US)
    pulse_times_us: tuple[Time, ...] = quantity("us", "centres of the g-f pi pulses, increasing", max_length=MAX_PULSES, default=())
    pulse_phases_rad: tuple[Annotated[float, Field(ge=-100, le=100)], ...] = quantity(
        "rad", "phases of the pulses, as many: 0 turns about x, pi/2 about y", max_length=MAX_PULSES, default=()
    )
    check_times_us: tuple[Time, ...] = quantity("us", "starts of the erasure checks, increasing", max_length=MAX_CHECKS, default=())

    @model_validator(mode="after")
    def _fits(self) -> Sequence:
        if len(self.pulse_times_us) != len(self.pulse_phases_rad):
            raise ValueError(f"{len(self.pulse_times_us)} pulse times, {len(self.pulse_phases_rad)} phases")
        for name, times, gap in (("pulse", self.pulse_times_us, SPACING_US), ("check", self.check_times_us, CHECK_US)):
            if any(b - a < gap - ROUNDING_US for a, b in pairwise(times)):
                raise ValueError(f"{name} times must increase by at least {gap} us")
        taken = [(t - PULSE_US / 2, t + PULSE_US / 2) for t in self.pulse_times_us] + [(t, t + CHECK_US) for t in self.check_times_us]
        taken.sort()
        for start, end in taken:
            if start < -ROUNDING_US or end > self.duration_us + ROUNDING_US:
                raise ValueError(f"a pulse or check from {start:g} to {end:g} us leaves the storage time of {self.duration_us:g} us")
        for (_, end), (start, _) in pairwise(taken):
            if start < end - ROUNDING_US:
                raise ValueError(f"a pulse or check that starts at {start:g} us overlaps the one before it, which ends at {end:g} us")
        return self

    def events(self) -> list[tuple[float, float | None]]:
        """Time and phase of each pulse, middle of each check with None; in order."""
        pulses: list[tuple[float, float | None]] = list(zip(self.pulse_times_us, self.pulse_phases_rad, strict=True))
        checks: list[tuple[float, float | None]] = [(t + CHECK_US / 2, None) for t in self.check_times_us]
        return sorted(pulses + checks, key=lambda e: e[0])

    def edges(self) -> Floats:
        """Instants between which the qubit idles, from 0 to the end, in us."""
        return np.array([0.0, *(t for t, _ in self.events()), self.duration_us])


@dataclass(frozen=True)
class Qutrit:
    """All that a sequence meets: the device at one time of the lab clock."""

    t1_us: float
    spectrum: Spectrum
    over_rotation: float
    loss: float
    check: physics.Check
    excited: float

    def prepared(self, prepare: str, phase_rad: float, shape: tuple[int, ...]) -> State:
        """The state after the preparation."""
        if prepare == "superposition":
            return physics.superposition(phase_rad, self.excited, shape)
        return physics.level(prepare, self.excited, shape)

    def phases(self, rng: np.random.Generator, sequence: Sequence, shots: int) -> Floats:
        """g-f phases `(windows, shots)` in rad that the noise gives while the qubit idles."""
        return 2.0 * self.spectrum.windows(rng, sequence.edges(), shots)

    def _steps(self, state: State, sequence: Sequence, phases: Floats) -> Iterator[tuple[State, bool]]:
        """The state after each idle time and pulse; True where a check is due, whose result is sent in."""
        edges = sequence.edges()
        angle = np.pi * (1.0 + self.over_rotation)
        for k, (_, phase) in enumerate(sequence.events()):
            state = physics.idle(state, float(edges[k + 1] - edges[k]), self.t1_us, phases[k])
            if phase is None:
                state = yield state, True
            else:
                state = physics.rotate(state, phase, angle, self.loss)
        yield physics.idle(state, float(edges[-1] - edges[-2]), self.t1_us, phases[-1]), False

    def run(self, rng: np.random.Generator, state: State, sequence: Sequence, phases: Floats) -> tuple[State, NDArray[np.uint8]]:
        """Final normalised states `(shots,)` and the flags of all checks `(shots, checks)`, uint8."""
        flags: list[NDArray[np.uint8]] = []
        steps = self._steps(state, sequence, phases)
        state, due = next(steps)
        while due:
            state, flag = self.check.sampled(rng, state)
            flags.append(flag)
            state, due = steps.send(state)
        shots = phases.shape[1]
        return state, np.stack(flags, axis=1) if flags else np.zeros((shots, 0), dtype=np.uint8)

    def kept(self, state: State, sequence: Sequence, phases: Floats) -> State:
        """Final states of the shots without a flag, times the probability of having none; `state` may have leading axes."""
        steps = self._steps(state, sequence, phases)
        state, due = next(steps)
        while due:
            state, due = steps.send(self.check.outcome(state, False))
        return state
