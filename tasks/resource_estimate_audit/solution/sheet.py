"""The 14 lines, each as a function of the data sheet and of earlier lines, and the difference between two reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Line = float | int | tuple[float, float]


def real_distance(error: float, pair: tuple[float, float]) -> float:
    return 2 * math.log(pair[0] / error) / math.log(pair[1]) - 1


def rules(spec: Mapping[str, Any], pair: tuple[float, float]) -> dict[str, Callable[[Mapping[str, Any]], Line]]:
    a, m = spec["algorithm"], spec["machine"]
    n, eps, rotations = a["qubits"], a["error_budget"], a["rotations"]
    return {
        "L1": lambda v: eps / (3 * rotations),
        "L2": lambda v: math.ceil(3.02 * math.log2(1 / v["L1"]) + 0.77),
        "L3": lambda v: a["t_gates"] + 4 * a["toffolis"] + rotations * v["L2"],
        "L4": lambda v: eps / (3 * v["L3"]),
        "L5": lambda v: 35 * m["injected_error"] ** 3,
        "L6": lambda v: 1 if v["L5"] <= v["L4"] else 2,
        "L7": lambda v: 2 * n + math.ceil(math.sqrt(8 * n)) + 1,
        "L8": lambda v: pair,
        "L9": lambda v: eps / (3 * v["L3"] * v["L7"]),
        "L10": lambda v: 2 * math.ceil((real_distance(v["L9"], v["L8"]) - 1) / 2) + 1,
        "L11": lambda v: max(v["L10"] * spec["cycle_us"], m["reaction_us"]),
        "L12": lambda v: math.ceil(6 * v["L10"] * spec["cycle_us"] * v["L6"] / (v["L11"] * m["acceptance"])),
        "L13": lambda v: 2 * v["L10"] ** 2 * (v["L7"] + 11 * v["L12"] * v["L6"]),
        "L14": lambda v: v["L3"] * v["L11"] / 1e6,
    }


def recomputed(spec: Mapping[str, Any], pair: tuple[float, float]) -> dict[str, Line]:
    """The whole sheet from the top."""
    values: dict[str, Line] = {}
    for name, rule in rules(spec, pair).items():
        values[name] = rule(values)
    return values


def from_printed(spec: Mapping[str, Any], printed: Mapping[str, Any]) -> dict[str, Line]:
    """Each line from the earlier lines as they are printed."""
    return {name: rule(printed) for name, rule in rules(spec, printed["L8"]).items()}


def differing(a: Mapping[str, Any], b: Mapping[str, Any], tolerance: float = 1e-3) -> list[str]:
    """Names of the lines in which two reports differ; the measured pair is left to its own test."""
    return [k for k in a if k != "L8" and abs(a[k] / b[k] - 1) > tolerance]
