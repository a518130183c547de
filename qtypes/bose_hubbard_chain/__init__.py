"""Six transmons as an attractive Bose-Hubbard chain.

bose_hubbard_chain: quenches of up to four bosons, read by level on all sites or by homodyne detection on one. See README.md.
"""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes import Notebook, QType
from qtypes.bose_hubbard_chain.device import Hidden, Profile, Spec, draw, notebook, public_spec
from qtypes.bose_hubbard_chain.experiments import RunLevelReference, RunOccupation, RunQuadrature


class BoseHubbardChain(QType[Spec, Hidden]):
    """Hidden are couplings, interactions, site energies (which drift), a switch-on delay, loss, dephasing and the readout."""

    name = "bose_hubbard_chain"
    title = "Six transmons as a Bose-Hubbard chain"
    Spec, Hidden, Profile = Spec, Hidden, Profile
    experiments = (RunOccupation, RunQuadrature, RunLevelReference)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return public_spec(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return notebook(hidden, rng, profile, today)


QTYPE = BoseHubbardChain()

__all__ = ["QTYPE", "Hidden", "Profile", "RunLevelReference", "RunOccupation", "RunQuadrature", "Spec"]
