"""Grader of `leakage_drag_characterization`: leakage of fast pulses against the DRAG coefficient, phase error, anharmonicity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from scipy.optimize import minimize_scalar

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from graders.kit.drag_evidence import Cosine, Evidence, Series, collect, fit_leakage, fit_peak, fit_phase, least_leakage
from graders.kit.three_levels import Levels, fit_levels
from qtypes.transmon_multilevel_pulse.device import RAD_PER_NS, Hidden
from qtypes.transmon_multilevel_pulse.draw import calibrated, phase_coefficient
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine
from qtypes.transmon_multilevel_pulse.replay import coherent_leakage

LENGTHS = (8, 10, 16)
BETAS = (0.0, 0.5, 1.0, 1.5)
_CELLS = tuple((length, beta) for length in LENGTHS for beta in BETAS)
LEAK_NS, PHASE_NS = 8, 16
AMPLITUDE = 0.05
"""Largest relative difference of a pulse's amplitude from the one that transfers most population."""
BETA_EXACT = 0.02
"""Largest difference of a train's coefficient from the one in question."""
PADDING_NS = 30
REFERENCE_SHOTS = 3000
TRAIN_LENGTHS = 2
TRAIN_SHOTS = 2000
CONTROL_SHOTS = 2000
CARRIERS = 15
SPECTROSCOPY_SHOTS = 3000
PHASE_COEFFICIENTS = 5
PHASE_PAIRS = 4
PHASE_SHOTS = 3000
RESOLUTION = (0.12, 8e-5)
"""Largest recomputed standard error of a table entry, relative to it or absolute."""
PHASE_RESOLUTION = 0.005
BIND_LEAKAGE = (0.15, 6e-5)
BIND_ALPHA_MHZ = 0.8
BIND_BETA_LEAK = 0.04
BIND_BETA_PHASE = 0.01
LEAKAGE_TOLERANCE = (0.25, 1.5e-4)
"""An entry is right within this share of the truth, or within this difference, whichever is larger."""
ALPHA_TOLERANCE_MHZ = 0.3
BETA_LEAK_TOLERANCE = 0.05
BETA_PHASE_TOLERANCE = 0.015
PULLS = 3.0
"""Largest root mean square of (reported - true) / sigma over the table."""

Entry = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, le=1)]
_TABLE = {"min_length": len(LENGTHS), "max_length": len(LENGTHS)}
_ROW = {"min_length": len(BETAS), "max_length": len(BETAS)}


class Answer(AnswerModel):
    """Leakage table, coefficients and anharmonicity, and the jobs they rest on."""

    alpha_mhz: float = Field(ge=-400, le=0, description="anharmonicity, MHz")
    alpha_sigma_mhz: float = Field(gt=0, le=100, description="its standard uncertainty, MHz")
    leakage: tuple[Annotated[tuple[Entry, ...], Field(**_ROW)], ...] = Field(
        description="leakage per pulse; rows: 8, 10, 16 ns, columns: DRAG coefficient 0, 0.5, 1, 1.5", **_TABLE
    )
    leakage_sigma: tuple[Annotated[tuple[Positive, ...], Field(**_ROW)], ...] = Field(
        description="standard uncertainty of each entry", **_TABLE
    )
    beta_leak_8ns: float = Field(ge=-10, le=10, description="DRAG coefficient of least leakage at 8 ns")
    beta_leak_sigma: float = Field(gt=0, le=10, description="its standard uncertainty")
    beta_phase_16ns: float = Field(ge=-10, le=10, description="DRAG coefficient of least phase error at 16 ns")
    beta_phase_sigma: float = Field(gt=0, le=10, description="its standard uncertainty")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=60, description="jobs the values rest on")


