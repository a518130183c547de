"""A job of the multi-target Rydberg code end to end through the laboratory, against stim sampling its noisy circuit: CPU time per job.

`python -m bench.rydberg_memory_job`. What is counted on either side: `bench/stim_job.py`.
"""

from __future__ import annotations

import numpy as np

import qtypes
from bench import stim_job
from qtypes.rydberg_multitarget_surface_code import circuits
from qtypes.rydberg_multitarget_surface_code.device import MAX_SHOTS, Profile
from qtypes.rydberg_multitarget_surface_code.physics import noisy

BASIS = "Z"
ROUNDS = 8


def main() -> None:
    # the budget of a session pays for four jobs of 100 000 shots
    given = stim_job.arguments(__doc__, jobs=4, shots=MAX_SHOTS)
    hidden = qtypes.load("rydberg_multitarget_surface_code").draw(np.random.default_rng(1), Profile())
    circuit = noisy(circuits.memory(BASIS, ROUNDS), hidden)
    request = {"basis": BASIS, "rounds": ROUNDS}
    stim_job.compare("multitarget_rydberg_memory", "run_memory", request, circuit, jobs=given.jobs, shots=given.shots)


if __name__ == "__main__":
    main()
