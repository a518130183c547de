"""The hidden Markov model equals a shot-by-shot recursion and recovers a telegraph process."""

import numpy as np
import pytest
from scipy.linalg import expm

from graders.kit import hmm
from qtypes.kit.lab_clock_noise import Telegraph

DWELL = np.array([8.0, 3.0])


def noisy_bins(n, bin_s, separation, seed=1):
    """States of a telegraph process in bins, and log likelihoods under a grid of means of a unit Gaussian."""
    states = Telegraph(*DWELL, seed=seed).state((np.arange(n) + 0.5) * bin_s)
    data = np.random.default_rng(seed).normal(separation * states, 1.0)
    grid = np.linspace(-1.0, 3.0, 41)
    return states, grid, -((data - grid[:, None]) ** 2) / 2


def test_transitions_are_the_exponential_of_the_generator():
    generator = np.array([[-1 / 8, 1 / 8], [1 / 3, -1 / 3]])
    gaps = np.array([0.1, 2.0, 50.0])
    assert hmm.transitions(DWELL, gaps) == pytest.approx(np.stack([expm(generator * g) for g in gaps]))
    assert hmm.stationary(DWELL) @ generator == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_likelihood_and_posterior_equal_the_textbook_recursion(n):
    rng = np.random.default_rng(n)
    emission, gaps = rng.normal(size=(n, 2)), rng.uniform(0.1, 4.0, n - 1)
    step = hmm.transitions(DWELL, gaps)
    alpha = [hmm.stationary(DWELL) * np.exp(emission[0])]
    for k in range(1, n):
        alpha.append(alpha[-1] @ step[k - 1] * np.exp(emission[k]))
    beta = [np.ones(2)]
    for k in range(n - 2, -1, -1):
        beta.insert(0, step[k] @ (np.exp(emission[k + 1]) * beta[0]))
    expected = np.array(alpha) * np.array(beta)
    result = hmm.posterior(emission, DWELL, gaps)
    assert result.log_likelihood == pytest.approx(np.log(alpha[-1].sum()))
    assert hmm.log_likelihood(emission, DWELL, gaps) == pytest.approx(result.log_likelihood)
    assert result.gamma == pytest.approx(expected / expected.sum(axis=1, keepdims=True))
    assert result.joint.sum(axis=2) == pytest.approx(result.gamma[:-1])


def test_a_long_stream_does_not_underflow():
    result = hmm.posterior(np.full((30_000, 2), -800.0), DWELL, np.full(29_999, 0.2))
    assert result.log_likelihood == pytest.approx(-800.0 * 30_000)
    assert result.gamma[15_000] == pytest.approx(hmm.stationary(DWELL))


def test_baum_welch_recovers_levels_and_dwell_times():
    states, grid, table = noisy_bins(20_000, 0.25, separation=1.5)
    fit = hmm.baum_welch(table, np.full(19_999, 0.25), 0.25, start=(12, 20), dwell_s=(2.0, 2.0))
    assert grid[list(fit.index)] == pytest.approx([0.0, 1.5], abs=0.11)
    assert fit.dwell_s == pytest.approx(DWELL, rel=0.2)
    assert fit.posterior.gamma[:, 1].mean() == pytest.approx(states.mean(), abs=0.02)
    assert np.mean((fit.posterior.gamma[:, 1] > 0.5) == states) > 0.93
