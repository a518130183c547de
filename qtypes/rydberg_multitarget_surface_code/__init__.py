"""Neutral-atom surface code whose stabilisers are measured by multi-target Rydberg pulses."""

from __future__ import annotations

import datetime as dt

import numpy as np

from lab.conventions import CANON
from qtypes.contract import Material, Notebook, QType
from qtypes.rydberg_multitarget_surface_code import device, materials
from qtypes.rydberg_multitarget_surface_code.experiments import EXPERIMENTS, QUERIES


class RydbergMultitargetSurfaceCode(QType[device.Spec, device.Hidden]):
    """49 atoms: a d = 5 rotated code, one ancilla per plaquette that is pulsed with all of its targets at once."""

    name = "rydberg_multitarget_surface_code"
    title = "Surface code with multi-target Rydberg pulses on 49 atoms"
    Spec = device.Spec
    Hidden = device.Hidden
    Profile = device.Profile
    experiments = EXPERIMENTS
    queries = QUERIES

    def draw(self, rng: np.random.Generator, profile: device.Profile) -> device.Hidden:
        return device.draw(rng)

    def spec(self, hidden: device.Hidden, profile: device.Profile) -> device.Spec:
        return device.public_spec(CANON)

    def notebook(self, hidden: device.Hidden, rng: np.random.Generator, profile: device.Profile, today: dt.date) -> Notebook:
        return device.notebook(rng, today)

    def materials(self, spec: device.Spec, profile: device.Profile) -> tuple[Material, ...]:
        return materials.materials(spec)


QTYPE = RydbergMultitargetSurfaceCode()
