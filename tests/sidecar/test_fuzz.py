"""Generated requests against both surfaces: never a fault, a hang or a traceback, whatever the arguments."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import positive_data_acceptance

from evidence import verify
from qharbor.embedded import local_sidecar
from qtypes.errors import shown
from tests.sidecar.laboratory import TASK, TOOL, Laboratory, reference, rpc

HANG_S = 2.0
SEALING = {"/v1/answer", "/v1/lock"}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from([0, 1, 250.0, "j0001", "../x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["job_id", "timeout_s", "array", "offset", "count", "encoding", "name", "text", "answer", "shots", "prepare", "rep_period_us", "steps"]
)
ARGUMENTS = st.dictionaries(NAMES | st.text(max_size=6), JSON, max_size=5)
TOOLS = [
    "get_spec", "list_materials", "get_material", "read_notebook", "append_notebook", "get_budget", "list_jobs", "get_job", "wait_for_job",
    "cancel_job", "fetch_record", "check_answer", "submit_answer", TOOL, "run_pulse_sequence", "no_such_tool",
]  # fmt: skip


def told(text: str) -> None:
    """An answer tells nothing of the inside."""
    for inside in ("Traceback", "site-packages", '.py"', ".py:", "hidden_", 'File "'):
        assert inside not in text, text[:500]


@pytest.mark.anyio
@hypothesis.settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(tool=st.sampled_from(TOOLS), arguments=ARGUMENTS)
async def test_any_arguments_of_any_mcp_tool_are_answered(shared_lab: Laboratory, tool: str, arguments: dict[str, Any]) -> None:
    answer = await shared_lab.call_raw(json.dumps(rpc(tool, arguments)))  # with NaN and Infinity as Python writes them
    assert answer.status_code == 200
    error, content = shared_lab.read(answer)
    told(answer.text if error else "")
    assert not error or content["status"] < 500, content


@pytest.mark.anyio
@hypothesis.settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(changed=st.dictionaries(st.sampled_from(list(reference())) | st.text(max_size=6), JSON, min_size=1, max_size=3))
async def test_an_experiment_with_any_field_changed_is_run_or_refused_by_name(shared_lab: Laboratory, changed: dict[str, Any]) -> None:
    text = json.dumps(reference() | changed)
    response = await shared_lab.client.post(f"/v1/experiments/{TOOL}", content=text)
    assert response.status_code in (202, 409, 422, 429), response.text
    if response.status_code == 422:
        assert response.json()["field"].split(".")[0] in {shown(k) or "(request)" for k in {*changed, *reference()}}
    told(response.text)


@pytest.mark.anyio
@hypothesis.settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(body=st.binary(max_size=60) | st.text(max_size=60).map(str.encode) | JSON.map(lambda v: json.dumps(v).encode()))
async def test_any_bytes_are_answered_on_every_path_that_takes_a_body(shared_lab: Laboratory, body: bytes) -> None:
    for path in (f"/v1/experiments/{TOOL}", "/v1/notebook", "/v1/answer/check", "/v1/lock", "/mcp"):
        response = await shared_lab.client.post(
            path, content=body, headers={"content-type": "application/json", "accept": "application/json, text/event-stream"}
        )
        assert response.status_code < 500, response.text
        told(response.text)


@pytest.fixture(scope="module")
def openapi(tmp_path_factory: pytest.TempPathFactory) -> Any:
    bundle = tmp_path_factory.mktemp("fuzzed") / "bundle"
    with local_sidecar(TASK, bundle) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json", timeout=30)
    fuzzed(bundle)


def fuzzed(bundle: Path) -> None:
    """What is left after the fuzz holds."""
    report = verify(bundle)
    assert report.ok, report.problem
    log = (bundle.parent / "sidecar.log").read_text()
    assert "Traceback" not in log, log[-2000:]


def answered_soon(case: Any) -> Any:
    """The answer to a case; a slow one is asked for again, because the machine of a test may be busy for a moment."""
    for _ in range(3):
        begun = time.monotonic()
        response = case.call(timeout=30)
        if time.monotonic() - begun < HANG_S:
            return response
    raise AssertionError(f"{case.method} {case.path}: three times slower than {HANG_S} s")


def conform(schema: Any, paths: Callable[[str], bool], examples: int) -> int:
    """Call every documented operation on the chosen paths with generated arguments; the number of operations."""
    operations = [r.ok() for r in schema.get_all_operations() if paths(r.ok().path)]
    for operation in operations:

        @hypothesis.settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            response = answered_soon(case)
            case.validate_response(response, excluded_checks=[positive_data_acceptance])  # rules between fields stand in no schema
            if response.status_code >= 400:
                told(response.text)

        check()
    return len(operations)


def test_the_documented_operations_conform_to_their_schema(openapi: Any) -> None:
    assert conform(openapi, lambda path: path not in SEALING, 6) > 12


def test_the_answer_operation_conforms_also_once_it_has_sealed_the_session(openapi: Any) -> None:
    assert conform(openapi, lambda path: path in SEALING, 8) == 1


@pytest.mark.slow
def test_many_generated_requests_conform(openapi: Any) -> None:
    assert conform(openapi, lambda path: path not in SEALING, 300) > 12
