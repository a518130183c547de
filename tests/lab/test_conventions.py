"""lab.conventions: bit packing, and CANON from a detector error model to the decoder."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import stim
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.conventions import Limits, MatchingGraph, ModelRefused, decode, pack_bits, packed_width, read_graph, unpack_bits
from lab.conventions.matching import P_MAX, P_MIN

AGENT_SIDE = Path(__file__).parents[2] / "agent_env"


def edges(graph: MatchingGraph) -> dict[tuple[int, int], tuple[float, tuple[int, ...]]]:
    return {(a, b): (p, o) for (a, b), p, o in zip(graph.ends.tolist(), graph.p.tolist(), graph.labels, strict=True)}


def refusal(text: object, **more: object) -> ModelRefused:
    with pytest.raises(ModelRefused) as caught:
        read_graph(text, **more)  # type: ignore[arg-type]
    return caught.value


# Bits


def test_bit_i_of_a_row_is_bit_i_mod_8_of_byte_i_div_8() -> None:
    bits = np.zeros((1, 11), dtype=np.uint8)
    bits[0, [0, 3, 9]] = 1
    assert pack_bits(bits).tolist() == [[0b00001001, 0b00000010]]
    assert packed_width(8) == 1
    assert packed_width(9) == 2


@given(st.integers(0, 5), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_unpacking_inverts_packing(shots: int, n_bits: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (shots, n_bits)).astype(bool)
    np.testing.assert_array_equal(unpack_bits(pack_bits(bits), n_bits), bits)


def test_packing_is_that_of_stim() -> None:
    circuit = stim.Circuit("X_ERROR(0.5) 0 1 2 3 4 5 6 7 8 9 10\nM 0 1 2 3 4 5 6 7 8 9 10")
    plain = circuit.compile_sampler(seed=3).sample(100)
    np.testing.assert_array_equal(pack_bits(plain), circuit.compile_sampler(seed=3).sample_bit_packed(100))


def test_bits_of_a_wrong_shape_or_type_are_refused() -> None:
    with pytest.raises(ValueError, match="n_shots, n_bits"):
        pack_bits(np.zeros(3))
    with pytest.raises(ValueError, match="uint8 of shape"):
        unpack_bits(np.zeros((2, 2), dtype=np.uint8), 17)
    with pytest.raises(ValueError, match="uint8 of shape"):
        unpack_bits(np.zeros((2, 2), dtype=np.int64), 16)


# CANON


def test_equal_labels_combine_as_independent_events() -> None:
    graph = read_graph("error(0.1) D0 D1 L0\nerror(0.2) D1 D0 L0\nerror(0.01) D0\nerror(0.01) D1")
    p, label = edges(graph)[0, 1]
    assert p == pytest.approx(0.1 * 0.8 + 0.2 * 0.9)
    assert label == (0,)


def test_the_most_probable_label_wins_in_any_order_and_the_other_is_dropped() -> None:
    lines = ["error(0.1) D0 L0", "error(0.06) D0", "error(0.06) D0", "error(0.05) D0 L0 L1"]
    for order in itertools.permutations(lines):
        p, label = edges(read_graph("\n".join(order)))[0, -1]
        assert label == ()
        assert p == pytest.approx(2 * 0.06 * 0.94)


def test_a_tie_goes_to_the_label_whose_observables_come_first() -> None:
    assert edges(read_graph("error(0.1) D0 L1\nerror(0.1) D0 L0 L1\nerror(0.1) D0 L0"))[0, -1][1] == (0,)


def test_split_components_add_probability_but_no_label() -> None:
    graph = read_graph("error(0.01) D0 D1\nerror(0.3) D0 D1 L0 ^ D2\nerror(0.01) D0")
    p, label = edges(graph)[0, 1]
    assert label == ()
    assert p == pytest.approx(0.01 * 0.7 + 0.3 * 0.99)


def test_split_components_give_the_label_where_no_plain_line_exists() -> None:
    graph = read_graph("error(0.01) D0\nerror(0.2) D2 L0 ^ D0\nerror(0.1) D2 ^ D0")
    p, label = edges(graph)[2, -1]
    assert label == (0,)
    assert p == pytest.approx(0.2 * 0.9 + 0.1 * 0.8)


def test_probabilities_are_clipped_and_weights_are_log_odds() -> None:
    graph = read_graph("error(0) D0\nerror(0.9) D1\nerror(0.2) D0 D1")
    found = edges(graph)
    assert found[0, -1][0] == P_MIN
    assert found[1, -1][0] == P_MAX
    k = list(map(tuple, graph.ends.tolist())).index((0, 1))
    assert graph.weights[k] == pytest.approx(math.log(4))


def test_repeats_and_shifts_expand_and_repeated_targets_cancel() -> None:
    graph = read_graph("repeat 3 {\n error(0.1) D0 D1 D1 D1 L0 L0\n shift_detectors 1\n}\nerror(0.2) D0")
    assert set(edges(graph)) == {(0, 1), (1, 2), (2, 3), (3, -1)}
    assert edges(graph)[1, 2] == (0.1, ())


def test_components_without_detectors_are_ignored() -> None:
    assert edges(read_graph("error(0.4) L0\nerror(0.1) D0")) == {(0, -1): (0.1, ())}


def test_every_syndrome_decodes_even_of_a_model_without_boundary() -> None:
    graph = read_graph("error(0.1) D0 D1 L0\nerror(0.1) D2\ndetector D3")
    assert edges(graph)[3, -1] == (P_MIN, ())
    assert (2, -1) in edges(graph)
    every = np.array(list(itertools.product([0, 1], repeat=4)), dtype=bool)
    predicted = unpack_bits(decode(graph, pack_bits(every)), 1)[:, 0]
    np.testing.assert_array_equal(predicted, every[:, 0] & every[:, 1])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_decoding_finds_the_minimum_weight_of_all_edge_sets(seed: int) -> None:
    g = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(4), 2))
    lines = [f"error({g.uniform(0.01, 0.4)}) D{i} D{j}{' L0' if g.random() < 0.5 else ''}" for i, j in pairs]
    lines += [f"error({g.uniform(0.01, 0.4)}) D{i}{' L0' if g.random() < 0.5 else ''}" for i in range(4)]
    graph = read_graph("\n".join(lines) + "\nlogical_observable L0")
    sets = np.array(list(itertools.product([0, 1], repeat=len(lines))))
    touches = np.array([[d in ends for d in range(4)] for ends in graph.ends.tolist()], dtype=int)
    syndrome, flip, weight = sets @ touches % 2, sets @ np.array([len(o) for o in graph.labels]) % 2, sets @ graph.weights
    every = np.array(list(itertools.product([0, 1], repeat=4)), dtype=bool)
    predicted = unpack_bits(decode(graph, pack_bits(every)), 1)[:, 0]
    for s, guess in zip(every, predicted, strict=True):
        same = (syndrome == s).all(axis=1)
        lightest = [weight[same & (flip == f)].min(initial=math.inf) for f in (0, 1)]
        if abs(lightest[0] - lightest[1]) > 1e-2:  # the library rounds weights to integers
            assert int(guess) == int(np.argmin(lightest))


def test_a_code_without_conflicting_labels_decodes_as_pymatching_reads_it() -> None:
    import pymatching

    circuit = stim.Circuit.generated(
        "surface_code:rotated_memory_x", distance=3, rounds=4, after_clifford_depolarization=0.01, before_measure_flip_probability=0.02
    )
    dem = circuit.detector_error_model(decompose_errors=True)
    detections, flips = circuit.compile_detector_sampler(seed=5).sample(20_000, bit_packed=True, separate_observables=True)
    ours = decode(read_graph(dem), detections)
    theirs = pymatching.Matching.from_detector_error_model(dem).decode_batch(detections, bit_packed_shots=True, bit_packed_predictions=True)
    assert (ours != theirs).mean() < 2e-3  # ties of equal weight
    assert (ours != flips).mean() == pytest.approx((theirs != flips).mean(), rel=0.02)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_model_of_a_graph_gives_that_graph_again(seed: int) -> None:
    g = np.random.default_rng(seed)
    n = int(g.integers(1, 7))
    lines = [f"detector D{n - 1}", "logical_observable L1"]
    for _ in range(int(g.integers(0, 12))):
        dets = " ".join(f"D{d}" for d in g.choice(n, int(g.integers(1, min(n, 2) + 1)), replace=False))
        obs = " ".join(f"L{o}" for o in g.choice(2, int(g.integers(0, 3)), replace=False))
        lines.append(f"error({g.uniform(0, 1)}) {dets} {obs}")
    graph = read_graph("\n".join(lines))
    again = read_graph(str(graph.model()), n_detectors=n, n_observables=2)
    assert edges(again) == edges(graph)
    assert (again.n_detectors, again.n_observables) == (n, 2)


# Refusals


def test_more_than_two_detectors_in_a_component_are_refused() -> None:
    assert refusal("error(0.1) D0 D1 D2").reason == "detectors_per_component"
    assert refusal("error(0.1) D0 ^ D3 D1 D2").got == 3
    read_graph("error(0.1) D0 D1 ^ D2 D3")


@pytest.mark.parametrize("value", ["nan", "inf", "-0.1", "1.5", "1e400"])
def test_probabilities_outside_of_0_to_1_are_refused(value: str) -> None:
    assert refusal(f"error({value}) D0").reason == "syntax"


def test_counts_must_be_exact() -> None:
    text = "error(0.1) D0 D1 L0"
    assert refusal(text, n_detectors=3, n_observables=1).reason == "detector_count"
    assert refusal(text, n_detectors=1, n_observables=1).reason == "detector_count"
    wrong = refusal(text, n_detectors=2, n_observables=2)
    assert (wrong.reason, wrong.got, wrong.limit) == ("observable_count", 1, 2)
    read_graph(text + "\ndetector D2\nlogical_observable L1", n_detectors=3, n_observables=2)


def test_large_models_are_refused_by_name() -> None:
    assert refusal("#" * 4_000_001).reason == "bytes"
    assert refusal("#" + "\u00e9" * 2_000_001).reason == "bytes"
    assert refusal("error(0.1) D0 D1\n" * 10, limits=Limits(terms=19)).reason == "terms"
    many = "\n".join(f"error(0.1) D{i} D{j}" for i, j in itertools.combinations(range(40), 2))
    assert refusal(many, n_detectors=40).reason == "edges"


@pytest.mark.parametrize(
    "bomb, reason",
    [
        ("repeat 1000000000000 {\n error(0.1) D0\n}", "terms"),
        ("repeat 1000000000000 {\n shift_detectors 1\n}\nerror(0.1) D0", "terms"),
        ("repeat 1000000 {\n" * 9 + "error(0.1) D0\n" + "}\n" * 9, "terms"),
        ("repeat 2 {\n" * 100_000 + "}\n" * 100_000, "repeat_blocks"),
        ("error[{](0.1) D0\n" * 65, "repeat_blocks"),
        ("shift_detectors 1000000000000000\nerror(0.1) D7", "detector_count"),
        ("error(0.1) D4294967295", "detector_count"),
        ("detector D4294967295", "detector_count"),
        ("error(0.1) D231 L4294967295", "observable_count"),
        ("detector D231\nlogical_observable L4294967295", "observable_count"),
        ("repeat 99999999999999999999999 {\n error(0.1) D0\n}", "syntax"),
        ("repeat 3 {", "syntax"),
        ("}", "syntax"),
        ("H 0", "syntax"),
        ("error(0.1) D0 ^ ^ D1", "syntax"),
    ],
)
def test_bombs_and_nonsense_are_refused_at_once(bomb: str, reason: str) -> None:
    start = time.process_time()
    assert refusal(bomb, n_detectors=232, n_observables=2).reason == reason
    assert time.process_time() - start < 2


@pytest.mark.parametrize("value", [None, 3, b"error(0.1) D0", ["error(0.1) D0"]])
def test_what_is_not_text_is_refused(value: object) -> None:
    assert refusal(value).reason == "not_text"


def test_an_empty_model_has_no_edges_and_decodes_nothing() -> None:
    graph = read_graph("")
    assert (graph.n_detectors, graph.n_observables, len(graph.p)) == (0, 0, 0)


def test_detections_of_another_width_are_refused() -> None:
    graph = read_graph("error(0.1) D0 L0\ndetector D8")
    with pytest.raises(ValueError, match="uint8 of shape"):
        decode(graph, np.zeros((4, 1), dtype=np.uint8))
    with pytest.raises(ValueError, match="uint8 of shape"):
        decode(graph, np.zeros((4, 2), dtype=bool))


def test_conventions_know_nothing_of_the_laboratory_and_load_no_heavy_library() -> None:
    code = (
        "import sys, lab.conventions\n"
        "roots = {m.split('.')[0] for m in sys.modules}\n"
        "print(sorted(roots & {'qtypes', 'graders', 'evidence', 'sidecar', 'tasks', 'qharbor', 'stim', 'pymatching', 'scipy'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=AGENT_SIDE, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
