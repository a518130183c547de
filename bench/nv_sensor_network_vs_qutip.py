"""Shots of an entangled block in Ornstein-Uhlenbeck noise: ours against qutip, one Schroedinger equation per shot.

    python -m bench.nv_sensor_network_vs_qutip [--shots 20]

qutip is given a noise path on a grid of 0.25 us for each node and evolves the signed GHZ state with it; drawing the path is not counted.
Ours draws the integrals of the noise exactly, the memory from shot to shot included, and the photons. CPU time of one process and one
thread. The phases that qutip finds are compared with the integrals of its paths.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

import qtypes
from qtypes import Clock, Device
from qtypes.nv_sensor_network import physics
from qtypes.nv_sensor_network.experiments import Point, RunGhz

GOAL = 1000.0
TAU_US = 20.0
STEP_US = 0.25
RMS_NT, CORRELATION_US = 120.0, 100.0
SIGNS = (1.0, -1.0)
OUR_SHOTS = 50_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=20)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    qtype = qtypes.load("nv_sensor_network")
    profile = qtype.read_profile({})
    hidden = qtype.draw(rng, profile)
    device = Device(qtype.spec(hidden, profile), hidden, profile)
    run = RunGhz(nodes=(0, 3), signs=("+", "-"), points=tuple(Point(tau_us=TAU_US, phase_rad=p) for p in (0.0, np.pi / 2)), shots=OUR_SHOTS)

    run.run(device, Clock(0.0), rng)
    start = time.process_time()
    run.run(device, Clock(0.0), rng)
    ours = (time.process_time() - start) / (2 * OUR_SHOTS)

    times = np.arange(0.0, TAU_US + STEP_US / 2, STEP_US)
    sz = [qutip.tensor(qutip.sigmaz(), qutip.qeye(2)), qutip.tensor(qutip.qeye(2), qutip.sigmaz())]
    up, down = qutip.basis(2, 0), qutip.basis(2, 1)
    pair = qutip.tensor(up, down), qutip.tensor(down, up)
    options = {"atol": 1e-9, "rtol": 1e-7, "progress_bar": ""}
    theirs, worst = 0.0, 0.0
    for _ in range(args.shots):
        paths = RMS_NT * np.array([physics.ornstein_uhlenbeck(rng, np.diff(times), CORRELATION_US) for _ in SIGNS])
        h = qutip.QobjEvo([[physics.GAMMA / 2 * op, path] for op, path in zip(sz, paths, strict=True)], tlist=times, order=1)
        start = time.process_time()
        state = qutip.sesolve(h, (pair[0] + pair[1]).unit(), [0.0, TAU_US], options=options).final_state
        theirs += time.process_time() - start
        phase = physics.GAMMA * float(np.dot(SIGNS, np.trapezoid(paths, times, axis=1)))
        found = np.angle(complex(pair[1].dag() * state) * np.conj(complex(pair[0].dag() * state)))
        worst = max(worst, abs(float(np.angle(np.exp(1j * (found - phase))))))
    theirs /= args.shots

    print(f"phases of {args.shots} shots: largest difference {worst:.1e} rad")
    print(f"qutip sesolve: {1e6 * theirs:8.1f} us per shot")
    print(f"ours:          {1e6 * ours:8.3f} us per shot, photons included")
    ratio = theirs / ours
    print(f"ratio {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
