"""The device: what is public, what is hidden, how one is drawn, and the notebook of the previous operator."""

from __future__ import annotations

import datetime as dt
import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.surface_code_lattice_surgery import layout as lay

CYCLE_S = 1.1e-6
SHOT_OVERHEAD_S = 20e-6
JOB_OVERHEAD_S = 5.0
MAX_SHOTS = 100_000

MEDIAN = {"gate1": 4e-4, "gate2": 2.5e-3, "readout": 7e-3, "reset": 2e-3, "idle": 1.5e-3}
SPREAD = 0.35
MEMORY_FACTOR = 1.10
"""The memory patch M is a little worse in every rate."""
RATE_CAP = 0.2

STICKY_HOT = (0.050, 0.030)
"""Probability that a hot seam measure qubit is read out inverted in merged cycles 1 and 2, and in 2 and 3."""
PAIR_HOT = 0.025
COLD = 0.05
"""Rate of a seam element that is not hot, as a fraction of a hot one."""
SEAM_SPREAD = 0.12
N_HOT_CHECKS = 2
READOUT_DRIFT_PER_H = 0.03
DRIFT_TIME_H = 2.0

CALIBRATION_AGE_DAYS = 19
WARM_UP_AGE_DAYS = 9
CALIBRATION_ERROR = 0.03

Probability = Annotated[float, Field(ge=0, le=0.5)]
PerQubit = Annotated[tuple[Probability, ...], Field(min_length=lay.N_QUBITS, max_length=lay.N_QUBITS)]
PerCoupler = Annotated[tuple[Probability, ...], Field(min_length=len(lay.COUPLERS), max_length=len(lay.COUPLERS))]
Four = Annotated[tuple[Probability, ...], Field(min_length=4, max_length=4)]
Two = Annotated[tuple[Probability, ...], Field(min_length=2, max_length=2)]


class Profile(Part):
    """A task sets nothing: the device family is fixed."""


class Datasheet(Part):
    """Median error probabilities per operation, as the maker states them."""

    gate1: float = quantity("1", "single-qubit depolarising after each H", ge=0, le=0.5)
    gate2: float = quantity("1", "two-qubit depolarising after each CX, per coupler", ge=0, le=0.5)
    readout: float = quantity("1", "flip of a readout result", ge=0, le=0.5)
    reset: float = quantity("1", "flip of a reset", ge=0, le=0.5)
    idle: float = quantity("1", "depolarising of a data qubit per cycle, at I[idle]", ge=0, le=0.5)


class PatchSpec(Part):
    """A patch: its north-west data site is (row, column)."""

    row: int = quantity("1", "row of the north-west data site")
    column: int = quantity("1", "column of the north-west data site")
    distance: int = quantity("1", "code distance")


class Spec(Part):
    """What is known of the device before it is measured. Coordinates of all elements are in the material `layout.json`."""

    n_qubits: int = quantity("1", "qubits")
    n_couplers: int = quantity("1", "tunable couplers")
    patches: dict[str, PatchSpec] = Field(description="C, I, T of the surgery block and the memory patch M")
    seams: dict[str, str] = Field(description="what each seam measures")
    cycle_time_us: float = quantity("us", "duration of one syndrome cycle", gt=0)
    shot_overhead_us: float = quantity("us", "initialisation and readout per shot", ge=0)
    job_overhead_s: float = quantity("s", "lab time per job besides its shots", ge=0)
    max_shots: int = quantity("1", "shots per job", gt=0)
    datasheet: Datasheet = Field(description="median error probabilities of the maker's datasheet")
    bit_order: str = Field(description="packing of the records")
    decoder: str = Field(description="the rule CANON from a detector error model to the decoder that the laboratory runs")


class SeamTerms(Part):
    """What happens at a seam only while it is merged, besides the noise that every operation has."""

    sticky_12: Four = quantity("1", "per seam plaquette: readout inverted in merged cycles 1 and 2")
    sticky_23: Four = quantity("1", "per seam plaquette: readout inverted in merged cycles 2 and 3")
    pair: Two = quantity("1", "per neighbour pair of seam data: ZZ (ZZ seam) or XX (XX seam) error per merged cycle")


class Hidden(Part):
    """Error probability of every element. Order of qubits and couplers as in `layout.SITES` and `layout.COUPLERS`."""

    gate1: PerQubit = quantity("1", "depolarising after each H")
    gate2: PerCoupler = quantity("1", "depolarising after each CX")
    readout: PerQubit = quantity("1", "readout flip at lab time zero")
    reset: PerQubit = quantity("1", "reset flip")
    idle: PerQubit = quantity("1", "depolarising per cycle of a data qubit")
    readout_drift: Annotated[tuple[float, ...], Field(min_length=lay.N_QUBITS, max_length=lay.N_QUBITS)] = quantity(
        "1/h", "relative change of the readout flip per hour at lab time zero"
    )
    seam_zz: SeamTerms = Field(description="terms of the ZZ seam")
    seam_xx: SeamTerms = Field(description="terms of the XX seam")

    def seam(self, name: lay.SeamName) -> SeamTerms:
        return self.seam_zz if name == "ZZ" else self.seam_xx

    def readout_at(self, lab_s: float) -> tuple[float, ...]:
        """Readout flips at lab time `lab_s` in s: a slow oscillation of at most 6 %."""
        phase = math.sin(lab_s / 3600 / DRIFT_TIME_H) * DRIFT_TIME_H
        return tuple(min(p * (1 + d * phase), RATE_CAP) for p, d in zip(self.readout, self.readout_drift, strict=True))

    def without_seam_terms(self) -> Hidden:
        """The same device with every operation's own noise only."""
        zero = SeamTerms(sticky_12=(0.0,) * 4, sticky_23=(0.0,) * 4, pair=(0.0,) * 2)
        return self.model_copy(update={"seam_zz": zero, "seam_xx": zero})


