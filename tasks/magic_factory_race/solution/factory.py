"""What the reference needs of the protocol: exact output error and cost, and a search over slots, order, levels and reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N = 15
_U = np.arange(16)
_DOT = np.array([[int(u & s).bit_count() & 1 for s in range(16)] for u in range(16)])
_SELECTED = _DOT[:, 1:].astype(bool)
_WEIGHT = np.array([int(s).bit_count() for s in range(16)])


@dataclass(frozen=True)
class Rates:
    """Estimates: phase error of every slot at level 0, factor per level, accepted share per level and slot, readout flip."""

    e: np.ndarray
    g: float
    accept: np.ndarray
    q: float


def output(errors: np.ndarray, q: float, reads: int) -> tuple[float, float]:
    """Acceptance and output error for phase errors `(15,)` in the order of the columns."""
    let = (1 - q) ** (reads * (4 - _WEIGHT)) * q ** (reads * _WEIGHT)
    through = ((1 - 2 * _DOT) @ let) / 16  # by character
    contrast = 1 - 2 * errors
    plus = float(through @ np.where(_SELECTED, contrast, 1.0).prod(axis=1))
    minus = float(through @ np.where(_SELECTED, 1.0, contrast).prod(axis=1))
    return plus, (plus - minus) / (2 * plus)


@dataclass
class Setting:
    slots: np.ndarray
    levels: np.ndarray
    reads: int

    def value(self, r: Rates) -> tuple[float, float]:
        """Block-cycles per accepted output, and the output error."""
        acceptance, error = output(r.e[self.slots] * r.g**self.levels, r.q, self.reads)
        prepared = ((self.levels + 1) / r.accept[self.slots] ** self.levels).sum()
        return float((prepared + 30 * self.reads) / acceptance), error


def search(r: Rates, limit: float, rng: np.random.Generator, reads: tuple[int, ...] = (1, 2, 3)) -> Setting:
    """The cheapest setting found; where several numbers of reads are allowed, short runs decide on one of them."""
    first = [s for m in reads if (s := anneal(r, limit, m, rng, 2000)) is not None]
    if not first:
        raise RuntimeError("no setting meets the limit")
    best = min(first, key=lambda s: s.value(r)[0])
    found = [anneal(r, limit, best.reads, rng, 6000) for _ in range(2)]
    return min([best, *(s for s in found if s is not None)], key=lambda s: s.value(r)[0])


def anneal(r: Rates, limit: float, reads: int, rng: np.random.Generator, steps: int) -> Setting | None:
    """Annealing at one number of reads; an output error above the limit costs as its logarithm and is not returned. None: not feasible."""
    now = Setting(np.argsort(r.e)[:N].copy(), np.full(N, 3), reads)
    level, error = now.value(r)
    if error > limit:
        return None
    best, best_cost = now, level
    for t in range(steps):
        new = _moved(now, len(r.e), rng)
        cost, error = new.value(r)
        penalised = cost + 300 * max(0.0, np.log(error / limit))
        if penalised <= level - (1 - t / steps) ** 2 * 1.5 * np.log(rng.random()):
            now, level = new, penalised
            if error <= limit and cost < best_cost:
                best, best_cost = new, cost
    return best


def _moved(s: Setting, n_slots: int, rng: np.random.Generator) -> Setting:
    slots, levels = s.slots.copy(), s.levels.copy()
    kind = rng.integers(4)
    i, j = rng.choice(N, 2, replace=False)
    if kind == 0:
        levels[i] = np.clip(levels[i] + rng.choice([-1, 1]), 0, 3)
    elif kind == 1:
        slots[[i, j]] = slots[[j, i]]
        if rng.random() < 0.5:
            levels[[i, j]] = levels[[j, i]]
    elif kind == 2:
        slots[i] = rng.choice(sorted(set(range(n_slots)).difference(slots.tolist())))
        levels[i] = np.clip(levels[i] + rng.integers(-1, 2), 0, 3)
    else:
        levels[i], levels[j] = np.clip(levels[i] + 1, 0, 3), np.clip(levels[j] - 1, 0, 3)
    return Setting(slots, levels, s.reads)
