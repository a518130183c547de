"""The device: what is hidden, what is public, how the source drifts, and the notebook."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field

from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.kit.readout import flipped
from qtypes.trapped_ion_state_copy_randomized_measurement import physics
from qtypes.trapped_ion_state_copy_randomized_measurement.estimators import counts_of, plug_in_purities
from qtypes.trapped_ion_state_copy_randomized_measurement.physics import Complexes, Floats

IONS = 6
NEEL = 0b010101
COPIES_PER_S = 50
WINDOW_S = 2400.0
"""Lab time over which the drift of the quench time is quoted."""
DRIFT_MAX = 0.04
MAX_BATCHES = 200
MAX_COPIES = 1000
MAX_JOB_COPIES = 20_000
SUBSYSTEMS = (1, 2, 3, 6)
"""Ions 1 to m of which the notebook and the tasks speak."""
OLD_BATCHES, OLD_COPIES = 40, 150

Range = tuple[float, float]
Six = Annotated[tuple[float, ...], Field(min_length=IONS, max_length=IONS)]


class Profile(Part):
    """What a task may set. Not strict: it is written by the task's author as TOML, where a range is a list."""

    model_config = ConfigDict(strict=False)

    coupling: Range = quantity("rad/ms", "range of J0", default=(0.3, 0.5))
    field: Range = quantity("rad/ms", "range of B", default=(0.3, 1.0))
    exponent: Range = quantity("1", "range of alpha", default=(1.0, 1.5))
    quench_ms: Range = quantity("ms", "range of the quench time", default=(2.0, 4.0))
    drift: float = quantity("1", "largest relative change of the quench time in 2400 s", ge=0, le=DRIFT_MAX, default=DRIFT_MAX)
    dephasing: Range = quantity("1", "range of the probability of a phase flip of each ion", default=(0.01, 0.04))
    dark_read_bright: Range = quantity("1", "range of p(1|0)", default=(0.002, 0.01))
    bright_read_dark: Range = quantity("1", "range of p(0|1)", default=(0.01, 0.03))
    dark_share: float = quantity("1", "probability that an ion of a batch is dark", ge=0, le=0.5, default=0.04)
    area_noise: float = quantity("1", "relative rms of the pulse area of Ry", ge=0, le=0.05, default=0.003)


class Spec(Part):
    """What is public."""

    platform: str = Field(description="kind of device")
    source: str = Field(description="how each copy is made")
    conventions: str = Field(description="ions, bits, rotations")
    batches: str = Field(description="what a batch is, and what may be wrong with one")
    readout: str = Field(description="class of the readout")
    ions: int = quantity("1", "number of ions")
    copies_per_s: float = quantity("1/s", "copies per second of lab clock")
    quench_drift_max: float = quantity("1", "largest relative change of the quench time, linear in the lab clock, in drift_window_s")
    drift_window_s: float = quantity("s", "lab time over which quench_drift_max is quoted")
    dark_batch_share: float = quantity("1", "mean share of batches in which an ion is dark")
    area_error_rms: float = quantity("1", "relative rms error of the angle b of an ion in a batch")
    batches_max: int = quantity("1", "most batches of a request")
    copies_max: int = quantity("1", "most copies of a batch")
    job_copies_max: int = quantity("1", "most batches x copies of a request")


