"""Pilot blocks of the resource model against blocks of a circuit-level memory in stim, decoded with pymatching: CPU time per block.

`python -m bench.ftqc_resource_estimation_vs_stim`. The laboratory draws the failures of whole groups of blocks from the suppression law;
the alternative samples and decodes every block (rotated code, d cycles, depolarising noise). Its failures, at two distances, give the law
whose third distance the laboratory then draws: the counts must agree.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pymatching
import stim

from bench.processes import timed
from qtypes.ftqc_resource_estimation import physics

GOAL = 1000.0
NOISE = 4e-3
DISTANCES = (3, 5, 7)


def sampled(distance: int, blocks: int) -> int:
    """Failed blocks of a memory, sampled and decoded."""
    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_z", distance=distance, rounds=distance, after_clifford_depolarization=NOISE,
        before_measure_flip_probability=NOISE, after_reset_flip_probability=NOISE,
    )  # fmt: skip
    matching = pymatching.Matching(circuit.detector_error_model(decompose_errors=True))
    detections, flips = circuit.compile_detector_sampler(seed=distance).sample(blocks, separate_observables=True)
    return int((matching.decode_batch(detections)[:, 0] != flips[:, 0]).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20_000, help="blocks of the alternative at each distance")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    n, ours_blocks = arguments.blocks, 20_000_000
    failures, seconds = zip(*(timed(lambda d=d: sampled(d, n), 1) for d in DISTANCES), strict=True)
    suppression = failures[0] / failures[1]
    prefactor = failures[0] / n * suppression**2
    sizes = physics.groups(ours_blocks)
    found, cpu = timed(lambda: physics.failures(7, sizes, prefactor, suppression, np.random.default_rng(1)), arguments.repeat)
    expected, seen = float(found.sum()) / ours_blocks * n, failures[2]
    sigma = math.sqrt(seen + expected**2 * (4 / failures[1] + 1 / failures[0]))
    if abs(seen - expected) > 5 * sigma:
        raise RuntimeError(f"the law gives {expected:.0f} failures at distance 7, the circuit {seen}")
    ours, theirs = cpu / ours_blocks, seconds[2] / n
    print(f"Lambda {suppression:.2f}; distance 7, failures in {n} blocks: law {expected:.0f}, circuit {seen}, difference +- {sigma:.0f}")
    print(f"  run_pilot_memory     CPU {ours * 1e9:10.3f} ns per block")
    print(f"  stim and pymatching  CPU {theirs * 1e9:10.0f} ns per block")
    ratio = theirs / ours
    print(f"goal: circuit over laboratory at least {GOAL:g}: {'met' if ratio >= GOAL else 'MISSED'} ({ratio:.0f})")


if __name__ == "__main__":
    main()
