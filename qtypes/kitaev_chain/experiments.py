"""Requests: charge maps, cuts along any list of voltages, and a time trace of the sensors."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.kit.lab_clock_noise import Telegraph
from qtypes.kitaev_chain.device import (
    ABS_MAX_MV,
    DOT_MAX_MV,
    JOB_S,
    MAX_JOB_SHOTS,
    MAX_LINE,
    MAX_POINTS,
    MAX_TRACE_MS,
    SAMPLE_MS,
    SETTLE_MS,
    SHOT_MS,
    Hidden,
    Spec,
)
from qtypes.kitaev_chain.physics import Floats

Volts = Annotated[float, Field(ge=-DOT_MAX_MV, le=DOT_MAX_MV)]
LAYOUT = "1 is the sensor's signal of a full dot; entry 0 of the last axis is the left dot, 1 the right one"
RARE = 1e-6
"""Least weight of a parity in a time trace; keeps dwell times finite."""


def _line(text: str) -> Any:
    return quantity("mV", text, min_length=1, max_length=MAX_LINE)


def _plunger(dot: str) -> Any:
    return quantity("mV", f"voltage of the {dot} plunger", ge=-DOT_MAX_MV, le=DOT_MAX_MV)


def _bound_state() -> Any:
    return quantity("mV", "voltage of the bound state's gate", ge=-ABS_MAX_MV, le=ABS_MAX_MV)


class Point(Part):
    """One setting of the three gates."""

    v_l_mv: float = _plunger("left")
    v_r_mv: float = _plunger("right")
    v_abs_mv: float = _bound_state()


def _cost(points: int, shots: int) -> Cost:
    lab_s = points * (shots * SHOT_MS + SETTLE_MS) * 1e-3 + JOB_S
    return Cost.of(lab_s=lab_s, shots=points * shots, jobs=1)


def _bounded(points: int, shots: int) -> None:
    if points > MAX_POINTS:
        raise ValueError(f"{points} points, at most {MAX_POINTS} a job")
    if points * shots > MAX_JOB_SHOTS:
        raise ValueError(f"shots: {points * shots} over all points, at most {MAX_JOB_SHOTS} a job")


def _noisy_levels(
    hidden: Hidden, rng: np.random.Generator, t_s: Floats, v_l: Floats, v_r: Floats, v_abs: Floats | float
) -> tuple[Floats, Floats]:
    """Levels `(points,)` with the charge noise of each pixel."""
    left, right = hidden.levels(t_s, v_l, v_r, v_abs)
    noise = hidden.charge_noise_uev * rng.standard_normal((2, len(t_s)))
    return left + noise[0], right + noise[1]


def _shots(
    hidden: Hidden, rng: np.random.Generator, start_s: float, v_l: Floats, v_r: Floats, v_abs: Floats, shots: int
) -> NDArray[np.uint8]:
    """Bits `(points, shots, 2)` of points visited one after another."""
    times = start_s + np.arange(len(v_l)) * (shots * SHOT_MS + SETTLE_MS) * 1e-3
    left, right = _noisy_levels(hidden, rng, times, v_l, v_r, v_abs)
    weight, n = hidden.chain(v_abs).sectors(left, right, hidden.te_mk)
    p = np.array(hidden.empty_level) + np.array(hidden.contrast) * n
    odd = rng.random((len(v_l), shots), dtype=np.float32) >= weight[:, None]
    chosen = np.where(odd[..., None], p[:, None, 1, :], p[:, None, 0, :])
    return np.asarray(rng.random(chosen.shape, dtype=np.float32) < chosen, dtype=np.uint8)


class RunChargeMap(Experiment):
    """Sensor shots on a grid of plunger voltages at one voltage of the bound state; `v_l_mv` is the slow axis.

    Returns `bits` uint8 (v_l, v_r, shot, dot). Costs pixels x shots `shots`, one `jobs`; lab time 2 ms per shot, 5 ms per pixel and 2 s.
    """

    tool: ClassVar[str] = "run_charge_map"

    v_l_mv: tuple[Volts, ...] = _line("voltages of the left plunger")
    v_r_mv: tuple[Volts, ...] = _line("voltages of the right plunger")
    v_abs_mv: float = _bound_state()
    shots: int = quantity("1", "shots of each pixel", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunChargeMap, ...]:
        return (cls(v_l_mv=(-0.5, 0.0, 0.5), v_r_mv=(-0.4, 0.4), v_abs_mv=1.5, shots=50),)

    @model_validator(mode="after")
    def _fits(self) -> RunChargeMap:
        _bounded(len(self.v_l_mv) * len(self.v_r_mv), self.shots)
        return self

    def cost(self) -> Cost:
        return _cost(len(self.v_l_mv) * len(self.v_r_mv), self.shots)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        v_l, v_r = (v.ravel() for v in np.meshgrid(self.v_l_mv, self.v_r_mv, indexing="ij"))
        bits = _shots(device.hidden, rng, clock.start_s, v_l, v_r, np.full(len(v_l), self.v_abs_mv), self.shots)
        shaped = bits.reshape(len(self.v_l_mv), len(self.v_r_mv), self.shots, 2)
        return Record(
            {"bits": Array(shaped, "1", ("v_l", "v_r", "shot", "dot"), LAYOUT)},
            {"t_start_s": clock.start_s, "rep_period_us": 1e3 * SHOT_MS, "shots": self.shots},
        )


class RunLineCut(Experiment):
    """Sensor shots at any list of voltages of all three gates, in this order.

    Returns `bits` uint8 (point, shot, dot). Costs points x shots `shots`, one `jobs`; lab time as for `run_charge_map`.
    """

    tool: ClassVar[str] = "run_line_cut"

    points: tuple[Point, ...] = Field(min_length=1, max_length=MAX_POINTS, description="settings, visited in this order")
    shots: int = quantity("1", "shots of each point", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunLineCut, ...]:
        return (cls(points=tuple(Point(v_l_mv=0.1 * k, v_r_mv=-0.1 * k, v_abs_mv=1.0) for k in range(4)), shots=100),)

    @model_validator(mode="after")
    def _fits(self) -> RunLineCut:
        _bounded(len(self.points), self.shots)
        return self

    def cost(self) -> Cost:
        return _cost(len(self.points), self.shots)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        v_l, v_r, v_abs = np.array([(p.v_l_mv, p.v_r_mv, p.v_abs_mv) for p in self.points]).T
        bits = _shots(device.hidden, rng, clock.start_s, v_l, v_r, v_abs, self.shots)
        return Record(
            {"bits": Array(bits, "1", ("point", "shot", "dot"), LAYOUT)},
            {"t_start_s": clock.start_s, "rep_period_us": 1e3 * SHOT_MS, "shots": self.shots},
        )


class RunParityTimeTrace(Experiment):
    """Both sensors read without pause at fixed voltages, one bit per dot in each 10 us, while poisoning switches the parity.

    Returns `bits` uint8 (sample, dot). Costs one of `shots` per sample, one `jobs`; lab time the duration and 2 s.
    """

    tool: ClassVar[str] = "run_parity_time_trace"

    v_l_mv: float = _plunger("left")
    v_r_mv: float = _plunger("right")
    v_abs_mv: float = _bound_state()
    duration_ms: float = quantity("ms", "length of the trace, rounded down to whole samples", ge=SAMPLE_MS, le=MAX_TRACE_MS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunParityTimeTrace, ...]:
        return tuple(cls(v_l_mv=v, v_r_mv=-0.5 * v, v_abs_mv=1.0, duration_ms=100.0) for v in (-0.4, 0.0, 0.4))

    @property
    def samples(self) -> int:
        return int(np.floor(self.duration_ms / SAMPLE_MS + 1e-6))

    def cost(self) -> Cost:
        return Cost.of(lab_s=self.samples * SAMPLE_MS * 1e-3 + JOB_S, shots=self.samples, jobs=1)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        hidden, one = device.hidden, np.ones(1)
        left, right = _noisy_levels(hidden, rng, clock.start_s * one, self.v_l_mv * one, self.v_r_mv * one, self.v_abs_mv)
        weight, n = hidden.chain(self.v_abs_mv).sectors(left[0], right[0], hidden.te_mk)
        even = float(np.clip(weight, RARE, 1.0 - RARE))
        # rates out of a parity go with the weight of the other one (detailed balance) and add up to 1/poisoning
        tau_s = hidden.poisoning_ms * 1e-3
        parity = Telegraph(tau_s / (1.0 - even), tau_s / even, int(rng.integers(0, 2**62)))
        odd = parity.fraction(np.arange(self.samples + 1) * SAMPLE_MS * 1e-3)[:, None]
        p = np.array(hidden.empty_level) + np.array(hidden.contrast) * ((1.0 - odd) * n[0] + odd * n[1])
        bits = np.asarray(rng.random(p.shape) < p, dtype=np.uint8)
        return Record(
            {"bits": Array(bits, "1", ("sample", "dot"), LAYOUT)},
            {"t_start_s": clock.start_s, "rep_period_us": 1e3 * SAMPLE_MS, "shots": self.samples},
        )
