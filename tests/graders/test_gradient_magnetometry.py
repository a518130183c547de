"""gradient_magnetometry: regrades of the three modes, the reference and the trap on a device, and each check fails its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graders
import tasks
from graders import gradient_magnetometry as module
from graders.kit import nv_gradient
from graders.kit.nv_gradient import Estimate, Record, Wander, position_sigma
from tests.graders.in_process import ClockedBench, solution, solved

CARD = tasks.load("gradient_magnetometry")
GRADER = graders.load(CARD.name)
FOUR = tuple(k * np.pi / 2 for k in range(4))
X = np.array((0.0, 2.0, 4.0, 6.0))


def points(*taus: float) -> list[dict[str, float]]:
    return [{"tau_us": t, "phase_rad": p} for t in taus for p in FOUR]


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(CARD.name, "fringes", "reference", "trap") as modules:
        yield {n: solved(CARD.name, modules[n], b"gradient", ClockedBench) for n in ("reference", "trap")}


@pytest.fixture(scope="module")
def session() -> ClockedBench:
    """A record, frames, blocks and visits on one device."""
    bench = ClockedBench(CARD.name, b"modes")
    bench.run("run_ramsey", nodes=[0] * 80, period_s=0.25, points=points(6.0, 20.0, 20.0), shots=50)
    bench.run("run_camera", points=points(20.0), shots=30_000)
    bench.run("run_ghz", nodes=[0, 3], signs=["-", "+"], points=points(8.0, 20.0), shots=8000)
    bench.run("run_ramsey", nodes=[0, 1, 2, 3], points=points(4.0, 20.0), shots=800)
    return bench


def estimates(bench: ClockedBench) -> dict[str, Estimate]:
    record = nv_gradient.one_node_record(bench.jobs)
    drift = nv_gradient.wander(record)
    found = {
        "parallel": nv_gradient.from_frames(bench.jobs[1:2], 20.0, X, 40.0, drift),
        "signed_block": nv_gradient.from_blocks(bench.jobs[2:3], 20.0, X, 40.0),
        "sequential": nv_gradient.from_visits(bench.jobs[3:4], record, X, drift),
    }
    assert all(e is not None for e in found.values())
    return {k: e for k, e in found.items() if e is not None}


def test_the_reference_passes_and_the_trap_fails_for_the_common_field(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()
    failed = done["trap"].failed(GRADER)
    assert failed >= set(GRADER.trap_fails)
    assert not failed & set(GRADER.trap_meets)


def test_each_mode_is_regraded_with_an_error_that_covers_the_truth(session: ClockedBench) -> None:
    true = session.device.hidden.gradient_nt_per_mm
    found = estimates(session)
    for name, e in found.items():
        assert abs(e.value - true) < 4 * np.hypot(e.sigma, position_sigma(e, X)), name
        assert e.weights @ X == pytest.approx(1), name
        assert e.weights.sum() == pytest.approx(0, abs=1e-9), name
    assert found["signed_block"].sigma < found["parallel"].sigma < found["sequential"].sigma


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j1", "j2", "j3", "j4"]}, "visits of one node in the record of the common field"),
        ({"job_ids": ["j1", "j2", "j3", "j4"]}, "span of the record of the common field"),
        ({"job_ids": ["j0", "j2", "j3", "j4"]}, "delays of the estimation mode"),
        ({"tau_us": 99.0}, "mode and tau are those of cited runs"),
        ({"mode": "parallel"}, "mode and tau are those of cited runs"),
        ({"sigma_nt_per_mm": 0.05}, "reported sigma / recomputed sigma"),
        ({"sigma_nt_per_mm": 5.0}, "reported sigma / recomputed sigma, upper limit"),
        ({"wander_nt": 5000.0}, "change of the common field, ratio to recomputed"),
        ({"wander_nt": 5000.0}, "change of the common field, ratio to truth"),
        ({"gradient_nt_per_mm": 90.0}, "|reported gradient - recomputed| / recomputed sigma"),
        ({"gradient_nt_per_mm": 90.0}, "|gradient - truth|"),
        ({"gradient_nt_per_mm": 90.0}, "|gradient - truth| / recomputed sigma"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_an_overclaim_is_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    assert {"|gradient - truth|", "|reported gradient - recomputed| / recomputed sigma"} <= done["reference"].failed(GRADER, **moved)


def test_positions_add_to_the_error_of_a_large_gradient() -> None:
    ends = Estimate(40.0, 0.1, np.array([-1, 0, 0, 1]) / 6)
    assert position_sigma(ends, X) == pytest.approx(40 * 0.02 / np.sqrt(3))


def test_one_after_the_other_carries_the_common_field_in_its_error(session: ClockedBench) -> None:
    """Generalised least squares against the closed form for two visits far apart."""
    job = session.jobs[3]
    two = nv_gradient.visits_of([job])
    drift = Wander(300.0, 0.5, 0.0)  # gone between visits
    found = nv_gradient.from_visits([job], two, X, drift)
    assert found is not None
    assert found.sigma == pytest.approx(np.sqrt((300.0**2 + two.error_nt[0] ** 2) / 20.0), rel=0.01)


def test_the_structure_function_gives_back_the_process() -> None:
    rng = np.random.default_rng(4)
    time = np.arange(400) * 0.5
    path = np.zeros((20, time.size))
    keep = np.exp(-0.5 / 6.0)
    path[:, 0] = rng.normal(0, 300, 20)
    for k in range(1, time.size):
        path[:, k] = keep * path[:, k - 1] + rng.normal(0, 300 * np.sqrt(1 - keep**2), 20)
    fits = [
        nv_gradient.wander(Record(time, np.zeros(400, dtype=np.int64), p + rng.normal(0, 80, 400), np.full(400, 80.0), frozenset()))
        for p in path
    ]
    expected = 300 * np.sqrt(2 * (1 - np.exp(-5 / 6)))
    assert np.median([f.rms(5.0) for f in fits]) == pytest.approx(expected, rel=0.1)
    assert np.median([f.rms(1.0) for f in fits]) == pytest.approx(300 * np.sqrt(2 * (1 - np.exp(-1 / 6))), rel=0.15)


def test_blocks_whose_signs_do_not_cancel_are_not_counted(session: ClockedBench) -> None:
    bench = ClockedBench(CARD.name, b"modes")
    bench.run("run_ghz", nodes=[0, 3], signs=["+", "+"], points=points(20.0), shots=2000)
    assert nv_gradient.from_blocks(bench.jobs, 20.0, X, 40.0) is None
    # a delay at which two gradients within the limits give the same phase decides nothing
    bench.run("run_ghz", nodes=[0, 3], signs=["-", "+"], points=points(100.0), shots=2000)
    assert nv_gradient.from_blocks(bench.jobs, 100.0, X, 40.0) is None


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = re.sub(r"\s+", " ", CARD.instruction())
    low, high = module.SIGMA_RANGE
    for phrase in (
        f"at least {module.RECORD_VISITS} visits", f"at least {module.RECORD_S:g} s", f"at least {module.DELAYS} delays",
        f"at least {module.DELAY_SHOTS} shots", f"within {module.BIND_SIGMAS} sigma", f"between {low} and {high} times",
        f"within a factor {module.WANDER_FACTOR:g}", f"at most {module.SIGMA_LIMIT} nT/mm", f"within {module.ERROR_LIMIT} nT/mm",
        f"within {module.ERROR_SIGMAS:g} sigma", f"over {nv_gradient.WANDER_LAG_S:g} s", "| shots | 500 000 |",
        f"| lab clock | {CARD.budget['lab_s']:.0f} s |", f"| jobs | {CARD.budget['jobs']:.0f} |",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert CARD.budget["shots"] == 500_000