class LeakageDragCharacterization(Grader):
    """See `docs/tasks/leakage_drag_characterization.md`."""

    task: ClassVar[str] = "leakage_drag_characterization"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("table entries with random trains", "coefficients with pairs of inverse 16 ns pulses")
    trap_meets = ("reference shots of level 0",)
    TOOLS: ClassVar[frozenset[str]] = frozenset({"run_envelope", "run_iq_reference", "run_ef_spectroscopy"})

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: the regrade uses the cited jobs and is made in `bind`."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        hidden: Hidden = session.device.hidden
        jobs = [j for j in session.jobs if j.job_id in set(answer.job_ids)]
        found = collect(jobs, hidden.anharmonicity_nominal_mhz)
        truth = true_amplitudes(hidden)
        cells = [_of_cell(found, cell, truth[cell]) for cell in _CELLS]
        pairs = [s for s in found.pairs if s.pulse.length == PHASE_NS and _near(s.pulse, truth[PHASE_NS, 0.5])]
        pairs = [s for s in pairs if s.pulses >= PHASE_PAIRS]
        q["_cells"] = cells
        missing = _missing(jobs, cells, pairs, found)
        checks = [self.jobs_exist(answer.job_ids, session, set(self.TOOLS)), *missing]
        levels = fit_levels([_points(_references(jobs, k)) for k in range(3)]) if all(c.passed for c in missing) else None
        if levels is None or not levels.resolves:
            name = "the values can be recomputed from the cited jobs"
            return [*checks, holds(name, Stage.BIND, False, category=Category.MISSING_EVIDENCE)]
        low, high = session.device.profile.t1_us
        leakage = fit_leakage(cells, np.concatenate(found.controls), levels, (1e3 * low, 1e3 * high))
        return [*checks, *_bound(answer, jobs, leakage, pairs, levels, q)]

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden: Hidden = session.device.hidden
        truth = np.array([true_leakage(hidden, trains, cell) for trains, cell in zip(q["_cells"], _CELLS, strict=True)])
        alpha, leak, phase = hidden.alpha_mhz, true_least_leakage(hidden), phase_coefficient(hidden, PHASE_NS)
        reported, sigma = np.ravel(answer.leakage), np.ravel(answer.leakage_sigma)
        room = np.maximum(LEAKAGE_TOLERANCE[0] * truth, LEAKAGE_TOLERANCE[1])
        checks = [
            below("|alpha - true alpha|", Stage.SCORE, abs(answer.alpha_mhz - alpha), ALPHA_TOLERANCE_MHZ, unit="MHz"),
            below("|beta_leak_8ns - truth|", Stage.SCORE, abs(answer.beta_leak_8ns - leak), BETA_LEAK_TOLERANCE),
            below("|beta_phase_16ns - truth|", Stage.SCORE, abs(answer.beta_phase_16ns - phase), BETA_PHASE_TOLERANCE),
        ]
        for k, (length, beta) in enumerate(_CELLS):
            name = f"|leakage - truth| at {length} ns, coefficient {beta:g}"
            checks.append(below(name, Stage.SCORE, float(abs(reported[k] - truth[k])), float(room[k])))
        pulls = float(np.sqrt(np.mean(((reported - truth) / sigma) ** 2)))
        checks.append(below("rms of (leakage - truth) / sigma over the table", Stage.SCORE, pulls, PULLS))
        wide = int(np.argmax(sigma / room))
        checks += [
            below("alpha_sigma_mhz", Stage.SCORE, answer.alpha_sigma_mhz, ALPHA_TOLERANCE_MHZ, unit="MHz"),
            below("beta_leak_sigma", Stage.SCORE, answer.beta_leak_sigma, BETA_LEAK_TOLERANCE),
            below("beta_phase_sigma", Stage.SCORE, answer.beta_phase_sigma, BETA_PHASE_TOLERANCE),
            below("leakage_sigma, the widest", Stage.SCORE, float(sigma[wide]), float(room[wide]), note=_at(wide)),
        ]
        true = {"leakage": truth.reshape(3, 4).tolist(), "alpha_mhz": alpha, "beta_leak_8ns": leak, "beta_phase_16ns": phase}
        return Score(checks, quantities={"truth": true})

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """Every value moved by twice its tolerance; a table entry upwards from wherever it lies within it."""
        grow, shift = 1.0 + 4.0 * LEAKAGE_TOLERANCE[0], 2.0 * LEAKAGE_TOLERANCE[1]
        return {
            **answer,
            "leakage": [[min(1.0, v * grow + shift) for v in row] for row in answer["leakage"]],
            "alpha_mhz": answer["alpha_mhz"] + 2.0 * ALPHA_TOLERANCE_MHZ,
            "beta_leak_8ns": answer["beta_leak_8ns"] + 2.0 * BETA_LEAK_TOLERANCE,
            "beta_phase_16ns": answer["beta_phase_16ns"] + 2.0 * BETA_PHASE_TOLERANCE,
        }


