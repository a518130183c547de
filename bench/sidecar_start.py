"""Start of a sidecar until it is healthy: CPU time of its process tree, against a bare application that imports the same libraries.

`python -m bench.sidecar_start`. The goal is 1.5 s of CPU time; wall time is printed too but depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bench.processes import cpu_s, environment, free_port, running, until_healthy

GOAL_S = 1.5
Start = tuple[float, float]
"""CPU and wall time in s."""


def _list_tools(port: int) -> None:
    """The first MCP request: it makes the sidecar import and build that surface."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/mcp", body, headers), timeout=60) as answer:
        if "get_spec" not in answer.read().decode():
            raise RuntimeError("the sidecar does not list its tools")


Command = Callable[[int], list[str]]
Environment = Callable[[int, Path], dict[str, str]]


def measure(argv: Command, env: Environment, then: Callable[[int], None] | None = None) -> Start:
    """One start on a free port, to healthy and through `then`."""
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        with running(argv(port), env(port, folder), log) as process:
            wall = until_healthy(process, f"http://127.0.0.1:{port}/healthz", log)
            if then is not None:
                then(port)
            return cpu_s(process.pid), wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="lattice_surgery_cnot")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()

    def sidecar(_: int) -> list[str]:
        return [sys.executable, "-m", "sidecar"]

    def sidecar_env(port: int, folder: Path) -> dict[str, str]:
        return environment(QHARBOR_TASK=arguments.task, QHARBOR_OUT=str(folder / "bundle"), QHARBOR_PORT=str(port))

    def bare(port: int) -> list[str]:
        return [sys.executable, "-m", "bench.bare_app", str(port)]

    cases: dict[str, Callable[[], Start]] = {
        "sidecar, to healthy": lambda: measure(sidecar, sidecar_env),
        "sidecar, through its first MCP answer": lambda: measure(sidecar, sidecar_env, _list_tools),
        "bare FastAPI with the same libraries, to healthy": lambda: measure(bare, lambda *_: environment()),
    }
    found: dict[str, list[Start]] = {name: [] for name in cases}
    for _ in range(arguments.repeats):  # in turn, so that all see the same load of the machine
        for name, case in cases.items():
            found[name].append(case())
    cpu = {name: statistics.median(c for c, _ in starts) for name, starts in found.items()}
    wall = {name: statistics.median(w for _, w in starts) for name, starts in found.items()}
    reference = next(reversed(cpu.values()))
    print(f"start of a sidecar, task {arguments.task}, median of {arguments.repeats}")
    for name, seconds in cpu.items():
        print(f"  {name:<50} CPU {seconds:5.2f} s   wall {wall[name]:5.2f} s   ratio {seconds / reference:5.2f}")
    healthy = next(iter(cpu.values()))
    print(f"goal: at most {GOAL_S} s of CPU time to healthy: {'met' if healthy <= GOAL_S else 'MISSED'} ({healthy:.2f} s)")


if __name__ == "__main__":
    main()
