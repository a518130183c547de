"""transmon_repeater_array: published maps, limits, density matrices of qiskit, Pauli frames of stim, records, what is public."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import qtypes
from bench.repeater_vs_stim import circuit_of, histogram
from qtypes import AgentError, Clock, Device
from qtypes.transmon_repeater_array import (
    Hidden,
    Link,
    Profile,
    RunEndToEnd,
    RunLinkPairs,
    RunPurify,
    RunReadoutReference,
    physics,
    sampling,
)
from qtypes.transmon_repeater_array import protocol as p
from qtypes.transmon_repeater_array.protocol import Setting

QTYPE = qtypes.load("transmon_repeater_array")
PROFILE = Profile()
TODAY = dt.date(2026, 3, 1)
PLAIN = Setting(("XYZ",) * 4, "together", 2.0)
CLEAN: dict[str, Any] = {"shared": 0.0, "gate_error": (0.0,) * 4, "readout": (0.0,) * 4, "t2_us": (1e12,) * 4}
ROUGH: dict[str, Any] = {
    "links": (Link(x=0.02, y=0.05, z=0.12), Link(x=0.1, y=0.03, z=0.01), Link(x=0.0, y=0.06, z=0.07)),
    "gate_error": (0.06, 0.05, 0.08, 0.04), "readout": (0.03, 0.06, 0.04, 0.05), "t2_us": (40.0, 60.0, 50.0, 30.0),
}  # fmt: skip
ODD = Setting(("YZX", "ZXY", "XZY", "YZX"), "2-1", 4.0)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def device(seed: int = 1, **changes: object) -> Device:
    hidden = QTYPE.draw(rng(seed), PROFILE).model_copy(update=changes)
    return Device(QTYPE.spec(hidden, PROFILE), hidden, PROFILE)


def alone(x: float, y: float, z: float) -> Hidden:
    """A clean device on which only the first link errs."""
    good = Link(x=0.0, y=0.0, z=0.0)
    return device(links=(Link(x=x, y=y, z=z), good, good), **CLEAN).hidden


def arrays(request: Any, dev: Device, seed: int = 1) -> dict[str, np.ndarray]:
    request.admit(dev.spec)
    return {k: a.values for k, a in request.run(dev, Clock(0.0), rng(seed)).arrays.items()}


def agrees(counts: np.ndarray, exact: np.ndarray) -> bool:
    """Chi squared within five standard deviations."""
    expected = counts.sum() * exact
    chi2 = ((counts - expected) ** 2 / expected).sum()
    return bool(chi2 < counts.size - 1 + 5 * np.sqrt(2 * (counts.size - 1)))


# Published maps and limits


@pytest.mark.parametrize("fidelity", [0.55, 0.75, 0.95])
def test_werner_pairs_follow_bbpssw(fidelity: float) -> None:
    """Bennett et al. 1996: F' = (F^2 + w^2) / (F^2 + 2 F w + 5 w^2), w = (1 - F) / 3."""
    w = (1 - fidelity) / 3
    norm = fidelity**2 + 2 * fidelity * w + 5 * w**2
    for word in physics.CLASSES:
        found = p.delivered(alone(w, w, w), Setting((word,) * 4, "together", 2.0))
        assert found == pytest.approx(((fidelity**2 + w**2) / norm, norm), abs=1e-9)


@pytest.mark.parametrize("rounds", [1, 2])
def test_bell_diagonal_pairs_follow_dejmps(rounds: int) -> None:
    """Deutsch et al. 1996, in their order Phi+, Psi-, Psi+, Phi-; their rotation is the class that exchanges Y and Z."""
    a, b, c, d = 0.7, 0.05, 0.1, 0.15
    setting = Setting(("XZY",) * 4, "together", 2.0, rounds)
    hidden, norms = alone(c, b, d), []
    for _ in range(rounds):
        norm = (a + b) ** 2 + (c + d) ** 2
        a, b, c, d = (a * a + b * b) / norm, 2 * c * d / norm, (c * c + d * d) / norm, 2 * a * b / norm
        norms.append(norm)
    rate = norms[0] if rounds == 1 else norms[0] ** 2 * norms[1] / 2  # two pairs, then one of them
    assert p.delivered(hidden, setting) == pytest.approx((a, rate), abs=1e-9)
    out = p.purified(hidden, setting)[(0,) * (2 * rounds - 1)]
    np.testing.assert_allclose(out / out.sum(), [a, c, d, b], atol=1e-9)


