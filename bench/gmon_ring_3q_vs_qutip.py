"""Two excitations in a ring of three modulated couplers, 12 durations up to 250 ns: ours against qutip `mesolve`.

    python -m bench.gmon_ring_3q_vs_qutip [--until-ns 250]

Both sides evolve density matrices with decay and dephasing under the same time-dependent Hamiltonian, without a rotating-wave
approximation; ours on 10 states, qutip on the 27 of three three-level systems with its default
tolerances. CPU time of one process and one thread.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

from bench.processes import timed
from qtypes.gmon_ring_3q import physics
from qtypes.gmon_ring_3q.physics import EDGES, TWO_PI, Ring

DURATIONS = 12
GOAL = 5.0
FRAME = np.array([70.0, 150.0, 0.0])
RING = Ring(
    frame_mhz=FRAME, delta_mhz=np.array([0.2, -0.3, 0.4]), alpha_mhz=np.array([-198.0, -200.0, -203.0]), dc_mhz=np.array([0.5, -0.8, 1.0]),
    ac_mhz=np.full(3, 6.0), tone_mhz=FRAME - np.roll(FRAME, -1), phase_rad=np.array([0.4, -1.0, 2.2]), t1_us=np.array([20.0, 25.0, 30.0]),
    tphi_us=np.array([5.0, 6.0, 7.0]), sigma_mhz=0.0,
)  # fmt: skip
STATE = "011"


def ours(durations_ns: np.ndarray) -> np.ndarray:
    """Populations `(durations, 8)` of the bit strings."""
    return physics.outcomes(physics.propagate(RING, physics.prepared((STATE,)), durations_ns)[:, 0], "ZZZ")


def mesolve(durations_ns: np.ndarray) -> np.ndarray:
    """The same by qutip."""
    one = qutip.destroy(3)
    a = [qutip.tensor([one if k == j else qutip.qeye(3) for k in range(3)]) for j in range(3)]
    w = RING.frame_mhz + RING.delta_mhz
    terms: list[object] = [
        sum(TWO_PI * (w[j] * a[j].dag() * a[j] + 0.5 * RING.alpha_mhz[j] * a[j].dag() ** 2 * a[j] ** 2) for j in range(3))
    ]
    for c, (j, k) in enumerate(EDGES):
        hop = a[j].dag() * a[k]

        def g(t: float, c: int = c) -> float:
            return float(TWO_PI * (RING.dc_mhz[c] + RING.ac_mhz[c] * np.cos(TWO_PI * RING.tone_mhz[c] * t - RING.phase_rad[c])))

        terms.append([hop + hop.dag(), g])
    jumps = [m for j in range(3) for m in (np.sqrt(1 / RING.t1_us[j]) * a[j], np.sqrt(2 / RING.tphi_us[j]) * a[j].dag() * a[j])]
    start = qutip.tensor([qutip.basis(3, int(s)) for s in STATE])
    options = {"progress_bar": "", "nsteps": 1_000_000}
    times = np.concatenate(([0.0], 1e-3 * durations_ns))
    states = qutip.mesolve(terms, qutip.ket2dm(start), times, jumps, options=options).states[1:]
    found = np.zeros((len(states), 8))
    for index, n in enumerate(np.ndindex(3, 3, 3)):
        found[:, int(np.minimum(n, 1) @ [4, 2, 1])] += [s.diag()[index].real for s in states]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--until-ns", type=int, default=250, help="longest duration")
    args = parser.parse_args()
    durations = np.linspace(0, args.until_ns, DURATIONS + 1).astype(np.int64)[1:]
    ours(durations[:1])
    theirs, cpu_q = timed(lambda: mesolve(durations), 1)
    result, cpu_o = timed(lambda: ours(durations), 3)
    print(f"qutip mesolve: {cpu_q:8.3f} s")
    print(f"ours:          {cpu_o:8.3f} s, largest difference of populations {np.abs(theirs - result).max():.1e}")
    ratio = cpu_q / cpu_o
    verdict = "met" if ratio >= GOAL else "missed"
    print(f"ratio at equal work ({DURATIONS} durations up to {args.until_ns} ns): {ratio:.0f}; goal {GOAL:.0f}: {verdict}")


if __name__ == "__main__":
    main()
