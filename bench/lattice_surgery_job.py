"""A lattice-surgery job end to end through the laboratory, against stim sampling the same noisy circuit: CPU time per job.

`python -m bench.lattice_surgery_job`. What is counted on either side: `bench/stim_job.py`.
"""

from __future__ import annotations

import numpy as np

import qtypes
from bench import stim_job
from qtypes.surface_code_lattice_surgery import circuits
from qtypes.surface_code_lattice_surgery.device import MAX_SHOTS, Profile
from qtypes.surface_code_lattice_surgery.physics import noisy

CONFIG = "z"


def main() -> None:
    given = stim_job.arguments(__doc__, jobs=15, shots=MAX_SHOTS)
    hidden = qtypes.load("surface_code_lattice_surgery").draw(np.random.default_rng(1), Profile())
    circuit = noisy(circuits.cnot(CONFIG, (0, 0)), hidden, 0.0)
    stim_job.compare("lattice_surgery_cnot", "run_cnot", {"config": CONFIG}, circuit, jobs=given.jobs, shots=given.shots)


if __name__ == "__main__":
    main()
