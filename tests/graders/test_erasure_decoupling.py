"""erasure_decoupling: reference, trap and cheats on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graders import erasure_decoupling
from graders.erasure_decoupling import GRADER
from qtypes.transmon_erasure_qutrit.replay import best_of_families, family, preserved
from qtypes.transmon_erasure_qutrit.sequence import Sequence
from tests.graders.in_process import Bench, solution, solved

TASK = "erasure_decoupling"
RATIO = "preserved coherence relative to the best equally spaced pulses"
CONTRAST = "mean contrast of x, y and z inputs"
SHOTS = "shots of the submitted sequence, of the input with the fewest"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(TASK, "storage", "reference", "trap", "stale") as modules:
        yield {n: solved(TASK, modules[n], b"erasure") for n in ("reference", "trap", "stale")} | {"storage": modules["storage"]}


@pytest.fixture(autouse=True, scope="module")
def one_search(done: dict[str, Any]) -> Iterator[None]:
    """All sessions are on one device: the best of the families is searched once."""
    found: dict[str, float] = {}

    def once(hidden: Any, *rest: Any) -> float:
        key = hidden.model_dump_json()
        if key not in found:
            found[key] = best_of_families(hidden, *rest)
        return found[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(erasure_decoupling, "best_of_families", once)
        yield


def test_the_reference_passes_and_the_trap_sits_on_the_peak(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()
    assert done["trap"].failed(GRADER) >= {RATIO, CONTRAST}
    assert set(GRADER.trap_fails) == {RATIO, CONTRAST}
    assert not done["trap"].failed(GRADER) & set(GRADER.trap_meets)


def test_the_notebooks_sequence_fails_on_the_references_experiments(done: dict[str, Any]) -> None:
    assert done["stale"].failed(GRADER) >= {RATIO, CONTRAST, SHOTS}


def test_no_pulses_at_all_and_as_many_as_possible_preserve_less(done: dict[str, Any]) -> None:
    for pulses in (0, 48):
        other = done["storage"].equally_spaced(pulses)
        assert {RATIO, SHOTS} <= done["reference"].failed(GRADER, **other)


def test_overclaiming_is_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    assert done["reference"].failed(GRADER, **moved) == {"predicted coherence against the records"}


def _kept(done: dict[str, Any], job: int) -> list[str]:
    """Cited jobs without one."""
    ids: list[str] = done["reference"].answer["job_ids"]
    return [j for k, j in enumerate(ids) if k != job % len(ids)]


@pytest.mark.parametrize(
    "job, check",
    [
        (0, "reference shots with a check of the level with the fewest"),
        (-1, "the same pulses without checks"),
    ],
)
def test_missing_evidence_fails(job: int, check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, job_ids=_kept(done, job))


def test_the_submitted_sequence_must_have_been_run(done: dict[str, Any]) -> None:
    bench = done["reference"]

    def submitted(job: Any) -> bool:
        wanted = [bench.answer["pulse_times_us"], bench.answer["check_times_us"]]
        return any([list(p.pulse_times_us), list(p.check_times_us)] == wanted for p in job.request.points)

    others = [j.job_id for j in bench.jobs if j.job_id in bench.answer["job_ids"] and not submitted(j)]
    assert len(others) < len(bench.answer["job_ids"])
    assert SHOTS in bench.failed(GRADER, job_ids=others)


def test_other_pulse_numbers_are_demanded(done: dict[str, Any]) -> None:
    ids = done["reference"].answer["job_ids"]
    assert done["reference"].failed(GRADER, job_ids=[ids[0], *ids[-2:]]) == {"other pulse numbers"}


def test_jobs_of_others_fail(done: dict[str, Any]) -> None:
    assert "cited jobs are completed jobs of this session" in done["reference"].failed(GRADER, job_ids=["other"])


def test_predictions_are_bound(done: dict[str, Any]) -> None:
    claimed = done["reference"].answer["predicted"]
    for name, check in (("coherence_kept", "coherence"), ("kept_fraction", "kept fraction")):
        wrong = {**claimed, name: claimed[name] - 0.06}
        assert done["reference"].failed(GRADER, predicted=wrong) == {f"predicted {check} against the records"}


def test_a_sequence_without_checks_keeps_the_erasures(done: dict[str, Any]) -> None:
    assert "undetected e among the kept" in done["reference"].failed(GRADER, check_times_us=[])


def test_a_sequence_that_the_device_would_refuse_fails(done: dict[str, Any]) -> None:
    crowded = {"pulse_times_us": [1.0, 1.1], "pulse_phases_rad": [0.0, 0.0]}
    assert "the sequence can be played" in done["reference"].failed(GRADER, **crowded)


def test_one_phase_for_all_pulses_does_not_keep_both_inputs_on_a_device_that_turns_too_far() -> None:
    """XY8 is worth something: at 30 pulses and an over-rotation of 2 % a train of one phase loses the y input."""
    hidden = Bench(TASK, b"erasure").device.hidden.model_copy(update={"over_rotation": 0.02})
    found = {}
    for kind in ("CPMG", "XY8"):
        times, phases = family(30, 23.6, kind)
        sequence = Sequence(duration_us=24.0, pulse_times_us=times, pulse_phases_rad=phases, check_times_us=(23.6,))
        found[kind] = preserved(hidden, 0.0, sequence, np.random.default_rng(0), 1000).preserved
    assert found["CPMG"] < 0.9 * found["XY8"]
