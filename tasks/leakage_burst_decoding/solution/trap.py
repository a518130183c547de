"""The shortcut: retrain one model on the latest 150 000 shots and use it for all, as the notebook advises."""

from __future__ import annotations

import json

import numpy as np
import stim
from memory_fit import Memory, Rates, design, dress, fit, observed
from reference import elements_of

import lab
from lab.conventions import unpack_bits

ROUNDS = 20
SHOTS = 60_000
PAUSE_S = 600


def main() -> None:
    with lab.connect() as dev:
        layout = json.loads(dev.material("layout.json"))
        medians = json.loads(dev.material("datasheet.json"))["medians"]
        circuit = stim.Circuit(dev.material(f"memory_d5_Z_r{ROUNDS}.stim"))
        converter = circuit.compile_m2d_converter()
        elements, prior, width = elements_of(layout, medians)
        plan = design(Memory(circuit, ROUNDS), elements)
        values, errors = [], []
        for k in range(3):
            request = {"rows": 5, "cols": 5, "basis": "Z", "rounds": ROUNDS, "shots": SHOTS, "delay_s": PAUSE_S if k else 0}
            record = dev.run("run_memory", **request)
            packed, _ = converter.convert(measurements=np.array(record["meas"]), separate_observables=True, bit_packed=True)
            value, error = observed(plan, unpack_bits(packed, circuit.num_detectors))
            values.append(value)
            errors.append(error)
        rates = Rates(elements, fit([plan.matrix] * 3, values, errors, prior, width))
        dem = str(dress(circuit, rates).detector_error_model(decompose_errors=True))
        gate: dict = {"models": [], "weights": [], "bias": []}
        dev.submit_answer({"models": [{"name": "average", "dem": dem}], "gate": gate, "default": "average"})
        print("answer submitted", flush=True)


if __name__ == "__main__":
    main()
