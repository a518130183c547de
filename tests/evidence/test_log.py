"""The log: hash-chained, one writer, torn tails cut, every change of a byte named by event."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evidence import EvidenceError, LogWriter, read_events


def write(folder: Path, count: int = 5) -> list[bytes]:
    writer = LogWriter(folder)
    for i in range(count):
        writer.append("note", {"i": i, "x": 0.1 * i})
    writer.close()
    return (folder / "log.jsonl").read_bytes().splitlines(keepends=True)


def test_events_come_back_as_written_and_chained(tmp_path: Path) -> None:
    write(tmp_path)
    events = list(read_events(tmp_path / "log.jsonl"))
    assert [e.data["i"] for e in events] == [0, 1, 2, 3, 4]
    assert [e.prev for e in events] == ["0" * 64, *(e.hash for e in events[:-1])]


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_a_torn_last_line_is_cut_on_reopening_and_nothing_else_is_lost(tmp_path: Path, cut: int) -> None:
    lines = write(tmp_path)
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:4]) + lines[4][:-cut])
    writer = LogWriter(tmp_path)
    assert writer.cut == len(lines[4]) - cut
    assert len(writer.recovered) == 4
    writer.append("note", {"i": 99})
    writer.close()
    assert [e.data["i"] for e in read_events(tmp_path / "log.jsonl")] == [0, 1, 2, 3, 99]


def test_a_torn_tail_ends_a_lazy_reading_without_an_error(tmp_path: Path) -> None:
    lines = write(tmp_path)
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])
    assert len(list(read_events(tmp_path / "log.jsonl"))) == 3


@pytest.mark.parametrize("line", [0, 2, 4])
def test_a_changed_byte_is_found_at_its_event(tmp_path: Path, line: int) -> None:
    lines = write(tmp_path)
    lines[line] = lines[line].replace(b'"note"', b'"nota"')
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(EvidenceError) as caught:
        list(read_events(tmp_path / "log.jsonl"))
    assert caught.value.seq == line


def test_a_removed_line_is_found_where_the_chain_breaks(tmp_path: Path) -> None:
    lines = write(tmp_path)
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(EvidenceError) as caught:
        list(read_events(tmp_path / "log.jsonl"))
    assert caught.value.seq == 2


def test_an_event_with_its_hash_made_anew_breaks_the_next_one(tmp_path: Path) -> None:
    from evidence.log import make_event

    lines = write(tmp_path)
    old = json.loads(lines[2])
    forged = make_event(2, "note", {"i": 7}, old["prev"], old["time"])
    (tmp_path / "log.jsonl").write_bytes(b"".join([*lines[:2], forged.line(), *lines[3:]]))
    with pytest.raises(EvidenceError) as caught:
        list(read_events(tmp_path / "log.jsonl"))
    assert caught.value.seq == 3


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path)
    with pytest.raises(EvidenceError, match="already has a writer"):
        LogWriter(tmp_path)
    writer.close()
    LogWriter(tmp_path).close()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_never_written(tmp_path: Path, value: float) -> None:
    writer = LogWriter(tmp_path)
    with pytest.raises(ValueError, match=r"[Oo]ut of range"):
        writer.append("note", {"x": value})
    writer.append("note", {"x": 1.0})
    writer.close()
    assert len(list(read_events(tmp_path / "log.jsonl"))) == 1


def test_a_failed_write_leaves_a_whole_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    writer = LogWriter(tmp_path)
    writer.append("note", {"i": 0})
    real = os.write

    def full_disk(fd: int, data: bytes) -> int:
        real(fd, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(OSError, match="No space"):
        writer.append("note", {"i": 1})
    monkeypatch.undo()
    writer.append("note", {"i": 2})
    writer.close()
    assert [e.data["i"] for e in read_events(tmp_path / "log.jsonl")] == [0, 2]
