"""Logical T states: a factory of 24 slots with one level of distillation, or one post-selected supply."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

import numpy as np

from qtypes import seeds
from qtypes.contract import Material, Notebook, QType
from qtypes.errors import TaskError
from qtypes.logical_magic_factory import device
from qtypes.logical_magic_factory.device import Hidden, Profile, Spec
from qtypes.logical_magic_factory.experiments import EXPERIMENTS, RunDistill, RunInjectTomography, RunTeleportChain


class LogicalMagicFactory(QType[Spec, Hidden]):
    """Steane blocks at the level of logical errors: injection, teleported gates, 15-to-1 and 7-to-1 distillation."""

    name: ClassVar[str] = "logical_magic_factory"
    title: ClassVar[str] = "Magic states: preparation, consumption, distillation"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = EXPERIMENTS

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return device.draw(rng, profile)

    def practice(self, profile: Profile) -> Hidden:
        """The public instance of the race."""
        if profile.instance != "factory":
            raise TaskError(f"{self.name} has a practice instance of the factory only")
        return device.draw(seeds.generator(seeds.root_from(b"practice/logical_magic_factory"), "device"), profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return device.public_spec(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, rng, profile, today)

    def materials(self, spec: Spec, profile: Profile) -> tuple[Material, ...]:
        return device.materials()


QTYPE = LogicalMagicFactory()

__all__ = ["QTYPE", "Hidden", "Profile", "RunDistill", "RunInjectTomography", "RunTeleportChain", "Spec"]
