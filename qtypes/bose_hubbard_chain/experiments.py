"""The experiments: each class is a request, a tool of the agent, and the way to run it."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from qtypes import AgentError, Array, Clock, Cost, Device, Experiment, Record, quantity
from qtypes.bose_hubbard_chain.device import (
    MAX_JOB_SHOTS,
    MAX_PATTERNS,
    MAX_TIME_NS,
    MAX_TIMES,
    REP_US,
    SETTING_S,
    Hidden,
    Spec,
)  # fmt: skip
from qtypes.bose_hubbard_chain.physics import N_SITES, Chain, Complex, occupations, prepared, quadratures, read

Initial = Annotated[str, Field(pattern="^[0123+]{6}$", min_length=N_SITES, max_length=N_SITES)]
Levels = Annotated[str, Field(pattern="^[0123]{6}$", min_length=N_SITES, max_length=N_SITES)]
Times = tuple[Annotated[float, Field(ge=0, le=MAX_TIME_NS)], ...]


def bosons(initial: str) -> int:
    """Bosons in an initial state; `+` counts as one."""
    return sum(1 if c == "+" else int(c) for c in initial)


def _cost(settings: int, shots: int) -> Cost:
    n = settings * shots
    return Cost.of(shots=n, settings=settings, jobs=1, lab_s=settings * SETTING_S + n * REP_US * 1e-6)


def _admit_shots(settings: int, shots: int, spec: Spec) -> None:
    if settings * shots > spec.max_job_shots:
        raise AgentError("too many shots in one job", field="shots", got=settings * shots, limit=spec.max_job_shots, unit="shots")


def _admit_quench(initial: str, times: Times, shots: int, spec: Spec) -> None:
    if bosons(initial) > spec.max_bosons:
        raise AgentError("too many bosons", field="initial", got=bosons(initial), limit=spec.max_bosons, unit="bosons")
    for k, t in enumerate(times):
        if (t / spec.tick_ns) % 1:
            raise AgentError("not a multiple of the tick", field=f"times_ns.{k}", got=t, limit=spec.tick_ns, unit="ns")
    _admit_shots(len(times), shots, spec)


def _ends(
    device: Device, clock: Clock, rng: np.random.Generator, initial: str, times: Times, shots: int
) -> tuple[np.ndarray, list[list[tuple[int, Complex]]]]:
    """Lab time at the start of each setting, and what the chain ends in."""
    hidden: Hidden = device.hidden
    start_s = clock.start_s + SETTING_S + (SETTING_S + shots * REP_US * 1e-6) * np.arange(len(times))
    chain: Chain = hidden.chain(float(start_s.mean()))  # mu moves by less than 1 kHz within a job
    psi = prepared(initial)
    return start_s, [chain.unravelled(rng, psi, max(0.0, t - hidden.delay_ns), shots) for t in times]


class RunOccupation(Experiment):
    """Prepare `initial`, switch the chain on for each of `times_ns`, and read the level of all six sites.

    Returns `n` uint8 (times, shots, 6): the level as read, 0 to 3. Costs times x shots `shots`, one `settings` for each time, one `jobs`,
    and 2 s per setting and 250 us per shot of lab time.
    """

    tool: ClassVar[str] = "run_occupation"

    initial: Initial = Field(
        description="letter i is site i: a digit is that level, + is (|0> + |1>)/sqrt(2); at most 4 bosons, + counts as one"
    )
    times_ns: Times = quantity("ns", "pulse lengths, multiples of 0.5, run in this order", min_length=1, max_length=MAX_TIMES)
    shots: int = quantity("1", "shots of each time", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunOccupation, ...]:
        return (cls(initial="020020", times_ns=(2.0, 9.5, 40.0), shots=1500), cls(initial="1+0+01", times_ns=(12.0,), shots=1000))

    def cost(self) -> Cost:
        return _cost(len(self.times_ns), self.shots)

    def admit(self, spec: Spec) -> None:
        _admit_quench(self.initial, self.times_ns, self.shots, spec)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        start_s, ends = _ends(device, clock, rng, self.initial, self.times_ns, self.shots)
        levels = np.stack([occupations(rng, e) for e in ends])
        n = read(rng, levels, np.array(device.hidden.confusion))
        return Record(
            {
                "n": Array(n, "1", ("time", "shot", "site"), "level as read; 3 is three or more"),
                "start_s": Array(start_s, "s", ("time",), "lab clock at the first shot of the setting"),
            },
            {"times": len(n), "shots": self.shots},
        )


class RunQuadrature(Experiment):
    """Prepare `initial`, switch the chain on for each of `times_ns`, then release one site into a line: one homodyne value per shot.

    The value is offset + gain x (quadrature (a e^{-i phase} + a^dag e^{i phase})/sqrt(2) + noise of the detection), gain > 0. `+` has
    phase 0. Returns `v` float32 (times, shots). Costs times x shots `shots`, one `settings` for each time, one `jobs`, and 2 s per
    setting and 250 us per shot of lab time.
    """

    tool: ClassVar[str] = "run_quadrature"

    initial: Initial = Field(description="as in run_occupation; without a + the mean quadrature is 0")
    times_ns: Times = quantity("ns", "pulse lengths, multiples of 0.5, run in this order", min_length=1, max_length=MAX_TIMES)
    site: int = quantity("1", "the site that is measured", ge=0, lt=N_SITES)
    lo_phase_rad: float = quantity("rad", "phase of the local oscillator", ge=-7, le=7)
    shots: int = quantity("1", "shots of each time", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunQuadrature, ...]:
        return (cls(initial="+00000", times_ns=(4.0, 10.5), site=1, lo_phase_rad=1.5, shots=1000),)

    def cost(self) -> Cost:
        return _cost(len(self.times_ns), self.shots)

    def admit(self, spec: Spec) -> None:
        _admit_quench(self.initial, self.times_ns, self.shots, spec)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        h: Hidden = device.hidden
        start_s, ends = _ends(device, clock, rng, self.initial, self.times_ns, self.shots)
        x = np.stack([quadratures(rng, e, self.site, self.lo_phase_rad) for e in ends])
        # a beam splitter of this transmission before an ideal detector (Leonhardt 1997), referred to its input
        x += np.sqrt((1 - h.efficiency) / (2 * h.efficiency)) * rng.standard_normal(x.shape)
        v = (h.offset_mv + h.gain_mv * x).astype(np.float32)
        return Record(
            {
                "v": Array(v, "mV", ("time", "shot"), "one homodyne value per shot"),
                "start_s": Array(start_s, "s", ("time",), "lab clock at the first shot of the setting"),
            },
            {"times": len(v), "shots": self.shots},
        )


class RunLevelReference(Experiment):
    """Prepare levels on all sites with the chain off and read them at once. All sites are read in the same shots.

    Returns `n` uint8 (patterns, shots, 6). Costs patterns x shots `shots`, one `settings` for each pattern, one `jobs`, and 2 s per pattern
    and 250 us per shot of lab time.
    """

    tool: ClassVar[str] = "run_level_reference"

    patterns: tuple[Levels, ...] = Field(description="digit i is the level of site i, 0 to 3", min_length=1, max_length=MAX_PATTERNS)
    shots: int = quantity("1", "shots of each pattern", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunLevelReference, ...]:
        return (cls(patterns=("012301", "123012"), shots=500),)

    def cost(self) -> Cost:
        return _cost(len(self.patterns), self.shots)

    def admit(self, spec: Spec) -> None:
        _admit_shots(len(self.patterns), self.shots, spec)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        levels = np.array([[int(c) for c in p] for p in self.patterns], dtype=np.uint8)
        n = read(rng, np.repeat(levels[:, None], self.shots, axis=1), np.array(device.hidden.confusion))
        return Record(
            {"n": Array(n, "1", ("pattern", "shot", "site"), "level as read; 3 is three or more")},
            {"patterns": len(n), "shots": self.shots},
        )
