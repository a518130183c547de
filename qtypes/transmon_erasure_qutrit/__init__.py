"""A transmon whose g and f levels hold a qubit, with coloured dephasing noise, lossy pulses and erasure checks of e."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.transmon_erasure_qutrit import draw as drawing
from qtypes.transmon_erasure_qutrit.device import Hidden, Profile, Spec, spec_of
from qtypes.transmon_erasure_qutrit.experiments import RunSequence


class TransmonErasureQutrit(QType[Spec, Hidden]):
    """One transmon as an erasure qubit."""

    name = "transmon_erasure_qutrit"
    title = "Erasure qubit in the g and f levels of a transmon, with coloured noise and checks"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunSequence,)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of()

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = TransmonErasureQutrit()
__all__ = ["QTYPE"]
