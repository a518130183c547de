"""Reference experimentalist of cycle_error_reconstruction: both gates together, decays at even depths, all errors on one or two qubits."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import nnls

import lab

N = 5
EDGES = ((0, 1), (2, 3))
DEPTHS = (2, 24, 60)
TWIRLS, SHOTS = 30, 40
SETS = np.arange(1 << N)
PARITY = np.array([1 - 2 * (s.bit_count() & 1) for s in range(1 << N)])
SMALLEST_SIGNAL = 0.1
SIGNIFICANT = 2.0
"""A class stays in the second fit if the first gives it more than this many standard errors."""


def bases() -> list[str]:
    """27 axis strings in which each pair of qubits has each of its nine pairs of letters three times."""
    digits = [(a, b, c, (a + b + c) % 3, (a + 2 * b) % 3) for a, b, c in itertools.product(range(3), repeat=3)]
    return ["".join("XYZ"[d] for d in row) for row in digits]


def masks(pauli: str) -> tuple[int, int]:
    x, z = (sum(1 << q for q, c in enumerate(pauli) if c in letters) for letters in ("XY", "YZ"))
    return x, z


def label(x: int, z: int) -> str:
    return "".join("IXZY"[(x >> q & 1) + 2 * (z >> q & 1)] for q in range(N))


def cycled(pauli: str, edges: tuple = EDGES) -> str:
    """C P C^-1 up to its sign, for the gates on `edges`."""
    x, z = masks(pauli)
    for a, b in edges:
        z ^= (x >> a & 1) << b ^ (x >> b & 1) << a
    return label(x, z)


def member(pauli: str, edges: tuple = EDGES) -> str:
    """The name of a class: its member on fewer qubits."""
    return min(pauli, cycled(pauli, edges), key=lambda p: (N - p.count("I"), p))


def all_classes(edges: tuple = EDGES) -> list[str]:
    few = ["".join(p) for p in itertools.product("IXYZ", repeat=N) if 1 <= N - p.count("I") <= 2]
    return sorted({member(p, edges) for p in few})


def is_far(pauli: str) -> bool:
    """Two qubits that are not neighbours, whichever member is looked at."""
    return all(len(s) > 2 or (len(s) == 2 and s[1] - s[0] > 1) for s in (support(pauli), support(cycled(pauli))))


def support(pauli: str) -> list[int]:
    return [q for q, c in enumerate(pauli) if c != "I"]


def design(paulis: list[str], classes: list[str], edges: tuple = EDGES) -> np.ndarray:
    """Decay per cycle of each Pauli, per unit rate of each class: how often P and C(P) anticommute with it."""

    def table(rows: list[str]) -> np.ndarray:
        ax, az = np.array([masks(p) for p in rows]).T[:, :, None]
        bx, bz = np.array([masks(c) for c in classes]).T[:, None]
        return (PARITY[ax & bz] * PARITY[az & bx] < 0).astype(float)

    return table(paulis) + table([cycled(p, edges) for p in paulis])


def decays(basis: str, bits: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Paulis of a basis, their decay per cycle and its standard error, from `bits` (depths, twirls, shots, 5).

    Preparation and readout are in the amplitude of each Pauli, which is free.
    """
    outcome = (bits.astype(int) << np.arange(N)).sum(axis=-1)
    share = np.array([[np.bincount(t, minlength=1 << N) / t.size for t in depth] for depth in outcome])
    walsh = PARITY[SETS[:, None] & SETS]
    each = share @ walsh  # (depths, twirls, 32): the frame of a twirl decides which readout error counts, so twirls scatter
    signal, error = each.mean(axis=1), np.sqrt(np.maximum(1 - each.mean(axis=1) ** 2, 0) / outcome[0].size)
    error = np.maximum(error, each.std(axis=1, ddof=1) / np.sqrt(each.shape[1]))
    m = np.array(DEPTHS, dtype=float)[:, None]
    w = np.where(signal > SMALLEST_SIGNAL, (signal / np.maximum(error, 1e-4)) ** 2, 0.0)
    y = np.log(np.where(w > 0, signal, 1.0))
    s0, s1, s2, sy, s1y = w.sum(0), (w * m).sum(0), (w * m**2).sum(0), (w * y).sum(0), (w * m * y).sum(0)
    det = s0 * s2 - s1**2
    keep = ((w > 0).sum(0) >= 2) & (SETS > 0)
    x, z = masks(basis)
    paulis = [label(x & int(s), z & int(s)) for s in SETS[keep]]
    return paulis, ((s1 * sy - s0 * s1y)[keep] / det[keep]), np.sqrt(s0[keep] / det[keep])


