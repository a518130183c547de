"""Evidence that was touched is a fault which names what does not hold; never a pass, and never a zero that counts."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evidence import ANSWER, LOG_NAME, SCORE
from evidence.log import GENESIS, make_event, read_events
from evidence.sealed import SEALED
from graders.kit.grade import grade_bundle
from qharbor.cli import app
from results.find import find
from results.grading import grade_all, grade_trial
from results.model import Outcome, Pattern
from tests.results.conftest import Made
from tests.results.test_grading import harbor

Copy = Callable[..., Path]


def log(folder: Path) -> list[bytes]:
    return (folder / LOG_NAME).read_bytes().splitlines(keepends=True)


def write(folder: Path, lines: list[bytes]) -> None:
    (folder / LOG_NAME).write_bytes(b"".join(lines))


def chained(folder: Path, keep: Callable[[int, str], bool]) -> None:
    """Drop events and chain the rest anew, as one would who knows how the log is made."""
    prev, lines = GENESIS, list[bytes]()
    for event in read_events(folder / LOG_NAME):
        if keep(event.seq, event.kind):
            made = make_event(len(lines), event.kind, event.data, prev, event.time)
            lines.append(made.line())
            prev = made.hash
    write(folder, lines)


def one_record_byte(folder: Path) -> None:
    path = sorted((folder / "records").glob("*.npz"))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()
    path.write_bytes(data)


def event_removed(folder: Path) -> None:
    lines = log(folder)
    write(folder, lines[:3] + lines[4:])


def event_removed_and_chained(folder: Path) -> None:
    third = [e.seq for e in read_events(folder / LOG_NAME) if e.kind == "job_submitted"][1]
    chained(folder, lambda seq, kind: seq != third)


def reordered(folder: Path) -> None:
    lines = log(folder)
    write(folder, [*lines[:2], lines[3], lines[2], *lines[4:]])


def truncated_in_a_line(folder: Path) -> None:
    write(folder, [*log(folder)[:-2], log(folder)[-2][:-20]])


def truncated_before_the_answer(folder: Path) -> None:
    write(folder, log(folder)[:-2])


def truncated_to_half(folder: Path) -> None:
    (folder / ANSWER).unlink()
    write(folder, log(folder)[: len(log(folder)) // 2])


def commitment_swapped(folder: Path) -> None:
    truth = json.loads((folder / SEALED).read_text())
    (folder / SEALED).write_text(json.dumps(truth | {"salt": "0" * 64}, sort_keys=True, separators=(",", ":")))


def truth_of_another(folder: Path, other: Path) -> None:
    shutil.copy(other / SEALED, folder / SEALED)


def answer_of_another(folder: Path, other: Path) -> None:
    shutil.copy(other / ANSWER, folder / ANSWER)


def answer_removed(folder: Path) -> None:
    (folder / ANSWER).unlink()


CUTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "one record byte": (one_record_byte, r"the record of j0001\S+ does not match its digest"),
    "one event removed": (event_removed, "event 3"),
    "one event removed, chained anew": (event_removed_and_chained, r"job_started of job \S+, which is unknown"),
    "two events exchanged": (reordered, "event 2"),
    "log truncated in a line": (truncated_in_a_line, "truncated"),
    "log truncated before the answer": (truncated_before_the_answer, "without a seal, yet an answer lies beside it: the log was truncated"),
    "log truncated to half": (truncated_to_half, r"yet the record of j\S+ lies beside it: the log was truncated"),
    "commitment swapped": (commitment_swapped, "the sealed truth does not match the commitment"),
    "answer removed": (answer_removed, "the answer is missing"),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_tampered_bundle_is_a_fault_that_names_what_does_not_hold(copy: Copy, reference: Made, cut: str) -> None:
    folder = copy(reference)
    how, what = CUTS[cut]
    how(folder)
    graded = grade_trial(find([folder])[0])
    assert (graded.outcome, graded.verdict["reward"], graded.pattern) == (Outcome.INFRASTRUCTURE_FAULT, 0, Pattern.NONE)
    assert not graded.counts
    assert graded.evidence == (graded.verdict["reason"],)
    assert re.search(what, graded.verdict["reason"]), graded.verdict["reason"]
    done = CliRunner().invoke(app, ["grade", str(folder), "--json"])
    assert (done.exit_code, json.loads(done.stdout)["outcome"]) == (3, "infrastructure_fault")


@pytest.mark.parametrize("exchange, what", [(truth_of_another, "commitment"), (answer_of_another, "the answer does not match its digest")])
def test_a_part_of_another_session_does_not_fit(
    copy: Copy, reference: Made, trap: Made, exchange: Callable[[Path, Path], None], what: str
) -> None:
    folder = copy(reference)
    exchange(folder, trap.bundle)
    graded = grade_trial(find([folder])[0])
    assert graded.outcome is Outcome.INFRASTRUCTURE_FAULT
    assert what in graded.verdict["reason"]


def test_a_stale_folder_is_found_by_the_session_of_its_verdict_also_when_graded_twice(copy: Copy, reference: Made, trap: Made) -> None:
    folder, other = copy(reference), copy(trap)
    grade_bundle(other)
    shutil.copy(other / SCORE, folder / SCORE)
    graded = grade_trial(find([folder])[0])
    assert graded.outcome is Outcome.INFRASTRUCTURE_FAULT
    assert "the folder is stale: its score.json is of session" in graded.verdict["reason"]
    for _ in range(2):
        assert CliRunner().invoke(app, ["grade", str(folder)]).exit_code == 3


def test_a_stale_folder_is_found_by_its_date_and_by_its_task(copy: Copy, reference: Made, tmp_path: Path) -> None:
    harbor(tmp_path / "jobs" / "late", copy(reference), started_at="2099-01-01T00:00:00Z", finished_at="2099-01-01T01:00:00Z")
    harbor(tmp_path / "jobs" / "early", copy(reference), started_at="2001-01-01T00:00:00Z", finished_at="2001-01-01T01:00:00Z")
    harbor(tmp_path / "jobs" / "other", copy(reference), task="transmon_t1")
    reasons = {g.trial.trial_id: g.verdict["reason"] for g in grade_all(find([tmp_path / "jobs"])).quarantined}
    assert "the trial began at 2099" in reasons["late"]
    assert "the trial ended at 2001" in reasons["early"]
    assert "the trial is of transmon_t1, the evidence of readout_confusion" in reasons["other"]


def test_a_trial_that_harbor_regraded_later_is_not_stale(copy: Copy, reference: Made, tmp_path: Path) -> None:
    times = {"started_at": "2099-01-01T00:00:00Z", "finished_at": "2099-01-01T00:01:00Z", "agent_execution": None}
    harbor(tmp_path / "jobs" / "again", copy(reference), **times)
    (graded,) = grade_all(find([tmp_path / "jobs"]))
    assert graded.passed


def test_one_session_in_two_trials_counts_once(copy: Copy, reference: Made, tmp_path: Path) -> None:
    folder = copy(reference)
    harbor(tmp_path / "jobs" / "a", folder)
    harbor(tmp_path / "jobs" / "b", folder)
    first, second = grade_all(find([tmp_path / "jobs"]))
    assert (first.outcome, second.outcome) == (Outcome.PASS, Outcome.INFRASTRUCTURE_FAULT)
    assert "is that of trial a" in second.verdict["reason"]


def test_a_session_that_is_still_open_is_no_zero(copy: Copy, reference: Made) -> None:
    folder = copy(reference, None)
    for record in (folder / "records").glob("*.npz"):
        record.unlink()
    write(folder, log(folder)[:1])
    graded = grade_trial(find([folder])[0])
    assert graded.outcome is Outcome.INFRASTRUCTURE_FAULT
    assert "without a verdict" in graded.verdict["reason"]