def test_swapping_multiplies_the_contrasts_of_the_links() -> None:
    """XX, YY and ZZ of a chain are the products of those of its links."""
    hidden = device(3).hidden.model_copy(update=CLEAN)
    signs = np.array([[1 - 2 * ((e & f).bit_count() & 1) for e in range(4)] for f in range(4)])
    chain = signs @ p.raw_vector(hidden, PLAIN)
    np.testing.assert_allclose(chain, np.prod([signs @ link.vector() for link in hidden.links], axis=0), atol=1e-9)


def test_a_common_error_passes_every_check() -> None:
    """Pairs that err alike are not improved: fidelity stays, all are accepted."""
    hidden = alone(0.05, 0.03, 0.1).model_copy(update={"shared": 1.0, "correlation_us": 1e12})
    for word in physics.CLASSES:
        fidelity, rate = p.delivered(hidden, Setting((word,) * 4, "together", 2.0))
        undetected = {"X": 0.05, "Y": 0.03, "Z": 0.1}["XYZ"[word.index("Z")]]
        assert rate == pytest.approx(1.0)
        assert fidelity == pytest.approx(0.82 + undetected)  # two equal errors that the check misses cancel


def test_the_blind_axis_of_a_class_is_what_it_takes_to_z() -> None:
    for word in physics.CLASSES:
        for k, axis in enumerate("XYZ"):
            hidden = alone(**{a: 0.1 * (a == axis.lower()) for a in "xyz"})
            _, rate = p.delivered(hidden, Setting((word,) * 4, "together", 2.0))
            assert rate == pytest.approx(1.0 if word[k] == "Z" else 0.82)


def test_rules_split_the_attempts() -> None:
    hidden = device(2).hidden
    rates = {r: p.delivered(hidden, Setting(("ZYX",) * 4, "together", 8.0, 1, r))[1] for r in ("even", "odd", "all")}
    assert rates["even"] + rates["odd"] == pytest.approx(1.0)
    assert rates["all"] == pytest.approx(1.0)


def test_pairs_of_a_link_share_their_source_as_stated() -> None:
    vector = physics.link_vector(0.02, 0.05, 0.12)
    joint = physics.link_joint(vector, 0.6, 5.0, [0.0, 3.0, 7.0])
    assert joint.sum() == pytest.approx(1.0)
    for pair, dt_us in (((0, 1), 3.0), ((1, 2), 4.0), ((0, 2), 7.0)):
        two = joint.sum(axis=next(k for k in range(3) if k not in pair))
        k = 0.6 * np.exp(-dt_us / 5.0)
        np.testing.assert_allclose(two, (1 - k) * np.outer(vector, vector) + k * np.diag(vector), atol=1e-14)


def test_waiting_turns_a_pair_into_a_mixture_with_z() -> None:
    hidden = device(**CLEAN | {"t2_us": (200.0, 1e12, 1e12, 300.0)}, links=(Link(x=0, y=0, z=0),) * 3).hidden
    vector = p.raw_vector(hidden, PLAIN, 50.0 - p.BELL_US)
    assert vector[2] == pytest.approx((1 - np.exp(-50 / 200 - 50 / 300)) / 2, abs=1e-9)


def test_swapping_one_after_the_other_only_costs_coherence() -> None:
    hidden = device(5).hidden
    best = p.raw_vector(hidden, PLAIN)[0]
    assert all(p.raw_vector(hidden, Setting(PLAIN.cliffords, order, 2.0))[0] < best for order in ("1-2", "2-1"))


# Cross-checks


