"""Ratings against a direct optimiser and against what must hold of any rating."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from results.races import ELO_SCALE, RIDGE, aggregate, elo, rate, strengths, wins


def direct(table: np.ndarray) -> np.ndarray:
    """The same target by a general optimiser."""

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        gap = theta[:, None] - theta[None, :]
        value = (table * np.logaddexp(0, -gap)).sum() + RIDGE / 2 * theta @ theta
        lost = table / (1 + np.exp(gap))
        return value, -(lost.sum(1) - lost.sum(0)) + RIDGE * theta

    theta = np.zeros(len(table))
    for _ in range(3):
        theta = minimize(loss, theta, jac=True, method="BFGS", options={"gtol": 1e-12, "maxiter": 5000}).x
    return theta


@pytest.mark.parametrize("seed", range(6))
def test_strengths_agree_with_a_direct_optimiser(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 18))
    table = rng.poisson(2.0, (n, n)).astype(float)
    np.fill_diagonal(table, 0)
    table[:, 0] = 0  # one that never loses
    table[-1, :] = 0  # one that never wins
    found = strengths(table)
    other = direct(table)
    assert found == pytest.approx(other - other.mean(), abs=1e-8)
    assert np.isfinite(found).all()


def test_two_systems_have_a_closed_form() -> None:
    # by symmetry theta = (t, -t), and the target is stationary where w sigma(-2 t) = RIDGE t
    w = 9.0
    t = strengths(np.array([[0.0, w], [0.0, 0.0]]))[0]
    assert w / (1 + math.exp(2 * t)) == pytest.approx(RIDGE * t, rel=1e-10)


def test_many_games_give_the_odds_of_the_wins() -> None:
    theta = strengths(np.array([[0.0, 1e7], [1e6, 0.0]]))
    points = elo(theta)
    assert points[0] - points[1] == pytest.approx(400.0, abs=0.01)
    assert points.mean() == pytest.approx(1000.0)


def test_the_gate_decides_before_the_metric_and_ties_and_two_failures_are_left_out() -> None:
    systems, table = wins({"a": [1.0, None], "b": [1.0, 2.0], "c": [None, None]})
    assert systems == ["a", "b", "c"]
    # a's 1.0 ties with b's 1.0, beats 2.0; a's failure loses to both of b; failures of a and c do not meet
    assert table.tolist() == [[0, 1, 2], [2, 0, 4], [0, 0, 0]]


def test_a_system_that_never_met_another_is_not_rated_and_does_not_move_the_mean() -> None:
    ratings = rate({"a": [1.0], "b": [2.0], "idle": []})
    assert ratings["idle"].elo is None
    assert ratings["idle"].games == 0
    assert ratings["a"].elo + ratings["b"].elo == pytest.approx(2000.0)
    failures = rate({"a": [None], "b": [None]})
    assert all(r.elo is None for r in failures.values())


def test_the_aggregate_weighs_tasks_by_games_and_its_interval_holds_it() -> None:
    races = {
        "large": {"a": [1.0, 1.1, 1.2], "b": [2.0, 2.1, 1.05], "c": [None, 3.0, 3.1]},
        "small": {"a": [5.0], "b": [4.0]},
    }
    found = aggregate(races, seed=1)
    large, small = rate(races["large"]), rate(races["small"])
    expected = (large["a"].elo * large["a"].games + small["a"].elo * small["a"].games) / (large["a"].games + small["a"].games)
    assert found["a"].elo == pytest.approx(expected)
    assert set(found["c"].tasks) == {"large"}
    for s in "abc":
        assert found[s].low <= found[s].elo <= found[s].high
    assert aggregate(races, seed=1) == found


def test_better_by_every_trial_is_better_by_rating_with_points_on_the_scale() -> None:
    ratings = rate({"a": [1.0, 1.0, 1.0], "b": [2.0, 2.0, 2.0]})
    t = (ratings["a"].elo - ratings["b"].elo) / ELO_SCALE / 2
    assert 9 / (1 + math.exp(2 * t)) == pytest.approx(RIDGE * t, rel=1e-8)


@pytest.mark.parametrize("table", [np.zeros((2, 3)), np.array([[0.0, -1.0], [0.0, 0.0]]), np.array([[0.0, np.nan], [0.0, 0.0]])])
def test_a_table_that_is_none_is_refused(table: np.ndarray) -> None:
    with pytest.raises(ValueError, match="square table"):
        strengths(table)
