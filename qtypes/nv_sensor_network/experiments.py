"""The four experiments: one node after the other, all nodes on the camera, an entangled block, references."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.errors import AgentError
from qtypes.nv_sensor_network import physics
from qtypes.nv_sensor_network.device import (
    MAX_BLOCK,
    MAX_JOB_SHOTS,
    MAX_NODES,
    MAX_PERIOD_S,
    MAX_POINTS,
    MAX_VISITS,
    REFOCUS_S,
    SETUP_S,
    TAU_US,
    Hidden,
    Spec,
    dead_us,
)  # fmt: skip

Node = Annotated[int, Field(ge=0, lt=MAX_NODES)]
COUNTS = "photons detected"


class Point(Part):
    """One setting of the sequence."""

    tau_us: float = quantity("us", "free precession between the first and the last pulse", ge=TAU_US[0], le=TAU_US[1])
    phase_rad: float = quantity("rad", "phase of the last pulse; the fringe is cos(phase of the spin - phase_rad)", ge=-100, le=100)


def moves(path: tuple[int, ...]) -> int:
    """How often the counter moves on a path that begins and ends at node 0."""
    stops = (0, *path, 0)
    return sum(a != b for a, b in pairwise(stops))


def known_nodes(nodes: tuple[int, ...], spec: Spec, field: str) -> None:
    """`AgentError` where a node does not exist."""
    count = len(spec.nominal_positions_mm)
    for k, node in enumerate(nodes):
        if node >= count:
            raise AgentError("there is no such node", field=f"{field}.{k}", got=node, limit=count - 1, unit="1")


def few_enough(shots: int) -> None:
    """`AgentError` where a request has too many shots."""
    if shots > MAX_JOB_SHOTS:
        raise AgentError("too many shots: visits x points x shots", field="shots", got=shots, limit=MAX_JOB_SHOTS, unit="1")


class _Sequence(Experiment):
    """What all sequences share: points, interleaved shot by shot."""

    points: tuple[Point, ...] = Field(min_length=1, max_length=MAX_POINTS, description="settings; they alternate from shot to shot")
    shots: int = quantity("1", "shots of each point (and visit); visits x points x shots <= 250 000", ge=1, le=MAX_JOB_SHOTS)
    echo: bool = Field(default=False, description="a pi pulse in the middle: static fields cancel, slow noise nearly so")

    def block_size(self) -> int:
        """Nodes that are entangled."""
        return 1

    def tau_us(self) -> np.ndarray:
        """Free precession of each point, float64 `(points,)`."""
        return np.array([p.tau_us for p in self.points])

    def phase_rad(self) -> np.ndarray:
        """Analysis phase of each point, float64 `(points,)`."""
        return np.array([p.phase_rad for p in self.points])

    def shot_us(self) -> np.ndarray:
        """Length of a shot of each point, float64 `(points,)`."""
        return self.tau_us() + dead_us(self.block_size())

    def stay_s(self) -> float:
        """Length of all shots of one visit, s."""
        return float(self.shots * self.shot_us().sum() * 1e-6)

    def schedule(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the shots of one visit in order: start in s, free precession and rest in us, each `(shots x points,)`."""
        tau = np.tile(self.tau_us(), self.shots)
        shot = np.tile(self.shot_us(), self.shots)
        return (np.cumsum(shot) - shot) * 1e-6, tau, shot - tau


def detected(
    hidden: Hidden, rng: np.random.Generator, phase: np.ndarray, contrast: float, start_s: np.ndarray, camera: bool = False
) -> np.ndarray:
    """Photon numbers, uint8: the spin is projected, then its photons are Poissonian."""
    bright, dark = hidden.photons(start_s, camera)
    zero = rng.random(phase.shape) < 0.5 * (1.0 + contrast * np.cos(phase))
    return np.minimum(rng.poisson(np.where(zero, bright, dark)), 255).astype(np.uint8)


def in_order(counts: np.ndarray, points: int) -> np.ndarray:
    """`(..., point, shot)` from shots in the order of time, point fastest."""
    return np.ascontiguousarray(np.moveaxis(counts.reshape(*counts.shape[:-1], -1, points), -1, -2))


