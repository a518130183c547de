"""Three spins under filtered random controls for 0.4 us, ten batches, from two states: ours against qutip `mesolve`.

    python -m bench.spin_chain_control_vs_qutip [--slices 40]

Both sides evolve 8 x 8 density matrices. `mesolve` gets the mean controls of each 2 ns step, as ours does, as coefficients that are looked
up, with its default tolerances; errors are against the exponential of the Liouvillian of each step. CPU time of one process and thread.
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
from qtypes.spin_chain_control.physics import STEP_US, Chain, evolve, filtered, prepared

GOAL = 20.0
BATCHES = 10
STATES = ("+00", "1r0")
RNG = np.random.default_rng(0)
CHAIN = Chain(
    exchange=np.array([6.0, 8.5]), detuning=RNG.normal(0.0, 1.0, (BATCHES, 3)), response=np.eye(3) + RNG.uniform(0.0, 0.1, (3, 3)),
    tau_us=0.06, t2_us=np.array([20.0, 30.0, 40.0]),
)  # fmt: skip


def parts(batch: int) -> tuple[qutip.Qobj, list[qutip.Qobj], list[qutip.Qobj]]:
    """Constant part of H, the Z of each spin, jump operators."""

    def on(op: qutip.Qobj, spin: int) -> qutip.Qobj:
        return qutip.tensor([op if i == spin else qutip.qeye(2) for i in range(3)])

    x, y, z = ([on(op, i) for i in range(3)] for op in (qutip.sigmax(), qutip.sigmay(), qutip.sigmaz()))
    h = sum(CHAIN.exchange[k] / 2 * (x[k] * x[k + 1] + y[k] * y[k + 1]) for k in (0, 1))
    h = h + sum(CHAIN.detuning[batch, i] / 2 * z[i] for i in range(3))
    return h, z, [np.sqrt(0.5 / CHAIN.t2_us[i]) * z[i] for i in range(3)]


def starts() -> list[qutip.Qobj]:
    return [qutip.Qobj(rho, dims=[[2] * 3, [2] * 3]) for rho in prepared(STATES)]


def mesolve(controls: np.ndarray) -> np.ndarray:
    """Final states `(batches, states, 8, 8)` by qutip."""
    omega = CHAIN.response @ filtered(controls, CHAIN.tau_us)
    edges = np.arange(omega.shape[1] + 1) * STEP_US
    options = {"progress_bar": "", "max_step": STEP_US, "nsteps": 100_000}
    out = []
    for b in range(BATCHES):
        h, z, jumps = parts(b)
        values = [np.append(w, w[-1]) / 2 for w in omega]
        evolving = qutip.QobjEvo([h, *([z[i], qutip.coefficient(values[i], tlist=edges, order=0)] for i in range(3))])
        out.append([qutip.mesolve(evolving, s, [0.0, edges[-1]], jumps, options=options).states[-1].full() for s in starts()])
    return np.array(out)


def exact(controls: np.ndarray) -> np.ndarray:
    """Final states `(states, 8, 8)` of the first batch, each step exponentiated by scipy."""
    omega = CHAIN.response @ filtered(controls, CHAIN.tau_us)
    h, z, jumps = parts(0)
    vectors = np.stack([s.full().ravel(order="F") for s in starts()], axis=1)
    for w in omega.T:
        vectors = expm(STEP_US * qutip.liouvillian(h + sum(w[i] / 2 * z[i] for i in range(3)), jumps).full()) @ vectors
    return np.stack([v.reshape(8, 8, order="F") for v in vectors.T])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slices", type=int, default=40, help="length of the controls, 10 ns each")
    args = parser.parse_args()
    controls = RNG.uniform(-20.0, 20.0, (3, args.slices))
    right = exact(controls)
    theirs, cpu_q = timed(lambda: mesolve(controls), 1)
    result, cpu_o = timed(lambda: evolve(CHAIN, controls, prepared(STATES), (args.slices,))[0], 3)
    print(f"qutip mesolve: {cpu_q:8.3f} s, error {np.abs(theirs[0] - right).max():.1e}")
    print(f"ours:          {cpu_o:8.3f} s, error {np.abs(result[0] - right).max():.1e}")
    ratio = cpu_q / cpu_o
    verdict = "met" if ratio >= GOAL else "missed"
    print(f"ratio at equal work ({BATCHES} batches, {len(STATES)} states, {args.slices} slices): {ratio:.0f}; goal {GOAL:.0f}: {verdict}")


if __name__ == "__main__":
    main()
