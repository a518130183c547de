"""Closed forms of a driven spin one half."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def flip_probability(pulse_us: ArrayLike, rabi_khz: ArrayLike, detuning_khz: ArrayLike) -> NDArray[np.float64]:
    """Probability to find a spin up that started down, after a square pulse (Rabi 1937).

    Arguments broadcast: pulse length in us, Rabi frequency and detuning in kHz.
    """
    rabi, detuning = np.asarray(rabi_khz, dtype=float), np.asarray(detuning_khz, dtype=float)
    total = np.hypot(rabi, detuning)
    with np.errstate(invalid="ignore", divide="ignore"):
        contrast = np.where(total > 0, (rabi / total) ** 2, 0.0)
    return np.asarray(contrast * np.sin(np.pi * 1e-3 * np.asarray(pulse_us, dtype=float) * total) ** 2)
