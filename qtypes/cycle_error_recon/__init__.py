"""Five qubits, one hard cycle with two CZ gates at once, and its Pauli errors.

cycle_error_recon: twirled repetitions of CZ(0,1) CZ(2,3) I(4) with a sparse Pauli-Lindblad noise. See README.md.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from qtypes import Notebook, QType
from qtypes.cycle_error_recon.device import Hidden, Profile, Spec, draw, held_out, notebook, public_spec
from qtypes.cycle_error_recon.experiments import RunCycleSequence, RunReadoutReference


class CycleErrorRecon(QType[Spec, Hidden]):
    """Hidden are the error rates of the cycle, two of them between qubits that are not neighbours, and SPAM; one rate drifts."""

    name = "cycle_error_recon"
    title = "Five transmons and a cycle of two CZ gates"
    Spec, Hidden, Profile = Spec, Hidden, Profile
    experiments = (RunCycleSequence, RunReadoutReference)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return public_spec(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return notebook(hidden, rng, profile, today)

    def challenge(self, hidden: Hidden, rng: np.random.Generator, profile: Profile) -> dict[str, Any]:
        return held_out(rng)


QTYPE = CycleErrorRecon()

__all__ = ["QTYPE", "Hidden", "Profile", "RunCycleSequence", "RunReadoutReference", "Spec"]
