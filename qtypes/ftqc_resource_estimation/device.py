"""Instances: a report to be audited on a machine with a hidden memory, or a published machine to be laid out. Draw, spec, notebook."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.ftqc_resource_estimation import cost, report
from qtypes.ftqc_resource_estimation.experiments import BLOCKS_PER_UNIT, MAX_BLOCKS, Evaluate

Instance = Literal["audit", "race"]
Root = Literal["L2", "L5", "L7", "L8", "L10", "L11", "L12"]
Range = tuple[float, float]

# Audit
PREFACTOR = (0.05, 0.2)
INVERSE_SUPPRESSION = (0.08, 0.30)
STALE_SUPPRESSION = (1.25, 1.6)
STALE_PREFACTOR = (0.8, 1.25)
SMALLEST_STALE_SUPPRESSION = 2.5
MORE_ROOTS = (2, 4)
"""Errors besides the stale pair."""
MASKED = 0.02
"""An error that moves its own line by less is not drawn."""
EXCLUSION = 0.5
"""The real distance x stays this far from the odd integers: the pilot decides which one is above it."""
DISTANCES = (9, 29)
APART = 1.25
"""Least ratio of the printed to the true number of qubits; the cap keeps half of it (as logarithm) from both."""
# Race
LIMIT_SHARE = 0.35
"""Gate of the race: share of the qubit-seconds of the best design with equal distances and equal thirds."""
MOST_FACTORIES = 24


class Profile(Part):
    """What a task may set."""

    instance: Instance = Field(description="audit: a report with errors, hidden memory; race: everything published", default="audit")


class Algorithm(Part):
    """Gate counts of the circuit and the error it may have."""

    qubits: int = quantity("1", "logical qubits N", ge=1)
    t_gates: int = quantity("1", "T gates N_T", ge=0)
    rotations: int = quantity("1", "rotations by arbitrary angles N_rot", ge=1)
    toffolis: int = quantity("1", "Toffoli gates N_tof, 4 T states each", ge=0)
    error_budget: float = quantity("1", "largest error eps of the whole computation", gt=0, lt=1)


class Machine(Part):
    """The data sheet of the machine."""

    injected_error: float = quantity("1", "error p_inj of an injected T state", gt=0, lt=1)
    acceptance: float | None = quantity("1", "audit: accepted share acc of distillation batches", default=None)
    reaction_us: float = quantity("us", "reaction time t_r of decoder and control", gt=0)


class Filed(Part):
    """The report that was filed."""

    prefactor: float = quantity("1", "A that it was computed with", gt=0)
    suppression: float = quantity("1", "Lambda that it was computed with", gt=1)
    roots: tuple[Root, ...] = Field(description="lines that are wrong in themselves")
    qubit_cap: int = quantity("1", "physical qubits on offer")


class Hidden(Part):
    """The instance; in a race all of it is published."""

    algorithm: Algorithm = Field(description="gate counts")
    machine: Machine = Field(description="data sheet")
    prefactor: float = quantity("1", "A of the suppression law", gt=0)
    suppression: float = quantity("1", "Lambda = p_th / p of the suppression law", gt=1)
    filed: Filed | None = Field(description="audit: the report and its errors", default=None)

    def sheet(self, pair: tuple[float, float]) -> report.Sheet:
        """The data sheet of the report with a pair (A, Lambda)."""
        a, m = self.algorithm, self.machine
        return report.Sheet(
            a.qubits, a.t_gates, a.rotations, a.toffolis, a.error_budget, m.injected_error, m.acceptance or 1.0, m.reaction_us, pair
        )  # fmt: skip

    def problem(self) -> cost.Problem:
        return _problem(self.algorithm, self.machine, self.prefactor, self.suppression)


class Report(Part):
    """The 14 lines; `lines.txt` says how each follows from the data sheet and earlier lines."""

    L1: float = quantity("1", "synthesis error per rotation")
    L2: int = quantity("1", "T states per rotation")
    L3: int = quantity("1", "T states in all")
    L4: float = quantity("1", "allowed error per T state")
    L5: float = quantity("1", "output error of one level of distillation, per state")
    L6: int = quantity("1", "levels of distillation")
    L7: int = quantity("1", "tiles of the data block with routing")
    L8: tuple[float, float] = quantity("1", "A and Lambda of the memory")
    L9: float = quantity("1", "allowed error per tile and block of d cycles")
    L10: int = quantity("1", "code distance d")
    L11: float = quantity("us", "time per T state")
    L12: int = quantity("1", "factories")
    L13: int = quantity("1", "physical qubits")
    L14: float = quantity("s", "run time")


class Spec(Part):
    """The public specification."""

    instance: Instance = Field(description="audit or race")
    cycle_us: float = quantity("us", "one syndrome cycle")
    algorithm: Algorithm = Field(description="the circuit, as gate counts")
    machine: Machine = Field(description="the data sheet of the machine")
    pair: tuple[float, float] = quantity("1", "A and Lambda that `evaluate` takes; audit: as printed in the report, race: of the machine")
    report: Report | None = Field(description="audit: the report as it was filed", default=None)
    qubit_cap: int | None = quantity("1", "audit: physical qubits on offer", default=None)
    limit_qubit_s: float | None = quantity("s", "race: most qubit-seconds of a design that passes", default=None)
    blocks_per_unit: int = quantity("1", "pilot blocks for one unit")
    max_blocks: int = quantity("1", "most pilot blocks in one job")

    def problem(self) -> cost.Problem:
        """What `evaluate` evaluates designs for."""
        return _problem(self.algorithm, self.machine, *self.pair)


def _problem(a: Algorithm, m: Machine, prefactor: float, suppression: float) -> cost.Problem:
    return cost.Problem(
        a.qubits, a.t_gates, a.rotations, a.toffolis, a.error_budget, prefactor, suppression, m.injected_error, m.reaction_us
    )  # fmt: skip


def _digits(value: float, n: int) -> float:
    return float(f"{value:.{n}g}")


def _log_int(rng: np.random.Generator, low: float, high: float) -> int:
    return int(10 ** rng.uniform(low, high))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A fresh instance."""
    if profile.instance == "race":
        return _draw_race(rng)
    while True:
        hidden = _draw_audit(rng)
        if hidden is not None:
            return hidden


