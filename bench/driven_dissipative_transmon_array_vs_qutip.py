"""Four driven transmons with a common decay channel at 40 durations up to 5 us: ours against qutip `mesolve`.

    python -m bench.driven_dissipative_transmon_array_vs_qutip [--until-ns 5000]

Both sides evolve the same 16 x 16 density matrix; `mesolve` runs once with its defaults, and errors are against qutip's Liouvillian
exponentiated by scipy. CPU time of one process and one thread.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip
from scipy.linalg import expm

from bench.processes import timed
from qtypes.driven_dissipative_transmon_array import physics
from qtypes.driven_dissipative_transmon_array.physics import Model

N = 4
DURATIONS = 40
GOAL = 20.0
RNG = np.random.default_rng(0)
MODEL = Model(
    delta_mhz=np.array([1.0, -1.0, 0.6, -0.6]), omega_mhz=RNG.uniform(3, 6, N), theta_rad=RNG.uniform(-3, 3, N), gamma_mhz=2.0,
    eta=RNG.uniform(0.92, 1.08, N), phi_rad=RNG.uniform(-3, 3, N), t1_us=np.full(N, 55.0), tphi_us=np.full(N, 45.0), thermal=0.005,
)  # fmt: skip


def ours(durations_ns: np.ndarray) -> np.ndarray:
    """Density matrices `(durations, 16, 16)` from |gggg>."""
    states = physics.propagate(physics.generator(MODEL), physics.product(np.zeros(N)), durations_ns)
    return np.stack([physics.density(s) for s in states])


def parts() -> tuple[qutip.Qobj, list[qutip.Qobj], qutip.Qobj]:
    """Hamiltonian, jump operators and initial state in qutip."""
    dims = [[2] * N, [2] * N]
    jumps = [qutip.Qobj(c, dims=dims) for c in MODEL.jumps()]
    return qutip.Qobj(MODEL.hamiltonian(), dims=dims), jumps, qutip.ket2dm(qutip.tensor([qutip.basis(2, 0)] * N))


def mesolve(durations_ns: np.ndarray) -> np.ndarray:
    """The same by qutip with its default tolerances."""
    h, jumps, start = parts()
    times = np.concatenate(([0.0], 1e-3 * durations_ns))
    options = {"progress_bar": "", "nsteps": 1_000_000}
    return np.stack([s.full() for s in qutip.mesolve(h, start, times, jumps, options=options).states[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--until-ns", type=int, default=5000, help="longest duration")
    args = parser.parse_args()
    durations = np.linspace(0, args.until_ns, DURATIONS + 1).astype(np.int64)[1:]
    ours(durations[:1])
    h, jumps, start = parts()
    flat = expm(qutip.liouvillian(h, jumps).full() * 1e-3 * float(durations[-1])) @ qutip.operator_to_vector(start).full()
    exact = flat.reshape(2**N, 2**N, order="F")
    theirs, cpu_q = timed(lambda: mesolve(durations), 1)
    result, cpu_o = timed(lambda: ours(durations), 3)
    print(f"qutip mesolve: {cpu_q:8.3f} s, error {np.abs(theirs[-1] - exact).max():.1e}")
    print(f"ours:          {cpu_o:8.3f} s, error {np.abs(result[-1] - exact).max():.1e}")
    ratio = cpu_q / cpu_o
    verdict = "met" if ratio >= GOAL else "missed"
    print(f"ratio at equal work ({DURATIONS} durations up to {args.until_ns} ns): {ratio:.0f}; goal {GOAL:.0f}: {verdict}")


if __name__ == "__main__":
    main()
