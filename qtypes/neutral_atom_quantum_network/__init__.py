"""Two neutral-atom nodes with heralded Bell pairs, noisy local oscillators and a metered classical channel."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.neutral_atom_quantum_network import device
from qtypes.neutral_atom_quantum_network.device import Hidden, Profile, Spec
from qtypes.neutral_atom_quantum_network.experiments import EXPERIMENTS, QUERIES, RequestBits, RunEntangled, RunPairTomography, RunSeparable


class NeutralAtomQuantumNetwork(QType[Spec, Hidden]):
    """The laboratory is node A; what node B reads stays there until its transfer is paid for."""

    name: ClassVar[str] = "neutral_atom_quantum_network"
    title: ClassVar[str] = "Two nodes with heralded pairs and a metered classical channel"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = EXPERIMENTS
    queries = QUERIES
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return device.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return device.public_spec(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, rng, today)


QTYPE = NeutralAtomQuantumNetwork()

__all__ = ["QTYPE", "Hidden", "Profile", "RequestBits", "RunEntangled", "RunPairTomography", "RunSeparable", "Spec"]
