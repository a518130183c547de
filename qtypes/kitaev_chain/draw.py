"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.kit.lab_clock_noise import fresh_seed
from qtypes.kitaev_chain.device import (
    ABS_CROSSTALK,
    ABS_LEVER,
    ABS_ZERO_MV,
    CHARGE_NOISE_UEV,
    CONTRAST,
    CROSS,
    EMPTY_LEVEL,
    LEVER,
    NOMINAL,
    OFFSET_MV,
    POISONING_MS,
    THERMOMETER,
    WALK_MV,
    Hidden,
    Profile,
)
from qtypes.kitaev_chain.physics import INDUCED_GAP_UEV


def _pair(rng: np.random.Generator, low: float, high: float) -> tuple[float, float]:
    a, b = rng.uniform(low, high, 2)
    return float(a), float(b)


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    lever, te_mk = _pair(rng, *LEVER), float(rng.uniform(*profile.te_mk))
    nominal = [lever[j] * (1.0 + rng.uniform(-NOMINAL, NOMINAL)) for j in (0, 1)]
    return Hidden(
        peak_uev=float(rng.uniform(*profile.peak_uev)),
        u_uev=float(rng.uniform(*profile.u_uev)),
        te_mk=te_mk,
        abs_zero_mv=float(rng.uniform(-ABS_ZERO_MV, ABS_ZERO_MV)),
        abs_lever_uev_per_mv=float(rng.uniform(*ABS_LEVER)),
        lever_uev_per_mv=lever,
        cross=_pair(rng, *CROSS),
        abs_crosstalk=_pair(rng, *ABS_CROSSTALK),
        offset_mv=_pair(rng, -OFFSET_MV, OFFSET_MV),
        charge_noise_uev=float(rng.uniform(*CHARGE_NOISE_UEV)),
        empty_level=_pair(rng, *EMPTY_LEVEL),
        contrast=_pair(rng, *CONTRAST),
        poisoning_ms=float(rng.uniform(*POISONING_MS)),
        walk_mv=float(rng.uniform(*WALK_MV)),
        walk_seeds=(fresh_seed(rng), fresh_seed(rng)),
        jump_seeds=(fresh_seed(rng), fresh_seed(rng)),
        thermometer_mk=round(te_mk * (1.0 + float(rng.uniform(-THERMOMETER, THERMOMETER))), 1),
        lever_nominal_uev_per_mv=(round(float(nominal[0]), 1), round(float(nominal[1]), 1)),
    )


def equal_amplitudes_mv(hidden: Hidden) -> float:
    """v_abs on the positive side at which t = Delta: xi is the induced gap."""
    return hidden.abs_zero_mv + INDUCED_GAP_UEV / hidden.abs_lever_uev_per_mv


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """Voltages at which the amplitudes were equal at an older bias point, and what happened since; true on their dates."""
    size = rng.uniform(*profile.offset_shift_mv, 2) * rng.choice((-1.0, 1.0), 2)
    old = hidden.model_copy(update={"offset_mv": tuple((np.array(hidden.offset_mv) + size).tolist())})
    v_abs = equal_amplitudes_mv(old) + float(rng.normal(0.0, 0.02))
    v_l, v_r = (v + float(rng.normal(0.0, 0.02)) for v in old.plungers(0.0, -0.5 * old.u_uev, -0.5 * old.u_uev, v_abs))
    t, delta = (float(np.asarray(x)) for x in (old.chain(v_abs).t_uev, old.chain(v_abs).delta_uev))
    tuned = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(60, 100))), author="I. Brandvold", title="Chain tuned to t = Delta",
        text="Followed the rule of the two-site chain: the gate of the bound state to where elastic cotunnelling and crossed Andreev"
        " reflection are equal, then both plungers to the middle of the charge diagram. With both amplitudes equal the two hyperbolas of"
        " the diagram open neither way on the scale of our line width, it looks like a straight crossing. The fits give a Coulomb energy"
        " between the dots of some ueV, small against 2 Delta; left aside. Voltages attached.",
        data={"v_l_mv": round(v_l, 3), "v_r_mv": round(v_r, 3), "v_abs_mv": round(v_abs, 3), "t_over_delta": round(t / delta, 3)},
    )  # fmt: skip
    moved = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(3, 9))), author="S. Adeyemi", title="Offsets moved",
        text="The sensors were retuned and several charge jumps went by: both dots sit a few tenths of a mV from where they were. Plungers"
        " have to be found again with a map. The gate of the bound state and its lever arm are as they were.",
    )  # fmt: skip
    return Notebook(entries=(tuned, moved))
