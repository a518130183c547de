"""renyi_entropy_randomized: reference and trap on a device, the regrade, and each check fails the answer that it is there for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graders.renyi_entropy_randomized import GRADER, LABELS, Batches, batches, calibration, entropy, true_entropies
from qtypes.trapped_ion_state_copy_randomized_measurement.device import SUBSYSTEMS, haar_angles
from qtypes.trapped_ion_state_copy_randomized_measurement.estimators import kernel, pair_purities
from qtypes.trapped_ion_state_copy_randomized_measurement.physics import purity
from tests.graders.in_process import Bench, solution, solved

TASK = "renyi_entropy_randomized"


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Bench]]:
    with solution(TASK, "batches", "reference", "trap") as modules:
        yield {n: solved(TASK, modules[n], b"copies") for n in ("reference", "trap")}


def changed(answer: dict[str, Any], name: str, k: int, value: float) -> dict[str, Any]:
    """One number of four replaced."""
    row = list(answer[name])
    row[k] = value
    return {name: row}


def test_the_reference_passes_and_the_trap_fails_by_its_signature(done: dict[str, Bench]) -> None:
    assert done["reference"].failed(GRADER) == set()
    missed = done["trap"].failed(GRADER)
    assert missed >= set(GRADER.trap_fails)
    assert not missed & set(GRADER.trap_meets)


@pytest.mark.parametrize(
    "jobs, check",
    [
        (["other"], "cited jobs are completed jobs of this session"),
        (["j0", "j1", "j2"], "settings with all ions bright"),
        (["j1", "j2", "j3", "j4", "j5", "j6"], "calibration copies of each state of each ion"),
        (["j0", "j1", "j2", "j3", "j4", "j5"], "rejected batches are those with a dark ion"),
    ],
)
def test_evidence_has_to_be_there(jobs: list[str], check: str, done: dict[str, Bench]) -> None:
    assert check in done["reference"].failed(GRADER, job_ids=jobs)


def test_rejected_batches_are_exactly_those_with_a_dark_ion(done: dict[str, Bench]) -> None:
    bench = done["reference"]
    named = bench.answer["rejected"]
    assert len(named) > 5
    free = next(k for k in range(120) if {"job_id": "j1", "batch": k} not in named)
    for wrong in (named[1:], [*named, {"job_id": "j1", "batch": free}], [*named, {"job_id": "j9", "batch": 0}]):
        assert bench.failed(GRADER, rejected=wrong) == {"rejected batches are those with a dark ion"}


@pytest.mark.parametrize("k", range(4))
def test_each_number_is_checked(k: int, done: dict[str, Bench]) -> None:
    bench = done["reference"]
    s2, sigma, label = bench.answer["s2_bits"][k], bench.answer["sigma"][k], LABELS[k]
    far = bench.failed(GRADER, **changed(bench.answer, "s2_bits", k, s2 + 0.4))
    assert far == {f"|claimed - recomputed| S2 of {label}", f"error of S2 of {label}", f"error over claimed sigma of {label}"}
    assert f"|claimed - recomputed| S2 of {label}" in bench.failed(GRADER, **changed(bench.answer, "s2_bits", k, s2 + 3.5 * sigma))
    for factor in (0.3, 3.0):
        assert f"claimed over recomputed sigma of {label}, or the inverse" in bench.failed(
            GRADER, **changed(bench.answer, "sigma", k, factor * sigma)
        )
    tiny = bench.failed(GRADER, **changed(bench.answer, "sigma", k, 1e-6))
    assert f"error over claimed sigma of {label}" in tiny


def test_what_overclaims_fails(done: dict[str, Bench]) -> None:
    bench = done["reference"]
    moved = GRADER.overclaim(bench.answer, {})
    assert moved is not None
    assert {f"error of S2 of {label}" for label in LABELS[:3]} <= bench.failed(GRADER, **moved)


def jobs_of(*settings: Any, copies: int = 10, tool: str = "run_rm_batch") -> list[Any]:
    bench = Bench(TASK, b"jobs")
    for s in settings:
        bench.submit(tool, n_copies=copies, **{"euler_rad" if tool == "run_rm_batch" else "states": s})
    return bench.jobs


def test_settings_that_measure_the_same_axes_count_once() -> None:
    """The last Rz of an ion does nothing to a readout of Z."""
    one = haar_angles(np.random.default_rng(0), 1)[0]
    turned = [(one + np.array([0, 0, 0.01 * k])).tolist() for k in range(20)]
    assert batches(jobs_of(turned)).settings == 1
    tilted = [(one + np.array([0, 0.01 * k, 0])).tolist() for k in range(20)]
    assert batches(jobs_of(tilted)).settings == len(batches(jobs_of(tilted)).copies)


def test_batches_of_one_copy_hold_no_pair_and_are_left_out() -> None:
    angles = haar_angles(np.random.default_rng(0), 5).tolist()
    assert len(batches(jobs_of(angles, copies=1)).copies) == 0
    assert batches([]).settings == 0


def test_a_calibration_batch_with_a_dark_ion_does_not_count() -> None:
    jobs = jobs_of(["000000", "111111", "010101"] * 30, tool="run_readout_cal")
    whole = jobs[0].arrays()["ion_count"] == 6
    assert not whole.all()
    copies, bright = calibration(jobs)
    rows = np.arange(90) % 3
    assert copies[0].tolist() == [10.0 * np.sum(whole & ((rows == 0) | ((rows == 2) & (k % 2 == 0)))) for k in range(6)]
    assert (bright[1] / copies[1]).min() > 0.9 > 0.1 > (bright[0] / copies[0]).max()


def test_the_standard_error_is_that_of_the_scatter() -> None:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(300):
        values = rng.normal(0.5, 0.2, 50)
        b = Batches({}, np.full(50, 100.0), np.zeros(50), 50, frozenset())
        found.append(b.mean(values))
    means, sigmas = np.array(found).T
    assert means.std() == pytest.approx(0.2 / np.sqrt(50), rel=0.15)
    assert sigmas.mean() == pytest.approx(0.2 / np.sqrt(50), rel=0.03)
    assert entropy(0.5, 0.05) == pytest.approx((1.0, 0.05 / 0.5 / np.log(2)))
    assert np.isnan(entropy(-0.01, 0.1)).all()


def test_the_truth_is_the_mean_purity_over_the_copies() -> None:
    hidden = Bench(TASK, b"copies").device.hidden.model_copy(update={"quench_drift": 0.04})
    b = Batches({}, np.array([100.0, 300.0]), np.array([0.0, 2400.0]), 2, frozenset())
    at = [[purity(hidden.states([t]), m)[0] for t in b.times_s] for m in SUBSYSTEMS]
    assert true_entropies(hidden, b) == pytest.approx([-np.log2(0.25 * x + 0.75 * y) for x, y in at])


def test_the_regrade_finds_the_purity_of_a_source_without_readout_errors(done: dict[str, Bench]) -> None:
    """60 batches of 10 copies, 25 times: the mean of the estimates is the truth within its own scatter."""
    quiet = {"p1_given0": (0.0,) * 6, "p0_given1": (0.0,) * 6, "quench_drift": 0.0}
    hidden = done["reference"].device.hidden.model_copy(update=quiet)
    rng = np.random.default_rng(3)
    found = []
    for _ in range(25):
        bench = Bench(TASK, rng.bytes(8))
        bench.device = replace(bench.device, hidden=hidden)
        bench.submit("run_rm_batch", euler_rad=haar_angles(rng, 60).tolist(), n_copies=10)
        b = batches(bench.jobs)
        found.append([b.mean(pair_purities(b.counts[m], kernel(m)))[0] for m in SUBSYSTEMS])
    truth = [purity(hidden.states([0.0]), m)[0] for m in SUBSYSTEMS]
    spread = np.std(found, axis=0) / 5
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 4 * spread)


def test_an_answer_without_evidence_fails_in_score_too(done: dict[str, Bench]) -> None:
    answer = GRADER.Answer.model_validate_json(json.dumps(done["reference"].answer))
    score = GRADER.score(answer, SimpleNamespace(), {}, np.random.default_rng(0))  # type: ignore[arg-type]
    assert [c.passed for c in score.checks] == [False]
