"""Reference solver of t_count_budget.

1. Read the circuit as Pauli rotations and merge equal ones; the notebook's ZX simplification ends at this count.
2. Gather rotations that can be moved to one place and commute there, and lighten that diagonal section by flats of the Reed-Muller code
   and by TODD; equal weights are accepted, so that the search drifts on a plateau. A walk that does not arrive is begun anew.
3. Synthesise the first circuit found within the published T-count, and have it evaluated.
The seed only changes which of many equally good ways is taken.
"""

from __future__ import annotations

import os
import time

import numpy as np
from pauli import Rotations, coordinates, from_circuit, gather, merge, replace
from reed_muller import lighten
from synthesis import layers, synthesise

import lab
from lab.conventions import tcount

SEED = int(os.environ.get("TCOUNT_SEED", "1"))
ROUNDS = 250
"""Sections gathered and lightened in one walk."""
DESCENT = 40
"""First rounds of a walk, which only descend: annealing a section that still holds a whole identity wastes time."""
ANNEALING_STEPS = 3
TEMPERATURE = 0.7
SMALLEST_GROUP = 6
SEARCH_S = 200.0
"""CPU seconds after which the search is given up."""


def shorten(r: Rotations, rng: np.random.Generator, annealing_steps: int) -> None:
    """Lighten the section around one random rotation, in place."""
    before, group, after = gather(r.seq, int(rng.integers(len(r.seq))))
    if len(group) < SMALLEST_GROUP:
        return
    basis, vectors, signs = coordinates(group)
    new = lighten(set(vectors), len(basis), rng, annealing_steps, TEMPERATURE)
    if new != set(vectors):
        replace(r, before, basis, dict(zip(vectors, signs, strict=True)), new, after)
        merge(r)


def optimise(text: str, limit: int, seed: int) -> str:
    """OpenQASM 2 text of an equivalent circuit with at most `limit` T gates; `RuntimeError` where the search finds none in time."""
    rng = np.random.default_rng(seed)
    start = from_circuit(tcount.parse(text))
    merge(start)
    print(f"T-count after merging {len(start.seq)}, wanted {limit}", flush=True)
    begun = time.process_time()
    while time.process_time() - begun < SEARCH_S:
        walk = start.copy()
        for k in range(ROUNDS):
            if len(walk.seq) <= limit:
                print(f"T-count {len(walk.seq)} after {k} rounds", flush=True)
                return tcount.to_qasm(synthesise(walk, layers(walk.seq, walk.n, rng, 0.0), rng))
            shorten(walk, rng, ANNEALING_STEPS if k >= DESCENT else 0)
        print(f"walk ended at {len(walk.seq)}", flush=True)
    raise RuntimeError(f"no circuit with {limit} T gates found")


def main() -> None:
    with lab.connect() as dev:
        limit = int(dev.spec()["spec"]["t_count_limit"])
        circuit = optimise(dev.material("baseline.qasm"), limit, SEED)
        report = dev.query("evaluate", circuit=circuit)
        print({k: report[k] for k in ("equivalent", "t_count", "t_depth", "cx_count")})
        if not report["equivalent"] or report["t_count"] > limit:
            raise SystemExit("not a circuit to hand in")
        dev.submit_answer({"circuit": circuit})


if __name__ == "__main__":
    main()
