"""The experiments of the device."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from scipy.special import eval_laguerre

from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.kit.readout import flipped
from qtypes.trapped_ion_chain import physics
from qtypes.trapped_ion_chain.device import (
    MAX_JOB_SHOTS,
    MAX_POINTS,
    MAX_PULSE_US,
    MAX_REPEATS,
    MAX_SEGMENTS,
    MU_MHZ,
    OMEGA_MAX_KHZ,
    SETUP_S,
    SHOT_MS,
    WEAK_MAX_KHZ,
    Hidden,
)
from qtypes.trapped_ion_chain.physics import HERMITE, IONS, TWO_PI, WEIGHTS, Floats, Pulse
from qtypes.trapped_ion_chain.replay import GateReplay, light_phase

Bits = NDArray[np.uint8]
QUBIT_NODES = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])
QUBIT_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6.0
"""Three-point quadrature of a normal variable: the slow qubit noise turns by less than 1e-2 rad in a pulse."""


class _Run(Experiment):
    """What all experiments share: bits of all ions, shot by shot."""

    shots: int = quantity("1", "shots per point; points x shots <= 20 000", ge=1, le=MAX_JOB_SHOTS)

    def count(self) -> int:
        """Number of points."""
        raise NotImplementedError

    def extra_s(self) -> float:
        """Lab time of one shot beyond the usual, summed over the points."""
        return 0.0

    def flips(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> Bits:
        """State before the readout, `(points, shots, ions)`."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check(self) -> _Run:
        if self.count() * self.shots > MAX_JOB_SHOTS:
            raise ValueError(f"points x shots is {self.count() * self.shots}, at most {MAX_JOB_SHOTS}")
        return self

    def cost(self) -> Cost:
        lab_s = SETUP_S + self.shots * (self.count() * SHOT_MS * 1e-3 + self.extra_s())
        return Cost.of(lab_s=lab_s, shots=self.count() * self.shots, jobs=1)

    def run(self, device: Device[Any, Any], clock: Clock, rng: np.random.Generator) -> Record:
        h: Hidden = device.hidden
        seen = flipped(rng, self.flips(h, clock.start_s, rng), np.array(h.dark_read_bright), np.array(h.bright_read_dark))
        layout = "1 is bright, read as |1>; column k is ion k + 1"
        return Record({"bits": Array(seen, "1", ("point", "shot", "ion"), layout)}, {"points": self.count(), "shots": self.shots})

    def _one(self, rng: np.random.Generator, ion: int, p: Floats) -> Bits:
        """Bits of one driven ion with probabilities `(points, shots)`; the others stay in |0>."""
        out = np.zeros((*p.shape, IONS), dtype=np.uint8)
        out[:, :, ion - 1] = rng.random(p.shape) < p
        return out

    def _scale(self, hidden: Hidden, rng: np.random.Generator, ion: int) -> Floats:
        """Relative Rabi frequency of an ion in each shot, `(points, shots)`."""
        noise = rng.standard_normal((self.count(), self.shots)) * hidden.amplitude_noise
        return hidden.rabi_scale[ion - 1] * (1.0 + noise)

    def _quanta(self, rng: np.random.Generator, nbar: Floats) -> NDArray[np.int64]:
        """Thermal quanta of each mode in each shot, `(points, shots, modes)`."""
        return rng.geometric(1.0 / (1.0 + nbar), (self.count(), self.shots, len(nbar))) - 1


