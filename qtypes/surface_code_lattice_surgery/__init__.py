"""Transmon processor with three surface-code patches for lattice surgery and a memory patch."""

from __future__ import annotations

import datetime as dt

import numpy as np

from lab.conventions import CANON
from qtypes.contract import Material, Notebook, QType
from qtypes.surface_code_lattice_surgery import device, materials
from qtypes.surface_code_lattice_surgery.experiments import EXPERIMENTS, QUERIES


class SurfaceCodeLatticeSurgery(QType[device.Spec, device.Hidden]):
    """114 transmons: patches C, I, T (distance 3) joined by a ZZ and an XX seam, memory patch M (distance 5)."""

    name = "surface_code_lattice_surgery"
    title = "Surface-code lattice surgery on 114 transmons"
    Spec = device.Spec
    Hidden = device.Hidden
    Profile = device.Profile
    experiments = EXPERIMENTS
    queries = QUERIES
    drifts = True

    def draw(self, rng: np.random.Generator, profile: device.Profile) -> device.Hidden:
        return device.draw(rng)

    def spec(self, hidden: device.Hidden, profile: device.Profile) -> device.Spec:
        return device.public_spec(CANON)

    def notebook(self, hidden: device.Hidden, rng: np.random.Generator, profile: device.Profile, today: dt.date) -> Notebook:
        return device.notebook(rng, today)

    def materials(self, spec: device.Spec, profile: device.Profile) -> tuple[Material, ...]:
        return materials.materials(spec)


QTYPE = SurfaceCodeLatticeSurgery()
