"""Requests: three experiments, and two queries on public knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Query, Record, quantity
from qtypes.errors import AgentError
from qtypes.kit.rotated_code import Basis
from qtypes.kit.stim_circuits import Program, sample_measurements
from qtypes.seeds import stim_seed
from qtypes.surface_code_lattice_surgery import circuits
from qtypes.surface_code_lattice_surgery.device import CYCLE_S, JOB_OVERHEAD_S, MAX_SHOTS, SHOT_OVERHEAD_S
from qtypes.surface_code_lattice_surgery.physics import noisy

PREVIEW_BYTES = 900_000
"""A preview travels in one request body."""
Sign = Annotated[int, Field(ge=0, le=1)]  # not Literal[0, 1]: that would take true for 1


class SurgeryExperiment(Experiment):
    """An experiment that runs one circuit of the device and records every measurement."""

    shots: int = quantity("1", "repetitions of the circuit", ge=1, le=MAX_SHOTS)

    def program(self) -> Program:
        """The public noiseless circuit of this request."""
        raise NotImplementedError

    @property
    def cycles(self) -> int:
        raise NotImplementedError

    def cost(self) -> Cost:
        lab_s = self.shots * (self.cycles * CYCLE_S + SHOT_OVERHEAD_S) + JOB_OVERHEAD_S
        return Cost.of(lab_s=lab_s, units=self.shots / 1000 + 2, jobs=1, shots=self.shots)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        program = self.program()
        bits = sample_measurements(noisy(program, device.hidden, clock.start_s), self.shots, stim_seed(rng))
        layout = "packed little-endian: measurement i of the public noiseless circuit is bit i % 8 of byte i // 8; padding bits are 0"
        summary = {
            "shots": self.shots, "cycles": self.cycles, "n_measurements": program.n_measurements, "n_detectors": program.n_detectors,
            "n_observables": program.n_observables,
        }  # fmt: skip
        return Record({"meas": Array(bits, "1", ("shot", "byte"), layout)}, summary).check()


class RunMemory(SurgeryExperiment):
    """Keep a logical state in one patch on its own for some cycles and read the patch out.

    All data qubits are prepared and finally measured in `basis`; every cycle measures every plaquette of the patch. L0 of the public
    circuit is Z_L (first data column) or X_L (first data row). The record `meas` holds every measurement of every shot as packed bits.
    Costs shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_memory"
    patch: Literal["C", "I", "T", "M"] = Field(description="C, I, T: distance 3; M: distance 5")
    basis: Basis = Field(description="logical basis that is prepared and read")
    rounds: int = quantity("1", "syndrome cycles", ge=1, le=25)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunMemory, ...]:
        return cls(patch="C", basis="Z", rounds=2, shots=500), cls(patch="M", basis="X", rounds=3, shots=500)

    def program(self) -> Program:
        return circuits.memory(self.patch, self.basis, self.rounds)

    @property
    def cycles(self) -> int:
        return self.rounds


