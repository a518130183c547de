"""Requests: two experiments, and a query on public knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from lab.conventions import pack_bits
from qtypes.contract import Array, Clock, Cost, Device, Experiment, Query, Record, quantity
from qtypes.errors import AgentError
from qtypes.kit.rotated_code import Basis
from qtypes.kit.stim_circuits import Program
from qtypes.surface_code_memory.device import (
    BLOCK_SHOTS,
    CYCLE_S,
    JOB_OVERHEAD_S,
    MAX_ROUNDS,
    MAX_SHOTS,
    MAX_WAIT_US,
    SHOT_OVERHEAD_S,
)  # fmt: skip
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import mixture, noise_at

MAX_DELAY_S = 3600.0
Place = Annotated[int, Field(ge=0, le=8)]
Qubit = Annotated[int, Field(ge=0, le=400)]
PACKED = "packed little-endian: measurement i of the public noiseless circuit is bit i % 8 of byte i // 8; padding bits are 0"


class RunMemory(Experiment):
    """Keep a logical state in a rotated patch for some cycles and read the patch out.

    The patch has `rows` x `cols` data qubits, its north-west one at `origin` (row, column). All data are prepared and finally measured in
    `basis`; every cycle measures every plaquette, then the data wait `wait_us`. L0 of the public circuit is Z_L (first data column) or X_L
    (first data row). `delay_s` lets lab time pass before the first shot. The record holds `meas`, every measurement of every shot as
    packed bits, and `lab_time_s`, the lab clock at the first shot of every 1000. Costs shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_memory"
    origin: tuple[Place, Place] = quantity("1", "row and column of the north-west data qubit", default=(0, 0))
    rows: int = quantity("1", "data rows, odd: the distance of basis X", ge=3, le=9)
    cols: int = quantity("1", "data columns, odd: the distance of basis Z", ge=3, le=9)
    basis: Basis = Field(description="logical basis that is prepared and read")
    rounds: int = quantity("1", "syndrome cycles", ge=1, le=MAX_ROUNDS)
    shots: int = quantity("1", "repetitions of the circuit", ge=1, le=MAX_SHOTS)
    wait_us: float = quantity("us", "wait of the data qubits after each cycle", ge=0, le=MAX_WAIT_US, default=0.0)
    delay_s: float = quantity("s", "lab time to let pass before the first shot", ge=0, le=MAX_DELAY_S, default=0.0)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunMemory, ...]:
        d = spec.size
        return (
            cls(rows=d, cols=d, basis="Z", rounds=14, shots=600),
            cls(rows=d, cols=d, basis="X", rounds=2, shots=400, wait_us=4.0, delay_s=60.0),
            cls(origin=(1, 1), rows=3, cols=3, basis="X", rounds=2, shots=100),
        )

    def admit(self, spec: Any) -> None:
        for name, n in (("rows", self.rows), ("cols", self.cols)):
            if n % 2 == 0:
                raise AgentError("a rotated patch has an odd number of data rows and columns", field=name, got=n)
        for k, (start, n) in enumerate(zip(self.origin, (self.rows, self.cols), strict=True)):
            if start + n > spec.size:
                message = f"the patch leaves the chip of {spec.size} x {spec.size} data qubits"
                raise AgentError(message, field=f"origin.{k}", got=start, limit=spec.size - n)

    def shot_s(self) -> float:
        return self.rounds * (CYCLE_S + self.wait_us * 1e-6) + SHOT_OVERHEAD_S

    def cost(self) -> Cost:
        lab_s = self.shots * self.shot_s() + JOB_OVERHEAD_S + self.delay_s
        return Cost.of(lab_s=lab_s, units=self.shots / 1000 + 2, jobs=1, shots=self.shots)

    def program(self, size: int) -> Program:
        """The public noiseless circuit on a chip of `size`."""
        return program(size, *self.origin, self.rows, self.cols, self.basis, self.rounds)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        size = device.profile.size
        p, start_s = self.program(size), clock.start_s + self.delay_s
        bits = mixture(p, device.hidden, layout(size), self.rounds, start_s, self.wait_us).measurements(self.shots, rng)
        times = start_s + np.arange(0, self.shots, BLOCK_SHOTS) * self.shot_s()
        summary = {
            "shots": self.shots, "cycles": self.rounds, "n_measurements": p.n_measurements, "n_detectors": p.n_detectors,
            "n_observables": p.n_observables,
        }  # fmt: skip
        arrays = {
            "meas": Array(bits, "1", ("shot", "byte"), PACKED),
            "lab_time_s": Array(times, "s", ("block",), f"lab clock at the first shot of every {BLOCK_SHOTS}"),
        }
        return Record(arrays, summary).check()


