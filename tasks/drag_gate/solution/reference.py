"""Reference solver of drag_gate.

1. Three-level references; spectroscopy of 1-2 and a Ramsey fringe for anharmonicity and detuning; Rabi oscillations for the gain.
2. Short pulses of many shapes, alone and in trains, and one fit of gain, response time, skew, imbalance and anharmonicity to all of them.
3. The best ten samples in the fitted model.
4. Trains of the gate with random phases and paddings: what it leaks and how often it fails to flip.
"""

from __future__ import annotations

import numpy as np
from model import Device, design, gate_error, leakage, phased
from readout import Readout
from scipy.optimize import curve_fit, least_squares

import lab

LENGTH = 10
SHAPES = 32
TRAINS = (0, 40, 100)
TRAIN_SHOTS = 8000
RAMSEY_MHZ = 2.0
LIMITS = ([-0.25, -1e-3, 0.8, 0.2, -0.15, -0.15], [-0.17, 1e-3, 1.2, 2.0, 0.15, 0.15])
"""Of anharmonicity and detuning in GHz, gain, response time in ns, skew, imbalance."""


def wave(samples: np.ndarray) -> dict[str, list[float]]:
    return {"i": samples.real.tolist(), "q": samples.imag.tolist()}


def cosine(length: int, amplitude: float) -> np.ndarray:
    return amplitude * (1 - np.cos(2 * np.pi * (np.arange(length) + 0.5) / length)) / 2 + 0j


def rabi_gain(dev: lab.Lab, readout: Readout) -> float:
    """Gain from 20 ns pulses of rising amplitude."""
    scales = np.linspace(0.2, 1.0, 17)
    points = [{"train": [{"scale": s}], "repeats": 3} for s in scales]
    iq = dev.run("run_envelope", waveforms=[wave(cosine(20, 0.5))], points=points, shots=400)["iq"]
    # three pulses of area 0.5 x 20 / 2 ns at 200 MHz: three turns at scale 1
    fit, _ = curve_fit(lambda s, c, g, o: o - c * np.cos(2 * np.pi * 3 * s * g), scales, readout.populations(iq)[:, 1], p0=(0.5, 1.0, 0.5),
                       bounds=([0.3, 0.8, 0.3], [0.7, 1.2, 0.7]))  # fmt: skip
    return float(fit[1])


def detuning(dev: lab.Lab, readout: Readout, gain: float) -> float:
    """Qubit minus nominal drive, MHz: a fringe of the 0-1 transition with the drive set 2 MHz low."""
    delays = np.arange(0, 4000, 100)
    half = wave(cosine(20, 0.25 / gain))
    points = [{"before": [{"padding_ns": int(t)}], "after": [{}], "repeats": 0} for t in delays]
    iq = dev.run("run_envelope", waveforms=[half], points=points, shots=400, detuning_mhz=-RAMSEY_MHZ)["iq"]
    p = readout.populations(iq)[:, 1]

    def fringe(t: np.ndarray, f: float, phase: float, c: float, o: float) -> np.ndarray:
        return o + c * np.cos(2 * np.pi * f * t * 1e-3 + phase)

    starts = [(f, phase, 0.45, 0.5) for f in np.arange(1.55, 2.5, 0.1) for phase in (0.0, 2.0, 4.0)]
    fits = [least_squares(lambda x: fringe(delays, *x) - p, start, max_nfev=60) for start in starts]
    return float(abs(min(fits, key=lambda fit: fit.cost).x[0]) - RAMSEY_MHZ)


def anharmonicity(dev: lab.Lab, readout: Readout, nominal: float, offset: float, gain: float) -> float:
    """MHz, from the dip of level 1 where the 1-2 transition is driven by a weak long pulse."""
    carriers = nominal + np.linspace(-11, 11, 45)
    duration = 200
    amplitude = 0.9 / (duration * 0.2 * np.sqrt(2) * gain)
    record = dev.run("run_ef_spectroscopy", offsets_mhz=carriers.tolist(), amplitude=amplitude, duration_ns=duration, shots=400)
    p = readout.populations(record["iq"])[:, 2]
    fit, _ = curve_fit(lambda f, f0, w, c, o: o + c * np.exp(-0.5 * ((f - f0) / w) ** 2), carriers, p,
                       p0=(carriers[p.argmax()], 2.5, 0.8, 0.0))  # fmt: skip
    return float(fit[0] - offset)


