"""A retry is the same request: charged once, run once, answered alike."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.sidecar.laboratory import TOOL, Laboratory, hold_payloads, laboratory, reference

pytestmark = pytest.mark.anyio
KEY = "retry-0001"


async def test_a_retried_experiment_is_charged_once_and_names_the_same_job(lab: Laboratory) -> None:
    first = await lab.submit(10, key=KEY)
    again = await lab.submit(10, key=KEY)
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json()["job_id"] == first.json()["job_id"]
    assert (await lab.used())["shots"] == 10
    assert len(lab.events("job_submitted")) == 1


async def test_concurrent_retries_are_charged_once(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    go = hold_payloads(monkeypatch)
    first = asyncio.create_task(lab.submit(10, key=KEY))
    while not lab.lab._pending:
        await asyncio.sleep(0)
    meanwhile = await asyncio.gather(*(lab.submit(10, key=KEY) for _ in range(10)))
    assert {(a.status_code, a.json()["title"], a.headers["retry-after"]) for a in meanwhile} == {(429, "under way", "1")}
    assert (await lab.submit(11, key=KEY)).json()["title"] == "key reused"
    go.set()
    accepted = {(await first).json()["job_id"]}
    answers = await asyncio.gather(*(lab.submit(10, key=KEY) for _ in range(10)))
    assert {a.json()["job_id"] for a in answers} == accepted
    assert (await lab.submit(10, key=KEY)).json()["job_id"] in accepted
    assert len(lab.events("job_submitted")) == 1


async def test_an_equal_request_written_differently_is_the_same_body(lab: Laboratory) -> None:
    await lab.submit(10, key=KEY)
    text = '{ "rep_period_us": 2.5e2, "shots" : 10, "prepare":0 }'
    again = await lab.client.post(f"/v1/experiments/{TOOL}", content=text, headers={"Idempotency-Key": KEY})
    assert again.status_code == 202
    assert len(lab.events("job_submitted")) == 1


async def test_a_key_is_shared_by_both_surfaces(lab: Laboratory) -> None:
    first = await lab.submit(10, key=KEY)
    error, again = await lab.call(TOOL, **reference(10), idempotency_key=KEY)
    assert (error, again["job_id"]) == (False, first.json()["job_id"])
    assert len(lab.events("job_submitted")) == 1


async def test_a_key_with_another_body_is_refused_and_free(lab: Laboratory) -> None:
    await lab.submit(10, key=KEY)
    for other in (lab.submit(11, key=KEY), lab.submit(10, key=KEY, prepare=1)):
        response = await other
        assert (response.status_code, response.json()["title"]) == (409, "key reused")
    assert (await lab.used())["shots"] == 10


async def test_a_key_with_another_body_is_refused_while_the_first_is_under_way(lab: Laboratory) -> None:
    answers = await asyncio.gather(*(lab.submit(10 + i, key=KEY) for i in range(8)))
    assert sorted(a.status_code for a in answers) == [202] + [409] * 7


async def test_requests_without_a_key_are_separate_and_each_is_charged(lab: Laboratory) -> None:
    first, second = await lab.submit(10), await lab.submit(10)
    assert first.json()["job_id"] != second.json()["job_id"]
    assert (await lab.used())["shots"] == 20


async def test_equal_requests_give_different_noise(lab: Laboratory) -> None:
    first, second = await lab.run(10), await lab.run(10)
    assert first["record"]["sha256"] != second["record"]["sha256"]


async def test_a_refused_request_does_not_use_up_its_key(lab: Laboratory) -> None:
    assert (await lab.submit(40_001, key=KEY)).status_code == 409
    assert (await lab.submit(10, key=KEY)).status_code == 202


async def test_a_retry_is_answered_after_the_session_is_sealed(lab: Laboratory) -> None:
    job = await lab.run(10, key=KEY)
    await lab.lab.seal("test")
    again = await lab.submit(10, key=KEY)
    assert (again.status_code, again.json()["job_id"]) == (202, job["job_id"])
    assert (await lab.submit(10)).json()["title"] == "session sealed"


async def test_keys_are_known_after_a_restart(tmp_path: Path) -> None:
    async with laboratory(tmp_path) as lab:
        first = (await lab.submit(10, key=KEY)).json()
    async with laboratory(tmp_path) as lab:
        assert (await lab.submit(10, key=KEY)).json()["job_id"] == first["job_id"]
        assert (await lab.submit(12, key=KEY)).status_code == 409
        assert len(lab.events("job_submitted")) == 1


def circuit(gates: str = "t q[0];") -> dict[str, Any]:
    return {"circuit": f'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[{circuit_qubits()}];\n{gates}\n'}


def circuit_qubits() -> int:
    import qtypes
    import tasks

    qtype = qtypes.load("logical_circuit_optimizer")
    profile = qtype.read_profile(tasks.load("t_count_race").profile)
    return int(qtype.spec(qtype.practice(profile), profile).n_qubits)


async def test_a_retried_query_is_charged_once_and_answered_alike(tmp_path: Path) -> None:
    headers = {"Idempotency-Key": KEY}
    async with laboratory(tmp_path, "t_count_race") as lab:
        answers = [await lab.client.post("/v1/queries/evaluate", json=circuit(), headers=headers) for _ in range(3)]
        assert [a.status_code for a in answers] == [200, 200, 200], answers[0].text
        assert answers[0].json() == answers[1].json() == answers[2].json()
        assert (await lab.used())["evaluate_calls"] == 1
        both = await asyncio.gather(
            *(lab.client.post("/v1/queries/evaluate", json=circuit("h q[0];"), headers={"Idempotency-Key": "other-key"}) for _ in range(5))
        )
        assert {a.status_code for a in both} <= {200, 429}
        assert (await lab.used())["evaluate_calls"] == 2
        other = await lab.client.post("/v1/queries/evaluate", json=circuit("s q[0];"), headers=headers)
        assert (other.status_code, other.json()["title"]) == (409, "key reused")
        refused = await lab.client.post("/v1/queries/evaluate", json={"circuit": "garbage"})
        assert refused.status_code == 422
        assert (await lab.used())["evaluate_calls"] == 2
        await lab.client.post("/v1/queries/evaluate", json=circuit())
        assert (await lab.used())["evaluate_calls"] == 3
    async with laboratory(tmp_path, "t_count_race") as lab:
        assert (await lab.client.post("/v1/queries/evaluate", json=circuit(), headers=headers)).json() == answers[0].json()
        assert (await lab.used())["evaluate_calls"] == 3
