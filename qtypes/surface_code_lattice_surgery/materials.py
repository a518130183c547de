"""Public files: layout, datasheet, the decoding rule, and the noiseless circuits of standard requests."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from qtypes.contract import Material
from qtypes.kit.rotated_code import Plaquette, Site
from qtypes.surface_code_lattice_surgery import circuits
from qtypes.surface_code_lattice_surgery import layout as lay
from qtypes.surface_code_lattice_surgery.device import Spec

STANDARD_ROUNDS = 10
NOISE_MODEL = {
    "gate1": "after each H: DEPOLARIZE1 on the qubit",
    "gate2": "after each CX: DEPOLARIZE2 on the pair",
    "readout": "M and MX: the result is flipped with this probability",
    "reset": "after R: X_ERROR; after RX: Z_ERROR",
    "idle": "at I[idle]: DEPOLARIZE1 on the data qubit",
    "preparation": "X, Z that set the sign of a logical preparation are frame updates without error",
}


def _check(p: Plaquette) -> dict[str, Any]:
    return {"measure": lay.INDEX[p.site], "basis": p.basis, "data": lay.index(p.data)}


def _checks(group: dict[Site, Plaquette]) -> list[dict[str, Any]]:
    return [_check(p) for p in group.values()]


def layout_json() -> str:
    """Qubits by index, couplers, patches and seams."""
    def role(site: Site) -> str:
        return "data" if lay.is_data(site) else "measure"

    content = {
        "qubits": [{"index": i, "row": s[0], "column": s[1], "role": role(s)} for i, s in enumerate(lay.SITES)],
        "couplers": [list(c) for c in lay.COUPLERS],
        "patches": {
            p: {
                "distance": lay.DISTANCE[p], "data": lay.index(lay.DATA[p]), "checks": _checks(lay.CHECKS[p]),
                "Z_L": "Z on any data column", "X_L": "X on any data row",
            }
            for p in lay.PATCHES
        },
        "seams": {
            s: {
                "joins": list(lay.MERGED_PATCHES[s]), "data": lay.index(lay.SEAM_DATA[s]), "data_basis": lay.SEAM_BASIS[s],
                "new_measure": lay.index(lay.SEAM_CHECKS[s]), "merged_checks": _checks(lay.MERGED_CHECKS[s]),
            }
            for s in lay.SEAMS
        },
        "cx_layers": {"X": ["NW", "SW", "NE", "SE"], "Z": ["NW", "NE", "SW", "SE"]},
    }  # fmt: skip
    return json.dumps(content, separators=(",", ":"))


@lru_cache(maxsize=1)
def _circuits() -> tuple[Material, ...]:
    found = []
    for patch in lay.PATCHES:
        for basis in ("Z", "X"):
            name = f"memory_{patch}_{basis}_r{STANDARD_ROUNDS}.stim"
            text = circuits.memory(patch, basis, STANDARD_ROUNDS).text
            found.append(Material(name, f"noiseless circuit of run_memory, patch {patch}, basis {basis}, {STANDARD_ROUNDS} rounds", text))
    for seam in lay.SEAMS:
        for basis in ("Z", "X"):
            name, text = f"merge_{seam}_{basis}_k3.stim", circuits.merge(seam, 3, basis).text
            found.append(Material(name, f"noiseless circuit of run_merge, seam {seam}, boundary basis {basis}, 3 merged rounds", text))
    for config in circuits.CONFIGS:
        for inputs in circuits.TEST_INPUTS[config]:
            name, text = f"cnot_{config}_{inputs[0]}{inputs[1]}.stim", circuits.cnot(config, inputs).text
            found.append(Material(name, f"noiseless circuit of run_cnot, configuration {config}, inputs {inputs[0]}, {inputs[1]}", text))
    return tuple(found)


def materials(spec: Spec) -> tuple[Material, ...]:
    datasheet = {
        "medians": spec.datasheet.model_dump(), "noise_model": NOISE_MODEL, "cycle_time_us": spec.cycle_time_us,
        "note": "medians over the chip; single elements differ",
    }  # fmt: skip
    return (
        Material("layout.json", "qubit coordinates, couplers, patches, seams and CX order", layout_json(), "application/json"),
        Material("datasheet.json", "median error probabilities and their noise model", json.dumps(datasheet, indent=1), "application/json"),
        Material("canon.txt", "the rule from a detector error model to the decoder", spec.decoder),
        *_circuits(),
    )
