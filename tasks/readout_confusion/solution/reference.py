"""Reference experimentalist of readout_confusion.

All 16 basis states, 6000 shots each, spread over six interleaved jobs; columns are relative frequencies. A pair is correlated where the
error of one qubit depends on the state of the other: compare error rates between the columns with the partner in |1> and in |0>, both ways.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

import lab

N = 4
SHOTS = 2000
ROUNDS = 3


def basis_state(state: int) -> str:
    flips = "".join(f"sx q[{q}]; sx q[{q}];\n" for q in range(N) if state >> q & 1)
    return f"OPENQASM 3.0;\nqubit[{N}] q;\nbit[{N}] c;\n{flips}c = measure q;\n"


def main() -> None:
    with lab.connect() as dev:
        halves = [[s for s in range(2**N) if bin(s).count("1") % 2 == k] for k in (0, 1)]
        jobs = [
            (states, dev.submit("run_circuits", circuits=[basis_state(s) for s in states], shots=SHOTS))
            for _ in range(ROUNDS) for states in halves
        ]  # fmt: skip
        counts = np.zeros((2**N, 2**N))
        for states, job in jobs:
            read = job.result()["bits"][:, 0].astype(np.int64) @ (1 << np.arange(N))  # (circuit, shot)
            for state, row in zip(states, read, strict=True):
                counts[:, state] += np.bincount(row, minlength=2**N)
        matrix = counts / counts.sum(axis=0)
        # |0001> and |1000> would be exchanged if the bits came in the other order
        print("most frequent reading of each column is what was prepared:", bool((matrix.argmax(axis=0) == np.arange(2**N)).all()))

        bit = (np.arange(2**N)[:, None] >> np.arange(N)) & 1
        error = np.stack([(matrix * (bit[:, q][:, None] != bit[:, q][None, :])).sum(axis=0) for q in range(N)])  # (qubit, prepared)

        def influence(of: int, on: int) -> float:
            return float(error[on, bit[:, of] == 1].mean() - error[on, bit[:, of] == 0].mean())

        strength = {(a, b): influence(a, b) + influence(b, a) for a, b in combinations(range(N), 2)}
        ranked = sorted(strength, key=lambda p: -strength[p])
        print({p: round(strength[p], 4) for p in ranked})
        answer = {"matrix": matrix.tolist(), "correlated_pairs": [list(p) for p in ranked[:2]], "job_ids": [job.job_id for _, job in jobs]}
        print(dev.submit_answer(answer))


if __name__ == "__main__":
    main()
