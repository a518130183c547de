"""Requests: running native circuits, and the readout calibration."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.ion_trap_gate_model.circuit import MAX_GATES, N_IONS, PAIRS, Gate, played, r, rz, xx
from qtypes.ion_trap_gate_model.device import (
    CIRCUIT_S,
    CYCLE_MS,
    JOB_S,
    MAX_CIRCUITS,
    MAX_JOB_GATES,
    MAX_JOB_SHOTS,
    SCALE_LIMITS,
    Hidden,
    by_pair,
)
from qtypes.ion_trap_gate_model.physics import R_US, XX_US, evolved, sample
from qtypes.kit.readout import flipped

Scale = Annotated[float, Field(ge=SCALE_LIMITS[0], le=SCALE_LIMITS[1])]
LAYOUT = "entry k of the last axis is ion k; 0 is |0>"


class Circuit(Part):
    """Gates in the order of time, the whole list `reps` times."""

    gates: tuple[Gate, ...] = Field(max_length=MAX_GATES, description="native gates in the order in which they are played")
    reps: int = quantity("1", "how often the list is played", ge=1, le=MAX_GATES, default=1)

    @model_validator(mode="after")
    def _bounded(self) -> Circuit:
        if self.count > MAX_GATES:
            raise ValueError(f"reps: {len(self.gates)} gates x {self.reps}, at most {MAX_GATES} gates")
        return self

    @property
    def count(self) -> int:
        return len(self.gates) * self.reps

    @property
    def duration_us(self) -> float:
        return self.reps * sum({"xx": XX_US, "r": R_US, "rz": 0.0}[g.gate] for g in self.gates)


class RunCircuits(Experiment):
    """Run native circuits on eight ions in |0>, and return the bits of every shot.

    A circuit is `{"gates": [...], "reps": n}`. A gate is `{"gate": "r", "ions": [0], "angle": 1.5708, "phase": 0.0}`,
    `{"gate": "rz", "ions": [0], "angle": 0.3}` or `{"gate": "xx", "ions": [0, 5], "angle": 0.3}`, angles in rad. Gates are played one
    after another; r takes 10 us, xx 200 us, rz nothing. `angle_scale`, 28 numbers in the order of pairs (0,1), (0,2), ... (6,7), is the
    setting of the modulators: the angle of each xx is multiplied by that of its pair before it is played; without it all are 1.

    Returns `bits` uint8 (circuit, shot, ion). Costs circuits x shots `shots`, one unit of `circuits` for each, and one `jobs`; at most 40
    circuits, 40 000 shots and 3000 gates in one request.
    """

    tool: ClassVar[str] = "run_circuits"

    circuits: tuple[Circuit, ...] = Field(min_length=1, max_length=MAX_CIRCUITS, description="native circuits")
    shots: int = quantity("1", "shots of each circuit", ge=1, le=MAX_JOB_SHOTS)
    angle_scale: tuple[Scale, ...] = quantity(
        "1", "factor on the angle of each XX, one per pair; empty: all 1", max_length=len(PAIRS), default=()
    )

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunCircuits, ...]:
        turns = tuple(r(q, np.pi / 2, 0.3 * q) for q in range(N_IONS))
        frames = tuple(rz(q, 0.4 * q) for q in range(N_IONS))
        pairs = tuple(xx(*p, 0.7) for p in PAIRS)
        train = tuple(xx(q, q + 1, np.pi / 2) for q in range(0, N_IONS, 2))
        mixed = Circuit(gates=(*turns, *pairs, *frames, *turns))
        return (
            cls(circuits=(mixed,), shots=20_000),
            cls(circuits=(Circuit(gates=train, reps=9), Circuit(gates=())), shots=200, angle_scale=(1.02,) * len(PAIRS)),
        )

    @model_validator(mode="after")
    def _bounded(self) -> RunCircuits:
        if len(self.circuits) * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"shots: {len(self.circuits)} circuits x {self.shots} shots, at most {MAX_JOB_SHOTS} shots a job")
        if sum(c.count for c in self.circuits) > MAX_JOB_GATES:
            raise ValueError(f"circuits: {sum(c.count for c in self.circuits)} gates, at most {MAX_JOB_GATES} gates a job")
        if self.angle_scale and len(self.angle_scale) != len(PAIRS):
            raise ValueError(f"angle_scale: one number for each of the {len(PAIRS)} pairs, or none")
        return self

    def cost(self) -> Cost:
        shot_us = sum(CYCLE_MS * 1e3 + c.duration_us for c in self.circuits)
        lab_s = self.shots * shot_us * 1e-6 + len(self.circuits) * CIRCUIT_S + JOB_S
        return Cost.of(shots=len(self.circuits) * self.shots, circuits=len(self.circuits), jobs=1, lab_s=lab_s)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        model = hidden.noise(clock.start_s)
        scale = by_pair(self.angle_scale) if self.angle_scale else None
        bits = np.zeros((len(self.circuits), self.shots, N_IONS), dtype=np.uint8)
        for k, circuit in enumerate(self.circuits):
            pulses, _ = played(circuit.gates * circuit.reps)
            p = evolved(model, pulses, scale).populations()[0]
            bits[k] = flipped(rng, sample(rng, p, self.shots), hidden.p1_given_0, hidden.p0_given_1)
        gates = [c.count for c in self.circuits]
        summary = {"circuits": len(self.circuits), "shots": self.shots, "t_start_s": clock.start_s, "gates": gates}
        return Record({"bits": Array(bits, "1", ("circuit", "shot", "ion"), LAYOUT)}, summary)


class RunReadoutCalibration(Experiment):
    """Prepare all ions in |0>, then all in |1>, by optical pumping and microwaves without any Raman light, and read them out.

    Returns `bits` uint8 (prepared, shot, ion). Costs two circuits of `shots` shots, and one `jobs`.
    """

    tool: ClassVar[str] = "run_readout_calibration"

    shots: int = quantity("1", "shots of each preparation", ge=1, le=MAX_JOB_SHOTS // 2)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunReadoutCalibration, ...]:
        return (cls(shots=2000),)

    def cost(self) -> Cost:
        return Cost.of(shots=2 * self.shots, circuits=2, jobs=1, lab_s=2 * self.shots * CYCLE_MS * 1e-3 + 2 * CIRCUIT_S + JOB_S)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        prepared = np.broadcast_to(np.array([0, 1], dtype=np.uint8)[:, None, None], (2, self.shots, N_IONS))
        bits = flipped(rng, prepared, device.hidden.p1_given_0, device.hidden.p0_given_1)
        return Record({"bits": Array(bits, "1", ("prepared", "shot", "ion"), LAYOUT)}, {"shots": self.shots, "t_start_s": clock.start_s})
