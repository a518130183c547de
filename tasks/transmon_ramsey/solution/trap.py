"""The shortcut of transmon_ramsey: repeat last week's sweep with its step, fit the slow fringe."""

from __future__ import annotations

import numpy as np
from scipy.optimize import curve_fit

import lab


def fringe(t: np.ndarray, level: float, amplitude: float, frequency: float, phase: float, t2: float) -> np.ndarray:
    return level + amplitude * np.exp(-((t / t2) ** 1.5)) * np.cos(2 * np.pi * frequency * t + phase)


def main() -> None:
    with lab.connect() as dev:
        note = dev.notebook()[-1]["data"]
        ground = dev.run("run_iq_reference", prepare=0, shots=1500, rep_period_us=1000.0)
        excited = dev.run("run_iq_reference", prepare=1, shots=1500, rep_period_us=1000.0)
        half = {"op": "drive", "amplitude": 0.5, "duration_ns": 25.0}
        delays = np.arange(0.0, 60.0, note["step_us"])
        sweep = dev.run(
            "run_pulse_sequence", steps=[half, {"op": "delay", "duration_from": "tau_ns"}, half, {"op": "measure"}],
            sweep=[{"name": "tau_ns", "values": (delays * 1e3).tolist()}], shots=400, rep_period_us=1000.0,
        )  # fmt: skip
        c0, c1 = ground["iq"].mean(), excited["iq"].mean()
        share = (((sweep["iq"] - (c0 + c1) / 2) * np.conj(c1 - c0)).real > 0).mean(axis=1)
        best, cov, least = None, None, np.inf
        for f in (1e-3 * note["fringe_khz"], *np.linspace(0.04, 0.45, 42)):
            for phase in (0.0, 2.0, 4.0):
                try:
                    p, c = curve_fit(fringe, delays, share, p0=(share.mean(), 0.3, f, phase, note["t2star_us"]), maxfev=400)
                except RuntimeError:
                    continue
                left = float(np.sum((fringe(delays, *p) - share) ** 2))
                if left < least and 1.0 < p[4] < 200.0:
                    best, cov, least = p, c, left
        print(f"fringe at {1e3 * abs(best[2]):.1f} kHz, T2* = {best[4]:.1f} us")
        answer = {
            "detuning_khz": 1e3 * abs(float(best[2])), "t2star_us": float(best[4]), "t2star_sigma_us": float(np.sqrt(cov[4, 4])),
            "job_ids": [ground.job_id, excited.job_id, sweep.job_id],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
