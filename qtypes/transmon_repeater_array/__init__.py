"""A repeater of four transmon nodes: Bell pairs over three links, swapping, purification."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

import numpy as np

from qtypes.contract import Notebook, QType
from qtypes.transmon_repeater_array import device
from qtypes.transmon_repeater_array.device import Hidden, Link, Profile, Spec
from qtypes.transmon_repeater_array.experiments import EXPERIMENTS, RunEndToEnd, RunLinkPairs, RunPurify, RunReadoutReference


class TransmonRepeaterArray(QType[Spec, Hidden]):
    """Raw pairs with biased Pauli errors that neighbours in time have in common; memories that dephase."""

    name: ClassVar[str] = "transmon_repeater_array"
    title: ClassVar[str] = "A line of four nodes that share Bell pairs: links, swapping, purification"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = EXPERIMENTS

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return device.draw(rng, profile)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return device.public_spec(profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, rng, today)


QTYPE = TransmonRepeaterArray()

__all__ = ["QTYPE", "Hidden", "Link", "Profile", "RunEndToEnd", "RunLinkPairs", "RunPurify", "RunReadoutReference", "Spec"]
