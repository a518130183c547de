"""Evolution of product states under a hidden Lindblad generator: ours against qutip `mesolve`.

    python -m bench.blackbox_lindblad_dynamics_vs_qutip [--states 4]

Both sides compute the density matrices of the same product states of three qubits at ten times; the error is that against `mesolve` at
tight tolerances. CPU time of one process and one thread; both build their generator within the time. qutip gets its jump operators from
the eigenvectors of the dephasing matrix. The last line is a whole job of 972 settings.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import itertools

import numpy as np
import qutip

from bench.processes import timed
from qtypes import Clock, Device, seeds
from qtypes.blackbox_lindblad_dynamics import QTYPE, Hidden, Profile, RunEvolution, Setting
from qtypes.blackbox_lindblad_dynamics.physics import STATES, operator, product_state, propagators

GOAL = 10.0
"""Smallest ratio of the CPU time of `mesolve` to ours."""
REPEATS = 2
TIMES_US = (0.3, 0.6, 0.9, 1.2, 1.8, 2.1, 2.4, 2.7, 3.3, 3.9)
N = 3
PAULI = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
BASIS = np.array([operator(N, {q: PAULI[k] for q, k in enumerate(p)}) for p in itertools.product(range(4), repeat=N)])


def density(r: np.ndarray) -> np.ndarray:
    """Density matrices `(..., 8, 8)` of Pauli vectors `(..., 64)`."""
    return np.tensordot(r, BASIS, axes=1) / 2**N


def ours(hidden: Hidden, states: list[str]) -> np.ndarray:
    """Density matrices `(states, times, 8, 8)`."""
    by_time = propagators(hidden.generator(), TIMES_US)
    starts = np.array([product_state(s) for s in states])
    return density(np.stack([starts @ by_time[t].T for t in TIMES_US], axis=1))


def mesolve(hidden: Hidden, states: list[str], rtol: float, atol: float) -> np.ndarray:
    """The same by qutip, state by state."""

    def q(matrix: np.ndarray) -> qutip.Qobj:
        return qutip.Qobj(matrix, dims=[[2] * N, [2] * N])

    terms = [operator(N, {k: PAULI["IXYZ".index(c)] for k, c in enumerate(label)}) for label in hidden.family.hamiltonian]
    h = q(np.tensordot(np.array(hidden.hamiltonian), np.array(terms), axes=1))
    lower = np.array([[0, 1], [0, 0]])
    jumps = [q(np.sqrt(g) * operator(N, {k: lower})) for k, g in enumerate(hidden.gamma_minus)]
    jumps += [q(np.sqrt(g) * operator(N, {k: lower.T})) for k, g in enumerate(hidden.gamma_plus) if g > 0]
    values, modes = np.linalg.eigh(np.diag(hidden.dephasing) + np.diag(hidden.correlated, 1) + np.diag(hidden.correlated, -1))
    z = np.array([operator(N, {k: PAULI[3]}) for k in range(N)])
    jumps += [q(np.sqrt(value / 2) * np.tensordot(mode, z, axes=1)) for value, mode in zip(values, modes.T, strict=True)]
    options = {"rtol": rtol, "atol": atol, "nsteps": 1_000_000, "progress_bar": "", "store_states": True}
    out = []
    for state in states:
        found = qutip.mesolve(h, q(density(product_state(state))), [0.0, *TIMES_US], jumps, options=options)
        out.append([s.full() for s in found.states[1:]])
    return np.array(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=4, help="product states of the comparison")
    args = parser.parse_args()
    profile, root = Profile(), seeds.root_from(b"bench lindblad")
    hidden = QTYPE.draw(seeds.generator(root, "device"), profile)
    rng = np.random.default_rng(1)
    states = ["".join(row) for row in rng.choice(list(STATES), (36, N))]
    some = states[: args.states]
    tight = mesolve(hidden, some, 1e-11, 1e-13)
    theirs, cpu_q = timed(lambda: mesolve(hidden, some, 1e-8, 1e-10), REPEATS)
    result, cpu_o = timed(lambda: ours(hidden, some), REPEATS)
    print(f"qutip mesolve: {1e3 * cpu_q / len(some):8.2f} ms per state, error {np.abs(theirs - tight).max():.1e}")
    print(f"ours:          {1e3 * cpu_o / len(some):8.2f} ms per state, error {np.abs(result - tight).max():.1e}")
    ratio = cpu_q / cpu_o
    verdict = "met" if ratio >= GOAL else "missed"
    print(f"ratio at equal work ({len(some)} states, {len(TIMES_US)} times): {ratio:.0f}; goal {GOAL:.0f}: {verdict}")
    bases = ["".join(b) for b in itertools.product("XYZ", repeat=N)]
    job = RunEvolution(settings=tuple(Setting(state=s, t_us=2.1, basis=b) for b in bases for s in states), shots=27)
    device = Device(QTYPE.spec(hidden, profile), hidden, profile)
    _, cpu_j = timed(lambda: job.run(device, Clock(0.0), seeds.generator(root, "job")), REPEATS)
    print(f"a job of {len(job.settings)} settings, {job.shots} shots each: {1e3 * cpu_j:.0f} ms")


if __name__ == "__main__":
    main()
