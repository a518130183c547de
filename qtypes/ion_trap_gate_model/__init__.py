"""An eight-ion processor with all-to-all XX gates, operated by native circuits."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.ion_trap_gate_model import draw as drawing
from qtypes.ion_trap_gate_model.device import Hidden, Profile, Spec, spec_of
from qtypes.ion_trap_gate_model.experiments import RunCircuits, RunReadoutCalibration


class IonTrapGateModel(QType[Spec, Hidden]):
    """Eight ions, any two of which may be entangled by any angle."""

    name = "ion_trap_gate_model"
    title = "Eight-ion gate processor with all-to-all partial-angle XX gates"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunCircuits, RunReadoutCalibration)
    drifts = True
    public = frozenset({"target", "table_e0", "table_e1"})  # the tables: by the notebook
    bookkeeping = frozenset({"table_e0", "table_e1"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(hidden, profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, profile, today)


QTYPE = IonTrapGateModel()
__all__ = ["QTYPE"]
