"""What a sequence preserves, for graders and authors: means over many noise realisations of the exact state, with no shot noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qtypes.transmon_erasure_qutrit.device import Hidden
from qtypes.transmon_erasure_qutrit.physics import State, reflected
from qtypes.transmon_erasure_qutrit.sequence import CHECK_US, MAX_PULSES, Qutrit, Sequence

BLOCK = 4096
COARSE = 500
FINALISTS = 4
XY8 = (0, 1, 0, 1, 1, 0, 1, 0)
"""Quarter turns of the phases of a block of eight pulses (Gullion, Baker and Conradi 1990)."""
FAMILIES = {"CPMG": (0,), "XY8": XY8}


@dataclass(frozen=True)
class Preserved:
    """Of shots without a flag: contrast along the direction that ideal pulses give for inputs x, y and z, kept fraction for x and y, and
    population of e at the end; `preserved` is the mean of contrast x kept fraction over x and y, divided by exp(-duration/T1)."""

    contrast: tuple[float, float, float]
    kept: tuple[float, float]
    undetected: float
    preserved: float

    @property
    def coherence(self) -> float:
        """Mean contrast of x and y."""
        return (self.contrast[0] + self.contrast[1]) / 2


def family(pulses: int, window_us: float, kind: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Times in us and phases in rad of `pulses` equally spaced pulses: (k - 1/2) window / pulses, phases of the family in turn."""
    turns = FAMILIES[kind]
    times = tuple(((np.arange(pulses) + 0.5) * window_us / max(pulses, 1)).tolist())
    return times, tuple(turns[k % len(turns)] * np.pi / 2 for k in range(pulses))


def preserved(hidden: Hidden, t_s: float, sequence: Sequence, rng: np.random.Generator, realisations: int = BLOCK) -> Preserved:
    """At lab clock `t_s`; the standard error of `preserved` is below 0.5/sqrt(realisations)."""
    qutrit = hidden.qutrit(t_s)
    return preserved_of(qutrit, sequence, qutrit.phases(rng, sequence, realisations))


def preserved_of(qutrit: Qutrit, sequence: Sequence, phases: np.ndarray) -> Preserved:
    """The same for given g-f phases `(windows, realisations)`. Each is used with both signs: the noise has no preferred one."""
    phases = np.concatenate([phases, -phases], axis=1)
    shape = (phases.shape[1],)
    starts = [qutrit.prepared("superposition", p, shape) for p in (0.0, np.pi / 2)] + [qutrit.prepared(k, 0.0, shape) for k in "gf"]
    start = State(*(np.stack([getattr(s, k) for s in starts]) for k in ("c", "g", "e", "f")))
    end = qutrit.kept(start, sequence, phases)
    trace, e = end.trace.mean(axis=1), end.e.mean(axis=1)
    ways = [reflected(p, sequence.pulse_phases_rad) for p in (0.0, np.pi / 2)]
    along = np.array([float(np.mean(2 * np.real(end.c[k] * np.exp(-1j * way)))) for k, way in enumerate(ways)])
    up = (end.g - end.f).mean(axis=1)[2:] / trace[2:]
    z = float(up[0] - up[1]) / 2 * (-1) ** len(sequence.pulse_times_us)
    x, y = (along / trace[:2]).tolist()
    value = float(along.mean() * np.exp(sequence.duration_us / qutrit.t1_us))
    kept = (float(trace[0]), float(trace[1]))
    return Preserved((x, y, z), kept, float(np.mean(e / trace)), value)


def best_of_families(hidden: Hidden, t_s: float, duration_us: float, rng: np.random.Generator) -> float:
    """Largest `preserved` of 0 to 48 equally spaced pulses of each family with one check at the end, at lab clock `t_s`.

    All of them over few realisations, the four best again over more, so that the largest of many noisy values is not taken for the best.
    """
    qutrit = hidden.qutrit(t_s)
    window = duration_us - CHECK_US
    found: list[tuple[float, Sequence]] = []
    for pulses in range(MAX_PULSES + 1):
        for kind in ("CPMG", "XY8") if pulses else ("CPMG",):
            times, phases = family(pulses, window, kind)
            sequence = Sequence(duration_us=duration_us, pulse_times_us=times, pulse_phases_rad=phases, check_times_us=(window,))
            found.append((preserved_of(qutrit, sequence, qutrit.phases(rng, sequence, COARSE)).preserved, sequence))
    finalists = sorted(found, key=lambda f: -f[0])[:FINALISTS]
    return max(preserved_of(qutrit, s, qutrit.phases(rng, s, BLOCK)).preserved for _, s in finalists)
