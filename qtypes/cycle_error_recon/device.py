"""What the device is: hidden parameters, public spec, what a task may set, the draw and the notebook."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from qtypes import Notebook, NotebookEntry, Part, quantity
from qtypes.cycle_error_recon.physics import (
    EDGES,
    N_QUBITS,
    Edge,
    Masks,
    class_of,
    classes,
    label,
    masks,
    orbit_infidelity,
    parities,
    prepared,
)  # fmt: skip

MAX_DEPTH = 64
MAX_DEPTHS = 12
MAX_TWIRLS = 100
MAX_TWIRL_SHOTS = 1000
MAX_JOB_SHOTS = 20_000
MAX_STATES = 32
REP_US = 250.0
"""Time from shot to shot."""
CIRCUIT_S = 0.2
"""Time to load one randomised circuit (one twirl at one depth)."""
SETUP_S = 2.0
HELD_OUT = 20
NEIGHBOURS = ((0, 1), (1, 2), (2, 3), (3, 4))
FAR = tuple(p for p in itertools.combinations(range(N_QUBITS), 2) if p not in NEIGHBOURS)
_OVERVIEW_DEPTH = 16

Rate = Annotated[float, Field(gt=0, le=0.02)]
Probability = Annotated[float, Field(ge=0, le=0.2)]


class Profile(Part):
    """What a task may set."""

    single_rate: tuple[Rate, Rate] = quantity("1/cycle", "rates of the one-qubit errors: range", default=(1e-4, 6e-4))
    pair_rate: tuple[Rate, Rate] = quantity("1/cycle", "rates of the errors on neighbours that exist: range", default=(1e-4, 5e-4))
    pair_probability: float = quantity("1", "probability that an error on neighbours exists", ge=0, le=1, default=0.3)
    long_range_rate: tuple[Rate, Rate] = quantity("1/cycle", "rates of the two long-range errors: range", default=(1.5e-3, 4e-3))
    modulation: tuple[Probability, Probability] = quantity("1", "relative amplitude of the slow modulation: range", default=(0.07, 0.1))
    notebook_error: float = quantity("1", "relative error of the notebook's rates", ge=0.02, le=0.5, default=0.12)


class Generator(Part):
    """One Pauli error of the cycle."""

    pauli: str = Field(description="five letters, letter q for qubit q", pattern="^[IXYZ]{5}$")
    rate: float = quantity("1/cycle", "its rate", gt=0)


class Modulation(Part):
    """Slow change of the rate of one long-range error: `rate (1 + amplitude sin(2 pi t / period + phase))`."""

    which: int = quantity("1", "index of the long-range error", ge=0, le=1)
    amplitude: float = quantity("1", "relative amplitude", ge=0, lt=1)
    period_s: float = quantity("s", "period on the lab clock", gt=0)
    phase_rad: float = quantity("rad", "phase at lab time 0")

    def at(self, t_s: ArrayLike) -> NDArray[np.float64]:
        """The factor `1 + ...` at lab times, of their shape."""
        return 1.0 + self.amplitude * np.sin(2.0 * np.pi * np.asarray(t_s, dtype=float) / self.period_s + self.phase_rad)

    def mean(self, start_s: float, end_s: float) -> float:
        """The mean factor over an interval of positive length."""
        a, b = (2.0 * np.pi * t / self.period_s + self.phase_rad for t in (start_s, end_s))
        return float(1.0 + self.amplitude * (np.cos(a) - np.cos(b)) / (b - a))


class JointFlip(Part):
    """A readout error of two qubits at once."""

    qubits: tuple[int, int] = quantity("1", "the two qubits")
    probability: float = quantity("1", "probability that both bits flip", ge=0, lt=0.5)


class Hidden(Part):
    """What only the laboratory knows."""

    single: tuple[Generator, ...] = Field(description="one-qubit errors; present in any cycle")
    pairs: tuple[Generator, ...] = Field(description="errors on neighbours; present where an active gate touches one of the two")
    long_range: tuple[Generator, Generator] = Field(description="errors on qubits that are not neighbours; only with both gates active")
    modulation: Modulation = Field(description="slow change of one long-range rate")
    preparation_error: tuple[float, ...] = quantity("1", "probability per qubit to begin in the wrong eigenstate")
    false_1: tuple[float, ...] = quantity("1", "probability per qubit to read 1 in |0>")
    false_0: tuple[float, ...] = quantity("1", "probability per qubit to read 0 in |1>")
    joint_flips: tuple[JointFlip, JointFlip] = Field(description="correlated readout errors")

    def noise(self, edges: Sequence[Edge], t_s: ArrayLike = 0.0) -> tuple[Masks, NDArray[np.float64]]:
        """Generators `(n,)` of a cycle with these gates, and their rates `(..., n)` at lab times of shape `(...)`."""
        touched = {q for edge in edges for q in edge}
        found = [*self.single, *(g for g in self.pairs if touched & set(_support(g.pauli)))]
        rates = np.ones((*np.shape(t_s), 1)) * np.array([g.rate for g in found])
        if len(set(edges)) == len(EDGES):
            found += self.long_range
            far = np.ones((*np.shape(t_s), 1)) * np.array([g.rate for g in self.long_range])
            far[..., self.modulation.which] *= self.modulation.at(t_s)
            rates = np.concatenate([rates, far], axis=-1)
        return masks([g.pauli for g in found]), rates

    def class_rates(self, factor: float = 1.0, *, long_range: bool = True) -> NDArray[np.float64]:
        """Summed rates `(93,)` of the classes of the full cycle; `factor` is the (mean) modulation of the one error that has one."""
        total = dict.fromkeys(classes(), 0.0)
        for g in (*self.single, *self.pairs):
            total[class_of(g.pauli)] += g.rate
        for k, g in enumerate(self.long_range if long_range else ()):
            total[class_of(g.pauli)] += g.rate * (factor if k == self.modulation.which else 1.0)
        return np.array(list(total.values()))


class Spec(Part):
    """What the agent may know."""

    qubits: int = quantity("1", "number of qubits, in a line")
    cycle_edges: tuple[tuple[int, int], ...] = quantity("1", "CZ gates of the cycle")
    convention: str = Field(description="how a cycle acts and how bits are corrected")
    max_depth: int = quantity("1", "largest number of cycles")
    max_job_shots: int = quantity("1", "most shots of one job: depths x twirls x shots per twirl")
    rep_period_us: float = quantity("us", "time from shot to shot")
    circuit_load_s: float = quantity("s", "lab time to load one randomised circuit (one twirl at one depth)")
    held_out: int = quantity("1", "number of Paulis that lock_and_reveal asks for")


def _support(pauli: str) -> tuple[int, ...]:
    return tuple(q for q, c in enumerate(pauli) if c != "I")


def _placed(letters: dict[int, str]) -> str:
    return "".join(letters.get(q, "I") for q in range(N_QUBITS))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device."""
    single = [Generator(pauli=_placed({q: c}), rate=float(rng.uniform(*profile.single_rate))) for q in range(N_QUBITS) for c in "XYZ"]
    pairs = [
        Generator(pauli=_placed({a: c, b: d}), rate=float(rng.uniform(*profile.pair_rate)))
        for a, b in NEIGHBOURS for c in "XYZ" for d in "XYZ" if rng.random() < profile.pair_probability
    ]  # fmt: skip
    far = [FAR[int(k)] for k in rng.choice(len(FAR), 2, replace=False)]
    lines = list(itertools.combinations(range(N_QUBITS), 2))
    joint = [lines[int(k)] for k in rng.choice(len(lines), 2, replace=False)]

    def each(low: float, high: float) -> tuple[float, ...]:
        return tuple(float(v) for v in rng.uniform(low, high, N_QUBITS))

    return Hidden(
        single=tuple(single), pairs=tuple(pairs),
        long_range=(_long_range(rng, far[0], profile), _long_range(rng, far[1], profile)),
        modulation=Modulation(
            which=int(rng.integers(2)), amplitude=float(rng.uniform(*profile.modulation)), period_s=float(rng.uniform(900, 2700)),
            phase_rad=float(rng.uniform(0, 2 * np.pi)),
        ),
        preparation_error=each(0.005, 0.02), false_1=each(0.01, 0.03), false_0=each(0.02, 0.05),
        joint_flips=(
            JointFlip(qubits=joint[0], probability=float(rng.uniform(0.005, 0.02))),
            JointFlip(qubits=joint[1], probability=float(rng.uniform(0.005, 0.02))),
        ),
    )  # fmt: skip


