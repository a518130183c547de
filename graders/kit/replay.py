"""Replayed failure rates that do not depend on luck near a threshold: a check samples on until its verdict is clear.

Each :class:`Stream` draws fresh shots of one circuit and counts failures. :func:`settle` evaluates criteria on the streams; while a
criterion lies within three standard errors of its threshold its streams double their shots, up to a stated cap. Seeds of samplers are
not portable between processors: with this rule another machine, with other shots, comes to the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

SIGMAS = 3.0


@dataclass(frozen=True)
class Proportion:
    """`failures` of `shots`."""

    failures: int
    shots: int

    @property
    def value(self) -> float:
        return self.failures / self.shots

    @property
    def stderr(self) -> float:
        """Standard error of `value`; of the Agresti-Coull estimate, so that it is not zero where nothing or everything failed."""
        p = (self.failures + 2) / (self.shots + 4)
        return math.sqrt(p * (1 - p) / self.shots)


@dataclass
class Stream:
    """Fresh shots of one circuit.

    `count(shots, seed)` draws `shots` shots with a sampler seeded by the integer `seed` and returns how many failed. Shots are drawn in
    blocks of at most `block`, which bounds memory.
    """

    name: str
    count: Callable[[int, int], int]
    seed: np.random.SeedSequence
    first: int
    cap: int
    block: int = 20_000
    drawn: Proportion = field(default=Proportion(0, 0), init=False)
    _blocks: int = field(default=0, init=False)

    def grow(self) -> bool:
        """Draw `first` shots, or as many again as were drawn, up to `cap`; whether anything was drawn."""
        wanted = min(self.drawn.shots or self.first, self.cap - self.drawn.shots)
        todo = wanted
        while todo > 0:
            n = min(todo, self.block)
            child = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, self._blocks), pool_size=self.seed.pool_size)
            seed = int(child.generate_state(1, np.uint64)[0] >> np.uint64(1))
            self._take(n, seed)
            self._blocks += 1
            todo -= n
        return wanted > 0

    def _take(self, shots: int, seed: int) -> None:
        self.drawn = Proportion(self.drawn.failures + self.count(shots, seed), self.drawn.shots + shots)


Estimate = tuple[float, float]
"""A value and its standard error."""


@dataclass(frozen=True)
class Criterion:
    """A quantity of some streams that must lie below `limit`.

    `estimate` maps the proportions of `streams`, in their order, to a value and its standard error.
    """

    name: str
    streams: tuple[str, ...]
    estimate: Callable[[Sequence[Proportion]], Estimate]
    limit: float
    unit: str = "1"


@dataclass(frozen=True)
class Settled:
    """A criterion after sampling: `clear` where it lies outside of three standard errors, or else decided at the cap."""

    criterion: Criterion
    value: float
    stderr: float
    shots: int
    clear: bool

    @property
    def note(self) -> str:
        how = "" if self.clear else f", within {SIGMAS:g} standard errors of the threshold at the cap"
        return f"{self.shots} fresh shots{how}"


def settle(streams: Sequence[Stream], criteria: Sequence[Criterion]) -> list[Settled]:
    """Sample every stream once, then those of undecided criteria until each is clear or at its cap."""
    by_name: Mapping[str, Stream] = {s.name: s for s in streams}
    for s in streams:
        if not s.drawn.shots:
            s.grow()
    while True:
        done = [_evaluate(c, by_name) for c in criteria]
        open_streams = {n for d in done if not d.clear for n in d.criterion.streams}
        grown = [by_name[n].grow() for n in sorted(open_streams)]
        if not any(grown):
            return done


def _evaluate(criterion: Criterion, streams: Mapping[str, Stream]) -> Settled:
    drawn = [streams[n].drawn for n in criterion.streams]
    value, stderr = criterion.estimate(drawn)
    clear = abs(value - criterion.limit) > SIGMAS * stderr
    return Settled(criterion, value, stderr, sum(p.shots for p in drawn), clear)


def rate(drawn: Sequence[Proportion]) -> Estimate:
    """Mean failure rate over streams of equal weight."""
    n = len(drawn)
    return sum(p.value for p in drawn) / n, math.sqrt(sum(p.stderr**2 for p in drawn)) / n


def per_cycle(rounds: int) -> Callable[[Sequence[Proportion]], Estimate]:
    """Mean logical error per cycle over memories of `rounds` cycles: `(1 - (1 - 2 P)^(1 / R)) / 2` for failure probability P."""

    def estimate(drawn: Sequence[Proportion]) -> Estimate:
        values, variances = [], []
        for p in drawn:
            contrast = max(1 - 2 * p.value, 1e-12)
            values.append((1 - contrast ** (1 / rounds)) / 2)
            variances.append((contrast ** (1 / rounds - 1) / rounds * p.stderr) ** 2 if contrast > 1e-12 else 0.0)
        n = len(drawn)
        return sum(values) / n, math.sqrt(sum(variances)) / n

    return estimate
