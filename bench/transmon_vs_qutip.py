"""Excited population of a Ramsey sequence for shots of different detuning and relaxation rate: ours against qutip `mesolve`.

    python -m bench.transmon_vs_qutip [--shots 60] [--batch 200000]

Both sides compute the same shots to the same accuracy, measured against `mesolve` at tight tolerances; CPU time of one process and one
thread. The batch line shows what a whole job costs, where the propagators of the pulses are shared by the shots.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

from bench.processes import timed
from qtypes.transmon_pulse.physics import Program, z_response

REPEATS = 3
"""The shortest of so many CPU times counts."""
GOAL = 10.0
OMEGA_MHZ, GAMMA_PHI, POPULATION = 20.0, 0.01, 0.08
STEPS = ((True, 0.0, 0.0125), (False, 0.0, 20.0), (True, 1.2, 0.0125))
"""(drive?, phase in rad, duration in us): pi/2, 20 us, pi/2."""
LOWER = qutip.basis(2, 0) * qutip.basis(2, 1).dag()


def ours(delta: np.ndarray, gamma1: np.ndarray) -> np.ndarray:
    """Excited population of each shot `(n,)`."""
    drive, phase, duration = (np.array(c) for c in zip(*STEPS, strict=True))
    program = Program(drive, OMEGA_MHZ * drive[:, None], phase[:, None], duration[:, None], np.zeros(1))
    z_eq = 1 - 2 * POPULATION
    slope, offset = z_response(program, delta[None], gamma1[None], GAMMA_PHI, z_eq)
    return (1 - slope[0] * z_eq - offset[0]) / 2


def mesolve(delta: np.ndarray, gamma1: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """The same by qutip, shot by shot."""
    options = {"rtol": rtol, "atol": atol, "nsteps": 1_000_000, "progress_bar": ""}
    out = np.empty(delta.size)
    for i, (d, g) in enumerate(zip(delta, gamma1, strict=True)):
        jumps = [np.sqrt(g * (1 - POPULATION)) * LOWER, np.sqrt(g * POPULATION) * LOWER.dag(), np.sqrt(GAMMA_PHI / 2) * qutip.sigmaz()]
        rho = (1 - POPULATION) * qutip.fock_dm(2, 0) + POPULATION * qutip.fock_dm(2, 1)
        for drive, phase, t in STEPS:
            h = np.pi * d * qutip.sigmaz()
            if drive:
                h = h + np.pi * OMEGA_MHZ * (np.cos(phase) * qutip.sigmax() + np.sin(phase) * qutip.sigmay())
            rho = qutip.mesolve(h, rho, [0.0, t], jumps, options=options).final_state
        out[i] = rho[1, 1].real
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=60, help="shots of the comparison")
    parser.add_argument("--batch", type=int, default=200_000, help="shots of the batch line")
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    delta, gamma1 = 0.4 + 0.01 * rng.standard_normal(args.shots), rng.uniform(0.01, 0.05, args.shots)
    tight = mesolve(delta, gamma1, 1e-11, 1e-13)
    reference, cpu_q = timed(lambda: mesolve(delta, gamma1, 1e-8, 1e-10), REPEATS)
    result, cpu_o = timed(lambda: ours(delta, gamma1), REPEATS)
    print(f"qutip mesolve: {1e3 * cpu_q / args.shots:8.3f} ms per shot, error {np.abs(reference - tight).max():.1e}")
    print(f"ours:          {1e3 * cpu_o / args.shots:8.3f} ms per shot, error {np.abs(result - tight).max():.1e}")
    ratio = cpu_q / cpu_o
    print(f"ratio at equal work ({args.shots} shots): {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")
    many_d, many_g = 0.4 + 0.01 * rng.standard_normal(args.batch), rng.uniform(0.01, 0.05, args.batch)
    _, cpu_b = timed(lambda: ours(many_d, many_g), REPEATS)
    per_shot = cpu_b / args.batch
    print(f"ours, {args.batch} shots: {1e6 * per_shot:.3f} us per shot; ratio per shot {cpu_q / args.shots / per_shot:.0f}")


if __name__ == "__main__":
    main()
