"""Three or four qubits in an environment that nobody has characterised.

blackbox_lindblad_dynamics: a hidden Hamiltonian, decay, excitation and correlated dephasing; free evolution between product states and
Pauli bases. See README.md.
"""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes import Notebook, QType
from qtypes.blackbox_lindblad_dynamics.device import Hidden, Profile, Spec, draw, notebook, public_spec
from qtypes.blackbox_lindblad_dynamics.experiments import RunEvolution, RunReadoutCalibration, Setting


class BlackboxLindbladDynamics(QType[Spec, Hidden]):
    """Hidden are the terms of a Lindblad generator, among them a dephasing that two neighbours share, and the readout errors."""

    name = "blackbox_lindblad_dynamics"
    title = "A small register with an unknown Lindblad generator"
    Spec, Hidden, Profile = Spec, Hidden, Profile
    experiments = (RunEvolution, RunReadoutCalibration)

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return public_spec(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return notebook(hidden, rng, profile, today)


QTYPE = BlackboxLindbladDynamics()

__all__ = ["QTYPE", "Hidden", "Profile", "RunEvolution", "RunReadoutCalibration", "Setting", "Spec"]
