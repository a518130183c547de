"""The one request of this qtype: have a circuit checked and counted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from lab.conventions import tcount
from qtypes.contract import Cost, Device, Experiment, Query
from qtypes.errors import AgentError
from qtypes.logical_circuit_optimizer import physics


def parse(text: str, n_qubits: int) -> tcount.Circuit:
    """The circuit of `text`; :class:`AgentError` names line and token of the first fault."""
    try:
        return tcount.parse(text, n_qubits)
    except tcount.QasmError as fault:
        raise AgentError(f"not a circuit of the grammar: {fault}", field="circuit", got=fault.token, limit=fault.reason,
                         code="invalid-circuit") from None  # fmt: skip


class Evaluate(Query):
    """Check one circuit against the baseline and count its cost; each answered call uses one `evaluate_calls`.

    `circuit` is OpenQASM 2 text over {h, s, sdg, x, z, t, tdg, cx, cz} on one register of the baseline's size, at most 20000 gates and
    1 MB; a text outside this grammar is refused with line and token and is not charged. The result holds `valid`, `equivalent` (equal to
    the baseline up to one global phase, by state vectors), `t_count`, `t_depth`, `cx_count`, `cx_depth`, `gates`, `metric` and the
    `sha256` of the text. The circuit that is submitted in the end must have been evaluated, byte for byte, in the same session.
    """

    tool: ClassVar[str] = "evaluate"
    circuit: str = Field(min_length=1, max_length=tcount.MAX_BYTES, description="OpenQASM 2 text of the circuit")

    @classmethod
    def examples(cls, spec: Any) -> tuple[Evaluate, ...]:
        return (cls(circuit=spec.baseline),)

    def cost(self) -> Cost:
        return Cost.of(evaluate_calls=1)

    def admit(self, spec: Any) -> None:
        parse(self.circuit, spec.n_qubits)

    def answer(
        self, device: Device, record: Mapping[str, np.ndarray] | None, source: Experiment | None, rng: np.random.Generator
    ) -> dict[str, Any]:
        candidate = parse(self.circuit, device.spec.n_qubits)
        baseline = tcount.parse(device.hidden.baseline)
        cost = tcount.counts(candidate)
        return {
            "valid": True, "equivalent": physics.compare(candidate, baseline, rng).equivalent, "t_count": cost.t_count,
            "t_depth": cost.t_depth, "cx_count": cost.cx_count, "cx_depth": cost.cx_depth, "gates": cost.gates,
            "metric": tcount.metric(cost), "sha256": hashlib.sha256(self.circuit.encode()).hexdigest(),
        }  # fmt: skip
