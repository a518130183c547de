"""A stored superposition in coloured noise, shot by shot: ours against qutip `mesolve`.

    python -m bench.transmon_erasure_qutrit_vs_qutip [--shots 6]

Both sides store |g> + |f> for 24 us with 16 pulses, T1 = 60 us. Every shot has a frequency that wanders: a sum of tones. Ours takes the
phases of the windows and steps from pulse to pulse; qutip integrates the master equation of three levels between the pulses. CPU time of
one process and one thread. The last line is a whole job, with noise drawn from its spectrum, checks and readout.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import qutip

from bench.processes import timed
from qtypes import Clock, Device, load
from qtypes.transmon_erasure_qutrit.experiments import Point, RunSequence
from qtypes.transmon_erasure_qutrit.noise import TWO_PI, Spectrum
from qtypes.transmon_erasure_qutrit.physics import Check
from qtypes.transmon_erasure_qutrit.replay import family
from qtypes.transmon_erasure_qutrit.sequence import Qutrit, Sequence

REPEATS = 2
"""The shortest of so many CPU times counts."""
GOAL = 10.0
T1_US, STORAGE_US, PULSES = 60.0, 24.0, 16
TONES_MHZ = np.array([0.05, 0.21, 0.33, 0.6])


def shots(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes in rad/us and phases in rad of the tones of each shot, `(n, tones)`."""
    return rng.normal(0, 0.2, (n, TONES_MHZ.size)), rng.uniform(0, TWO_PI, (n, TONES_MHZ.size))


def ours(sequence: Sequence, amplitude: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Final coherences `(n,)`."""
    edges = sequence.edges()[:, None, None]
    integral = (amplitude / (TWO_PI * TONES_MHZ) * np.sin(TWO_PI * TONES_MHZ * edges + start)).sum(axis=2)
    qutrit = Qutrit(T1_US, Spectrum(0.0), 0.01, 0.0, Check(0.0, 0.0, 0.0), 0.0)
    state = qutrit.prepared("superposition", 0.0, (len(amplitude),))
    return qutrit.kept(state, sequence, 2.0 * np.diff(integral, axis=0)).c


def mesolve(sequence: Sequence, amplitude: np.ndarray, start: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """The same by qutip, window by window."""
    a = qutip.destroy(3)
    x = qutip.basis(3, 0) * qutip.basis(3, 2).dag()
    turns = []
    for phase in sequence.pulse_phases_rad:
        half = np.exp(-1j * phase) * x
        turns.append((-0.5j * np.pi * 1.01 * (half + half.dag())).expm())
    edges = sequence.edges()
    options = {"rtol": rtol, "atol": atol, "nsteps": 100_000, "progress_bar": ""}
    out = np.empty(len(amplitude), dtype=complex)
    for k, (size, phase) in enumerate(zip(amplitude, start, strict=True)):

        def delta(t: float, size: np.ndarray = size, phase: np.ndarray = phase) -> float:
            return float(size @ np.cos(TWO_PI * TONES_MHZ * t + phase))

        h = qutip.QobjEvo([[a.dag() * a, delta]])
        rho = qutip.ket2dm((qutip.basis(3, 0) + qutip.basis(3, 2)).unit())
        for w in range(edges.size - 1):
            rho = qutip.mesolve(h, rho, [edges[w], edges[w + 1]], [a / np.sqrt(T1_US)], options=options).final_state
            if w < len(turns):
                rho = turns[w] * rho * turns[w].dag()
        out[k] = rho.full()[2, 0]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shots", type=int, default=6, help="shots of the comparison")
    args = parser.parse_args()
    times, phases = family(PULSES, STORAGE_US, "XY8")
    sequence = Sequence(duration_us=STORAGE_US, pulse_times_us=times, pulse_phases_rad=phases)
    noise = shots(np.random.default_rng(0), args.shots)
    tight = mesolve(sequence, *noise, 1e-11, 1e-13)
    reference, cpu_q = timed(lambda: mesolve(sequence, *noise, 1e-7, 1e-9), REPEATS)
    result, cpu_o = timed(lambda: ours(sequence, *noise), REPEATS)
    print(f"qutip mesolve: {1e3 * cpu_q / args.shots:8.3f} ms per shot, error {np.abs(reference - tight).max():.1e}")
    print(f"ours:          {1e3 * cpu_o / args.shots:8.3f} ms per shot, error {np.abs(result - tight).max():.1e}")
    ratio = cpu_q / cpu_o
    print(f"ratio at equal work ({args.shots} shots): {ratio:.0f}; goal {GOAL:.0f}: {'met' if ratio >= GOAL else 'missed'}")
    qtype = load("transmon_erasure_qutrit")
    profile = qtype.read_profile({})
    hidden = qtype.draw(np.random.default_rng(0), profile)
    device = Device(qtype.spec(hidden, profile), hidden, profile)
    stored = Point(
        prepare="superposition", duration_us=STORAGE_US, measure="equator", pulse_times_us=family(48, 23.6, "XY8")[0],
        pulse_phases_rad=family(48, 23.6, "XY8")[1], check_times_us=(23.6,),
    )  # fmt: skip
    request = RunSequence(points=(stored,) * 10, shots=6000)
    _, cpu = timed(lambda: request.run(device, Clock(0.0), np.random.default_rng(1)), REPEATS)
    print(f"a job of 60 000 shots with 48 pulses and a check: {1e6 * cpu / 60_000:.1f} us per shot")


if __name__ == "__main__":
    main()
