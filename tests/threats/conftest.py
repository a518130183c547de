"""The laboratory of the sidecar's tests, and finished sessions to tamper with."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evidence import ANSWER, LogWriter, digest, dumps
from tests.sidecar.fixtures import anyio_backend, lab, shared_lab
from tests.sidecar.laboratory import laboratory, reference

__all__ = ["anyio_backend", "lab", "shared_lab"]

NONCE = "5" * 64


@dataclass
class Measured:
    """A session that measured and has not answered yet; `jobs` names its jobs by how they ended."""

    folder: Path
    jobs: dict[str, str]

    def finish(self, to: Path, answer: dict[str, Any] | None, before: Callable[[LogWriter], None] = lambda _: None) -> Path:
        """A copy that was given `answer` (or none) and sealed; `before` may add events first."""
        shutil.copytree(self.folder, to)
        writer = LogWriter(to)
        before(writer)
        if answer is not None:
            data = dumps(answer)
            (to / ANSWER).write_bytes(data)
            writer.append("answer_submitted", {"sha256": digest(data), "bytes": len(data)})
        writer.append("session_sealed", {"reason": "test"})
        writer.close()
        return to


PULSE = {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}
SWEEP = {
    "steps": [PULSE, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"}],
    "sweep": [{"name": "tau_ns", "values": [0.0, 2e4, 4e4, 8e4, 1.6e5, 4e5]}],
    "shots": 200, "rep_period_us": 1000.0,
}  # fmt: skip


@pytest.fixture(scope="session")
async def measured(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> Measured:
    """Two references, a relaxation sweep, a cancelled and an unfinished job of `transmon_t1`."""
    folder = tmp_path_factory.mktemp("measured") / "bundle"
    async with laboratory(folder, nonce=NONCE) as opened:
        jobs = {f"reference {k}": (await opened.run(500, prepare=k))["job_id"] for k in (0, 1)}
        sweep = (await opened.client.post("/v1/experiments/run_pulse_sequence", json=SWEEP)).json()
        jobs["sweep"] = (await opened.ended(sweep["job_id"]))["job_id"]
        await opened.client.get(f"/v1/jobs/{jobs['sweep']}/record")
        await opened.halt()
        jobs["cancelled"], jobs["unfinished"], jobs["waiting"] = [
            (await opened.client.post("/v1/experiments/run_iq_reference", json=reference(100))).json()["job_id"] for _ in range(3)
        ]
        await opened.client.get(f"/v1/jobs/{jobs['cancelled']}/wait?timeout_s=0.1")
        await opened.client.delete(f"/v1/jobs/{jobs['cancelled']}")
    return Measured(folder, jobs)
