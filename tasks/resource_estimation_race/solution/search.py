"""Cheapest feasible design: tables of factories, the two factory numbers that can be best, then all small changes of the best designs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

STEPS = {"compact": 9, "intermediate": 5, "fast": 1}
LARGEST_INPUT_ERROR = 0.02
STARTS = 12


@dataclass(frozen=True)
class Task:
    """Circuit and machine; cycles are 1 us."""

    qubits: int
    states: int  # T states without those of rotations
    rotations: int
    budget: float
    prefactor: float
    suppression: float
    injected: float
    reaction: float

    def flip(self, d: np.ndarray | int) -> np.ndarray | float:
        return self.prefactor * self.suppression ** (-(d + 1) / 2)

    def tiles(self, routing: str) -> int:
        n = self.qubits
        return {"compact": math.ceil(1.5 * n) + 3, "intermediate": 2 * n + 4, "fast": 2 * n + math.ceil(math.sqrt(8 * n)) + 1}[routing]

    def synthesis(self, per_rotation: int) -> float:
        """Smallest summed error for which `per_rotation` T states per rotation are enough."""
        return self.rotations * 2 ** (-(per_rotation - 0.77) / 3.02) * (1 + 1e-9)


@dataclass(frozen=True)
class Design:
    d: int
    levels: tuple[tuple[int, int, int, int], ...]  # dx, dz, dm, count
    per_rotation: int
    routing: str
    factories: int


def cost(x: Design, t: Task) -> tuple[float, float]:
    """Qubit-seconds and total error; infinite where the model does not hold."""
    error, rate, area = t.injected, math.inf, 0
    for dx, dz, dm, count in x.levels:
        e = error + t.flip(dz) + t.flip(dm)
        if e > LARGEST_INPUT_ERROR:
            return math.inf, math.inf
        rate = (1 - e) ** 15 * min(count / (6 * dm), rate / 15)
        error = 35 * e**3 + 7.1 * t.flip(dx)
        area += count * (6 * dx * (dx + 4 * dz) + 4 * dm)
    states, tiles = t.states + t.rotations * x.per_rotation, t.tiles(x.routing)
    pace = max(STEPS[x.routing] * x.d, t.reaction, 1 / (x.factories * rate))
    total = t.synthesis(x.per_rotation) + states * error + tiles * states * pace / x.d * t.flip(x.d)
    return (tiles * 2 * x.d**2 + x.factories * area) * states * pace * 1e-6, float(total)


@dataclass(frozen=True)
class Table:
    """Factories by row: output error, states per us, qubits, and (dx, dz, dm, count) of the two levels (count 0: the level is left out)."""

    error: np.ndarray
    rate: np.ndarray
    area: np.ndarray
    levels: np.ndarray

    def rows(self, keep: np.ndarray) -> Table:
        return Table(self.error[keep], self.rate[keep], self.area[keep], self.levels[keep])

    def front(self, slack: float) -> Table:
        """Rows whose qubits per rate are at most `slack` times the least of all rows with no larger error."""
        price = self.area / self.rate
        order = np.lexsort((price, self.error))
        return self.rows(order[price[order] <= slack * np.minimum.accumulate(price[order])])


def units(t: Task, inputs: float, largest: int) -> Table:
    """Single units of all odd distances up to `largest` on inputs of this error."""
    d = np.arange(3, largest + 1, 2)
    dx, dz, dm = (a.ravel() for a in np.meshgrid(d, d, d, indexing="ij"))
    e = inputs + t.flip(dz) + t.flip(dm)
    levels = np.zeros((len(dx), 2, 4), dtype=int)
    levels[:, 0] = np.stack([dx, dz, dm, np.ones_like(dx)], axis=1)
    table = Table(35 * e**3 + 7.1 * t.flip(dx), (1 - np.minimum(e, 1)) ** 15 / (6 * dm), 6.0 * dx * (dx + 4 * dz) + 4 * dm, levels)
    return table.rows(e <= LARGEST_INPUT_ERROR)


def factories(t: Task, worst: float, largest: int) -> Table:
    """Factories of one and two levels with output errors up to `worst`."""
    first = units(t, t.injected, largest)
    parts = [first.rows(first.error <= worst)]
    base = first.front(1.0)
    for error, rate, area, levels in zip(base.error, base.rate, base.area, base.levels, strict=True):
        second = units(t, float(error), largest)
        second = second.rows(second.error <= worst)
        dm = second.levels[:, 0, 2]
        accept = second.rate * 6 * dm
        enough = np.ceil(15 / (6 * dm * rate)).astype(int)
        for fewer in range(3):
            count = np.maximum(enough - fewer, 1)
            both = second.levels.copy()
            both[:, 1] = second.levels[:, 0]
            both[:, 0] = levels[0]
            both[:, 0, 3] = count
            feed = accept * np.minimum(1 / (6 * dm), count * rate / 15)
            parts.append(Table(second.error, feed, second.area + count * area, both).front(1.05))
    joined = Table(*(np.concatenate([getattr(p, n) for p in parts]) for n in ("error", "rate", "area", "levels")))
    return joined.front(1.05)


def candidates(t: Task) -> list[Design]:
    """The best design of the tables for every distance, layout and number of T states per rotation, cheapest first.

    At given distance and factory the cost falls with the number of factories until the supply is enough: only that number and the one
    before it can be best.
    """
    least = math.ceil(3.02 * math.log2(t.rotations / t.budget) + 0.77)
    d_max = next(d for d in range(5, 99, 2) if t.tiles("fast") * t.states * t.flip(d) < t.budget / 50)
    table = factories(t, t.budget / (t.states + t.rotations * least), d_max)
    found: list[tuple[float, Design]] = []
    for per_rotation in range(least, least + 25):
        left, states = t.budget - t.synthesis(per_rotation), t.states + t.rotations * per_rotation
        if left <= 0:
            continue
        for routing, steps in STEPS.items():
            tiles = t.tiles(routing)
            for d in range(5, d_max + 1, 2):
                step = max(steps * d, t.reaction)
                enough = np.ceil(1 / (step * table.rate))
                for n in (enough, np.maximum(enough - 1, 1)):
                    pace = np.maximum(step, 1 / (n * table.rate))
                    error = states * table.error + tiles * states * pace / d * t.flip(d)
                    volume = np.where(error <= left, (tiles * 2 * d * d + n * table.area) * states * pace, np.inf)
                    k = int(volume.argmin())
                    if np.isfinite(volume[k]) and n[k] <= 100:
                        levels = tuple(tuple(int(v) for v in row) for row in table.levels[k] if row[3])
                        found.append((float(volume[k]), Design(d, levels, per_rotation, routing, int(n[k]))))  # type: ignore[arg-type]
    found.sort(key=lambda f: f[0])
    return [x for _, x in found]


def changes(x: Design) -> Iterator[Design]:
    """All designs that differ by one step in one number."""
    for step in (-2, 2):
        yield replace(x, d=x.d + step)
        for k, level in enumerate(x.levels):
            for i in range(3):
                yield replace(x, levels=_with(x.levels, k, i, level[i] + step))
    for step in (-1, 1):
        yield replace(x, per_rotation=x.per_rotation + step)
        yield replace(x, factories=x.factories + step)
        for k, level in enumerate(x.levels[:-1]):
            yield replace(x, levels=_with(x.levels, k, 3, level[3] + step))


def _with(levels: tuple, k: int, i: int, value: int) -> tuple:
    level = (*levels[k][:i], value, *levels[k][i + 1 :])
    return (*levels[:k], level, *levels[k + 1 :])


def _possible(x: Design) -> bool:
    distances = [x.d, *(v for level in x.levels for v in level[:3])]
    return min(distances) >= 3 and max(distances) <= 61 and all(1 <= n <= 100 for n in (x.factories, *(level[3] for level in x.levels)))


def polished(x: Design, t: Task) -> Design:
    """Repeatedly the best of all designs within two steps, until none is cheaper."""

    def price(y: Design) -> float:
        volume, error = cost(y, t) if _possible(y) else (math.inf, math.inf)
        return volume if error <= t.budget else math.inf

    best = price(x)
    while True:
        near = {z: None for y in changes(x) for z in (y, *changes(y))}
        y, value = min(((z, price(z)) for z in near), key=lambda p: p[1])
        if value >= best:
            return x
        x, best = y, value


def cheapest(t: Task) -> Design:
    starts = candidates(t)
    if not starts:
        raise RuntimeError("no feasible design in the tables")
    return min((polished(x, t) for x in starts[:STARTS]), key=lambda x: cost(x, t)[0])
