"""Unitary and channel of envelope pulses on a four-level transmon: ours against qutip `sesolve`.

    python -m bench.multilevel_vs_qutip [--pulses 12]

Both sides propagate the same raised-cosine pulses of 10 ns through the same band-limited line; errors are against `sesolve` at tight
tolerances. CPU time of one process and one thread. The last line is a job of random trains, which has no counterpart there.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

from bench.processes import timed
from qtypes.transmon_multilevel_pulse import physics
from qtypes.transmon_multilevel_pulse.device import RAD_PER_NS
from qtypes.transmon_multilevel_pulse.physics import TWO_PI, Line, Transmon
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine

REPEATS = 2
"""The shortest of so many CPU times counts."""
GOAL = 10.0
LINE = Line(0.95, 0.03, -0.02, 0.7)
TRANSMON = Transmon(0.2e-3, -0.205, 6e4, 5e4)


def ours(samples: np.ndarray) -> np.ndarray:
    """Unitaries `(n, 4, 4)`."""
    return TRANSMON.unitary(LINE, samples)


def sesolve(samples: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """The same by qutip, ns by ns, because the drive has a kink at every sample."""
    a = qutip.destroy(4)
    n = a.dag() * a
    h0 = TWO_PI * (TRANSMON.delta_ghz * n + TRANSMON.alpha_ghz / 2 * n * (n - 1))
    x, y = 0.5 * (a + a.dag()), 0.5j * (a.dag() - a)
    options = {"rtol": rtol, "atol": atol, "nsteps": 100_000, "progress_bar": ""}
    out = np.empty((len(samples), 4, 4), dtype=complex)
    for p, s in enumerate(samples):
        held = LINE.gain * (s.real + LINE.skew * s.imag + 1j * (1 + LINE.imbalance) * s.imag)
        psi, start = qutip.Qobj(np.eye(4)), 0j
        for k, u in enumerate(np.concatenate((held, np.zeros(physics.BLANK_NS)))):

            def drive(t: float, part: Any, k: int = k, u: complex = u, start: complex = start) -> float:
                return float(part(u + (start - u) * np.exp(-(t - k) / LINE.tau_ns)))

            h = qutip.QobjEvo([h0, [x, lambda t, d=drive: d(t, np.real)], [y, lambda t, d=drive: d(t, np.imag)]])
            psi = qutip.sesolve(h, psi, [k, k + 1.0], options=options).final_state
            start = u + (start - u) * np.exp(-1.0 / LINE.tau_ns)
        out[p] = psi.full()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pulses", type=int, default=12, help="pulses of the comparison")
    args = parser.parse_args()
    samples = np.stack([RAD_PER_NS * raised_cosine(10, 0.5, b, -205.0) for b in np.linspace(0.0, 1.5, args.pulses)])
    tight = sesolve(samples, 1e-11, 1e-13)
    reference, cpu_q = timed(lambda: sesolve(samples, 1e-7, 1e-9), REPEATS)
    result, cpu_o = timed(lambda: ours(samples), REPEATS)
    print(f"qutip sesolve: {1e3 * cpu_q / args.pulses:8.3f} ms per pulse, error {np.abs(reference - tight).max():.1e}")
    print(f"ours:          {1e3 * cpu_o / args.pulses:8.3f} ms per pulse, error {np.abs(result - tight).max():.1e}")
    ratio = cpu_q / cpu_o
    print(f"ratio at equal work ({args.pulses} pulses): {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")
    pulse, idle = TRANSMON.pulse(LINE, samples[0]), TRANSMON.free(np.arange(31.0))
    turns = np.arange(4) * (np.pi / 2)
    maps = (idle[None] @ (physics.rotation(turns) @ pulse @ physics.rotation(-turns))[:, None]).reshape(-1, 16, 16)
    choice = np.random.default_rng(0).integers(0, len(maps), (4000, 80)).astype(np.uint16)
    states = np.tile(physics.state(np.array([1.0, 0.0, 0.0, 0.0])), (len(choice), 1))
    _, cpu = timed(lambda: physics.run_random(states, maps, choice), REPEATS)
    print(f"random trains of 80 pulses: {1e6 * cpu / choice.size:.3f} us per pulse and shot")


if __name__ == "__main__":
    main()
