"""Two or four transmons with local drives and one common decay channel, which can hold pairs of them in an entangled state."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.driven_dissipative_transmon_array import draw as drawing
from qtypes.driven_dissipative_transmon_array.device import Hidden, Profile, Spec, spec_of
from qtypes.driven_dissipative_transmon_array.experiments import RunDecayProbe, RunDriveEvolve


class DrivenDissipativeTransmonArray(QType[Spec, Hidden]):
    """Dissipative stabilisation: drives and a shared bath, bits of product measurements."""

    name = "driven_dissipative_transmon_array"
    title = "Driven transmons that share an engineered decay channel"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunDriveEvolve, RunDecayProbe)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = DrivenDissipativeTransmonArray()
__all__ = ["QTYPE"]
