"""Three transmons in a ring of parametrically modulated couplers, with a synthetic flux through the loop."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.gmon_ring_3q import draw as drawing
from qtypes.gmon_ring_3q.device import Hidden, Profile, Spec, spec_of
from qtypes.gmon_ring_3q.experiments import RunPairSwap, RunRamseyUnderModulation, RunRingEvolution


class GmonRing(QType[Spec, Hidden]):
    """Chiral motion in a synthetic field: tones on three couplers, bits of three qubits."""

    name = "gmon_ring_3q"
    title = "Three transmons in a ring of modulated couplers"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunRingEvolution, RunPairSwap, RunRamseyUnderModulation)
    drifts = True
    public: ClassVar[frozenset[str]] = frozenset({"nominal_mhz"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of(hidden, profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = GmonRing()
__all__ = ["QTYPE"]
