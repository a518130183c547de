"""Finding bursts in detection events: a bank of templates, a mixture of them, and the linear gate that tells them apart.

A template is a region and an onset. Its detection rates come from the circuit with all rates in the region multiplied. Given the template,
detection events are taken as independent Bernoulli variables; they are not (most errors flip two detectors), so the log-likelihood
counts everything about twice and is tempered by one half.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import stim
from memory_fit import Memory, Rates, dress

TEMPER = 0.5
FACTOR = 16.0
RADIUS = 1.2
CYCLES = 8
CAP = 0.4
PROBE_ROUNDS = 5
STEPS = 6
FIRST_SHARE = 0.1
Site = tuple[float, float]


@dataclass(frozen=True)
class Template:
    """A burst around `centre` from cycle `onset` on."""

    centre: Site
    onset: int

    @property
    def name(self) -> str:
        return f"burst at {self.centre[0]:g}, {self.centre[1]:g} from cycle {self.onset}"

    def on(self, cycle: int) -> bool:
        return self.onset <= cycle < self.onset + CYCLES


def raised(rates: Rates, centre: Site, sites: dict[int, Site]) -> Rates:
    """Rates inside of a burst: those of all operations that touch a qubit of its region are multiplied."""
    near = {q for q, (r, c) in sites.items() if math.hypot(r - centre[0], c - centre[1]) <= RADIUS}
    out = Rates()
    for kind, table in rates.table.items():
        for target, p in table.items():
            hit = near.intersection(target if isinstance(target, tuple) else (target,))
            out.table[kind][target] = max(p, min(p * FACTOR, CAP)) if hit else p
    return out


def marginals(circuit: stim.Circuit, rates: Rates) -> np.ndarray:
    """Detection rates of independent errors, `(n_detectors,)`."""
    found = Memory(circuit, 0).strengths(rates)
    return np.array([-0.5 * np.expm1(-2 * found.get((d,), 0.0)) for d in range(circuit.num_detectors)])


class Bank:
    """Odds ratios of every detector for every template: `gain[k, d]` multiplies the t = -log(1 - 2 p) / 2 of detector d."""

    def __init__(self, circuit: stim.Circuit, short: stim.Circuit, rates: Rates, sites: dict[int, Site], templates: list[Template]) -> None:
        self.templates = templates
        where = circuit.get_detector_coordinates()
        place = [tuple(where[d][:2]) for d in range(circuit.num_detectors)]
        time = np.array([where[d][2] for d in range(circuit.num_detectors)])
        middle = {tuple(c[:2]): d for d, c in short.get_detector_coordinates().items() if c[2] == PROBE_ROUNDS // 2}
        quiet = marginals(short, rates)
        in_region: dict[Site, np.ndarray] = {}
        for centre in {t.centre for t in templates}:
            loud = marginals(short, raised(rates, centre, sites))
            ratio = np.log1p(-2 * loud) / np.log1p(-2 * quiet)
            in_region[centre] = np.array([ratio[middle[p]] for p in place])
        rows = []
        for t in templates:
            # A detector compares two cycles; the first and last one of a burst see half of it.
            share = np.clip(np.minimum(time - t.onset + 0.5, t.onset + CYCLES - time + 0.5), 0, 1)
            rows.append(1 + share * (in_region[t.centre] - 1))
        self.gain = np.array(rows)


@dataclass
class Gate:
    """Row k of `weights` `(n_templates, n_detectors)` and of `bias`: tempered log of the odds of template k against no burst."""

    templates: list[Template]
    weights: np.ndarray
    bias: np.ndarray

    def route(self, detections: np.ndarray) -> np.ndarray:
        """0 for no burst, k + 1 for template k; `detections` `(n_shots, n_detectors)` bool."""
        out = np.empty(len(detections), dtype=np.int64)
        for k in range(0, len(detections), 20_000):
            value = detections[k : k + 20_000].astype(np.float32) @ self.weights.T.astype(np.float32) + self.bias
            best = value.argmax(axis=1)
            out[k : k + 20_000] = np.where(value[np.arange(len(value)), best] > 0, best + 1, 0)
        return out


def _log_odds(gain: np.ndarray, quiet: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each detection event and the constant, for every template against quiet rates `(n_detectors,)`."""
    t = -0.5 * np.log1p(-2 * quiet)
    loud = np.clip(-0.5 * np.expm1(-2 * t * gain), 1e-5, 0.45)
    weights = TEMPER * (np.log(loud / (1 - loud)) - np.log(quiet / (1 - quiet)))
    return weights, TEMPER * np.log((1 - loud) / (1 - quiet)).sum(axis=1)


def learn(bank: Bank, detections: np.ndarray, keep: int) -> tuple[Gate, np.ndarray]:
    """Weights of the templates and detection rates without burst by expectation maximisation; the gate of the `keep` heaviest templates.

    Also returns the share of shots of each of these.
    """
    x = detections.astype(np.float32)
    quiet = np.clip(x.mean(axis=0), 1e-4, 0.4).astype(float)
    share = np.full(len(bank.templates), FIRST_SHARE / len(bank.templates))
    for _ in range(STEPS):
        weights, bias = _log_odds(bank.gain, quiet)
        odds = np.exp(np.minimum(x @ weights.T.astype(np.float32) + bias + np.log(share / (1 - share.sum())), 50))
        none = 1 / (1 + odds.sum(axis=1))
        share = np.maximum((odds * none[:, None]).mean(axis=0), 1e-7)
        quiet = np.clip(none @ x / none.sum(), 1e-4, 0.4).astype(float)
    heaviest = np.sort(np.argsort(-share)[:keep])
    weights, bias = _log_odds(bank.gain[heaviest], quiet)
    bias += np.log(share[heaviest] / (1 - share.sum()))
    return Gate([bank.templates[k] for k in heaviest], weights, bias), share[heaviest]


def burst_circuit(circuit: stim.Circuit, rates: Rates, template: Template, sites: dict[int, Site]) -> stim.Circuit:
    """The noisy circuit of a shot with this burst."""
    loud = raised(rates, template.centre, sites)
    return dress(circuit, lambda k: loud if template.on(k) else rates)