class RunReadoutCal(Experiment):
    """Prepare the chosen qubits in |0> or all in |1>, by reset and a pi pulse, and read them at once.

    The record holds `bits`: for prepared 0 and prepared 1 every result of every shot as packed bits, in the order of `qubits`. Preparation
    errors are included. Costs 2 x shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_readout_cal"
    qubits: tuple[Qubit, ...] = quantity("1", "qubit indices of layout.json", min_length=1, max_length=200)
    shots: int = quantity("1", "repetitions of each preparation", ge=1, le=MAX_SHOTS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunReadoutCal, ...]:
        return (cls(qubits=(0, 3, 9), shots=300),)

    def admit(self, spec: Any) -> None:
        for k, q in enumerate(self.qubits):
            if q >= spec.n_qubits:
                raise AgentError("no such qubit", field=f"qubits.{k}", got=q, limit=spec.n_qubits - 1)
        if len(set(self.qubits)) < len(self.qubits):
            raise AgentError("a qubit is named twice", field="qubits", got=list(self.qubits))

    def cost(self) -> Cost:
        return Cost.of(
            lab_s=2 * self.shots * SHOT_OVERHEAD_S + JOB_OVERHEAD_S, units=2 * self.shots / 1000 + 2, jobs=1, shots=2 * self.shots
        )

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        noise = noise_at(device.hidden, layout(device.profile.size), clock.start_s).pauli
        flip = np.array([noise.readout[q] for q in self.qubits])
        reset = np.array([noise.reset[q] for q in self.qubits])
        pulse = 2 / 3 * np.array([noise.gate1[q] for q in self.qubits])  # X and Y of a depolarising error flip the result
        prepared = []
        for one in (0, 1):
            p = reset * (1 - flip) + flip * (1 - reset)
            p = p * (1 - pulse) + pulse * (1 - p) if one else p
            wrong = rng.random((self.shots, len(self.qubits))) < p
            prepared.append(pack_bits(wrong ^ bool(one)))
        layout_note = "packed little-endian: result i of `qubits` is bit i % 8 of byte i // 8; padding bits are 0"
        summary = {"shots": self.shots, "qubits": len(self.qubits)}
        return Record({"bits": Array(np.stack(prepared), "1", ("prepared", "shot", "byte"), layout_note)}, summary).check()


class NoiselessCircuit(Query):
    """The public noiseless circuit of a request, as stim text with DETECTOR and OBSERVABLE_INCLUDE. Free; shots do not matter.

    Convert a record with `stim.Circuit(text).compile_m2d_converter()`. `I[idle]` marks where data qubits wait, `TICK[cycle]` the end of the
    gates of a cycle.
    """

    tool: ClassVar[str] = "noiseless_circuit"
    memory: RunMemory = Field(description="a request of run_memory")

    @classmethod
    def examples(cls, spec: Any) -> tuple[NoiselessCircuit, ...]:
        return tuple(cls(memory=m) for m in RunMemory.examples(spec)[:2])

    def admit(self, spec: Any) -> None:
        self.memory.admit(spec)

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        p = self.memory.program(device.profile.size)
        return {
            "circuit": p.text, "n_measurements": p.n_measurements, "n_detectors": p.n_detectors, "n_observables": p.n_observables,
        }  # fmt: skip


EXPERIMENTS = (RunMemory, RunReadoutCal)
QUERIES = (NoiselessCircuit,)