@pytest.mark.parametrize("word", ["XYZ", "ZYX", "YZX"])
def test_a_check_agrees_with_the_density_matrix_of_four_qubits(word: str) -> None:
    """Two pairs with joint errors, the class and its conjugate, noisy CNOTs, projection of the check: qiskit, to 1e-12."""
    from qiskit.quantum_info import Clifford, DensityMatrix, Kraus, Operator, Pauli, random_clifford

    unitary = next(
        c.to_operator().data for c in (random_clifford(1, seed=s) for s in range(200))
        if all(Pauli(a).evolve(Clifford(c), frame="s").to_label()[-1] == b for a, b in zip("XYZ", word, strict=True))
    )  # fmt: skip
    joint = rng(3).dirichlet(np.ones(16)).reshape(4, 4)
    error = 0.07
    label = {0: "I", 1: "X", 2: "Z", 3: "Y"}
    phi = np.array([1, 0, 0, 1]) / np.sqrt(2)
    start = DensityMatrix(np.kron(phi, phi))  # qubits 1, 0: kept pair is (0, 1), checked pair (2, 3)
    rho = sum(joint[a, b] * start.evolve(Pauli(label[b]), [3]).evolve(Pauli(label[a]), [1]).data for a in range(4) for b in range(4))
    state = DensityMatrix(rho)
    for q in range(4):
        state = state.evolve(Operator(unitary if q % 2 == 0 else unitary.conj()), [q])
    # up to a Pauli on each pair, which the controller knows: take it out
    known = start
    for q in range(4):
        known = known.evolve(Operator(unitary if q % 2 == 0 else unitary.conj()), [q])
    fix = next(Pauli(s) for s in "IXZY" if abs((known.evolve(Pauli(s), [1]).evolve(Pauli(s), [3]).data @ start.data).trace() - 1) < 1e-9)
    state = state.evolve(fix, [1]).evolve(fix, [3])
    cnot = Operator(np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]))
    paulis = [Pauli(label[d] + label[c]) for c in range(4) for d in range(4)]
    noise = Kraus([np.sqrt(1 - error if k == 0 else error / 15) * q.to_matrix() for k, q in enumerate(paulis)])
    for end in (0, 1):
        state = state.evolve(cnot, [end, end + 2]).evolve(noise, [end, end + 2])
    found = np.zeros((2, 4))
    for e in range(4):
        vector = np.kron(Pauli(label[e]).to_matrix(), np.eye(2)) @ phi
        for m in range(4):
            check = np.zeros(4)
            check[m] = 1
            ket = np.kron(check, vector)
            found[(m & 1) ^ (m >> 1), e] += (ket.conj() @ state.data @ ket).real
    gate = physics.composed(physics.depolarising(error), physics.depolarising(error))
    np.testing.assert_allclose(found, physics.checked(physics.rotated(joint, physics.image(word)), gate, 0.0), atol=1e-12)


@pytest.mark.parametrize("setting", [ODD, Setting(("ZYX", "YXZ", "XYZ", "ZYX"), "1-2", 6.0), PLAIN], ids=["turned", "mixed", "plain"])
def test_the_exact_sums_agree_with_a_stim_circuit(setting: Setting) -> None:
    """Twelve qubits with feed-forward, common errors included; errors large enough that each of them shows."""
    hidden = device(7, **ROUGH).hidden
    counts = histogram(circuit_of(hidden, setting).compile_sampler(seed=5).sample(200_000))
    assert agrees(counts, p.purified(hidden, setting))


@pytest.mark.parametrize("setting", [ODD, Setting(("ZYX", "YXZ", "XYZ", "ZYX"), "1-2", 6.0, 2, "all")], ids=["one round", "two rounds"])
def test_sampled_frames_agree_with_the_exact_sums(setting: Setting) -> None:
    hidden = device(7, **ROUGH).hidden
    parities, left = sampling.purified(rng(4), hidden, setting, 200_000)
    exact = p.purified(hidden, setting)
    counts = np.zeros(exact.shape)
    np.add.at(counts, (*parities.T, left), 1)
    assert agrees(counts.ravel(), exact.ravel())


# Records


def parity(bits: np.ndarray, basis: str) -> np.ndarray:
    return 1 - 2.0 * (bits[..., 0] ^ bits[..., 1] ^ (basis == "YY"))


@pytest.mark.parametrize("basis", ["XX", "YY", "ZZ"])
def test_link_pairs_show_the_errors_that_anticommute(basis: str) -> None:
    dev = device(2)
    h, shots = dev.hidden, 40_000
    link = h.links[1]
    hit = {"XX": link.y + link.z, "YY": link.x + link.z, "ZZ": link.x + link.y}[basis]
    seen = parity(arrays(RunLinkPairs(link=1, basis=basis, slot_separation_us=60.0, shots=shots), dev)["bits"], basis)
    scale = (1 - 2 * h.readout[1]) * (1 - 2 * h.readout[2])
    assert seen.mean() == pytest.approx((1 - 2 * hit) * scale, abs=5 / np.sqrt(2 * shots) * 0.4)
    held = parity(arrays(RunLinkPairs(link=1, basis=basis, slot_separation_us=2.0, hold_us=60.0, shots=shots), dev)["bits"], basis)
    keep = 1.0 if basis == "ZZ" else np.exp(-60 / h.t2_us[1] - 60 / h.t2_us[2])
    assert held.mean() == pytest.approx((1 - 2 * hit) * scale * keep, abs=0.02)
    common = np.cov(held.T)[0, 1] / (scale * keep) ** 2 / (1 - (1 - 2 * hit) ** 2) if hit > 0.02 else None
    assert common is None or common == pytest.approx(h.shared * np.exp(-2 / h.correlation_us), abs=0.1)


