"""Whatever is wrong with a request, the refusal names it, and nothing is charged or written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sidecar.laboratory import ANSWER, TOOL, Laboratory, reference, rpc

pytestmark = pytest.mark.anyio


def body(**changed: str) -> str:
    """The cheapest request as JSON text, with fields replaced by raw text."""
    fields = {k: json.dumps(v) for k, v in reference().items()} | changed
    return "{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in fields.items()) + "}"


BAD = [
    (body(shots="NaN"), "shots"),
    (body(rep_period_us="Infinity"), "rep_period_us"),
    (body(rep_period_us="-Infinity"), "rep_period_us"),
    (body(rep_period_us="1e999"), "rep_period_us"),
    (body(shots="1" + "0" * 400), "shots"),
    (body(shots=str(2**63)), "shots"),
    (body(shots=str(2**70)), "shots"),
    (body(shots=str(-(2**70))), "shots"),
    (body(rep_period_us="1" + "0" * 400), "rep_period_us"),
    (body(shots="0"), "shots"),
    (body(shots="-1"), "shots"),
    (body(shots="1.5"), "shots"),
    (body(shots="10.0"), "shots"),
    (body(shots='"10"'), "shots"),
    (body(shots="true"), "shots"),
    (body(shots="null"), "shots"),
    (body(shots="[10]"), "shots"),
    (body(shots="1e-320"), "shots"),
    (body(shots="250001"), "shots"),
    (body(rep_period_us="1e-320"), "rep_period_us"),
    (body(rep_period_us='"250"'), "rep_period_us"),
    (body(rep_period_us="false"), "rep_period_us"),
    (body(prepare="2"), "prepare"),
    (body(prepare="false"), "prepare"),
    (body(lab_time_s="5"), "lab_time_s"),
    (body(clock="0"), "clock"),
    (body(__class__='"x"'), "__class__"),
    ('{"shots":10,"shots":20,"prepare":0}', "shots"),
    ("[" * 5000 + "]" * 5000, None),
    ('{"a":' * 30 + "1" + "}" * 30, None),
    (body(shots="[" * 30 + "]" * 30), None),
    ("null", "(request)"),
    ("[]", "(request)"),
    ('"text"', "(request)"),
    ("10", "(request)"),
]


@pytest.mark.parametrize("text, field", BAD, ids=[t[:48] for t, _ in BAD])
async def test_a_bad_request_is_refused_by_name_on_both_surfaces(shared_lab: Laboratory, text: str, field: str | None) -> None:
    before = await shared_lab.used()
    response = await shared_lab.client.post(f"/v1/experiments/{TOOL}", content=text)
    assert response.status_code == 422, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem.get("field") == field, problem
    assert len(response.content) < 2000
    if text.startswith("{"):
        error, same = shared_lab.read(await shared_lab.call_raw(json.dumps(rpc(TOOL, {"@": 0})).replace('{"@": 0}', text)))
        assert error
        assert same.get("field") == field, same
        assert same["type"] == problem["type"]
    assert await shared_lab.used() == before
    assert not shared_lab.events("job_submitted")


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"shots":', b"\xff\xfe{}", b'{"shots":\x00}', b"NaN,", b"\xef\xbb\xbf{}", b"{}{}", b"'a'"]
)
async def test_what_is_not_json_is_refused(shared_lab: Laboratory, content: bytes) -> None:
    response = await shared_lab.client.post(f"/v1/experiments/{TOOL}", content=content)
    assert response.status_code in (400, 422), response.text
    assert response.headers["content-type"] == "application/problem+json"


SEQUENCE = {"steps": [{"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}, {"op": "measure"}], "shots": 10}


@pytest.mark.parametrize("field", ["steps", "sweep"])
async def test_a_list_sent_as_a_string_is_refused(shared_lab: Laboratory, field: str) -> None:
    request = {**SEQUENCE, field: json.dumps(SEQUENCE["steps"])}
    response = await shared_lab.client.post("/v1/experiments/run_pulse_sequence", json=request)
    assert (response.status_code, response.json()["field"]) == (422, field)
    error, problem = await shared_lab.call("run_pulse_sequence", **request)
    assert (error, problem["field"]) == (True, field)


async def test_a_fault_inside_a_nested_part_is_named_by_its_path_with_limit_and_unit(shared_lab: Laboratory) -> None:
    request = {**SEQUENCE, "steps": [{"op": "drive", "amplitude": 1.5, "duration_ns": 25.0}, {"op": "measure"}]}
    problem = (await shared_lab.client.post("/v1/experiments/run_pulse_sequence", json=request)).json()
    assert (problem["field"], problem["got"], problem["limit"]) == ("steps.0.amplitude", "1.5", {"le": 1})


async def test_a_sweep_of_a_million_points_is_refused(shared_lab: Laboratory) -> None:
    many = {**SEQUENCE, "sweep": [{"name": "x", "values": [1.0] * 200_000}]}
    response = await shared_lab.client.post("/v1/experiments/run_pulse_sequence", json=many)
    assert response.status_code == 422
    assert response.json()["field"] == "sweep.0.values"
    huge = {**SEQUENCE, "sweep": [{"name": "x", "values": [1.0] * 1_000_000}]}
    assert (await shared_lab.client.post("/v1/experiments/run_pulse_sequence", json=huge)).status_code == 413


@pytest.mark.parametrize("path", [f"/v1/experiments/{TOOL}", "/v1/notebook", "/v1/answer", "/v1/answer/check", "/mcp"])
async def test_a_body_of_20_mb_is_refused_with_the_limit(shared_lab: Laboratory, path: str) -> None:
    response = await shared_lab.client.post(path, content=b'{"x":"' + b"a" * 20_000_000 + b'"}')
    assert response.status_code == 413
    problem = response.json()
    assert (problem["field"], problem["unit"]) == ("body", "bytes")
    assert problem["limit"] < 20_000_000


async def test_a_body_that_does_not_declare_its_size_is_bounded_too(shared_lab: Laboratory) -> None:
    async def parts() -> Any:
        for _ in range(40):
            yield b"a" * 500_000

    response = await shared_lab.client.post("/v1/notebook", content=parts())
    assert response.status_code == 413


IDS = [
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e",
    "j0001-deadbeef",
    "0",
    "-1",
    "j0001",
    "sealed%2fdevice.json",
    "%00",
    "a" * 64,
    "j%2a",
    "%f0%9f%92%a5",
    "*",
    ".npz",
]


@pytest.mark.parametrize("job_id", IDS)
@pytest.mark.parametrize("tail", ["", "/wait", "/record"])
async def test_an_id_that_is_a_path_or_unknown_is_a_404(shared_lab: Laboratory, job_id: str, tail: str) -> None:
    response = await shared_lab.client.get(f"/v1/jobs/{job_id}{tail}")
    assert response.status_code == 404, response.text
    assert (await shared_lab.client.delete(f"/v1/jobs/{job_id}")).status_code == 404


async def test_an_id_that_is_too_long_is_refused(shared_lab: Laboratory) -> None:
    response = await shared_lab.client.get("/v1/jobs/" + "a" * 5000)
    assert (response.status_code, response.json()["field"]) == (422, "job_id")
    assert len(response.content) < 1000


@pytest.mark.parametrize("name", ["../sealed/device.json", "/etc/passwd", "..%2fsealed%2fdevice.json", "x" * 3000, "%00"])
async def test_a_material_that_is_a_path_is_a_404(shared_lab: Laboratory, name: str) -> None:
    response = await shared_lab.client.get(f"/v1/materials/{name}")
    assert response.status_code == 404
    assert len(response.content) < 1500
    error, problem = await shared_lab.call("get_material", name=name[:150])
    assert (error, problem["status"]) == (True, 404)


async def test_unknown_tools_and_paths_say_what_there_is(shared_lab: Laboratory) -> None:
    response = await shared_lab.client.post("/v1/experiments/run_everything", json={})
    assert response.status_code == 404
    assert TOOL in response.json()["detail"]
    assert (await shared_lab.client.post("/v1/queries/run_iq_reference", json={})).status_code == 404
    assert "openapi" in (await shared_lab.client.get("/v1/hidden")).json()["detail"]
    error, problem = await shared_lab.call("run_everything")
    assert (error, TOOL in problem["detail"]) == (True, True)


@pytest.mark.parametrize("timeout", ["-1", "31", "nan", "inf", "1e999", "abc", "", "0x1"])
async def test_the_time_to_wait_is_a_number_up_to_30(shared_lab: Laboratory, timeout: str) -> None:
    response = await shared_lab.client.get(f"/v1/jobs/j0001-00000000/wait?timeout_s={timeout}")
    assert (response.status_code, response.json()["field"]) == (422, "timeout_s")


@pytest.mark.parametrize("key", ["short", "x" * 129, "with blank", "quote'", "semi;colon", "né-unicode", "a/../../b"])
async def test_an_idempotency_key_has_a_strict_form(shared_lab: Laboratory, key: str) -> None:
    headers = [(b"idempotency-key", key.encode())]
    response = await shared_lab.client.post(f"/v1/experiments/{TOOL}", json=reference(), headers=headers)
    assert (response.status_code, response.json()["field"]) == (422, "idempotency_key")
    error, problem = await shared_lab.call(TOOL, **reference(), idempotency_key=key)
    assert (error, problem["field"]) == (True, "idempotency_key")


@pytest.mark.parametrize("key", [5, True, ["a"], {"a": 1}, "", 1.5])
async def test_an_mcp_key_of_another_type_is_refused(shared_lab: Laboratory, key: Any) -> None:
    error, problem = await shared_lab.call(TOOL, **reference(), idempotency_key=key)
    assert (error, problem["field"]) == (True, "idempotency_key")


@pytest.mark.parametrize("text", ["", 5, None, ["a"], "x" * 20_001, True])
async def test_a_note_is_a_text_of_limited_length(shared_lab: Laboratory, text: Any) -> None:
    response = await shared_lab.client.post("/v1/notebook", json={"text": text})
    assert (response.status_code, response.json()["field"]) == (422, "text")
    error, problem = await shared_lab.call("append_notebook", text=text)
    assert (error, problem["field"]) == (True, "text")


async def test_an_unknown_field_is_echoed_shortened(shared_lab: Laboratory) -> None:
    for path in ("/v1/notebook", "/v1/lock"):
        response = await shared_lab.client.post(path, json={"z" * 100_000: 1})
        assert response.status_code == 422
        assert len(response.content) < 500


@pytest.mark.parametrize(
    "changed, field",
    [({"t1_us": -1.0}, "t1_us"), ({"t1_us": "40"}, "t1_us"), ({"extra": 1}, "extra"), ({"job_ids": []}, "job_ids"),
     ({"job_ids": "j0001"}, "job_ids"),
     ({"job_ids": ["a"] * 26}, "job_ids"), ({"excited_floor": True}, "excited_floor")],
)  # fmt: skip
async def test_an_answer_off_its_schema_is_refused(shared_lab: Laboratory, changed: dict[str, Any], field: str) -> None:
    for path in ("/v1/answer/check", "/v1/answer"):
        response = await shared_lab.client.post(path, json={**ANSWER, **changed})
        assert (response.status_code, response.json()["field"]) == (422, field), response.text
    for tool in ("check_answer", "submit_answer"):
        error, problem = await shared_lab.call(tool, answer={**ANSWER, **changed})
        assert (error, problem["field"]) == (True, field)
    assert (await shared_lab.client.get("/v1/spec")).json()["phase"] == "measuring"
    assert not shared_lab.events("answer_submitted", "session_sealed")


async def test_a_large_wrong_answer_is_refused_shortly_and_in_few_words(shared_lab: Laboratory) -> None:
    answer = {**ANSWER, "job_ids": ["x" * 60] * 12_000}
    response = await shared_lab.client.post("/v1/answer", json=answer)
    assert (response.status_code, response.json()["field"]) == (422, "job_ids")
    assert len(response.content) < 1000


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "POST", "OPTIONS", "TRACE"])
async def test_other_methods_are_refused(shared_lab: Laboratory, method: str) -> None:
    response = await shared_lab.client.request(method, "/v1/spec")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io", "169.254.169.254", "[::1]", "", "sidecar@evil"],
)
async def test_another_host_name_is_refused_on_every_path(shared_lab: Laboratory, host: str) -> None:
    for path in ("/healthz", "/v1/spec", "/openapi.json"):
        response = await shared_lab.client.get(path, headers={"Host": host})
        assert (response.status_code, response.json()["title"]) == (421, "wrong host")
    assert (await shared_lab.client.post("/mcp", json=rpc("get_spec", {}), headers={"Host": host})).status_code == 421


@pytest.mark.parametrize("host", ["sidecar", "sidecar:8000", "localhost", "LOCALHOST:1", "127.0.0.1:8000"])
async def test_the_service_name_and_loopback_are_admitted(shared_lab: Laboratory, host: str) -> None:
    assert (await shared_lab.client.get("/healthz", headers={"Host": host})).status_code == 200


ENVELOPES = [
    "[]", "null", "5", '"x"', "{}", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":1,"method":5}',
    '{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":{}}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_spec","arguments":[1]}}',
    '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    '{"jsonrpc":"2.0","id":1,"method":"no/such"}', '{"jsonrpc":"2.0","id":' + "9" * 400 + ',"method":"tools/list"}',
]  # fmt: skip


@pytest.mark.parametrize("text", ENVELOPES, ids=[e[:60] for e in ENVELOPES])
async def test_a_malformed_envelope_is_answered_without_a_fault(shared_lab: Laboratory, text: str) -> None:
    response = await shared_lab.call_raw(text)
    assert response.status_code < 500
    assert "Traceback" not in response.text


async def test_refusals_are_counted_in_the_log_at_powers_of_ten(lab: Laboratory) -> None:
    for _ in range(12):
        await lab.client.get("/v1/nothing")
    counted = lab.events("refusals_counted")
    assert [e.data["total"] for e in counted] == [10]
    assert counted[0].data["by_code"] == {"unknown-path": 10}
