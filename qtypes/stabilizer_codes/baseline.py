"""Baseline circuits: the full unitary of a completed tableau by Gaussian elimination, as in the publication.

The listed generators are completed to a tableau (Aaronson and Gottesman 2004) by stim, and the whole Clifford operation, not only its
action on
|0...0>, is written as H, S and CX. It is far from the best: many CX have a control in |0>. The digest of each baseline belongs to the
version of the codes (`baselines.json`), so that a library that writes other circuits is noticed.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import stim

from qtypes.errors import TaskError
from qtypes.stabilizer_codes import codes
from qtypes.stabilizer_codes.circuits import Circuit, parse
from qtypes.stabilizer_codes.codes import Code

FILE = Path(__file__).with_name("baselines.json")


def synthesise(generators: tuple[str, ...]) -> str:
    """Stim text of a circuit from |0...0> into the joint +1 eigenspace of `generators`; the rest of the state is what elimination
    leaves."""
    tableau = stim.Tableau.from_stabilizers([stim.PauliString(g) for g in generators], allow_redundant=True, allow_underconstrained=True)
    return str(tableau.to_circuit("elimination")) + "\n"


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """For each listed and extended code: `sha256`, the first 16 hexadecimal digits of that of its baseline, and `faults`, what
    `oracles.sweep` counts on it (written by `certify.py`)."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def text_of(code: Code) -> str:
    """The baseline of a code as stim text; :class:`TaskError` where it is not the one of this version."""
    text = _text(code.generators)
    if code.collection != "drawn" and recorded().get(code.id, {}).get("sha256") != digest(text):
        raise TaskError(f"the baseline of {code.id} is not that of {codes.VERSION}: stim {stim.__version__} writes another circuit")
    return text


@cache
def _text(generators: tuple[str, ...]) -> str:
    return synthesise(generators)


@cache
def _circuit(generators: tuple[str, ...]) -> Circuit:
    return parse(_text(generators), len(generators[0]))


def circuit_of(code: Code) -> Circuit:
    """The same, parsed."""
    text_of(code)
    return _circuit(code.generators)

