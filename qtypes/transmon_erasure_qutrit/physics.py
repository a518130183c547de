"""A qubit in levels g and f of a transmon with e as the erasure state, along a sequence of pulses and checks.

e is never coherent with g or f: decay, pulse loss and checks only move population there. A state is therefore the coherence
c = <f| rho |g> and the populations of g, e and f. Within one noise realisation all steps are linear:

- idling: f decays to e at 2/T1, e to g at 1/T1, c at 1/T1, and c turns by exp(-i phase), phase = 2 x the integral of delta;
- a pulse: a rotation of the g-f qubit, of which a share `loss` ends in e;
- a check: tells e from {g, f} with two error probabilities, and takes a share of c.

The qubit has g as its |0>: X + iY = 2c, Z = p_g - p_f. Times in us, angles in rad.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """Coherence (complex) and populations (float64), any shape, all the same; they need not be normalised."""

    c: NDArray[np.complex128]
    g: Floats
    e: Floats
    f: Floats

    @property
    def trace(self) -> Floats:
        return self.g + self.e + self.f

    def scaled(self, factor: Floats) -> State:
        return State(self.c * factor, self.g * factor, self.e * factor, self.f * factor)


def level(name: str, excited: float, shape: tuple[int, ...]) -> State:
    """Level "g", "e" or "f" by ideal pulses from a reset that left the share `excited` in e: a pulse exchanges two levels."""
    at = {"g": (1 - excited, excited, 0.0), "e": (excited, 1 - excited, 0.0), "f": (0.0, excited, 1 - excited)}[name]
    full = [np.full(shape, p) for p in at]
    return State(np.zeros(shape, dtype=complex), full[0], full[1], full[2])


def superposition(phase_rad: float, excited: float, shape: tuple[int, ...]) -> State:
    """(|g> + exp(i phase) |f>)/sqrt(2), with the share `excited` in e."""
    half = np.full(shape, (1 - excited) / 2)
    return State(np.exp(1j * phase_rad) * half, half, np.full(shape, excited), half.copy())


def idle(state: State, time_us: float, t1_us: float, phase_rad: ArrayLike = 0.0) -> State:
    """Two-step decay for `time_us`, and the phase that the noise gives (Kubica et al. 2023)."""
    one = np.exp(-time_us / t1_us)
    two = one**2
    f = state.f * two
    e = state.e * one + state.f * 2.0 * (one - two)
    return State(state.c * (one * np.exp(-1j * np.asarray(phase_rad))), state.trace - e - f, e, f)


def rotate(state: State, axis_rad: float, angle_rad: float, loss: float = 0.0) -> State:
    """Right-handed rotation of the g-f qubit about (cos axis, sin axis, 0); afterwards the share `loss` of it is in e."""
    u = 2.0 * state.c * np.exp(-1j * axis_rad)
    z = state.g - state.f
    sine, cosine = np.sin(angle_rad), np.cos(angle_rad)
    y = u.imag * cosine - z * sine
    z = u.imag * sine + z * cosine
    both = (state.g + state.f) * (1.0 - loss)
    z = z * (1.0 - loss)
    c = 0.5 * (1.0 - loss) * (u.real + 1j * y) * np.exp(1j * axis_rad)
    return State(c, (both + z) / 2.0, state.e + (state.g + state.f) * loss, (both - z) / 2.0)


@dataclass(frozen=True)
class Check:
    """Errors of an erasure check: e not flagged, g or f flagged, and the share of the coherence that it takes."""

    missed: float
    false: float
    dephasing: float

    def outcome(self, state: State, flagged: bool) -> State:
        """The state times the probability of this outcome; its trace is that probability where the state was normalised."""
        e = 1.0 - self.missed if flagged else self.missed
        rest = self.false if flagged else 1.0 - self.false
        return State(state.c * (rest * (1.0 - self.dephasing)), state.g * rest, state.e * e, state.f * rest)

    def sampled(self, rng: np.random.Generator, state: State) -> tuple[State, NDArray[np.uint8]]:
        """The normalised states after the check, and the flags, uint8 of their shape."""
        yes, no = self.outcome(state, True), self.outcome(state, False)
        flag = rng.random(state.g.shape) * state.trace < yes.trace
        joint = State(*(np.where(flag, a, b) for a, b in zip((yes.c, yes.g, yes.e, yes.f), (no.c, no.g, no.e, no.f), strict=True)))
        return joint.scaled(1.0 / joint.trace), flag.astype(np.uint8)


def mapped(state: State, axis_rad: float | None) -> Floats:
    """Populations of g, e, f `(..., 3)` before the readout: as they are, or after a quarter turn that takes the state along
    (cos axis, sin axis, 0) to f."""
    if axis_rad is None:
        g, f = state.g, state.f
    else:
        along = np.real(state.c * np.exp(-1j * axis_rad))
        g, f = (state.g + state.f) / 2 - along, (state.g + state.f) / 2 + along
    return np.stack([g, state.e, f], axis=-1)


def reflected(phase_rad: float, axes_rad: ArrayLike) -> float:
    """Phase of an equatorial state after ideal pi pulses about axes of these phases, in order."""
    for axis in np.asarray(axes_rad, dtype=float):
        phase_rad = 2.0 * float(axis) - phase_rad
    return float(phase_rad)
