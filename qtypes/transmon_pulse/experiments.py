"""The two experiments of the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.kit.readout import integrated_points, relaxation_fraction
from qtypes.transmon_pulse import physics
from qtypes.transmon_pulse.device import MAX_DRIVE_NS, MAX_JOB_SHOTS, MAX_POINTS, RABI_NOMINAL_MHZ, READOUT_US, REP_US, SETUP_S, Hidden

MAX_STEPS = 64
NAME = r"^[a-z][a-z0-9_]{0,31}$"
_COLUMN = "; if not empty, the value is taken from the sweep column of this name instead"
_BOUNDS = {
    "amplitude": (0.0, 1.0, "1"),
    "phase_rad": (-1000.0, 1000.0, "rad"),
    "duration_ns": (0.0, REP_US[1] * 1e3, "ns"),
    "drive_offset_mhz": (-5.0, 5.0, "MHz"),
}


class Step(Part):
    """One step: a `drive` (square pulse), a `delay` (free evolution), or `measure` (the readout; exactly one, the last step)."""

    op: Literal["drive", "delay", "measure"] = Field(description="what the step does")
    amplitude: float = quantity("1", "drive only: amplitude; Rabi frequency = amplitude x about 20 MHz", ge=0, le=1, default=0.0)
    phase_rad: float = quantity("rad", "drive only: phase; 0 rotates about x, pi/2 about y", ge=-1000, le=1000, default=0.0)
    duration_ns: float = quantity("ns", "drive (4 to 10 000) or delay (0 to 2e7): duration", ge=0, le=REP_US[1] * 1e3, default=0.0)
    amplitude_from: str = Field(default="", max_length=32, description="amplitude" + _COLUMN)
    phase_from: str = Field(default="", max_length=32, description="phase_rad" + _COLUMN)
    duration_from: str = Field(default="", max_length=32, description="duration_ns" + _COLUMN)


class SweepColumn(Part):
    """One column of the sweep table: the value that a named quantity takes at each point."""

    name: str = Field(pattern=NAME, description="name by which steps refer to it, e.g. `tau_ns`")
    values: tuple[float, ...] = quantity(
        "of the quantity that uses it", "one value per point; all columns have the same length", min_length=1, max_length=MAX_POINTS
    )


@dataclass(frozen=True)
class Fringe:
    """A Ramsey sweep: drive, swept delay, drive.

    The excited population of a point is `b + Re[a E(t) exp(i (2 pi (delta + offset_mhz) t - turn))]` with t = `delay_us`, delta drive
    minus qubit in MHz and E the envelope; `a` is complex and depends on `pulses` and the offset, `b` relaxes with T1 where the first
    pulse is no half turn.
    """

    delay_us: np.ndarray
    """Float64 `(points,)`."""
    turn_rad: np.ndarray
    """Phase of the second drive minus that of the first, rad, float64 `(points,)`."""
    offset_mhz: float
    pulses: tuple[float, ...]
    """Amplitude and duration in ns of the first, then of the second drive."""


class _Run(Experiment):
    """What both experiments share."""

    shots: int = quantity("1", "shots per point; points x shots <= 250 000", ge=1, le=MAX_JOB_SHOTS)
    rep_period_us: float = quantity(
        "us", "time from the start of one shot to the start of the next; it must hold the sequence and the readout of 1 us. The qubit is"
        " not reset: what the previous shot left decays with T1", ge=REP_US[0], le=REP_US[1], default=2000.0,
    )  # fmt: skip

    def points(self) -> int:
        """Number of sweep points."""
        return 1

    def is_interleaved(self) -> bool:
        """Whether points alternate shot by shot."""
        return False

    def program(self, hidden: Hidden) -> physics.Program:
        """The sequence in physical units."""
        raise NotImplementedError

    def cost(self) -> Cost:
        n = self.points() * self.shots
        return Cost.of(shots=n, jobs=1, lab_s=n * self.rep_period_us * 1e-6 + SETUP_S)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        program = self.program(hidden)
        iq, time_s = simulate(hidden, program, self.shots, self.rep_period_us, self.is_interleaved(), clock.start_s, rng)
        return Record(
            {
                "iq": Array(iq, "mV", ("point", "shot"), "integrated readout, I + iQ"),
                "time_s": Array(time_s, "s", ("point", "shot"), "lab clock at the start of the shot"),
            },
            {
                "points": program.points, "shots": self.shots, "t_start_s": clock.start_s, "rep_period_us": self.rep_period_us,
                "order": "interleaved" if self.is_interleaved() else "blocked",
            },
        )  # fmt: skip


class RunPulseSequence(_Run):
    """Play a pulse sequence at every point of a sweep and return the raw IQ point of every shot.

    `steps` is the sequence, played from the start of each shot: `drive` (square microwave pulse), `delay`, and as last step one `measure`.
    A field of a step is either a number, or the value of a sweep column at the current point: set `amplitude_from`, `phase_from` or
    `duration_from` to the name of a column of `sweep`. Example, a relaxation sweep: steps [{op: drive, amplitude: 1.0, duration_ns: 25},
    {op: delay, duration_from: "tau_ns"}, {op: measure}], sweep [{name: "tau_ns", values: [0, 20000, 40000]}]. Without `sweep` there is one
    point. `order` decides how the shots of the points follow each other on the lab clock: `blocked` takes all shots of point 0, then all
    of point 1, ...; `interleaved` takes one shot of every point in turn.

    Returns `iq` complex64 (points, shots) in mV and `time_s` float64 (points, shots), the lab clock at the start of each shot. Costs
    points x shots `shots`, one `jobs`, and points x shots x rep_period + 1 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_pulse_sequence"

    steps: tuple[Step, ...] = Field(min_length=1, max_length=MAX_STEPS, description="the sequence; the last step is the only `measure`")
    sweep: tuple[SweepColumn, ...] = Field(default=(), max_length=8, description="the sweep table, column by column; empty for one point")
    order: Literal["blocked", "interleaved"] = Field(default="interleaved", description="order of the shots of different points")
    drive_offset_mhz: float = quantity("MHz", "drive frequency of all drives minus the nominal one", ge=-5, le=5, default=0.0)
    drive_offset_from: str = Field(default="", max_length=32, description="drive_offset_mhz" + _COLUMN)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunPulseSequence, ...]:
        pulse, wait, read = Step(op="drive", amplitude=1.0, duration_ns=25.0), Step(op="delay", duration_from="tau_ns"), Step(op="measure")
        relaxation = cls(steps=(pulse, wait, read), sweep=(SweepColumn(name="tau_ns", values=(0.0, 20_000.0, 60_000.0)),), shots=100)
        half = Step(op="drive", amplitude_from="amplitude", phase_from="phase_rad", duration_ns=25.0)
        sweep = (
            SweepColumn(name="amplitude", values=(0.25, 0.5)),
            SweepColumn(name="phase_rad", values=(0.0, 1.5)),
            SweepColumn(name="offset_mhz", values=(-1.0, 1.0)),
        )
        swept = cls(
            steps=(half, Step(op="delay", duration_ns=10_000.0), half, read), sweep=sweep, drive_offset_from="offset_mhz", shots=100,
            rep_period_us=500.0, order="blocked",
        )  # fmt: skip
        return relaxation, swept, cls(steps=(pulse, read), drive_offset_mhz=0.5, shots=100)

    @model_validator(mode="after")
    def _consistent(self) -> RunPulseSequence:
        if [s.op for s in self.steps].count("measure") != 1 or self.steps[-1].op != "measure":
            raise ValueError("steps: exactly one `measure` is required, as the last step")
        names = [c.name for c in self.sweep]
        if len(set(names)) != len(names) or len({len(c.values) for c in self.sweep}) > 1:
            raise ValueError("sweep: columns need different names and equal lengths")
        self._check_table()
        if self.points() * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"shots: points x shots is {self.points() * self.shots}, at most {MAX_JOB_SHOTS}")
        longest_us = float(np.max(sum((self.column(s, "duration_ns") for s in self.steps), np.zeros(self.points())))) * 1e-3
        if longest_us + READOUT_US > self.rep_period_us:
            raise ValueError(f"rep_period_us: the longest sequence and the readout take {longest_us + READOUT_US:.3f} us")
        return self

    def _check_table(self) -> None:
        used = set()
        for i, step in enumerate(self.steps):
            fields = {"drive": ("amplitude", "phase_rad", "duration_ns"), "delay": ("duration_ns",), "measure": ()}[step.op]
            for field in ("amplitude", "phase_rad", "duration_ns"):
                source = _source(step, field)
                if field not in fields and (source or getattr(step, field) != 0.0):
                    raise ValueError(f"steps[{i}]: a {step.op} has no {field}")
                if source:
                    used.add(source)
                    self._check_column(source, field, f"steps[{i}]")
            if step.op == "drive":
                duration = self.column(step, "duration_ns")
                if duration.min() < 4.0 or duration.max() > MAX_DRIVE_NS:
                    raise ValueError(f"steps[{i}].duration_ns: a drive lasts 4 to {MAX_DRIVE_NS:.0f} ns")
        if self.drive_offset_from:
            used.add(self.drive_offset_from)
            self._check_column(self.drive_offset_from, "drive_offset_mhz", "drive_offset_from")
        unused = [c.name for c in self.sweep if c.name not in used]
        if unused:
            raise ValueError(f"sweep: column {unused[0]!r} is used by no step")

    def _check_column(self, name: str, field: str, where: str) -> None:
        values = self._values(name)
        if values is None:
            raise ValueError(f"{where}: no sweep column {name[:32]!r}")
        low, high, unit = _BOUNDS[field]
        if min(values) < low or max(values) > high:
            raise ValueError(f"{where}: column {name!r} must lie in {low:g} to {high:g} {unit} as {field}")

    def _values(self, name: str) -> tuple[float, ...] | None:
        return next((c.values for c in self.sweep if c.name == name), None)

    def column(self, step: Step, field: str) -> np.ndarray:
        """The value of a field of a step at each point, float64 `(points,)`."""
        values = self._values(_source(step, field)) if _source(step, field) else None
        return np.full(self.points(), getattr(step, field)) if values is None else np.asarray(values, dtype=float)

    def offsets(self) -> np.ndarray:
        """Drive offset at each point, MHz, float64 `(points,)`."""
        values = self._values(self.drive_offset_from) if self.drive_offset_from else None
        return np.full(self.points(), self.drive_offset_mhz) if values is None else np.asarray(values, dtype=float)

    def points(self) -> int:
        return len(self.sweep[0].values) if self.sweep else 1

    def is_interleaved(self) -> bool:
        return self.order == "interleaved"

    def program(self, hidden: Hidden) -> physics.Program:
        steps = [s for s in self.steps if s.op != "measure"]
        shape = (len(steps), self.points())

        def table(field: str) -> np.ndarray:
            return np.array([self.column(s, field) for s in steps]).reshape(shape)

        return physics.Program(
            np.array([s.op == "drive" for s in steps], dtype=bool), table("amplitude") * rabi_mhz(hidden), table("phase_rad"),
            table("duration_ns") * 1e-3, self.offsets(),
        )  # fmt: skip

    def relaxation_delays_us(self) -> np.ndarray | None:
        """Delays in us `(points,)` if this is a relaxation sweep, else None.

        A relaxation sweep is one or more fixed drives, one delay taken from a sweep column, and the measurement; nothing else is swept.
        """
        *drives, delay = self.steps[:-1] or (None,)
        if not drives or delay is None or delay.op != "delay" or not delay.duration_from or len(self.sweep) != 1 or self.drive_offset_from:
            return None
        if any(s.op != "drive" or s.amplitude_from or s.phase_from or s.duration_from for s in drives):
            return None
        return self.column(delay, "duration_ns") * 1e-3

    def fringe(self) -> Fringe | None:
        """The fringe if this is a Ramsey sweep, else None.

        A Ramsey sweep is a drive, a delay taken from a sweep column, a second drive and the measurement; at most the phases of the drives
        are swept besides.
        """
        if [s.op for s in self.steps] != ["drive", "delay", "drive", "measure"] or self.drive_offset_from:
            return None
        first, delay, second, _ = self.steps
        if not delay.duration_from or any(s.amplitude_from or s.duration_from for s in (first, second)):
            return None
        return Fringe(
            self.column(delay, "duration_ns") * 1e-3, self.column(second, "phase_rad") - self.column(first, "phase_rad"),
            self.drive_offset_mhz, (first.amplitude, first.duration_ns, second.amplitude, second.duration_ns),
        )  # fmt: skip