def test_purified_records_have_the_exact_fidelity_and_yield() -> None:
    dev, shots = device(4), 40_000
    h, total, taken = dev.hidden, 1.0, 0
    setting = Setting(("ZYX", "YXZ", "YXZ", "ZYX"), "together", 14.0)
    for k, basis in enumerate(("XX", "YY", "ZZ")):
        request = RunPurify(local_cliffords=setting.cliffords, swap_order="together", slot_separation_us=14.0, rounds=1,
                            accept_rule="even", basis=basis, shots=shots)  # fmt: skip
        r = arrays(request, dev, k)
        keep = r["accepted"].astype(bool)
        assert (keep == (r["check"][:, 0, 0] == r["check"][:, 0, 1])).all()
        taken += keep.sum()
        total += parity(r["final"][keep], basis).mean() / ((1 - 2 * h.readout[0]) * (1 - 2 * h.readout[3]))
    assert (total / 4, taken / (3 * shots)) == pytest.approx(p.delivered(h, setting), abs=0.006)


def test_end_to_end_pairs_have_the_swapped_vector() -> None:
    dev = device(4)
    setting = Setting(("YZX", "XYZ", "ZXY", "YZX"), "2-1", 0.0)
    vector = physics.rotated(p.raw_vector(dev.hidden, setting, 30.0), physics.image("YZX"))
    request = RunEndToEnd(local_cliffords=setting.cliffords, swap_order="2-1", basis="YY", hold_us=30.0, shots=40_000)
    h = dev.hidden
    expected = (1 - 2 * (vector[1] + vector[2])) * (1 - 2 * h.readout[0]) * (1 - 2 * h.readout[3])
    assert parity(arrays(request, dev)["bits"], "YY").mean() == pytest.approx(expected, abs=0.02)


def test_references_show_the_readout_of_each_node() -> None:
    dev = device()
    bits = arrays(RunReadoutReference(shots=50_000), dev)["bits"]
    np.testing.assert_allclose((bits ^ np.array([0, 1])[:, None, None]).mean(axis=(0, 1)), dev.hidden.readout, atol=2e-3)


# Draws, what is public, requests


def test_devices_have_a_phase_like_first_link_and_at_most_two_axes() -> None:
    for seed in range(60):
        h = QTYPE.draw(rng(seed), PROFILE)
        axes = [max("xyz", key=lambda a, k=link: getattr(k, a)) for link in h.links]
        assert axes[0] == "z"
        assert len(set(axes)) <= 2
        assert all(0.035 <= link.x + link.y + link.z <= 0.041 for link in h.links)


def test_the_notebook_saw_bit_flips_only() -> None:
    h = device(6).hidden
    flips, default = (e.data for e in QTYPE.notebook(h, rng(2), PROFILE, TODAY).entries)
    assert flips
    assert default
    np.testing.assert_allclose(flips["bit_flips"], [link.x + link.y for link in h.links], atol=0.012)
    RunPurify.model_validate_json(RunPurify(**{k: tuple(v) if isinstance(v, list) else v for k, v in default.items()}, basis="XX",
                                            shots=1).model_dump_json())  # fmt: skip


def test_requests_outside_the_device_are_refused() -> None:
    spec = device().spec
    base: dict[str, Any] = {"swap_order": "together", "rounds": 1, "accept_rule": "even", "basis": "XX", "shots": 1}
    for request in (
        RunLinkPairs(link=0, basis="XX", slot_separation_us=3.0, shots=1),
        RunEndToEnd(local_cliffords=("XYZ", "XYZ", "XYZ", "ZYX"), basis="XX", shots=1),
        RunPurify(local_cliffords=("XYZ", "XYZ", "XYZ", "ZYX"), slot_separation_us=4.0, **base),
        RunPurify(local_cliffords=("XYZ",) * 4, slot_separation_us=5.0, **base),
    ):
        with pytest.raises(AgentError):
            request.admit(spec)  # type: ignore[attr-defined]
    with pytest.raises(ValidationError):
        RunPurify(local_cliffords=("XXZ",) * 4, slot_separation_us=4.0, **base)


def test_raw_pairs_are_what_is_charged() -> None:
    protocol: dict[str, Any] = {
        "local_cliffords": ("XYZ",) * 4, "swap_order": "together", "slot_separation_us": 2.0, "accept_rule": "even", "basis": "XX",
    }  # fmt: skip
    charged = [RunPurify(rounds=r, shots=100, **protocol).cost().amounts["pairs"] for r in (1, 2)]
    assert charged == [600, 1200]
    assert RunLinkPairs(link=0, basis="XX", slot_separation_us=2.0, shots=100).cost().amounts["pairs"] == 200
    assert RunEndToEnd(basis="XX", shots=100).cost().amounts["pairs"] == 300


def test_the_spec_is_the_same_for_all_devices() -> None:
    assert device(1).spec == device(2).spec
