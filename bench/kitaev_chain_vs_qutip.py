"""A charge diagram of the two-dot chain in thermal equilibrium: ours against qutip, pixel by pixel.

    python -m bench.kitaev_chain_vs_qutip [--pixels 21]

Both sides give <n_L> and <n_R> of the Gibbs state at every pixel: ours from the closed form of all four levels, qutip from `eigenstates` of
its 4 x 4 Hamiltonian. CPU time of one process and one thread.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

from bench.processes import timed
from qtypes.kitaev_chain.physics import K_B, Chain

T, DELTA, U, TE_MK = 11.0, 14.0, 6.0, 45.0
REACH_UEV = 45.0
GOAL = 50.0


def ours(axis: np.ndarray) -> np.ndarray:
    """Occupations `(n, n, 2)`."""
    return Chain(T, DELTA, U).occupation(axis[:, None], axis[None, :], TE_MK)


def theirs(axis: np.ndarray) -> np.ndarray:
    """The same by qutip."""
    lower = qutip.Qobj([[0, 1], [0, 0]])
    c = [qutip.tensor(lower, qutip.qeye(2)), qutip.tensor(qutip.sigmaz(), lower)]
    n = [x.dag() * x for x in c]
    hop = T * c[0].dag() * c[1] + DELTA * c[0].dag() * c[1].dag()
    fixed = U * n[0] * n[1] + hop + hop.dag()
    found = np.empty((len(axis), len(axis), 2))
    for i, left in enumerate(axis):
        for j, right in enumerate(axis):
            energies, states = (fixed + left * n[0] + right * n[1]).eigenstates()
            weights = np.exp(-(energies - energies[0]) / (K_B * TE_MK))
            found[i, j] = [weights @ [qutip.expect(op, s) for s in states] / weights.sum() for op in n]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pixels", type=int, default=21, help="pixels along each axis")
    args = parser.parse_args()
    axis = np.linspace(-REACH_UEV, REACH_UEV, args.pixels)
    ours(axis)
    reference, cpu_q = timed(lambda: theirs(axis), 1)
    result, cpu_o = timed(lambda: ours(axis), 20)
    print(f"qutip eigenstates: {cpu_q:8.4f} s")
    print(f"ours:              {cpu_o:8.5f} s, largest difference {np.abs(result - reference).max():.1e}")
    ratio = cpu_q / cpu_o
    verdict = "met" if ratio >= GOAL else "missed"
    print(f"ratio at equal work ({args.pixels} x {args.pixels} pixels): {ratio:.0f}; goal {GOAL:.0f}: {verdict}")


if __name__ == "__main__":
    main()
