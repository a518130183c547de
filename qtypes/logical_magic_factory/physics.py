"""Errors of logical magic states: what is consumed, what a chain shows, what distillation lets through. Plain functions on arrays.

A consumed T state of verification level v gives the gate T followed by Z, X or Y with probabilities p_z, p_xy / 2, p_xy / 2. Where only the
phase counts (a chain read in X, a rotation of a distillation circuit) X and Y act as Z with probability 1/2: the state errs with
p_z + p_xy / 2 (twirling, Bravyi and Kitaev 2005).
"""

from __future__ import annotations

from functools import cache

import numpy as np

INPUTS = {"15-to-1": 15, "7-to-1": 7}
CHECKS = {"15-to-1": 4, "7-to-1": 3}
BLOCK_CYCLES_PER_READ = {"15-to-1": 30, "7-to-1": 14}
"""Two block-cycles per input and read of all checks."""


def dephasing(p_z: np.ndarray | float, p_xy: np.ndarray | float) -> np.ndarray | float:
    """Probability of a phase flip of a state in use, `p_z + p_xy / 2`."""
    return p_z + p_xy / 2


@cache
def columns(protocol: str) -> np.ndarray:
    """Check bits of each input, uint8 `(n_inputs, n_checks)`: input k (from 0) has the binary digits of k + 1, least significant first.

    15 inputs: the punctured Reed-Muller code [[15,1,3]]; 7 inputs: the Hamming columns of the Steane code (Bravyi and Kitaev 2005).
    """
    k = np.arange(1, INPUTS[protocol] + 1)
    return ((k[:, None] >> np.arange(CHECKS[protocol])) & 1).astype(np.uint8)


@cache
def _characters(protocol: str) -> tuple[np.ndarray, np.ndarray]:
    """`(n, n_inputs)` bool: inputs that character u of F_2^n_checks selects; `(n, n)` int: the characters themselves; n = 2^n_checks."""
    size = 1 << CHECKS[protocol]
    dots = np.array([[(u & s).bit_count() & 1 for s in range(size)] for u in range(size)])
    return dots[:, 1 : INPUTS[protocol] + 1].astype(bool), 1 - 2 * dots


def joint(errors: np.ndarray, protocol: str = "15-to-1") -> np.ndarray:
    """Exact probabilities of (syndrome, parity of the errors), float64 `(2^n_checks, 2)`.

    The inputs have independent phase flips with probabilities `errors` `(n_inputs,)`. Poisson summation over the dual group, two products
    per character u: over the inputs with u.c = 1, and for the parity over the others.
    """
    selected, characters = _characters(protocol)
    contrast = 1 - 2 * np.asarray(errors, dtype=float)
    even_plus_odd = characters @ np.where(selected, contrast, 1.0).prod(axis=1) / len(characters)
    even_minus_odd = characters @ np.where(selected, 1.0, contrast).prod(axis=1) / len(characters)
    return np.stack([even_plus_odd + even_minus_odd, even_plus_odd - even_minus_odd], axis=1) / 2


def passes(q_m: float, reads: int, protocol: str = "15-to-1") -> np.ndarray:
    """Probability that all reads of all checks are 0, float64 `(2^n_checks,)` by true syndrome; each bit read is flipped with `q_m`."""
    n = CHECKS[protocol]
    weight = np.array([s.bit_count() for s in range(1 << n)])
    return (1 - q_m) ** (reads * (n - weight)) * q_m ** (reads * weight)


def distilled(errors: np.ndarray, q_m: float, reads: int, protocol: str = "15-to-1") -> tuple[float, float]:
    """Acceptance and error of an accepted output, for phase flips `errors` `(n_inputs,)` of the inputs.

    The output errs where an odd number of inputs erred (Bravyi and Kitaev 2005, eqs. 35 to 37 for equal errors and q_m = 0).
    """
    accepted = joint(errors, protocol) * passes(q_m, reads, protocol)[:, None]
    total = float(accepted.sum())
    return total, float(accepted[:, 1].sum()) / total


def cycles_per_output(levels: np.ndarray, accept: np.ndarray, reads: int, acceptance: float, protocol: str = "15-to-1") -> float:
    """Expected block-cycles per accepted output.

    An input of level v takes v + 1 cycles a try and `accept**v` tries succeed; a read of the checks takes two block-cycles per input.
    """
    prepared = float(((levels + 1) / accept**levels).sum())
    return (prepared + BLOCK_CYCLES_PER_READ[protocol] * reads) / acceptance


def step_contrast(kind: str, prep: str, p_z: float, p_xy: float, q_step: float) -> float:
    """Factor by which one step of a chain multiplies the contrast.

    `prep` "+" is read in X: a T step keeps 1 - 2 p_z - p_xy (p_x = p_y, so the terms that conjugate the phase cancel). `prep` "0" is
    read in Z: it keeps 1 - 2 p_xy. The Clifford operations and the idle cycle of a step flip the observable with `q_step`.
    """
    if kind == "Clifford":
        state = 1.0
    else:
        state = 1 - 2 * p_z - p_xy if prep == "+" else 1 - 2 * p_xy
    return state * (1 - 2 * q_step)


def tomography_contrast(axis: str, p_z: float, p_xy: float) -> float:
    """Mean of the Pauli `axis` (X, Y, Z) or of T = (X + Y) / sqrt(2) in the delivered state, before the readout."""
    along = {"X": np.sqrt(0.5), "Y": np.sqrt(0.5), "Z": 0.0, "T": 1.0}[axis]
    return float(along * (1 - 2 * p_z - p_xy))


def any_error(p_z: float, p_xy: float, r: float) -> float:
    """Mean error of a state of a batch: probability of any Pauli error, where with `r` the whole batch carries one more Z."""
    return p_xy + (1 - r) * p_z + r * (1 - p_xy - p_z)
