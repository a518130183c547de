"""The three oracles: does a circuit prepare a state of the code space, what does it cost, how does it stand single faults.

All take an admitted circuit (`circuits.parse`) and a code; nothing else can be declared by whoever asks. They simulate the tableau exactly
and use no random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import stim

from qtypes.stabilizer_codes import baseline, faults
from qtypes.stabilizer_codes.circuits import Circuit, Counts, counts
from qtypes.stabilizer_codes.codes import Code


@dataclass(frozen=True)
class Stabilizers:
    """`expectations`: of each listed generator on the output, +1, 0 (random) or -1. `quiet`: of Z on each flag before it is measured; a
    flag is deterministically 0 where it is +1."""

    expectations: tuple[int, ...]
    quiet: tuple[int, ...] = ()

    @property
    def satisfied(self) -> int:
        """How many generators have expectation +1."""
        return self.expectations.count(1)

    @property
    def flags_quiet(self) -> bool:
        """Whether no flag is raised without a fault: acceptance 1."""
        return all(v == 1 for v in self.quiet)

    @property
    def valid(self) -> bool:
        """Every generator +1 and every flag deterministically 0."""
        return self.flags_quiet and self.satisfied == len(self.expectations)


@dataclass(frozen=True)
class Optimization:
    """A candidate against the baseline."""

    stabilizers: Stabilizers
    candidate: Counts
    baseline: Counts


@dataclass(frozen=True)
class Faults:
    """Single faults of one circuit. `on_data`, `on_all`: raw weights against the claimed distance, faults after gates on data qubits, and
    on data and flags; `corrected`: see `faults.Corrected`, against the certified distance."""

    on_data: faults.Published
    on_all: faults.Published
    corrected: faults.Corrected


@dataclass(frozen=True)
class FaultTolerance:
    """A candidate against the baseline; `faults` is None for a circuit that is not valid."""

    stabilizers: Stabilizers
    flags: int
    candidate: Counts
    baseline: Counts
    faults: Faults | None


def published_t(code: Code) -> int:
    """Correctable errors of the distance under which the publication lists the code."""
    return (code.d_claimed - 1) // 2


def corrected_t(code: Code) -> int:
    """Largest reduced weight that one fault may leave: floor((d - 1) / 2) of the proven distance, and at least 1, since a fault after the
    last gate on a data qubit has weight one and no flag can show it."""
    return max(1, (code.d - 1) // 2)


def check_stabilizers(circuit: Circuit, code: Code) -> Stabilizers:
    """Expectations of all listed generators after `circuit`, by tableau simulation from |0...0>."""
    simulator = stim.TableauSimulator()
    simulator.do(circuit.unitary())
    quiet = tuple(int(simulator.peek_z(q)) for q in range(circuit.n, circuit.qubits))
    padding = "I" * circuit.flags
    values = tuple(int(simulator.peek_observable_expectation(stim.PauliString(g + padding))) for g in code.generators)
    return Stabilizers(values, quiet)


def evaluate_optimization(circuit: Circuit, code: Code) -> Optimization:
    """Validity and costs of `circuit`, costs of the baseline."""
    return Optimization(check_stabilizers(circuit, code), counts(circuit), baseline_counts(code))


def check_fault_tolerance(circuit: Circuit, code: Code) -> FaultTolerance:
    """Validity, costs and the fate of every single fault of `circuit`."""
    found = check_stabilizers(circuit, code)
    swept = sweep(circuit, code) if found.valid else None
    return FaultTolerance(found, circuit.flags, counts(circuit), baseline_counts(code), swept)


def sweep(circuit: Circuit, code: Code) -> Faults:
    """All single faults of a valid circuit, counted in the three ways."""
    t = published_t(code)
    return Faults(
        faults.published_sweep(circuit, t), faults.published_sweep(circuit, t, ancillas=True),
        faults.corrected_sweep(circuit, corrected_t(code), code.rows, code.blocks, code.inner_rows),
    )  # fmt: skip


def baseline_counts(code: Code) -> Counts:
    """Costs of the baseline."""
    return _baseline_counts(code)


@cache
def _baseline_counts(code: Code) -> Counts:
    return counts(baseline.circuit_of(code))


@cache
def baseline_faults(code: Code) -> Faults:
    """Single faults of the baseline: as recorded for this version, or counted now for a drawn code."""
    found = baseline.recorded().get(code.id, {}).get("faults")
    if code.collection == "drawn" or found is None:
        return sweep(baseline.circuit_of(code), code)
    baseline.text_of(code)
    return Faults(faults.Published(*found["on_data"]), faults.Published(*found["on_all"]), faults.Corrected(*found["corrected"]))