def _references(jobs: list[Job], level: int) -> list[Job]:
    return [j for j in jobs if j.tool == "run_iq_reference" and j.request.prepare == level]  # type: ignore[attr-defined]


def _points(jobs: list[Job]) -> np.ndarray:
    rows = [j.arrays()["iq"].ravel() for j in jobs]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.complex64)


def _near(pulse: Cosine, amplitude: float) -> bool:
    return abs(pulse.amplitude / amplitude - 1.0) <= AMPLITUDE


def _of_cell(found: Evidence, cell: tuple[int, float], amplitude: float) -> list[Series]:
    """Trains of one table entry: right shape, amplitude and paddings."""
    length, beta = cell
    same = [s for s in found.trains if s.pulse.length == length and abs(s.pulse.beta - beta) <= BETA_EXACT]
    return [s for s in same if _near(s.pulse, amplitude) and s.extra_ns >= PADDING_NS]


def _missing(jobs: list[Job], cells: list[list[Series]], pairs: list[Series], found: Evidence) -> list[Check]:
    """Checks of what must be cited."""
    checks = []
    more = {"category": Category.MISSING_EVIDENCE}
    for k in range(3):
        shots = _points(_references(jobs, k)).size
        checks.append(above(f"reference shots of level {k}", Stage.BIND, shots, REFERENCE_SHOTS, **more))
    complete = 0
    for trains in cells:
        shots = {n: sum(s.iq.size for s in trains if s.pulses == n) for n in {s.pulses for s in trains}}
        complete += sum(v >= TRAIN_SHOTS for v in shots.values()) >= TRAIN_LENGTHS
    ids = tuple(sorted({s.job_id for trains in cells for s in trains}))
    note = f"{TRAIN_LENGTHS} lengths with {TRAIN_SHOTS} shots each, random phases and paddings of 0 to {PADDING_NS} ns, every shot anew"
    checks.append(above("table entries with random trains", Stage.BIND, complete, len(_CELLS), jobs=ids, note=note, **more))
    control = sum(c.size for c in found.controls)
    checks.append(above("shots of trains of length zero", Stage.BIND, control, CONTROL_SHOTS, **more))
    ef = [j for j in jobs if j.tool == "run_ef_spectroscopy"]
    carriers = len({o for j in ef for o in j.request.offsets_mhz})  # type: ignore[attr-defined]
    checks.append(above("carriers of the 1-2 spectroscopy", Stage.BIND, carriers, CARRIERS, **more))
    shots = sum(j.arrays()["iq"].size for j in ef)
    checks.append(above("shots of the 1-2 spectroscopy", Stage.BIND, shots, SPECTROSCOPY_SHOTS, **more))
    betas = len({round(s.pulse.beta, 3) for s in pairs})
    checks.append(above(f"coefficients with pairs of inverse {PHASE_NS} ns pulses", Stage.BIND, betas, PHASE_COEFFICIENTS, **more))
    shots = sum(s.iq.size for s in pairs)
    checks.append(above("shots of these pairs", Stage.BIND, shots, PHASE_SHOTS, **more))
    return checks


