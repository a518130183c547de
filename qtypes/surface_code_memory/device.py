"""The device: what a task sets, what is public, what is hidden, and how one is drawn."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Part, quantity
from qtypes.surface_code_memory.layout import layout

CYCLE_S = 1.1e-6
SHOT_OVERHEAD_S = 20e-6
JOB_OVERHEAD_S = 5.0
MAX_SHOTS = 100_000
MAX_ROUNDS = 60
MAX_WAIT_US = 20.0
BLOCK_SHOTS = 1000

MEDIAN = {"gate1": 3e-4, "gate2": 2e-3, "readout": 5.6e-3, "reset": 1.6e-3, "idle": 1.2e-3}
WAIT_MEDIAN = 2.0e-3
"""Depolarising rate of a waiting data qubit per us, where the task sets no other."""
SPREAD = 0.4
RATE_CAP = 0.25
BAD_FACTOR = 8.0
BAD_SPREAD = 0.2
BAD_READOUT_CAP = 0.12
CROSSTALK = 0.012
CROSSTALK_SPREAD = 0.3
DRIFT_FACTOR = 3.0
DRIFT_MINUTES = (40.0, 90.0)
N_DRIFTING = 2

BURST_PROBABILITY = (0.11, 0.14)
BURST_FACTOR = (15.0, 18.0)
BURST_CYCLES = (8, 9)
BURST_RADIUS = 1.2
"""Of the region of a burst, in data-site spacings; on the half-site grid all radii from 1.12 to 1.41 take in the same sites."""
BURST_CENTRES = 5
BURST_ONSETS = (0, 4, 8, 12)

Kind = Literal["gate2", "readout", "idle"]
Probability = Annotated[float, Field(ge=0, le=0.5)]
Table = Annotated[tuple[Probability, ...], Field(max_length=400)]


class Profile(Part):
    """What a task sets."""

    size: Literal[5, 7, 9] = Field(default=5, description="data qubits along an edge of the chip")
    bad_couplers: int = quantity("1", "couplers with 8 times their rate", ge=0, le=40, default=4)
    bad_readouts: int = quantity("1", "measure qubits with 8 times their readout error", ge=0, le=40, default=4)
    crosstalk_pairs: int = quantity("1", "pairs of neighbouring data qubits with a correlated error", ge=0, le=40, default=5)
    wait: float = quantity("1/us", "median rate of depolarising of a waiting data qubit", ge=0, le=0.05, default=WAIT_MEDIAN)
    bursts: bool = Field(default=False, description="whether bursts of errors occur")
    notebook: Literal["element_table", "averaging", "rewired"] = Field(default="element_table", description="what the notebook holds")


class Datasheet(Part):
    """Median error probabilities per operation, as the maker states them."""

    gate1: float = quantity("1", "single-qubit depolarising after each H", ge=0, le=0.5)
    gate2: float = quantity("1", "two-qubit depolarising after each CX, per coupler", ge=0, le=0.5)
    readout: float = quantity("1", "flip of a readout result", ge=0, le=0.5)
    reset: float = quantity("1", "flip of a reset", ge=0, le=0.5)
    idle: float = quantity("1", "depolarising of a data qubit per cycle, at I[idle]", ge=0, le=0.5)
    wait: float = quantity("1/us", "rate of further depolarising of a data qubit that waits after a cycle", ge=0, le=0.5)


class Spec(Part):
    """What is known of the device before it is measured. Coordinates of all elements are in the material `layout.json`."""

    size: int = quantity("1", "data qubits along an edge of the chip")
    n_qubits: int = quantity("1", "qubits")
    n_couplers: int = quantity("1", "tunable couplers")
    cycle_time_us: float = quantity("us", "duration of one syndrome cycle without waiting", gt=0)
    shot_overhead_us: float = quantity("us", "initialisation and readout per shot", ge=0)
    job_overhead_s: float = quantity("s", "lab time per job besides its shots", ge=0)
    max_shots: int = quantity("1", "shots per job", gt=0)
    max_rounds: int = quantity("1", "cycles per shot", gt=0)
    trigger_cycles: int | None = quantity("1", "period of the trigger with which events on the chip may be synchronous; null: none")
    datasheet: Datasheet = Field(description="median error probabilities of the maker's datasheet")
    bit_order: str = Field(description="packing of the records")
    decoder: str = Field(description="the rule CANON from a detector error model to the decoder that the laboratory runs")


class Crosstalk(Part):
    """A correlated error of two neighbouring data qubits, once per cycle after the CX layers."""

    a: int = quantity("1", "qubit index", ge=0, le=400)
    b: int = quantity("1", "qubit index", ge=0, le=400)
    pauli: Literal["X", "Z"] = Field(description="the error is XX or ZZ")
    rate: Probability = quantity("1", "probability per cycle")


class Drift(Part):
    """An element whose rate grows linearly: by `DRIFT_FACTOR` after `minutes`."""

    kind: Kind = Field(description="which rate")
    element: int = quantity("1", "position in the table of that rate", ge=0, le=400)
    minutes: float = quantity("min", "lab time after which the rate has trebled", gt=0, le=1000)


class Bursts(Part):
    """Rare events that multiply all rates within a region for some cycles."""

    probability: float = quantity("1", "per shot", ge=0, le=1)
    factor: float = quantity("1", "of every rate in the region", ge=1, le=100)
    cycles: int = quantity("1", "duration", ge=1, le=60)
    centres: Annotated[tuple[tuple[float, float], ...], Field(max_length=50)] = quantity("1", "row and column, equally likely")


class Hidden(Part):
    """True rates. `gate1`, `readout`, `reset` by qubit index, `gate2` by coupler, `idle` and `wait` by data qubit, as in the layout."""

    gate1: Table = quantity("1", "depolarising after each H")
    gate2: Table = quantity("1", "depolarising after each CX")
    readout: Table = quantity("1", "readout flip")
    reset: Table = quantity("1", "reset flip")
    idle: Table = quantity("1", "depolarising per cycle")
    wait: Table = quantity("1/us", "rate of depolarising while waiting after a cycle")
    crosstalk: Annotated[tuple[Crosstalk, ...], Field(max_length=100)] = Field(description="correlated pair errors")
    drift: Annotated[tuple[Drift, ...], Field(max_length=20)] = Field(description="drifting elements")
    bursts: Bursts | None = Field(description="bursts, if there are any")


def _spread(rng: np.random.Generator, median: float, n: int) -> np.ndarray:
    return median * np.exp(rng.normal(0, SPREAD, n))


def quiet_tables(rng: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Lognormal rates of all elements, none bad."""
    chip = layout(size)
    counts = {"gate1": chip.n_qubits, "gate2": len(chip.couplers), "readout": chip.n_qubits, "reset": chip.n_qubits, "idle": len(chip.data)}
    return {kind: _spread(rng, MEDIAN[kind], n) for kind, n in counts.items()}


