"""The device: public specification, hidden state, how a fresh one is drawn, and what its previous operator wrote down."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np

from qtypes.blackbox_boundedgate_circuit.circuit import Circuit, CliffordLayer, PullThrough, Rotation, pull_through
from qtypes.blackbox_boundedgate_circuit.polynomials import Polynomials, TooManyTerms, correlations, pairs
from qtypes.blackbox_boundedgate_circuit.words import Word
from qtypes.contract import Notebook, NotebookEntry, Part, quantity
from qtypes.errors import TaskError

N_QUBITS = 60
N_INPUTS = 6
N_LAYERS = 8
N_CLUSTERS = 3
ROTATIONS_PER_INPUT = 3
N_ROTATIONS = N_INPUTS * ROTATIONS_PER_INPUT
PAIR_GATE_PROBABILITY = 0.5
SINGLE_GATE_PROBABILITY = 0.10

# A drawn circuit is kept when its correlations are neither trivial nor out of reach of a sparse surrogate.
MIN_ROTATIONS_USED = 16
VARYING_FRACTION = (0.08, 0.35)
MIN_HIGH_ORDER_RMS = 0.04
MAX_MONOMIALS = 64
MAX_FEATURES = 100
MAX_ACTIVE_QUBITS = 14
MAX_DRAWS = 2000


class Profile(Part):
    """What a task may set."""

    held_out_inputs: int = quantity("1", "number of held-out input vectors, uniform on the torus", ge=1, le=1000, default=40)


class Spec(Part):
    """What the agent may know."""

    n_qubits: int = quantity("1", "number of qubits; qubit q is character q of every bit and basis string")
    n_inputs: int = quantity("1", "number of classical inputs x_1..x_6")
    input_range_rad: tuple[float, float] = quantity("rad", "range of each input")
    n_rotations: int = quantity("1", "number of one-qubit rotations in the circuit")
    rotations_per_input: int = quantity("1", "each input drives exactly this many rotations")
    angle_law: str = quantity("1", "how an input sets the angle of a rotation")
    circuit: str = quantity("1", "what is known of the circuit")
    initial_state: str = quantity("1", "state before the circuit")
    readout: str = quantity("1", "model class of the readout errors")
    max_shots_per_job: int = quantity("1", "limit on settings times shots of one job")
    held_out_inputs: int = quantity("1", "number of committed held-out input vectors, revealed by lock_and_reveal")


class Hidden(Part):
    """The device itself."""

    circuit: Circuit
    p1_given_0: tuple[float, ...] = quantity("1", "probability to read 1 from a qubit in |0>, per qubit", min_length=1, max_length=N_QUBITS)
    p0_given_1: tuple[float, ...] = quantity("1", "probability to read 0 from a qubit in |1>, per qubit", min_length=1, max_length=N_QUBITS)


def draw_circuit(
    rng: np.random.Generator,
    n_qubits: int = N_QUBITS,
    n_layers: int = N_LAYERS,
    n_clusters: int = N_CLUSTERS,
    n_rotations: int = N_ROTATIONS,
    pair_probability: float = PAIR_GATE_PROBABILITY,
) -> Circuit | None:
    """One random circuit before any selection; None where a cluster of rotations finds no place.

    Rotations come in `n_clusters` clusters around different sites of the ring. Successive rotations of a cluster are placed so that, pulled
    back through the Clifford gates, they do not commute: otherwise most of them would never meet in one observable.
    """
    per_cluster = n_rotations // n_clusters
    stride = n_qubits // n_clusters
    centres = (np.arange(n_clusters) * stride + rng.integers(0, stride, size=n_clusters)) % n_qubits
    slots = [np.sort(rng.choice(n_layers, size=per_cluster, replace=per_cluster > n_layers)) for _ in range(n_clusters)]
    inputs = rng.permutation(np.arange(n_rotations) % N_INPUTS)
    signs = rng.choice([-1, 1], size=n_rotations)
    frame = PullThrough(n_qubits)
    layers: list[CliffordLayer] = []
    rotations: list[Rotation] = []
    previous: list[Word | None] = [None] * n_clusters
    for layer in range(n_layers):
        layers.append(_draw_layer(rng, n_qubits, layer % 2, pair_probability))
        frame.append(layers[-1])
        for cluster in range(n_clusters):
            for _ in range(int(np.count_nonzero(slots[cluster] == layer))):
                placed = _place(rng, frame, int(centres[cluster]), previous[cluster])
                if placed is None:
                    return None
                site, axis, previous[cluster] = placed
                k = len(rotations)
                rotations.append(Rotation(layer=layer, site=site, axis=axis, input=int(inputs[k]), sign=int(signs[k])))
    return Circuit(n_qubits=n_qubits, layers=tuple(layers), rotations=tuple(rotations))


def _draw_layer(rng: np.random.Generator, n_qubits: int, offset: int, pair_probability: float) -> CliffordLayer:
    letters = np.array(list("HSV"))[rng.integers(0, 3, size=n_qubits)]
    singles = "".join(np.where(rng.random(n_qubits) < SINGLE_GATE_PROBABILITY, letters, "I"))
    gates = []
    for left in range(offset, n_qubits - n_qubits % 2, 2):
        if rng.random() < pair_probability:
            ends = (left, (left + 1) % n_qubits)
            kind = "CX" if rng.random() < 2 / 3 else "CZ"
            control, target = ends if rng.random() < 0.5 else ends[::-1]
            gates.append((kind, control, target))
    return CliffordLayer(singles=singles, pairs=tuple(gates))


def _place(rng: np.random.Generator, frame: PullThrough, centre: int, previous: Word | None) -> tuple[int, str, Word] | None:
    """A site next to the centre and an axis whose pulled-back operator does not commute with the previous one of the cluster."""
    options = [((centre + step) % frame.n_qubits, axis) for step in (0, 1, -1) for axis in "XYZ"]
    for k in rng.permutation(len(options)):
        site, axis = options[k]
        word = frame.back(site, axis)
        if (word.x != 0) if previous is None else not word.commutes(previous):
            return site, axis, word
    return None


def acceptable(polynomials: Polynomials, active_qubits: int, rng: np.random.Generator) -> bool:
    """Whether a drawn circuit makes a fair task; `rng` draws the inputs at which the weight of high-order monomials is measured."""
    varying = polynomials.varying
    if (
        active_qubits > MAX_ACTIVE_QUBITS
        or polynomials.rotations_used < MIN_ROTATIONS_USED
        or not VARYING_FRACTION[0] <= varying.mean() <= VARYING_FRACTION[1]
        or polynomials.monomials_per_pair.max() > MAX_MONOMIALS
    ):
        return False
    x = rng.uniform(-math.pi, math.pi, size=(200, N_INPUTS))
    missing = polynomials.evaluate(x) - polynomials.evaluate(x, max_factors=2)
    if math.sqrt((missing**2).mean()) < MIN_HIGH_ORDER_RMS:
        return False
    rich = np.flatnonzero(polynomials.monomials_per_pair > 1)  # one monomial has at most two waves per input: 64 features
    return all(len(polynomials.fourier(int(p))) <= MAX_FEATURES for p in rich)


def draw(rng: np.random.Generator) -> Hidden:
    """A fresh device."""
    for _ in range(MAX_DRAWS):
        circuit = draw_circuit(rng)
        if circuit is None:
            continue
        try:
            frame = pull_through(circuit)
            polynomials = correlations(circuit, frame)
        except TooManyTerms:
            continue
        if acceptable(polynomials, frame.dim, rng):
            return Hidden(
                circuit=circuit,
                p1_given_0=tuple(float(p) for p in rng.uniform(0.003, 0.02, N_QUBITS)),
                p0_given_1=tuple(float(p) for p in rng.uniform(0.01, 0.04, N_QUBITS)),
            )
    raise TaskError("no acceptable bounded-gate circuit among the drawn ones")


def held_out(rng: np.random.Generator, count: int) -> dict[str, Any]:
    """The challenge: `x_test`, (count, 6) inputs in rad, uniform on the torus."""
    return {"x_test": rng.uniform(-math.pi, math.pi, size=(count, N_INPUTS)).tolist()}


def notebook(hidden: Hidden, rng: np.random.Generator, today: dt.date) -> Notebook:
    """Commissioning, last month's readout table, repairs since then, and one-input scans with the operator's opinion."""

    def entry(days: int, author: str, title: str, text: str, data: dict[str, Any] | None = None) -> NotebookEntry:
        return NotebookEntry(date=today - dt.timedelta(days=days), author=author, title=title, text=text, data=data)

    table = {name: _stale(np.array(getattr(hidden, name)), rng) for name in ("p1_given_0", "p0_given_1")}
    return Notebook(
        entries=(
            entry(
                74, "K. Lindqvist", "Commissioning",
                "All 60 qubits answer. The vendor's compiler keeps the circuit to itself; from our side there are six knobs x_1..x_6 "
                "and a basis string. Repeating one setting a week later gave the same statistics within shot noise, so the circuit "
                "itself does not wander.",
            ),
            entry(
                33, "K. Lindqvist", "Readout table",
                "Assignment errors per qubit from 100 000 shots each of all-zero and all-one preparation. Correlations between qubits "
                "in the readout: none seen at the 1e-4 level.",
                table,
            ),
            entry(
                19, "M. Oduya", "Feedline repair",
                "Two parametric amplifiers swapped after the cryostat came back up; resonator drive powers re-tuned where the signal "
                "looked weak. Everything reads out again.",
            ),
            entry(
                6, "M. Oduya", "Input scans",
                "Scanned one input at a time over the full circle with the other five at 0 and looked at a handful of correlations. "
                "All of them look smooth. A fit with 1, cos x, sin x, cos 2x, sin 2x goes through the points; I think degree 2 in the "
                "inputs is enough for everything we need.",
                {"scans": _scans(hidden, rng)},
            ),
        )
    )  # fmt: skip


def _stale(now: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Last month's error probabilities: a few per cent from today's, but half of the qubits off by a factor 1.4 to 2 either way."""
    moved = rng.random(len(now)) < 0.5
    far = 2.0 ** (rng.choice([-1, 1], len(now)) * rng.uniform(0.5, 1, len(now)))
    factor = np.where(moved, far, rng.uniform(0.95, 1.05, len(now)))
    return [round(float(p), 5) for p in now * factor]


