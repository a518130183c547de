"""Reference experimentalist of drifting_t1: time-stamped interleaved relaxation data and a two-state hidden Markov model."""

from __future__ import annotations

import numpy as np

import lab

DELAYS_US = np.array([0.0, 20.0, 50.0, 100.0])
REP_US = 10_000.0
JOB_CYCLES = 22_500  # 900 s of lab clock per job
JOBS = 8
BIN_S = 0.25
GRID_US = np.geomspace(4.0, 300.0, 160)
PULSE = {"op": "drive", "amplitude": 1.0, "duration_ns": 25.0}


def references(dev: lab.Lab) -> tuple[float, complex, complex, list[str], np.ndarray]:
    """Mean IQ point without and with the pulse at this time of the lab clock."""
    ground = dev.run("run_iq_reference", prepare=0, shots=6000, rep_period_us=2000.0)
    excited = dev.run("run_iq_reference", prepare=1, shots=2000, rep_period_us=2000.0)
    time = float(ground["time_s"].mean())
    return time, complex(ground["iq"].mean()), complex(excited["iq"].mean()), [ground.job_id, excited.job_id], ground["iq"].ravel()


def assign(iq: np.ndarray, c0: np.ndarray, c1: np.ndarray) -> np.ndarray:
    """1 where a point lies on the side of the excited mean; the threshold follows the slow rotation of the IQ plane."""
    return ((iq - (c0 + c1) / 2) * np.conj(c1 - c0)).real > 0


def forward_backward(emission: np.ndarray, step: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior (n, 2) and expected switches (2, 2); `emission` (n, 2) are log likelihoods."""
    top = emission.max(axis=1)
    e = np.exp(emission - top[:, None]).tolist()
    (a00, a01), (a10, a11) = step.tolist()
    n = len(e)
    alpha = np.empty((n, 2))
    p, q = start[0] * e[0][0], start[1] * e[0][1]
    norms = np.empty(n)
    for k in range(n):
        if k:
            p, q = (p * a00 + q * a10) * e[k][0], (p * a01 + q * a11) * e[k][1]
        norms[k] = p + q
        p, q = p / norms[k], q / norms[k]
        alpha[k] = p, q
    beta = np.empty((n, 2))
    p = q = 1.0
    beta[-1] = 1.0
    scale = norms.tolist()
    for k in range(n - 2, -1, -1):
        u, v = e[k + 1][0] * p / scale[k + 1], e[k + 1][1] * q / scale[k + 1]
        p, q = a00 * u + a01 * v, a10 * u + a11 * v
        beta[k] = p, q
    gamma = alpha * beta
    gamma /= gamma.sum(axis=1, keepdims=True)
    ahead = beta[1:] * np.asarray(e[1:]) / norms[1:, None]
    return gamma, step * (alpha[:-1].T @ ahead)


def baum_welch(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T1 (2,), dwell times in s (2,) and posterior (n, 2), state 0 the long-lived; `table` (n, n_grid) log likelihoods."""
    block = 8
    n = len(table) // block * block
    best = table[:n].reshape(-1, block, table.shape[1]).sum(axis=1).argmax(axis=1)
    low, high = (int(v) for v in np.percentile(best, (12, 75)))
    index = [max(high, low + 5), low]
    step, start = np.array([[0.99, 0.01], [0.02, 0.98]]), np.array([0.6, 0.4])
    for _ in range(25):
        gamma, switches = forward_backward(table[:, index], step, start)
        old, step = step, switches / switches.sum(axis=1, keepdims=True)
        start = gamma.mean(axis=0)
        new = [int(v) for v in (gamma.T @ table).argmax(axis=1)]
        if new == index and np.abs(np.log(step / old)).max() < 0.01:
            break
        index = new
    p01, p10 = step[0, 1], step[1, 0]
    rate = -np.log(1 - p01 - p10) / BIN_S  # continuous-time rates: two switches in one bin leave no trace
    dwell = (p01 + p10) / (rate * np.array([p01, p10]))
    order = [0, 1] if index[0] > index[1] else [1, 0]
    return GRID_US[index][order], dwell[order], gamma[:, order]


def main() -> None:
    with lab.connect() as dev:
        for entry in dev.notebook():
            print(entry["date"], entry["title"], "-", entry["text"][:80])
        sweep = [{"name": "tau_ns", "values": (DELAYS_US * 1e3).tolist()}]
        steps = [PULSE, {"op": "delay", "duration_from": "tau_ns"}, {"op": "measure"}]
        marks, jobs, time, iq = [references(dev)], [], [], []
        for k in range(JOBS):
            rec = dev.run("run_pulse_sequence", steps=steps, sweep=sweep, shots=JOB_CYCLES, rep_period_us=REP_US, order="interleaved")
            jobs.append(rec.job_id)
            time.append(rec["time_s"].T.ravel())
            iq.append(rec["iq"].T.ravel())
            if k % 2:
                marks.append(references(dev))
            print(f"{k + 1} of {JOBS} sweeps, lab clock {time[-1][-1]:.0f} s")
        jobs += [j for m in marks for j in m[3]]
        t, z = np.concatenate(time), np.concatenate(iq)
        when = np.array([m[0] for m in marks])
        # over two hours the plane turns by degrees: a straight line through the reference means follows it
        lines = [np.polynomial.Polynomial.fit(when, np.array([m[c] for m in marks]), 1) for c in (1, 2)]
        hit = assign(z, lines[0](t), lines[1](t))
        delay = np.tile(np.arange(DELAYS_US.size), t.size // DELAYS_US.size)

        # The thermal state seen through this threshold is the level at infinite delay, the shortest delay the level at zero.
        floor = float(np.mean([assign(m[4], lines[0](m[0]), lines[1](m[0])).mean() for m in marks]))
        top = float(hit[delay == 0].mean())
        p = floor + (top - floor) * np.exp(-DELAYS_US / GRID_US[:, None])

        number = np.floor(t / BIN_S).astype(int)
        _, bins = np.unique(number, return_inverse=True)
        n_bins = int(bins.max()) + 1
        key = bins * DELAYS_US.size + delay
        total = np.bincount(key, minlength=n_bins * DELAYS_US.size).reshape(n_bins, -1)
        ones = np.bincount(key, weights=hit, minlength=n_bins * DELAYS_US.size).reshape(n_bins, -1)
        table = ones @ np.log(p.T) + (total - ones) @ np.log(1 - p.T)
        t1, dwell, gamma = baum_welch(table)
        half = n_bins // 2
        halves = [GRID_US[(gamma[part].T @ table[part]).argmax(axis=1)] for part in (slice(0, half), slice(half, None))]
        print("T1 of the first and the second half:", *(np.round(h, 1) for h in halves))

        second = np.floor((np.unique(number) + 0.5) * BIN_S).astype(int)
        second -= second.min()
        seen = np.bincount(second) > 0
        rate = (np.bincount(second, weights=gamma @ (1 / t1)) / np.maximum(np.bincount(second), 1))[seen]
        low, high = np.percentile(1 / rate, (10, 90))
        share = gamma.mean(axis=0)
        answer = {
            "states": [{"t1_us": float(t1[k]), "dwell_s": float(dwell[k]), "occupancy": float(share[k])} for k in (0, 1)],
            "t1_p10_us": float(low), "t1_p90_us": float(high), "job_ids": jobs,
        }  # fmt: skip
        print(answer["states"], round(low, 1), round(high, 1))
        dev.check_answer(answer)
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
