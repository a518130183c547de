"""Storing g-f superpositions for 24 us: sequences, and what flags and IQ points say of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lab

STORAGE_US = 24.0
CHECK_US = 0.4
END = STORAGE_US - CHECK_US
XY8 = (0, 1, 0, 1, 1, 0, 1, 0)
INPUTS = (0.0, np.pi / 2)
LEVEL_SHOTS = 4000


def equally_spaced(pulses: int, checks: tuple[float, ...] = (END,)) -> dict[str, list[float]]:
    """(k - 1/2) window / pulses with XY8 phases, in the time before a check at the end."""
    times = (np.arange(pulses) + 0.5) * END / max(pulses, 1)
    phases = [XY8[k % 8] * np.pi / 2 for k in range(pulses)]
    return {"pulse_times_us": times.tolist(), "pulse_phases_rad": phases, "check_times_us": list(checks)}


def points(sequence: dict[str, list[float]]) -> list[dict[str, Any]]:
    """The sequence for the x and the y input, read out along the direction to which ideal pulses take it."""
    out = []
    for phase in INPUTS:
        axis = phase
        for p in sequence["pulse_phases_rad"]:
            axis = 2 * p - axis
        axis = float((axis + np.pi) % (2 * np.pi) - np.pi)
        out.append({**sequence, "duration_us": STORAGE_US, "prepare": "superposition", "prepare_phase_rad": phase,
                    "measure": "equator", "axis_rad": axis})  # fmt: skip
    return out


@dataclass
class Seen:
    """Of shots without a flag: mean contrast of the inputs, share, population of e; `preserved` is contrast x share."""

    contrast: float
    kept: float
    undetected: float

    @property
    def preserved(self) -> float:
        return self.contrast * self.kept


class Readout:
    """Levels and check errors from prepared g, e and f."""

    def __init__(self, dev: lab.Lab) -> None:
        levels = [{"prepare": k, "duration_us": CHECK_US, "check_times_us": [0.0]} for k in "gef"]
        record = dev.run("run_sequence", points=levels, shots=LEVEL_SHOTS)
        self.job = record.job_id
        # the check purifies what reset and decay left: e where it says e, g and f where it does not
        clouds = [z[flag == (k == 1)] for k, (z, flag) in enumerate(zip(record["iq"], record["flags"][:, :, 0], strict=True))]
        self.centres = np.array([np.median(z.real) + 1j * np.median(z.imag) for z in clouds])
        self.inverse = np.linalg.inv(np.array([self._shares(z) for z in clouds]).T)
        flagged = record["flags"][:, :, 0].mean(axis=1)
        self.missed, self.false = 1 - flagged[1], (flagged[0] + flagged[2]) / 2

    def _shares(self, iq: np.ndarray) -> np.ndarray:
        return np.bincount(np.abs(iq[:, None] - self.centres).argmin(axis=1), minlength=3) / iq.size

    def seen(self, record: Any, first: int) -> Seen:
        """The x and y points of one sequence, which are at `first` and `first + 1` of a record."""
        found = []
        for k in (first, first + 1):
            good = record["iq"][k]
            if "flags" in record:
                good = good[~record["flags"][k].any(axis=1)]
            p = self.inverse @ self._shares(good)
            found.append((p[2] - p[0], good.size / record["iq"][k].size, p[1]))
        return Seen(*np.mean(found, axis=0).tolist())


def scan(dev: lab.Lab, readout: Readout, numbers: list[int], shots: int) -> tuple[dict[int, Seen], list[str]]:
    """Sequences of many pulse numbers, `shots` for each input; and the jobs."""
    seen: dict[int, Seen] = {}
    jobs = []
    each = max(1, min(25, 60_000 // (2 * shots)))
    for k in range(0, len(numbers), each):
        part = numbers[k : k + each]
        record = dev.run("run_sequence", points=[p for n in part for p in points(equally_spaced(n))], shots=shots)
        jobs.append(record.job_id)
        seen |= {n: readout.seen(record, 2 * i) for i, n in enumerate(part)}
    return seen, jobs


def confirm(dev: lab.Lab, readout: Readout, sequence: dict[str, list[float]], shots: int = 5000) -> tuple[Seen, list[str]]:
    """The sequence with its checks, and its pulses alone; and the jobs."""
    record = dev.run("run_sequence", points=points(sequence), shots=shots)
    bare = dev.run("run_sequence", points=points({**sequence, "check_times_us": []}), shots=1500)
    seen, alone = readout.seen(record, 0), readout.seen(bare, 0)
    print(f"with checks: contrast {seen.contrast:.3f}, kept {seen.kept:.3f}, e {seen.undetected:.4f}; without: {alone.contrast:.3f}")
    return seen, [record.job_id, bare.job_id]


def answer(sequence: dict[str, list[float]], seen: Seen, jobs: list[str]) -> dict[str, Any]:
    return {**sequence, "predicted": {"coherence_kept": seen.contrast, "kept_fraction": seen.kept}, "job_ids": jobs}
