"""Records, payloads, sealed truth, ledger and verification."""

from __future__ import annotations

import io
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence import Bundle, EvidenceError, Ledger, LogWriter, Truth, digest, pack, store_payload, unpack, verify

SEED = {"entropy": "12345678901234567890123", "spawn_key": [1, 2], "pool_size": 4}


def session(folder: Path, **more: Any) -> LogWriter:
    """A bundle with one completed job."""
    truth = Truth.seal(qtype="q", hidden_json='{"t1_us":41.5}', seed=SEED, challenge={"x": [1, 2]}, nonce="n" * 64)
    writer = LogWriter(folder)
    truth.write(folder)
    opened = {
        "task": "t",
        "nonce": truth.nonce,
        "commitment": truth.commitment,
        "challenge_commitment": truth.challenge_commitment,
        "budget": {"shots": 100},
    }
    writer.append("session_opened", {**opened, **more})
    writer.append(
        "job_submitted", {"job_id": "j1", "number": 1, "tool": "run", "request": store_payload(folder, {"a": 1}), "cost": {"shots": 60.0}}
    )
    writer.append("job_started", {"job_id": "j1", "lab_start_s": 0.0, "lab_end_s": 1.0})
    (folder / "records").mkdir()
    data = pack({"bits": np.arange(10, dtype=np.uint8)})
    (folder / "records" / "j1.npz").write_bytes(data)
    writer.append("job_completed", {"job_id": "j1", "record": {"sha256": digest(data)}, "summary": {}})
    return writer


def test_a_whole_session_verifies_and_reads_back(tmp_path: Path) -> None:
    session(tmp_path).close()
    report = verify(tmp_path)
    assert report.ok, report.problem
    assert report.budget == {"shots": {"used": 60.0, "limit": 100.0, "left": 40.0}}
    assert Bundle(tmp_path).record("j1")["bits"].tolist() == list(range(10))
    assert Bundle(tmp_path).truth().root.entropy == int(SEED["entropy"])


def damage_record(folder: Path) -> None:
    path = folder / "records" / "j1.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def damage_truth(folder: Path) -> None:
    path = folder / "sealed" / "device.json"
    path.write_bytes(path.read_bytes().replace(b"41.5", b"42.5"))


@pytest.mark.parametrize(
    "damage, seq",
    [
        (damage_record, 3),
        (lambda f: (f / "records" / "j1.npz").unlink(), 3),
        (damage_truth, 0),
        (lambda f: (f / "sealed" / "device.json").unlink(), 0),
    ],
)
def test_damage_is_named_by_the_first_event_that_does_not_hold(tmp_path: Path, damage: Any, seq: int) -> None:
    session(tmp_path).close()
    damage(tmp_path)
    report = verify(tmp_path)
    assert not report.ok
    assert report.seq == seq


@pytest.mark.parametrize(
    "kind, data, what",
    [
        ("job_submitted", {"job_id": "j2", "number": 2, "tool": "run", "request": {"inline": {}}, "cost": {"shots": 40.1}}, "budget"),
        ("job_submitted", {"job_id": "j2", "number": 2, "tool": "run", "request": {"inline": {}}, "cost": {"shots": -5.0}}, "negative"),
        ("job_submitted", {"job_id": "j1", "number": 1, "tool": "run", "request": {"inline": {}}, "cost": {}}, "twice"),
        ("job_failed", {"job_id": "j1", "refund": {"shots": 60.0}}, "job_completed"),
        ("job_completed", {"job_id": "j9", "record": {}}, "unknown"),
        ("session_opened", {"budget": {}}, "twice"),
        ("answer_submitted", {"sha256": "0" * 64}, "missing"),
        ("job_submitted", {"job_id": "j3"}, "malformed"),
    ],
)
def test_an_event_that_contradicts_the_log_is_found(tmp_path: Path, kind: str, data: dict[str, Any], what: str) -> None:
    writer = session(tmp_path)
    writer.append(kind, data)
    writer.close()
    report = verify(tmp_path)
    assert not report.ok
    assert report.seq == 4
    assert what in str(report.problem)


def test_nothing_may_follow_the_seal(tmp_path: Path) -> None:
    writer = session(tmp_path)
    writer.append("session_sealed", {"reason": "x"})
    writer.append("notebook_appended", {"text": "late"})
    writer.close()
    assert verify(tmp_path).seq == 5


def test_the_nonce_of_the_truth_must_be_the_sessions(tmp_path: Path) -> None:
    session(tmp_path, nonce="m" * 64).close()
    assert "nonce" in str(verify(tmp_path).problem)


def test_a_missing_folder_is_reported_not_raised(tmp_path: Path) -> None:
    assert not verify(tmp_path / "none").ok


def test_a_pickle_is_refused_in_a_record() -> None:
    class Boom:
        def __reduce__(self) -> Any:
            raise AssertionError("unpickled")

    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([pickle], dtype=object).astype(str))
    assert unpack(buffer.getvalue())["a"].dtype.kind == "U"
    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([{"x": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(EvidenceError):
        unpack(buffer.getvalue())
    with pytest.raises(EvidenceError):
        unpack(b"not a zip")


@pytest.mark.parametrize("values", [np.array([1.0, np.nan]), np.array([1 + 1j * np.inf]), np.array([{}], dtype=object), np.array(["a"])])
def test_a_record_holds_finite_numbers_only(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="array a"):
        pack({"a": values})


def test_equal_arrays_give_equal_bytes() -> None:
    a = {"x": np.arange(5.0), "y": np.ones((2, 3), dtype=np.complex64)}
    assert pack(a) == pack(dict(reversed(a.items())))
    assert all(np.array_equal(a[k], v) and a[k].dtype == v.dtype for k, v in unpack(pack(a)).items())


def test_a_large_payload_is_a_file_and_a_changed_one_is_refused(tmp_path: Path) -> None:
    ref = store_payload(tmp_path, {"text": "x" * 20_000})
    assert set(ref) == {"sha256", "bytes"}
    assert len(Bundle(tmp_path).payload(ref)["text"]) == 20_000
    path = tmp_path / "payloads" / f"{ref['sha256']}.json"
    path.write_bytes(path.read_bytes().replace(b"x", b"y", 1))
    with pytest.raises(EvidenceError, match="digest"):
        Bundle(tmp_path).payload(ref)
    with pytest.raises(EvidenceError, match="malformed"):
        Bundle(tmp_path).payload({"sha256": "../../etc/passwd"})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.booleans()), max_size=60))
def test_a_ledger_never_passes_its_limit_and_refunds_exactly(steps: list[tuple[int, bool]]) -> None:
    ledger = Ledger({"units": 1000.0})
    charged: list[Decimal] = []
    for micro, refund in steps:
        amount = Decimal(micro) / 1_000_000
        if ledger.exceeded({"units": amount}) is None:
            ledger.charge({"units": amount})
            charged.append(amount)
        if refund and charged:
            ledger.refund({"units": charged.pop()})
        assert ledger.used["units"] == sum(charged, Decimal(0)) <= 1000
