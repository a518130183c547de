"""A six-qubit gate-model processor, operated by OpenQASM 3 programs."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Material, Notebook, QType
from qtypes.digital_gate_model import draw as drawing
from qtypes.digital_gate_model import materials
from qtypes.digital_gate_model.device import SPEC, Hidden, Profile, Spec
from qtypes.digital_gate_model.experiments import CalibrationSnapshot, RunCircuits


class DigitalGateModel(QType[Spec, Hidden]):
    """Six transmons behind a circuit interface."""

    name = "digital_gate_model"
    title = "Six-qubit gate-model processor with OpenQASM 3 programs"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunCircuits,)
    queries = (CalibrationSnapshot,)
    drifts = True

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return drawing.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return SPEC

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return drawing.notebook(hidden, rng, profile, today)

    def materials(self, spec: Spec, profile: Profile) -> tuple[Material, ...]:
        if not profile.trotter_circuit:
            return ()
        text = materials.trotter_circuit()
        return (Material("trotter.qasm", "box_1 and four Trotter steps on qubits 0 to 4, in the native set", text, "text/plain"),)


QTYPE = DigitalGateModel()
__all__ = ["QTYPE"]
