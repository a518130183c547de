"""Three qubits under a Lindblad equation in the Pauli basis, and maximum likelihood with exact derivatives."""

from __future__ import annotations

import itertools

import numpy as np

N = 3
DIM = 4**N
PAULI = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
LOWER = np.array([[0, 1], [0, 0]], dtype=complex)
BLOCH = {"0": (0, 0, 1), "1": (0, 0, -1), "+": (1, 0, 0), "-": (-1, 0, 0), "r": (0, 1, 0), "l": (0, -1, 0)}
BASES = ["".join(b) for b in itertools.product("XYZ", repeat=N)]
TERMS = [{q: a} for q in range(N) for a in (1, 2, 3)] + [{q: a, q + 1: b} for q in range(N - 1) for a in (1, 2, 3) for b in (1, 2, 3)]
H = slice(0, len(TERMS))
DOWN, UP, SAME, BOND = (slice(H.stop + N * k, min(H.stop + N * (k + 1), H.stop + 4 * N - 1)) for k in range(4))
COUNT = BOND.stop
FLOOR = 1e-9
"""Probabilities below this count as this."""


def op(factors: dict[int, np.ndarray]) -> np.ndarray:
    out = np.eye(1)
    for q in range(N):
        out = np.kron(out, factors.get(q, PAULI[0]))
    return out


def generators() -> np.ndarray:
    """`(COUNT, 64, 64)`: the action of each term on the vector of Pauli expectation values."""
    paulis = np.array([op({q: PAULI[k] for q, k in enumerate(p)}) for p in itertools.product(range(4), repeat=N)])
    left = paulis.transpose(0, 2, 1).reshape(DIM, -1) / 2**N

    def matrix(act) -> np.ndarray:
        return (left @ np.array([act(p).reshape(-1) for p in paulis]).T).real

    def damp(a: np.ndarray, b: np.ndarray):
        """rho -> a rho b^+ - {b^+ a, rho} / 2."""
        c = b.conj().T @ a
        return lambda rho: a @ rho @ b.conj().T - (c @ rho + rho @ c) / 2

    found = []
    for term in TERMS:
        h = op({q: PAULI[a] for q, a in term.items()})
        found.append(matrix(lambda rho, h=h: -1j * (h @ rho - rho @ h)))
    for jump in (LOWER, LOWER.T):
        found += [matrix(damp(op({q: jump}), op({q: jump}))) for q in range(N)]
    z = [op({q: PAULI[3]}) for q in range(N)]
    found += [matrix(damp(z[q], z[q])) / 2 for q in range(N)]
    found += [(matrix(damp(z[q], z[q + 1])) + matrix(damp(z[q + 1], z[q]))) / 2 for q in range(N - 1)]
    return np.array(found)


def vector(state: str) -> np.ndarray:
    """Pauli expectation values of a product state."""
    out = np.ones(1)
    for letter in state:
        out = np.kron(out, (1.0, *BLOCH[letter]))
    return out


SUBSETS = np.array(list(itertools.product((0, 1), repeat=N)))
ROWS = np.array([SUBSETS * ["IXYZ".index(c) for c in b] for b in BASES]) @ 4 ** np.arange(N)[::-1]
"""`(27, 8)`: the Paulis whose expectation values are the parities of a basis."""


def readout_matrix(false_1: np.ndarray, false_0: np.ndarray) -> np.ndarray:
    """From the parities of a basis to the probabilities of the eight readings."""
    out = np.eye(1)
    for a, b in zip(false_1, false_0, strict=True):
        out = np.kron(out, np.array([[1 - a, b], [a, 1 - b]]) @ [[0.5, 0.5], [0.5, -0.5]])
    return out


class Data:
    """Counts `(27, states, 8)` for each time: all bases on the states of this time."""

    def __init__(self, readout: np.ndarray) -> None:
        self.readout = readout
        self.times: list[float] = []
        self.starts: list[np.ndarray] = []
        self.counts: list[np.ndarray] = []

    def add(self, t_us: float, states: list[str], bits: np.ndarray) -> None:
        """`bits` `(27 x states, shots, 3)`, bases outermost."""
        readings = (bits.astype(int) << np.arange(N)[::-1]).sum(axis=2)
        counts = np.array([np.bincount(r, minlength=2**N) for r in readings]).reshape(len(BASES), len(states), -1)
        self.times.append(t_us)
        self.starts.append(np.array([vector(s) for s in states]).T)
        self.counts.append(counts.astype(float))


