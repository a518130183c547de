"""Ratios of logical errors of decoders on the same shots."""

from __future__ import annotations

import numpy as np
import pytest

from graders.kit.paired import JointStream, error_per_cycle, ratio_criterion, ratio_per_cycle
from graders.kit.replay import settle


def stream(p_both: float, p_first: float, p_second: float, *, first: int = 20_000, cap: int = 80_000, seed: int = 1) -> JointStream:
    """Two decoders that fail together, or one alone, with these probabilities."""

    def count(shots: int, seed: int) -> np.ndarray:
        u = np.random.default_rng(seed).random(shots)
        return np.stack([u < p_both + p_first, (u < p_both) | ((u >= p_both + p_first) & (u < p_both + p_first + p_second))], axis=1)

    return JointStream("s", count, np.random.SeedSequence(seed), first, cap)


def test_joint_counts_and_ratio_are_those_of_the_shots() -> None:
    s = stream(0.02, 0.01, 0.005)
    s.grow()
    assert s.drawn.shots == 20_000
    assert s.drawn.both[0, 1] == s.drawn.both[1, 0] <= s.drawn.both.diagonal().min()
    value, stderr = ratio_per_cycle(1, 0, 1)([s.drawn])
    assert value == pytest.approx(s.drawn.rate(0) / s.drawn.rate(1))
    assert value == pytest.approx(0.03 / 0.025, abs=4 * stderr)


def test_the_standard_error_is_the_scatter_over_repetitions_and_smaller_than_without_pairing() -> None:
    estimate, values, stated = ratio_per_cycle(5, 0, 1), [], []
    for seed in range(120):
        s = stream(0.02, 0.004, 0.004, seed=seed)
        s.grow()
        value, stderr = estimate([s.drawn])
        values.append(value)
        stated.append(stderr)
    assert np.std(values) == pytest.approx(np.mean(stated), rel=0.25)
    unpaired = np.sqrt(2 * 0.976 / 0.024 / 20_000)
    assert np.mean(stated) < 0.7 * unpaired


def test_a_geometric_mean_over_streams_halves_the_log_of_one_factor() -> None:
    same, double = stream(0.02, 0.0, 0.0), stream(0.02, 0.02, 0.0)
    for s in (same, double):
        s.grow()
    single, _ = ratio_per_cycle(3, 0, 1)([double.drawn])
    mean, _ = ratio_per_cycle(3, 0, 1)([same.drawn, double.drawn])
    assert mean == pytest.approx(single**0.5)


def test_equal_decoders_have_ratio_one_without_error() -> None:
    s = stream(0.02, 0.0, 0.0)
    s.grow()
    assert ratio_per_cycle(4, 0, 1)([s.drawn]) == (1.0, 0.0)


def test_a_ratio_near_its_limit_takes_more_shots_up_to_the_cap() -> None:
    clear, near = stream(0.02, 0.02, 0.0), stream(0.02, 0.004, 0.004)
    near.name = "near"
    settled = settle([clear, near], [ratio_criterion("a", ("s",), 5, 1.18), ratio_criterion("b", ("near",), 5, 1.0)])
    assert [r.shots for r in settled] == [20_000, 80_000]
    assert [r.clear for r in settled] == [True, False]


def test_a_decoder_that_never_failed_has_a_finite_ratio() -> None:
    s = stream(0.0, 0.0, 0.0)
    s.grow()
    value, stderr = ratio_per_cycle(4, 0, 1)([s.drawn])
    assert np.isfinite([value, stderr]).all()


def test_error_per_cycle_composes_to_the_failure_of_a_memory() -> None:
    eps = error_per_cycle(0.07, 9)
    assert 0.5 * (1 - (1 - 2 * eps) ** 9) == pytest.approx(0.07)
