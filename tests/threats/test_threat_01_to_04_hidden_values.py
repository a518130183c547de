"""Lines 1 to 4: hidden values and seeds are not told, not timed, not predicted and not guessed."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import graders
import tasks
from graders.kit.grade import grade_bundle
from tests.sidecar.laboratory import ANSWER, MCP_HEADERS, Laboratory, laboratory, reference, rpc
from tests.threats.conftest import Measured

pytestmark = pytest.mark.anyio
DIGITS = 7
"""A number with fewer significant digits can stand in an answer by chance."""


def leaves(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        for value in node.values():
            yield from leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value)
    else:
        yield node


def significant(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    text = value if isinstance(value, str) else repr(value)
    return len("".join(c for c in text.split("e")[0] if c.isdigit()).strip("0")) >= DIGITS and (
        not isinstance(value, str) or text.isdigit()
    )


def secrets_of(lab: Laboratory) -> set[str]:
    """Texts that must not appear: hidden numbers as they are written and rounded, seeds, salts, the nonce, the challenge."""
    truth = lab.lab.session.truth
    hidden = {v for v in leaves(json.loads(truth.hidden_json)) if significant(v)}
    public = {v for v in leaves(lab.lab.session.device.spec.model_dump(mode="json")) if significant(v)}
    numbers: set[Any] = hidden - public | {v for v in leaves(truth.challenge) if significant(v)}
    texts = {str(v) if isinstance(v, (str, int)) else repr(v) for v in numbers}
    texts |= {f"{v:.10g}" for v in numbers if isinstance(v, float) and len(f"{v:.10g}") > DIGITS + 2}
    entropy = int(truth.seed["entropy"])
    return texts | {str(entropy), f"{entropy:x}", truth.salt, truth.challenge_salt, truth.nonce, json.dumps(truth.hidden_json)[1:-1]}


def binary(lab: Laboratory) -> set[bytes]:
    """Hidden floats as the bytes of a record would hold them."""
    hidden = {v for v in leaves(json.loads(lab.lab.session.truth.hidden_json)) if isinstance(v, float) and significant(v)}
    public = {v for v in leaves(lab.lab.session.device.spec.model_dump(mode="json")) if isinstance(v, float)}
    return {struct.pack("<d", v) for v in hidden - public}


async def everything(lab: Laboratory) -> list[bytes]:
    """Body and headers of every answer: each operation on both surfaces, rightly and wrongly used."""
    seen: list[bytes] = []

    async def keep(response: httpx.Response) -> None:
        await response.aread()
        seen.append(str(response.headers.raw).encode() + response.content)

    lab.client.event_hooks = {"response": [keep]}
    for path in (
        "/healthz",
        "/openapi.json",
        "/v1/spec",
        "/v1/materials",
        "/v1/notebook",
        "/v1/budget",
        "/v1/jobs",
        "/v1/jobs/none",
        "/v1/none",
    ):
        await lab.client.get(path)
    for material in (await lab.client.get("/v1/materials")).json()["materials"]:
        await lab.client.get(f"/v1/materials/{material['name']}")
    wrong = ["{}", "[]", "{", '{"seed":1}', '{"hidden":true}', '{"shots":NaN}', '{"shots":-1}', '{"shots":"x"}']
    for tool in lab.lab.tools:
        for kind in ("experiments", "queries"):
            for body in wrong:
                await lab.client.post(f"/v1/{kind}/{tool}", content=body)
    for body in wrong:
        for path in ("/v1/answer/check", "/v1/answer", "/v1/notebook", "/v1/lock"):
            if path != "/v1/lock" or body != "{}":
                await lab.client.post(path, content=body)
    await lab.client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}, headers=MCP_HEADERS)
    for tool in ("get_spec", "list_materials", "read_notebook", "get_budget", "list_jobs", *lab.lab.tools):
        await lab.client.post("/mcp", json=rpc(tool, {}), headers=MCP_HEADERS)
    await lab.client.get("/healthz", headers={"Host": "evil"})
    return seen


REQUESTS = {
    "transmon_t1": ("run_iq_reference", reference(3000)),
    "drifting_t1": ("run_iq_reference", reference(100)),
    "surrogate_60q": ("run_readout_cal", {"states": ["01" * 30], "shots": 200}),
    "lattice_surgery_cnot": ("run_memory", {"patch": "C", "basis": "Z", "rounds": 2, "shots": 50}),
}


@pytest.mark.parametrize("task", list(tasks.names()))
async def test_threat_01_no_answer_holds_a_hidden_value_or_a_seed(tmp_path: Path, task: str) -> None:
    async with laboratory(tmp_path, task) as lab:
        secret = secrets_of(lab)
        assert len(secret) >= 5
        seen = await everything(lab)
        if task in REQUESTS:
            tool, body = REQUESTS[task]
            job = (await lab.client.post(f"/v1/experiments/{tool}", json=body)).json()
            done = await lab.ended(job["job_id"])
            assert done["status"] == "completed"
            await lab.client.get(f"/v1/jobs/{done['job_id']}/record")
            await lab.call("fetch_record", job_id=done["job_id"], array=done["record"]["arrays"][0]["name"])
        assert len(seen) > 40
        for answer in seen:
            text = answer.decode("utf-8", "replace")
            found = {s for s in secret if s in text}
            assert not found, (found, text[:300])
            assert not any(b in answer for b in binary(lab))


async def test_threat_01_a_failing_job_tells_nothing_of_its_traceback(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    process = lab.lab.pool._all[0]
    send = process._exchange

    async def corrupted(message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        return await send({**message, "number": None, "tool": "no_such_tool"} if message.get("op") == "run" else message, timeout_s)

    monkeypatch.setattr(process, "_exchange", corrupted)
    failed = await lab.run(10)
    assert failed["status"] == "failed"
    assert "Traceback" not in json.dumps(failed)
    assert "no_such_tool" not in json.dumps(failed)


async def test_threat_01_the_answer_schema_and_the_code_of_a_refusal_do_not_depend_on_the_device(tmp_path: Path) -> None:
    documents = []
    for seed in (1, 2):
        async with laboratory(tmp_path / str(seed), seed=seed, nonce="7" * 64) as lab:
            spec = (await lab.client.get("/v1/spec")).json()
            del spec["commitment"], spec["spec"]["drive_ghz"]
            wrong = [(await lab.client.post("/v1/answer/check", json={**ANSWER, "t1_us": t})).text for t in (-1.0, 10.0, 1e6)]
            documents.append(
                (spec, (await lab.client.get("/openapi.json")).json(), wrong, graders.load("transmon_t1").Answer.model_json_schema())
            )
    assert documents[0] == documents[1]


async def test_threat_02_sizes_and_reported_times_are_functions_of_the_request(tmp_path: Path) -> None:
    reported = []
    for seed in (1, 2):
        async with laboratory(tmp_path / str(seed), seed=seed, nonce="7" * 64) as lab:
            views = [await lab.run(n) for n in (10, 3000)]
            for view in views:
                del view["record"]["sha256"]
                view["record"].pop("inline", None)
            fetched = await lab.client.get(f"/v1/jobs/{views[1]['job_id']}/record")
            reported.append((views, len(fetched.content), {k: v for k, v in fetched.headers.items() if k != "x-content-sha256"}))
    assert reported[0] == reported[1]


async def test_threat_03_ids_follow_from_the_session_and_not_from_its_seed(tmp_path: Path) -> None:
    ids = {}
    for seed, nonce in ((1, "a"), (2, "a"), (1, "b")):
        async with laboratory(tmp_path / f"{seed}{nonce}", seed=seed, nonce=nonce * 64) as lab:
            ids[seed, nonce] = (await lab.submit()).json()["job_id"]
    assert ids[1, "a"] == ids[2, "a"]
    assert ids[1, "a"] != ids[1, "b"]


async def test_threat_03_every_session_has_fresh_entropy_of_256_bits(tmp_path: Path) -> None:
    entropies = []
    for i in range(4):
        async with laboratory(tmp_path / str(i)) as lab:
            entropies.append(int(lab.lab.session.truth.seed["entropy"]))
    assert len(set(entropies)) == 4
    assert math.log2(max(entropies)) > 240


async def test_threat_04_a_reproducible_device_is_marked_in_log_and_verdict(tmp_path: Path, measured: Measured) -> None:
    async with laboratory(tmp_path / "seeded", seed=11) as lab:
        await lab.client.post("/v1/answer", json=ANSWER)
        assert "seed" not in (await lab.client.get("/v1/spec")).text.lower().replace("seeded", "")
    verdict = grade_bundle(tmp_path / "seeded")
    assert (verdict.reproducible, verdict.instance) == (True, "seeded")
    fresh = grade_bundle(measured.finish(tmp_path / "fresh", ANSWER))
    assert (fresh.reproducible, fresh.instance) == (False, "fresh")
