"""Reference experimentalist for `memory_spacetime_race`.

1. Memories of the whole chip in both bases, without and with a wait: rates of all couplers, readouts, idling and waiting qubits, and of XX
   and ZZ errors on every pair of neighbours, by least squares with bounds on pairwise correlations of detection events.
2. The fitted chip predicts the logical error of every patch from 3 x 3 to 7 x 7 at one cadence, and of those that look cheapest at more.
3. The cheapest that should meet the limit is measured and decoded with the models that would be handed in. Predictions are corrected by
   what was seen, until nothing cheaper should meet the limit.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import stim
from memory_fit import Memory, design, observed
from storage import BASES, CYCLES, SCREEN_CYCLES, STORAGE_US, ChipFit, Curve, Patch, Predictor, chip_elements, patches, wait_of

import lab
from lab.conventions import decode, unpack_bits

LIMIT = 0.05
MAP_ROUNDS = 6
MAP_WAIT_US = 3.0
MAP_SHOTS = 50_000
SCREEN_SHOTS, CURVE_SHOTS, FINAL_SHOTS = 2_000, 4_000, 20_000
SHAPES = [(3, 3), (3, 5), (5, 3), (5, 5), (5, 7), (7, 5), (7, 7)]
LARGE_SHAPES = [(7, 9), (9, 7), (9, 9)]
SLOPE_CYCLES = 48
KEPT, KEPT_PER_SIZE = 8, 3
DOUBT = 1.3  # a patch that seems to need this many times the most cycles is looked at all the same
TARGET = 0.93  # of the limit: what is worth a measurement
ACCEPTED = 0.95  # of the limit: measurement and prediction together
SEEN_WEIGHT = 0.6
TRIES = 4
TRY_SHOTS = 40_000


def map_chip(dev: Any, size: int) -> tuple[ChipFit, list[str]]:
    """Measures the whole chip; equations for the rates of its elements, and the ids of the jobs."""
    layout = json.loads(dev.material("layout.json"))
    medians = json.loads(dev.material("datasheet.json"))["medians"]
    whole = {"rows": size, "cols": size, "rounds": MAP_ROUNDS}
    settings = [(b, wait) for b in BASES for wait in (0.0, MAP_WAIT_US)]
    jobs = [(b, wait, dev.submit("run_memory", **whole, basis=b, shots=MAP_SHOTS, wait_us=wait)) for b, wait in settings]
    elements, prior, width = chip_elements(layout, medians)
    fit = ChipFit(elements, prior, width, medians["wait"])
    plans = {}
    for basis, wait, job in jobs:
        circuit = stim.Circuit(dev.query("noiseless_circuit", memory={**whole, "basis": basis, "shots": 1})["circuit"])
        if basis not in plans:
            plans[basis] = design(Memory(circuit, MAP_ROUNDS), elements)
        record = job.result()
        packed, _ = circuit.compile_m2d_converter().convert(
            measurements=np.array(record["meas"]), separate_observables=True, bit_packed=True
        )
        fit.add(plans[basis], *observed(plans[basis], unpack_bits(packed, circuit.num_detectors)), wait)
    return fit, [job.job_id for _, _, job in jobs]


def screened(predictor: Predictor, size: int, shapes: list[tuple[int, int]]) -> list[tuple[float, float, Patch]]:
    """(volume, error at `SCREEN_CYCLES`, patch), cheapest first, where the error falls like a power of the cycles, one for each shape."""
    found = []
    for shape in shapes:
        errors = {patch: predictor.errors(patch, SCREEN_CYCLES, SCREEN_SHOTS).max() for patch in patches(size, [shape])}
        best = min(errors, key=lambda p: errors[p])
        few, many = (predictor.errors(best, n, CURVE_SHOTS).max() for n in (SCREEN_CYCLES, SLOPE_CYCLES))
        slope = max(np.log(few / many) / np.log(SLOPE_CYCLES / SCREEN_CYCLES), 0.05)
        for patch, error in errors.items():
            cycles = SCREEN_CYCLES * (error / LIMIT) ** (1 / slope)
            if cycles <= DOUBT * CYCLES[-1] or patch == best:
                found.append((patch.qubits * max(cycles, CYCLES[0]), error, patch))
    found.sort(key=lambda f: f[0])
    rank = {f: sum(g[2].qubits == f[2].qubits for g in found[:k]) for k, f in enumerate(found)}
    return [f for f in found if rank[f] < KEPT_PER_SIZE]


def promising(predictor: Predictor, size: int, shapes: list[tuple[int, int]]) -> list[Curve]:
    """Curves of the patches that look cheapest at one cadence, corrected by a longer look where they meet the limit."""
    curves = []
    for _, worse, patch in screened(predictor, size, shapes)[:KEPT]:
        curve = Curve.sampled(predictor, patch, CURVE_SHOTS)
        n = curve.fewest(TARGET * LIMIT)
        if n is not None:
            curve = curve.corrected(predictor.errors(patch, n, FINAL_SHOTS) / curve.at(n))
        print(f"{patch}: {worse:.4f} for {SCREEN_CYCLES} cycles, meets the limit with {curve.fewest(TARGET * LIMIT)}", flush=True)
        curves.append(curve)
    return curves


class Storage:
    """Candidates and their measurements."""

    def __init__(self, dev: Any, predictor: Predictor, curves: list[Curve]) -> None:
        self.dev, self.predictor, self.curves = dev, predictor, curves
        self.jobs: list[str] = []

    def measure(self, patch: Patch, n: int) -> np.ndarray:
        """Logical error in Z and X of `TRY_SHOTS` shots each with the models of the fitted chip."""
        jobs = [self.dev.submit("run_memory", **patch.request(n), basis=b, shots=TRY_SHOTS) for b in BASES]
        found = []
        for basis, job in zip(BASES, jobs, strict=True):
            record = job.result()
            self.jobs.append(job.job_id)
            converter = self.predictor.public(patch, basis, n).compile_m2d_converter()
            detections, flips = converter.convert(measurements=np.array(record["meas"]), separate_observables=True, bit_packed=True)
            found.append((decode(self.predictor.graph(patch, basis, n), detections) != flips).any(axis=1).mean())
        return np.array(found)

    def cheapest(self, tried: set[tuple[Patch, int]]) -> tuple[Patch, int]:
        """What should meet the limit and was not tried; the least error of all where nothing should."""
        found = [(c.patch.qubits * n, c.patch, n) for c in self.curves if (n := c.fewest(TARGET * LIMIT)) and (c.patch, n) not in tried]
        if found:
            return min(found, key=lambda f: f[0])[1:]
        c = min(self.curves, key=lambda c: c.error.max(axis=0).min())
        return c.patch, int(CYCLES[c.error.max(axis=0).argmin()])

    def choose(self) -> tuple[Patch, int]:
        """Measures, and corrects all curves by what was seen, until nothing cheaper should meet the limit."""
        tried: dict[tuple[Patch, int], float] = {}
        good: tuple[Patch, int] | None = None
        while len(tried) < TRIES:
            patch, n = self.cheapest(set(tried))
            if (patch, n) in tried or (good and patch.qubits * n >= good[0].qubits * good[1]):
                break
            predicted = next(c for c in self.curves if c.patch == patch).at(n)
            seen = self.measure(patch, n)
            together = SEEN_WEIGHT * seen + (1 - SEEN_WEIGHT) * predicted
            cost = f"{patch}, {n} cycles: {patch.qubits * n} qubit-cycles"
            print(f"{cost}, measured {seen.round(4)}, predicted {predicted.round(4)}", flush=True)
            tried[patch, n] = float(together.max())
            if together.max() <= ACCEPTED * LIMIT:
                good = patch, n
            own, all_of_them = together / predicted, np.full(2, np.sqrt((seen / predicted).mean()))
            self.curves = [c.corrected(own if c.patch == patch else all_of_them) for c in self.curves]
        return good or min(tried, key=lambda k: tried[k])


def main() -> None:
    with lab.connect() as dev:
        size = dev.spec()["spec"]["size"]
        fit, jobs = map_chip(dev, size)
        chip = fit.solve()
        pairs = [(e[1][0], p) for e, p in zip(chip.elements, chip.rates, strict=True) if e[0] == "pair" and p > 4e-3]
        print(f"{len(pairs)} pair errors above 0.004 per cycle; waiting errs by {np.median(chip.waits):.4f} per us", flush=True)

        def circuit(patch: Patch, basis: str) -> str:
            request = {**patch.request(SCREEN_CYCLES), "basis": basis, "shots": 1}
            return dev.query("noiseless_circuit", memory=request)["circuit"]

        predictor = Predictor(chip, circuit)
        curves = promising(predictor, size, SHAPES)
        if all(c.fewest(TARGET * LIMIT) is None for c in curves):
            curves += promising(predictor, size, LARGE_SHAPES)
        storage = Storage(dev, predictor, curves)
        patch, n = storage.choose()
        models = {b: str(predictor.graph(patch, b, n).model()) for b in BASES}
        request = patch.request(n)
        print(f"{n} cycles of {patch}, {n * (1.1 + wait_of(n)):.2f} of {STORAGE_US:g} us, {patch.qubits * n} qubit-cycles", flush=True)
        answer = {"origin": request["origin"], "rows": patch.rows, "cols": patch.cols, "cycles": n, "wait_us": request["wait_us"], **models}
        dev.submit_answer({**answer, "jobs": [*jobs, *storage.jobs]})
        print("answer submitted", flush=True)


if __name__ == "__main__":
    main()
