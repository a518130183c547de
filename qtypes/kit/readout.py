"""Readout models: integrated IQ points of a dispersive readout, and binary assignment errors.

An IQ point is the time average of the signal over the readout window: the centre of the state, plus Gaussian noise of standard
deviation `sigma` per quadrature. An excited qubit that relaxes after a fraction f of the window contributes
`f * centre1 + (1 - f) * centre0`, which smears the excited cloud towards the ground one (Gambetta 2007; Walter 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr


@dataclass(frozen=True)
class Clouds:
    """Two IQ clouds, in the units of the digitiser.

    `relaxation` is the probability that an excited qubit relaxes within the window.
    """

    centre0: complex
    centre1: complex
    sigma: float
    relaxation: float = 0.0

    def __post_init__(self) -> None:
        if not (self.sigma > 0 and 0.0 <= self.relaxation < 1.0):
            raise ValueError("sigma > 0 and 0 <= relaxation < 1 are required")

    @property
    def snr(self) -> float:
        """Distance of the centres in units of sigma."""
        return abs(self.centre1 - self.centre0) / self.sigma

    @property
    def overlap_error(self) -> float:
        """Assignment error of either state at the midpoint threshold without relaxation, `Phi(-snr/2)`."""
        return float(ndtr(-self.snr / 2))

    @property
    def mean_excited(self) -> complex:
        """Mean IQ point of an excited qubit: with r = -ln(1 - relaxation), centre0 + (centre1 - centre0) (1 - exp(-r)) / r."""
        rate = -np.log1p(-self.relaxation)
        weight = 1.0 if rate < 1e-12 else -np.expm1(-rate) / rate
        return self.centre0 + (self.centre1 - self.centre0) * weight


def relaxation_fraction(rng: np.random.Generator, shape: int | tuple[int, ...], relaxation: float) -> NDArray[np.float64]:
    """Fraction of the window after which an excited qubit relaxes, 1 where it survives; float64 of `shape`."""
    if relaxation <= 0.0:
        return np.ones(shape)
    return np.minimum(rng.standard_exponential(shape) / -np.log1p(-relaxation), 1.0)


def integrated_points(
    rng: np.random.Generator,
    excited: NDArray[np.bool_],
    fraction: NDArray[np.float64],
    clouds: Clouds,
    angle_rad: ArrayLike = 0.0,
) -> NDArray[np.complex64]:
    """Integrated IQ points, complex64 of the shape of `excited`.

    `excited` (bool) is the state at the beginning of the window, `fraction` comes from :func:`relaxation_fraction`, `angle_rad` is the
    rotation of the IQ plane about its origin (scalar or of the same shape).
    """
    noise = rng.standard_normal((*excited.shape, 2), dtype=np.float32).view(np.complex64)[..., 0]
    angle = np.asarray(angle_rad, dtype=np.float32)  # single precision is that of the points
    weight = np.where(excited, fraction, 0.0).astype(np.float32)
    centre = np.complex64(clouds.centre0) + np.complex64(clouds.centre1 - clouds.centre0) * weight
    centre *= np.cos(angle) + np.complex64(1j) * np.sin(angle)
    return centre + np.float32(clouds.sigma) * noise


def flipped(rng: np.random.Generator, bits: NDArray[np.uint8], p1_given0: ArrayLike, p0_given1: ArrayLike) -> NDArray[np.uint8]:
    """Assigned bits of ideal outcomes: 0 is read as 1 with `p1_given0`, 1 as 0 with `p0_given1` (each broadcast against `bits`).

    `bits` any shape, values 0 and 1; uint8 of the same shape.
    """
    error = np.where(bits != 0, p0_given1, p1_given0)
    return (np.asarray(bits, dtype=np.uint8) ^ (rng.random(bits.shape) < error)).astype(np.uint8)
