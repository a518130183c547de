"""ghz_nonmarkovian_sensing: the regrade, the reference and the trap on a device, and each check fails the answer it is there for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graders
import tasks
from graders import ghz_nonmarkovian_sensing as module
from graders.kit.nv_fringes import Run, fit_fringe, unwrapped
from qtypes.nv_sensor_network.physics import decay_time
from tests.graders.in_process import ClockedBench, solution, solved

CARD = tasks.load("ghz_nonmarkovian_sensing")
GRADER = graders.load(CARD.name)


@pytest.fixture(scope="module")
def done() -> Iterator[dict[str, Any]]:
    with solution(CARD.name, "fringes", "reference", "trap") as modules:
        yield {n: solved(CARD.name, modules[n], b"ghz", ClockedBench) for n in ("reference", "trap")}


def test_the_reference_passes_and_the_trap_fails_for_its_delay(done: dict[str, Any]) -> None:
    assert done["reference"].failed(GRADER) == set()
    failed = done["trap"].failed(GRADER)
    assert failed >= set(GRADER.trap_fails)
    assert not failed & set(GRADER.trap_meets)


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"job_ids": ["other"]}, "cited jobs are completed jobs of this session"),
        ({"job_ids": ["j0", "j2", "j3", "j4", "j5", "j6"]}, "delays of single nodes with both quadratures"),
        ({"job_ids": ["j0", "j1", "j4", "j5", "j6"]}, "delays of entangled blocks with both quadratures"),
        ({"n": 3}, "n and tau are those of cited runs with both quadratures"),
        ({"tau_us": 99.0}, "n and tau are those of cited runs with both quadratures"),
        ({"sigma_nt": 0.1}, "reported sigma / recomputed sigma"),
        ({"sigma_nt": 9.0}, "reported sigma / recomputed sigma, upper limit"),
        ({"t2star_us": 20.0}, "|T2* / recomputed - 1|"),
        ({"t2star_us": 20.0}, "|T2* / truth - 1|"),
        ({"b0_nt": 0.0}, "|reported field - recomputed| / recomputed sigma"),
        ({"b0_nt": 0.0}, "|field - truth| / recomputed sigma"),
    ],
)
def test_each_check_fails_the_answer_it_is_there_for(changes: dict[str, Any], check: str, done: dict[str, Any]) -> None:
    assert check in done["reference"].failed(GRADER, **changes)


def test_a_setting_of_the_scan_has_too_large_an_error(done: dict[str, Any]) -> None:
    """Evidence for n = 1 is there, but not the time."""
    assert "recomputed sigma / smallest sigma of this device" in done["reference"].failed(GRADER, n=1, tau_us=4.0)


def test_an_overclaim_is_not_borne_out(done: dict[str, Any]) -> None:
    moved = GRADER.overclaim(done["reference"].answer, {})
    failed = done["reference"].failed(GRADER, **moved)
    assert failed >= {"|reported field - recomputed| / recomputed sigma", "|field - truth| / recomputed sigma"}


def test_truth_and_optimum_are_those_of_the_device(done: dict[str, Any]) -> None:
    bench = done["reference"]
    q = GRADER.recompute(bench)
    h = bench.device.hidden
    assert q["true_t2star_us"] == pytest.approx(decay_time(h.local_rms_nt, h.local_correlation_us))
    assert q["best_n"] == 4
    assert 8 < q["best_tau_us"] < 40


def test_fringes_need_both_quadratures_and_their_errors_are_right() -> None:
    rng = np.random.default_rng(2)

    def runs(phases: tuple[float, ...], shots: int = 2000) -> Run:
        p = np.array(phases)
        return Run(10.0, p, rng.poisson((3 + np.cos(p - 0.4))[:, None], (p.size, shots)).astype(np.uint8), 1e-4)

    assert fit_fringe([runs((0.0, np.pi))]) is None
    fits = [f for _ in range(200) if (f := fit_fringe([runs((0.0, 1.6)), runs((3.1, 4.8))])) is not None]
    pulls = [(f.phase - 0.4) / f.phase_sigma for f in fits]
    assert len(pulls) == 200
    assert 0.8 < np.std(pulls) < 1.2
    assert abs(np.mean(pulls)) < 0.3
    assert fits[0].along(0.4)[0] == pytest.approx(1, abs=6 * fits[0].along(0.4)[1])


def test_slow_noise_that_all_shots_share_is_in_the_error() -> None:
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.normal(0, 1.0, 400), 30)  # 30 shots of 1e-4 s share it: shorter than a batch
    counts = rng.poisson(np.exp(0.2 * slow) * 5, (3, slow.size)).astype(np.uint8)
    counts[1] = rng.poisson(5.0, slow.size)
    fits = [fit_fringe([Run(10.0, np.array([0.0, np.pi / 2, np.pi]), c, 1e-4)]) for c in (counts, rng.permuted(counts, axis=1))]
    slowly, shuffled = (f.cov for f in fits if f is not None)
    # what 0 and pi share cancels in the quadrature along them, not in the other
    assert slowly[0, 0] == pytest.approx(shuffled[0, 0], rel=0.5)
    assert slowly[1, 1] > 2 * shuffled[1, 1]


def test_unwrapping_tells_when_two_fields_fit() -> None:
    def seen(tau: float) -> Any:
        p = np.arange(4) * np.pi / 2
        mean = 3 + np.cos(p - 0.3 * tau)
        return fit_fringe([Run(tau, p, np.random.default_rng(1).poisson(mean[:, None], (4, 4000)).astype(np.uint8), 1e-4)])

    one, both = [seen(10.0)], [seen(10.0), seen(1.0)]
    assert unwrapped(np.array([10.0]), one, -2, 2, 0.1)[1] < 1
    value, rival = unwrapped(np.array([10.0, 1.0]), both, -2, 2, 0.1)
    assert value == pytest.approx(0.3, abs=0.02)
    assert rival > 12


def test_the_instruction_states_the_numbers_of_the_grader_and_the_card() -> None:
    text = re.sub(r"\s+", " ", CARD.instruction())
    low, high = module.SIGMA_RANGE
    for phrase in (
        f"at least {module.DELAYS_SINGLE} delays", f"at least {module.DELAYS_BLOCK} delays", f"at least {module.DELAY_SHOTS} shots",
        f"at least {module.RIVAL_CHI2:g} in chi^2", f"further than {module.RIVAL_NT:g} nT", f"within {module.BIND_SIGMAS} sigma",
        f"between {low} and {high} times", f"within {100 * module.T2_BIND:.0f} %", f"within {100 * module.T2_TOLERANCE:.0f} %",
        f"at most {module.SIGMA_FACTOR} times", f"within {module.ERROR_SIGMAS:g} sigma", f"{module.LAB_S:g} s of lab clock",
        f"| lab clock | {CARD.budget['lab_s']:.0f} s |", f"| jobs | {CARD.budget['jobs']:.0f} |", "| shots | 1 000 000 |",
    ):  # fmt: skip
        assert phrase in text, phrase
    assert CARD.budget["lab_s"] == module.LAB_S
    assert CARD.budget["shots"] == 1_000_000
