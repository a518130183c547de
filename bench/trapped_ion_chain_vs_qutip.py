"""Final state of two ions after a segmented two-tone pulse: closed form against qutip `sesolve`.

    python -m bench.trapped_ion_chain_vs_qutip [--modes 2] [--levels 12]

Both sides take the same 15-segment pulse of 120 us and modes at rest; errors are against `sesolve` at tight tolerances. qutip
gets the Hamiltonian in the frame of the tones, where it is constant within a segment. CPU time of one process and one thread. The last
lines are whole jobs on all five modes, warm and heated, with shot-to-shot noise, which have no counterpart there.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

import qtypes
from bench.processes import timed
from qtypes import Clock, Device
from qtypes.trapped_ion_chain import physics
from qtypes.trapped_ion_chain.device import NOMINAL_MHZ, lamb_dicke
from qtypes.trapped_ion_chain.draw import likely_pulses
from qtypes.trapped_ion_chain.experiments import RunMsGate, Segment
from qtypes.trapped_ion_chain.physics import TWO_PI, Bath, Pulse

REPEATS = 2
"""The shortest of so many CPU times counts."""
GOAL = 100.0
PAIR = (2, 4)


def ours(pulse: Pulse, modes: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Density matrix of the ions `(4, 4)`."""
    rest = Bath(np.zeros(len(modes)), np.zeros(len(modes)))
    return physics.final_state(*physics.exponents(physics.force(pulse, modes), eta, rest, 1), 1.0, (0.0, 0.0))


def sesolve(pulse: Pulse, modes: np.ndarray, eta: np.ndarray, levels: int, rtol: float, atol: float) -> np.ndarray:
    """The same by qutip, segment by segment."""
    eyes = [qutip.qeye(levels)] * len(modes)
    one = qutip.qeye(2)
    spins = [qutip.tensor(qutip.sigmax(), one, *eyes), qutip.tensor(one, qutip.sigmax(), *eyes)]
    a = [qutip.tensor(one, one, *eyes[:m], qutip.destroy(levels), *eyes[m + 1 :]) for m in range(len(modes))]
    up = qutip.basis(2, 0)
    state = qutip.tensor(up, up, *[qutip.basis(levels, 0)] * len(modes))
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "nsteps": 100_000, "progress_bar": ""}
    for t, omega, mu, phase in zip(pulse.duration, pulse.omega, pulse.mu, pulse.phase, strict=True):
        free = sum((w - mu) * x.dag() * x for w, x in zip(modes, a, strict=True))
        push = sum(eta[i, m] * spins[i] * x for i in range(2) for m, x in enumerate(a)) * (0.5 * omega * np.exp(1j * phase))
        state = qutip.sesolve(free + push + push.dag(), state, [0.0, float(t)], options=options).final_state
    return np.asarray(state.ptrace([0, 1]).full())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", type=int, default=2, help="highest modes that take part")
    parser.add_argument("--levels", type=int, default=12, help="Fock states of each for qutip")
    args = parser.parse_args()
    pulse = likely_pulses(NOMINAL_MHZ * 1e3, PAIR).pulse(0)
    modes = TWO_PI * NOMINAL_MHZ[-args.modes :]
    eta = lamb_dicke(NOMINAL_MHZ)[np.array(PAIR) - 1, -args.modes :]
    tight = sesolve(pulse, modes, eta, args.levels, 1e-10, 1e-12)
    theirs, cpu_q = timed(lambda: sesolve(pulse, modes, eta, args.levels, 1e-6, 1e-8), REPEATS)
    result, cpu_o = timed(lambda: ours(pulse, modes, eta), REPEATS)
    print(f"qutip sesolve: {1e3 * cpu_q:9.3f} ms, error {np.abs(theirs - tight).max():.1e}")
    print(f"closed form:   {1e3 * cpu_o:9.3f} ms, error {np.abs(result - tight).max():.1e}")
    ratio = cpu_q / cpu_o
    print(f"ratio at equal work ({args.modes} modes): {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")
    qtype = qtypes.load("trapped_ion_chain")
    profile = qtype.read_profile({})
    hidden = qtype.draw(np.random.default_rng(0), profile)
    device = Device(qtype.spec(hidden, profile), hidden, profile)
    segments = tuple(
        Segment(duration_us=int(t), omega_khz=float(w / TWO_PI * 1e3), mu_mhz=float(m / TWO_PI), phase_rad=float(f))
        for t, w, m, f in zip(pulse.duration, pulse.omega, pulse.mu, pulse.phase, strict=True)
    )
    for repeats in (1, 3, 4):
        job = RunMsGate(pair=PAIR, segments=segments, repeats=repeats, analysis_rad=(0.0, 0.4, 0.8), shots=1000)
        _, cpu = timed(lambda job=job: job.run(device, Clock(60.0), np.random.default_rng(1)), REPEATS)
        print(f"job of 4 points x 1000 shots, pulse repeated {repeats} times: {1e3 * cpu:.0f} ms")


if __name__ == "__main__":
    main()
