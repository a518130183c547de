"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt

import numpy as np
from numpy.typing import NDArray

from qtypes.contract import Notebook, NotebookEntry
from qtypes.kit.lab_clock_noise import fresh_seed
from qtypes.transmon_multilevel_pulse import physics, replay
from qtypes.transmon_multilevel_pulse.device import GAIN_RANGE, NOMINAL_WITHIN_MHZ, OFFSET_MHZ, RAD_PER_NS, Centre, Hidden, Profile, Range
from qtypes.transmon_multilevel_pulse.pulses import raised_cosine

TRAIN = 100
MAX_SPACING_NS = 8
COHERENT_NS, COHERENT_BETA = 10, 0.5
TRAIN_SIGMA = 1e-3
"""Standard error of the population outside of the qubit that the previous operator read."""
SLOW_DRAG_NS = 20


def _within(rng: np.random.Generator, span: Range) -> float:
    return float(rng.uniform(*span))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    alpha = _within(rng, profile.alpha_mhz)
    sigma = float(rng.uniform(0.8, 1.4))
    return Hidden(
        drive_ghz=round(float(rng.uniform(4.5, 5.5)), 4),
        anharmonicity_nominal_mhz=round(alpha + float(rng.uniform(-1.0, 1.0)) * (NOMINAL_WITHIN_MHZ - 0.1), 1),
        alpha_mhz=alpha,
        offset_mhz=float(rng.uniform(-OFFSET_MHZ, OFFSET_MHZ)),
        gain=_within(rng, GAIN_RANGE),
        tau_ns=_within(rng, profile.tau_ns),
        skew=float(rng.uniform(-1.0, 1.0)) * profile.skew,
        imbalance=float(rng.uniform(-1.0, 1.0)) * profile.skew,
        t1_us=_within(rng, profile.t1_us),
        tphi_us=_within(rng, profile.tphi_us),
        gain_walk=float(rng.uniform(0.5e-3, 1.5e-3)),
        gain_seed=fresh_seed(rng),
        frequency_walk_khz=float(rng.uniform(3.0, 7.0)),
        frequency_seed=fresh_seed(rng),
        reset_excited=float(rng.uniform(0.002, 0.01)),
        centres=_centres(rng, sigma),
        sigma=sigma,
        swap12=_within(rng, profile.swap12),
    )


def _centres(rng: np.random.Generator, sigma: float) -> tuple[Centre, ...]:
    """Four centres on an arc, 3.8 to 4.8 sigma from each to the next: each level pulls the resonator further (Gambetta 2007)."""
    angle, turn = float(rng.uniform(0.0, 2.0 * np.pi)), float(rng.uniform(0.9, 1.4) * rng.choice((-1.0, 1.0)))
    z = complex(*rng.uniform(-3.0, 3.0, size=2))
    centres = [z]
    for _ in range(3):
        z += sigma * float(rng.uniform(3.8, 4.8)) * complex(np.exp(1j * angle))
        angle += turn
        centres.append(z)
    return tuple(Centre(re=c.real, im=c.imag) for c in centres)


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """The entries of the task's story: true on their date."""
    stories = {"coherent_trains": _coherent_trains, "slow_drag": _slow_drag}
    wiring = NotebookEntry(
        date=today - dt.timedelta(days=int(rng.integers(60, 90))), author="R. Halvorsen", title="Cooldown and wiring check",
        text=f"Nominal drive {hidden.drive_ghz:.4f} GHz, design anharmonicity {hidden.anharmonicity_nominal_mhz:.1f} MHz. The IQ mixer is"
        " only balanced to a few percent, and the room-temperature filter rounds steps on the scale of a nanosecond. Attenuation known to"
        " 15 %: calibrate the amplitude. Samples of i and q saturate at 1, nothing else limits the amplitude. The automated slow pulses"
        " (40 ns) that prepare and map levels are kept tuned by the laboratory.",
    )  # fmt: skip
    return Notebook(entries=(wiring, *stories[profile.notebook](hidden, rng, today)))


def calibrated(hidden: Hidden, length: int, beta: float) -> float:
    """Amplitude at which a raised cosine transfers most population from |0> to |1>, at lab clock 0 and zero detuning."""
    from scipy.optimize import minimize_scalar  # here, because it takes longer to import than the rest of a worker

    transmon, line = hidden.transmon(0.0), hidden.line(0.0)
    unit = raised_cosine(length, 1.0, beta, hidden.anharmonicity_nominal_mhz)
    guess = 1.0 / (RAD_PER_NS / physics.TWO_PI * length * hidden.gain)

    def missed(amplitude: float) -> float:
        return 1.0 - float(abs(transmon.unitary(line, RAD_PER_NS * amplitude * unit)[1, 0]) ** 2)

    return float(minimize_scalar(missed, bounds=(0.75 * guess, 1.2 * guess), method="bounded", options={"xatol": 1e-5}).x)


