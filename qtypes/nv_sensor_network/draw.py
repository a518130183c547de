"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.kit.lab_clock_noise import OrnsteinUhlenbeck, fresh_seed
from qtypes.nv_sensor_network.device import B0_LIMIT_NT, POSITION_UNCERTAINTY, REFOCUS_S, Hidden, Profile, Range
from qtypes.nv_sensor_network.physics import bright_for, decay, decay_time


def _within(rng: np.random.Generator, span: Range) -> float:
    return float(rng.uniform(*span))


def _log_within(rng: np.random.Generator, span: Range) -> float:
    return float(np.exp(rng.uniform(*np.log(span))))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    ratio = float(rng.uniform(0.60, 0.70))
    return Hidden(
        nominal_mm=profile.positions_mm,
        positions_mm=tuple(float(x * (1.0 + POSITION_UNCERTAINTY * rng.uniform(-1, 1))) for x in profile.positions_mm),
        b0_nt=float(rng.uniform(-0.95, 0.95)) * B0_LIMIT_NT,
        gradient_nt_per_mm=float(rng.uniform(-1, 1)) * profile.gradient_nt_per_mm,
        local_rms_nt=_within(rng, profile.local_rms_nt),
        local_correlation_us=_log_within(rng, profile.local_correlation_us),
        common_rms_nt=_within(rng, profile.common_rms_nt),
        common_correlation_s=_log_within(rng, profile.common_correlation_s),
        common_seed=fresh_seed(rng),
        bright=bright_for(_within(rng, profile.readout_fidelity), ratio),
        dark_ratio=ratio,
        link_fidelity=_within(rng, profile.link_fidelity),
        laser_drift_per_h=float(rng.choice((-1.0, 1.0)) * rng.uniform(0.005, 0.015)),
    )


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """What was found before this session; all of it true on its date."""
    entries = _two_delays(hidden, rng, today) if profile.notebook == "two_delays" else _node_by_node(hidden, rng, today)
    return Notebook(entries=entries)


def _two_delays(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    """T2* from the contrast at two delays, as an exponential; the contrast of an entangled pair; an old value of the field."""

    def delay(chi: float) -> float:
        return 5.0 * round(decay_time(hidden.local_rms_nt, hidden.local_correlation_us, chi) / 5.0)

    t1, t2 = delay(0.35), delay(1.4)
    contrast = [float(np.exp(-decay(t, hidden.local_rms_nt, hidden.local_correlation_us)) * (1 + 0.02 * rng.normal())) for t in (t1, t2)]
    t2star = (t2 - t1) / np.log(contrast[0] / contrast[1])
    pair = hidden.link_fidelity**2 * (1 + 0.01 * rng.normal())
    old = hidden.b0_nt + 150.0 * rng.normal()
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=34), author="m.", title="Field after the magnet was moved",
            text=f"Single node: {old:.0f} nT. The magnet still creeps.", data={"b0_nt": round(float(old), 1)},
        ),
        NotebookEntry(
            date=today - dt.timedelta(days=12), author="a.", title="Coherence",
            text=f"Contrast on one node {contrast[0]:.2f} at {t1:.0f} us and {contrast[1]:.2f} at {t2:.0f} us. Exponential through both:"
            f" T2* = {t2star:.1f} us. Nodes are alike. With exponential decay a block of n wants tau = T2*/(2n) (Huelga 1997).",
            data={"delays_us": [t1, t2], "contrast": [round(c, 3) for c in contrast], "t2star_us": round(float(t2star), 2)},
        ),
        NotebookEntry(
            date=today - dt.timedelta(days=11), author="a.", title="Entangled pair",
            text=f"Nodes 0 and 1, shortest delay: {pair:.3f} of the contrast of a single node. Larger blocks not tried.",
            data={"pair_contrast": round(float(pair), 3)},
        ),
    )  # fmt: skip


def _node_by_node(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    """One node after the other, with the error of the counting alone: the common field of that day is in it."""
    shot = 5.0
    times = np.arange(len(hidden.positions_mm)) * (REFOCUS_S + 6.0)
    common = OrnsteinUhlenbeck(max(hidden.common_rms_nt, 1e-9), hidden.common_correlation_s, int(rng.integers(2**62))).value(times)
    fields = hidden.static_nt() + common + shot * rng.normal(size=times.size)
    slope = float(np.polyfit(hidden.nominal_mm, fields, 1)[0])
    sigma = shot / float(np.sqrt(np.sum((np.array(hidden.nominal_mm) - np.mean(hidden.nominal_mm)) ** 2)))
    listed = ", ".join(f"{f:.0f}" for f in fields)
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=9), author="k.", title="Gradient, standard Ramsey",
            text=f"Counter on one node after the other, 6 s each, tau 20 us: {listed} nT, each +- {shot:.0f} nT from the counts."
            f" Straight line: {slope:.1f} +- {sigma:.1f} nT/mm.",
            data={
                "gradient_nt_per_mm": round(slope, 2), "sigma_nt_per_mm": round(sigma, 2),
                "fields_nt": [round(float(f), 1) for f in fields],
            },
        ),
        NotebookEntry(
            date=today - dt.timedelta(days=4), author="k.", title="Other modes",
            text="Camera frames work, dim. Entangled pairs work too, with either sign; not used for fields yet.",
        ),
    )  # fmt: skip
