"""The client against a laboratory over real HTTP, with broken lines, lying records and refusals."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lab
from lab.client import Lab
from lab.records import encode, inline_arrays, read_npz
from lab.transport import Transport


@pytest.fixture
def naps() -> list[float]:
    """What the client slept, s; nothing in these tests really sleeps."""
    return []


@pytest.fixture
def dev(fake: Any, naps: list[float]) -> Iterator[lab.Lab]:
    with Lab(Transport(fake.url, patience_s=5.0, sleep=naps.append)) as connection:
        yield connection


def keys(fake: Any) -> list[str | None]:
    return [h.get("idempotency-key") for m, _, h, _ in fake.requests if m == "POST"]


# Repeating requests


@pytest.mark.parametrize("fault", ["reset", "torn", "garbage", 500, 503, 429])
def test_a_submit_that_had_to_be_repeated_carries_the_same_key_and_is_charged_once(fake: Any, dev: lab.Lab, fault: str | int) -> None:
    fake.faults = [fault, fault]
    job = dev.submit("run_small", shots=10)
    assert fake.used == 10
    assert len(fake.jobs) == 1
    assert job.job_id == "j0001"
    assert len(keys(fake)) == 3
    assert len(set(keys(fake))) == 1


def test_two_submits_of_the_same_request_carry_different_keys_and_are_charged_twice(fake: Any, dev: lab.Lab) -> None:
    dev.submit("run_small", shots=10)
    dev.submit("run_small", shots=10)
    assert len(set(keys(fake))) == 2
    assert fake.used == 20


def test_a_query_that_had_to_be_repeated_carries_the_same_key(fake: Any, dev: lab.Lab) -> None:
    fake.faults = ["torn"]
    answer = dev.query("ask", job_id="j1")
    assert answer["echo"] == {"job_id": "j1"}
    assert keys(fake) == [answer["key"]] * 2


@pytest.mark.parametrize("fault", ["torn", "reset", "garbage"])
def test_a_note_that_may_have_arrived_is_not_sent_again(fake: Any, dev: lab.Lab, fault: str) -> None:
    fake.faults = [fault]
    with pytest.raises(lab.Unreachable, match="may or may not have acted"):
        dev.append_notebook("hello")
    assert len(fake.requests) == 1


def test_a_note_that_was_turned_away_is_sent_again(fake: Any, dev: lab.Lab) -> None:
    fake.faults = [503]
    dev.append_notebook("hello")
    assert fake.notes == ["hello"]


def test_retry_after_is_honoured(fake: Any, dev: lab.Lab, naps: list[float]) -> None:
    fake.faults, fake.retry_after = [429], "2"
    dev.submit("run_small", shots=1)
    assert naps == [pytest.approx(2.0)]


def test_retry_after_beyond_patience_ends_in_the_refusal_and_not_in_a_nap(fake: Any, dev: lab.Lab, naps: list[float]) -> None:
    fake.faults, fake.retry_after = [429], "3600"
    with pytest.raises(lab.Refused, match="busy"):
        dev.submit("run_small", shots=1)
    assert naps == []


def test_pauses_grow_and_are_jittered(fake: Any, dev: lab.Lab, naps: list[float]) -> None:
    fake.faults = ["reset"] * 4
    dev.spec()
    assert len(naps) == 4
    for attempt, nap in enumerate(naps):
        assert 0.125 * 2**attempt <= nap <= 0.25 * 2**attempt


def test_patience_ends(fake: Any) -> None:
    fake.faults = [500] * 1000
    with Lab(Transport(fake.url, patience_s=0.3)) as dev, pytest.raises(lab.Unreachable, match="HTTP 500"):
        dev.spec()
    assert len(fake.requests) < 10


def test_no_laboratory_at_the_address_is_unreachable() -> None:
    with lab.connect("http://127.0.0.1:9", patience_s=0.1) as dev, pytest.raises(lab.Unreachable, match=r"127\.0\.0\.1:9"):
        dev.budget()


@pytest.mark.parametrize("url", ["sidecar:8000", "ftp://x", "http://["])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError):
        lab.connect(url)


def test_proxies_of_the_environment_are_not_used(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with lab.connect(fake.url, patience_s=1.0) as dev:
        assert dev.spec()["task"] == "t"


def test_the_address_comes_from_the_environment(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_URL", fake.url + "/")
    with lab.connect() as dev:
        assert dev.budget()["shots"]["limit"] == 100


# Refusals


def test_a_refusal_carries_the_problem_and_says_what_to_do(fake: Any, dev: lab.Lab) -> None:
    with pytest.raises(lab.Refused) as caught:
        dev.submit("run_small", shots=101)
    refused = caught.value
    assert refused.problem["field"] == "shots"
    assert refused.facts() == {"field": "shots", "got": "101", "limit": "100", "unit": "shots", "left": "100"}
    assert (refused.status, refused.code) == (409, "budget-exhausted")
    for part in ("field: shots", "got: 101", "limit: 100", "unit: shots", "left: 100", "Next: ask for less"):
        assert part in str(refused)
    assert len(fake.requests) == 1


def test_a_refusal_without_a_document_still_tells_its_status() -> None:
    refused = lab.Refused({"status": 404, "detail": "HTTP 404"})
    assert "HTTP 404" in str(refused)


# Waiting


def test_waiting_uses_the_long_poll_and_no_other_request(fake: Any, dev: lab.Lab, naps: list[float]) -> None:
    fake.polls_before_done = 3
    dev.run("run_small", shots=1)
    assert [p.partition("?")[0] for p in fake.paths("GET")] == ["/v1/jobs/j0001/wait"] * 4
    assert all(p.endswith("timeout_s=20.000") for p in fake.paths("GET"))
    # This laboratory answers at once, so the client paces itself.
    assert len(naps) == 3
    assert all(0.5 < nap <= 1.0 for nap in naps)


def test_waiting_survives_a_laboratory_that_restarts(fake: Any, dev: lab.Lab) -> None:
    job = dev.submit("run_small", shots=1)
    fake.faults = ["reset", 503, "torn"]
    assert job.result()["iq"].shape == (2, 2)


def test_waiting_ends_after_the_given_time_and_the_job_goes_on(fake: Any, dev: lab.Lab) -> None:
    fake.polls_before_done = 10**9
    job = dev.submit("run_small", shots=1)
    with pytest.raises(lab.JobPending, match="j0001"):
        job.result(timeout_s=0.0)
    fake.polls_before_done = 0
    assert dev.job(job.job_id).result()["iq"].shape == (2, 2)


@pytest.mark.parametrize("ending", ["failed", "cancelled"])
def test_a_job_without_a_record_says_how_it_ended(fake: Any, dev: lab.Lab, ending: str) -> None:
    fake.ending = ending
    with pytest.raises(lab.JobFailed, match=r"j0001 \(run_small\)") as caught:
        dev.run("run_small", shots=1)
    assert caught.value.view["status"] == ending


def test_cancel_is_repeated_after_a_torn_response(fake: Any, dev: lab.Lab) -> None:
    job = dev.submit("run_small", shots=1)
    fake.faults = ["torn"]
    assert job.cancel().status == "cancelled"


def test_cancel_of_an_ended_job_is_refused(dev: lab.Lab) -> None:
    job = dev.submit("run_small", shots=1).wait()
    with pytest.raises(lab.Refused, match="completed"):
        job.cancel()


# Records


def test_a_small_record_comes_inline_with_exact_complex_numbers(fake: Any, dev: lab.Lab) -> None:
    rec = dev.run("run_small", shots=1)
    assert rec["iq"].dtype == np.complex128
    expected = np.array([[1.5 - 2j, complex(-0.0, 0.5)], [3.0 + 0j, complex(1e-30, -1e30)]])
    assert rec["iq"].tobytes() == expected.tobytes()
    assert (rec.unit("iq"), rec.axes("iq"), rec.job_id, rec.summary["shots"]) == ("V", ("axis0", "axis1"), "j0001", 1)
    assert not any(p.endswith("/record") for p in fake.paths("GET"))


def test_a_large_record_is_fetched_from_the_laboratory_itself_and_checked(fake: Any, dev: lab.Lab) -> None:
    rec = dev.run("run_large", shots=1)
    assert list(rec) == ["iq", "bits"]
    assert np.array_equal(rec["iq"], fake.large["iq"])
    assert rec["bits"].dtype == np.uint8
    assert fake.paths("GET")[-1] == "/v1/jobs/j0001/record"


def test_a_record_torn_on_the_way_is_fetched_again(fake: Any, dev: lab.Lab) -> None:
    job = dev.submit("run_large", shots=1).wait()
    fake.faults = ["torn", "garbage"]
    assert job.result()["bits"].size == 5000


def test_a_record_with_another_digest_is_refused(fake: Any, dev: lab.Lab) -> None:
    job = dev.submit("run_large", shots=1).wait()
    original = fake.records[job.job_id]
    fake.records[job.job_id] = original[:-1] + bytes([original[-1] ^ 1])
    with pytest.raises(lab.CorruptRecord, match="SHA-256"):
        job.result()
    assert sum(p.endswith("/record") for p in fake.paths("GET")) == 3


def test_a_record_larger_than_accepted_is_not_fetched(fake: Any) -> None:
    with Lab(Transport(fake.url, sleep=lambda s: None), record_bytes_limit=1000) as dev, pytest.raises(lab.CorruptRecord, match="1000"):
        dev.run("run_large", shots=1)
    assert not any(p.endswith("/record") for p in fake.paths("GET"))


def test_a_body_larger_than_announced_as_acceptable_is_cut_off(fake: Any) -> None:
    with pytest.raises(lab.Unreachable, match="more than the 10"):
        Transport(fake.url).request("GET", "/v1/spec", longest_bytes=10)


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, allow_pickle=True)
    return buffer.getvalue()


def view(**about: Any) -> dict[str, Any]:
    return {"job_id": "j1", "record": {"arrays": [{"name": "x", "dtype": "<f8", "shape": [3], "unit": "V", "axes": ["shot"], **about}]}}


@pytest.mark.parametrize(
    "data, said",
    [
        (npz(x=np.array([{}, 1, 2], dtype=object)), "plain"),
        (npz(y=np.zeros(3)), "missing"),
        (npz(x=np.zeros(4)), "shape"),
        (npz(x=np.zeros(3, np.float32)), "dtype"),
        (npz(x=np.zeros(3), y=np.array(["a"])), "not numeric"),
        (b"PK\x03\x04 nothing", "plain"),
        (b"", "plain"),
    ],
)
def test_a_record_that_is_not_as_declared_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(lab.CorruptRecord, match=said):
        read_npz(data, view())


def test_a_packed_bomb_is_not_unpacked() -> None:
    with pytest.raises(lab.CorruptRecord, match="unpacked"):
        read_npz(npz(x=np.zeros(1_000_000)), view(shape=[1_000_000]), longest_bytes=1_000_000)


def test_an_archive_member_that_is_no_array_is_refused() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.npy", "no array")
    with pytest.raises(lab.CorruptRecord):
        read_npz(buffer.getvalue(), view())


@pytest.mark.parametrize(
    "array",
    [np.array(2.5), np.array(1 + 2j), np.zeros((0, 3)), np.zeros((2, 0), complex), np.array([[True, False]]), np.arange(3, dtype=np.int16)],
)
def test_inline_arrays_keep_dtype_and_shape(array: np.ndarray) -> None:
    lists = np.stack([array.real, array.imag], axis=-1).tolist() if array.dtype.kind == "c" else array.tolist()
    document = view(dtype=array.dtype.str, shape=list(array.shape))
    document["record"]["inline"] = {"x": json.loads(json.dumps(lists))}
    arrays = inline_arrays(document)
    assert arrays is not None
    assert arrays["x"].dtype == array.dtype
    assert arrays["x"].shape == array.shape
    assert np.array_equal(arrays["x"], array)


@pytest.mark.parametrize("lists", [[1.0, 2.0], "abc", [[1.0], [2.0, 3.0]], [None, 1.0, 2.0, 4.0], {"a": 1}])
def test_inline_arrays_that_are_not_as_declared_are_refused(lists: Any) -> None:
    document = view()
    document["record"]["inline"] = {"x": lists}
    with pytest.raises(lab.CorruptRecord, match="array x"):
        inline_arrays(document)


def test_a_record_saves_to_exactly_the_given_path(dev: lab.Lab, tmp_path: Path) -> None:
    rec = dev.run("run_small", shots=1)
    rec.save(tmp_path / "data.bin")
    with np.load(tmp_path / "data.bin", allow_pickle=False) as file:
        assert np.array_equal(file["iq"], rec["iq"])


def test_an_unknown_array_names_the_known_ones_and_arrays_are_read_only(dev: lab.Lab) -> None:
    rec = dev.run("run_small", shots=1)
    with pytest.raises(KeyError, match="it has iq"):
        rec["volts"]
    with pytest.raises(ValueError, match="read-only"):
        rec["iq"][0] = 0


# Requests


def test_numpy_values_travel_as_numbers_and_lists(fake: Any, dev: lab.Lab) -> None:
    dev.submit("run_small", shots=np.int64(3), delays=np.array([0.5, 1.0], np.float32), flag=np.bool_(True), nested=({"a": (1, 2)},))
    body = json.loads(fake.requests[0][3])
    assert body == {"shots": 3, "delays": [0.5, 1.0], "flag": True, "nested": [{"a": [1, 2]}]}


@pytest.mark.parametrize(
    "value, error",
    [(float("nan"), ValueError), (np.array([1.0, np.inf]), ValueError), (1j, TypeError), (b"x", TypeError), ({1: 2}, TypeError)],
)
def test_what_json_has_no_form_for_is_refused_by_field_before_it_is_sent(
    fake: Any, dev: lab.Lab, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"pulses\.0"):
        dev.submit("run_small", pulses=[value])
    assert fake.requests == []


def test_text_is_sent_as_utf8() -> None:
    assert encode({"µ": "π"}) == '{"µ":"π"}'.encode()


# The rest of the surface


def test_the_public_documents_are_read(dev: lab.Lab) -> None:
    assert dev.spec()["phase"] == "measuring"
    assert dev.notebook()[0]["data"] == {"f": 5.1}
    assert dev.materials()[0]["name"] == "a.txt"
    assert dev.material("a.txt").endswith("end")
    assert dev.lock_and_reveal()["challenge"] == {"secret": 7}
    assert dev.check_answer({"x": 1}) == {"valid": True}


def test_names_cannot_lead_to_another_route(fake: Any, dev: lab.Lab) -> None:
    with pytest.raises(lab.Refused):
        dev.material("../budget")
    assert fake.paths("GET") == ["/v1/materials/..%2Fbudget"]


def test_an_answer_torn_on_the_way_back_is_handed_in_again_unchanged(fake: Any, dev: lab.Lab) -> None:
    fake.faults = ["torn"]
    assert dev.submit_answer({"x": np.float64(0.1)}) == {"accepted": True}
    assert len({hashlib.sha256(b).hexdigest() for _, _, _, b in fake.requests}) == 1
    assert fake.answer == {"x": 0.1}


def test_something_that_is_no_laboratory_is_recognised(fake: Any, dev: lab.Lab) -> None:
    fake.route = lambda *_: (200, ["hello"])
    with pytest.raises(lab.Unreachable, match="is it a laboratory"):
        dev.spec()


def test_importing_the_client_loads_neither_stim_nor_pymatching() -> None:
    code = "import lab, sys; print(sorted({'stim', 'pymatching', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
