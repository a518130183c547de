"""What is public and what is hidden of the spin, how one is drawn, and the notebook."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry, Part, quantity

DRIVE_GHZ = 14.0
MAX_OFFSET_KHZ = 400.0
PULSE_US = (0.1, 50.0)
PERIOD_MS = 1.0
SETUP_S = 0.5
NOTEBOOK_AGE_H = (100.0, 200.0)


class Profile(Part):
    """What a task may set."""

    offset_khz_max: float = quantity("kHz", "largest distance of the Larmor from the nominal frequency", gt=0, le=200, default=150.0)


class Spec(Part):
    """What is public."""

    nominal_ghz: float = quantity("GHz", "nominal Larmor frequency, the zero of drive_offset_khz")
    offset_range_khz: tuple[float, float] = quantity("kHz", "range of the drive frequency minus the nominal one")
    pulse_range_us: tuple[float, float] = quantity("us", "shortest and longest pulse")
    period_ms: float = quantity("ms", "time from one shot to the next")
    setup_s: float = quantity("s", "lab time of a job besides its shots")


class Hidden(Part):
    """The device."""

    larmor_khz: float = quantity("kHz", "Larmor frequency minus nominal at lab clock 0")
    decay_khz_per_h: float = quantity("kHz/h", "rate at which the Larmor frequency falls with the magnet's field", ge=0)
    rabi_khz: float = quantity("kHz", "Rabi frequency of the pulse", gt=0)
    spread_khz: float = quantity("kHz", "standard deviation of the shot-to-shot detuning", ge=0)
    dark: float = quantity("1", "probability of a click from a spin that is down", ge=0, lt=0.5)
    missed: float = quantity("1", "probability of no click from a spin that is up", ge=0, lt=0.5)

    def larmor_at(self, lab_s: np.ndarray | float) -> np.ndarray:
        """Larmor minus nominal frequency at lab-clock times in s, kHz."""
        return self.larmor_khz - self.decay_khz_per_h * np.asarray(lab_s, dtype=float) / 3600.0


SPEC = Spec(
    nominal_ghz=DRIVE_GHZ, offset_range_khz=(-MAX_OFFSET_KHZ, MAX_OFFSET_KHZ), pulse_range_us=PULSE_US, period_ms=PERIOD_MS, setup_s=SETUP_S
)


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh device: a field known to some 5e-6, a magnet that loses 2e-8 to 1e-7 of it per hour, T2* of 9 to 22 us."""
    return Hidden(
        larmor_khz=float(rng.uniform(-1.0, 1.0) * profile.offset_khz_max),
        decay_khz_per_h=float(rng.uniform(0.3, 1.4)),
        rabi_khz=float(rng.uniform(60.0, 160.0)),
        spread_khz=float(rng.uniform(10.0, 25.0)),
        dark=float(rng.uniform(0.02, 0.08)),
        missed=float(rng.uniform(0.05, 0.15)),
    )


def notebook(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> Notebook:
    """The Larmor frequency as it was some days ago."""
    age_h = float(rng.uniform(*NOTEBOOK_AGE_H))
    then = hidden.larmor_khz + hidden.decay_khz_per_h * age_h + float(rng.normal(0.0, 2.0))
    entry = NotebookEntry(
        date=today - dt.timedelta(hours=age_h), author="R. Halvorsen", title="Larmor frequency",
        text=f"Spectroscopy: the spin answers at {then:+.0f} kHz from nominal. Magnet put into persistent mode after the scan.",
        data={"larmor_khz": round(then)},
    )  # fmt: skip
    return Notebook(entries=(entry,))
