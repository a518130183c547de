"""Three-level readout: from IQ points to populations of levels 0, 1 and 2."""

from __future__ import annotations

import numpy as np

import lab

REFERENCE_SHOTS = 8000


class Readout:
    """Centres and assignment matrix from the laboratory's references of the three levels."""

    def __init__(self, dev: lab.Lab) -> None:
        records = [dev.run("run_iq_reference", prepare=k, shots=REFERENCE_SHOTS) for k in range(3)]
        self.jobs = [r.job_id for r in records]
        clouds = [r["iq"][0] for r in records]
        self.centres = np.array([np.median(c.real) + 1j * np.median(c.imag) for c in clouds])
        self.inverse = np.linalg.inv(np.array([self._fractions(c) for c in clouds]).T)

    def _fractions(self, iq: np.ndarray) -> np.ndarray:
        """Share of the points `(shots,)` nearest to each centre, `(3,)`."""
        return np.bincount(np.abs(iq[:, None] - self.centres).argmin(axis=1), minlength=3) / iq.size

    def populations(self, iq: np.ndarray) -> np.ndarray:
        """`(points, 3)` of IQ points `(points, shots)`."""
        return np.array([self._fractions(row) for row in iq]) @ self.inverse.T
