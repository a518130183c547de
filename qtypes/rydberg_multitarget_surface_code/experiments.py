"""Requests: memory, pulse train, single-atom randomised benchmarking; and a query for public circuits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Query, Record, quantity
from qtypes.errors import AgentError
from qtypes.kit.rotated_code import Basis
from qtypes.kit.stim_circuits import Program, sample_measurements
from qtypes.rydberg_multitarget_surface_code import circuits
from qtypes.rydberg_multitarget_surface_code import layout as lay
from qtypes.rydberg_multitarget_surface_code.device import (
    CYCLE_S,
    JOB_OVERHEAD_S,
    MAX_PULSES,
    MAX_ROUNDS,
    MAX_SHOTS,
    PULSE_S,
    SHOT_OVERHEAD_S,
)
from qtypes.rydberg_multitarget_surface_code.physics import noisy, rb_survival
from qtypes.seeds import stim_seed

RB_SHOTS = 20_000
Length = Annotated[int, Field(ge=0, le=2000)]


def _cost(shots: int, shot_s: float) -> Cost:
    return Cost.of(lab_s=shots * (shot_s + SHOT_OVERHEAD_S) + JOB_OVERHEAD_S, units=shots / 1000 + 2, jobs=1, shots=shots)


class CircuitExperiment(Experiment):
    """An experiment that runs one circuit of the device and records every measurement."""

    shots: int = quantity("1", "repetitions of the circuit", ge=1, le=MAX_SHOTS)

    def program(self) -> Program:
        """The public noiseless circuit of this request."""
        raise NotImplementedError

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        program = self.program()
        bits = sample_measurements(noisy(program, device.hidden), self.shots, stim_seed(rng))
        layout = "packed little-endian: measurement i of the public noiseless circuit is bit i % 8 of byte i // 8; padding bits are 0"
        summary = {
            "shots": self.shots, "n_measurements": program.n_measurements, "n_detectors": program.n_detectors,
            "n_observables": program.n_observables,
        }  # fmt: skip
        return Record({"meas": Array(bits, "1", ("shot", "byte"), layout)}, summary).check()


class RunMemory(CircuitExperiment):
    """Keep a logical state for some syndrome cycles and read the patch out.

    All data atoms are prepared and finally measured in `basis`; every cycle pulses every plaquette. L0 of the public circuit is Z_L (first
    data column) or X_L (first data row). The record `meas` holds every measurement of every shot as packed bits. Costs
    shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_memory"
    basis: Basis = Field(description="logical basis that is prepared and read")
    rounds: int = quantity("1", "syndrome cycles", ge=1, le=MAX_ROUNDS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunMemory, ...]:
        return cls(basis="Z", rounds=2, shots=500), cls(basis="X", rounds=3, shots=500)

    def program(self) -> Program:
        return circuits.memory(self.basis, self.rounds)

    def cost(self) -> Cost:
        return _cost(self.shots, self.rounds * CYCLE_S)


class RunPulseTrain(CircuitExperiment):
    """Repeat the pulse of one plaquette on its own: prepare its atoms, apply `n_pulses` times the CZ of the ancilla with all of its
    targets, measure all atoms.

    The ancilla is prepared and measured like its targets. Without noise an even number of pulses is the identity. No H is applied between
    the pulses, of X plaquettes either. Bit 0 of the record `meas` is the ancilla, the following bits are the targets in the order of
    layout.json. Costs shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_pulse_train"
    plaquette: int = quantity("1", "atom index of the ancilla", ge=0, lt=lay.N_ATOMS)
    n_pulses: int = quantity("1", "pulses, an even number", ge=2, le=MAX_PULSES, multiple_of=2)
    prep: Literal["0", "+"] = Field(description="state of every atom of the plaquette before the pulses")
    meas: Basis = Field(description="basis in which every atom is measured")

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunPulseTrain, ...]:
        common = {"plaquette": lay.FOUR_TARGETS[0], "n_pulses": 10, "shots": 500}
        return cls(prep="+", meas="X", **common), cls(prep="0", meas="Z", **common)

    def admit(self, spec: Any) -> None:
        if self.plaquette not in lay.TARGETS:
            names = ", ".join(map(str, lay.ANCILLAS))
            raise AgentError(f"no plaquette has this ancilla; ancillas are {names}", field="plaquette", got=self.plaquette)

    def program(self) -> Program:
        return circuits.train(self.plaquette, self.n_pulses, self.prep, self.meas)

    def cost(self) -> Cost:
        return _cost(self.shots, self.n_pulses * PULSE_S)


class RunSingleRb(Experiment):
    """Randomised benchmarking of the single-atom gates of one atom.

    Each shot prepares |0>, applies `lengths[i]` random Clifford gates and the one that inverts them, each one pulse with the error of an H,
    and measures in Z. The record `bits` has one row per length. Costs shots * number of lengths / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_single_rb"
    atom: int = quantity("1", "atom index", ge=0, lt=lay.N_ATOMS)
    lengths: tuple[Length, ...] = quantity("1", "random gates before the inversion", min_length=1, max_length=20)
    shots: int = quantity("1", "repetitions of each length, each with its own random gates", ge=1, le=RB_SHOTS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunSingleRb, ...]:
        return (cls(atom=3, lengths=(0, 100, 400), shots=200),)

    def cost(self) -> Cost:
        gates_s = sum(self.lengths) / len(self.lengths) * PULSE_S
        return _cost(self.shots * len(self.lengths), gates_s)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        p = rb_survival(device.hidden, self.atom, np.array(self.lengths))
        bits = (rng.random((len(p), self.shots)) >= p[:, None]).astype(np.uint8)
        summary = {"shots": self.shots, "lengths": len(p)}
        return Record({"bits": Array(bits, "1", ("length", "shot"), "0 is |0>, where the sequence ends without error")}, summary).check()


class NoiselessCircuit(Query):
    """The public noiseless circuit of a request, as stim text with DETECTOR and OBSERVABLE_INCLUDE. Free; shots do not matter.

    Give exactly one of `memory` and `pulse_train`, with the fields of `run_memory` or `run_pulse_train`. Convert a record with
    `stim.Circuit(text).compile_m2d_converter()`. Tags mark where noise acts: `TICK[pulse_<group or ancilla>]` (the pulses
    just before have ended) and `I[idle]` (data atoms wait for the readout of the ancillas).
    """

    tool: ClassVar[str] = "noiseless_circuit"
    memory: RunMemory | None = Field(default=None, description="a request of run_memory")
    pulse_train: RunPulseTrain | None = Field(default=None, description="a request of run_pulse_train")

    @classmethod
    def examples(cls, spec: Any) -> tuple[NoiselessCircuit, ...]:
        return cls(memory=RunMemory.examples(spec)[0]), cls(pulse_train=RunPulseTrain.examples(spec)[0])

    def admit(self, spec: Any) -> None:
        if (self.memory is None) == (self.pulse_train is None):
            raise AgentError("give exactly one of memory and pulse_train", field="memory")
        if self.pulse_train is not None:
            self.pulse_train.admit(spec)

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        self.admit(device.spec)
        request = self.memory or self.pulse_train
        assert request is not None  # admitted
        p = request.program()
        return {
            "circuit": p.text, "n_measurements": p.n_measurements, "n_detectors": p.n_detectors, "n_observables": p.n_observables,
        }  # fmt: skip


EXPERIMENTS = (RunMemory, RunPulseTrain, RunSingleRb)
QUERIES = (NoiselessCircuit,)
