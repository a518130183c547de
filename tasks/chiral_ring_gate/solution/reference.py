"""Reference solver of chiral_ring_gate.

1. Readout references; swaps of each pair alone: gain, and a frequency to begin from.
2. The three frequencies are changed so that their signed sum is zero: then the flux stands still and H is static in one frame.
3. The ring with all tones on at six loop phases around the circle; one fit of the detunings, hops and loop phase.
4. Frequencies, amplitudes and phase are corrected; the scan is repeated with more shots, fitted, and corrected again.
5. All six states for one gate at the final tones.
"""

from __future__ import annotations

import numpy as np
from calibrate import HOP, Bench
from ring import Data, fit

import lab

COARSE_NS = (20, 40, 60, 80, 100, 130, 160, 200)
FINE_NS = (30, 45, 64, 80, 96, 112, 128, 150, 170, 192)


class Setting:
    """Amplitudes, frequencies and phases of the three tones, the frequencies closed: they add up to zero."""

    def __init__(self, amp: np.ndarray, freq: np.ndarray) -> None:
        self.amp, self.freq, self.phase = amp, freq - freq.mean(), np.zeros(3)

    def correct(self, data: list[Data]) -> np.ndarray:
        """Moved to where the fit to `data` says that the chiral point is; the fit."""
        x = fit(data, np.full(3, HOP))
        e, hops = np.array([x[0], x[1], 0.0]), x[2:5]
        self.freq = self.freq + e - np.roll(e, -1)
        self.amp = np.minimum(self.amp * HOP / hops, 8.0)
        self.phase = np.full(3, np.mod(np.pi / 2 - x[5] + np.pi, 2 * np.pi) - np.pi) / 3
        return x


def main() -> None:
    with lab.connect() as dev:
        book = dev.notebook()[1]["data"]
        bench = Bench(dev)
        amp = np.array(book["amp"])
        hops, freq = bench.swaps(amp, np.array(book["freq_mhz"]))
        now = Setting(amp * HOP / hops, freq)
        now.correct(bench.scan(now.amp, now.freq, now.phase, COARSE_NS, 150, (0, 1)))
        bench.scan_ids.clear()
        print(now.correct(bench.scan(now.amp, now.freq, now.phase, FINE_NS, 500, (0, 1))).round(4))
        print(dev.submit_answer(bench.evidence(now.amp, now.freq, now.phase)))


if __name__ == "__main__":
    main()
