"""A single electron spin in a magnet that slowly loses its field."""

from __future__ import annotations

import datetime as dt

import numpy as np

from harbor_spin import device
from harbor_spin.experiments import RunPulse
from qtypes.contract import Notebook, QType


class SingleSpin(QType[device.Spec, device.Hidden]):
    """One spin, one drive, one readout."""

    name = "single_spin"
    title = "Single electron spin with a microwave drive and tunnelling readout"
    Spec = device.Spec
    Hidden = device.Hidden
    Profile = device.Profile
    experiments = (RunPulse,)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: device.Profile) -> device.Hidden:
        return device.draw(rng, profile)

    def spec(self, hidden: device.Hidden, profile: device.Profile) -> device.Spec:
        return device.SPEC

    def notebook(self, hidden: device.Hidden, rng: np.random.Generator, profile: device.Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, rng, today)


QTYPE = SingleSpin()
