"""Decoding fresh shots of a surface-code memory with submitted models, within a bounded processor time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import stim

from lab.conventions import Limits, MatchingGraph, decode, read_graph
from qtypes.kit.stim_circuits import Program

BLOCK = 2_000
WIDE = Limits(n_bytes=40_000_000, terms=4_000_000)
"""For models that the grader makes itself."""


class OverTime(Exception):
    """Decoding used up its time."""


class Deadline:
    """Processor time, which a busy machine does not change, shared by all decoding of one answer."""

    def __init__(self, seconds: float) -> None:
        self._end = time.process_time() + seconds

    def check(self) -> None:
        if time.process_time() > self._end:
            raise OverTime


def decoded(matcher: Any, detections: np.ndarray, flips: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Which shots are predicted wrongly in any observable: `(n_shots,)` bool. Small blocks, so that a slow graph meets the deadline."""
    wrong = np.empty(len(detections), dtype=bool)
    for k in range(0, len(detections), BLOCK):
        deadline.check()
        wrong[k : k + BLOCK] = (decode(matcher, detections[k : k + BLOCK]) != flips[k : k + BLOCK]).any(axis=1)
    return wrong


def read_model(text: str, program: Program) -> MatchingGraph:
    """CANON of a submitted model for the detectors of `program`. Raises `ModelRefused`."""
    return read_graph(text, n_detectors=program.n_detectors, n_observables=program.n_observables)


def averaged_graph(circuits: Sequence[stim.Circuit], weights: Sequence[float], n_detectors: int) -> MatchingGraph:
    """CANON of the shot-averaged model: every error line with its mean probability over `circuits`, weighted by `weights`."""
    mean: dict[str, float] = defaultdict(float)
    for circuit, weight in zip(circuits, weights, strict=True):
        once: dict[str, float] = defaultdict(float)
        for item in circuit.detector_error_model(decompose_errors=True).flattened():
            if item.type == "error":
                key, p = " ".join(map(str, item.targets_copy())), item.args_copy()[0]
                once[key] += p - 2 * once[key] * p  # lines with the same targets are independent
        for key, p in once.items():
            mean[key] += weight * p
    lines = [f"error({p!r}) {key}" for key, p in mean.items()]
    return read_graph("\n".join([*lines, f"detector D{n_detectors - 1}"]), limits=WIDE)


def true_graph(circuit: stim.Circuit) -> MatchingGraph:
    """CANON of the noise of `circuit`."""
    return read_graph(circuit.detector_error_model(decompose_errors=True))
