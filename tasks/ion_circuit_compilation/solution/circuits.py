"""What reference and trap share: the direct compilation, the search of an assignment, and the calibration of XX angles."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np

import lab

N = 8
PAIRS = list(combinations(range(N), 2))
HADAMARD = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
TRAIN = (8, 9)  # XX(pi/2) in a row: even shows the contrast, odd the angle
TRAIN_SHOTS = 600
FINAL_SHOTS = 2000


def rounds() -> list[list[tuple[int, int]]]:
    """All 28 pairs as seven rounds of four disjoint ones (circle method)."""
    out = []
    for k in range(N - 1):
        ring = [(k + s) % (N - 1) for s in range(N - 1)]
        out.append([tuple(sorted(p)) for p in [(N - 1, ring[0]), *((ring[s], ring[-s]) for s in (1, 2, 3))]])
    return out


def xx(i: int, j: int, angle: float) -> dict[str, Any]:
    return {"gate": "xx", "ions": [int(i), int(j)], "angle": float(angle)}


def rotation(u: np.ndarray, ion: int) -> list[dict[str, Any]]:
    """A 2 x 2 unitary as R and a virtual RZ: u = RZ(2 f) R(angle, phase), so u00 = c exp(-i f), u10 = -i s exp(i (phase + f))."""
    u = u / np.sqrt(np.linalg.det(u))
    angle = 2 * np.arctan2(abs(u[1, 0]), abs(u[0, 0]))
    half = -np.angle(u[0, 0])
    phase = np.angle(1j * u[1, 0]) - half
    return [
        {"gate": "r", "ions": [int(ion)], "angle": float(angle), "phase": float(phase)},
        {"gate": "rz", "ions": [int(ion)], "angle": float(2 * half)},
    ]


def compiled(target: dict[str, Any], ion: np.ndarray) -> list[dict[str, Any]]:
    """One XX per coupling: exp(-i t/2 ZZ) is XX(t) between Hadamard gates, which are merged into the one-qubit layers."""
    out: list[dict[str, Any]] = []
    last = len(target["couplings"])
    for layer, gates in enumerate(target["one_qubit"]):
        for q, (a, b, c) in enumerate(gates):
            z = [np.diag(np.exp(np.array([-0.5j, 0.5j]) * x)) for x in (a, c)]
            y = np.array([[np.cos(b / 2), -np.sin(b / 2)], [np.sin(b / 2), np.cos(b / 2)]])
            before, after = HADAMARD if layer else np.eye(2), HADAMARD if layer < last else np.eye(2)
            out += rotation(after @ z[0] @ y @ z[1] @ before, ion[q])
        if layer < last:
            out += [xx(ion[g["qubits"][0]], ion[g["qubits"][1]], g["angle"]) for g in target["couplings"][layer]]
    return out


def best_assignment(target: dict[str, Any], e0: np.ndarray, e1: np.ndarray) -> tuple[np.ndarray, float]:
    """Of all 40 320 assignments the one with the smallest sum of pair errors, and this sum; errors in the order of PAIRS."""
    everywhere = np.array(list(permutations(range(N))))
    table0, table1 = np.zeros((N, N)), np.zeros((N, N))
    for (a, b), x, y in zip(PAIRS, e0, e1, strict=True):
        table0[a, b] = table0[b, a] = x
        table1[a, b] = table1[b, a] = y
    total = np.zeros(len(everywhere))
    for layer in target["couplings"]:
        for g in layer:
            at = everywhere[:, g["qubits"][0]] * N + everywhere[:, g["qubits"][1]]
            total += (table0 + table1 * abs(g["angle"]) / (np.pi / 2)).ravel()[at]
    k = int(total.argmin())
    return everywhere[k], float(total[k])


def angle_scales(dev: lab.Lab) -> tuple[list[float], str]:
    """1 / (1 + delta) of every pair, and the job. After n gates of pi/2 the mean of both Z is C cos(n pi/2 (1 + delta))."""
    circuits = [{"gates": [xx(*p, np.pi / 2) for p in pairs], "reps": n} for pairs in rounds() for n in TRAIN]
    record = dev.run("run_circuits", circuits=circuits, shots=TRAIN_SHOTS)
    z = 1.0 - 2.0 * record["bits"].mean(axis=1)  # (circuit, ion)
    grid = np.linspace(-0.08, 0.08, 1601)
    shape = np.cos(np.outer(TRAIN, np.pi / 2 * (1 + grid)))
    found = {}
    for r, pairs in enumerate(rounds()):
        for i, j in pairs:
            y = z[len(TRAIN) * r : len(TRAIN) * (r + 1), [i, j]].mean(axis=1)
            c = np.clip((shape * y[:, None]).sum(0) / (shape**2).sum(0), 0, 1)
            found[i, j] = float(grid[((y[:, None] - c * shape) ** 2).sum(0).argmin()])
    return [1 / (1 + found[p]) for p in PAIRS], record.job_id


def expected_error(pairs: float) -> float:
    """Error of the circuit from the sum of its pair errors.

    Added are 24 pulses on one ion, and dephasing of eight ions (T2 1 to 3 s) for 6 ms, of which a product state sees two thirds.
    """
    return pairs + 24 * 2e-4 + (2 / 3) * N * 5.8e-3 / 2 * 0.55


def finish(
    dev: lab.Lab, target: dict[str, Any], ion: np.ndarray, scales: list[float], bad: list[Any], error: float, jobs: list[str]
) -> None:
    """Run the compiled circuit, and submit."""
    gates = compiled(target, ion)
    record = dev.run("run_circuits", circuits=[{"gates": gates}], shots=FINAL_SHOTS, angle_scale=scales)
    where = [int(k) for k in ion]
    answer = {
        "circuit": gates, "map_in": where, "map_out": where, "angle_scale": scales, "bad_pairs": bad,
        "predicted_error": float(np.clip(error, 0, 1)), "job_ids": [*jobs, record.job_id],
    }  # fmt: skip
    print(dev.submit_answer(answer))