class RunRamsey(_Sequence):
    """Ramsey (or echo) sequences on one node at a time, read by the photon counter. The counter visits the nodes of `nodes` in order; each
    visit takes all shots of all points. The record holds the photons of every shot and the start of every visit."""

    tool: ClassVar[str] = "run_ramsey"
    nodes: tuple[Node, ...] = quantity("1", "nodes to visit, in order; repetitions allowed", min_length=1, max_length=MAX_VISITS)
    period_s: float = quantity(
        "s", "time from the start of one visit to the start of the next where the counter does not move; 0, or less than the shots take,"
        " means at once", ge=0, le=MAX_PERIOD_S, default=0.0,
    )  # fmt: skip

    @classmethod
    def examples(cls, spec: Spec) -> tuple[Self, ...]:
        fringe = tuple(Point(tau_us=t, phase_rad=p) for t in (4.0, 40.0) for p in (0.0, np.pi / 2))
        return (
            cls(nodes=(0, 0, 0), points=fringe, shots=1000, period_s=1.0),
            cls(nodes=(0, len(spec.nominal_positions_mm) - 1), points=fringe, shots=1000),
            cls(nodes=(0,), points=(Point(tau_us=80.0, phase_rad=0.0),), shots=2000, echo=True),
        )

    def _offsets_s(self) -> np.ndarray:
        """Start of each visit after the start of the job, and the end of the last with the counter home, `(visits + 1,)`."""
        stay, at, now, stops = self.stay_s(), 0, SETUP_S, []
        for k, node in enumerate(self.nodes):
            if node != at:
                now += REFOCUS_S
            elif k:
                now += max(0.0, self.period_s - stay)
            stops.append(now)
            now, at = now + stay, node
        return np.array([*stops, now + (REFOCUS_S if at != 0 else 0.0)])

    def cost(self) -> Cost:
        return Cost.of(lab_s=float(self._offsets_s()[-1]), shots=len(self.nodes) * len(self.points) * self.shots, jobs=1)

    def admit(self, spec: Spec) -> None:
        known_nodes(self.nodes, spec, "nodes")
        few_enough(len(self.nodes) * len(self.points) * self.shots)

    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        h: Hidden = device.hidden
        visit_s = clock.start_s + self._offsets_s()[:-1]
        start, tau, rest = self.schedule()
        analysis = np.tile(self.phase_rad(), self.shots)
        static = h.static_nt()
        counts = np.empty((visit_s.size, tau.size), dtype=np.uint8)
        for k, node in enumerate(self.nodes):
            times = visit_s[k] + start
            phase = physics.local_phases(rng, tau, rest, h.local_rms_nt, h.local_correlation_us, self.echo) - analysis
            if not self.echo:
                phase += physics.GAMMA * tau * (static[node] + h.common_nt(times))
            counts[k] = detected(h, rng, phase, 1.0, times)
        return Record(
            {
                "counts": Array(in_order(counts, len(self.points)), "1", ("visit", "point", "shot"), COUNTS),
                "time_s": Array(visit_s, "s", ("visit",), "lab clock at the first shot of the visit"),
            },
            {"nodes": list(self.nodes), "stay_s": self.stay_s()},
        )


class RunCamera(_Sequence):
    """Ramsey (or echo) sequences on all nodes at once, not entangled, read by a camera that catches a ninth of the photons per node."""

    tool: ClassVar[str] = "run_camera"

    @classmethod
    def examples(cls, spec: Spec) -> tuple[Self, ...]:
        fringe = tuple(Point(tau_us=20.0, phase_rad=p) for p in (0.0, np.pi / 2))
        return (cls(points=fringe, shots=3000), cls(points=fringe[:1], shots=1000, echo=True))

    def cost(self) -> Cost:
        return Cost.of(lab_s=SETUP_S + self.stay_s(), shots=len(self.points) * self.shots, jobs=1)

    def admit(self, spec: Spec) -> None:
        few_enough(len(self.points) * self.shots)

    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        h: Hidden = device.hidden
        start, tau, rest = self.schedule()
        times = clock.start_s + SETUP_S + start
        analysis = np.tile(self.phase_rad(), self.shots)
        common = h.common_nt(times)
        counts = np.empty((len(h.positions_mm), tau.size), dtype=np.uint8)
        for node, static in enumerate(h.static_nt()):
            phase = physics.local_phases(rng, tau, rest, h.local_rms_nt, h.local_correlation_us, self.echo) - analysis
            if not self.echo:
                phase += physics.GAMMA * tau * (static + common)
            counts[node] = detected(h, rng, phase, 1.0, times, camera=True)
        return Record(
            {
                "counts": Array(in_order(counts, len(self.points)), "1", ("node", "point", "shot"), COUNTS),
                "time_s": Array(times[:1], "s", ("visit",), "lab clock at the first shot"),
            },
            {"stay_s": self.stay_s()},
        )