def _draw_race(rng: np.random.Generator) -> Hidden:
    algorithm = Algorithm(
        qubits=int(rng.integers(80, 181)), t_gates=_log_int(rng, 5.3, 6), rotations=_log_int(rng, 3.7, 4.6), toffolis=_log_int(rng, 3, 4.5),
        error_budget=float(rng.choice([5e-3, 1e-2, 2e-2])),
    )  # fmt: skip
    machine = Machine(injected_error=_digits(10 ** rng.uniform(-3.2, -2.8), 3), reaction_us=_digits(rng.uniform(5, 30), 3))
    pair = {"prefactor": _digits(rng.uniform(0.06, 0.15), 3), "suppression": _digits(rng.uniform(8, 12), 3)}
    return Hidden(algorithm=algorithm, machine=machine, **pair)


def practice() -> Hidden:
    """The published instance of the race."""
    algorithm = Algorithm(qubits=120, t_gates=400_000, rotations=20_000, toffolis=0, error_budget=1e-2)
    return Hidden(algorithm=algorithm, machine=Machine(injected_error=1e-3, reaction_us=10.0), prefactor=0.1, suppression=10.0)


def _draw_audit(rng: np.random.Generator) -> Hidden | None:
    """One try; None where an error would be masked, the pilot could not decide, or truth and report are too much alike."""
    algorithm = Algorithm(
        qubits=int(rng.integers(60, 201)), t_gates=_log_int(rng, 4.5, 6), rotations=_log_int(rng, 3, 4.5), toffolis=_log_int(rng, 3, 5),
        error_budget=float(rng.choice([1e-2, 2e-2, 5e-2])),
    )  # fmt: skip
    machine = Machine(
        injected_error=_digits(10 ** rng.uniform(-3.6, -2.7), 3), acceptance=_digits(rng.uniform(0.65, 0.9), 3),
        reaction_us=_digits(rng.uniform(12, 45), 3),
    )  # fmt: skip
    prefactor, suppression = float(rng.uniform(*PREFACTOR)), float(1 / rng.uniform(*INVERSE_SUPPRESSION))
    stale = suppression * float(rng.uniform(*STALE_SUPPRESSION)) ** float(rng.choice([-1, 1]))
    printed = (_digits(prefactor * float(rng.uniform(*STALE_PREFACTOR)), 4), _digits(stale, 4))
    more = rng.choice(tuple(report.WRONG), int(rng.integers(MORE_ROOTS[0], MORE_ROOTS[1] + 1)), replace=False)
    roots: Any = tuple(name for name in report.NAMES if name == report.PAIR or name in more)
    hidden = Hidden(algorithm=algorithm, machine=machine, prefactor=prefactor, suppression=suppression)
    true, filed = report.lines(hidden.sheet((prefactor, suppression))), report.lines(hidden.sheet(printed), more)
    if stale < SMALLEST_STALE_SUPPRESSION or not _is_fair(hidden.sheet(printed), true, filed, set(more.tolist())):
        return None
    low, high = sorted((_int(true, "L13"), _int(filed, "L13")))
    edge = math.sqrt(APART)
    caps = (low / edge, math.sqrt(low * high), math.sqrt(low * high), high * edge)  # half of the verdicts of the report are right
    return hidden.model_copy(update={
        "filed": Filed(prefactor=printed[0], suppression=printed[1], roots=roots, qubit_cap=round(caps[int(rng.integers(4))])),
    })  # fmt: skip


