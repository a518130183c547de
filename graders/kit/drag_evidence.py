"""What cited jobs of `transmon_multilevel_pulse` say about raised-cosine pulses: random trains, pairs of inverse pulses, spectroscopy.

Everything here comes from requests and raw points alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from graders.kit.session import Job
from graders.kit.three_levels import Levels
from qtypes.transmon_multilevel_pulse.experiments import Play, Point, RunEnvelope
from qtypes.transmon_multilevel_pulse.physics import BLANK_NS, Floats
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine

SHAPE = 2e-3
"""Largest difference of a sample from the shape in question."""


@dataclass(frozen=True)
class Cosine:
    """A raised cosine of `length` ns with DRAG coefficient `beta`."""

    length: int
    amplitude: float
    beta: float


@dataclass(frozen=True)
class Series:
    """A point that repeats one pulse (`pulses` times), or one pulse and its inverse (`pulses` pairs); `iq` (shots,)."""

    pulse: Cosine
    pulses: int
    padding_ns: float
    """Mean idle time after a pulse."""
    extra_ns: int
    """Largest random part of it."""
    iq: NDArray[np.complex64]
    job_id: str


@dataclass(frozen=True)
class Evidence:
    """Points of the cited jobs by what they are."""

    trains: list[Series]
    pairs: list[Series]
    controls: list[NDArray[np.complex64]]
    """Points of sequences without any pulse."""


def cosine(samples: NDArray[np.complex128], alpha_mhz: float) -> Cosine | None:
    """The raised cosine with positive amplitude that samples i + iq `(n,)` are, or None."""
    length = samples.size
    unit = raised_cosine(length, 1.0, 1.0, alpha_mhz)
    amplitude = float(unit.real @ samples.real) / float(unit.real @ unit.real)
    if length < 2 or amplitude <= 0.0:
        return None
    beta = float(unit.imag @ samples.imag) / float(unit.imag @ unit.imag) / amplitude
    off = np.abs(samples - raised_cosine(length, amplitude, beta, alpha_mhz))
    return Cosine(length, amplitude, beta) if float(max(abs(off.real).max(), abs(off.imag).max())) <= SHAPE else None


def collect(jobs: Sequence[Job], alpha_mhz: float) -> Evidence:
    """Evidence of `run_envelope` jobs at zero detuning; `alpha_mhz` is the anharmonicity in the definition of the coefficient.

    A train is a random one of a single pulse, a pair a sequence of two plays of the same pulse at phases that differ by pi, not random and
    without idling; neither has pulses before or after, a preparation or a mapping.
    """
    found = Evidence([], [], [])
    for job in jobs:
        request: Any = job.request
        if job.tool != "run_envelope" or request.detuning_mhz != 0.0:
            continue
        iq = job.arrays()["iq"]
        for n, point in enumerate(request.points):
            if point.prepare or point.map != "none" or point.before or point.after:
                continue
            if not point.pulses:
                found.controls.append(iq[n])
            elif request.randomise and len(point.train) == 1:
                _add(found.trains, request, point, alpha_mhz, request.padding_max_ns, iq[n], job.job_id)
            elif not request.randomise and _is_pair(point):
                _add(found.pairs, request, point, alpha_mhz, 0, iq[n], job.job_id)
    return found


def _add(
    where: list[Series], request: RunEnvelope, point: Point, alpha_mhz: float, extra_ns: int, iq: NDArray[np.complex64], job_id: str
) -> None:
    play = point.train[0]
    wave = request.waveforms[play.waveform]
    pulse = cosine(wave.samples * abs(play.scale), alpha_mhz) if wave.offset_mhz == 0.0 else None
    if pulse is not None:
        where.append(Series(pulse, point.repeats, play.padding_ns + extra_ns / 2.0, extra_ns, iq, job_id))


def _is_pair(point: Point) -> bool:
    if len(point.train) != 2 or any(p.padding_ns for p in point.train):
        return False
    first, second = point.train
    turn = _angle(second) - _angle(first)
    return first.waveform == second.waveform and abs(first.scale) == abs(second.scale) and bool(abs(np.cos(turn) + 1.0) < 1e-6)


def _angle(play: Play) -> float:
    return play.phase_rad + (np.pi if play.scale < 0.0 else 0.0)


def lost(leakage: float | Floats, pulses: Floats, decay: float | Floats) -> Floats:
    """Population outside of levels 0 and 1 after a random train: leakage L per pulse, return at 2 L, `decay` of level 2 per slot.

    Random phases leave a classical process (Wood and Gambetta 2018, sec. III, with two levels inside and one outside).
    """
    rate = 3.0 * np.asarray(leakage) + decay
    out: Floats = np.asarray(leakage * pulses * _relative_decay(rate * pulses))
    return out


def _relative_decay(x: Floats) -> Floats:
    safe = np.where(np.abs(x) < 1e-9, 1.0, x)
    return np.where(np.abs(x) < 1e-9, 1.0, -np.expm1(-safe) / safe)


def fit_leakage(
    cells: Sequence[Sequence[Series]], controls: NDArray[np.complex64], levels: Levels, t1_range_ns: tuple[float, float]
) -> tuple[Floats, Floats, float]:
    """Leakage per pulse of every cell `(n,)`, standard errors `(n,)`, and T1 in ns, from the trains of each cell and the control points.

    One T1 is common to all, so that the decay of level 2 is not asked of each cell alone; where leakage is small throughout, it rests on
    `t1_range_ns`, the range of this kind of device (a normal prior of its logarithm, the range being two standard deviations wide).
    """
    p0, e0 = levels.populations(controls)
    cell, pulses, slot, p, e = [np.array(c) for c in zip(*_rows(cells, levels), strict=True)]
    cell = cell.astype(int)
    n = len(cells)

    def residual(x: Floats) -> Floats:
        decay = 2.0 * slot / np.exp(x[n])
        out = (lost(x[cell], pulses, decay) + x[n + 1] - p) / e
        return np.concatenate((out, [(x[n + 1] - p0[2]) / e0[2], (x[n] - prior) / spread]))

    prior, spread = float(np.mean(np.log(t1_range_ns))), float(np.diff(np.log(t1_range_ns))[0]) / 2.0
    start = np.array([max(1e-4, max((p[k] - p0[2]) / pulses[k] for k in np.flatnonzero(cell == c))) for c in range(n)])
    x0 = np.concatenate((np.minimum(start, 0.2), [prior, p0[2]]))
    low = np.concatenate((np.full(n, -1e-2), [prior - 4.0 * spread, -0.5]))
    high = np.concatenate((np.full(n, 0.5), [prior + 4.0 * spread, 0.5]))
    scale = np.concatenate((np.full(n, 1e-3), [1.0, 1e-3]))
    fit = least_squares(residual, np.clip(x0, low, high), bounds=(low, high), x_scale=scale)
    sigma = np.sqrt(np.diag(np.linalg.pinv(fit.jac.T @ fit.jac)))
    return fit.x[:n], sigma[:n], float(np.exp(fit.x[n]))


def _rows(cells: Sequence[Sequence[Series]], levels: Levels) -> list[tuple[float, ...]]:
    rows: list[tuple[float, ...]] = []
    for c, trains in enumerate(cells):
        for t in trains:
            p, e = levels.populations(t.iq)
            rows.append((float(c), float(t.pulses), t.pulse.length + BLANK_NS + t.padding_ns, float(p[2]), float(e[2])))
    return rows


def fit_phase(pairs: Sequence[Series], levels: Levels) -> tuple[float, float]:
    """DRAG coefficient at which pairs of a pulse and its inverse leave |0> alone, and its standard error.

    The pair turns by an angle proportional to beta - beta0, so N pairs leave sin^2(N k (beta - beta0)) outside of |0>, on top of a part
    that grows with N.
    """
    beta, n = np.array([s.pulse.beta for s in pairs]), np.array([float(s.pulses) for s in pairs])
    measured = [levels.populations(s.iq) for s in pairs]
    p, e = np.array([1.0 - m[0][0] for m in measured]), np.array([m[1][0] for m in measured])

    def residual(x: Floats) -> Floats:
        out: Floats = (x[3] + x[2] * n + (1.0 - 2.0 * x[3]) * np.sin(n * x[1] * (beta - x[0])) ** 2 - p) / np.maximum(e, 5e-3)
        return out

    low, high = [beta.min() - 0.3, 0.1, 0.0, -0.05], [beta.max() + 0.3, 1.5, 0.02, 0.2]
    best = None
    for b in np.linspace(beta.min(), beta.max(), 13):
        fit = least_squares(residual, (b, 0.5, 1e-3, 0.01), bounds=(low, high))
        best = fit if best is None or fit.cost < best.cost else best
    assert best is not None
    sigma = float(np.sqrt(np.linalg.pinv(best.jac.T @ best.jac)[0, 0]))
    return float(best.x[0]), sigma


def least_leakage(betas: Floats, row: Floats) -> float:
    """Coefficient of least leakage from a row of leakages, or nan.

    The amplitude of leakage is a smooth function of the coefficient that changes sign once: the cubic through the signed square roots,
    with the sign change that makes it the smoothest.
    """
    if not np.isfinite(row).all():
        return np.nan
    amplitude = np.sqrt(np.clip(row, 0.0, None))
    best = (np.inf, np.nan)
    for change in range(1, len(betas)):
        cubic = np.polyfit(betas, amplitude * np.where(np.arange(len(betas)) < change, 1.0, -1.0), 3)
        bend = float(abs(cubic[0]) + abs(cubic[1]))
        for root in np.roots(cubic):
            if abs(root.imag) < 1e-9 and betas[change - 1] <= root.real <= betas[change]:
                best = min(best, (bend, float(root.real)))
    return best[1]


def fit_peak(offsets_mhz: Floats, iq: Sequence[NDArray[np.complex64]], levels: Levels) -> tuple[float, float]:
    """Centre of the 1-2 line in MHz relative to the drive, and its standard error."""
    measured = [levels.populations(row) for row in iq]
    p, e = np.array([m[0][2] for m in measured]), np.array([m[1][2] for m in measured])

    def residual(x: Floats) -> Floats:
        out: Floats = (x[3] + x[0] * np.exp(-(((offsets_mhz - x[1]) / x[2]) ** 2) / 2.0) - p) / e
        return out

    span = (float(offsets_mhz.min()), float(offsets_mhz.max()))
    bounds = ([0.0, span[0] - 1.0, 0.2, -0.5], [2.0, span[1] + 1.0, 60.0, 0.5])
    fit = least_squares(residual, (0.8, float(offsets_mhz[p.argmax()]), 3.0, 0.0), bounds=bounds)
    return float(fit.x[1]), float(np.sqrt(np.linalg.pinv(fit.jac.T @ fit.jac)[1, 1]))