class RunSidebandScan(_Run):
    """Blue-sideband spectroscopy: one weak tone on one ion, at detunings above the carrier, then the readout.

    A line appears where the detuning meets a transverse mode; its strength goes as eta[ion][mode] x sqrt(n + 1). The light moves the lines
    by the qubit's light shift, quadratic in `omega_khz`. `wait_us` lets the motion heat between cooling and pulse. Returns `bits` uint8
    (detuning, shot, 5). Costs detunings x shots `shots`, one `jobs`, and (5 ms + wait) a shot + 10 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_sideband_scan"

    ion: int = quantity("1", "driven ion, 1 to 5", ge=1, le=IONS)
    detunings_khz: tuple[Annotated[float, Field(ge=2500, le=3300)], ...] = quantity(
        "kHz", "detunings above the carrier", min_length=1, max_length=MAX_POINTS
    )
    pulse_us: int = quantity("us", "length of the pulse", ge=1, le=2000)
    omega_khz: float = quantity("kHz", "Rabi frequency of the tone on the carrier", ge=0, le=WEAK_MAX_KHZ)
    wait_us: float = quantity("us", "idle time between cooling and pulse", ge=0, le=50_000, default=0.0)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunSidebandScan, ...]:
        lines = tuple(1e3 * m + d for m in spec.nominal_modes_mhz for d in (-4.0, 0.0, 4.0))
        return (
            cls(ion=1, detunings_khz=lines, pulse_us=150, omega_khz=40.0, shots=60),
            cls(ion=2, detunings_khz=lines, pulse_us=200, omega_khz=20.0, wait_us=20_000.0, shots=100),
        )

    def count(self) -> int:
        return len(self.detunings_khz)

    def extra_s(self) -> float:
        return self.count() * (self.wait_us + self.pulse_us) * 1e-6

    def flips(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> Bits:
        nbar = hidden.bath(self.wait_us + self.pulse_us / 2.0).nbar
        scale = self._scale(hidden, rng, self.ion)
        omega = TWO_PI * self.omega_khz * 1e-3
        shift = light_phase(hidden, omega**2, scale, 1.0)  # per us
        detuning = TWO_PI * 1e-3 * np.array(self.detunings_khz)[:, None] - shift
        modes = hidden.modes(hidden.walk(t_s))
        p = physics.sideband_excitation(
            detuning, float(self.pulse_us), omega * scale, hidden.eta()[self.ion - 1], modes, self._quanta(rng, nbar)
        )
        return self._one(rng, self.ion, p)


class RunRabi(_Run):
    """Resonant carrier pulses on one ion. The Rabi frequency of a shot follows the ion's scale, the laser noise and, by the Debye-Waller
    factors, the quanta of all modes. Returns `bits` uint8 (duration, shot, 5). Costs durations x shots `shots`, one `jobs`, and 5 ms a shot
    + 10 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_rabi"

    ion: int = quantity("1", "driven ion, 1 to 5", ge=1, le=IONS)
    durations_us: tuple[Annotated[float, Field(ge=0, le=500)], ...] = quantity(
        "us", "lengths of the pulse", min_length=1, max_length=MAX_POINTS
    )
    omega_khz: float = quantity("kHz", "set Rabi frequency / 2 pi", ge=0, le=OMEGA_MAX_KHZ)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunRabi, ...]:
        return tuple(cls(ion=k, durations_us=(0.0, 5.0, 101.0), omega_khz=50.0, shots=60) for k in range(1, 6))

    def count(self) -> int:
        return len(self.durations_us)

    def flips(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> Bits:
        square = hidden.eta()[self.ion - 1] ** 2
        n = self._quanta(rng, hidden.bath().nbar)
        debye_waller = np.prod(np.exp(-square / 2.0) * eval_laguerre(n, square), axis=-1)
        angle = TWO_PI * self.omega_khz * 1e-3 * self._scale(hidden, rng, self.ion) * debye_waller * np.array(self.durations_us)[:, None]
        return self._one(rng, self.ion, np.sin(angle / 2.0) ** 2)


class RunRamsey(_Run):
    """Two microwave pi/2 pulses with a wait between them; the second about an axis at `phase_rad`. With `omega_khz` both tones of the
    gate beams, far from any mode, light the ion during the wait and shift its qubit. Returns `bits` uint8 (wait, shot, 5); the other ions
    stay in |0>. Costs waits x shots `shots`, one `jobs`, and (5 ms + wait) a shot + 10 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_ramsey"

    ion: int = quantity("1", "ion that is read, 1 to 5", ge=1, le=IONS)
    waits_us: tuple[Annotated[float, Field(ge=0, le=1_000_000)], ...] = quantity("us", "waits", min_length=1, max_length=MAX_POINTS)
    phase_rad: float = quantity("rad", "phase of the second pulse", ge=-10, le=10, default=0.0)
    omega_khz: float = quantity("kHz", "Rabi frequency of the gate beams during the wait", ge=0, le=OMEGA_MAX_KHZ, default=0.0)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunRamsey, ...]:
        dark = cls(ion=1, waits_us=(0.0, 100_000.0, 300_000.0), phase_rad=0.5, shots=60)
        return dark, cls(ion=3, waits_us=(0.0, 400.0, 900.0), phase_rad=1.57, omega_khz=100.0, shots=60)

    def count(self) -> int:
        return len(self.waits_us)

    def extra_s(self) -> float:
        return float(sum(self.waits_us)) * 1e-6

    def flips(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> Bits:
        waits = np.array(self.waits_us)[:, None]
        scale = self._scale(hidden, rng, self.ion)
        slow = rng.standard_normal((self.count(), self.shots)) * qubit_noise(hidden)
        light = light_phase(hidden, (TWO_PI * self.omega_khz * 1e-3) ** 2, scale, 1.0)
        p = 0.5 * (1.0 + np.cos((light + slow) * waits - self.phase_rad))
        return self._one(rng, self.ion, p)


class RunReference(_Run):
    """All five ions in |0> or in |1>, by optical pumping and a microwave passage, then the readout. Returns `bits` uint8 (1, shot, 5).
    Costs `shots`, one `jobs`, and 5 ms a shot + 10 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_reference"

    state: int = quantity("1", "0 or 1", ge=0, le=1)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunReference, ...]:
        return cls(state=0, shots=1500), cls(state=1, shots=1500)

    def count(self) -> int:
        return 1

    def flips(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> Bits:
        return np.full((1, self.shots, IONS), self.state, dtype=np.uint8)


class Segment(Part):
    """One piece of a two-tone pulse."""

    duration_us: int = quantity("us", "length", ge=1, le=MAX_PULSE_US)
    omega_khz: float = quantity("kHz", "Rabi frequency / 2 pi of either tone", ge=0, le=OMEGA_MAX_KHZ)
    mu_mhz: float = quantity("MHz", "half distance of the tones / 2 pi", ge=MU_MHZ[0], le=MU_MHZ[1])
    phase_rad: float = quantity("rad", "added to the phase of the force; pi turns its sign", ge=-100, le=100, default=0.0)


def pulse_of(segments: Any) -> Pulse:
    """The pulse of a sequence of segments, or of anything with their fields."""
    rows = np.array([(s.duration_us, s.omega_khz, s.mu_mhz, s.phase_rad) for s in segments], dtype=float).T
    return Pulse(rows[0], TWO_PI * 1e-3 * rows[1], TWO_PI * rows[2], rows[3])


class RunMsGate(_Run):
    """A segmented two-tone pulse on a pair of ions in |00>, repeated without cooling in between; then analysis and readout.

    psi(t) = int mu dt + phase is continuous across segments but for the jumps of `phase_rad`, and starts anew with each repetition. After
    every repetition both ions are turned by `virtual_z_rad` about Z. Points: without analysis pulse if `populations`, then one for each of
    `analysis_rad`, the phase of a microwave pi/2 pulse on both ions. Returns `bits` uint8 (point, shot, 5). Costs points x shots `shots`,
    one `jobs`, and 5 ms a shot + 10 s of `lab_s`.
    """

    tool: ClassVar[str] = "run_ms_gate"

    pair: tuple[Annotated[int, Field(ge=1, le=IONS)], Annotated[int, Field(ge=1, le=IONS)]] = quantity("1", "two different ions, 1 to 5")
    segments: tuple[Segment, ...] = Field(min_length=1, max_length=MAX_SEGMENTS, description="the pulse, 200 us at most")
    virtual_z_rad: float = quantity("rad", "turn of both ions about Z after each repetition", ge=-100, le=100, default=0.0)
    repeats: int = quantity("1", "how often the pulse is played", ge=1, le=MAX_REPEATS, default=1)
    populations: bool = Field(default=True, description="whether the first point has no analysis pulse")
    analysis_rad: tuple[Annotated[float, Field(ge=-100, le=100)], ...] = quantity(
        "rad", "phases of the analysis pulse", max_length=MAX_POINTS - 1, default=()
    )

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunMsGate, ...]:
        piece = {"omega_khz": 90.0, "mu_mhz": 3.06}
        segments = (Segment(duration_us=60, **piece), Segment(duration_us=40, **piece, phase_rad=0.7))
        return (
            cls(pair=(2, 4), segments=segments, analysis_rad=(0.0, 0.8), virtual_z_rad=0.2, shots=100),
            cls(pair=(1, 5), segments=segments[:1], repeats=3, populations=False, analysis_rad=(0.4,), shots=100),
        )

    @model_validator(mode="after")
    def _check_pulse(self) -> RunMsGate:
        if self.pair[0] == self.pair[1]:
            raise ValueError(f"a pair is two different ions, not {self.pair}")
        total = sum(s.duration_us for s in self.segments)
        if total > MAX_PULSE_US:
            raise ValueError(f"the pulse lasts {total} us, at most {MAX_PULSE_US}")
        if not self.count():
            raise ValueError("neither populations nor an analysis phase is asked for")
        return self

    def count(self) -> int:
        return int(self.populations) + len(self.analysis_rad)

    def probabilities(self, hidden: Hidden, t_s: float) -> Floats:
        """Of 00, 01, 10, 11 at each point and node of the shot-to-shot noise, `(points, nodes, 4)`."""
        gate = GateReplay(hidden, self.pair, pulse_of(self.segments), self.virtual_z_rad, hidden.walk(t_s), self.repeats)
        states = np.array([gate.state(a * hidden.amplitude_noise, q * qubit_noise(hidden)) for a in HERMITE for q in QUBIT_NODES])
        singles = [physics.rotation(np.pi / 2.0, a) for a in self.analysis_rad]
        turns = [np.eye(4, dtype=complex)] * int(self.populations) + [np.kron(r, r) for r in singles]
        p = np.stack([np.einsum("ij,njk,ik->ni", r, states, r.conj()).real for r in turns])
        return np.clip(p, 0.0, None) / np.clip(p, 0.0, None).sum(axis=-1, keepdims=True)

    def flips(self, hidden: Hidden, t_s: float, rng: np.random.Generator) -> Bits:
        levels = np.cumsum(self.probabilities(hidden, t_s), axis=-1)[:, :, :3]
        node = rng.choice(levels.shape[1], (self.count(), self.shots), p=np.outer(WEIGHTS, QUBIT_WEIGHTS).ravel())
        chosen = np.take_along_axis(levels, node[:, :, None], axis=1)
        result = (rng.random(node.shape)[:, :, None] > chosen).sum(axis=-1)
        out = np.zeros((*node.shape, IONS), dtype=np.uint8)
        out[:, :, self.pair[0] - 1] = result >> 1
        out[:, :, self.pair[1] - 1] = result & 1
        return out


def qubit_noise(hidden: Hidden) -> float:
    """Rms offset of the qubit frequency from shot to shot, rad/us: a Ramsey fringe falls as exp(-(t / T2)^2)."""
    return float(np.sqrt(2.0) / (hidden.t2_ms * 1e3))