def identify(dev: lab.Lab, readout: Readout, start: Device, rng: np.random.Generator) -> Device:
    """Fit the device to populations after short pulses of many shapes."""
    base = cosine(8, 0.8 / (0.2 * 8 * start.gain))
    ripple = rng.normal(0, 0.08, (SHAPES, 8)) + 1j * rng.normal(0, 0.08, (SHAPES, 8))
    shapes = base * np.exp(2j * np.pi * rng.random((SHAPES, 1))) + ripple
    shapes = np.clip(shapes.real, -1, 1) + 1j * np.clip(shapes.imag, -1, 1)
    plays = []
    for k in range(SHAPES):
        other, gap, turn = int(rng.integers(SHAPES)), int(rng.integers(0, 12)), float(rng.uniform(0, 2 * np.pi))
        plays.append([(k, 0.0, 0)])
        plays.append([(k, 0.0, gap), (other, turn, 0)])
        plays.append([(k, 0.0, 1), (k, 0.0, gap), (other, turn, 0)])
    points = [{"before": [{"waveform": w, "phase_rad": f, "padding_ns": g} for w, f, g in p], "repeats": 0} for p in plays]
    iq = dev.run("run_envelope", waveforms=[wave(s) for s in shapes], points=points, shots=1200)["iq"]
    seen = readout.populations(iq)
    sigma = np.sqrt(0.2 / 1200) * np.array([1.0, 1.2, 1.2]) + 2e-3

    def misfit(values: np.ndarray) -> np.ndarray:
        device = Device(*values)
        u = device.unitaries(shapes)
        out = np.empty((len(plays), 3))
        for n, p in enumerate(plays):
            psi = np.eye(4, dtype=complex)[0]
            for w, f, g in p:
                psi = device.idle(g) * (phased(u[w], f) @ psi)
            out[n] = np.abs(psi[:3]) ** 2
            out[n, 2] += abs(psi[3]) ** 2  # the readout knows three levels
        prior = (values - start.values()) / np.array([0.5e-3, 0.05e-3, 0.02, 0.5, 0.05, 0.05])
        return np.concatenate([((out - seen) / sigma).ravel(), prior])

    fits = []
    for tau in (0.6, 1.0):
        first = start.values()
        first[3] = tau
        scale = np.array([1e-3, 1e-4, 1e-2, 0.1, 0.02, 0.02])
        fits.append(least_squares(misfit, first, x_scale=scale, diff_step=1e-5, loss="soft_l1", max_nfev=12, bounds=LIMITS))
    found = min(fits, key=lambda f: f.cost)
    print(f"misfit per point {2 * found.cost / (3 * len(plays)):.2f}")
    return Device(*found.x.tolist())


def train_slopes(dev: lab.Lab, readout: Readout, samples: np.ndarray) -> tuple[float, float, str]:
    """Leaked population and missed flips per gate in trains with random phases and paddings."""
    points = [{"train": [{}], "repeats": n} for n in TRAINS]
    record = dev.run(
        "run_envelope", waveforms=[wave(samples)], points=points, shots=TRAIN_SHOTS, randomise=True, padding_max_ns=30, seed=11
    )
    p = readout.populations(record["iq"])
    n = np.array(TRAINS)
    # every train has an even number of gates: the qubit should be back in 0
    leaks, misses = (np.polyfit(n, y, 1)[0] for y in (p[:, 2], 1 - p[:, 0]))
    return float(leaks), float(misses), record.job_id


def main() -> None:
    rng = np.random.default_rng()
    with lab.connect() as dev:
        public = dev.spec()["spec"]
        readout = Readout(dev)
        gain = rabi_gain(dev, readout)
        offset = detuning(dev, readout, gain)
        alpha = anharmonicity(dev, readout, public["anharmonicity_nominal_mhz"], offset, gain)
        print(f"gain {gain:.3f}, detuning {offset:.3f} MHz, anharmonicity {alpha:.2f} MHz")
        device = identify(dev, readout, Device(alpha * 1e-3, offset * 1e-3, gain), rng)
        print(f"response time {device.tau:.3f} ns, skew {device.skew:.3f}, imbalance {device.imbalance:.3f}")
        on_resonance = Device(device.alpha, 0.0, device.gain, device.tau, device.skew, device.imbalance)
        samples, z = design(on_resonance, LENGTH)
        u = on_resonance.unitaries(samples[None])
        print(f"in the model: error {gate_error(u, z[:1], z[1:])[0]:.1e}, leakage {leakage(u)[0]:.1e}")
        leaks, misses, job = train_slopes(dev, readout, samples)
        print(f"in trains: leakage {leaks:.1e}, missed flips {misses:.1e} per gate")
        answer = {
            "i": samples.real.tolist(), "q": samples.imag.tolist(), "z_before_rad": float(z[0]), "z_after_rad": float(z[1]),
            "detuning_mhz": device.offset * 1e3, "predicted_error": max(misses, 5e-5), "predicted_leakage": max(leaks, 1e-6),
            "job_ids": [*readout.jobs, job],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
