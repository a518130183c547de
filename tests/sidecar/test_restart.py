"""A sidecar that starts on a bundle goes on where the log ends."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from evidence import EvidenceError, LogWriter, verify
from sidecar.admission import open_session
from sidecar.settings import Settings
from tests.sidecar.laboratory import ANSWER, TASK, Laboratory, laboratory

pytestmark = pytest.mark.anyio


async def test_running_and_waiting_jobs_go_on_under_their_old_ids_and_run_once_in_the_books(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        done = await lab.run(10)
        await lab.client.post("/v1/notebook", json={"text": "before"})
        await lab.halt()
        jobs = [(await lab.submit(20 + i)).json()["job_id"] for i in range(3)]
        await lab.client.get(f"/v1/jobs/{jobs[0]}/wait?timeout_s=0.1")
        assert [j["status"] for j in (await lab.client.get("/v1/jobs")).json()["jobs"]] == ["completed", "running", "queued", "queued"]
        before = await lab.used()
        spec = (await lab.client.get("/v1/spec")).json()
    async with laboratory(tmp_path) as lab:
        assert await lab.used() == before
        again = (await lab.client.get("/v1/spec")).json()
        assert {k: v for k, v in again.items() if k != "lab_clock_s"} == {k: v for k, v in spec.items() if k != "lab_clock_s"}
        views = [await lab.ended(j) for j in jobs]
        assert [v["status"] for v in views] == ["completed"] * 3
        assert (await lab.client.get(f"/v1/jobs/{done['job_id']}")).json() == done
        starts = [v["lab_start_s"] for v in (done, *views)]
        assert starts == pytest.approx([0.0, 1.0025, 2.0075, 3.01275])  # one after the other, in the order of submission
        assert len(lab.events("job_started")) == len(lab.events("job_completed")) == 4
        entries = (await lab.client.get("/v1/notebook")).json()["entries"]
        assert entries[-1]["text"] == "before"
        assert await lab.used() == before
        next_job = (await lab.submit()).json()
        assert next_job["number"] == 5
        assert next_job["job_id"] not in jobs
    assert verify(tmp_path).ok


async def test_a_running_job_found_by_a_restart_is_charged_when_it_is_cancelled(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        await lab.halt()
        running, waiting = [(await lab.submit(s)).json()["job_id"] for s in (10, 20)]
        await lab.client.get(f"/v1/jobs/{running}/wait?timeout_s=0.1")
    async with laboratory(tmp_path) as lab:
        for job_id in (running, waiting):
            await lab.client.delete(f"/v1/jobs/{job_id}")
        by_job = {e.data["job_id"]: e.data["refund"] for e in lab.events("job_cancelled")}
        assert by_job[running] == {}
    assert verify(tmp_path).ok


async def test_a_torn_tail_is_cut_and_the_session_goes_on(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        await lab.client.post("/v1/notebook", json={"text": "kept"})
    with (tmp_path / "log.jsonl").open("ab") as f:
        f.write(b'{"data":{"text":"never acknowledged"},"hash":"')
    assert verify(tmp_path).torn_bytes == 46
    async with laboratory(tmp_path) as lab:
        assert [e["text"] for e in (await lab.client.get("/v1/notebook")).json()["entries"]][-1] == "kept"
    assert verify(tmp_path).torn_bytes == 0


async def test_an_answer_written_without_its_seal_is_sealed_by_the_next_start(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        assert (await lab.client.post("/v1/answer", json=ANSWER)).status_code == 200
    log = tmp_path / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]))
    async with laboratory(tmp_path) as lab:
        assert [e.kind for e in lab.events()[-2:]] == ["answer_submitted", "session_sealed"]
        again = await lab.client.post("/v1/answer", json=ANSWER)
        assert (again.status_code, again.json()["phase"]) == (200, "sealed")
        assert (await lab.client.post("/v1/answer", json={**ANSWER, "t1_us": 1.0})).status_code == 409
    assert verify(tmp_path).sealed


async def test_an_answer_file_without_its_event_does_not_count(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        assert (await lab.client.post("/v1/answer", json=ANSWER)).status_code == 200
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-2]))
    async with laboratory(tmp_path) as lab:
        assert (await lab.client.get("/v1/spec")).json()["phase"] == "measuring"
        other = {**ANSWER, "t1_us": 50.0}
        assert (await lab.client.post("/v1/answer", json=other)).status_code == 200
    assert json.loads((tmp_path / "answer.json").read_text())["t1_us"] == 50.0
    assert verify(tmp_path).ok


@pytest.fixture
async def closed(tmp_path: Path) -> Path:
    async with laboratory(tmp_path / "bundle") as lab:
        await lab.client.post("/v1/notebook", json={"text": "x"})
    return tmp_path / "bundle"


def reopen(folder: Path, task: str = TASK) -> None:
    open_session(Settings(task=task, out=folder)).writer.close()


async def test_a_bundle_that_does_not_hold_is_not_served_and_its_lock_is_let_go(closed: Path) -> None:
    log = closed / "log.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b'"text":"x"', b'"text":"y"'))
    for _ in range(2):
        with pytest.raises(EvidenceError, match="does not match its hash"):
            reopen(closed)
    log.write_bytes(whole)
    truth = closed / "sealed" / "device.json"
    kept = truth.read_bytes()
    truth.write_bytes(kept.replace(b'"qtype"', b'"QTYPE"'))
    with pytest.raises(EvidenceError, match="sealed truth"):
        reopen(closed)
    truth.write_bytes(kept)
    with pytest.raises(EvidenceError, match="belongs to task"):
        reopen(closed, "surrogate_60q")
    reopen(closed)


async def test_a_bundle_has_one_sidecar(closed: Path) -> None:
    writer = LogWriter(closed)
    with pytest.raises(EvidenceError, match="already has a writer"):
        reopen(closed)
    writer.close()
    reopen(closed)


async def test_a_start_that_was_killed_before_the_first_event_draws_anew(closed: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    shutil.copytree(closed, half)
    (half / "log.jsonl").write_bytes((closed / "log.jsonl").read_bytes()[:100])
    reopen(half)
    assert verify(half).ok
    assert (half / "sealed" / "device.json").read_bytes() != (closed / "sealed" / "device.json").read_bytes()


async def test_sealing_waits_for_an_answer_that_is_being_stored(lab: Laboratory) -> None:
    """The operator's seal must not slip in between an answer's file and its event."""
    answering = asyncio.create_task(lab.client.post("/v1/answer", json=ANSWER))
    for _ in range(200):
        await asyncio.sleep(0)
        if lab.lab._sealing:
            break
    assert lab.lab._sealing
    await lab.lab.seal("operator")
    assert (await answering).status_code == 200
    assert [e.kind for e in lab.events()[-2:]] == ["answer_submitted", "session_sealed"]
    assert verify(lab.folder).ok
