"""Which stabilizers of the prepared state to measure, so that each dangerous error flips at least one.

A check is a product of rows of the state's group, as a 0/1 vector over the rows; it shows the errors whose syndrome has odd overlap with
it. A check drawn at random shows half of any set of errors, so that few are needed; the greedy choice takes the one that shows most of what
is left for its price, one flag plus `gate_price` for each qubit that it touches: of all members of a small group, else where climbing from
several starts ends.
"""

from __future__ import annotations

from functools import cache

import numpy as np

SMALL = 12
"""Qubits up to which all members of the group are compared."""
TRIES = 6
NOISE = 0.3
STARTS = 8
SAMPLE = 400
"""Most errors that a climb looks at; which ones a check shows is counted over all."""


def climb(left: np.ndarray, rows: np.ndarray, start: np.ndarray, gate_price: float) -> tuple[float, np.ndarray]:
    """Toggle rows of the check while errors shown per price grow. `left` `(m, n)` float32 syndromes, `rows` `(n, 2 n)` uint8. Returns that
    ratio and the check."""
    n = len(rows)
    check = start.copy()
    pauli = (check.astype(np.int64) @ rows & 1).astype(np.uint8)
    shown = (left @ check.astype(np.float32)) % 2
    columns = left.sum(0)
    weight = int((pauli[:n] | pauli[n:]).sum())
    value = float(shown.sum()) / (1 + gate_price * weight) if weight else 0.0
    while True:
        counts = shown.sum() + columns - 2 * (shown @ left)
        toggled = rows ^ pauli
        w = (toggled[:, :n] | toggled[:, n:]).sum(1)
        ratio = np.where(w > 0, counts / (1 + gate_price * w), 0)
        j = int(ratio.argmax())
        if ratio[j] <= value + 1e-9:
            return value, check
        value = float(ratio[j])
        check[j] ^= 1
        pauli = toggled[j]
        shown = np.abs(shown - left[:, j])


@cache
def members(n: int) -> np.ndarray:
    """`(2^n - 1, n)` uint8: all checks."""
    return (np.arange(1, 1 << n)[:, None] >> np.arange(n) & 1).astype(np.uint8)


def choose_of_all(errors: np.ndarray, rows: np.ndarray, gate_price: float, rng: np.random.Generator) -> list[np.ndarray]:
    """The same from all members of the group: the cheapest of some greedy choices with noise."""
    n = len(rows)
    checks = members(n)
    paulis = checks.astype(np.float32) @ rows.astype(np.float32) % 2
    prices = 1 + gate_price * np.maximum(paulis[:, :n], paulis[:, n:]).sum(1)
    shown = errors.astype(np.float32) @ checks.T.astype(np.float32) % 2
    best: tuple[float, list[int]] = (np.inf, [])
    for k in range(TRIES):
        left, taken = shown, []
        while len(left):
            ratio = left.sum(0) / prices
            taken.append(int((ratio * (1 + NOISE * rng.random(len(prices))) if k else ratio).argmax()))
            left = left[left[:, taken[-1]] == 0]
        best = min(best, (float(prices[taken].sum()), taken))
    return _pruned([checks[c] for c in best[1]], errors.astype(np.float32))


def choose(errors: np.ndarray, rows: np.ndarray, gate_price: float, rng: np.random.Generator, starts: int = STARTS) -> list[np.ndarray]:
    """Checks that together show all `errors` `(m, n)`, none of which is zero."""
    n = len(rows)
    if n <= SMALL:
        return choose_of_all(errors, rows, gate_price, rng)
    everything = errors.astype(np.float32)
    left, checks = everything, []
    while len(left):
        sample = left if len(left) <= SAMPLE else left[rng.choice(len(left), SAMPLE, replace=False)]
        singles = sample.sum(0) / (1 + gate_price * (rows[:, :n] | rows[:, n:]).sum(1))
        order = np.argsort(-singles * (1 + 0.2 * rng.random(n)))
        best: tuple[float, np.ndarray] = (-1.0, np.zeros(n, np.uint8))
        for k in range(starts):
            start = np.zeros(n, np.uint8)
            if k < starts // 2:
                start[order[k % n]] = 1
            else:
                start[rng.random(n) < 0.5 * rng.random()] = 1
            best = max(best, climb(sample, rows, start, gate_price), key=lambda found: found[0])
        checks.append(best[1])
        left = left[(left @ best[1].astype(np.float32)) % 2 == 0]
    return _pruned(checks, everything)


def _pruned(checks: list[np.ndarray], errors: np.ndarray) -> list[np.ndarray]:
    """Without checks that the others make needless, the first chosen go first."""
    kept = list(checks)
    for check in checks:
        others = [c for c in kept if c is not check]
        if others and ((errors @ np.array(others, np.float32).T) % 2).any(1).all():
            kept = others
    return kept
