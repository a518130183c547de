"""Resource estimation for a surface-code machine: a report to be audited, or a design to be laid out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import ClassVar

import numpy as np

from qtypes.contract import Material, Notebook, QType
from qtypes.errors import TaskError
from qtypes.ftqc_resource_estimation import cost, device
from qtypes.ftqc_resource_estimation.device import Hidden, Profile, Spec
from qtypes.ftqc_resource_estimation.experiments import Evaluate, LevelOfUnits, RunPilotMemory


class FtqcResourceEstimation(QType[Spec, Hidden]):
    """A static cost model with a pilot memory: surface-code tiles and 15-to-1 factories."""

    name: ClassVar[str] = "ftqc_resource_estimation"
    title: ClassVar[str] = "Resources of a fault-tolerant computation"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunPilotMemory,)
    queries = (Evaluate,)
    public = frozenset({
        "algorithm", "machine", "pair", "report", "qubit_cap", "limit_qubit_s", "filed.prefactor", "filed.suppression", "filed.qubit_cap",
        *(f"algorithm.{n}" for n in device.Algorithm.model_fields), *(f"machine.{n}" for n in device.Machine.model_fields),
    })  # fmt: skip

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return device.draw(rng, profile)

    def practice(self, profile: Profile) -> Hidden:
        if profile.instance != "race":
            raise TaskError(f"{self.name} has a practice instance of the race only")
        return device.practice()

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return device.public_spec(hidden, profile)

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, today)

    def materials(self, spec: Spec, profile: Profile) -> tuple[Material, ...]:
        folder = Path(__file__).parent
        model = Material("cost.py", "cost model of designs: the code that `evaluate` runs", Path(cost.__file__).read_text(encoding="utf-8"),
                         "text/x-python")  # fmt: skip
        if profile.instance == "race":
            return (model,)
        return (Material("lines.txt", "the 14 lines of the report", (folder / "lines.txt").read_text(encoding="ascii")), model)


QTYPE = FtqcResourceEstimation()

__all__ = ["QTYPE", "Evaluate", "Hidden", "LevelOfUnits", "Profile", "RunPilotMemory", "Spec"]
