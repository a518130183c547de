"""Grader of `distributed_phase_estimation`: a likelihood of the parities whose bits were bought, and the true sum of the phases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from graders.kit import AnswerModel, Category, Check, GradedSession, Grader, Job, JobId, Score, Stage, above, below, holds
from qtypes.neutral_atom_quantum_network.device import CYCLE_S, DRIFT_RAD_PER_S

ENTANGLED_SHOTS = 2000
TOMOGRAPHY_SHOTS = 500
"""Pairs on the equator, read at once, before the first sensing job and after the last; with their bits of node B."""
ZZ_SHOTS = 100
PHASE_DISTANCE = 0.5
"""Two settings whose summed analysis phases differ by at least this, rad."""
BIND_THETA = 1.5
BIND_SIGMA = (0.75, 1.33)
BIND_FIDELITY = 0.05
BIND_OFFSET = 0.1
ERROR = 0.12
PULL = 3.0
SIGMA = 0.039
OFFSET_ERROR = 0.12

VISIBILITY = {"tomography": (0.83, 0.06), "entangled": (0.80, 0.06), "separable": (0.47, 0.02)}
"""Mean and standard deviation of the visibility before any data: the public ranges."""
READ_CONTRAST = 0.96
"""Contrast of two readouts at the middle of the public range; for the fidelity only."""
KINDS = tuple(VISIBILITY)
MAX_SHOTS = 3000
"""Of one job."""
_GRID = np.linspace(-np.pi, np.pi, 180, endpoint=False)

Floats = NDArray[np.float64]


class Pair(AnswerModel):
    """The heralded pairs."""

    fidelity: float = Field(ge=0.25, le=1, description="fidelity of a pair with (|00> + exp(i offset) |11>) / sqrt 2")
    phase_offset_rad: float = Field(ge=-np.pi, le=np.pi, description="offset at the mean time of the sensing shots, rad")


class Answer(AnswerModel):
    """The sum of the phases, its error, and what it took."""

    theta_rad: float = Field(ge=-np.pi, le=np.pi, description="phi_A + phi_B modulo 2 pi, rad")
    sigma_rad: float = Field(gt=0, le=1, description="its standard uncertainty, that of the offset included, rad")
    pair: Pair
    sensing_pairs: int = Field(ge=0, le=3000, description="entangled shots whose bits were used")
    classical_bits: int = Field(ge=0, le=7000, description="classical bits bought for all cited jobs")
    job_ids: Annotated[tuple[JobId, ...], Field(min_length=1, max_length=60)] = Field(description="sensing and tomography jobs")


@dataclass(frozen=True)
class Bought:
    """Parities of some shots of one setting: `n` shots, `even` of them with even parity, at summed analysis phase `phase`."""

    kind: str
    job: Job
    phase: float
    n: int
    even: int
    t_s: float


@dataclass(frozen=True)
class Fit:
    """Most likely (theta, offset, drift, three visibilities), their covariance, and the time at which `offset` holds."""

    values: Floats
    covariance: Floats
    t_s: float

    @property
    def theta(self) -> float:
        return float(_wrap(self.values[0]))

    @property
    def sigma(self) -> float:
        return float(np.sqrt(self.covariance[0, 0]))


class DistributedPhaseEstimation(Grader):
    """See `docs/tasks/distributed_phase_estimation.md`."""

    task: ClassVar[str] = "distributed_phase_estimation"
    Answer: ClassVar[type[AnswerModel]] = Answer
    trap_fails = ("recomputed sigma of theta", "circular |theta - truth|")
    trap_meets = ("tomography pairs before the sensing", "tomography pairs after the sensing")

    def recompute(self, session: GradedSession) -> dict[str, Any]:
        """Parities are recomputed for the cited jobs in :meth:`bind`."""
        return {"bits_bought": sum(q.request.bits() for q in session.queries)}  # type: ignore[attr-defined]

    def bind(self, answer: Answer, session: GradedSession, q: dict[str, Any]) -> list[Check]:
        cited = {j.job_id: j for j in session.jobs if j.job_id in set(answer.job_ids)}
        bought = [b for query in _first_only(session.queries, cited) for b in parities(cited[query.request.job_id], query)]
        equator = [b for b in bought if b.kind == "entangled" or _plain(b)]
        sensing = [b for b in bought if b.kind == "entangled"]
        start = min((j.lab_start_s for j in cited.values() if j.tool != "run_pair_tomography"), default=0.0)
        end = max((j.lab_end_s for j in cited.values() if j.tool != "run_pair_tomography"), default=0.0)
        before = sum(b.n for b in bought if _plain(b) and b.job.lab_end_s <= start)
        after = sum(b.n for b in bought if _plain(b) and b.job.lab_start_s >= end)
        zz = [b for b in bought if b.kind == "tomography" and _request(b).basis == "ZZ" and _request(b).hold_ms == 0]
        pairs = sum(b.n for b in sensing)
        bits = sum(query.request.bits() for query in session.queries if query.request.job_id in cited)  # type: ignore[attr-defined]
        missing: dict[str, Any] = {"category": Category.MISSING_EVIDENCE, "jobs": tuple(cited)}
        more: dict[str, Any] = {"category": Category.UNSUPPORTED, "jobs": tuple(cited)}
        checks = [
            self.jobs_exist(answer.job_ids, session),
            above("entangled shots with their bits of node B", Stage.BIND, pairs, ENTANGLED_SHOTS, **missing),
            above("distance of two entangled settings", Stage.BIND, _distance(sensing), PHASE_DISTANCE, unit="rad", **missing),
            above("tomography pairs before the sensing", Stage.BIND, before, TOMOGRAPHY_SHOTS, **missing),
            above("tomography pairs after the sensing", Stage.BIND, after, TOMOGRAPHY_SHOTS, **missing),
            above("tomography pairs in ZZ", Stage.BIND, sum(b.n for b in zz), ZZ_SHOTS, **missing),
            holds("sensing pairs as bought", Stage.BIND, answer.sensing_pairs == pairs, value=pairs, **more),
            holds("classical bits as bought", Stage.BIND, answer.classical_bits == bits, value=bits, **more),
        ]
        if not sensing or not zz or not any(_plain(b) for b in bought):
            return [*checks, holds("theta can be recomputed from the cited jobs", Stage.BIND, False, **missing)]
        fit = most_likely([*equator, *(b for b in bought if b.kind == "separable")])
        seen = (2 * sum(b.even for b in zz) / sum(b.n for b in zz) - 1) / READ_CONTRAST
        fidelity = (1 + seen + 2 * float(fit.values[3]) / READ_CONTRAST) / 4
        offset = float(_wrap(fit.values[1]))
        q.update(theta=fit.theta, theta_sigma=fit.sigma, offset=offset, fidelity=fidelity, sensing_time_s=fit.t_s, entangled_pairs=pairs)
        q["_time_s"] = fit.t_s
        away = abs(float(_wrap(answer.theta_rad - fit.theta))) / fit.sigma
        return [
            *checks,
            below("recomputed sigma of theta", Stage.BIND, fit.sigma, SIGMA, unit="rad", jobs=tuple(cited)),
            below("|theta - recomputed| / its sigma", Stage.BIND, away, BIND_THETA, unit="sigma", **more),
            above("sigma / recomputed sigma", Stage.BIND, answer.sigma_rad / fit.sigma, BIND_SIGMA[0], **more),
            below("sigma / recomputed sigma, above", Stage.BIND, answer.sigma_rad / fit.sigma, BIND_SIGMA[1], **more),
            below("|fidelity - recomputed|", Stage.BIND, abs(answer.pair.fidelity - fidelity), BIND_FIDELITY, **more),
            below("|offset - recomputed|", Stage.BIND, abs(float(_wrap(answer.pair.phase_offset_rad - offset))), BIND_OFFSET,
                  unit="rad", **more),
        ]  # fmt: skip

    def score(self, answer: Answer, session: GradedSession, q: dict[str, Any], rng: np.random.Generator) -> Score:
        hidden = session.device.hidden
        error = abs(float(_wrap(answer.theta_rad - hidden.phi_a_rad - hidden.phi_b_rad)))
        checks = [
            below("circular |theta - truth|", Stage.SCORE, error, ERROR, unit="rad"),
            below("circular |theta - truth| / sigma", Stage.SCORE, error / answer.sigma_rad, PULL, unit="sigma"),
        ]
        if "_time_s" in q:
            offset = abs(float(_wrap(answer.pair.phase_offset_rad - hidden.offset_at(q["_time_s"]))))
            checks.append(below("|offset - truth|", Stage.SCORE, offset, OFFSET_ERROR, unit="rad"))
        else:
            checks.append(holds("the offset rests on sensing shots", Stage.SCORE, False))
        return Score(checks)

    def overclaim(self, answer: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
        """The angle moved by twice its tolerance, and a third of the uncertainty."""
        theta = float(_wrap(answer["theta_rad"] + 2 * ERROR))
        return {**answer, "theta_rad": theta, "sigma_rad": answer["sigma_rad"] / 3}


def _wrap(angle: Any) -> Any:
    return (np.asarray(angle) + np.pi) % (2 * np.pi) - np.pi


def _request(b: Bought) -> Any:
    return b.job.request


def _plain(b: Bought) -> bool:
    """A tomography that shows the phase offset of pairs as they are made."""
    return b.kind == "tomography" and _request(b).basis == "equator" and _request(b).hold_ms == 0


def _distance(rows: list[Bought]) -> float:
    """Largest distance of two settings, rad."""
    phases = np.unique([b.phase for b in rows])  # one per job: purchases may be many
    return float(np.abs(_wrap(phases[:, None] - phases)).max(initial=0.0))


def _first_only(queries: Any, cited: Mapping[str, Job]) -> list[Any]:
    """Purchases of cited jobs, a shot that was bought twice counted with the first purchase only: later ones that overlap are left out."""
    taken: dict[str, NDArray[np.bool_]] = {}
    out = []
    for query in queries:
        r = query.request
        if query.tool != "request_bits" or r.job_id not in cited:
            continue
        have = taken.setdefault(r.job_id, np.zeros(MAX_SHOTS, dtype=bool))
        if not have[r.first : r.first + r.count].any():
            have[r.first : r.first + r.count] = True
            out.append(query)
    return out


def parities(job: Job, query: Any) -> list[Bought]:
    """What a purchase tells, by setting of node B."""
    r, request = query.request, job.request
    mine = job.arrays()["bits_a"][r.first : r.first + r.count].astype(int)
    bits = np.array(list(query.result["bits"]), dtype=int)
    turned = np.array(list(query.result.get("settings", "0" * len(bits))), dtype=int)
    even = (mine ^ bits) == 0
    phase = request.analysis_a_rad + request.analysis_b_rad  # type: ignore[attr-defined]
    t = job.lab_start_s + CYCLE_S * (r.first + r.count / 2)
    return [
        Bought(r.kind, job, phase + np.pi * s, int((turned == s).sum()), int(even[turned == s].sum()), t)
        for s in (0, 1) if (turned == s).any()
    ]  # fmt: skip


def most_likely(rows: list[Bought]) -> Fit:
    """Fisher scoring of all parities together: even with (1 + V cos(angle + phase)) / 2.

    Angle: offset(t) for a tomography, theta + offset(t) for entangled shots, theta for separable ones; offset(t) is linear about the mean
    time of the entangled shots. Visibilities and the drift have Gaussian priors that stand for their public ranges.
    """
    kind = np.array([KINDS.index(b.kind) for b in rows])
    phase, n, even, t = (np.array([getattr(b, f) for b in rows], dtype=float) for f in ("phase", "n", "even", "t_s"))
    sensing = kind == KINDS.index("entangled")
    middle = float(np.average(t[sensing], weights=n[sensing]))
    design = np.stack([kind != 0, kind != 2, np.where(kind != 2, t - middle, 0.0)], axis=1).astype(float)
    mean = np.array([0.0, 0.0, 0.0, *(v for v, _ in VISIBILITY.values())])
    weight = np.array([0.0, 0.0, 3.0 / DRIFT_RAD_PER_S**2, *(s**-2 for _, s in VISIBILITY.values())])

    def objective(x: Floats) -> float:
        p = np.clip((1 + x[3:][kind] * np.cos(design @ x[:3] + phase)) / 2, 1e-6, 1 - 1e-6)
        return float((even * np.log(p) + (n - even) * np.log1p(-p)).sum() - (weight * (x - mean) ** 2).sum() / 2)

    def starts() -> Floats:
        """Likelihood on a grid of the offset by tomography, then of theta by the rest."""
        x = mean.copy()
        for k, used in ((1, kind == 0), (0, kind != 0)):
            angle = (design[used] @ x[:3])[:, None] + _GRID + phase[used][:, None]
            p = np.clip((1 + x[3:][kind[used]][:, None] * np.cos(angle)) / 2, 1e-6, 1 - 1e-6)
            x[k] = _GRID[int((even[used][:, None] * np.log(p) + (n - even)[used][:, None] * np.log1p(-p)).sum(axis=0).argmax())]
        return x

    x = starts()
    information = np.eye(6)
    for _ in range(40):
        angle = design @ x[:3] + phase
        v = x[3:][kind]
        p = np.clip((1 + v * np.cos(angle)) / 2, 1e-6, 1 - 1e-6)
        slope = np.concatenate([-(v * np.sin(angle))[:, None] * design, np.cos(angle)[:, None] * np.eye(3)[kind]], axis=1) / 2
        fisher = n / (p * (1 - p))
        information = slope.T @ (slope * fisher[:, None]) + np.diag(weight) + 1e-9 * np.eye(6)
        step = np.linalg.solve(information, slope.T @ ((even / n - p) * fisher) - weight * (x - mean))
        now, scale = objective(x), 1.0
        while scale > 1e-3 and objective(x + scale * step) < now:
            scale /= 2
        x = x + scale * step
        x[3:] = np.clip(x[3:], 0.05, 1.0)
        if np.abs(scale * step[:2]).max() < 1e-9:
            break
    return Fit(x, np.linalg.inv(information), middle)


GRADER = DistributedPhaseEstimation()
