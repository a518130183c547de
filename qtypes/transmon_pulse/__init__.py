"""A fixed-frequency transmon under square pulses, with a switching relaxation time and raw IQ readout."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.transmon_pulse import draw as drawing
from qtypes.transmon_pulse.device import Hidden, Profile, Spec, spec_of
from qtypes.transmon_pulse.experiments import RunIqReference, RunPulseSequence


class TransmonPulse(QType[Spec, Hidden]):
    """One transmon, driven by pulse sequences."""

    name = "transmon_pulse"
    title = "Fixed-frequency transmon with pulse sequences and IQ readout"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunPulseSequence, RunIqReference)
    drifts = True
    public = frozenset({"drive_ghz"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(hidden)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = TransmonPulse()
__all__ = ["QTYPE"]
