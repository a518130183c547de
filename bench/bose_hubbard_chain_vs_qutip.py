"""Quench of four bosons on six sites, 18 ns with loss and dephasing: ours against qutip `mcsolve` and `sesolve` in the same sector.

    python -m bench.bose_hubbard_chain_vs_qutip [--shots 300]

Both sides propagate the same 126-dimensional sector. `sesolve` has no loss and gives the probabilities only; `mcsolve` has the dephasing
jumps, which keep the sector, and a final state for each shot. CPU time of one process and one thread.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

from bench.processes import timed
from qtypes.bose_hubbard_chain.physics import NS_PER_US, SECTORS, Chain, hamiltonian, occupations, prepared, sector

GOAL = 10.0
TIMES = np.array([2.0, 4.0, 6.0, 9.0, 13.0, 18.0])
START = "020020"
J, U, MU = np.full(5, 45.0), np.full(6, -180.0), np.array([0.0, 20, -30, 10, 40, -15])
TPHI_US = np.full(6, 3.0)


def ours() -> np.ndarray:
    """Probabilities `(6, 126)`, diagonalisation included."""
    return np.abs(Chain(J, U, MU).evolved(prepared(START), TIMES)[:, SECTORS[4]]) ** 2


def sesolve(rtol: float, atol: float) -> np.ndarray:
    h = qutip.Qobj(hamiltonian(4, J, U, MU)).to("CSR")
    psi = qutip.Qobj(prepared(START)[SECTORS[4]].reshape(-1, 1))
    options = {"rtol": rtol, "atol": atol, "nsteps": 100_000, "progress_bar": ""}
    ends = qutip.sesolve(h, psi, [0.0, *TIMES], options=options).states[1:]
    return np.array([np.abs(e.full().ravel()) ** 2 for e in ends])


def our_shots(shots: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    chain = Chain(J, U, MU, np.full(6, 1e6), TPHI_US)
    return occupations(rng, chain.unravelled(rng, prepared(START), TIMES[-1], shots))


def their_shots(shots: int) -> None:
    h = qutip.Qobj(hamiltonian(4, J, U, MU)).to("CSR")
    psi = qutip.Qobj(prepared(START)[SECTORS[4]].reshape(-1, 1))
    n = sector(4).astype(float)
    jumps = [qutip.qdiags(np.sqrt(2 / (NS_PER_US * t)) * n[:, i], 0).to("CSR") for i, t in enumerate(TPHI_US)]
    options = {"keep_runs_results": True, "store_final_state": True, "progress_bar": "", "rtol": 1e-6, "atol": 1e-8}
    qutip.mcsolve(h, psi, [0.0, TIMES[-1]], jumps, ntraj=shots, options=options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=300, help="shots with jumps")
    args = parser.parse_args()
    tight = sesolve(1e-12, 1e-14)
    theirs, cpu_q = timed(lambda: sesolve(1e-7, 1e-9), 3)
    own, cpu_o = timed(ours, 3)
    print(f"probabilities at 6 times: qutip sesolve {1e3 * cpu_q:.1f} ms, error {np.abs(theirs - tight).max():.1e}")
    print(f"                          ours          {1e3 * cpu_o:.1f} ms, error {np.abs(own - tight).max():.1e}, ratio {cpu_q / cpu_o:.1f}")
    _, cpu_m = timed(lambda: their_shots(args.shots), 1)
    _, cpu_s = timed(lambda: our_shots(args.shots), 3)
    ratio = cpu_m / cpu_s
    print(f"{args.shots} shots with dephasing jumps: qutip mcsolve {cpu_m:.2f} s, ours {cpu_s:.3f} s")
    print(f"ratio {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
