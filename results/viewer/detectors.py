"""Detectors of a circuit's record: where and when they fire, how many a shot, and how this drifts."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from results.viewer.numbers import numbers

MAX_BITS = 80_000_000
"""Measurements that are converted to detection events; further shots are left out, and the note says so."""
BLOCKS = 120


def circuit_of(request: Any, spec: Any) -> Any:
    """The public noiseless stim circuit of a request whose class has `program`, else None. Its arguments are fields of the spec."""
    program = getattr(request, "program", None)
    if program is None:
        return None
    if callable(program):
        wanted = inspect.signature(program).parameters
        if any(not hasattr(spec, name) for name in wanted):
            return None
        program = program(*(getattr(spec, name) for name in wanted))
    return getattr(program, "circuit", None)


def views(packed: np.ndarray, circuit: Any, cells: int) -> list[dict[str, Any]]:
    """Views of measurements `(shot, byte)` uint8, packed little-endian, of `circuit`."""
    total = len(packed)
    used = packed[: max(1, MAX_BITS // max(circuit.num_measurements, 1))]
    bits = np.unpackbits(used, axis=1, count=circuit.num_measurements, bitorder="little").astype(bool)
    events, flips = circuit.compile_m2d_converter().convert(measurements=bits, separate_observables=True)
    rates = events.mean(axis=0)
    shots = f"all {total:,} shots" if len(used) == total else f"the first {len(used):,} of {total:,} shots"
    out: list[dict[str, Any]] = []
    if events.shape[1]:
        place, when = _coordinates(circuit)
        out += _maps(rates, place, when, shots, cells)
        out += [_per_shot(events, shots), _blocks(events, shots)]
    if flips.shape[1]:
        mean = flips.mean(axis=0)
        out.append({
            "kind": "bars", "title": "raw observables", "x": {"label": "observable", "unit": ""},
            "y": {"label": "share of flips", "unit": ""}, "labels": [f"L{k}" for k in range(len(mean))], "values": numbers(mean),
            "e": numbers(np.sqrt(mean * (1 - mean) / len(flips)), 3), "note": f"before decoding; {shots}",
        })  # fmt: skip
    return out


def _coordinates(circuit: Any) -> tuple[list[tuple[float, ...]], np.ndarray]:
    """Place of each detector and its time, the last coordinate."""
    found = circuit.get_detector_coordinates()
    place, when = [], []
    for k in range(circuit.num_detectors):
        c = tuple(found.get(k) or (float(k), 0.0))
        place.append(c[:-1])
        when.append(c[-1])
    return place, np.asarray(when)


def _maps(rates: np.ndarray, place: list[tuple[float, ...]], when: np.ndarray, shots: str, cells: int) -> list[dict[str, Any]]:
    places, times = sorted(set(place)), np.unique(when)
    table: np.ndarray = np.full((len(places), len(times)), np.nan)
    row = {p: k for k, p in enumerate(places)}
    z = {"label": "share of shots with an event", "unit": ""}
    for p, t, r in zip(place, when, rates, strict=True):
        at = row[p], int(np.searchsorted(times, t))
        table[at] = r if np.isnan(table[at]) else max(r, table[at])
    step = max(1, -(-table.size // max(cells, 1) // max(len(places), 1))) if table.size > 4 * cells else 1
    kept = table[:, ::step]
    cut = f"; every {step}th of {len(times)} rounds drawn" if step > 1 else ""
    named = {"label": "place", "unit": "", "names": ["(" + ", ".join(f"{c:g}" for c in p) + ")" for p in places]}
    out: list[dict[str, Any]] = [{
        "kind": "map", "title": "detectors", "x": {"label": "round", "unit": "", "at": numbers(times[::step])}, "y": named, "z": z,
        "rows": len(places), "cols": kept.shape[1], "values": numbers(kept, 3),
        "note": f"{len(rates):,} detectors, {shots}; a place is the detector's coordinates without time; blank: no detector{cut}",
    }]  # fmt: skip
    if all(len(p) >= 2 for p in places) and len(places) >= 4:
        mean = [float(np.nanmean(table[k])) for k in range(len(places))]
        out.append({
            "kind": "places", "title": "detectors on the chip", "x": {"label": "x", "unit": ""}, "y": {"label": "y", "unit": ""}, "z": z,
            "at": [numbers([p[0] for p in places]), numbers([p[1] for p in places])], "values": numbers(mean, 4),
            "note": f"mean over all rounds, {shots}",
        })  # fmt: skip
    return out


def _per_shot(events: np.ndarray, shots: str) -> dict[str, Any]:
    count = events.sum(axis=1)
    top = int(count.max(initial=0))
    width = max(1, -(-(top + 1) // 60))
    edges = np.arange(0, top + width + 1, width)
    height = np.histogram(count, bins=edges)[0]
    mean, fano = float(count.mean()), float(count.var() / count.mean()) if count.any() else 0.0
    return {
        "kind": "curves", "title": "events a shot", "x": {"label": "detection events in a shot", "unit": ""},
        "y": {"label": "shots", "unit": "", "zero": True},
        "series": [{"name": "", "x": numbers(edges), "y": [*height.tolist(), 0], "step": True}],
        "note": f"{shots}; mean {mean:.4g}, variance / mean {fano:.3g}",
    }  # fmt: skip


def _blocks(events: np.ndarray, shots: str) -> dict[str, Any]:
    n = min(BLOCKS, max(1, len(events) // 20))
    blocks = np.array_split(events, n)
    share = np.asarray([b.mean() for b in blocks])
    error = np.asarray([b.mean(axis=1).std() / np.sqrt(max(len(b) - 1, 1)) for b in blocks])
    first = np.cumsum([0, *(len(b) for b in blocks[:-1])])
    return {
        "kind": "curves", "title": "share of detectors that fire", "x": {"label": "shot", "unit": ""}, "y": {"label": "share", "unit": ""},
        "series": [{"name": "", "x": numbers(first), "y": numbers(share, 4), "e": numbers(error, 3), "dots": n <= 60}],
        "note": f"{n} blocks of about {len(events) // n:,} shots in their order, {shots}; standard error from the spread of the shots",
    }  # fmt: skip
