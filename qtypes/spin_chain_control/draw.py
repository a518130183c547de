"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.spin_chain_control.device import (
    CROSSTALK,
    DETUNING_MHZ,
    GAIN,
    J_MHZ,
    P0_GIVEN_1,
    P1_GIVEN_0,
    RATIO,
    Hidden,
    Profile,
)
from qtypes.spin_chain_control.physics import SLICE_NS, SPINS, evolve, prepared

J_BEFORE = (1.06, 0.95)
TAU_BEFORE = 0.7
Three = tuple[float, float, float]


def _three(rng: np.random.Generator, low: float, high: float) -> Three:
    a, b, c = (float(x) for x in rng.uniform(low, high, SPINS))
    return a, b, c


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    ratio = rng.uniform(*RATIO)
    first = rng.uniform(J_MHZ[0], J_MHZ[1] / ratio)
    a, b, c, d, e, f = (float(x) for x in rng.uniform(*CROSSTALK, 6))
    return Hidden(
        j_mhz=(float(first), float(first * ratio)),
        detuning_mhz=_three(rng, -DETUNING_MHZ, DETUNING_MHZ),
        gain=_three(rng, *GAIN),
        crosstalk=(a, b, c, d, e, f),
        tau_ns=float(rng.uniform(*profile.tau_ns)),
        t2_us=_three(rng, *profile.t2_us),
        noise_khz=float(rng.uniform(*profile.noise_khz)),
        p1_given_0=_three(rng, *P1_GIVEN_0),
        p0_given_1=_three(rng, *P0_GIVEN_1),
    )


def last_tuneup(hidden: Hidden, rng: np.random.Generator, profile: Profile) -> Hidden:
    """The device as it was: other barrier and plunger voltages, shorter filters."""
    j = np.array(hidden.j_mhz) * J_BEFORE * (1.0 + rng.uniform(-0.01, 0.01, 2))
    shift = rng.uniform(*profile.detuning_shift_mhz, SPINS) * rng.choice((-1.0, 1.0), SPINS)
    return hidden.model_copy(
        update={
            "j_mhz": tuple(j.tolist()),
            "detuning_mhz": tuple((np.array(hidden.detuning_mhz) + shift).tolist()),
            "tau_ns": hidden.tau_ns * TAU_BEFORE,
        }
    )


def waiting_slices(j_mhz: tuple[float, float]) -> int:
    """Slices after which an excitation of a chain without detunings is best transferred: half a period of sqrt(J1^2 + J2^2)."""
    return round(1e3 / (2.0 * float(np.hypot(*j_mhz))) / SLICE_NS)


def arrived(hidden: Hidden, slices: int) -> float:
    """Probability that an excitation of spin 0 is on spin 2 after waiting at zero control and no noise."""
    chain = hidden.model_copy(update={"noise_khz": 0.0}).chain(np.random.default_rng(0), 1)
    state = evolve(chain, np.zeros((SPINS, slices)), prepared(("100",)), (slices,))
    return float(state[0, 0, 0, 1, 1].real)


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """The last complete tune-up, a transfer by waiting, and what was changed since; true on their dates."""
    old = last_tuneup(hidden, rng, profile)
    j = np.array(old.j_mhz) * (1.0 + rng.normal(0.0, 0.003, 2))
    d = np.array(old.detuning_mhz) + rng.normal(0.0, 0.005, SPINS)
    tau = old.tau_ns * (1.0 + rng.normal(0.0, 0.02))
    slices = waiting_slices(old.j_mhz)
    reached = float(np.clip(arrived(old, slices) + rng.normal(0.0, 0.01), 0.0, 1.0))
    age = int(rng.integers(60, 100))
    tuneup = NotebookEntry(
        date=today - dt.timedelta(days=age), author="R. Aaltonen", title="Tune-up of the chain",
        text=f"Exchange oscillations of each bond: J/2pi = {j[0]:.3f} and {j[1]:.3f} MHz. Ramsey with the neighbours far detuned: d/2pi ="
        f" {d[0]:+.3f}, {d[1]:+.3f}, {d[2]:+.3f} MHz. Step response of the lines: {tau:.0f} ns. Gains are 1 within 7 %; crosstalk between"
        " lines is there, 10 % or so at most, not measured.",
        data={"j_mhz": np.round(j, 3).tolist(), "detuning_mhz": np.round(d, 3).tolist(), "tau_ns": round(tau, 1)},
    )  # fmt: skip
    waited = NotebookEntry(
        date=today - dt.timedelta(days=age - 1), author="R. Aaltonen", title="Transfer by waiting",
        text=f"With equal couplings an excitation walks to the other end by itself. Ours are not equal: {slices * SLICE_NS} ns of waiting"
        f" at zero control bring |1> of spin 0 to spin 2 with probability {reached:.2f}. Shaped controls should do better.",
        data={"wait_ns": slices * SLICE_NS, "p_transfer": round(reached, 3)},
    )  # fmt: skip
    changed = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(4, 12))), author="S. Lindqvist", title="After the charge jump",
        text="Charge jump near dot 2. Barrier and plunger voltages set again by the charge stability diagram, all spins read out as before."
        " New (slower) filters in the control lines against the 50 MHz pickup. No tune-up of the spins since.",
    )  # fmt: skip
    return Notebook(entries=(tuneup, waited, changed))
