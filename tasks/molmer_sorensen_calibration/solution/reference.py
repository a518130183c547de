"""Reference solver of molmer_sorensen_calibration.

1. Readout references; all five sidebands, coarse and fine, each on the ion that moves most in its mode.
2. A pulse that closes the measured modes, at the tone distance that minds errors of the modes least; all modes but the highest are
   taken as hot.
3. Amplitude from the balance of 00 and 11, virtual Z from the parity; both again with three pulses in a row.
4. Populations and parity of the final pulse, once and three times.
"""

from __future__ import annotations

import numpy as np
from pulses import best
from readings import Pair, angle, fringe, line

import lab

IONS = [2, 4]
WEAK_KHZ = 40.0
COARSE_US, FINE_US = 150, 500
NBAR = np.array([4.0, 4.0, 4.0, 4.0, 0.3])
MODE_SIGMA_KHZ = 0.25


def pi_pulse(eta: float, duration_us: float, quanta: float, top: float) -> dict[str, float]:
    """About a pi pulse on the sideband of a mode with `quanta`, longer than asked for where the beam is too weak."""
    omega = 0.5e3 / duration_us / (eta * np.sqrt(quanta + 1))
    return {"pulse_us": int(duration_us * max(1.0, omega / top)), "omega_khz": min(float(omega), top)}


def spectroscopy(dev: lab.Lab, public: dict, start_khz: list[float]) -> tuple[np.ndarray, list[str]]:
    """Modes in kHz, and the jobs."""
    b = np.array(public["participation"])
    found, jobs = [], []
    for m, guess in enumerate(start_khz):
        ion = int(np.argmax(np.abs(b[:, m]))) + 1
        eta = public["eta"] * abs(b[ion - 1, m])
        for half, points, shots, length in ((8.0, 17, 30, COARSE_US), (1.6, 11, 60, FINE_US)):
            pulse = pi_pulse(eta, length, NBAR[m], WEAK_KHZ)
            guess, job = line(dev, ion, guess, half, points, shots, **pulse)
            jobs.append(job)
        found.append(guess)
    return np.array(found), jobs


def main() -> None:
    with lab.connect() as dev:
        public = dev.spec()["spec"]
        table = next(e["data"]["modes_khz"] for e in reversed(dev.notebook()) if e["data"] and "modes_khz" in e["data"])
        modes, scans = spectroscopy(dev, public, table)
        print("modes moved by", np.round(modes - np.array(table), 2), "kHz")
        pulse = best(public, modes, IONS, NBAR, MODE_SIGMA_KHZ)
        pair = Pair.calibrated(dev, IONS, 800)
        scale, z = 1.0, 0.0
        scale *= np.sqrt(np.pi / 4 / angle(pair.gate(pulse.segments(scale), z, 800)[0]))
        for repeats, shots in ((1, 80), (3, 120)):
            # parity of (|00> - i|11>) / sqrt(2) is sin(2 phi), and a turn by z of both ions moves it
            seen = fringe(pair.gate(pulse.segments(scale), z, shots, scan=True), shots)
            z -= (seen[2] - np.pi / 2) / 2
            scale *= np.sqrt(np.pi / 4 / angle(pair.gate(pulse.segments(scale), z, 1000, repeats)[0], repeats))
        segments = pulse.segments(scale)
        final = pair.jobs[:2]
        populations = pair.gate(segments, z, 2000)[0]
        contrast, sigma, phase = fringe(pair.gate(segments, z, 150, scan=True), 150)
        for scan in (False, True):
            pair.gate(segments, z, 40 if scan else 400, 3, scan)
        final += pair.jobs[-4:]
        even = populations[0] + populations[3]
        fidelity = (even + contrast) / 2
        error = np.hypot(np.sqrt(max(even * (1 - even), 1 / 2000) / 2000), sigma) / 2
        print(f"fidelity {fidelity:.4f} +- {error:.4f}, parity off by {phase - np.pi / 2:.3f} rad")
        answer = {
            "segments": segments, "virtual_z_rad": float(z), "fidelity": float(np.clip(fidelity, 0, 1)), "fidelity_sigma": float(error),
            "job_ids": [*scans, *final],
        }  # fmt: skip
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
