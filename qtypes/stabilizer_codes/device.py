"""One instance a session: a code, its baseline, the task; everything about it is public."""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from qtypes.contract import Material, Notebook, NotebookEntry, Part, QType, quantity
from qtypes.errors import TaskError
from qtypes.stabilizer_codes import baseline, circuits, codes, oracles, scoring
from qtypes.stabilizer_codes.actions import ONE_QUBIT, TWO_QUBIT
from qtypes.stabilizer_codes.codes import Code
from qtypes.stabilizer_codes.queries import CheckFaultTolerance, CheckStabilizers, EvaluateOptimization

LARGEST_DRAWN = 24


class Profile(Part):
    """What a task may set."""

    task: Literal["preparation", "optimization", "fault_tolerance"] = Field(default="preparation", description="what is asked for")
    code: str = Field(
        default="listed", min_length=1, max_length=80,
        description="id of a code as it is listed, or a draw: `listed` (one of the 192, its qubits in random order), `extended` "
        "(likewise), `random` (a random code)",
    )  # fmt: skip
    min_n: int = quantity("qubit", "smallest number of qubits of a drawn code", ge=4, le=codes.LARGEST, default=4)
    max_n: int = quantity("qubit", "largest number of qubits of a drawn code", ge=5, le=codes.LARGEST, default=codes.LARGEST)


class Hidden(Part):
    """The instance. Nothing of it is secret."""

    code: str = Field(description="id of the code")
    generators: tuple[str, ...] = Field(description="generators as listed")
    d: int = quantity("1", "proven distance", ge=1)
    d_claimed: int = quantity("1", "distance of the published scoring", ge=1)
    d_upper: int = quantity("1", "weight of the lightest known logical operator", ge=1)
    inner: str = Field(description="id of the inner code of a concatenation, else empty")
    blocks: tuple[tuple[int, ...], ...] = quantity("1", "qubits of each block of a concatenation")


class Spec(Part):
    """The public specification."""

    version: str = Field(description="version of the codes and baselines")
    task: str = Field(description="preparation, optimization or fault_tolerance")
    code: str = Field(description="id of the code")
    n: int = quantity("qubit", "data qubits, numbered 0..n-1", ge=1)
    k: int = quantity("1", "logical qubits", ge=0)
    d: int = quantity("1", "distance (proven lower bound)", ge=1)
    d_upper: int = quantity("1", "proven upper bound of the distance", ge=1)
    d_claimed: int = quantity("1", "distance of the published scoring", ge=1)
    certificate: str = Field(description="how the distance is known")
    generators: tuple[str, ...] = Field(description="generators, character i acts on qubit i, sign plus")
    independent: int = quantity("1", "number of independent generators", ge=1)
    baseline: str = Field(description="stim text of the baseline, also the material baseline.stim; empty for preparation, which it answers")
    baseline_sha256: str = Field(description="SHA-256 of that text, empty without one")
    baseline_g2q: int = quantity("1", "two-qubit gates of the baseline")
    baseline_depth: int = quantity("1", "depth of the baseline")
    published_t: int = quantity("1", "errors of larger raw weight are dangerous in the published scoring")
    corrected_t: int = quantity("1", "errors of larger reduced weight are dangerous in the corrected scoring")
    one_qubit_gates: tuple[str, ...] = Field(description="admissible one-qubit gates, stim names")
    two_qubit_gates: tuple[str, ...] = Field(description="admissible two-qubit gates, stim names")
    max_text_bytes: int = quantity("byte", "largest circuit text")
    max_operations: int = quantity("1", "largest number of operations after REPEAT is expanded")
    max_flags: int = quantity("qubit", "flag qubits of a circuit for fault tolerance: n..n+max_flags-1")


