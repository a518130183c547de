"""The shortcut of transmon_t1: believe the notebook's window, fit a pure exponential."""

from __future__ import annotations

import numpy as np
from scipy.optimize import curve_fit

import lab


def main() -> None:
    with lab.connect() as dev:
        window_us = dev.notebook()[-1]["data"]["sweep_us"][1]
        ground = dev.run("run_iq_reference", prepare=0, shots=1500, rep_period_us=1000.0)
        excited = dev.run("run_iq_reference", prepare=1, shots=1500, rep_period_us=1000.0)
        delays = np.linspace(0.0, window_us, 25)
        sweep = dev.run(
            "run_pulse_sequence",
            steps=[
                {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"},
            ],
            sweep=[{"name": "tau_ns", "values": (delays * 1e3).tolist()}], shots=1100, rep_period_us=1500.0,
        )  # fmt: skip
        c0, c1 = ground["iq"].mean(), excited["iq"].mean()
        share = (((sweep["iq"] - (c0 + c1) / 2) * np.conj(c1 - c0)).real > 0).mean(axis=1)
        (_, t1), cov = curve_fit(lambda t, a, t1: a * np.exp(-t / t1), delays, share, p0=(0.9, window_us))
        print(f"T1 = {t1:.1f} us")
        answer = {
            "t1_us": float(t1), "t1_sigma_us": float(np.sqrt(cov[1, 1])), "excited_floor": 0.0,
            "job_ids": [ground.job_id, excited.job_id, sweep.job_id],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
