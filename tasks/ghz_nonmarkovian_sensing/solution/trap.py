"""The shortcut of ghz_nonmarkovian_sensing: the largest block at the delay that an exponential T2* asks for."""

from __future__ import annotations

import numpy as np
from fringes import likeliest, scan, settings
from reference import final_run, spread

import lab

N = 4
SHOTS = 1300


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        gamma = 2e-6 * np.pi * spec["gamma_hz_per_nt"]
        t2 = next(e["data"]["t2star_us"] for e in dev.notebook() if "t2star_us" in (e["data"] or {}))
        tau = round(t2 / (2 * N), 1)
        jobs, fringes, used_s = [], [], 0.0
        for n, taus in ((1, (4.0, 8.0, 12.0)), (1, (16.0, 20.0, 24.0)), (N, (tau, 2 * tau, 3 * tau))):
            fields = {"points": settings(taus), "shots": SHOTS}
            if n == 1:
                record = dev.run("run_ramsey", nodes=[0], **fields)
            else:
                record = dev.run("run_ghz", nodes=list(range(n)), signs=["+"] * n, **fields)
            jobs.append(record.job_id)
            fringes += scan(record, n, taus)
            used_s += spec["setup_s"] + 4e-6 * SHOTS * sum(t + spec["dead_us"] + spec["link_us"] * (n - 1) for t in taus)
        b0 = likeliest(gamma, fringes, spec["b0_limit_nt"], 0.5)
        rate, shot_s = gamma * N * tau, (tau + spec["dead_us"] + spec["link_us"] * (N - 1)) * 1e-6
        amplitude = next(abs(f.z) for f in fringes if (f.size, f.tau) == (N, tau))
        total = int((29.5 - used_s) / (15 * shot_s))
        parts = []
        while total > 100:
            shots = min(total, 16_000)
            job, counts = final_run(dev, N, tau, rate * b0, shots)
            slope, error = spread(counts)
            jobs.append(job)
            parts.append((b0 + np.arcsin(np.clip(slope / amplitude, -1, 1)) / rate, error / amplitude / rate))
            total -= shots + int(spec["setup_s"] / (15 * shot_s)) + 1
        value, sigma = np.array(parts).T
        b0, sigma_nt = float(np.average(value, weights=sigma**-2)), float(np.sum(sigma**-2.0) ** -0.5)
        print(f"{b0:.2f} +- {sigma_nt:.2f} nT with n = {N} at {tau} us")
        answer = {
            "b0_nt": b0, "sigma_nt": sigma_nt, "n": N, "tau_us": tau, "t2star_us": t2, "job_ids": jobs,
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