def phase_coefficient(hidden: Hidden, length: int) -> float:
    """DRAG coefficient at which a pi pulse and its inverse undo each other, at lab clock 0 and zero detuning."""
    from scipy.optimize import brentq

    def error(beta: float) -> float:
        samples = raised_cosine(length, calibrated(hidden, length, beta), beta, hidden.anharmonicity_nominal_mhz)
        return replay.phase_error(hidden.transmon(0.0).unitary(hidden.line(0.0), RAD_PER_NS * samples))

    return float(brentq(error, 0.0, 1.0, xtol=1e-4))


def train_populations(hidden: Hidden, length: int, beta: float, pulses: int, spacing_ns: NDArray[np.integer]) -> NDArray[np.float64]:
    """Populations `(spacings, 4)` after `pulses` identical pi pulses from |0>, with decoherence, at lab clock 0 and zero detuning."""
    samples = raised_cosine(length, calibrated(hidden, length, beta), beta, hidden.anharmonicity_nominal_mhz)
    transmon = hidden.transmon(0.0)
    slots = transmon.free(spacing_ns) @ transmon.pulse(hidden.line(0.0), RAD_PER_NS * samples)
    start = physics.state(np.array([1.0, 0.0, 0.0, 0.0]))
    out: NDArray[np.float64] = (np.linalg.matrix_power(slots, pulses) @ start)[:, : physics.LEVELS]
    return out


def _coherent_trains(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    # identical pulses interfere, and at some spacing they leave next to nothing outside of the qubit: the one that a hasty operator likes
    outside = train_populations(hidden, COHERENT_NS, COHERENT_BETA, TRAIN, np.arange(MAX_SPACING_NS + 1))[:, 2:].sum(axis=1)
    spacing = int(np.argmin(outside))
    seen = max(0.0, float(outside[spacing] + TRAIN_SIGMA * np.clip(rng.normal(), -1.5, 1.5)))
    bound = float(f"{(seen + 2.0 * TRAIN_SIGMA) / TRAIN:.0e}")
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=int(rng.integers(8, 15))), author="S. Imai", title="Leakage of the fast pulse",
            text=f"Raised cosine of {COHERENT_NS} ns, DRAG coefficient {COHERENT_BETA}: trains of {TRAIN} identical pi pulses, all on"
            f" the same axis, read against references of levels 0, 1 and 2. Spacings of 0 to {MAX_SPACING_NS} ns between the pulses; some"
            f" gave untidy trains, with {spacing} ns it is clean: {100 * seen:.2f}({100 * TRAIN_SIGMA:.2f}) % of the shots end outside of"
            f" the qubit. So the leakage is below {bound:.0e} per pulse. Good enough; I would expect the same of our pulses of 8 to 16 ns.",
            data={"length_ns": COHERENT_NS, "beta": COHERENT_BETA, "padding_ns": spacing, "pulses": TRAIN, "outside": round(seen, 5),
                  "outside_sigma": TRAIN_SIGMA, "leakage_below": bound},
        ),
    )  # fmt: skip


def _slow_drag(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> tuple[NotebookEntry, ...]:
    beta = phase_coefficient(hidden, SLOW_DRAG_NS)
    amplitude = calibrated(hidden, SLOW_DRAG_NS, beta) * float(rng.normal(1.0, 0.003))
    beta += float(rng.normal(0.0, 0.01))
    return (
        NotebookEntry(
            date=today - dt.timedelta(days=int(rng.integers(8, 15))), author="S. Imai", title="X gate, 20 ns",
            text=f"Raised cosine of {SLOW_DRAG_NS} ns, amplitude {amplitude:.4f}, first-order DRAG with coefficient {beta:.2f} (derivative"
            " of i over the design anharmonicity), no detuning, virtual Z fitted. Error per gate close to the limit of T1 and T2, leakage"
            " not visible. For a faster gate scale the time axis and the amplitude; to first order the coefficient does not depend on"
            " the length.",
            data={"length_ns": SLOW_DRAG_NS, "amplitude": round(amplitude, 4), "beta": round(beta, 2)},
        ),
    )  # fmt: skip
