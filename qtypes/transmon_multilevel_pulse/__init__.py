"""A four-level transmon under envelopes of a waveform generator, with raw IQ readout of three levels."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.transmon_multilevel_pulse import draw as drawing
from qtypes.transmon_multilevel_pulse.device import Hidden, Profile, Spec, spec_of
from qtypes.transmon_multilevel_pulse.experiments import RunEfSpectroscopy, RunEnvelope, RunIqReference


class TransmonMultilevelPulse(QType[Spec, Hidden]):
    """One transmon beyond two levels, driven by samples."""

    name = "transmon_multilevel_pulse"
    title = "Four-level transmon driven by envelope samples through a band-limited line"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunEnvelope, RunIqReference, RunEfSpectroscopy)
    drifts = True
    public = frozenset({"drive_ghz", "anharmonicity_nominal_mhz"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(hidden)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = TransmonMultilevelPulse()
__all__ = ["QTYPE"]
