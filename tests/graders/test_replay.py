"""graders.kit.replay: failure rates that are sampled on until they are clear."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graders.kit.replay import Criterion, Proportion, Stream, per_cycle, rate, settle


def coin(name: str, p: float, seed: int = 0, first: int = 1000, cap: int = 64_000, block: int = 20_000) -> Stream:
    """A stream that fails with probability `p`."""

    def count(shots: int, s: int) -> int:
        return int(np.random.default_rng(s).binomial(shots, p))

    return Stream(name, count, np.random.SeedSequence(seed), first, cap, block)


def below(limit: float, *names: str) -> Criterion:
    return Criterion("failure rate", names, rate, limit)


def test_a_clear_criterion_takes_the_first_shots_only() -> None:
    stream = coin("a", 0.1)
    (done,) = settle([stream], [below(0.2, "a")])
    assert stream.drawn.shots == 1000
    assert done.clear
    assert done.value < done.criterion.limit


def test_a_close_criterion_doubles_its_shots_until_it_is_clear() -> None:
    stream = coin("a", 0.19)
    (done,) = settle([stream], [below(0.2, "a")])
    assert done.clear
    assert stream.drawn.shots in {1000 * 2**k for k in range(1, 7)}
    assert abs(done.value - 0.2) > 3 * done.stderr


def test_a_criterion_at_its_threshold_stops_at_the_cap_and_says_so() -> None:
    stream = coin("a", 0.2)
    stream.count = lambda shots, seed: shots // 5
    (done,) = settle([stream], [below(0.2, "a")])
    assert stream.drawn.shots == 64_000
    assert not done.clear
    assert "at the cap" in done.note


def test_the_verdict_near_a_threshold_does_not_depend_on_the_seed() -> None:
    for p, passes in ((0.196, True), (0.204, False)):
        verdicts = set()
        for seed in range(40):
            (done,) = settle([coin("a", p, seed, cap=1_024_000)], [below(0.2, "a")])
            verdicts.add(done.value <= 0.2)
        assert verdicts == {passes}


def test_only_streams_of_undecided_criteria_grow() -> None:
    streams = [coin("far", 0.5), coin("near", 0.1999, 1), coin("other", 0.9, 2)]
    settle(streams, [below(0.2, "far"), below(0.2, "near"), below(0.2, "other")])
    assert streams[1].drawn.shots == 64_000
    assert streams[0].drawn.shots == streams[2].drawn.shots == 1000


def test_blocks_are_bounded_and_no_two_share_a_seed() -> None:
    asked: list[tuple[int, int]] = []

    def count(shots: int, seed: int) -> int:
        asked.append((shots, seed))
        return shots // 5

    stream = Stream("a", count, np.random.SeedSequence(1), 5000, 20_000, block=2000)
    settle([stream], [below(0.2, "a")])
    assert sum(n for n, _ in asked) == 20_000
    assert max(n for n, _ in asked) == 2000
    assert len({s for _, s in asked}) == len(asked)
    assert all(0 <= s < 2**63 for _, s in asked)


def test_equal_seeds_give_equal_results() -> None:
    first, second = (settle([coin("a", 0.19, 7)], [below(0.2, "a")])[0] for _ in range(2))
    assert (first.value, first.shots) == (second.value, second.shots)


def test_the_standard_error_is_binomial_and_never_zero() -> None:
    assert Proportion(2000, 10_000).stderr == pytest.approx(math.sqrt(0.2 * 0.8 / 10_000), rel=1e-3)
    assert 0 < Proportion(0, 10_000).stderr < 3e-4
    assert 0 < Proportion(10_000, 10_000).stderr < 3e-4


def test_the_mean_of_streams_has_the_error_of_a_mean() -> None:
    drawn = [Proportion(k, 1000) for k in (100, 200, 300)]
    value, stderr = rate(drawn)
    assert value == pytest.approx(0.2)
    assert stderr == pytest.approx(math.sqrt(sum(p.stderr**2 for p in drawn)) / 3)


@pytest.mark.parametrize("rounds", [1, 10, 25])
@pytest.mark.parametrize("eps", [1e-4, 1e-2])
def test_error_per_cycle_inverts_the_composition_of_independent_flips(rounds: int, eps: float) -> None:
    p = (1 - (1 - 2 * eps) ** rounds) / 2
    shots = 10**9
    value, stderr = per_cycle(rounds)([Proportion(round(p * shots), shots)])
    assert value == pytest.approx(eps, rel=1e-3)
    step = 1e-6
    slope = ((1 - (1 - 2 * (p + step)) ** (1 / rounds)) - (1 - (1 - 2 * p) ** (1 / rounds))) / 2 / step
    assert stderr == pytest.approx(slope * math.sqrt(p * (1 - p) / shots), rel=1e-2)


def test_error_per_cycle_of_a_coin_toss_is_one_half() -> None:
    value, stderr = per_cycle(10)([Proportion(700, 1000)])
    assert value == pytest.approx(0.5, abs=0.05)
    assert math.isfinite(stderr)
