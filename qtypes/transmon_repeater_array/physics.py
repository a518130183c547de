"""Pauli errors of Bell pairs on a line of four nodes: links with slow noise, swapping, memories, and purification.

A pair is |Phi+> with one Pauli error on either half. Errors are numbers of two bits, `x + 2 z`: 0 I, 1 X, 2 Z, 3 Y, so errors compose by
XOR. A *vector* holds the four probabilities in this order, a *joint* array those of n pairs, shape `(4,) * n`. Everything here is exact;
`sampling.py` draws shots of the same model without these sums.

A local Clifford counts up to Paulis, whose signs a controller tracks: a class is a word of three letters, the images of X, Y and Z. The
same class on both halves maps Bell states to Bell states and errors like operators, because U^T equals the inverse of U up to a Pauli.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

PAULIS = "IXZY"
CLASSES: tuple[str, ...] = tuple("".join(p) for p in permutations("XYZ"))
N_NODES = 4
N_LINKS = 3
INNER = (1, 2)
ENDS = (0, 3)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WALSH = np.array([[1 - 2 * ((e & f).bit_count() & 1) for f in range(4)] for e in range(4)], dtype=float)


@cache
def _image(word: str) -> tuple[int, ...]:
    return (0, *(PAULIS.index(word["XYZ".index(p)]) for p in PAULIS[1:]))


def image(word: str) -> Ints:
    """Where a class takes each error, `(4,)`."""
    return np.array(_image(word))


def inverse(word: str) -> Ints:
    """Where the inverse of a class takes each error, `(4,)`."""
    return np.argsort(image(word))


def rotated(joint: ArrayLike, to: Ints) -> Floats:
    """Joint array after the error `e` of every pair became `to[e]`."""
    out = np.asarray(joint, dtype=float)
    back = np.argsort(to)
    for axis in range(out.ndim):
        out = np.take(out, back, axis=axis)
    return out


def _transformed(joint: Floats, axes: int) -> Floats:
    """Walsh transform of the first `axes` axes."""
    for axis in range(axes):
        joint = np.moveaxis(np.tensordot(_WALSH, joint, axes=(1, axis)), 0, axis)
    return joint


def composed(*joints: ArrayLike) -> Floats:
    """Joint array of the products of independent errors: an XOR convolution.

    The first may have more axes than the others, which then act on its first ones.
    """
    first, *others = [np.asarray(j, dtype=float) for j in joints]
    axes = others[0].ndim if others else first.ndim
    product = _transformed(first, axes)
    for other in others:
        spectrum = _transformed(other, axes)
        product = product * spectrum.reshape(spectrum.shape + (1,) * (first.ndim - axes))
    return _transformed(product, axes) / 4.0**axes


def each(vectors: Sequence[ArrayLike]) -> Floats:
    """Joint array of independent pairs with these vectors."""
    return reduce(np.multiply.outer, [np.asarray(v, dtype=float) for v in vectors])


def link_vector(x: float, y: float, z: float) -> Floats:
    """Vector of a link from the probabilities of its three errors."""
    return np.array([1 - x - y - z, x, z, y])


def dephasing(time_us: float, t2_us: float) -> Floats:
    """Vector of one half in a memory: coherence exp(-t / T2), that is Z with probability (1 - exp(-t / T2)) / 2."""
    q = -0.5 * np.expm1(-time_us / t2_us)
    return np.array([1 - q, 0.0, q, 0.0])


def depolarising(p: float) -> Floats:
    """Joint array `(4, 4)` of a CNOT's two qubits: any of the 15 Paulis with `p / 15` each."""
    out = np.full((4, 4), p / 15)
    out[0, 0] = 1 - p
    return out


def bell_vector(gate_error: float, readout: float, word: str) -> Floats:
    """What a Bell measurement adds to the pair that it makes.

    Both halves were turned by the class `word`, then a CNOT with depolarising `gate_error`, then two readouts that flip with `readout`. A
    flip of the bit that was control is a Z in the turned frame, one of the target's bit is an X; of the 15 Paulis 4 give each of X, Z, Y.
    """
    gate = np.full(4, 4 * gate_error / 15)
    gate[0] = 1 - 12 * gate_error / 15
    bits = np.array([(1 - readout) ** 2, readout * (1 - readout), readout * (1 - readout), readout**2])
    return rotated(composed(gate, bits), inverse(word))


def link_joint(vector: ArrayLike, shared: float, correlation_us: float, times_us: Sequence[float]) -> Floats:
    """Joint array of the pairs that one link makes at `times_us` (ascending).

    A pair takes its error from a slow environment with probability sqrt(shared) and has one of its own otherwise. The environment holds one
    error for an exponential time of mean `correlation_us`, then draws another from the same vector. Two pairs have the same source with
    probability `shared exp(-dt / correlation_us)`.
    """
    p = np.asarray(vector, dtype=float)
    slow = np.sqrt(shared)
    state = np.diag(p)  # (environment, error of the first pair) in the slow case
    current = slow * state + (1 - slow) * np.outer(p, p)
    for dt in np.diff(times_us):
        keep = np.exp(-dt / correlation_us)
        moved = keep * current + (1 - keep) * np.multiply.outer(p, current.sum(axis=0))
        own = np.multiply.outer(moved, p)
        held = np.zeros_like(own)
        for e in range(4):
            held[e, ..., e] = moved[e]
        current = slow * held + (1 - slow) * own
    return np.asarray(current.sum(axis=0))


def checked(joint: ArrayLike, gate: ArrayLike, flip: float) -> Floats:
    """Bilateral CNOT and readout of the second pair, `(2, 4)` or `(2, 4, ...)`: parity of the check bits, error of the pair that is kept.

    `joint` `(4, 4, ...)` holds the kept and the checked pair first; the CNOT takes X of the kept pair to the checked one, and Z of the
    checked pair to the kept one. `gate` `(4, 4)` is what both CNOTs add to (kept, checked); `flip` the probability of a wrong parity.
    """
    kept, check = np.indices((4, 4))
    # a CNOT is its own inverse: the error (a, b) after it was (a ^ z of b, b ^ x of a) before
    after = np.asarray(joint, dtype=float)[kept ^ (check & 2), check ^ (kept & 1)]
    noisy = composed(after, gate)
    even, odd = noisy[:, [0, 2]].sum(axis=1), noisy[:, [1, 3]].sum(axis=1)
    return np.stack([(1 - flip) * even + flip * odd, (1 - flip) * odd + flip * even])
