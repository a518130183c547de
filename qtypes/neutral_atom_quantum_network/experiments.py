"""Requests of node A: shots without and with entanglement, tomography of pairs, and the transfer of node B's results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Query, Record, quantity
from qtypes.errors import AgentError
from qtypes.neutral_atom_quantum_network import physics, store
from qtypes.neutral_atom_quantum_network.device import CYCLE_S, INTERROGATION_MS, JOB_S

Phase = Annotated[float, Field(ge=-10, le=10)]
Kind = Literal["separable", "entangled", "tomography"]
Bytes = NDArray[np.uint8]

BITS = {"separable": 2, "entangled": 1, "tomography": 1}
"""Classical bits per shot: a separable shot is told by outcome and setting."""
_STORED = "results that node B keeps, enciphered; request_bits transfers them"


def _cost(shots: int, **amounts: int) -> Cost:
    return Cost.of(lab_s=JOB_S + CYCLE_S * shots, shots=shots, jobs=1, **amounts)


def _record(device: Device, rng: np.random.Generator, bits_a: Bytes, values_b: Bytes, **more: Array) -> Record:
    nonce = rng.integers(0, 256, store.NONCE, dtype=np.uint8)
    arrays = {
        "bits_a": Array(bits_a, "1", ("shot",), "node A; 0 is the +1 outcome"),
        "stored_at_b": Array(store.sealed(values_b, device.hidden.store_key, nonce), "1", ("shot",), _STORED),
        "nonce": Array(nonce, "1", ("byte",), "of the cipher"),
    }
    return Record(arrays | more, {"shots": len(bits_a)}).check()


def _attempts(rng: np.random.Generator, herald: float, shots: int) -> Array:
    return Array(rng.geometric(herald, shots).astype(np.uint32), "1", ("shot",), "attempts until the pair was heralded")


def _pairs(device: Device, rng: np.random.Generator, t_s: np.ndarray, hold_ms: float, phases: tuple[float, float],
           basis: physics.Basis) -> tuple[Bytes, Bytes]:  # fmt: skip
    """Bits of both nodes for one pair at each time; `phases` are all local phases of A and B together."""
    h = device.hidden
    offsets = np.asarray(h.offset_at(t_s))

    def at(offset: float) -> np.ndarray:
        rho = physics.held(physics.pair_state(h.fidelity, h.dephased, offset), hold_ms, h.t2_ms)
        return physics.outcomes(rho, *phases, basis)

    # the offset of a shot enters by its cosine and sine: three density matrices serve all shots
    plus, minus, quarter = at(0.0), at(np.pi), at(np.pi / 2)
    mean = (plus + minus) / 2
    p = mean + np.cos(offsets)[:, None] * (plus - mean) + np.sin(offsets)[:, None] * (quarter - mean)
    edges = np.cumsum(p, axis=1)[:, :3]
    both = (rng.random(len(t_s))[:, None] > edges).sum(axis=1).astype(np.uint8)
    return physics.misread(both >> 1, h.readout_a, rng), physics.misread(both & 1, h.readout_b, rng)


class RunSeparable(Experiment):
    """Interrogate one unentangled atom in each node and read both along X after their analysis phases.

    Node A: P(0) = (1 + c cos(phi_A + eps + a))/2 with the oscillator's phase eps of the shot; node B the same with phi_B - eps. Node B adds
    pi to its analysis phase in every other shot, on average, by a coin of its own. Record: `bits_a` uint8 (shots,); `stored_at_b` uint8
    (shots,), node B's outcome and setting, readable after request_bits (2 bits a shot); `nonce`. Costs lab time only.
    """

    tool: ClassVar[str] = "run_separable"
    analysis_a_rad: Phase = quantity("rad", "analysis phase at node A")
    analysis_b_rad: Phase = quantity("rad", "analysis phase at node B, before its coin")
    shots: int = quantity("1", "shots", ge=1, le=3000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunSeparable, ...]:
        return (cls(analysis_a_rad=0.0, analysis_b_rad=1.5, shots=1000),)

    def cost(self) -> Cost:
        return _cost(self.shots)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        eps = rng.normal(0, h.lo_sigma_rad, self.shots)
        coin = rng.integers(0, 2, self.shots, dtype=np.uint8)
        keep = float(np.exp(-INTERROGATION_MS / h.t2_ms))
        p_a = physics.alone(h.phi_a_rad + eps + self.analysis_a_rad, keep)
        p_b = physics.alone(h.phi_b_rad - eps + self.analysis_b_rad + np.pi * coin, keep)
        a, b = ((rng.random(self.shots) < p).astype(np.uint8) for p in (p_a, p_b))
        return _record(device, rng, physics.misread(a, h.readout_a, rng), physics.misread(b, h.readout_b, rng) | coin << 1)


class RunEntangled(Experiment):
    """Interrogate one heralded pair per shot and read both atoms along X after their analysis phases.

    The parity is even with (1 + V cos(phi_A + phi_B + offset + a + b))/2: the oscillator's phase cancels. Record: `bits_a` uint8 (shots,);
    `stored_at_b` uint8 (shots,), node B's outcome, readable after request_bits (1 bit a shot); `nonce`; `attempts` uint32 (shots,). Costs
    one sensing pair per shot.
    """

    tool: ClassVar[str] = "run_entangled"
    analysis_a_rad: Phase = quantity("rad", "analysis phase at node A")
    analysis_b_rad: Phase = quantity("rad", "analysis phase at node B")
    shots: int = quantity("1", "pairs", ge=1, le=3000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunEntangled, ...]:
        return (cls(analysis_a_rad=0.5, analysis_b_rad=1.0, shots=1000),)

    def cost(self) -> Cost:
        return _cost(self.shots, sensing_pairs=self.shots)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        phases = (h.phi_a_rad + self.analysis_a_rad, h.phi_b_rad + self.analysis_b_rad)
        a, b = _pairs(device, rng, clock.start_s + CYCLE_S * np.arange(self.shots), INTERROGATION_MS, phases, "equator")
        return _record(device, rng, a, b, attempts=_attempts(rng, h.herald, self.shots))


class RunPairTomography(Experiment):
    """Read heralded pairs without an interrogation, on the equator or in Z Z, at once or after a hold.

    On the equator the parity is even with (1 + V cos(offset + a + b))/2. Record as run_entangled. Costs one calibration pair per shot.
    """

    tool: ClassVar[str] = "run_pair_tomography"
    basis: physics.Basis = Field(description="equator: X after the analysis phases; ZZ: both along Z")
    analysis_a_rad: Phase = quantity("rad", "analysis phase at node A; of no effect in ZZ", default=0.0)
    analysis_b_rad: Phase = quantity("rad", "analysis phase at node B; of no effect in ZZ", default=0.0)
    hold_ms: float = quantity("ms", "time in memory before the reading", ge=0, le=20, default=0.0)
    shots: int = quantity("1", "pairs", ge=1, le=3000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunPairTomography, ...]:
        return (
            cls(basis="equator", analysis_a_rad=0.3, analysis_b_rad=1.0, shots=500),
            cls(basis="ZZ", hold_ms=5.0, shots=200),
        )

    def cost(self) -> Cost:
        return _cost(self.shots, calibration_pairs=self.shots)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h, t = device.hidden, clock.start_s + CYCLE_S * np.arange(self.shots)
        a, b = _pairs(device, rng, t, self.hold_ms, (self.analysis_a_rad, self.analysis_b_rad), self.basis)
        return _record(device, rng, a, b, attempts=_attempts(rng, h.herald, self.shots))


class RequestBits(Query):
    """Transfer node B's results of some shots of a completed job over the classical channel.

    Result: `bits`, a text of 0 and 1 for the shots `first` to `first + count - 1`; for a separable job also `settings`, 1 where node B had
    added pi. Costs 2 sensing bits per shot of a separable job, 1 sensing bit for an entangled one, 1 calibration bit for a tomography;
    `kind` must be that of the job. Asked again, a shot is charged again.
    """

    tool: ClassVar[str] = "request_bits"
    record_field: ClassVar[str | None] = "job_id"
    job_id: str = Field(min_length=1, max_length=64, description="a completed job of this session")
    kind: Kind = Field(description="what the job was")
    first: int = quantity("1", "first shot, from 0", ge=0, lt=3000, default=0)
    count: int = quantity("1", "shots", ge=1, le=3000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RequestBits, ...]:
        return tuple(cls(job_id="j0001-00000000", kind=k, first=10, count=100) for k in BITS)  # type: ignore[arg-type]

    def bits(self) -> int:
        """Classical bits that it takes."""
        return BITS[self.kind] * self.count

    def cost(self) -> Cost:
        unit = "calibration_bits" if self.kind == "tomography" else "sensing_bits"
        return Cost.of(**{unit: self.bits()})

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        if record is None or source is None or "stored_at_b" not in record:
            raise AgentError("job_id must name a completed experiment of this session", field="job_id", got=self.job_id)
        kind = source.tool.removeprefix("run_").removeprefix("pair_")
        if kind != self.kind:
            raise AgentError("the job is of another kind", field="kind", got=self.kind, limit=kind)
        stored = record["stored_at_b"]
        if self.first + self.count > len(stored):
            raise AgentError("the job has fewer shots", field="count", got=self.first + self.count, limit=len(stored), unit="shots")
        values = store.sealed(stored, device.hidden.store_key, record["nonce"])[self.first : self.first + self.count]
        out = {"first": self.first, "bits": "".join(map(str, values & 1))}
        return out | ({"settings": "".join(map(str, values >> 1))} if kind == "separable" else {})


EXPERIMENTS = (RunSeparable, RunEntangled, RunPairTomography)
QUERIES = (RequestBits,)
