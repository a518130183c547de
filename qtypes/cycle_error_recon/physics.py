"""The simulator: Paulis on five qubits, Pauli-Lindblad noise of a repeated Clifford cycle, and how its outcomes are read.

A Pauli is a pair of 5-bit masks (x, z), bit q for qubit q, or its label of five letters, letter q for qubit q. It stands for the Hermitian
operator, Y where both bits are set. A subset of the qubits is a 5-bit mask too, and so is a readout outcome.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_QUBITS = 5
N_SETS = 1 << N_QUBITS
EDGES = ((0, 1), (2, 3))
"""The CZ gates of the cycle; qubit 4 idles."""
_PARITY = np.array([s.bit_count() & 1 for s in range(N_SETS)], dtype=np.int64)
_SETS = np.arange(N_SETS)
WALSH: NDArray[np.float64] = 1.0 - 2.0 * _PARITY[_SETS[:, None] & _SETS]
"""`(32, 32)`: the value of the parity of one subset (row) on one outcome (column), +1 or -1."""

Edge = tuple[int, int]
Masks = tuple[NDArray[np.int64], NDArray[np.int64]]


def masks(labels: str | Iterable[str]) -> Masks:
    """(x, z) of one label (scalars) or of several (`(n,)` each), int64."""
    one = isinstance(labels, str)
    rows = [labels] if isinstance(labels, str) else list(labels)
    x = np.array([sum(1 << q for q, c in enumerate(row) if c in "XY") for row in rows], dtype=np.int64)
    z = np.array([sum(1 << q for q, c in enumerate(row) if c in "YZ") for row in rows], dtype=np.int64)
    return (x[0], z[0]) if one else (x, z)


def label(x: int, z: int) -> str:
    """The label of one Pauli."""
    return "".join("IXZY"[(int(x) >> q & 1) + 2 * (int(z) >> q & 1)] for q in range(N_QUBITS))


def on(axes: str, sets: ArrayLike) -> Masks:
    """The Paulis that have the letters of `axes` on the qubits of each subset."""
    (x, z), s = masks(axes), np.asarray(sets, dtype=np.int64)
    return x & s, z & s


def anticommutes(a: Masks, b: Masks) -> NDArray[np.int64]:
    """1 where Paulis anticommute, `(n, m)` int64 for `n` and `m` of them."""
    left, right = (np.atleast_1d(v)[:, None] for v in a), (np.atleast_1d(v)[None] for v in b)
    (ax, az), (bx, bz) = left, right
    return _PARITY[ax & bz] ^ _PARITY[az & bx]


def through(p: Masks, edges: Sequence[Edge] = EDGES) -> tuple[Masks, NDArray[np.int64]]:
    """`C P C^-1` for the CZ gates on `edges`, as Pauli and sign (+1 or -1)."""
    x, z = (np.array(v, dtype=np.int64) for v in p)
    sign = np.ones_like(x)
    for a, b in edges:
        xa, xb = x >> a & 1, x >> b & 1
        sign *= 1 - 2 * (xa & xb & ((z >> a ^ z >> b) & 1))  # X Y and Y X get a minus, X X and Y Y do not
        z = z ^ (xb << a) ^ (xa << b)
    return (x, z), sign


@cache
def classes() -> tuple[tuple[str, ...], ...]:
    """The 93 classes {k, C(k)} of the cycle with both CZ gates that hold a Pauli on one or two qubits; each sorted by weight, then label.

    Even depths measure products f_P f_C(P), which depend on the summed rate of each class alone (Chen et al. 2023).
    """
    few: list[str] = []
    for weight in (1, 2):
        for qubits in itertools.combinations(range(N_QUBITS), weight):
            for letters in itertools.product("XYZ", repeat=weight):
                row = ["I"] * N_QUBITS
                for q, letter in zip(qubits, letters, strict=True):
                    row[q] = letter
                few.append("".join(row))
    return tuple(dict.fromkeys(class_of(p) for p in few))


@cache
def class_of(pauli: str) -> tuple[str, ...]:
    """The one or two labels of the class of a Pauli, sorted by weight, then label."""
    (x, z), _ = through(masks(pauli))
    return tuple(sorted({pauli, label(int(x), int(z))}, key=lambda p: (N_QUBITS - p.count("I"), p)))


def orbit_matrix(paulis: Sequence[str]) -> NDArray[np.float64]:
    """`(n, 93)`: decay per cycle of the even-depth signal of each Pauli, per unit summed rate of each class.

    The signal falls by f_P f_C(P) in two cycles and f_P = exp(-2 sum_k lambda_k <P, k>), so the decay of one cycle is
    sum_k lambda_k (<P, k> + <C(P), k>); both terms are equal for all members of a class.
    """
    first = masks([c[0] for c in classes()])
    p = masks(paulis)
    image, _ = through(p)
    return (anticommutes(p, first) + anticommutes(image, first)).astype(float)


def orbit_decay(paulis: Sequence[str], class_rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Decay per cycle `-ln(f_P f_C(P)) / 2` of each Pauli, `(n,)`, for the summed rates `(93,)`."""
    return orbit_matrix(paulis) @ class_rates


