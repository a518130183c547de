"""stabilizer_codes: constructions, totals, distances, copies, baselines."""

from __future__ import annotations

import statistics
from itertools import combinations

import numpy as np
import pytest

from qtypes.stabilizer_codes import baseline, certify, circuits, codes, distance, extended, families, gf2, oracles

ALL = [codes.load(name) for name in codes.ids()]
EXTRA = [codes.load(name) for name in codes.ids("extended")]


def test_the_192_codes_have_the_published_totals() -> None:
    assert (len(codes.ids("base")), len(codes.ids("concatenated")), len(ALL)) == (24, 168, 192)
    assert sum(c.listed for c in ALL) == 16_340
    assert sum(c.rank for c in ALL) == 16_320
    assert (min(c.n for c in ALL), max(c.n for c in ALL)) == (4, 196)
    assert (min(c.listed for c in ALL), max(c.listed for c in ALL), statistics.median(c.listed for c in ALL)) == (2, 194, 80)
    assert sum(c.listed for c in ALL if c.listed <= 100) == 5790
    assert (min(c.d for c in ALL), max(c.d for c in ALL)) == (2, 21)


@pytest.mark.parametrize("base", families.BASES, ids=lambda b: b.id)
def test_a_base_code_has_its_parameters(base: families.Base) -> None:
    code = codes.load(base.id)
    assert (code.n, code.k, code.d, code.d_upper, code.listed) == (base.n, base.k, base.d, base.d, base.listed)


def test_all_generators_commute_and_none_is_the_identity() -> None:
    for code in [*ALL, *EXTRA, codes.load(codes.PUBLISHED_VARIANT)]:
        swapped = [gf2.swap(r, code.n) for r in code.rows]
        assert all(code.rows)
        assert not any((a & b).bit_count() & 1 for a in code.rows for b in swapped)
        assert len(set(code.generators)) == code.listed


def test_dependent_generators_are_consistent_with_their_signs() -> None:
    """Products of listed generators never give minus the identity: X-only and Z-only ones cannot."""
    for code in ALL:
        assert code.rank == code.listed or code.is_css


def test_only_the_bicycle_codes_list_dependent_generators() -> None:
    assert {c.id: c.rank for c in ALL if c.rank < c.listed} == {"bb_72": 60, "bb_90": 82}


@pytest.mark.parametrize("name", codes.ids("base"))
def test_the_distance_of_a_base_code_is_found_again_from_scratch(name: str) -> None:
    code = codes.load(name)
    found = certify.certificate(code.generators, {"bb_72": 36, "bb_90": 45}.get(name), most=3 * 10**6, rounds=20)
    assert min(c["lower"] for c in found.values()) == min(c["upper"] for c in found.values()) == code.d


def test_every_certificate_has_a_witness_of_its_weight() -> None:
    for name, kinds in codes.certificates().items():
        code = codes.load(name)
        group = gf2.echelon(code.rows)
        for kind, c in kinds.items():
            w = gf2.parse(c["witness"])
            assert gf2.weight(w, code.n) == c["upper"] >= c["lower"]
            assert not any(gf2.anticommute(w, r, code.n) for r in code.rows)
            assert (gf2.reduce(w, group) == 0) is (kind == "state")


def test_a_search_over_all_operators_of_small_codes_agrees() -> None:
    rng = np.random.default_rng(3)
    for code in [codes.load(n) for n in ("perfect_5", "steane", "iceberg_3", "shor")] + [codes.drawn(rng, 7, k) for k in (1, 2, 3)]:
        assert code.d == code.d_upper == brute_distance(code)


def brute_distance(code: codes.Code) -> int:
    group, n = gf2.echelon(code.rows), code.n
    for w in range(1, n + 1):
        for qubits in combinations(range(n), w):
            for letters in range(3**w):
                p = 0
                for j, q in enumerate(qubits):
                    kind = letters // 3**j % 3 + 1
                    p |= (kind & 1) << q | (kind >> 1) << (n + q)
                if not any(gf2.anticommute(p, r, n) for r in code.rows) and gf2.reduce(p, group):
                    return w
    raise AssertionError("no logical operator")