class StabilizerCodes(QType[Spec, Hidden]):
    """Stabilizer codes: preparation circuits, their costs and their fault tolerance. Static, nothing is measured."""

    name: ClassVar[str] = "stabilizer_codes"
    title: ClassVar[str] = "Circuits for stabilizer codes"
    Spec = Spec
    Hidden = Hidden
    Profile = Profile
    queries = (CheckStabilizers, EvaluateOptimization, CheckFaultTolerance)
    bookkeeping = frozenset({"inner", "blocks"})
    public = frozenset({
        "code", "n", "k", "d", "d_upper", "d_claimed", "certificate", "generators", "independent", "baseline", "baseline_sha256",
        "baseline_g2q", "baseline_depth", "published_t", "corrected_t", "max_flags",
    })  # fmt: skip

    def draw(self, rng: np.random.Generator, profile: Profile) -> Hidden:
        return hidden_of(self._draw(rng, profile))

    @staticmethod
    def _draw(rng: np.random.Generator, profile: Profile) -> Code:
        if profile.code == "random":
            n = int(rng.integers(max(5, profile.min_n), min(profile.max_n, LARGEST_DRAWN) + 1))
            return codes.drawn(rng, n, int(rng.integers(1, max(2, n // 3))))
        if profile.code in ("listed", "extended"):
            names = codes.ids("all" if profile.code == "listed" else "extended")
            fitting = [n for n in names if profile.min_n <= codes.size(n) <= profile.max_n]
            if not fitting:
                raise TaskError(f"no {profile.code} code has at least {profile.min_n} and at most {profile.max_n} qubits")
            return codes.shuffled(codes.load(fitting[int(rng.integers(len(fitting)))]), rng)
        try:
            return codes.load(profile.code)
        except KeyError as fault:
            raise TaskError(str(fault)) from None

    def practice(self, profile: Profile) -> Hidden:
        """The Steane code, or the code that the profile names."""
        name = profile.code if profile.code not in ("listed", "extended", "random") else "steane"
        return hidden_of(codes.load(name))

    def spec(self, hidden: Hidden, profile: Profile) -> Spec:
        code = code_of(hidden)
        text = baseline.text_of(code)
        costs = oracles.baseline_counts(code)
        shown = "" if profile.task == "preparation" else text
        return Spec(
            version=codes.VERSION, task=profile.task, code=code.id, n=code.n, k=code.k, d=code.d, d_upper=code.d_upper,
            d_claimed=code.d_claimed, certificate=code.certificate, generators=code.generators, independent=code.rank, baseline=shown,
            baseline_sha256=hashlib.sha256(shown.encode()).hexdigest() if shown else "", baseline_g2q=costs.g2q, baseline_depth=costs.depth,
            published_t=oracles.published_t(code), corrected_t=oracles.corrected_t(code), one_qubit_gates=ONE_QUBIT,
            two_qubit_gates=TWO_QUBIT, max_text_bytes=circuits.MAX_BYTES, max_operations=circuits.MAX_GATES,
            max_flags=circuits.MAX_FLAGS_PER_QUBIT * code.n,
        )  # fmt: skip

    def materials(self, spec: Spec, profile: Profile) -> tuple[Material, ...]:
        baselines = (Material("baseline.stim", "the baseline circuit", spec.baseline),) if spec.baseline else ()
        return (
            Material("generators.txt", "the stabilizer generators, one a line", "\n".join(spec.generators) + "\n"),
            *baselines,
            Material("rules.txt", "admissible circuits and both scorings, in words", RULES),
        )

    def notebook(self, hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
        title, text = NOTES[profile.task]
        return Notebook(entries=(NotebookEntry(date=today - dt.timedelta(days=6), author="previous operator", title=title, text=text),))


def hidden_of(code: Code) -> Hidden:
    """The instance of a code."""
    return Hidden(code=code.id, generators=code.generators, d=code.d, d_claimed=code.d_claimed, d_upper=code.d_upper, inner=code.inner,
                  blocks=code.blocks)  # fmt: skip


def code_of(hidden: Hidden) -> Code:
    """The code of a session: from the list where it is listed, else from its generators."""
    try:
        code = codes.load(hidden.code)
    except KeyError:
        how = "exhaustive search" if hidden.d == hidden.d_upper else f"exhaustive search to weight {hidden.d - 1}"
        return Code(hidden.code, "Drawn code", "drawn", "drawn", hidden.generators, hidden.d, hidden.d_upper, hidden.d_claimed, how,
                    "", hidden.inner, hidden.blocks)  # fmt: skip
    if code.generators != hidden.generators:
        raise TaskError(f"{hidden.code} of this session has not the generators of {codes.VERSION}")
    return code


NOTES: dict[str, tuple[str, str]] = {
    "preparation": (
        "Recipe for a code state",
        ("Write the generators as a binary matrix (X | Z) and reduce it. On each pivot of the X part put H (and S where the row has Y "
        "there), then control the rest of the row from the pivot: CX, CY or CZ. Rows without X part need nothing, |0...0> has them "
        "already. Tried on the Steane code: 6 of 6 generators at +1."),
    ),
    "optimization": (
        "Baseline, and a shorter one",
        ("The baseline is the full unitary of a completed tableau by Gaussian elimination. It is correct, checked generator by generator. "
        "The code space holds a graph state up to one-qubit gates: H on every qubit, CZ for every edge, one-qubit gates, and nothing else. "
        "stim gives it at once. On the Steane code 9 two-qubit gates instead of the baseline's 16: valid, a success."),
    ),
    "fault_tolerance": (
        "Flags",
        ("The baseline is the full unitary of a completed tableau by Gaussian elimination. It is correct, and shows no fault. Measuring "
        "every generator at its end, one ancilla each (H, controlled Paulis of the generator, H, M), shows most of them: on the Steane "
        "code the published FT goes from 0 to 0.80, with six ancillas and 24 more gates."),
    ),
}  # fmt: skip
"""Title and text of the notebook's entry of each task; all true."""

RULES = "\n\n".join((part.__doc__ or "").strip() for part in (circuits, scoring, oracles)) + "\n"

QTYPE = StabilizerCodes()
