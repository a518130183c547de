"""A fault-tolerant preparation of a state of a stabilizer code: a cheap preparation, then checks on flags.

1. The generators are folded (`fold.py`) to a cheap preparation; which state of the code space it is, is free.
2. All single faults of it are followed to the end (`spread.py`). Those that leave more than t errors must be shown.
3. Few stabilizers of the state show them all (`cover.py`). Each is measured by an ancilla in |0> with X-controlled Paulis. Z on the ancilla
   spreads to the data; where that is dangerous and no later check shows it, two X-controlled X to a flag around the check do (Chao and
   Reichardt 2018). A fault on the flag never reaches the data, so one flag serves all checks.

A data qubit starts in |0> and has no one-qubit gate before its first two-qubit gate: after H the error X does nothing, and yet it would
spread over a whole stabilizer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import stim
from cover import SMALL, choose
from fold import Css, Folder, Folding, Mixed
from paulis import Gate, X, Z, bits, css_parts, independent, reduced, scheduled
from spread import ONE, Single, State, effects, matrix, weights

Aim = Literal["corrected", "published", "both"]
NOISES = (0.1, 0.5, 0.9, 1.5)
LATE = 0.03
GATE_PRICES = (0.01, 0.05, 0.3, 1.0)
"""Of one gate in flags. Gates cost nothing until the baseline's are used up, and then as much as a flag."""

ORDERS = 6
"""Of the qubits of a check, tried for one whose faults on the ancilla need no flag."""


@dataclass(frozen=True)
class Check:
    """A member of the group: its Pauli on each qubit of `order`, and whether the flag goes around it."""

    pauli: np.ndarray
    order: tuple[int, ...]
    flagged: bool


@dataclass(frozen=True)
class Plan:
    """A preparation, its checks, and what they cost."""

    gates: list[Gate | Single]
    checks: list[Check]
    two_qubit: int
    flags: int
    trivial: int
    """Faults of raw weight above t that do nothing; they count in the published scoring."""

    def price(self, base: int) -> tuple[int, float]:
        """What to make small. The second is the overhead of the corrected scoring."""
        return self.trivial, (max(0, self.two_qubit - base) + self.flags) / max(1, base)


