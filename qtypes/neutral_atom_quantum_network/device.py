"""Two nodes and a fibre: what is drawn, what is public, and the notebook."""

from __future__ import annotations

import datetime as dt

import numpy as np
from pydantic import Field

from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.kit.lab_clock_noise import fresh_seed

CYCLE_S = 0.1
JOB_S = 2.0
ATTEMPT_US = 10.0
INTERROGATION_MS = 0.5
MAX_HOLD_MS = 20.0
FIDELITY = (0.89, 0.95)
DEPHASED = (0.0, 0.2)
OFFSET_RAD = (0.2, 0.4)
DRIFT_RAD_PER_S = 0.05 / 600
LO_SIGMA_RAD = (2.0, 3.0)
READOUT = (0.005, 0.015)
HERALD = (0.02, 0.06)
T2_MS = (30.0, 60.0)
AUTHOR = "previous operator"

Range = tuple[float, float]


class Profile(Part):
    """What a task may set."""

    fidelity: Range = quantity("1", "range of the fidelity of a pair", default=FIDELITY)
    offset_rad: Range = quantity("rad", "range of the size of the phase offset of the pairs", default=OFFSET_RAD)


class Hidden(Part):
    """Phases, pairs, noise."""

    phi_a_rad: float = quantity("rad", "phase that node A acquires in an interrogation")
    phi_b_rad: float = quantity("rad", "phase that node B acquires in an interrogation")
    fidelity: float = quantity("1", "fidelity of a heralded pair", gt=0.25, le=1)
    dephased: float = quantity("1", "share of the infidelity that is pure dephasing", ge=0, le=1)
    offset_rad: float = quantity("rad", "phase of |11> in a pair at lab time 0")
    drift_rad_per_s: float = quantity("rad/s", "drift of that phase")
    lo_sigma_rad: float = quantity("rad", "spread of the phase of the local oscillator from shot to shot")
    readout_a: float = quantity("1", "probability of a wrong bit at node A")
    readout_b: float = quantity("1", "probability of a wrong bit at node B")
    herald: float = quantity("1", "probability that an attempt makes a pair")
    t2_ms: float = quantity("ms", "coherence time of an atom")
    store_key: str = Field(pattern=r"^\d{1,40}$", description="key under which node B keeps its results")

    def offset_at(self, t_s: np.ndarray | float) -> np.ndarray | float:
        """Phase offset of the pairs at a time on the lab clock, rad."""
        return self.offset_rad + self.drift_rad_per_s * t_s


class Ranges(Part):
    """Where hidden numbers lie over all devices of the family."""

    fidelity: Range = quantity("1", "fidelity of a heralded pair")
    dephased: Range = quantity("1", "share of its infidelity that is pure dephasing, the rest is white")
    readout: Range = quantity("1", "probability of a wrong bit, each node")
    t2_ms: Range = quantity("ms", "coherence time of an atom")
    herald: Range = quantity("1", "success of one attempt")
    lo_sigma_rad: Range = quantity("rad", "spread of the oscillator's phase from shot to shot")
    largest_drift_rad_per_s: float = quantity("rad/s", "the pair phase drifts linearly, by at most this in either direction")


class Spec(Part):
    """The public specification; the same for every device of a profile."""

    cycle_s: float = quantity("s", "one shot: load, cool, entangle, interrogate, read")
    job_s: float = quantity("s", "lab time that a job takes besides its shots")
    attempt_us: float = quantity("us", "one attempt to herald a pair")
    interrogation_ms: float = quantity("ms", "time for which the atoms take up their phases")
    max_hold_ms: float = quantity("ms", "longest hold before a tomography")
    ranges: Ranges = Field(description="where hidden numbers lie")


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device."""
    return Hidden(
        phi_a_rad=rng.uniform(-np.pi, np.pi), phi_b_rad=rng.uniform(-np.pi, np.pi), fidelity=rng.uniform(*profile.fidelity),
        dephased=rng.uniform(*DEPHASED), offset_rad=float(rng.choice([-1, 1])) * rng.uniform(*profile.offset_rad),
        drift_rad_per_s=rng.uniform(-DRIFT_RAD_PER_S, DRIFT_RAD_PER_S), lo_sigma_rad=rng.uniform(*LO_SIGMA_RAD),
        readout_a=rng.uniform(*READOUT), readout_b=rng.uniform(*READOUT), herald=rng.uniform(*HERALD), t2_ms=rng.uniform(*T2_MS),
        store_key=fresh_seed(rng),
    )  # fmt: skip


def public_spec(profile: Profile) -> Spec:
    """The same for every device of a profile."""
    ranges = Ranges(
        fidelity=profile.fidelity, dephased=DEPHASED, readout=READOUT, t2_ms=T2_MS, herald=HERALD, lo_sigma_rad=LO_SIGMA_RAD,
        largest_drift_rad_per_s=DRIFT_RAD_PER_S,
    )  # fmt: skip
    return Spec(
        cycle_s=CYCLE_S, job_s=JOB_S, attempt_us=ATTEMPT_US, interrogation_ms=INTERROGATION_MS, max_hold_ms=MAX_HOLD_MS, ranges=ranges,
    )  # fmt: skip


def notebook(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> Notebook:
    """A pair tomography from before the fibre was moved, and single-node fringes that show nothing."""
    good = round(float(min(0.97, hidden.fidelity + rng.uniform(0.01, 0.03))), 3)
    tomography = (
        f"Pair tomography after alignment: fidelity {good:.3f}, phase of |11> set to 0 with the fibre stretcher, 0.00 +- 0.01 rad. "
        "Entangled readout of both phases from now on with offset 0."
    )
    moved = (
        "The fibre between the laboratories now runs through the new duct, 40 m longer. Pairs are heralded at the usual rate, the parity "
        "at analysis phase 0 is high as ever. Stretcher untouched. No tomography since."
    )
    flat = (
        "Ramsey fringes of each node by itself, 300 shots a phase: flat. The oscillator's phase at the atoms is random from shot to shot, "
        "with opposite sign in the two nodes."
    )
    return Notebook(
        entries=(
            NotebookEntry(date=today - dt.timedelta(days=43), author=AUTHOR, title="Pair tomography", text=tomography,
                          data={"fidelity": good, "phase_offset_rad": 0.0}),
            NotebookEntry(date=today - dt.timedelta(days=12), author=AUTHOR, title="Single-node fringes", text=flat),
            NotebookEntry(date=today - dt.timedelta(days=4), author=AUTHOR, title="New fibre path", text=moved),
        )
    )  # fmt: skip
