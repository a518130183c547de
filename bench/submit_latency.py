"""Submit-to-acknowledge latency of jobs at 16 concurrent clients, against two other ways to write the log under the same load.

`python -m bench.submit_latency`. An acknowledged job is on disk: the sidecar gathers the events that wait (group commit) and makes them
durable with one fsync. The alternatives: no fsync at all (what durability costs), and one fsync for each event (what the grouping saves).
All three sidecars run at the same time and take turns, so that they see the same load of the machine.

Each client submits over one kept-alive connection, every `--every` seconds with a random phase: agents think, they do not spin. With
`--every 0` the clients submit again at once; the latency is then set by how much CPU time one request takes, and is printed for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.processes import cpu_s, environment, free_port, running, until_healthy

GOAL_MS = 25.0
VARIANTS = ("group", "none", "each")
LABEL = {"group": "group commit (as shipped)", "none": "fsync replaced by nothing", "each": "one fsync per event"}
JOB = json.dumps({"patch": "C", "basis": "Z", "rounds": 1, "shots": 1}).encode()
HEAD = (
    "POST /v1/experiments/run_memory HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(JOB)}\r\n\r\n"
)


async def _submit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    """One submission; seconds from the first byte sent to the last byte of the acknowledgement."""
    start = time.perf_counter()
    writer.write(HEAD.encode() + JOB)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    body = await reader.readexactly(length)
    took = time.perf_counter() - start
    if not answer.startswith(b"HTTP/1.1 202"):
        raise RuntimeError(f"not acknowledged: {answer.splitlines()[0]!r} {body[:300]!r}")
    return took


async def _client(port: int, submissions: int, every_s: float, rng: random.Random) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took = []
    try:
        for _ in range(submissions):
            if every_s:
                await asyncio.sleep(every_s * rng.uniform(0.5, 1.5))
            took.append(await _submit(reader, writer))
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    return took


async def _load(port: int, clients: int, submissions: int, every_s: float) -> list[float]:
    rng = random.Random(port)
    parts = await asyncio.gather(*(_client(port, submissions, every_s, rng) for _ in range(clients)))
    return [t for part in parts for t in part]


async def _drain(port: int) -> None:
    """Return when no job waits or runs."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        body = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
        if not any(j["status"] in ("queued", "running") for j in json.loads(body)["jobs"]):
            return
        await asyncio.sleep(0.2)


def fsync_ms(folder: Path, repeats: int = 200) -> np.ndarray:
    """Milliseconds of one appended line with fsync in `folder`; `(repeats,)`."""
    took = np.empty(repeats)
    with (folder / "probe").open("wb", buffering=0) as f:
        for k in range(repeats):
            start = time.perf_counter()
            f.write(b"x" * 700)
            os.fsync(f.fileno())
            took[k] = (time.perf_counter() - start) * 1e3
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--submissions", type=int, default=10, help="of each client in each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--every", type=float, default=0.5, help="mean seconds between the submissions of one client; 0: at once")
    arguments = parser.parse_args()
    latencies: dict[str, list[float]] = {v: [] for v in VARIANTS}
    spent = dict.fromkeys(VARIANTS, 0.0)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        probe = fsync_ms(folder)
        sidecars = {}
        for v in VARIANTS:
            port, log = free_port(), folder / f"{v}.log"
            env = environment(QHARBOR_TASK="lattice_surgery_cnot", QHARBOR_OUT=str(folder / v), QHARBOR_PORT=str(port), QHARBOR_WORKERS="1")
            process = stack.enter_context(running([sys.executable, "-m", "bench.submit_variant", v], env, log))
            until_healthy(process, f"http://127.0.0.1:{port}/healthz", log)
            sidecars[v] = (port, process.pid)
        for v in VARIANTS:  # the workers start with the first job
            asyncio.run(_load(sidecars[v][0], 1, 2, 0.0))
            asyncio.run(_drain(sidecars[v][0]))
        for _ in range(arguments.turns):
            for v, (port, pid) in sidecars.items():
                before = cpu_s(pid)
                latencies[v] += asyncio.run(_load(port, arguments.clients, arguments.submissions, arguments.every))
                asyncio.run(_drain(port))
                spent[v] += cpu_s(pid) - before
    report(arguments, probe, latencies, spent)


def report(arguments: argparse.Namespace, probe: np.ndarray, latencies: dict[str, list[float]], spent: dict[str, float]) -> None:
    p = {v: np.percentile(np.array(latencies[v]) * 1e3, [50, 99]) for v in VARIANTS}
    n = len(latencies["group"])
    pace = f"one submission every {arguments.every:g} s each" if arguments.every else "submitting at once again"
    print(f"submit to acknowledge, {arguments.clients} clients, {pace}, {n} submissions; load average {os.getloadavg()[0]:.1f}")
    print(f"  a bare append of 700 bytes with fsync takes {np.median(probe):.2f} ms (median), {np.percentile(probe, 99):.2f} ms (p99)")
    for v in VARIANTS:
        ratio = p["group"] / p[v]
        print(f"  {LABEL[v]:<27} p50 {p[v][0]:7.2f} ms   p99 {p[v][1]:7.2f} ms   CPU per job {spent[v] / n * 1e3:5.1f} ms"
              f"   shipped / this: p50 {ratio[0]:.2f}, p99 {ratio[1]:.2f}")  # fmt: skip
    shipped = p["group"][1]
    print(f"goal: p99 below {GOAL_MS:g} ms: {'met' if shipped < GOAL_MS else 'MISSED'} ({shipped:.1f} ms)")


if __name__ == "__main__":
    main()
