"""Reference solver of dissipative_stabilization.

1. Readout references; each qubit driven alone in the channel: linewidth, ratio of the couplings, offsets, scales.
2. Decay of both qubits parked: T1.
3. Both driven on resonance at four relative phases: the phase of the channel. One fit of the whole model to all of it.
4. Tomography at the settings that the fit says are best, and a little off them; fit and optimise again.
5. Tomography of the final settings at 20 and 60 us from three initial states.
"""

from __future__ import annotations

import numpy as np
from calibrate import Bench
from model import Data, Setting, dark_settings, fidelity, fit, generator, optimum, residuals, steady

import lab

PHASE_NS = (50, 100, 200, 400, 800, 2000)
PHASE_BASES = ("ZZ", "XX", "XY")
SETTLED_NS = (150, 500, 2000, 20_000)
TRIM_BASES = ("ZZ", "XX", "XY", "YX", "YY")
AHEAD, ASIDE = 0.15, 0.05
"""Trim: phase in rad and relative amplitude by which settings are moved off the best ones."""


def channel_phase(bench: Bench, device: np.ndarray, data: list[Data]) -> np.ndarray:
    """The device with the phase of the channel at which the data are most likely, then all of it fitted."""
    trial = np.tile(device, (24, 1))
    trial[:, 2] = np.arange(24) * 2 * np.pi / 24
    cost = (residuals(trial, data, bench.response) ** 2).sum(axis=-1)
    fits = [fit(data, bench.response, trial[k]) for k in np.argsort(cost)[:2]]
    return min(fits, key=lambda f: float((residuals(f, data, bench.response) ** 2).sum()))


def trim(bench: Bench, best: Setting) -> list[Data]:
    """Tomography at settings around the best: drive phase ahead and behind, one amplitude larger and smaller."""
    (a, b), (_, p) = best.amp, best.phase
    around = [(a, b, p + AHEAD), (a, b, p - AHEAD), (a * (1 + ASIDE), b, p), (a, b * (1 + ASIDE), p)]
    return [bench.measure(Setting((min(x, 8.0), min(y, 8.0)), (0.0, z), best.detuning), SETTLED_NS, TRIM_BASES, 500) for x, y, z in around]


def main() -> None:
    with lab.connect() as dev:
        amp_max = dev.spec()["spec"]["amp_max_mhz"]
        bench = Bench(dev)
        data = bench.alone()
        device = bench.one_qubit_fit(data)
        data.append(bench.measure(Setting(parked=(0, 1)), (10_000, 30_000, 60_000, 100_000), ("ZZ",), 1500, "ee"))
        for turn in (0.0, 0.5, 1.0, 1.5):
            both = Setting((2.0, 2.0), (0.0, turn * np.pi), (0.0, 0.0))
            data.append(bench.measure(both, PHASE_NS, PHASE_BASES, 300))
        device = channel_phase(bench, device, data)
        best = optimum(device, dark_settings(device), amp_max)
        data += trim(bench, best)
        device = fit(data, bench.response, device)
        best = optimum(device, best, amp_max)
        print("expected fidelity", fidelity(steady(generator(device, best)), device[2]))
        print(dev.submit_answer(bench.evidence(best, float(device[2]))))


if __name__ == "__main__":
    main()
