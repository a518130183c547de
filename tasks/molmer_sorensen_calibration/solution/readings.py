"""What the records say: readout, sideband lines, populations and parity of a pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import curve_fit

import lab

PHASES = np.arange(10) * np.pi / 10
"""Of the analysis pulse: one period of the parity."""


@dataclass
class Pair:
    """A pair of ions and its readout errors."""

    dev: lab.Lab
    ions: list[int]
    jobs: list[str]
    inverse: np.ndarray

    @classmethod
    def calibrated(cls, dev: lab.Lab, ions: list[int], shots: int) -> Pair:
        records = [dev.run("run_reference", state=s, shots=shots) for s in (0, 1)]
        rates = [r["bits"][0].mean(axis=0) for r in records]
        single = [np.array([[1 - rates[0][i - 1], 1 - rates[1][i - 1]], [rates[0][i - 1], rates[1][i - 1]]]) for i in ions]
        return cls(dev, ions, [r.job_id for r in records], np.linalg.inv(np.kron(*single)))

    def gate(self, segments: list[dict[str, float]], z: float, shots: int, repeats: int = 1, scan: bool = False) -> np.ndarray:
        """Corrected probabilities of 00, 01, 10, 11, `(points, 4)`: the populations, or with `scan` the analysis at `PHASES`."""
        record = self.dev.run(
            "run_ms_gate", pair=self.ions, segments=segments, virtual_z_rad=z, repeats=repeats, populations=not scan,
            analysis_rad=PHASES.tolist() if scan else [], shots=shots,
        )  # fmt: skip
        self.jobs.append(record.job_id)
        index = 2 * record["bits"][:, :, self.ions[0] - 1] + record["bits"][:, :, self.ions[1] - 1]
        counts = np.stack([(index == k).mean(axis=1) for k in range(4)], axis=1)
        return counts @ self.inverse.T


def fringe(p: np.ndarray, shots: int) -> tuple[float, float, float]:
    """Contrast, its standard error, and phase u of the parity C cos(2 phi - u)."""
    parity = p[:, 0] + p[:, 3] - p[:, 1] - p[:, 2]
    columns = np.stack((np.cos(2 * PHASES), np.sin(2 * PHASES)), axis=1)
    (a, b), *_ = np.linalg.lstsq(columns, parity, rcond=None)
    c = float(np.hypot(a, b))
    weight = 2 / len(PHASES) * (columns @ np.array([a, b])) / c
    sigma = np.sqrt(np.sum(weight**2 * np.clip(1 - parity**2, 1 / shots, 1) / shots))
    return c, float(sigma), float(np.arctan2(b, a))


def angle(p: np.ndarray, repeats: int = 1) -> float:
    """|XX angle| of one pulse from the populations after `repeats` (odd) of them, near pi/4."""
    balance = np.clip((p[0] - p[3]) / max(p[0] + p[3], 0.1), -1, 1)
    slope = 1 if repeats % 4 == 1 else -1
    return float(np.pi / 4 - slope * np.arcsin(balance) / 2 / repeats)


def line(dev: lab.Lab, ion: int, centre: float, half: float, points: int, shots: int, **pulse: float) -> tuple[float, str]:
    """Centre of the line around `centre` in kHz, and the job."""
    f = np.linspace(centre - half, centre + half, points)
    record = dev.run("run_sideband_scan", ion=ion, detunings_khz=f.tolist(), shots=shots, **pulse)
    p = record["bits"][:, :, ion - 1].mean(axis=1)
    width = 0.45e3 / pulse["pulse_us"]  # standard deviation of a line that the pulse length limits
    smooth = np.exp(-0.5 * ((f[:, None] - f) / width) ** 2)
    start = f[np.argmax(smooth @ (p - p.min()) / smooth.sum(axis=1))]
    bounds = ([f[0], 0.4 * width, 0.02, 0.0], [f[-1], 3.0 * width, 1.0, 0.3])
    fit, _ = curve_fit(lambda x, c, w, a, o: o + a * np.exp(-0.5 * ((x - c) / w) ** 2), f, p, p0=(start, width, 0.5, 0.02), bounds=bounds)
    return float(fit[0]), record.job_id
