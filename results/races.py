"""Ratings of systems from races: Bradley-Terry strengths on the Elo scale.

All trials of a task race pairwise against the trials of every other system. A trial that clears the gate beats one that does not; of
two that clear it the smaller metric wins. Exact ties and pairs of gate failures are left out. Strengths maximise

    sum_ij w_ij ln sigma(theta_i - theta_j) - (RIDGE / 2) |theta|^2

(Bradley and Terry 1952), where w_ij counts wins of i over j and the ridge keeps a system of only wins or only losses finite. The Elo
scale is 1000 + (400 / ln 10) (theta - mean theta) over the systems rated on the task, so that 400 points are odds of ten to one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RIDGE = 0.5
ELO_MEAN = 1000.0
ELO_SCALE = 400.0 / math.log(10.0)
BOOTSTRAPS = 200

Metric = float | None
"""The metric of a trial that cleared the gate, lower is better; None for one that did not."""


def wins(trials: Mapping[str, Sequence[Metric]]) -> tuple[list[str], NDArray[np.float64]]:
    """Systems in order and how often each beat each, `(n, n)`, from the trials of one task."""
    systems = sorted(trials)
    table = np.zeros((len(systems), len(systems)))
    for i, a in enumerate(systems):
        for j, b in enumerate(systems):
            if i != j:
                table[i, j] = sum(_beats(x, y) for x in trials[a] for y in trials[b])
    return systems, table


def _beats(a: Metric, b: Metric) -> bool:
    return a is not None and (b is None or a < b)


def strengths(table: NDArray[np.float64], ridge: float = RIDGE) -> NDArray[np.float64]:
    """Log-strengths `(n,)` of a table of wins; their sum is zero. Newton's method: the target is smooth and strictly concave.

    Raises
    ------
    ValueError
        For a table that is not square, not finite or negative, or a ridge that is not positive.
    """
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all() or (table < 0).any() or not ridge > 0:
        raise ValueError("a square table of finite counts >= 0 and a positive ridge are needed")
    games = table + table.T
    np.fill_diagonal(games, 0.0)
    won = table.sum(1) - table.diagonal()
    theta = np.zeros(len(table))

    def target(t: NDArray[np.float64]) -> float:
        return float((table * -np.logaddexp(0.0, t[None, :] - t[:, None])).sum() - ridge / 2 * t @ t)

    value = target(theta)
    for _ in range(200):
        p = 1.0 / (1.0 + np.exp(np.clip(theta[None, :] - theta[:, None], -700, 700)))
        gradient = won - (games * p).sum(1) - ridge * theta
        curvature = games * p * (1 - p)
        hessian = np.diag(curvature.sum(1) + ridge) - curvature
        step = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while (new := target(theta + scale * step)) < value and scale > 1e-6:
            scale /= 2
        theta, value = theta + scale * step, max(value, new)
        if np.abs(gradient).max() < 1e-12 * max(1.0, games.sum()):
            break
    return theta - theta.mean()


def elo(theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Strengths on the Elo scale, mean 1000."""
    return ELO_MEAN + ELO_SCALE * (theta - theta.mean())


@dataclass(frozen=True)
class Rating:
    """A system on one task; `games` are its retained comparisons, wins plus losses. None where it has none."""

    elo: float | None
    games: int


@dataclass(frozen=True)
class Aggregate:
    """A system over all tasks: the mean of its ratings weighted by games; `low` and `high` bound the central 95 % of the bootstrap."""

    elo: float | None
    low: float | None
    high: float | None
    games: int
    tasks: dict[str, Rating]


def rate(trials: Mapping[str, Sequence[Metric]]) -> dict[str, Rating]:
    """Ratings of the systems on one task. Systems without a retained comparison are not rated and do not enter the mean."""
    systems, table = wins(trials)
    games = (table + table.T).sum(1)
    rated = np.flatnonzero(games > 0)
    scale = dict(zip(rated.tolist(), elo(strengths(table[np.ix_(rated, rated)])).tolist(), strict=True)) if rated.size else {}
    return {s: Rating(scale.get(k), int(games[k])) for k, s in enumerate(systems)}


def aggregate(races: Mapping[str, Mapping[str, Sequence[Metric]]], *, seed: int = 0, bootstraps: int = BOOTSTRAPS) -> dict[str, Aggregate]:
    """Ratings over tasks `{task: {system: metrics}}`. The bootstrap draws the trials of each system on each task again."""
    per_task = {task: rate(trials) for task, trials in races.items()}
    systems = sorted({s for trials in races.values() for s in trials})
    rng = np.random.default_rng(seed)
    samples: dict[str, list[float]] = {s: [] for s in systems}
    for _ in range(bootstraps):
        drawn = {task: rate({s: _again(list(m), rng) for s, m in trials.items()}) for task, trials in races.items()}
        for s in systems:
            value = _mean([r[s] for r in drawn.values() if s in r])
            if value is not None:
                samples[s].append(value)
    out = {}
    for s in systems:
        mine = {task: ratings[s] for task, ratings in per_task.items() if s in ratings}
        low, high = (float(q) for q in np.quantile(samples[s], (0.025, 0.975))) if samples[s] else (None, None)
        out[s] = Aggregate(_mean(list(mine.values())), low, high, sum(r.games for r in mine.values()), mine)
    return out


def _again(metrics: list[Metric], rng: np.random.Generator) -> list[Metric]:
    return [metrics[int(k)] for k in rng.integers(len(metrics), size=len(metrics))] if metrics else []


def _mean(ratings: Sequence[Rating]) -> float | None:
    total = sum(r.games for r in ratings)
    return sum(r.elo * r.games for r in ratings if r.elo is not None) / total if total else None
