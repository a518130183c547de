"""What a session keeps of itself, and what its processes and answers look like while it runs."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence import Bundle, digest, pack
from graders.kit.grade import grade_bundle
from qtypes import Clock, seeds
from qtypes.transmon_pulse.experiments import RunIqReference, RunPulseSequence
from sidecar.admission import opening
from tests.sidecar.laboratory import ANSWER, MCP_HEADERS, TOOL, Laboratory, laboratory, reference, rpc

pytestmark = pytest.mark.anyio


async def test_the_first_event_names_versions_processor_and_its_features(lab: Laboratory) -> None:
    """Seeds of samplers are not portable between processors, nor between versions."""
    opened = lab.events()[0].data
    assert set(opened["versions"]) >= {"python", "quantum-harbor", "numpy", "scipy", "stim", "pymatching", "pydantic"}
    assert opened["versions"]["numpy"] == np.__version__
    assert (opened["machine"]["machine"], opened["machine"]["byteorder"]) == (os.uname().machine, "little")
    present = set(Path("/proc/cpuinfo").read_text().split())
    assert set(opened["machine"]["cpu_features"]) == present & set(opening._FLAGS)
    assert opened["task_version"] == lab.lab.card.version


async def test_a_worker_has_one_thread_whatever_its_environment_says(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "8")
    os.kill(await lab.worker(), signal.SIGKILL)
    assert (await lab.run(100))["status"] == "completed"
    assert len(list(Path(f"/proc/{await lab.worker()}/task").iterdir())) == 1


async def test_health_is_answered_while_a_job_runs(lab: Laboratory) -> None:
    await lab.halt()
    job_id = (await lab.submit(100)).json()["job_id"]
    assert (await lab.client.get(f"/v1/jobs/{job_id}/wait?timeout_s=0.1")).json()["status"] == "running"
    assert (await lab.client.get("/healthz")).status_code == 200
    assert [j["job_id"] for j in (await lab.client.get("/v1/jobs")).json()["jobs"]] == [job_id]


async def test_a_job_id_is_given_before_the_job_has_begun(lab: Laboratory) -> None:
    await lab.halt()
    answers = [await lab.submit(100) for _ in range(3)]
    assert [a.status_code for a in answers] == [202] * 3
    assert {a.json()["status"] for a in answers} <= {"queued", "running"}
    assert len({a.json()["job_id"] for a in answers}) == 3


async def test_a_result_travels_once_and_not_as_text_and_structure(lab: Laboratory) -> None:
    done = await lab.run(7)
    response = await lab.client.post("/mcp", json=rpc("get_job", {"job_id": done["job_id"]}), headers=MCP_HEADERS)
    result = response.json()["result"]
    assert [c["type"] for c in result["content"]] == ["text"]
    assert not result.get("structuredContent")
    assert response.text.count(done["record"]["sha256"]) == 1
    assert json.loads(result["content"][0]["text"])["record"]["inline"] == done["record"]["inline"]


async def test_a_client_whose_mcp_session_is_older_than_the_server_is_served(tmp_path: Path) -> None:
    old = {**MCP_HEADERS, "mcp-session-id": "f" * 32}
    async with laboratory(tmp_path) as lab:
        job = Laboratory.read(await lab.client.post("/mcp", json=rpc(TOOL, reference()), headers=old))[1]
        await lab.ended(job["job_id"])
    async with laboratory(tmp_path) as lab:
        error, listed = Laboratory.read(await lab.client.post("/mcp", json=rpc("list_jobs", {}), headers=old))
        assert not error
        assert [(j["job_id"], j["status"]) for j in listed["jobs"]] == [(job["job_id"], "completed")]


async def test_the_stored_seed_gives_the_stored_record_again(lab: Laboratory) -> None:
    """For an audit on the same machine; nothing of the laboratory itself relies on it."""
    done = await lab.run(50)
    bundle = Bundle(lab.folder)
    rng = seeds.generator(seeds.from_json(bundle.truth().seed), f"job/{done['number']}")
    record = RunIqReference.model_validate(reference(50)).run(lab.lab.session.device, Clock(done["lab_start_s"]), rng)
    assert digest(pack({name: a.values for name, a in record.arrays.items()})) == done["record"]["sha256"]


async def test_records_are_read_and_never_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serving after a restart and grading run no experiment, and a record that is gone is a fault rather than drawn anew."""
    async with laboratory(tmp_path / "b") as lab:
        done = await lab.run(300)
        served = (await lab.client.get(f"/v1/jobs/{done['job_id']}/record")).content

    def forbidden(*_: Any) -> Any:
        raise AssertionError("an experiment was run")

    for experiment in (RunIqReference, RunPulseSequence):
        monkeypatch.setattr(experiment, "run", forbidden)
    async with laboratory(tmp_path / "b") as lab:
        assert (await lab.client.get(f"/v1/jobs/{done['job_id']}/record")).content == served
        await lab.client.post("/v1/answer", json={**ANSWER, "job_ids": [done["job_id"]]})
        starts = len(lab.events("job_started"))
    assert starts == 1
    assert grade_bundle(tmp_path / "b").outcome == "contract_failure"
    (tmp_path / "b" / "records" / f"{done['job_id']}.npz").unlink()
    assert grade_bundle(tmp_path / "b").outcome == "infrastructure_fault"