def _is_fair(sheet: report.Sheet, true: report.Lines, filed: report.Lines, more: set[str]) -> bool:
    own = report.from_own_inputs(sheet, filed)
    x, d = report.real_distance(true), _int(true, "L10")
    low, high = sorted((_int(true, "L13"), _int(filed, "L13")))
    return (
        all(report.deviation(filed[name], own[name]) > MASKED for name in more)
        and DISTANCES[0] <= d <= DISTANCES[1] and d != filed["L10"] and abs(x - 2 * round((x - 1) / 2) - 1) >= EXCLUSION
        and high / low > APART and _off_edges(sheet, true) and _off_edges(sheet, filed)
    )  # fmt: skip


def _off_edges(sheet: report.Sheet, v: report.Lines) -> bool:
    """No rounding or choice of the report hangs on the last digits of a number."""
    t = 3.02 * math.log2(1 / float(v["L1"])) + 0.77  # type: ignore[arg-type]
    f = 6 * float(v["L10"]) * float(v["L6"]) / (float(v["L11"]) * sheet.acceptance)  # type: ignore[arg-type]
    chosen = abs(float(v["L5"]) / float(v["L4"]) - 1) > MASKED  # type: ignore[arg-type]
    return chosen and all(1e-3 < y % 1 < 1 - 1e-3 for y in (t, f))


def _int(v: report.Lines, name: str) -> int:
    value = v[name]
    assert isinstance(value, int)
    return value


def true_report(hidden: Hidden) -> report.Lines:
    """The report without errors."""
    return report.lines(hidden.sheet((hidden.prefactor, hidden.suppression)))


def filed_report(hidden: Hidden) -> report.Lines:
    """The report as it was filed."""
    filed = hidden.filed
    if filed is None:
        raise ValueError("no report was filed")
    return report.lines(hidden.sheet((filed.prefactor, filed.suppression)), set(filed.roots) - {report.PAIR})


