"""Requests: evolution of the ring under its tones, swaps of one pair, and Ramsey fringes under modulation."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.gmon_ring_3q.device import (
    JOB_S,
    MAX_AMP_MHZ,
    MAX_DURATION_NS,
    MAX_DURATIONS,
    MAX_FREQS,
    MAX_JOB_SHOTS,
    MAX_TONE_MHZ,
    PAIRS,
    RESET_US,
    Hidden,
    Spec,
    Tone,
)
from qtypes.gmon_ring_3q.physics import EDGES, Floats, Ring, outcomes, prepared, propagate
from qtypes.kit.readout import flipped

Duration = Annotated[int, Field(ge=0, le=MAX_DURATION_NS)]
Frequency = Annotated[float, Field(ge=-MAX_TONE_MHZ, le=MAX_TONE_MHZ)]
Pair = Literal["12", "23", "31"]
LAYOUT = "entry j - 1 of the last axis is qubit j; 1 is |1> for Z, the eigenvalue -1 for X and Y"


def _durations() -> Any:
    return quantity("ns", "lengths of the pulse, each with its own shots", min_length=1, max_length=MAX_DURATIONS)


def _tones() -> Any:
    return Field(min_length=0, max_length=3, description="tones that are on during the pulse, at most one per pair")


def _cost(shots: int, settings: int, durations_ns: tuple[int, ...]) -> Cost:
    total = shots * settings * len(durations_ns)
    return Cost.of(lab_s=total * RESET_US * 1e-6 + shots * settings * sum(durations_ns) * 1e-9 + JOB_S, shots=total, jobs=1)


def _bounded(total: int) -> None:
    if total > MAX_JOB_SHOTS:
        raise ValueError(f"shots: {total} in all, at most {MAX_JOB_SHOTS} a job")


def _one_each(tones: tuple[Tone, ...]) -> None:
    pairs = [t.pair for t in tones]
    if len(set(pairs)) < len(pairs):
        raise ValueError("tones: at most one tone per pair")


def _read(rng: np.random.Generator, hidden: Hidden, probabilities: Floats, shots: int) -> NDArray[np.uint8]:
    """Assigned bits `(points, shots, 3)` of outcome probabilities `(points, 8)`."""
    edges = np.cumsum(probabilities, axis=1)[:, :-1]
    drawn = rng.random((len(probabilities), shots))
    string = np.stack([np.searchsorted(e, u, side="right") for e, u in zip(edges, drawn, strict=True)])
    bits = ((string[..., None] >> np.array([2, 1, 0])) & 1).astype(np.uint8)
    return flipped(rng, bits, np.array(hidden.p1_given_0), np.array(hidden.p0_given_1))


def _evolved(ring: Ring, state: str, durations_ns: tuple[int, ...]) -> Any:
    return propagate(ring, prepared((state,)), np.array(durations_ns))[:, 0]


def _summary(clock: Clock, durations_ns: tuple[int, ...], shots: int) -> dict[str, Any]:
    return {"t_start_s": clock.start_s, "rep_period_us": [RESET_US + 1e-3 * d for d in durations_ns], "shots": shots}


class RunRingEvolution(Experiment):
    """Prepare a product state, play the tones for each of `durations_ns`, and measure all three qubits along the letters of `basis`.

    `initial` has a letter per qubit: 0, 1, or + for (|0> + |1>)/sqrt(2). A duration of 0 measures the preparation. Tones begin with the
    pulse at their programmed phases and stay on throughout.

    Returns `bits` uint8 (duration, shot, qubit). Costs durations x shots `shots` and one `jobs`; lab time 200 us per shot, the pulses
    and 2 s.
    """

    tool: ClassVar[str] = "run_ring_evolution"

    initial: str = Field(pattern=r"^[01+]{3}$", description="prepared state: 0, 1 or + for qubits 1, 2, 3")
    tones: tuple[Tone, ...] = _tones()
    durations_ns: tuple[Duration, ...] = _durations()
    basis: str = Field(pattern=r"^[XYZ]{3}$", description="measured axes of qubits 1, 2, 3", default="ZZZ")
    shots: int = quantity("1", "shots of each duration", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunRingEvolution, ...]:
        a, b, c = spec.nominal_mhz
        tones = tuple(Tone(pair=p, amp=6.0, freq_mhz=f, phase_rad=0.4) for p, f in (("12", a - b), ("23", b - c), ("31", c - a + 0.5)))
        long, hole = tuple(range(20, 260, 20)), (0, 64, 200)
        return (
            cls(initial="100", tones=tones, durations_ns=long, shots=2000),
            cls(initial="011", tones=tones, durations_ns=hole, basis="ZZZ", shots=8000),
            cls(initial="+++", tones=tones, durations_ns=(40, 100), basis="XYX", shots=8000),
        )

    @model_validator(mode="after")
    def _check(self) -> RunRingEvolution:
        _one_each(self.tones)
        _bounded(self.shots * len(self.durations_ns))
        return self

    def cost(self) -> Cost:
        return _cost(self.shots, 1, self.durations_ns)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        ring = device.hidden.ring(clock.start_s, self.tones)
        bits = _read(rng, device.hidden, outcomes(_evolved(ring, self.initial, self.durations_ns), self.basis), self.shots)
        return Record({"bits": Array(bits, "1", ("duration", "shot", "qubit"), LAYOUT)}, _summary(clock, self.durations_ns, self.shots))


class RunPairSwap(Experiment):
    """Excite the first qubit of a pair and modulate its coupler alone at each of `freqs_mhz` for each of `durations_ns`; others off.

    Returns `bits` uint8 (frequency, duration, shot, qubit), measured in Z. Costs frequencies x durations x shots `shots` and one
    `jobs`; lab time 200 us per shot, the pulses and 2 s.
    """

    tool: ClassVar[str] = "run_pair_swap"

    pair: Pair = Field(description="the pair (j, k); qubit j is excited")
    amp: Annotated[float, Field(ge=0, le=MAX_AMP_MHZ)] = quantity("MHz", "programmed amplitude of the tone")
    freqs_mhz: tuple[Frequency, ...] = quantity("MHz", "signed frequencies of the tone", min_length=1, max_length=MAX_FREQS)
    durations_ns: tuple[Duration, ...] = _durations()
    shots: int = quantity("1", "shots of each frequency and duration", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunPairSwap, ...]:
        w = spec.nominal_mhz
        return tuple(
            cls(pair=pair, amp=6.0, freqs_mhz=(w[j] - w[k] - 1.0, w[j] - w[k] + 1.0), durations_ns=(40, 80, 120, 400), shots=3000)
            for pair, (j, k) in (("12", EDGES[0]), ("23", EDGES[1]), ("31", EDGES[2]))
        )

    @model_validator(mode="after")
    def _check(self) -> RunPairSwap:
        _bounded(self.shots * len(self.durations_ns) * len(self.freqs_mhz))
        return self

    def cost(self) -> Cost:
        return _cost(self.shots, len(self.freqs_mhz), self.durations_ns)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        hidden, first = device.hidden, EDGES[PAIRS.index(self.pair)][0]
        state = "".join("1" if j == first else "0" for j in range(3))
        tones = [Tone(pair=self.pair, amp=self.amp, freq_mhz=f, phase_rad=0.0) for f in self.freqs_mhz]
        rows = [outcomes(_evolved(hidden.ring(clock.start_s, (t,)), state, self.durations_ns), "ZZZ") for t in tones]
        bits = np.stack([_read(rng, hidden, p, self.shots) for p in rows])
        return Record(
            {"bits": Array(bits, "1", ("frequency", "duration", "shot", "qubit"), LAYOUT)}, _summary(clock, self.durations_ns, self.shots)
        )


class RunRamseyUnderModulation(Experiment):
    """Prepare one qubit in + and the others in 0, play the tones for each of `durations_ns`, and measure that qubit along X and along Y.

    Tones near a difference frequency let the excitation hop; far from it they only shift the qubits. Returns `bits` uint8 (axis, duration,
    shot): axis 0 is X, 1 is Y, bit 0 the eigenvalue +1, in the frame of the qubit's nominal frequency. Costs 2 x durations x shots `shots`
    and one `jobs`; lab time 200 us per shot, the pulses and 2 s.
    """

    tool: ClassVar[str] = "run_ramsey_under_modulation"

    qubit: Annotated[int, Field(ge=1, le=3)] = quantity("1", "the qubit, 1 to 3")
    tones: tuple[Tone, ...] = _tones()
    durations_ns: tuple[Duration, ...] = _durations()
    shots: int = quantity("1", "shots of each axis and duration", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunRamseyUnderModulation, ...]:
        a, b, c = spec.nominal_mhz
        aside = tuple(
            Tone(pair=p, amp=6.0, freq_mhz=f, phase_rad=0.0) for p, f in (("12", a - b + 25), ("23", b - c + 25), ("31", c - a + 25))
        )
        return tuple(cls(qubit=q, tones=aside, durations_ns=(200, 500), shots=5000) for q in (1, 2, 3))

    @model_validator(mode="after")
    def _check(self) -> RunRamseyUnderModulation:
        _one_each(self.tones)
        _bounded(2 * self.shots * len(self.durations_ns))
        return self

    def cost(self) -> Cost:
        return _cost(self.shots, 2, self.durations_ns)

    def run(self, device: Device[Spec, Hidden], clock: Clock, rng: np.random.Generator) -> Record:
        j = self.qubit - 1
        state = "".join("+" if k == j else "0" for k in range(3))
        rho = _evolved(device.hidden.ring(clock.start_s, self.tones), state, self.durations_ns)
        rows = [outcomes(rho, "".join(axis if k == j else "Z" for k in range(3))) for axis in "XY"]
        bits = np.stack([_read(rng, device.hidden, p, self.shots)[..., j] for p in rows])
        return Record({"bits": Array(bits, "1", ("axis", "duration", "shot"), "axis 0 is X, 1 is Y; bit 0 is the eigenvalue +1")},
                      _summary(clock, self.durations_ns, self.shots))  # fmt: skip