class RunMerge(SurgeryExperiment):
    """Merge two neighbouring patches and split them again: one cycle apart, `merge_rounds` cycles merged, one cycle apart.

    Seam ZZ joins C and I and measures Z_C Z_I, seam XX joins I and T and measures X_I X_T. Both patches are prepared and read in
    `boundary_basis`. If that is the basis of the seam, L0 is the joint outcome (fixed by the preparation), L1 and L2 the logical operators
    of the two patches; otherwise L0 is the product of the two logical operators and the split record between them. The record `meas` holds
    every measurement of every shot as packed bits. Costs shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_merge"
    seam: Literal["ZZ", "XX"] = Field(description="ZZ: C with I; XX: I with T")
    merge_rounds: int = quantity("1", "merged syndrome cycles", ge=1, le=10)
    boundary_basis: Basis = Field(description="logical basis in which both patches are prepared and read")

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunMerge, ...]:
        return cls(seam="ZZ", merge_rounds=3, boundary_basis="X", shots=500), cls(seam="XX", merge_rounds=3, boundary_basis="Z", shots=500)

    def program(self) -> Program:
        return circuits.merge(self.seam, self.merge_rounds, self.boundary_basis)

    @property
    def cycles(self) -> int:
        return self.merge_rounds + 2


class RunCnot(SurgeryExperiment):
    """The logical CNOT from C to T by lattice surgery through I, nine cycles (1, ZZ merge 3, 1, XX merge 3, 1).

    `config` sets in which basis C and T are prepared and read: z (Z, Z; read Z), x (X, X; read X), bell_zz (X, Z; read Z), bell_xx
    (X, Z; read X). `inputs` are the signs of the preparation of C and T: 0 for |0> or |+>, 1 for |1> or |->. They change reference bits
    only, not detectors. Observables include the Pauli frame: z and x have two, the Bell configurations one. The record `meas` holds every
    measurement of every shot as packed bits. Costs shots / 1000 + 2 units.
    """

    tool: ClassVar[str] = "run_cnot"
    config: Literal["z", "x", "bell_zz", "bell_xx"] = Field(description="bases of preparation and readout of C and T")
    inputs: tuple[Sign, Sign] = quantity("1", "sign of the preparation of C and of T: 0 or 1", default=(0, 0))

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunCnot, ...]:
        return cls(config="z", shots=200), cls(config="bell_xx", inputs=(1, 0), shots=200)

    def program(self) -> Program:
        return circuits.cnot(self.config, self.inputs)

    @property
    def cycles(self) -> int:
        return circuits.CNOT_CYCLES


class NoiselessCircuit(Query):
    """The public noiseless circuit of a request, as stim text with DETECTOR and OBSERVABLE_INCLUDE. Free; shots do not matter.

    Give exactly one of `memory`, `merge` and `cnot`, with the fields of `run_memory`, `run_merge` or `run_cnot`. Convert a record with
    `stim.Circuit(text).compile_m2d_converter()`. Tags mark where noise acts that belongs to no gate: `I[idle]` (data qubits wait) and
    `TICK[merged_<seam>_<cycle>]` (a merged cycle, before its readout).
    """

    tool: ClassVar[str] = "noiseless_circuit"
    memory: RunMemory | None = Field(default=None, description="a request of run_memory")
    merge: RunMerge | None = Field(default=None, description="a request of run_merge")
    cnot: RunCnot | None = Field(default=None, description="a request of run_cnot")

    @classmethod
    def examples(cls, spec: Any) -> tuple[NoiselessCircuit, ...]:
        memory, merge, cnot = RunMemory.examples(spec)[0], RunMerge.examples(spec)[0], RunCnot.examples(spec)[0]
        return cls(memory=memory), cls(merge=merge), cls(cnot=cnot)

    def admit(self, spec: Any) -> None:
        if sum(r is not None for r in (self.memory, self.merge, self.cnot)) != 1:
            raise AgentError("give exactly one of memory, merge and cnot", field="memory")

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        self.admit(device.spec)
        request = self.memory or self.merge or self.cnot
        assert request is not None  # admitted
        p = request.program()
        return {
            "circuit": p.text, "n_measurements": p.n_measurements, "n_detectors": p.n_detectors, "n_observables": p.n_observables,
        }  # fmt: skip


class DecodePreview(Query):
    """Decode one of your own records with your detector error model, by the rule CANON, as the grader will decode fresh shots.

    Answered once per record. Returns the fraction of shots in which any observable is wrong, its standard error, and the fraction for
    each observable; for a memory also the logical error per cycle. The model must have as many detectors and observables as the circuit of
    the record.
    """

    tool: ClassVar[str] = "decode_preview"
    record_field: ClassVar[str | None] = "job_id"
    job_id: str = Field(min_length=1, max_length=64, description="a completed job of this session")
    dem: str = Field(max_length=PREVIEW_BYTES, description="detector error model, stim text of at most 900 kB")

    @classmethod
    def examples(cls, spec: Any) -> tuple[DecodePreview, ...]:
        program = RunMemory.examples(spec)[0].program()  # a model for the records of that request
        ends = f"error(0.01) D0 L{program.n_observables - 1}\nerror(0.01) D{program.n_detectors - 1}\n"
        return (cls(job_id="j0001-00000000", dem=ends),)

    def quota(self) -> tuple[str, int] | None:
        return f"decode_preview/{self.job_id}", 1

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        from lab.conventions import ModelRefused, decode, read_graph, unpack_bits

        if record is None or not isinstance(source, SurgeryExperiment):
            raise AgentError("job_id must name a completed experiment of this session", field="job_id", got=self.job_id)
        program = source.program()
        try:
            graph = read_graph(self.dem, n_detectors=program.n_detectors, n_observables=program.n_observables)
        except ModelRefused as exc:
            raise AgentError(exc.detail, field="dem", got=exc.got, limit=exc.limit, code=f"model-{exc.reason.replace('_', '-')}") from exc
        detections, flips = program.detections(record["meas"])
        wrong = unpack_bits(decode(graph, detections) ^ flips, program.n_observables)
        shots = len(wrong)
        p = float(wrong.any(axis=1).mean())
        result: dict[str, Any] = {
            "shots": shots, "logical_error": p, "standard_error": float(np.sqrt(p * (1 - p) / shots)),
            "per_observable": [float(v) for v in wrong.mean(axis=0)], "edges": len(graph.p),
        }  # fmt: skip
        if isinstance(source, RunMemory):
            result["logical_error_per_cycle"] = float((1 - max(0.0, 1 - 2 * p) ** (1 / source.rounds)) / 2)
        return result


EXPERIMENTS = (RunMemory, RunMerge, RunCnot)
QUERIES = (NoiselessCircuit, DecodePreview)
