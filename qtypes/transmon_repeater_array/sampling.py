"""Shots of the same model as `physics.py` and `protocol.py`: one Pauli frame per pair, drawn event by event."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtypes.transmon_repeater_array import physics
from qtypes.transmon_repeater_array.physics import ENDS, INNER
from qtypes.transmon_repeater_array.protocol import BELL_US, Setting, swap_wait_us

Bytes = NDArray[np.uint8]


def drawn(rng: np.random.Generator, vector: Any, shape: int | tuple[int, ...]) -> Bytes:
    """Errors from a vector."""
    edges = np.cumsum(np.asarray(vector, dtype=float))[:3]
    return np.searchsorted(edges, rng.random(shape), side="right").astype(np.uint8)


def flips(rng: np.random.Generator, p: float, shots: int) -> Bytes:
    """Bits that are 1 with probability p."""
    return (rng.random(shots) < p).astype(np.uint8)


def link_errors(rng: np.random.Generator, hidden: Any, link: int, times_us: list[float], shots: int) -> Bytes:
    """Errors of the pairs that a link makes at `times_us`, `(shots, pairs)`."""
    vector = hidden.links[link].vector()
    slow, out = drawn(rng, vector, shots), np.empty((shots, len(times_us)), dtype=np.uint8)
    for k, t in enumerate(times_us):
        if k:
            fresh = rng.random(shots) > np.exp(-(t - times_us[k - 1]) / hidden.correlation_us)
            slow = np.where(fresh, drawn(rng, vector, shots), slow)
        from_slow = rng.random(shots) < np.sqrt(hidden.shared)
        out[:, k] = np.where(from_slow, slow, drawn(rng, vector, shots))
    return out


def memory_errors(rng: np.random.Generator, hidden: Any, nodes: tuple[int, ...], time_us: float, shots: int) -> Bytes:
    """Dephasing of halves that wait at `nodes`."""
    out = np.zeros(shots, dtype=np.uint8)
    for n in nodes:
        out ^= 2 * flips(rng, -0.5 * np.expm1(-time_us / hidden.t2_us[n]), shots)
    return out


def end_to_end(rng: np.random.Generator, hidden: Any, setting: Setting, times_us: list[float], shots: int) -> Bytes:
    """Errors of end-to-end pairs, `(shots, pairs)`, when their Bell outcomes are known."""
    wait = swap_wait_us(setting.swap_order)
    out = np.zeros((shots, len(times_us)), dtype=np.uint8)
    for link in range(physics.N_LINKS):
        out ^= link_errors(rng, hidden, link, times_us, shots)
    for k in range(len(times_us)):
        for n in (*ENDS, *INNER, *INNER):
            out[:, k] ^= memory_errors(rng, hidden, (n,), wait[n], shots)
        for n in INNER:
            control, target = cnot_errors(rng, hidden.gate_error[n], shots)
            z = (control >> 1) ^ flips(rng, hidden.readout[n], shots)
            x = (target & 1) ^ flips(rng, hidden.readout[n], shots)
            out[:, k] ^= physics.inverse(setting.cliffords[n])[x | z << 1].astype(np.uint8)
    return out


def cnot_errors(rng: np.random.Generator, gate_error: float, shots: int) -> tuple[Bytes, Bytes]:
    """Errors on control and target of a CNOT: one of the 15 Paulis with probability `gate_error`."""
    which = np.where(rng.random(shots) < gate_error, rng.integers(1, 16, shots), 0).astype(np.uint8)
    return which & 3, which >> 2


def check(rng: np.random.Generator, hidden: Any, kept: Bytes, checked: Bytes) -> tuple[Bytes, Bytes]:
    """Error of the kept pair after a bilateral CNOT, and the parity of the check bits as read, both `(shots,)`."""
    shots = len(kept)
    after = kept ^ (checked & 2)
    parity = (checked ^ kept) & 1
    for n in ENDS:
        control, target = cnot_errors(rng, hidden.gate_error[n], shots)
        after = after ^ control
        parity = parity ^ (target & 1) ^ flips(rng, hidden.readout[n], shots)
    return after ^ memory_errors(rng, hidden, ENDS, BELL_US, shots), parity


def purified(rng: np.random.Generator, hidden: Any, setting: Setting, shots: int) -> tuple[Bytes, Bytes]:
    """Check parities `(shots, checks)` and error of the pair that is left `(shots,)`; checks in the order of `protocol.purified`."""
    turn = physics.image(setting.cliffords[0]).astype(np.uint8)
    raw = end_to_end(rng, hidden, setting, setting.times_us(), shots)
    left, parities = [], []
    for k in range(0, raw.shape[1], 2):
        early = raw[:, k] ^ memory_errors(rng, hidden, ENDS, setting.separation_us, shots)
        kept, parity = check(rng, hidden, turn[early], turn[raw[:, k + 1]])
        left.append(kept)
        parities.append(parity)
    if setting.rounds == 2:
        left[0] = left[0] ^ memory_errors(rng, hidden, ENDS, 2 * setting.separation_us, shots)
        left[0], parity = check(rng, hidden, turn[left[0]], turn[left[1]])
        parities.append(parity)
    return np.stack(parities, axis=1), left[0]


def read_pair(rng: np.random.Generator, errors: Bytes, basis: str, readout: tuple[float, float]) -> Bytes:
    """Bits `(shots, 2)` of |Phi+> with `errors`, both halves read in the axis of `basis`: equal for X and Z, unequal for Y without
    errors.
    """
    shots = len(errors)
    flipped = {"X": errors >> 1, "Y": (errors >> 1) ^ errors, "Z": errors}[basis[0]] & 1
    first = rng.integers(0, 2, shots, dtype=np.uint8)
    second = first ^ flipped ^ np.uint8(basis[0] == "Y")
    return np.stack([first ^ flips(rng, readout[0], shots), second ^ flips(rng, readout[1], shots)], axis=1).astype(np.uint8)
