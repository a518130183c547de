"""The device: what is public, what is hidden, how one is drawn, and the notebook of the previous operator."""

from __future__ import annotations

import datetime as dt
import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.rydberg_multitarget_surface_code import layout as lay

CYCLE_S = 1e-3
PULSE_S = 1e-6
SHOT_OVERHEAD_S = 10e-3
JOB_OVERHEAD_S = 5.0
MAX_SHOTS = 100_000
MAX_PULSES = 40
MAX_ROUNDS = 20

MEDIAN = {"gate1": 3e-4, "ancilla": 2e-3, "single": 1e-3, "readout": 5.6e-3, "reset": 1.6e-3}
T2_MEDIAN_S = 1.5
SPREAD = 0.3
CORRELATED = 6e-4
"""Median probability per pulse of Z on one subset of the targets."""
CORRELATED_SPREAD = 0.4
N_HOT = 6
N_HOT_EACH_BASIS = 2
"""Hot plaquettes with four targets in each basis, at least."""
HOT_FACTOR = 8.0
RATE_CAP = 0.2

ECHO_AGE_DAYS = 16
POWER_AGE_DAYS = 6
ECHO_ERROR = 0.05

Probability = Annotated[float, Field(ge=0, le=0.5)]
PerAtom = Annotated[tuple[Probability, ...], Field(min_length=lay.N_ATOMS, max_length=lay.N_ATOMS)]


class Profile(Part):
    """A task sets nothing: the device family is fixed."""


class Datasheet(Part):
    """Medians over the array, as the maker states them."""

    hadamard_error: float = quantity("1", "depolarising after each H", ge=0, le=0.5)
    pulse_ancilla_error: float = quantity("1", "depolarising of the ancilla after its pulse", ge=0, le=0.5)
    pulse_single_target_error: float = quantity("1", "Z error of one target, independent of the others, per pulse", ge=0, le=0.5)
    pulse_total_error_2: float = quantity("1", "probability that a pulse with two targets leaves any error on them", ge=0, le=1)
    pulse_total_error_4: float = quantity("1", "probability that a pulse with four targets leaves any error on them", ge=0, le=1)
    readout_error: float = quantity("1", "flip of a readout result", ge=0, le=0.5)
    reset_error: float = quantity("1", "flip of a preparation", ge=0, le=0.5)
    idle_t2_s: float = quantity("s", "coherence time of an idle atom, 1/e", gt=0)


class Spec(Part):
    """What is known of the device before it is measured. Positions, plaquettes and pulse groups are in the material `layout.json`."""

    n_atoms: int = quantity("1", "atoms")
    distance: int = quantity("1", "distance of the rotated code")
    cycle_time_us: float = quantity("us", "duration of one syndrome cycle", gt=0)
    pulse_time_us: float = quantity("us", "duration of one multi-target pulse with its pause", gt=0)
    shot_overhead_us: float = quantity("us", "cooling, preparation and final readout per shot", ge=0)
    job_overhead_s: float = quantity("s", "lab time per job besides its shots", ge=0)
    max_shots: int = quantity("1", "shots per job", gt=0)
    datasheet: Datasheet = Field(description="medians of the maker's datasheet")
    bit_order: str = Field(description="packing of the records")
    decoder: str = Field(description="the rule CANON from a detector error model to the decoder that the laboratory runs")


class PulseTerms(Part):
    """Errors of the pulse of one plaquette, each independent of the others."""

    ancilla: Probability = quantity("1", "depolarising of the ancilla")
    single: tuple[Probability, ...] = quantity("1", "Z on one target, in the order of the targets", min_length=2, max_length=4)
    correlated: tuple[Probability, ...] = quantity(
        "1", "Z on a subset of the targets, in the order of layout.SUBSETS", min_length=1, max_length=7
    )


class Hidden(Part):
    """Error probability of every element. Order of atoms and plaquettes as in `layout.SITES` and `layout.ANCILLAS`."""

    gate1: PerAtom = quantity("1", "depolarising after each H")
    readout: PerAtom = quantity("1", "readout flip")
    reset: PerAtom = quantity("1", "reset flip")
    t2_s: Annotated[tuple[float, ...], Field(min_length=len(lay.DATA), max_length=len(lay.DATA))] = quantity("s", "T2 of each data atom")
    pulses: Annotated[tuple[PulseTerms, ...], Field(min_length=len(lay.ANCILLAS), max_length=len(lay.ANCILLAS))] = Field(
        description="errors of every plaquette's pulse"
    )

    def plaquette(self, ancilla: int) -> PulseTerms:
        return self.pulses[lay.ANCILLAS.index(ancilla)]

    def with_pulses(self, pulses: tuple[PulseTerms, ...]) -> Hidden:
        return self.model_copy(update={"pulses": pulses})


def either(*rates: float) -> float:
    """Probability that an odd number of independent events happens."""
    return (1 - math.prod(1 - 2 * q for q in rates)) / 2


def marginal(ancilla: int, terms: PulseTerms, *, with_full: bool = True) -> tuple[float, ...]:
    """Z error of each target per pulse when nothing is known of the others. `with_full` counts the event on all targets, which the code
    does not notice."""
    targets = lay.TARGETS[ancilla]
    events = [
        (s, q) for s, q in zip(lay.SUBSETS[ancilla], terms.correlated, strict=True) if with_full or len(s) < len(targets)
    ]  # fmt: skip
    return tuple(either(own, *(q for s, q in events if d in s)) for d, own in zip(targets, terms.single, strict=True))