def spoil(rng: np.random.Generator, tables: dict[str, np.ndarray], profile: Profile) -> dict[str, list[int]]:
    """Two-level systems sit at some couplers and readouts: their rates grow in place. Returns which, by table."""
    chip = layout(profile.size)
    couplers = rng.choice(len(chip.couplers), profile.bad_couplers, replace=False)
    readouts = np.array(chip.measure)[rng.choice(len(chip.measure), profile.bad_readouts, replace=False)]
    tables["gate2"][couplers] *= BAD_FACTOR * np.exp(rng.normal(0, BAD_SPREAD, len(couplers)))
    spoilt = tables["readout"][readouts] * BAD_FACTOR * np.exp(rng.normal(0, BAD_SPREAD, len(readouts)))
    tables["readout"][readouts] = np.minimum(spoilt, BAD_READOUT_CAP)
    return {"gate2": couplers.tolist(), "readout": readouts.tolist()}


def _crosstalk(rng: np.random.Generator, profile: Profile) -> tuple[Crosstalk, ...]:
    """Of four pairs or more, two are XX along a row and two ZZ along a column, i.e. along X_L and Z_L: there one event does two steps."""
    pairs = layout(profile.size).data_pairs
    rows = [k for k, p in enumerate(pairs) if layout(profile.size).along_a_row(p)]
    columns = [k for k in range(len(pairs)) if k not in set(rows)]
    chosen: list[tuple[int, Literal["X", "Z"]]] = []
    if profile.crosstalk_pairs >= 4:
        chosen += [(int(k), "X") for k in rng.choice(rows, 2, replace=False)]
        chosen += [(int(k), "Z") for k in rng.choice(columns, 2, replace=False)]
    left = np.setdiff1d(np.arange(len(pairs)), [k for k, _ in chosen])
    more = rng.choice(left, profile.crosstalk_pairs - len(chosen), replace=False)
    chosen += [(int(k), "X" if rng.random() < 0.5 else "Z") for k in more]
    return tuple(
        Crosstalk(a=pairs[k][0], b=pairs[k][1], pauli=pauli, rate=float(CROSSTALK * np.exp(rng.normal(0, CROSSTALK_SPREAD))))
        for k, pauli in chosen
    )  # fmt: skip


