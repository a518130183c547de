"""Jobs of the solvers: readout references, data for the fit, one-qubit calibrations, and the tomography that an answer rests on."""

from __future__ import annotations

from typing import Any

import numpy as np
from model import GUESS, SIGNS, Data, Setting, fit

import lab

STATES = ("gg", "ge", "eg", "ee")
REFERENCE_SHOTS = 4000
EVIDENCE_NS = (20_000, 60_000)
EVIDENCE_SHOTS = 4000
ALONE_NS = (30, 60, 90, 130, 180, 250, 400, 800)
ALONE_FREE = (0, 1, 3, 4, 5, 6)


def run(
    dev: lab.Lab, setting: Setting, prepare: str, durations: tuple[int, ...], bases: tuple[str, ...], shots: int, frame: float = 0.0
) -> Any:
    return dev.run("run_drive_evolve", amp_mhz=list(setting.amp), phase_rad=list(setting.phase), detuning_mhz=list(setting.detuning),
                   parked=list(setting.parked), prepare=prepare, durations_ns=list(durations), bases=list(bases), shots=shots,
                   frame_rad=[0.0, frame])  # fmt: skip


def counts(bits: np.ndarray) -> np.ndarray:
    """`(..., 4)` of the results 00, 01, 10, 11 for bits `(..., shot, qubit)`."""
    results = 2 * bits[..., 0] + bits[..., 1]
    return np.stack([(results == k).sum(axis=-1) for k in range(4)], axis=-1)


class Bench:
    """The laboratory with its readout references."""

    def __init__(self, dev: lab.Lab) -> None:
        self.dev = dev
        records = [run(dev, Setting(parked=(0, 1)), s, (0,), ("ZZ",), REFERENCE_SHOTS) for s in STATES]
        self.references = [r.job_id for r in records]
        self.response = np.stack([counts(r["bits"])[0, 0] for r in records], axis=1) / REFERENCE_SHOTS

    def measure(self, setting: Setting, durations: tuple[int, ...], bases: tuple[str, ...], shots: int, prepare: str = "gg") -> Data:
        record = run(self.dev, setting, prepare, durations, bases, shots)
        return Data(setting, prepare, np.array(durations), bases, counts(record["bits"]))

    def alone(self) -> list[Data]:
        """Each qubit driven in the channel with the other parked, at three detunings."""
        data = []
        for j in (0, 1):
            for detuning in (-0.8, 0.0, 0.8):
                amp, shift = [0.0, 0.0], [0.0, 0.0]
                amp[j], shift[j] = 2.5, detuning
                data.append(self.measure(Setting(tuple(amp), (0.0, 0.0), tuple(shift), (1 - j,)), ALONE_NS, ("ZZ",), 500))
        return data

    def one_qubit_fit(self, data: list[Data]) -> np.ndarray:
        return fit(data, self.response, GUESS.copy(), ALONE_FREE)

    def evidence(self, setting: Setting, frame: float) -> dict[str, Any]:
        """Tomography of the settings from three initial states, and the answer that it supports."""
        records = [run(self.dev, setting, s, EVIDENCE_NS, ("XX", "YY", "ZZ"), EVIDENCE_SHOTS, frame) for s in ("gg", "eg", "ee")]
        seen = sum(counts(r["bits"]) for r in records) / (EVIDENCE_SHOTS * len(records))
        value = np.linalg.inv(self.response).T @ SIGNS[3]
        correlations = seen @ value
        variance = (seen @ value**2 - correlations**2) / (EVIDENCE_SHOTS * len(records))
        found = (1 - correlations.sum(axis=0)) / 4
        return {
            "amp_mhz": list(setting.amp), "phase_rad": list(setting.phase), "detuning_mhz": list(setting.detuning),
            "frame_rad": [0.0, frame], "fidelity_20us": float(np.clip(found[0], 0, 1)), "fidelity_60us": float(np.clip(found[1], 0, 1)),
            "sigma": float(np.sqrt(variance.sum(axis=0).max()) / 4), "job_ids": [*self.references, *(r.job_id for r in records)],
        }  # fmt: skip
