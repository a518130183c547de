"""A 60-qubit programmable processor seen only through its classical inputs."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

import numpy as np

from qtypes.blackbox_boundedgate_circuit import device
from qtypes.blackbox_boundedgate_circuit.device import Hidden, Profile, Spec
from qtypes.blackbox_boundedgate_circuit.experiments import MAX_SHOTS_PER_JOB, RunMeasure, RunReadoutCal
from qtypes.contract import Notebook, QType

__all__ = ["QTYPE", "Hidden", "Profile", "RunMeasure", "RunReadoutCal", "Spec"]


class BlackboxBoundedgateCircuit(QType[Spec, Hidden]):
    """See the README of this folder."""

    name: ClassVar[str] = "blackbox_boundedgate_circuit"
    title: ClassVar[str] = "60-qubit black-box processor with six classical inputs"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    experiments = (RunMeasure, RunReadoutCal)

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return device.draw(rng)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        return Spec(
            n_qubits=device.N_QUBITS,
            n_inputs=device.N_INPUTS,
            input_range_rad=(-np.pi, np.pi),
            n_rotations=device.N_ROTATIONS,
            rotations_per_input=device.ROTATIONS_PER_INPUT,
            angle_law="theta = +x_a or -x_a with x_a the input that drives the rotation exp(-i theta P / 2), P one of X, Y, Z on one qubit",
            circuit="fixed Clifford gates on a ring of 60 qubits, rotations in between; no gate errors; constant during the session",
            initial_state="all qubits in |0>",
            readout="independent per qubit, asymmetric (p(1|0) and p(0|1) differ), below 5 %, constant during the session",
            max_shots_per_job=MAX_SHOTS_PER_JOB,
            held_out_inputs=profile.held_out_inputs,
        )

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        return device.notebook(hidden, rng, today)

    def challenge(self, hidden: Hidden, rng: np.random.Generator, profile: Profile) -> dict[str, Any]:
        return device.held_out(rng, profile.held_out_inputs)


QTYPE = BlackboxBoundedgateCircuit()
