"""stabilizer_codes: the fault oracle against the plain one, weights on a state, the three oracles."""

from __future__ import annotations

import numpy as np
import pytest
import stim

from qtypes.stabilizer_codes import baseline, blocks, codes, faults, gf2, oracles
from qtypes.stabilizer_codes.circuits import Circuit, Gate, condensed, parse
from qtypes.stabilizer_codes.reduction import Reducer, Verdict
from tests.stabilizer import plain
from tests.stabilizer.circuits import measurement, random_circuit, with_all_measured


def compare(seed: int) -> int:
    """Plain and fast oracle on one random circuit; returns the number of dangerous faults, so that a caller sees that there were some."""
    rng = np.random.default_rng(seed)
    n, t = int(rng.integers(2, 7)), int(rng.integers(0, 3))
    circuit = random_circuit(rng, n, int(rng.integers(1, 14)), int(rng.integers(0, 3)))
    for ancillas in (False, True):
        found = faults.published_sweep(circuit, t, ancillas=ancillas)
        assert (found.total, found.dangerous, found.undetected) == plain.published(circuit, t, ancillas=ancillas), seed
    found = faults.corrected_sweep(circuit, t)
    assert found.exact
    assert (found.total, found.dangerous, found.undetected) == plain.corrected(circuit, t), seed
    return found.dangerous


def test_fast_and_plain_oracle_agree_on_100_random_circuits() -> None:
    assert sum(compare(seed) > 0 for seed in range(100)) > 50


@pytest.mark.slow
def test_fast_and_plain_oracle_agree_on_2000_random_circuits() -> None:
    assert sum(compare(seed) > 0 for seed in range(100, 2100)) > 1000


def test_the_published_counts_agree_on_a_whole_code_with_flags() -> None:
    code = codes.load("steane")
    circuit = with_all_measured(code, baseline.circuit_of(code))
    for ancillas in (False, True):
        found = faults.published_sweep(circuit, 1, ancillas=ancillas)
        assert (found.total, found.dangerous, found.undetected) == plain.published(circuit, 1, ancillas=ancillas)


def brute_weight(error: int, group: list[int], n: int) -> int:
    members = [0]
    for g in group:
        members += [m ^ g for m in members]
    return min(gf2.weight(error ^ m, n) for m in members)


def random_state(rng: np.random.Generator, n: int) -> list[int]:
    return faults.prepared_group(random_circuit(rng, n, 8 * n, 0))


def test_reduced_weights_are_the_least_over_the_whole_group() -> None:
    rng = np.random.default_rng(8)
    seen = set()
    for n in (4, 6, 9):
        group = random_state(rng, n)
        for t in (0, 1, 2, 3):
            reducer = Reducer(group, n, t)
            for _ in range(60):
                error = sum(1 << int(c) for c in np.flatnonzero(rng.random(2 * n) < 0.4))
                found = reducer.judge(reducer.syndrome(error), error)
                assert found is (Verdict.DANGEROUS if brute_weight(error, group, n) > t else Verdict.HARMLESS)
                seen.add((t, found))
    assert len(seen) >= 6


def test_bounds_beyond_the_exact_size_hold() -> None:
    """Five errors or more on states of light generators: what is proven is true, and much is proven."""
    rng = np.random.default_rng(9)
    code = codes.load("hgp_surface_3")
    n, t = code.n, 4
    group = faults.prepared_group(baseline.circuit_of(code))
    reducer = Reducer(group, n, t, code.rows)
    decided = 0
    errors = [sum(1 << int(c) for c in np.flatnonzero(rng.random(2 * n) < 0.3)) for _ in range(150)]
    reached = reducer.descend(errors)
    for error, upper in zip(errors, reached, strict=True):
        true = brute_weight(error, group, n)
        found = reducer.judge(reducer.syndrome(error), error)
        assert true <= upper
        assert found is not Verdict.DANGEROUS or true > t
        assert found is not Verdict.HARMLESS or true <= t
        assert reducer._bound(reducer.syndrome(error)) <= true
        decided += found is not Verdict.UNKNOWN or upper <= t
    assert decided > 100


