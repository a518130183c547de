"""From hidden rates to noisy circuits and their shots: Pauli noise of every operation, pair errors, drift, bursts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import stim

from qtypes.kit.stim_circuits import Marker, PauliNoise, Program, sample_detections, sample_measurements
from qtypes.seeds import stim_seed
from qtypes.surface_code_memory.device import BURST_ONSETS, BURST_RADIUS, DRIFT_FACTOR, RATE_CAP, Bursts, Hidden
from qtypes.surface_code_memory.layout import Layout

BURST_CAP = 0.4


@dataclass(frozen=True)
class Noise:
    """Rates of one cycle: those of every operation, and `pairs` `(a, b, pauli, p)` of correlated data errors."""

    pauli: PauliNoise
    pairs: tuple[tuple[int, int, str, float], ...]

    def marker(self, tag: str) -> list[str]:
        """Stim lines at `TICK[cycle]`, after the CX layers: CX on neighbouring couplers at the same time leaves a residual ZZ, which the
        cycle's frame turns into XX or ZZ on the data (Google Quantum AI 2021, supplement)."""
        return [f"CORRELATED_ERROR({p!r}) {pauli}{a} {pauli}{b}" for a, b, pauli, p in self.pairs]

    @property
    def scene(self) -> tuple[PauliNoise, Marker | None]:
        return self.pauli, self.marker if self.pairs else None


def depolarised(p: float, q: float) -> float:
    """Two depolarising channels of one qubit in a row: contrasts 1 - 4p/3 multiply."""
    return 0.75 * (1 - (1 - 4 * p / 3) * (1 - 4 * q / 3))


def noise_at(hidden: Hidden, chip: Layout, lab_s: float, wait_us: float = 0.0) -> Noise:
    """Rates at lab time `lab_s` in s, where the data wait `wait_us` in us after every cycle."""
    tables = {k: list(getattr(hidden, k)) for k in ("gate2", "readout", "idle")}
    for d in hidden.drift:
        grown = tables[d.kind][d.element] * (1 + (DRIFT_FACTOR - 1) * lab_s / 60 / d.minutes)
        tables[d.kind][d.element] = min(grown, RATE_CAP)
    waits = [0.75 * (1 - math.exp(-4 / 3 * rate * wait_us)) for rate in hidden.wait]
    return Noise(
        PauliNoise(
            gate1=hidden.gate1, gate2=dict(zip(chip.couplers, tables["gate2"], strict=True)), readout=tables["readout"],
            reset=hidden.reset, idle={q: depolarised(p, w) for q, p, w in zip(chip.data, tables["idle"], waits, strict=True)},
        ),
        tuple((c.a, c.b, c.pauli, c.rate) for c in hidden.crosstalk),
    )  # fmt: skip


def in_burst(noise: Noise, chip: Layout, bursts: Bursts, centre: tuple[float, float]) -> Noise:
    """`noise` while a burst is on: every rate of an operation on a qubit within the region is multiplied (McEwen et al. 2022)."""
    r, c = centre
    near = {q for q, (y, x) in enumerate(chip.sites) if math.hypot(y - r, x - c) <= BURST_RADIUS}

    def raised(p: float, *qubits: int) -> float:
        return max(p, min(p * bursts.factor, BURST_CAP)) if near.intersection(qubits) else p

    n = noise.pauli
    idle: Mapping[int, float] = {q: n.idle[q] for q in chip.data}
    return Noise(
        replace(
            n, gate1=[raised(p, q) for q, p in enumerate(_listed(n.gate1, chip))], gate2={k: raised(p, *k) for k, p in n.gate2.items()},
            readout=[raised(p, q) for q, p in enumerate(_listed(n.readout, chip))],
            reset=[raised(p, q) for q, p in enumerate(_listed(n.reset, chip))], idle={q: raised(p, q) for q, p in idle.items()},
        ),
        tuple((a, b, pauli, raised(p, a, b)) for a, b, pauli, p in noise.pairs),
    )  # fmt: skip


def _listed(rates: Mapping[int, float] | object, chip: Layout) -> list[float]:
    return [rates[q] for q in range(chip.n_qubits)]  # type: ignore[index]


def quiet_circuit(program: Program, noise: Noise) -> stim.Circuit:
    """The noisy circuit without bursts."""
    return program.dress(*noise.scene)


def burst_circuit(program: Program, quiet: Noise, burst: Noise, onset: int, cycles: int) -> stim.Circuit:
    """The noisy circuit of a shot with a burst that acts in cycles `onset` to `onset + cycles - 1`; the data readout is one cycle more."""
    return program.dress_cycles(lambda k: burst.scene if onset <= k < onset + cycles else quiet.scene)


@dataclass(frozen=True)
class Mixture:
    """Shots of circuits that differ in their noise only. `weights` are the probabilities of `circuits` per shot."""

    program: Program
    circuits: tuple[stim.Circuit, ...]
    weights: tuple[float, ...]

    def _counts(self, shots: int, rng: np.random.Generator) -> np.ndarray:
        return rng.multinomial(shots, self.weights) if len(self.circuits) > 1 else np.array([shots])

    def measurements(self, shots: int, rng: np.random.Generator) -> np.ndarray:
        """`(shots, ceil(n_measurements / 8))` uint8, packed little-endian, in random order."""
        counts = self._counts(shots, rng)
        parts = [sample_measurements(c, int(n), stim_seed(rng)) for c, n in zip(self.circuits, counts, strict=True) if n]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)[rng.permutation(shots)]

    def detections(self, shots: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Detection events and observable flips, packed as in `Program.detections`; ordered by circuit."""
        counts = self._counts(shots, rng)
        parts = [sample_detections(c, int(n), stim_seed(rng)) for c, n in zip(self.circuits, counts, strict=True) if n]
        return np.concatenate([d for d, _ in parts]), np.concatenate([f for _, f in parts])


def mixture(program: Program, hidden: Hidden, chip: Layout, rounds: int, lab_s: float, wait_us: float = 0.0) -> Mixture:
    """All that a shot of `program` with `rounds` cycles may be at lab time `lab_s` in s: quiet, or one burst of each centre and onset."""
    quiet = noise_at(hidden, chip, lab_s, wait_us)
    circuits, weights = [quiet_circuit(program, quiet)], [1.0]
    if hidden.bursts is not None:
        b = hidden.bursts
        each = b.probability / (len(b.centres) * len(BURST_ONSETS))
        for centre in b.centres:
            burst = in_burst(quiet, chip, b, centre)
            for onset in BURST_ONSETS:
                if onset < rounds:
                    circuits.append(burst_circuit(program, quiet, burst, onset, b.cycles))
                    weights.append(each)
        weights[0] = 1.0 - sum(weights[1:])
    return Mixture(program, tuple(circuits), tuple(weights))
