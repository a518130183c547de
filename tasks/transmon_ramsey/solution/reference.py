"""Reference experimentalist of transmon_ramsey: two drive frequencies, a step that cannot alias, then delays where the envelope falls."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import curve_fit, least_squares

import lab

STEP_US = 0.15  # samples up to 3.3 MHz; the qubit is within 2.5 MHz of the drive
SCAN_US = 18.0
SHIFT_MHZ = 0.25
REP_US = 1000.0


class Sweep:
    """One Ramsey sweep: delays, drive offset, mean signal with its error, linear in the excited population."""

    def __init__(self, record: Any, delays_us: np.ndarray, offset_mhz: float, axis: tuple[complex, complex]) -> None:
        c0, c1 = axis
        u = ((record["iq"] - c0) * np.conj(c1 - c0)).real / abs(c1 - c0) ** 2
        self.job_id, self.t, self.offset = record.job_id, delays_us, offset_mhz
        self.value = u.mean(axis=1)
        self.error = np.full(self.t.size, np.sqrt(u.var(axis=1).mean() / u.shape[1]))

    def residual(self, delta_mhz: float, t2_us: float, power: float) -> np.ndarray:
        """Whitened residual with the best amplitude, phase and slow baseline."""
        envelope, phase = np.exp(-((self.t / t2_us) ** power)), 2 * np.pi * (delta_mhz + self.offset) * self.t
        slow = self.t / max(self.t.max(), 1.0)
        design = np.stack((np.ones_like(slow), slow, slow**2, envelope * np.cos(phase), envelope * np.sin(phase))) / self.error
        y = self.value / self.error
        return y - design.T @ np.linalg.lstsq(design.T, y, rcond=None)[0]

    def frequency(self) -> float:
        """|frequency| of the fringe in MHz, from the least squares line spectrum."""
        grid = np.arange(0.03, 0.5 / STEP_US, 0.004)
        return float(grid[np.argmin([np.sum(self.residual(f - self.offset, 15.0, 1.3) ** 2) for f in grid])])


def ramsey(dev: Any, delays_us: np.ndarray, offset_mhz: float, shots: int, half_ns: float, axis: tuple[complex, complex]) -> Sweep:
    half = {"op": "drive", "amplitude": 1.0, "duration_ns": half_ns}
    delays_ns = np.round(delays_us * 1e3)
    record = dev.run(
        "run_pulse_sequence", steps=[half, {"op": "delay", "duration_from": "tau_ns"}, half, {"op": "measure"}],
        sweep=[{"name": "tau_ns", "values": delays_ns.tolist()}], drive_offset_mhz=offset_mhz, shots=shots, rep_period_us=REP_US,
    )  # fmt: skip
    return Sweep(record, delays_ns * 1e-3, offset_mhz, axis)


def half_turn_ns(dev: Any, axis: tuple[complex, complex]) -> float:
    """Duration of a pi/2 pulse at full amplitude: the nominal Rabi frequency is only known to a quarter."""
    t = np.linspace(4.0, 80.0, 20)
    drive = {"op": "drive", "amplitude": 1.0, "duration_from": "t_ns"}
    columns = [{"name": "t_ns", "values": t.tolist()}]
    record = dev.run("run_pulse_sequence", steps=[drive, {"op": "measure"}], sweep=columns, shots=120, rep_period_us=REP_US)
    signal = ((record["iq"] - axis[0]) * np.conj(axis[1] - axis[0])).real.mean(axis=1)
    swing = np.ptp(signal) / 2

    def rabi(t_ns: np.ndarray, amplitude: float, rabi_mhz: float, level: float) -> np.ndarray:
        return level - amplitude * np.cos(2 * np.pi * rabi_mhz * t_ns * 1e-3)

    starts = [(swing, f, float(signal.mean())) for f in (17.0, 20.0, 23.0)]
    fits = [curve_fit(rabi, t, signal, p0=s, bounds=([0, 14, -np.inf], [np.inf, 27, np.inf]))[0] for s in starts]
    best = min(fits, key=lambda p: float(np.sum((rabi(t, *p) - signal) ** 2)))
    return 250.0 / float(best[1])


def joint(sweeps: list[Sweep], delta_mhz: float, t2_us: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(detuning, T2*, power), their standard errors, and chi^2 of all sweeps together."""
    fit = least_squares(
        lambda x: np.concatenate([s.residual(*x) for s in sweeps]), (delta_mhz, t2_us, 1.5), x_scale=(1e-3, 2.0, 0.2), diff_step=1e-5,
        bounds=((-3.0, 3.0, 1.0), (3.0, 200.0, 2.0)),
    )  # fmt: skip
    return fit.x, np.sqrt(np.diag(np.linalg.pinv(fit.jac.T @ fit.jac))), 2.0 * float(fit.cost)


def main() -> None:
    with lab.connect() as dev:
        for entry in dev.notebook():
            print(entry["date"], entry["title"], "-", entry["text"][:80])
        ground = dev.run("run_iq_reference", prepare=0, shots=1500, rep_period_us=REP_US)
        excited = dev.run("run_iq_reference", prepare=1, shots=1500, rep_period_us=REP_US)
        axis = complex(ground["iq"].mean()), complex(excited["iq"].mean())
        half_ns = half_turn_ns(dev, axis)

        delays = np.arange(0.0, SCAN_US + 1e-9, STEP_US)
        sweeps = [ramsey(dev, delays, offset, 50, half_ns, axis) for offset in (0.0, SHIFT_MHZ)]
        size = sweeps[0].frequency()
        tried = [joint(sweeps, sign * size, t2) for sign in (1, -1) for t2 in (15.0, 35.0)]
        x, _, chi2 = min(tried, key=lambda f: f[2])
        print(f"scan: {1e3 * x[0]:.1f} kHz, T2* about {x[1]:.0f} us; other sign worse by {max(f[2] for f in tried) - chi2:.0f} in chi^2")

        # the scan is too short for a long T2*: a coarse look at the tail decides where the last sweep goes
        looks = (
            (np.linspace(0.1, 2.0, 20), 150),
            (np.concatenate((np.linspace(0.05, 0.2, 5), np.linspace(0.7, 1.7, 28), [2.2, 2.5])), 310),
        )
        for base, shots in looks:
            # pairs a quarter of a period apart see the envelope whatever the phase
            first = float(np.clip(x[1], 12.0, 60.0)) * base
            pairs = np.sort(np.concatenate((first, first + 0.25 / abs(x[0]))))
            sweeps.append(ramsey(dev, pairs, 0.0, shots, half_ns, axis))
            tried = [joint(sweeps, x[0] + d, t2) for d in (-0.004, 0.0, 0.004) for t2 in (0.7 * x[1], x[1])]
            x, error, chi2 = min(tried, key=lambda f: f[2])
            print(f"{1e3 * x[0]:.2f} +- {1e3 * error[0]:.2f} kHz, T2* {x[1]:.1f} +- {error[1]:.1f} us, chi^2 {chi2:.0f}")
        answer = {
            "detuning_khz": 1e3 * float(x[0]), "t2star_us": float(x[1]), "t2star_sigma_us": float(error[1]),
            "job_ids": [ground.job_id, excited.job_id, *(s.job_id for s in sweeps)],
        }  # fmt: skip
        dev.check_answer(answer)
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