class RunIqReference(_Run):
    """Take readout reference points: the qubit as it is in equilibrium (`prepare` 0) or after one resonant pulse (`prepare` 1).

    `prepare` 0 measures the thermal state, which holds some excited population. `prepare` 1 plays one square pulse of the given
    amplitude and duration before the readout; with the default values it is a pi pulse at the nominal Rabi frequency, which the true one
    may miss by up to 25 %. Neither gives a pure state: separate the two clouds in the data.

    Returns `iq` complex64 (1, shots) in mV and `time_s` float64 (1, shots). Costs `shots`, one `jobs`, and shots x rep_period + 1 s of
    `lab_s`.
    """

    tool: ClassVar[str] = "run_iq_reference"

    prepare: int = quantity("1", "0: thermal state; 1: after the pulse", ge=0, le=1)  # Literal[0, 1] would take `true`
    amplitude: float = quantity("1", "amplitude of the pulse of `prepare` 1", ge=0, le=1, default=1.0)
    duration_ns: float = quantity("ns", "duration of the pulse of `prepare` 1", ge=4, le=MAX_DRIVE_NS, default=25.0)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunIqReference, ...]:
        return cls(prepare=0, shots=200), cls(prepare=1, amplitude=0.9, duration_ns=26.0, shots=200, rep_period_us=1000.0)

    def program(self, hidden: Hidden) -> physics.Program:
        n = 1 if self.prepare else 0
        return physics.Program(
            np.ones(n, dtype=bool), np.full((n, 1), self.amplitude * rabi_mhz(hidden)), np.zeros((n, 1)),
            np.full((n, 1), self.duration_ns * 1e-3), np.zeros(1),
        )  # fmt: skip


