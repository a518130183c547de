"""Surface-code circuits with stim: writing them, dressing them with Pauli noise, sampling them.

The noiseless circuit is public and carries tags where noise that is not tied to a gate may act: `I[idle] q...` where data qubits wait for
readout and reset, and `TICK[name]` markers that a hidden model may hook into. A hidden noisy copy is made from it by
:meth:`Program.dress`, which inserts noise only: the order of measurements, detectors and observables is that of the public circuit.
Measurement bits are uint8 of shape `(n_shots, ceil(n_measurements / 8))`, packed little-endian, as stim's samplers give them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import stim

VIRTUAL = 200
"""First index of virtual qubits: they carry time-correlated events in a dressed circuit and are never measured."""

Rates = Mapping[int, float] | Sequence[float]


@dataclass(frozen=True)
class PauliNoise:
    """Stochastic Pauli noise per element; every number is a probability per operation.

    `gate1[q]`: depolarising after each H. `gate2[(a, b)]` with a < b: two-qubit depolarising after each CX. `readout[q]`: flip of a
    measurement result. `reset[q]`: flip of a reset (X after R, Z after RX). `idle[q]`: depolarising at each `I[idle]`.
    """

    gate1: Rates
    gate2: Mapping[tuple[int, int], float]
    readout: Rates
    reset: Rates
    idle: Rates


class CircuitWriter:
    """Writes a noiseless circuit as text and keeps track of measurement records by their absolute index."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.n_measurements = 0

    def coordinates(self, sites: Iterable[tuple[int, tuple[float, ...]]]) -> None:
        """QUBIT_COORDS of `(qubit, coordinates)`."""
        self._lines += [f"QUBIT_COORDS({', '.join(f'{x:g}' for x in xs)}) {q}" for q, xs in sites]

    def gate(self, name: str, qubits: Iterable[int], tag: str = "") -> None:
        """An instruction without measurement; no line where there is no qubit, except for TICK."""
        targets = " ".join(map(str, qubits))
        if targets or name == "TICK":
            self._lines.append(f"{name}{f'[{tag}]' if tag else ''}{' ' if targets else ''}{targets}")

    def measure(self, name: str, qubits: Sequence[int]) -> dict[int, int]:
        """Measure `qubits` in order; returns the record index of each."""
        if qubits:
            self._lines.append(f"{name} {' '.join(map(str, qubits))}")
        first = self.n_measurements
        self.n_measurements += len(qubits)
        return {q: first + i for i, q in enumerate(qubits)}

    def _rec(self, records: Iterable[int]) -> str:
        return " ".join(f"rec[{r - self.n_measurements}]" for r in records)

    def detector(self, records: Iterable[int], coordinates: Sequence[float]) -> None:
        self._lines.append(f"DETECTOR({', '.join(f'{x:g}' for x in coordinates)}) {self._rec(records)}")

    def observable(self, index: int, records: Iterable[int]) -> None:
        self._lines.append(f"OBSERVABLE_INCLUDE({index}) {self._rec(records)}")

    def next_cycle(self) -> None:
        """Move the time coordinate (the third one) of later detectors by one."""
        self._lines.append("SHIFT_COORDS(0, 0, 1)")

    @contextmanager
    def repeat(self, count: int) -> Iterator[Callable[[int], int]]:
        """A REPEAT block. The value moves a record index of the written body to the last repetition; use it after the block."""
        outer, start = self._lines, self.n_measurements
        self._lines = []
        shift = 0

        def last(record: int) -> int:
            return record + shift

        yield last
        body, self._lines = self._lines, outer
        shift = (count - 1) * (self.n_measurements - start)
        self.n_measurements += shift
        self._lines += [f"REPEAT {count} {{", *("    " + line for line in body), "}"]

    def program(self) -> Program:
        return Program("\n".join(self._lines) + "\n")


@dataclass(frozen=True)
class _Step:
    """A digested instruction: its kind decides which noise belongs to it."""

    kind: str
    text: str
    name: str = ""
    tag: str = ""
    qubits: tuple[int, ...] = ()
    count: int = 0
    body: tuple[_Step, ...] = ()


_KINDS = {"H": "gate1", "CX": "gate2", "R": "reset", "RX": "reset", "M": "measure", "MX": "measure"}


def _digest(circuit: stim.Circuit) -> tuple[_Step, ...]:
    steps = []
    for item in circuit:
        if isinstance(item, stim.CircuitRepeatBlock):
            steps.append(_Step("repeat", "", count=item.repeat_count, body=_digest(item.body_copy())))
            continue
        kind = _KINDS.get(item.name, "plain")
        if item.name == "I" and item.tag == "idle":
            kind = "idle"
        elif item.name == "TICK" and item.tag:
            kind = "marker"
        qubits = () if kind in ("plain", "marker") else tuple(t.value for t in item.targets_copy())
        steps.append(_Step(kind, str(item), item.name, item.tag, qubits))
    return tuple(steps)


