"""A job from its admission to its end: completed, cancelled, failed by a worker; and what it costs each time."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import io
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from evidence import Bundle, verify
from tests.sidecar.laboratory import Laboratory, laboratory

pytestmark = pytest.mark.anyio


async def test_a_job_is_acknowledged_run_and_listed_and_moves_the_lab_clock_by_its_cost(lab: Laboratory) -> None:
    answer = await lab.submit(20)
    assert answer.status_code == 202
    job = answer.json()
    assert (job["number"], job["tool"], job["cost"]) == (1, "run_iq_reference", {"shots": 20.0, "jobs": 1.0, "lab_s": 1.005})
    assert job["status"] in ("queued", "running")
    done = await lab.ended(job["job_id"])
    assert done["status"] == "completed"
    assert (done["lab_start_s"], done["lab_end_s"]) == (0.0, 1.005)
    second = await lab.run(40)
    assert (second["lab_start_s"], second["lab_end_s"]) == pytest.approx((1.005, 1.005 + 1.01))
    listed = (await lab.client.get("/v1/jobs")).json()["jobs"]
    assert [(j["job_id"], j["status"]) for j in listed] == [(done["job_id"], "completed"), (second["job_id"], "completed")]
    assert (await lab.client.get("/v1/spec")).json()["lab_clock_s"] == second["lab_end_s"]
    assert [e.kind for e in lab.events()[-6:]] == ["job_submitted", "job_started", "job_completed"] * 2
    assert await lab.used() == pytest.approx({"shots": 60.0, "jobs": 2.0, "lab_s": 2.015})


async def test_the_lab_clock_does_not_move_by_looking(lab: Laboratory) -> None:
    for path in ("/v1/spec", "/v1/jobs", "/v1/budget", "/v1/notebook"):
        for _ in range(3):
            await lab.client.get(path)
    assert (await lab.client.get("/v1/spec")).json()["lab_clock_s"] == 0.0
    assert (await lab.used())["lab_s"] == 0.0


async def test_small_records_travel_inline_and_large_ones_by_reference(lab: Laboratory) -> None:
    small, large = await lab.run(20), await lab.run(5000)
    inline = small["record"]["inline"]
    assert np.array(inline["iq"]).shape == (1, 20, 2)
    assert "inline" not in large["record"]
    shapes = {a["name"]: (a["dtype"], a["shape"], a["unit"]) for a in large["record"]["arrays"]}
    assert shapes == {"iq": ("<c8", [1, 5000], "mV"), "time_s": ("<f8", [1, 5000], "s")}
    fetched = await lab.client.get(large["record"]["url"])
    assert hashlib.sha256(fetched.content).hexdigest() == fetched.headers["x-content-sha256"] == large["record"]["sha256"]
    assert len(fetched.content) == large["record"]["bytes"]
    arrays = np.load(io.BytesIO(fetched.content), allow_pickle=False)
    assert arrays["iq"].shape == (1, 5000)
    small_arrays = np.load(io.BytesIO((await lab.client.get(small["record"]["url"])).content), allow_pickle=False)
    assert np.array_equal(np.array(inline["iq"])[..., 0], small_arrays["iq"].real)
    await pages_hold_the_record(lab, large["job_id"], arrays["iq"])
    assert [e.data["job_id"] for e in lab.events("job_fetched")] == [large["job_id"], small["job_id"]]  # once each
    assert np.array_equal(Bundle(lab.folder).record(large["job_id"])["iq"], arrays["iq"])


async def pages_hold_the_record(lab: Laboratory, job_id: str, whole: np.ndarray) -> None:
    for encoding in ("json", "base64"):
        got, offset = [], 0
        while offset is not None:
            error, page = await lab.call("fetch_record", job_id=job_id, array="iq", offset=offset, count=3000, encoding=encoding)
            assert not error, page
            if encoding == "json":
                values = np.array(page["data"])
                got.append((values[:, 0] + 1j * values[:, 1]).astype(page["dtype"]))
            else:
                got.append(np.frombuffer(base64.b64decode(page["data"]), dtype=page["dtype"]))
            offset = page["next_offset"]
        assert len(got) == 2
        assert np.array_equal(np.concatenate(got), whole.reshape(-1))
    for bad, field in (
        ({"array": "hidden"}, "array"),
        ({"offset": 5001}, "offset"),
        ({"count": 4001}, "count"),
        ({"count": 0}, "count"),
        ({"encoding": "npy"}, "encoding"),
    ):
        error, problem = await lab.call("fetch_record", **{"job_id": job_id, "array": "iq", "offset": 0, "count": 10, **bad})
        assert (error, problem["field"]) == (True, field)


async def test_waiting_ends_with_the_job_or_after_the_time_asked_for(lab: Laboratory) -> None:
    pid = await lab.halt()
    job_id = (await lab.submit()).json()["job_id"]
    view = (await lab.client.get(f"/v1/jobs/{job_id}/wait?timeout_s=0.1")).json()
    assert view["status"] == "running"
    waiting = asyncio.create_task(lab.ended(job_id))
    os.kill(pid, signal.SIGCONT)
    assert (await waiting)["status"] == "completed"
    assert (await lab.client.get(f"/v1/jobs/{job_id}/wait")).json()["status"] == "completed"


async def test_a_waiting_job_that_is_cancelled_is_refunded_and_a_running_one_is_charged(lab: Laboratory) -> None:
    pid = await lab.halt()
    running, waiting = [(await lab.submit(shots)).json()["job_id"] for shots in (10, 20)]
    await lab.client.get(f"/v1/jobs/{running}/wait?timeout_s=0.05")
    assert await lab.used() == pytest.approx({"shots": 30.0, "jobs": 2.0, "lab_s": 2.0075})
    for job_id in (waiting, running):
        view = (await lab.client.delete(f"/v1/jobs/{job_id}")).json()
        assert view["status"] == "cancelled"
        assert "record" not in view
        assert (await lab.client.get(f"/v1/jobs/{job_id}/record")).json()["title"] == "no record"
        error, problem = await lab.call("fetch_record", job_id=job_id, array="iq")
        assert (error, problem["title"]) == (True, "no record")
    assert await lab.used() == pytest.approx({"shots": 10.0, "jobs": 1.0, "lab_s": 1.0025})
    assert [e.data["refund"] for e in lab.events("job_cancelled")] == [{"shots": 20.0, "jobs": 1.0, "lab_s": 1.005}, {}]
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    done = await lab.run()  # a new worker serves the next job
    assert done["status"] == "completed"
    again = await lab.client.delete(f"/v1/jobs/{done['job_id']}")
    assert (again.status_code, again.json()["title"]) == (409, "job ended")
    assert (await lab.client.delete(f"/v1/jobs/{running}")).json()["detail"] == "the job is cancelled"
    assert verify(lab.folder).ok


async def test_a_job_cancelled_before_its_first_step_gives_its_worker_back(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that runs a job may be cancelled before it has begun; the only worker must not be lost by it."""

    class Cancelling(dict[str, asyncio.Task[None]]):
        def __setitem__(self, job_id: str, task: asyncio.Task[None]) -> None:
            super().__setitem__(job_id, task)
            task.cancel()  # it is made, and has not begun

    await lab.worker()
    monkeypatch.setattr(lab.lab.engine, "_running", Cancelling())
    job_id = (await lab.submit()).json()["job_id"]
    while job_id not in lab.lab.engine._running:
        await asyncio.sleep(0)
    monkeypatch.undo()
    await lab.client.delete(f"/v1/jobs/{job_id}")
    assert len(lab.lab.pool._idle) == 1
    assert (await lab.run())["status"] == "completed"