class Hidden(Part):
    """Everything the agent has to find out."""

    j0: float = quantity("rad/ms", "nearest-neighbour coupling", gt=0)
    alpha: float = quantity("1", "exponent of its decay with distance", gt=0)
    b: float = quantity("rad/ms", "transverse field")
    quench_ms: float = quantity("ms", "quench time at lab clock 0", gt=0)
    quench_drift: float = quantity("1", "relative change of the quench time in 2400 s of lab clock")
    phase_flip: Six = quantity("1", "probability of Z on each ion after the quench")
    p1_given0: Six = quantity("1", "probability to read a dark ion as bright")
    p0_given1: Six = quantity("1", "probability to read a bright ion as dark")

    def quench_at(self, times_s: Any) -> Floats:
        """Quench time in ms at times of the lab clock in s."""
        return np.asarray(self.quench_ms * (1.0 + self.quench_drift * np.asarray(times_s, dtype=float) / WINDOW_S))

    def states(self, times_s: Any, dark: int = 0) -> Complexes:
        """Density matrices `(times, 64, 64)` of the copies made at `times_s` `(times,)`.

        Ion `dark` (from 1; 0 for none) sits in the chain without taking part: it couples to nothing and stays in |0>.
        """
        couplings, start = physics.power_law(self.j0, self.alpha, IONS), NEEL
        if dark:
            couplings[dark - 1] = couplings[:, dark - 1] = 0.0
            start &= ~(1 << IONS - dark)
        psi = physics.evolved(physics.hamiltonian(couplings, self.b), start, self.quench_at(times_s))
        return physics.dephased(psi, self.phase_flip)


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device."""
    return Hidden(
        j0=float(rng.uniform(*profile.coupling)),
        alpha=float(rng.uniform(*profile.exponent)),
        b=float(rng.uniform(*profile.field)),
        quench_ms=float(rng.uniform(*profile.quench_ms)),
        quench_drift=float(rng.uniform(-profile.drift, profile.drift)),
        phase_flip=_row(rng, profile.dephasing),
        p1_given0=_row(rng, profile.dark_read_bright),
        p0_given1=_row(rng, profile.bright_read_dark),
    )


def _row(rng: np.random.Generator, bounds: Range) -> tuple[float, ...]:
    return tuple(rng.uniform(*bounds, IONS).tolist())


def spec_of(profile: Profile) -> Spec:
    """The public spec, the same for every device of a profile."""
    return Spec(
        platform="six 40Ca+ optical qubits in a linear Paul trap; laser-mediated spin-spin coupling, single-ion addressing, camera readout",
        source="Neel state |010101>, quench under H = sum over i < j of J0 / |i - j|^alpha X_i X_j + B sum of Z_i for a time t_q, then each"
        " ion suffers a phase flip with a small probability of its own",
        conventions="ions are numbered 1 to 6 along the axis; |0> is the +1 eigenstate of Z and dark, |1> is bright and read as bit 1;"
        " column k of a record is ion k + 1; angles a, b, c of an ion are U = Rz(c) Ry(b) Rz(a), R(x) = exp(-i x sigma / 2), Rz(a) first",
        batches="a batch is one setting of the rotations of all ions, repeated on n_copies fresh copies; before each batch an image counts"
        " the bright ions: now and then an ion has reacted with background gas, stays dark in its place and takes part in nothing",
        readout="state-dependent fluorescence, every ion with its own errors, independent of the others",
        ions=IONS,
        copies_per_s=float(COPIES_PER_S),
        quench_drift_max=DRIFT_MAX,
        drift_window_s=WINDOW_S,
        dark_batch_share=profile.dark_share,
        area_error_rms=profile.area_noise,
        batches_max=MAX_BATCHES,
        copies_max=MAX_COPIES,
        job_copies_max=MAX_JOB_COPIES,
    )


def haar_angles(rng: np.random.Generator, batches: int) -> Floats:
    """Euler angles `(batches, 6, 3)` of independent Haar-random rotations: a and c uniform, cos(b) uniform."""
    shape = (batches, IONS)
    a, c = rng.uniform(0.0, 2.0 * np.pi, shape), rng.uniform(0.0, 2.0 * np.pi, shape)
    return np.stack((a, np.arccos(rng.uniform(-1.0, 1.0, shape)), c), axis=-1)


def sampled(rng: np.random.Generator, p: Floats, copies: int) -> np.ndarray:
    """Bits uint8 `(batches, copies, 6)` of outcomes with probabilities `(batches, 64)`."""
    levels = np.cumsum(p, axis=1)[:, :-1]
    draws = rng.random((len(p), copies))
    index = np.stack([np.searchsorted(row, d, side="right") for row, d in zip(levels, draws, strict=True)])
    return physics.bits_of(IONS).astype(np.uint8)[index]


def read(rng: np.random.Generator, hidden: Hidden, bits: np.ndarray) -> np.ndarray:
    """Bits `(..., 6)` as the camera reports them."""
    return flipped(rng, bits, np.array(hidden.p1_given0), np.array(hidden.p0_given1))


def notebook(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> Notebook:
    """The entries, true on their date. The earlier run is simulated and analysed as its author did, on the source of that day."""
    ago = [int(rng.integers(a, b)) for a, b in ((50, 70), (30, 40), (12, 18), (5, 9))]
    then = hidden.model_copy(update={"quench_ms": hidden.quench_ms * float(rng.uniform(0.93, 1.07)), "quench_drift": 0.0})
    rho = np.repeat(then.states([0.0]), OLD_BATCHES, axis=0)
    p = physics.outcome_probabilities(rho, physics.local_unitaries(haar_angles(rng, OLD_BATCHES)))
    bits = read(rng, then, sampled(rng, p, OLD_COPIES))
    found = [plug_in_purities(counts_of(bits, m)) for m in SUBSYSTEMS]
    s2 = [round(-float(np.log2(x.mean())), 2) for x in found]
    sigma = [round(float(x.std(ddof=1) / np.sqrt(OLD_BATCHES) / (x.mean() * np.log(2.0))), 3) for x in found]
    right = 100.0 * (1.0 - 0.5 * float(np.mean(hidden.p1_given0) + np.mean(hidden.p0_given1)))
    script = (
        "purity.py: frequencies P(s) of each batch, X = 2^N sum over s, s' of (-2)^(-D[s, s']) P(s) P(s') with the Hamming distance D, mean"
        " over rotations, S2 = -log2. Tried on a simulated product state, 4000 batches x 10 000 copies: S2 is 0 within 0.05."
    )
    dark = (
        "Every minute or two an ion has become a molecule. It stays dark in its place for a batch, then the dissociation laser has it back."
        " The program does not stop for it, but ion_count of that batch says 5."
    )
    camera = (
        f"Threshold of the camera set again: {right:.0f} % correct, averaged over both states and all ions. Exposure cut to 1 ms, so that"
        " D5/2 hardly decays; the histogram of bright ions reaches down to the threshold now."
    )
    run = (
        f"A quick look, {OLD_BATCHES} rotations x {OLD_COPIES} copies through purity.py as it is: S2 of ions 1, 1-2, 1-3, 1-6 is"
        f" {s2[0]:.2f}, {s2[1]:.2f}, {s2[2]:.2f}, {s2[3]:.2f} bits, +- {sigma[3]:.2f} the last."
        " Coupling lasers realigned since; the quench differs a little."
    )
    entries: tuple[tuple[str, str, dict[str, Any] | None, str], ...] = (
        ("M. Haddad", "Analysis script", None, script),
        ("R. Castellano", "Dark ions", None, dark),
        ("R. Castellano", "Readout", {"readout_correct_percent": round(right)}, camera),
        ("M. Haddad", "Entropy run", {"s2_bits": s2, "sigma": sigma, "batches": OLD_BATCHES, "copies": OLD_COPIES}, run),
    )
    return Notebook(
        entries=tuple(
            NotebookEntry(date=today - dt.timedelta(days=days), author=author, title=title, text=text, data=data)
            for days, (author, title, data, text) in zip(ago, entries, strict=True)
        )
    )
