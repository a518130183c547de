"""What reference and trap of spin_chain_transfer do in the laboratory: readout references, measurements under controls, verification."""

from __future__ import annotations

from typing import Any

import numpy as np
from model import Data, transfer

import lab

REFERENCE_SHOTS = 1000
VERIFY_SHOTS = 1000


class Bench:
    """The laboratory with its readout references."""

    def __init__(self, dev: lab.Lab) -> None:
        self.dev = dev
        record = dev.run("run_readout_cal", shots=REFERENCE_SHOTS)
        one = record["bits"].mean(axis=1)
        self.errors = np.stack([one[0], 1 - one[1]], axis=1)
        self.references = [record.job_id]
        self.calibration: list[str] = []

    def run(
        self, controls: np.ndarray, prepare: tuple[str, ...], bases: tuple[str, ...], reads: tuple[int, ...], shots: int, frame: float = 0
    ) -> Any:
        return self.dev.run("run_control", controls_rad_per_us=controls.tolist(), prepare=list(prepare), bases=list(bases),
                            reads=list(reads), frame_rad=frame, shots=shots)  # fmt: skip

    def measure(self, controls: np.ndarray, prepare: tuple[str, ...], bases: tuple[str, ...], reads: tuple[int, ...], shots: int) -> Data:
        record = self.run(controls, prepare, bases, reads, shots)
        self.calibration.append(record.job_id)
        return Data(controls, prepare, bases, reads, shots, record["bits"].mean(axis=3))

    def answer(self, controls: np.ndarray, device: np.ndarray) -> dict[str, Any]:
        """Verification of the controls, and what it supports."""
        phase, end = float(np.angle(transfer(device, controls))), (controls.shape[1],)
        jobs = [self.run(controls, (s,), ("ZZ" + axis,), end, VERIFY_SHOTS, phase)
                for s, axis in (("000", "Z"), ("100", "Z"), ("+00", "X"), ("r00", "Y"))]  # fmt: skip
        p1, p0 = self.errors[2]
        one = np.array([float(j["bits"][..., 2].mean()) for j in jobs])
        right = (one - p1) / (1 - p1 - p0)
        right = np.where([False, True, False, False], right, 1 - right)
        weights = np.array([1, 1, 2, 2]) / 6
        spread = np.sqrt(weights**2 @ (one * (1 - one) / VERIFY_SHOTS) + 5e-6)  # the readout references err by some 0.2 %
        return {
            "controls_rad_per_us": controls.tolist(), "phase_rad": phase, "fidelity": float(weights @ right),
            "sigma": float(spread / (1 - p1 - p0)), "j_mhz": device[:2].tolist(), "detuning_mhz": device[2:5].tolist(),
            "response": device[5:14].reshape(3, 3).tolist(), "tau_ns": float(device[14]), "readout_job_ids": self.references,
            "calibration_job_ids": self.calibration, "verification_job_ids": [j.job_id for j in jobs],
        }  # fmt: skip