def fit(paulis: list[str], decay: np.ndarray, error: np.ndarray, edges: tuple = EDGES) -> dict[str, float]:
    """Rates of the classes: non-negative least squares, then again on those that stand out, and one-body classes."""
    classes = all_classes(edges)
    matrix = design(paulis, classes, edges) / error[:, None]
    first, _ = nnls(matrix, decay / error)
    sigma = np.sqrt(np.diag(np.linalg.pinv(matrix.T @ matrix, hermitian=True)))
    kept = [k for k, c in enumerate(classes) if first[k] > SIGNIFICANT * sigma[k] or len(support(c)) == 1]
    second, _ = nnls(matrix[:, kept], decay / error)
    return {classes[k]: float(r) for k, r in zip(kept, second, strict=True) if r > 0}


def infidelity(rates: dict[str, float]) -> float:
    everything = ["".join(p) for p in itertools.product("IXYZ", repeat=N)]
    return float(1 - np.exp(-design(everything, list(rates)) @ np.array(list(rates.values()))).mean())


def measured(dev: lab.Lab, axes: list[str], shots: int, active: str) -> tuple[list[str], np.ndarray, np.ndarray, list[str]]:
    """Paulis, decays and standard errors of all bases in random order, so that nothing slow follows the bases, and the job ids."""
    order = np.random.default_rng().permutation(axes).tolist()
    fields = {"depths": list(DEPTHS), "twirls": TWIRLS, "shots_per_twirl": shots, "active_edges": active}
    jobs = [dev.submit("run_cycle_sequence", prep_axes=b, meas_axes=b, **fields) for b in order]
    records = [job.result() for job in jobs]
    found = [decays(basis, record["bits"]) for basis, record in zip(order, records, strict=True)]
    paulis = [p for names, _, _ in found for p in names]
    return paulis, np.concatenate([d for _, d, _ in found]), np.concatenate([e for _, _, e in found]), [r.job_id for r in records]


def answer_of(rates: dict[str, float], far: list[str], asked: list[str], ids: list[str]) -> dict:
    return {
        "rates": [{"pauli": c, "symmetrised_rate": r} for c, r in rates.items()],
        "long_range": [{"pauli": c, "rate": rates[c]} for c in far],
        "cycle_infidelity": infidelity(rates),
        "predicted": (design(asked, list(rates)) @ np.array(list(rates.values()))).tolist(),
        "job_ids": ids,
    }


def main() -> None:
    with lab.connect() as dev:
        spec = dev.spec()["spec"]
        print(spec["convention"])
        for entry in dev.notebook():
            print(entry["date"], entry["title"], "-", entry["text"])
        paulis, decay, error, ids = measured(dev, bases(), SHOTS, "both")
        rates = fit(paulis, decay, error)
        far = sorted((c for c in rates if is_far(c)), key=lambda c: -rates[c])[:2]
        for c in far:
            print(f"long range: {c} {rates[c]:.2e} per cycle")
        asked = dev.lock_and_reveal()["challenge"]["paulis"]
        answer = answer_of(rates, far, asked, ids)
        dev.check_answer(answer)
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
