"""Reference experimentalist of leakage_drag_characterization: three-level readout, trains randomised shot by shot, a rate model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import curve_fit, least_squares

import lab

LENGTHS = (8, 10, 16)
BETAS = (0.0, 0.5, 1.0, 1.5)
SLOT_NS = 8 + 15  # ring-down and mean random padding
TRAIN_SHOTS = 7000


class Bench:
    """The laboratory with three-level readout; keeps the ids of the jobs that the answer rests on."""

    def __init__(self, dev: lab.Lab) -> None:
        self.dev = dev
        self.public = dev.spec()["spec"]
        self.alpha = self.public["anharmonicity_nominal_mhz"]
        self.full = self.public["full_scale_mhz"] * 1e-3
        self.jobs: list[str] = []
        clouds = [self.take("run_iq_reference", prepare=k, shots=15_000)[0] for k in range(3)]
        self.centres = np.array([np.median(c.real) + 1j * np.median(c.imag) for c in clouds])
        self.response = np.array([self.fractions(c) for c in clouds]).T  # [assigned, prepared]
        self.shots0 = 15_000

    def take(self, tool: str, cite: bool = True, **request: Any) -> np.ndarray:
        rec = self.dev.run(tool, **request)
        if cite:
            self.jobs.append(rec.job_id)
        return rec["iq"]

    def fractions(self, iq: np.ndarray) -> np.ndarray:
        """Share of the points nearest to each centre, (3,)."""
        return np.bincount(np.abs(iq[:, None] - self.centres).argmin(axis=1), minlength=3) / iq.size

    def populations(self, iq: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Populations (points, 3) and the standard error of that of level 2 (points,), that of the response matrix included."""
        inverse = np.linalg.inv(self.response)
        seen = np.array([self.fractions(row) for row in iq])
        p = seen @ inverse.T
        var = (seen @ inverse[2] ** 2 - p[:, 2] ** 2) / iq.shape[1]
        for level in range(3):
            r = self.response[:, level]
            var += p[:, level] ** 2 * (r @ inverse[2] ** 2 - (r @ inverse[2]) ** 2) / self.shots0
        return p, np.sqrt(np.maximum(var, 1e-9))

    def wave(self, length: int, amplitude: float, beta: float) -> dict[str, list[float]]:
        angle = 2 * np.pi * (np.arange(length) + 0.5) / length
        slope = (np.pi / length) * np.sin(angle) / (2 * np.pi * self.alpha * 1e-3)
        return {"i": (amplitude * (1 - np.cos(angle)) / 2).tolist(), "q": (-beta * amplitude * slope).tolist()}


def calibrate(bench: Bench) -> np.ndarray:
    """Amplitude of the pi pulse of every length and coefficient, (3, 4): where one pulse transfers most."""
    full = [1.0 / (bench.full * t) for t in LENGTHS]
    scales = np.linspace(0.3, 1.0, 15)
    iq = bench.take("run_envelope", False, waveforms=[bench.wave(10, 1.25 * full[1], 0.5)],
                    points=[{"train": [{"scale": s}]} for s in scales], shots=600)  # fmt: skip
    p1 = bench.populations(iq)[0][:, 1]
    (_, gain), _ = curve_fit(lambda s, c, g: c * np.sin(np.pi / 2 * 1.25 * s * g) ** 2, scales, p1, p0=(1.0, 1.0))
    factors = np.linspace(0.72, 1.2, 8)
    cells = [(t, b) for t in range(3) for b in range(4)]
    waves = [bench.wave(LENGTHS[t], 1.2 * full[t] / gain, BETAS[b]) for t, b in cells]
    points = [{"train": [{"waveform": w, "scale": f / 1.2}]} for w in range(12) for f in factors]
    p1 = bench.populations(bench.take("run_envelope", False, waveforms=waves, points=points, shots=1000))[0][:, 1].reshape(3, 4, -1)
    out = np.empty((3, 4))
    for t, b in cells:
        fit, _ = curve_fit(lambda f, top, f0: top * np.cos(np.pi / 2 * (f / f0 - 1)) ** 2, factors, p1[t, b], p0=(1.0, 0.97))
        out[t, b] = fit[1] * full[t] / gain
    return out