def orbit_infidelity(class_rates: NDArray[np.float64]) -> float:
    """Process infidelity of one cycle averaged over its orbits, `1 - mean of sqrt(f_P f_C(P))` over all 1024 Paulis."""
    everything = [label(x, z) for x in range(N_SETS) for z in range(N_SETS)]
    return float(1.0 - np.exp(-orbit_decay(everything, class_rates)).mean())


def parities(
    prep: str, meas: str, depth: int, edges: Sequence[Edge], generators: Masks, rates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Expectation of the parity of every subset of the measured qubits after `depth` noisy cycles, `(..., 32)`, without SPAM.

    The qubits begin as +1 eigenstates of the letters of `prep` and are measured along those of `meas`. In each cycle the noise
    exp(L), L rho = sum_k rates_k (P_k rho P_k - rho), acts before the gates (van den Berg et al. 2023). `rates` is `(..., n)` for `n`
    generators.
    """
    start = on(prep, _SETS)
    image, sign = through(start, edges)
    visits = ((depth + 1) // 2) * anticommutes(start, generators) + (depth // 2) * anticommutes(image, generators)
    end, sign = (image, sign) if depth % 2 else (start, np.ones_like(sign))
    support = end[0] | end[1]
    wanted = on(meas, support)
    seen = (wanted[0] == end[0]) & (wanted[1] == end[1])
    out = np.zeros((*rates.shape[:-1], N_SETS))
    out[..., support[seen]] = sign[seen] * np.exp(-2.0 * rates @ visits[seen].T)
    return out


def prepared(prep: str, meas: str, depth: int, edges: Sequence[Edge], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """By what preparation errors (probability per qubit of the wrong eigenstate) reduce each parity of :func:`parities`, `(32,)`."""
    start = on(prep, _SETS)
    end = through(start, edges)[0] if depth % 2 else start
    support = end[0] | end[1]
    each = np.where(_SETS[:, None] >> np.arange(N_QUBITS) & 1, 1.0 - 2.0 * error, 1.0).prod(axis=1)
    wanted = on(meas, support)
    seen = (wanted[0] == end[0]) & (wanted[1] == end[1])
    out = np.zeros(N_SETS)
    out[support[seen]] = each[seen]
    return out


def sampled(rng: np.random.Generator, parity: NDArray[np.float64], shots: int) -> NDArray[np.uint8]:
    """Outcomes of `shots` ideal readouts, `(..., shots, 5)` uint8, for parities `(..., 32)`: their Walsh transform is the distribution."""
    p = np.clip(parity @ WALSH / N_SETS, 0.0, None)
    edges = np.cumsum(p, axis=-1)
    edges /= edges[..., -1:]
    outcome = (rng.random((*p.shape[:-1], shots, 1)) >= edges[..., None, :-1]).sum(axis=-1)
    return (outcome[..., None] >> np.arange(N_QUBITS) & 1).astype(np.uint8)


def read(
    rng: np.random.Generator, bits: NDArray[np.uint8], false_1: NDArray[np.float64], false_0: NDArray[np.float64],
    joint: Sequence[tuple[Edge, float]],
) -> NDArray[np.uint8]:  # fmt: skip
    """What the readout says of physical states `(..., 5)`: each bit errs on its own (0 read as 1 with `false_1`, 1 as 0 with `false_0`),
    then both bits of each pair of `joint` flip together with its probability."""
    out = bits ^ (rng.random(bits.shape) < np.where(bits, false_0, false_1)).astype(np.uint8)
    for pair, probability in joint:
        out[..., list(pair)] ^= (rng.random((*bits.shape[:-1], 1)) < probability).astype(np.uint8)
    return out
