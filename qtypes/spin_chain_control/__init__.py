"""Three exchange-coupled spins with filtered, crosstalking control lines, for the transfer of a quantum state along the chain."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.spin_chain_control import draw as drawing
from qtypes.spin_chain_control.device import Hidden, Profile, Spec, spec_of
from qtypes.spin_chain_control.experiments import RunControl, RunReadoutCal


class SpinChainControl(QType[Spec, Hidden]):
    """Shaped detunings of coupled spins, bits of product measurements."""

    name = "spin_chain_control"
    title = "A chain of three exchange-coupled spins with shaped detunings"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunControl, RunReadoutCal)
    drifts = False

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = SpinChainControl()
__all__ = ["QTYPE"]
