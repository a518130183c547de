"""Error rates of a whole chip from memories with and without waits, and what they say about storage in a part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pymatching
import stim
from memory_fit import Design, Element, Rates, dress
from scipy.optimize import minimize

from lab.conventions import Limits, MatchingGraph, read_graph

BASES = ("Z", "X")
CYCLE_US = 1.1
STORAGE_US = 60.0
WIDTH = 1.5  # expected spread of a rate around its datasheet value, relative
PAIR_WIDTH = 2e-3
FAINT_PAIR = 5e-4  # weaker pair errors are noise of the fit
SCREEN_CYCLES = 24
CYCLES = np.arange(6, 55)
CURVE_CYCLES = (14, 27, 54)
LONG = Limits(n_bytes=40_000_000, terms=4_000_000)  # before parallel errors are put together


def wait_of(cycles: int) -> float:
    """Wait after each of so many cycles, in us, for 60 us of storage."""
    return max(0.0, round(STORAGE_US / cycles - CYCLE_US, 3))


def chip_elements(layout: dict, medians: dict[str, float]) -> tuple[list[Element], np.ndarray, np.ndarray]:
    """Elements with mean and width of their prior."""
    role = {q["index"]: q["role"] for q in layout["qubits"]}
    at = {(q["row"], q["column"]): q["index"] for q in layout["qubits"]}
    data, measure = (tuple(q for q, r in role.items() if r == kind) for kind in ("data", "measure"))
    found: list[tuple[Element, float, float]] = []
    for kind, targets in (("gate2", [tuple(c) for c in layout["couplers"]]), ("readout", measure), ("idle", data)):
        p = medians[kind]
        found += [((kind, (t,)), p, max(WIDTH * p, PAIR_WIDTH)) for t in targets]
    # Their parts are too alike to be told from each other qubit by qubit: one rate for all.
    for kind, qubits in (("gate1", measure), ("reset", (*data, *measure)), ("readout", data)):
        found.append(((kind, qubits), medians[kind], medians[kind] / 2))
    for (row, column), q in at.items():
        for other in (at.get((row, column + 1)), at.get((row + 1, column))):
            if role[q] == "data" and other is not None:
                found += [(("pair", ((q, other, pauli),)), 0.0, PAIR_WIDTH) for pauli in "XZ"]
    return [e for e, _, _ in found], np.array([p for _, p, _ in found]), np.array([w for _, _, w in found])


def bounded_fit(matrix: np.ndarray, value: np.ndarray, prior: np.ndarray, width: np.ndarray) -> np.ndarray:
    """argmin over x >= 0 of |matrix x - value|^2 + |(x - prior) / width|^2; the many columns make an active-set method slow."""
    scaled = matrix * width
    normal, right = scaled.T @ scaled + np.eye(len(width)), scaled.T @ value + prior / width

    def target(y: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = normal @ y
        return float(y @ (gradient / 2 - right)), gradient - right

    limits = {"maxiter": 2000, "maxfun": 4000, "maxcor": 30, "ftol": 1e-13}
    return width * minimize(target, prior / width, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(width), options=limits).x


@dataclass
class ChipFit:
    """Left-hand sides of all memories of the whole chip. With a wait, an idling qubit errs by its rate per cycle and its rate per us."""

    elements: list[Element]
    prior: np.ndarray
    width: np.ndarray
    wait_prior: float
    rows: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    @property
    def idling(self) -> np.ndarray:
        return np.array([k for k, (kind, _) in enumerate(self.elements) if kind == "idle"])

    def add(self, design: Design, value: np.ndarray, error: np.ndarray, wait_us: float) -> None:
        matrix = np.hstack((design.matrix, wait_us * design.matrix[:, self.idling]))
        self.rows.append(matrix / error[:, None])
        self.values.append(value / error)

    def solve(self) -> Chip:
        n = len(self.idling)
        prior = np.concatenate((self.prior, np.full(n, self.wait_prior)))
        width = np.concatenate((self.width, np.full(n, self.wait_prior)))
        x = bounded_fit(np.vstack(self.rows), np.concatenate(self.values), prior, width)
        rates, waits = x[: len(self.elements)], x[len(self.elements) :]
        faint = np.array([kind == "pair" for kind, _ in self.elements]) & (rates < FAINT_PAIR)
        return Chip(self.elements, np.where(faint, 0.0, rates), self.idling, waits)


@dataclass
class Chip:
    """Fitted rates: of `elements`, and per us of wait of the idling ones."""

    elements: list[Element]
    rates: np.ndarray
    idling: np.ndarray
    waits: np.ndarray

    def at(self, wait_us: float) -> Rates:
        """Rates of a memory with this wait. Sums of depolarising rates are exact for t, not for probabilities."""
        p = self.rates.copy()
        p[self.idling] = 0.75 * (1 - np.exp(-4 / 3 * (p[self.idling] + wait_us * self.waits)))
        return Rates(self.elements, p)


@dataclass(frozen=True)
class Patch:
    row: int
    col: int
    rows: int
    cols: int

    @property
    def qubits(self) -> int:
        return 2 * self.rows * self.cols - 1

    def request(self, cycles: int) -> dict:
        return {"origin": [self.row, self.col], "rows": self.rows, "cols": self.cols, "rounds": cycles, "wait_us": wait_of(cycles)}


def patches(size: int, shapes: list[tuple[int, int]]) -> list[Patch]:
    return [Patch(r, c, *s) for s in shapes for r in range(size - s[0] + 1) for c in range(size - s[1] + 1)]


class Predictor:
    """Logical errors of storage by sampling the fitted chip. `circuit(patch, basis)` is the public text with `SCREEN_CYCLES` cycles."""

    def __init__(self, chip: Chip, circuit: Callable[[Patch, str], str]) -> None:
        self.chip, self._circuit = chip, circuit
        self._texts: dict[tuple[Patch, str], str] = {}

    def public(self, patch: Patch, basis: str, cycles: int) -> stim.Circuit:
        """The public circuit with another number of cycles: all but the first are one REPEAT block."""
        key = patch, basis
        if key not in self._texts:
            self._texts[key] = self._circuit(patch, basis)
        before, after = f"REPEAT {SCREEN_CYCLES - 1} {{", f"REPEAT {cycles - 1} {{"
        return stim.Circuit(self._texts[key].replace(before, after))

    def noisy(self, patch: Patch, basis: str, cycles: int) -> stim.Circuit:
        return dress(self.public(patch, basis, cycles), self.chip.at(wait_of(cycles)))

    def graph(self, patch: Patch, basis: str, cycles: int) -> MatchingGraph:
        """The decoder by the rule that the laboratory uses."""
        return read_graph(self.noisy(patch, basis, cycles).detector_error_model(decompose_errors=True), limits=LONG)

    def errors(self, patch: Patch, cycles: int, shots: int) -> np.ndarray:
        """Logical error in Z and X. The matching is pymatching's own: made in a tenth of the time, and as good to a few per cent."""
        found = []
        for basis in BASES:
            circuit = self.noisy(patch, basis, cycles)
            matching = pymatching.Matching.from_detector_error_model(circuit.detector_error_model(decompose_errors=True))
            sampler = circuit.compile_detector_sampler(seed=shots + cycles)
            detections, flips = sampler.sample(shots, bit_packed=True, separate_observables=True)
            predicted = matching.decode_batch(detections, bit_packed_shots=True, bit_packed_predictions=True)
            found.append(((predicted != flips).any(axis=1).sum() + 0.5) / (shots + 1))
        return np.array(found)


@dataclass
class Curve:
    """Logical error of a patch at `CYCLES`, `(2, n_cycles)`: a parabola through three logarithms, per basis."""

    patch: Patch
    error: np.ndarray

    @classmethod
    def sampled(cls, predictor: Predictor, patch: Patch, shots: int) -> Curve:
        y = np.log([predictor.errors(patch, n, shots) for n in CURVE_CYCLES])
        return cls(patch, np.exp([np.polyval(np.polyfit(np.log(CURVE_CYCLES), column, 2), np.log(CYCLES)) for column in y.T]))

    def at(self, cycles: int) -> np.ndarray:
        return self.error[:, cycles - CYCLES[0]]

    def fewest(self, limit: float) -> int | None:
        """Fewest cycles with an error below `limit` in both bases."""
        good = np.flatnonzero(self.error.max(axis=0) <= limit)
        return int(CYCLES[good[0]]) if good.size else None

    def corrected(self, factor: np.ndarray) -> Curve:
        """`factor` per basis."""
        return Curve(self.patch, self.error * factor[:, None])
