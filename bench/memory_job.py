"""A surface-code memory job end to end through the laboratory, against stim sampling the same noisy circuit: CPU time per job.

`python -m bench.memory_job`. The laboratory side is everything that a job costs: validation, admission, events with their digests,
the noisy circuit of the device, sampling, the record as a file with its digest, and its transfer to the client, which checks it; that is
the CPU time of the sidecar, of its worker and of the client. The alternative compiles and samples the ready noisy circuit. Both take turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import lab
import qtypes
from bench.processes import cpu_s, environment, free_port, running, until_healthy
from qtypes.kit.stim_circuits import sample_measurements
from qtypes.surface_code_memory.device import MAX_SHOTS, Profile
from qtypes.surface_code_memory.layout import layout, program
from qtypes.surface_code_memory.physics import noise_at, quiet_circuit

GOAL = 1.5
PATCH = {"rows": 5, "cols": 5, "basis": "Z", "rounds": 12}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--shots", type=int, default=MAX_SHOTS)
    arguments = parser.parse_args()
    hidden = qtypes.load("surface_code_memory").draw(np.random.default_rng(1), Profile())
    circuit = quiet_circuit(program(5, 0, 0, 5, 5, "Z", 12), noise_at(hidden, layout(5), 0.0))
    raw, inside, client_s = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        port, log = free_port(), folder / "log"
        url = f"http://127.0.0.1:{port}"
        more = {"QHARBOR_TASK": "memory_decoder_calibration", "QHARBOR_OUT": str(folder / "bundle"), "QHARBOR_PORT": str(port)}
        sidecar = running([sys.executable, "-m", "bench.submit_variant", "group"], environment(**more, QHARBOR_WORKERS="1"), log)
        with sidecar as process, lab.connect(url, progress=False) as device:
            until_healthy(process, f"{url}/healthz", log)
            device.run("run_memory", shots=1, **PATCH)  # starts the worker, writes and digests the noiseless circuit
            for k in range(arguments.jobs):
                start = time.process_time()
                bits = sample_measurements(circuit, arguments.shots, k)
                raw.append(time.process_time() - start)
                before, start = cpu_s(process.pid), time.process_time()
                record = device.run("run_memory", shots=arguments.shots, **PATCH)
                client_s.append(time.process_time() - start)
                inside.append(cpu_s(process.pid) - before)
                if record["meas"].shape != bits.shape:
                    raise RuntimeError(f"the record has shape {record['meas'].shape}, raw sampling {bits.shape}")
    per_job, alternative = float(np.mean(inside) + np.mean(client_s)), float(np.mean(raw))
    print(f"run_memory, d = 5, 12 cycles, {arguments.shots} shots, record of {bits.nbytes / 1e6:.2f} MB, mean of {arguments.jobs} jobs")
    parts = f"sidecar and worker {np.mean(inside) * 1e3:.1f}, client {np.mean(client_s) * 1e3:.1f}"
    print(f"  through the laboratory   CPU {per_job * 1e3:7.1f} ms ({parts})")
    print(f"  stim sampling alone      CPU {alternative * 1e3:7.1f} ms")
    ratio = per_job / alternative
    print(f"goal: ratio at most {GOAL}: {'met' if ratio <= GOAL else 'MISSED'} ({ratio:.2f})")


if __name__ == "__main__":
    main()
