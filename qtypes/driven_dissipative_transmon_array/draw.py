"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.driven_dissipative_transmon_array.device import (
    DETUNING_WALK_KHZ,
    OFFSET_MHZ,
    PHASE_WALK_RAD,
    SCALE_RANGE,
    THERMAL,
    Hidden,
    Profile,
)
from qtypes.driven_dissipative_transmon_array.physics import Floats, generator, singlet_fidelity, steady
from qtypes.kit.lab_clock_noise import fresh_seed

OMEGA_MHZ = 5.0
DELTA_MHZ = (1.0, -1.0, 0.6, -0.6)
"""The previous operator's settings: pairs of opposite detunings, each of its own size."""


def _uniform(rng: np.random.Generator, low: float, high: float, n: int) -> tuple[float, ...]:
    return tuple(float(x) for x in rng.uniform(low, high, n))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    n = profile.n_qubits
    return Hidden(
        gamma_mhz=float(rng.uniform(*profile.gamma_mhz)),
        eta=(1.0, *_uniform(rng, *profile.eta_ratio, n - 1)),
        phi_rad=_uniform(rng, -np.pi, np.pi, n),
        offset_mhz=_uniform(rng, -OFFSET_MHZ, OFFSET_MHZ, n),
        rabi_scale=_uniform(rng, *SCALE_RANGE, n),
        t1_us=_uniform(rng, *profile.t1_us, n),
        tphi_us=_uniform(rng, *profile.tphi_us, n),
        thermal=float(rng.uniform(*THERMAL)),
        p1_given_g=_uniform(rng, 0.005, 0.03, n),
        p0_given_e=_uniform(rng, 0.02, 0.06, n),
        detuning_walk_khz=float(rng.uniform(*DETUNING_WALK_KHZ)),
        detuning_seeds=tuple(fresh_seed(rng) for _ in range(n)),
        phase_walk_rad=float(rng.uniform(*PHASE_WALK_RAD)),
        phase_seeds=tuple(fresh_seed(rng) for _ in range(n)),
    )


def last_cooldown(hidden: Hidden, rng: np.random.Generator, profile: Profile) -> Hidden:
    """The device as it was: other lines, so other phases, gains and flux offsets."""
    n = profile.n_qubits
    shift = rng.uniform(*profile.phase_shift_rad, n) * rng.choice((-1.0, 1.0), n)
    shift[0] = 0.0  # only differences matter
    return hidden.model_copy(
        update={
            "phi_rad": tuple((np.array(hidden.phi_rad) - shift).tolist()),
            "offset_mhz": _uniform(rng, -OFFSET_MHZ, OFFSET_MHZ, n),
            "rabi_scale": _uniform(rng, *SCALE_RANGE, n),
        }
    )


def pair_fidelity(hidden: Hidden, amp_mhz: Floats, phase_rad: Floats, detuning_mhz: Floats) -> float:
    """Overlap of qubits 0 and 1 with the singlet of the channel in the stationary state at lab clock 0."""
    model = hidden.model(0.0, amp_mhz.tolist(), phase_rad.tolist(), detuning_mhz.tolist())
    pair = steady(generator(model)).reshape(16, -1)[:, 0]
    return float(singlet_fidelity(pair, model.phi_rad[:2]))


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """Settings of the last cooldown with what they reached then, and one-qubit calibrations since; true on their dates."""
    n = profile.n_qubits
    old = last_cooldown(hidden, rng, profile)
    delta = np.array(DELTA_MHZ[:n])
    amp, detuning = OMEGA_MHZ / np.array(old.rabi_scale), delta - old.offset_mhz
    phase = np.mod(np.array(old.phi_rad) - old.phi_rad[0] + np.pi, 2.0 * np.pi) - np.pi
    fidelity = pair_fidelity(old, amp, phase, detuning) + float(rng.normal(0.0, 0.005))
    stabilised = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(70, 110))), author="K. Oyelaran", title="Pair stabilised by the common channel",
        text=f"Opposite detunings, equal Rabi frequencies ({OMEGA_MHZ:.0f} MHz), drives in phase with the channel: whatever state we start"
        f" from, qubits 0 and 1 settle in the singlet of the channel within a few us, fidelity {fidelity:.2f} from tomography at 60 us."
        " Programmed settings attached.",
        data={"amp_mhz": np.round(amp, 3).tolist(), "phase_rad": np.round(phase, 3).tolist(), "frame_rad": np.round(phase, 3).tolist(),
              "detuning_mhz": np.round(detuning, 3).tolist(), "fidelity_60us": round(fidelity, 3)},
    )  # fmt: skip
    recabled = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(3, 9))), author="M. Duarte", title="New cooldown",
        text="Fridge warmed up and recabled (new attenuators and low-pass filters in all drive lines), cold again. Gains and flux offsets"
        " moved by up to 15 % and 0.4 MHz, so each qubit wants its one-qubit calibration (alone, the others parked) before the pairs are"
        " run. With one qubit at a time the drive phase makes no difference to anything: the phases in the software are as they were.",
    )  # fmt: skip
    return Notebook(entries=(stabilised, recabled))