def _bound(
    answer: Answer, jobs: list[Job], fit: tuple[np.ndarray, np.ndarray, float], pairs: list[Series], levels: Levels, q: dict[str, Any]
) -> list[Check]:
    leakage, sigma, t1_ns = np.maximum(fit[0], 0.0), fit[1], fit[2]
    beta_phase, phase_sigma = fit_phase(pairs, levels)
    ef = [j for j in jobs if j.tool == "run_ef_spectroscopy"]
    offsets = np.concatenate([np.array(j.request.offsets_mhz) + j.request.detuning_mhz for j in ef])  # type: ignore[attr-defined]
    peak, peak_sigma = fit_peak(offsets, [row for j in ef for row in j.arrays()["iq"]], levels)
    beta_leak = least_leakage(np.array(BETAS), leakage[: len(BETAS)])
    q.update(
        leakage=leakage.reshape(3, 4).tolist(), leakage_sigma=sigma.reshape(3, 4).tolist(), t1_us=t1_ns / 1e3, beta_phase=beta_phase,
        beta_phase_sigma=phase_sigma, ef_offset_mhz=peak, ef_sigma_mhz=peak_sigma, beta_leak=beta_leak if np.isfinite(beta_leak) else None,
        response=levels.response.tolist(),
    )  # fmt: skip
    reported = np.ravel(answer.leakage)
    allowed, room = np.maximum(RESOLUTION[0] * leakage, RESOLUTION[1]), np.maximum(BIND_LEAKAGE[0] * leakage, BIND_LEAKAGE[1])
    apart = np.abs(reported - leakage)
    coarse, worst = int(np.argmax(sigma / allowed)), int(np.argmax(apart / room))
    ids = tuple(sorted({s.job_id for trains in q["_cells"] for s in trains}))
    more, few = {"category": Category.UNSUPPORTED}, {"category": Category.MISSING_EVIDENCE}
    return [
        below("recomputed sigma of a leakage", Stage.BIND, float(sigma[coarse]), float(allowed[coarse]), jobs=ids, note=_at(coarse), **few),
        below("recomputed sigma of beta_phase", Stage.BIND, phase_sigma, PHASE_RESOLUTION, **few),
        below("|leakage - recomputed leakage|", Stage.BIND, float(apart[worst]), float(room[worst]), jobs=ids, note=_at(worst), **more),
        below("|alpha - recomputed 1-2 offset|", Stage.BIND, abs(answer.alpha_mhz - peak), BIND_ALPHA_MHZ, unit="MHz",
              note="the drive is within 0.4 MHz of the qubit", **more),
        below("|beta_leak_8ns - that of the recomputed row|", Stage.BIND, abs(answer.beta_leak_8ns - beta_leak), BIND_BETA_LEAK, **more),
        below("|beta_phase_16ns - recomputed|", Stage.BIND, abs(answer.beta_phase_16ns - beta_phase), BIND_BETA_PHASE, **more),
    ]  # fmt: skip


def _at(cell: int) -> str:
    return f"of all entries nearest to its limit: {_CELLS[cell][0]} ns, coefficient {_CELLS[cell][1]:g}"


def true_amplitudes(hidden: Hidden) -> dict[tuple[int, float], float]:
    """Amplitude of most transfer for every table entry."""
    return {(length, beta): calibrated(hidden, length, beta) for length, beta in _CELLS}


def exact_leakage(hidden: Hidden, pulse: Cosine) -> float:
    """Leakage per pulse of a raised cosine on the device at lab clock 0."""
    samples = raised_cosine(pulse.length, pulse.amplitude, pulse.beta, hidden.anharmonicity_nominal_mhz)
    return coherent_leakage(hidden.transmon(0.0).unitary(hidden.line(0.0), RAD_PER_NS * samples))


def true_leakage(hidden: Hidden, trains: list[Series], cell: tuple[int, float]) -> float:
    """That of the pulses in the cited trains; where there are none, that of the pulse of most transfer."""
    if not trains:
        return exact_leakage(hidden, Cosine(cell[0], calibrated(hidden, *cell), cell[1]))
    weight = {p: sum(s.iq.size * s.pulses for s in trains if s.pulse == p) for p in {s.pulse for s in trains}}
    return sum(w * exact_leakage(hidden, p) for p, w in weight.items()) / sum(weight.values())


def true_least_leakage(hidden: Hidden) -> float:
    """DRAG coefficient of least leakage at 8 ns, each pulse at its amplitude of most transfer."""

    def leakage(beta: float) -> float:
        return exact_leakage(hidden, Cosine(LEAK_NS, calibrated(hidden, LEAK_NS, beta), beta))

    return float(minimize_scalar(leakage, bounds=(0.8, 1.7), method="bounded", options={"xatol": 1e-3}).x)


GRADER = LeakageDragCharacterization()
