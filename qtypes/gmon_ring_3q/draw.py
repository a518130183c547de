"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.gmon_ring_3q.device import (
    ALPHA_MHZ,
    DC_MHZ,
    FREQUENCY_MHZ,
    GAIN_RANGE,
    GAPS_MHZ,
    PAIRS,
    PHASE_WALK_RAD,
    SHIFT_AT_MHZ,
    SLOPE_PER_MHZ,
    Hidden,
    Profile,
)
from qtypes.gmon_ring_3q.physics import Floats
from qtypes.kit.lab_clock_noise import fresh_seed


def _uniform(rng: np.random.Generator, low: float, high: float) -> tuple[float, ...]:
    return tuple(float(x) for x in rng.uniform(low, high, 3))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    ladder = 600.0 + np.concatenate(([0.0], np.cumsum(rng.uniform(*GAPS_MHZ, 2))))
    nominal = np.round(rng.permutation(ladder), 1)
    return Hidden(
        nominal_mhz=tuple(nominal.tolist()),
        offset_mhz=_uniform(rng, -FREQUENCY_MHZ, FREQUENCY_MHZ),
        alpha_mhz=_uniform(rng, *ALPHA_MHZ),
        dc_mhz=tuple((rng.uniform(*DC_MHZ, 3) * rng.choice((-1.0, 1.0), 3)).tolist()),
        gain=_uniform(rng, *GAIN_RANGE),
        slope_per_mhz=_uniform(rng, -SLOPE_PER_MHZ, SLOPE_PER_MHZ),
        line_rad=_uniform(rng, 0.0, 2.0 * np.pi),
        first_shift_mhz=_uniform(rng, *profile.shift_mhz),
        second_shift_mhz=_uniform(rng, *profile.shift_mhz),
        t1_us=_uniform(rng, *profile.t1_us),
        t2_us=_uniform(rng, *profile.t2_us),
        p1_given_0=_uniform(rng, 0.005, 0.03),
        p0_given_1=_uniform(rng, 0.02, 0.06),
        phase_walk_rad=float(rng.uniform(*PHASE_WALK_RAD)),
        phase_seeds=tuple(fresh_seed(rng) for _ in range(3)),
    )


def pairwise(hidden: Hidden, hop_mhz: float) -> tuple[Floats, Floats]:
    """Amplitudes and frequencies `(3,)` at which each pair swaps fully with hop `hop_mhz` while the other couplers are off."""
    w = np.array(hidden.nominal_mhz) + hidden.offset_mhz
    own = (2.0 * hop_mhz / SHIFT_AT_MHZ) ** 2 * (np.array(hidden.first_shift_mhz) - hidden.second_shift_mhz)
    # static coupling pushes the levels of its pair apart by g^2 / (w_j - w_k) each, other couplers push one of them
    gap = w - np.roll(w, -1)
    push = np.array(hidden.dc_mhz) ** 2 / gap
    level = push - np.roll(push, 1)
    counter_rotating = hop_mhz**2 / gap
    freq = gap + own + counter_rotating + level - np.roll(level, -1)
    return 2.0 * hop_mhz / hidden.gains(freq), freq


def last_lines(hidden: Hidden, rng: np.random.Generator, profile: Profile) -> Floats:
    """Line phases `(3,)` before the cables were moved: their sum has changed since by a size within the range of `profile`."""
    loop = rng.uniform(*profile.loop_shift_rad) * rng.choice((-1.0, 1.0))
    each = rng.uniform(-np.pi, np.pi, 3)
    each += (loop - each.sum()) / 3.0
    return np.asarray(hidden.line_rad - each)


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """Phases of the last chiral ring, and swaps of each pair since; true on their dates."""
    lines = last_lines(hidden, rng, profile)
    split = rng.uniform(-np.pi, np.pi, 2)
    phase = np.array([split[0], split[1], np.pi / 2 - split.sum() - lines.sum()])
    phase = np.mod(phase + np.pi, 2.0 * np.pi) - np.pi
    amp, freq = pairwise(hidden, 3.0)
    measured = freq + rng.normal(0.0, 0.02, 3)
    chiral = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(60, 100))), author="T. Lindqvist", title="Chiral ring",
        text="Scanned the loop phase until one excitation went round 1-2-3-1 and nowhere else. The phases of the three tones at that point"
        " are attached.",
        data={"pairs": list(PAIRS), "phase_rad": np.round(phase, 3).tolist()},
    )  # fmt: skip
    swaps = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(2, 6))), author="A. Moreau", title="Pair swaps after rewiring",
        text="Flux lines moved to the new rack, longer cables. Swaps of every pair redone with the other two couplers off: amplitudes for a"
        " hop of 3 MHz and frequencies of full contrast attached. The contrast does not depend on the phase of the tone, so the phases in"
        " the software are those from before.",
        data={"pairs": list(PAIRS), "amp": np.round(amp * (1.0 + rng.normal(0.0, 0.005, 3)), 3).tolist(),
              "freq_mhz": np.round(measured, 3).tolist()},
    )  # fmt: skip
    return Notebook(entries=(chiral, swaps))
