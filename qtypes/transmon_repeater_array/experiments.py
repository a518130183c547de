"""Requests: pairs of a link, end-to-end pairs, purification, readout."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.errors import AgentError
from qtypes.transmon_repeater_array import physics, sampling
from qtypes.transmon_repeater_array.physics import ENDS, INNER
from qtypes.transmon_repeater_array.protocol import Rule, Setting, SwapOrder

REPETITION_S = 4e-4
JOB_S = 0.5

Basis = Literal["XX", "YY", "ZZ"]
Class = Literal["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
Classes = Annotated[tuple[Class, ...], Field(min_length=4, max_length=4)]
_CLASSES = "class of the local Clifford at each node, node 0 first: images of X, Y, Z up to sign"
_PARITY = "1 is the outcome -1; without errors the two agree in XX and ZZ and differ in YY"


def _cost(pairs: int, shots: int) -> Cost:
    return Cost.of(lab_s=JOB_S + REPETITION_S * shots, pairs=pairs, shots=shots, jobs=1)


def _on_grid(spec: Any, name: str, time_us: float) -> None:
    slots = time_us / spec.slot_us
    if abs(slots - round(slots)) > 1e-9:
        raise AgentError("not a multiple of the slot", field=name, got=time_us, limit=spec.slot_us, unit="us")


def _same_ends(classes: tuple[str, ...]) -> None:
    if classes[0] != classes[3]:
        raise AgentError("the ends must apply the same class, or their pair is no Bell state of the checks", field="local_cliffords.3",
                         got=classes[3], limit=classes[0])  # fmt: skip


class RunLinkPairs(Experiment):
    """Make two raw pairs on one link, the second `slot_separation_us` after the first, and read all halves in one basis.

    Each pair is read `hold_us` after it was made; until then its halves wait in the memories of their nodes. Record: `bits` uint8 (shots,
    2, 2): pair, then node (link, link + 1), not corrected for readout. Costs 2 pairs per shot.
    """

    tool: ClassVar[str] = "run_link_pairs"
    link: int = quantity("1", "link k joins nodes k and k + 1", ge=0, le=2)
    basis: Basis = Field(description="axis in which both halves of both pairs are read")
    slot_separation_us: float = quantity("us", "time between the two pairs, a multiple of the slot", ge=2, le=60)
    hold_us: float = quantity("us", "time in memory before a pair is read", ge=0, le=60, default=0.0)
    shots: int = quantity("1", "repetitions", ge=1, le=40_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunLinkPairs, ...]:
        return (
            cls(link=0, basis="XX", slot_separation_us=4.0, shots=20_000),
            cls(link=1, basis="YY", slot_separation_us=2.0, hold_us=40.0, shots=20_000),
            cls(link=2, basis="ZZ", slot_separation_us=16.0, shots=20_000),
        )

    def cost(self) -> Cost:
        return _cost(2 * self.shots, self.shots)

    def admit(self, spec: Any) -> None:
        _on_grid(spec, "slot_separation_us", self.slot_separation_us)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h, nodes = device.hidden, (self.link, self.link + 1)
        errors = sampling.link_errors(rng, h, self.link, [0.0, self.slot_separation_us], self.shots)
        readout = (h.readout[nodes[0]], h.readout[nodes[1]])
        bits = []
        for k in range(2):
            held = errors[:, k] ^ sampling.memory_errors(rng, h, nodes, self.hold_us, self.shots)
            bits.append(sampling.read_pair(rng, held, self.basis, readout))
        return Record({"bits": Array(np.stack(bits, axis=1), "1", ("shot", "pair", "node"), _PARITY)}, {"pairs": 2 * self.shots}).check()


class RunEndToEnd(Experiment):
    """Make a raw pair on each link in one slot, swap at nodes 1 and 2, and read the halves at nodes 0 and 3.

    The controller corrects the pair by the Bell outcomes as they were read. The class of an inner node is applied to both of its halves
    before its Bell measurement and undone in the correction; that of the ends is applied to the pair. Record: `bits` uint8 (shots, 2):
    nodes 0 and 3; `bell` uint8 (shots, 2, 2): node 1, 2, then the bits of control (X X) and target (Z Z). Costs 3 pairs per shot.
    """

    tool: ClassVar[str] = "run_end_to_end"
    local_cliffords: Classes = Field(description=_CLASSES, default=("XYZ",) * 4)
    swap_order: SwapOrder = Field(description="both nodes at once, or one after the other", default="together")
    basis: Basis = Field(description="axis in which both halves are read")
    hold_us: float = quantity("us", "time in the memories of the ends before the reading", ge=0, le=60, default=0.0)
    shots: int = quantity("1", "repetitions", ge=1, le=40_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunEndToEnd, ...]:
        return (
            cls(basis="ZZ", shots=5_000),
            cls(local_cliffords=("ZYX", "YXZ", "YXZ", "ZYX"), swap_order="1-2", basis="XX", hold_us=20.0, shots=8_000),
        )

    def cost(self) -> Cost:
        return _cost(3 * self.shots, self.shots)

    def admit(self, spec: Any) -> None:
        _same_ends(self.local_cliffords)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h = device.hidden
        setting = Setting(self.local_cliffords, self.swap_order, 0.0)
        errors = sampling.end_to_end(rng, h, setting, [0.0], self.shots)[:, 0]
        errors = errors ^ sampling.memory_errors(rng, h, ENDS, self.hold_us, self.shots)
        turned = physics.image(self.local_cliffords[0]).astype(np.uint8)[errors]
        bits = sampling.read_pair(rng, turned, self.basis, (h.readout[ENDS[0]], h.readout[ENDS[1]]))
        bell = rng.integers(0, 2, (self.shots, len(INNER), 2), dtype=np.uint8)
        arrays = {
            "bits": Array(bits, "1", ("shot", "node"), _PARITY),
            "bell": Array(bell, "1", ("shot", "inner node", "bit"), "outcomes as read; bit 0 X X, bit 1 Z Z"),
        }
        return Record(arrays, {"pairs": 3 * self.shots}).check()


class RunPurify(Experiment):
    """Make end-to-end pairs at a fixed separation, purify them, and read the pair that is left.

    Before every round both ends apply their class to all halves. A round is a bilateral CNOT from the earlier to the later pair; the later
    one is then read in Z at both ends: a check. One round takes two raw pairs. Two rounds take four: check 0 joins the first two, check 1
    the others, check 2 what these leave. Record: `check` uint8 (shots, checks, 2) the bits of each check at nodes 0 and 3; `final` uint8
    (shots, 2) the pair that is left, read in `basis` whether accepted or not; `accepted` uint8 (shots,) by the rule; `bell` uint8 (shots,
    pairs, 2, 2) as in run_end_to_end. Costs 6 pairs per shot for one round, 12 for two.
    """

    tool: ClassVar[str] = "run_purify"
    local_cliffords: Classes = Field(description=_CLASSES)
    swap_order: SwapOrder = Field(description="both inner nodes at once, or one after the other")
    slot_separation_us: float = quantity("us", "time from one raw pair to the next, a multiple of the slot", ge=2, le=60)
    rounds: int = quantity("1", "rounds of purification", ge=1, le=2)
    accept_rule: Rule = Field(description="accept if the two bits of every check agree (even), differ (odd), or always (all)")
    basis: Basis = Field(description="axis in which the pair that is left is read")
    shots: int = quantity("1", "attempts", ge=1, le=40_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunPurify, ...]:
        same: dict[str, Any] = {"swap_order": "together", "basis": "XX"}
        return (
            cls(local_cliffords=("XYZ",) * 4, slot_separation_us=2.0, rounds=1, accept_rule="even", shots=4_000, **same),
            cls(local_cliffords=("YZX",) * 4, slot_separation_us=6.0, rounds=2, accept_rule="all", shots=3_000, **same),
        )

    def setting(self) -> Setting:
        """The protocol of this request."""
        return Setting(self.local_cliffords, self.swap_order, self.slot_separation_us, self.rounds, self.accept_rule)

    def cost(self) -> Cost:
        return _cost(3 * 2**self.rounds * self.shots, self.shots)

    def admit(self, spec: Any) -> None:
        _same_ends(self.local_cliffords)
        _on_grid(spec, "slot_separation_us", self.slot_separation_us)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h, setting = device.hidden, self.setting()
        parities, errors = sampling.purified(rng, h, setting, self.shots)
        first = rng.integers(0, 2, parities.shape, dtype=np.uint8)
        accepted = np.isin(parities, setting.keeps()).all(axis=1)
        bell = rng.integers(0, 2, (self.shots, 2**self.rounds, len(INNER), 2), dtype=np.uint8)
        final = sampling.read_pair(rng, errors, self.basis, (h.readout[ENDS[0]], h.readout[ENDS[1]]))
        checks = np.stack([first, first ^ parities], axis=2).astype(np.uint8)
        arrays = {
            "check": Array(checks, "1", ("shot", "check", "node"), "1 is |1>"),
            "final": Array(final, "1", ("shot", "node"), _PARITY),
            "accepted": Array(accepted.astype(np.uint8), "1", ("shot",), "1 is accepted by the rule"),
            "bell": Array(bell, "1", ("shot", "pair", "inner node", "bit"), "outcomes as read; bit 0 X X, bit 1 Z Z"),
        }
        return Record(arrays, {"pairs": 3 * 2**self.rounds * self.shots}).check()


class RunReadoutReference(Experiment):
    """Prepare |0>, then |1>, at all nodes and read them. Record: `bits` uint8 (2, shots, 4): prepared state, shot, node. Costs no pairs."""

    tool: ClassVar[str] = "run_readout_reference"
    shots: int = quantity("1", "repetitions of each state", ge=1, le=100_000)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunReadoutReference, ...]:
        return (cls(shots=20_000),)

    def cost(self) -> Cost:
        return _cost(0, 2 * self.shots)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        wrong = rng.random((2, self.shots, physics.N_NODES)) < np.array(device.hidden.readout)
        bits = wrong ^ np.array([False, True])[:, None, None]
        array = Array(bits.astype(np.uint8), "1", ("prepared", "shot", "node"), "1 is |1>")
        return Record({"bits": array}, {"shots": 2 * self.shots}).check()


EXPERIMENTS = (RunLinkPairs, RunEndToEnd, RunPurify, RunReadoutReference)
