"""chiral_ring_gate: reference and trap on a device, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graders import chiral_ring_gate as task
from graders.chiral_ring_gate import GRADER, replay
from qtypes.gmon_ring_3q import physics
from tests.graders.in_process import Bench, graded, solution, solved

TASK = "chiral_ring_gate"
ONE, TWO, THREE = (f"correct site of one excitation, {k}" for k in ("1 gate", "2 gates", "3 gates"))
HOLE = "correct site of the hole, 1 gate"
MATRIX = "largest |reported - recomputed| probability"
SCAN = "loop phases in the scan"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch, solution(TASK, "ring", "calibrate", "reference", "trap") as modules:
        patch.setattr(task, "REPLAYS", 1)
        yield {n: solved(TASK, modules[n], b"ring") for n in ("reference", "trap")} | {"ring": modules["ring"]}


def answer(bench: Bench, **changes: Any) -> Any:
    return GRADER.Answer.model_validate_json(json.dumps(bench.answer | changes, default=float))


def bound(bench: Bench, **changes: Any) -> set[str]:
    """Names of the checks of binding that fail: nothing is played."""
    session: Any = SimpleNamespace(device=bench.device, jobs=tuple(bench.jobs), card=bench.card)
    return {c.name for c in GRADER.bind(answer(bench, **changes), session, {}) if not c.passed}


def moved(bench: Bench, field: str, by: list[float]) -> list[dict[str, Any]]:
    return [t | {field: t[field] + d} for t, d in zip(bench.answer["tones"], by, strict=True)]


def test_the_solvers_model_is_the_ring_in_the_rotating_frame(done: dict[str, Any]) -> None:
    """Against qubits so far apart that the other half of a tone does nothing."""
    frame, e = np.array([0.0, 60_000.0, 130_000.0]), np.array([0.4, -0.3, 0.0])
    hops, loop = np.array([3.0, 2.8, 3.3]), 1.1
    ring = physics.Ring(frame, e, np.full(3, -200.0), np.zeros(3), 2 * hops, frame - np.roll(frame, -1), np.array([0.0, 0.0, loop]),
                        np.full(3, 20.0), np.full(3, 6.0), 0.0)  # fmt: skip
    times = np.array([0, 37, 64, 150])
    for start in range(3):
        theirs = physics.outcomes(physics.propagate(ring, physics.prepared((task.SITES[start],)), times)[:, 0], "ZZZ")[:, [4, 2, 1]]
        ours = done["ring"].populations(e, hops, loop, 20.0, 6.0, (start,), times.astype(float))[0]
        assert ours == pytest.approx(theirs, abs=1e-3)


def test_the_reference_passes_and_finds_the_chiral_point(done: dict[str, Any]) -> None:
    bench = done["reference"]
    assert bench.failed(GRADER) == set()
    loop = sum(t["phase_rad"] for t in bench.answer["tones"]) + sum(bench.device.hidden.line_rad)
    assert np.angle(np.exp(1j * (loop - np.pi / 2))) == pytest.approx(0.0, abs=0.06)
    assert sum(t["freq_mhz"] for t in bench.answer["tones"]) == pytest.approx(0.0, abs=1e-9)


def test_the_trap_reports_honestly_and_goes_another_way(done: dict[str, Any]) -> None:
    failed = done["trap"].failed(GRADER)
    assert set(GRADER.trap_fails) <= failed
    assert not set(GRADER.trap_meets) & failed


@pytest.mark.parametrize(
    "changes, check",
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j0"]}, "reference shots of the qubit and state with the fewest"),
        ({"job_ids": ["j0", "j1"]}, "shots of the initial state with the fewest"),
        ({"duration_ns": 65}, "shots of the initial state with the fewest"),
        ({"transfer_prob": [[0.0, 0.9, 0.0], [0.0, 0.0, 0.9], [0.9, 0.0, 0.0]]}, MATRIX),
        ({"hole_prob": [[0.0, 0.9, 0.0], [0.0, 0.0, 0.9], [0.9, 0.0, 0.0]]}, MATRIX),
    ],
)
def test_each_check_of_the_evidence_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in bound(done["reference"], **changes)


def test_other_tones_are_not_what_was_measured(done: dict[str, Any]) -> None:
    bench = done["reference"]
    for field in ("amp", "freq_mhz", "phase_rad"):
        assert "shots of the initial state with the fewest" in bound(bench, tones=moved(bench, field, [0.0, 1e-4, 0.0]))
    assert "one tone for each pair" in bound(bench, tones=[bench.answer["tones"][0]] * 3)


def test_a_scan_needs_six_phases_around_the_circle(done: dict[str, Any]) -> None:
    bench = done["reference"]
    ids = bench.answer["job_ids"]
    assert bound(bench) == set()
    evidence = [*ids[:2], *ids[-6:]]
    assert SCAN in bound(bench, job_ids=evidence)
    assert SCAN in bound(bench, job_ids=[*evidence, *ids[2:10]])
    assert task._apart([0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 6.1]) == 3
    assert task._apart([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) == 6
    assert task._apart([]) == 0


def test_references_that_tell_nothing_are_refused(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_references", lambda jobs: (np.full((2, 3), 1e3), np.full((2, 3), 2.5e3)))
    assert "the references tell 0 from 1" in bound(done["reference"])


def test_the_loop_phase_matters_and_has_to_stand_still(done: dict[str, Any]) -> None:
    bench = done["reference"]
    hidden = bench.device.hidden
    turned = replay(hidden, answer(bench, tones=moved(bench, "phase_rad", [0.4, 0.0, 0.0])), 0.0)
    assert turned[0, 0] < task.ONE_EXCITATION[0]
    back = replay(hidden, answer(bench, tones=moved(bench, "phase_rad", [np.pi, 0.0, 0.0])), 0.0)
    assert back[:, 0].max() < 0.1
    away = replay(hidden, answer(bench, tones=moved(bench, "freq_mhz", [1.0, 0.0, 0.0])), 0.0)
    assert away[0, 2] < task.ONE_EXCITATION[2]
    gauge = replay(hidden, answer(bench, tones=moved(bench, "phase_rad", [1.0, 0.5, -1.5])), 0.0)
    assert gauge == pytest.approx(replay(hidden, answer(bench), 0.0), abs=0.02)


def test_each_check_of_the_replay_fails_alone_below_its_number(done: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = done["reference"]
    session = SimpleNamespace(device=bench.device, jobs=tuple(bench.jobs), card=bench.card)
    best = np.array([[0.99, 0.98, 0.97], [0.97, 0.9, 0.9]])
    for (row, column), check in {(0, 0): ONE, (0, 1): TWO, (0, 2): THREE, (1, 0): HOLE}.items():
        low = best.copy()
        low[row, column] = 0.85
        monkeypatch.setattr(task, "replay", lambda *_, low=low: low)
        checks, _ = graded(GRADER, session, answer(bench))
        assert {n for n, c in checks.items() if not c.passed} == {check}


def test_moved_probabilities_are_not_borne_out(done: dict[str, Any]) -> None:
    over = GRADER.overclaim(done["reference"].answer, {})
    assert MATRIX in bound(done["reference"], transfer_prob=over["transfer_prob"], hole_prob=over["hole_prob"])
