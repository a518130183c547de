"""Drawing a device with its target, and what its previous operator wrote."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.ion_trap_gate_model.circuit import N_IONS, PAIRS
from qtypes.ion_trap_gate_model.device import MAX_DRIFT_PER_H, NEIGHBOURS, Hidden, Profile, Range, bad_pairs, by_pair
from qtypes.ion_trap_gate_model.target import additive_errors, drawn

ATTEMPTS = 200


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device and a target on which neither the identity nor the table's best assignment is near the best one."""
    for _ in range(ATTEMPTS):
        hidden = _any(rng, profile)
        errors = additive_errors(hidden.target, by_pair(hidden.e0), by_pair(hidden.e1))
        stale = additive_errors(hidden.target, by_pair(hidden.table_e0), by_pair(hidden.table_e1)).argmin()
        if min(errors[0], errors[stale]) >= profile.least_gain * errors.min():
            return hidden
    raise RuntimeError("no device of this profile gains enough from its assignment")


def _any(rng: np.random.Generator, profile: Profile) -> Hidden:
    n = len(PAIRS)

    def uniform(between: Range, count: int) -> tuple[float, ...]:
        return tuple(rng.uniform(*between, count).tolist())

    def about(values: np.ndarray) -> tuple[float, ...]:
        return tuple(np.round(values * np.exp(profile.table_scatter * rng.standard_normal(n)), 5).tolist())

    e0, e1 = np.array(uniform(profile.e0, n)), np.array(uniform(profile.e1, n))
    # the first are bad now, the next were bad on the day of the table, in the place of as many of the first
    order = rng.permutation(n)
    bad, before = order[: profile.bad_pairs], order[profile.bad_pairs :][: profile.moved]
    e1[bad] = uniform(profile.bad_e1, len(bad))
    old_e1 = e1.copy()
    old_e1[bad[: len(before)]], old_e1[before] = e1[before], e1[bad[: len(before)]]
    return Hidden(
        e0=tuple(e0.tolist()),
        e1=tuple(e1.tolist()),
        over_rotation=uniform((-profile.over_rotation, profile.over_rotation), n),
        over_rotation_drift_per_h=uniform((-MAX_DRIFT_PER_H, MAX_DRIFT_PER_H), n),
        crosstalk=uniform((0.0, profile.crosstalk), len(NEIGHBOURS)),
        one_ion_error=uniform(profile.one_ion_error, N_IONS),
        coherence_s=uniform(profile.t2_s, N_IONS),
        p1_given_0=uniform(profile.spam, N_IONS),
        p0_given_1=uniform(profile.spam, N_IONS),
        target=drawn(rng, profile.couplings, profile.angle_rad),
        table_e0=about(e0),
        table_e1=about(old_e1),
    )


def notebook(hidden: Hidden, profile: Profile, today: dt.date) -> Notebook:
    """Entries true on their dates."""

    def entry(days: int, author: str, title: str, text: str, **data: object) -> NotebookEntry:
        return NotebookEntry(date=today - dt.timedelta(days=days), author=author, title=title, text=text, data=data or None)

    bad = [
        {"pair": list(p), "error": round(a + b, 4), "sigma": round(profile.table_scatter * (a + b), 4)}
        for p, a, b in zip(PAIRS, hidden.table_e0, hidden.table_e1, strict=True)
        if p in bad_pairs(hidden.table_e0, hidden.table_e1)
    ]
    return Notebook(
        entries=(
            entry(
                64, "R. Castellane", "Compiling script",
                "The script turns each exp(-i t/2 ZZ) into CX, RZ(t), CX with CX = XX(pi/2) between R and RZ, ion q for qubit q. Checked"
                " against the matrices. An XX of small angle does the same in one gate, should one ever need it.",
            ),
            entry(
                48, "R. Castellane", "Pair table",
                "Error of XX per pair, e0 + e1 |theta|/(pi/2), in the order (0,1), (0,2), ... (6,7). About"
                f" {100 * profile.table_scatter:.0f} % uncertain. Pairs above 0.03 at pi/2 listed apart: keep strong couplings off them.",
                table_e0=list(hidden.table_e0), table_e1=list(hidden.table_e1), bad_pairs=bad,
            ),
            entry(
                31, "P. Lindqvist", "Spectators",
                f"Neighbours of a lit ion get up to {100 * profile.crosstalk:.0f} % of its beam, ion by ion not measured. Splitting each XX"
                " in two halves with a pi pulse on the neighbours between them, 90 degrees from the beam's phase, takes the crosstalk out"
                " in a test with XX(pi/2). Recommended for circuits.",
            ),
            entry(
                9, "P. Lindqvist", "Laser realigned",
                "Raman fibre replaced and all individual beams aligned anew. Single-ion flopping as good as before on every ion. Pairs not"
                " looked at yet.",
            ),
        )
    )  # fmt: skip
