"""A worker process: reads one JSON request a line on stdin, answers one JSON line on stdout, writes records into the bundle.

Nothing is pickled in either direction. A worker dies with its sidecar; a job it was running is run again with the same seed.
"""

from __future__ import annotations

import os

for _pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[_pool] = "1"  # before numpy is imported: two pools of two threads on two cores run at a fifth of the speed

import contextlib  # noqa: E402
import ctypes  # noqa: E402
import json  # noqa: E402
import resource  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
import traceback  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, TextIO  # noqa: E402

import numpy as np  # noqa: E402

import qtypes  # noqa: E402
from evidence import digest, dumps, pack, unpack, write_whole  # noqa: E402
from qtypes import AgentError, seeds  # noqa: E402
from qtypes.contract import Clock, Device, Experiment, Query  # noqa: E402

MEMORY_BYTES = 16 * 2**30
MAX_RESULT = 64_000
INLINE_BYTES = 32_000
_PR_SET_PDEATHSIG = 1


def plain(values: np.ndarray) -> Any:
    """An array as nested lists; complex numbers as `[re, im]`."""
    if values.dtype.kind == "c":
        return np.stack([values.real, values.imag], axis=-1).tolist()
    return values.tolist()


class Worker:
    """The device of one session."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.qtype = qtypes.load(setup["qtype"])
        hidden = self.qtype.Hidden.model_validate_json(setup["hidden_json"])
        profile = self.qtype.read_profile(setup["profile"])
        self.device = Device(spec=self.qtype.spec(hidden, profile), hidden=hidden, profile=profile)
        self.root = seeds.from_json(setup["seed"])
        self.folder = Path(setup["folder"])

    def run(self, task: dict[str, Any]) -> dict[str, Any]:
        """Run an experiment and store its record; returns digest, size, description of the arrays and, if small, their content."""
        model: Any = self.qtype.tools()[task["tool"]]
        request: Experiment = model.model_validate_json(task["request"])
        record = request.run(self.device, Clock(task["lab_start_s"]), seeds.generator(self.root, f"job/{task['number']}")).check()
        arrays = {name: a.values for name, a in record.arrays.items()}
        data = pack(arrays)
        write_whole(self.folder / "records" / f"{task['job_id']}.npz", data)
        described = [
            {
                "name": n,
                "dtype": a.values.dtype.str,
                "shape": list(a.values.shape),
                "unit": a.unit,
                "axes": list(a.axes),
                "layout": a.layout,
            }
            for n, a in sorted(record.arrays.items())
        ]
        dumps(dict(record.summary))  # finite JSON or a fault of the laboratory
        return {"record": {"sha256": digest(data), "bytes": len(data), "arrays": described}, "summary": dict(record.summary)}

    def query(self, task: dict[str, Any]) -> dict[str, Any]:
        """Answer a query, with the record of a completed job where it reads one."""
        model: Any = self.qtype.tools()[task["tool"]]
        request: Query = model.model_validate_json(task["request"])
        record, source = None, None
        if task.get("record_job"):
            record = unpack((self.folder / "records" / f"{task['record_job']}.npz").read_bytes())
            source_model: Any = self.qtype.tools()[task["source_tool"]]
            source = source_model.model_validate_json(task["source_request"])
        result = request.answer(self.device, record, source, seeds.generator(self.root, f"query/{task['number']}"))
        size = len(dumps(result))
        if size > MAX_RESULT:
            raise qtypes.TaskError(f"query {task['tool']}: a result of {size} bytes; at most {MAX_RESULT}")
        return {"result": result}

    def handle(self, task: dict[str, Any]) -> dict[str, Any]:
        try:
            return self.run(task) if task["op"] == "run" else self.query(task)
        except AgentError as exc:
            return {"refused": exc.problem()}
        except Exception:  # noqa: BLE001  (whatever a qtype raises is the laboratory's fault, and the next job needs this worker)
            # the operator's log only: a traceback may show hidden values
            traceback.print_exc(file=sys.stderr)
            return {"fault": True}


def _guard_process(parent: int) -> None:
    """Die with the sidecar, leave no core file, bound the memory, ignore its Ctrl-C."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(requests: TextIO, answers: TextIO) -> None:
    """The loop; ends when the sidecar closes the pipe."""
    worker = Worker(json.loads(requests.readline()))
    answers.write('{"ready":true}\n')
    answers.flush()
    for line in requests:
        answers.write(json.dumps(worker.handle(json.loads(line)), allow_nan=False) + "\n")
        answers.flush()


def main() -> None:
    _guard_process(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints must not break the protocol
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
