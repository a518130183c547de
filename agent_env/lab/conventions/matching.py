"""CANON: from a detector error model to a matching graph, and decoding with it.

A detector error model can give one detector set several observable labels. `pymatching.Matching.from_detector_error_model` then
keeps the label of the line that comes first, so the decoder would depend on the order of the lines. CANON keeps the most
probable label, and does not depend on the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.conventions.bits import packed_width

if TYPE_CHECKING:
    import pymatching
    import stim

P_MIN = 1e-6
P_MAX = 0.4999
MAX_OBSERVABLES = 64  # pymatching decodes at most so many at full speed

CANON = """\
CANON, from a stim detector error model (DEM) to the matching graph that decodes:
1. Repeat blocks and detector shifts are expanded. Every error(p) line is split at ^ into components. A component with more than two
   detectors is refused. Repeated targets within a component cancel. A component without detectors is ignored: no syndrome shows it.
2. A line without ^ carries its label, the set of its observables. For one detector set (one or two detectors) the probabilities of all
   lines with the same label are combined as independent events, p + q - 2pq. The label with the largest combined probability wins (on
   a tie the one whose sorted observables come first) and the other labels are dropped with their probability.
3. A component of a line with ^ adds its probability to its detector set in the same way, but never a label, except where no line
   without ^ exists for that set: then the label with the largest combined probability among the components wins.
4. The probability is clipped to [1e-6, 0.4999]. The weight is log((1-p)/p) in float64.
5. The graph is built edge by edge with pymatching (merge_strategy="replace"); one detector is an edge to the boundary. In a connected part
   of the graph without any boundary edge, a detector that no line names included, every detector gets one with p = 1e-6 and no label.
   Decoding is plain minimum-weight perfect matching.
