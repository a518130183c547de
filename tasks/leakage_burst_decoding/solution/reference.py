"""Reference experimentalist for `leakage_burst_decoding`.

1. Three jobs over 80 lab minutes.
2. Events per shot are over-dispersed, and the surplus sits in a region for some cycles: bursts. A bank of 49 regions x 4 onsets (the
   trigger's), a mixture of them fitted to the shots; the 24 heaviest templates stay, with the linear gate between them.
3. Shots that the gate calls quiet give the rates of all elements by correlations of detection events, for each job on its own as well:
   an element that moves significantly is extrapolated to the scoring time.
4. One model per template, with these rates raised in its region and cycles, and one for quiet shots; checked on held-out shots.
"""

from __future__ import annotations

import json
import time

import numpy as np
import stim
from bursts import PROBE_ROUNDS, Bank, Gate, Template, burst_circuit, learn
from memory_fit import Element, Memory, Rates, design, dress, fit, observed

import lab
from lab.conventions import decode, pack_bits, read_graph, unpack_bits

ROUNDS = 20
SHOTS = 70_000
HELD_OUT = 10_000
LEARN_SHOTS = 60_000
PAUSE_S = 2400
SCORING_S = 150 * 60
KEEP = 24
PRIOR_WIDTH = 1.5
SIGNIFICANT = 5.0


def elements_of(layout: dict, medians: dict[str, float]) -> tuple[list[Element], np.ndarray, np.ndarray]:
    """Elements with mean and width of their prior."""
    data = tuple(q["index"] for q in layout["qubits"] if q["role"] == "data")
    measure = tuple(q["index"] for q in layout["qubits"] if q["role"] == "measure")
    found: list[tuple[Element, float, float]] = []
    for kind, targets in (("gate2", [tuple(c) for c in layout["couplers"]]), ("readout", measure), ("idle", data)):
        found += [((kind, (t,)), medians[kind], PRIOR_WIDTH * medians[kind]) for t in targets]
    for kind, qubits in (("gate1", measure), ("reset", (*data, *measure)), ("readout", data)):
        found.append(((kind, qubits), medians[kind], medians[kind] / 2))
    return [e for e, _, _ in found], np.array([p for _, p, _ in found]), np.array([w for _, _, w in found])


def rates_then(
    matrix: np.ndarray, jobs: list[tuple[float, np.ndarray, np.ndarray]], prior: np.ndarray, width: np.ndarray, at_s: float
) -> np.ndarray:
    """Rates at lab time `at_s`: constant but for elements whose line through the jobs `(time, values, errors)` is clearly not level."""
    each = [fit([matrix], [v], [e], prior, width) for _, v, e in jobs]
    pooled = fit([matrix] * len(jobs), [v for _, v, _ in jobs], [e for _, _, e in jobs], prior, width)
    times = np.array([t for t, _, _ in jobs])
    centred = times - times.mean()
    slope = centred @ np.array(each) / (centred @ centred)
    # Error of a rate in one job, from the curvature of the least squares.
    error = np.array([e for _, _, e in jobs]).mean(axis=0)
    curvature = (matrix / error[:, None]).T @ (matrix / error[:, None]) + np.diag(width**-2.0)
    sigma = np.sqrt(np.diag(np.linalg.inv(curvature)) / (centred @ centred))
    moving = np.abs(slope) > SIGNIFICANT * sigma
    return np.clip(np.where(moving, pooled + slope * (at_s - times.mean()), pooled), 1e-5, 0.25)


def compact(noisy: stim.Circuit) -> str:
    """CANON of the noise of a circuit as text with one line per edge: a seventh of the size of the full model."""
    g = read_graph(noisy.detector_error_model(decompose_errors=True))
    lines = []
    for (a, b), p, label in zip(g.ends.tolist(), g.p.tolist(), g.labels, strict=True):
        targets = [f"D{a}"] + ([f"D{b}"] if b >= 0 else []) + [f"L{o}" for o in label]
        lines.append(f"error({p:.5g}) {' '.join(targets)}")
    return "\n".join([*lines, f"detector D{g.n_detectors - 1}", f"logical_observable L{g.n_observables - 1}"])