def anharmonicity(bench: Bench, gain: float, amplitude16: float) -> tuple[float, float]:
    """Ramsey for the detuning of the drive, spectroscopy for the 1-2 transition."""
    delay = np.arange(0, 3000, 75)
    fake = 1.0  # MHz, by the phase of the second pulse
    points = [
        {"train": [{"scale": 0.5, "padding_ns": int(d)}, {"scale": 0.5, "phase_rad": 2e-3 * np.pi * fake * d}]} for d in delay
    ]
    iq = bench.take("run_envelope", waveforms=[bench.wave(16, amplitude16, 0.5)], points=points, shots=250)
    p1 = bench.populations(iq)[0][:, 1]
    grid = np.linspace(0.4, 1.6, 241)
    power = np.abs(np.exp(-2e-3j * np.pi * np.outer(grid, delay)) @ (p1 - p1.mean()))
    start = (0.5, 0.5, grid[power.argmax()], 0.0)
    fringe, cov = curve_fit(lambda d, m, a, f, ph: m + a * np.cos(2e-3 * np.pi * f * d + ph), delay, p1, p0=start)
    delta = fringe[2] - fake
    offsets = bench.alpha + np.linspace(-12, 12, 33)
    iq = bench.take("run_ef_spectroscopy", offsets_mhz=offsets, amplitude=0.0177 / gain, duration_ns=200, shots=600)
    p2 = bench.populations(iq)[0][:, 2]
    guess = (1.0, offsets[p2.argmax()], 3.0, 0.0)
    peak, cov2 = curve_fit(lambda x, a, x0, w, c: c + a * np.exp(-(((x - x0) / w) ** 2) / 2), offsets, p2, p0=guess)
    return peak[1] - delta, float(np.sqrt(cov[2, 2] + cov2[1, 1] + 0.05**2))


def ratio(leak: float, n: np.ndarray, decay: float) -> np.ndarray:
    """Population outside of the qubit after n pulses: leakage, return at twice its rate, decay of level 2 per slot."""
    rate = 3 * leak + decay
    return leak / rate * -np.expm1(-rate * n)


def relaxation(bench: Bench) -> float:
    """Decay rate of level 2, 1/ns."""
    waits = [0, 8000, 20_000]
    points = [{"prepare": 2, "before": [{"scale": 0.0, "padding_ns": w}], "repeats": 0} for w in waits]
    iq = bench.take("run_envelope", False, waveforms=[bench.wave(8, 0.1, 0.0)], points=points, shots=2000)
    p2 = bench.populations(iq)[0][:, 2]
    return float(curve_fit(lambda t, a, r: a * np.exp(-r * t), waits, p2, p0=(1.0, 3e-5))[0][1])


def slope(n: np.ndarray, p2: np.ndarray, sigma: np.ndarray, decay: float) -> tuple[float, float]:
    """Leakage per pulse and its statistical error from populations of level 2 after n pulses."""
    fit = least_squares(lambda x: (x[1] + ratio(x[0], n, decay) - p2) / sigma, (1e-3, 0.0), x_scale=(1e-3, 1e-3))
    return float(fit.x[0]), float(np.sqrt(np.linalg.inv(fit.jac.T @ fit.jac)[0, 0]))


