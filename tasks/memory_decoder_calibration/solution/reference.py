"""Reference experimentalist for `memory_decoder_calibration`.

1. 100 000 shots per basis.
2. Pairwise correlations of detection events, linear in the rates of all elements: 80 couplers, 24 readouts, 25 idling qubits, and for every
   pair of neighbouring data qubits an XX and a ZZ error, which no datasheet lists but nothing forbids.
3. Nonnegative least squares with the datasheet as a weak prior; both bases together, they share their elements.
4. The public circuits with the fitted rates give the models; a held-out part tells whether they beat the datasheet.
"""

from __future__ import annotations

import json

import numpy as np
import stim
from memory_fit import Design, Element, Memory, Rates, design, dress, fit, observed

import lab
from lab.conventions import decode, pack_bits, read_graph, unpack_bits

ROUNDS = 12
SHOTS = 100_000
HELD_OUT = 1 / 5
PAIR_WIDTH = 2e-3
FAINT_PAIR = 5e-4  # weaker pair errors are noise of the fit
PRIOR_WIDTH = 1.5  # expected spread of a rate around its datasheet value, relative


def all_elements(layout: dict, medians: dict[str, float]) -> tuple[list[Element], np.ndarray, np.ndarray]:
    """Elements with mean and width of their prior."""
    role = {q["index"]: q["role"] for q in layout["qubits"]}
    at = {(q["row"], q["column"]): q["index"] for q in layout["qubits"]}
    data, measure = (tuple(q for q, r in role.items() if r == kind) for kind in ("data", "measure"))
    found: list[tuple[Element, float, float]] = []

    def add(kind: str, target: int | tuple, p: float) -> None:
        found.append(((kind, (target,)), p, max(PRIOR_WIDTH * p, PAIR_WIDTH)))

    for a, b in layout["couplers"]:
        add("gate2", (a, b), medians["gate2"])
    for q in measure:
        add("readout", q, medians["readout"])
    for q in data:
        add("idle", q, medians["idle"])
    # Their parts are too alike to be told from each other qubit by qubit: one rate for all.
    for kind, qubits in (("gate1", measure), ("reset", (*data, *measure)), ("readout", data)):
        found.append(((kind, qubits), medians[kind], medians[kind] / 2))
    for (row, column), q in at.items():
        if role[q] == "data":
            for step in ((0, 1), (1, 0)):
                other = at.get((row + step[0], column + step[1]))
                if other is not None:
                    for pauli in "XZ":
                        add("pair", (q, other, pauli), 0.0)
    return [e for e, _, _ in found], np.array([p for _, p, _ in found]), np.array([w for _, _, w in found])


def model(circuit: stim.Circuit, rates: Rates) -> str:
    return str(dress(circuit, rates).detector_error_model(decompose_errors=True))


def logical_error(dem: str, detections: np.ndarray, flips: np.ndarray) -> float:
    predicted = unpack_bits(decode(read_graph(dem), pack_bits(detections)), flips.shape[1])
    return float((predicted != flips).any(axis=1).mean())


def main() -> None:
    with lab.connect() as dev:
        layout = json.loads(dev.material("layout.json"))
        medians = json.loads(dev.material("datasheet.json"))["medians"]
        elements, prior, width = all_elements(layout, medians)
        d = dev.spec()["spec"]["size"]
        jobs = {b: dev.submit("run_memory", rows=d, cols=d, basis=b, rounds=ROUNDS, shots=SHOTS) for b in ("Z", "X")}
        circuits, designs, held, evidence = {}, [], {}, []
        values, errors = [], []
        for basis, job in jobs.items():
            circuit = stim.Circuit(dev.material(f"memory_d{d}_{basis}_r{ROUNDS}.stim"))
            plan: Design = design(Memory(circuit, ROUNDS), elements)
            record = job.result()
            evidence.append(record.job_id)
            converter = circuit.compile_m2d_converter()
            packed, flips = converter.convert(measurements=np.array(record["meas"]), separate_observables=True, bit_packed=True)
            detections, flips = unpack_bits(packed, circuit.num_detectors), unpack_bits(flips, circuit.num_observables)
            cut = int(SHOTS * (1 - HELD_OUT))
            left, error = observed(plan, detections[:cut])
            circuits[basis], held[basis] = circuit, (detections[cut:], flips[cut:])
            designs.append(plan.matrix)
            values.append(left)
            errors.append(error)
        rates = fit(designs, values, errors, prior, width)
        faint = np.array([kind == "pair" for kind, _ in elements]) & (rates < FAINT_PAIR)
        fitted, datasheet = Rates(elements, np.where(faint, 0.0, rates)), Rates(elements, prior)
        for (a, b, pauli), p in fitted.table["pair"].items():
            print(f"pair error {pauli}{pauli} on qubits {a}, {b}: {p:.4f} per cycle", flush=True)
        models = {b: model(c, fitted) for b, c in circuits.items()}
        for basis, circuit in circuits.items():
            now, before = (logical_error(m, *held[basis]) for m in (models[basis], model(circuit, datasheet)))
            print(f"basis {basis}: held-out failures {now:.4f} per shot with the fit, {before:.4f} with the datasheet", flush=True)
        dev.submit_answer({**models, "jobs": evidence})
        print("answer submitted", flush=True)


if __name__ == "__main__":
    main()
