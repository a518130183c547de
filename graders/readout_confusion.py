"""Grader of `readout_confusion`: the response matrix of four qubits and the pairs whose assignment errors are correlated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit import gate_circuits as gates

QUBITS = (0, 1, 2, 3)
N = 2 ** len(QUBITS)
STATE_SHOTS = 3000
SINGLES = [0, *(1 << q for q in QUBITS)]
OTHERS = [s for s in range(N) if s not in SINGLES]
STATE_JOBS = 2
COLUMN_SUM = 0.001
BIND_DISTANCE = 0.02
MEAN_DISTANCE = 0.015
MAX_DISTANCE = 0.03

ALONE = "shots of |0000> and of each single excitation, the fewest"
JOINT = "shots of each state of two and more excitations, the fewest"

Probability = Annotated[float, Field(ge=0, le=1)]
Column = Annotated[tuple[Probability, ...], Field(min_length=N, max_length=N)]
Pair = Annotated[tuple[Annotated[int, Field(ge=0, le=3)], ...], Field(min_length=2, max_length=2)]


class Answer(AnswerModel):
    """The response matrix, the correlated pairs, and the jobs they rest on."""

    matrix: tuple[Column, ...] = Field(
        min_length=N, max_length=N,
        description="matrix[r][s]: probability to read string r where s was prepared; strings are little-endian, qubit q is the bit of 2^q",
    )  # fmt: skip
    correlated_pairs: tuple[Pair, ...] = Field(min_length=2, max_length=2, description="the two pairs of qubits, in any order")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=9, description="jobs the matrix rests on")


class ReadoutConfusion(Grader):
    """See `docs/tasks/readout_confusion.md`."""

    task: ClassVar[str] = "readout_confusion"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails: ClassVar[tuple[str, ...]] = (JOINT,)
    trap_meets: ClassVar[tuple[str, ...]] = (ALONE,)

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: the columns use the cited jobs and are made in :meth:`bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        matrix = np.array(answer.matrix)
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        columns, shots, spread = columns_of(jobs)
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(j.job_id for j in jobs)}
        q.update(shots_per_state=int(shots.min()), _jobs=jobs)
        checks = [
            self.jobs_exist(answer.job_ids, session, {gates.TOOL}),
            above(ALONE, Stage.BIND, int(shots[SINGLES].min()), STATE_SHOTS, **missing),
            above(JOINT, Stage.BIND, int(shots[OTHERS].min()), STATE_SHOTS, **missing),
            above("jobs that hold the basis state with the fewest", Stage.BIND, int(spread.min()), STATE_JOBS, **missing),
            below("largest |column sum - 1|", Stage.BIND, float(abs(matrix.sum(axis=0) - 1).max()), COLUMN_SUM, category=Category.SCHEMA),
        ]
        if not shots.all():
            return [*checks, holds("every column can be recomputed from the cited jobs", Stage.BIND, False, **missing)]
        off = distance(matrix, columns)
        q["bind_distance"] = off.tolist()
        name = "largest total variation distance of a column from the recomputed one"
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": missing["jobs"]}
        return [*checks, below(name, Stage.BIND, float(off.max()), BIND_DISTANCE, **more)]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        jobs = q.get("_jobs") or []
        middle = float(np.mean([(j.lab_start_s + j.lab_end_s) / 2 for j in jobs])) if jobs else 0.0
        off = distance(np.array(answer.matrix), true_matrix(session.device.hidden, middle))
        named = {frozenset(p) for p in answer.correlated_pairs}
        true = {frozenset(p) for p in session.device.hidden.correlated_pairs}
        return Score([
            below("mean total variation distance of the columns from the truth", Stage.SCORE, float(off.mean()), MEAN_DISTANCE),
            below("largest total variation distance of a column from the truth", Stage.SCORE, float(off.max()), MAX_DISTANCE),
            holds("the correlated pairs are named", Stage.SCORE, named == true, value=len(named & true), threshold="both"),
        ])  # fmt: skip

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Every column moved towards the uniform distribution, by more than twice the tolerance."""
        moved = 0.9 * np.array(answer["matrix"]) + 0.1 / N
        return {**answer, "matrix": moved.tolist()}


def columns_of(jobs: list[Job]) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Relative frequencies `(read, prepared)`, shots per prepared state, and number of jobs that hold it, each of the latter `(16,)`.

    Counted are programs that prepare a basis state of the four qubits with the others in |0> and measure all four, without twirls.
    """
    counts = np.zeros((N, N))
    holders: list[set[str]] = [set() for _ in range(N)]
    for run in gates.runs(jobs):
        state = gates.prepared(run.circuit)
        if state is None or state >= N or not run.reads(QUBITS):
            continue
        counts[:, state] += run.shots * gates.histogram(run.strings(QUBITS), len(QUBITS))
        holders[state].add(run.job.job_id)
    shots = counts.sum(axis=0)
    return counts / np.maximum(shots, 1.0), np.rint(shots).astype(np.int64), np.array([len(h) for h in holders])


def distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Total variation distance of each column."""
    return np.asarray(np.abs(a - b).sum(axis=0) / 2)


def true_matrix(hidden: Any, t_s: float) -> NDArray[np.float64]:
    """Exact probabilities `(read, prepared)` where a state is prepared by one `sx sx` on each of its qubits right after the reset."""
    from qtypes.digital_gate_model import compiling, qasm
    from qtypes.digital_gate_model.device import N_QUBITS, TARGET
    from qtypes.digital_gate_model.experiments import read_out

    model, response = hidden.noise(t_s), hidden.response(t_s)
    out = np.zeros((N, N))
    for state in range(N):
        flips = "".join(f"sx q[{q}]; sx q[{q}];\n" for q in QUBITS if state >> q & 1)
        text = f"OPENQASM 3.0;\nqubit[{N_QUBITS}] q;\nbit[{N_QUBITS}] c;\n{flips}c = measure q;\n"
        circuit = qasm.read(text, TARGET)
        p = read_out(model, response, circuit, compiling.plain(circuit))[0]
        np.add.at(out[:, state], np.arange(len(p)) % N, p)
    return out


GRADER = ReadoutConfusion()
