"""The experiments: each class is a request, a tool of the agent, and the way to run it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes import AgentError, Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.cycle_error_recon.device import (
    CIRCUIT_S,
    MAX_DEPTH,
    MAX_DEPTHS,
    MAX_JOB_SHOTS,
    MAX_STATES,
    MAX_TWIRL_SHOTS,
    MAX_TWIRLS,
    REP_US,
    SETUP_S,
    Hidden,
    Spec,
)  # fmt: skip
from qtypes.cycle_error_recon.physics import N_QUBITS, parities, prepared, read, sampled

Axes = Annotated[str, Field(pattern="^[XYZ]{5}$", min_length=N_QUBITS, max_length=N_QUBITS)]
State = Annotated[str, Field(pattern="^[01]{5}$", min_length=N_QUBITS, max_length=N_QUBITS)]


class RunCycleSequence(Experiment):
    """Repeat the twirled cycle `depth` times between a product preparation and a product measurement, for each of the depths.

    Each twirl is a fresh choice of random Paulis (randomised compiling) and runs `shots_per_twirl` times. Returns `bits` uint8
    (depths, twirls, shots, 5), 1 where the measured eigenvalue is -1, corrected for the random Paulis; `frame` uint8 (depths, twirls, 5), 1
    where the correction flipped the bit that the readout gave. Qubits that a gate of `active_edges` does not touch idle. Costs
    depths x twirls x shots_per_twirl `shots`, one `jobs`, and 2 s + 0.2 s per depth and twirl + 250 us per shot of lab time.
    """

    tool: ClassVar[str] = "run_cycle_sequence"

    prep_axes: Axes = Field(description="letter q: qubit q begins as the +1 eigenstate of X, Y or Z")
    meas_axes: Axes = Field(description="letter q: qubit q is measured along X, Y or Z")
    depths: tuple[Annotated[int, Field(ge=0, le=MAX_DEPTH)], ...] = quantity(
        "cycles", "numbers of cycles, run in this order", min_length=1, max_length=MAX_DEPTHS
    )
    twirls: int = quantity("1", "random choices of the twirling Paulis for each depth", ge=1, le=MAX_TWIRLS)
    shots_per_twirl: int = quantity("1", "shots of each twirl at each depth", ge=1, le=MAX_TWIRL_SHOTS)
    active_edges: Literal["both", "01", "23", "none"] = Field(
        default="both", description="CZ gates that run: both, CZ(0,1) alone, CZ(2,3) alone, none"
    )

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunCycleSequence, ...]:
        return (
            cls(prep_axes="XYZXZ", meas_axes="XYZXZ", depths=(0, 8, 64), twirls=20, shots_per_twirl=60),
            cls(prep_axes="ZZXXY", meas_axes="ZZXXY", depths=(64, 2), twirls=20, shots_per_twirl=100, active_edges="both"),
            cls(prep_axes="XZZZZ", meas_axes="XZZZZ", depths=(7,), twirls=5, shots_per_twirl=50, active_edges="01"),
        )

    def circuits(self) -> int:
        return len(self.depths) * self.twirls

    def edges(self) -> tuple[tuple[int, int], ...]:
        """The gates that run."""
        return {"both": ((0, 1), (2, 3)), "01": ((0, 1),), "23": ((2, 3),), "none": ()}[self.active_edges]

    def cost(self) -> Cost:
        n = self.circuits() * self.shots_per_twirl
        return Cost.of(shots=n, jobs=1, lab_s=SETUP_S + self.circuits() * CIRCUIT_S + n * REP_US * 1e-6)

    def admit(self, spec: Spec) -> None:
        n = self.circuits() * self.shots_per_twirl
        if n > spec.max_job_shots:
            raise AgentError("too many shots in one job", field="shots_per_twirl", got=n, limit=spec.max_job_shots, unit="shots")

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        duration_s = CIRCUIT_S + self.shots_per_twirl * REP_US * 1e-6
        start_s = clock.start_s + SETUP_S + duration_s * np.arange(self.circuits()).reshape(len(self.depths), self.twirls)
        expected = []
        for depth, t_s in zip(self.depths, start_s + duration_s / 2, strict=True):
            generators, rates = hidden.noise(self.edges(), t_s)
            signal = parities(self.prep_axes, self.meas_axes, depth, self.edges(), generators, rates)
            spoiled = prepared(self.prep_axes, self.meas_axes, depth, self.edges(), np.array(hidden.preparation_error))
            expected.append(signal * spoiled)
        ideal = sampled(rng, np.array(expected), self.shots_per_twirl)
        frame = rng.integers(0, 2, (*start_s.shape, N_QUBITS), dtype=np.uint8)
        flip = frame[:, :, None]
        joint = [(j.qubits, j.probability) for j in hidden.joint_flips]
        bits = flip ^ read(rng, ideal ^ flip, np.array(hidden.false_1), np.array(hidden.false_0), joint)
        return Record(
            {
                "bits": Array(bits, "1", ("depth", "twirl", "shot", "qubit"), "1 is eigenvalue -1 along meas_axes; frame undone"),
                "frame": Array(frame, "1", ("depth", "twirl", "qubit"), "bits equals readout XOR frame"),
                "start_s": Array(start_s, "s", ("depth", "twirl"), "lab clock at the start of the twirl"),
            },
            {"circuits": self.circuits(), "shots": self.circuits() * self.shots_per_twirl},
        )


class RunReadoutReference(Experiment):
    """Prepare computational basis states and read them out at once, without any cycle and without twirling.

    Returns `bits` uint8 (states, shots, 5) as the readout says. The states carry preparation errors. Costs states x shots `shots`, one
    `jobs`, and 2 s + 250 us per shot of lab time.
    """

    tool: ClassVar[str] = "run_readout_reference"

    states: tuple[State, ...] = Field(description="bit strings, character q is qubit q", min_length=1, max_length=MAX_STATES)
    shots: int = quantity("1", "shots of each state", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunReadoutReference, ...]:
        return (cls(states=("00000", "11111"), shots=1000),)

    def cost(self) -> Cost:
        n = len(self.states) * self.shots
        return Cost.of(shots=n, jobs=1, lab_s=SETUP_S + n * REP_US * 1e-6)

    def admit(self, spec: Spec) -> None:
        n = len(self.states) * self.shots
        if n > spec.max_job_shots:
            raise AgentError("too many shots in one job", field="shots", got=n, limit=spec.max_job_shots, unit="shots")

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        states = np.array([[int(c) for c in s] for s in self.states], dtype=np.uint8)[:, None]
        wrong = rng.random((len(self.states), self.shots, N_QUBITS)) < np.array(hidden.preparation_error)
        joint = [(j.qubits, j.probability) for j in hidden.joint_flips]
        bits = read(rng, states ^ wrong.astype(np.uint8), np.array(hidden.false_1), np.array(hidden.false_0), joint)
        return Record(
            {"bits": Array(bits, "1", ("state", "shot", "qubit"), "as read: 1 is |1>")}, {"states": len(states), "shots": self.shots}
        )
