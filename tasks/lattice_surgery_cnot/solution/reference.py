"""Reference experimentalist for `lattice_surgery_cnot`.

1. Nominal detector error models from the public circuits and the datasheet.
2. Run the CNOT in its four configurations and the memory in both bases; p_ij gives the probability of every edge of the matching graph from
   pairwise correlations of detection events (Spitz et al. 2018; Google Quantum AI 2021), boundary edges take what is left.
3. Detectors of the seams fire far more often while merged than the datasheet explains, and a longer merge shows correlations across two
   cycles: an error that outlives one cycle. A weight alone does not tell which observables such an error flips, so look: where an
   edge fires with quiet neighbours, decode the rest of the shot, and take the observable flips that remain as a vote on the label.
4. Keep what decodes a held-out part of the shots best.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import stim

import lab
from lab.conventions import MatchingGraph, decode, pack_bits, read_graph, unpack_bits

CONFIGS = ("z", "x", "bell_zz", "bell_xx")
CNOT_SHOTS = 80_000
MEMORY_SHOTS = 100_000
MERGE_SHOTS = 10_000
HELD_OUT = 1 / 4
P_FLOOR = 2e-4
VOTES_MIN = 30
VOTE_MAJORITY = 0.55
PRIOR_SPREAD = 0.5  # expected relative spread of an edge around its datasheet value


def dress(circuit: stim.Circuit, rates: dict[str, float]) -> stim.Circuit:
    """The public circuit with uniform datasheet noise, as `datasheet.json` describes it."""
    noisy = stim.Circuit()
    for op in circuit:
        if isinstance(op, stim.CircuitRepeatBlock):
            noisy.append(stim.CircuitRepeatBlock(op.repeat_count, dress(op.body_copy(), rates)))
        elif op.name in ("M", "MX"):
            noisy.append(op.name, op.targets_copy(), rates["readout"])
        elif op.name == "I":
            noisy.append("DEPOLARIZE1", op.targets_copy(), rates["idle"])
        else:
            noisy.append(op)
            if op.name == "H":
                noisy.append("DEPOLARIZE1", op.targets_copy(), rates["gate1"])
            elif op.name == "CX":
                noisy.append("DEPOLARIZE2", op.targets_copy(), rates["gate2"])
            elif op.name in ("R", "RX"):
                noisy.append("X_ERROR" if op.name == "R" else "Z_ERROR", op.targets_copy(), rates["reset"])
    return noisy


@dataclass
class Shots:
    """Detection events `(n_shots, n_detectors)` and observable flips `(n_shots, n_observables)`, bool."""

    detections: np.ndarray
    flips: np.ndarray

    @classmethod
    def of(cls, circuit: stim.Circuit, meas: np.ndarray) -> Shots:
        converter = circuit.compile_m2d_converter()
        detections, flips = converter.convert(measurements=np.array(meas), separate_observables=True, bit_packed=True)
        return cls(unpack_bits(detections, circuit.num_detectors), unpack_bits(flips, circuit.num_observables))

    def part(self, chosen: slice) -> Shots:
        return Shots(self.detections[chosen], self.flips[chosen])


def predicted(graph: MatchingGraph, detections: np.ndarray) -> np.ndarray:
    return unpack_bits(decode(graph, pack_bits(detections)), graph.n_observables)


def logical_error(graph: MatchingGraph, shots: Shots) -> float:
    return float((predicted(graph, shots.detections) != shots.flips).any(axis=1).mean())


def reweighted(nominal: MatchingGraph, shots: Shots, free: np.ndarray) -> MatchingGraph:
    """Edge probabilities from the shots. `free[d]`: the datasheet says nothing about detector d; elsewhere it is a weak prior."""
    n = len(shots.detections)
    # (n_detectors, n_shots / 8): counting coincidences is then a bitwise and.
    columns = np.packbits(np.ascontiguousarray(shots.detections.T), axis=1)
    mean = np.bitwise_count(columns).sum(axis=1, dtype=np.int64) / n
    a, b = nominal.ends.T
    pair = b >= 0
    i, j = a[pair], b[pair]
    both = np.bitwise_count(columns[i] & columns[j]).sum(axis=1, dtype=np.int64) / n
    inside = 0.25 - (both - mean[i] * mean[j]) / (1 - 2 * mean[i] - 2 * mean[j] + 4 * both)
    measured = 0.5 - np.sqrt(np.clip(inside, 1e-3, None))
    variance = (mean[i] * mean[j] + np.clip(measured, 0, None)) / n
    prior = nominal.p[pair]
    prior_variance = np.where(free[i] | free[j], np.inf, (PRIOR_SPREAD * prior) ** 2)
    trust = 1 / (1 + variance / prior_variance)
    p = nominal.p.copy()
    p[pair] = np.maximum(trust * measured + (1 - trust) * prior, P_FLOOR)
    # What the pairs leave of a detection rate belongs to the boundary edge: independent flips multiply in 1 - 2p.
    contrast = np.ones(nominal.n_detectors)
    np.multiply.at(contrast, i, 1 - 2 * p[pair])
    np.multiply.at(contrast, j, 1 - 2 * p[pair])
    edge = a[~pair]
    rest = 0.5 * (1 - (1 - 2 * mean[edge]) / contrast[edge])
    p[~pair] = np.clip(rest, P_FLOOR, 0.4)
    return MatchingGraph(nominal.n_detectors, nominal.n_observables, nominal.ends, p, nominal.labels)


def relabelled(graph: MatchingGraph, shots: Shots, near: np.ndarray) -> tuple[MatchingGraph, int]:
    """Labels of edges at the detectors `near`, by vote of the shots in which the edge fires alone among its neighbours."""
    neighbours: list[set[int]] = [set() for _ in range(graph.n_detectors)]
    for a, b in graph.ends.tolist():
        if b >= 0:
            neighbours[a].add(b)
            neighbours[b].add(a)
    columns = np.asfortranarray(shots.detections)
    chosen, owner = [], []
    voters = {}
    for k, (a, b) in enumerate(graph.ends.tolist()):
        own = [a] if b < 0 else [a, b]
        if not near[own].any():
            continue
        quiet = sorted(set().union(*(neighbours[d] for d in own)) - set(own))
        fires = columns[:, own].all(axis=1)
        alone = np.flatnonzero(fires)
        alone = alone[~shots.detections[np.ix_(alone, quiet)].any(axis=1)]
        if len(alone) >= VOTES_MIN:
            rest = shots.detections[alone].copy()
            rest[:, own] = False
            voters[k] = (sum(map(len, owner)), alone)
            chosen.append(rest)
            owner.append(alone)
    if not chosen:
        return graph, 0
    remain = predicted(graph, np.concatenate(chosen)) ^ shots.flips[np.concatenate(owner)]
    votes = remain @ (1 << np.arange(graph.n_observables))
    labels = list(graph.labels)
    changed = 0
    for k, (start, alone) in voters.items():
        counts = np.bincount(votes[start : start + len(alone)])
        best = tuple(o for o in range(graph.n_observables) if counts.argmax() >> o & 1)
        if best != labels[k] and counts.max() > VOTE_MAJORITY * counts.sum():
            labels[k] = best
            changed += 1
    return MatchingGraph(graph.n_detectors, graph.n_observables, graph.ends, graph.p, tuple(labels)), changed


def seam_detectors(circuit: stim.Circuit, layout: dict) -> np.ndarray:
    """Detectors of plaquettes that touch a seam, shape `(n_detectors,)` bool."""
    site = {q["index"]: (q["row"], q["column"]) for q in layout["qubits"]}
    touching = set()
    for seam in layout["seams"].values():
        inside = set(seam["data"])
        touching |= {site[c["measure"]] for c in seam["merged_checks"] if inside & set(c["data"])}
    where = circuit.get_detector_coordinates()
    return np.array([tuple(where[d][:2]) in touching for d in range(circuit.num_detectors)])


def best_model(name: str, circuit: stim.Circuit, shots: Shots, rates: dict[str, float], seam: np.ndarray) -> MatchingGraph:
    """Fit on one part, choose on the held-out part."""
    nominal = read_graph(dress(circuit, rates).detector_error_model(decompose_errors=True))
    cut = int(len(shots.detections) * (1 - HELD_OUT))
    train, held = shots.part(slice(0, cut)), shots.part(slice(cut, None))
    fitted = reweighted(nominal, train, seam)
    candidates = {"datasheet": nominal, "p_ij": fitted}
    changed = 0
    if seam.any():
        candidates["p_ij and labels"], changed = relabelled(fitted, train, seam)
    error = {k: logical_error(g, held) for k, g in candidates.items()}
    choice = min(error, key=lambda k: error[k])
    found = ", ".join(f"{k} {v:.4f}" for k, v in error.items())
    print(f"{name}: held-out error {found}; {changed} labels changed; take {choice}", flush=True)
    return candidates[choice]


def two_cycle_correlation(circuit: stim.Circuit, shots: Shots, seam: dict, layout: dict) -> float:
    """Largest correlation coefficient of one new seam plaquette with itself two cycles later."""
    site = {q["index"]: (q["row"], q["column"]) for q in layout["qubits"]}
    where = {tuple(c): d for d, c in circuit.get_detector_coordinates().items()}
    found = [0.0]
    for q in seam["new_measure"]:
        for (row, column, t), d in where.items():
            later = where.get((row, column, t + 2))
            if (row, column) == site[q] and later is not None:
                found.append(float(np.corrcoef(shots.detections[:, d], shots.detections[:, later])[0, 1]))
    return max(found)


def main() -> None:
    with lab.connect() as dev:
        layout = json.loads(dev.material("layout.json"))
        rates = json.loads(dev.material("datasheet.json"))["medians"]
        evidence: dict[str, list[str]] = {"memory": [], "cnot": []}

        for name, seam in layout["seams"].items():
            request = {"seam": name, "merge_rounds": 6, "boundary_basis": name[0], "shots": MERGE_SHOTS}
            rec = dev.run("run_merge", **request)
            circuit = stim.Circuit(dev.query("noiseless_circuit", merge=request)["circuit"])
            strongest = two_cycle_correlation(circuit, Shots.of(circuit, rec["meas"]), seam, layout)
            print(f"seam {name}: strongest correlation of a plaquette with itself two cycles later {strongest:.3f}", flush=True)

        jobs = {c: dev.submit("run_cnot", config=c, inputs=[0, 0], shots=CNOT_SHOTS) for c in CONFIGS}
        jobs |= {b: dev.submit("run_memory", patch="M", basis=b, rounds=10, shots=MEMORY_SHOTS) for b in ("Z", "X")}
        models: dict[str, dict[str, str]] = {"memory": {}, "cnot": {}}
        for key, job in jobs.items():
            group = "cnot" if key in CONFIGS else "memory"
            circuit = stim.Circuit(dev.material(f"cnot_{key}_00.stim" if group == "cnot" else f"memory_M_{key}_r10.stim"))
            rec = job.result()
            evidence[group].append(rec.job_id)
            graph = best_model(f"{group} {key}", circuit, Shots.of(circuit, rec["meas"]), rates, seam_detectors(circuit, layout))
            models[group][key] = str(graph.model())
        dev.submit_answer({**models, "evidence": evidence})
        print("answer submitted", flush=True)


if __name__ == "__main__":
    main()
