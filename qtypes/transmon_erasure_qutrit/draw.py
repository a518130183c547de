"""A fresh device, and the notebook that its previous operator left."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from qtypes.contract import Notebook, NotebookEntry
from qtypes.kit.lab_clock_noise import fresh_seed
from qtypes.transmon_erasure_qutrit.device import HIGH_MHZ, LOW_MHZ, STORAGE_US, Centre, Hidden, Line, Profile, Range
from qtypes.transmon_erasure_qutrit.noise import Peak, Spectrum
from qtypes.transmon_erasure_qutrit.sequence import CHECK_US

SCANNED = (6, 8, 10, 12, 16, 20, 26, 32, 40)
APART = 3
"""Pulse numbers that the previous operator tried are at least so far from the one that came out best."""
FAINT = (0.02, 0.08)
"""Height of the low peak in the previous cooldown, relative to today."""
CANDIDATES = 80
WINDOW_US = STORAGE_US - CHECK_US
SCAN_SIGMA = 0.01


def _within(rng: np.random.Generator, span: Range) -> float:
    return float(rng.uniform(*span))


def draw(rng: np.random.Generator, profile: Profile) -> Hidden:
    """A device within the ranges of `profile`."""
    sigma = float(rng.uniform(0.8, 1.4))
    return Hidden(
        t1_us=_within(rng, profile.t1_us),
        flicker=float(rng.uniform(0.0106, 0.0212)),
        low=_line(rng, LOW_MHZ),
        high=_line(rng, HIGH_MHZ),
        over_rotation=float(rng.uniform(-1.0, 1.0)) * profile.over_rotation,
        loss=_within(rng, profile.loss),
        missed=float(rng.uniform(0.01, 0.04)),
        false=float(rng.uniform(0.005, 0.02)),
        dephasing=float(rng.uniform(0.003, 0.01)),
        reset_excited=float(rng.uniform(0.002, 0.01)),
        centres=_centres(rng, sigma),
        sigma=sigma,
    )


def _line(rng: np.random.Generator, span: Range) -> Line:
    return Line(
        centre_mhz=_within(rng, span), half_width_khz=float(rng.uniform(10.0, 20.0)), height=float(rng.uniform(0.15, 0.75)),
        walk_khz=float(rng.uniform(2.0, 4.0)), seed=fresh_seed(rng),
    )  # fmt: skip


def _centres(rng: np.random.Generator, sigma: float) -> tuple[Centre, ...]:
    """Three centres on an arc, 4.4 to 5.4 sigma from each to the next: each level pulls the resonator further (Gambetta 2007)."""
    angle, turn = float(rng.uniform(0.0, 2.0 * np.pi)), float(rng.uniform(0.9, 1.4) * rng.choice((-1.0, 1.0)))
    z = complex(*rng.uniform(-3.0, 3.0, size=2))
    centres = [z]
    for _ in range(2):
        z += sigma * float(rng.uniform(4.4, 5.4)) * complex(np.exp(1j * angle))
        angle += turn
        centres.append(z)
    return tuple(Centre(re=c.real, im=c.imag) for c in centres)


@dataclass(frozen=True)
class Scan:
    """The previous cooldown: pulse numbers and what equally spaced pulses preserved, without the decay by T1, which no pulse changes."""

    pulses: tuple[int, ...]
    contrast: tuple[float, ...]
    preserved: tuple[float, ...]

    @property
    def best(self) -> int:
        return self.pulses[int(np.argmax(self.preserved))]


def resonant(line: Line) -> int:
    """The pulse number whose spacing is half a period of a peak."""
    return round(2 * WINDOW_US * line.centre_mhz)


def scan(spectrum: Spectrum, loss: float, pulses: tuple[int, ...]) -> Scan:
    """With ideal angles: contrast exp(-variance/2) of the g-f phase, times (1 - loss) per pulse."""
    contrast = []
    for n in pulses:
        flips = (np.arange(n) + 0.5) * WINDOW_US / n
        contrast.append(float(np.exp(-2.0 * spectrum.variance(flips, WINDOW_US))))
    return Scan(pulses, tuple(contrast), tuple(c * (1 - loss) ** n for c, n in zip(contrast, pulses, strict=True)))


def previous(hidden: Hidden, rng: np.random.Generator) -> Scan:
    """A scan on the same device with a faint low peak and both peaks elsewhere, in which the pulse number that meets the low peak today was
    the best."""
    target = resonant(hidden.low)
    pulses = tuple(sorted({target, *(n for n in SCANNED if abs(n - target) >= APART)}))
    found: list[tuple[float, Scan]] = []
    for _ in range(CANDIDATES):
        low = Peak(_within(rng, LOW_MHZ), hidden.low.half_width_khz * 1e-3, hidden.low.height * _within(rng, FAINT))
        high = Peak(_within(rng, HIGH_MHZ), hidden.high.half_width_khz * 1e-3, hidden.high.height)
        old = scan(Spectrum(hidden.flicker, (low, high)), hidden.loss, pulses)
        ratio = old.preserved[pulses.index(target)] / max(v for n, v in zip(pulses, old.preserved, strict=True) if n != target)
        found.append((ratio, old))
        if ratio > 1.04:
            break
    return max(found, key=lambda f: f[0])[1]


def notebook(hidden: Hidden, rng: np.random.Generator, profile: Profile, today: dt.date) -> Notebook:
    """True on its date: the pickup peaks have moved since."""
    old = previous(hidden, rng)
    seen = [float(np.clip(c + rng.normal(0, SCAN_SIGMA), 0, 1)) for c in old.contrast]
    kept = [float((1 - hidden.loss) ** n + rng.normal(0, SCAN_SIGMA / 2)) for n in old.pulses]
    figure = np.array(seen) * np.array(kept)
    target = resonant(hidden.low)
    figure[old.pulses.index(target)] += 1e-3  # among equals the operator took this one
    best = old.pulses[int(np.argmax(figure))]
    days = int(rng.integers(35, 60))
    entries = (
        NotebookEntry(
            date=today - dt.timedelta(days=days + 6), author="M. Okafor", title="Qutrit encoding",
            text="Memory in g and f: decay goes through e first, and a check that tells e from the rest makes most of it a heralded"
            " loss. The g-f phase turns twice as fast as g-e. The composite g-f pi pulse is 120 ns long; its angle is good to 2 %, and each"
            " pulse costs about a percent to e. A check misses a few percent of e, flags a percent of the rest and takes some coherence.",
        ),
        NotebookEntry(
            date=today - dt.timedelta(days=days), author="M. Okafor", title="Decoupling at 24 us",
            text=f"Scan of equally spaced pulses over 24 us with a check at the end; T1 divided out. Beside 1/f there is one"
            f" strong pickup peak; {best} pulses sit in a quiet window and are the best of those tried. Recommended sequence until further"
            f" notice: {best} pulses.",
            data={
                "recommended_pulses": best, "pulses": list(old.pulses), "contrast": [round(v, 3) for v in seen],
                "not_lost_by_pulses": [round(v, 3) for v in kept],
            },
        ),
        NotebookEntry(
            date=today - dt.timedelta(days=int(rng.integers(8, 20))), author="S. Lindqvist", title="Warm-up",
            text="Pulse-tube motor head replaced and the drive cables re-routed during the warm-up. Cold again, pulses and readout"
            " retuned. The noise has not been looked at since.",
        ),
    )  # fmt: skip
    return Notebook(entries=entries)
