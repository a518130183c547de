"""A surface-code memory job (d = 5, 12 cycles) end to end through the laboratory, against stim sampling its noisy circuit: CPU time.

`python -m bench.memory_job`. What is counted on either side: `bench/stim_job.py`.
"""

from __future__ import annotations

import numpy as np

import qtypes
from bench import stim_job
from qtypes.surface_code_memory.device import MAX_SHOTS, Profile
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import noise_at, quiet_circuit

PATCH = {"rows": 5, "cols": 5, "basis": "Z", "rounds": 12}


def main() -> None:
    given = stim_job.arguments(__doc__, jobs=3, shots=MAX_SHOTS)
    hidden = qtypes.load("surface_code_memory").draw(np.random.default_rng(1), Profile())
    circuit = quiet_circuit(program(5, 0, 0, 5, 5, "Z", 12), noise_at(hidden, layout(5), 0.0))
    stim_job.compare("memory_decoder_calibration", "run_memory", PATCH, circuit, jobs=given.jobs, shots=given.shots)


if __name__ == "__main__":
    main()
