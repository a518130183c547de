"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np
from scipy.special import ndtr

from qtypes.contract import Notebook, NotebookEntry
from qtypes.errors import TaskError
from qtypes.kit.lab_clock_noise import fresh_seed
from qtypes.transmon_pulse.device import Defect, Hidden, Profile, Range, ReadoutPart

_TRIES = 2000


def _within(rng: np.random.Generator, span: Range) -> float:
    return float(rng.uniform(*span))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`; :class:`TaskError` where they exclude each other."""
    t1_far = _within(rng, profile.t1_us)
    defect, background = _defect(rng, profile, t1_far)
    gamma_phi, quasi_static = _dephasing(rng, profile, t1_far)
    low, high = profile.detuning_bands_mhz[int(rng.integers(len(profile.detuning_bands_mhz)))]
    return Hidden(
        drive_ghz=round(float(rng.uniform(4.5, 5.5)), 4),
        detuning_mhz=float(rng.uniform(low, high) * rng.choice((-1.0, 1.0))),
        walk_khz_per_sqrt_h=float(rng.uniform(1.0, 3.0)),
        walk_seed=fresh_seed(rng),
        rabi_factor=float(rng.uniform(0.8, 1.25)),
        background_rate=background,
        background_drift=profile.background_drift,
        background_seed=fresh_seed(rng),
        defect=defect,
        gamma_phi=gamma_phi,
        quasi_static_khz=quasi_static,
        parity_splitting_khz=float(rng.uniform(0.3, 3.0)),
        parity_dwell_ms=float(np.exp(rng.uniform(np.log(0.5), np.log(20.0)))),
        thermal_population=_within(rng, profile.thermal_population),
        readout=_readout(rng, profile),
    )


def _defect(rng: np.random.Generator, profile: Profile, t1_far: float) -> tuple[Defect, float]:
    """The defect, with the coupling that gives the drawn T1 ratio; and the background rate, 1/us."""
    for _ in range(_TRIES):
        far_s, near_s = _within(rng, profile.dwell_far_s), _within(rng, profile.dwell_near_s)
        if profile.occupancy_near[0] <= near_s / (far_s + near_s) <= profile.occupancy_near[1]:
            break
    else:
        raise TaskError("the dwell times of the profile exclude its occupancy")
    ratio = _within(rng, profile.t1_low_ratio)
    unit = Defect(
        g_khz=1.0, linewidth_mhz=float(rng.uniform(0.5, 3.0)), near_mhz=float(rng.uniform(0.0, 1.5)),
        far_mhz=float(rng.uniform(15.0, 60.0)), dwell_far_s=far_s, dwell_near_s=near_s, switches=profile.defect_switches,
        seed=fresh_seed(rng),
    )  # fmt: skip
    extra = (1.0 / ratio - 1.0) / t1_far
    g = float(np.sqrt(extra / (unit.rate(True) - unit.rate(False))))
    defect = unit.model_copy(update={"g_khz": g})
    return defect, 1.0 / t1_far - defect.rate(False)


def _dephasing(rng: np.random.Generator, profile: Profile, t1_far: float) -> tuple[float, float]:
    """White rate in 1/us and quasi-static standard deviation in kHz which together with T1 give the drawn T2*.

    Of the exponent at t = T2*, relaxation takes T2*/(2 T1), white noise 10-35 % of the rest, quasi-static noise what remains.
    """
    low, high = profile.t2star_us
    high = min(high, 1.3 * t1_far)
    if low > high:
        raise TaskError("the T2* of the profile cannot be reached with its T1")
    t2 = float(rng.uniform(low, high))
    rest = 1.0 - t2 / (2.0 * t1_far)
    white = rest * float(rng.uniform(0.1, 0.35))
    return white / t2, float(np.sqrt(2.0 * (rest - white))) / (2.0 * np.pi * t2) * 1e3


def _readout(rng: np.random.Generator, profile: Profile) -> ReadoutPart:
    low, high = profile.misassignment
    for _ in range(_TRIES):
        snr, relaxation = float(rng.uniform(2.5, 5.0)), float(rng.uniform(0.02, 0.12))
        # a qubit that relaxes halfway is assigned either way: half of the relaxations are misassigned
        if low <= float(ndtr(-snr / 2)) + relaxation / 2 <= high:
            break
    else:
        raise TaskError("the misassignment of the profile cannot be reached with an SNR of 2.5 to 5")
    sigma = float(rng.uniform(0.8, 1.6))
    centre0 = complex(*rng.uniform(-3.0, 3.0, size=2))
    centre1 = centre0 + snr * sigma * np.exp(1j * float(rng.uniform(0.0, 2.0 * np.pi)))
    return ReadoutPart(
        centre0_re=centre0.real, centre0_im=centre0.imag, centre1_re=float(centre1.real), centre1_im=float(centre1.imag), sigma=sigma,
        relaxation=relaxation, rotation_deg_per_h=float(rng.uniform(0.6, 1.4) * rng.choice((-1.0, 1.0))),
    )  # fmt: skip


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """The entries of the task's story: true on their date."""
    stories = {"stale_t1": _stale_t1, "average_t1": _average_t1, "aliased_ramsey": _aliased_ramsey}
    cooldown = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(60, 90))), author="A. Lindqvist", title="Cooldown and wiring check",
        text=f"Fridge at 10 mK. Nominal drive {hidden.drive_ghz:.4f} GHz. A pulse of amplitude 1.0 and 25 ns is close to pi; the line"
        " attenuation is only known to 2 dB, so calibrate the amplitude when the angle matters. Residual excited population is not"
        " negligible on this line: 'prepare 0' is the thermal state.",
    )  # fmt: skip
    return Notebook(entries=(cooldown, *stories[profile.notebook](hidden, rng, today)))


def _stale_t1(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    old = float(hidden.t1_us(True)) * float(rng.normal(1.0, 0.02))
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=int(rng.integers(35, 55))), author="A. Lindqvist", title="T1",
            text=f"T1 = {old:.1f} us (previous cooldown). 25 delays from 0 to {old:.0f} us are enough for a good exponential; sweeping"
            " further only costs time. The qubit sat close to a two-level defect in that cooldown.",
            data={"t1_us": round(old, 1), "sweep_us": [0.0, round(old, 0)], "points": 25},
        ),
    )  # fmt: skip


def _average_t1(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    share = hidden.defect.fluctuator().occupancy
    mean_rate = (1.0 - share) / float(hidden.t1_us(False)) + share / float(hidden.t1_us(True))
    value = float(rng.normal(1.0, 0.03)) / mean_rate
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=int(rng.integers(4, 9))), author="M. Okafor", title="T1, 15 minutes",
            text=f"T1 = {value:.1f} us from one sweep of 15 minutes, delays taken one after the other (order 'blocked'), 30 delays, 3000"
            " shots each, single exponential. Fit quality good, residuals a bit larger than shot noise. Users complain that gate errors"
            " change during the day.",
            data={"t1_us": round(value, 1), "t1_sigma_us": round(0.02 * value, 1), "duration_s": 900, "order": "blocked"},
        ),
    )  # fmt: skip


def _aliased_ramsey(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    folded = abs(hidden.detuning_mhz - 2.0 * round(hidden.detuning_mhz / 2.0))  # a step of 0.5 us samples at 2 MHz
    fringe = max(0.03, folded + float(rng.normal(0.0, 0.01)))
    t2 = hidden.t2star_us() * float(rng.uniform(0.5, 0.75))
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=7), author="M. Okafor", title="Ramsey",
            text=f"Ramsey with a step of 0.5 us (0 to 40 us, one drive frequency): a slow fringe of {1e3 * fringe:.0f} kHz, so the drive is"
            f" on resonance to a fraction of a MHz. T2* = {t2:.1f} us. New infrared filters go in tomorrow; they should help T2*, the"
            " frequency will not care.",
            data={"step_us": 0.5, "fringe_khz": round(1e3 * fringe, 0), "t2star_us": round(t2, 1)},
        ),
    )  # fmt: skip