def test_the_search_misses_no_lighter_operator_when_it_uses_translations() -> None:
    """With and without the symmetry, just below and at the distance."""
    rows = codes.load("bb_72").rows
    for period in (None, 36):
        p = distance.problem(rows, 72, "X", period)
        assert distance.excludes(p, 5)
        assert not distance.excludes(p, 6)
    assert distance.excludes(distance.problem(codes.load("bb_90").rows, 90, "Z", 45), 8)


@pytest.mark.parametrize("name", ["steane", "surface_3", "perfect_5"])
def test_a_small_concatenation_has_the_distance_of_the_rule(name: str) -> None:
    code = codes.load(f"iceberg_2_over_{name}")
    kinds = certify.kinds(code.generators)
    found = [distance.bounds(code.rows, code.n, kind, rng=np.random.default_rng(1), rounds=10, most=10**6) for kind in kinds]
    assert min(b.upper for b in found if b) == min(b.lower for b in found if b) == code.d == 6


def test_five_qubits_over_the_tetrahedral_code_have_distance_13() -> None:
    """As the inner code has dX = 7, dZ = 3 (published as 9): ZXZ is the shape of a least outer operator."""
    code = codes.load("perfect_5_over_tetrahedral")
    assert (code.d, code.d_claimed) == (13, 9)
    assert {c.id for c in ALL if c.d != c.d_claimed} == {code.id}
    best = min((s for s in codes._logical_strings("perfect_5")), key=lambda s: 7 * s.count("X") + 3 * s.count("Z") + 10 * s.count("Y"))
    assert sorted(best.replace("I", "")) == ["X", "Z", "Z"]


def test_copies_are_what_they_are_named_after_up_to_the_named_order() -> None:
    for name, (first, order) in codes.ALIKE.items():
        a, b = codes.load(name), codes.load(first)
        moved = ["".join(g[order.index(q)] for q in range(a.n)) for g in a.generators]
        assert sorted(gf2.echelon(map(gf2.parse, moved)).values()) == sorted(gf2.echelon(b.rows).values())


def test_distinct_codes_are_counted_once_in_the_corrected_weights() -> None:
    groups = {tuple(sorted(gf2.echelon(c.rows).values())) for c in ALL}
    first = {c.representative for c in ALL}
    assert (len(groups), len(first)) == (164, 112)
    assert sum(c.weight for c in ALL) == sum(codes.load(r).rank for r in first) == 9940


def test_the_published_variant_has_the_published_fault() -> None:
    code, ours = codes.load(codes.PUBLISHED_VARIANT), codes.load("bb_90")
    assert (code.n, code.rank, code.d, code.d_claimed) == (90, 82, 2, 10)
    pair = gf2.mask((0, 15))
    assert not any(gf2.anticommute(pair, r, 90) for r in code.rows)
    assert gf2.reduce(pair, gf2.echelon(code.rows))
    assert any(gf2.anticommute(pair, r, 90) for r in ours.rows)
    assert code.id not in codes.ids()


def test_the_extended_set_has_four_families_and_the_gross_code() -> None:
    assert len(EXTRA) >= 48
    assert {c.family for c in EXTRA} == {"hypergraph product", "generalised bicycle", "lifted product", "syndrome extraction"}
    gross = codes.load("bb_144")
    assert (gross.n, gross.k, gross.d, gross.d_upper) == (144, 12, 12, 12)
    assert all(c.d == c.d_upper for c in EXTRA)
    assert not {c.generators for c in EXTRA} & {c.generators for c in ALL}
    assert {c.id: (c.n, c.k, c.d) for c in EXTRA if c.id in ("gb_48", "gb_46", "gb_126", "hgp_hamming_hamming", "bb_108")} == {
        "gb_48": (48, 6, 8), "gb_46": (46, 2, 9), "gb_126": (126, 28, 8), "hgp_hamming_hamming": (58, 16, 3), "bb_108": (108, 8, 10),
    }  # fmt: skip