def _element_rates(rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    in_m, couplers_m = lay.elements(("M",))
    factor = {
        "qubit": np.array([MEMORY_FACTOR if q in in_m else 1.0 for q in range(lay.N_QUBITS)]),
        "coupler": np.array([MEMORY_FACTOR if c in couplers_m else 1.0 for c in lay.COUPLERS]),
    }
    rates = {}
    for kind, median in MEDIAN.items():
        f = factor["coupler" if kind == "gate2" else "qubit"]
        values = median * f * np.exp(rng.normal(0, SPREAD, len(f)))
        rates[kind] = tuple(np.minimum(values, RATE_CAP).tolist())
    return rates


def _seam(rng: np.random.Generator) -> SeamTerms:
    hot = set(rng.choice(4, N_HOT_CHECKS, replace=False).tolist())
    hot_pair = int(rng.integers(2))

    def draw(base: float, is_hot: bool) -> float:
        return float(base * (1 if is_hot else COLD) * np.exp(rng.normal(0, SEAM_SPREAD)))

    return SeamTerms(
        sticky_12=tuple(draw(STICKY_HOT[0], k in hot) for k in range(4)),
        sticky_23=tuple(draw(STICKY_HOT[1], k in hot) for k in range(4)),
        pair=tuple(draw(PAIR_HOT, k == hot_pair) for k in range(2)),
    )


def draw(rng: np.random.Generator) -> Hidden:
    """A fresh device: lognormal element rates, hot seam elements at random positions."""
    rates = _element_rates(rng)
    drift = tuple(rng.uniform(-READOUT_DRIFT_PER_H, READOUT_DRIFT_PER_H, lay.N_QUBITS).tolist())
    return Hidden(**rates, readout_drift=drift, seam_zz=_seam(rng), seam_xx=_seam(rng))


def public_spec(decoder: str) -> Spec:
    """The spec is the same for every device of the family."""
    return Spec(
        n_qubits=lay.N_QUBITS,
        n_couplers=len(lay.COUPLERS),
        patches={p: PatchSpec(row=lay.ORIGIN[p][0], column=lay.ORIGIN[p][1], distance=lay.DISTANCE[p]) for p in lay.PATCHES},
        seams={"ZZ": "Z_C Z_I, between patches C and I", "XX": "X_I X_T, between patches I and T"},
        cycle_time_us=CYCLE_S * 1e6,
        shot_overhead_us=SHOT_OVERHEAD_S * 1e6,
        job_overhead_s=JOB_OVERHEAD_S,
        max_shots=MAX_SHOTS,
        datasheet=Datasheet(**MEDIAN),
        bit_order="meas: uint8 (shots, ceil(n_measurements / 8)); measurement i of the public circuit is bit i % 8 of byte i // 8",
        decoder=decoder,
    )


def notebook(rng: np.random.Generator, today: dt.date) -> Notebook:
    """The calibration of an earlier cooldown (an independent draw without seam terms), and the warm-up after it."""
    then = _element_rates(rng)
    qubits, couplers = lay.elements(lay.PATCHES)

    def measured(value: float) -> float:
        return float(f"{value * np.exp(rng.normal(0, CALIBRATION_ERROR)):.3g}")

    table: dict[str, Any] = {
        kind: {str(q): measured(then[kind][q]) for q in sorted(qubits) if kind != "idle" or lay.is_data(lay.SITES[q])}
        for kind in ("gate1", "readout", "reset", "idle")
    }
    table["gate2"] = {f"{a}-{b}": measured(then["gate2"][k]) for k, (a, b) in enumerate(lay.COUPLERS) if (a, b) in couplers}
    calibration = NotebookEntry(
        date=today - dt.timedelta(days=CALIBRATION_AGE_DAYS),
        author="previous operator",
        title="Single-patch calibration of C, I, T and M complete",
        text=(
            "Ran memories of C, I, T and M on their own, both bases, and fitted the error probability of every qubit and coupler the "
            "patches use (table attached; keys are qubit indices of layout.json, couplers 'a-b'). Detector error models made from the "
            "table reproduce the measured detection fractions within 3 % on all four patches. Merged circuits use the same qubits and the "
            "same gates, so for surgery transfer the single-patch rates and take the patch median for the seam qubits and their couplers. "
            "Nothing was taken while merged."
        ),
        data={"unit": "error probability per operation", "relative_uncertainty": CALIBRATION_ERROR, "rates": table},
    )
    warm_up = NotebookEntry(
        date=today - dt.timedelta(days=WARM_UP_AGE_DAYS),
        author="previous operator",
        title="Warm-up",
        text="Fridge warmed to room temperature for a valve repair and cooled down again. Device responds; calibration not repeated since.",
    )
    return Notebook(entries=(calibration, warm_up))
