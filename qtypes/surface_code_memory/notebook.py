"""The notebook of the previous operator, one per kind of task. True on its date."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.surface_code_memory.device import BAD_FACTOR, RATE_CAP, Hidden, Profile, quiet_tables, spoil
from qtypes.surface_code_memory.layout import layout

TABLE_AGE_DAYS = 12
TABLE_ERROR = 0.05
JUMP_AGE_DAYS = 4
BURST_AGE_DAYS = 6
AUTHOR = "previous operator"


def _measured(rng: np.random.Generator, value: float, error: float) -> float:
    return float(f"{value * np.exp(rng.normal(0, error)):.3g}")


def _table(rng: np.random.Generator, profile: Profile) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Rates of an earlier state of the device by element, with the names of the elements that stood out then."""
    chip = layout(profile.size)
    then = quiet_tables(rng, profile.size)
    bad = spoil(rng, then, profile)
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
    return element_table(rng, profile, today)
