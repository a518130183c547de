"""Public files: layout, datasheet, the decoding rule, and the noiseless circuits of a standard patch."""

from __future__ import annotations

import json

from qtypes.contract import Material
from qtypes.kit.rotated_code import plaquettes
from qtypes.surface_code_memory.device import Profile, Spec
from qtypes.surface_code_memory.layout import layout, program

STANDARD_ROUNDS = (12, 20)
NOISE_MODEL = {
    "gate1": "after each H: DEPOLARIZE1 on the qubit",
    "gate2": "after each CX: DEPOLARIZE2 on the pair",
    "readout": "M and MX: the result is flipped with this probability",
    "reset": "after R: X_ERROR; after RX: Z_ERROR",
    "idle": "at I[idle]: DEPOLARIZE1 on the data qubit, once per cycle",
    "wait": "rate r per us: waiting t us after a cycle is DEPOLARIZE1(0.75 (1 - exp(-4 r t / 3))) on the data qubit, in a row with idle",
}


def layout_json(size: int) -> str:
    """Qubits by index, couplers, and the plaquettes of the patch that fills the chip."""
    chip = layout(size)
    data = set(chip.data)
    content = {
        "qubits": [
            {"index": i, "row": r, "column": c, "role": "data" if i in data else "measure"} for i, (r, c) in enumerate(chip.sites)
        ],
        "couplers": [list(c) for c in chip.couplers],
        "full_patch_checks": [
            {"measure": chip.index[a], "basis": p.basis, "data": [chip.index[d] for d in p.data]}
            for a, p in plaquettes(0, 0, size, size).items()
        ],
        "patches": "any odd rectangle of data sites; a plaquette is X where row + column of its north-west corner is even, else Z; weight-2"
                   " Z plaquettes on the top and bottom edges, weight-2 X plaquettes on the left and right; Z_L on a column, X_L on a row",
        "cx_layers": {"X": ["NW", "SW", "NE", "SE"], "Z": ["NW", "NE", "SW", "SE"]},
    }  # fmt: skip
    return json.dumps(content, separators=(",", ":"))


def materials(spec: Spec, profile: Profile) -> tuple[Material, ...]:
    datasheet = {
        "medians": spec.datasheet.model_dump(), "noise_model": NOISE_MODEL, "cycle_time_us": spec.cycle_time_us,
        "note": "medians over the chip; single elements differ",
    }  # fmt: skip
    d = 5
    circuits = tuple(
        Material(
            f"memory_d{d}_{basis}_r{rounds}.stim",
            f"noiseless circuit of run_memory, {d} x {d} data at (0, 0), basis {basis}, {rounds} rounds",
            program(spec.size, 0, 0, d, d, basis, rounds).text,
        )
        for basis in ("Z", "X") for rounds in STANDARD_ROUNDS
    )  # fmt: skip
    return (
        Material("layout.json", "qubit coordinates, couplers, plaquettes and CX order", layout_json(spec.size), "application/json"),
        Material("datasheet.json", "median error probabilities and their noise model", json.dumps(datasheet, indent=1), "application/json"),
        Material("canon.txt", "the rule from a detector error model to the decoder", spec.decoder),
        *circuits,
    )
