"""`qharbor doctor`: what this machine has and lacks for the two ways to run a task, each lack with the command that mends it."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from qharbor import bundles, containers, images

Status = Literal["ok", "warning", "missing"]
Mode = Literal["embedded", "docker"]

PYTHON = (3, 12)
HARBOR = "0.26"
DISK_BYTES = 5 * 10**9
"""The two images take 2 GB; the rest is for build cache and evidence."""
NETWORKS_PER_TRIAL = 2
NETWORKS_WARN = 8
"""Free address ranges below which concurrent trials may fail to start (Harbor runs 4 at a time unless told otherwise)."""

# What an engine hands out where its configuration names no pools (moby, `localScopeDefaultNetworks`): base network, prefix length of each.
_BUILT_IN_POOLS = (
    ("172.17.0.0/16", 16), ("172.18.0.0/16", 16), ("172.19.0.0/16", 16), ("172.20.0.0/14", 16), ("172.24.0.0/14", 16),
    ("172.28.0.0/14", 16), ("192.168.0.0/16", 20),
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One line of the report. `needed_for` names the way to run that does not work without it; `mend` is a command."""

    name: str
    status: Status
    found: str
    needed_for: Mode
    mend: str = ""


class Machine:
    """What the checks ask of the machine; tests put another in its place."""

    python = sys.version_info[:3]

    def which(self, program: str) -> str | None:
        return shutil.which(program)

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Exit status, stdout, stderr; 127 where the program is missing or does not answer in 30 s."""
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as exc:
            return 127, "", type(exc).__name__
        return done.returncode, done.stdout.strip(), done.stderr.strip()

    def free_bytes(self, path: str) -> int | None:
        try:
            return shutil.disk_usage(path).free
        except OSError:
            return None

    def harbor(self) -> str | None:
        try:
            return str(containers.harbor_binary())
        except containers.ContainerError:
            return None

    def importable(self, module: str) -> bool:
        from importlib.util import find_spec

        return find_spec(module) is not None

    def out_of_step(self) -> list[str]:
        return bundles.sync(check=True)


def findings(machine: Machine) -> list[Finding]:
    """All checks in the order in which their lacks should be mended."""
    found = [_python(machine), _packages(machine), _bundles(machine), _disk(machine, str(Path.cwd()), "disk, here", "embedded")]
    engine, info = _engine(machine)
    found.append(engine)
    if info is not None:
        found += [_plugin(machine, "compose"), _plugin(machine, "buildx"), _images(machine), _addresses(machine, info)]
        root = str(info.get("DockerRootDir") or "")
        if root and machine.free_bytes(root) is not None:
            found.append(_disk(machine, root, "disk, of the engine", "docker"))
    found.append(_harbor(machine))
    return found


def _python(machine: Machine) -> Finding:
    version = ".".join(map(str, machine.python))
    if machine.python[:2] >= PYTHON:
        return Finding("python", "ok", version, "embedded")
    return Finding("python", "missing", f"{version}, needs 3.12 or newer", "embedded", "scripts/find_python.sh")


def _packages(machine: Machine) -> Finding:
    names = ("numpy", "scipy", "stim", "pymatching", "fastapi", "uvicorn", "mcp", "lab", "sidecar", "evidence")
    lacking = [n for n in names if not machine.importable(n)]
    if not lacking:
        return Finding("packages", "ok", "as the lock file says", "embedded")
    return Finding("packages", "missing", "not importable: " + ", ".join(lacking), "embedded", "make demo")


def _bundles(machine: Machine) -> Finding:
    changed = machine.out_of_step()
    if not changed:
        return Finding("bundles", "ok", "generated parts in step", "docker")
    return Finding("bundles", "warning", f"{len(changed)} generated files out of step, e.g. {changed[0]}", "docker", "qharbor tasks sync")


def _engine(machine: Machine) -> tuple[Finding, dict[str, Any] | None]:
    if machine.which("docker") is None:
        return Finding("docker", "missing", "no docker on PATH", "docker", "sudo apt-get install docker.io"), None
    status, out, error = machine.run("docker", "info", "--format", "{{json .}}")
    try:
        info: dict[str, Any] = json.loads(out)
    except ValueError:
        info = {}
    if status == 0 and info.get("ServerVersion"):
        return Finding("docker", "ok", f"engine {info['ServerVersion']}", "docker"), info
    said = " ".join([*info.get("ServerErrors", []), error])
    if "permission denied" in said.lower():
        mend = 'sudo usermod -aG docker "$USER" && newgrp docker'
        return Finding("docker", "missing", "you may not talk to the engine", "docker", mend), None
    return Finding("docker", "missing", "the engine does not answer", "docker", "sudo systemctl start docker"), None


def _plugin(machine: Machine, name: str) -> Finding:
    status, out, _ = machine.run("docker", name, "version")
    version = re.search(r"v?(\d+\.\d+[.\d]*)", out)
    packages = {"compose": "docker-compose-plugin", "buildx": "docker-buildx-plugin"}
    mend = f"sudo apt-get install {packages[name]}"
    if status != 0 or version is None:
        return Finding(f"docker {name}", "missing", f"`docker {name}` is not a command", "docker", mend)
    if name == "compose" and int(version[1].split(".")[0]) < 2:
        return Finding(f"docker {name}", "missing", f"{version[1]}, needs 2 or newer", "docker", mend)
    return Finding(f"docker {name}", "ok", version[1], "docker")


def _images(machine: Machine) -> Finding:
    lacking = [i.tag for i in images.IMAGES if machine.run("docker", "image", "inspect", "--format", "{{.Id}}", i.tag)[0] != 0]
    if not lacking:
        return Finding("images", "ok", ", ".join(i.tag for i in images.IMAGES), "docker")
    return Finding("images", "missing", "not built: " + ", ".join(lacking), "docker", "make images")


def free_networks(pools: Iterable[tuple[str, int]], taken: Iterable[str]) -> int:
    """How many more networks the engine can make: ranges of its pools, less those that overlap one in use."""
    in_use = [ipaddress.ip_network(t, strict=False) for t in taken]
    free = 0
    for base, size in pools:
        network = ipaddress.ip_network(base)
        if network.version != 4 or size < network.prefixlen:
            continue
        inside = [t for t in in_use if t.version == 4 and t.overlaps(network)]
        ranges = 1 << (size - network.prefixlen)
        # a large subnet blocks several ranges, several small ones may share one
        blocked: set[int] = set()
        for subnet in inside:
            width = network.max_prefixlen - size
            first = (int(max(subnet.network_address, network.network_address)) - int(network.network_address)) >> width
            last = (int(min(subnet.broadcast_address, network.broadcast_address)) - int(network.network_address)) >> width
            blocked.update(range(first, last + 1))
        free += ranges - len(blocked)
    return free


def _addresses(machine: Machine, info: dict[str, Any]) -> Finding:
    configured = info.get("DefaultAddressPools") or []
    pools = [(p["Base"], int(p["Size"])) for p in configured] or list(_BUILT_IN_POOLS)
    _, ids, _ = machine.run("docker", "network", "ls", "--quiet")
    subnets = ""
    if ids:
        _, subnets, _ = machine.run("docker", "network", "inspect", "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}", *ids.split())
    left = free_networks(pools, subnets.split())
    found = f"room for {left} more networks, a trial takes {NETWORKS_PER_TRIAL}"
    mend = "docker network prune --force"
    if left < NETWORKS_PER_TRIAL:
        return Finding("address pool", "missing", found, "docker", mend)
    if left < NETWORKS_WARN:
        return Finding("address pool", "warning", f"{found}: run at most {left // NETWORKS_PER_TRIAL} at a time", "docker", mend)
    return Finding("address pool", "ok", found, "docker")


def _disk(machine: Machine, path: str, name: str, mode: Mode) -> Finding:
    free = machine.free_bytes(path)
    if free is None:
        return Finding(name, "warning", f"{path} cannot be read", mode)
    found = f"{free / 1e9:.0f} GB free at {path}"
    if free >= DISK_BYTES:
        return Finding(name, "ok", found, mode)
    mend = "docker system prune" if mode == "docker" else "rm -r runs jobs"
    status: Status = "missing" if free < DISK_BYTES / 10 else "warning"
    return Finding(name, status, f"{found}, {DISK_BYTES / 1e9:.0f} GB is comfortable", mode, mend)


def _harbor(machine: Machine) -> Finding:
    path = machine.harbor()
    if path is None:
        return Finding("harbor", "missing", "not installed", "docker", "make harbor")
    status, out, _ = machine.run(path, "--version")
    version = re.search(r"\d+\.\d+[.\d]*", out)
    if status != 0 or version is None:
        return Finding("harbor", "missing", f"{path} does not run", "docker", "make harbor")
    if not version[0].startswith(HARBOR + "."):
        return Finding("harbor", "warning", f"{version[0]}, the bundles are tested with {HARBOR}", "docker", "make harbor")
    return Finding("harbor", "ok", f"{version[0]}, {_short(path)}", "docker")


def _short(path: str) -> str:
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path


def ready(found: Sequence[Finding]) -> dict[str, bool]:
    """Which ways to run a task work: a lack for `embedded` is one for `docker` too."""
    embedded = not any(f.status == "missing" and f.needed_for == "embedded" for f in found)
    return {"embedded": embedded, "docker": embedded and not any(f.status == "missing" for f in found)}


def run(as_json: bool = False, machine: Machine | None = None, echo: Callable[[str], None] = print) -> int:
    """Print the report; 0 where both ways work, 1 where something is missing."""
    found = findings(machine or Machine())
    works = ready(found)
    if as_json:
        echo(json.dumps({"ready": works, "findings": [asdict(f) for f in found]}, indent=1))
    else:
        _show(found, works)
    return 0 if all(works.values()) else 1


def _show(found: Sequence[Finding], works: dict[str, bool]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    colour = {"ok": "green", "warning": "yellow", "missing": "red"}
    console = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "", "found", "mend with"):
        table.add_column(column, overflow="fold")
    for f in found:
        table.add_row(f"[{colour[f.status]}]{f.status}[/]", f.name, escape(f.found), escape(f.mend))
    console.print(table)
    for mode, how in (("embedded", "qharbor run TASK"), ("docker", "qharbor run TASK --docker")):
        console.print(f"{'[green]works[/]' if works[mode] else '[red]does not work yet[/]'}: {how}")