async def test_concurrent_cancellations_end_the_job_once(lab: Laboratory) -> None:
    await lab.halt()
    job_id = (await lab.submit()).json()["job_id"]
    answers = await asyncio.gather(*(lab.client.delete(f"/v1/jobs/{job_id}") for _ in range(6)))
    assert {a.status_code for a in answers} <= {200, 409}
    assert len(lab.events("job_cancelled")) == 1
    assert (await lab.run())["status"] == "completed"
    assert verify(lab.folder).ok


async def test_a_worker_killed_once_changes_nothing_in_the_record(tmp_path: Path) -> None:
    records = []
    for kill in (False, True):
        async with laboratory(tmp_path / str(kill), seed=5) as lab:
            pid = await lab.halt()
            job_id = (await lab.submit(50)).json()["job_id"]
            await lab.client.get(f"/v1/jobs/{job_id}/wait?timeout_s=0.05")
            os.kill(pid, signal.SIGKILL if kill else signal.SIGCONT)
            done = await lab.ended(job_id)
            assert done["status"] == "completed"
            assert len(lab.events("job_submitted", "job_started", "job_completed")) == 3
            assert (await lab.used())["shots"] == 50
            records.append(done["record"]["sha256"])
    assert records[0] == records[1]


async def test_a_worker_that_always_dies_is_the_laboratorys_fault_and_refunded(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    await lab.worker()
    process = lab.lab.pool._all[0]
    ensure = process._ensure

    async def doomed() -> None:
        await ensure()
        assert process._process is not None
        process._process.kill()

    monkeypatch.setattr(process, "_ensure", doomed)
    failed = await lab.run(30)
    assert failed["status"] == "failed"
    assert failed["problem"]["title"] == "laboratory fault"
    event = lab.events("job_failed")[0]
    assert (event.data["fault"], event.data["refund"]) == ("laboratory", failed["cost"])
    assert await lab.used() == {"shots": 0.0, "jobs": 0.0, "lab_s": 0.0}
    monkeypatch.undo()
    assert (await lab.run(30))["status"] == "completed"
    assert verify(lab.folder).ok


async def test_no_process_for_a_worker_is_the_laboratorys_fault(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    os.kill(await lab.worker(), signal.SIGKILL)

    async def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refuse)
    assert (await lab.run())["status"] == "failed"
    monkeypatch.undo()
    assert (await lab.run())["status"] == "completed"


async def test_a_worker_that_passes_the_time_limit_is_replaced(tmp_path: Path) -> None:
    async with laboratory(tmp_path, job_timeout_s=0.3) as lab:
        lab.lab.pool.timeout_s = 0.3
        pid = await lab.halt()
        lab.lab.pool.timeout_s = 30.0  # of the second try: the clock of the first one already runs
        lab.lab.engine._pool.timeout_s = 0.3
        job_id = (await lab.submit()).json()["job_id"]
        await lab.client.get(f"/v1/jobs/{job_id}/wait?timeout_s=0.1")
        lab.lab.engine._pool.timeout_s = 30.0
        assert (await lab.ended(job_id))["status"] == "completed"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_an_end_that_a_full_disk_refuses_is_written_once_there_is_room(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    from sidecar.jobs import engine

    monkeypatch.setattr(engine, "_DISK_S", 0.02)
    append = lab.lab.session.writer.append
    refused = []

    def full(kind: str, data: dict[str, object]) -> object:
        if kind in ("job_started", "job_completed") and refused.count(kind) < 2:
            refused.append(kind)
            raise OSError(28, "No space left on device")
        return append(kind, data)

    monkeypatch.setattr(lab.lab.session.writer, "append", full)
    assert (await lab.run())["status"] == "completed"
    assert refused == ["job_started"] * 2 + ["job_completed"] * 2
    assert verify(lab.folder).ok


async def test_a_full_disk_refuses_a_submission_without_charging(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(kind: str, data: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(lab.lab.session.writer, "append", full)
        response = await lab.submit()
        assert response.status_code == 503
        assert response.headers["content-type"] == "application/problem+json"
    assert (await lab.used())["shots"] == 0
    assert (await lab.submit()).status_code == 202


async def test_the_queue_is_bounded_and_says_so(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    await lab.halt()
    limits = lab.lab.card.limits.model_copy(update={"queue": 3})
    monkeypatch.setattr(lab.lab, "card", lab.lab.card.model_copy(update={"limits": limits}))
    answers = await asyncio.gather(*(lab.submit() for _ in range(8)))
    assert sorted(a.status_code for a in answers) == [202] * 3 + [429] * 5
    full = next(a for a in answers if a.status_code == 429)
    assert (full.json()["title"], full.json()["limit"], full.headers["retry-after"]) == ("queue full", 3, "1")
    assert (await lab.used())["jobs"] == 3