def independent(hidden: Hidden) -> Hidden:
    """The same device if its pulses had no correlated errors: each target keeps its marginal error, less that of the event on all
    targets (a stabiliser)."""
    pulses = tuple(
        p.model_copy(update={"single": marginal(a, p, with_full=False), "correlated": (0.0,) * len(p.correlated)})
        for a, p in zip(lay.ANCILLAS, hidden.pulses, strict=True)
    )
    return hidden.with_pulses(pulses)


def _lognormal(rng: np.random.Generator, median: float, n: int, spread: float = SPREAD) -> tuple[float, ...]:
    return tuple(np.minimum(median * np.exp(rng.normal(0, spread, n)), RATE_CAP).tolist())


def _hot(rng: np.random.Generator) -> set[int]:
    while True:
        chosen = set(rng.choice(lay.ANCILLAS, N_HOT, replace=False).tolist())
        four = [lay.PLAQUETTES[a].basis for a in chosen if a in lay.FOUR_TARGETS]
        if min(four.count("X"), four.count("Z")) >= N_HOT_EACH_BASIS:
            return chosen


def _pulses(rng: np.random.Generator) -> tuple[PulseTerms, ...]:
    hot = _hot(rng)
    found = []
    for a in lay.ANCILLAS:
        rate = CORRELATED * (HOT_FACTOR if a in hot else 1.0)
        found.append(PulseTerms(
            ancilla=_lognormal(rng, MEDIAN["ancilla"], 1)[0],
            single=_lognormal(rng, MEDIAN["single"], len(lay.TARGETS[a])),
            correlated=_lognormal(rng, rate, len(lay.SUBSETS[a]), CORRELATED_SPREAD),
        ))  # fmt: skip
    return tuple(found)


def draw(rng: np.random.Generator) -> Hidden:
    """A fresh device: lognormal rates, six hot plaquettes of which each basis has two with four targets at least."""
    return Hidden(
        gate1=_lognormal(rng, MEDIAN["gate1"], lay.N_ATOMS), readout=_lognormal(rng, MEDIAN["readout"], lay.N_ATOMS),
        reset=_lognormal(rng, MEDIAN["reset"], lay.N_ATOMS),
        t2_s=tuple((T2_MEDIAN_S * np.exp(rng.normal(0, SPREAD, len(lay.DATA)))).tolist()), pulses=_pulses(rng),
    )  # fmt: skip


def total_error(k: int) -> float:
    """Probability that the pulse of a median plaquette with `k` targets leaves any error on them."""
    n_subsets = len(lay.SUBSETS[next(a for a in lay.ANCILLAS if len(lay.TARGETS[a]) == k)])
    return 1 - (1 - MEDIAN["single"]) ** k * (1 - CORRELATED) ** n_subsets


def public_spec(decoder: str) -> Spec:
    """The spec is the same for every device of the family."""
    sheet = Datasheet(
        hadamard_error=MEDIAN["gate1"], pulse_ancilla_error=MEDIAN["ancilla"], pulse_single_target_error=MEDIAN["single"],
        pulse_total_error_2=round(total_error(2), 5), pulse_total_error_4=round(total_error(4), 5), readout_error=MEDIAN["readout"],
        reset_error=MEDIAN["reset"], idle_t2_s=T2_MEDIAN_S,
    )  # fmt: skip
    return Spec(
        n_atoms=lay.N_ATOMS, distance=lay.DISTANCE, cycle_time_us=CYCLE_S * 1e6, pulse_time_us=PULSE_S * 1e6,
        shot_overhead_us=SHOT_OVERHEAD_S * 1e6, job_overhead_s=JOB_OVERHEAD_S, max_shots=MAX_SHOTS, datasheet=sheet, decoder=decoder,
        bit_order="meas: uint8 (shots, ceil(n_measurements / 8)); measurement i of the public circuit is bit i % 8 of byte i // 8",
    )  # fmt: skip


def notebook(rng: np.random.Generator, today: dt.date) -> Notebook:
    """Single-target echoes of an earlier laser setting (an independent draw), and the change of laser power after them."""
    then = _pulses(rng)

    def measured(value: float) -> float:
        return float(f"{value * np.exp(rng.normal(0, ECHO_ERROR)):.3g}")

    table: dict[str, Any] = {
        str(a): {str(d): measured(q) for d, q in zip(lay.TARGETS[a], marginal(a, terms), strict=True)}
        for a, terms in zip(lay.ANCILLAS, then, strict=True)
    }  # fmt: skip
    sums = [sum(row.values()) for row in table.values()]
    echoes = NotebookEntry(
        date=today - dt.timedelta(days=ECHO_AGE_DAYS),
        author="previous operator",
        title="Pulse errors of all 24 plaquettes by single-target echoes",
        text=(
            "Echoed the multi-target pulse of every plaquette and read one target atom at a time, the others unobserved: Z error of "
            "each target per pulse (table attached; keys are atom indices of layout.json, ancilla first). Six plaquettes are much worse "
            f"than the rest. Summed over its targets a plaquette has between {min(sums):.2g} and {max(sums):.2g}, median "
            f"{float(np.median(sums)):.2g}; the datasheet states {total_error(4):.2g} for four targets, so the order of magnitude is "
            "right. For decoding put these errors on the atoms one by one, independent of each other, and leave the rest at the datasheet."
        ),
        data={"unit": "Z error probability per pulse", "relative_uncertainty": ECHO_ERROR, "target_error": table},
    )
    power = NotebookEntry(
        date=today - dt.timedelta(days=POWER_AGE_DAYS),
        author="previous operator",
        title="Rydberg laser",
        text="Raised the power of the Rydberg laser by 8 % and realigned the beams. Pulses retuned to the same phase; echoes not repeated.",
    )
    return Notebook(entries=(echoes, power))
