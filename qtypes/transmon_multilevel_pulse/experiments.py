"""The three experiments of the device."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.transmon_multilevel_pulse import physics
from qtypes.transmon_multilevel_pulse.device import (
    DETUNING_MHZ,
    EF_OFFSET_MHZ,
    MAX_DISTINCT,
    MAX_JOB_SHOTS,
    MAX_PADDING_NS,
    MAX_POINTS,
    MAX_PULSES,
    MAX_RANDOM_PADDING_NS,
    MAX_RANDOM_PULSES,
    MAX_SAMPLES,
    MAX_WAVEFORMS,
    RAD_PER_NS,
    SETUP_S,
    SHOT_US,
    Hidden,
)
from qtypes.transmon_multilevel_pulse.physics import LEVELS, Floats
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine, slow_pulses
from qtypes.transmon_multilevel_pulse.readout import sampled_levels

Sample = Annotated[float, Field(ge=-1, le=1)]
SHOT_BLOCK = 4096


class Waveform(Part):
    """Envelope samples at 1 GS/s; its slot lasts as many ns as it has samples, and 8 ns of ring-down."""

    i: tuple[Sample, ...] = quantity("1", "in-phase samples, one per ns", min_length=1, max_length=MAX_SAMPLES)
    q: tuple[Sample, ...] = quantity("1", "quadrature samples, as many", min_length=1, max_length=MAX_SAMPLES)
    offset_mhz: float = quantity("MHz", "its own carrier minus that of the request, for upper transitions", ge=-450, le=50, default=0.0)

    @model_validator(mode="after")
    def _check(self) -> Waveform:
        if len(self.i) != len(self.q):
            raise ValueError(f"i has {len(self.i)} samples, q has {len(self.q)}")
        return self

    @property
    def samples(self) -> NDArray[np.complex128]:
        """i + iq, `(n,)`."""
        return np.array(self.i, dtype=float) + 1j * np.array(self.q, dtype=float)


class Play(Part):
    """One pulse: a waveform times a scale, at a phase, then an idle time."""

    waveform: int = quantity("1", "index of the waveform in `waveforms`", ge=0, lt=MAX_WAVEFORMS, default=0)
    scale: float = quantity("1", "factor on all samples", ge=-1, le=1, default=1.0)
    phase_rad: float = quantity("rad", "phase of the drive: 0 plays i about x, pi/2 about y", ge=-1000, le=1000, default=0.0)
    padding_ns: int = quantity("ns", "idle time after the slot of the waveform", ge=0, le=MAX_PADDING_NS, default=0)


class Point(Part):
    """One sequence: reset, preparation, `before`, `train` times `repeats`, `after`, mapping, readout."""

    prepare: int = quantity("1", "level prepared by the laboratory's slow pulses: 0, 1 or 2", ge=0, le=2, default=0)
    before: tuple[Play, ...] = Field(default=(), max_length=16, description="pulses played once before the train")
    train: tuple[Play, ...] = Field(default=(), max_length=64, description="pulses that are repeated in this order")
    repeats: int = quantity("1", "how often the train is played", ge=0, le=MAX_PULSES, default=1)
    after: tuple[Play, ...] = Field(default=(), max_length=16, description="pulses played once after the train")
    map: Literal["none", "ge", "ef"] = Field(default="none", description="slow pi pulse before the readout: on 0-1, on 1-2, or none")

    @property
    def pulses(self) -> int:
        """Number of pulses of the train."""
        return len(self.train) * self.repeats

    def plays(self) -> tuple[Play, ...]:
        return (*self.before, *self.train, *self.after)


class _Run(Experiment):
    """What all experiments share."""

    shots: int = quantity("1", "shots per point; points x shots <= 200 000", ge=1, le=MAX_JOB_SHOTS)
    detuning_mhz: float = quantity(
        "MHz", "carrier of the drive and of the rotating frame, minus drive_ghz", ge=-DETUNING_MHZ, le=DETUNING_MHZ, default=0.0
    )

    def count(self) -> int:
        """Number of points."""
        return 1

    def levels(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> NDArray[np.int8]:
        """Level at the readout of each shot, `(points, shots)`."""
        raise NotImplementedError

    def cost(self) -> Cost:
        n = self.count() * self.shots
        return Cost.of(shots=n, jobs=1, lab_s=n * SHOT_US * 1e-6 + SETUP_S)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        levels = self.levels(hidden, clock.start_s, rng)
        return Record(
            {"iq": Array(hidden.levels().points(rng, levels), "mV", ("point", "shot"), "integrated readout, I + iQ")},
            {"points": self.count(), "shots": self.shots, "t_start_s": clock.start_s},
        )


class RunEnvelope(_Run):
    """Play sequences of envelope waveforms and return the raw IQ point of every shot.

    A point is one sequence: active reset; `prepare` 1 or 2 by the laboratory's slow pulses; the plays of `before`; those of `train`,
    `repeats` times; those of `after`; a slow mapping pulse if asked for; readout. A play is a waveform of `waveforms` times `scale`, at
    `phase_rad`, followed by `padding_ns` of idling. Phases are virtual Z, exact, and refer to the frame of the drive at drive_ghz +
    `detuning_mhz`, which runs on through the sequence.

    With `randomise` every shot of every point has a train of its own: to each of its pulses a phase of k pi/2 is added, k = 0 to 3, and
    to its padding an integer of 0 to `padding_max_ns` ns. These are `g = numpy.random.default_rng([seed, point])`, `k = g.integers(0, 4,
    (shots, pulses))`, then `g.integers(0, padding_max_ns + 1, (shots, pulses))`, with the index of the point from 0 and the pulses of a
    train in the order of playing. At most 4 000 000 such pulses (sum over points of shots x pulses) fit into one job.

    Returns `iq` complex64 (points, shots) in mV. Costs points x shots `shots`, one `jobs`, and points x shots x 50 us + 5 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_envelope"

    waveforms: tuple[Waveform, ...] = Field(min_length=1, max_length=MAX_WAVEFORMS, description="waveforms that the plays refer to")
    points: tuple[Point, ...] = Field(min_length=1, max_length=MAX_POINTS, description="the sequences")
    randomise: bool = Field(default=False, description="random phases and paddings in the trains, anew for every shot")
    padding_max_ns: int = quantity("ns", "largest random padding", ge=0, le=MAX_RANDOM_PADDING_NS, default=30)
    seed: int = quantity("1", "seed of the random phases and paddings", ge=0, lt=2**32, default=0)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunEnvelope, ...]:
        cosine = raised_cosine(10, 0.5, 1.5, spec.anharmonicity_nominal_mhz)
        wave = Waveform(i=tuple(cosine.real.tolist()), q=tuple(cosine.imag.tolist()))
        other = Waveform(i=(0.05,) * 40, q=(0.0,) * 40, offset_mhz=spec.anharmonicity_nominal_mhz)
        rabi = tuple(Point(train=(Play(scale=s, padding_ns=4),), map="ge") for s in (0.4, 0.8))
        ladder = Point(prepare=1, before=(Play(waveform=1),), after=(Play(phase_rad=0.3),), repeats=0)
        fringe = Point(train=(Play(scale=0.5, padding_ns=20_000), Play(scale=0.5)))
        return (
            cls(waveforms=(wave,), points=(*rabi, fringe), shots=1000),
            cls(waveforms=(wave, other), points=(ladder,), shots=100, detuning_mhz=0.2),
            cls(waveforms=(wave,), points=(Point(train=(Play(),), repeats=8),), shots=50, randomise=True, padding_max_ns=20, seed=5),
        )

    @model_validator(mode="after")
    def _check(self) -> RunEnvelope:
        if self.count() * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"points x shots is {self.count() * self.shots}, at most {MAX_JOB_SHOTS}")
        distinct = set()
        for n, point in enumerate(self.points):
            for play in point.plays():
                if play.waveform >= len(self.waveforms):
                    raise ValueError(f"points[{n}]: no waveform {play.waveform}, there are {len(self.waveforms)}")
                distinct.add((play.waveform, play.scale))
            if point.pulses > MAX_PULSES:
                raise ValueError(f"points[{n}]: {point.pulses} pulses in the train, at most {MAX_PULSES}")
        if len(distinct) > MAX_DISTINCT:
            raise ValueError(f"{len(distinct)} different pairs of waveform and scale, at most {MAX_DISTINCT}")
        if self.randomise and self.shots * sum(p.pulses for p in self.points) > MAX_RANDOM_PULSES:
            raise ValueError(f"shots x random pulses is {self.shots * sum(p.pulses for p in self.points)}, at most {MAX_RANDOM_PULSES}")
        return self

    def count(self) -> int:
        return len(self.points)

    def draws(self, point: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Random quarter turns and extra paddings in ns of a point, each `(shots, pulses)`."""
        g = np.random.default_rng([self.seed, point])
        shape = (self.shots, self.points[point].pulses)
        return g.integers(0, 4, shape), g.integers(0, self.padding_max_ns + 1, shape)

    def levels(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> NDArray[np.int8]:
        lab = _Sequencer(self, hidden, t_s)
        out = np.empty((self.count(), self.shots), dtype=np.int8)
        for n, point in enumerate(self.points):
            out[n] = sampled_levels(rng, lab.final(n, point), self.shots)
        return out


class _Sequencer:
    """Channels of a request's pulses and idle times, each computed once."""

    def __init__(self, request: RunEnvelope, hidden: Hidden, t_s: float) -> None:
        self.request = request
        self.hidden = hidden
        self.transmon = hidden.transmon(t_s, request.detuning_mhz)
        self.ge, self.ef = slow_pulses(hidden, request.detuning_mhz)
        self.idles: dict[int, Floats] = {}
        self.pulses = self._pulses(hidden, t_s)

    def _pulses(self, hidden: Hidden, t_s: float) -> dict[tuple[int, float], Floats]:
        keys = sorted({(p.waveform, p.scale) for point in self.request.points for p in point.plays()})
        waves, line, out = self.request.waveforms, hidden.line(t_s), {}
        for length in sorted({len(waves[w].i) for w, _ in keys}):
            same = [k for k in keys if len(waves[k[0]].i) == length]
            samples = RAD_PER_NS * np.stack([waves[w].samples * scale for w, scale in same])
            offsets = np.array([waves[w].offset_mhz * 1e-3 for w, _ in same])
            out.update(zip(same, self.transmon.pulse(line, samples, offsets), strict=True))
        return out

    def idle(self, durations_ns: NDArray[np.integer]) -> Floats:
        """Channels `(n, 16, 16)` of idle times `(n,)`."""
        new = sorted(set(durations_ns.tolist()) - self.idles.keys())
        if new:
            self.idles.update(zip(new, self.transmon.free(np.array(new, dtype=float)), strict=True))
        return np.stack([self.idles[d] for d in durations_ns.tolist()])

    def play(self, play: Play) -> Floats:
        turn = physics.rotation(np.array([play.phase_rad, -play.phase_rad]))
        out: Floats = turn[0] @ self.pulses[play.waveform, play.scale] @ turn[1]
        return self.idle(np.array([play.padding_ns]))[0] @ out if play.padding_ns else out

    def steps(self, play: Play) -> Floats:
        """Channels of a random pulse, `(4 * paddings, 16, 16)`: quarter turn k and extra padding p have index k * paddings + p."""
        extra = np.arange(self.request.padding_max_ns + 1) + play.padding_ns
        turn = play.phase_rad + np.arange(4) * (np.pi / 2.0)
        pulse = physics.rotation(turn) @ self.pulses[play.waveform, play.scale] @ physics.rotation(-turn)
        return (self.idle(extra)[None] @ pulse[:, None]).reshape(-1, LEVELS**2, LEVELS**2)

    def final(self, n: int, point: Point) -> Floats:
        """Populations before the readout: `(4,)`, or `(shots, 4)` for a random train."""
        rho = physics.state(self.hidden.populations())
        if point.prepare >= 1:
            rho = self.ge @ rho
        if point.prepare == 2:
            rho = self.ef @ rho
        for play in point.before:
            rho = self.play(play) @ rho
        if self.request.randomise and point.pulses:
            rho = self._random(n, point, rho).T
        elif point.pulses:
            once = np.eye(LEVELS**2)
            for play in point.train:
                once = self.play(play) @ once
            rho = np.linalg.matrix_power(once, point.repeats) @ rho
        for play in point.after:
            rho = self.play(play) @ rho
        if point.map != "none":
            rho = (self.ge if point.map == "ge" else self.ef) @ rho
        return rho[:LEVELS].T

    def _random(self, n: int, point: Point, rho: Floats) -> Floats:
        quarter, extra = self.request.draws(n)
        paddings = self.request.padding_max_ns + 1
        kinds = list(dict.fromkeys(point.train))
        maps = np.concatenate([self.steps(p) for p in kinds])
        first = np.array([kinds.index(p) for p in point.train]) * 4 * paddings
        choice = (np.tile(first, point.repeats) + quarter * paddings + extra).astype(np.uint16)
        states = np.tile(rho, (self.request.shots, 1))
        blocks = range(0, len(states), SHOT_BLOCK)
        return np.concatenate([physics.run_random(states[b : b + SHOT_BLOCK], maps, choice[b : b + SHOT_BLOCK]) for b in blocks])


class RunIqReference(_Run):
    """Take readout points of a level: after reset, `prepare` 1 by the laboratory's slow pi pulse on 0-1, 2 by a second one on 1-2.

    Reset leaves less than 1 % in level 1; the slow pulses lose what relaxes in 48 ns each. Returns `iq` complex64 (1, shots) in mV. Costs
    `shots`, one `jobs`, and shots x 50 us + 5 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_iq_reference"

    prepare: int = quantity("1", "level: 0, 1 or 2", ge=0, le=2)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunIqReference, ...]:
        return cls(prepare=0, shots=200), cls(prepare=2, shots=200, detuning_mhz=0.5)

    def levels(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> NDArray[np.int8]:
        rho = physics.state(hidden.populations())
        for pulse in slow_pulses(hidden, self.detuning_mhz)[: self.prepare]:
            rho = pulse @ rho
        return sampled_levels(rng, rho[:LEVELS], self.shots)[None]


class RunEfSpectroscopy(_Run):
    """Spectroscopy of the 1-2 transition: level 1 is prepared, one raised-cosine pulse is played at the given carrier, then the readout.

    `offsets_mhz` are the carriers minus drive_ghz + `detuning_mhz`; `amplitude` is the largest sample of the pulse and `duration_ns` its
    length. A pi pulse on 1-2 has amplitude x duration x 200 MHz x sqrt(2) = 1, up to the gain. Returns `iq` complex64 (points, shots) in
    mV. Costs points x shots `shots`, one `jobs`, and points x shots x 50 us + 5 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_ef_spectroscopy"

    offsets_mhz: tuple[Annotated[float, Field(ge=EF_OFFSET_MHZ[0], le=EF_OFFSET_MHZ[1])], ...] = quantity(
        "MHz", "carriers of the pulse minus that of the drive", min_length=1, max_length=MAX_POINTS
    )
    amplitude: float = quantity("1", "largest sample of the pulse", ge=0, le=1)
    duration_ns: int = quantity("ns", "length of the pulse", ge=20, le=200)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunEfSpectroscopy, ...]:
        return (cls(offsets_mhz=(-215.0, -205.0), amplitude=0.02, duration_ns=200, shots=100, detuning_mhz=0.1),)

    @model_validator(mode="after")
    def _check(self) -> RunEfSpectroscopy:
        if self.count() * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"points x shots is {self.count() * self.shots}, at most {MAX_JOB_SHOTS}")
        return self

    def count(self) -> int:
        return len(self.offsets_mhz)

    def levels(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> NDArray[np.int8]:
        start = slow_pulses(hidden, self.detuning_mhz)[0] @ physics.state(hidden.populations())
        samples = RAD_PER_NS * np.tile(raised_cosine(self.duration_ns, self.amplitude), (self.count(), 1))
        pulses = hidden.transmon(t_s, self.detuning_mhz).pulse(hidden.line(t_s), samples, np.array(self.offsets_mhz) * 1e-3)
        return np.stack([sampled_levels(rng, (p @ start)[:LEVELS], self.shots) for p in pulses])
