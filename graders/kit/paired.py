"""Several decoders on the same fresh shots, and ratios of their logical errors.

Two decoders mostly fail on the same shots, so the ratio of their errors is known far better than either error. The streams and
criteria here go into :func:`graders.kit.replay.settle` like plain ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graders.kit.replay import Criterion, Estimate, Stream

HALF = 0.5
"""Added to every failure count, so that the logarithm of a ratio exists where a decoder never failed."""


@dataclass(frozen=True)
class Joint:
    """`both[a, b]` shots of `shots` in which decoders `a` and `b` were wrong together; `both[a, a]` where `a` was wrong. int64 `(K, K)`."""

    both: np.ndarray
    shots: int

    def rate(self, a: int) -> float:
        """Failure probability of decoder `a`."""
        return float((self.both[a, a] + HALF) / (self.shots + 1))

    def covariance(self, a: int, b: int) -> float:
        """Covariance of the measured failure rates of two decoders."""
        together = float((self.both[a, b] + HALF) / (self.shots + 1))
        return (together - self.rate(a) * self.rate(b)) / self.shots


@dataclass
class JointStream(Stream):
    """Fresh shots of one circuit for `n_decoders` decoders: `count(shots, seed)` returns who was wrong, `(shots, n_decoders)` bool."""

    count: Callable[[int, int], Any]
    n_decoders: int = 2
    drawn: Any = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = Joint(np.zeros((self.n_decoders,) * 2, np.int64), 0)

    def _take(self, shots: int, seed: int) -> None:
        wrong = np.asarray(self.count(shots, seed), dtype=np.int64)
        self.drawn = Joint(self.drawn.both + wrong.T @ wrong, self.drawn.shots + shots)


def error_per_cycle(failure: float, rounds: int) -> float:
    """`(1 - (1 - 2 P)^(1 / R)) / 2`."""
    return float(1 - max(1 - 2 * failure, 1e-12) ** (1 / rounds)) / 2


def _slope(failure: float, rounds: int) -> float:
    """Derivative of log(error per cycle) by the failure probability."""
    contrast = max(1 - 2 * failure, 1e-12)
    return float(contrast ** (1 / rounds - 1)) / rounds / error_per_cycle(failure, rounds)


def ratio_per_cycle(rounds: int, decoder: int, reference: int) -> Callable[[Sequence[Any]], Estimate]:
    """Geometric mean over streams of the logical error per cycle of `decoder` over that of `reference`, memories of `rounds` cycles.

    The standard error follows from the joint counts by linear propagation.
    """

    def estimate(drawn: Sequence[Joint]) -> Estimate:
        log, variance = 0.0, 0.0
        for j in drawn:
            p, q = j.rate(decoder), j.rate(reference)
            log += math.log(error_per_cycle(p, rounds) / error_per_cycle(q, rounds))
            sp, sq = _slope(p, rounds), _slope(q, rounds)
            variance += max(
                sp**2 * j.covariance(decoder, decoder) + sq**2 * j.covariance(reference, reference)
                - 2 * sp * sq * j.covariance(decoder, reference), 0.0,
            )  # fmt: skip
        n = len(drawn)
        ratio = math.exp(log / n)
        return ratio, ratio * math.sqrt(variance) / n

    return estimate


def ratio_criterion(name: str, streams: tuple[str, ...], rounds: int, limit: float, decoder: int = 0, reference: int = 1) -> Criterion:
    """The ratio of :func:`ratio_per_cycle` must lie below `limit`."""
    return Criterion(name, streams, ratio_per_cycle(rounds, decoder, reference), limit)
