"""Rotated surface-code memories on a grid of transmons with uneven noise, crosstalk, drift and bursts."""

from __future__ import annotations

import datetime as dt

import numpy as np

from lab.conventions import CANON
from qtypes import seeds
from qtypes.contract import Material, Notebook, QType
from qtypes.errors import TaskError
from qtypes.surface_code_memory import device, materials, notebook
from qtypes.surface_code_memory.experiments import EXPERIMENTS, QUERIES


class SurfaceCodeMemory(QType[device.Spec, device.Hidden]):
    """A square of transmons, 49 to 161 qubits; any odd rectangle of data qubits is a rotated surface-code patch."""

    name = "surface_code_memory"
    title = "Surface-code memory on an uneven transmon grid"
    Spec = device.Spec
    Hidden = device.Hidden
    Profile = device.Profile
    experiments = EXPERIMENTS
    queries = QUERIES
    drifts = True

    def draw(self, rng: np.random.Generator, profile: device.Profile) -> device.Hidden:
        return device.draw(rng, profile)

    def practice(self, profile: device.Profile) -> device.Hidden:
        """The public instance of the race."""
        if profile.notebook != "rewired":
            raise TaskError(f"{self.name} has a practice instance of the race only")
        return device.draw(seeds.generator(seeds.root_from(b"practice/surface_code_memory"), "device"), profile)

    def spec(self, hidden: device.Hidden, profile: device.Profile) -> device.Spec:
        return device.public_spec(profile, CANON)

    def notebook(self, hidden: device.Hidden, rng: np.random.Generator, profile: device.Profile, today: dt.date) -> Notebook:
        return notebook.notebook(hidden, rng, profile, today)

    def materials(self, spec: device.Spec, profile: device.Profile) -> tuple[Material, ...]:
        return materials.materials(spec, profile)


QTYPE = SurfaceCodeMemory()
