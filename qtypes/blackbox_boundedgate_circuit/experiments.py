"""Experiments: shots of the circuit at chosen inputs and bases, and readout calibration."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from qtypes.blackbox_boundedgate_circuit.device import N_INPUTS, N_QUBITS
from qtypes.blackbox_boundedgate_circuit.sampling import read_out, sample_words
from qtypes.contract import Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.errors import AgentError

MAX_SETTINGS = 4000
MAX_SHOTS = 200_000
MAX_SHOTS_PER_JOB = 1_000_000
SHOT_S = 200e-6
SETTING_S = 0.05
PI = 3.1415926536  # math.pi written with ten decimals must pass
LAYOUT = "packed little-endian: qubit q is bit q % 8 of byte q // 8, bits 60..63 are 0"


def _rectangular(n: int, shots: int, field: str) -> None:
    if n * shots > MAX_SHOTS_PER_JOB:
        raise AgentError("too many shots in one job", field=field, got=n * shots, limit=MAX_SHOTS_PER_JOB, unit="shots")


class Setting(Part):
    """One point of the machine: classical inputs and readout basis."""

    x: tuple[float, ...] = quantity("rad", "the six inputs x_1..x_6, each in [-pi, pi]", min_length=N_INPUTS, max_length=N_INPUTS)
    basis: str = quantity("1", "60 letters X, Y or Z, one per qubit; all Z where left out", pattern=r"^[XYZ]{60}$", max_length=N_QUBITS,
                          default="Z" * N_QUBITS)  # fmt: skip


class RunMeasure(Experiment):
    """Run the circuit and read out all 60 qubits, shot by shot.

    Give up to 4000 settings, each with six inputs x (rad) and a 60-letter readout basis, and one number of shots that holds for every
    setting of the job (use several jobs for different numbers of shots). Returns `bits`, uint8 of shape (n_settings, shots, 8): qubit q of
    a shot is bit q % 8 (least significant first) of byte q // 8; 0 is the +1 eigenstate of the measured Pauli operator, |0> in the Z basis.
    Charged: settings * shots `shots`, one `settings` per listed setting (repeated ones too), one job.
    """

    tool: ClassVar[str] = "run_measure"
    settings: tuple[Setting, ...] = quantity("1", "settings, measured in this order", min_length=1, max_length=MAX_SETTINGS)
    shots: int = quantity("1", "shots per setting", ge=1, le=MAX_SHOTS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunMeasure, ...]:
        zero, tilted = (0.0,) * N_INPUTS, (0.3, -0.7, 1.1, -1.9, 2.3, -2.9)
        rotated = Setting(x=tilted, basis="XYZ" * (N_QUBITS // 3))
        return cls(settings=(Setting(x=zero), Setting(x=tilted)), shots=100), cls(settings=(rotated,), shots=100)

    def cost(self) -> Cost:
        n = len(self.settings)
        return Cost.of(shots=n * self.shots, settings=n, jobs=1, lab_s=n * (SETTING_S + self.shots * SHOT_S))

    def admit(self, spec: object) -> None:
        for k, setting in enumerate(self.settings):
            for a, value in enumerate(setting.x):
                if abs(value) > PI:
                    raise AgentError("an input lies outside [-pi, pi]", field=f"settings.{k}.x.{a}", got=value, limit=PI, unit="rad")
        _rectangular(len(self.settings), self.shots, "shots")

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden = device.hidden
        x = np.array([s.x for s in self.settings])
        by_basis: dict[str, list[int]] = {}
        for k, setting in enumerate(self.settings):
            by_basis.setdefault(setting.basis, []).append(k)
        words = sample_words(hidden.circuit, x, by_basis, self.shots, rng)
        bits = read_out(words, np.array(hidden.p1_given_0), np.array(hidden.p0_given_1), rng)
        return Record(
            {"bits": Array(bits, "1", ("setting", "shot", "byte"), LAYOUT)},
            {"settings": len(x), "shots_per_setting": self.shots, "bases": len(by_basis)},
        )


class RunReadoutCal(Experiment):
    """Prepare known computational basis states instead of the circuit, and read them out in the Z basis.

    Give bit strings of 60 characters 0 or 1 (character q is qubit q; preparation errors are negligible) and one number of shots that holds
    for each of them. Returns `bits`, uint8 of shape (n_states, shots, 8), packed as in run_measure. Charged: states * shots `shots`, one
    job, no settings.
    """

    tool: ClassVar[str] = "run_readout_cal"
    states: tuple[str, ...] = quantity("1", "prepared basis states, 60 characters 0 or 1 each", min_length=1, max_length=200)
    shots: int = quantity("1", "shots per state", ge=1, le=MAX_SHOTS)

    @classmethod
    def examples(cls, spec: Any) -> tuple[RunReadoutCal, ...]:
        return (cls(states=("0" * N_QUBITS, "1" * N_QUBITS), shots=200),)

    def cost(self) -> Cost:
        n = len(self.states)
        return Cost.of(shots=n * self.shots, jobs=1, lab_s=n * (SETTING_S + self.shots * SHOT_S))

    def admit(self, spec: object) -> None:
        for k, state in enumerate(self.states):
            if len(state) != N_QUBITS or set(state) - {"0", "1"}:
                raise AgentError("a state is 60 characters 0 or 1", field=f"states.{k}", got=state, limit=N_QUBITS, unit="characters")
        _rectangular(len(self.states), self.shots, "shots")

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        prepared = np.array([int(state[::-1], 2) for state in self.states], dtype=np.uint64)
        words = np.repeat(prepared[:, None], self.shots, axis=1)
        bits = read_out(words, np.array(device.hidden.p1_given_0), np.array(device.hidden.p0_given_1), rng)
        return Record(
            {"bits": Array(bits, "1", ("state", "shot", "byte"), LAYOUT)}, {"states": len(self.states), "shots_per_state": self.shots}
        )
