"""What each admissible gate does to Pauli operators, from stim's own tables, and what it costs by that action."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import stim

ONE_QUBIT = (
    "I", "X", "Y", "Z", "H", "H_XY", "H_YZ", "H_NXY", "H_NXZ", "H_NYZ", "S", "S_DAG", "SQRT_X", "SQRT_X_DAG", "SQRT_Y", "SQRT_Y_DAG",
    "C_XYZ", "C_NXYZ", "C_XNYZ", "C_XYNZ", "C_ZYX", "C_NZYX", "C_ZNYX", "C_ZYNX",
)  # fmt: skip
"""All 24 one-qubit Clifford gates by stim's canonical names."""

TWO_QUBIT = (
    "CX", "CY", "CZ", "XCX", "XCY", "XCZ", "YCX", "YCY", "YCZ", "SQRT_XX", "SQRT_XX_DAG", "SQRT_YY", "SQRT_YY_DAG",
    "SQRT_ZZ", "SQRT_ZZ_DAG",
    "SWAP", "ISWAP", "ISWAP_DAG", "CXSWAP", "SWAPCX", "CZSWAP",
)  # fmt: skip
"""Two-qubit Clifford gates by stim's canonical names; aliases such as CNOT, ZCX, SWAPCZ are read as these."""


@dataclass(frozen=True)
class Action:
    """Conjugation by a gate on its qubits, signs left out. `images[s]` is the image of slot s, slots are X_0, Z_0, X_1, Z_1, as a mask of
    slots. `changes` lists the slots that change and the slots they become. `cost`: CX gates needed for it with free one-qubit gates."""

    images: tuple[int, ...]
    changes: tuple[tuple[int, tuple[int, ...]], ...]
    cost: int


def _mask(pauli: stim.PauliString) -> int:
    return sum({0: 0, 1: 1, 2: 3, 3: 2}[p] << 2 * q for q, p in enumerate(pauli))


@cache
def action(name: str) -> Action:
    """The action of an admissible gate."""
    tableau = stim.gate_data(name).tableau
    images = tuple(_mask(part(q)) for q in range(len(tableau)) for part in (tableau.x_output, tableau.z_output))
    changes = tuple((s, tuple(b for b in range(4) if image >> b & 1)) for s, image in enumerate(images) if image != 1 << s)
    if len(tableau) == 1:
        return Action(images, changes, 0)
    own, other = (_rank([images[s] >> shift & 3 for s in (0, 1)]) for shift in (0, 2))
    return Action(images, changes, other if other < 2 or own else 3)


def _rank(rows: list[int]) -> int:
    return 2 if 0 not in rows and rows[0] != rows[1] else int(any(rows))


@cache
def inverse_of(name: str) -> str:
    """The name of the inverse gate with the same order of qubits; every admissible gate has one."""
    return stim.gate_data(name).inverse.name


SYMMETRIC = frozenset({"CZ", "XCX", "YCY", "SQRT_XX", "SQRT_XX_DAG", "SQRT_YY", "SQRT_YY_DAG", "SQRT_ZZ", "SQRT_ZZ_DAG", "SWAP", "ISWAP",
                       "ISWAP_DAG", "CZSWAP"})  # fmt: skip
"""Two-qubit gates whose qubits may be exchanged."""

_PRODUCTS: dict[tuple[str, str], str] = {}


def product_of(first: str, second: str) -> str:
    """The one-qubit gate that does `first`, then `second`."""
    if not _PRODUCTS:
        tableaus = {name: stim.gate_data(name).tableau for name in ONE_QUBIT}
        names = {str(t): name for name, t in tableaus.items()}
        _PRODUCTS.update({(a, b): names[str(ta.then(tb))] for a, ta in tableaus.items() for b, tb in tableaus.items()})
    return _PRODUCTS[first, second]