def leakage(bench: Bench, amplitudes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leakage per pulse and its standard error, (3, 4) each."""
    cells = [(t, b) for t in range(3) for b in range(4)]
    waves = [bench.wave(LENGTHS[t], amplitudes[t, b], BETAS[b]) for t, b in cells]
    gamma = relaxation(bench)
    slot = np.array([(LENGTHS[t] + SLOT_NS) * gamma for t, _ in cells])

    points = [{"train": [{"waveform": w}], "repeats": 12} for w in range(12)]
    scout = bench.populations(bench.take("run_envelope", False, waveforms=waves, points=points, shots=1500, randomise=True, seed=1))[0]
    rough = np.clip(scout[:, 2] / 12, 2e-4, 0.05)
    short, long = (2 * np.round(np.clip(x / rough, low, high) / 2).astype(int) for x, low, high in ((0.06, 4, 60), (0.2, 8, 120)))

    value, error = np.empty(12), np.empty(12)
    for k in range(0, 12, 3):
        points = [{"train": [{"waveform": w}], "repeats": int(n)} for w in range(k, k + 3) for n in (short[w], long[w])]
        points.append({"train": [{"waveform": k}], "repeats": 0})
        iq = bench.take("run_envelope", waveforms=waves, points=points, shots=TRAIN_SHOTS, randomise=True, seed=2 + k)
        p, sigma = bench.populations(iq)
        for j in range(3):
            w, rows = k + j, [2 * j, 2 * j + 1, 6]
            rate, stat = slope(np.array([short[w], long[w], 0]), p[rows, 2], sigma[rows], slot[w])
            value[w] = max(rate, 0.0)
            # the rate model knows no fourth level and one rate of return: good to some percent
            error[w] = np.hypot(stat, 0.05 * value[w])
        print("leakage", [f"{v:.2e}" for v in value[k : k + 3]], "trains of", short[k : k + 3], long[k : k + 3])
    return value.reshape(3, 4), np.clip(error, 1e-5, None).reshape(3, 4)


def least_leakage(row: np.ndarray) -> float:
    """Zero of the leakage amplitude: square roots with a sign that changes once, and the cubic through the four of them."""
    best = (np.inf, 0.0)
    for change in (2, 3):
        amplitude = np.sqrt(row) * np.where(np.arange(4) < change, 1, -1)
        cubic = np.polyfit(BETAS, amplitude, 3)
        roots = np.roots(cubic)
        real = [r.real for r in roots if abs(r.imag) < 1e-6 and BETAS[change - 1] <= r.real <= BETAS[change]]
        if real:
            best = min(best, (float(np.abs(cubic[0]) + np.abs(cubic[1])), real[0]))
    return best[1]


def phase(bench: Bench, amplitude: float) -> tuple[float, float]:
    """Coefficient at which a pi pulse and its inverse undo each other best."""
    betas, pairs = np.linspace(0.34, 0.66, 9), (6, 16)
    waves = [bench.wave(16, amplitude, b) for b in betas]
    points = [
        {"train": [{"waveform": w}, {"waveform": w, "phase_rad": np.pi}], "repeats": n} for n in pairs for w in range(betas.size)
    ]
    iq = bench.take("run_envelope", waveforms=waves, points=points, shots=1200)
    lost = 1.0 - bench.populations(iq)[0][:, 0].reshape(2, -1)

    def model(x: np.ndarray) -> np.ndarray:
        turns = np.sin(np.outer(pairs, x[1] * (betas - x[0]))) ** 2
        return x[2] * np.array(pairs)[:, None] + x[3] + (1 - 2 * x[3]) * turns

    runs = [least_squares(lambda x: (model(x) - lost).ravel() / 0.014, (b, 0.5, 1e-3, 0.01)) for b in np.linspace(0.4, 0.6, 9)]
    fit = min(runs, key=lambda r: r.cost)
    return float(fit.x[0]), float(np.hypot(np.sqrt(np.linalg.inv(fit.jac.T @ fit.jac)[0, 0]), 0.002))


def measure(dev: lab.Lab) -> dict[str, Any]:
    """The answer, from scratch."""
    bench = Bench(dev)
    amplitudes = calibrate(bench)
    gain = 1.0 / (bench.full * 16 * amplitudes[2, 1])
    alpha, alpha_sigma = anharmonicity(bench, gain, amplitudes[2, 1])
    beta_phase, phase_sigma = phase(bench, amplitudes[2, 1])
    value, error = leakage(bench, amplitudes)
    rng = np.random.default_rng(0)
    samples = [least_leakage(np.maximum(rng.normal(value[0], error[0]), 1e-5)) for _ in range(200)]
    return {
        "alpha_mhz": alpha, "alpha_sigma_mhz": alpha_sigma, "leakage": value.tolist(), "leakage_sigma": error.tolist(),
        "beta_leak_8ns": least_leakage(value[0]), "beta_leak_sigma": float(np.hypot(np.std(samples), 0.005)),
        "beta_phase_16ns": beta_phase, "beta_phase_sigma": phase_sigma, "job_ids": bench.jobs,
    }  # fmt: skip


def main() -> None:
    with lab.connect() as dev:
        for entry in dev.notebook():
            print(entry["date"], entry["title"], "-", entry["text"][:90])
        answer = measure(dev)
        print({k: np.round(v, 4).tolist() for k, v in answer.items() if k != "job_ids"})
        dev.check_answer(answer)
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
