"""Reference experimentalist for `multitarget_rydberg_memory`.

1. Pulse trains on every plaquette with four targets, all atoms in |+> and read in X. Events on subsets of the atoms add modulo two, so the
   expectation of every product of outcomes is a product over events, and a Walsh-Hadamard transform of its logarithm gives the rate of each
   subset (as in cycle error reconstruction, Flammia and Wallman 2020). Preparation and readout err atom by atom and leave the pairs alone.
   Two-target plaquettes are left out: their only pair is the stabiliser.
2. Memories in both bases. The correlation of an ancilla's detector with its next one is the probability that its result was wrong once.
3. The rates go into the public circuits as noise, pairs as correlated errors; stim makes the models.
4. In each basis, of three models take the one that decodes the memory best: pairs as measured, one pair rate for all, every atom on its
   own. Nearly always it is the first. But a pair on a diagonal fires four detectors and has to be split into two edges, which can mislead
   plain matching more than the pairs in rows and columns help it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import stim

import lab
from lab.conventions import decode, read_graph, unpack_bits

ROUNDS = 8
N_PULSES = 20
TRAIN_SHOTS = 8_000
MEMORY_SHOTS = 60_000
RATE_FLOOR = 2e-5


def strength(p: np.ndarray | float) -> Any:
    """-log(1 - 2p) / 2: independent events that add modulo two add in this."""
    return -np.log1p(-2 * np.asarray(p)) / 2


def rate(t: np.ndarray | float) -> Any:
    return -np.expm1(-2 * np.asarray(t)) / 2


@dataclass
class Plaquette:
    """Probabilities per pulse: of the ancilla, of each target on its own, of subsets of targets together."""

    targets: list[int]
    ancilla: float
    single: list[float]
    joint: dict[tuple[int, ...], float] = field(default_factory=dict)


@dataclass
class Model:
    """Noise of the array as the datasheet describes it, with measured pulses and ancilla readouts."""

    sheet: dict[str, float]
    cycle_s: float
    groups: dict[str, list[int]]
    plaquettes: dict[int, Plaquette]
    readout: dict[int, float] = field(default_factory=dict)

    def pulse(self, tag: str) -> Iterator[str]:
        which = tag.removeprefix("pulse_")
        for a in self.groups[which]:
            p = self.plaquettes[a]
            for subset, q in p.joint.items():
                yield f"CORRELATED_ERROR({q}) " + " ".join(f"Z{d}" for d in subset)
            for d, q in zip(p.targets, p.single, strict=True):
                yield f"Z_ERROR({q}) {d}"
            yield f"DEPOLARIZE1({p.ancilla}) {a}"

    def dress(self, circuit: stim.Circuit) -> stim.Circuit:
        """The public circuit with this noise."""
        dephasing = -np.expm1(-self.cycle_s / self.sheet["idle_t2_s"]) / 2
        noisy = stim.Circuit()
        for op in circuit:
            if isinstance(op, stim.CircuitRepeatBlock):
                noisy.append(stim.CircuitRepeatBlock(op.repeat_count, self.dress(op.body_copy())))
                continue
            targets = op.targets_copy()
            if op.name in ("M", "MX"):
                for t in targets:
                    noisy.append(op.name, [t], self.readout.get(t.value, self.sheet["readout_error"]))
                continue
            noisy.append(op)
            if op.name == "H":
                noisy.append("DEPOLARIZE1", targets, self.sheet["hadamard_error"])
            elif op.name in ("R", "RX"):
                noisy.append("X_ERROR" if op.name == "R" else "Z_ERROR", targets, self.sheet["reset_error"])
            elif op.name == "I":
                noisy.append("Z_ERROR", targets, dephasing)
            elif op.tag.startswith("pulse_"):
                noisy += stim.Circuit("\n".join(self.pulse(op.tag)))
        return noisy

    def dem(self, circuit: stim.Circuit) -> str:
        """Detector error model of components with at most two detectors; what cannot be split into such is left out."""
        kept = stim.DetectorErrorModel()
        for item in self.dress(circuit).detector_error_model(decompose_errors=True, ignore_decomposition_failures=True).flattened():
            groups = item.target_groups() if item.type == "error" else []
            if all(sum(t.is_relative_detector_id() for t in g) <= 2 for g in groups):
                kept.append(item)
        return str(kept)

    def with_plaquettes(self, change: Callable[[Plaquette], Plaquette]) -> Model:
        return Model(self.sheet, self.cycle_s, self.groups, {a: change(p) for a, p in self.plaquettes.items()}, dict(self.readout))


def datasheet_model(layout: dict, datasheet: dict) -> Model:
    sheet = datasheet["medians"]
    plaquettes = {
        p["ancilla"]: Plaquette(p["targets"], sheet["pulse_ancilla_error"], [sheet["pulse_single_target_error"]] * len(p["targets"]))
        for p in layout["plaquettes"]
    }
    return Model(sheet, datasheet["cycle_time_us"] * 1e-6, layout["pulse_groups"], plaquettes)


def subset_rates(meas: np.ndarray, n_atoms: int) -> np.ndarray:
    """Strength of the events on every subset of the measured atoms in a whole train, `(2**n_atoms,)`; bit i of the index is atom i."""
    frequencies = np.bincount(np.asarray(meas)[:, 0], minlength=2**n_atoms) / len(meas)
    masks = np.arange(2**n_atoms)
    signs = 1 - 2.0 * (np.bitwise_count(masks[:, None] & masks) & 1)
    characters = signs @ frequencies
    # log chi(u) = sum over subsets S of t_S ((-1)^(u.S) - 1): the transform gives t_S for every S but the empty one.
    return signs @ np.log(np.clip(characters, 1 / np.sqrt(len(meas)), 1)) / len(masks)


def measured(nominal: Plaquette, meas: np.ndarray, sheet: dict[str, float]) -> Plaquette:
    """Pulse errors of a plaquette from its train."""
    targets = nominal.targets
    t = subset_rates(meas, 1 + len(targets))
    ends = strength(sheet["readout_error"]) + strength(sheet["reset_error"])

    def per_pulse(mask: int, spam: float = 0.0) -> float:
        return float(max(rate((t[mask] - spam) / N_PULSES), RATE_FLOOR))

    bit = {d: 2 << i for i, d in enumerate(targets)}
    return Plaquette(
        targets,
        min(1.5 * per_pulse(1, ends), 0.05),  # of the three Paulis of depolarising noise, two flip this readout
        [per_pulse(bit[d], ends) for d in targets],
        {pair: per_pulse(sum(bit[d] for d in pair)) for pair in combinations(targets, 2)},
    )


def result_flips(circuit: stim.Circuit, detections: np.ndarray, layout: dict) -> dict[int, float]:
    """Strength with which the result of each ancilla is wrong for one cycle: (t_i + t_j - t_ij) / 2 of its successive detectors."""
    where = {tuple(c): d for d, c in circuit.get_detector_coordinates().items()}
    site = {a["index"]: (a["row"], a["column"]) for a in layout["atoms"]}
    found = {}
    for p in layout["plaquettes"]:
        r, c = site[p["ancilla"]]
        pairs = [(where[r, c, k], where[r, c, k + 1]) for k in range(1, ROUNDS - 1)]
        i, j = np.array(pairs).T
        a, b = detections[:, i], detections[:, j]
        found[p["ancilla"]] = float(np.mean(strength(a.mean(0)) + strength(b.mean(0)) - strength((a ^ b).mean(0))) / 2)
    return found


def logical_error(dem: str, circuit: stim.Circuit, events: tuple[np.ndarray, np.ndarray]) -> float:
    graph = read_graph(dem, n_detectors=circuit.num_detectors, n_observables=circuit.num_observables)
    return float((decode(graph, events[0]) != events[1]).mean())


def main() -> None:
    with lab.connect() as dev:
        layout, datasheet = (json.loads(dev.material(name)) for name in ("layout.json", "datasheet.json"))
        circuits = {b: stim.Circuit(dev.material(f"memory_{b}_r{ROUNDS}.stim")) for b in ("Z", "X")}
        model = datasheet_model(layout, datasheet)
        trains = {
            a: dev.submit("run_pulse_train", plaquette=a, n_pulses=N_PULSES, prep="+", meas="X", shots=TRAIN_SHOTS)
            for a, p in model.plaquettes.items() if len(p.targets) == 4
        }  # fmt: skip
        memories = {b: dev.submit("run_memory", basis=b, rounds=ROUNDS, shots=MEMORY_SHOTS) for b in circuits}

        for a, job in trains.items():
            model.plaquettes[a] = measured(model.plaquettes[a], job.result()["meas"], model.sheet)
        pair_rate = {a: float(np.mean(list(model.plaquettes[a].joint.values()))) for a in trains}
        print("mean pair rate by ancilla: " + ", ".join(f"{a}: {q:.4f}" for a, q in pair_rate.items()), flush=True)

        events, flips = {}, []
        for b, job in memories.items():
            meas = np.array(job.result()["meas"])
            events[b] = circuits[b].compile_m2d_converter().convert(measurements=meas, separate_observables=True, bit_packed=True)
            flips.append(result_flips(circuits[b], unpack_bits(events[b][0], circuits[b].num_detectors), layout))
        for a in model.plaquettes:
            # Two H and the pulse depolarise the ancilla, each wrong in two of three Paulis; the rest of the flips is readout.
            others = strength(model.sheet["reset_error"]) + 2 * strength(2 / 3 * model.sheet["hadamard_error"])
            others += strength(2 / 3 * model.plaquettes[a].ancilla)
            seen = np.mean([f[a] for f in flips])
            model.readout[a] = float(np.clip(rate(seen - others), 1e-3, 0.1))

        mean = float(np.mean(list(pair_rate.values())))

        def alone(p: Plaquette) -> Plaquette:
            joined = [sum(strength(q) for s, q in p.joint.items() if d in s) for d in p.targets]
            return Plaquette(p.targets, p.ancilla, [float(rate(strength(q) + t)) for q, t in zip(p.single, joined, strict=True)])

        candidates = {
            "pairs as measured": model,
            "one pair rate": model.with_plaquettes(lambda p: Plaquette(p.targets, p.ancilla, p.single, dict.fromkeys(p.joint, mean))),
            "independent": model.with_plaquettes(alone),
        }
        answer: dict[str, Any] = {"plaquette_pair_rate": {str(a): q for a, q in pair_rate.items()}}
        for b, circuit in circuits.items():
            dems = {name: m.dem(circuit) for name, m in candidates.items()}
            errors = {name: logical_error(dem, circuit, events[b]) for name, dem in dems.items()}
            best = min(errors, key=lambda name: errors[name])
            print(f"{b}: failures of own memory " + ", ".join(f"{n} {e:.4f}" for n, e in errors.items()) + f"; take {best}", flush=True)
            answer[b] = dems[best]
        dev.submit_answer(answer)
        print("answer submitted", flush=True)


if __name__ == "__main__":
    main()
