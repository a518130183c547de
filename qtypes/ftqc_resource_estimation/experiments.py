"""Requests: pilot runs of the memory, and the cost of a design."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Query, Record, quantity
from qtypes.errors import AgentError
from qtypes.ftqc_resource_estimation import cost, physics

BLOCKS_PER_UNIT = 100_000
MAX_BLOCKS = 20_000_000

Distance = Annotated[int, Field(ge=3, le=61)]


class RunPilotMemory(Experiment):
    """Run blocks of d cycles on one tile of distance d and count the blocks in which its logical qubit flipped.

    Record: `failures` uint32 (groups,), failed blocks of each group of 10000 blocks; `blocks` uint32 (groups,), blocks of each group (the
    last one holds the rest). 100000 blocks cost 1 unit, at whatever distance.
    """

    tool: ClassVar[str] = "run_pilot_memory"
    distance: Literal[3, 5, 7, 9] = quantity("1", "distance d of the tile")
    blocks: int = quantity("1", "blocks of d cycles", ge=1, le=MAX_BLOCKS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunPilotMemory, ...]:
        return cls(distance=3, blocks=400_000), cls(distance=5, blocks=1_205_000)

    def cost(self) -> Cost:
        return Cost.of(lab_s=round(self.blocks * self.distance * cost.CYCLE_US * 1e-6, 6), units=self.blocks / BLOCKS_PER_UNIT, jobs=1)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h, sizes = device.hidden, physics.groups(self.blocks)
        failed = physics.failures(self.distance, sizes, h.prefactor, h.suppression, rng)
        arrays = {
            "failures": Array(failed, "1", ("group",), "failed blocks of the group"),
            "blocks": Array(sizes, "1", ("group",), "blocks of the group"),
        }
        return Record(arrays, {"distance": self.distance, "blocks": self.blocks}).check()


class LevelOfUnits(Part):
    """One level of a factory."""

    dx: Distance = quantity("1", "distance against output errors, odd")
    dz: Distance = quantity("1", "distance against errors that the checks see, odd")
    dm: Distance = quantity("1", "rounds of a measurement, odd")
    count: int = quantity("1", "units of this level in a factory; 1 in the last level", ge=1, le=100)


class Evaluate(Query):
    """Cost of one design in the model of `cost.py`; each answered call uses one `evaluate_calls`.

    Distances are odd, and the last level of a factory has one unit. The result holds the parts of the error, physical qubits, run time,
    qubit-seconds, and whether the design is feasible. The model is evaluated with the pair (A, Lambda) of the public specification.
    """

    tool: ClassVar[str] = "evaluate"
    d: Distance = quantity("1", "code distance of the data block, odd")
    levels: tuple[LevelOfUnits, ...] = quantity("1", "levels of a factory, the one that takes injected states first", min_length=1,
                                               max_length=3)  # fmt: skip
    eps_synthesis: float = quantity("1", "summed error of all rotations by their synthesis", ge=1e-12, le=0.5)
    routing: Literal["compact", "intermediate", "fast"] = Field(description="layout of the data block")
    factories: int = quantity("1", "equal factories", ge=1, le=100)

    @classmethod
    def examples(cls, spec: Any) -> tuple[Evaluate, ...]:
        first = LevelOfUnits(dx=9, dz=5, dm=5, count=6)
        return (
            cls(d=21, levels=(first, LevelOfUnits(dx=21, dz=9, dm=9, count=1)), eps_synthesis=2e-3, routing="fast", factories=3),
            cls(d=25, levels=(first.model_copy(update={"count": 1}),), eps_synthesis=1e-3, routing="compact", factories=1),
        )

    def design(self) -> cost.Design:
        levels = tuple(cost.Level(u.dx, u.dz, u.dm, u.count) for u in self.levels)
        return cost.Design(self.d, levels, self.eps_synthesis, self.routing, self.factories)

    def cost(self) -> Cost:
        return Cost.of(evaluate_calls=1)

    def admit(self, spec: Any) -> None:
        even = fault(self.design())
        if even is not None:
            field, got, limit = even
            raise AgentError("not a design", field=field, got=got, limit=limit)

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        self.admit(device.spec)
        return shown(cost.evaluate(self.design(), device.spec.problem()))


def fault(design: cost.Design) -> tuple[str, int, str] | None:
    """(field, value, what is allowed) of the first number that makes it no design; None where it is one."""
    distances = {"d": design.d}
    for k, u in enumerate(design.levels):
        distances |= {f"levels.{k}.dx": u.dx, f"levels.{k}.dz": u.dz, f"levels.{k}.dm": u.dm}
    for field, d in distances.items():
        if d % 2 == 0:
            return field, d, "odd"
    last = len(design.levels) - 1
    return None if design.levels[last].count == 1 else (f"levels.{last}.count", design.levels[last].count, "1 in the last level")


def shown(result: cost.Cost) -> dict[str, Any]:
    """A cost as JSON; None for what is not finite (a factory that accepts nothing)."""
    flat = dataclasses.asdict(result)
    made = flat.pop("factory")
    flat |= {f"factory_{k}": made[k] for k in ("error", "rate_per_us", "qubits")} | {"valid": made["valid"]}
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in flat.items()}