"""


class ModelRefused(ValueError):
    """A detector error model that CANON does not take.

    `reason` is a stable name: `not_text`, `bytes`, `repeat_blocks`, `syntax`, `terms`, `probability`, `detectors_per_component`,
    `detector_count`, `observable_count` or `edges`; `got` and `limit` say what was found and what is allowed.
    """

    def __init__(self, reason: str, detail: str, got: Any = None, limit: Any = None) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.got = got
        self.limit = limit


@dataclass(frozen=True)
class Limits:
    """Bounds on a model before anything is expanded.

    `n_bytes` of text, `repeat_blocks` in the text, `terms` (targets of error lines after expansion), `edges_per_detector` (mean number of
    distinct detector sets per detector; bounds the time of decoding).
    """

    n_bytes: int = 4_000_000
    repeat_blocks: int = 64
    terms: int = 400_000
    edges_per_detector: int = 16


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class MatchingGraph:
    """The canonical matching graph.

    Edge `k` joins detector `ends[k, 0]` to `ends[k, 1]`, or to the boundary where `ends[k, 1] == -1`; `ends` has shape
    `(n_edges, 2)` int64. `p` is the clipped probability, shape `(n_edges,)` float64; `labels[k]` the sorted observables of the edge.
    """

    n_detectors: int
    n_observables: int
    ends: np.ndarray
    p: np.ndarray
    labels: tuple[tuple[int, ...], ...]

    @property
    def weights(self) -> np.ndarray:
        """`log((1-p)/p)`, shape `(n_edges,)` float64."""
        return np.log((1 - self.p) / self.p)

    def matching(self) -> pymatching.Matching:
        """A new `pymatching.Matching` of this graph."""
        import pymatching

        m = pymatching.Matching()
        for (a, b), w, p, label in zip(self.ends.tolist(), self.weights.tolist(), self.p.tolist(), self.labels, strict=True):
            if b < 0:
                m.add_boundary_edge(a, weight=w, fault_ids=set(label), error_probability=p, merge_strategy="replace")
            else:
                m.add_edge(a, b, weight=w, fault_ids=set(label), error_probability=p, merge_strategy="replace")
        m.ensure_num_fault_ids(self.n_observables)
        return m

    def model(self) -> stim.DetectorErrorModel:
        """One `error(p)` line per edge; CANON of it is this graph again."""
        import stim

        lines = []
        for (a, b), p, label in zip(self.ends.tolist(), self.p.tolist(), self.labels, strict=True):
            targets = [f"D{a}"] + ([f"D{b}"] if b >= 0 else []) + [f"L{o}" for o in label]
            lines.append(f"error({p!r}) {' '.join(targets)}")
        lines += [f"detector D{self.n_detectors - 1}"] if self.n_detectors else []
        lines += [f"logical_observable L{self.n_observables - 1}"] if self.n_observables else []
        return stim.DetectorErrorModel("\n".join(lines))


def read_graph(
    model: str | stim.DetectorErrorModel,
    *,
    n_detectors: int | None = None,
    n_observables: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> MatchingGraph:
    """CANON of `model` (text or object). Raises :class:`ModelRefused`.

    Where `n_detectors` or `n_observables` are given the model must have exactly as many: name the last one in a `detector` or
    `logical_observable` line if no error touches it.
    """
    dem = _parse(model, limits)
    _bounded(dem, limits, n_detectors, n_observables)
    plain, split = _collect(dem, limits)
    return _build(plain, split, dem.num_detectors, dem.num_observables, limits)


def decode(graph: MatchingGraph | pymatching.Matching, detections: np.ndarray, n_observables: int | None = None) -> np.ndarray:
    """Predicted observable flips by minimum-weight perfect matching.

    `detections` is `(n_shots, ceil(n_detectors / 8))` uint8, packed little-endian (see `lab.conventions.bits`); the result is
    `(n_shots, ceil(n_observables / 8))` uint8, packed likewise. Give a `pymatching.Matching` (from `graph.matching()`) to decode
    many blocks with one graph.
    """
    if isinstance(graph, MatchingGraph):
        expected, matcher = packed_width(graph.n_detectors), graph.matching()
    else:
        expected, matcher = packed_width(graph.num_detectors), graph
    detections = np.asarray(detections)
    if detections.dtype != np.uint8 or detections.ndim != 2 or detections.shape[1] != expected:
        raise ValueError(f"detections must be uint8 of shape (n_shots, {expected}), got {detections.dtype} {detections.shape}")
    return matcher.decode_batch(np.ascontiguousarray(detections), bit_packed_shots=True, bit_packed_predictions=True)


def _parse(model: Any, limits: Limits) -> stim.DetectorErrorModel:
    import stim

    if isinstance(model, stim.DetectorErrorModel):
        return model
    if not isinstance(model, str):
        raise ModelRefused("not_text", f"a detector error model is text, got {type(model).__name__}")
    # A character takes at least one byte, so the cheap test comes first.
    size = len(model) if len(model) > limits.n_bytes else len(model.encode("utf-8", "replace"))
    if size > limits.n_bytes:
        raise ModelRefused("bytes", f"the model has {size} bytes, allowed are {limits.n_bytes}", size, limits.n_bytes)
    # Counted before parsing: stim parses nested blocks by recursion, which deep nesting would exhaust.
    blocks, allowed = model.count("{"), limits.repeat_blocks
    if blocks > allowed:
        raise ModelRefused("repeat_blocks", f"the model has {blocks} opening braces, allowed are {allowed}", blocks, allowed)
    try:
        return stim.DetectorErrorModel(model)
    except (ValueError, IndexError, OverflowError) as exc:
        raise ModelRefused("syntax", f"stim does not read the model: {str(exc).splitlines()[0][:200]}") from exc


@dataclass(frozen=True)
class _Extent:
    terms: int
    shift: int
    detectors: int
    observables: int


def _extent(dem: stim.DetectorErrorModel) -> _Extent:
    """Size of the expanded model in exact integers, without expanding it."""
    terms = shift = detectors = observables = 0
    for item in dem:
        if item.type == "repeat":
            body, n = _extent(item.body_copy()), item.repeat_count
            terms += n * max(body.terms, 1)
            if n and body.detectors:
                detectors = max(detectors, shift + (n - 1) * body.shift + body.detectors)
            observables = max(observables, body.observables if n else 0)
            shift += n * body.shift
        elif item.type == "shift_detectors":
            shift += item.targets_copy()[0]
            terms += 1
        else:
            targets = item.targets_copy()
            terms += max(len(targets), 1)
            for t in targets:
                if t.is_relative_detector_id():
                    detectors = max(detectors, shift + t.val + 1)
                elif t.is_logical_observable_id():
                    observables = max(observables, t.val + 1)
    return _Extent(terms, shift, detectors, observables)


def _bounded(dem: stim.DetectorErrorModel, limits: Limits, n_detectors: int | None, n_observables: int | None) -> None:
    size = _extent(dem)
    if size.terms > limits.terms:
        raise ModelRefused("terms", f"the expanded model has {size.terms} terms, allowed are {limits.terms}", size.terms, limits.terms)
    for reason, what, got, expected, most in (
        ("detector_count", "detectors", size.detectors, n_detectors, limits.terms),
        ("observable_count", "observables", size.observables, n_observables, MAX_OBSERVABLES),
    ):
        if expected is not None and got != expected:
            raise ModelRefused(reason, f"the model has {got} {what}, expected {expected}", got, expected)
        if got > most:
            raise ModelRefused(reason, f"the model has {got} {what}, allowed are {most}", got, most)


_Key = tuple[int, ...]
_Labels = dict[_Key, dict[_Key, float]]


def _components(targets: list[Any]) -> Iterator[tuple[_Key, _Key]]:
    """`(detectors, observables)` of each component, sorted, repeated targets cancelled."""
    dets: set[int] = set()
    obs: set[int] = set()
    for t in targets:
        if t.is_separator():
            yield tuple(sorted(dets)), tuple(sorted(obs))
            dets, obs = set(), set()
        elif t.is_relative_detector_id():
            dets ^= {t.val}
        else:
            obs ^= {t.val}
    yield tuple(sorted(dets)), tuple(sorted(obs))


def _either(p: float, q: float) -> float:
    """Probability that exactly one of two independent events happens."""
    return p * (1 - q) + q * (1 - p)


def _collect(dem: stim.DetectorErrorModel, limits: Limits) -> tuple[_Labels, _Labels]:
    plain: _Labels = {}
    split: _Labels = {}
    # Sorting makes the float sums, hence the last bit of a weight, independent of the order of the lines.
    events: list[tuple[_Key, _Key, float, bool]] = []
    for item in dem.flattened():
        if item.type != "error":
            continue
        p = item.args_copy()[0]
        if not (math.isfinite(p) and 0 <= p <= 1):
            raise ModelRefused("probability", f"error probabilities must be finite numbers in [0, 1], got {p}", p, "[0, 1]")
        parts = list(_components(item.targets_copy()))
        for dets, obs in parts:
            if len(dets) > 2:
                shown = " ".join(f"D{d}" for d in dets[:6])
                detail = f"a component has {len(dets)} detectors ({shown}), allowed are 2"
                raise ModelRefused("detectors_per_component", detail, len(dets), 2)
            if dets:
                events.append((dets, obs, p, len(parts) > 1))
    for dets, obs, p, is_split in sorted(events):
        labels = (split if is_split else plain).setdefault(dets, {})
        labels[obs] = _either(labels.get(obs, 0.0), p)
    return plain, split


def _likeliest(labels: dict[_Key, float]) -> _Key:
    return min(labels, key=lambda o: (-labels[o], o))


def _build(plain: _Labels, split: _Labels, n_detectors: int, n_observables: int, limits: Limits) -> MatchingGraph:
    keys = sorted(set(plain) | set(split))
    allowed = limits.edges_per_detector * max(n_detectors, 1)
    if len(keys) > allowed:
        raise ModelRefused("edges", f"the model has {len(keys)} distinct detector sets, allowed are {allowed}", len(keys), allowed)
    ends, probabilities, labels = [], [], []
    for key in keys:
        if key in plain:
            label = _likeliest(plain[key])
            p = plain[key][label]
        else:
            label, p = _likeliest(split[key]), 0.0
        for _, q in sorted(split.get(key, {}).items()):
            p = _either(p, q)
        ends.append((key[0], key[1] if len(key) == 2 else -1))
        probabilities.append(min(max(p, P_MIN), P_MAX))
        labels.append(label)
    for detector in _unbounded(ends, n_detectors):
        ends.append((detector, -1))
        probabilities.append(P_MIN)
        labels.append(())
    return MatchingGraph(n_detectors, n_observables, np.array(ends, dtype=np.int64).reshape(-1, 2), np.array(probabilities), tuple(labels))


def _unbounded(ends: list[tuple[int, int]], n_detectors: int) -> list[int]:
    """Detectors in connected parts of the graph without a boundary edge: an odd number of events there could not be matched."""
    parent = list(range(n_detectors + 1))  # the last node is the boundary

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in ends:
        parent[root(a)] = root(b if b >= 0 else n_detectors)
    return [d for d in range(n_detectors) if root(d) != root(n_detectors)]
