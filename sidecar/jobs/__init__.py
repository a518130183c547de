"""Asynchronous jobs in worker processes."""

from sidecar.jobs.commit import Committer
from sidecar.jobs.engine import Engine
from sidecar.jobs.pool import Pool, WorkerDied

__all__ = ["Committer", "Engine", "Pool", "WorkerDied"]