def public_spec(hidden: Hidden, profile: Profile) -> Spec:
    """What the agent may know."""
    more: dict[str, Any] = {"pair": (hidden.prefactor, hidden.suppression)}
    if hidden.filed is not None:
        printed = filed_report(hidden)
        more = {"pair": printed[report.PAIR], "report": Report(**printed), "qubit_cap": hidden.filed.qubit_cap}  # type: ignore[arg-type]
    elif profile.instance == "race":
        best = min(textbook(hidden.problem(), n)[1].qubit_seconds for n in range(1, MOST_FACTORIES + 1))
        more["limit_qubit_s"] = _digits(LIMIT_SHARE * best, 3)
    return Spec(
        instance=profile.instance, cycle_us=cost.CYCLE_US, algorithm=hidden.algorithm, machine=hidden.machine,
        blocks_per_unit=BLOCKS_PER_UNIT, max_blocks=MAX_BLOCKS, **more,
    )  # fmt: skip


def textbook(p: cost.Problem, factories: int = 1) -> tuple[cost.Design, cost.Cost]:
    """Equal thirds of the budget, two levels at the distance of the data, as many first-level units as keep the last one busy: the smallest
    odd distance at which memory and distillation each keep to their third."""
    third = p.error_budget / 3
    for d in range(5, 62, 2):
        units = _units_for_one(d, p)
        design = cost.Design(d, (cost.Level(d, d, d, units), cost.Level(d, d, d, 1)), third, "fast", factories)
        found = cost.evaluate(design, p)
        if found.feasible and found.memory_error <= third and found.distillation_error <= third:
            return design, found
    raise ValueError("no distance up to 61 keeps the budget")


def _units_for_one(d: int, p: cost.Problem) -> int:
    """Units of distance d that feed one of the next level without making it wait."""
    one = cost.factory((cost.Level(d, d, d, 1),), p)
    return math.ceil(15 / (6 * d * cost.CYCLE_US) / one.rate_per_us)


def notebook(hidden: Hidden, today: dt.date) -> Notebook:
    """Audit: the pilot behind line L8, a change of the machine, and how the last audit was done. Race: the textbook design."""

    def entry(age: int, author: str, title: str, text: str, **data: Any) -> NotebookEntry:
        return NotebookEntry(date=today - dt.timedelta(days=age), author=author, title=title, text=text, data=data or None)

    return Notebook(entries=_audit_entries(hidden, entry) if hidden.filed is not None else _race_entries(hidden, entry))


def _audit_entries(hidden: Hidden, entry: Any) -> tuple[NotebookEntry, ...]:
    filed = hidden.filed
    assert filed is not None
    return (
        entry(212, "memory team", "Memory pilot",
              f"Distances 3, 5 and 7, straight line within the error bars: A = {filed.prefactor:g}, Lambda = {filed.suppression:g}. The "
              "pair goes into line L8 of resource reports.", L8=[filed.prefactor, filed.suppression]),
        entry(121, "operations", "Maintenance",
              "Control electronics exchanged, all gates calibrated anew. The memory pilot was not repeated."),
        entry(30, "estimation team", "Report filed", "Resource report filed, 14 lines, one after the other in a sheet. No second reader."),
        entry(9, "previous auditor", "How to audit quickly",
              "Recompute the sheet from the top and put every line that comes out different on the list of errors. The last audit took "
              "twenty minutes that way."),
    )  # fmt: skip


def _race_entries(hidden: Hidden, entry: Any) -> tuple[NotebookEntry, ...]:
    design, found = textbook(hidden.problem())
    first = design.levels[0].count
    plan = Evaluate(
        d=design.d, levels=tuple({"dx": u.dx, "dz": u.dz, "dm": u.dm, "count": u.count} for u in design.levels),  # type: ignore[arg-type]
        eps_synthesis=design.eps_synthesis, routing="fast", factories=1,
    )  # fmt: skip
    return (
        entry(17, "previous operator", "Textbook design",
              f"A third of the budget for each kind of error, distance {design.d} everywhere, two levels, {first} units of the first level "
              f"for the one of the second, one factory: feasible, {found.qubit_seconds:.2e} qubit-seconds.",
              design=plan.model_dump(mode="json")),
        entry(16, "previous operator", "One factory is enough",
              f"The factory takes {found.factory.qubits} of the {found.physical_qubits} qubits. A second one would add as many again; left "
              "at one. Not looked into further."),
    )  # fmt: skip