def _scans(hidden: Hidden, rng: np.random.Generator) -> list[dict[str, Any]]:
    """For each input, a pair that a degree-2 fit describes well while the other inputs rest at 0, and the rms residual of the fit."""
    polynomials = correlations(hidden.circuit)
    first, second = pairs(hidden.circuit.n_qubits)
    angle = np.linspace(-math.pi, math.pi, 24, endpoint=False)
    basis = np.stack([np.ones_like(angle)] + [f(k * angle) for k in (1, 2) for f in (np.cos, np.sin)], axis=1)
    entries = []
    for k in range(N_INPUTS):
        x = np.zeros((len(angle), N_INPUTS))
        x[:, k] = angle
        curves = polynomials.evaluate(x)
        curves = curves + rng.normal(0, 0.005, curves.shape)  # 40 000 shots per point
        residual = np.sqrt(((curves - basis @ np.linalg.lstsq(basis, curves, rcond=None)[0]) ** 2).mean(axis=0))
        swing = curves.std(axis=0)
        chosen = int(np.argmax(np.where(residual < 0.01, swing, -1.0)))
        entries.append(
            {
                "input": k + 1,
                "pair": [int(first[chosen]), int(second[chosen])],
                "swing_rms": round(float(swing[chosen]), 3),
                "fit_residual_rms": round(float(residual[chosen]), 4),
            }
        )
    return entries
