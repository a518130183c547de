"""Grader of `vqe_ground_energy`: the angles are judged by the energy of the state that the device makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.optimize import minimize

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit import gate_circuits as gates
from qtypes.digital_gate_model import compiling, physics, qasm
from qtypes.digital_gate_model.device import BOX_QUBITS, Hidden

SETTING_SHOTS = 20_000
"""Shots of the final circuit in each of the two bases."""
CALIBRATION_SHOTS = 1000
"""Shots of each of the 16 prepared strings."""
OTHER_CIRCUITS = 10
"""Other programs with CZ gates: gate errors were looked at, or parameters scanned."""
BIND_ENERGY = 0.08
BIND_TERM = 0.05
ENERGY_TOLERANCE = 0.08
EXCESS = 0.08
SIGMA_LEAST = 0.003
SIGMA_MOST = 0.03
PREPARED = 0.97
"""A program without CZ whose ideal output is one string with at least this probability prepares it."""
ALIGNED = 0.97
"""A setting measures Z or X of a qubit if the ideal axis has at least this component along it."""
ANGLE_RAD = 1e-6
STARTS = 3
J, HX, HZ = 1.0, 1.0, 0.3
QUBITS = (0, 1, 2, 3)
N = len(QUBITS)
TERMS: tuple[dict[int, str], ...] = (
    *({q: "Z", q + 1: "Z"} for q in range(N - 1)), *({q: "X"} for q in range(N)), *({q: "Z"} for q in range(N)),
)  # fmt: skip
WEIGHTS = np.array([-J] * (N - 1) + [-HX] * N + [-HZ] * N)

Floats = NDArray[np.float64]


class Answer(AnswerModel):
    """Angles of the ansatz and the energy that was measured with them."""

    theta: tuple[Annotated[float, Field(ge=-100, le=100)], ...] = Field(
        min_length=16, max_length=16, description="angles of the ansatz, rad, layer by layer, qubit 0 first"
    )
    energy_readout_mitigated: float = Field(ge=-20, le=20, description="measured energy, readout errors undone, in units of J")
    energy_sigma: float = Field(gt=0, le=10, description="its standard uncertainty (one sigma)")
    term_expectations: tuple[Annotated[float, Field(ge=-2, le=2)], ...] = Field(
        min_length=11, max_length=11, description="Z0Z1, Z1Z2, Z2Z3, X0..X3, Z0..Z3, mitigated"
    )
    job_ids: tuple[JobId, ...] = Field(
        min_length=1, max_length=60, description="jobs behind the answer: final circuit, readout calibration, gate errors or scans"
    )


@dataclass
class Sorted:
    """What the cited programs are for. Counts are over strings of c[0..3], little-endian."""

    prepared: Floats
    """`(16 read, 16 prepared)`"""
    final: dict[str, Floats]
    """`(16,)` for basis Z and X."""
    others: int
    last_s: float


def ansatz(theta: tuple[float, ...] | Floats) -> tuple[tuple[qasm.Operation, Any], ...]:
    """Operations of the ansatz; an angle of `theta` may be an array `(batch,)`."""
    op = qasm.Operation
    out: list[tuple[qasm.Operation, Any]] = []
    for layer in range(4):
        if layer:
            for gates in (((0, 1), (2, 3)), ((1, 2),)):
                out.append((op("barrier", QUBITS), 0.0))
                out += [(op("cz", pair), 0.0) for pair in gates]
            out.append((op("barrier", QUBITS), 0.0))
        for q in range(N):
            pulse, turn = (op("sx", (q,)), 0.0), theta[4 * layer + q] + np.pi
            out += [pulse, (op("rz", (q,)), turn), pulse, (op("rz", (q,)), np.pi)]
    return tuple(out)


def energy(model: physics.NoiseModel, theta: Floats) -> Floats:
    """Exact energies `(batch,)` of the states that the device makes of angles `(batch, 16)`."""
    operations = list(ansatz(np.ascontiguousarray(theta.T)))
    tensor = physics.evolve(model, compiling.moments(operations), QUBITS, BOX_QUBITS)
    return np.asarray(sum(w * physics.expectation(tensor, QUBITS, t) for t, w in zip(TERMS, WEIGHTS, strict=True)))


def descend(model: physics.NoiseModel, start: Floats) -> tuple[Floats, float]:
    """Angles and energy of the minimum that a descent from `start` finds."""
    step = 1e-4
    probes = step * np.vstack([np.eye(16), -np.eye(16)])

    def loss(theta: Floats) -> tuple[float, Floats]:
        e = energy(model, np.vstack([theta, theta + probes]))
        return float(e[0]), np.asarray((e[1:17] - e[17:]) / (2 * step))

    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-3, "maxiter": 200})
    return np.asarray(found.x), float(found.fun)


def begins_with_ansatz(program: qasm.Circuit, theta: tuple[float, ...]) -> bool:
    """Whether the program starts with exactly the ansatz at `theta`; only rz, sx and barriers may follow."""
    wanted = ansatz(theta)
    head, tail = program.operations[: len(wanted)], program.operations[len(wanted) :]
    if len(head) < len(wanted) or any(op.kind not in ("rz", "sx", "barrier") for op in tail):
        return False
    return all(
        a.kind == b.kind and set(a.qubits) == set(b.qubits) and abs(np.angle(np.exp(1j * (a.value - angle)))) < ANGLE_RAD
        for a, (b, angle) in zip(head, wanted, strict=True)
    )


def basis(program: qasm.Circuit, skip: int) -> str | None:
    """`Z` or `X` if the operations behind the first `skip` make the measurement one of it on all four qubits, without errors."""
    turns = np.repeat(np.eye(4)[None], N, axis=0)
    for op in program.operations[skip:]:
        if op.kind in ("rz", "sx") and op.qubits[0] < N:
            matrix = physics.rz_matrix(op.value)[0] if op.kind == "rz" else physics.sx_matrix(0.0)
            turns[op.qubits[0]] = matrix @ turns[op.qubits[0]]
    axis = turns[:, 3, :]
    for name, component in (("Z", 3), ("X", 1)):
        if (axis[:, component] >= ALIGNED).all():
            return name
    return None


def prepares(program: qasm.Circuit) -> int | None:
    """The string that a program without two-qubit gates prepares, None where it is none."""
    if any(op.kind in ("cz", "box", "delay") for op in program.operations):
        return None
    string = 0
    for q in range(N):
        z = np.array([1.0, 0.0, 0.0, 1.0])
        for op in program.operations:
            if op.qubits == (q,) and op.kind in ("rz", "sx"):
                z = (physics.rz_matrix(op.value)[0] if op.kind == "rz" else physics.sx_matrix(0.0)) @ z
        excited = (1.0 - z[3]) / 2.0
        if min(excited, 1.0 - excited) > 1.0 - PREPARED:
            return None
        string |= int(excited > 0.5) << q
    return string


def sort(jobs: list[Job], theta: tuple[float, ...]) -> Sorted:
    """Sort the cited programs."""
    found = Sorted(np.zeros((16, 16)), {"Z": np.zeros(16), "X": np.zeros(16)}, 0, 0.0)
    skip = len(ansatz(theta))
    for run in gates.runs(jobs):
        program = run.circuit
        if program.measured != QUBITS:
            continue
        counts = run.shots * gates.histogram(run.strings(QUBITS), N)
        if not run.twirled and begins_with_ansatz(program, theta):
            setting = basis(program, skip)
            if setting is not None:
                found.final[setting] += counts
                found.last_s = max(found.last_s, run.job.lab_start_s)
            continue
        string = None if run.twirled else prepares(program)
        if string is not None:
            found.prepared[:, string] += counts
        found.others += program.count("cz") > 0
    return found


def recomputed(found: Sorted) -> tuple[float, Floats]:
    """Energy and terms from the counts, the readout undone by the measured response matrix."""
    inverse = np.linalg.pinv(found.prepared / found.prepared.sum(0))
    strings = np.arange(16)
    values = np.zeros(len(TERMS))
    for k, term in enumerate(TERMS):
        counts = found.final[next(iter(term.values()))]
        sign = np.prod([1.0 - 2.0 * ((strings >> q) & 1) for q in term], axis=0)
        values[k] = sign @ inverse @ counts / counts.sum()
    return float(WEIGHTS @ values), values


class VqeGroundEnergy(Grader):
    """See `docs/tasks/vqe_ground_energy.md`."""

    task: ClassVar[str] = "vqe_ground_energy"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("energy of the state - lowest on this device",)
    trap_meets = ("other circuits with CZ gates", "|reported energy - recomputed|")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: what the programs are for depends on the submitted angles."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = [j for j in session.jobs if j.job_id in set(answer.job_ids) and j.tool in {gates.TOOL}]
        found = sort(cited, answer.theta)
        ids = tuple(j.job_id for j in cited)
        missing = {"category": Category.MISSING_EVIDENCE, "jobs": ids}
        checks = [
            self.jobs_exist(answer.job_ids, session, {gates.TOOL}),
            *(
                above(f"shots of the final circuit in the {name} basis", Stage.BIND, counts.sum(), SETTING_SHOTS, **missing)
                for name, counts in found.final.items()
            ),
            above("shots of the least calibrated string", Stage.BIND, found.prepared.sum(0).min(), CALIBRATION_SHOTS, **missing),
            above("other circuits with CZ gates", Stage.BIND, found.others, OTHER_CIRCUITS, **missing),
        ]
        if not all(c.passed for c in checks[1:4]):
            return [*checks, holds("the energy can be recomputed from the cited jobs", Stage.BIND, False, **missing)]
        value, terms = recomputed(found)
        q.update(energy_recomputed=value, terms_recomputed=terms.tolist(), _last_s=found.last_s)
        worst = float(np.abs(np.array(answer.term_expectations) - terms).max())
        more = {"category": Category.UNSUPPORTED, "jobs": ids}
        energy_reported = answer.energy_readout_mitigated
        return [
            *checks,
            below("|reported energy - recomputed|", Stage.BIND, abs(energy_reported - value), BIND_ENERGY, unit="J", **more),
            below("largest |reported term - recomputed|", Stage.BIND, worst, BIND_TERM, **more),
        ]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden: Hidden = session.device.hidden
        model = hidden.noise(float(q.get("_last_s", 0.0)))
        theta = np.array(answer.theta)
        mine = float(energy(model, theta[None])[0])
        # the landscape has other minima: start also from those of a device without errors
        starts = [theta, *(descend(hidden.noiseless(), rng.normal(0, 0.5, 16))[0] for _ in range(STARTS))]
        best = min(mine, *(descend(model, s)[1] for s in starts))
        off = abs(answer.energy_readout_mitigated - mine)
        checks = [
            below("energy of the state - lowest on this device", Stage.SCORE, mine - best, EXCESS, unit="J"),
            below("|reported energy - energy of the state|", Stage.SCORE, off, ENERGY_TOLERANCE, unit="J"),
            above("reported sigma", Stage.SCORE, answer.energy_sigma, SIGMA_LEAST, unit="J"),
            below("reported sigma, upper limit", Stage.SCORE, answer.energy_sigma, SIGMA_MOST, unit="J"),
        ]
        return Score(checks, quantities={"state_energy": mine, "lowest_energy": best})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The energy lowered by twice its tolerance, as if the state were purer than it is."""
        return {**answer, "energy_readout_mitigated": answer["energy_readout_mitigated"] - 2.0 * ENERGY_TOLERANCE}


GRADER = VqeGroundEnergy()
