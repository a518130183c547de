"""What graders of the qtype `digital_gate_model` share: the circuits of cited jobs with their bits, and what a circuit means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graders.kit.session import Job

TOOL = "run_circuits"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """One program of a job. `bits`: uint8 `(twirl, shot, bit)`, entry i of the last axis is c[i]."""

    job: Job
    circuit: Any
    """The program as `qtypes.digital_gate_model.qasm.Circuit`."""
    bits: NDArray[np.uint8]
    twirled: bool
    """Whether the laboratory twirled it."""

    @property
    def shots(self) -> int:
        return int(self.bits.shape[0] * self.bits.shape[1])

    def reads(self, qubits: tuple[int, ...]) -> bool:
        """Whether all `qubits` are measured."""
        return set(qubits) <= set(self.circuit.measured)

    def strings(self, qubits: tuple[int, ...]) -> NDArray[np.int64]:
        """Assigned strings `(twirl, shot)`: bit k is that of `qubits[k]`, wherever the program puts it."""
        columns = [self.circuit.measured.index(q) for q in qubits]
        return np.asarray(self.bits[..., columns].astype(np.int64) @ (1 << np.arange(len(qubits))))


def runs(jobs: Iterable[Job]) -> list[Run]:
    """All programs of `run_circuits` jobs in order."""
    out = []
    for job in jobs:
        bits = job.arrays()["bits"]
        request: Any = job.request
        out += [Run(job, c, b, request.pauli_twirl > 0) for c, b in zip(request.programs(), bits, strict=True)]
    return out


def meaning(circuit: Any, boxes: tuple[tuple[float, ...], ...]) -> Floats:
    """Noiseless probabilities of all strings of the device `(64,)`, little-endian, for given angles of the opaque routines."""
    from qtypes.digital_gate_model import compiling, physics
    from qtypes.digital_gate_model.device import BOX_QUBITS, COUPLERS, N_QUBITS

    model = physics.NoiseModel.ideal(N_QUBITS, COUPLERS, boxes)
    tensor = physics.evolve(model, compiling.plain(circuit), circuit.touched, BOX_QUBITS)
    return np.asarray(physics.populations(model, tensor, circuit.touched, 0.0)[0])


@lru_cache(maxsize=4096)
def prepared(circuit: Any) -> int | None:
    """The basis state of the device that a program without routines and CZ gates prepares, None where it prepares another state."""
    if circuit.count("box") or circuit.count("cz"):
        return None
    p = meaning(circuit, ((0.0,) * 6,) * 2)
    best = int(p.argmax())
    return best if p[best] > 1.0 - 1e-6 else None


def restricted(string: int, qubits: tuple[int, ...]) -> int:
    """The bits of `qubits` in a string of the device, as a string of their own."""
    return sum((string >> q & 1) << k for k, q in enumerate(qubits))


def histogram(strings: NDArray[np.int64], n: int) -> Floats:
    """Relative frequencies `(2^n,)` of strings."""
    return np.bincount(strings.ravel(), minlength=2**n) / max(1, strings.size)
