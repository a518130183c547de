"""Statistics against independent ones and closed forms."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from results.statistics import Z68, Z95, mean_over_tasks, pass_at_k, pass_hat_k, rank_correlation, wilson


@pytest.mark.parametrize("z", [Z68, Z95])
@pytest.mark.parametrize("passed, n", [(0, 7), (3, 7), (7, 7), (58, 117), (1, 1000)])
def test_wilson_agrees_with_scipy(passed: int, n: int, z: float) -> None:
    level = stats.norm.cdf(z) - stats.norm.cdf(-z)
    other = stats.binomtest(passed, n).proportion_ci(confidence_level=level, method="wilson")
    assert wilson(passed, n, z) == pytest.approx((other.low, other.high), abs=1e-12)


def test_wilson_agrees_with_scipy_on_random_counts() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        n = int(rng.integers(1, 3000))
        passed = int(rng.choice([0, n, rng.integers(n + 1)]))
        other = stats.binomtest(passed, n).proportion_ci(confidence_level=0.95, method="wilson")
        assert wilson(passed, n) == pytest.approx((other.low, other.high), abs=1e-8)


@pytest.mark.parametrize("passed, n", [(0, 20), (1, 20), (10, 20), (19, 20), (20, 20), (1, 1), (150, 400)])
def test_the_bounds_of_a_wilson_interval_solve_its_equation(passed: int, n: int) -> None:
    share = passed / n
    for bound in wilson(passed, n):
        assert abs(share - bound) == pytest.approx(Z95 * math.sqrt(bound * (1 - bound) / n), abs=1e-12)


def test_wilson_intervals_of_the_extremes_have_their_closed_form() -> None:
    z2 = Z95**2
    assert wilson(0, 20) == pytest.approx((0.0, z2 / (20 + z2)))
    assert wilson(20, 20) == pytest.approx((20 / (20 + z2), 1.0))
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("passed, n, k", [(0, 3, 1), (1, 3, 1), (2, 5, 3), (4, 5, 2), (5, 5, 5)])
def test_pass_at_k_and_pass_hat_k_are_what_all_choices_of_k_trials_show(passed: int, n: int, k: int) -> None:
    trials = [True] * passed + [False] * (n - passed)
    choices = list(itertools.combinations(trials, k))
    assert pass_at_k(passed, n, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(passed, n, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@pytest.mark.parametrize("passed, n, k", [(1, 2, 3), (3, 2, 1), (-1, 2, 1), (1, 2, 0)])
def test_impossible_counts_are_refused(passed: int, n: int, k: int) -> None:
    for rule in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="passed"):
            rule(passed, n, k)


def test_a_mean_over_tasks_leaves_out_tasks_with_too_few_trials() -> None:
    assert mean_over_tasks([(1, 2), (3, 3), (1, 1)], 2) == pytest.approx((1.0 + 1.0) / 2)
    assert mean_over_tasks([(1, 2), (3, 3), (1, 1)], 2, all_of=True) == pytest.approx((0.0 + 1.0) / 2)
    assert mean_over_tasks([(1, 1)], 2) is None


def test_rank_correlation_agrees_with_scipy_with_and_without_ties() -> None:
    rng = np.random.default_rng(0)
    for levels in (3, 1000):
        x, y = rng.integers(levels, size=(2, 40)).astype(float)
        assert rank_correlation(x.tolist(), y.tolist()) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1], [2]) is None
    assert not math.isnan(rank_correlation([1, 2], [2, 1]) or math.nan)
