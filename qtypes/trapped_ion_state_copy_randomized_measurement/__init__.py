"""Copies of the state behind a quench of six ions, measured behind random local rotations."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.trapped_ion_state_copy_randomized_measurement import device
from qtypes.trapped_ion_state_copy_randomized_measurement.device import Hidden, Profile, Spec
from qtypes.trapped_ion_state_copy_randomized_measurement.experiments import RunReadoutCal, RunRmBatch


class StateCopies(QType[Spec, Hidden]):
    """A source of copies of one many-body state, and local rotations before the readout."""

    name = "trapped_ion_state_copy_randomized_measurement"
    title = "Six ions: copies of a quench state behind random local rotations"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunRmBatch, RunReadoutCal)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return device.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return device.spec_of(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, rng, today)


QTYPE = StateCopies()
__all__ = ["QTYPE"]
