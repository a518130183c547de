"""Requests: single states, chains of gates, distillation batches."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.errors import AgentError
from qtypes.logical_magic_factory import physics

BATCH = 16
"""States of a slot that share one reference."""
CYCLE_S = 1e-3
CLIFFORD_STATES = 0.2
"""What a Clifford step is charged, in states."""
MAX_STATES = 1_000_000
OUTPUT_FLOOR = 5e-8

Slot = Annotated[int, Field(ge=0, le=23)]
Level = Annotated[int, Field(ge=0, le=3)]
Protocol = Literal["15-to-1", "7-to-1"]


def _attempts(rng: np.random.Generator, accept: float, states: int, shots: int) -> np.ndarray:
    """Preparations until `states` were accepted, uint16 `(shots,)`."""
    return (states + rng.negative_binomial(states, accept, shots)).astype(np.uint16)


def _charge(states: float, cycles: float) -> Cost:
    return Cost.of(lab_s=round(cycles * CYCLE_S, 6), units=states / 1000, jobs=1)


class _Factory(Experiment):
    """Checks that all experiments share."""

    def consumed(self) -> float:
        """States that the request consumes."""
        raise NotImplementedError

    def used(self) -> tuple[tuple[str, int, str, int], ...]:
        """(field of the slot, slot, field of the level, level)."""
        raise NotImplementedError

    def admit(self, spec: Any) -> None:
        for slot_field, slot, level_field, level in self.used():
            if slot >= spec.n_slots:
                raise AgentError("no such slot", field=slot_field, got=slot, limit=spec.n_slots - 1)
            if level not in spec.levels:
                raise AgentError("this level is not offered", field=level_field, got=level, limit=str(list(spec.levels)))
        if self.consumed() > spec.max_states:
            raise AgentError("too many states in one job", field="shots", got=self.consumed(), limit=spec.max_states, unit="states")


class RunInjectTomography(_Factory):
    """Prepare single T states in one slot and measure each along one axis.

    Axis T is (X + Y) / sqrt(2), in which an ideal state always gives 0; axes X, Y give 0 with 85.4 %, Z with 50 %. The slot delivers
    batches of 16 accepted states; `per_batch` of each batch are measured and the rest is not consumed. Record: `bits` uint8 (shots,),
    1 for the outcome -1; `attempts` uint16 (shots,), preparations until the state was accepted; `batch` uint32 (shots,), number of the
    batch in this job. Costs shots / 1000 units.
    """

    tool: ClassVar[str] = "run_inject_tomography"
    slot: Slot = quantity("1", "slot, from 0")
    level: Level = quantity("1", "verification level")
    axis: Literal["X", "Y", "Z", "T"] = Field(description="measured axis; T is (X + Y) / sqrt(2)")
    per_batch: int = quantity("1", "states measured of each batch of 16", ge=1, le=BATCH, default=BATCH)
    shots: int = quantity("1", "states measured", ge=1, le=400_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunInjectTomography, ...]:
        level = spec.levels[-1]
        return (
            cls(slot=0, level=level, axis="T", per_batch=1, shots=40_000),
            cls(slot=spec.n_slots - 1, level=level, axis="X", shots=2_000),
        )

    def consumed(self) -> float:
        return self.shots

    def used(self) -> tuple[tuple[str, int, str, int], ...]:
        return (("slot", self.slot, "level", self.level),)

    def cost(self) -> Cost:
        return _charge(self.shots, self.shots * (self.level + 2))

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        attempts = _attempts(rng, h.accepted(self.slot, self.level), 1, self.shots)
        batch = np.arange(self.shots, dtype=np.uint32) // self.per_batch
        slipped = (rng.random(int(batch[-1]) + 1) < h.r_common)[batch]
        contrast = physics.tomography_contrast(self.axis, *h.delivered(self.slot, self.level)) * (1 - 2 * h.q_m)
        ones = rng.random(self.shots) < (1 - np.where(slipped, -contrast, contrast)) / 2
        arrays = {
            "bits": Array(ones.astype(np.uint8), "1", ("shot",), "1 is the outcome -1"),
            "attempts": Array(attempts, "1", ("shot",), "preparations, the accepted one included"),
            "batch": Array(batch, "1", ("shot",), "number of the batch within this job"),
        }
        return Record(arrays, {"states": self.shots}).check()


class RunTeleportChain(_Factory):
    """Apply an even number of gates in a row to one data block, then measure it.

    Kind T: T and T^dagger in turn, each by teleportation through a state of the slot. Kind Clifford: the same Clifford operations and
    waiting time per step with S and S^dagger in turn, without states. The data block starts in |+> and is read in X (`prep` "+"), or in
    |0> and is read in Z (`prep` "0"); without errors the bit is 0. Record: `bits` uint8 (shots,); for kind T also `attempts` uint16
    (shots,), preparations for the chain's states together, and `batch` uint32 (shots,), the batch of its first state. Costs
    length x shots / 1000 units for kind T and a fifth of it for kind Clifford.
    """

    tool: ClassVar[str] = "run_teleport_chain"
    slot: Slot = quantity("1", "slot, from 0; of no effect for kind Clifford", default=0)
    level: Level = quantity("1", "verification level")
    kind: Literal["T", "Clifford"] = Field(description="T: teleported T and T^dagger; Clifford: S and S^dagger")
    prep: Literal["+", "0"] = Field(description="+: start in |+>, read X; 0: start in |0>, read Z")
    length: int = quantity("1", "number of gates, even", ge=2, le=64, multiple_of=2)
    shots: int = quantity("1", "chains", ge=1, le=100_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunTeleportChain, ...]:
        level, last = spec.levels[-1], spec.n_slots - 1
        return (
            cls(slot=0, level=level, kind="Clifford", prep="+", length=64, shots=15_000),
            cls(slot=last, level=level, kind="T", prep="0", length=64, shots=10_000),
        )

    def consumed(self) -> float:
        return self.length * self.shots

    def used(self) -> tuple[tuple[str, int, str, int], ...]:
        return (("slot", self.slot, "level", self.level),)

    def cost(self) -> Cost:
        return _charge(self.consumed() * (1 if self.kind == "T" else CLIFFORD_STATES), self.consumed())

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        step = physics.step_contrast(self.kind, self.prep, *h.delivered(self.slot, self.level), h.step_flip())
        # a slipped batch puts Z on all of its states, an even number of which every chain takes: it does not show
        ones = rng.random(self.shots) < (1 - (1 - 2 * h.q_m) * step**self.length) / 2
        arrays = {"bits": Array(ones.astype(np.uint8), "1", ("shot",), "1 is the outcome -1")}
        if self.kind == "T":
            attempts = _attempts(rng, h.accepted(self.slot, self.level), self.length, self.shots)
            first = (np.arange(self.shots, dtype=np.uint32) * self.length) // BATCH
            arrays["attempts"] = Array(attempts, "1", ("shot",), "preparations for all states of the chain")
            arrays["batch"] = Array(first.astype(np.uint32), "1", ("shot",), "number of the first state's batch within this job")
        return Record(arrays, {"steps": self.shots * self.length}).check()


class RunDistill(_Factory):
    """Run batches of a distillation protocol and measure every output destructively.

    15-to-1 takes T states (punctured Reed-Muller code), 7-to-1 takes |Y> states, which the slots deliver with the same phase error
    (Steane code). `slots` and `levels` are in the order of the columns 1, 2, ... of the protocol. All checks are read `reads` times.
    Record: `syndrome` uint8 (shots, reads), check k is bit k; `output_bit` uint8 (shots,), 1 if the output was found in the wrong state,
    whether the batch is to be accepted or not, with the error of that measurement; `attempts` uint16 (shots, inputs), preparations for
    each input; `batch` uint32 (shots,), the batch of the first input. Costs inputs x shots / 1000 units.
    """

    tool: ClassVar[str] = "run_distill"
    protocol: Protocol = Field(description="15-to-1 for T states, 7-to-1 for |Y> states")
    slots: tuple[Slot, ...] = quantity("1", "slot of each input, by column; all different where the device has that many", min_length=7,
                                       max_length=15)  # fmt: skip
    levels: tuple[Level, ...] = quantity("1", "verification level of each input, by column", min_length=7, max_length=15)
    reads: int = quantity("1", "how often all checks are read", ge=1, le=3)
    shots: int = quantity("1", "distillation batches", ge=1, le=60_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunDistill, ...]:
        found = []
        for protocol, n in physics.INPUTS.items():
            slots = tuple(k % spec.n_slots for k in range(n))
            found.append(cls(protocol=protocol, slots=slots, levels=(spec.levels[-1],) * n, reads=2, shots=2_000))  # type: ignore[arg-type]
        return tuple(found)

    def consumed(self) -> float:
        return physics.INPUTS[self.protocol] * self.shots

    def used(self) -> tuple[tuple[str, int, str, int], ...]:
        pairs = zip(self.slots, self.levels, strict=False)
        return tuple((f"slots.{k}", s, f"levels.{k}", v) for k, (s, v) in enumerate(pairs))

    def admit(self, spec: Any) -> None:
        wanted = physics.INPUTS[self.protocol]
        for name, given in (("slots", self.slots), ("levels", self.levels)):
            if len(given) != wanted:
                raise AgentError(f"{self.protocol} takes {wanted} inputs", field=name, got=len(given), limit=wanted)
        if spec.n_slots >= wanted and len(set(self.slots)) < wanted:
            raise AgentError("the slots of a batch must differ", field="slots", got=len(set(self.slots)), limit=wanted)
        super().admit(spec)

    def cost(self) -> Cost:
        per_shot = sum(v + 1 for v in self.levels) + physics.BLOCK_CYCLES_PER_READ[self.protocol] * self.reads
        return _charge(self.consumed(), self.shots * per_shot)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        pairs = list(zip(self.slots, self.levels, strict=True))
        errors = np.array([physics.dephasing(*h.delivered(s, v)) for s, v in pairs])
        attempts = np.stack([_attempts(rng, h.accepted(s, v), 1, self.shots) for s, v in pairs], axis=1)
        z = (rng.random((self.shots, len(pairs))) < errors).astype(np.uint8)
        z ^= self._slips(h.r_common, rng)
        true = (z @ physics.columns(self.protocol)) & 1
        flips = rng.random((self.shots, self.reads, true.shape[1])) < h.q_m
        syndrome = np.packbits(true[:, None, :] ^ flips, axis=2, bitorder="little")[:, :, 0]
        output = (z.sum(axis=1) & 1) ^ (rng.random(self.shots) < OUTPUT_FLOOR) ^ (rng.random(self.shots) < h.q_m)
        mates = self.slots.count(self.slots[0])
        arrays = {
            "syndrome": Array(syndrome, "1", ("shot", "read"), "check k is bit k, least significant first"),
            "output_bit": Array(output.astype(np.uint8), "1", ("shot",), "1 is the wrong state"),
            "attempts": Array(attempts, "1", ("shot", "input"), "preparations, the accepted one included"),
            "batch": Array((np.arange(self.shots) * mates // BATCH).astype(np.uint32), "1", ("shot",), "batch of the first input"),
        }
        return Record(arrays, {"states": int(self.consumed())}).check()

    def _slips(self, r: float, rng: np.random.Generator) -> np.ndarray:
        """Z flips by slipped batches, uint8 `(shots, inputs)`; the states of a slot are taken in order, 16 to a batch."""
        out = np.zeros((self.shots, len(self.slots)), dtype=np.uint8)
        for slot in dict.fromkeys(self.slots):
            inputs = [k for k, s in enumerate(self.slots) if s == slot]
            order = np.arange(self.shots * len(inputs)).reshape(self.shots, -1) // BATCH
            out[:, inputs] = (rng.random(int(order[-1, -1]) + 1) < r)[order]
        return out


EXPERIMENTS = (RunInjectTomography, RunTeleportChain, RunDistill)
