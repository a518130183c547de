"""Lines 5 to 9: noise, retries, races, overflows and the lab clock."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from evidence import verify
from qtypes.transmon_pulse.experiments import RunPulseSequence
from tests.sidecar.laboratory import TOOL, Laboratory, hold_payloads, reference
from tests.threats.conftest import SWEEP

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("shots", [0, -5, 0.5, 250_001, 10**18, "10", True])
async def test_threat_05_tiny_and_huge_numbers_of_shots_are_refused(shared_lab: Laboratory, shots: object) -> None:
    response = await shared_lab.client.post(f"/v1/experiments/{TOOL}", json=reference() | {"shots": shots})
    assert (response.status_code, response.json()["field"]) == (422, "shots")


def test_threat_05_a_repeated_sweep_point_is_charged_like_any_other() -> None:
    once = RunPulseSequence.model_validate_json(json.dumps(SWEEP))
    twice = RunPulseSequence.model_validate_json(json.dumps({**SWEEP, "sweep": [{"name": "tau_ns", "values": [2e4] * 12}]}))
    assert twice.cost().amounts["shots"] == 2 * once.cost().amounts["shots"]


async def test_threat_06_noise_is_not_averaged_for_free(lab: Laboratory) -> None:
    first = await lab.run(100, key="same-key-1")
    retry = (await lab.submit(100, key="same-key-1")).json()
    assert retry["record"]["sha256"] == first["record"]["sha256"]  # the same shots
    assert (await lab.used())["shots"] == 100
    assert (await lab.submit(101, key="same-key-1")).status_code == 409
    second = await lab.run(100)
    assert second["record"]["sha256"] != first["record"]["sha256"]
    assert (await lab.used())["shots"] == 200
    assert (await lab.client.delete(f"/v1/jobs/{second['job_id']}")).status_code == 409  # no refund once the data are there
    await lab.halt()
    running = (await lab.submit(100)).json()["job_id"]
    await lab.client.get(f"/v1/jobs/{running}/wait?timeout_s=0.1")
    cancelled = (await lab.client.delete(f"/v1/jobs/{running}")).json()
    assert "record" not in cancelled
    assert (await lab.client.get(f"/v1/jobs/{running}/record")).status_code == 409
    assert (await lab.used())["shots"] == 300


async def test_threat_07_64_parallel_submissions_never_pass_the_budget(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    await lab.halt()
    go = hold_payloads(monkeypatch)  # so that all are under way at the same time
    submitting = asyncio.gather(*(lab.submit(7000 + i) for i in range(64)))
    for _ in range(2000):
        await asyncio.sleep(0)
    assert len(lab.lab._pending) == 5
    assert (await lab.used())["shots"] == 0
    go.set()
    answers = await submitting
    admitted = [a.json() for a in answers if a.status_code == 202]
    refused = [a.json() for a in answers if a.status_code == 409]
    assert len(admitted) == 5
    assert len(admitted) + len(refused) == 64
    for problem in refused:
        assert (problem["title"], problem["field"], problem["limit"]) == ("budget exhausted", "shots", 40000.0)
        assert 0 <= problem["left"] < 7063
    total = sum(a["cost"]["shots"] for a in admitted)
    assert total <= 40_000
    assert (await lab.used())["shots"] == total
    last = 40_000 - int(total)
    assert (await lab.submit(last + 1)).status_code == 409
    assert (await lab.submit(last)).status_code == 202  # to the last shot
    assert (await lab.submit(1)).status_code == 409
    report = verify(lab.folder)
    assert report.ok, report.problem
    assert report.budget["shots"]["left"] == 0.0


async def test_threat_07_all_units_are_debited_or_none(lab: Laboratory) -> None:
    """Lab time runs out before shots: the refusal names it, and shots and jobs stay as they were."""
    await lab.halt()
    slow = {"rep_period_us": 20_000.0}
    assert (await lab.submit(5000, **slow)).status_code == 202  # 101 of 120 s
    before = await lab.used()
    response = await lab.submit(1000, **slow)
    assert (response.status_code, response.json()["field"], response.json()["unit"]) == (409, "lab_s", "lab_s")
    assert await lab.used() == before


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "9" * 400, str(2**63), str(2**70), "1e-320", '"250"', "true"]


@pytest.mark.parametrize("number", NUMBERS, ids=[n[:12] for n in NUMBERS])
async def test_threat_08_numbers_that_overflow_are_refused_by_name(shared_lab: Laboratory, number: str) -> None:
    for field in ("shots", "rep_period_us"):
        text = '{"prepare":0,"shots":10,"rep_period_us":250.0}'.replace("10" if field == "shots" else "250.0", number)
        response = await shared_lab.client.post(f"/v1/experiments/{TOOL}", content=text)
        assert (response.status_code, response.json()["field"]) == (422, field)
    assert (await shared_lab.used())["shots"] == 0


async def test_threat_09_the_lab_clock_moves_by_experiments_alone(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    for field in ("lab_start_s", "clock", "start_s", "time_s", "delay_s", "wait_s"):
        assert (await lab.submit(10, **{field: 1.0})).json()["field"] == field
    first = await lab.run(10)
    monkeypatch.setattr(time, "time", lambda: 0.0)  # the clock of the container is set back
    for _ in range(5):
        await lab.client.get(f"/v1/jobs/{first['job_id']}/wait?timeout_s=0")
        await lab.client.get("/v1/spec")
    second = await lab.run(10)
    assert second["lab_start_s"] == first["lab_end_s"] == first["cost"]["lab_s"]
    assert (await lab.client.get("/v1/spec")).json()["lab_clock_s"] == pytest.approx(2 * first["cost"]["lab_s"])
    assert second["record"]["inline"]["time_s"][0][0] == second["lab_start_s"]


async def test_threat_09_cancelled_and_failed_time_is_not_given_back_to_the_clock(lab: Laboratory, tmp_path: Path) -> None:
    await lab.halt()
    running = (await lab.submit(10)).json()
    await lab.client.get(f"/v1/jobs/{running['job_id']}/wait?timeout_s=0.1")
    await lab.client.delete(f"/v1/jobs/{running['job_id']}")
    after = await lab.run(10)
    assert after["lab_start_s"] == running["cost"]["lab_s"]
