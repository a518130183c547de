"""CPU time: of a call in this process, and of process trees, read from /proc (Linux)."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from qharbor.embedded import stop

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ROOT = Path(__file__).resolve().parents[1]


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/<pid>/stat behind the command, which may itself hold blanks: [0] is the state, [1] the parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree(pid: int) -> list[int]:
    """`pid` and its living descendants."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat(int(entry))) is not None:
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found = [pid]
    for p in found:
        found += parents.get(p, [])
    return found


def cpu_s(pid: int) -> float:
    """User and system time in s of `pid`, of its living descendants, and of children that they have waited for."""
    ticks = 0
    for p in tree(pid):
        fields = _stat(p)
        if fields is not None:
            ticks += sum(int(f) for f in fields[11:15])
    return ticks * TICK_S


Result = TypeVar("Result")


def timed(run: Callable[[], Result], repeats: int) -> tuple[Result, float]:
    """What `run` gives, and the shortest CPU time of `repeats` calls in s."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        best = min(best, time.process_time() - start)
    return result, best


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def environment(**more: str) -> dict[str, str]:
    """That of this process, with this tree importable and one thread per process."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": str(ROOT), **more}


@contextmanager
def running(argv: list[str], env: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended on leaving."""
    with log.open("ab") as sink:
        process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
    try:
        yield process
    finally:
        stop(process)


def until_healthy(process: subprocess.Popen[bytes], url: str, log: Path, limit_s: float = 120.0) -> float:
    """Wall seconds until GET `url` answers 200; `RuntimeError` with the end of the log where it does not."""
    start = time.monotonic()
    while time.monotonic() - start < limit_s:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return time.monotonic() - start
        except (OSError, urllib.error.URLError):
            time.sleep(0.01)
    raise RuntimeError(f"{url} did not become healthy:\n{log.read_text(errors='replace')[-2000:]}")
