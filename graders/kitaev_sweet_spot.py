"""Grader of `kitaev_sweet_spot`: a thermal fit of the cited charge maps, and the levels of the device at the submitted voltages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.optimize import least_squares

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below
from qtypes.kitaev_chain.device import Hidden, Spec
from qtypes.kitaev_chain.physics import INDUCED_GAP_UEV, Chain, amplitudes

TOOL = "run_charge_map"
TOTAL_SHOTS = 400_000
ABS_VALUES = 3
ABS_APART_MV = 0.2
NEAR_MV = 0.05
NEAR_SHOTS = 50_000
BIND_SIGMAS = 3.0
BIND_SPLITTING_UEV = 0.3
"""The regrade's three sigma are widened to at least this difference, and the next two."""
BIND_U_UEV = 0.6
BIND_RATIO = 0.03
RECOMPUTED_SIGMA_UEV = 0.3
SIGMA_RANGE_UEV = (0.03, 0.4)
SPLITTING_UEV = 1.0
POLARISATION = 0.97
GAP_UEV = 12.0
TRUE_SPLITTING_UEV = 0.8

STEP = np.array([0.02, 2e-3, 2e-3, 0.02, 0.05, 0.1, 0.1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
"""Peak, zero and width of the amplitudes over v_abs, U, temperature; of L and R: lever arms, cross couplings, empty levels, contrasts."""
CENTRE_STEP = 1e-3
LOW = np.array([3.0, -2.0, 0.5, 0.0, 10.0, 20.0, 20.0, -0.1, -0.1, -0.2, -0.2, 0.3, 0.3])
HIGH = np.array([60.0, 2.0, 6.0, 30.0, 150.0, 300.0, 300.0, 0.4, 0.4, 0.4, 0.4, 1.3, 1.3])
CENTRE_MV = 5.0
N = len(STEP)

Floats = NDArray[np.float64]


class Answer(AnswerModel):
    """Gate voltages, and what the maps say of the chain there."""

    v_l_mv: float = Field(ge=-3, le=3, description="voltage of the left plunger, mV")
    v_r_mv: float = Field(ge=-3, le=3, description="voltage of the right plunger, mV")
    v_abs_mv: float = Field(ge=-6, le=6, description="voltage of the bound state's gate, mV")
    t_over_delta: float = Field(ge=0, le=100, description="|t|/Delta at v_abs_mv")
    u_uev: float = Field(ge=0, le=100, description="Coulomb energy between the dots, ueV")
    splitting_uev: float = Field(ge=-100, le=100, description="E_even - E_odd of the two ground states at these voltages, ueV")
    sigma_uev: float = Field(gt=0, le=100, description="its standard uncertainty, ueV")
    job_ids: tuple[JobId, ...] = Field(min_length=1, max_length=20, description="charge maps that the values rest on")


class KitaevSweetSpot(Grader):
    """See `docs/tasks/kitaev_sweet_spot.md`."""

    task: ClassVar[str] = "kitaev_sweet_spot"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("|E_even - E_odd| at the submitted voltages",)
    trap_meets = ("|reported - recomputed| t/Delta", "shots of the cited maps")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Nothing is common to all answers: the fit is that of the cited maps."""
        return {}

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        jobs = _cited(answer, session)
        near = [j for j in jobs if _holds(j, answer)]
        ids: dict[str, Any] = {"jobs": tuple(j.job_id for j in jobs)}
        missing, unsupported = {"category": Category.MISSING_EVIDENCE} | ids, {"category": Category.UNSUPPORTED} | ids
        checks = [
            self.jobs_exist(answer.job_ids, session, {TOOL}),
            above("shots of the cited maps", Stage.BIND, float(sum(_shots(j) for j in jobs)), TOTAL_SHOTS, **missing),
            above("values of v_abs among them", Stage.BIND, float(_values(jobs)), ABS_VALUES, **missing),
            above("shots of maps around the submitted voltages", Stage.BIND, float(sum(_shots(j) for j in near)), NEAR_SHOTS, **missing),
            above("smallest reported sigma", Stage.BIND, answer.sigma_uev, SIGMA_RANGE_UEV[0], unit="ueV", **unsupported),
            below("largest reported sigma", Stage.BIND, answer.sigma_uev, SIGMA_RANGE_UEV[1], unit="ueV", **unsupported),
        ]
        if not all(c.passed for c in checks[:4]):
            return checks
        fit = ThermalFit(jobs, session.device.spec, session.device.hidden)
        last = max(range(len(jobs)), key=lambda k: (jobs[k] in near, jobs[k].lab_end_s))
        splitting, sigma = fit.estimate(lambda x: fit.splitting(x, last, answer))
        u, sigma_u = fit.estimate(lambda x: float(x[3]))
        ratio, sigma_ratio = fit.estimate(lambda x: _ratio(x, answer.v_abs_mv))
        q.update({"splitting_uev": splitting, "splitting_sigma_uev": sigma, "u_uev": u, "u_sigma_uev": sigma_u,
                  "t_over_delta": ratio, "t_over_delta_sigma": sigma_ratio})  # fmt: skip
        off = {
            "splitting": (abs(answer.splitting_uev - splitting), max(BIND_SIGMAS * sigma, BIND_SPLITTING_UEV), "ueV"),
            "U": (abs(answer.u_uev - u), max(BIND_SIGMAS * sigma_u, BIND_U_UEV), "ueV"),
            "t/Delta": (abs(answer.t_over_delta - ratio), max(BIND_SIGMAS * sigma_ratio, BIND_RATIO), "1"),
        }
        checks.append(below("recomputed sigma of the splitting", Stage.BIND, sigma, RECOMPUTED_SIGMA_UEV, unit="ueV", **missing))
        checks += [below(f"|reported - recomputed| {n}", Stage.BIND, d, most, unit=u, **unsupported) for n, (d, most, u) in off.items()]
        return checks

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden: Hidden = session.device.hidden
        t_s = max((j.lab_end_s for j in _cited(answer, session)), default=0.0)
        at = hidden.levels(t_s, answer.v_l_mv, answer.v_r_mv, answer.v_abs_mv)
        chain = hidden.chain(answer.v_abs_mv)
        splitting, polarisation, gap = float(chain.splitting(*at)), float(chain.polarisation(*at).min()), float(chain.gap(*at))
        checks = [
            below("|E_even - E_odd| at the submitted voltages", Stage.SCORE, abs(splitting), SPLITTING_UEV, unit="ueV"),
            above("Majorana polarisation of the worse dot", Stage.SCORE, polarisation, POLARISATION),
            above("excitation gap", Stage.SCORE, gap, GAP_UEV, unit="ueV"),
            below("|reported - true| splitting", Stage.SCORE, abs(answer.splitting_uev - splitting), TRUE_SPLITTING_UEV, unit="ueV"),
        ]
        true = {"true_splitting_uev": splitting, "polarisation": polarisation, "gap_uev": gap, "true_u_uev": hidden.u_uev}
        return Score(checks, quantities=true)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The splitting moved by twice the largest tolerance that the resolution check admits."""
        step = 2.0 * max(BIND_SIGMAS * RECOMPUTED_SIGMA_UEV, BIND_SPLITTING_UEV)
        return {**answer, "splitting_uev": answer["splitting_uev"] + (step if answer["splitting_uev"] < 0 else -step)}


class ThermalFit:
    """Least squares of cited maps by the four levels in thermal equilibrium: 13 numbers and, for each map, its centre.

    The centre is where both levels are at -U/2. Priors are the readings and ranges of the public spec. The search
    starts at the true device, so it ends in the optimum next to it; the result depends on the records and the spec.
    """

    def __init__(self, jobs: list[Job], spec: Spec, hidden: Hidden) -> None:
        self.maps = [(j.request, j.arrays()["bits"].mean(axis=2)) for j in jobs]
        self.prior, self.width = _prior(spec)
        shots = [r.shots for r, _ in self.maps]  # type: ignore[attr-defined]
        self.errors = [np.sqrt((s + 1 / n) * (1 - s + 1 / n) / n) for (_, s), n in zip(self.maps, shots, strict=True)]
        start = np.concatenate([_truth(hidden), *(_centre(j, hidden) for j in jobs)])
        low, high = (np.append(b, np.full(2 * len(jobs), s * CENTRE_MV)) for b, s in ((LOW, -1), (HIGH, 1)))
        scale = np.append(self.width, np.full(2 * len(jobs), 0.05))
        inside = np.clip(start, low + 1e-9, high - 1e-9)
        found = least_squares(self._residuals, inside, jac=self._jacobian, bounds=(low, high), x_scale=scale, max_nfev=25)
        self.x = found.x
        spread = max(1.0, float(np.mean(found.fun[:-N] ** 2)))
        self.covariance = np.linalg.pinv(found.jac.T @ found.jac) * spread

    def estimate(self, function: Any) -> tuple[float, float]:
        """Value and standard uncertainty of a function of all parameters."""
        steps = np.append(STEP, np.full(len(self.x) - N, CENTRE_STEP))
        slope = np.array([(function(self.x + e) - function(self.x - e)) / (2 * s) for e, s in zip(np.diag(steps), steps, strict=True)])
        return float(function(self.x)), float(np.sqrt(max(slope @ self.covariance @ slope, 0.0)))

    def splitting(self, x: Floats, k: int, answer: Answer) -> float:
        """E_even - E_odd at the submitted voltages with the offsets of map `k`."""
        left, right = _levels(x, x[N + 2 * k : N + 2 * k + 2], np.array(answer.v_l_mv), np.array(answer.v_r_mv))
        return float(_chain(x, answer.v_abs_mv).splitting(left, right))

    def _ones(self, x: Floats, k: int) -> Floats:
        request: Any = self.maps[k][0]
        v_l, v_r = np.meshgrid(request.v_l_mv, request.v_r_mv, indexing="ij")
        left, right = _levels(x[:N], x[N:], v_l, v_r)
        return np.asarray(x[9:11] + x[11:13] * _chain(x, request.v_abs_mv).occupation(left, right, float(x[4])))

    def _here(self, x: Floats, k: int) -> Floats:
        return np.append(x[:N], x[N + 2 * k : N + 2 * k + 2])

    def _residuals(self, x: Floats) -> Floats:
        parts = [
            ((self._ones(self._here(x, k), k) - s) / e).ravel() for k, ((_, s), e) in enumerate(zip(self.maps, self.errors, strict=True))
        ]
        return np.concatenate([*parts, (x[:N] - self.prior) / self.width])

    def _jacobian(self, x: Floats) -> Floats:
        blocks, steps = [], np.append(STEP, (CENTRE_STEP, CENTRE_STEP))
        for k, error in enumerate(self.errors):
            here = self._here(x, k)
            base = self._ones(here, k)
            slope = np.stack(
                [((self._ones(here + e, k) - base) / (s * error)).ravel() for e, s in zip(np.diag(steps), steps, strict=True)], axis=1
            )
            block = np.zeros((len(slope), len(x)))
            block[:, :N], block[:, N + 2 * k : N + 2 * k + 2] = slope[:, :N], slope[:, N:]
            blocks.append(block)
        tail = np.zeros((N, len(x)))
        tail[:, :N] = np.diag(1.0 / self.width)
        return np.concatenate([*blocks, tail])


def _chain(x: Floats, v_abs_mv: float) -> Chain:
    t, delta = amplitudes(INDUCED_GAP_UEV * (v_abs_mv - x[1]) / x[2], float(x[0]))
    return Chain(t, delta, float(x[3]))


def _ratio(x: Floats, v_abs_mv: float) -> float:
    return float(abs(v_abs_mv - x[1]) / x[2])


def _levels(x: Floats, centre: Floats, v_l: Floats, v_r: Floats) -> tuple[Floats, Floats]:
    dl, dr = v_l - centre[0], v_r - centre[1]
    return np.asarray(-x[5] * (dl + x[7] * dr) - 0.5 * x[3]), np.asarray(-x[6] * (dr + x[8] * dl) - 0.5 * x[3])


def _prior(spec: Spec) -> tuple[Floats, Floats]:
    """Means and standard deviations of uniform distributions over the public ranges."""
    slow, fast = spec.abs_lever_range_uev_per_mv
    te, lever = spec.thermometer_mk * spec.thermometer_error, np.array(spec.lever_nominal_uev_per_mv)
    ranges = [spec.peak_range_uev, (-spec.abs_zero_bound_mv, spec.abs_zero_bound_mv), (INDUCED_GAP_UEV / fast, INDUCED_GAP_UEV / slow),
              spec.coulomb_range_uev, (spec.thermometer_mk - te, spec.thermometer_mk + te)]  # fmt: skip
    ranges += [(v * (1 - spec.lever_nominal_error), v * (1 + spec.lever_nominal_error)) for v in lever.tolist()]
    ranges += [spec.cross_range] * 2 + [spec.empty_level_range] * 2 + [spec.contrast_range] * 2
    bounds = np.array(ranges)
    return bounds.mean(axis=1), (bounds[:, 1] - bounds[:, 0]) / np.sqrt(12.0)


def _truth(h: Hidden) -> Floats:
    width = INDUCED_GAP_UEV / h.abs_lever_uev_per_mv
    head = [h.peak_uev, h.abs_zero_mv, width, h.u_uev, h.te_mk]
    return np.array([*head, *h.lever_uev_per_mv, *h.cross, *h.empty_level, *h.contrast])


def _centre(job: Job, h: Hidden) -> tuple[float, float]:
    request: Any = job.request
    return h.plungers(0.5 * (job.lab_start_s + job.lab_end_s), -0.5 * h.u_uev, -0.5 * h.u_uev, request.v_abs_mv)


def _cited(answer: Answer, session: GradedSession) -> list[Job]:
    wanted = set(answer.job_ids)
    return [j for j in session.jobs if j.job_id in wanted and j.tool == TOOL]


def _shots(job: Job) -> int:
    request: Any = job.request
    return len(request.v_l_mv) * len(request.v_r_mv) * int(request.shots)


def _values(jobs: list[Job]) -> int:
    """Most voltages of the bound state among the maps that are at least `ABS_APART_MV` from each other."""
    count, last = 0, -np.inf
    for v in sorted(j.request.v_abs_mv for j in jobs):  # type: ignore[attr-defined]
        if v - last >= ABS_APART_MV - 1e-9:
            count, last = count + 1, v
    return count


def _holds(job: Job, answer: Answer) -> bool:
    """Whether a map is at the submitted v_abs and the submitted plunger voltages lie within its window."""
    r: Any = job.request
    inside = min(r.v_l_mv) <= answer.v_l_mv <= max(r.v_l_mv) and min(r.v_r_mv) <= answer.v_r_mv <= max(r.v_r_mv)
    return bool(inside and abs(r.v_abs_mv - answer.v_abs_mv) <= NEAR_MV + 1e-9)


GRADER = KitaevSweetSpot()