def _source(step: Step, field: str) -> str:
    return {"amplitude": step.amplitude_from, "phase_rad": step.phase_from, "duration_ns": step.duration_from}[field]


def rabi_mhz(hidden: Hidden) -> float:
    """Rabi frequency at amplitude 1, MHz."""
    return RABI_NOMINAL_MHZ * hidden.rabi_factor


def simulate(
    hidden: Hidden, program: physics.Program, shots: int, rep_us: float, interleaved: bool, start_s: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """`iq` complex64 and `time_s` float64, both `(points, shots)`, of a job whose first shot is taken at `start_s`."""
    points = program.points
    t = start_s + np.arange(points * shots) * (rep_us * 1e-6)

    parity = physics.parity_signs(rng, t, hidden.parity_dwell_ms * 1e-3)
    delta = hidden.drive_minus_qubit(t) + parity * (hidden.parity_splitting_khz * 0.5e-3)
    delta += hidden.quasi_static_khz * 1e-3 * rng.standard_normal(t.size)
    gamma1 = hidden.gamma1(t)

    delta_p = physics.request_order(delta, points, interleaved) + program.offset_mhz[:, None]
    gamma1_p = physics.request_order(gamma1, points, interleaved)
    slope, offset = physics.z_response(program, delta_p, gamma1_p, hidden.gamma_phi, hidden.z_eq)

    # The qubit relaxes from what the previous shot left during the rest of the period.
    idle_us = np.broadcast_to((rep_us - READOUT_US - program.length_us)[:, None], slope.shape)
    keep = slope * np.exp(-gamma1_p * idle_us)
    from_equilibrium = physics.time_order((1.0 - offset - hidden.z_eq * (slope - keep)) / 2.0, interleaved)
    memory = physics.time_order(keep / 2.0, interleaved)

    clouds = hidden.readout.clouds()
    fraction = relaxation_fraction(rng, t.size, clouds.relaxation)
    first = bool(rng.random() < hidden.thermal_population)
    excited = physics.outcome_chain(rng.random(t.size), from_equilibrium - memory, from_equilibrium + memory, fraction < 1.0, first)
    iq = integrated_points(rng, excited, fraction, clouds, hidden.angle_rad(t))
    return physics.request_order(iq, points, interleaved), physics.request_order(t, points, interleaved)
