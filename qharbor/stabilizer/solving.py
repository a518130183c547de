"""Run the reference solvers over many codes: circuits `<out>/<task>/<code>.stim`, one line a code in `<out>/<task>/solved.jsonl`.

A code that has its circuit is left alone, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import tasks
from evidence import write_whole
from qharbor.stabilizer import instances

LOG = "solved.jsonl"


class SolverFault(Exception):
    """A solver's process ended; the text says with what."""


class Worker:
    """One process with the solver of one task."""

    def __init__(self, short: str) -> None:
        folder = tasks.load(instances.TASKS[short]).folder / "solution"
        if not (folder / "solve_code.py").is_file():
            raise SolverFault(f"there is no {folder}/solve_code.py")
        script = Path(__file__).with_name("worker.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def solve(self, code: str, spec: dict[str, Any], seconds: float, seed: int, aim: str | None = None) -> dict[str, Any]:
        """Its answer: `circuit` and `cpu_s`, or `error`."""
        pipe, answers = self._process.stdin, self._process.stdout
        assert pipe is not None
        assert answers is not None
        asked = {"code": code, "spec": spec, "seconds": seconds, "seed": [seed, zlib.crc32(code.encode())], "aim": aim}
        try:
            pipe.write(json.dumps(asked) + "\n")
            pipe.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise SolverFault(f"the solver ended with status {self._process.wait()} on {code}")
        return dict(json.loads(line))

    def close(self) -> None:
        """End the process, at work or not."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def left(out: Path, short: str, names: Sequence[str]) -> list[str]:
    """Codes that have no circuit yet."""
    return [n for n in names if not any((out / short / f"{n}{end}").is_file() for end in (".stim", ".qasm"))]


def run(
    out: Path, short: str, names: Sequence[str], *, seconds: float, jobs: int = 1, seed: int = 1, aim: str | None = None,
    told: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[str]:  # fmt: skip
    """Solve all codes that are left, `told` after each; the messages of those that failed."""
    folder = out / short
    folder.mkdir(parents=True, exist_ok=True)
    queue: SimpleQueue[str] = SimpleQueue()
    wanted = left(out, short, names)
    for name in wanted:
        queue.put(name)
    workers = [Worker(short) for _ in range(max(1, min(jobs, len(wanted)) if wanted else 0))] if wanted else []
    lock, failures, stop = threading.Lock(), [], threading.Event()

    def work(worker: Worker) -> None:
        while not stop.is_set():
            try:
                name = queue.get_nowait()
            except Empty:
                return
            try:
                answer = worker.solve(name, instances.spec(short, name), seconds, seed, aim)
            except SolverFault as fault:
                answer = {"code": name, "error": str(fault)}
                stop.set()
            with lock:
                if stop.is_set() and "error" not in answer:
                    return
                _keep(folder, answer, {"seconds": seconds, "seed": seed, "aim": aim})
                if "error" in answer:
                    failures.append(f"{short} {name}: {answer['error']}")
                told(answer)

    threads = [threading.Thread(target=work, args=(w,), daemon=True) for w in workers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    finally:
        stop.set()
        for worker in workers:
            worker.close()
    return failures


def _keep(folder: Path, answer: dict[str, Any], how: dict[str, Any]) -> None:
    if "circuit" in answer:
        write_whole(folder / f"{answer['code']}.stim", answer["circuit"].encode())
    line = {k: v for k, v in answer.items() if k != "circuit"} | how
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def history(folder: Path) -> dict[str, dict[str, Any]]:
    """What `run` noted of each code, the last note of each."""
    if not (folder / LOG).is_file():
        return {}
    lines = (json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").splitlines() if line.strip())
    return {line["code"]: line for line in lines}
