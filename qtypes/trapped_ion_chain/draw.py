"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.errors import TaskError
from qtypes.kit.lab_clock_noise import fresh_seed
from qtypes.trapped_ion_chain import design
from qtypes.trapped_ion_chain.device import NOMINAL_KHZ, NOMINAL_MHZ, OMEGA_MAX_KHZ, Hidden, Profile, Range, lamb_dicke
from qtypes.trapped_ion_chain.physics import IONS, TWO_PI, Floats

WALK_KHZ = (0.12, 0.18)
"""Rms walk of omega_x in ten minutes."""
SPREAD_KHZ = 2.0
"""Differences of the notebook's modes from those of the ideal crystal lie within this."""
MU_STEP_MHZ = 0.002
OTHER_HEATING = (0.02, 0.1)
"""Heating of the other modes relative to the centre of mass: a field that is uniform over the crystal moves only that."""
TABLES, TRIES = 20, 60
LIKELY = 4
REALIGNED = 0.025
"""Relative rms by which a Rabi frequency differs from that of two weeks ago."""


def _row(rng: np.random.Generator, low: float, high: float) -> Floats:
    return rng.uniform(low, high, IONS)


def _within(rng: np.random.Generator, span: Range) -> float:
    return float(rng.uniform(*span))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    nbar = np.append(_row(rng, *profile.nbar_hot)[1:], rng.uniform(*profile.nbar_com))
    heating = _within(rng, profile.heating_per_s) * np.append(_row(rng, *OTHER_HEATING)[1:], 1.0)
    then, now = _tables(rng, profile, nbar)
    return Hidden(
        modes_khz=tuple(now.tolist()),
        notebook_modes_khz=tuple(then.tolist()),
        walk_khz=_within(rng, WALK_KHZ) / float(np.sqrt(600.0)),
        walk_seed=fresh_seed(rng),
        rabi_scale=tuple(_row(rng, 0.94, 1.06).tolist()),
        light_shift_khz=float(rng.uniform(-0.5, 0.5)),
        nbar=tuple(nbar.tolist()),
        heating_per_s=tuple(heating.tolist()),
        t2_ms=float(np.exp(rng.uniform(np.log(200.0), np.log(2000.0)))),
        amplitude_noise=_within(rng, profile.amplitude_noise),
        dark_read_bright=tuple(_row(rng, 0.003, 0.01).tolist()),
        bright_read_dark=tuple(_row(rng, 0.003, 0.01).tolist()),
    )


def _tables(rng: np.random.Generator, profile: Profile, nbar: Floats) -> tuple[Floats, Floats]:
    """Modes on the day of the notebook's table and now, kHz `(modes,)`.

    With `stale_error`, both are drawn again until none of the pulses that one would choose from the notebook's table (they close it and
    mind errors of it least) closes the true modes by luck, whatever its amplitude.
    """
    ions, ideal = np.array(profile.pair) - 1, NOMINAL_MHZ * 1e3
    wanted = profile.stale_error
    for _ in range(TABLES):
        then = ideal + _row(rng, -SPREAD_KHZ, SPREAD_KHZ)
        old = likely_pulses(then, profile.pair) if wanted > 0.0 else None
        for _ in range(TRIES):
            now = then + _row(rng, *profile.shift_khz) * rng.choice((-1.0, 1.0), IONS)
            if np.abs(now - ideal).max() > NOMINAL_KHZ:
                continue
            modes, eta = TWO_PI * 1e-3 * now, lamb_dicke(now * 1e-3)[ions]
            if old is None or design.residuals(old, modes, eta, nbar).min() >= wanted:
                return then, now
    raise TaskError(f"no shifts of the modes make every old pulse err by {wanted}")


def likely_pulses(modes_khz: Floats, pair: tuple[int, int]) -> design.Design:
    """Of the pulses that close a table of modes, the few that suffer least where one mode is off by a quarter of a kHz."""
    pulses = closing_pulses(modes_khz, pair)
    mhz, eta = modes_khz * 1e-3, lamb_dicke(modes_khz * 1e-3)[np.array(pair) - 1]
    off = TWO_PI * 0.25e-3 * np.concatenate((np.eye(IONS), -np.eye(IONS)))
    suffers = np.sum([design.residuals(pulses, TWO_PI * mhz + x, eta, np.full(IONS, 3.0)) for x in off], axis=0)
    best = np.argsort(suffers)[:LIKELY]
    return design.Design(pulses.mu[best], pulses.omega[best])


def closing_pulses(modes_khz: Floats, pair: tuple[int, int]) -> design.Design:
    """Pulses that close `modes_khz`, of both signs, for tone distances on a grid that keeps off the modes by 3 kHz."""
    mhz = modes_khz * 1e-3
    grid = np.arange(2.80, 3.10, MU_STEP_MHZ)
    grid = grid[np.abs(grid[:, None] - mhz).min(axis=1) > 3e-3]
    return design.closing(TWO_PI * mhz, lamb_dicke(mhz)[np.array(pair) - 1], TWO_PI * grid, TWO_PI * OMEGA_MAX_KHZ * 1e-3)


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """The entries, true on their date."""
    modes = [round(m + float(rng.normal(0.0, 0.1)), 1) for m in hidden.notebook_modes_khz]
    ago = [int(rng.integers(a, b)) for a, b in ((40, 60), (12, 16), (7, 10), (3, 6))]
    rabi = round(hidden.rabi_scale[2] * float(rng.normal(1.0, REALIGNED)), 3)
    com = round(hidden.nbar[-1] * float(rng.normal(1.0, 0.1)), 2)
    lines = ", ".join(f"{m:.1f}" for m in modes)
    beams = (
        "Five ions loaded, spacing as computed. Axial 0.45 MHz, transverse 3.05 MHz, compensated. RF amplitude and end caps are not locked:"
        " the transverse modes wander together by some 0.1 kHz in ten minutes, and each for itself by kHz after a reload."
    )
    flops = (
        f"Carrier flops on the centre ion: {rabi:.3f} of the set Rabi frequency. Alignment looks good; the beams of the other ions were"
        " not measured."
    )
    table = f"Sideband spectroscopy of all five modes, 0.1 kHz each: {lines} kHz. A pulse that closes on it made a good gate that evening."
    cooling = (
        f"Chain reloaded after a dark ion, then cooled: {com:.2f} quanta in the centre-of-mass mode by the sideband ratio, after pulsed"
        " sideband cooling. Cold."
    )
    entries: tuple[tuple[str, str, dict[str, Any] | None, str], ...] = (
        ("T. Okafor", "Trap and beams", None, beams),
        ("J. Lindqvist", "Rabi frequency", {"ion": 3, "rabi_scale": rabi}, flops),
        ("J. Lindqvist", "Transverse modes", {"modes_khz": modes}, table),
        ("T. Okafor", "Cooling", {"nbar_com": com}, cooling),
    )
    return Notebook(
        entries=tuple(
            NotebookEntry(date=today - dt.timedelta(days=days), author=author, title=title, text=text, data=data)
            for days, (author, title, data, text) in zip(ago, entries, strict=True)
        )
    )
