"""Submitted decoder models: taken by CANON or refused by name, and decoding with them within a bounded processor time."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import stim

from graders.kit.checks import Category, Check, Score, Stage, holds
from lab.conventions import Limits, MatchingGraph, ModelRefused, decode, read_graph
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


@lru_cache(maxsize=64)
def _graph(text: str, n_detectors: int, n_observables: int) -> MatchingGraph:
    """Binding and scoring read the same text."""
    return read_graph(text, n_detectors=n_detectors, n_observables=n_observables)


def read_model(text: str, program: Program) -> MatchingGraph:
    """CANON of a submitted model for the detectors of `program`. Raises `ModelRefused`."""
    return _graph(text, program.n_detectors, program.n_observables)


def taken(name: str, note: str) -> Check:
    """The check `name` that CANON takes a model; `note` begins with the reason where it does not, and is empty where it does."""
    category = Category.RESOURCE if note.startswith(("bytes", "terms", "edges", "repeat")) else Category.SCHEMA
    return holds(name, Stage.BIND, not note, category=category, note=note)


Key = TypeVar("Key", bound=str)


def read_models(models: Mapping[Key, tuple[str, Program]]) -> tuple[dict[Key, MatchingGraph], list[Check]]:
    """CANON of every model, given as its text and the program whose detectors it describes, and one check each."""
    graphs: dict[Key, MatchingGraph] = {}
    checks = []
    for name, (text, program) in models.items():
        note = ""
        try:
            graphs[name] = read_model(text, program)
        except ModelRefused as exc:
            note = f"{exc.reason}: {exc.detail}"
        checks.append(taken(f"{name} is a model that CANON takes", note))
    return graphs, checks


def not_decoded() -> Score:
    """The score where a model was refused."""
    refused = "a model was refused, see above"
    return Score([holds("fresh shots were decoded", Stage.SCORE, False, category=Category.SCHEMA, note=refused)])


def too_slow(note: str) -> Score:
    """The score where decoding ran out of its time."""
    return Score([holds("fresh shots were decoded in time", Stage.SCORE, False, category=Category.RESOURCE, note=note)])


def predicted_rates(graph: MatchingGraph) -> np.ndarray:
    """Detection probability of each detector if the edges fire independently, `(n_detectors,)`."""
    contrast = np.ones(graph.n_detectors + 1)  # the last one takes the boundary
    for end in graph.ends.T:
        np.multiply.at(contrast, end, 1 - 2 * graph.p)
    return (1 - contrast[:-1]) / 2


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
