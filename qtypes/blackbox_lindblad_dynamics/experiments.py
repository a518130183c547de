"""The experiments: each class is a request, a tool of the agent, and the way to run it."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from qtypes import AgentError, Array, Clock, Cost, Device, Experiment, Part, Record, quantity
from qtypes.blackbox_lindblad_dynamics.device import LOAD_S, MAX_JOB_SHOTS, MAX_SETTINGS, MAX_T_US, REP_US, STEP_US, Hidden, Spec
from qtypes.blackbox_lindblad_dynamics.physics import outcome_matrix, parity_rows, product_state, propagators, sampled

MAX_SHOTS = 10_000
MAX_STATES = 16
_EXAMPLES = {3: (("0+r", "XYZ"), ("1l-", "ZZX"), ("+++", "YXX")), 4: (("0+r1", "XYZY"), ("1l-+", "ZZXX"), ("++++", "YXXY"))}


class Setting(Part):
    """Preparation, duration and measurement of one evolution."""

    state: str = Field(
        description="letter q of 0, 1, +, -, r, l: eigenstate in which qubit q begins", pattern="^[01+rl-]{3,4}$", max_length=4
    )
    t_us: float = quantity("us", "duration, a multiple of 0.05 us", ge=0, le=MAX_T_US)
    basis: str = Field(description="letter q of X, Y, Z: axis along which qubit q is measured", pattern="^[XYZ]{3,4}$", max_length=4)

    @property
    def steps(self) -> int:
        """Duration in steps of the sequencer."""
        return round(self.t_us / STEP_US)


def _check_shots(shots: int, settings: int, spec: Spec) -> None:
    if shots * settings > spec.max_job_shots:
        raise AgentError("too many shots in one job", field="shots", got=shots * settings, limit=spec.max_job_shots, unit="shots")


def _check_length(text: str, field: str, spec: Spec) -> None:
    if len(text) != spec.qubits:
        raise AgentError("one letter for each qubit is required", field=field, got=len(text), limit=spec.qubits, unit="letters")


class RunEvolution(Experiment):
    """Prepare a product state, let it evolve freely for `t_us`, measure each qubit along its axis; for each of the settings.

    Returns `bits` uint8 (settings, shots, qubits), 0 where the eigenvalue is read as +1. Costs settings x shots `shots`, their total
    duration in us as `evolution_us`, one `jobs`, and lab time: the evolution, 50 us per shot and 2 ms per setting.
    """

    tool: ClassVar[str] = "run_evolution"

    settings: tuple[Setting, ...] = Field(description="what is run, in this order", min_length=1, max_length=MAX_SETTINGS)
    shots: int = quantity("1", "repetitions of each setting", ge=1, le=MAX_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunEvolution, ...]:
        rows = _EXAMPLES[spec.qubits]
        return (
            cls(settings=tuple(Setting(state=s, t_us=t, basis=b) for s, b in rows for t in (0.4, 2.0, 6.0)), shots=400),
            cls(settings=tuple(Setting(state=s, t_us=1.2, basis=b) for s, _ in rows for _, b in rows), shots=1000),
        )

    def evolution_us(self) -> float:
        """Total duration of all shots."""
        return round(self.shots * sum(s.steps for s in self.settings) * STEP_US, 6)

    def cost(self) -> Cost:
        n = len(self.settings) * self.shots
        lab_s = len(self.settings) * LOAD_S + (n * REP_US + self.evolution_us()) * 1e-6
        return Cost.of(shots=n, evolution_us=self.evolution_us(), jobs=1, lab_s=lab_s)

    def admit(self, spec: Spec) -> None:
        for k, s in enumerate(self.settings):
            _check_length(s.state, f"settings.{k}.state", spec)
            _check_length(s.basis, f"settings.{k}.basis", spec)
            if abs(s.t_us - s.steps * STEP_US) > 1e-6:
                raise AgentError(
                    "the duration is no multiple of the step", field=f"settings.{k}.t_us", got=s.t_us, limit=spec.step_us, unit="us"
                )
        _check_shots(self.shots, len(self.settings), spec)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        steps = [s.steps for s in self.settings]
        by_time = propagators(hidden.generator(), [k * STEP_US for k in steps])
        evolved: dict[tuple[int, str], np.ndarray] = {}
        parities = []
        for k, s in zip(steps, self.settings, strict=True):
            if (k, s.state) not in evolved:
                evolved[k, s.state] = by_time[k * STEP_US] @ product_state(s.state)
            parities.append(evolved[k, s.state][parity_rows(s.basis)])
        read = np.array(parities) @ outcome_matrix(hidden.false_1, hidden.false_0).T
        bits = Array(sampled(rng, read, self.shots), "1", ("setting", "shot", "qubit"), "0 is eigenvalue +1 along the axis of the qubit")
        return Record({"bits": bits}, {"settings": len(steps), "shots": len(steps) * self.shots})


class RunReadoutCalibration(Experiment):
    """Prepare computational basis states and read them at once.

    Returns `bits` uint8 (states, shots, qubits). Costs states x shots `readout_shots`, one `jobs`, and 2 ms per state and 50 us per shot of
    lab time.
    """

    tool: ClassVar[str] = "run_readout_calibration"

    states: tuple[Annotated[str, Field(pattern="^[01]{3,4}$", max_length=4)], ...] = Field(
        description="bit strings, character q is qubit q", min_length=1, max_length=MAX_STATES
    )
    shots: int = quantity("1", "repetitions of each state", ge=1, le=MAX_JOB_SHOTS)

    @classmethod
    def examples(cls, spec: Spec) -> tuple[RunReadoutCalibration, ...]:
        return (cls(states=("0" * spec.qubits, "1" * spec.qubits), shots=2000),)

    def cost(self) -> Cost:
        n = len(self.states) * self.shots
        return Cost.of(readout_shots=n, jobs=1, lab_s=len(self.states) * LOAD_S + n * REP_US * 1e-6)

    def admit(self, spec: Spec) -> None:
        for k, state in enumerate(self.states):
            _check_length(state, f"states.{k}", spec)
        _check_shots(self.shots, len(self.states), spec)

    def run(self, device: Device, clock: Clock, rng: np.random.Generator) -> Record:
        hidden: Hidden = device.hidden
        parities = np.array([product_state(s)[parity_rows("Z" * len(s))] for s in self.states])
        read = parities @ outcome_matrix(hidden.false_1, hidden.false_0).T
        return Record(
            {"bits": Array(sampled(rng, read, self.shots), "1", ("state", "shot", "qubit"), "as read: 0 is |0>")},
            {"states": len(self.states), "shots": len(self.states) * self.shots},
        )
