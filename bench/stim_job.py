"""A job of a stim device end to end through the laboratory, against stim sampling the same noisy circuit: CPU time per job.

The laboratory side is everything that a job costs: validation, admission, events with their digests, the noisy circuit of the device,
sampling, the record as a file with its digest, and its transfer to the client, which checks it; that is the CPU time of the sidecar, of
its worker and of the client. The alternative compiles and samples the ready noisy circuit. Both take turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import stim

import lab
from bench.processes import cpu_s, environment, free_port, running, until_healthy
from qtypes.kit.stim_circuits import sample_measurements

GOAL = 1.5


def arguments(description: str | None, *, jobs: int, shots: int) -> argparse.Namespace:
    """`--jobs` and `--shots` with these defaults."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=jobs)
    parser.add_argument("--shots", type=int, default=shots)
    return parser.parse_args()


def compare(task: str, tool: str, request: dict[str, Any], circuit: stim.Circuit, *, jobs: int, shots: int) -> None:
    """Run `jobs` jobs of `shots` shots of `tool` with `request` and as often sample `circuit`, and print both and their ratio."""
    raw, inside, client_s = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        port, log = free_port(), folder / "log"
        url = f"http://127.0.0.1:{port}"
        more = {"QHARBOR_TASK": task, "QHARBOR_OUT": str(folder / "bundle"), "QHARBOR_PORT": str(port)}
        sidecar = running([sys.executable, "-m", "bench.submit_variant", "group"], environment(**more, QHARBOR_WORKERS="1"), log)
        with sidecar as process, lab.connect(url, progress=False) as device:
            until_healthy(process, f"{url}/healthz", log)
            device.run(tool, shots=1, **request)  # starts the worker, writes and digests the noiseless circuit
            for k in range(jobs):
                start = time.process_time()
                bits = sample_measurements(circuit, shots, k)
                raw.append(time.process_time() - start)
                before, start = cpu_s(process.pid), time.process_time()
                record = device.run(tool, shots=shots, **request)
                client_s.append(time.process_time() - start)
                inside.append(cpu_s(process.pid) - before)
                if record["meas"].shape != bits.shape:
                    raise RuntimeError(f"the record has shape {record['meas'].shape}, raw sampling {bits.shape}")
    per_job, alternative = float(np.mean(inside) + np.mean(client_s)), float(np.mean(raw))
    print(f"{tool}, {shots} shots, record of {bits.nbytes / 1e6:.2f} MB, mean of {jobs} jobs")
    parts = f"sidecar and worker {np.mean(inside) * 1e3:.1f}, client {np.mean(client_s) * 1e3:.1f}"
    print(f"  through the laboratory   CPU {per_job * 1e3:7.1f} ms ({parts})")
    print(f"  stim sampling alone      CPU {alternative * 1e3:7.1f} ms")
    ratio = per_job / alternative
    print(f"goal: ratio at most {GOAL}: {'met' if ratio <= GOAL else 'MISSED'} ({ratio:.2f})")