class Fit:
    """Fisher scoring on the multinomial likelihood, with Levenberg's damping."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.terms = generators()

    def modes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rates, vectors = np.linalg.eig(np.tensordot(x, self.terms, axes=1))
        return rates, vectors, np.linalg.inv(vectors)

    def loglik(self, x: np.ndarray, last: int) -> float:
        rates, vectors, inverse = self.modes(x)
        total = 0.0
        for t, start, counts in list(zip(self.data.times, self.data.starts, self.data.counts, strict=True))[:last]:
            r = (vectors @ (np.exp(rates * t)[:, None] * (inverse @ start))).real
            p = np.einsum("bpk,op->bko", r[ROWS], self.data.readout)
            total += float((counts * np.log(np.maximum(p, FLOOR))).sum())
        return total

    def slopes(self, x: np.ndarray, last: int, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Fisher information of the free coefficients, from the first `last` times."""
        rates, vectors, inverse = self.modes(x)
        turned = inverse @ self.terms[free] @ vectors
        gap = (rates[:, None] - rates) / 2
        gradient, information = np.zeros(free.sum()), np.zeros((free.sum(), free.sum()))
        for t, start, counts in list(zip(self.data.times, self.data.starts, self.data.counts, strict=True))[:last]:
            seen = inverse @ start
            r = (vectors @ (np.exp(rates * t)[:, None] * seen)).real
            half = np.exp(rates * t / 2)
            small = np.abs(gap * t) < 1e-6
            ratio = np.where(small, 1.0, np.sinh(gap * t) / np.where(small, 1.0, gap * t))  # of the Duhamel integral in the eigenbasis
            dr = (vectors @ ((turned * (t * ratio * half[:, None] * half)) @ seen)).real
            p = np.maximum(np.einsum("bpk,op->bko", r[ROWS], self.data.readout), FLOOR)
            dp = np.matmul(dr[:, ROWS].transpose(0, 1, 3, 2), self.data.readout.T).reshape(len(dr), -1)
            gradient += dp @ (counts / p).ravel()
            information += (dp * (counts.sum(axis=2, keepdims=True) / p).ravel()) @ dp.T
        return gradient, information

    def climb(self, x: np.ndarray, last: int, free: np.ndarray, steps: int, gain: float) -> np.ndarray:
        """At most `steps` accepted steps; ends where one gains less than `gain` in log likelihood."""
        damping, value = 1e-2, self.loglik(x, last)
        for _ in range(steps):
            gradient, information = self.slopes(x, last, free)
            for _ in range(8):
                step = np.linalg.solve(information + damping * np.diag(np.diag(information)), gradient)
                trial = x.copy()
                trial[free] += np.clip(step, -0.5, 0.5)
                trial[DOWN.start : SAME.stop] = np.maximum(trial[DOWN.start : SAME.stop], 0.0)
                new = self.loglik(trial, last)
                if new > value:
                    break
                damping *= 8
            else:
                return x
            gained, x, value, damping = new - value, trial, new, max(damping / 8, 1e-8)
            if gained < gain:
                return x
        return x

    def start(self, free: np.ndarray) -> np.ndarray:
        """Nearly no Hamiltonian, and middling rates, all different so that the generator has eigenvectors."""
        x = np.zeros(COUNT)
        x[H] = 0.02 * np.cos(np.arange(H.stop))
        x[DOWN], x[UP], x[SAME] = 0.09 + 0.01 * np.arange(N), 0.01 + 0.001 * np.arange(N), 0.1
        x[~free] = 0.0
        return x

    def run(self, free: np.ndarray) -> np.ndarray:
        """From short times, where the data are nearly linear in the coefficients, to all of them."""
        x = self.start(free)
        n = len(self.data.times)
        for last in (1, 2, 3, 5):
            x = self.climb(x, last, free, 12, 1.0)
        return self.climb(x, n, free, 12, 1e-2)

    def errors(self, x: np.ndarray) -> np.ndarray:
        """Standard errors `(COUNT,)` with everything free."""
        _, information = self.slopes(x, len(self.data.times), np.ones(COUNT, dtype=bool))
        return np.sqrt(np.diag(np.linalg.inv(information)))
