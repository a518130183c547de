"""A process that runs one reference solver: JSON lines in, JSON lines out.

    python worker.py tasks/stabilizer_optimization/solution

A line `{"code", "spec", "seconds", "seed", ...}` is answered by `{"code", "circuit", "cpu_s"}` or by `{"code", "error"}`. The solvers are
scripts of a bundle and import each other by plain names, so each kind gets a process of its own.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import time

for _pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_pool] = "1"


def main(folder: str) -> None:
    """Serve until the input ends."""
    sys.path.insert(0, folder)
    import numpy as np

    answers = sys.stdout
    sys.stdout = sys.stderr  # what a solver prints is no answer
    solve = importlib.import_module("solve_code").solve
    known = inspect.signature(solve).parameters
    for line in sys.stdin:
        asked = json.loads(line)
        more = {"aim": asked["aim"]} if "aim" in known and asked.get("aim") else {}
        start = time.process_time()
        try:
            rng = np.random.default_rng(asked["seed"])
            circuit = solve(asked["spec"], seconds=asked["seconds"], rng=rng, **more)
            answer = {"code": asked["code"], "circuit": circuit, "cpu_s": round(time.process_time() - start, 3)}
        except Exception as exc:  # noqa: BLE001  the next code may go well
            answer = {"code": asked["code"], "error": f"{type(exc).__name__}: {exc}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