def preparations(generators: Sequence[str], rng: np.random.Generator) -> Iterator[list[Gate | Single]]:
    """Cheap preparations without end: foldings from the beginning, and the cheapest ones cut and folded anew."""
    x, z = bits(generators)
    parts = css_parts(x, z)
    folders: list[Folder]
    if parts is not None:
        folders = [Css(part, dual=dual) for part, dual in zip(parts, (False, True), strict=True)]
    else:
        rows = independent(np.hstack([x, z]))
        folders = [Mixed(rows[:, : x.shape[1]], rows[:, x.shape[1] :])]
    best: dict[int, Folding] = {}
    turn = 0
    while True:
        at = turn % len(folders)
        noise = NOISES[turn // len(folders) % len(NOISES)]
        known = best.get(at)
        cut = 0 if known is None or rng.random() < 0.5 else int(len(known.gates) * rng.random() ** 0.7)
        found = folders[at].fold(known.gates[:cut] if known else (), rng, noise, LATE)
        if known is None or len(found.gates) <= len(known.gates):
            best[at] = known = found
        yield unfolded(found.roots, scheduled(found.gates[::-1]))
        turn += 1


def unfolded(roots: Mapping[int, int], gates: Sequence[Gate]) -> list[Gate | Single]:
    """The preparation with each one-qubit gate behind the first two-qubit gate of its qubit, and without two-qubit gates that do nothing
    because one of their qubits is still in |0>; signs are left open."""
    waiting = {q: "H" if p == X else "H_YZ" for q, p in roots.items() if p != Z}
    touched: set[int] = set()
    out: list[Gate | Single] = []
    for p, i, q, j in gates:
        if i in waiting:
            p = ONE[waiting[i]][p]
        if j in waiting:
            q = ONE[waiting[j]][q]
        if (p == Z and i not in touched) or (q == Z and j not in touched):
            continue
        touched |= {i, j}
        out += [(p, i, q, j), *((waiting.pop(k), k) for k in (i, j) if k in waiting)]
    return out + [(name, k) for k, name in waiting.items()]


def signed(gates: list[Gate | Single], generators: Sequence[str], n: int) -> list[Gate | Single]:
    """With Paulis at the end where a generator would be -1."""
    simulator = simulated(gates, n)
    wrong = np.array([simulator.peek_observable_expectation(stim.PauliString(g)) == -1 for g in generators], np.uint8)
    if not wrong.any():
        return gates
    x, z = bits(generators)
    solution, pivots = reduced(np.hstack([z, x, wrong[:, None]]))
    frame = {column for row, column in zip(solution, pivots, strict=True) if row[2 * n]}
    if 2 * n in frame:
        raise ValueError("the generators contradict one another: their product is -1")
    return gates + [("_XZY"[(q in frame) + 2 * (q + n in frame)], q) for q in range(n) if q in frame or q + n in frame]


def simulated(gates: Sequence[Gate | Single], n: int) -> stim.TableauSimulator:
    simulator = stim.TableauSimulator()
    simulator.do(stim.Circuit("\n".join([*map(instruction, gates), f"I {n - 1}"])))
    return simulator


def instruction(gate: Gate | Single) -> str:
    """Stim's line of a gate."""
    if len(gate) == 2:
        return f"{gate[0]} {gate[1]}"
    p, i, q, j = gate
    return f"{('XC', 'YC', 'C')[p]}{'XYZ'[q]} {i} {j}"


class Verifier:
    """Adds checks to preparations of one code."""

    def __init__(self, generators: Sequence[str], t: int, base: int, aim: Aim, rng: np.random.Generator) -> None:
        self.generators, self.t, self.base, self.rng = generators, t, base, rng
        self.everywhere, self.reduced = aim != "published", aim == "corrected"
        x, z = bits(generators)
        self.n = x.shape[1]
        self.hints = np.hstack([x, z])

    def plans(self, gates: list[Gate | Single]) -> Iterator[Plan]:
        """Verified circuits around one preparation, for several prices of a gate."""
        state = State(self.n, gates, self.hints)
        left = matrix(effects(self.n, gates, everywhere=self.everywhere), self.n)
        errors = state.dangerous(left, self.t, reduced=self.reduced)
        trivial = 0 if self.reduced else state.trivial(left, self.t)
        cost = sum(len(g) == 4 for g in gates)
        done = False
        for price in GATE_PRICES if cost < self.base else GATE_PRICES[-1:]:
            if done:
                return
            masks = choose(errors, state.rows, price, self.rng)
            masks.sort(key=lambda m: -int(m.sum()))
            checks = self._checks(state, masks)
            flag = any(c.flagged for c in checks)
            two = cost + sum(len(c.order) + 2 * c.flagged for c in checks)
            done = two <= self.base
            yield Plan(gates, checks, two, len(checks) + flag, trivial)

    def _checks(self, state: State, masks: Sequence[np.ndarray]) -> list[Check]:
        checks = []
        for k, mask in enumerate(masks):
            pauli = (mask.astype(np.int64) @ state.rows & 1).astype(np.uint8)
            order = np.flatnonzero(pauli[: self.n] | pauli[self.n :])
            bad = self._bad_hooks(state, pauli, order, masks[k + 1 :])
            for _ in range(ORDERS if self.n <= SMALL else 0):
                if not bad:
                    break
                order = self.rng.permutation(order)
                bad = self._bad_hooks(state, pauli, order, masks[k + 1 :])
            checks.append(Check(pauli, tuple(map(int, order)), bad))
        return checks

    def _bad_hooks(self, state: State, pauli: np.ndarray, order: np.ndarray, later: Sequence[np.ndarray]) -> bool:
        """Whether a fault on the ancilla in the midst of the check is dangerous and not shown by a later check."""
        n, found = self.n, []
        rest = pauli.copy()
        for q in order:
            rest[[q, q + n]] = 0
            for x, z in ((0, 0), (1, 0), (0, 1), (1, 1)) if self.everywhere else ((0, 0),):
                hook = rest.copy()
                hook[[q, q + n]] = x, z
                found.append(hook)
        hooks = np.array(found)
        if not self.reduced:  # the whole check, which does nothing, counts as it stands, and no later check shows it
            return bool((weights(hooks) > self.t).any())
        syndromes = state.dangerous(hooks, self.t, reduced=True)
        if later:
            syndromes = syndromes[~(syndromes.astype(np.int64) @ np.array(later, np.int64).T & 1).any(1)]
        return len(syndromes) > 0

    def text(self, plan: Plan) -> str:
        """Stim text."""
        n = self.n
        gates = signed(plan.gates, self.generators, n)
        simulator = simulated(gates, n)
        flag = n + len(plan.checks)
        turned: list[Single] = []
        gates = list(gates)
        for k, check in enumerate(plan.checks):
            around: list[Gate | Single] = [(X, n + k, X, flag)] if check.flagged else []
            gates += around
            for q in check.order:
                gates.append((X, n + k, (-1, 0, 2, 1)[check.pauli[q] + 2 * check.pauli[n + q]], q))
            gates += around
            member = stim.PauliString.from_numpy(xs=check.pauli[:n] > 0, zs=check.pauli[n:] > 0)
            if simulator.peek_observable_expectation(member) == -1:
                turned.append(("X", n + k))
        gates += turned
        lines = [instruction(g) for g in gates]
        if plan.flags:
            lines.append("M " + " ".join(str(n + f) for f in range(plan.flags)))
        return "\n".join(lines) + "\n"


def solve(spec: Mapping[str, Any], *, seconds: float, rng: np.random.Generator, aim: Aim = "corrected") -> str:
    """Stim text for the code of `spec` (`generators`, `baseline_g2q`, `corrected_t`, `published_t`): the best found in about `seconds` of
    CPU time; at least one preparation is tried. `aim`: the scoring in which each dangerous fault is to be shown; what the published one
    counts (weights as they stand) and the corrected one (faults everywhere) are shown both with "both", for a few flags more."""
    begun = time.process_time()
    base = int(spec["baseline_g2q"])
    t = min(int(spec[f"{name}_t"]) for name in (("corrected", "published") if aim == "both" else (aim,)))
    verifier = Verifier(spec["generators"], t, base, aim, rng)
    best: Plan | None = None
    for gates in preparations(spec["generators"], rng):
        for plan in verifier.plans(gates):
            if best is None or plan.price(base) < best.price(base):
                best = plan
        if best is not None and (time.process_time() - begun > seconds or best.price(base) == (0, 0)):
            return verifier.text(best)
    raise AssertionError("preparations do not end")
