"""Reference solver of erasure_decoupling.

1. Prepared g, e and f: three-level readout, errors of the check.
2. Pulse numbers with XY8 phases at the full storage time: contrast x kept share shows where the noise peaks meet the pulses.
3. The best seven again, with more shots; then the best three of these.
4. The sequence with its checks and without; a second check where too much e stays undetected.
"""

from __future__ import annotations

from typing import Any

from storage import CHECK_US, END, Readout, answer, confirm, equally_spaced, scan

import lab

ROUNDS = ((33, 1000), (7, 3000), (3, 6000))
"""Pulse numbers in the running, and shots for each input, in the three rounds of the choice."""
MOST_UNDETECTED = 0.008


def choose(dev: lab.Lab, readout: Readout) -> tuple[int, list[str]]:
    """The pulse number that preserves most: all are tried, the best again with more shots, the best of those once more."""
    total: dict[int, float] = {}
    weight: dict[int, int] = {}
    jobs: list[str] = []
    numbers = [*range(1, 32), 36, 42]
    for count, shots in ROUNDS:
        numbers = sorted(numbers, key=lambda n: -total[n] / weight[n] if weight else n)[:count]
        seen, more = scan(dev, readout, numbers, shots)
        jobs += more
        for n, s in seen.items():
            total[n], weight[n] = total.get(n, 0.0) + shots * s.preserved, weight.get(n, 0) + shots
        print("preserved:", {n: round(total[n] / weight[n], 3) for n in numbers})
    return max(numbers, key=lambda n: total[n] / weight[n]), jobs


def second_check(times: list[float]) -> float:
    """Where another check fits: before the one at the end, or between the last two pulses."""
    if not times or times[-1] + 0.07 <= END - CHECK_US:
        return END - CHECK_US
    return (times[-1] + times[-2] - CHECK_US) / 2


def study(dev: lab.Lab) -> dict[str, Any]:
    """The answer."""
    readout = Readout(dev)
    print(f"a check misses {readout.missed:.3f} of e and flags {readout.false:.3f} of the rest")
    pulses, jobs = choose(dev, readout)
    sequence = equally_spaced(pulses)
    seen, own = confirm(dev, readout, sequence)
    if seen.undetected > MOST_UNDETECTED:
        sequence = equally_spaced(pulses, (second_check(sequence["pulse_times_us"]), END))
        seen, own = confirm(dev, readout, sequence)
    return answer(sequence, seen, [readout.job, *jobs, *own])


def main() -> None:
    with lab.connect() as dev:
        print(dev.submit_answer(study(dev)))


if __name__ == "__main__":
    main()
