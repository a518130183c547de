"""Requests: evolution under constant drives with tomography, and the decay of one excited qubit."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.driven_dissipative_transmon_array.device import (
    JOB_S,
    MAX_AMP_MHZ,
    MAX_BASES,
    MAX_DETUNING_MHZ,
    MAX_DURATIONS,
    MAX_EVOLUTION_NS,
    MAX_JOB_SHOTS,
    MAX_QUBITS,
    RESET_US,
    Hidden,
    Spec,
)
from qtypes.driven_dissipative_transmon_array.physics import Floats, generator, outcomes, product, propagate
from qtypes.errors import AgentError
from qtypes.kit.readout import flipped

Amp = Annotated[float, Field(ge=0, le=MAX_AMP_MHZ)]
Angle = Annotated[float, Field(ge=-100, le=100)]
Detuning = Annotated[float, Field(ge=-MAX_DETUNING_MHZ, le=MAX_DETUNING_MHZ)]
Duration = Annotated[int, Field(ge=0, le=MAX_EVOLUTION_NS)]
Basis = Annotated[str, Field(pattern=r"^[XYZ]{2,4}$")]
QubitIndex = Annotated[int, Field(ge=0, lt=MAX_QUBITS)]


def _durations() -> Any:
    return quantity("ns", "lengths of the evolution, each with its own shots", min_length=1, max_length=MAX_DURATIONS)


def _per_qubit(unit: str, text: str) -> Any:
    return quantity(unit, text + ", one per qubit", min_length=2, max_length=MAX_QUBITS)


def _cost(shots: int, bases: int, durations_ns: tuple[int, ...]) -> Cost:
    evolution_s = shots * bases * sum(durations_ns) * 1e-9
    total = shots * bases * len(durations_ns)
    return Cost.of(lab_s=total * RESET_US * 1e-6 + evolution_s + JOB_S, shots=total, jobs=1, evolution_s=evolution_s)


def _read(rng: np.random.Generator, hidden: Hidden, probabilities: Floats, shots: int) -> NDArray[np.uint8]:
    """Assigned bits `(points, shots, N)` of outcome probabilities `(points, 2^N)`, qubit 0 most significant."""
    n = len(hidden.eta)
    edges = np.cumsum(probabilities, axis=1)[:, :-1]
    drawn = rng.random((len(probabilities), shots))
    string = np.stack([np.searchsorted(e, u, side="right") for e, u in zip(edges, drawn, strict=True)])
    bits = ((string[..., None] >> np.arange(n - 1, -1, -1)) & 1).astype(np.uint8)
    return flipped(rng, bits, np.array(hidden.p1_given_g), np.array(hidden.p0_given_e))


class RunDriveEvolve(Experiment):
    """Prepare, evolve under constant drives and the common decay channel, switch the drives off, measure.

    Each qubit starts in |g> or |e> (`prepare`, e.g. `eg`), is brought to `detuning_mhz`, and evolves for each of `durations_ns`; then all
    qubits are parked at once and every one is measured along the axis of its letter in each of `bases` (`XY`: qubit 0 along X, qubit 1
    along Y), turned by `frame_rad`. Qubits in `parked` stay parked from the beginning: no drive, no channel, only T1 and dephasing. A
    duration of 0 measures the preparation: with `ZZ` that is a readout reference.

    Returns `bits` uint8 (basis, duration, shot, qubit). Costs bases x durations x shots `shots`, one `jobs`, the sum of all evolutions as
    `evolution_s`; lab time 200 us per shot, the evolutions and 2 s.
    """

    tool: ClassVar[str] = "run_drive_evolve"

    amp_mhz: tuple[Amp, ...] = _per_qubit("MHz", "programmed Rabi frequencies")
    phase_rad: tuple[Angle, ...] = _per_qubit("rad", "phases of the drives")
    detuning_mhz: tuple[Detuning, ...] = _per_qubit("MHz", "programmed detunings, qubit minus drive")
    durations_ns: tuple[Duration, ...] = _durations()
    bases: tuple[Basis, ...] = Field(min_length=1, max_length=MAX_BASES, description="strings of X, Y, Z, one letter per qubit")
    shots: int = quantity("1", "shots of each basis and duration", ge=1, le=MAX_JOB_SHOTS)
    prepare: str = Field(pattern=r"^[ge]{2,4}$", description="initial state: g or e per qubit")
    frame_rad: tuple[Angle, ...] = _per_qubit("rad", "phases of the analysis axes X and Y")
    parked: tuple[QubitIndex, ...] = quantity("1", "qubits that stay parked", max_length=MAX_QUBITS, default=())

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunDriveEvolve, ...]:
        n = spec.n_qubits
        zeros, halves = (0.0,) * n, tuple(0.3 * j for j in range(n))
        amps, signs = (4.0, 3.0, 2.5, 3.5)[:n], (0.8, -0.8, 0.5, -0.5)[:n]
        long = cls(
            amp_mhz=amps, phase_rad=halves, detuning_mhz=signs, durations_ns=(0, 137, 20_000), bases=("X" * n, "Y" * n, "Z" * n),
            shots=4000, prepare="ge" * (n // 2), frame_rad=halves,
        )  # fmt: skip
        alone = cls(
            amp_mhz=zeros, phase_rad=zeros, detuning_mhz=zeros, durations_ns=(30_000,), bases=("Z" * n,), shots=20_000, prepare="e" * n,
            frame_rad=zeros, parked=tuple(range(n)),
        )  # fmt: skip
        return long, alone

    @model_validator(mode="after")
    def _bounded(self) -> RunDriveEvolve:
        total = self.shots * len(self.bases) * len(self.durations_ns)
        if total > MAX_JOB_SHOTS:
            raise ValueError(f"shots: {total} over all bases and durations, at most {MAX_JOB_SHOTS} a job")
        return self

    def cost(self) -> Cost:
        return _cost(self.shots, len(self.bases), self.durations_ns)

    def admit(self, spec: Spec) -> None:
        n = spec.n_qubits
        lengths = {f: len(getattr(self, f)) for f in ("amp_mhz", "phase_rad", "detuning_mhz", "prepare", "frame_rad")}
        lengths |= {f"bases.{k}": len(b) for k, b in enumerate(self.bases)}
        for field, length in lengths.items():
            if length != n:
                raise AgentError("one entry per qubit is needed", field=field, got=length, limit=n, unit="1")
        for k, qubit in enumerate(self.parked):
            if qubit >= n:
                raise AgentError("there is no such qubit", field=f"parked.{k}", got=qubit, limit=n - 1, unit="1")

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        hidden = device.hidden
        model = hidden.model(clock.start_s, self.amp_mhz, self.phase_rad, self.detuning_mhz, self.parked)
        states = propagate(generator(model), product(hidden.prepared(self.prepare)), np.array(self.durations_ns))
        bits = np.stack([_read(rng, hidden, outcomes(states, b, np.array(self.frame_rad)), self.shots) for b in self.bases])
        layout = "0 is the eigenvalue +1 of the measured axis: |g> for Z; entry j of the last axis is qubit j"
        return Record(
            {"bits": Array(bits, "1", ("basis", "duration", "shot", "qubit"), layout)},
            {"t_start_s": clock.start_s, "rep_period_us": [RESET_US + 1e-3 * d for d in self.durations_ns], "shots": self.shots},
        )


class RunDecayProbe(Experiment):
    """Excite one qubit at zero programmed detuning with all others parked and no drive, and measure after each of `durations_ns`.

    Returns `bits` uint8 (duration, shot, qubit), measured along Z: 1 is |e>. Costs durations x shots `shots`, one `jobs`, the sum of all
    evolutions as `evolution_s`; lab time as for `run_drive_evolve`.
    """

    tool: ClassVar[str] = "run_decay_probe"

    qubit: QubitIndex = quantity("1", "the qubit that is excited")
    durations_ns: tuple[Duration, ...] = _durations()
    shots: int = quantity("1", "shots of each duration", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunDecayProbe, ...]:
        return (cls(qubit=spec.n_qubits - 1, durations_ns=(0, 40, 120), shots=3000),)

    @model_validator(mode="after")
    def _bounded(self) -> RunDecayProbe:
        total = self.shots * len(self.durations_ns)
        if total > MAX_JOB_SHOTS:
            raise ValueError(f"shots: {total} over all durations, at most {MAX_JOB_SHOTS} a job")
        return self

    def cost(self) -> Cost:
        return _cost(self.shots, 1, self.durations_ns)

    def admit(self, spec: Spec) -> None:
        if self.qubit >= spec.n_qubits:
            raise AgentError("there is no such qubit", field="qubit", got=self.qubit, limit=spec.n_qubits - 1, unit="1")

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        hidden, n = device.hidden, device.spec.n_qubits
        zeros = (0.0,) * n
        others = [j for j in range(n) if j != self.qubit]
        string = "".join("e" if j == self.qubit else "g" for j in range(n))
        model = hidden.model(clock.start_s, zeros, zeros, zeros, others)
        states = propagate(generator(model), product(hidden.prepared(string)), np.array(self.durations_ns))
        bits = _read(rng, hidden, outcomes(states, "Z" * n, np.zeros(n)), self.shots)
        layout = "1 is |e>; entry j of the last axis is qubit j"
        return Record(
            {"bits": Array(bits, "1", ("duration", "shot", "qubit"), layout)},
            {"t_start_s": clock.start_s, "rep_period_us": [RESET_US + 1e-3 * d for d in self.durations_ns], "shots": self.shots},
        )
