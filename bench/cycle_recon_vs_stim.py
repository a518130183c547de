"""Shots of one `run_cycle_sequence` job: parities and a Walsh transform against stim circuits with the same Pauli channels.

    python -m bench.cycle_recon_vs_stim [--twirls 40] [--shots 100] [--repeat 20]

Both sides draw the shots of depths 2, 24 and 60 before readout and check each other: mean parities agree within five standard errors. stim
has one circuit per depth ("constant rates") or, as a rate changes from circuit to circuit, one per depth and twirl. CPU time of one process
and one thread; circuits are built from text within the time, as a job would have to.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import stim

from qtypes import seeds
from qtypes.cycle_error_recon import QTYPE, Hidden, Profile
from qtypes.cycle_error_recon.physics import EDGES, N_QUBITS, WALSH, label, parities, prepared, sampled

GOAL = 10.0
"""Smallest ratio of the CPU time of stim, one circuit per twirl, to ours."""
AXES, DEPTHS = "XYZXZ", (2, 24, 60)
CIRCUIT_S = 0.2


def ours(hidden: Hidden, rng: np.random.Generator, twirls: int, shots: int) -> np.ndarray:
    """Bits `(3, twirls, shots, 5)` with the rates of the time of each twirl."""
    expected = []
    for k, depth in enumerate(DEPTHS):
        generators, rates = hidden.noise(EDGES, CIRCUIT_S * (k * twirls + np.arange(twirls)))
        spoiled = prepared(AXES, AXES, depth, EDGES, np.array(hidden.preparation_error))
        expected.append(parities(AXES, AXES, depth, EDGES, generators, rates) * spoiled)
    return sampled(rng, np.array(expected), shots)


def circuit(hidden: Hidden, depth: int, t_s: float) -> stim.Circuit:
    """One correlated error per generator and cycle, probability (1 - exp(-2 lambda)) / 2."""
    generators, rates = hidden.noise(EDGES, t_s)
    noise = "\n".join(
        f"E({(1 - np.exp(-2 * r)) / 2}) " + " ".join(f"{c}{q}" for q, c in enumerate(label(x, z)) if c != "I")
        for x, z, r in zip(*generators, rates, strict=True)
    )
    lines = [f"R{'' if c == 'Z' else c} {q}" for q, c in enumerate(AXES)]
    lines += [f"{'X' if c == 'Z' else 'Z'}_ERROR({p}) {q}" for q, (c, p) in enumerate(zip(AXES, hidden.preparation_error, strict=True))]
    lines += [f"REPEAT {depth} {{\n{noise}\nCZ 0 1 2 3\n}}", *(f"M{'' if c == 'Z' else c} {q}" for q, c in enumerate(AXES))]
    return stim.Circuit("\n".join(lines))


def per_twirl(hidden: Hidden, twirls: int, shots: int) -> np.ndarray:
    """The same bits by stim, a circuit for each twirl."""
    rows = [
        [circuit(hidden, depth, CIRCUIT_S * (k * twirls + t)).compile_sampler().sample(shots) for t in range(twirls)]
        for k, depth in enumerate(DEPTHS)
    ]
    return np.array(rows, dtype=np.uint8)


def constant(hidden: Hidden, twirls: int, shots: int) -> np.ndarray:
    """The same by one circuit for each depth."""
    rows = [circuit(hidden, depth, 0.0).compile_sampler().sample(twirls * shots) for depth in DEPTHS]
    return np.array(rows, dtype=np.uint8).reshape(len(DEPTHS), twirls, shots, N_QUBITS)


def cpu_ms(make: Callable[[], np.ndarray], repeat: int) -> float:
    """Median CPU time of one call, ms."""
    spent = []
    for _ in range(repeat):
        before = time.process_time()
        make()
        spent.append(1e3 * (time.process_time() - before))
    return float(np.median(spent))


def mean_parities(bits: np.ndarray) -> np.ndarray:
    outcome = (bits.astype(np.int64) << np.arange(N_QUBITS)).sum(axis=-1).reshape(len(DEPTHS), -1)
    return np.array([WALSH @ np.bincount(row, minlength=len(WALSH)) / row.size for row in outcome])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twirls", type=int, default=40)
    parser.add_argument("--shots", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    hidden = QTYPE.draw(seeds.generator(seeds.root_from(b"bench"), "device"), Profile())
    rng = seeds.generator(seeds.root_from(b"bench"), "job/1")
    size = args.twirls, args.shots
    makers = {
        "ours": lambda: ours(hidden, rng, *size),
        "stim, one circuit per twirl": lambda: per_twirl(hidden, *size),
        "stim, constant rates": lambda: constant(hidden, *size),
    }
    reference = mean_parities(ours(hidden, rng, *size))
    for name, make in makers.items():
        off = np.abs(mean_parities(make()) - reference).max() * np.sqrt(args.twirls * args.shots / 2)
        if off > 5:
            raise SystemExit(f"{name}: mean parities differ by {off:.1f} standard errors")
    spent = {name: cpu_ms(make, args.repeat if "per twirl" not in name else max(2, args.repeat // 5)) for name, make in makers.items()}
    print(f"{len(DEPTHS)} depths x {args.twirls} twirls x {args.shots} shots")
    for name, ms in spent.items():
        print(f"  {name:28s} {ms:8.2f} ms, {ms / spent['ours']:6.2f} times ours")
    ratio = spent["stim, one circuit per twirl"] / spent["ours"]
    print(f"ratio {ratio:.1f}, goal {GOAL:g}: {'met' if ratio >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
