"""Statistics of repeated trials: intervals of a proportion, pass@k and pass^k, rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z68 = 1.0
"""Nominal 68 %, as published campaigns of this kind draw their error bars."""
Z95 = 1.959963984540054


def wilson(passed: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a proportion (Wilson 1927); `(0, 1)` for no data."""
    if n == 0:
        return 0.0, 1.0
    p, z2 = passed / n, z * z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def pass_at_k(passed: int, n: int, k: int) -> float:
    """Probability that at least one of `k` trials passes, without bias from `passed` of `n >= k` (Chen et al. 2021)."""
    _check(passed, n, k)
    return 1.0 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(passed: int, n: int, k: int) -> float:
    """Probability that all of `k` trials pass, without bias from `passed` of `n >= k` (Yao et al. 2024)."""
    _check(passed, n, k)
    return math.comb(passed, k) / math.comb(n, k)


def _check(passed: int, n: int, k: int) -> None:
    if not (1 <= k <= n and 0 <= passed <= n):
        raise ValueError(f"needs 0 <= passed <= n and 1 <= k <= n, got passed {passed}, n {n}, k {k}")


def mean_over_tasks(counts: Sequence[tuple[int, int]], k: int, *, all_of: bool = False) -> float | None:
    """Mean of pass@k (pass^k with `all_of`) over tasks `(passed, n)`; tasks with fewer than `k` trials are left out, None where all are."""
    rule = pass_hat_k if all_of else pass_at_k
    found = [rule(passed, n, k) for passed, n in counts if n >= k]
    return sum(found) / len(found) if found else None


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rho with mean ranks for ties; None where one side does not vary."""
    if len(x) != len(y):
        raise ValueError(f"two samples of one length are needed, got {len(x)} and {len(y)}")
    a, b = _ranks(x), _ranks(y)
    n = len(a)
    if n < 2:
        return None
    ma, mb = sum(a) / n, sum(b) / n
    va, vb = sum((u - ma) ** 2 for u in a), sum((v - mb) ** 2 for v in b)
    if va == 0 or vb == 0:
        return None
    return sum((u - ma) * (v - mb) for u, v in zip(a, b, strict=True)) / math.sqrt(va * vb)


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda k: values[k])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for k in order[start : end + 1]:
            ranks[k] = (start + end) / 2 + 1
        start = end + 1
    return ranks