def main() -> None:
    with lab.connect() as dev:
        layout = json.loads(dev.material("layout.json"))
        medians = json.loads(dev.material("datasheet.json"))["medians"]
        trigger = dev.spec()["spec"]["trigger_cycles"]
        sites = {q["index"]: (q["row"], q["column"]) for q in layout["qubits"]}
        circuit = stim.Circuit(dev.material(f"memory_d5_Z_r{ROUNDS}.stim"))
        request = {"rows": 5, "cols": 5, "basis": "Z", "rounds": ROUNDS, "shots": SHOTS}
        jobs = [dev.submit("run_memory", **request, delay_s=PAUSE_S if k else 0) for k in range(3)]
        short = {"rows": 5, "cols": 5, "basis": "Z", "rounds": PROBE_ROUNDS, "shots": 1}
        probe = stim.Circuit(dev.query("noiseless_circuit", memory=short)["circuit"])

        elements, prior, width = elements_of(layout, medians)
        datasheet = Rates(elements, prior)
        grid = [(i / 2, j / 2) for i in range(1, 8) for j in range(1, 8)]
        templates = [Template(c, o) for c in grid for o in range(0, ROUNDS - 4, trigger)]
        begun = time.process_time()
        bank = Bank(circuit, probe, datasheet, sites, templates)
        matrix_rows = design(Memory(circuit, ROUNDS), elements)
        print(f"bank and design: {time.process_time() - begun:.1f} s of processor time", flush=True)

        converter = circuit.compile_m2d_converter()
        starts, shots, held = [], [], []
        for job in jobs:
            record = job.result()
            packed, flips = converter.convert(measurements=np.array(record["meas"]), separate_observables=True, bit_packed=True)
            events = unpack_bits(packed, circuit.num_detectors)
            starts.append(float(record["lab_time_s"][0]))
            shots.append(events[HELD_OUT:])
            held.append((events[:HELD_OUT], unpack_bits(flips[:HELD_OUT], 1)))
        counts = shots[0].sum(axis=1)
        print(f"events per shot: mean {counts.mean():.1f}, variance {counts.var():.0f}", flush=True)

        gate, share = learn(bank, np.concatenate([s[: LEARN_SHOTS // 3] for s in shots]), KEEP)
        for t, p in zip(gate.templates, share, strict=True):
            print(f"{t.name}: {p:.4f} of all shots", flush=True)
        fitted = []
        for start, events in zip(starts, shots, strict=True):
            fitted.append((start, *observed(matrix_rows, events[gate.route(events) == 0])))
        rates = Rates(elements, rates_then(matrix_rows.matrix, fitted, prior, width, SCORING_S))
        models = {"quiet": compact(dress(circuit, rates))}
        models |= {t.name: compact(burst_circuit(circuit, rates, t, sites)) for t in gate.templates}
        check(models, gate, held[-1])
        dev.submit_answer({
            "models": [{"name": n, "dem": d} for n, d in models.items()],
            "gate": {
                "models": [t.name for t in gate.templates], "weights": np.round(gate.weights, 4).tolist(),
                "bias": np.round(gate.bias, 4).tolist(),
            },
            "default": "quiet",
        })  # fmt: skip
        print("answer submitted", flush=True)


def check(models: dict[str, str], gate: Gate, held: tuple[np.ndarray, np.ndarray]) -> None:
    """Failures on held-out shots of the last job with the gate and without."""
    events, flips = held
    way = gate.route(events)
    names = ["quiet", *(t.name for t in gate.templates)]
    graphs = {n: read_graph(d).matching() for n, d in models.items()}
    alone = (unpack_bits(decode(graphs["quiet"], pack_bits(events)), 1) != flips).any(axis=1)
    routed = alone.copy()
    for k, name in enumerate(names):
        chosen = way == k
        if k and chosen.any():
            routed[chosen] = (unpack_bits(decode(graphs[name], pack_bits(events[chosen])), 1) != flips[chosen]).any(axis=1)
    away = (way > 0).mean()
    print(f"held-out failures per shot: {alone.mean():.4f} quiet model only, {routed.mean():.4f} with the gate", flush=True)
    print(f"share of shots that the gate sends to a burst: {away:.3f}", flush=True)


if __name__ == "__main__":
    main()