@pytest.mark.parametrize("name", ["iceberg_2_over_steane", "perfect_5_over_perfect_5", "perfect_5_over_shor", "detector_4_over_surface_3"])
def test_block_by_block_weights_agree_with_those_of_the_whole_state(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    code = codes.shuffled(codes.load(name), rng)
    n = code.n
    group = faults.prepared_group(baseline.circuit_of(code))
    for t in (1, 2, 3):
        assert blocks.BlockState.fits(code.blocks, code.inner_rows, t)
        exact, reducer = blocks.BlockState(group, n, code.blocks, code.inner_rows, t), Reducer(group, n, t, code.rows)
        seen = []
        for _ in range(150):
            error = 0
            for q in rng.choice(n, int(rng.integers(1, 7)), replace=False):
                error ^= (1 << int(q)) if rng.random() < 0.5 else 1 << (n + int(q))
            for k in np.flatnonzero(rng.random(len(group)) < 0.2):
                error ^= group[k]
            seen.append(exact.judge(error))
            assert seen[-1] is reducer.judge(reducer.syndrome(error), error)
        assert len(set(seen)) == 2


@pytest.mark.parametrize("name", ["steane", "hexagonal_5", "surface_3", "tetrahedral"])
def test_costs_of_a_large_inner_code_bound_the_tabulated_ones(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = codes.load(name)
    whole = blocks.Inner(code.rows, code.n)
    monkeypatch.setattr(blocks, "LARGEST_TABLE", code.n - 1)
    parts = blocks.Inner(code.rows, code.n)
    assert (whole.whole, parts.whole, parts.fits) == (True, False, True)
    rng = np.random.default_rng(1)
    exact = 0
    for _ in range(100):
        error = sum(1 << int(c) for c in rng.choice(2 * code.n, int(rng.integers(1, 5)), replace=False))
        syndromes = [sum(((error & d).bit_count() & 1) << k for k, d in enumerate(i.duals)) for i in (whole, parts)]
        low_bits = (1 << (code.n - 1)) - 1
        truth = whole.costs(syndromes[0] & low_bits)[0]
        low, high = parts.costs(syndromes[1] & low_bits)
        assert all(a <= b <= c for a, b, c in zip(low, truth, high, strict=True))
        for a, b, c in zip(low, truth, high, strict=True):
            assert (a == b == c) or b > 4
            exact += b <= 4
    assert exact > 100


def test_a_shuffled_code_and_a_listed_one_give_the_same_counts() -> None:
    code = codes.load("steane_over_perfect_5")
    moved = codes.shuffled(code, np.random.default_rng(3))
    place = {q: next(b.index(q) + 5 * k for k, b in enumerate(moved.blocks) if q in b) for q in range(code.n)}
    circuit = baseline.circuit_of(moved)
    back = Circuit(code.n, 0, tuple(Gate(g.name, place[g.a], place[g.b] if g.b >= 0 else -1) for g in circuit.gates))
    assert oracles.check_stabilizers(back, code).valid
    first, second = (faults.corrected_sweep(c, 4, k.rows, k.blocks, k.inner_rows) for c, k in ((circuit, moved), (back, code)))
    assert first == second


def test_expectations_are_those_of_the_state_vector() -> None:
    from qiskit.quantum_info import Pauli, Statevector

    rng = np.random.default_rng(6)
    code = codes.load("perfect_5")
    for _ in range(10):
        circuit = random_circuit(rng, 5, 12, 0)
        found = oracles.check_stabilizers(circuit, code)
        state = circuit.unitary().to_tableau().to_state_vector(endian="little")
        values = [Statevector(state).expectation_value(Pauli(g[::-1])).real for g in code.generators]
        assert np.allclose(values, found.expectations, atol=1e-5)


def test_known_circuits_prepare_the_steane_code_and_a_wrong_sign_is_told() -> None:
    code = codes.load("steane")
    text = "H 0 1 3\nCX 0 2 3 5 1 6 0 4 3 6 1 5 0 6 1 2 3 4"
    found = oracles.check_stabilizers(parse(text, 7), code)
    assert found.satisfied in range(7)
    circuit = baseline.circuit_of(code)
    assert oracles.check_stabilizers(circuit, code).expectations == (1,) * 6
    flipped = Circuit(7, 0, (*circuit.gates, Gate("X", 6)))
    expected = tuple(-1 if g[6] == "Z" else 1 for g in code.generators)
    assert oracles.check_stabilizers(flipped, code).expectations == expected
    assert oracles.check_stabilizers(Circuit(7, 0, ()), code).expectations == (0, 0, 0, 1, 1, 1)


def test_a_flag_gadget_shows_the_fault_it_is_there_for() -> None:
    """A cat state of four by a chain of CX: an X fault in the middle spreads to two qubits; the parity of the ends shows it."""
    gates = parse("H 0\nCX 0 1 1 2 2 3", 4).gates
    bare = faults.corrected_sweep(Circuit(4, 0, gates), 1)
    shown = Circuit(4, 1, (*gates, Gate("CX", 0, 4), Gate("CX", 3, 4)))
    flagged = faults.corrected_sweep(shown, 1)
    assert bare.undetected > 0 == flagged.undetected
    assert flagged.fault_tolerant
    assert flagged.ft == 1


def test_idle_padding_changes_no_number() -> None:
    code = codes.load("surface_3")
    text = baseline.text_of(code)
    plainly = oracles.sweep(parse(text, 9, flags=True), code)
    padded = oracles.sweep(parse("TICK\n" + text.replace("\n", "\nTICK\nI 0 1 2\n"), 9, flags=True), code)
    assert padded == plainly
    pairs = oracles.sweep(parse("H 3\nH 3\nCX 1 2\nCX 1 2\n" + text, 9, flags=True), code)
    assert pairs.corrected == plainly.corrected


def test_a_circuit_without_gates_has_no_fault_but_preparation() -> None:
    found = faults.corrected_sweep(Circuit(3, 0, ()), 0)
    assert (found.total, found.dangerous, found.undetected) == (9, 6, 6)
    assert faults.published_sweep(Circuit(3, 0, ()), 0).ft == 1


def test_a_flag_that_is_left_entangled_is_not_quiet() -> None:
    code = codes.load("steane")
    gates = baseline.circuit_of(code).gates
    random = next(q for q in range(7) if oracles.check_stabilizers(Circuit(7, 1, (*gates, Gate("CX", q, 7))), code).quiet == (0,))
    for gate, quiet in ((Gate("H", 7), 0), (Gate("X", 7), -1), (Gate("CX", random, 7), 0)):
        found = oracles.check_fault_tolerance(Circuit(7, 1, (*gates, gate)), code)
        assert (found.stabilizers.quiet, found.stabilizers.valid, found.faults) == ((quiet,), False, None)
    measured = oracles.check_fault_tolerance(Circuit(7, 1, (*gates, *measurement(code.generators[0], 7))), code)
    assert measured.stabilizers.valid
    with pytest.raises(ValueError, match="flag"):
        faults.prepared_group(Circuit(7, 1, (*gates, Gate("H", 7))))


def test_on_the_largest_code_every_generator_measured_shows_most_of_what_is_dangerous() -> None:
    code = codes.load("iceberg_2_over_surface_7")
    circuit = with_all_measured(code, baseline.circuit_of(code))
    assert (circuit.n, circuit.flags) == (196, 194)
    alone, measured = faults.published_sweep(baseline.circuit_of(code), 6), faults.published_sweep(circuit, 6)
    assert (alone.total, alone.dangerous, alone.undetected) == (8235, 2566, 2566)
    assert (measured.dangerous, measured.undetected) == (2566, 257)


def test_condensed_circuits_prepare_the_same_state() -> None:
    code = codes.load("golay")
    circuit = with_all_measured(code, baseline.circuit_of(code))
    tableau = condensed(circuit).unitary().to_tableau()
    assert isinstance(tableau, stim.Tableau)
    assert tableau == circuit.unitary().to_tableau()
