"""The three oracles as counted queries: each answered call is one attempt, logged with its circuit and its verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field

from qtypes.contract import Cost, Device, Experiment, Query
from qtypes.stabilizer_codes import circuits, scoring
from qtypes.stabilizer_codes.scoring import Mark, Task, Verdict


class _Oracle(Query):
    task: ClassVar[Task]

    circuit: str = Field(min_length=1, max_length=circuits.MAX_BYTES, description="stim text, or OpenQASM 3 text that begins with OPENQASM")

    @classmethod
    def examples(cls, spec: Any) -> tuple[Self, ...]:
        return (cls(circuit=spec.baseline or "H 0\n"),)

    def cost(self) -> Cost:
        return Cost.of(attempts=1)

    def admit(self, spec: Any) -> None:
        circuits.parse(self.circuit, spec.n, flags=scoring.admits_flags(self.task))

    def verdict(self, device: Device) -> Verdict:
        """What the oracle finds, in full. Graders call it on the logged request."""
        from qtypes.stabilizer_codes.device import code_of

        circuit = circuits.parse(self.circuit, device.spec.n, flags=scoring.admits_flags(self.task))
        return scoring.judge(self.task, circuit, code_of(device.hidden))

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        found = self.verdict(device)
        return {
            "valid": found.valid, "satisfied": found.satisfied, "listed": found.listed, "expectations": list(found.expectations),
            "published": _mark(found.published), "corrected": None if found.corrected is None else _mark(found.corrected),
            "details": dict(found.details), "sha256": hashlib.sha256(self.circuit.encode()).hexdigest(),
        }  # fmt: skip


def _mark(mark: Mark) -> dict[str, Any]:
    return {"success": mark.success, "quality": mark.quality, "weight": mark.weight, "capability": mark.capability, "score": mark.score}


class CheckStabilizers(_Oracle):
    """Say of each generator whether the circuit's output is a +1 eigenstate of it; one attempt.

    The circuit starts in |0...0> on the n data qubits, and consists of one- and two-qubit Clifford gates on them. Anything else is refused
    by name and costs nothing. `expectations` are +1, 0 (random) or -1, in the order of the generators.
    """

    tool: ClassVar[str] = "check_stabilizers"
    task: ClassVar[Task] = "preparation"


class EvaluateOptimization(_Oracle):
    """Check the generators and compare the costs of a circuit with the baseline's; one attempt.

    `details` holds for both: `g2q` (two-qubit gates, each 1), `entangling` (the CX gates they stand for: SWAP 3), `depth`. A success is
    valid and strictly cheaper: fewer two-qubit gates, or as many and less depth.
    """

    tool: ClassVar[str] = "evaluate_optimization"
    task: ClassVar[Task] = "optimization"


class CheckFaultTolerance(_Oracle):
    """Check the generators and follow every single fault of a circuit with flags; one attempt.

    Flags are qubits n, n+1, ... without gaps, each measured once by `M` after the last gate, and 0 with certainty without a fault.
    `details` holds for both scorings the number of faults, of dangerous ones and of those that no flag shows, and FT; they are missing for
    a circuit that is not valid.
    """

    tool: ClassVar[str] = "check_fault_tolerance"
    task: ClassVar[Task] = "fault_tolerance"
