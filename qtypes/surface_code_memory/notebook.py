"""The notebook of the previous operator, one per kind of task. True on its date."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.surface_code_memory.device import BAD_FACTOR, MEDIAN, RATE_CAP, Hidden, Profile, quiet_tables, spoil
from qtypes.surface_code_memory.layout import Layout, layout

TABLE_AGE_DAYS = 12
TABLE_ERROR = 0.05
JUMP_AGE_DAYS = 4
BURST_AGE_DAYS = 6
REWIRED_AGE_DAYS = 5
STANDS_OUT = 3.0
BACK_TO_BACK = 54
"""Cycles of 1.1 us in 60 us."""
AUTHOR = "previous operator"


def _measured(rng: np.random.Generator, value: float, error: float) -> float:
    return float(f"{value * np.exp(rng.normal(0, error)):.3g}")


def _table(rng: np.random.Generator, profile: Profile) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Rates of an earlier state of the device by element, with the names of the elements that stood out then."""
    chip = layout(profile.size)
    then = quiet_tables(rng, profile.size)
    bad = spoil(rng, then, profile)
    return _written(rng, chip, then, bad)


def _written(
    rng: np.random.Generator, chip: Layout, then: dict[str, np.ndarray], bad: dict[str, list[int]]
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The table as it was measured, by the names of the elements, and the names of the bad ones."""
    names: dict[str, list[str]] = {k: [str(q) for q in range(chip.n_qubits)] for k in ("gate1", "readout", "reset")}
    names["gate2"] = [f"{a}-{b}" for a, b in chip.couplers]
    names["idle"] = [str(q) for q in chip.data]
    table: dict[str, Any] = {
        kind: {name: _measured(rng, min(float(p), RATE_CAP), TABLE_ERROR) for name, p in zip(names[kind], values, strict=True)}
        for kind, values in then.items()
    }
    marked = {kind: sorted((names[kind][k] for k in ks), key=lambda n: int(n.split("-")[0])) for kind, ks in bad.items()}
    return table, marked


def element_table(rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """A table of all elements, and a jump of two-level systems after it."""
    table, marked = _table(rng, profile)
    calibration = NotebookEntry(
        date=today - dt.timedelta(days=TABLE_AGE_DAYS), author=AUTHOR, title="Element table for the decoder prior",
        text=(
            "Every element benchmarked on its own, all others idling: randomised benchmarking per qubit, isolated two-qubit benchmarking "
            "per coupler, assignment error per readout, echo for idling. Table attached; keys are qubit indices of layout.json, couplers "
            f"'a-b'. Bad today, about {BAD_FACTOR:g} times the datasheet: couplers {', '.join(marked['gate2'])}; readout of qubits "
            f"{', '.join(marked['readout'])}. Two-level systems, I suppose. "
            "The table goes straight into the decoder prior; the rest of the chip follows the datasheet."
        ),
        data={"unit": "error probability per operation", "relative_uncertainty": TABLE_ERROR, "rates": table, "bad": marked},
    )  # fmt: skip
    jump = NotebookEntry(
        date=today - dt.timedelta(days=JUMP_AGE_DAYS), author=AUTHOR, title="Mixing chamber excursion",
        text="Mixing chamber went to 120 mK for an hour and came back. Device responds. Element table not repeated since.",
    )  # fmt: skip
    return Notebook(entries=(calibration, jump))


def _lines(chip: Layout) -> dict[str, tuple[np.ndarray, int]]:
    """Measure qubits and couplers row by row, as positions in the tables of readout and gate2, and how many of them an inner row has."""
    data = set(chip.data)
    rows = [chip.sites[b if a in data else a][0] for a, b in chip.couplers]
    couplers = np.argsort(rows, kind="stable")
    return {"readout": (np.array(sorted(chip.measure)), chip.size), "gate2": (couplers, 4 * chip.size - 2)}


def rewired(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """A table of today's lines in their places before a rewiring: those of readout and couplers have moved by a row since.

    What is bad is in the lines, so it moved with them; idling, resets and single-qubit gates stayed.
    """
    chip = layout(profile.size)
    then = {kind: np.array(getattr(hidden, kind)) for kind in ("gate1", "gate2", "readout", "reset", "idle")}
    for kind, (elements, step) in _lines(chip).items():
        then[kind][elements] = np.roll(then[kind][elements], -step)
    bad = {
        "gate2": [k for k in range(len(chip.couplers)) if then["gate2"][k] > STANDS_OUT * MEDIAN["gate2"]],
        "readout": [q for q in chip.measure if then["readout"][q] > STANDS_OUT * MEDIAN["readout"]],
    }
    table, marked = _written(rng, chip, then, bad)
    side = profile.size - 2
    calibration = NotebookEntry(
        date=today - dt.timedelta(days=TABLE_AGE_DAYS), author=AUTHOR, title="Element table",
        text=(
            "Every element benchmarked on its own, all others idling: randomised benchmarking per qubit, isolated two-qubit benchmarking "
            "per coupler, assignment error per readout, echo for idling. Table attached; keys are qubit indices of layout.json, couplers "
            f"'a-b'. Far above the datasheet: couplers {', '.join(marked['gate2'])}; readout of qubits {', '.join(marked['readout'])}. "
            "Poor lines, they stay poor from one cooldown to the next."
        ),
        data={"unit": "error probability per operation", "relative_uncertainty": TABLE_ERROR, "rates": table, "bad": marked},
    )  # fmt: skip
    patch = NotebookEntry(
        date=today - dt.timedelta(days=TABLE_AGE_DAYS - 1), author=AUTHOR, title="Storage",
        text=(
            f"For storage I take the {side} x {side} patch in the centre, cycles back to back, {BACK_TO_BACK} of them for 60 us, and the "
            "element table as decoder prior. Nobody has asked for fewer qubits or fewer cycles, so I have not looked for either."
        ),
        data={"origin": [1, 1], "rows": side, "cols": side, "cycles": BACK_TO_BACK, "wait_us": 0.0},
    )  # fmt: skip
    rewiring = NotebookEntry(
        date=today - dt.timedelta(days=REWIRED_AGE_DAYS), author=AUTHOR, title="New harness",
        text=(
            "Harness of the readout and coupler lines replaced. Its connectors sit one row of the chip off the old ones, so every line "
            f"serves another row now; labels in the control software are set anew and all {chip.n_qubits} qubits respond. "
            "Element table not repeated since."
        ),
    )  # fmt: skip
    return Notebook(entries=(calibration, patch, rewiring))


def averaging(rng: np.random.Generator, today: dt.date) -> Notebook:
    """Advice to average, after a look at the mean detection fraction."""
    entry = NotebookEntry(
        date=today - dt.timedelta(days=BURST_AGE_DAYS), author=AUTHOR, title="Decoder prior, how often to retrain",
        text=(
            "Detection fraction of the 20-cycle memory followed over an afternoon: looks stationary, it moved by 0.3 % of itself. Now and "
            "then a shot has many more events than its neighbours, in one corner of the chip and for a few cycles; the trigger box runs "
            "every four cycles, perhaps it has to do with that. No single qubit explains it. One element or another creeps. Drift and "
            "bursts average out: retrain the prior on the last 200000 shots, one model for all, and be done."
        ),
    )  # fmt: skip
    return Notebook(entries=(entry,))


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """The notebook that the profile asks for."""
    if profile.notebook == "averaging":
        return averaging(rng, today)
    if profile.notebook == "rewired":
        return rewired(hidden, rng, profile, today)
    return element_table(rng, profile, today)
