"""How a sidecar is configured: environment variables, documented here and nowhere else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PREFIX = "QHARBOR_"


@dataclass(frozen=True)
class Settings:
    """`QHARBOR_<NAME>` each.

    `task` name of the task; `out` folder of the bundle; `host`, `port` where to listen, or `fd` of a
    bound socket that the starting process hands down; `allowed_hosts` names that the Host header may
    carry (comma-separated); `seed` a developer's switch that makes the device reproducible and marks the bundle; `suite_secret` with
    `instance` makes a device reproducible for the holder of the secret; `nonce` the session nonce where the runner sets it; `workers`
    number of worker processes; `job_timeout_s` after which a job counts as the laboratory's fault.
    """

    task: str
    out: Path
    host: str = "127.0.0.1"
    port: int = 8000
    fd: int | None = None
    allowed_hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "sidecar")
    seed: int | None = None
    suite_secret: str | None = None
    instance: str | None = None
    nonce: str | None = None
    workers: int = 2
    job_timeout_s: float = 300.0

    @classmethod
    def from_env(cls) -> Settings:
        """`SystemExit` with the missing name where the task is not given."""

        def get(name: str) -> str | None:
            return os.environ.get(PREFIX + name) or None

        task = get("TASK")
        if task is None:
            raise SystemExit(f"{PREFIX}TASK is not set: it names the task this sidecar serves")
        default = cls(task=task, out=Path(get("OUT") or "/evidence"))
        hosts = get("ALLOWED_HOSTS")
        seed, fd = get("SEED"), get("FD")
        return cls(
            task=task,
            out=default.out,
            host=get("HOST") or default.host,
            port=int(get("PORT") or default.port),
            fd=int(fd) if fd else None,
            allowed_hosts=tuple(h.strip() for h in hosts.split(",")) if hosts else default.allowed_hosts,
            seed=int(seed) if seed else None,
            suite_secret=get("SUITE_SECRET"),
            instance=get("INSTANCE"),
            nonce=get("NONCE"),
            workers=int(get("WORKERS") or default.workers),
            job_timeout_s=float(get("JOB_TIMEOUT_S") or default.job_timeout_s),
        )