def _long_range(rng: np.random.Generator, pair: Edge, profile: Profile) -> Generator:
    letters = {q: str(rng.choice(list("XYZ"))) for q in pair}
    return Generator(pauli=_placed(letters), rate=float(rng.uniform(*profile.long_range_rate)))


def public_spec(profile: Profile) -> Spec:
    """The same for every device of a profile."""
    return Spec(
        qubits=N_QUBITS, cycle_edges=EDGES,
        convention="One cycle is the noise, then the CZ gates that are active; noise is a Pauli channel because every cycle is twirled. "
        "Qubits begin as +1 eigenstates of the letters of prep_axes. Flips by the random Paulis are undone in `bits`; `frame` says "
        "which bits were flipped (1) between the readout and the record. Axis strings and Pauli labels: letter q is qubit q.",
        max_depth=MAX_DEPTH, max_job_shots=MAX_JOB_SHOTS, rep_period_us=REP_US, circuit_load_s=CIRCUIT_S, held_out=HELD_OUT,
    )  # fmt: skip


def held_out(rng: np.random.Generator) -> dict[str, Any]:
    """The challenge: `paulis`, distinct labels of two letters or more besides I, drawn uniformly; one of each class."""
    chosen: dict[tuple[str, ...], str] = {}
    while len(chosen) < HELD_OUT:
        pauli = label(*(int(v) for v in rng.integers(0, 1 << N_QUBITS, 2)))
        if pauli.count("I") <= N_QUBITS - 2:
            chosen.setdefault(class_of(pauli), pauli)
    return {"paulis": list(chosen.values())}


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """The rates of CZ gates that ran one at a time, and one look at the full cycle at a single depth, SPAM included."""
    true = hidden.class_rates(long_range=False)
    alone = np.where(true > 0, true * np.exp(profile.notebook_error * rng.standard_normal(len(true))), 0.0)
    table = {c[0]: float(f"{r:.2g}") for c, r in zip(classes(), alone, strict=True) if r > 0}
    infidelity = float(f"{orbit_infidelity(alone):.3g}")
    generators, rates = hidden.noise(EDGES)
    signals = []
    for axes in ("ZZZZZ", "XXXXX"):
        signal = parities(axes, axes, _OVERVIEW_DEPTH, EDGES, generators, rates)
        signal *= prepared(axes, axes, _OVERVIEW_DEPTH, EDGES, np.array(hidden.preparation_error))
        read = 1.0 - np.array(hidden.false_1) - np.array(hidden.false_0)
        signals.append(float(np.mean(signal[[1 << q for q in range(N_QUBITS)]] * read) + 0.004 * rng.standard_normal()))
    measured, looked = (today - dt.timedelta(days=int(d)) for d in (rng.integers(30, 60), rng.integers(3, 20)))
    return Notebook(
        entries=(
            NotebookEntry(
                date=measured, author="previous operator", title="Error budget of the cycle",
                text="Characterised the CZ gates separately (active_edges one at a time), nearest-neighbour model; terms that touch qubits "
                "0 and 1 from the run of CZ(0,1), all others from the run of CZ(2,3). Rates per cycle; XI and XZ on a gate count together. "
                f"Cycle infidelity from the sum of both: {infidelity:.3g}.",
                data={"separate_rates": table, "cycle_infidelity": infidelity},
            ),
            NotebookEntry(
                date=looked, author="previous operator", title="Both gates at once",
                text=f"First run with both CZs active, depth {_OVERVIEW_DEPTH} only, readout not corrected: mean single-qubit signal "
                f"{signals[0]:.3f} in Z and {signals[1]:.3f} in X. Not analysed further.",
                data={"depth": _OVERVIEW_DEPTH, "signal_z": round(signals[0], 3), "signal_x": round(signals[1], 3)},
            ),
        )
    )  # fmt: skip