def _drift(rng: np.random.Generator, profile: Profile) -> tuple[Drift, ...]:
    chip = layout(profile.size)
    kinds: list[tuple[Kind, list[int]]] = [
        ("gate2", list(range(len(chip.couplers)))), ("readout", list(chip.measure)), ("idle", list(range(len(chip.data)))),
    ]  # fmt: skip
    found = []
    for k in rng.choice(len(kinds), N_DRIFTING, replace=False):
        kind, elements = kinds[k]
        found.append(Drift(kind=kind, element=int(rng.choice(elements)), minutes=float(rng.uniform(*DRIFT_MINUTES))))
    return tuple(found)


def _bursts(rng: np.random.Generator, profile: Profile) -> Bursts | None:
    if not profile.bursts:
        return None
    # Half-site grid without the rim: a region that hangs over the edge would hold few qubits.
    grid = [(0.5 * i, 0.5 * j) for i in range(1, 2 * profile.size - 2) for j in range(1, 2 * profile.size - 2)]
    centres = tuple(grid[k] for k in rng.choice(len(grid), BURST_CENTRES, replace=False))
    return Bursts(
        probability=float(rng.uniform(*BURST_PROBABILITY)), factor=float(rng.uniform(*BURST_FACTOR)),
        cycles=int(rng.integers(BURST_CYCLES[0], BURST_CYCLES[1] + 1)), centres=centres,
    )  # fmt: skip


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device."""
    tables = quiet_tables(rng, profile.size)
    spoil(rng, tables, profile)
    wait = _spread(rng, profile.wait, len(layout(profile.size).data))
    return Hidden(
        **{k: tuple(np.minimum(v, RATE_CAP).tolist()) for k, v in tables.items()}, wait=tuple(wait.tolist()),
        crosstalk=_crosstalk(rng, profile), drift=_drift(rng, profile), bursts=_bursts(rng, profile),
    )  # fmt: skip


def public_spec(profile: Profile, decoder: str) -> Spec:
    """The same for every device of a profile."""
    chip = layout(profile.size)
    return Spec(
        size=profile.size, n_qubits=chip.n_qubits, n_couplers=len(chip.couplers), cycle_time_us=CYCLE_S * 1e6,
        shot_overhead_us=SHOT_OVERHEAD_S * 1e6, job_overhead_s=JOB_OVERHEAD_S, max_shots=MAX_SHOTS, max_rounds=MAX_ROUNDS,
        trigger_cycles=BURST_ONSETS[1] if profile.bursts else None, datasheet=Datasheet(**MEDIAN, wait=profile.wait),
        bit_order="meas: uint8 (shots, ceil(n_measurements / 8)); measurement i of the public circuit is bit i % 8 of byte i // 8",
        decoder=decoder,
    )  # fmt: skip
