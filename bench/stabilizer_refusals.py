"""How soon a circuit is refused that is not admissible: bombs of repetitions, indices and targets, noise, measurements, OpenQASM beyond the
Clifford gates; and how long the largest admissible one takes to read.

    python -m bench.stabilizer_refusals

The cases are those of `tests/stabilizer/test_circuits.py`. The alternative is stim's own parser on the largest admissible circuit, which it
takes as one instruction. Goals: 50 ms for the slowest refusal; at most 100 times stim.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import stim

from qtypes.errors import AgentError
from qtypes.stabilizer_codes.circuits import MAX_GATES, parse
from tests.stabilizer.test_circuits import REFUSED

GOAL_S, GOAL_RATIO, TIMES = 0.050, 100.0, 5


def fastest(run: Callable[[], object]) -> float:
    """Least CPU time of a few runs, s."""
    times = []
    for _ in range(TIMES):
        start = time.process_time()
        with contextlib.suppress(AgentError):
            run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    spent = {case: fastest(lambda text=text: parse(text, 5, flags=True)) for case, (text, _) in REFUSED.items()}  # type: ignore[misc]
    slowest = max(spent, key=lambda case: spent[case])
    largest = "CX " + "0 1 " * MAX_GATES
    ours, theirs = fastest(lambda: parse(largest, 2)), fastest(lambda: stim.Circuit(largest))
    median = sorted(spent.values())[len(spent) // 2]
    print(f"{len(spent)} refusals: median {1e3 * median:.2f} ms, slowest {1e3 * spent[slowest]:.1f} ms ({slowest})")
    print(f"largest admissible circuit: {1e3 * ours:.0f} ms, stim {1e3 * theirs:.1f} ms, ratio {ours / theirs:.0f}")
    met = spent[slowest] < GOAL_S and ours / theirs < GOAL_RATIO
    print(f"goals ({1e3 * GOAL_S:.0f} ms, ratio {GOAL_RATIO:.0f}): {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
