"""Public files: layout, datasheet, the decoding rule, and the noiseless circuits of the memories that are graded."""

from __future__ import annotations

import json

from qtypes.contract import Material
from qtypes.rydberg_multitarget_surface_code import circuits
from qtypes.rydberg_multitarget_surface_code import layout as lay
from qtypes.rydberg_multitarget_surface_code.device import Spec

STANDARD_ROUNDS = 8
NOISE_MODEL = {
    "hadamard_error": "after each H: DEPOLARIZE1 on the atom",
    "pulse_ancilla_error": "at TICK[pulse_...]: DEPOLARIZE1 on the ancilla of every plaquette that was pulsed just before",
    "pulse_single_target_error": "at TICK[pulse_...]: Z_ERROR on every target of the pulse",
    "pulse_total_error_2, pulse_total_error_4": "probability that a pulse leaves any error on its two or four targets, errors of single "
    "targets included; in the frame of the pulse these errors are of type Z. How they are distributed over the targets is not specified",
    "readout_error": "M and MX: the result is flipped with this probability",
    "reset_error": "after R: X_ERROR; after RX: Z_ERROR",
    "idle_t2_s": "at I[idle]: Z_ERROR((1 - exp(-cycle_time / T2)) / 2) on every data atom",
}


def layout_json() -> str:
    """Atoms by index, plaquettes with their targets in order, pulse groups."""
    content = {
        "atoms": [
            {"index": i, "row": s[0], "column": s[1], "role": "data" if s in lay.DATA else "ancilla"} for i, s in enumerate(lay.SITES)
        ],
        "plaquettes": [{"ancilla": a, "basis": lay.PLAQUETTES[a].basis, "targets": lay.TARGETS[a]} for a in lay.ANCILLAS],
        "pulse_groups": lay.GROUPS,
        "Z_L": "Z on any data column",
        "X_L": "X on any data row",
    }
    return json.dumps(content, separators=(",", ":"))


def materials(spec: Spec) -> tuple[Material, ...]:
    datasheet = {
        "medians": spec.datasheet.model_dump(), "noise_model": NOISE_MODEL, "cycle_time_us": spec.cycle_time_us,
        "note": "medians over the array; single elements differ",
    }  # fmt: skip
    text = json.dumps(datasheet, indent=1)
    return (
        Material("layout.json", "atom positions, plaquettes with their targets, pulse groups", layout_json(), "application/json"),
        Material("datasheet.json", "medians of the maker and the noise model they belong to", text, "application/json"),
        Material("canon.txt", "the rule from a detector error model to the decoder", spec.decoder),
        *(
            Material(
                f"memory_{b}_r{STANDARD_ROUNDS}.stim", f"noiseless circuit of run_memory, basis {b}, {STANDARD_ROUNDS} rounds",
                circuits.memory(b, STANDARD_ROUNDS).text,
            )
            for b in ("Z", "X")
        ),
    )  # fmt: skip