@pytest.mark.parametrize("extra", [e for e in extended.EXTRAS if e.period], ids=lambda e: e.id)
def test_a_period_is_a_symmetry(extra: extended.Extra) -> None:
    """Certificates used it: some translation moves each qubit of a block to any other, and the group onto itself."""
    code, p = codes.load(extra.id), extra.period
    shifts = {"bb_108": [(9, 6)], "bb_144": [(12, 6)]}.get(extra.id, [(p, 1)])
    group = gf2.echelon(code.rows)
    for l, m in shifts:  # noqa: E741
        for di, dj in ((1, 0), (0, 1)):
            def move(q: int, l: int = l, m: int = m, di: int = di, dj: int = dj) -> int:  # noqa: E741
                block, r = divmod(q, l * m)
                return block * l * m + (r // m + di) % l * m + (r % m + dj) % m

            for g in code.generators:
                text = ["I"] * code.n
                for q, letter in enumerate(g):
                    text[move(q)] = letter
                assert gf2.reduce(gf2.parse("".join(text)), group) == 0


def test_a_halted_extraction_is_the_state_its_circuit_makes() -> None:
    code = codes.load("extraction_surface_3")
    base = codes.load("surface_3")
    checks = [[q for q, c in enumerate(g) if c == "X"] for g in base.generators if "X" in g]
    lines = [f"H {base.n + a}" for a in range(len(checks))] + [f"CX {base.n + a} {q}" for a, check in enumerate(checks) for q in check]
    assert oracles.check_stabilizers(circuits.parse("\n".join(lines), code.n), code).valid
    assert code.k == 0


def test_baselines_are_those_of_the_version_and_prepare_their_codes() -> None:
    recorded = baseline.recorded()
    assert set(recorded) == {*codes.ids(), *codes.ids("extended"), codes.PUBLISHED_VARIANT}
    for name in ("perfect_5", "bb_72", "steane_over_surface_3", "hgp_toric_4", "extraction_golay", codes.PUBLISHED_VARIANT):
        code = codes.load(name)
        assert oracles.check_stabilizers(baseline.circuit_of(code), code).valid
    assert sum(oracles.baseline_counts(codes.load(name)).g2q for name in codes.ids("base")) == 3537


@pytest.mark.slow
def test_every_baseline_is_that_of_the_version_and_prepares_its_code() -> None:
    for code in [*ALL, *EXTRA]:
        assert oracles.check_stabilizers(baseline.circuit_of(code), code).valid
    assert sum(oracles.baseline_counts(c).g2q for c in ALL) == 127_081


def test_no_baseline_raises_a_flag_so_its_fault_tolerance_is_zero() -> None:
    for entry in baseline.recorded().values():
        assert "faults" in entry
    for code in ALL[:40]:
        found = oracles.baseline_faults(code)
        assert found.on_data.ft == found.on_all.ft == found.corrected.ft == 0
        assert found.on_data.dangerous > 0


def test_a_drawn_code_and_a_shuffled_one_repeat_with_their_seed() -> None:
    a, b = (codes.drawn(np.random.default_rng(5), 11, 2) for _ in range(2))
    assert a == b
    assert (a.n, a.k) == (11, 2)
    code = codes.load("steane_over_perfect_5")
    moved = codes.shuffled(code, np.random.default_rng(1))
    assert (moved.n, moved.k, moved.d, moved.listed) == (code.n, code.k, code.d, code.listed)
    for block in moved.blocks:
        assert sum({q for q, c in enumerate(g) if c != "I"} <= set(block) for g in moved.generators) == 4


def test_an_unknown_code_or_collection_is_named() -> None:
    with pytest.raises(KeyError, match="nonsense"):
        codes.load("nonsense")
    with pytest.raises(KeyError, match="known: base"):
        codes.ids("nonsense")
