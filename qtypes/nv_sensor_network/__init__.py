"""NV centres on a line as field sensors: single, on a camera, or as one entangled block."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.nv_sensor_network import draw as drawing
from qtypes.nv_sensor_network.device import Hidden, Profile, Spec, spec_of
from qtypes.nv_sensor_network.experiments import RunCamera, RunGhz, RunRamsey, RunReference


class NvSensorNetwork(QType[Spec, Hidden]):
    """A network of NV magnetometers."""

    name = "nv_sensor_network"
    title = "NV magnetometers on a line, with one photon counter and entangled blocks"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunRamsey, RunCamera, RunGhz, RunReference)
    drifts = True
    bookkeeping = frozenset({"nominal_mm"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(hidden, profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = NvSensorNetwork()
__all__ = ["QTYPE"]
