"""Baseline circuits, what is published about them, and the notebook."""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from lab.conventions import tcount
from qtypes.contract import Material, Notebook, NotebookEntry, Part, QType, quantity
from qtypes.errors import TaskError
from qtypes.logical_circuit_optimizer import instances, rotations
from qtypes.logical_circuit_optimizer.experiments import Evaluate

_PRACTICE = Path(__file__).with_name("practice_race.qasm")
MERGING_MISSES_BY = 5
"""Least distance of the T-count after merging rotations from the T-count limit of the `budget` profile; nearer instances are drawn anew."""


class Profile(Part):
    """What a task may set."""

    instance: Literal["race", "budget"] = Field(
        description="race: 10 qubits, six sections and two adders, T-count limit from rotation merging; "
        "budget: 8 qubits, four sections, T-count limit 1.40 times the planted count"
    )


class Hidden(Part):
    """The instance. `planted_t_count` is the T-count of the circuit without its hidden identities, None where it was not kept."""

    baseline: str = Field(description="OpenQASM 2 text of the baseline circuit")
    t_count_limit: int = quantity("1", "largest T-count that passes", ge=0)
    planted_t_count: int | None = quantity("1", "T-count before the identities were added", ge=0)


class Spec(Part):
    """The public specification."""

    n_qubits: int = quantity("1", "size of the register", ge=1, le=tcount.MAX_QUBITS)
    one_qubit_gates: tuple[str, ...] = Field(description="names of the allowed one-qubit gates")
    two_qubit_gates: tuple[str, ...] = Field(description="names of the allowed two-qubit gates")
    max_gates: int = quantity("1", "largest number of gates of a circuit")
    max_text_bytes: int = quantity("byte", "largest size of a circuit text")
    baseline: str = Field(description="OpenQASM 2 text of the baseline, also the material baseline.qasm")
    baseline_sha256: str = Field(description="SHA-256 of that text")
    baseline_t_count: int = quantity("1", "T-count of the baseline")
    baseline_t_depth: int = quantity("1", "T-depth of the baseline")
    baseline_cx_count: int = quantity("1", "number of cx and cz gates of the baseline")
    baseline_gates: int = quantity("1", "number of gates of the baseline")
    t_count_limit: int = quantity("1", "largest T-count of an equivalent circuit that passes")
    metric: str = Field(description="the cost of a circuit, lower is better")


class LogicalCircuitOptimizer(QType[Spec, Hidden]):
    """Clifford+T circuits to be rewritten with fewer T gates; static, nothing is measured."""

    name: ClassVar[str] = "logical_circuit_optimizer"
    title: ClassVar[str] = "Clifford+T circuit optimisation"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    queries = (Evaluate,)
    public = frozenset({
        "n_qubits", "baseline", "baseline_sha256", "baseline_t_count", "baseline_t_depth", "baseline_cx_count", "baseline_gates",
        "t_count_limit",
    })  # fmt: skip
    bookkeeping = frozenset({"planted_t_count"})

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        if profile.instance == "race":
            circuit, planted = instances.generate(rng, instances.RACE)
            return Hidden(baseline=tcount.to_qasm(circuit), t_count_limit=rotations.merged_t_count(circuit), planted_t_count=planted)
        while True:
            circuit, planted = instances.generate(rng, instances.BUDGET)
            limit = instances.t_budget(planted)
            if rotations.merged_t_count(circuit) >= limit + MERGING_MISSES_BY:
                return Hidden(baseline=tcount.to_qasm(circuit), t_count_limit=limit, planted_t_count=planted)

    def practice(self, profile: Profile) -> Hidden:
        """The frozen race instance; the random numbers behind it were not kept."""
        if profile.instance != "race":
            raise TaskError(f"{self.name} has a practice instance of the race only")
        text = _PRACTICE.read_text(encoding="ascii")
        recorded = _PRACTICE.with_suffix(".sha256").read_text(encoding="ascii").split()[0]
        if hashlib.sha256(text.encode()).hexdigest() != recorded:
            raise TaskError(f"{_PRACTICE.name} does not have its recorded SHA-256")
        return Hidden(baseline=text, t_count_limit=rotations.merged_t_count(tcount.parse(text)), planted_t_count=None)

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        circuit = tcount.parse(hidden.baseline)
        cost = tcount.counts(circuit)
        return Spec(
            n_qubits=circuit.n_qubits, one_qubit_gates=tcount.ONE_QUBIT, two_qubit_gates=tcount.TWO_QUBIT, max_gates=tcount.MAX_GATES,
            max_text_bytes=tcount.MAX_BYTES, baseline=hidden.baseline,
            baseline_sha256=hashlib.sha256(hidden.baseline.encode()).hexdigest(),
            baseline_t_count=cost.t_count, baseline_t_depth=cost.t_depth, baseline_cx_count=cost.cx_count, baseline_gates=cost.gates,
            t_count_limit=hidden.t_count_limit, metric="t_count * 1e8 + t_depth * 1e4 + cx_count, each count capped at 9999",
        )  # fmt: skip

    def materials(self, spec: Spec, profile: Profile) -> tuple[Material, ...]:
        return (
            Material("baseline.qasm", "the circuit to be optimised, OpenQASM 2", spec.baseline),
            Material("counting.txt", "grammar and costs of a circuit, in words", (tcount.__doc__ or "").strip() + "\n"),
            Material("tcount.py", "grammar and costs of a circuit, the code that the laboratory runs (also lab.conventions.tcount)",
                     Path(tcount.__file__).read_text(encoding="utf-8"), "text/x-python"),
        )  # fmt: skip

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        merged = rotations.merged_t_count(tcount.parse(hidden.baseline))
        return _race_notebook(hidden, merged, today) if profile.instance == "race" else _budget_notebook(merged, today)


def _race_notebook(hidden: Hidden, merged: int, today: dt.date) -> Notebook:
    before = tcount.counts(tcount.parse(hidden.baseline)).t_count
    return Notebook(entries=(
        NotebookEntry(date=today - dt.timedelta(days=41), author="previous operator", title="Phase teleportation",
                      text=f"pyzx teleport_reduce on the baseline: T-count {before} -> {merged}, circuit structure unchanged. Kept.",
                      data={"method": "teleport_reduce", "t_count": merged}),
        NotebookEntry(date=today - dt.timedelta(days=40), author="previous operator", title="Phase-polynomial pass discarded",
                      text="full_optimize printed a clearly lower T-count, but pyzx verify_equality returned False after about a minute. "
                      "Circuit not equal, discarded."),
        NotebookEntry(date=today - dt.timedelta(days=38), author="previous operator", title="Record",
                      text=f"Best circuit so far remains the teleport_reduce result, T-count {merged}.",
                      data={"best_t_count": merged}),
    ))  # fmt: skip


def _budget_notebook(merged: int, today: dt.date) -> Notebook:
    return Notebook(entries=(
        NotebookEntry(date=today - dt.timedelta(days=12), author="previous operator", title="ZX simplification",
                      text=f"ZX simplification (pyzx teleport_reduce) reached T-count {merged}; no further reduction in three passes, "
                      "circuit is optimal.",
                      data={"method": "teleport_reduce", "t_count": merged}),
    ))  # fmt: skip


QTYPE = LogicalCircuitOptimizer()
