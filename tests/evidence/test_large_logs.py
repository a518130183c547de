"""A long log is followed line by line: neither reading nor verifying holds it in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evidence import LogWriter, Truth, digest, dumps, read_events, verify

LINES, CHARACTERS = 400, 50_000


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed session with 20 MB of notes."""
    folder = tmp_path_factory.mktemp("large")
    truth = Truth.seal(qtype="q", hidden_json="{}", seed={"entropy": "1", "spawn_key": [], "pool_size": 4}, challenge=None, nonce="n" * 64)
    truth.write(folder)
    writer = LogWriter(folder)
    opened = {"task": "t", "nonce": truth.nonce, "commitment": truth.commitment, "challenge_commitment": None, "budget": {}}
    writer.append("session_opened", opened)
    for i in range(LINES):
        writer.append("notebook_appended", {"text": f"{i}" + "x" * CHARACTERS})
    answer = dumps({"t1_us": 1.0})
    (folder / "answer.json").write_bytes(answer)
    writer.append("answer_submitted", {"sha256": digest(answer), "bytes": len(answer)})
    writer.append("session_sealed", {"reason": "test"})
    writer.close()
    return folder


@contextmanager
def at_most(peak_bytes: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < peak_bytes, f"{peak} bytes"


def walk(folder: Path) -> int:
    return sum(1 for _ in read_events(folder / "log.jsonl"))


def check(folder: Path) -> int:
    report = verify(folder)
    assert report.ok, report.problem
    return report.events


@pytest.mark.parametrize("use", [walk, check])
def test_a_log_of_20_mb_is_read_and_verified_in_two_megabytes(bundle: Path, use: Callable[[Path], Any]) -> None:
    assert (bundle / "log.jsonl").stat().st_size > 20_000_000
    with at_most(2_000_000):
        assert use(bundle) == LINES + 3


def test_the_first_event_is_there_without_reading_the_rest(bundle: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "log.jsonl"
    spoilt.write_bytes((bundle / "log.jsonl").read_bytes()[:2_000_000] + b"garbage\n")
    assert next(read_events(spoilt)).kind == "session_opened"
