"""Reference experimentalist of spin_calibration: spectroscopy over the whole range, then a fit of Rabi's formula to everything."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

import lab

OFFSETS_KHZ = np.arange(-200.0, 201.0, 25.0)
PULSES_US = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 15.0)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)


def click_rate(p: np.ndarray, pulse: np.ndarray, drive: np.ndarray) -> np.ndarray:
    """Rabi's formula averaged over the shot-to-shot detuning, seen through the readout."""
    larmor, rabi, spread, dark, missed = p
    detuning = (drive - larmor)[:, None] + spread * NODES
    total = np.hypot(rabi, detuning)
    up = ((rabi / total) ** 2 * np.sin(np.pi * 1e-3 * pulse[:, None] * total) ** 2) @ (WEIGHTS / WEIGHTS.sum())
    return dark + (1 - missed - dark) * up


def main() -> None:
    jobs, rows = [], []
    with lab.connect() as dev:
        for offset in OFFSETS_KHZ:
            record = dev.run("run_pulse", pulse_us=PULSES_US, drive_offset_khz=float(offset), shots=200)
            jobs.append(record.job_id)
            rows += [(t, offset, rate) for t, rate in zip(PULSES_US, record["clicks"].mean(axis=1), strict=True)]
        pulse, drive, rate = np.array(rows).T

        def residual(p: np.ndarray) -> np.ndarray:
            return rate - click_rate(p, pulse, drive)

        starts = [np.array([x, r, 15.0, 0.05, 0.1]) for x in np.arange(-160.0, 161.0, 20.0) for r in (70.0, 90.0, 110.0, 130.0, 150.0)]
        best = sorted(starts, key=lambda s: float(np.sum(residual(s) ** 2)))[:4]
        bounds = ([-200.0, 20.0, 0.0, 0.0, 0.0], [200.0, 400.0, 60.0, 0.4, 0.4])
        fits = [least_squares(residual, s, bounds=bounds, x_scale=(10.0, 10.0, 5.0, 0.05, 0.05)) for s in best]
        larmor, rabi = min(fits, key=lambda f: float(f.cost)).x[:2]
        print(f"Larmor {larmor:+.1f} kHz, Rabi {rabi:.1f} kHz")
        print(dev.submit_answer({"larmor_khz": float(larmor), "rabi_khz": float(rabi), "job_ids": jobs}))


if __name__ == "__main__":
    main()
