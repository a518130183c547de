"""Verdicts on one circuit and scores of many, twice: as published and corrected.

`published` is the scoring of the publication (Paz et al. 2026, section III-D) with these settlements:

- multi-qubit gates count 1 each whatever their name; depth is that of as-soon-as-possible moments with one-qubit gates;
- FT counts raised flags among dangerous faults; the weight of an error is taken as it stands, the threshold from the claimed distance;
- faults sit after gates on data qubits; they are counted once more with those on flags, and the lower FT counts: otherwise a state
  prepared on ancillas and swapped in would have no fault worth speaking of;
- data qubits are 0..n-1, flags must be deterministically 0, the circuit is admissible: these are not open to scoring.

`corrected`: two-qubit gates count as the CX gates that they stand for; faults everywhere, weights modulo the group of the prepared state;
independent generators, shared among copies of a code, as weights. A fault-tolerant circuit is in `corrected` a success where FT is at
least 0.9, fewer faults stay undetected than in the baseline, and it is no longer than `DEPTH_CAP` and `GATE_CAP` allow: FT is a ratio, and
padding with flagged faults would raise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from qtypes.stabilizer_codes import codes, oracles
from qtypes.stabilizer_codes.circuits import Circuit, Counts
from qtypes.stabilizer_codes.codes import Code

Task = Literal["preparation", "optimization", "fault_tolerance"]
TASKS: tuple[Task, ...] = ("preparation", "optimization", "fault_tolerance")
SHORT: dict[str, Task] = {"b1": "preparation", "b2": "optimization", "b3": "fault_tolerance"}

GATE_SHARE, DEPTH_SHARE = 0.75, 0.25
FT_NEEDED = 0.9
OVERHEAD_WEIGHT = 0.25
DEPTH_CAP = (4, 20)
"""Depth at most 4 times the baseline's plus 20."""
GATE_CAP = (4, 4)
"""Two-qubit gates (as CX) at most 4 times the baseline's plus 4 n."""
MAXIMUM = 16_340
"""Listed generators of all 192 codes."""


@dataclass(frozen=True)
class Mark:
    """One circuit in one scoring: `success`, `quality` in 0..1 (0 without success), `weight` of the instance."""

    success: bool
    quality: float
    weight: float

    @property
    def capability(self) -> float:
        return self.weight if self.success else 0.0

    @property
    def score(self) -> float:
        return self.weight * self.quality if self.success else 0.0


@dataclass(frozen=True)
class Verdict:
    """One circuit on one instance. `corrected` is None for the published variant of a code, which is scored as published only. `details`
    are the numbers behind it, JSON-able; `key` orders circuits of one instance, larger is better."""

    task: Task
    code: str
    valid: bool
    satisfied: int
    listed: int
    expectations: tuple[int, ...]
    published: Mark
    corrected: Mark | None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[float, ...]:
        c = self.corrected
        return (self.published.success, self.published.quality, c.success if c else 0, c.quality if c else 0.0, self.satisfied)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(task: Task, circuit: Circuit, code: Code) -> Verdict:
    """The verdict on an admitted circuit."""
    return {"preparation": preparation, "optimization": optimization, "fault_tolerance": fault_tolerance}[task](circuit, code)


def admits_flags(task: Task) -> bool:
    """Whether circuits of this task may have flags."""
    return task == "fault_tolerance"


def _marks(code: Code, published: tuple[bool, float], corrected: tuple[bool, float]) -> tuple[Mark, Mark | None]:
    first, second = ((ok, q if ok else 0.0) for ok, q in (published, corrected))
    return Mark(*first, code.listed), None if code.collection == "published" else Mark(*second, float(code.weight))


def preparation(circuit: Circuit, code: Code) -> Verdict:
    """B1: every generator +1."""
    found = oracles.check_stabilizers(circuit, code)
    marks = _marks(code, (found.valid, 1.0), (found.valid, 1.0))
    return Verdict("preparation", code.id, found.valid, found.satisfied, code.listed, found.expectations, *marks)


def gain(base: float, new: float) -> float:
    """Share of the baseline's cost that is saved, within 0..1; 0 where the baseline costs nothing."""
    return min(1.0, max(0.0, (base - new) / base)) if base else 0.0


def optimization(circuit: Circuit, code: Code) -> Verdict:
    """B2: valid and less costly than the baseline, two-qubit gates before depth."""
    found = oracles.evaluate_optimization(circuit, code)
    new, base = found.candidate, found.baseline
    valid = found.stabilizers.valid

    def mark(mine: int, theirs: int) -> tuple[bool, float]:
        quality = GATE_SHARE * gain(theirs, mine) + DEPTH_SHARE * gain(base.depth, new.depth)
        return valid and (mine, new.depth) < (theirs, base.depth), quality

    marks = _marks(code, mark(new.g2q, base.g2q), mark(new.entangling, base.entangling))
    s = found.stabilizers
    details = {"candidate": asdict(new), "baseline": asdict(base)}
    return Verdict("optimization", code.id, valid, s.satisfied, code.listed, s.expectations, *marks, details)