class RunGhz(_Sequence):
    """Ramsey (or echo) sequences on one entangled block (Greenberger-Horne-Zeilinger state), disentangled onto its first node, which the
    counter reads. The block adds up the phases of its nodes with their signs."""

    tool: ClassVar[str] = "run_ghz"
    nodes: tuple[Node, ...] = quantity("1", "nodes of the block, the one that is read first", min_length=2, max_length=MAX_BLOCK)
    signs: tuple[Literal["+", "-"], ...] = Field(min_length=2, max_length=MAX_BLOCK, description="sign with which each node's phase counts")

    @classmethod
    def examples(cls, spec: Spec) -> tuple[Self, ...]:
        last = len(spec.nominal_positions_mm) - 1
        fringe = tuple(Point(tau_us=t, phase_rad=p) for t in (5.0, 20.0) for p in (0.0, np.pi / 2))
        return (
            cls(nodes=(0, last), signs=("+", "-"), points=fringe, shots=2000),
            cls(nodes=tuple(range(min(last + 1, MAX_BLOCK))), signs=("+",) * min(last + 1, MAX_BLOCK), points=fringe, shots=2000),
            cls(nodes=(last, 0), signs=("+", "+"), points=fringe[:1], shots=1000, echo=True),
        )

    def block_size(self) -> int:
        return len(self.nodes)

    def sign(self) -> np.ndarray:
        """Signs as numbers, float64 `(nodes,)`."""
        return np.array([1.0 if s == "+" else -1.0 for s in self.signs])

    def _start_s(self) -> float:
        return SETUP_S + (REFOCUS_S if self.nodes[0] != 0 else 0.0)

    def cost(self) -> Cost:
        lab_s = SETUP_S + REFOCUS_S * moves(self.nodes[:1]) + self.stay_s()
        return Cost.of(lab_s=lab_s, shots=len(self.points) * self.shots, jobs=1)

    def admit(self, spec: Spec) -> None:
        known_nodes(self.nodes, spec, "nodes")
        few_enough(len(self.points) * self.shots)
        if len(set(self.nodes)) != len(self.nodes):
            raise AgentError("a node can be in a block once", field="nodes", got=list(self.nodes), limit="distinct nodes", unit="1")
        if len(self.signs) != len(self.nodes):
            raise AgentError("each node of the block has a sign", field="signs", got=len(self.signs), limit=len(self.nodes), unit="1")

    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        h: Hidden = device.hidden
        start, tau, rest = self.schedule()
        times = clock.start_s + self._start_s() + start
        signs = self.sign()
        phase = -np.tile(self.phase_rad(), self.shots)
        for sign in signs:
            phase += sign * physics.local_phases(rng, tau, rest, h.local_rms_nt, h.local_correlation_us, self.echo)
        if not self.echo:
            static = float(signs @ h.static_nt()[list(self.nodes)])
            phase += physics.GAMMA * tau * (static + signs.sum() * h.common_nt(times))
        counts = detected(h, rng, phase, h.link_fidelity ** (2 * (signs.size - 1)), times)
        return Record(
            {
                "counts": Array(in_order(counts, len(self.points)), "1", ("point", "shot"), COUNTS),
                "time_s": Array(times[:1], "s", ("visit",), "lab clock at the first shot"),
            },
            {"nodes": list(self.nodes), "signs": list(self.signs), "stay_s": self.stay_s()},
        )


class RunReference(Experiment):
    """Photons of a node prepared in |0> (bright) or |1> (dark), without precession, read by the counter on node 0 or by the camera."""

    tool: ClassVar[str] = "run_reference"
    prepare: int = quantity("1", "state, 0 or 1", ge=0, le=1)
    shots: int = quantity("1", "repetitions", ge=1, le=MAX_JOB_SHOTS)
    camera: bool = Field(default=False, description="read all nodes with the camera instead")

    @classmethod
    def examples(cls, spec: Spec) -> tuple[Self, ...]:
        return (cls(prepare=0, shots=2000), cls(prepare=1, shots=2000), cls(prepare=1, shots=1000, camera=True))

    def cost(self) -> Cost:
        return Cost.of(lab_s=SETUP_S + self.shots * dead_us(1) * 1e-6, shots=self.shots, jobs=1)

    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        h: Hidden = device.hidden
        times = clock.start_s + SETUP_S + np.arange(self.shots) * dead_us(1) * 1e-6
        mean = h.photons(times, self.camera)[self.prepare]
        nodes = len(h.positions_mm) if self.camera else 1
        counts = np.minimum(rng.poisson(mean, (nodes, self.shots)), 255).astype(np.uint8)
        return Record({"counts": Array(counts, "1", ("node", "shot"), COUNTS)}, {"prepare": self.prepare, "nodes": nodes})
