"""Drawing a device, and what its previous operator wrote."""

from __future__ import annotations

import datetime as dt
from itertools import combinations

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.digital_gate_model.device import BOX_QUBITS, COUPLERS, N_QUBITS, Hidden, Profile, Range, Snapshot

PHASE_DRIFT_MRAD_PER_H = 5.0
READOUT_DRIFT_PER_H = 0.003
BOX_TURN_RAD = (0.5, 2.2)
BOX_LINK_RAD = (0.4, 1.2)


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device of a profile."""
    n_c = len(COUPLERS)

    def uniform(between: Range, n: int) -> tuple[float, ...]:
        return tuple(rng.uniform(*between, n).tolist())

    def signed(between: Range, n: int) -> tuple[float, ...]:
        return tuple((rng.uniform(*between, n) * rng.choice([-1.0, 1.0], n)).tolist())

    t1 = uniform(profile.t1_us, N_QUBITS)
    t2 = tuple(min(t, 2.0 * longest) for t, longest in zip(uniform(profile.t2_us, N_QUBITS), t1, strict=True))
    options = list(combinations(sorted(profile.correlated_among), 2))
    chosen = sorted(rng.choice(len(options), 2, replace=False).tolist())
    p1, p0 = uniform(profile.p1_given_0, N_QUBITS), uniform(profile.p0_given_1, N_QUBITS)
    depolarising = uniform(profile.cz_depolarising, n_c)

    def about(values: tuple[float, ...], spread: float) -> tuple[float, ...]:
        return tuple(float(v * np.exp(spread * rng.standard_normal())) for v in values)

    def box() -> tuple[float, ...]:
        return (*signed(BOX_TURN_RAD, len(BOX_QUBITS)), *signed(BOX_LINK_RAD, 1))

    return Hidden(
        sx_error=signed(profile.sx_error, N_QUBITS),
        cz_error_rad=signed(profile.cz_error_rad, n_c),
        cz_drift_mrad_per_h=uniform((-PHASE_DRIFT_MRAD_PER_H, PHASE_DRIFT_MRAD_PER_H), n_c),
        parallel_zz_rad=signed(profile.parallel_zz_rad, n_c),
        cz_depolarising=depolarising,
        relaxation_us=t1,
        coherence_us=t2,
        residual=uniform(profile.residual, N_QUBITS),
        p1_given_0=p1,
        p0_given_1=p0,
        readout_drift_per_h=uniform((-READOUT_DRIFT_PER_H, READOUT_DRIFT_PER_H), N_QUBITS),
        correlated_pairs=tuple(options[k] for k in chosen),
        correlated_extra=uniform(profile.correlated_extra, 2),
        joint_flip=uniform(profile.joint_flip, 2),
        box_1=box(),
        box_2=box(),
        snapshot=Snapshot(
            age_h=float(rng.uniform(60.0, 400.0)),
            t1_us=about(t1, 0.15),
            t2_us=about(t2, 0.15),
            readout_error=about(tuple((a + b) / 2 for a, b in zip(p0, p1, strict=True)), 0.25),
            # the phases were trimmed on that day: what benchmarking saw was the incoherent part, 3/4 p
            cz_infidelity=about(tuple(0.75 * p for p in depolarising), 0.20),
        ),
    )  # fmt: skip


def _two_by_two(hidden: Hidden, rng: np.random.Generator) -> list[list[list[float]]]:
    """Per-qubit matrices [[p(0|0), p(0|1)], [p(1|0), p(1|1)]] of an earlier day."""
    out = []
    for p1, p0 in zip(hidden.p1_given_0, hidden.p0_given_1, strict=True):
        a, b = (float(np.clip(p * np.exp(0.10 * rng.standard_normal()), 1e-3, 0.3)) for p in (p1, p0))
        out.append([[round(1 - a, 4), round(b, 4)], [round(a, 4), round(1 - b, 4)]])
    return out


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """Entries true on their dates."""

    def entry(days: int, author: str, title: str, text: str, **data: object) -> NotebookEntry:
        return NotebookEntry(date=today - dt.timedelta(days=days), author=author, title=title, text=text, data=data or None)

    match profile.notebook:
        case "readout_product":
            return Notebook(
                entries=(
                    entry(
                        23, "M. Okafor", "Multiplexed readout installed",
                        "All resonators now share one line and are read at the same time. Amplifier tuned for the best mean fidelity.",
                    ),
                    entry(
                        8, "M. Okafor", "Assignment matrices",
                        "One qubit at a time: prepare 0 and 1 on the qubit, all others in |0>, 20 000 shots each. Columns are what was"
                        " prepared. For joint distributions I take the Kronecker product, it saves the many-qubit calibration.",
                        matrices=_two_by_two(hidden, rng),
                    ),
                )
            )  # fmt: skip
        case "cz_folding":
            mean = float(rng.uniform(0.2, 0.8))
            return Notebook(
                entries=(
                    entry(
                        61, "S. Brandt", "Readout",
                        f"New parametric amplifier in place. Assignment error of all qubits below 1 % this week (mean {mean:.1f} %), so"
                        " no correction is applied to expectation values.",
                    ),
                    entry(
                        34, "S. Brandt", "Zero-noise extrapolation recipe",
                        "For observables after Trotter circuits: replace every CZ by 1, 3 and 5 of them and extrapolate the three values"
                        " with a parabola to zero. Worked on Bell pairs, where the folded points lie on a straight line.",
                        folds=[1, 3, 5], extrapolation="parabola",
                    ),
                    entry(
                        12, "J. Ito", "Warm-up",
                        "Fridge went to 4 K over the weekend and came back. Couplers start again from the last stored bias points;"
                        " amplifier pump not retuned.",
                    ),
                )
            )  # fmt: skip
        case _:
            return Notebook(
                entries=(
                    entry(
                        47, "A. Duarte", "Gate calibration",
                        "CZ phases trimmed on every coupler, remaining error below 10 mrad; two CZ gates at once show no phase between"
                        " them within 10 mrad. sx amplitude within 0.1 %. Circuits behave as written.",
                    ),
                    entry(
                        15, "A. Duarte", "Thermal cycle",
                        "Warmed to room temperature to change an attenuator and cooled again. Qubits are back, T1 as before. Gates run"
                        " from the stored settings.",
                    ),
                )
            )  # fmt: skip
