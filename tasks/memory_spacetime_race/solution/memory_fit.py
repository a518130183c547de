"""Error rates of all elements of a memory from correlations of its detection events.

For independent errors put t = -log(1 - 2 p) / 2 for the probability p of an odd number. The t of a detector is the sum of the t of all
errors that flip it, and (t_i + t_j - t_ij) / 2, with t_ij of the parity of both, is the sum over the errors that flip both: exact, whatever
else they flip (the p_ij of Spitz et al. 2018 and Google Quantum AI 2021 for pairs, without the assumption of a graph). Both are linear in
the t of the elements, with coefficients from stim; nonnegative least squares does the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import stim
from scipy.optimize import nnls

PROBE = 1e-5
KINDS = ("gate1", "gate2", "readout", "reset", "idle", "pair")
Element = tuple[str, tuple]
"""A rate: its kind and what has it. Qubits for gate1, readout, reset and idle; (a, b) for gate2; (a, b, Pauli) for pair."""


class Rates:
    """Error probabilities per operation, by kind and target; what is not named has none."""

    def __init__(self, elements: Iterable[Element] = (), values: Iterable[float] = ()) -> None:
        self.table: dict[str, dict] = {kind: {} for kind in KINDS}
        for (kind, targets), p in zip(elements, values, strict=True):
            if p > 0:
                self.table[kind].update(dict.fromkeys(targets, float(p)))


def dress(circuit: stim.Circuit, rates: Rates | Callable[[int], Rates]) -> stim.Circuit:
    """The public circuit with these rates; a function gives those of each cycle."""
    out: list[str] = []
    if isinstance(rates, Rates):
        _dress(circuit, rates, out)
    else:
        cycle, now = 0, rates(0)
        for op in _unrolled(circuit):
            if op.name == "SHIFT_COORDS":
                cycle += 1
                now = rates(cycle)
            _write(op, now, out)
    return stim.Circuit("\n".join(out))


def _unrolled(circuit: stim.Circuit) -> Iterator[stim.CircuitInstruction]:
    for op in circuit:
        if isinstance(op, stim.CircuitRepeatBlock):
            body = op.body_copy()
            for _ in range(op.repeat_count):
                yield from _unrolled(body)
        else:
            yield op


def _dress(circuit: stim.Circuit, rates: Rates, out: list[str]) -> None:
    for op in circuit:
        if isinstance(op, stim.CircuitRepeatBlock):
            out.append(f"REPEAT {op.repeat_count} {{")
            _dress(op.body_copy(), rates, out)
            out.append("}")
        else:
            _write(op, rates, out)


def _write(op: stim.CircuitInstruction, rates: Rates, out: list[str]) -> None:
    t = rates.table
    qubits = [x.value for x in op.targets_copy()] if op.name in ("M", "MX", "H", "I", "R", "RX", "CX") else []
    if op.name in ("M", "MX"):
        out.extend(f"{op.name}({t['readout'].get(q, 0)}) {q}" for q in qubits)
        return
    out.append(str(op))
    match op.name:
        case "H":
            out.extend(f"DEPOLARIZE1({t['gate1'][q]}) {q}" for q in qubits if q in t["gate1"])
        case "R" | "RX":
            name = "X_ERROR" if op.name == "R" else "Z_ERROR"
            out.extend(f"{name}({t['reset'][q]}) {q}" for q in qubits if q in t["reset"])
        case "I":
            out.extend(f"DEPOLARIZE1({t['idle'][q]}) {q}" for q in qubits if q in t["idle"])
        case "CX":
            for a, b in zip(qubits[::2], qubits[1::2], strict=True):
                p = t["gate2"].get((min(a, b), max(a, b)), 0.0)
                if p:
                    out.append(f"DEPOLARIZE2({p}) {a} {b}")
        case "TICK" if op.tag == "cycle":
            out.extend(f"CORRELATED_ERROR({p}) {pauli}{a} {pauli}{b}" for (a, b, pauli), p in t["pair"].items())


Key = tuple
"""Place of one detector, or of two with their distance in time, and whether the first or last cycle is among them."""


class Memory:
    """One public circuit: where its detectors are, and which of them (pairs) are the same but for time."""

    def __init__(self, circuit: stim.Circuit, rounds: int) -> None:
        self.circuit, self.rounds = circuit, rounds
        where = circuit.get_detector_coordinates()
        self.where = [tuple(where[d]) for d in range(circuit.num_detectors)]

    def key(self, i: int, j: int | None = None) -> Key:
        times = [self.where[d][2] for d in ((i,) if j is None else (i, j))]
        part = "first" if min(times) == 0 else "last" if max(times) == self.rounds else "bulk"
        if j is None:
            return (part, self.where[i][:2])
        (a, ta), (b, tb) = sorted((self.where[d][:2], self.where[d][2]) for d in (i, j))
        return (part, a, b, tb - ta)

    def strengths(self, rates: Rates) -> dict[tuple[int, ...], float]:
        """Sum of t over the errors that flip a detector, or both of two."""
        found: dict[tuple[int, ...], float] = defaultdict(float)
        for line in dress(self.circuit, rates).detector_error_model().flattened():
            if line.type != "error":
                continue
            t = -0.5 * np.log1p(-2 * line.args_copy()[0])
            flipped = sorted({x.val for x in line.targets_copy() if x.is_relative_detector_id()})
            for k, i in enumerate(flipped):
                found[(i,)] += t
                for j in flipped[k + 1 :]:
                    found[i, j] += t
        return found


@dataclass
class Design:
    """Which detectors make up each row, and how much each element puts into it: `matrix` `(n_rows, n_elements)`."""

    singles: list[np.ndarray]
    pairs: list[np.ndarray]
    matrix: np.ndarray


def design(memory: Memory, elements: list[Element]) -> Design:
    columns = []
    members: dict[Key, set[tuple[int, ...]]] = defaultdict(set)
    for e in elements:
        column: dict[Key, float] = defaultdict(float)
        for flipped, t in memory.strengths(Rates([e], [PROBE])).items():
            key = memory.key(*flipped)
            members[key].add(flipped)
            column[key] += t / PROBE
        columns.append(column)
    # An instance without this element still belongs to the mean over instances.
    alone = sorted((k for k in members if len(k) == 2), key=str)
    both = sorted((k for k in members if len(k) == 4), key=str)
    rows = alone + both
    matrix = np.array([[c.get(k, 0.0) / len(members[k]) for c in columns] for k in rows])
    return Design([np.array(sorted(members[k])) for k in alone], [np.array(sorted(members[k])) for k in both], matrix)


def observed(d: Design, detections: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left-hand sides and their standard errors, from `detections` `(n_shots, n_detectors)` bool."""
    n = len(detections)
    columns = np.packbits(np.ascontiguousarray(detections.T), axis=1)
    mean = np.bitwise_count(columns).sum(axis=1, dtype=np.int64) / n
    t = -0.5 * np.log1p(-2 * mean)
    values, variances = [], []
    for group in d.singles:
        i = group[:, 0]
        values.append(t[i].mean())
        variances.append(mean[i].mean() / n / len(i))
    for group in d.pairs:
        i, j = group.T
        both = np.bitwise_count(columns[i] & columns[j]).sum(axis=1, dtype=np.int64) / n
        odd = np.clip(mean[i] + mean[j] - 2 * both, None, 0.49)
        s = 0.5 * (t[i] + t[j] + 0.5 * np.log1p(-2 * odd))
        values.append(s.mean())
        variances.append((mean[i] * mean[j] + np.clip(s, 0, None)).mean() / n / len(i))
    return np.array(values), np.sqrt(np.array(variances) + 1e-18)


def fit(matrices: list[np.ndarray], values: list[np.ndarray], errors: list[np.ndarray], prior: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Rates of the elements: nonnegative least squares with a Gaussian prior of mean `prior` and standard deviation `width`."""
    rows = [m / e[:, None] for m, e in zip(matrices, errors, strict=True)] + [np.diag(1 / width)]
    right = [v / e for v, e in zip(values, errors, strict=True)] + [prior / width]
    return nnls(np.vstack(rows), np.concatenate(right))[0]