Marker = Callable[[str], Iterable[str]]


def _dressed(steps: tuple[_Step, ...], noise: PauliNoise, marker: Marker | None, out: list[str]) -> None:
    for s in steps:
        match s.kind:
            case "repeat":
                out.append(f"REPEAT {s.count} {{")
                _dressed(s.body, noise, marker, out)
                out.append("}")
            case "gate2":
                out.append(s.text)
                pairs = zip(s.qubits[::2], s.qubits[1::2], strict=True)
                out.extend(f"DEPOLARIZE2({noise.gate2[min(a, b), max(a, b)]!r}) {a} {b}" for a, b in pairs)
            case "gate1":
                out.append(s.text)
                out.extend(f"DEPOLARIZE1({noise.gate1[q]!r}) {q}" for q in s.qubits)
            case "idle":
                out.extend(f"DEPOLARIZE1({noise.idle[q]!r}) {q}" for q in s.qubits)
            case "reset":
                out.append(s.text)
                flip = "X_ERROR" if s.name == "R" else "Z_ERROR"
                out.extend(f"{flip}({noise.reset[q]!r}) {q}" for q in s.qubits)
            case "measure":
                out.extend(f"{s.name}({noise.readout[q]!r}) {q}" for q in s.qubits)
            case "marker":
                out.append(s.text)
                if marker is not None:
                    out.extend(marker(s.tag))
            case _:
                out.append(s.text)


def _unrolled(steps: tuple[_Step, ...]) -> Iterator[_Step]:
    for s in steps:
        if s.kind == "repeat":
            for _ in range(s.count):
                yield from _unrolled(s.body)
        else:
            yield s


@dataclass(frozen=True)
class Program:
    """A noiseless circuit. Keep it (it digests itself once) and dress it for each device."""

    text: str

    @cached_property
    def circuit(self) -> stim.Circuit:
        return stim.Circuit(self.text)

    @cached_property
    def _steps(self) -> tuple[_Step, ...]:
        return _digest(self.circuit)

    @cached_property
    def n_measurements(self) -> int:
        return self.circuit.num_measurements

    @cached_property
    def n_detectors(self) -> int:
        return self.circuit.num_detectors

    @cached_property
    def n_observables(self) -> int:
        return self.circuit.num_observables

    @cached_property
    def _converter(self) -> stim.CompiledMeasurementsToDetectionEventsConverter:
        return self.circuit.compile_m2d_converter()

    def dress(self, noise: PauliNoise, marker: Marker | None = None) -> stim.Circuit:
        """The noisy copy. `marker(tag)` gives the lines that follow a tagged TICK; they may use virtual qubits but never measure."""
        out: list[str] = []
        _dressed(self._steps, noise, marker, out)
        return stim.Circuit("\n".join(out))

    def dress_cycles(self, noise: Callable[[int], tuple[PauliNoise, Marker | None]]) -> stim.Circuit:
        """The noisy copy where noise changes from cycle to cycle: `noise(k)` gives the noise and the marker of cycle `k`.

        Cycles are counted from 0 by the time coordinate, i.e. by `SHIFT_COORDS`; REPEAT blocks are written out.
        """
        out: list[str] = []
        now, group = 0, list[_Step]()
        for step in _unrolled(self._steps):
            if step.name == "SHIFT_COORDS":
                _dressed(tuple(group), *noise(now), out)
                now, group = now + 1, []
            group.append(step)
        _dressed(tuple(group), *noise(now), out)
        return stim.Circuit("\n".join(out))

    def detections(self, measurements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Detection events and observable flips of packed `measurements`: `(n_shots, ceil(n_detectors / 8))` and
        `(n_shots, ceil(n_observables / 8))` uint8, packed little-endian."""
        return self._converter.convert(measurements=measurements, separate_observables=True, bit_packed=True)


def sample_measurements(circuit: stim.Circuit, shots: int, seed: int) -> np.ndarray:
    """`(shots, ceil(n_measurements / 8))` uint8, packed little-endian."""
    return circuit.compile_sampler(seed=seed).sample_bit_packed(shots)


def sample_detections(circuit: stim.Circuit, shots: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Detection events and observable flips, packed as in :meth:`Program.detections`."""
    sampler = circuit.compile_detector_sampler(seed=seed)
    return sampler.sample(shots, bit_packed=True, separate_observables=True)
