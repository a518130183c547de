"""blackbox_lindblad_dynamics against closed forms, complete positivity, and qutip."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from qtypes import AgentError, Clock, Device, seeds
from qtypes.blackbox_lindblad_dynamics import QTYPE, Hidden, Profile, RunEvolution, RunReadoutCalibration, Setting
from qtypes.blackbox_lindblad_dynamics.physics import (
    STATES,
    family,
    hamiltonian_labels,
    operator,
    outcome_matrix,
    parity_rows,
    product_state,
    propagators,
    sampled,
    tangents,
)

PROFILE = Profile()
HIDDEN: Hidden = QTYPE.draw(seeds.generator(seeds.root_from(b"lindblad"), "device"), PROFILE)
DEVICE = Device(QTYPE.spec(HIDDEN, PROFILE), HIDDEN, PROFILE)
PAULI = dict(zip("IXYZ", np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]]), strict=True))
LOWER = np.array([[0, 1], [0, 0]], dtype=complex)


def rng(name: str) -> np.random.Generator:
    return seeds.generator(seeds.root_from(b"test"), name)


def coefficients(n: int = 3, **given: Any) -> np.ndarray:
    """`X` terms by label, or `down`, `up`, `same`, `bond` as `{index: value}`."""
    terms = family(n)
    x = np.zeros(len(terms.generators))
    parts = dict(zip(("h", "down", "up", "same", "bond"), terms.blocks, strict=True))
    for name, value in given.items():
        for k, v in value.items():
            x[parts[name]][terms.hamiltonian.index(k) if name == "h" else k] = v
    return x


def after(x: np.ndarray, state: str, t_us: float) -> dict[str, float]:
    """Expectation values by label."""
    n = len(state)
    r = expm(family(n).generator(x) * t_us) @ product_state(state)
    return {label: float(v) for label, v in zip(all_labels(n), r, strict=True)}


def all_labels(n: int) -> list[str]:
    return [""] if n == 0 else [a + rest for a in "IXYZ" for rest in all_labels(n - 1)]


def density(r: np.ndarray, n: int) -> np.ndarray:
    return sum(v * pauli(label) for v, label in zip(r, all_labels(n), strict=True)) / 2**n


def pauli(label: str) -> np.ndarray:
    return operator(len(label), {q: PAULI[c] for q, c in enumerate(label)})


def test_without_noise_the_evolution_is_unitary() -> None:
    x = HIDDEN.coefficients()
    x[len(HIDDEN.hamiltonian) :] = 0.0
    h = sum(c * pauli(label) for c, label in zip(HIDDEN.hamiltonian, hamiltonian_labels(3), strict=True))
    u = expm(-1j * h * 2.3)
    rho = u @ density(product_state("0+l"), 3) @ u.conj().T
    ours = after(x, "0+l", 2.3)
    assert [ours[label] for label in all_labels(3)] == pytest.approx([np.trace(pauli(a) @ rho).real for a in all_labels(3)], abs=1e-10)


def test_decay_and_excitation_are_exponentials_towards_their_balance() -> None:
    z = after(coefficients(down={1: 0.12}), "111", 3.0)
    assert (1 - z["IZI"]) / 2 == pytest.approx(np.exp(-0.12 * 3.0), abs=1e-12)
    assert z["ZII"] == pytest.approx(-1.0)
    both = coefficients(down={0: 0.1}, up={0: 0.04})
    end = (0.1 - 0.04) / 0.14
    assert after(both, "0++", 5.0)["ZII"] == pytest.approx(end + (1 - end) * np.exp(-0.14 * 5.0), abs=1e-12)


def test_t2_follows_from_the_rates_and_is_at_most_twice_t1() -> None:
    x = coefficients(down={2: 0.1}, up={2: 0.05}, same={2: 0.09})
    assert after(x, "00+", 4.0)["IIX"] == pytest.approx(np.exp(-(0.15 / 2 + 0.09) * 4.0), abs=1e-12)
    x = coefficients(down={2: 0.1}, up={2: 0.05})
    assert after(x, "00+", 4.0)["IIX"] == pytest.approx(np.exp(-0.15 / 2 * 4.0), abs=1e-12)


def test_a_detuned_qubit_precesses() -> None:
    seen = after(coefficients(h={"IZI": 0.7}), "0+0", 1.3)
    assert (seen["IXI"], seen["IYI"]) == pytest.approx((np.cos(2 * 0.7 * 1.3), np.sin(2 * 0.7 * 1.3)), abs=1e-12)


@pytest.mark.parametrize(("sign", "kept"), [(1, -1), (-1, 1)])
def test_fully_correlated_dephasing_leaves_one_two_qubit_coherence_alone(sign: int, kept: int) -> None:
    """|01><10| holds XX + YY, |00><11| holds XX - YY."""
    k = 0.2
    seen = after(coefficients(same={0: k, 1: k}, bond={0: sign * k}), "++0", 2.0)
    coherence = {1: seen["XXI"] - seen["YYI"], -1: seen["XXI"] + seen["YYI"]}
    assert coherence[kept] == pytest.approx(1.0, abs=1e-12)
    assert coherence[-kept] == pytest.approx(np.exp(-4 * k * 2.0), abs=1e-12)


def test_one_qubit_alone_does_not_see_the_correlation() -> None:
    local, shared = (coefficients(h={"XII": 0.4, "IZI": 0.6}, same={0: 0.1, 1: 0.12}, bond={0: b}) for b in (0.0, 0.09))
    one, two = after(local, "+r0", 2.0), after(shared, "+r0", 2.0)
    for label in ("XII", "YII", "ZII", "IXI", "IYI", "IZI"):
        assert one[label] == pytest.approx(two[label], abs=1e-12)
    assert max(abs(one[label] - two[label]) for label in all_labels(3)) > 0.05


def test_the_map_keeps_the_trace_and_is_completely_positive() -> None:
    for t in (0.05, 1.0, 6.0):
        s = expm(HIDDEN.generator() * t)
        assert s[0] == pytest.approx(np.eye(64)[0], abs=1e-12)
        basis = np.array([pauli(a) for a in all_labels(3)])
        choi = np.einsum("ab,aij,blk->ikjl", s, basis, basis).reshape(64, 64) / 8  # sum_ab s_ab P_a (x) P_b^T
        assert np.linalg.eigvalsh(choi)[0] > -1e-10
        assert np.linalg.eigvalsh(density(s @ product_state("+1r"), 3))[0] > -1e-10


def mesolve(n: int, hidden: Hidden, state: str, times: Sequence[float]) -> list[np.ndarray]:
    """Density matrices by qutip; K is diagonalised into jump operators, so nothing of the generator is shared."""
    qutip = pytest.importorskip("qutip")

    def q(matrix: np.ndarray) -> Any:
        return qutip.Qobj(matrix, dims=[[2] * n, [2] * n])

    h = q(sum(c * pauli(label) for c, label in zip(hidden.hamiltonian, hamiltonian_labels(n), strict=True)))
    jumps = [q(np.sqrt(g) * operator(n, {k: LOWER})) for k, g in enumerate(hidden.gamma_minus)]
    jumps += [q(np.sqrt(g) * operator(n, {k: LOWER.T})) for k, g in enumerate(hidden.gamma_plus) if g > 0]
    k = np.diag(hidden.dephasing) + np.diag(hidden.correlated, 1) + np.diag(hidden.correlated, -1)
    values, modes = np.linalg.eigh(k)
    for value, mode in zip(values, modes.T, strict=True):
        jumps.append(q(sum(np.sqrt(value / 2) * m * operator(n, {s: PAULI["Z"]}) for s, m in enumerate(mode))))
    jumps = [jump for jump in jumps if jump.norm() > 0]
    start = q(density(product_state(state), n))
    options = {"rtol": 1e-9, "atol": 1e-11, "nsteps": 100_000, "progress_bar": "", "store_states": True}
    return [s.full() for s in qutip.mesolve(h, start, [0.0, *times], jumps, options=options).states[1:]]


@pytest.mark.parametrize(("n", "state"), [(3, "0+r"), (4, "r1+-")])
def test_agrees_with_qutip(n: int, state: str) -> None:
    profile = Profile(qubits=n)
    hidden = QTYPE.draw(rng(f"qutip/{state}"), profile)
    times = (0.5, 2.0, 6.0) if n == 3 else (0.7,)
    ours = propagators(hidden.generator(), times)
    for t, theirs in zip(times, mesolve(n, hidden, state, times), strict=True):
        assert np.abs(density(ours[t] @ product_state(state), n) - theirs).max() < 1e-7


def test_tangents_are_the_derivatives_of_the_propagator() -> None:
    terms, x = family(3), HIDDEN.coefficients()
    value, slope = tangents(terms.generator(x), terms.generators, 2.7)
    assert np.abs(value - expm(terms.generator(x) * 2.7)).max() < 1e-10
    for k in (0, 13, 27, 31, 34, 37):
        d = np.zeros(len(x))
        d[k] = 1e-5
        numeric = (expm(terms.generator(x + d) * 2.7) - expm(terms.generator(x - d) * 2.7)) / 2e-5
        assert np.abs(slope[k] - numeric).max() < 1e-8


def test_tangents_exist_where_the_generator_has_no_eigenvectors() -> None:
    generator, direction = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[[0.0, 0.0], [1.0, 0.0]]])
    value, slope = tangents(generator, direction, 2.0)
    assert value == pytest.approx(np.array([[1.0, 2.0], [0.0, 1.0]]))
    assert slope[0] == pytest.approx(np.array([[2.0, 8 / 6], [2.0, 2.0]]))  # of cosh and sinh of sqrt(e) t


def test_propagators_of_unequal_steps_are_those_from_zero() -> None:
    times = (3.15, 0.0, 0.3, 0.35, 5.95)
    for t, s in propagators(HIDDEN.generator(), times).items():
        assert np.abs(s - expm(HIDDEN.generator() * t)).max() < 1e-11


def test_readings_of_a_product_state_are_those_of_each_qubit() -> None:
    a, b = (0.01, 0.02, 0.03), (0.1, 0.2, 0.3)
    p = outcome_matrix(a, b) @ product_state("1+0")[parity_rows("ZXZ")]
    each = [np.array([0.1, 0.9]), np.array([0.98, 0.02]), np.array([0.97, 0.03])]
    assert p == pytest.approx(np.kron(np.kron(each[0], each[1]), each[2]))
    assert (outcome_matrix(a, b) @ product_state("r+0")[parity_rows("XXX")]).reshape(2, 4).sum(axis=1) == pytest.approx(
        [0.5 * 0.99 + 0.5 * 0.1, 0.5 * 0.01 + 0.5 * 0.9]
    )


def test_sampling_follows_the_probabilities() -> None:
    p = rng("p").dirichlet(np.ones(8), 3)
    bits = sampled(rng("bits"), p, 50_000)
    share = np.array([np.bincount(row @ [4, 2, 1], minlength=8) for row in bits]) / 50_000
    assert np.abs(share - p).max() < 5 * 0.5 / np.sqrt(50_000)


def test_jobs_measure_what_they_are_told() -> None:
    bare = HIDDEN.model_copy(update={"false_1": (0.0,) * 3, "false_0": (0.0,) * 3})
    device = Device(DEVICE.spec, bare, PROFILE)
    rows = [(s, b) for s, b in zip(["01+", "-rl"], ["ZZX", "XYY"], strict=True)]
    request = RunEvolution(settings=tuple(Setting(state=s, t_us=0.0, basis=b) for s, b in rows), shots=50)
    bits = request.run(device, Clock(0.0), rng("job")).check().arrays["bits"].values
    assert bits.shape == (2, 50, 3)
    assert (bits == np.array([[0, 1, 0], [1, 0, 1]], dtype=np.uint8)[:, None]).all()
    request = RunEvolution(settings=(Setting(state="+1r", t_us=1.55, basis="XZY"),), shots=10_000)
    bits = request.run(device, Clock(0.0), rng("long")).arrays["bits"].values[0]
    expected = after(HIDDEN.coefficients(), "+1r", 1.55)
    signs = 1.0 - 2.0 * bits
    for label, on in (("XII", [0]), ("IZI", [1]), ("IIY", [2]), ("XZI", [0, 1]), ("XZY", [0, 1, 2])):
        assert signs[:, on].prod(axis=1).mean() == pytest.approx(expected[label], abs=5 / 100)


def test_readout_calibration_shows_the_readout_errors() -> None:
    bits = RunReadoutCalibration(states=("000", "111"), shots=25_000).run(DEVICE, Clock(0.0), rng("cal")).arrays["bits"].values
    assert bits[0].mean(axis=0) == pytest.approx(HIDDEN.false_1, abs=5 * 0.14 / np.sqrt(25_000))
    assert 1 - bits[1].mean(axis=0) == pytest.approx(HIDDEN.false_0, abs=5 * 0.2 / np.sqrt(25_000))


def test_costs_are_shots_and_their_durations() -> None:
    request = RunEvolution(settings=tuple(Setting(state="000", t_us=t, basis="ZZZ") for t in (0.35, 6.0)), shots=100)
    cost = request.cost().to_json()
    assert (cost["shots"], cost["evolution_us"], cost["jobs"]) == (200, 635.0, 1)
    assert cost["lab_s"] == pytest.approx(2 * 0.002 + 200 * 50e-6 + 635e-6)
    assert RunReadoutCalibration(states=("010",), shots=70).cost().to_json()["readout_shots"] == 70


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"t_us": 0.07}, "settings.0.t_us"),
        ({"state": "0000"}, "settings.0.state"),
        ({"basis": "XYZX"}, "settings.0.basis"),
        ({"shots": 10_000, "copies": 6}, "shots"),
    ],
)
def test_requests_that_do_not_fit_are_refused(changes: dict[str, Any], field: str) -> None:
    setting = {"state": "000", "t_us": 1.0, "basis": "ZZZ"} | {k: v for k, v in changes.items() if k in ("state", "t_us", "basis")}
    request = RunEvolution(settings=(Setting(**setting),) * changes.get("copies", 1), shots=changes.get("shots", 10))
    with pytest.raises(AgentError) as refused:
        request.admit(DEVICE.spec)
    assert refused.value.field == field


def test_drawn_devices_are_physical_and_hide_what_they_should() -> None:
    for k in range(50):
        h = QTYPE.draw(rng(f"draw/{k}"), PROFILE)
        matrix = np.diag(h.dephasing) + np.diag(h.correlated, 1) + np.diag(h.correlated, -1)
        assert np.linalg.eigvalsh(matrix)[0] > 0
        assert sum(c != 0 for c in h.correlated) == sum(g > 0 for g in h.gamma_plus) == 1
        assert max(map(abs, h.correlated)) >= 0.6 * 0.08
        fields, couplings = np.array(h.hamiltonian[:9]).reshape(3, 3), np.array(h.hamiltonian[9:]).reshape(2, 9)
        assert set((fields != 0).sum(axis=1)) <= {1, 2}
        assert set((couplings != 0).sum(axis=1)) == {1}
        assert max(map(abs, h.hamiltonian)) <= DEVICE.spec.coefficient_bound
    assert set(STATES) == set("01+-rl")


def test_the_notebook_holds_what_isolated_qubits_show() -> None:
    book = QTYPE.notebook(HIDDEN, rng("notebook"), PROFILE, dt.date(2026, 5, 17))
    times, rates = (e.data or {} for e in book.entries)
    relaxation = np.array(HIDDEN.gamma_minus) + np.array(HIDDEN.gamma_plus)
    assert np.abs(np.array(times["t1_us"]) * relaxation - 1).max() < 0.2
    assert np.abs(np.array(times["t2star_us"]) * (relaxation / 2 + np.array(HIDDEN.dephasing)) - 1).max() < 0.2
    assert rates["gamma_plus"] == [0.0] * 3
    assert rates["gamma_minus"] == pytest.approx(1 / np.array(times["t1_us"]), abs=2e-3)
