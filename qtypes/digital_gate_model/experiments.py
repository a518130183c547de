"""Requests: running circuits, and the last calibration snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Query, Record, quantity
from qtypes.digital_gate_model import compiling, qasm
from qtypes.digital_gate_model.device import (
    BOX_QUBITS,
    CIRCUIT_S,
    JOB_S,
    MAX_CIRCUITS,
    MAX_DURATION_US,
    MAX_JOB_SHOTS,
    MAX_MOMENTS,
    REP_US,
    TARGET,
    Hidden,
)  # fmt: skip
from qtypes.digital_gate_model.physics import evolve, populations, sample
from qtypes.errors import AgentError

Program = Annotated[str, Field(min_length=1, max_length=qasm.MAX_TEXT)]
_EXAMPLE = """OPENQASM 3.0;
include "stdgates.inc";
qubit[6] q;
bit[6] c;
"""


class RunCircuits(Experiment):
    """Run OpenQASM 3 programs of the native set and return the measured bits of every shot.

    Programs are written in the native set (see `language` of the spec): rz, sx, cz, delay, barrier, the opaque routines and their inverses;
    `c[i] = measure q[j];` come last. All programs of a request declare bit registers of one size. A refusal names program and line.

    `pauli_twirl` n > 0 runs every program as n randomised compilations (Wallman & Emerson 2016) with `shots` shots each: random Pauli
    operators before every CZ, their images under CZ after it, merged with the neighbouring one-qubit gates; a run of rz and sx that
    receives a Pauli is played as rz sx rz sx rz. A barrier ends a run. The program's meaning does not change and bits need no correction.
    CZ gates are never merged or cancelled: `cz a, b; cz a, b; cz a, b;` are three gates, each with its own Pauli operators.

    Returns `bits` uint8 (circuit, twirl, shot, bit), entry i of the last axis is c[i]; the twirl axis has length 1 without twirls. With
    twirls also `frames` uint8 (circuit, twirl, cz, 2): Pauli operator (0 I, 1 X, 2 Y, 3 Z) before the k-th CZ of the text on its operands
    as written; programs with fewer CZ gates are padded with 255. Costs circuits x twirls x shots `shots`, circuits x twirls `circuits` and
    one `jobs`; at most 100 circuits and 20 000 shots in one request, twirls included.
    """

    tool: ClassVar[str] = "run_circuits"

    circuits: tuple[Program, ...] = Field(min_length=1, max_length=MAX_CIRCUITS, description="OpenQASM 3 programs of the native set")
    shots: int = quantity("1", "shots of each circuit, or of each twirl; in all at most 20 000", ge=1, le=MAX_JOB_SHOTS)
    pauli_twirl: int = quantity("1", "randomised compilations of each program; 0: run it as written", ge=0, le=MAX_CIRCUITS, default=0)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunCircuits, ...]:
        half = "".join(f"rz(pi/2) q[{q}]; sx q[{q}]; rz(0.7) q[{q}];\n" for q in range(6))
        layers = "cz q[0], q[1]; cz q[2], q[3]; cz q[4], q[5];\nbarrier q;\ncz q[1], q[2]; cz q[3], q[4];\nbarrier q;\ncz q[1], q[4];\n"
        body = half + 3 * (layers + "barrier q;\nsx q;\nbarrier q;\n") + "delay[20us] q;\nsx q;\n"
        echo = "box_1 q[0], q[1], q[2], q[3], q[4];\nsx q[5];\ninv @ box_2 q[0], q[1], q[2], q[3], q[4];\n"
        crossed = "sx q;\nbarrier q;\n" + 6 * "cz q[1], q[4]; cz q[2], q[3];\n" + "sx q;\n"
        measured = "c = measure q;\n"
        programs = (_EXAMPLE + echo + body + measured, _EXAMPLE + crossed + measured, _EXAMPLE + "sx q;\nsx q;\n" + measured)
        return (
            cls(circuits=programs, shots=6000),
            cls(circuits=(_EXAMPLE + measured,), shots=20_000),
            cls(circuits=programs[:1], shots=500, pauli_twirl=8),
        )

    @model_validator(mode="after")
    def _bounded(self) -> RunCircuits:
        if self.runs > MAX_CIRCUITS:
            raise ValueError(f"pauli_twirl: {len(self.circuits)} programs x {self.pauli_twirl} twirls, at most {MAX_CIRCUITS} circuits")
        if self.runs * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"shots: {self.runs} circuits x {self.shots} shots, at most {MAX_JOB_SHOTS} shots a job")
        return self

    @property
    def runs(self) -> int:
        """Circuits that are loaded: programs times twirls."""
        return len(self.circuits) * max(1, self.pauli_twirl)

    def cost(self) -> Cost:
        shots = self.runs * self.shots
        return Cost.of(shots=shots, circuits=self.runs, jobs=1, lab_s=shots * REP_US * 1e-6 + self.runs * CIRCUIT_S + JOB_S)

    def programs(self) -> tuple[qasm.Circuit, ...]:
        """The programs read; :class:`~qtypes.errors.AgentError` names program and line of the first that is none."""
        out = []
        for k, text in enumerate(self.circuits):
            try:
                out.append(qasm.read(text, TARGET))
            except qasm.ProgramError as exc:
                raise AgentError(str(exc), field=f"circuits.{k}", code="invalid-program") from None
        return tuple(out)

    def admit(self, spec: Any) -> None:
        programs = self.programs()
        sizes = {len(p.measured) for p in programs}
        if len(sizes) > 1:
            raise AgentError("all programs of a request declare bit registers of one size", field="circuits", got=str(sorted(sizes)))
        for k, program in enumerate(programs):
            frames = np.zeros((1, program.count("cz"), 2), dtype=np.uint8)
            schedule = compiling.twirled(program, frames) if self.pauli_twirl else compiling.plain(program)
            if len(schedule) > MAX_MOMENTS:
                raise AgentError("the circuit is too deep", field=f"circuits.{k}", got=len(schedule), limit=MAX_MOMENTS, unit="moments")
            lasts_us = 1e-3 * sum(m.duration_ns for m in schedule)
            if lasts_us > MAX_DURATION_US:
                raise AgentError("the circuit is too long", field=f"circuits.{k}", got=lasts_us, limit=MAX_DURATION_US, unit="us")

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        programs = self.programs()
        model, response = hidden.noise(clock.start_s), hidden.response(clock.start_s)
        twirls, n_bits = max(1, self.pauli_twirl), len(programs[0].measured)
        bits = np.zeros((len(programs), twirls, self.shots, n_bits), dtype=np.uint8)
        frames = np.full((len(programs), twirls, max(p.count("cz") for p in programs), 2), 255, dtype=np.uint8)
        for k, program in enumerate(programs):
            n_cz = program.count("cz")
            if self.pauli_twirl:
                frames[k, :, :n_cz] = rng.integers(0, 4, (twirls, n_cz, 2), dtype=np.uint8)
                schedule = compiling.twirled(program, frames[k, :, :n_cz])
            else:
                schedule = compiling.plain(program)
            strings = sample(rng, np.broadcast_to(read_out(model, response, program, schedule), (twirls, len(response))), self.shots)
            for bit, qubit in enumerate(program.measured):
                if qubit >= 0:
                    bits[k, :, :, bit] = (strings >> qubit) & 1
        arrays = {"bits": Array(bits, "1", ("circuit", "twirl", "shot", "bit"), "entry i of the last axis is c[i]; little-endian")}
        if self.pauli_twirl and frames.size:
            layout = "Pauli before each CZ on its operands as written: 0 I, 1 X, 2 Y, 3 Z; 255 pads; bits are not altered by it"
            arrays["frames"] = Array(frames, "1", ("circuit", "twirl", "cz", "operand"), layout)
        summary = {
            "circuits": len(programs), "twirls": self.pauli_twirl, "shots": self.shots, "t_start_s": clock.start_s, "rep_us": REP_US,
            "cz_counts": [p.count("cz") for p in programs],
        }  # fmt: skip
        return Record(arrays, summary)


def read_out(model: Any, response: np.ndarray, program: qasm.Circuit, schedule: list[compiling.Moment]) -> np.ndarray:
    """Probability of every assigned string of the device, `(n_twirls or 1, 64)`, little-endian in the qubits."""
    touched = program.touched
    tensor = evolve(model, schedule, touched, BOX_QUBITS)
    p = populations(model, tensor, touched, sum(m.duration_ns for m in schedule))
    return np.asarray(p @ response.T)


class CalibrationSnapshot(Query):
    """The last automatic calibration of the device, with its age in hours at the opening of this session.

    T1, T2, mean assignment error (one qubit at a time) per qubit; CZ infidelity per coupler in the order of `couplers`, from interleaved
    benchmarking of one gate at a time. Values are of that day. Free.
    """

    tool: ClassVar[str] = "calibration_snapshot"

    @classmethod
    def examples(cls, spec: Any) -> tuple[CalibrationSnapshot, ...]:
        return (cls(),)

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        snapshot = device.hidden.snapshot.model_dump(mode="json")
        return {k: [round(x, 5) for x in v] if isinstance(v, list) else round(v, 1) for k, v in snapshot.items()}
