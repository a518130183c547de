"""Exact pair correlations as trigonometric polynomials of the inputs, by Heisenberg propagation.

``exp(i theta Q / 2) O exp(-i theta Q / 2)`` is ``O`` where they commute and ``cos(theta) O + sin(theta) i Q O`` where not. From the last
rotation to the first, each operator splits in two; on ``|0...0>`` only operators without X bits are left (Pauli propagation: Begusic & Chan
2023; Rudolph et al. 2025). With three rotations per input every correlation is a trigonometric polynomial of degree at most 3 per input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qtypes.blackbox_boundedgate_circuit.circuit import Circuit, PauliFrame, pull_through
from qtypes.blackbox_boundedgate_circuit.words import annihilator, parity

MAX_TERMS = 400_000
"""Operators alive at once over all pairs; a circuit beyond it is refused."""

DEGREE = 3
FEATURES = 2 * DEGREE + 1
"""Basis functions per input: index 0 is 1, 1 cos x, 2 sin x, 3 cos 2x, 4 sin 2x, 5 cos 3x, 6 sin 3x."""


class TooManyTerms(Exception):
    """The propagation of a circuit exceeds :data:`MAX_TERMS`."""


def pairs(n_qubits: int) -> tuple[np.ndarray, np.ndarray]:
    """Qubits i and j of every pair i < j in lexicographic order, each (n_pairs,) int."""
    return np.triu_indices(n_qubits, 1)


@dataclass(frozen=True)
class Polynomials:
    """All pair correlations ``<Z_i Z_j>(x)`` of a circuit.

    Monomial m contributes ``sign[m] * prod_{g in cos[m]} cos(theta_g) * prod_{g in sin[m]} sin(theta_g)`` to pair ``pair[m]``; `cos` and
    `sin` are masks over rotations. Monomials are sorted by pair. A pair without monomials is identically 0.
    """

    circuit: Circuit
    pair: np.ndarray
    sign: np.ndarray
    cos: np.ndarray
    sin: np.ndarray

    @property
    def n_pairs(self) -> int:
        return self.circuit.n_qubits * (self.circuit.n_qubits - 1) // 2

    @cached_property
    def factors(self) -> np.ndarray:
        """(n_monomials,) number of rotation factors of each monomial."""
        return np.bitwise_count(self.cos | self.sin).astype(int)

    @cached_property
    def monomials_per_pair(self) -> np.ndarray:
        """(n_pairs,) int."""
        return np.bincount(self.pair, minlength=self.n_pairs)

    @cached_property
    def varying(self) -> np.ndarray:
        """(n_pairs,) bool: pairs that depend on the inputs. The others keep their value at x = 0, a stabiliser state: -1, 0 or 1."""
        return np.ptp(self.evaluate(_PROBES), axis=0) > 1e-9

    @cached_property
    def rotations_used(self) -> int:
        """Number of rotations that act on some pair."""
        return int(np.bitwise_or.reduce(self.cos | self.sin, initial=np.uint32(0))).bit_count()

    def evaluate(self, x: np.ndarray, max_factors: int | None = None) -> np.ndarray:
        """(n, n_pairs) float64 correlations at inputs `x` (n, 6), rad; with `max_factors`, of monomials of at most that many factors."""
        keep = slice(None) if max_factors is None else self.factors <= max_factors
        pair, cos, sin = self.pair[keep], self.cos[keep], self.sin[keep]
        theta = self.circuit.angles(np.atleast_2d(x))
        out = np.zeros((len(theta), self.n_pairs))
        for row, angles in enumerate(theta):
            value = self.sign[keep].astype(float)
            for g, angle in enumerate(angles):
                bit = np.uint32(1 << g)
                value[(cos & bit) != 0] *= np.cos(angle)
                value[(sin & bit) != 0] *= np.sin(angle)
            out[row] = np.bincount(pair, weights=value, minlength=self.n_pairs)
        return out

    def fourier(self, pair: int) -> dict[tuple[int, ...], float]:
        """The correlation of one pair in the product basis of :data:`FEATURES` functions per input: index vector -> coefficient."""
        inputs, signs = self.circuit.inputs, self.circuit.signs
        total: dict[tuple[int, ...], float] = {}
        for m in np.flatnonzero(self.pair == pair):
            axes = [np.eye(1, FEATURES)[0] for _ in range(_N_INPUTS)]
            sign = float(self.sign[m])
            for g, (a, s) in enumerate(zip(inputs, signs, strict=True)):
                if self.cos[m] >> g & 1:
                    axes[a] = _TIMES_COS @ axes[a]
                elif self.sin[m] >> g & 1:
                    axes[a] = _TIMES_SIN @ axes[a]
                    sign *= s
            partial = {(): sign}
            for axis in axes:
                partial = {(*k, int(f)): v * axis[f] for k, v in partial.items() for f in np.flatnonzero(axis)}
            for key, value in partial.items():
                total[key] = total.get(key, 0.0) + value
        return {k: v for k, v in sorted(total.items()) if abs(v) > 1e-12}


_N_INPUTS = 6
# generic inputs: a trigonometric polynomial that agrees on all of them is constant
_PROBES = np.outer(np.arange(1, 9), np.sqrt([2, 3, 5, 7, 11, 13])) % (2 * np.pi)


def _multiplication() -> tuple[np.ndarray, np.ndarray]:
    """Matrices of multiplication by cos x and by sin x in the basis 1, cos x, ..., sin 3x; frequency 4 is never reached and left out."""
    cos, sin = np.zeros((FEATURES, FEATURES)), np.zeros((FEATURES, FEATURES))
    for k in range(DEGREE + 1):
        for step in (1, -1):
            wave, sign = abs(k + step), np.sign(k + step)
            if wave > DEGREE:
                continue
            cos[_c(wave), _c(k)] += 0.5  # cos x cos kx = [cos (k+1)x + cos (k-1)x] / 2
            if wave:
                sin[_s(wave), _c(k)] += 0.5 * step * sign  # sin x cos kx = [sin (k+1)x - sin (k-1)x] / 2
            if k:
                sin[_c(wave), _s(k)] -= 0.5 * step  # sin x sin kx = [cos (k-1)x - cos (k+1)x] / 2
            if k and wave:
                cos[_s(wave), _s(k)] += 0.5 * sign  # cos x sin kx = [sin (k+1)x + sin (k-1)x] / 2
    return cos, sin


def _c(k: int) -> int:
    return 0 if k == 0 else 2 * k - 1


def _s(k: int) -> int:
    return 2 * k


_TIMES_COS, _TIMES_SIN = _multiplication()


def design(x: np.ndarray) -> np.ndarray:
    """(n, n_inputs, FEATURES) values of the basis functions at inputs `x` (n, n_inputs), rad."""
    x = np.asarray(x, dtype=float)
    out = np.ones((*x.shape, FEATURES))
    for k in range(1, DEGREE + 1):
        out[..., 2 * k - 1], out[..., 2 * k] = np.cos(k * x), np.sin(k * x)
    return out


def correlations(circuit: Circuit, frame: PauliFrame | None = None) -> Polynomials:
    """Exact polynomials of all pair correlations; :class:`TooManyTerms` where a circuit has too many."""
    frame = frame or pull_through(circuit)
    first, second = pairs(circuit.n_qubits)
    z = frame.observables["Z"]
    products = [z[i] * z[j] for i, j in zip(first, second, strict=True)]
    pair = np.arange(len(products))
    xw = np.array([w.x for w in products], dtype=np.uint64)
    zw = np.array([w.z for w in products], dtype=np.uint64)
    phase = np.array([w.phase for w in products], dtype=np.int64)
    cos, sin = np.zeros(len(pair), dtype=np.uint32), np.zeros(len(pair), dtype=np.uint32)

    def select(keep: np.ndarray) -> None:
        nonlocal pair, xw, zw, phase, cos, sin
        pair, xw, zw, phase, cos, sin = (a[keep] for a in (pair, xw, zw, phase, cos, sin))

    select(xw >> np.uint64(frame.dim) == 0)  # an operator that flips an idle qubit has expectation 0 for good
    for g in reversed(range(len(frame.rotations))):
        rotation = frame.rotations[g]
        rx, rz = np.uint64(rotation.x), np.uint64(rotation.z)
        hit = parity(xw & rz) ^ parity(zw & rx)
        bit = np.uint32(1 << g)
        turned_phase = (phase[hit] + rotation.phase + 1 + 2 * parity(rz & xw[hit])) % 4  # i Q O
        pair = np.concatenate([pair, pair[hit]])
        phase = np.concatenate([phase, turned_phase])
        cos, sin = np.concatenate([np.where(hit, cos | bit, cos), cos[hit]]), np.concatenate([sin, sin[hit] | bit])
        xw, zw = np.concatenate([xw, xw[hit] ^ rx]), np.concatenate([zw, zw[hit] ^ rz])
        # what the earlier rotations cannot bring back to X = 0 is dropped now
        alive = np.ones(len(pair), dtype=bool)
        for check in annihilator([r.x for r in frame.rotations[:g]], frame.dim):
            alive &= ~parity(xw & np.uint64(check))
        select(alive)
        if len(pair) > MAX_TERMS:
            raise TooManyTerms(f"more than {MAX_TERMS} operators")
    order = np.lexsort((sin, cos, pair))
    return Polynomials(circuit, pair[order], (1 - phase[order]).astype(np.int8), cos[order], sin[order])
