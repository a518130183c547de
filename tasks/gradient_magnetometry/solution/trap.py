"""The shortcut of gradient_magnetometry: the counter on one node after the other, a straight line, the error of the counts."""

from __future__ import annotations

import numpy as np
from fringes import FOUR, Fringe, fringe, likeliest, settings
from reference import PERIOD_S, RECORD_SHOTS, RECORD_TAUS, VISITS, change, common_field

import lab

PATH, CYCLES = [0, 1, 2, 3], 2
SHOTS = 2600
TAUS = (4.0, 14.0, 25.0, 25.0)


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        gamma = 2e-6 * np.pi * spec["gamma_hz_per_nt"]
        x = np.array(spec["nominal_positions_mm"])
        record = dev.run("run_ramsey", nodes=[0] * VISITS, period_s=PERIOD_S, points=settings(RECORD_TAUS), shots=RECORD_SHOTS)
        wander = change(*common_field(record, gamma), 5.0)
        jobs, fields, errors = [record.job_id], [], []
        for _ in range(CYCLES):
            run = dev.run("run_ramsey", nodes=PATH, points=settings(TAUS), shots=SHOTS)
            jobs.append(run.job_id)
            for visit in run["counts"].reshape(len(PATH), len(TAUS), 4, SHOTS):
                seen: list[Fringe] = [fringe(1, t, FOUR, c) for t, c in zip(TAUS, visit, strict=True)]
                fields.append(likeliest(gamma, seen, 4000.0, 1.0))
                errors.append(sum((gamma * f.tau * abs(f.z) / f.error) ** 2 for f in seen) ** -0.5)
        (slope, _), cov = np.polyfit(np.tile(x[PATH], CYCLES), fields, 1, w=1 / np.array(errors), cov="unscaled")
        sigma = float(np.sqrt(cov[0, 0]))
        print(f"{slope:.2f} +- {sigma:.2f} nT/mm")
        answer = {
            "gradient_nt_per_mm": float(slope), "sigma_nt_per_mm": sigma, "mode": "sequential", "tau_us": 25.0, "wander_nt": wander,
            "job_ids": jobs,
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
