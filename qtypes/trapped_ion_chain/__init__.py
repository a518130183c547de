"""A chain of five ions: transverse modes, sidebands, and two-tone pulses that entangle a pair."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.trapped_ion_chain import draw as drawing
from qtypes.trapped_ion_chain.device import Hidden, Profile, Spec, spec_of
from qtypes.trapped_ion_chain.experiments import RunMsGate, RunRabi, RunRamsey, RunReference, RunSidebandScan


class TrappedIonChain(QType[Spec, Hidden]):
    """Five ions, driven in pairs by segmented two-tone pulses."""

    name = "trapped_ion_chain"
    title = "Five-ion chain with transverse modes and segmented two-tone pulses on a pair"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunSidebandScan, RunRabi, RunRamsey, RunReference, RunMsGate)
    drifts = True
    bookkeeping = frozenset({"notebook_modes_khz"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return spec_of()

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)


QTYPE = TrappedIonChain()
__all__ = ["QTYPE"]
