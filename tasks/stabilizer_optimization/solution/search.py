"""Look for a cheap preparation: many noisy foldings, then the best ones cut at random places and folded anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import stim
from fold import Css, Folder, Folding, Mixed
from paulis import bits, build, css_parts, depth, independent, scheduled

NOISES = (0.1, 0.5, 0.9, 1.5)
LATE = 0.03


@dataclass(frozen=True)
class Found:
    """A preparation and its cost."""

    circuit: stim.Circuit
    two_qubit: int
    depth: int


def folders(generators: Sequence[str]) -> list[Folder]:
    x, z = bits(generators)
    parts = css_parts(x, z)
    if parts is not None:
        return [Css(part, dual=dual) for part, dual in zip(parts, (False, True), strict=True)]
    rows = independent(np.hstack([x, z]))
    return [Mixed(rows[:, : x.shape[1]], rows[:, x.shape[1] :])]


def prepare(generators: Sequence[str], *, seconds: float, layer_price: float, rng: np.random.Generator) -> Found:
    """A circuit on |0...0> whose state all `generators` stabilise. `layer_price`: what a layer of depth costs, in two-qubit gates."""

    def cost(f: Folding) -> float:
        return len(f.gates) + layer_price * depth(f.gates[::-1])

    begun = time.process_time()
    pool: list[tuple[float, Folder, Folding]] = []
    for folder in folders(generators):
        first = [folder.fold((), rng, NOISES[0], LATE)]
        first += [folder.fold((), rng, noise, LATE) for noise in NOISES[1:] if time.process_time() - begun < seconds]
        best = min(first, key=cost)
        pool.append((cost(best), folder, best))
    while time.process_time() - begun < seconds and any(f.gates for _, _, f in pool):
        k = int(rng.integers(len(pool)))
        least, folder, best = pool[k]
        cut = int(len(best.gates) * rng.random() ** 0.7)
        new = folder.fold(best.gates[:cut], rng, float(rng.choice([0.2, 0.9, 1.5, 2.5])), LATE * float(rng.integers(2)))
        if cost(new) <= least:
            pool[k] = (cost(new), folder, new)
    best = min(pool, key=lambda entry: entry[0])[2]
    gates = scheduled(best.gates[::-1])
    n = len(bits(generators[:1])[0][0])
    return Found(build(n, best.roots, gates, generators), len(gates), depth(gates))
