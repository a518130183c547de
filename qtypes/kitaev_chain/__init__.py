"""Two quantum dots coupled through an Andreev bound state: a Kitaev chain of two sites, seen by charge sensors."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.kitaev_chain import draw as drawing
from qtypes.kitaev_chain.device import Hidden, Profile, Spec, spec_of
from qtypes.kitaev_chain.experiments import RunChargeMap, RunLineCut, RunParityTimeTrace


class KitaevChain(QType[Spec, Hidden]):
    """Charge sensing of a two-site chain at finite temperature."""

    name = "kitaev_chain"
    title = "Two quantum dots coupled through an Andreev bound state"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunChargeMap, RunLineCut, RunParityTimeTrace)
    drifts = True
    public = frozenset({"thermometer_mk", "lever_nominal_uev_per_mv"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(hidden, profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = KitaevChain()
__all__ = ["QTYPE"]