def overhead(new: Counts, base: Counts, flags: int) -> float:
    """Two-qubit gates beyond the baseline's, plus flags, relative to the baseline's two-qubit gates."""
    return (max(0, new.entangling - base.entangling) + flags) / max(1, base.entangling)


def fault_tolerance(circuit: Circuit, code: Code) -> Verdict:
    """B3: valid and more faults shown than in the baseline."""
    found = oracles.check_fault_tolerance(circuit, code)
    s, new, base = found.stabilizers, found.candidate, found.baseline
    extra = overhead(new, base, found.flags)
    details: dict[str, Any] = {
        "candidate": asdict(new), "baseline": asdict(base), "flags": found.flags, "flags_quiet": s.flags_quiet, "overhead": extra,
    }  # fmt: skip
    if found.faults is None:
        marks = _marks(code, (False, 0), (False, 0))
        return Verdict("fault_tolerance", code.id, False, s.satisfied, code.listed, s.expectations, *marks, details)
    mine, theirs = found.faults, oracles.baseline_faults(code)
    ft, ft_base = (min(f.on_data.ft, f.on_all.ft) for f in (mine, theirs))
    c, c_base = mine.corrected, theirs.corrected
    shallow = new.depth <= DEPTH_CAP[0] * base.depth + DEPTH_CAP[1]
    within = shallow and new.entangling <= GATE_CAP[0] * base.entangling + GATE_CAP[1] * code.n
    fewer = c.undetected < c_base.undetected or c.undetected == 0
    corrected = (c.ft >= FT_NEEDED and within and fewer, c.ft / (1 + OVERHEAD_WEIGHT * extra))
    details |= {
        "published": {
            "ft": ft, "ft_baseline": ft_base, "t": oracles.published_t(code), "on_data": asdict(mine.on_data),
            "on_all": asdict(mine.on_all),
        },
        "corrected": {
            "ft": c.ft, "exact": c.exact, "fault_tolerant": c.fault_tolerant, "t": oracles.corrected_t(code), **asdict(c),
            "undetected_baseline": c_base.undetected, "within_caps": within,
        },
    }  # fmt: skip
    marks = _marks(code, (ft > ft_base, ft), corrected)
    return Verdict("fault_tolerance", code.id, True, s.satisfied, code.listed, s.expectations, *marks, details)


def best(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The best of several verdicts on one instance: the best valid candidate counts, not the last."""
    return max(verdicts, key=lambda v: v.key, default=None)


@dataclass(frozen=True)
class Totals:
    """Scores of a set of instances in one scoring; `maximum` is the sum of all weights, solved or not."""

    capability: float
    quality: float
    maximum: float
    solved: int
    instances: int


def totals(verdicts: Sequence[Verdict], names: Sequence[str], scoring: Literal["published", "corrected"]) -> Totals:
    """S_cap and S_qual over the instances `names`; one without a verdict counts 0."""
    by_code = {v.code: v for v in verdicts}
    loaded = [codes.load(n) for n in names]
    maximum = sum(float(c.listed if scoring == "published" else c.weight) for c in loaded)
    marks = [m for n in names if n in by_code and (m := getattr(by_code[n], scoring)) is not None]
    return Totals(sum(m.capability for m in marks), sum(m.score for m in marks), maximum, sum(m.success for m in marks), len(names))


def difficulty_curve(
    verdicts: Sequence[Verdict], names: Sequence[str], scoring: Literal["published", "corrected"]
) -> list[tuple[int, float, float, float]]:
    """Cumulative curve over instances by number of listed generators: `(listed, ceiling, capability, quality)` after all instances of at
    most that many."""
    by_code = {v.code: v for v in verdicts}
    points: dict[int, list[float]] = {}
    for n in names:
        code = codes.load(n)
        mark = getattr(by_code[n], scoring) if n in by_code else None
        at = points.setdefault(code.listed, [0.0, 0.0, 0.0])
        at[0] += float(code.listed if scoring == "published" else code.weight)
        at[1] += mark.capability if mark else 0.0
        at[2] += mark.score if mark else 0.0
    out, run = [], [0.0, 0.0, 0.0]
    for listed in sorted(points):
        run = [a + b for a, b in zip(run, points[listed], strict=True)]
        out.append((listed, *run))
    return out  # type: ignore[return-value]
